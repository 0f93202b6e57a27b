//! Bootstrap configs.

use super::*;

const CONFIGS: &str = "/sites/lab/slurm-bootstrap-configs/";

fn draft() -> Value {
    json!({
        "device_role": "gpu", "image": "i-1", "flavor": null, "features": ["dyn"], "gres": "gpu:h100:4",
        "user_data": "I2Nsb3VkLWNvbmZpZwo=", "node_source": "registers",
    })
}

#[tokio::test]
async fn a_row_is_written_once_and_read() {
    let lab = Lab::new().await;
    let created = lab.post("hpc", CONFIGS, &draft()).await;
    assert_eq!(created.status, StatusCode::CREATED);
    let row = created.good();
    let mut shown = row.clone();
    shown["id"] = json!("(a UUID)");
    insta::assert_json_snapshot!(shown);
    let again = lab.post("hpc", CONFIGS, &draft()).await;
    assert_eq!((again.problem(), again.status), ("config-exists", StatusCode::CONFLICT));
    let read = async |query: &str| lab.get("temporal-worker-lab", &format!("{CONFIGS}{query}")).await.good();
    assert_eq!(read("?device_role=gpu").await, json!({ "items": [row] }));
    assert_eq!(read("?device_role=cpu").await, json!({ "items": [] }));
    assert_eq!(read("").await["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn every_mistake_is_reported() {
    let lab = Lab::new().await;
    let bad = json!({
        "device_role": "g pu", "image": "", "features": ["a,b"], "gres": "gpu:", "user_data": "%",
        "node_source": "static",
    });
    let answer = lab.post("hpc", CONFIGS, &bad).await;
    assert_eq!(answer.fields(), ["device_role", "image", "features", "gres", "user_data"]);
    let mut unknown = draft();
    unknown["updated_by"] = json!("somebody");
    assert_eq!(lab.post("hpc", CONFIGS, &unknown).await.fields(), ["updated_by"]);
    assert_eq!(lab.get("hpc", CONFIGS).await.good(), json!({ "items": [] }));
}
