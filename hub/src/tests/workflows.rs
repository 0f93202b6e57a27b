//! Workflows, while Temporal is away: what the hub decides by itself.

use super::*;

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
    assert_eq!(bad(resume).await.fields(), ["deadline_seconds", "dry_run"]);
    let path = "/sites/lab/devices/d-9/workflows/";
    let unknown =
        lab.write_raw("POST", "ops", path, adopt().to_string(), &[("idempotency-key", "r-1")]).await;
    assert_eq!(unknown.problem(), "not-found");
    assert_eq!(lab.get("ops", path).await.problem(), "not-found");
    assert_eq!(lab.get("ops", &format!("{PATH}none")).await.problem(), "not-found");
}
