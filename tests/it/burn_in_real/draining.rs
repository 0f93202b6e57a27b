//! A drain waits for users' jobs, and leaves what a human closed.

use sandbox::Api;
use serde_json::json;

use crate::adopt_real::world::World;
use crate::wait::say;

use super::queue::Queue;
use super::verbs::{begin, closing, node_is, stop, waits};

const NODE: &str = "gpu-001";

/// A drain of a node with a running job of alice names it; told to stop, it ends, and the node stays closed.
pub(super) async fn ends_at_a_stop(world: &World, squad: &Api) {
    say("satellite start drain gpu-001, where alice's job runs; satellite stop gpu-001");
    let alice = Queue(world);
    let job = alice.submit_waiting(NODE).await;
    alice.is(job, "RUNNING").await;
    let drains = begin(world, "drain", NODE, &["--reason", "new DIMM", "--request", "drain-1"]);
    let its = format!("): {job}; the last must end by ");
    waits(squad, NODE, "wait_empty", &["1 job holds gpu-001 (", &its]).await;
    let (stopped, done) = tokio::join!(stop(world, NODE).done(), drains.done());
    assert_eq!((&stopped, &done["stopped"]), (&done, &json!(true)));
    assert_eq!(done["drain"], json!(null));
    let (tokens, reason, _) = closing(world, NODE).await;
    assert!(tokens.contains(&"DRAIN".to_owned()), "{tokens:?}");
    assert_eq!(reason, "fleet:drain drain-1: fleet-squad: new DIMM");
    alice.is(job, "RUNNING").await;
    alice.scontrol(&format!("suspend {job}")).await;
    alice.is(job, "SUSPENDED").await;
}

/// Every verb leaves a human's drain as it is, word for word.
pub(super) async fn leaves_a_humans_words(world: &World, device: &'static str) {
    say(&format!("{device} is drained by a person: no verb changes a word"));
    let words = "bad DIMM A3 [alice]";
    world.root.update(device, &json!({"state": ["DRAIN"], "reason": words})).await.unwrap();
    let as_it_was = closing(world, device).await;
    assert_eq!((as_it_was.1.as_str(), as_it_was.2.as_str()), (words, ""));
    for verb in ["adopt", "resume", "burn-in", "release"] {
        let said = begin(world, verb, device, &[]).failed().await;
        assert!(said.starts_with("failed: slurm.drain_not_ours: ") && said.contains(words), "{said}");
        assert_eq!(closing(world, device).await, as_it_was, "{verb}");
    }
    let done = begin(world, "drain", device, &[]).done().await;
    assert_eq!(done["drain"]["outcome"], "DRAIN_OUTCOME_ALREADY_DRAINED_BY_OTHER");
    assert_eq!(done["drain"]["othersReason"], words);
    assert_eq!(closing(world, device).await, as_it_was, "drain");
    world.root.update(device, &json!({"state": ["RESUME"]})).await.unwrap();
    node_is(world, device, &["IDLE"]).await;
}
