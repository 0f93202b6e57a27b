//! A service of the test's own behind the same wire: its requests are in the one log, in order, and break
//! as those of the fakes do.

use std::io;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use tower::ServiceExt as _;

use crate::serve::{self, Call, Reply, Servers};
use crate::wire::{Service, Wire};

/// Put into the extensions of a router's answer: the connection is closed without one, as when the service
/// behind it is not there.
#[derive(Debug, Clone, Copy)]
pub struct NoAnswer;

/// A router that is served behind a [`Wire`], until the last handle is dropped.
#[derive(Debug, Clone)]
pub struct Beside {
    url: String,
    _servers: Arc<Servers>,
}

impl Beside {
    /// Its root URL, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Wire {
    /// Serves `router` behind this wire as [`Service::Beside`] of this name, on a port of its own.
    ///
    /// # Errors
    /// When there is no port.
    pub async fn beside(&self, name: &'static str, router: Router) -> io::Result<Beside> {
        let (listener, url) = serve::listen().await?;
        let answerer: serve::Answerer = Arc::new(move |call| {
            let router = router.clone();
            Box::pin(async move { ask(router, call).await.unwrap_or_else(|_| Reply::empty(500)) })
        });
        let server = serve::serve(listener, Service::Beside(name), self.clone(), answerer);
        Ok(Beside { url, _servers: Arc::new(Servers(vec![server])) })
    }
}

/// The router's whole answer.
async fn ask(router: Router, call: Call) -> Result<Reply, axum::Error> {
    let query = if call.query.is_empty() { String::new() } else { format!("?{}", call.query) };
    let request = Request::builder().method(call.method.as_str()).uri(format!("{}{query}", call.path));
    let mut request = request.body(Body::from(call.body)).map_err(axum::Error::new)?;
    *request.headers_mut() = call.headers;
    let (parts, body) = router.oneshot(request).await.map_err(axum::Error::new)?.into_parts();
    if parts.extensions.get::<NoAnswer>().is_some() {
        return Ok(Reply::none());
    }
    let body = axum::body::to_bytes(body, usize::MAX).await?.to_vec();
    Ok(Reply { status: parts.status.as_u16(), headers: parts.headers, body })
}
