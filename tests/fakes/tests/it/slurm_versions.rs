//! Older versions of one release, what slurmrestd serves, `+complex`, and bytes that are not UTF-8.

use fakes::{NodeSeed, Release, SlurmOptions, Slurmrestd};
use serde_json::{Value, json};

use crate::{job, slurm, slurm_at};

async fn with(options: SlurmOptions) -> Slurmrestd {
    Slurmrestd::start(options).await.unwrap()
}

fn one(node: NodeSeed) -> SlurmOptions {
    SlurmOptions { nodes: vec![node], ..SlurmOptions::default() }
}

#[tokio::test]
async fn a_server_serves_what_it_is_told_to_and_says_so() {
    let fake = with(SlurmOptions { versions: vec!["v0.0.42"], ..one(NodeSeed::new("n1")) }).await;
    assert_eq!(slurm(&fake, "root").get("/nodes").await.status, 404);
    let root = slurm_at(&fake, "root", "slurm/v0.0.42");
    assert_eq!(root.get("/nodes").await.json()["meta"]["plugin"]["data_parser"], "data_parser/v0.0.42");
    let served = slurm_at(&fake, "root", "openapi/v3").get("").await.json()["paths"].clone();
    assert_eq!(served.as_object().unwrap().keys().collect::<Vec<_>>(), ["/slurm/v0.0.42/ping/"]);
    let none = SlurmOptions { versions: vec!["v0.0.39"], ..SlurmOptions::default() };
    assert!(Slurmrestd::start(none).await.is_err());
}

#[tokio::test]
async fn v0_0_42_on_26_05_hides_blocked_and_external_and_makes_nothing() {
    let seed = NodeSeed::new("n1").in_state(&["IDLE", "BLOCKED", "EXTERNAL", "DYNAMIC_NORM"], "");
    let fake = with(one(seed)).await;
    let older = slurm_at(&fake, "root", "slurm/v0.0.42");
    let state = |body: Value| body["nodes"][0]["state"].clone();
    assert_eq!(state(older.get("/node/n1").await.json()), json!(["IDLE", "DYNAMIC_NORM"]));
    let newer = state(slurm(&fake, "root").get("/node/n1").await.json());
    assert_eq!(newer, json!(["IDLE", "EXTERNAL", "BLOCKED", "DYNAMIC_NORM"]));
    for path in ["/new/node/", "/reservation"] {
        assert_eq!(older.post(path, &json!({})).await.status, 404, "{path}");
    }
    // 26.05's own errors, in the older version too
    assert_eq!(older.post("/node/n1", &json!({"state": ["RESUME"]})).await.slurm(), (422, Some(2180)));
    let ping = older.get("/ping").await.json()["pings"][0].clone();
    assert_eq!(
        (&ping["pinged"], &ping["responding"], ping.get("status")),
        (&json!("UP"), &json!(true), None)
    );
}

#[tokio::test]
async fn v0_0_40_says_less_in_a_ping_and_more_after_a_submit() {
    let fake = with(SlurmOptions { release: Release::V24_11, ..one(NodeSeed::new("n1")) }).await;
    let root = slurm_at(&fake, "root", "slurm/v0.0.40");
    let ping = root.get("/ping").await.json()["pings"][0].clone();
    assert_eq!((&ping["pinged"], ping.get("responding")), (&json!("UP"), None));
    let body = root.post("/job/submit", &job(json!({}))).await.json();
    assert_eq!((&body["job_id"], &body["result"]["error_code"]), (&json!(1), &json!(0)));
    assert_eq!(root.get("/node/n1").await.json()["nodes"][0].get("gpu_spec"), None);
    let drain = json!({"state": ["DRAIN"], "reason": "x"});
    assert_eq!(root.post("/node/n1", &drain).await.status, 200);
    assert_eq!(fake.state("n1"), "IDLE+DRAIN");
    assert_eq!(root.get("/nodes").await.json()["meta"]["plugin"]["data_parser"], "data_parser/v0.0.40");
}

#[tokio::test]
async fn complex_is_bare_numbers_and_nulls() {
    let fake = with(SlurmOptions { complex: true, ..one(NodeSeed::new("n1")) }).await;
    let root = slurm(&fake, "root");
    let body = root.get("/nodes").await.json();
    assert_eq!(body["meta"]["plugin"]["data_parser"], "data_parser/v0.0.45+complex");
    let node = &body["nodes"][0];
    let seen = (&node["slurmd_start_time"], &node["extra"], &node["reason"], &body["last_update"]);
    let now = json!(1_790_000_000);
    assert_eq!(seen, (&now, &Value::Null, &Value::Null, &now));
    root.post("/job/submit", &job(json!({}))).await;
    let job = root.get("/job/1").await.json()["jobs"][0].clone();
    let seen =
        (&job["priority"], &job["array_task_id"], &job["time_limit"], &job["exit_code"]["return_code"]);
    assert_eq!(seen, (&json!(1), &Value::Null, &json!("Infinity"), &json!(0)));
}

#[tokio::test]
async fn a_reason_may_be_no_utf_8_and_then_the_list_is_none() {
    for release in [Release::V22_05, Release::V24_11, Release::V26_05] {
        let bad = NodeSeed::new("n1").in_state(&["IDLE", "DRAIN"], "").because_of_bytes(b"caf\xe9");
        let fake = with(SlurmOptions { release, ..one(bad) }).await;
        let url = format!("{}/slurm/{}/nodes", fake.url(), release.version());
        let request = reqwest::Client::new().get(url).header("X-SLURM-USER-NAME", "root");
        let got = request.header("X-SLURM-USER-TOKEN", fake.token("root")).send().await.unwrap();
        let bytes = got.bytes().await.unwrap();
        assert!(bytes.windows(6).any(|w| w == b"\"caf\xe9\""), "{release:?}");
        assert!(serde_json::from_slice::<Value>(&bytes).is_err());
    }
}
