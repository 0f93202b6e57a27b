//! One site on one port: hub, slurmrestd, Keystone, Glance and Nova, just enough of each.
//!
//! *Invariant*: every request is kept, in order; an answer depends on what was asked before, never
//! on a clock.

pub(crate) mod hub;
mod openstack;
pub(crate) mod slurm;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use activities::{Attempt, World};
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use clients::hub::Hub;
use clients::oauth::Principal;
use clients::openstack::{Credentials, Networks, OpenStack, User};
use clients::slurm::{Slurm, Token};
use jiff::Timestamp;
use model::{NodeTemplate, SiteId};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use url::Url;

pub(crate) use openstack::Fate;

/// A token that ends in 2096; its signature is nobody's.
const JWT: &str = "eyJhbGciOiJIUzI1NiJ9.eyJleHAiOjQwMDAwMDAwMDB9.c2ln";

/// A request that was made.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) method: String,
    pub(crate) path: String,
    query: String,
    pub(crate) body: Value,
}

impl Call {
    fn is_token(&self) -> bool {
        self.path.ends_with("/token") || self.path.ends_with("/auth/tokens")
    }

    fn is_write(&self) -> bool {
        self.method != "GET" && !self.is_token()
    }
}

impl std::fmt::Display for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method, self.path)?;
        if !self.query.is_empty() {
            write!(f, "?{}", self.query)?;
        }
        if self.is_write() && !self.body.is_null() {
            write!(f, " {}", self.body)?;
        }
        Ok(())
    }
}

/// What goes wrong with the next call of this method and end of path. The call is done all the same.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) answer: Answer,
}

/// What is answered in place of the truth.
#[derive(Debug)]
pub(crate) enum Answer {
    /// This status, without a body of the service's.
    Status(u16),
    /// The connection breaks.
    Lost,
}

/// How the process dies, or what it is not told, at the nth request of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Break {
    /// It dies before the request is done.
    Before,
    /// It dies after it was done and before the answer.
    After,
    /// It lives; the request is done and the answer lost.
    Lost,
}

/// A status and a body.
type Reply = (u16, Value);

/// Everything the site holds.
#[derive(Debug)]
pub(crate) struct State {
    base: String,
    pub(crate) hub: hub::Fake,
    pub(crate) slurm: slurm::Fake,
    pub(crate) openstack: openstack::Fake,
    pub(crate) faults: Vec<Fault>,
    /// At which request, counted from now, what breaks.
    pub(crate) broken: Option<(usize, Break)>,
    calls: Vec<Call>,
}

/// A running site.
pub(crate) struct Site {
    base: Url,
    key: String,
    state: Arc<Mutex<State>>,
    hung: Arc<Notify>,
}

impl Site {
    pub(crate) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/", listener.local_addr().unwrap());
        let state = State {
            base: base.clone(),
            hub: hub::Fake::default(),
            slurm: slurm::Fake::default(),
            openstack: openstack::Fake::default(),
            faults: Vec::new(),
            broken: None,
            calls: Vec::new(),
        };
        let state = Arc::new(Mutex::new(state));
        let hung = Arc::new(Notify::new());
        let shared = (state.clone(), hung.clone());
        let app = axum::Router::new().fallback(move |request| serve(shared.clone(), request));
        tokio::spawn(async move { axum::serve(listener, app).await });
        let key = rcgen::KeyPair::generate().unwrap().serialize_pem();
        Self { base: Url::parse(&base).unwrap(), key, state, hung }
    }

    /// What the site holds, to read and to change.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Returns when the request has come at which the process is to die.
    pub(crate) async fn dies(&self) {
        self.hung.notified().await;
    }

    /// A process that has just started: nothing cached, no token.
    pub(crate) fn world(&self) -> World {
        let id = SiteId::parse("lab").unwrap();
        let url = |path: &str| self.base.join(path).unwrap();
        let hub = |name: &str| {
            let key = self.key.clone().into();
            let principal = Principal::new(name, &key, url("oauth/token"), "hub".to_owned()).unwrap();
            Hub::new(self.base.clone(), id.clone(), principal).unwrap()
        };
        let credentials = Credentials::Password {
            user: User { name: "worker".to_owned(), domain: "Default".to_owned() },
            password: "worker".to_owned().into(),
            project: "lab".to_owned(),
            project_domain: "Default".to_owned(),
        };
        let token = Token::in_environment("SLURM_JWT", JWT.to_owned().into());
        World {
            site: activities::Site {
                id: id.clone(),
                node_template: NodeTemplate::default(),
                networks: Networks::None,
                config_drive: false,
                stale_after: Duration::from_secs(300),
                look_every: Duration::from_millis(1),
                heartbeat_timeout: Duration::from_millis(1),
            },
            slurm: Slurm::new(self.base.clone(), "root".to_owned(), token).unwrap(),
            openstack: OpenStack::new(url("v3"), credentials, None).unwrap(),
            hub: hub("slurm-agent-lab"),
            configs: hub("temporal-worker-lab"),
        }
    }

    /// Every request so far, a line each; forgotten with this.
    pub(crate) fn conversation(&self) -> String {
        let calls = std::mem::take(&mut self.state().calls);
        calls.iter().map(|c| format!("{c}\n")).collect()
    }

    /// Every request so far that changes something.
    pub(crate) fn writes(&self) -> Vec<Call> {
        self.state().calls.iter().filter(|c| c.is_write()).cloned().collect()
    }

    /// How many requests so far had this method and end of path.
    pub(crate) fn count(&self, method: &str, path: &str) -> usize {
        self.state().calls.iter().filter(|c| c.method == method && c.path.ends_with(path)).count()
    }
}

