//! Jobs: submitted, run, suspended, ended.

use fakes::{JobSeed, NodeSeed, SlurmOptions, Slurmrestd};
use serde_json::json;

use crate::{job, shown, slurm};

async fn start() -> Slurmrestd {
    let nodes = vec![NodeSeed::new("n1"), NodeSeed::new("n2").in_state(&["IDLE", "DRAIN"], "x")];
    Slurmrestd::start(SlurmOptions { nodes, ..SlurmOptions::default() }).await.unwrap()
}

#[tokio::test]
async fn a_users_job_runs_on_an_open_node_and_ends() {
    let fake = start().await;
    let got = slurm(&fake, "alice").post("/job/submit", &job(json!({}))).await;
    assert_eq!((got.status, &got.json()["job_id"], &got.json()["warnings"]), (200, &json!(1), &json!([])));
    assert_eq!(shown(&fake, 1).0, json!(["PENDING"]));
    fake.tick();
    assert_eq!(shown(&fake, 1), (json!(["RUNNING"]), json!("None"), json!("n1")));
    assert_eq!(fake.state("n1"), "ALLOCATED");
    for _ in 0..3 {
        fake.tick();
    }
    assert_eq!(shown(&fake, 1).0, json!(["COMPLETED", "COMPLETING"]));
    assert_eq!(fake.state("n1"), "IDLE+COMPLETING");
    fake.tick();
    assert_eq!((shown(&fake, 1).0, fake.state("n1").as_str()), (json!(["COMPLETED"]), "IDLE"));
}

#[tokio::test]
async fn a_job_pinned_to_a_drained_node_pends_for_ever_with_two_warnings() {
    let fake = start().await;
    let got = slurm(&fake, "alice").post("/job/submit", &job(json!({"required_nodes": ["n2"]}))).await;
    let text = "Required node not available (down, drained or reserved)";
    let first = format!("Job submission resulted in non-zero return code: {text}");
    let warnings = got.json()["warnings"].clone();
    assert_eq!(
        (got.status, &warnings[0]["description"], &warnings[1]["description"]),
        (200, &json!(first), &json!(text))
    );
    fake.tick();
    assert_eq!(shown(&fake, 1), (json!(["PENDING"]), json!("ReqNodeNotAvail"), json!("")));
}

#[tokio::test]
async fn a_running_job_outlives_a_drain() {
    let fake = start().await;
    let id = fake.run(JobSeed::on(&["n1"]));
    slurm(&fake, "root").post("/node/n1", &json!({"state": ["DRAIN"], "reason": "x"})).await;
    fake.tick();
    assert_eq!((fake.state("n1").as_str(), shown(&fake, id).0), ("ALLOCATED+DRAIN", json!(["RUNNING"])));
    fake.finish(id, 7);
    assert_eq!(fake.state("n1"), "IDLE+DRAIN+COMPLETING");
    assert_eq!(fake.job(id).unwrap()["exit_code"]["return_code"]["number"], 7);
    fake.tick();
    assert_eq!((fake.state("n1").as_str(), shown(&fake, id).1), ("IDLE+DRAIN", json!("NonZeroExitCode")));
}

#[tokio::test]
async fn a_suspended_job_hides() {
    let fake = start().await;
    let id = fake.run(JobSeed::on(&["n1"]));
    fake.suspend(id);
    assert_eq!((fake.state("n1").as_str(), shown(&fake, id).0), ("IDLE", json!(["SUSPENDED"])));
    assert_eq!(slurm(&fake, "root").get("/jobs").await.json()["jobs"][0]["nodes"], "n1");
}

#[tokio::test]
async fn an_unknown_job_is_404_with_2017() {
    let fake = start().await;
    let got = slurm(&fake, "root").get("/job/999999").await;
    assert_eq!((got.slurm(), &got.json()["jobs"]), ((404, Some(2017)), &json!([])));
}

#[tokio::test]
async fn what_submit_refuses() {
    let fake = start().await;
    let client = slurm(&fake, "alice");
    let without = |key: &str| {
        let mut body = job(json!({}));
        body["job"].as_object_mut().unwrap().remove(key);
        body
    };
    for (body, number) in [
        (json!({"job": {}}), 9000),
        (without("current_working_directory"), 2063),
        (without("environment"), 2127),
        (job(json!({"partition": "nope"})), 2000),
        (job(json!({"constraints": "nope"})), 2029),
        (job(json!({"required_nodes": ["nope"]})), 2018),
        (job(json!({"reservation": "nope"})), 2053),
    ] {
        assert_eq!(client.post("/job/submit", &body).await.slurm(), (422, Some(number)), "{body}");
    }
    let got = client.post("/job/submit", &job(json!({"bogus": 1, "time_limit": {"number": 5}}))).await;
    let text = "Ignoring unknown field \"bogus\" of type 64 bit integer in DATA_PARSER_JOB_DESC_MSG";
    assert_eq!(got.json()["warnings"], json!([{"description": text, "source": "#/job/bogus/"}]));
    assert_eq!(fake.job(1).unwrap()["time_limit"]["infinite"], true);
}

#[tokio::test]
async fn a_job_that_is_submitted_at_the_machine_starts_on_what_is_open() {
    let fake = start().await;
    let (any, pinned) = (fake.submit(JobSeed::on(&[])), fake.submit(JobSeed::on(&["n2"])));
    assert_eq!(shown(&fake, any).0, json!(["PENDING"]));
    fake.tick();
    assert_eq!(shown(&fake, any), (json!(["RUNNING"]), json!("None"), json!("n1")));
    assert_eq!(shown(&fake, pinned), (json!(["PENDING"]), json!("ReqNodeNotAvail"), json!("")));
}

#[tokio::test]
async fn a_script_that_is_no_program_is_taken_and_fails() {
    let fake = start().await;
    let mut body = job(json!({}));
    body["script"] = json!("echo hello\n");
    assert_eq!(slurm(&fake, "alice").post("/job/submit", &body).await.status, 200);
    (0..3).for_each(|_| fake.tick());
    assert_eq!((shown(&fake, 1).0, shown(&fake, 1).1), (json!(["FAILED"]), json!("NonZeroExitCode")));
    assert_eq!(fake.job(1).unwrap()["exit_code"]["return_code"]["number"], 8);
}

#[tokio::test]
async fn a_drain_of_a_node_that_powers_up_queues_its_job_again() {
    let fake = start().await;
    fake.put(NodeSeed::new("c1").in_state(&["IDLE", "CLOUD", "NOT_RESPONDING", "POWERING_UP"], ""));
    let id = fake.run(JobSeed::on(&["c1"]));
    assert_eq!(fake.state("c1"), "ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP");
    slurm(&fake, "root").post("/node/c1", &json!({"state": ["DRAIN"], "reason": "x"})).await;
    assert_eq!(shown(&fake, id), (json!(["PENDING"]), json!("BeginTime"), json!("")));
}
