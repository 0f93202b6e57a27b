//! A node is opened on proof of its health, and no user's job starts before.

use sandbox::Release;
use serde_json::{Value, json};

use crate::adopt_real::watching::Watching;
use crate::adopt_real::world::World;
use crate::wait::{eventually, say};

use super::CEILING;
use super::queue::Queue;
use super::verbs::{begin, closing, node_is};
use super::witness::{Sight, launched, ours, state, watch};

const NODE: &str = "gpu-001";
const MACHINE: &str = "node-1";

/// What alice has queued.
struct Queued {
    /// What goes before ours where there is no reservation: of a higher tier, and of equal priority.
    before: Vec<i64>,
    /// One of each other kind that can run.
    kinds: Vec<i64>,
}

pub(super) async fn opens_on_proof_of_health(world: &World) {
    let queued = queue(world).await;
    let sights = watch(world, NODE);
    let mut kinds = queued.kinds;
    if world.services.run.release == Release::V24_11 {
        is_not_run_behind_others(world, &queued.before).await;
    } else {
        kinds.extend(queued.before);
    }
    say("satellite start adopt gpu-001: a node, tests that pass, and only then users");
    let adopts = begin(world, "adopt", NODE, &["--reason", "new rack", "--request", "req-1"]);
    let (done, pinned) = tokio::join!(adopts.done(), pin(world));
    kinds.extend(pinned);
    assert_eq!(done["resume"]["outcome"], "RESUME_OUTCOME_RESUMED");
    let ours = proves(world, &done["burnIn"], "req-1").await;

    say("alice's jobs of every kind run");
    eventually("each kind has run", CEILING, || async {
        let launched = launched(world, MACHINE).await;
        let waiting: Vec<&i64> = kinds.iter().filter(|job| !launched.contains(job)).collect();
        if waiting.is_empty() {
            return Ok(());
        }
        let jobs = world.root.get("jobs").await.unwrap()["jobs"].take();
        let known = jobs.as_array().unwrap().iter();
        let those = known.filter(|j| waiting.iter().any(|id| j["job_id"] == **id));
        let why: Vec<String> =
            those.map(|j| format!("{} {} {}", j["job_id"], state(j), j["state_reason"])).collect();
        Err(format!("{waiting:?} of {kinds:?} wait: {}", why.join(", ")))
    })
    .await;
    none_before(world, sights, &ours).await;
    Queue(world).ends().await;
    node_is(world, NODE, &["IDLE"]).await;
}

/// Whatever does not name the node, which SLURM does not know yet.
async fn queue(world: &World) -> Queued {
    say(
        "alice's jobs wait: of both partitions, of our priority, for whole nodes, arrays, held by her and root",
    );
    let alice = Queue(world);
    let mut before = alice.submit(3, "-p high").await;
    let equal = alice.submit(1, "").await[0];
    alice.scontrol(&format!("update jobid={equal} priority=4294967290")).await;
    before.push(equal);
    let plain = alice.submit(6, "").await;
    let whole = alice.submit(2, "--exclusive").await;
    let array = alice.submit(1, "--array=1-4").await;
    alice.submit(2, "--hold").await;
    let held = alice.submit(1, "").await[0];
    alice.scontrol(&format!("hold {held}")).await;
    Queued { before, kinds: vec![plain[0], whole[0], array[0]] }
}

/// Jobs for this node alone, as soon as SLURM knows it.
async fn pin(world: &World) -> Vec<i64> {
    eventually("gpu-001 is known", CEILING, || async {
        world.root.node(NODE).await.unwrap().map(drop).ok_or_else(|| "no node".to_owned())
    })
    .await;
    let alice = Queue(world);
    let pinned = alice.submit(3, &format!("-w {NODE}")).await;
    let array = alice.submit(1, &format!("-w {NODE} --array=1-3 --exclusive")).await;
    vec![pinned[0], array[0]]
}

/// Without reservations: what outranks our job must be gone first.
async fn is_not_run_behind_others(world: &World, before: &[i64]) {
    say("satellite start adopt gpu-001: jobs of alice would start first, so that nothing is opened");
    let adopts = begin(world, "adopt", NODE, &["--reason", "new rack", "--request", "req-0"]);
    let said = adopts.failed().await;
    assert!(
        said.starts_with("failed: burn_in.not_run: pending jobs could start on gpu-001 first: "),
        "{said}"
    );
    assert!(before.iter().all(|j| said.contains(&j.to_string())), "{said} {before:?}");
    let (tokens, reason, _) = closing(world, NODE).await;
    assert_eq!(tokens, ["IDLE", "DRAIN", "DYNAMIC_NORM"]);
    assert!(
        reason.starts_with("fleet:burn_in req-0: fleet-squad: burn-in not run: pending jobs "),
        "{reason}"
    );
    assert_eq!(launched(world, MACHINE).await, Vec::<i64>::new());
    let [job] = &ours(world, NODE, "req-0").await[..] else { panic!("one job of ours") };
    assert_eq!((&job["job_state"], &job["nodes"]), (&json!(["CANCELLED"]), &json!("")));
    Queue(world).cancel(before).await;
}