/// The nth attempt at an activity, started at this second.
pub(crate) fn attempt(number: u32, second: i64) -> Attempt {
    let started = Timestamp::from_second(second).unwrap();
    Attempt::new(number, started, None, CancellationToken::new()).0
}

/// A wait that never ends fails the test. Never reached by one that passes.
pub(crate) async fn within_ceiling<T>(run: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), run).await.unwrap()
}

async fn serve((state, hung): (Arc<Mutex<State>>, Arc<Notify>), request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let call = Call {
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        body: serde_json::from_slice(&bytes).unwrap_or_default(),
    };
    let broken = state.lock().unwrap().breaks();
    if broken == Some(Break::Before) {
        hung.notify_one();
        return std::future::pending().await;
    }
    let (reply, mut fault) = state.lock().unwrap().take(call);
    match broken {
        Some(Break::After) => {
            hung.notify_one();
            return std::future::pending().await;
        }
        Some(Break::Lost) => fault = Some(Answer::Lost),
        Some(Break::Before) | None => {}
    }
    match fault {
        None => response(reply),
        Some(Answer::Status(status)) => StatusCode::from_u16(status).unwrap().into_response(),
        Some(Answer::Lost) => {
            let broken = Err::<Bytes, _>(std::io::Error::other("the connection breaks"));
            Body::from_stream(futures::stream::iter([broken])).into_response()
        }
    }
}

fn response((status, body): Reply) -> Response {
    let status = StatusCode::from_u16(status).unwrap();
    let token = [("x-subject-token", "keystone-token")];
    (status, token, axum::Json(body)).into_response()
}

impl State {
    /// What breaks now, if this is the request.
    fn breaks(&mut self) -> Option<Break> {
        let (left, what) = self.broken.as_mut()?;
        *left -= 1;
        let what = *what;
        if *left > 0 {
            return None;
        }
        self.broken = None;
        Some(what)
    }

    fn take(&mut self, call: Call) -> (Reply, Option<Answer>) {
        self.calls.push(call.clone());
        let fits = |f: &Fault| f.method == call.method && call.path.ends_with(f.path);
        let fault = self.faults.iter().position(fits).map(|at| self.faults.remove(at).answer);
        (self.answer(&call), fault)
    }

    fn answer(&mut self, call: &Call) -> Reply {
        let segments: Vec<&str> = call.path.split('/').filter(|s| !s.is_empty()).collect();
        match (call.method.as_str(), segments.as_slice()) {
            ("POST", ["oauth", "token"]) => (200, json!({"access_token": "hub-token", "expires_in": 300})),
            ("POST", ["v3", "auth", "tokens"]) => (201, openstack::token(&self.base)),
            (method, ["api", "v1", rest @ ..]) => self.hub.answer(method, rest, &call.body),
            (method, ["slurm", "v0.0.45", rest @ ..]) => self.slurm.answer(method, rest, &call.body),
            (method, ["v2" | "v2.1", rest @ ..]) => {
                let reply = self.openstack.answer(method, rest, &call.query, &call.body);
                if std::mem::take(&mut self.openstack.launched) {
                    self.slurm.power_on();
                }
                reply
            }
            _ => (404, Value::Null),
        }
    }
}
