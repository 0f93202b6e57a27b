//! `fleet-hub import`.

use super::*;
use crate::import;

async fn import(lab: &Lab, content: &str) -> Result<import::Imported, String> {
    let file = std::env::temp_dir().join(format!("hub-import-{}.json", uuid::Uuid::new_v4()));
    std::fs::write(&file, content).unwrap();
    let done = import::run(&file, &lab.config, &lab.store).await;
    std::fs::remove_file(&file).unwrap();
    done.map_err(|e| e.to_string().replace(&file.display().to_string(), "devices.json"))
}

async fn revs(lab: &Lab) -> (Value, Value) {
    let claim =
        lab.post("slurm-agent-lab", "/sites/lab/polls/", &json!({ "tick": Lab::tick(0) })).await.good();
    (claim["rev"].clone(), claim["devices_rev"].clone())
}

#[tokio::test]
async fn devices_are_written_and_moves_rev_where_they_differ() {
    let lab = Lab::new().await;
    let content = r#"[{"id":"d-1","site_id":"lab","name":"d-1","role":"gpu","nova_host":"hv1","slurm_node_name":"n1"},
                      {"id":"d-3","site_id":"lab","name":"Three","role":"gpu"}]"#;
    let done = import(&lab, content).await.unwrap();
    assert_eq!((done.devices, done.changed), (2, 2));
    assert_eq!(revs(&lab).await, (json!(2), json!(2)));
    assert_eq!(import(&lab, content).await.unwrap().changed, 0);
    assert_eq!(revs(&lab).await, (json!(2), json!(2)));
    // absent is kept, null clears
    let content = r#"[{"id":"d-1","site_id":"lab","name":"d-1","role":"gpu","nova_host":null}]"#;
    import(&lab, content).await.unwrap();
    let device = lab.get("ops", "/sites/lab/devices/d-1").await.good();
    assert_eq!((&device["slurm_node_name"], &device["nova_host"]), (&json!("n1"), &Value::Null));
}

#[tokio::test]
async fn every_mistake_is_reported_and_nothing_stored() {
    let lab = Lab::new().await;
    let said = import(
        &lab,
        r#"[{"id":"d-7","site_id":"lab","name":"d-7","role":"gpu"},
            {"id":"d 8","site_id":"mars","name":"","role":7,"color":"red"},
            {"id":"d-7","site_id":"lab","name":"d-7","role":"gpu","slurm_node_name":"n[1-2]"},
            "x"]"#,
    )
    .await
    .unwrap_err();
    insta::assert_snapshot!(said);
    let moved = r#"[{"id":"d-7","site_id":"lab","name":"d-7","role":"gpu"},
                    {"id":"m-1","site_id":"lab","name":"m-1","role":"gpu"}]"#;
    assert!(import(&lab, moved).await.unwrap_err().starts_with("devices.json: [1].site_id: differs"));
    assert!(import(&lab, "{}").await.unwrap_err().contains("is not a list"));
    assert!(import(&lab, "[").await.unwrap_err().contains("is not JSON (line 1, column 1)"));
    assert_eq!(lab.get("ops", "/sites/lab/devices/d-7").await.problem(), "not-found");
    assert_eq!(revs(&lab).await, (json!(1), json!(1)));
}

/// What `fleet-hub import` does beside a running server: a second connection to the same file.
#[tokio::test]
async fn another_process_may_write() {
    let file = std::env::temp_dir().join(format!("hub-{}.sqlite", uuid::Uuid::new_v4()));
    let server = Store::open(&file, &[site("lab")]).await.unwrap();
    let importer = Store::open(&file, &[site("lab")]).await.unwrap();
    let now = Timestamp::from_second(START).unwrap();
    let rev = async || match server.poll(&site("lab"), now, false, now).await.unwrap() {
        crate::db::Polled::Accepted { rev, .. } => rev,
        other => panic!("{other:?}"),
    };
    assert_eq!(rev().await, 0);
    assert_eq!(importer.import(vec![device("d-1", "lab", "gpu")]).await.unwrap(), Ok(1));
    assert_eq!(rev().await, 1);
    drop((server, importer));
    for end in ["", "-wal", "-shm"] {
        // SQLite removes its side files by itself when the last connection closes in time
        let _ = std::fs::remove_file(format!("{}{end}", file.display()));
    }
}
