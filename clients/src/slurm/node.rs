//! Nodes and partitions, as slurmctld shows them.

use std::collections::BTreeSet;

use model::NodeName;
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
    /// [`Partition::holds`](super::Partition::holds) asks both sides.
    pub partitions: Vec<String>,
    /// When its slurmd started, in seconds of Unix time; 0 when it never did.
    pub slurmd_start_time: i64,
    /// After how many idle seconds SLURM's power saving takes it; none where it never does, or where the
    /// dialect does not say (all before v0.0.45).
    pub suspend_time: Option<i64>,
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
    pub(super) fn decode(raw: &Value) -> Option<Self> {
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
            suspend_time: number(raw, "suspend_time"),
        })
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
    fn case_b06_tokens_are_exact() {
        assert!(!Tokens::new(["IDLE", "UNDRAIN"]).is_draining());
        assert!(!Tokens::new(["IDLE", "DRAIN", "UNDRAIN"]).is_draining());
        assert!(!Tokens::new(["IDLE", "POWERING_DOWN"]).is_closed());
        assert!(Tokens::new(["DOWN"]).is_closed());
    }

    #[test]
    fn case_b07_a_flag_more_or_less_does_not_hide_the_others() {
        for flags in [
            ["DOWN", "CLOUD", "POWERED_DOWN"].as_slice(),
            &["DOWN", "CLOUD", "POWERED_DOWN", "NOT_RESPONDING"],
        ] {
            let tokens = Tokens::new(flags);
            assert!(tokens.is_closed() && !tokens.is_responding() && !tokens.is_draining(), "{tokens}");
            assert!(tokens.has("POWERED_DOWN") && !tokens.has("POWER_DOWN"), "{tokens}");
        }
    }

    #[test]
    fn case_b04_a_reason_is_not_cut_at_a_blank() {
        let raw = json!({"name": "n", "cpu_load": 4_294_967_294_u64, "reason": "Not responding [slurm@2026-11-30]"});
        assert_eq!(Node::decode(&raw).unwrap().reason, "Not responding [slurm@2026-11-30]");
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
