//! Bootstrap configs over HTTP.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use model::{BootstrapConfig, BootstrapDraft, Role};
use serde::Serialize;

use crate::app::Hub;
use crate::auth::{Principal, Scope};
use crate::body::{Body, Parameters};
use crate::problem::{Answer, Kind, Refusal};

/// Rows of a site.
#[derive(Debug, Serialize)]
pub(crate) struct Configs {
    items: Vec<BootstrapConfig>,
}

/// `GET /sites/{s}/slurm-bootstrap-configs/?device_role=`. Needs `slurm-bootstrap-config:read`.
pub(crate) async fn list(
    State(hub): State<Arc<Hub>>,
    principal: Principal,
    Path(site): Path<String>,
    mut parameters: Parameters,
) -> Answer<Json<Configs>> {
    let site = principal.at(&site)?;
    principal.needs(Scope::BootstrapConfigRead)?;
    let role = parameters.take("device_role").map(|r| Role::parse(&r)).transpose()?;
    parameters.none_left("device_role")?;
    Ok(Json(Configs { items: hub.store.list_configs(&site, role).await? }))
}

/// `POST /sites/{s}/slurm-bootstrap-configs/`: the role's first row; 422 lists every mistake.
/// Needs `slurm-bootstrap-config:create`.
pub(crate) async fn create(
    State(hub): State<Arc<Hub>>,
    principal: Principal,
    Path(site): Path<String>,
    Body(draft): Body<BootstrapDraft>,
) -> Answer<(StatusCode, Json<BootstrapConfig>)> {
    let site = principal.at(&site)?;
    principal.needs(Scope::BootstrapConfigCreate)?;
    draft.check().map_err(Refusal::invalid)?;
    let exists = || Refusal::new(Kind::ConfigExists, "change the role's row instead");
    let by = principal.id.clone();
    let config = hub.store.create_config(&site, draft, by, (hub.clock)()).await?.ok_or_else(exists)?;
    tracing::info!(config = config.id, by = %principal.id, role = config.draft.device_role, "config created");
    Ok((StatusCode::CREATED, Json(config)))
}
