//! slurmctld: nodes, partitions and jobs, and what a tick does to them.
//!
//! *Invariant*: time moves in [`Slurmctld::tick`] alone.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Value, json};

use super::array::tasks;
use super::behave::JobBehaviour;
use super::dialect::Dialect;
use super::job::{Held, Job, JobSeed};
use super::node::{Node, NodeSeed};
use super::register::Registration;
use super::release::Release;
use super::reserve::{self, Reservation};
use super::saved::Saved;

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
    /// Its priority tier: jobs of a higher one are looked at first.
    pub tier: i64,
}

impl PartitionSeed {
    /// An UP partition that takes every node with the feature `dyn`, as the test image's.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), state: "UP".to_owned(), feature: Some("dyn".to_owned()), tier: 1 }
    }
}

#[derive(Debug)]
pub(super) struct Slurmctld {
    pub(super) release: Release,
    pub(super) controller: Controller,
    pub(super) nodes: Vec<Node>,
    pub(super) partitions: Vec<PartitionSeed>,
    pub(super) jobs: Vec<Job>,
    /// slurmdbd answers, where there is one.
    pub(super) slurmdbd: bool,
    /// Jobs that were purged, for slurmdbd.
    pub(super) purged: Vec<Job>,
    /// What jobs do; the last that fits counts.
    pub(super) behaviours: Vec<JobBehaviour>,
    pub(super) reservations: Vec<Reservation>,
    /// The slurmds that run, as they were started; one whose node was deleted is among them.
    pub(super) slurmds: BTreeMap<String, Registration>,
    /// What was before each write of the last ticks.
    pub(super) saved: VecDeque<Saved>,
    pub(super) now: i64,
    /// When anything changed last.
    pub(super) changed: i64,
    /// Ticks of silence until NOT_RESPONDING and until DOWN.
    pub(super) silence: (u64, u64),
    /// Ticks after which a finished job is purged.
    pub(super) min_job_age: Option<u64>,
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

    pub(super) fn show(&self, node: &Node, dialect: Dialect) -> Value {
        let held = self.jobs.iter().any(|j| j.runs_on(&node.name));
        self.told(node).show(dialect, if held { node.cpus } else { 0 }, self.is_starting())
    }

    /// A node's state, base first.
    pub(super) fn words(&self, node: &Node) -> Vec<String> {
        let held = self.jobs.iter().any(|j| j.runs_on(&node.name));
        self.told(node).words(held, self.is_starting())
    }

    fn is_starting(&self) -> bool {
        matches!(self.controller, Controller::Restarting(_))
    }

    /// The node, with the flags that follow from its jobs and reservations.
    fn told(&self, node: &Node) -> Node {
        let mut node = node.clone();
        if self.jobs.iter().any(|j| j.completing && j.nodes.contains(&node.name)) {
            node.set("COMPLETING");
        }
        let told = |r: &&Reservation| r.told && r.is_active(self.now) && r.nodes.contains(&node.name);
        let told: Vec<bool> =
            self.reservations.iter().filter(told).map(Reservation::is_for_maintenance).collect();
        if !told.is_empty() {
            node.set("RESERVED");
        }
        if told.contains(&true) {
            node.set("MAINTENANCE");
        }
        node
    }

    pub(super) fn show_partition(&self, partition: &PartitionSeed, dialect: Dialect) -> Value {
        let of = |n: &&Node| n.partitions.contains(&partition.name);
        let names: Vec<&str> = self.nodes.iter().filter(of).map(|n| n.name.as_str()).collect();
        let cpus: i64 = self.nodes.iter().filter(of).map(|n| n.cpus).sum();
        let first = self.partitions.first().is_some_and(|p| p.name == partition.name);
        dialect.partition(json!({
            "name": partition.name,
            "nodes": {"allowed_allocation": "", "configured": names.join(","), "total": names.len()},
            "node_sets": partition.feature.as_deref().unwrap_or_default(),
            "flags": if first { json!(["DEFAULT"]) } else { json!([]) },
            "cpus": {"total": cpus},
            "partition": {"state": [partition.state]},
            "priority": {"tier": partition.tier},
        }))
    }

    /// A node that is asked for by itself; none where it is unknown.
    pub(super) fn shown_alone(&self, name: &str, dialect: Dialect) -> Option<Value> {
        let node = self.node(name).filter(|n| n.base != "FUTURE")?;
        let mut shown = self.show(node, dialect);
        if let Some(first) = self.nodes.first()
            && self.release.tells_firsts_partitions()
        {
            shown["partitions"] = json!(first.partitions);
        }
        Some(shown)
    }

    /// The job of this id, and every one of the array of this id, also where one of its tasks is asked for.
    pub(super) fn named(&self, id: &str, dialect: Dialect) -> Vec<Value> {
        let base = id.split('_').next().unwrap_or_default();
        let Ok(id) = base.parse::<i64>() else { return Vec::new() };
        let (own, tasks): (Vec<&Job>, Vec<&Job>) =
            self.jobs.iter().filter(|j| j.id == id || j.array_id() == id).partition(|j| j.id == id);
        own.into_iter().chain(tasks).map(|j| j.show(dialect)).collect()
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
        let count = job.count.max(1);
        self.add(Job { state: "PENDING", reason: "None", count, required, left: ticks, ..job })
    }

    fn seeded(&self, seed: JobSeed) -> Job {
        let default = self.partitions.first().map(|p| p.name.clone()).unwrap_or_default();
        let priority = seed.priority.unwrap_or_else(|| self.release.priority(self.last_job + 1));
        Job {
            name: seed.name,
            user: seed.user,
            partition: if seed.partition.is_empty() { default } else { seed.partition },
            directory: "/tmp".to_owned(),
            count: seed.nodes.len(),
            requeue: seed.requeue,
            submitted: self.now,
            time_limit: seed.time_limit,
            features: seed.features,
            reservation: seed.reservation,
            array: tasks(&seed.array),
            priority: if seed.hold { 0 } else { priority },
            held: seed.hold.then_some(Held::User),
            ..Job::default()
        }
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
        }
        for at in 0..self.jobs.len() {
            if self.jobs[at].state == "RUNNING" {
                self.work(at);
            }
        }
        self.purge();
        self.hear();
        reserve::tick(self);
        self.schedule();
        self.changed = self.now;
    }

    /// A job that waits for its node to power up is queued again when that is drained.
    pub(super) fn queue_again(&mut self, name: &str) {
        let powering = ["POWERED_DOWN", "POWERING_UP", "POWER_UP"];
        if !self.node(name).is_some_and(|n| n.has("DRAIN") && powering.iter().any(|f| n.has(f))) {
            return;
        }
        for job in self.jobs.iter_mut().filter(|j| j.runs_on(name)) {
            (job.state, job.started) = ("PENDING", 0);
            job.wait("BeginTime", "");
            job.nodes.clear();
        }
    }

    /// Jobs that finished long enough ago are forgotten.
    fn purge(&mut self) {
        let Some(age) = self.min_job_age.and_then(|age| i64::try_from(age).ok()) else { return };
        let now = self.now;
        let old = |j: &mut Job| !j.is_unfinished() && !j.completing && now - j.ended >= age;
        self.purged.extend(self.jobs.extract_if(.., old));
    }

    /// A job is forgotten at once.
    pub(super) fn lose(&mut self, id: i64) {
        self.purged.extend(self.jobs.extract_if(.., |j| j.id == id));
    }
}
