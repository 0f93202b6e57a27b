//! The OpenAPI document against what the hub does.

use super::*;

async fn document(lab: &Lab) -> Value {
    lab.send(Request::get("/openapi.json").body(Body::empty()).unwrap()).await.good()
}

#[tokio::test]
async fn every_path_is_routed() {
    let lab = Lab::new().await;
    let document = document(&lab).await;
    let mut count = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        let path = path.strip_prefix("/api/v1").unwrap();
        let path = path
            .replace("{site}", "lab")
            .replace("{device}", "d-1")
            .replace("{run}", "r")
            .replace("{id}", "c");
        for method in ["get", "post", "patch"].into_iter().filter(|m| item.get(m).is_some()) {
            let answer = lab.write(&method.to_uppercase(), "ops", &path, &json!({})).await;
            assert_ne!(answer.status, StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
            assert_ne!(answer.body["detail"], "no such path; see /openapi.json", "{method} {path}");
            count += 1;
        }
    }
    assert_eq!(count, 16);
}

/// `model` knows no OpenAPI: the mirrored shapes must not drift from it.
#[tokio::test]
async fn shapes_are_what_is_served() {
    let lab = Lab::new().await;
    let document = document(&lab).await;
    let check = |name: &str, value: &Value| {
        let schema = &document["components"]["schemas"][name];
        let properties = schema["properties"].as_object().unwrap();
        let keys = value.as_object().unwrap();
        assert!(keys.keys().all(|k| properties.contains_key(k)), "{name}: {value}");
        let mut required = schema["required"].as_array().unwrap().iter().map(|r| r.as_str().unwrap());
        assert!(required.all(|r| keys.contains_key(r)), "{name}: {value}");
    };
    let page = lab.get("ops", "/sites/lab/devices/").await.good();
    check("DevicePage", &page);
    check("Device", &page["items"][0]);
    check(
        "Claim",
        &lab.post("slurm-agent-lab", "/sites/lab/polls/", &json!({ "tick": Lab::tick(0) })).await.good(),
    );
    let row =
        json!({ "device_id": "d-1", "type": "SlurmMember", "status": "True", "reason": "R", "message": "" });
    let post = json!({ "tick": Lab::tick(0), "rows": [row] });
    let results = lab.post("slurm-agent-lab", "/sites/lab/device-conditions/", &post).await.good();
    check("ConditionResults", &results);
    check("ConditionResult", &results["results"][0]);
    check("Condition", &lab.get("ops", "/sites/lab/device-conditions/").await.good()["items"][0]);
    let draft = json!({ "device_role": "gpu", "node_source": "static" });
    let config = lab.post("hpc", "/sites/lab/slurm-bootstrap-configs/", &draft).await.good();
    check("BootstrapConfig", &config);
    let path = format!("/sites/lab/slurm-bootstrap-configs/{}/history", config["id"].as_str().unwrap());
    let history = lab.get("hpc", &path).await.good();
    check("ConfigHistory", &history);
    check("ConfigChange", &history["items"][0]);
    check("Problem", &lab.get("ops", "/nowhere").await.body);
}
