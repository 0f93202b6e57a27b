//! The worker's own port: `/metrics`, `/livez`, `/readyz`.
//!
//! *Invariant*: it answers everybody and changes nothing; no device, node, request, user or secret
//! is to be read here.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;

use super::health::Health;
use super::sdk_metrics::SdkMetrics;
use crate::telemetry::metrics::{CONTENT_TYPE, Metrics};

/// What the port tells of.
#[derive(Debug, Clone)]
pub(super) struct Told {
    pub(super) health: Arc<Health>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) sdk: Arc<SdkMetrics>,
}

/// Starts to listen, until the process ends.
///
/// # Errors
/// An address that is taken, or not ours.
pub(super) async fn start(listen: SocketAddr, told: Told) -> anyhow::Result<()> {
    let listener = TcpListener::bind(listen)
        .await
        .with_context(|| format!("http.listen: {listen} cannot be listened on; free it, or set another"))?;
    tracing::info!(address = %listener.local_addr()?, "http listens");
    let router = Router::new()
        .route("/metrics", get(metrics))
        .route("/livez", get(|| async { "alive\n" }))
        .route("/readyz", get(ready))
        .with_state(told);
    tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, router).await {
            tracing::error!(%error, "http ended");
        }
    });
    Ok(())
}

/// 200 `ready`, or 503 and a line a reason.
async fn ready(State(told): State<Told>) -> Response {
    let reasons = told.health.reasons().await;
    if reasons.is_empty() {
        return "ready\n".into_response();
    }
    (StatusCode::SERVICE_UNAVAILABLE, reasons.join("\n") + "\n").into_response()
}

/// Ours, then the SDK's: what can be said is said when the other cannot.
async fn metrics(State(told): State<Told>) -> Response {
    let left = told.health.token_left().await;
    let Ok(mut text) = told.metrics.text(left) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    match told.sdk.text().await {
        Ok(theirs) => text.push_str(&theirs),
        Err(error) => tracing::warn!(%error, "the SDK's metrics cannot be read"),
    }
    ([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response()
}
