//! slurmds: how one makes its node known, and what becomes of a node whose slurmd falls silent.

use super::controller::{PartitionSeed, Slurmctld};
use super::node::{Node, NodeSeed, Slurmd, gpus};

/// The reason that slurmctld gives to a node that went away, behind the one that it has.
const WENT_AWAY: &str = "Not responding";

/// The start of a slurmd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// The node.
    pub node: String,
    /// Its `--conf`; without one only a node that slurmctld knows can register.
    pub conf: Option<String>,
    /// How many GPUs it finds; none: as many as configured.
    pub gpus: Option<u32>,
}

impl Slurmctld {
    /// A slurmd starts. Whether slurmctld took it.
    pub(super) fn register(&mut self, registration: &Registration) -> bool {
        let (now, keeps) = (self.now, self.release.keeps_reasons());
        self.slurmds.insert(registration.node.clone(), registration.clone());
        if self.node(&registration.node).is_none() && !self.define(registration) {
            return false;
        }
        let Some(node) = self.node_mut(&registration.node) else { return false };
        (node.slurmd, node.slurmd_started) = (Slurmd::Up, now);
        node.clear("NOT_RESPONDING");
        if node.has("POWERED_DOWN") {
            // a CLOUD node that boots loses its reason; extra and comment stay (facts: slurm §12)
            node.clear("POWERED_DOWN");
            node.without_reason();
        }
        // ReturnToService=1, and only for a node that was closed for this alone
        if node.base == "UNKNOWN" || node.base == "DOWN" && node.reason == WENT_AWAY {
            node.base = "IDLE".to_owned();
            if !keeps {
                node.without_reason();
            }
        }
        let configured = node.gpus();
        let told = registration.conf.as_deref().and_then(|c| word(c, "Gres")).map_or(configured, gpus);
        let found = registration.gpus.unwrap_or(told);
        if found < configured {
            node.set("INVALID_REG");
            node.set("DRAIN");
            let reason = format!("gres/gpu count reported lower than configured ({found} < {configured})");
            node.because(&reason, "slurm", now);
        } else {
            node.clear("INVALID_REG");
        }
        true
    }

    /// A slurmd starts again, as it was started before. False: none runs, or slurmctld did not take it.
    pub(super) fn register_again(&mut self, node: &str) -> bool {
        self.slurmds.get(node).cloned().is_some_and(|registration| self.register(&registration))
    }

    /// A dynamic node, as its slurmd's `--conf` says. The first definition wins for good.
    fn define(&mut self, registration: &Registration) -> bool {
        let Some(conf) = registration.conf.as_deref() else { return false };
        let state = word(conf, "State").unwrap_or("IDLE").to_ascii_uppercase();
        if state == "DOWN" {
            return false;
        }
        let mut seed = NodeSeed::new(&registration.node).in_state(&["IDLE", "DYNAMIC_NORM"], "");
        if state == "DRAIN" {
            seed.state.push(state);
            if self.release.takes_first_reasons() {
                seed.reason = word(conf, "Reason").unwrap_or_default().to_owned();
            }
        }
        self.admit(seed, conf);
        true
    }

    /// A dynamic node, its hardware and features as a line of slurm.conf says them; it is in every
    /// partition that takes one of its features.
    pub(super) fn admit(&mut self, seed: NodeSeed, conf: &str) {
        let list = |key| word(conf, key).unwrap_or_default().split(',').filter(|w| !w.is_empty());
        let features: Vec<String> = list("Feature").chain(list("Features")).map(str::to_owned).collect();
        let takes = |p: &&PartitionSeed| p.feature.as_ref().is_some_and(|f| features.contains(f));
        let partitions = self.partitions.iter().filter(takes).map(|p| p.name.clone()).collect();
        let gres = word(conf, "Gres").unwrap_or_default().to_owned();
        let mut node =
            Node::seeded(NodeSeed { features: features.clone(), gres, partitions, ..seed }, self.now);
        let whole = |key| word(conf, key).and_then(|n| n.parse::<i64>().ok());
        node.cpus = whole("CPUs").unwrap_or(node.cpus);
        node.memory = whole("RealMemory").unwrap_or(node.memory);
        self.nodes.push(node);
        self.changed = self.now;
    }

    /// slurmds that answer, and those that do not.
    pub(super) fn hear(&mut self) {
        let (now, (unheard, down)) = (self.now, self.silence);
        for node in &mut self.nodes {
            match &mut node.slurmd {
                Slurmd::Up => node.clear("NOT_RESPONDING"),
                Slurmd::Unknown => {}
                Slurmd::Silent(ticks) => {
                    *ticks += 1;
                    let ticks = *ticks;
                    if ticks >= unheard {
                        node.set("NOT_RESPONDING");
                    }
                    if ticks >= down && node.base != "DOWN" {
                        node.base = "DOWN".to_owned();
                        let before = if node.reason.is_empty() { "" } else { " : " };
                        let reason = format!("{}{before}{WENT_AWAY}", node.reason);
                        node.because(&reason, "slurm", now);
                    }
                }
            }
            if node.base == "DOWN" {
                self.jobs.iter_mut().filter(|j| j.runs_on(&node.name)).for_each(|j| j.lose_node(now));
            }
        }
    }
}

/// The value of a `Key=value` word.
pub(super) fn word<'a>(conf: &'a str, key: &str) -> Option<&'a str> {
    let value = |w: &'a str| w.split_once('=').filter(|(k, _)| k.eq_ignore_ascii_case(key)).map(|(_, v)| v);
    conf.split_whitespace().find_map(value)
}
