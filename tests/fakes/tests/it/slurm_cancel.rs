//! Cancelling: what is answered, what is cancelled, and what a stranger's attempt does to slurmctld.

use fakes::{JobSeed, NodeSeed, Release, SlurmOptions, Slurmrestd};
use serde_json::{Value, json};

use crate::{shown, slurm, slurm_at};

async fn start(options: SlurmOptions) -> Slurmrestd {
    let nodes = vec![NodeSeed::new("n1"), NodeSeed::new("n2")];
    Slurmrestd::start(SlurmOptions { nodes, job_ticks: None, ..options }).await.unwrap()
}

fn codes(body: &Value) -> Vec<(Value, Value)> {
    let status = body["status"].as_array().unwrap();
    status.iter().map(|s| (s["error"]["code"].clone(), s["step_id"].clone())).collect()
}

#[tokio::test]
async fn it_is_200_and_what_became_of_it_stands_in_status() {
    let fake = start(SlurmOptions::default()).await;
    let alice = slurm(&fake, "alice");
    let id = fake.run(JobSeed::on(&["n1"]));
    let got = alice.delete(&format!("/job/{id}")).await;
    assert_eq!((got.status, codes(&got.json())), (200, vec![]));
    assert_eq!(shown(&fake, id).0, json!(["CANCELLED", "COMPLETING"]));
    fake.tick();
    let status = &fake.job(id).unwrap()["exit_code"];
    assert_eq!((&status["status"], &status["signal"]["name"]), (&json!(["SIGNALED"]), &json!("TERM")));
    let again = alice.delete(&format!("/job/{id}")).await.json();
    let expected = json!([{
        "error": {
            "string": "Job/step already completing or completed",
            "code": 2021,
            "message": "Job/step already completing or completed",
        },
        "step_id": "1",
        "job_id": {"set": true, "infinite": false, "number": 1},
        "federation": {"sibling": ""},
    }]);
    assert_eq!((&again["status"], &again["errors"]), (&expected, &json!([])));
    let unknown = alice.delete("/job/999999").await.json();
    assert_eq!(codes(&unknown), [(json!(2017), json!("999999"))]);
    assert_eq!(unknown["status"][0]["job_id"]["set"], false);
    assert_eq!(alice.delete("/job/abc").await.slurm(), (422, Some(9000)));
}

#[tokio::test]
async fn a_pending_job_keeps_its_reason_and_was_never_signalled() {
    let fake = start(SlurmOptions::default()).await;
    fake.put(NodeSeed::new("n1").in_state(&["IDLE", "DRAIN"], "x"));
    let id = fake.submit(JobSeed::on(&["n1"]));
    fake.tick();
    slurm(&fake, "alice").delete(&format!("/job/{id}")).await;
    assert_eq!(shown(&fake, id), (json!(["CANCELLED"]), json!("ReqNodeNotAvail"), json!("")));
    assert_eq!(fake.job(id).unwrap()["exit_code"]["status"], json!(["SUCCESS"]));
}

#[tokio::test]
async fn root_cancels_anybodys_job_and_as_its_user_too() {
    let fake = start(SlurmOptions::default()).await;
    let (first, second) = (fake.run(JobSeed::on(&["n1"])), fake.run(JobSeed::on(&["n2"])));
    let root = slurm(&fake, "root");
    assert_eq!(root.delete(&format!("/job/{first}")).await.status, 200);
    let as_alice = root.with("X-SLURM-USER-NAME", "alice");
    assert_eq!(as_alice.delete(&format!("/job/{second}")).await.status, 200);
    for id in [first, second] {
        assert_eq!(shown(&fake, id).0[0], "CANCELLED");
    }
}

#[tokio::test]
async fn by_a_stranger_without_slurmdbd_slurmctld_hangs_for_good() {
    for (release, status) in [(Release::V24_11, 500), (Release::V26_05, 403)] {
        let fake = start(SlurmOptions { release, ..SlurmOptions::default() }).await;
        let id = fake.run(JobSeed::on(&["n1"]));
        let path = format!("slurm/{}", release.version());
        let got = slurm_at(&fake, "bob", &path).delete(&format!("/job/{id}")).await;
        assert_eq!((got.slurm(), &got.json()["status"]), ((status, Some(1)), &json!([])));
        fake.tick();
        let root = slurm_at(&fake, "root", &path);
        assert_eq!(root.get("/nodes").await.slurm(), (504, Some(5004)));
        assert_eq!(root.get("/ping").await.status, 200);
    }
}

#[tokio::test]
async fn by_a_stranger_with_slurmdbd_it_is_denied() {
    let fake = start(SlurmOptions { accounting: true, ..SlurmOptions::default() }).await;
    let id = fake.run(JobSeed::on(&["n1"]));
    let got = slurm(&fake, "bob").delete(&format!("/job/{id}")).await;
    assert_eq!((got.status, codes(&got.json())), (200, vec![(json!(2002), json!("1"))]));
    assert_eq!(shown(&fake, id).0, json!(["RUNNING"]));
}

#[tokio::test]
async fn tasks_and_arrays() {
    let fake = start(SlurmOptions::default()).await;
    let alice = slurm(&fake, "alice");
    let array = JobSeed { array: "0-4".to_owned(), ..JobSeed::on(&["n1"]) };
    let base = fake.submit(array);
    fake.tick();
    let delete = |key: String| {
        let alice = alice.clone();
        async move { codes(&alice.delete(&format!("/job/{key}")).await.json()) }
    };
    assert_eq!(delete(format!("{base}_2")).await, []);
    assert_eq!(fake.job(base).unwrap()["array_task_string"], "1,3-4");
    assert_eq!(delete(format!("{base}_2")).await, [(json!(2017), json!(format!("{base}_2")))]);
    assert_eq!(delete(format!("{base}_0")).await, []);
    assert_eq!(shown(&fake, base + 1).0[0], "CANCELLED");
    fake.tick();
    // the array's id is everything that is left, and says which had ended
    assert_eq!(delete(base.to_string()).await, [(json!(2021), json!(format!("{base}_0")))]);
    fake.tick();
    let states: Vec<Value> = fake.jobs().iter().map(|j| j["job_state"][0].clone()).collect();
    assert_eq!(states, [json!("CANCELLED"), json!("CANCELLED"), json!("CANCELLED")]);
}
