//! The hub's API: pages, absence, and what was overtaken.

use std::sync::Arc;

use clients::Kind;
use clients::hub::Hub;
use clients::oauth::Principal;
use jiff::Timestamp;
use model::{ConditionPost, Device, DeviceId, Role, RowResult, SiteId};
use serde_json::{Value, json};

use crate::fake::{Fake, Reply};

pub(crate) const TOKEN: &str = "POST /oauth/token";
pub(crate) const DEVICES: &str = "GET /api/v1/sites/lab/devices/";
const POLLS: &str = "POST /api/v1/sites/lab/polls/";
const CONDITIONS: &str = "POST /api/v1/sites/lab/device-conditions/";

pub(crate) fn granted(token: &str) -> Reply {
    Reply::json(200, &json!({"access_token": token, "token_type": "Bearer", "expires_in": 300}))
}

/// A hub that grants tokens, and a client of it with this key.
pub(crate) async fn hub_with(pem: &str) -> (Fake, Arc<Hub>) {
    let fake = Fake::start().await;
    fake.on(TOKEN, [granted("token-1"), granted("token-2")]);
    let url = fake.base.join("oauth/token").unwrap();
    let key = pem.to_owned().into();
    let principal = Principal::new("slurm-agent-lab", &key, url, "https://hub.example".to_owned()).unwrap();
    let hub = Hub::new(fake.base.clone(), SiteId::parse("lab").unwrap(), principal).unwrap();
    (fake, Arc::new(hub))
}

pub(crate) async fn hub() -> (Fake, Arc<Hub>) {
    hub_with(&rcgen::KeyPair::generate().unwrap().serialize_pem()).await
}

fn id(text: &str) -> DeviceId {
    DeviceId::parse(text).unwrap()
}

fn device(id: &str) -> Value {
    json!({"id": id, "site_id": "lab", "name": id, "role": "gpu", "status": "free"})
}

fn problem(status: u16, kind: &str, detail: &str) -> Reply {
    let body = json!({"type": kind, "title": "A problem", "status": status, "detail": detail});
    Reply::text(status, "application/problem+json", &body.to_string())
}

pub(crate) fn page(ids: &[&str], next: Option<&str>) -> Reply {
    let items: Vec<Value> = ids.iter().map(|i| device(i)).collect();
    Reply::json(200, &json!({"items": items, "next_cursor": next}))
}

#[tokio::test]
async fn case_b43_devices_follow_the_cursor_to_the_end() {
    let (fake, hub) = hub().await;
    fake.on(DEVICES, [page(&["a", "b"], Some("c/1")), page(&["c"], Some("c/2")), page(&[], None)]);
    let devices: Vec<Device> = hub.devices().await.unwrap();
    let ids: Vec<&str> = devices.iter().map(|d| d.id.as_str()).collect();
    assert_eq!(ids, ["a", "b", "c"]);
    let queries: Vec<String> = fake.asked(DEVICES).into_iter().map(|a| a.query).collect();
    assert_eq!(queries, ["limit=500", "limit=500&cursor=c%2F1", "limit=500&cursor=c%2F2"]);
}

#[tokio::test]
async fn case_b43_a_cursor_that_does_not_move_is_an_error() {
    let (fake, hub) = hub().await;
    fake.on(DEVICES, [page(&["a"], Some("c1"))]);
    let error = hub.devices().await.unwrap_err();
    assert_eq!(error.kind, Kind::Malformed("pages that do not end".to_owned()));
    assert_eq!(fake.asked(DEVICES).len(), 2);
}

#[tokio::test]
async fn case_b43_a_list_cut_short_is_an_error() {
    let (fake, hub) = hub().await;
    fake.on(DEVICES, [page(&["a"], Some("c1")), problem(503, "about:blank", "down")]);
    assert_eq!(hub.devices().await.unwrap_err().kind, Kind::Unavailable);
}

#[tokio::test]
async fn a_device_the_hub_does_not_have_is_none_and_a_404_of_a_proxy_an_error() {
    let (fake, hub) = hub().await;
    let call = "GET /api/v1/sites/lab/devices/d-1";
    fake.on(
        call,
        [
            Reply::json(200, &device("d-1")),
            problem(404, "urn:fleet:problem:not-found", "no such device"),
            Reply::text(404, "text/html", "<html>"),
            // a gateway that hands on what its backend once said
            Reply::json(502, &json!({"type": "about:blank", "title": "Not Found", "status": 404})),
        ],
    );
    assert_eq!(hub.device(&id("d-1")).await.unwrap().unwrap().id, id("d-1"));
    assert_eq!(hub.device(&id("d-1")).await.unwrap(), None);
    let refused = Kind::Rejected("no problem document".to_owned());
    assert_eq!(hub.device(&id("d-1")).await.unwrap_err().kind, refused);
    assert_eq!(hub.device(&id("d-1")).await.unwrap_err().kind, Kind::Unavailable);
}

