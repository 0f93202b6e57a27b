//! Conditions over HTTP.

use std::collections::HashSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use jiff::Timestamp;
use model::{Condition, ConditionResult, ConditionRow, ConditionType, DeviceId, Invalid, Observed, Status};
use serde::{Deserialize, Serialize};

use crate::app::Hub;
use crate::auth::{Principal, Scope};
use crate::body::Body;
use crate::db::Written;
use crate::polls;
use crate::problem::{Answer, Refusal};

const MAX_ROWS: usize = 500;
const MAX_MESSAGE: usize = 1024;

/// Every condition of a site.
#[derive(Debug, Serialize)]
pub(crate) struct Conditions {
    items: Vec<Condition>,
}

/// `GET /sites/{s}/device-conditions/`: all of them. Any principal of the site.
pub(crate) async fn list(
    State(hub): State<Arc<Hub>>,
    principal: Principal,
    Path(site): Path<String>,
) -> Answer<Json<Conditions>> {
    let site = principal.at(&site)?;
    let (now, stale_after) = hub.freshness();
    Ok(Json(Conditions { items: hub.store.list_conditions(&site, now, stale_after).await? }))
}

/// [`model::ConditionPost`], written out: serde cannot tell unknown fields of a flattened struct.
#[derive(Debug, Deserialize)]
pub(crate) struct Post {
    tick: Timestamp,
    rows: Vec<PostedRow>,
}

#[derive(Debug, Deserialize)]
struct PostedRow {
    device_id: DeviceId,
    #[serde(rename = "type")]
    kind: ConditionType,
    status: Status,
    reason: String,
    message: String,
}

/// What became of each row, in the order of the rows.
#[derive(Debug, Serialize)]
pub(crate) struct Results {
    results: Vec<ConditionResult>,
}

/// `POST /sites/{s}/device-conditions/`: rows of one tick; refused whole when a newer one was
/// claimed. Needs `device-condition:create`.
pub(crate) async fn write(
    State(hub): State<Arc<Hub>>,
    principal: Principal,
    Path(site): Path<String>,
    Body(post): Body<Post>,
) -> Answer<Json<Results>> {
    let site = principal.at(&site)?;
    principal.needs(Scope::DeviceConditionCreate)?;
    let now = (hub.clock)();
    polls::check(post.tick, now)?;
    let rows = check(post.rows)?;
    match hub.store.write_conditions(&site, post.tick, rows, now).await? {
        Written::Rows(results) => Ok(Json(Results { results })),
        Written::Overtaken(by) => Err(polls::overtaken(by)),
    }
}

fn check(posted: Vec<PostedRow>) -> Answer<Vec<ConditionRow>> {
    if posted.len() > MAX_ROWS {
        return Err(Invalid::new("rows", "holds more than 500 rows", "send at most 500 rows a call").into());
    }
    let (mut seen, mut mistakes, mut rows) = (HashSet::new(), Vec::new(), Vec::new());
    for (at, row) in posted.into_iter().enumerate() {
        if !seen.insert((row.device_id.clone(), row.kind)) {
            let field = format!("rows[{at}]");
            mistakes.push(Invalid::new(&field, "is a second row of its device and type", "send it once"));
        }
        let camel = row.reason.starts_with(|c: char| c.is_ascii_uppercase())
            && row.reason.chars().all(|c| c.is_ascii_alphanumeric())
            && row.reason.len() <= 64;
        if !camel {
            let field = format!("rows[{at}].reason");
            mistakes.push(Invalid::new(
                &field,
                "is not a CamelCase word",
                "use at most 64 letters and digits",
            ));
        }
        if row.message.chars().count() > MAX_MESSAGE {
            let field = format!("rows[{at}].message");
            mistakes.push(Invalid::new(&field, "is longer than 1024 characters", "shorten it"));
        }
        let observed = Observed { status: row.status, reason: row.reason, message: row.message };
        rows.push(ConditionRow { device_id: row.device_id, kind: row.kind, observed });
    }
    if mistakes.is_empty() { Ok(rows) } else { Err(Refusal::invalid(mistakes)) }
}
