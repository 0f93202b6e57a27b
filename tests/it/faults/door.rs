//! The way to slurmrestd: everything passes as it is, and one write can be held, before slurmrestd is handed
//! it or before its answer is.
//!
//! *Invariant*: what slurmrestd was handed is done to its end, also for a caller who hangs up. Where
//! slurmrestd does not answer, neither does the door.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use fakes::NoAnswer;
use reqwest::Client;
use tokio::sync::watch;

use crate::wait::http;

/// How far the write that is held has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// It was not asked for.
    Never,
    /// It is asked for.
    Asked,
    /// It is done, and acknowledged.
    Acknowledged,
    /// Its answer is on its way.
    Answered,
}

/// A door. A handle: clones are the same one.
#[derive(Clone)]
pub(crate) struct Door(Arc<Inner>);

struct Inner {
    slurmrestd: String,
    http: Client,
    /// The write: the first whose line `METHOD path body` holds this.
    held: Option<&'static str>,
    met: AtomicBool,
    stage: watch::Sender<Stage>,
    allowed: watch::Sender<Stage>,
    /// How many answers failed.
    failures: watch::Sender<usize>,
}

impl Door {
    /// To this slurmrestd. The first write whose line `METHOD path body` holds `held` is held.
    pub(crate) fn to(slurmrestd: &str, held: Option<&'static str>) -> Self {
        Self(Arc::new(Inner {
            slurmrestd: slurmrestd.to_owned(),
            http: http(),
            held,
            met: AtomicBool::new(false),
            stage: watch::Sender::new(Stage::Never),
            allowed: watch::Sender::new(Stage::Asked),
            failures: watch::Sender::new(0),
        }))
    }

    pub(crate) fn router(&self) -> Router {
        Router::new().fallback(pass).with_state(self.clone())
    }

    /// Waits until the write that is held has come so far.
    pub(crate) async fn until(&self, stage: Stage) {
        self.0.stage.subscribe().wait_for(|s| *s >= stage).await.unwrap();
    }

    /// Lets the write that is held come so far.
    pub(crate) fn let_through(&self, to: Stage) {
        self.0.allowed.send_replace(to);
    }

    /// How many answers failed so far.
    pub(crate) fn failures(&self) -> usize {
        *self.0.failures.borrow()
    }

    /// Waits until another answer has failed than these.
    pub(crate) async fn until_failed(&self, before: usize) {
        self.0.failures.subscribe().wait_for(|n| *n > before).await.unwrap();
    }

    fn holds(&self, method: &Method, path: &str, body: &[u8]) -> bool {
        let line = || format!("{method} {path} {}", String::from_utf8_lossy(body));
        let wanted = |held| *method != Method::GET && line().contains(held);
        self.0.held.is_some_and(wanted) && !self.0.met.swap(true, Ordering::SeqCst)
    }

    async fn forward(&self, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        let path = parts.uri.path_and_query().map_or("/", |p| p.as_str());
        let held = self.holds(&parts.method, path, &body);
        if held {
            self.come(Stage::Asked).await;
        }
        let answer = self.ask(&parts.method, path, &parts.headers, body).await;
        if held {
            self.come(Stage::Acknowledged).await;
            self.0.stage.send_replace(Stage::Answered);
        }
        match answer {
            Ok((status, _, _)) if status.is_server_error() => self.0.failures.send_modify(|n| *n += 1),
            Err(_) => self.0.failures.send_modify(|n| *n += 1),
            Ok(_) => {}
        }
        answer.map_or_else(|_| axum::Extension(NoAnswer).into_response(), |a| a.into_response())
    }

    /// The write has come so far, and stays there until it may go on.
    async fn come(&self, stage: Stage) {
        self.0.stage.send_replace(stage);
        self.0.allowed.subscribe().wait_for(|a| *a > stage).await.unwrap();
    }

    async fn ask(
        &self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
        body: Bytes,
    ) -> reqwest::Result<(StatusCode, HeaderMap, Bytes)> {
        let mut request = self.0.http.request(method.clone(), format!("{}{path}", self.0.slurmrestd));
        for name in ["x-slurm-user-name", "x-slurm-user-token", "accept", "content-type"] {
            request = headers.get(name).into_iter().fold(request, |r, value| r.header(name, value));
        }
        let answer = if body.is_empty() { request } else { request.body(body) }.send().await?;
        let (status, mut headers) = (answer.status(), HeaderMap::new());
        if let Some(kind) = answer.headers().get("content-type") {
            headers.insert("content-type", kind.clone());
        }
        Ok((status, headers, answer.bytes().await?))
    }
}

/// On a task of its own: a caller who hangs up does not end it.
async fn pass(State(door): State<Door>, request: Request<Body>) -> Response {
    tokio::spawn(async move { door.forward(request).await }).await.unwrap()
}
