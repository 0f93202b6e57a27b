//! Workflows, while Temporal is away: what the hub decides by itself.

use model::{Actor, RequestId, Verb};

use super::*;
use crate::db::{Begun, Request as Noted};

const PATH: &str = "/sites/lab/devices/d-1/workflows/";

async fn start(lab: &Lab, key: &str, body: &Value) -> Answer {
    lab.write_raw("POST", "ops", PATH, body.to_string(), &[("idempotency-key", key)]).await
}

fn adopt() -> Value {
    json!({ "verb": "adopt", "reason": "new node" })
}

#[tokio::test]
async fn temporal_away_is_said_and_hurts_nothing_else() {
    let lab = Lab::new().await;
    let answer = start(&lab, "r-1", &adopt()).await;
    assert_eq!((answer.problem(), answer.status.as_u16()), ("temporal-unavailable", 503));
    lab.get("ops", "/sites/lab/devices/").await.good();
    // nothing has a run yet
    assert_eq!(lab.get("ops", PATH).await.good(), json!({ "items": [] }));
}

#[tokio::test]
async fn a_key_means_one_request() {
    let lab = Lab::new().await;
    assert_eq!(start(&lab, "r-1", &adopt()).await.problem(), "temporal-unavailable");
    assert_eq!(start(&lab, "r-1", &adopt()).await.problem(), "temporal-unavailable");
    let other = start(&lab, "r-1", &json!({ "verb": "adopt", "reason": "another" })).await;
    assert_eq!((other.problem(), other.status.as_u16()), ("idempotency-key-reused", 422));
    let path = "/sites/lab/devices/d-2/workflows/";
    let elsewhere =
        lab.write_raw("POST", "ops", path, adopt().to_string(), &[("idempotency-key", "r-1")]).await;
    assert_eq!(elsewhere.problem(), "idempotency-key-reused");
}

#[tokio::test]
async fn starts_are_checked() {
    let lab = Lab::new().await;
    assert_eq!(lab.post("ops", PATH, &adopt()).await.fields(), ["Idempotency-Key"]);
    assert_eq!(start(&lab, "r 1", &adopt()).await.fields(), ["Idempotency-Key"]);
    let bad = async |body: Value| start(&lab, "r-1", &body).await;
    assert_eq!(bad(json!({ "verb": "explode", "reason": "r" })).await.fields(), ["verb"]);
    assert_eq!(bad(json!({ "verb": "adopt", "reason": "r", "actor": "root" })).await.fields(), ["actor"]);
    assert_eq!(
        bad(json!({ "verb": "adopt", "reason": "r", "deadline_seconds": 0 })).await.fields(),
        ["deadline_seconds"]
    );
    let resume = json!({ "verb": "resume", "reason": "r", "deadline_seconds": 9, "dry_run": true });
    assert_eq!(bad(resume).await.fields(), ["dry_run", "deadline_seconds"]);
    let path = "/sites/lab/devices/d-9/workflows/";
    let unknown =
        lab.write_raw("POST", "ops", path, adopt().to_string(), &[("idempotency-key", "r-1")]).await;
    assert_eq!(unknown.problem(), "not-found");
    assert_eq!(lab.get("ops", path).await.problem(), "not-found");
    assert_eq!(lab.get("ops", &format!("{PATH}none")).await.problem(), "not-found");
}

