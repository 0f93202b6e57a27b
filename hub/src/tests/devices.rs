//! Devices: pages, one, patches, the derived status.

use super::*;

async fn counters(lab: &Lab, tick: i64) -> (u64, u64) {
    let claim =
        lab.post("slurm-agent-lab", "/sites/lab/polls/", &json!({ "tick": Lab::tick(tick) })).await.good();
    (claim["rev"].as_u64().unwrap(), claim["devices_rev"].as_u64().unwrap())
}

#[tokio::test]
async fn a_device_is_served() {
    let lab = Lab::new().await;
    insta::assert_json_snapshot!(lab.get("temporal-worker-lab", "/sites/lab/devices/d-1").await.good());
    for unknown in ["d-9", "%20"] {
        let path = format!("/sites/lab/devices/{unknown}");
        assert_eq!(lab.get("temporal-worker-lab", &path).await.problem(), "not-found");
    }
}

#[tokio::test]
async fn pages_hold_1003_devices_once_each() {
    let lab = Lab::new().await;
    let devices = (0..1_001).map(|n| device(&format!("n-{n:04}"), "lab", "gpu")).collect();
    lab.store.import(devices).await.unwrap().unwrap();
    let mut ids = Vec::new();
    let mut path = "/sites/lab/devices/?limit=500".to_owned();
    let mut pages = 0;
    loop {
        let page = lab.get("slurm-agent-lab", &path).await.good();
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= 500);
        ids.extend(items.iter().map(|d| d["id"].as_str().unwrap().to_owned()));
        pages += 1;
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        path = format!("/sites/lab/devices/?limit=500&cursor={cursor}");
    }
    assert_eq!((ids.len(), pages), (1_003, 3));
    assert!(ids.is_sorted() && ids.windows(2).all(|w| w[0] != w[1]));
    let default = lab.get("slurm-agent-lab", "/sites/lab/devices/").await.good();
    assert_eq!(default["items"].as_array().unwrap().len(), 200);
}

#[tokio::test]
async fn a_page_that_is_just_full_is_the_last() {
    let lab = Lab::new().await;
    let page = lab.get("slurm-agent-lab", "/sites/lab/devices/?limit=2").await.good();
    assert_eq!((page["items"].as_array().unwrap().len(), &page["next_cursor"]), (2, &Value::Null));
    let page = lab.get("slurm-agent-lab", "/sites/lab/devices/?role=cpu").await.good();
    assert_eq!((page["items"][0]["id"].as_str(), page["items"].as_array().unwrap().len()), (Some("d-2"), 1));
}

#[tokio::test]
async fn parameters_are_checked() {
    let lab = Lab::new().await;
    for (query, field) in [
        ("limit=0", "limit"),
        ("limit=501", "limit"),
        ("limit=x", "limit"),
        ("cursor=%20", "cursor"),
        ("role=a%20b", "role"),
        ("rule=gpu", "query"),
        ("limit=1&limit=2", "query"),
    ] {
        let answer = lab.get("slurm-agent-lab", &format!("/sites/lab/devices/?{query}")).await;
        assert_eq!(answer.fields(), [field], "{query}");
    }
}

#[tokio::test]
async fn a_patch_writes_what_differs() {
    let lab = Lab::new().await;
    let before = counters(&lab, 0).await;
    let patch = json!({ "server_id": "s-1", "slurm_node_name": "n1" });
    let device = lab.write("PATCH", "slurm-agent-lab", "/devices/d-1", &patch).await.good();
    assert_eq!((&device["server_id"], &device["status"]), (&json!("s-1"), &json!("validation")));
    assert_eq!(counters(&lab, 1).await, (before.0 + 1, before.1 + 1));
    lab.write("PATCH", "slurm-agent-lab", "/devices/d-1", &patch).await.good();
    assert_eq!(counters(&lab, 2).await, (before.0 + 1, before.1 + 1));
    let device =
        lab.write("PATCH", "slurm-agent-lab", "/devices/d-1", &json!({ "server_id": null })).await.good();
    assert_eq!((&device["server_id"], &device["slurm_node_name"]), (&Value::Null, &json!("n1")));
    assert_eq!(device["status"], "free");
}

#[tokio::test]
async fn patches_are_checked() {
    let lab = Lab::new().await;
    let patch = async |body: Value| lab.write("PATCH", "slurm-agent-lab", "/devices/d-1", &body).await;
    assert_eq!(patch(json!({ "role": "cpu" })).await.fields(), ["role"]);
    assert_eq!(patch(json!({ "slurm_node_name": "n[1-2]" })).await.fields(), ["slurm_node_name"]);
    let missing = lab.write("PATCH", "slurm-agent-lab", "/devices/d-9", &json!({})).await;
    assert_eq!(missing.problem(), "not-found");
}

/// Writes both conditions of d-1 in a tick that ends well; answers the status derived from them.
async fn seen(lab: &Lab, tick: i64, member: &str, schedulable: &str) -> String {
    let row = |kind, status| json!({ "device_id": "d-1", "type": kind, "status": status, "reason": "R", "message": "" });
    let rows = [row("SlurmMember", member), row("SlurmSchedulable", schedulable)];
    let post = json!({ "tick": Lab::tick(tick), "rows": rows });
    lab.post("slurm-agent-lab", "/sites/lab/device-conditions/", &post).await.good();
    let good = json!({ "tick": Lab::tick(tick), "good": true });
    lab.post("slurm-agent-lab", "/sites/lab/polls/", &good).await.good();
    status(lab).await
}

async fn status(lab: &Lab) -> String {
    let device = lab.get("slurm-agent-lab", "/sites/lab/devices/d-1").await.good();
    device["status"].as_str().unwrap().to_owned()
}

async fn adopt(lab: &Lab, server: &str) {
    lab.write("PATCH", "slurm-agent-lab", "/devices/d-1", &json!({ "server_id": server })).await.good();
}

#[tokio::test]
async fn degraded_is_what_was_ready() {
    let lab = Lab::new().await;
    assert_eq!(seen(&lab, 0, "True", "True").await, "free");
    adopt(&lab, "s-1").await;
    assert_eq!(seen(&lab, 1, "True", "False").await, "validation");
    assert_eq!(seen(&lab, 2, "True", "True").await, "ready");
    assert_eq!(seen(&lab, 3, "True", "False").await, "degraded");
    adopt(&lab, "s-2").await;
    assert_eq!(status(&lab).await, "validation");
    assert_eq!(seen(&lab, 4, "False", "False").await, "validation");
}

/// Conditions that were True before the adoption and still are, are not written again.
#[tokio::test]
async fn a_good_tick_proves_unchanged_conditions() {
    let lab = Lab::new().await;
    seen(&lab, 0, "True", "True").await;
    lab.pass(10);
    adopt(&lab, "s-1").await;
    assert_eq!(seen(&lab, 20, "True", "True").await, "ready");
    assert_eq!(seen(&lab, 30, "True", "False").await, "degraded");
}
