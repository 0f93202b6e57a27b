//! Which job starts, when, and how it ends: priority, tiers, holds, arrays, limits.

use fakes::{End, JobBehaviour, JobSeed, NodeSeed, PartitionSeed, SlurmOptions, Slurmrestd};
use serde_json::{Value, json};

use crate::{job, shown, slurm};

/// n1 alone, in partitions main and urgent, of which the second has the higher tier; jobs end when they are ended.
async fn start() -> Slurmrestd {
    let partitions =
        vec![PartitionSeed::new("main"), PartitionSeed { tier: 10, ..PartitionSeed::new("urgent") }];
    let n1 = NodeSeed { partitions: vec!["main".to_owned(), "urgent".to_owned()], ..NodeSeed::new("n1") };
    let options = SlurmOptions { partitions, nodes: vec![n1], job_ticks: None, ..SlurmOptions::default() };
    Slurmrestd::start(options).await.unwrap()
}

/// Those that run now, by their ids.
fn running(fake: &Slurmrestd) -> Vec<i64> {
    let runs = |j: &&Value| j["job_state"] == json!(["RUNNING"]);
    fake.jobs().iter().filter(runs).map(|j| j["job_id"].as_i64().unwrap()).collect()
}

fn pinned() -> JobSeed {
    JobSeed::on(&["n1"])
}

#[tokio::test]
async fn tier_first_then_priority_then_age() {
    let fake = start().await;
    let old = fake.submit(pinned());
    let high = fake.submit(JobSeed { priority: Some(4_294_967_290), ..pinned() });
    let same = fake.submit(JobSeed { priority: Some(4_294_967_290), ..pinned() });
    let tier = fake.submit(JobSeed { partition: "urgent".to_owned(), ..pinned() });
    let both = fake.submit(JobSeed { partition: "main,urgent".to_owned(), ..JobSeed::on(&[]) });
    for expected in [tier, both, high, same, old] {
        fake.tick();
        assert_eq!(running(&fake), [expected]);
        fake.finish(expected, 0);
    }
}

#[tokio::test]
async fn who_waits_behind_another_waits_for_priority() {
    let fake = start().await;
    fake.run(pinned());
    let (first, second) = (fake.submit(JobSeed::on(&[])), fake.submit(JobSeed::on(&[])));
    fake.tick();
    assert_eq!((shown(&fake, first).1, shown(&fake, second).1), (json!("Resources"), json!("Priority")));
    let partitions = slurm(&fake, "root").get("/partitions").await.json()["partitions"].clone();
    assert_eq!(
        (&partitions[0]["priority"]["tier"], &partitions[1]["priority"]["tier"]),
        (&json!(1), &json!(10))
    );
}

#[tokio::test]
async fn a_priority_is_an_administrators_to_give() {
    let fake = start().await;
    let asked = job(json!({"priority": {"set": true, "number": 500}}));
    for (user, expected) in [("alice", 1), ("root", 500)] {
        let got = slurm(&fake, user).post("/job/submit", &asked).await.json();
        assert_eq!(got["warnings"], json!([]));
        let id = got["job_id"].as_i64().unwrap();
        assert_eq!(fake.job(id).unwrap()["priority"]["number"], expected, "{user}");
    }
    // root's token acts as alice
    let as_alice = slurm(&fake, "root").with("X-SLURM-USER-NAME", "alice");
    as_alice.post("/job/submit", &asked).await;
    let third = fake.job(3).unwrap();
    assert_eq!((&third["user_name"], &third["priority"]["number"]), (&json!("alice"), &json!(1)));
}

#[tokio::test]
async fn a_priority_is_changed_by_an_administrator_and_lowered_by_its_user() {
    let fake = start().await;
    let id = fake.submit(pinned());
    let path = format!("/job/{id}");
    let to = |n: i64| json!({"priority": {"set": true, "number": n}});
    let priority = || fake.job(id).unwrap()["priority"]["number"].clone();
    let (root, alice) = (slurm(&fake, "root"), slurm(&fake, "alice"));
    let got = root.post(&path, &to(4_294_967_290)).await;
    assert_eq!(
        (got.status, &got.json()["results"], priority()),
        (200, &Value::Null, json!(4_294_967_290_i64))
    );
    assert_eq!(alice.post(&path, &to(4_294_967_292)).await.slurm(), (422, Some(2002)));
    // refused, and done all the same
    assert_eq!(alice.post(&path, &to(7)).await.slurm(), (422, Some(2095)));
    assert_eq!(priority(), 7);
    assert_eq!(slurm(&fake, "bob").post(&path, &to(7)).await.slurm(), (422, Some(2010)));
    assert_eq!(root.post("/job/999999", &to(7)).await.slurm(), (404, Some(2017)));
    assert_eq!(alice.post(&path, &to(0)).await.status, 200);
    assert_eq!((priority(), shown(&fake, id).1), (json!(0), json!("JobHeldUser")));
    assert_eq!(root.post(&path, &to(4_294_967_293)).await.slurm(), (422, Some(2042)));
    assert_eq!(root.post(&path, &to(4_294_967_295)).await.status, 200);
    assert_eq!(priority(), 1);
    fake.end(id, End::Cancelled);
    assert_eq!(root.post(&path, &to(9)).await.slurm(), (422, Some(2084)));
}

