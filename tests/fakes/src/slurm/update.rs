//! `POST node/{name}`: what can be changed, and how it is refused.
//!
//! *Invariant*: as in slurmctld, texts and features are changed before the state is looked at, so a
//! refused state leaves them changed.

use serde_json::Value;

use super::envelope::{
    NODE, NOT_SUBSET, Operation, POWER, Said, TRANSITION, USER, Wrong, done, error, unknown_field, warning,
};
use super::node::{Node, Slurmd};
use super::release::Release;

/// Keys of the real one that are not imitated.
const NOT_HERE: [&str; 9] = [
    "address",
    "cert_token",
    "cpu_bind",
    "gres",
    "hostname",
    "reason_uid",
    "resume_after",
    "topology_str",
    "weight",
];

/// States of the real one that are not imitated: no node here can be hidden or powered.
const POWER_WORDS: [&str; 8] = [
    "POWER_DOWN",
    "POWER_UP",
    "POWERING_UP",
    "POWERING_DOWN",
    "POWERED_DOWN",
    "REBOOT_REQUESTED",
    "POWER_DRAIN",
    "CLOUD",
];

/// Words that can be asked for here.
const WORDS: [&str; 6] = ["DRAIN", "RESUME", "UNDRAIN", "DOWN", "FAIL", "IDLE"];

pub(super) fn update(
    node: Option<&mut Node>,
    name: &str,
    body: &Value,
    user: Option<&str>,
    (release, now): (Release, i64),
) -> Said {
    let operation = Operation::new(format!("Failure to update node {name}"), "_update_node");
    let empty = serde_json::Map::new();
    let keys = body.as_object().unwrap_or(&empty);
    if let Some(key) = keys.keys().find(|k| NOT_HERE.contains(&k.as_str())) {
        return super::envelope::refused(501, &format!("fakes: a node's `{key}` is not imitated"));
    }
    let (words, errors) = state_words(body.get("state"));
    // the parser's errors come first, and the request goes on to slurmctld all the same
    let Some(user) = user else { return operation.failed_after(errors, USER) };
    let Some(node) = node else { return operation.failed_after(errors, NODE) };
    let mut warnings = Vec::new();
    for (key, value) in keys {
        match key.as_str() {
            "state" | "reason" | "extra" | "comment" | "features" | "features_act" => {}
            "name" => {
                let name = value.as_str().unwrap_or_default();
                let text = format!("node_names field {name} ignored for singular node update");
                warnings.extend(value.is_string().then(|| no_list(key, name)));
                warnings.push(warning(text, "_update_node"));
            }
            _ => warnings.push(unknown_field(key, value, "UPDATE_NODE_MSG", "#/")),
        }
    }
    let closes = words.iter().any(|w| ["DRAIN", "DOWN", "FAIL"].contains(&w.as_str()));
    texts(node, body);
    if let Some(reason) = body.get("reason").and_then(Value::as_str)
        && (release.keeps_reasons() || closes || node.is_closed())
    {
        node.because(reason, user, now);
    }
    let changed =
        features(node, body, &mut warnings).and_then(|()| state(node, &words, errors.is_empty(), release));
    match changed {
        Ok(()) => done(serde_json::json!({}), warnings),
        Err(wrong) => operation.failed_after(errors, wrong),
    }
}

/// A word or a list of words; an error for each that slurmrestd cannot read.
fn state_words(state: Option<&Value>) -> (Vec<String>, Vec<Value>) {
    let list: Vec<String> = match state {
        Some(Value::String(word)) => vec![word.clone()],
        Some(Value::Array(words)) => words.iter().filter_map(|w| w.as_str().map(str::to_owned)).collect(),
        _ => Vec::new(),
    };
    let mut errors = Vec::new();
    for (at, word) in list.iter().enumerate() {
        let word = word.to_ascii_uppercase();
        if !WORDS.contains(&word.as_str()) && !POWER_WORDS.contains(&word.as_str()) {
            let (number, text) = (9207, "Data parser unable to parse invalid flag");
            errors.push(error(&format!("Unknown flag \"{word}\""), number, text, &format!("#/state[{at}]/")));
        }
    }
    (list.into_iter().map(|w| w.to_ascii_uppercase()).collect(), errors)
}

