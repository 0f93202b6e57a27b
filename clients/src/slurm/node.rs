//! Nodes and partitions, as slurmctld shows them.

use std::collections::{BTreeSet, HashSet};

use model::{NodeName, hostlist};
use serde_json::Value;

use super::decode::{list, number, text};

/// A node's state tokens: exact words, upper-cased, never substrings (cases: B06).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tokens(BTreeSet<String>);

impl Tokens {
    /// From words in any case.
    pub fn new<S: AsRef<str>>(words: impl IntoIterator<Item = S>) -> Self {
        Self(words.into_iter().map(|w| w.as_ref().to_ascii_uppercase()).collect())
    }

    /// Whether this very token is there.
    #[must_use]
    pub fn has(&self, token: &str) -> bool {
        self.0.contains(token)
    }

    /// Whether one of these is there.
    #[must_use]
    pub fn any(&self, tokens: &[&str]) -> bool {
        tokens.iter().any(|t| self.has(t))
    }

    /// The tokens in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Jobs are on it, or leaving it.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.any(&["ALLOCATED", "MIXED", "COMPLETING"])
    }

    /// Drained, or draining.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.has("DRAIN") && !self.has("UNDRAIN")
    }

    /// It takes no user's job and its reason says why.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.is_draining() || self.any(&["DOWN", "FAIL"])
    }

    /// slurmd answers, as far as slurmctld knows.
    #[must_use]
    pub fn is_responding(&self) -> bool {
        !self.any(&["NOT_RESPONDING", "UNKNOWN", "POWERED_DOWN", "POWERING_UP", "POWERING_DOWN", "FUTURE"])
    }
}

impl std::fmt::Display for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.iter().cloned().collect::<Vec<_>>().join("+"))
    }
}

/// What we use of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: NodeName,
    /// Its state.
    pub tokens: Tokens,
    /// Why it is closed. On an open node it says nothing.
    pub reason: String,
    /// Free text of others and of ours: our claim.
    pub extra: String,
    /// Configured features.
    pub features: Vec<String>,
    /// Active features.
    pub active_features: Vec<String>,
    /// GRES, as configured.
    pub gres: String,
    /// The partitions it says it is in: right in the full list of every release, and in a single GET
    /// from 26.05 on; none in one of an older release, which lies (facts: slurm §3).
    /// [`Partition::holds`] asks both sides.
    pub partitions: Vec<String>,
    /// When its slurmd started, in seconds of Unix time; 0 when it never did.
    pub slurmd_start_time: i64,
}

/// A list of nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Nodes {
    /// Those that could be read.
    pub list: Vec<Node>,
    /// How many could not. More than none: the list is no proof of absence.
    pub unreadable: usize,
}

impl Nodes {
    pub(super) fn decode(body: &Value) -> Result<Self, String> {
        let raw = body.get("nodes").and_then(Value::as_array).ok_or("no `nodes` list")?;
        let list: Vec<Node> = raw.iter().filter_map(Node::decode).collect();
        let unreadable = raw.len() - list.len();
        Ok(Self { list, unreadable })
    }
}

impl Node {
    fn decode(raw: &Value) -> Option<Self> {
        let mut words = list(raw, "state")?;
        words.extend(list(raw, "state_flags")?);
        Some(Self {
            name: NodeName::parse(raw.get("name")?.as_str()?).ok()?,
            tokens: Tokens::new(words),
            reason: text(raw, "reason")?,
            extra: text(raw, "extra")?,
            features: list(raw, "features")?,
            active_features: list(raw, "active_features")?,
            gres: text(raw, "gres")?,
            partitions: list(raw, "partitions")?,
            slurmd_start_time: number(raw, "slurmd_start_time").unwrap_or(0),
        })
    }
}

/// What we use of a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// Its name.
    pub name: String,
    /// Whether it takes and starts jobs.
    pub up: bool,
    /// The nodes in it: its hostlist, expanded, with those that are in it by a NodeSet.
    pub nodes: HashSet<String>,
}

impl Partition {
    pub(super) fn decode(body: &Value) -> Result<Vec<Self>, String> {
        let raw = body.get("partitions").and_then(Value::as_array).ok_or("no `partitions` list")?;
        raw.iter().map(|p| Self::decode_one(p).ok_or_else(|| "a partition".to_owned())).collect()
    }

    fn decode_one(raw: &Value) -> Option<Self> {
        let state = raw.get("partition").filter(|p| p.is_object()).unwrap_or(raw);
        let words = list(state, "state")?;
        Some(Self {
            name: raw.get("name")?.as_str()?.to_owned(),
            up: words.iter().any(|w| w == "UP"),
            nodes: Self::hostlist(raw)?,
        })
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
    fn case_b02_drain_in_three_shapes() {
        for raw in [
            json!({"name": "n", "state": "idle", "state_flags": ["DRAIN"]}),
            json!({"name": "n", "state": ["IDLE", "DRAIN"]}),
            json!({"name": "n", "state": ["idle", "drain"]}),
        ] {
            assert_eq!(Node::decode(&raw).unwrap().tokens, Tokens::new(["IDLE", "DRAIN"]), "{raw}");
        }
    }

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

    #[test]
    fn case_b06_tokens_are_exact() {
        assert!(!Tokens::new(["IDLE", "UNDRAIN"]).is_draining());
        assert!(!Tokens::new(["IDLE", "DRAIN", "UNDRAIN"]).is_draining());
        assert!(!Tokens::new(["IDLE", "POWERING_DOWN"]).is_closed());
        assert!(Tokens::new(["DOWN"]).is_closed());
    }

    #[test]
    fn case_b05_one_odd_node_spoils_nobody() {
        let nodes = Nodes::decode(&json!({"nodes": [
            {"name": "a", "state": ["IDLE"], "comment": "{\"a\":\"b=c\"}"},
            {"name": "b", "state": ["IDLE", "SOME_NEW_FLAG_2027"], "partitions": null},
            {"name": "c", "state": 7},
        ]}))
        .unwrap();
        assert_eq!(nodes.list.len(), 2);
        assert_eq!(nodes.unreadable, 1);
        assert!(nodes.list[1].tokens.has("SOME_NEW_FLAG_2027"));
        assert!(Nodes::decode(&json!({"errors": []})).is_err());
    }
}
