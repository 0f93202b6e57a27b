//! Devices over HTTP.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use model::{Device, DeviceId, DevicePage, DevicePatch, Invalid, Role, SiteId};

use crate::app::Hub;
use crate::auth::{Principal, Scope};
use crate::body::{Body, Parameters};
use crate::problem::{Answer, Refusal};

const DEFAULT_LIMIT: u32 = 200;
const MAX_LIMIT: u32 = 500;

/// `GET /sites/{s}/devices/?role=&limit=&cursor=`: a page, by id. Any principal of the site.
pub(crate) async fn list(
    State(hub): State<Arc<Hub>>,
    principal: Principal,
    Path(site): Path<String>,
    mut parameters: Parameters,
) -> Answer<Json<DevicePage>> {
    let site = principal.at(&site)?;
    let role = parameters.take("role").map(|r| Role::parse(&r).map_err(|e| e.named("role"))).transpose()?;
    let limit = parameters.limit(DEFAULT_LIMIT, MAX_LIMIT)?;
    let cursor = parameters.take("cursor").map(|c| DeviceId::parse(&c)).transpose().map_err(|_| {
        Invalid::new("cursor", "is not a cursor", "pass the last page's next_cursor as it came")
    })?;
    parameters.none_left("role, limit, cursor")?;
    let mut items = hub.store.list_devices(&site, role, cursor, limit, hub.freshness()).await?;
    let whole = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = items.len() > whole;
    items.truncate(whole);
    let next_cursor = items.last().filter(|_| more).map(|d| d.id.to_string());
    Ok(Json(DevicePage { items, next_cursor }))
}

/// `GET /sites/{s}/devices/{d}`. Any principal of the site.
pub(crate) async fn get(
    State(hub): State<Arc<Hub>>,
    principal: Principal,
    Path((site, device)): Path<(String, String)>,
) -> Answer<Json<Device>> {
    let site = principal.at(&site)?;
    of_site(&hub, &site, &device).await.map(Json)
}

/// The site's device, or 404.
pub(crate) async fn of_site(hub: &Hub, site: &SiteId, device: &str) -> Answer<Device> {
    let found = find(hub, device).await?;
    found.filter(|d| d.site_id == *site).ok_or_else(|| Refusal::not_found("the site has no such device"))
}

/// `PATCH /devices/{d}`: node name and server. Needs `device:update`; the site is the device's.
pub(crate) async fn update(
    State(hub): State<Arc<Hub>>,
    principal: Principal,
    Path(device): Path<String>,
    Body(patch): Body<DevicePatch>,
) -> Answer<Json<Device>> {
    let missing = || Refusal::not_found("there is no such device");
    principal.needs(Scope::DeviceUpdate)?;
    let have = find(&hub, &device).await?.ok_or_else(missing)?;
    principal.at(have.site_id.as_str())?;
    let patched = hub.store.patch_device(&have.id, patch, hub.freshness()).await?.ok_or_else(missing)?;
    tracing::info!(device = %patched.id, by = %principal.id, server = ?patched.server_id, "device updated");
    Ok(Json(patched))
}

async fn find(hub: &Hub, device: &str) -> Answer<Option<Device>> {
    let Ok(id) = DeviceId::parse(device) else { return Ok(None) };
    Ok(hub.store.get_device(&id, hub.freshness()).await?)
}
