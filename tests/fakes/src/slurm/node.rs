//! Nodes: what slurmctld keeps of one, and how it shows it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::dialect::Dialect;
use super::envelope::number;
use super::raw;

/// The order in which 26.05 writes flags, as far as it was seen.
const ORDER: [&str; 19] = [
    "CLOUD",
    "EXTERNAL",
    "RESERVED",
    "DRAIN",
    "COMPLETING",
    "NOT_RESPONDING",
    "FAIL",
    "POWERED_DOWN",
    "POWERING_UP",
    "POWERING_DOWN",
    "POWER_DOWN",
    "POWER_UP",
    "MAINTENANCE",
    "REBOOT_REQUESTED",
    "REBOOT_ISSUED",
    "INVALID_REG",
    "BLOCKED",
    "PLANNED",
    "DYNAMIC_NORM",
];

/// A node that is there from the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeSeed {
    /// Its name.
    pub name: String,
    /// Its state: the base state, then flags. With `DYNAMIC_NORM` it can be deleted.
    pub state: Vec<String>,
    /// Why it is closed.
    pub reason: String,
    /// Free text.
    pub extra: String,
    /// Free text.
    pub comment: String,
    /// Configured and active features.
    pub features: Vec<String>,
    /// Configured GRES.
    pub gres: String,
    /// The partitions it is in.
    pub partitions: Vec<String>,
}

impl NodeSeed {
    /// An idle static node, as those of the test image.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let words = |list: &[&str]| list.iter().map(|w| (*w).to_owned()).collect();
        Self {
            name: name.to_owned(),
            state: words(&["IDLE"]),
            reason: String::new(),
            extra: String::new(),
            comment: String::new(),
            features: words(&["rack1", "ib"]),
            gres: "gpu:h100:4".to_owned(),
            partitions: words(&["main"]),
        }
    }

    /// The same in this state, for this reason.
    #[must_use]
    pub fn in_state(mut self, state: &[&str], reason: &str) -> Self {
        self.state = state.iter().map(|w| (*w).to_owned()).collect();
        self.reason = reason.to_owned();
        self
    }

    /// The same with a reason that need not be UTF-8. Seen through [`Slurmrestd::node`](super::Slurmrestd::node),
    /// each byte that is not is a character of private use.
    #[must_use]
    pub fn because_of_bytes(mut self, reason: &[u8]) -> Self {
        self.reason = raw::text(reason);
        self
    }
}

/// Whether slurmd answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slurmd {
    /// It does.
    Up,
    /// It stopped so many ticks ago.
    Silent(u64),
    /// Nothing is known of it: its flags stay as they are.
    Unknown,
}

/// A node.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) name: String,
    /// `IDLE`, `DOWN`, or what a seed said. Being allocated follows from the jobs.
    pub(super) base: String,
    pub(super) flags: BTreeSet<String>,
    pub(super) reason: String,
    pub(super) reason_by: String,
    pub(super) reason_at: i64,
    pub(super) extra: String,
    pub(super) comment: String,
    pub(super) features: Vec<String>,
    pub(super) active_features: Vec<String>,
    pub(super) gres: String,
    pub(super) partitions: Vec<String>,
    pub(super) cpus: i64,
    pub(super) memory: i64,
    pub(super) slurmd: Slurmd,
    pub(super) slurmd_started: i64,
}

impl Node {
    pub(super) fn seeded(seed: NodeSeed, now: i64) -> Self {
        let mut words = seed.state.into_iter().map(|w| w.to_ascii_uppercase());
        let base = words.next().unwrap_or_else(|| "IDLE".to_owned());
        let flags: BTreeSet<String> = words.collect();
        let absent = ["NOT_RESPONDING", "POWERED_DOWN", "POWERING_UP", "POWERING_DOWN"];
        let answers = base != "UNKNOWN" && base != "FUTURE" && !absent.iter().any(|f| flags.contains(*f));
        let by = if seed.reason.is_empty() { "" } else { "root" };
        Self {
            name: seed.name,
            base,
            flags,
            reason_by: by.to_owned(),
            reason_at: if seed.reason.is_empty() { 0 } else { now },
            reason: seed.reason,
            extra: seed.extra,
            comment: seed.comment,
            active_features: seed.features.clone(),
            features: seed.features,
            gres: seed.gres,
            partitions: seed.partitions,
            cpus: 4,
            memory: 4000,
            slurmd: if answers { Slurmd::Up } else { Slurmd::Unknown },
            slurmd_started: if answers { now } else { 0 },
        }
    }

    pub(super) fn has(&self, flag: &str) -> bool {
        self.flags.contains(flag)
    }

    pub(super) fn set(&mut self, flag: &str) {
        self.flags.insert(flag.to_owned());
    }

    pub(super) fn clear(&mut self, flag: &str) {
        self.flags.remove(flag);
    }

    pub(super) fn is_dynamic(&self) -> bool {
        self.has("DYNAMIC_NORM")
    }

    /// It takes no job, and its reason says why.
    pub(super) fn is_closed(&self) -> bool {
        self.base == "DOWN" || self.has("DRAIN") || self.has("FAIL")
    }

