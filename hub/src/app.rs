//! The hub as a value, and its routes.

use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::http::Uri;
use axum::routing::{get, patch, post};
use axum::{Json, Router, middleware};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::auth::{self, Tokens};
use crate::body::MAX_BODY;
use crate::clock::Clock;
use crate::config::Config;
use crate::db::Store;
use crate::problem::{Kind, Refusal};
use crate::temporal::Temporal;
use crate::{conditions, configs, devices, openapi, polls, token, workflows};

/// Everything a handler needs.
pub struct Hub {
    pub(crate) config: Config,
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) tokens: Tokens,
    pub(crate) temporal: Temporal,
    pub(crate) incarnation: Uuid,
}

impl Hub {
    /// A hub with a new incarnation and no tokens. Temporal is called when it is first needed.
    #[must_use]
    pub fn new(config: Config, store: Store, clock: Clock) -> Self {
        let temporal = Temporal::new(config.temporal.clone());
        let incarnation = Uuid::new_v4();
        Self { config, store, clock, tokens: Tokens::default(), temporal, incarnation }
    }

    /// Now, and how long silence is borne.
    pub(crate) fn freshness(&self) -> (Timestamp, SignedDuration) {
        ((self.clock)(), self.config.stale_after)
    }
}

/// The routes.
pub fn router(hub: Hub) -> Router {
    let hub = Arc::new(hub);
    let api = Router::new()
        .route("/sites/{site}/devices/", get(devices::list))
        .route("/sites/{site}/devices/{device}", get(devices::get))
        .route("/devices/{device}", patch(devices::update))
        .route("/sites/{site}/device-conditions/", get(conditions::list).post(conditions::write))
        .route("/sites/{site}/polls/", post(polls::poll))
        .route("/sites/{site}/slurm-bootstrap-configs/", get(configs::list).post(configs::create))
        .route("/sites/{site}/slurm-bootstrap-configs/{id}", get(configs::get).patch(configs::update))
        .route("/sites/{site}/slurm-bootstrap-configs/{id}/history", get(configs::history))
        .route("/sites/{site}/devices/{device}/workflows/", get(workflows::list).post(workflows::start))
        .route("/sites/{site}/devices/{device}/workflows/{run}", get(workflows::get))
        .route("/sites/{site}/devices/{device}/workflows/{run}/stop", post(workflows::stop))
        .route("/sites/{site}/devices/{device}/workflows/{run}/cancel", post(workflows::cancel))
        .fallback(unknown_path)
        .method_not_allowed_fallback(unknown_method)
        .layer(middleware::from_fn_with_state(hub.clone(), auth::authenticate));
    Router::new()
        .nest("/api/v1", api)
        .route("/oauth/token", post(token::grant))
        .route("/healthz", get(health))
        .route("/openapi.json", get(openapi::document))
        .fallback(unknown_path)
        .method_not_allowed_fallback(unknown_method)
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(hub)
}

async fn health() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

async fn unknown_path(_: Uri) -> Refusal {
    Refusal::not_found("no such path; see /openapi.json")
}

async fn unknown_method(_: Uri) -> Refusal {
    Refusal::new(Kind::MethodNotAllowed, "see /openapi.json")
}