#[tokio::test]
async fn a_reason_is_none_from_a_change_of_priority_to_the_next_tick() {
    let fake = start().await;
    fake.put(NodeSeed::new("n1").in_state(&["IDLE", "DRAIN"], "x"));
    let id = fake.submit(pinned());
    fake.tick();
    let job = fake.job(id).unwrap();
    let text = "ReqNodeNotAvail, May be reserved for other job";
    assert_eq!((&job["state_reason"], &job["state_description"]), (&json!("ReqNodeNotAvail"), &json!(text)));
    // with another node of the partition closed too, and then open
    for (tokens, then) in [(["IDLE", "DRAIN"].as_slice(), "Resources"), (&["IDLE"], "ReqNodeNotAvail")] {
        fake.put(NodeSeed::new("n2").in_state(tokens, "x"));
        slurm(&fake, "root").post(&format!("/job/{id}"), &json!({"priority": 9})).await;
        assert_eq!(shown(&fake, id).1, "None");
        fake.tick();
        assert_eq!(shown(&fake, id).1, then);
    }
}

#[tokio::test]
async fn a_held_job_waits_until_it_is_released() {
    let fake = start().await;
    let got = slurm(&fake, "alice").post("/job/submit", &job(json!({"hold": true}))).await.json();
    let text = "Job is in held state, pending scheduler release";
    assert_eq!(got["warnings"][1]["description"], text);
    fake.tick();
    let held = fake.job(1).unwrap();
    assert_eq!(
        (&held["hold"], &held["priority"]["number"], &held["state_reason"]),
        (&json!(true), &json!(0), &json!("JobHeldUser"))
    );
    slurm(&fake, "root").post("/job/1", &json!({"hold": true})).await;
    fake.tick();
    assert_eq!(shown(&fake, 1).1, "JobHeldAdmin");
    fake.release_job(1);
    fake.tick();
    assert_eq!(running(&fake), [1]);
}

#[tokio::test]
async fn an_array_is_one_entry_and_a_job_for_each_task_that_started() {
    let fake = start().await;
    let base = fake.submit(JobSeed { array: "1-3".to_owned(), ..pinned() });
    let of = |id: i64| {
        let job = fake.job(id).unwrap();
        let task = &job["array_task_id"];
        let task = if task["set"] == true { task["number"].clone() } else { Value::Null };
        (job["array_job_id"]["number"].clone(), task, job["array_task_string"].clone())
    };
    assert_eq!(of(base), (json!(base), Value::Null, json!("1-3")));
    fake.tick();
    assert_eq!(of(base), (json!(base), Value::Null, json!("2-3")));
    assert_eq!((of(base + 1), running(&fake)), ((json!(base), json!(1), json!("")), vec![base + 1]));
    // all of them are asked for by the array's id, the task alone by its own
    let jobs = |path: String| {
        let client = slurm(&fake, "root");
        async move { client.get(&path).await.json()["jobs"].as_array().unwrap().len() }
    };
    assert_eq!((jobs(format!("/job/{base}")).await, jobs(format!("/job/{}", base + 1)).await), (2, 1));
    assert_eq!(jobs(format!("/job/{base}_1")).await, 2);
    fake.finish(base + 1, 0);
    fake.tick();
    fake.finish(base + 2, 0);
    fake.tick();
    // the last task has the array's id
    assert_eq!((of(base), running(&fake)), ((json!(base), json!(3), json!("")), vec![base]));
}

#[tokio::test]
async fn a_time_limit_ends_a_job() {
    let fake = start().await;
    let id = fake.submit(JobSeed { time_limit: Some(1), ..pinned() });
    (0..60).for_each(|_| fake.tick());
    assert_eq!(running(&fake), [id]);
    let job = fake.job(id).unwrap();
    let number = |key: &str| job[key]["number"].as_i64().unwrap();
    assert_eq!(number("end_time") - number("start_time"), 60);
    fake.tick();
    let job = fake.job(id).unwrap();
    let seen = (&job["job_state"][0], &job["state_reason"], &job["exit_code"]["status"]);
    assert_eq!(seen, (&json!("TIMEOUT"), &json!("TimeLimit"), &json!(["SIGNALED"])));
}

#[tokio::test]
async fn every_end_of_a_job() {
    for (end, state, reason, status) in [
        (End::Completed, "COMPLETED", "None", "SUCCESS"),
        (End::Failed(7), "FAILED", "NonZeroExitCode", "ERROR"),
        (End::Killed(9), "FAILED", "RaisedSignal", "SIGNALED"),
        (End::Cancelled, "CANCELLED", "None", "SIGNALED"),
        (End::TimedOut, "TIMEOUT", "TimeLimit", "SIGNALED"),
        (End::OutOfMemory, "OUT_OF_MEMORY", "OutOfMemory", "SIGNALED"),
        (End::NodeFailed, "NODE_FAIL", "NodeFail", "SUCCESS"),
    ] {
        let fake = start().await;
        let id = fake.run(JobSeed { requeue: false, ..pinned() });
        fake.end(id, end);
        fake.tick();
        let job = fake.job(id).unwrap();
        let seen = (&job["job_state"], &job["state_reason"], &job["exit_code"]["status"][0]);
        assert_eq!(seen, (&json!([state]), &json!(reason), &json!(status)), "{end:?}");
    }
}

