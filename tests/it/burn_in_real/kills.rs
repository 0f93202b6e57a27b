//! The worker is killed (-9) in the middle of every verb: the next one comes to the same end.

use sandbox::{Api, Process};
use serde_json::{Value, json};

use crate::adopt_real::world::World;
use crate::wait::{eventually, say};

use super::CEILING;
use super::queue::Queue;
use super::verbs::{Verb, begin, closing, waits};
use super::witness::{launched, ours, state};

/// A drain waits for a suspended job, a burn-in's job runs, a server is being deleted.
pub(super) async fn while_they_wait(world: &World, squad: &Api, worker: Process) -> Process {
    let alice = Queue(world);
    say("gpu-001: a drain waits for alice's suspended job");
    let jobs = world.root.get("jobs").await.unwrap()["jobs"].take();
    let suspended = |j: &&Value| state(j) == "SUSPENDED";
    let hers = jobs.as_array().unwrap().iter().find(suspended).unwrap()["job_id"].as_i64().unwrap();
    let drains = begin(world, "drain", "gpu-001", &["--reason", "new DIMM", "--request", "drain-2"]);

    say("gpu-002: a burn-in's job runs; gpu-003: its server is being deleted");
    let script = world.folder.join("half-a-minute.sh");
    std::fs::write(&script, "#!/bin/bash\nsleep 30\necho widgets=4\n").unwrap();
    let more = ["--script", script.to_str().unwrap(), "--time-limit", "60", "--request", "burn-1"];
    let burns = begin(world, "burn-in", "gpu-002", &more);
    world.services.room.behave("node-4", &json!({"destroy_delay": 6})).await.unwrap();
    let [server] = &world.services.cloud.servers("gpu-003").await.unwrap()[..] else { panic!("one server") };
    let held = format!("): {hers}; not all have a time by which they must end");
    let held = ["1 job holds gpu-001 (", held.as_str()];
    tokio::join!(
        waits(squad, "gpu-001", "wait_empty", &held),
        waits(squad, "gpu-002", "wait_job", &[" is RUNNING"])
    );
    let releases = begin(world, "release", "gpu-003", &["--request", "release-3"]);
    eventually("the server is being deleted", CEILING, || async {
        let servers = world.services.cloud.servers("gpu-003").await.unwrap();
        let task = servers.first().map(|s| s["OS-EXT-STS:task_state"].clone());
        if task == Some(json!("deleting")) { Ok(()) } else { Err(format!("{task:?}")) }
    })
    .await;
    say("kill -9");
    worker.signal("-KILL").unwrap();
    let worker = world.worker();
    let mark = "fleet:drain drain-2: fleet-squad: new DIMM";
    let drained = async {
        again(squad, "gpu-001").await;
        waits(squad, "gpu-001", "wait_empty", &held).await;
        assert_eq!(closing(world, "gpu-001").await.1, mark);
        alice.is(hers, "SUSPENDED").await;
        alice.scontrol(&format!("resume {hers}")).await;
        alice.is(hers, "RUNNING").await;
        alice.let_go("node-1", hers).await;
        let done = drains.done().await;
        assert_eq!(done["drain"]["outcome"], "DRAIN_OUTCOME_DRAINED");
        let job = alice.is(hers, "COMPLETED").await;
        assert_eq!(job["restart_cnt"], 0);
        assert_eq!(closing(world, "gpu-001").await.1, mark);
    };
    tokio::join!(drained, is_one_job(world, burns), is_gone(world, squad, releases, server));
    worker
}

/// The next worker's attempt has begun.
async fn again(squad: &Api, device: &str) {
    eventually(&format!("{device} is tried again"), CEILING, || async {
        let runs = squad.get(&format!("sites/lab/devices/{device}/workflows/")).await.unwrap();
        let progress = runs["items"][0]["progress"].clone();
        if progress["attempt"].as_i64() > Some(1) { Ok(()) } else { Err(progress.to_string()) }
    })
    .await;
}

async fn is_one_job(world: &World, burns: Verb) {
    let (done, said) = burns.said().await;
    assert!(said.contains("(attempt 2)"), "{said}");
    assert_eq!(done["burnIn"]["verdict"], "BURN_IN_VERDICT_PASSED", "{done}");
    assert_eq!(done["burnIn"]["values"]["free-text.widgets"], "4", "{done}");
    let [job] = &ours(world, "gpu-002", "burn-1").await[..] else { panic!("one job of ours") };
    assert_eq!(done["burnIn"]["jobId"], job["job_id"].to_string());
    assert_eq!(launched(world, "node-2").await, [job["job_id"].as_i64().unwrap()]);
    let (tokens, reason, _) = closing(world, "gpu-002").await;
    assert_eq!(tokens, ["IDLE", "DRAIN", "DYNAMIC_NORM"]);
    assert_eq!(reason, "fleet:burn_in burn-1: fleet-squad: asked by hand");
}