fn texts(node: &mut Node, body: &Value) {
    let text = |key: &str| body.get(key).and_then(Value::as_str);
    if let Some(extra) = text("extra") {
        extra.clone_into(&mut node.extra);
    }
    if let Some(comment) = text("comment") {
        comment.clone_into(&mut node.comment);
    }
}

/// A string where a list is expected.
fn no_list(key: &str, text: &str) -> Value {
    let seen =
        "Expected OpenAPI type=array (Slurm type=list) but got OpenAPI type=string (Slurm type=string)";
    warning(format!("{seen}: \"{text}\""), format!("#/{key}/"))
}

/// Configured and active ones together, or configured ones alone, which become the active ones too
/// unless an active one would be lost. An empty list changes nothing; `""` clears, with a warning.
fn features(node: &mut Node, body: &Value, warnings: &mut Vec<Value>) -> Result<(), Wrong> {
    let mut list = |key: &str| match body.get(key) {
        Some(Value::String(csv)) => {
            warnings.push(no_list(key, csv));
            Some(csv.split(',').filter(|f| !f.is_empty()).map(str::to_owned).collect::<Vec<_>>())
        }
        Some(Value::Array(items)) if !items.is_empty() => {
            Some(items.iter().filter_map(|i| i.as_str().map(str::to_owned)).collect())
        }
        _ => None,
    };
    let (configured, active) = (list("features"), list("features_act"));
    let within = |some: &[String], all: &[String]| some.iter().all(|f| all.contains(f));
    let new = configured.clone().unwrap_or_else(|| node.features.clone());
    let new_active = active.clone().unwrap_or_else(|| node.active_features.clone());
    if !within(&new_active, &new) {
        return Err(NOT_SUBSET);
    }
    if configured.is_some() {
        node.active_features = active.unwrap_or_else(|| new.clone());
        node.features = new;
    } else if let Some(active) = active {
        node.active_features = active;
    }
    Ok(())
}

fn state(node: &mut Node, words: &[String], readable: bool, release: Release) -> Result<(), Wrong> {
    let word = match words {
        [] if readable => return Ok(()),
        [word] if readable => word.as_str(),
        _ => return Err(TRANSITION),
    };
    match word {
        "DRAIN" => node.set("DRAIN"),
        "FAIL" => node.set("FAIL"),
        "DOWN" => node.base = "DOWN".to_owned(),
        "IDLE" => {
            node.base = "IDLE".to_owned();
            node.clear("FAIL");
        }
        "UNDRAIN" => {
            node.clear("DRAIN");
            awaits_slurmd(node);
        }
        "RESUME" => {
            let closed = node.base == "DOWN" || node.has("DRAIN") || node.has("FAIL");
            if !closed || node.has("INVALID_REG") {
                return Err(TRANSITION);
            }
            if node.base == "DOWN" || node.has("DRAIN") {
                awaits_slurmd(node);
            }
            if node.base == "DOWN" {
                node.base = "IDLE".to_owned();
            }
            node.clear("DRAIN");
            node.clear("FAIL");
            if node.has("POWERED_DOWN") && release.doubts_who_sleeps() {
                node.set("NOT_RESPONDING");
            }
            if !release.keeps_reasons() {
                node.without_reason();
            }
        }
        _ => return Err(POWER),
    }
    Ok(())
}

/// It does not respond until slurmctld has heard of it again, at the next tick.
fn awaits_slurmd(node: &mut Node) {
    if node.slurmd != Slurmd::Unknown {
        node.set("NOT_RESPONDING");
    }
}