/// The result says that every test of the catalogue has passed; our job.
async fn proves(world: &World, burn_in: &Value, request: &str) -> Value {
    assert_eq!((&burn_in["verdict"], &burn_in["node"]), (&json!("BURN_IN_VERDICT_PASSED"), &json!(NODE)));
    let tests: Vec<&str> = burn_in["tests"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let names: Vec<&str> = tests.iter().filter_map(|t| t.split_once(" sha256:")).map(|(n, _)| n).collect();
    assert_eq!(names, ["cpu-memory", "gpus", "disk"], "{burn_in}");
    assert_eq!(
        (&burn_in["values"]["gpus.gpus"], &burn_in["values"]["gpus.given"]),
        (&json!("4"), &json!("4"))
    );
    assert_eq!(burn_in["leakedJobs"], json!(null), "{burn_in}");
    let [job] = &ours(world, NODE, request).await[..] else { panic!("one job of ours") };
    assert_eq!(burn_in["jobId"], job["job_id"].to_string());
    assert_eq!((&job["job_state"], &job["user_name"]), (&json!(["COMPLETED"]), &json!("bob")));
    if world.services.run.accounting {
        assert_eq!((&job["account"], &job["qos"]), (&json!("fleet"), &json!("normal")));
    }
    job.clone()
}

/// By slurmd's log ours was the first job there, by slurmctld's times none of alice's began before ours had ended,
/// and so did alice see it.
async fn none_before(world: &World, sights: Watching<Sight>, ours: &Value) {
    assert_eq!(launched(world, MACHINE).await[0], ours["job_id"]);
    let ended = ours["end_time"]["number"].as_i64().unwrap();
    let jobs = world.root.get("jobs").await.unwrap()["jobs"].take();
    let hers = |j: &&Value| j["user_name"] == "alice" && j["nodes"] == NODE;
    let starts: Vec<i64> = jobs
        .as_array()
        .unwrap()
        .iter()
        .filter(hers)
        .filter_map(|j| j["start_time"]["number"].as_i64())
        .collect();
    assert!(!starts.is_empty() && starts.iter().all(|s| *s >= ended), "{starts:?} {ended}");
    let sights = sights.end().await;
    let passed = sights.iter().position(|s| s.ours == "COMPLETED").unwrap();
    assert!(sights[..passed].iter().any(|s| s.ours == "RUNNING"), "{sights:?}");
    assert!(sights[..passed].iter().all(|s| s.hers.is_empty()), "{sights:?}");
}

/// A node whose burn-in fails stays closed, and says why.
pub(super) async fn stays_closed_when_it_fails(world: &World) {
    say("satellite start burn-in gpu-001 --script …: it fails, and nobody's job starts");
    let alice = Queue(world);
    for words in ["", "--exclusive", "--array=1-3"] {
        alice.submit(2, &format!("-w {NODE} {words}")).await;
    }
    let before = launched(world, MACHINE).await;
    let script = world.folder.join("fails.sh");
    std::fs::write(&script, "#!/bin/bash\necho widgets=3\nexit 1\n").unwrap();
    let more = ["--script", script.to_str().unwrap(), "--time-limit", "30", "--request", "fails-1"];
    let said = begin(world, "burn-in", NODE, &more).failed().await;
    assert!(said.starts_with("failed: burn_in.failed: "), "{said}");
    let (tokens, reason, _) = closing(world, NODE).await;
    assert_eq!(tokens, ["IDLE", "DRAIN", "DYNAMIC_NORM"]);
    assert!(reason.starts_with("fleet:burn_in fails-1: fleet-squad: burn-in failed: "), "{reason}");
    let [job] = &ours(world, NODE, "fails-1").await[..] else { panic!("one job of ours") };
    assert_eq!(job["job_state"], json!(["FAILED"]));
    let after: Vec<i64> = before.into_iter().chain(job["job_id"].as_i64()).collect();
    assert_eq!(launched(world, MACHINE).await, after);
}

/// Where the request says so, nothing is run.
pub(super) async fn opens_without(world: &World, device: &'static str) {
    let request = format!("adopt-{device}");
    let done = begin(world, "adopt", device, &["--skip-burn-in", "--request", &request]).done().await;
    assert_eq!(
        (&done["burnIn"], &done["resume"]["outcome"]),
        (&json!(null), &json!("RESUME_OUTCOME_RESUMED"))
    );
    assert_eq!(ours(world, device, &request).await, Vec::<Value>::new());
}
