//! Jobs, as far as they hold nodes.

use model::{NodeName, hostlist};
use serde_json::Value;

use super::decode::{list, number, text};

/// States that do not hold a node. A state that we do not know does.
const WITHOUT_NODE: [&str; 12] = [
    "PENDING",
    "COMPLETED",
    "CANCELLED",
    "FAILED",
    "TIMEOUT",
    "NODE_FAIL",
    "PREEMPTED",
    "BOOT_FAIL",
    "DEADLINE",
    "OUT_OF_MEMORY",
    "REVOKED",
    "REQUEUED",
];

/// What we use of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Its id. Reused after slurmctld lost its last seconds: with the name it is a job's identity.
    pub id: i64,
    /// Its name.
    pub name: String,
    /// State and flags, upper-cased.
    pub states: Vec<String>,
    /// The nodes it has or had.
    pub nodes: Vec<String>,
}

impl Job {
    pub(super) fn decode(body: &Value) -> Result<Vec<Self>, String> {
        let raw = body.get("jobs").and_then(Value::as_array).ok_or("no `jobs` list")?;
        raw.iter().map(|j| Self::decode_one(j).ok_or_else(|| "a job".to_owned())).collect()
    }

    fn decode_one(raw: &Value) -> Option<Self> {
        Some(Self {
            id: number(raw, "job_id")?,
            name: text(raw, "name")?,
            states: list(raw, "job_state")?.iter().map(|s| s.to_ascii_uppercase()).collect(),
            nodes: hostlist::expand(&text(raw, "nodes")?).ok()?,
        })
    }

    /// Whether it is unfinished on this node: running, completing, or suspended, which a node's own
    /// state hides (facts: slurm §12).
    #[must_use]
    pub fn holds(&self, node: &NodeName) -> bool {
        let leaving = self.states.iter().any(|s| s == "COMPLETING");
        let without = self.states.iter().any(|s| WITHOUT_NODE.contains(&s.as_str()));
        (leaving || !without) && self.nodes.iter().any(|n| n == node.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_holds_a_node() {
        let node = NodeName::parse("n2").unwrap();
        for (states, nodes, holds) in [
            (json!(["RUNNING"]), "n[1-3]", true),
            (json!("running"), "n2", true),
            (json!(["SUSPENDED"]), "n2", true),
            (json!(["COMPLETED", "COMPLETING"]), "n2", true),
            (json!(["SOMETHING_NEW"]), "n2", true),
            (json!(["COMPLETED"]), "n2", false),
            (json!(["PENDING"]), "", false),
            (json!(["RUNNING"]), "n20", false),
        ] {
            let body = json!({"jobs": [{"job_id": 1, "name": "x", "job_state": states, "nodes": nodes}]});
            assert_eq!(Job::decode(&body).unwrap()[0].holds(&node), holds, "{states} {nodes}");
        }
    }

    #[test]
    fn a_job_that_cannot_be_read_is_an_error() {
        let body = json!({"jobs": [{"job_id": 1, "job_state": ["RUNNING"], "nodes": "n[1"}]});
        assert!(Job::decode(&body).is_err());
    }
}
