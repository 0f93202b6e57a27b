//! Bootstrap configs over HTTP.
//!
//! A row's revision is its strong ETag: on every answer that is one row, and as `revision` in every
//! row, so that a reader of the list writes `If-Match: "3"` for a row with `"revision": 3`.
//!
//! *Invariant*: a row changes only under `If-Match`, and every change is in its history. No write
//! here takes an `Idempotency-Key`: a POST that is repeated is 409, a PATCH 412, and neither has
//! done anything; the row says whether the first one did.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use model::{BootstrapConfig, BootstrapDraft, Invalid, Role};
use serde::Serialize;

use crate::app::Hub;
use crate::auth::{Principal, Scope};
use crate::body::{Body, Parameters};
use crate::config_patch::Patch;
use crate::db::{ConfigChange, Patched};
use crate::etag::{self, IfMatch};
use crate::problem::{Answer, Kind, Refusal};

/// Changes on a page of the history. A change holds the user-data twice, at most 64 KB each.
const DEFAULT_LIMIT: u32 = 20;
const MAX_LIMIT: u32 = 100;

/// Rows of a site.
#[derive(Debug, Serialize)]
pub(crate) struct Configs {
    items: Vec<BootstrapConfig>,
}

/// A page of a row's changes.
#[derive(Debug, Serialize)]
pub(crate) struct History {
    items: Vec<ConfigChange>,
    next_cursor: Option<String>,
}

/// One row and its ETag.
type Row = ([(HeaderName, String); 1], Json<BootstrapConfig>);

fn row(config: BootstrapConfig) -> Row {
    (etag::header(config.revision), Json(config))
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
) -> Answer<(StatusCode, Row)> {
    let site = principal.at(&site)?;
    principal.needs(Scope::BootstrapConfigCreate)?;
    draft.check().map_err(Refusal::invalid)?;
    let exists = || Refusal::new(Kind::ConfigExists, "PATCH the role's row with If-Match instead");
    let by = principal.id.clone();
    let config = hub.store.create_config(&site, draft, by, (hub.clock)()).await?.ok_or_else(exists)?;
    tracing::info!(config = config.id, by = %principal.id, role = config.draft.device_role, "config created");
    Ok((StatusCode::CREATED, row(config)))
}

/// `GET /sites/{s}/slurm-bootstrap-configs/{id}`: one row, with its ETag. Needs
/// `slurm-bootstrap-config:read`.
pub(crate) async fn get(
    State(hub): State<Arc<Hub>>,
    principal: Principal,
    Path((site, id)): Path<(String, String)>,
) -> Answer<Row> {
    let site = principal.at(&site)?;
    principal.needs(Scope::BootstrapConfigRead)?;
    hub.store.get_config(&site, id).await?.ok_or_else(missing).map(row)
}

/// `PATCH /sites/{s}/slurm-bootstrap-configs/{id}` with `If-Match`: a JSON Merge Patch (RFC 7396).
/// The row that it comes to is checked as a new one is, and 422 lists every mistake; one that
/// changes nothing leaves revision and history alone. 428 without `If-Match` or with `*`, 412 when
/// the row is at another revision. Needs `slurm-bootstrap-config:update`.
///
/// An adoption reads the row when it plans: one that runs goes on with the revision it has read.
pub(crate) async fn update(
    State(hub): State<Arc<Hub>>,
    principal: Principal,
    Path((site, id)): Path<(String, String)>,
    headers: HeaderMap,
    Body(patch): Body<Patch>,
) -> Answer<Row> {
    let site = principal.at(&site)?;
    principal.needs(Scope::BootstrapConfigUpdate)?;
    let expected = IfMatch::read(&headers)?;
    patch.check().map_err(Refusal::invalid)?;
    let by = principal.id.clone();
    match hub.store.patch_config(&site, id, expected, patch, by, (hub.clock)()).await? {
        None => Err(missing()),
        Some(Patched::Moved(now)) => Err(etag::moved(now)),
        Some(Patched::Invalid(mistakes)) => Err(Refusal::invalid(mistakes)),
        Some(Patched::Unchanged(config)) => Ok(row(config)),
        Some(Patched::Changed(config)) => {
            tracing::info!(config = config.id, by = %principal.id, role = config.draft.device_role,
                revision = config.revision, "config changed");
            Ok(row(config))
        }
    }
}

/// `GET /sites/{s}/slurm-bootstrap-configs/{id}/history?limit=&cursor=`: a page of the row's
/// changes, newest first, its creation last, each with what was there before and after, user-data
/// too. Needs `slurm-bootstrap-config:read`.
pub(crate) async fn history(
    State(hub): State<Arc<Hub>>,
    principal: Principal,
    Path((site, id)): Path<(String, String)>,
    mut parameters: Parameters,
) -> Answer<Json<History>> {
    let site = principal.at(&site)?;
    principal.needs(Scope::BootstrapConfigRead)?;
    let limit = parameters.limit(DEFAULT_LIMIT, MAX_LIMIT)?;
    let before = parameters.take("cursor").map(|c| revision(&c)).transpose()?;
    parameters.none_left("limit, cursor")?;
    let mut items = hub.store.list_config_changes(&site, id, before, limit).await?.ok_or_else(missing)?;
    let whole = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = items.len() > whole;
    items.truncate(whole);
    let next_cursor = items.last().filter(|_| more).map(|c| c.revision.to_string());
    Ok(Json(History { items, next_cursor }))
}

fn revision(cursor: &str) -> Result<i64, Invalid> {
    let wrong = || Invalid::new("cursor", "is not a cursor", "pass the last page's next_cursor as it came");
    cursor.parse().map_err(|_| wrong())
}

fn missing() -> Refusal {
    Refusal::not_found("the site has no such bootstrap config")
}