    /// A job may be started on it.
    pub(super) fn is_open(&self) -> bool {
        let closed = [
            "DRAIN",
            "FAIL",
            "NOT_RESPONDING",
            "POWERED_DOWN",
            "POWERING_UP",
            "POWERING_DOWN",
            "POWER_DOWN",
            "BLOCKED",
            "INVALID_REG",
            "RESERVED",
            "MAINTENANCE",
            "REBOOT_ISSUED",
            "EXTERNAL",
            "COMPLETING",
        ];
        self.base == "IDLE" && !closed.iter().any(|f| self.has(f))
    }

    /// A new reason; an empty one is ignored, as slurmctld does.
    pub(super) fn because(&mut self, reason: &str, by: &str, now: i64) {
        if !reason.is_empty() {
            (self.reason, self.reason_by, self.reason_at) = (reason.to_owned(), by.to_owned(), now);
        }
    }

    pub(super) fn without_reason(&mut self) {
        (self.reason, self.reason_by, self.reason_at) = (String::new(), String::new(), 0);
    }

    /// How many GPUs it is configured with.
    pub(super) fn gpus(&self) -> u32 {
        gpus(&self.gres)
    }

    /// Its state, base first. `unknown`: slurmctld has just started, and has not heard of any node yet.
    pub(super) fn words(&self, held: bool, unknown: bool) -> Vec<String> {
        let base = match self.base.as_str() {
            _ if unknown && self.base != "DOWN" => "UNKNOWN",
            "IDLE" if held => "ALLOCATED",
            base => base,
        };
        let place = |flag: &&String| ORDER.iter().position(|o| o == flag).unwrap_or(ORDER.len() - 1);
        let mut flags: Vec<&String> = self.flags.iter().collect();
        flags.sort_by_key(place);
        std::iter::once(base).chain(flags.into_iter().map(String::as_str)).map(str::to_owned).collect()
    }

    /// As slurmctld shows it while so many of its CPUs are allocated.
    pub(super) fn show(&self, dialect: Dialect, allocated: i64, unknown: bool) -> Value {
        let (cpus, memory) = (self.cpus, self.memory);
        let used = self.gres.split('(').next().unwrap_or_default();
        let used = used.rsplit_once(':').map_or(String::new(), |(kind, _)| format!("{kind}:0(IDX:N/A)"));
        let nobody = dialect.release().nobody();
        dialect.node(json!({
            "name": self.name,
            "hostname": self.name,
            "state": self.words(allocated > 0, unknown),
            "reason": self.reason,
            "reason_set_by_user": if self.reason.is_empty() { nobody } else { &self.reason_by },
            "reason_changed_at": number(self.reason_at),
            "extra": self.extra,
            "comment": self.comment,
            "features": self.features,
            "active_features": self.active_features,
            "gres": self.gres,
            "gres_used": used,
            "partitions": self.partitions,
            "cpus": cpus,
            "effective_cpus": cpus,
            "sockets": cpus,
            "real_memory": memory,
            "alloc_cpus": allocated,
            "alloc_idle_cpus": cpus - allocated,
            "tres": format!("cpu={cpus},mem={memory}M,billing={cpus}"),
            "slurmd_start_time": number(self.slurmd_started),
            "last_busy": number(self.slurmd_started),
        }))
    }
}

/// The count of `gpu:h100:4(S:0-1)` and of lists of such.
pub(super) fn gpus(gres: &str) -> u32 {
    let count = |word: &str| {
        let word = word.split('(').next().unwrap_or_default();
        let (name, count) = word.rsplit_once(':')?;
        name.starts_with("gpu").then(|| count.parse::<u32>().ok()).flatten()
    };
    gres.split(',').filter_map(count).sum()
}

#[cfg(test)]
mod tests {
    use super::super::release::Release;
    use super::*;

    const RECORDED: [(Release, &str, &str, i64, &str); 5] = [
        (
            Release::V22_05,
            "v0.0.38",
            include_str!("../../recorded/22.05/node.json"),
            1_796_009_659,
            "bookworm",
        ),
        (
            Release::V24_11,
            "v0.0.40",
            include_str!("../../recorded/24.11-v0.0.40/node.json"),
            1_796_009_660,
            "trixie",
        ),
        (Release::V24_11, "v0.0.42", include_str!("../../recorded/24.11/node.json"), 1_796_009_660, "trixie"),
        (
            Release::V26_05,
            "v0.0.42",
            include_str!("../../recorded/26.05-v0.0.42/node.json"),
            1_796_009_661,
            "sid",
        ),
        (Release::V26_05, "v0.0.45", include_str!("../../recorded/node.json"), 1_796_009_661, "sid"),
    ];

    #[test]
    fn shown_as_recorded() {
        for (release, version, file, at, host) in RECORDED {
            let mut node = Node::seeded(NodeSeed::new("n1"), at);
            node.partitions.push("burnin".to_owned());
            let dialect = Dialect::of(release, version, false).unwrap();
            let mut shown = node.show(dialect, 0, false);
            shown["hostname"] = json!(format!("ctl-{host}"));
            assert_eq!(shown, serde_json::from_str::<Value>(file).unwrap(), "{version}");
        }
    }

    #[test]
    fn flags_in_the_order_of_26_05() {
        let seed = NodeSeed::new("n").in_state(&["IDLE", "DYNAMIC_NORM", "INVALID_REG", "DRAIN"], "x");
        let words = Node::seeded(seed, 1).words(true, false);
        assert_eq!(words, ["ALLOCATED", "DRAIN", "INVALID_REG", "DYNAMIC_NORM"]);
        assert_eq!((gpus("gpu:h100:4(S:0-1),mps:100"), gpus("")), (4, 0));
    }
}
