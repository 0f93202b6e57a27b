//! Partitions, as slurmctld shows them.

use std::collections::HashSet;

use model::hostlist;
use serde_json::Value;

use super::decode::{list, named, number, text};
use super::{Node, Slurm};
use crate::{Error, Kind, Service};

impl Slurm {
    /// `GET /slurm/{v}/partitions`.
    ///
    /// # Errors
    /// [`Kind::Malformed`] when a partition or its hostlist cannot be read: a list cut short would
    /// say that its nodes cannot be used.
    pub async fn partitions(&self) -> Result<Vec<Partition>, Error> {
        let answer = self.get("list partitions", "partitions").await?;
        Partition::decode(&self.success("list partitions", &answer)?)
            .map_err(|what| answer.error(Service::Slurm, "list partitions", Kind::Malformed(what)))
    }
}

/// What we use of a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// Its name.
    pub name: String,
    /// Whether it takes and starts jobs.
    pub up: bool,
    /// Its `PriorityTier`: jobs of a higher one go first, whatever their priority. 1, SLURM's own
    /// default, where it is not said.
    pub tier: i64,
    /// The nodes in it: its hostlist, expanded, with those that are in it by a NodeSet.
    pub nodes: HashSet<String>,
}

impl Partition {
    pub(super) fn decode(body: &Value) -> Result<Vec<Self>, String> {
        let raw = body.get("partitions").and_then(Value::as_array).ok_or("no `partitions` list")?;
        raw.iter().map(|p| Self::decode_one(p).ok_or_else(|| named("partition", p))).collect()
    }

    fn decode_one(raw: &Value) -> Option<Self> {
        let state = raw.get("partition").filter(|p| p.is_object()).unwrap_or(raw);
        let words = list(state, "state")?;
        Some(Self {
            name: raw.get("name")?.as_str()?.to_owned(),
            up: words.iter().any(|w| w == "UP"),
            tier: Self::tier(raw).unwrap_or(1),
            nodes: Self::hostlist(raw)?,
        })
    }

    /// `priority.tier`, or `priority_tier` on 22.05.
    fn tier(raw: &Value) -> Option<i64> {
        raw.get("priority").and_then(|p| number(p, "tier")).or_else(|| number(raw, "priority_tier"))
    }

    /// `nodes.configured`, or `nodes` itself where it is a string. One that is not there cannot be
    /// read: taken for an empty one it would put every node of an older release in no partition.
    fn hostlist(raw: &Value) -> Option<HashSet<String>> {
        let nodes = match raw.get("nodes")? {
            nodes if nodes.is_object() => text(nodes, "configured")?,
            _ => text(raw, "nodes")?,
        };
        hostlist::expand(&nodes).ok().map(HashSet::from_iter)
    }

    /// Whether the node is in it: by the hostlist, or by the node's own word.
    #[must_use]
    pub fn holds(&self, node: &Node) -> bool {
        self.nodes.contains(node.name.as_str()) || node.partitions.contains(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_partitions_nodes_in_every_shape() {
        for (nodes, expected) in [
            (json!({"configured": "n[1-2],d1", "total": 3}), Some(3)),
            (json!("n[1-2]"), Some(2)),
            (json!({"configured": ""}), Some(0)),
            (json!(null), Some(0)),
            (json!({"configured": "n[1"}), None),
            (json!({"configured": 7}), None),
            (json!(7), None),
        ] {
            let body = json!({"partitions": [{"name": "p", "partition": {"state": ["UP"]}, "nodes": nodes}]});
            let read = Partition::decode(&body).ok().map(|all| all[0].nodes.len());
            assert_eq!(read, expected, "{nodes}");
        }
        let without = json!({"partitions": [{"name": "p", "partition": {"state": ["UP"]}}]});
        assert!(Partition::decode(&without).is_err());
    }

    #[test]
    fn a_tier_in_every_shape() {
        for (key, value, tier) in [
            ("priority", json!({"job_factor": 1, "tier": 10}), 10),
            ("priority_tier", json!(10), 10),
            ("priority", json!({"tier": {"set": true, "infinite": false, "number": 10}}), 10),
            ("priority", json!(null), 1),
            ("comment", json!(""), 1),
        ] {
            let mut raw = json!({"name": "p", "state": "UP", "nodes": "n1"});
            raw[key] = value;
            assert_eq!(Partition::decode(&json!({"partitions": [raw]})).unwrap()[0].tier, tier, "{key}");
        }
    }

    #[test]
    fn a_node_is_in_a_partition_by_either_sides_word() {
        let node = |partitions| Node::decode(&json!({"name": "n1", "partitions": partitions})).unwrap();
        let partition = |configured: &str| {
            let raw = json!({"name": "p", "state": "UP", "nodes": configured});
            Partition::decode(&json!({"partitions": [raw]})).unwrap().remove(0)
        };
        assert!(partition("n[1-2]").holds(&node(json!([]))));
        assert!(partition("").holds(&node(json!(["p"]))));
        assert!(!partition("n10").holds(&node(json!(["q"]))));
    }
}