#[tokio::test]
async fn a_job_whose_node_fails_is_queued_again_under_its_id() {
    let fake = start().await;
    let id = fake.run(pinned());
    fake.end(id, End::NodeFailed);
    assert_eq!(shown(&fake, id), (json!(["PENDING"]), json!("BeginTime"), json!("")));
}

#[tokio::test]
async fn a_suspended_job_is_told_as_held_and_runs_on() {
    let fake = start().await;
    let id = fake.run(pinned());
    fake.suspend(id);
    let job = fake.job(id).unwrap();
    let seen = (&job["priority"]["number"], &job["hold"], &job["state_reason"], &job["nodes"]);
    assert_eq!(seen, (&json!(0), &json!(true), &json!("None"), &json!("n1")));
    let another = fake.submit(pinned());
    fake.tick();
    assert_eq!(shown(&fake, another).0, json!(["PENDING"]));
    fake.unsuspend(id);
    assert_eq!(running(&fake), [id]);
}

#[tokio::test]
async fn a_finished_job_is_forgotten_after_a_while_or_at_once() {
    let options = SlurmOptions {
        nodes: vec![NodeSeed::new("n1")],
        job_ticks: Some(1),
        min_job_age: Some(3),
        ..SlurmOptions::default()
    };
    let fake = Slurmrestd::start(options).await.unwrap();
    let id = fake.submit(pinned());
    let root = slurm(&fake, "root");
    for _ in 0..4 {
        fake.tick();
        assert_eq!(root.get(&format!("/job/{id}")).await.status, 200);
    }
    fake.tick();
    assert_eq!(root.get(&format!("/job/{id}")).await.slurm(), (404, Some(2017)));
    let id = fake.run(pinned());
    fake.lose(id);
    assert_eq!(root.get(&format!("/job/{id}")).await.slurm(), (404, Some(2017)));
}

#[tokio::test]
async fn a_job_keeps_its_script_and_writes_its_comment() {
    let fake = start().await;
    let alice = slurm(&fake, "alice");
    let body = job(json!({"comment": "ours", "shared": ["none"], "constraints": "rack1&ib"}));
    alice.post("/job/submit", &body).await;
    assert_eq!(fake.script(1).as_deref(), Some("#!/bin/bash\n"));
    let job = fake.job(1).unwrap();
    assert_eq!(
        (&job["comment"], &job["shared"], &job["features"]),
        // 26.05 does not tell that it has its nodes to itself
        (&json!("ours"), &json!([]), &json!("rack1&ib"))
    );
    fake.comment(1, "cpu.exit=0");
    assert_eq!(fake.job(1).unwrap()["comment"], "cpu.exit=0");
    assert_eq!(alice.post("/job/1", &json!({"comment": "c", "name": "other"})).await.status, 200);
    let job = fake.job(1).unwrap();
    assert_eq!((&job["comment"], &job["name"]), (&json!("c"), &json!("other")));
}

#[tokio::test]
async fn a_job_that_holds_its_node_until_it_is_drained() {
    let fake = start().await;
    let root = slurm(&fake, "root");
    let passes = JobBehaviour {
        name: "fleet-burnin-".to_owned(),
        takes: 2,
        comment: "cpu.exit=0".to_owned(),
        holds: true,
        end: End::Completed,
    };
    fake.behave(passes.clone());
    let id = fake.submit(JobSeed { name: "fleet-burnin-d-1".to_owned(), ..pinned() });
    (0..2).for_each(|_| fake.tick());
    assert_eq!(fake.job(id).unwrap()["comment"], "");
    (0..9).for_each(|_| fake.tick());
    assert_eq!((fake.job(id).unwrap()["comment"].clone(), running(&fake)), (json!("cpu.exit=0"), vec![id]));
    root.post("/node/n1", &json!({"state": ["DRAIN"], "reason": "x"})).await;
    (0..6).for_each(|_| fake.tick());
    assert_eq!(running(&fake), vec![id]);
    fake.tick();
    assert_eq!(shown(&fake, id).0, json!(["COMPLETED", "COMPLETING"]));
    root.post("/node/n1", &json!({"state": ["RESUME"]})).await;
    fake.behave(JobBehaviour { takes: 1, holds: false, end: End::Failed(7), ..passes });
    let id = fake.submit(JobSeed { name: "fleet-burnin-d-1".to_owned(), ..pinned() });
    (0..2).for_each(|_| fake.tick());
    assert_eq!(shown(&fake, id).0[0], "FAILED");
}
