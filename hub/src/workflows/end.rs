//! Ending a run: at its next closed point, or at once.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use model::{Actor, RunStatus, RunView};
use proto::names;

use super::{describe, gone, namespace, refusal};
use crate::app::Hub;
use crate::auth::{Principal, Scope};
use crate::devices;
use crate::problem::{Answer, Kind, Refusal};
use crate::temporal::Error;

/// How a run is ended.
#[derive(Debug, Clone, Copy)]
enum End {
    Stop,
    Cancel,
}

/// `POST /sites/{s}/devices/{d}/workflows/{run}/stop`: the run ends at its next closed point. 202 with the
/// run as it was when it was told. Needs `device-workflow:cancel`. Repeating it changes nothing.
pub(crate) async fn stop(
    State(hub): State<Arc<Hub>>,
    principal: Principal,
    Path(path): Path<(String, String, String)>,
) -> Answer<(StatusCode, Json<RunView>)> {
    tell(&hub, &principal, path, End::Stop).await
}

/// `POST /sites/{s}/devices/{d}/workflows/{run}/cancel`: the run ends where it is. 202 with the run as it
/// was when it was told. Needs `device-workflow:cancel`. Repeating it changes nothing.
pub(crate) async fn cancel(
    State(hub): State<Arc<Hub>>,
    principal: Principal,
    Path(path): Path<(String, String, String)>,
) -> Answer<(StatusCode, Json<RunView>)> {
    tell(&hub, &principal, path, End::Cancel).await
}

async fn tell(
    hub: &Hub,
    principal: &Principal,
    (site, device, run): (String, String, String),
    end: End,
) -> Answer<(StatusCode, Json<RunView>)> {
    let site = principal.at(&site)?;
    principal.needs(Scope::WorkflowCancel)?;
    let device = devices::of_site(hub, &site, &device).await?;
    let request = hub.store.get_request(&device.id, &run).await?;
    let request = request.ok_or_else(|| Refusal::not_found("the device has no such run"))?;
    let view = describe(hub, &request, &run).await?.ok_or_else(|| gone(&run))?;
    if view.status != RunStatus::Running {
        return Err(closed(&run));
    }
    let (namespace, lock) = (namespace(hub, &site)?, names::workflow_id(&site, &device.id));
    let actor = Actor::parse(principal.id.as_str())?;
    let told = match end {
        End::Stop => hub.temporal.stop(namespace, &lock, &run, &actor).await,
        End::Cancel => hub.temporal.cancel(namespace, &lock, &run, &actor).await,
    };
    match told {
        Ok(()) => {}
        // it ended between the two calls
        Err(Error::NotFound(_)) => return Err(closed(&run)),
        Err(error) => return Err(refusal(&error)),
    }
    tracing::info!(device = %device.id, verb = view.verb.as_str(), request = %view.request_id,
        by = %actor, run, end = ?end, "workflow told to end");
    Ok((StatusCode::ACCEPTED, Json(view)))
}

fn closed(run: &str) -> Refusal {
    Refusal::new(Kind::RunClosed, format!("run {run} has ended; read it for how"))
}
