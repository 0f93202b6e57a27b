//! HTTP/1.1 on 127.0.0.1: a request is read whole, kept, answered, or not, as the fault says.
//!
//! *Invariant*: a request is performed at most once, whatever becomes of its answer.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode};
use futures::future::{BoxFuture, ready};
use futures::stream;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::fault::Answer;
use crate::mask;
use crate::wire::{Request, Service, Wire};

/// A request, read whole.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Call {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The path's parts, decoded.
    pub(crate) fn segments(&self) -> Vec<String> {
        self.path.split('/').filter(|s| !s.is_empty()).map(decode).collect()
    }

    /// The query's pairs, decoded.
    pub(crate) fn pairs(&self) -> Vec<(String, String)> {
        url::form_urlencoded::parse(self.query.as_bytes()).into_owned().collect()
    }
}

/// The status of no answer: no status is 0.
const NONE: u16 = 0;

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    /// No body.
    pub(crate) fn empty(status: u16) -> Self {
        Self { status, headers: HeaderMap::new(), body: Vec::new() }
    }

    /// None: the connection is closed.
    pub(crate) fn none() -> Self {
        Self::empty(NONE)
    }

    /// Plain text.
    pub(crate) fn text(status: u16, text: &str) -> Self {
        Self { body: text.as_bytes().to_vec(), ..Self::empty(status) }.with("content-type", "text/plain")
    }

    /// JSON.
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self { body: body.to_string().into_bytes(), ..Self::empty(status) }
            .with("content-type", "application/json")
    }

    /// The same with this header, in place of one of that name.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        if let Ok(value) = HeaderValue::try_from(value.into()) {
            self.headers.insert(name, value);
        }
        self
    }
}

fn decode(part: &str) -> String {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let hex = tail.get(..2).and_then(|h| u8::from_str_radix(std::str::from_utf8(h).ok()?, 16).ok());
        match (first, hex) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What a service answers, of the request and of its own state.
pub(crate) type Answerer = Arc<dyn Fn(Call) -> BoxFuture<'static, Reply> + Send + Sync>;

/// A service that answers at once.
pub(crate) fn at_once(answer: impl Fn(&Call) -> Reply + Send + Sync + 'static) -> Answerer {
    Arc::new(move |call| Box::pin(ready(answer(&call))))
}

/// A port of its own.
pub(crate) async fn listen() -> io::Result<(TcpListener, String)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    Ok((listener, url))
}

/// Servers that end when the last handle of their fake is dropped.
pub(crate) struct Servers(pub(crate) Vec<JoinHandle<Infallible>>);

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Servers({})", self.0.len())
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

/// Serves until the handle is aborted, and every connection with it.
pub(crate) fn serve(
    listener: TcpListener,
    service: Service,
    wire: Wire,
    answerer: Answerer,
) -> JoinHandle<Infallible> {
    tokio::spawn(async move {
        let mut connections = JoinSet::new();
        loop {
            // no more file descriptors, or the peer is gone already: the next one may do better
            let Ok((stream, _)) = listener.accept().await else {
                tokio::task::yield_now().await;
                continue;
            };
            while connections.try_join_next().is_some() {}
            connections.spawn(connection(stream, service, wire.clone(), answerer.clone()));
        }
    })
}

async fn connection(stream: TcpStream, service: Service, wire: Wire, answerer: Answerer) {
    // one byte at a time means one packet at a time
    let _ = stream.set_nodelay(true);
    let handle = service_fn(move |request| handle(service, wire.clone(), answerer.clone(), request));
    // an error is a connection that broke: the peer's doing, or a fault's
    let _ =
        http1::Builder::new().auto_date_header(false).serve_connection(TokioIo::new(stream), handle).await;
}

/// The connection is to be closed without an answer.
#[derive(Debug)]
struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("closed by a fault")
    }
}

impl std::error::Error for Closed {}

async fn handle(
    service: Service,
    wire: Wire,
    answerer: Answerer,
    request: hyper::Request<Incoming>,
) -> Result<Response<Body>, Closed> {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(Body::new(body), usize::MAX).await.map_err(|_| Closed)?;
    let call = Call {
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: parts.headers,
        body,
    };
    let (number, fault) = wire.arrived(Request {
        service,
        method: call.method.clone(),
        path: call.path.clone(),
        query: call.query.clone(),
        status: None,
        body: mask::body(&call.body),
    });
    wire.keep_pace();
    match &fault {
        Some(Answer::Hang) => wire.hold_until_released().await,
        Some(Answer::Delay(ticks)) => wire.hold_for_ticks(*ticks).await,
        _ => {}
    }
    let reply = match &fault {
        Some(Answer::Lost) => return Err(Closed),
        Some(Answer::Status { code, body }) => in_place(*code, body),
        Some(Answer::DoneButStatus { code, body }) => {
            answerer(call).await;
            in_place(*code, body)
        }
        _ => answerer(call).await,
    };
    match fault {
        Some(Answer::DoneButHeld) => wire.hold_until_released().await,
        Some(Answer::DoneButLost) => return Err(Closed),
        // there is no middle of an answer without a body
        Some(Answer::Cut) if reply.body.is_empty() => return Err(Closed),
        _ if reply.status == NONE => return Err(Closed),
        _ => {}
    }
    wire.answered(number, reply.status);
    response(reply, fault.as_ref())
}

fn in_place(code: u16, body: &Value) -> Reply {
    match body {
        Value::Null => Reply::empty(code),
        Value::String(text) => Reply::text(code, text),
        body => Reply::json(code, body),
    }
}

fn response(reply: Reply, fault: Option<&Answer>) -> Result<Response<Body>, Closed> {
    let mut builder = Response::builder().status(StatusCode::from_u16(reply.status).map_err(|_| Closed)?);
    for (name, value) in &reply.headers {
        builder = builder.header(name, value);
    }
    let length = reply.body.len();
    let body = match fault {
        Some(Answer::Cut) => {
            builder = builder.header("content-length", length);
            let half = reply.body[..length / 2].to_vec();
            dripping([Ok(half.into()), Err(Closed)])
        }
        Some(Answer::OneByte) => {
            builder = builder.header("content-length", length);
            dripping(reply.body.into_iter().map(|byte| Ok(vec![byte].into())))
        }
        _ => Body::from(reply.body),
    };
    builder.body(body).map_err(|_| Closed)
}

/// Each piece is flushed before the next one is there.
fn dripping<I>(pieces: I) -> Body
where
    I: IntoIterator<Item = Result<Bytes, Closed>>,
    I::IntoIter: Send + 'static,
{
    Body::from_stream(stream::unfold(pieces.into_iter(), |mut pieces| async move {
        let piece = pieces.next()?;
        tokio::task::yield_now().await;
        Some((piece, pieces))
    }))
}
