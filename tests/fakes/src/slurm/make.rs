//! `POST new/node/`: a node that is there before its slurmd is. From 26.05 on.

use serde_json::{Value, json};

use super::controller::Slurmctld;
use super::envelope::{self, EXISTS, NODE, Operation, STATE, Said, UNREADABLE, USER, Wrong, done};
use super::node::NodeSeed;
use super::register::word;

/// Words of a line that are known here; slurmctld reads more of them.
const KNOWN: [&str; 10] = [
    "NodeName",
    "NodeAddr",
    "NodeHostname",
    "Port",
    "CPUs",
    "RealMemory",
    "Gres",
    "Feature",
    "Features",
    "State",
];

pub(super) fn operation() -> Operation {
    Operation::new("Failure to create node", "_create_node")
}

pub(super) fn make(ctld: &mut Slurmctld, body: &Value, admin: bool) -> Said {
    let Some(conf) = body.get("node_conf").and_then(Value::as_str) else {
        let wrong = Wrong(422, 9200, "Unable to resolve path");
        let text = "Missing required field 'node_conf' in dictionary";
        return Operation::new(text, "#/node_conf/").failed(wrong);
    };
    if !admin {
        return operation().failed(USER);
    }
    let is_known = |w: &str| w.split_once('=').is_some_and(|(key, _)| KNOWN.contains(&key));
    if !conf.split_whitespace().all(is_known) {
        return operation().failed(UNREADABLE);
    }
    let Some(name) = word(conf, "NodeName") else { return operation().failed(NODE) };
    if ctld.node(name).is_some() {
        return operation().failed(EXISTS);
    }
    let state: &[&str] = match word(conf, "State").unwrap_or_default() {
        "CLOUD" => &["IDLE", "CLOUD", "POWERED_DOWN", "DYNAMIC_NORM"],
        "EXTERNAL" => &["IDLE", "EXTERNAL", "DYNAMIC_NORM"],
        "FUTURE" => return envelope::refused(501, "fakes: FUTURE is not imitated"),
        _ => return operation().failed(STATE),
    };
    ctld.admit(NodeSeed::new(name).in_state(state, ""), conf);
    done(json!({}), Vec::new())
}
