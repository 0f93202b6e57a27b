//! Records that are deleted and come back, and writes that slurmctld forgets.

use fakes::{JobSeed, NodeSeed, Registration, Release, SlurmOptions, Slurmrestd};
use serde_json::json;

use crate::{job, shown, slurm, slurm_at};

async fn start(release: Release) -> Slurmrestd {
    let options = SlurmOptions {
        release,
        nodes: vec![NodeSeed::new("n1")],
        job_ticks: None,
        ..SlurmOptions::default()
    };
    Slurmrestd::start(options).await.unwrap()
}

fn drain() -> serde_json::Value {
    json!({"state": ["DRAIN"], "reason": "fleet:x", "extra": "fleet:r-1"})
}

#[tokio::test]
async fn a_deleted_nodes_slurmd_stays_out_until_it_is_started_again() {
    let fake = start(Release::V26_05).await;
    let root = slurm(&fake, "root");
    let conf = Some("Gres=gpu:h100:4 Feature=dyn,h100".to_owned());
    fake.register(&Registration { node: "d1".to_owned(), conf, gpus: None });
    root.post("/node/d1", &drain()).await;
    let pending = fake.submit(JobSeed::on(&["d1"]));
    assert_eq!(root.delete("/node/d1").await.status, 200);
    (0..3).for_each(|_| fake.tick());
    assert_eq!((fake.state("d1").as_str(), shown(&fake, pending).1), ("", json!("ReqNodeNotAvail")));
    let named = job(json!({"required_nodes": ["d1"]}));
    assert_eq!(root.post("/job/submit", &named).await.slurm(), (422, Some(2018)));
    // as it was started at first: open
    assert!(fake.restart_slurmd("d1"));
    let node = fake.node("d1").unwrap();
    assert_eq!((fake.state("d1").as_str(), &node["extra"]), ("IDLE+DYNAMIC_NORM", &json!("")));
    // who waited for it waits for ever
    fake.tick();
    assert_eq!(shown(&fake, pending).0, json!(["PENDING"]));
    fake.stop_slurmd("d1");
    assert!(!fake.restart_slurmd("d1"));
}

#[tokio::test]
async fn what_a_failed_delete_is_called_differs() {
    for (release, said) in
        [(Release::V24_11, "Failure to update node n1"), (Release::V26_05, "Failure to delete node n1")]
    {
        let fake = start(release).await;
        let client = slurm_at(&fake, "root", &format!("slurm/{}", release.version()));
        assert_eq!(client.delete("/node/n1").await.json()["errors"][0]["description"], said);
    }
}

#[tokio::test]
async fn a_crash_forgets_what_was_written_in_the_last_five_ticks() {
    let fake = start(Release::V26_05).await;
    let root = slurm(&fake, "root");
    root.post("/node/n1", &drain()).await;
    (0..5).for_each(|_| fake.tick());
    let undrain = json!({"state": ["UNDRAIN"]});
    root.post("/node/n1", &undrain).await;
    fake.tick();
    let got = root.post("/job/submit", &job(json!({"name": "ours"}))).await.json();
    let ours = got["job_id"].as_i64().unwrap();
    fake.tick();
    assert_eq!((fake.state("n1").as_str(), shown(&fake, ours).0), ("ALLOCATED", json!(["RUNNING"])));
    fake.crash();
    assert_eq!(fake.state("n1"), "UNKNOWN+DRAIN");
    assert_eq!(root.get(&format!("/job/{ours}")).await.slurm(), (404, Some(2017)));
    (0..3).for_each(|_| fake.tick());
    let node = fake.node("n1").unwrap();
    assert_eq!((fake.state("n1").as_str(), &node["extra"]), ("IDLE+DRAIN", &json!("fleet:r-1")));
    // its id goes to whoever comes next
    let next = slurm(&fake, "alice").post("/job/submit", &job(json!({}))).await.json();
    assert_eq!(next["job_id"], ours);
}

#[tokio::test]
async fn on_24_11_a_job_is_known_after_a_crash_and_runs_twice() {
    let fake = start(Release::V24_11).await;
    let root = slurm_at(&fake, "root", "slurm/v0.0.42");
    let body = job(json!({"requeue": false}));
    let id = root.post("/job/submit", &body).await.json()["job_id"].as_i64().unwrap();
    fake.tick();
    fake.crash();
    assert_eq!(shown(&fake, id).0, json!(["PENDING"]));
    (0..4).for_each(|_| fake.tick());
    assert_eq!(shown(&fake, id), (json!(["RUNNING"]), json!("None"), json!("n1")));
}

#[tokio::test]
async fn a_record_that_was_deleted_is_back_after_a_crash() {
    let fake = start(Release::V26_05).await;
    fake.put(NodeSeed::new("d1").in_state(&["IDLE", "DRAIN", "DYNAMIC_NORM"], "fleet:x"));
    slurm(&fake, "root").delete("/node/d1").await;
    fake.crash();
    (0..3).for_each(|_| fake.tick());
    assert_eq!(fake.state("d1"), "IDLE+DRAIN+DYNAMIC_NORM");
}
