//! Jobs: submitted, scheduled, finished; one holds its nodes whole.

use serde_json::{Value, json};

use super::envelope::number;
use super::node::merge;
use super::release::Release;

/// A job that runs from the start, until [`Slurmrestd::finish`](super::Slurmrestd::finish).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobSeed {
    /// Its name.
    pub name: String,
    /// Whose it is.
    pub user: String,
    /// The nodes that it holds.
    pub nodes: Vec<String>,
}

impl JobSeed {
    /// A job of alice.
    #[must_use]
    pub fn on(nodes: &[&str]) -> Self {
        let nodes = nodes.iter().map(|n| (*n).to_owned()).collect();
        Self { name: "users-job".to_owned(), user: "alice".to_owned(), nodes }
    }
}

/// A job.
#[derive(Debug, Clone, Default)]
pub(super) struct Job {
    pub(super) id: i64,
    pub(super) name: String,
    pub(super) user: String,
    pub(super) partition: String,
    pub(super) comment: String,
    pub(super) directory: String,
    /// PENDING, RUNNING, SUSPENDED, COMPLETED, FAILED, NODE_FAIL.
    pub(super) state: &'static str,
    pub(super) reason: &'static str,
    /// It has ended in this tick and still holds its nodes.
    pub(super) completing: bool,
    pub(super) nodes: Vec<String>,
    /// It may run on these alone.
    pub(super) required: Vec<String>,
    pub(super) features: Vec<String>,
    pub(super) count: usize,
    pub(super) requeue: bool,
    /// Minutes; none is no limit.
    pub(super) time_limit: Option<i64>,
    /// Ticks until it ends by itself; none is never.
    pub(super) left: Option<u64>,
    pub(super) exit: u32,
    pub(super) submitted: i64,
    pub(super) started: i64,
    pub(super) ended: i64,
}

impl Job {
    /// It has CPUs of this node.
    pub(super) fn runs_on(&self, node: &str) -> bool {
        self.state == "RUNNING" && self.nodes.iter().any(|n| n == node)
    }

    /// It ends, and leaves its nodes in the next tick.
    pub(super) fn end(&mut self, state: &'static str, exit: u32, now: i64) {
        self.reason = if state == "FAILED" { "NonZeroExitCode" } else { "None" };
        (self.state, self.exit, self.ended, self.left) = (state, exit, now, None);
        self.completing = true;
    }

    /// Its node went away under it: queued again, or failed.
    pub(super) fn lose_node(&mut self, now: i64) {
        if self.requeue {
            (self.state, self.reason, self.nodes) = ("PENDING", "BeginTime", Vec::new());
        } else {
            (self.state, self.reason, self.ended) = ("NODE_FAIL", "NodeFail", now);
        }
    }

    pub(super) fn start(&mut self, nodes: Vec<String>, now: i64) {
        (self.state, self.reason, self.nodes, self.started) = ("RUNNING", "None", nodes, now);
    }

    pub(super) fn show(&self, release: Release) -> Value {
        let mut job = release.job();
        let mut state = vec![self.state];
        if self.completing {
            state.push("COMPLETING");
        }
        let status = if self.exit == 0 { "SUCCESS" } else { "ERROR" };
        let unset = json!({"set": false, "infinite": false, "number": 0});
        let limit = json!({"set": false, "infinite": true, "number": 0});
        let nodes = self.nodes.join(",");
        let output = format!("{}/slurm-{}.out", self.directory, self.id);
        let ours = json!({
            "job_id": self.id,
            "name": self.name,
            "user_name": self.user,
            "user_id": if self.user == "root" { 0 } else { 1000 },
            "group_name": self.user,
            "mail_user": self.user,
            "partition": self.partition,
            "comment": self.comment,
            "current_working_directory": self.directory,
            "standard_output": output,
            "stdout_expanded": output,
            "job_state": state,
            "state_reason": self.reason,
            "nodes": nodes,
            "batch_host": self.nodes.first().cloned().unwrap_or_default(),
            "required_nodes": self.required.join(","),
            "features": self.features.join("&"),
            "node_count": number(i64::try_from(self.count).unwrap_or(i64::MAX)),
            "requeue": self.requeue,
            "time_limit": self.time_limit.map_or(limit, number),
            "exit_code": {
                "status": [status],
                "return_code": number(i64::from(self.exit)),
                "signal": {"id": unset, "name": ""},
            },
            "submit_time": number(self.submitted),
            "eligible_time": number(self.submitted),
            "accrue_time": number(self.submitted),
            "start_time": number(self.started),
            "end_time": number(self.ended),
            "last_sched_evaluation": number(self.started.max(self.submitted)),
        });
        merge(&mut job, ours);
        if let Some(step) = job.get_mut("step_id") {
            step["job_id"] = number(self.id);
        }
        if self.nodes.is_empty() {
            job["job_resources"] = json!({});
        } else {
            job["job_resources"]["nodes"]["list"] = json!(nodes);
            job["job_resources"]["nodes"]["count"] = json!(self.nodes.len());
        }
        job
    }
}
