//! Verbs, started as the fleet squad does, and what comes of them.

use std::process::{Command, Output};

use sandbox::Api;
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::adopt_real::world::World;
use crate::adopt_real::{result, start, tokens};
use crate::wait::{eventually, say};

use super::CEILING;

/// A verb that is followed.
pub(super) struct Verb(JoinHandle<Output>);

/// Starts it.
pub(super) fn begin(world: &World, verb: &str, device: &str, more: &[&str]) -> Verb {
    follow(start(world, verb, device, more))
}

/// `satellite stop`, followed to the run's end.
pub(super) fn stop(world: &World, device: &str) -> Verb {
    follow(world.site.stop(device, &[]).unwrap())
}

fn follow(mut command: Command) -> Verb {
    Verb(tokio::task::spawn_blocking(move || command.output().unwrap()))
}

impl Verb {
    async fn ended(self) -> (Option<i32>, String) {
        let output = self.0.await.unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        for line in text.lines() {
            say(&format!("  | {line}"));
        }
        (output.status.code(), text)
    }

    /// Its result, and all that was said.
    pub(super) async fn said(self) -> (Value, String) {
        let (code, text) = self.ended().await;
        assert_eq!(code, Some(0), "{text}");
        (result(&text), text)
    }

    /// Its result.
    pub(super) async fn done(self) -> Value {
        self.said().await.0
    }

    /// How it failed: the last line.
    pub(super) async fn failed(self) -> String {
        let (code, text) = self.ended().await;
        assert_eq!(code, Some(1), "{text}");
        text.lines().last().unwrap().to_owned()
    }
}

/// Waits until the device's run waits in this step for something like this, and says for what.
pub(super) async fn waits(squad: &Api, device: &str, step: &str, words: &[&str]) -> String {
    eventually(&format!("{device} waits in {step}"), CEILING, || async {
        let runs = squad.get(&format!("sites/lab/devices/{device}/workflows/")).await.unwrap();
        let progress = runs["items"][0]["progress"].clone();
        let said = progress["waiting_for"].as_str().unwrap_or_default();
        let so = progress["step"] == step && words.iter().all(|w| said.contains(w));
        if so { Ok(said.to_owned()) } else { Err(progress.to_string()) }
    })
    .await
}

/// A node's tokens, reason and extra.
pub(super) async fn closing(world: &World, node: &str) -> (Vec<String>, String, String) {
    let node = world.root.node(node).await.unwrap().unwrap();
    let text = |key: &str| node[key].as_str().unwrap().to_owned();
    (tokens(&node), text("reason"), text("extra"))
}

/// Waits until the node has exactly these tokens beside DYNAMIC_NORM.
pub(super) async fn node_is(world: &World, node: &str, wanted: &[&str]) {
    eventually(&format!("{node} is {}", wanted.join("+")), CEILING, || async {
        let now = world.root.node(node).await.unwrap().unwrap();
        let mut seen = tokens(&now);
        seen.retain(|t| t != "DYNAMIC_NORM");
        if seen == wanted {
            return Ok(());
        }
        let jobs = world.root.get("jobs").await.unwrap()["jobs"].take();
        let there = jobs.as_array().into_iter().flatten().filter(|j| j["nodes"] == node);
        let there: Vec<String> = there.map(|j| format!("{} {}", j["job_id"], j["job_state"])).collect();
        let taken = ["alloc_cpus", "alloc_memory", "gres_used"].map(|key| now[key].to_string());
        Err(format!("{} with {}; {}", seen.join("+"), taken.join(" "), there.join(", ")))
    })
    .await;
}
