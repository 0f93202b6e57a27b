//! Workflows over HTTP: started with a request id, read as Temporal has them.

mod end;
mod message;

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use model::{Actor, Device, Invalid, RequestId, RunView, SiteId, StartRequest};
use proto::names;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::app::Hub;
use crate::auth::{Principal, Scope};
use crate::body::Body;
use crate::db::{Begun, Request};
use crate::devices;
use crate::problem::{Answer, Kind, Refusal, chain};
use crate::temporal::{Error, Start};
use crate::view;

pub(crate) use end::{cancel, stop};

/// Runs that one list describes.
const LISTED: u32 = 20;

/// Runs of a device.
#[derive(Debug, Serialize)]
pub(crate) struct Runs {
    items: Vec<RunView>,
}

/// `POST /sites/{s}/devices/{d}/workflows/` with `Idempotency-Key`. 201 for a new run, 200 for the
/// run that the same request has. Needs `device-workflow:start`; to go on over what somebody else has
/// closed, `device-workflow:force` too.
///
/// The request is noted before the start and carries its id into Temporal, so that a retry after
/// a lost answer joins the run. *Idempotency*: (site, key) → hash of all that is asked and by whom.
pub(crate) async fn start(
    State(hub): State<Arc<Hub>>,
    principal: Principal,
    Path((site, device)): Path<(String, String)>,
    headers: HeaderMap,
    Body(body): Body<StartRequest>,
) -> Answer<(StatusCode, Json<RunView>)> {
    let site = principal.at(&site)?;
    principal.needs(Scope::WorkflowStart)?;
    if body.force {
        principal.needs(Scope::WorkflowForce)?;
    }
    let id = key(&headers)?;
    let mistakes = body.mistakes();
    if !mistakes.is_empty() {
        return Err(Refusal::invalid(mistakes));
    }
    let device = devices::of_site(&hub, &site, &device).await?;
    let actor = Actor::parse(principal.id.as_str())?;
    let request = describe_request(&site, &device, id, actor, &body);
    let (run_id, new) = match hub.store.begin_request(request.clone(), (hub.clock)()).await? {
        Begun::Reused => {
            let said = "take a new key for another request; the same key means the same request again";
            return Err(Refusal::new(Kind::KeyReused, said));
        }
        Begun::Has(run) => (run, false),
        Begun::Start => {
            let started = ensure_started(&hub, &request, &body).await?;
            hub.store.set_run(&site, &request.id, &started.run_id).await?;
            tracing::info!(device = %request.device, verb = request.verb.as_str(), request = %request.id,
                by = %request.actor, force = body.force, skip_burn_in = body.skip_burn_in,
                run = started.run_id, new = started.new, "workflow started");
            (started.run_id, started.new)
        }
    };
    let view = describe(&hub, &request, &run_id).await?.ok_or_else(|| gone(&run_id))?;
    Ok((if new { StatusCode::CREATED } else { StatusCode::OK }, Json(view)))
}

/// `GET /sites/{s}/devices/{d}/workflows/`: the latest runs that were started here, newest first.
/// Needs `device-workflow:read`.
pub(crate) async fn list(
    State(hub): State<Arc<Hub>>,
    principal: Principal,
    Path((site, device)): Path<(String, String)>,
) -> Answer<Json<Runs>> {
    let site = principal.at(&site)?;
    principal.needs(Scope::WorkflowRead)?;
    let device = devices::of_site(&hub, &site, &device).await?;
    let mut items = Vec::new();
    for request in hub.store.list_requests(&device.id, LISTED).await? {
        let run_id = request.run_id.clone().unwrap_or_default();
        items.extend(describe(&hub, &request, &run_id).await?);
    }
    Ok(Json(Runs { items }))
}

/// `GET /sites/{s}/devices/{d}/workflows/{run}`. Needs `device-workflow:read`.
pub(crate) async fn get(
    State(hub): State<Arc<Hub>>,
    principal: Principal,
    Path((site, device, run)): Path<(String, String, String)>,
) -> Answer<Json<RunView>> {
    let site = principal.at(&site)?;
    principal.needs(Scope::WorkflowRead)?;
    let device = devices::of_site(&hub, &site, &device).await?;
    let request = hub.store.get_request(&device.id, &run).await?;
    let request = request.ok_or_else(|| Refusal::not_found("the device has no such run"))?;
    describe(&hub, &request, &run).await?.ok_or_else(|| gone(&run)).map(Json)
}