/// What is good is refused by Temporal alone, which is away.
#[tokio::test]
async fn each_verb_is_taken_with_what_it_has_a_use_for_and_nothing_else() {
    let lab = Lab::new().await;
    let all = json!({ "reason": "r", "dry_run": true, "skip_burn_in": true, "deadline_seconds": 60,
                      "at_deadline": "cancel_jobs", "script": "#!/bin/sh\n", "time_limit_seconds": 60 });
    for (verb, refused) in [
        ("adopt", vec!["at_deadline", "script", "time_limit_seconds"]),
        ("release", vec!["dry_run", "skip_burn_in", "script", "time_limit_seconds"]),
        ("drain", vec!["dry_run", "skip_burn_in", "script", "time_limit_seconds"]),
        ("resume", vec!["dry_run", "deadline_seconds", "at_deadline", "script", "time_limit_seconds"]),
        ("burn_in", vec!["dry_run", "skip_burn_in", "at_deadline"]),
    ] {
        let mut body = all.clone();
        body["verb"] = verb.into();
        let answer = start(&lab, &format!("all-{verb}"), &body).await;
        assert_eq!(answer.fields(), refused, "{verb}");
        for field in refused {
            body.as_object_mut().unwrap().remove(field);
        }
        let answer = start(&lab, &format!("good-{verb}"), &body).await;
        assert_eq!(answer.problem(), "temporal-unavailable", "{verb}: {}", answer.body);
    }
    let said = start(&lab, "r-1", &json!({ "verb": "drain", "reason": "r", "skip_burn_in": true })).await;
    assert_eq!(
        said.body["errors"][0],
        json!({ "field": "skip_burn_in", "problem": "is not for drain",
                "remedy": "leave it out: it is for adopt, resume" })
    );
    for (more, fields) in [
        (json!({ "script": "exit 0" }), vec!["script"]),
        (json!({ "script": "#!/bin/sh\n", "time_limit_seconds": 0 }), vec!["time_limit_seconds"]),
        (json!({ "script": "#!/bin/sh\n", "tests": ["disk"] }), vec!["script"]),
        (json!({ "tests": ["disk", "a b"] }), vec!["tests[1]"]),
        (json!({ "time_limit_seconds": 60 }), vec!["time_limit_seconds"]),
        (json!({ "tests": "disk" }), vec!["tests"]),
    ] {
        let mut body = json!({ "verb": "burn_in", "reason": "r" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        assert_eq!(start(&lab, "r-1", &body).await.fields(), fields, "{body}");
    }
    let killing = json!({ "verb": "drain", "reason": "r", "at_deadline": "kill" });
    assert_eq!(start(&lab, "r-1", &killing).await.fields(), ["at_deadline"]);
}

#[tokio::test]
async fn to_force_needs_its_own_scope_and_an_untested_opening_does_not() {
    let lab = Lab::new().await;
    let forced = json!({ "verb": "resume", "reason": "r", "force": true });
    let answer = start(&lab, "r-1", &forced).await;
    assert_eq!((answer.problem(), answer.status), ("scope-missing", StatusCode::FORBIDDEN));
    assert_eq!(answer.body["detail"], "device-workflow:force is needed");
    let key = [("idempotency-key", "r-2")];
    let lead = lab.write_raw("POST", "lead", PATH, forced.to_string(), &key).await;
    assert_eq!(lead.problem(), "temporal-unavailable");
    let drain = json!({ "verb": "drain", "reason": "r", "force": true });
    let lead = lab.write_raw("POST", "lead", PATH, drain.to_string(), &key).await;
    assert_eq!(lead.fields(), ["force"]);
    let untested = json!({ "verb": "resume", "reason": "r", "skip_burn_in": true });
    assert_eq!(start(&lab, "r-3", &untested).await.problem(), "temporal-unavailable");
}

/// The same key with more asked for is another request; with the same, the first release's too.
#[tokio::test]
async fn what_is_asked_beside_the_verb_belongs_to_the_key() {
    let lab = Lab::new().await;
    let plain = json!({ "verb": "resume", "reason": "r" });
    assert_eq!(start(&lab, "r-1", &plain).await.problem(), "temporal-unavailable");
    let untested = json!({ "verb": "resume", "reason": "r", "skip_burn_in": true });
    assert_eq!(start(&lab, "r-1", &untested).await.problem(), "idempotency-key-reused");
    let said = json!({ "verb": "resume", "reason": "r", "skip_burn_in": false });
    assert_eq!(start(&lab, "r-1", &said).await.problem(), "temporal-unavailable");

    // as the first release noted it: sha256 of ["lab","d-1","ops","adopt","new node",false,null]
    let noted = Noted {
        site: site("lab"),
        id: RequestId::parse("r-old").unwrap(),
        device: DeviceId::parse("d-1").unwrap(),
        verb: Verb::Adopt,
        actor: Actor::parse("ops").unwrap(),
        body_hash: FIRST_RELEASE.to_owned(),
        run_id: None,
    };
    let now = Timestamp::from_second(START).unwrap();
    assert_eq!(lab.store.begin_request(noted, now).await.unwrap(), Begun::Start);
    assert_eq!(start(&lab, "r-old", &adopt()).await.problem(), "temporal-unavailable");
}

/// sha256 of `["lab","d-1","ops","adopt","new node",false,null]`.
const FIRST_RELEASE: &str = "365d5b63766f51ca62d60fd3963315dd89a34800d9c069b862d820ba324173e5";

#[tokio::test]
async fn only_a_run_of_the_device_can_be_ended() {
    let lab = Lab::new().await;
    let noted = Noted {
        site: site("lab"),
        id: RequestId::parse("r-1").unwrap(),
        device: DeviceId::parse("d-1").unwrap(),
        verb: Verb::Drain,
        actor: Actor::parse("ops").unwrap(),
        body_hash: String::new(),
        run_id: None,
    };
    lab.store.begin_request(noted, Timestamp::from_second(START).unwrap()).await.unwrap();
    lab.store.set_run(&site("lab"), &RequestId::parse("r-1").unwrap(), "run-1").await.unwrap();
    for end in ["stop", "cancel"] {
        let told = async |path: &str| lab.post("lead", &format!("{path}/{end}"), &json!({})).await;
        assert_eq!(told(&format!("{PATH}run-1")).await.problem(), "temporal-unavailable");
        assert_eq!(told(&format!("{PATH}run-2")).await.problem(), "not-found");
        assert_eq!(told("/sites/lab/devices/d-2/workflows/run-1").await.problem(), "not-found");
        assert_eq!(told("/sites/lab/devices/m-1/workflows/run-1").await.problem(), "not-found");
        assert_eq!(told("/sites/moon/devices/m-1/workflows/run-1").await.problem(), "other-site");
    }
}
