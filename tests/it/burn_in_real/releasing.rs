//! A release waits for the job on the node; one whose slurmd runs on comes back, and is closed.

use sandbox::{Api, exec};
use serde_json::{Value, json};

use crate::adopt_real::world::World;
use crate::wait::{eventually, say};

use super::CEILING;
use super::queue::Queue;
use super::verbs::{begin, closing, waits};

const NODE: &str = "gpu-002";
/// A slurmd that answers to the node's name, somewhere else.
const SLURMD: &str = "mkdir -p /var/spool/slurmd/gpu-002 && \
     slurmd -Z -N gpu-002 --conf 'CPUs=4 RealMemory=4000 Gres=gpu:h100:4 Feature=dyn,h100'";

pub(super) async fn node_returns(world: &World, squad: &Api) {
    say("satellite start release gpu-002, where alice's job runs");
    let alice = Queue(world);
    let job = alice.submit_waiting(NODE).await;
    alice.is(job, "RUNNING").await;
    let releases = begin(world, "release", NODE, &["--request", "release-1"]);
    let its = format!("): {job}; the last must end by ");
    waits(squad, NODE, "wait_empty", &["1 job holds gpu-002 (", &its]).await;
    assert_eq!(world.services.cloud.servers(NODE).await.unwrap()[0]["status"], "ACTIVE");
    alice.let_go("node-2", job).await;
    let ended = alice.is(job, "COMPLETED").await;
    assert_eq!(ended["restart_cnt"], 0);

    say("its record goes when slurmctld has forgotten the job; a slurmd registers it again");
    eventually("SLURM does not know gpu-002", CEILING, || async {
        let node = world.root.node(NODE).await.unwrap();
        node.map_or(Ok(()), |n| Err(n["state"].to_string()))
    })
    .await;
    exec(&world.services.slurm, &["sh", "-ec", SLURMD]).await.unwrap();
    let said = releases.failed().await;
    assert!(said.starts_with("failed: slurm.node_returned: gpu-002 was deleted and is back, "), "{said}");
    let (tokens, reason, _) = closing(world, NODE).await;
    assert!(tokens.contains(&"DRAIN".to_owned()), "{tokens:?}");
    assert_eq!(reason, "fleet:release release-1: fleet-squad: asked by hand");
    is_free(world, squad).await;

    say("that slurmd ends, and gpu-002 is released again");
    exec(&world.services.slurm, &["pkill", "-x", "slurmd"]).await.unwrap();
    let done = begin(world, "release", NODE, &["--request", "release-2"]).done().await;
    assert_eq!(done["release"], json!({"node": NODE, "record": "NODE_RECORD_DELETED"}));
    assert_eq!(world.root.node(NODE).await.unwrap(), None);
    is_free(world, squad).await;
}

async fn is_free(world: &World, squad: &Api) {
    assert_eq!(world.services.cloud.servers(NODE).await.unwrap(), Vec::<Value>::new());
    let device = squad.device(NODE).await.unwrap();
    assert_eq!((&device["status"], &device["server_id"]), (&json!("free"), &json!(null)));
}
