//! Which pending job starts where, and why the others wait.
//!
//! *Invariant*: a job starts only in a tick, on nodes that were open then, and on nobody's reservation but its
//! own. Tier of the partition first, then priority, then age; a job that fits starts past those that do not.

use super::array::Array;
use super::controller::Slurmctld;
use super::job::{Held, Job};
use super::node::Node;

/// How a job on a node that cannot take it is told so.
pub(super) const NOT_AVAILABLE: (&str, &str) =
    ("ReqNodeNotAvail", "ReqNodeNotAvail, May be reserved for other job");

/// The same where no node of its partition is open, of one that was ranked anew (run on 24.11 and 26.05).
const NONE_OPEN: (&str, &str) = (
    "Resources",
    "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions",
);

impl Slurmctld {
    pub(super) fn schedule(&mut self) {
        let mut waiting: Vec<String> = Vec::new();
        for id in self.queue() {
            // an array's tasks start as long as they fit
            while let Some(at) = self.jobs.iter().position(|j| j.id == id && j.state == "PENDING") {
                let job = &self.jobs[at];
                match self.judge(job) {
                    Ok(nodes) => self.start(at, nodes),
                    Err((reason, described)) => {
                        let ranked = job.ranked && reason == NOT_AVAILABLE.0;
                        let passed_over = reason == "Resources" || ranked;
                        let behind = passed_over && waiting.contains(&job.partition);
                        waiting.extend((reason == "Resources").then(|| job.partition.clone()));
                        let told = if behind {
                            ("Priority", String::new())
                        } else if ranked && self.is_closed(&job.partition) {
                            (NONE_OPEN.0, NONE_OPEN.1.to_owned())
                        } else {
                            (reason, self.described(job, described))
                        };
                        self.jobs[at].wait(told.0, &told.1);
                        if self.release.names_last_task() {
                            self.jobs[at].be_the_last();
                        }
                        break;
                    }
                }
            }
        }
    }

    /// No node of the partition is open.
    fn is_closed(&self, partition: &str) -> bool {
        let held = |n: &&Node| n.partitions.iter().any(|p| p == partition);
        !self.nodes.iter().filter(held).any(Node::is_open)
    }

    /// The pending jobs, by their ids, in the order in which they are looked at.
    fn queue(&self) -> Vec<i64> {
        let tier_of = |name: &str| self.partitions.iter().find(|p| p.name == name).map_or(0, |p| p.tier);
        let tier = |job: &Job| job.partitions().map(tier_of).max().unwrap_or_default();
        let mut queue: Vec<_> = self
            .jobs
            .iter()
            .filter(|j| j.state == "PENDING")
            .map(|j| (-tier(j), -j.priority, j.id))
            .collect();
        queue.sort_unstable();
        queue.into_iter().map(|(_, _, id)| id).collect()
    }

    /// The nodes on which a job can start now, or why it cannot.
    fn judge(&self, job: &Job) -> Result<Vec<String>, (&'static str, &'static str)> {
        if job.bereft {
            return Err(NOT_AVAILABLE);
        }
        match job.held {
            Some(Held::User) => return Err(("JobHeldUser", "")),
            Some(Held::Admin) => return Err(("JobHeldAdmin", "")),
            Some(Held::Reservation) => return Err(("ReservationDeleted", "")),
            None => {}
        }
        let is_up = |name: &&str| self.partitions.iter().any(|p| p.name == *name && p.state == "UP");
        let up: Vec<&str> = job.partitions().filter(is_up).collect();
        if up.is_empty() {
            return Err(("PartitionDown", ""));
        }
        if !job.reservation.is_empty() && !self.reservations.iter().any(|r| r.is_for(job, self.now)) {
            return Err(("Reservation", ""));
        }
        let could = |node: &&Node| {
            up.iter().any(|name| node.partitions.iter().any(|p| p == name))
                && (job.required.is_empty() || job.required.contains(&node.name))
                && job.features.iter().all(|f| node.active_features.contains(f))
        };
        let is_held = |node: &Node| self.jobs.iter().any(|j| j.holds(&node.name));
        let free = self.nodes.iter().filter(could).filter(|n| n.is_open() && self.lets(job, &n.name));
        let free: Vec<String> =
            free.filter(|n| !is_held(n)).take(job.count).map(|n| n.name.clone()).collect();
        if free.len() == job.count {
            return Ok(free);
        }
        let takes = |name: &String| self.node(name).is_some_and(Node::is_open) && self.lets(job, name);
        Err(if job.required.iter().all(takes) { ("Resources", "") } else { NOT_AVAILABLE })
    }

    /// 22.05 names the nodes.
    pub(super) fn described(&self, job: &Job, said: &str) -> String {
        if !self.release.names_unavailable() || said.is_empty() {
            return said.to_owned();
        }
        let closed = |name: &&String| !self.node(name).is_some_and(Node::is_open);
        let closed: Vec<&str> = job.required.iter().filter(closed).map(String::as_str).collect();
        format!("{}, UnavailableNodes:{}", NOT_AVAILABLE.0, closed.join(","))
    }

    /// No reservation keeps this job off this node, now or before it must have ended.
    pub(super) fn lets(&self, job: &Job, node: &str) -> bool {
        let until = job.time_limit.map_or(i64::MAX, |minutes| self.now + minutes * 60);
        let on_it = |r: &&super::reserve::Reservation| r.nodes.iter().any(|n| n == node) && r.end > self.now;
        if job.reservation.is_empty() {
            return !self.reservations.iter().filter(on_it).any(|r| r.start < until);
        }
        self.reservations.iter().filter(on_it).any(|r| r.is_for(job, self.now))
    }

    /// The first task of an array gets an id of its own; the rest keep the array's.
    fn start(&mut self, at: usize, nodes: Vec<String>) {
        let now = self.now;
        let id = self.jobs[at].id;
        let Some(Array::Rest(tasks)) = &mut self.jobs[at].array else {
            return self.jobs[at].start(nodes, now);
        };
        let (task, last) = (tasks.remove(0), tasks.is_empty());
        if last {
            self.jobs[at].array = Some(Array::Task(id, task));
            return self.jobs[at].start(nodes, now);
        }
        let mut job = Job { array: Some(Array::Task(id, task)), ..self.jobs[at].clone() };
        job.start(nodes, now);
        self.add(job);
    }
}