fn config(role: &str, site: &str) -> Value {
    json!({
        "id": "c-1", "site_id": site, "device_role": role, "image": null, "flavor": "f-1",
        "features": [], "gres": "", "user_data": null, "node_source": "static",
        "revision": 3, "updated_at": "2026-11-30T10:00:00Z", "updated_by": "hpc",
    })
}

#[tokio::test]
async fn the_row_of_a_role_is_read_by_its_role() {
    let (fake, hub) = hub().await;
    let call = "GET /api/v1/sites/lab/slurm-bootstrap-configs/";
    let rows = |rows: &[Value]| Reply::json(200, &json!({"items": rows}));
    fake.on(call, [rows(&[config("gpu", "lab")]), rows(&[])]);
    let gpu = Role::parse("gpu").unwrap();
    let row = hub.bootstrap_config(&gpu).await.unwrap().unwrap();
    assert_eq!((row.revision, row.draft.image, row.draft.flavor.as_deref()), (3, None, Some("f-1")));
    assert_eq!(hub.bootstrap_config(&gpu).await.unwrap(), None);
    assert_eq!(fake.asked(call)[0].query, "device_role=gpu");
}

#[tokio::test]
async fn a_row_of_another_role_or_site_or_two_rows_are_malformed() {
    let (fake, hub) = hub().await;
    let kind = Kind::Malformed("rows of another role or site".to_owned());
    for rows in [
        json!([config("cpu", "lab")]),
        json!([config("gpu", "other")]),
        json!([config("gpu", "lab"), config("gpu", "lab")]),
    ] {
        let call = "GET /api/v1/sites/lab/slurm-bootstrap-configs/";
        fake.on(call, [Reply::json(200, &json!({"items": rows}))]);
        let error = hub.bootstrap_config(&Role::parse("gpu").unwrap()).await.unwrap_err();
        assert_eq!(error.kind, kind, "{rows}");
    }
}

#[tokio::test]
async fn an_overtaken_tick_is_none_and_any_other_conflict_an_error() {
    let (fake, hub) = hub().await;
    let overtaken = problem(409, "urn:fleet:problem:tick-overtaken", "a newer tick was claimed");
    let conflict = problem(409, "urn:fleet:problem:busy", "busy");
    let claim = json!({"incarnation": "00000000-0000-0000-0000-000000000001", "rev": 4, "devices_rev": 2,
        "good_at": null});
    fake.on(POLLS, [Reply::json(200, &claim), overtaken.clone(), conflict.clone()]);
    let row = json!({"device_id": "d-1", "type": "SlurmMember", "result": "written"});
    fake.on(CONDITIONS, [Reply::json(200, &json!({"results": [row]})), overtaken, conflict]);
    let tick: Timestamp = "2026-11-30T10:00:00Z".parse().unwrap();
    let post = ConditionPost { tick, rows: Vec::new() };
    let busy = Kind::Conflict("busy".to_owned());

    let claim = hub.claim(tick).await.unwrap().unwrap();
    assert_eq!((claim.rev, claim.devices_rev, claim.good_at), (4, 2, None));
    assert_eq!(hub.claim(tick).await.unwrap(), None);
    assert_eq!(hub.mark_good(tick).await.unwrap_err().kind, busy);
    let posted: Vec<Value> = fake.asked(POLLS).iter().map(|a| a.json()).collect();
    let at = "2026-11-30T10:00:00Z";
    assert_eq!(posted, [json!({"tick": at}), json!({"tick": at}), json!({"tick": at, "good": true})]);

    let results = hub.post_conditions(&post).await.unwrap().unwrap();
    assert_eq!(results[0].result, RowResult::Written);
    assert_eq!(hub.post_conditions(&post).await.unwrap(), None);
    assert_eq!(hub.post_conditions(&post).await.unwrap_err().kind, busy);
}

#[tokio::test]
async fn a_held_device_is_a_conflict_in_the_hubs_words() {
    let (fake, hub) = hub().await;
    let call = "POST /api/v1/sites/lab/devices/d-1/workflows/";
    let words = "adopt r-0 of ada is running";
    fake.on(call, [problem(409, "urn:fleet:problem:workflow-running", words)]);
    let start = serde_json::from_value(json!({"verb": "adopt", "reason": "new rack"})).unwrap();
    let error = hub.start(&id("d-1"), &"r-1".parse().unwrap(), &start).await.unwrap_err();
    assert_eq!(error.kind, Kind::Conflict(words.to_owned()));
    assert_eq!(fake.asked(call)[0].header("idempotency-key"), Some("r-1"));
}

#[tokio::test]
async fn each_wrong_field_is_in_the_words() {
    let (fake, hub) = hub().await;
    let field = json!({"field": "gres", "position": 4, "problem": "is odd", "remedy": "mend it"});
    let body = json!({"type": "about:blank", "title": "Invalid", "status": 422, "errors": [field]});
    fake.on("PATCH /api/v1/devices/d-1", [Reply::json(422, &body)]);
    let error = hub.update_device(&id("d-1"), &model::DevicePatch::default()).await.unwrap_err();
    assert_eq!(error.kind, Kind::Rejected("Invalid; gres (position 4): is odd; mend it".to_owned()));
}