async fn is_gone(world: &World, squad: &Api, releases: Verb, server: &Value) {
    let (done, said) = releases.said().await;
    assert!(said.contains("(attempt 2)"), "{said}");
    let result = json!({"node": "gpu-003", "serverId": server["id"], "record": "NODE_RECORD_DELETED"});
    assert_eq!(done["release"], result);
    assert_eq!(world.services.cloud.servers("gpu-003").await.unwrap(), Vec::<Value>::new());
    assert_eq!(world.root.node("gpu-003").await.unwrap(), None);
    let device = squad.device("gpu-003").await.unwrap();
    assert_eq!((&device["status"], &device["server_id"]), (&json!("free"), &json!(null)));
    let events = world.services.room.events().await.unwrap();
    let kinds: Vec<&Value> = events.iter().filter(|e| e["node"] == "node-4").map(|e| &e["kind"]).collect();
    assert_eq!(kinds, ["spawn", "destroy"]);
}

/// Between RESUME and DRAIN of a burn-in, with alice's jobs waiting for that very node, and while another
/// node is being opened.
pub(super) async fn while_they_open(world: &World, squad: &Api, worker: Process) -> Process {
    say("gpu-001: resumed on proof of health; its slurmd hangs, so that our job does not start at once");
    let before = launched(world, "node-1").await;
    let opened = begin(world, "resume", "gpu-001", &["--request", "resume-1"]);
    eventually("our job is submitted", CEILING, || async {
        let jobs = ours(world, "gpu-001", "resume-1").await;
        if jobs.is_empty() { Err("no job".to_owned()) } else { Ok(()) }
    })
    .await;
    slurmd(world, "STOP").await;
    is_opened(world, "gpu-001").await;
    say("gpu-002: resumed without");
    let skipped = begin(world, "resume", "gpu-002", &["--skip-burn-in", "--request", "resume-2"]);
    is_opened(world, "gpu-002").await;
    worker.signal("-KILL").unwrap();
    say("kill -9 after RESUME of both, and before the DRAIN of gpu-001");
    slurmd(world, "CONT").await;
    let (tokens, ..) = closing(world, "gpu-001").await;
    assert!(!tokens.contains(&"DRAIN".to_owned()), "not in the window: {tokens:?}");
    let worker = world.worker();
    again(squad, "gpu-001").await;

    let resumed = async {
        let (done, said) = opened.said().await;
        assert!(said.contains("(attempt 2)"), "{said}");
        assert_eq!(done["outcome"], "RESUME_OUTCOME_RESUMED", "{done}");
        assert_eq!(done["burnIn"]["verdict"], "BURN_IN_VERDICT_PASSED", "{done}");
        let [job] = &ours(world, "gpu-001", "resume-1").await[..] else { panic!("one job of ours") };
        let began = launched(world, "node-1").await;
        assert_eq!(began[..before.len()], before);
        assert_eq!(began[before.len()], job["job_id"]);
        say("alice's jobs run now");
        eventually("alice's jobs run", CEILING, || async {
            let now = launched(world, "node-1").await.len();
            if now > began.len() + 5 { Ok(()) } else { Err(now.to_string()) }
        })
        .await;
        // 24.11 clears the reason of a node that it had lost sight of
        let (_, reason, extra) = closing(world, "gpu-001").await;
        assert!([world.unmarked(), ""].contains(&reason.as_str()) && extra.is_empty(), "{reason} {extra}");
    };
    let skips = async {
        let done = skipped.done().await;
        // the second attempt's word: the first had sent RESUME
        assert_eq!(done["outcome"], "RESUME_OUTCOME_ALREADY_OPEN", "{done}");
        assert_eq!(done["burnIn"], json!(null));
        assert_eq!(ours(world, "gpu-002", "resume-2").await, Vec::<Value>::new());
        let (tokens, reason, extra) = closing(world, "gpu-002").await;
        assert_eq!(tokens, ["IDLE", "DYNAMIC_NORM"]);
        assert_eq!((reason.as_str(), extra.as_str()), (world.unmarked(), ""));
    };
    tokio::join!(resumed, skips);
    worker
}

async fn slurmd(world: &World, signal: &str) {
    let command = ["pkill", "--signal", signal, "-x", "slurmd"];
    world.services.room.exec("node-1", &command).await.unwrap();
}

async fn is_opened(world: &World, node: &str) {
    eventually(&format!("{node} is opened"), CEILING, || async {
        let (tokens, ..) = closing(world, node).await;
        if tokens.contains(&"DRAIN".to_owned()) { Err(tokens.join("+")) } else { Ok(()) }
    })
    .await;
}