fn key(headers: &HeaderMap) -> Result<RequestId, Invalid> {
    const NAME: &str = "Idempotency-Key";
    let missing =
        || Invalid::new(NAME, "is missing", "send the header with an id of your own for this request");
    let value = headers.get(NAME).and_then(|v| v.to_str().ok()).ok_or_else(missing)?;
    RequestId::parse(value).map_err(|e| e.named(NAME))
}

fn describe_request(
    site: &SiteId,
    device: &Device,
    id: RequestId,
    actor: Actor,
    body: &StartRequest,
) -> Request {
    let asked = whole(site, device, &actor, body);
    Request {
        site: site.clone(),
        id,
        device: device.id.clone(),
        verb: body.verb,
        actor,
        body_hash: hex::encode(Sha256::digest(asked.to_string())),
        run_id: None,
    }
}

/// All that is asked and by whom. What the first release knew stands as it did then, so that its requests
/// are known again; what came later stands behind it, where it was given.
fn whole(site: &SiteId, device: &Device, actor: &Actor, body: &StartRequest) -> Value {
    let mut asked =
        json!([site, device.id, actor, body.verb, body.reason, body.dry_run, body.deadline_seconds]);
    let mut more = json!(body);
    if let (Value::Array(asked), Value::Object(more)) = (&mut asked, &mut more) {
        for known in ["verb", "reason", "dry_run", "deadline_seconds"] {
            more.remove(known);
        }
        if !more.is_empty() {
            asked.push(json!(more));
        }
    }
    asked
}

async fn ensure_started(
    hub: &Hub,
    request: &Request,
    body: &StartRequest,
) -> Answer<crate::temporal::Started> {
    let (workflow, input) =
        message::of(request, body).map_err(|e| Refusal::internal("encoding the input", &e))?;
    let namespace = namespace(hub, &request.site)?;
    let start = Start {
        namespace,
        site: &request.site,
        device: &request.device,
        workflow,
        request: &request.id,
        actor: &request.actor,
        force: body.force,
        skip_burn_in: body.skip_burn_in,
        input,
    };
    match hub.temporal.start(start).await {
        Ok(started) => Ok(started),
        Err(Error::Busy) => {
            let lock = names::workflow_id(&request.site, &request.device);
            let holder = hub.temporal.describe(namespace, &lock, "").await.map_err(|e| refusal(&e))?;
            let said = holder.as_ref().map_or_else(|| "a run that just ended".to_owned(), view::holder);
            Err(Refusal::new(Kind::DeviceBusy, said))
        }
        Err(error) => Err(refusal(&error)),
    }
}

/// The run as Temporal has it now; `None` when it has none (any more).
async fn describe(hub: &Hub, request: &Request, run_id: &str) -> Answer<Option<RunView>> {
    let namespace = namespace(hub, &request.site)?;
    let workflow = names::workflow_id(&request.site, &request.device);
    let found = hub.temporal.describe(namespace, &workflow, run_id).await.map_err(|e| refusal(&e))?;
    let Some(description) = found else { return Ok(None) };
    let closing = match view::is_closed(&description) {
        true => hub.temporal.close_event(namespace, &workflow, run_id).await.map_err(|e| refusal(&e))?,
        false => None,
    };
    Ok(Some(view::run(request, run_id, &description, closing.as_ref())))
}

fn namespace<'a>(hub: &'a Hub, site: &SiteId) -> Answer<&'a str> {
    let namespace = hub.config.sites.get(site).map(String::as_str);
    namespace.ok_or_else(|| Refusal::not_found("the site is not configured"))
}

fn gone(run: &str) -> Refusal {
    Refusal::not_found(&format!("run {run} is past what Temporal keeps"))
}

fn refusal(error: &Error) -> Refusal {
    let (kind, said) = match error {
        Error::Busy => (Kind::DeviceBusy, "another run holds the device"),
        Error::Unavailable(_) => (Kind::TemporalUnavailable, "try again with the same Idempotency-Key"),
        Error::NotFound(_) => (Kind::TemporalRefused, "Temporal does not know the site's namespace"),
        Error::Refused(_) => (Kind::TemporalRefused, "the hub's log says why"),
    };
    tracing::error!(error = chain(error), "Temporal");
    Refusal::new(kind, said)
}
