//! What ran on a node, as its slurmd's log and the eyes of a user say.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::adopt_real::watching::Watching;
use crate::adopt_real::world::World;

/// How a burn-in's job of ours and the jobs of alice on the node stood at one moment.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sight {
    /// Ours, the newest; empty without one.
    pub(super) ours: String,
    /// Those of alice that run there, or have run.
    pub(super) hers: BTreeSet<i64>,
}

/// Watches with alice's token.
pub(super) fn watch(world: &World, node: &'static str) -> Watching<Sight> {
    let alice = world.services.user("alice").unwrap();
    Watching::start(move || {
        let alice = alice.clone();
        async move {
            let answer = alice.get("jobs").await.unwrap();
            let jobs = answer["jobs"].as_array().unwrap();
            let prefix = format!("fleet-burnin-{node}-");
            let ours = jobs.iter().rfind(|j| j["name"].as_str().is_some_and(|n| n.starts_with(&prefix)));
            let hers = jobs.iter().filter(|j| is_hers(j, node)).filter_map(|j| j["job_id"].as_i64());
            Some(Sight { ours: ours.map(state).unwrap_or_default(), hers: hers.collect() })
        }
    })
}

fn is_hers(job: &Value, node: &str) -> bool {
    job["user_name"] == "alice" && job["nodes"] == node && job["job_state"] != json!(["PENDING"])
}

/// A job's state, its words joined.
pub(super) fn state(job: &Value) -> String {
    let words: Vec<&str> =
        job["job_state"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    words.join("+")
}

/// The jobs that this machine's slurmd was told to launch, in order, whatever slurmctld has forgotten since;
/// a task of an array by its own id. slurmctld's log does not name every start (run on 26.05.5: none of an
/// array's four tasks).
pub(super) async fn launched(world: &World, machine: &str) -> Vec<i64> {
    let log = ["sh", "-c", "cat /var/log/slurm/slurmd.*.log"];
    let lines = world.services.room.exec(machine, &log).await.unwrap();
    lines.lines().filter_map(launch).collect()
}

/// `Launching batch JobId=7 SLUID=… for UID 1000`, and before 26.05 `Launching batch job 7 for UID 1000`.
fn launch(line: &str) -> Option<i64> {
    let (_, rest) = line.split_once("Launching batch ")?;
    let id = rest.strip_prefix("JobId=").or_else(|| rest.strip_prefix("job "))?;
    Some(id.split_whitespace().next()?.parse().unwrap())
}

/// The jobs of ours for this request that slurmctld knows.
pub(super) async fn ours(world: &World, node: &str, request: &str) -> Vec<Value> {
    let name = format!("fleet-burnin-{node}-{request}");
    let mut jobs = world.root.get("jobs").await.unwrap()["jobs"].take();
    jobs.as_array_mut()
        .map(std::mem::take)
        .unwrap()
        .into_iter()
        .filter(|j| j["name"] == name.as_str())
        .collect()
}
