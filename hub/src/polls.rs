//! Ticks over HTTP (DESIGN §11).

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use jiff::{SignedDuration, Timestamp};
use model::{Claim, Invalid, PollPost};

use crate::app::Hub;
use crate::auth::{Principal, Scope};
use crate::body::Body;
use crate::db::Polled;
use crate::problem::{Answer, Kind, Refusal};

/// How far Temporal's clock may be ahead of ours. A tick further ahead would lock out every
/// honest one until its time has come.
const AHEAD: SignedDuration = SignedDuration::from_mins(10);

/// `POST /sites/{s}/polls/`: claims a tick, or says that it ended well. Needs
/// `device-condition:create`.
pub(crate) async fn poll(
    State(hub): State<Arc<Hub>>,
    principal: Principal,
    Path(site): Path<String>,
    Body(post): Body<PollPost>,
) -> Answer<Json<Claim>> {
    let site = principal.at(&site)?;
    principal.needs(Scope::DeviceConditionCreate)?;
    let now = (hub.clock)();
    check(post.tick, now)?;
    match hub.store.poll(&site, post.tick, post.good, now).await? {
        Polled::Accepted { rev, devices_rev, good_at } => {
            Ok(Json(Claim { incarnation: hub.incarnation, rev, devices_rev, good_at }))
        }
        Polled::Overtaken(by) => Err(overtaken(by)),
        Polled::Unclaimed => {
            Err(Refusal::new(Kind::TickUnclaimed, "claim a tick before it is said to be good"))
        }
    }
}

/// 409: a newer tick was claimed.
pub(crate) fn overtaken(by: Timestamp) -> Refusal {
    Refusal::new(Kind::TickOvertaken, format!("the tick {by} was claimed; nothing was written"))
}

/// Refuses a tick from the future.
pub(crate) fn check(tick: Timestamp, now: Timestamp) -> Answer<()> {
    if now.saturating_add(AHEAD).is_ok_and(|latest| tick > latest) {
        let remedy = "send the activity's start, and compare the clocks of Temporal and the hub";
        return Err(Invalid::new("tick", "is more than 10 minutes ahead of the hub's clock", remedy).into());
    }
    Ok(())
}
