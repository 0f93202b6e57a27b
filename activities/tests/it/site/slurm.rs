//! slurmrestd, v0.0.45: nodes that are drained, resumed, marked, and that register.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Reply;

/// slurmctld, as far as a node goes.
#[derive(Debug)]
pub(crate) struct Fake {
    /// By name.
    pub(crate) nodes: BTreeMap<String, Value>,
    /// Name and whether it is UP.
    pub(crate) partitions: Vec<(&'static str, bool)>,
    /// What `jobs` lists; the first is taken off at each look but the last.
    pub(crate) jobs: Vec<Value>,
    /// The node that the next server becomes.
    pub(crate) boots: Option<Value>,
    /// So many looks at the node find it absent before it registers.
    pub(crate) looks_before_registration: usize,
    /// slurmctld cannot be reached.
    pub(crate) down: bool,
    powered: bool,
}

impl Default for Fake {
    fn default() -> Self {
        Self {
            nodes: BTreeMap::new(),
            partitions: vec![("main", true)],
            jobs: vec![json!([])],
            boots: None,
            looks_before_registration: 0,
            down: false,
            powered: false,
        }
    }
}

/// A node that is as the row of role `gpu` says, in this state.
pub(crate) fn node(name: &str, states: &[&str]) -> Value {
    json!({
        "name": name,
        "state": states,
        "reason": "",
        "extra": "",
        "features": ["h100", "rack7"],
        "active_features": ["h100", "rack7"],
        "gres": "gpu:h100:4(S:0-1)",
        "partitions": ["main"],
        "slurmd_start_time": {"set": true, "infinite": false, "number": 1_790_000_000},
    })
}

impl Fake {
    /// Puts a node there, with a reason.
    pub(crate) fn put(&mut self, name: &str, states: &[&str], reason: &str) {
        let mut node = node(name, states);
        node["reason"] = json!(reason);
        self.nodes.insert(name.to_owned(), node);
    }

    /// The machine of the node to be has been switched on.
    pub(super) fn power_on(&mut self) {
        self.powered = true;
    }

    pub(super) fn answer(&mut self, method: &str, path: &[&str], body: &Value) -> Reply {
        match (method, path) {
            ("GET", ["ping"]) => ok(json!({"pings": []})),
            _ if self.down => {
                let error = json!({
                    "description": "Failure to query nodes",
                    "error_number": 1800,
                    "error": "Unable to contact slurm controller (connect failure)",
                });
                (502, json!({"errors": [error], "warnings": []}))
            }
            ("GET", ["nodes"]) => ok(json!({"nodes": self.nodes.values().collect::<Vec<_>>()})),
            ("GET", ["node", name]) => self.look(name),
            ("POST", ["node", name]) => self.update(name, body),
            ("GET", ["partitions"]) => {
                let word = |up: &bool| if *up { "UP" } else { "DOWN" };
                let row = |(name, up): &(&str, bool)| {
                    let nodes = json!({"configured": ""});
                    json!({"name": name, "nodes": nodes, "partition": {"state": [word(up)]}})
                };
                ok(json!({"partitions": self.partitions.iter().map(row).collect::<Vec<_>>()}))
            }
            ("GET", ["jobs"]) => {
                let jobs = self.jobs[0].clone();
                if self.jobs.len() > 1 {
                    self.jobs.remove(0);
                }
                ok(json!({"jobs": jobs}))
            }
            _ => (404, Value::Null),
        }
    }

    fn look(&mut self, name: &str) -> Reply {
        if self.powered && self.boots.as_ref().is_some_and(|b| b["name"] == name) {
            if self.looks_before_registration == 0 {
                let node = self.boots.take().unwrap_or_default();
                self.nodes.insert(name.to_owned(), node);
            } else {
                self.looks_before_registration -= 1;
            }
        }
        match self.nodes.get(name) {
            Some(node) => ok(json!({"nodes": [node]})),
            None => {
                let description = format!("Failure to query node {name}");
                let error = json!({"description": description, "error_number": 0, "error": "No error", "source": "x"});
                (200, json!({"errors": [error], "warnings": []}))
            }
        }
    }

    fn update(&mut self, name: &str, body: &Value) -> Reply {
        let Some(node) = self.nodes.get_mut(name) else {
            return refused(2018, "Invalid node name specified");
        };
        let mut states: Vec<String> = serde_json::from_value(node["state"].clone()).unwrap_or_default();
        let closed = |s: &String| ["DRAIN", "DOWN", "FAIL"].contains(&s.as_str());
        match body["state"][0].as_str() {
            Some("DRAIN") if !states.iter().any(|s| s == "DRAIN") => states.push("DRAIN".to_owned()),
            Some("RESUME") if !states.iter().any(closed) => {
                return refused(2180, "Invalid node state transition");
            }
            Some("RESUME") => {
                states.retain(|s| !closed(s));
                if states.is_empty() {
                    states.push("IDLE".to_owned());
                }
                node["reason"] = json!("");
            }
            _ => {}
        }
        node["state"] = json!(states);
        for key in ["reason", "extra"] {
            if let Some(text) = body[key].as_str() {
                node[key] = json!(text);
            }
        }
        ok(json!({}))
    }
}

fn ok(mut body: Value) -> Reply {
    body["errors"] = json!([]);
    body["warnings"] = json!([]);
    (200, body)
}

fn refused(number: i64, error: &str) -> Reply {
    let error = json!({"description": "Failure to update node", "error_number": number, "error": error});
    (422, json!({"errors": [error], "warnings": []}))
}
