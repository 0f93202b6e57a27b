//! An HTTP server that answers from a table and keeps what it was asked.

use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde_json::Value;
use url::Url;

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: String,
    headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|v| v.to_str().unwrap())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// One answer.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Reply {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::text(status, "application/json", &body.to_string())
    }

    pub(crate) fn text(status: u16, kind: &str, body: &str) -> Self {
        Self { status, headers: vec![("content-type".to_owned(), kind.to_owned())], body: body.into() }
    }

    /// A recording of slurmrestd 26.05.5, or of the release that its name starts with.
    pub(crate) fn slurm(name: &str) -> Self {
        let meta = std::fs::read_to_string(fixture(&format!("slurm/{name}.meta"))).unwrap_or_default();
        let status = meta.lines().find_map(|l| l.strip_prefix("HTTP ")).unwrap_or("200");
        let body = std::fs::read(fixture(&format!("slurm/{name}.json"))).unwrap();
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        Self { status: status.parse().unwrap(), headers, body }
    }

    /// A recording of Keystone, Glance or Nova.
    pub(crate) fn openstack(name: &str) -> Self {
        let file = std::fs::read(fixture(&format!("openstack/{name}.json"))).unwrap();
        let recorded: Value = serde_json::from_slice(&file).unwrap();
        let response = &recorded["response"];
        let headers = response["headers"].as_object().unwrap().iter();
        let body = match &response["body"] {
            Value::String(text) => text.clone(),
            body => body.to_string(),
        };
        Self {
            status: response["status"].as_u64().unwrap().try_into().unwrap(),
            headers: headers.map(|(k, v)| (k.clone(), v.as_str().unwrap().to_owned())).collect(),
            body: body.into(),
        }
    }

    pub(crate) fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(k, _)| k != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn replacing(mut self, from: &str, to: &str) -> Self {
        self.body = String::from_utf8(self.body).unwrap().replace(from, to).into();
        self
    }

    /// The body, to make another one of it.
    pub(crate) fn body(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

fn fixture(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(path)
}

type Rule = Box<dyn FnMut(&Asked) -> Reply + Send>;

#[derive(Default)]
struct Table {
    rules: Vec<(String, Rule)>,
    asked: Vec<Asked>,
}

/// A running server.
pub(crate) struct Fake {
    pub(crate) base: Url,
    table: Arc<Mutex<Table>>,
}

impl Fake {
    pub(crate) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
        let table = Arc::new(Mutex::new(Table::default()));
        let shared = table.clone();
        let app = axum::Router::new().fallback(move |request| serve(shared.clone(), request));
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { base, table }
    }

    /// Answers `METHOD /path` with these in turn, then with the last for ever.
    pub(crate) fn on(&self, call: &str, replies: impl Into<Vec<Reply>>) {
        let mut replies: Vec<Reply> = replies.into();
        replies.reverse();
        self.when(call, move |_| if replies.len() > 1 { replies.pop().unwrap() } else { replies[0].clone() });
    }

    /// Answers `METHOD /path` with what `rule` makes of the request.
    pub(crate) fn when(&self, call: &str, rule: impl FnMut(&Asked) -> Reply + Send + 'static) {
        let mut table = self.table.lock().unwrap();
        table.rules.retain(|(c, _)| c != call);
        table.rules.push((call.to_owned(), Box::new(rule)));
    }

    /// The methods of all requests, each once.
    pub(crate) fn methods(&self) -> Vec<String> {
        let table = self.table.lock().unwrap();
        let all: std::collections::BTreeSet<_> = table.asked.iter().map(|a| a.method.clone()).collect();
        all.into_iter().collect()
    }

    /// Every request with this `METHOD /path`, in order.
    pub(crate) fn asked(&self, call: &str) -> Vec<Asked> {
        let table = self.table.lock().unwrap();
        table.asked.iter().filter(|a| format!("{} {}", a.method, a.path) == call).cloned().collect()
    }
}

async fn serve(table: Arc<Mutex<Table>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let asked = Asked {
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: parts.headers,
        body: axum::body::to_bytes(body, usize::MAX).await.unwrap(),
    };
    let reply = table.lock().unwrap().answer(asked);
    let mut response = (StatusCode::from_u16(reply.status).unwrap(), reply.body).into_response();
    response.headers_mut().clear();
    for (name, value) in reply.headers {
        let name: axum::http::HeaderName = name.parse().unwrap();
        response.headers_mut().insert(name, value.parse().unwrap());
    }
    response
}

impl Table {
    fn answer(&mut self, asked: Asked) -> Reply {
        let call = format!("{} {}", asked.method, asked.path);
        self.asked.push(asked.clone());
        match self.rules.iter_mut().find(|(c, _)| *c == call) {
            Some((_, rule)) => rule(&asked),
            // word for word what slurmrestd says of a version that it does not serve
            None => Reply::text(404, "text/plain", "Unable find requested URL"),
        }
    }
}
