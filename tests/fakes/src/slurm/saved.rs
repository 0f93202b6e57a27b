//! What slurmctld forgets when it is killed: it saves its state every few seconds, so an acknowledged write is not
//! durable for about five of them (facts: slurm §12).
//!
//! *Invariant*: what runs on the nodes is not undone: slurmds are as they are.

use super::controller::{Controller, Slurmctld};
use super::job::Job;
use super::node::Node;
use super::reserve::Reservation;

/// Ticks for which a write can be lost.
const WINDOW: i64 = 5;
/// Ticks for which every node is UNKNOWN after a start.
const STARTING: u64 = 3;

/// The state before a write.
#[derive(Debug)]
pub(super) struct Saved {
    at: i64,
    nodes: Vec<Node>,
    jobs: Vec<Job>,
    reservations: Vec<Reservation>,
    last_job: i64,
}

impl Slurmctld {
    /// Keeps what is, before a write.
    pub(super) fn save(&mut self) {
        let oldest = self.now - WINDOW;
        self.saved.retain(|saved| saved.at > oldest);
        self.saved.push_back(Saved {
            at: self.now,
            nodes: self.nodes.clone(),
            jobs: self.jobs.clone(),
            reservations: self.reservations.clone(),
            last_job: self.last_job,
        });
    }

    /// It is killed, and started again: what was written in the last ticks is forgotten.
    pub(super) fn crash(&mut self) {
        let oldest = self.now - WINDOW;
        self.saved.retain(|saved| saved.at > oldest);
        self.controller = Controller::Restarting(STARTING);
        self.changed = self.now;
        let Some(saved) = self.saved.drain(..).next() else { return };
        for mut node in saved.nodes {
            match self.nodes.iter_mut().find(|n| n.name == node.name) {
                Some(there) => {
                    (node.slurmd, node.slurmd_started) = (there.slurmd, there.slurmd_started);
                    *there = node;
                }
                // its record was deleted
                None => self.nodes.push(node),
            }
        }
        let is_known = |j: &Job| saved.jobs.iter().any(|s| s.id == j.id);
        if self.release.saves_submits() {
            // known, but not that it started: it will be started once more (facts: measured on 24.11.5)
            for job in self.jobs.iter_mut().filter(|j| !is_known(j) && j.state == "RUNNING") {
                (job.state, job.reason, job.started) = ("PENDING", "None", 0);
                job.nodes.clear();
            }
        } else {
            self.jobs.retain(is_known);
            self.last_job = saved.last_job;
        }
        for job in &mut self.jobs {
            if let Some(saved) = saved.jobs.iter().find(|s| s.id == job.id) {
                (job.priority, job.held) = (saved.priority, saved.held);
                job.comment.clone_from(&saved.comment);
                job.name.clone_from(&saved.name);
            }
        }
        self.reservations = saved.reservations;
    }
}
