//! slurmctld: nodes, partitions and jobs, and what a tick does to them.
//!
//! *Invariant*: a job starts only in a tick, on nodes that were open then.

use serde_json::{Value, json};

use super::job::{Job, JobSeed};
use super::node::{Node, NodeSeed, Slurmd, gpus, merge};
use super::release::Release;

/// The reason that slurmctld gives to a node that went away, behind the one that it has.
const WENT_AWAY: &str = "Not responding";

/// How slurmctld is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Controller {
    /// It answers.
    #[default]
    Up,
    /// It cannot be reached: 502, 1800.
    Down,
    /// It takes the connection and never answers: 504, 5004 (at once; for the wait use a fault).
    Hung,
    /// It has just started: every node that is not DOWN is UNKNOWN for so many ticks.
    Restarting(u64),
}

/// A partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionSeed {
    /// Its name. The first one is the default.
    pub name: String,
    /// UP, DOWN, DRAIN or INACTIVE.
    pub state: String,
    /// A node that registers with this feature is in it from then on.
    pub feature: Option<String>,
}

impl PartitionSeed {
    /// An UP partition that takes every node with the feature `dyn`, as the test image's.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), state: "UP".to_owned(), feature: Some("dyn".to_owned()) }
    }
}

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

#[derive(Debug)]
pub(super) struct Slurmctld {
    pub(super) release: Release,
    pub(super) controller: Controller,
    pub(super) nodes: Vec<Node>,
    pub(super) partitions: Vec<PartitionSeed>,
    pub(super) jobs: Vec<Job>,
    pub(super) now: i64,
    /// When anything changed last.
    pub(super) changed: i64,
    /// Ticks of silence until NOT_RESPONDING and until DOWN.
    pub(super) silence: (u64, u64),
    pub(super) last_job: i64,
}

impl Slurmctld {
    pub(super) fn node(&self, name: &str) -> Option<&Node> {
        self.nodes.iter().find(|n| n.name == name)
    }

    pub(super) fn node_mut(&mut self, name: &str) -> Option<&mut Node> {
        self.changed = self.now;
        self.nodes.iter_mut().find(|n| n.name == name)
    }

    pub(super) fn put(&mut self, seed: NodeSeed) {
        let node = Node::seeded(seed, self.now);
        match self.node_mut(&node.name) {
            Some(there) => *there = node,
            None => self.nodes.push(node),
        }
    }

    pub(super) fn show(&self, node: &Node) -> Value {
        let held = self.jobs.iter().any(|j| j.runs_on(&node.name));
        let completing = self.jobs.iter().any(|j| j.completing && j.nodes.contains(&node.name));
        let unknown = matches!(self.controller, Controller::Restarting(_));
        let mut node = node.clone();
        if completing {
            node.set("COMPLETING");
        }
        node.show(self.release, if held { node.cpus } else { 0 }, unknown)
    }

    pub(super) fn show_partition(&self, partition: &PartitionSeed) -> Value {
        let mut shown = self.release.partition();
        let of = |n: &&Node| n.partitions.contains(&partition.name);
        let names: Vec<&str> = self.nodes.iter().filter(of).map(|n| n.name.as_str()).collect();
        let cpus: i64 = self.nodes.iter().filter(of).map(|n| n.cpus).sum();
        let first = self.partitions.first().is_some_and(|p| p.name == partition.name);
        let ours = json!({
            "name": partition.name,
            "nodes": {"allowed_allocation": "", "configured": names.join(","), "total": names.len()},
            "node_sets": partition.feature.as_deref().unwrap_or_default(),
            "flags": if first { json!(["DEFAULT"]) } else { json!([]) },
        });
        merge(&mut shown, ours);
        shown["cpus"]["total"] = json!(cpus);
        shown["partition"]["state"] = json!([partition.state]);
        shown
    }

    /// Another job; its id.
    pub(super) fn add(&mut self, mut job: Job) -> i64 {
        self.last_job += 1;
        self.changed = self.now;
        job.id = self.last_job;
        self.jobs.push(job);
        self.last_job
    }

    pub(super) fn run(&mut self, seed: JobSeed) -> i64 {
        let nodes = seed.nodes.clone();
        let mut job = self.seeded(seed);
        job.start(nodes, self.now);
        self.add(job)
    }

    pub(super) fn submit(&mut self, seed: JobSeed, ticks: Option<u64>) -> i64 {
        let required = seed.nodes.clone();
        let job = self.seeded(seed);
        self.add(Job {
            state: "PENDING",
            reason: "None",
            count: job.count.max(1),
            required,
            left: ticks,
            ..job
        })
    }

    fn seeded(&self, seed: JobSeed) -> Job {
        Job {
            name: seed.name,
            user: seed.user,
            partition: self.partitions.first().map(|p| p.name.clone()).unwrap_or_default(),
            directory: "/tmp".to_owned(),
            count: seed.nodes.len(),
            requeue: true,
            submitted: self.now,
            ..Job::default()
        }
    }

    /// A slurmd starts. Whether slurmctld took it.
    pub(super) fn register(&mut self, registration: &Registration) -> bool {
        let (now, keeps) = (self.now, self.release.keeps_reasons());
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
            seed.reason = word(conf, "Reason").unwrap_or_default().to_owned();
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

    pub(super) fn tick(&mut self) {
        self.now += 1;
        if let Controller::Restarting(left) = self.controller {
            self.changed = self.now;
            self.controller = if left > 1 { Controller::Restarting(left - 1) } else { Controller::Up };
        }
        if self.controller != Controller::Up {
            return;
        }
        for job in &mut self.jobs {
            job.completing = false;
            if job.state == "RUNNING" {
                job.left = job.left.map(|left| left.saturating_sub(1));
                if job.left == Some(0) {
                    job.end("COMPLETED", 0, self.now);
                }
            }
        }
        self.hear();
        self.schedule();
        self.changed = self.now;
    }

    /// slurmds that answer, and those that do not.
    fn hear(&mut self) {
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

    fn schedule(&mut self) {
        for at in 0..self.jobs.len() {
            let job = &self.jobs[at];
            if job.state != "PENDING" {
                continue;
            }
            let up = self.partitions.iter().any(|p| p.name == job.partition && p.state == "UP");
            let held = |node: &Node| {
                self.jobs.iter().any(|j| {
                    (j.state == "RUNNING" || j.state == "SUSPENDED" || j.completing)
                        && j.nodes.contains(&node.name)
                })
            };
            let could = |node: &&Node| {
                node.partitions.contains(&job.partition)
                    && (job.required.is_empty() || job.required.contains(&node.name))
                    && job.features.iter().all(|f| node.active_features.contains(f))
            };
            let free: Vec<String> = self
                .nodes
                .iter()
                .filter(could)
                .filter(|n| n.is_open() && !held(n))
                .take(job.count)
                .map(|n| n.name.clone())
                .collect();
            let closed = job.required.iter().any(|n| self.node(n).is_none_or(|n| !n.is_open()));
            let (count, now) = (job.count, self.now);
            let job = &mut self.jobs[at];
            if !up {
                job.reason = "PartitionDown";
            } else if free.len() == count {
                job.start(free, now);
            } else if closed {
                job.reason = "ReqNodeNotAvail";
            } else {
                job.reason = "Resources";
            }
        }
    }
}

/// The value of a `Key=value` word.
pub(super) fn word<'a>(conf: &'a str, key: &str) -> Option<&'a str> {
    let value = |w: &'a str| w.split_once('=').filter(|(k, _)| k.eq_ignore_ascii_case(key)).map(|(_, v)| v);
    conf.split_whitespace().find_map(value)
}
