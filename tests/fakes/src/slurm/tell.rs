//! What slurmctld and slurmdbd tell of a job.

use serde_json::{Value, json};

use super::array::{Array, ranges};
use super::dialect::{Dialect, infinite, perhaps, unset};
use super::envelope::number;
use super::job::{Held, Job};

impl Job {
    /// SLURM's exit code.
    fn exit_code(&self) -> Value {
        let (status, code, signal) = match (self.exit, self.signal) {
            (0, 0) => ("SUCCESS", Some(0), None),
            (exit, 0) => ("ERROR", Some(i64::from(exit)), None),
            (_, signal) => ("SIGNALED", None, Some(i64::from(signal))),
        };
        let name = match self.signal {
            9 => "KILL",
            15 => "TERM",
            _ => "",
        };
        json!({
            "status": [status],
            "return_code": perhaps(code),
            "signal": {"id": perhaps(signal), "name": name},
        })
    }

    pub(super) fn show(&self, dialect: Dialect) -> Value {
        let mut state = vec![self.state];
        if self.completing {
            state.push("COMPLETING");
        }
        if self.held == Some(Held::Reservation) && self.state == "PENDING" {
            state.push("RESV_DEL_HOLD");
        }
        // one that is suspended is told as held
        let is_held = self.held.is_some() || self.state == "SUSPENDED";
        let nodes = self.nodes.join(",");
        let output = format!("{}/slurm-{}.out", self.directory, self.id);
        let resources = match self.nodes.len() {
            0 => json!({}),
            count => json!({"nodes": {"list": nodes, "count": count}}),
        };
        let (task, rest) = match &self.array {
            Some(Array::Task(_, task)) => (Some(i64::from(*task)), String::new()),
            Some(Array::Rest(tasks)) => (None, ranges(tasks)),
            None => (None, String::new()),
        };
        let described = match self.signal {
            9 if self.state == "FAILED" => "RaisedSignal:9(Killed)",
            // of a working folder that does not exist
            53 if self.state == "FAILED" => "RaisedSignal:53(Real-time_signal_19)",
            _ => self.described.as_str(),
        };
        dialect.job(json!({
            "job_id": self.id,
            "name": self.name,
            "user_name": self.user,
            "user_id": if self.user == "root" { 0 } else { 1000 },
            "group_name": self.user,
            "mail_user": self.user,
            "partition": self.partition,
            "account": self.account,
            "qos": self.qos,
            "comment": self.comment,
            "current_working_directory": self.directory,
            "standard_output": output,
            "stdout_expanded": output,
            "job_state": state,
            "state_reason": self.reason,
            "state_description": described,
            "nodes": nodes,
            "batch_host": self.nodes.first().cloned().unwrap_or_default(),
            "required_nodes": self.required.join(","),
            "features": self.features.join("&"),
            "node_count": number(i64::try_from(self.count).unwrap_or(i64::MAX)),
            "requeue": self.requeue,
            "shared": if self.exclusive && dialect.release().tells_who_shares() { json!(["none"]) } else { json!([]) },
            "priority": number(if is_held { 0 } else { self.priority }),
            "hold": is_held,
            "resv_name": self.reservation,
            "array_job_id": number(self.array_id()),
            "array_task_id": perhaps(task),
            "array_task_string": rest,
            "time_limit": self.time_limit.map_or_else(infinite, number),
            "exit_code": self.exit_code(),
            "derived_exit_code": {"status": ["SUCCESS"], "return_code": number(0), "signal": {"id": unset(), "name": ""}},
            "submit_time": number(self.submitted),
            "eligible_time": number(self.submitted),
            "accrue_time": number(self.submitted),
            "start_time": number(self.started),
            "end_time": number(self.end_time()),
            "last_sched_evaluation": number(self.started.max(self.submitted)),
            "step_id": {"job_id": number(self.id)},
            "job_resources": resources,
        }))
    }

    /// When it ended, or must end.
    fn end_time(&self) -> i64 {
        match (self.state, self.time_limit) {
            ("RUNNING" | "SUSPENDED", Some(minutes)) => self.started + minutes * 60,
            // without a limit a year is assumed
            ("RUNNING" | "SUSPENDED", None) => self.started + 31_536_000,
            _ => self.ended,
        }
    }

    /// As slurmdbd keeps it: without the comment, which it is not told by default, nor the reason.
    pub(super) fn account(&self, dialect: Dialect) -> Value {
        let task = match &self.array {
            Some(Array::Task(_, task)) => Some(i64::from(*task)),
            _ => None,
        };
        let never = self.nodes.is_empty();
        let end = if self.is_unfinished() { 0 } else { self.ended };
        let start = match dialect.version() {
            // it was cancelled before
            "v0.0.45" if never && end > 0 => 4_294_967_294,
            _ => self.started,
        };
        dialect.accounted(json!({
            "job_id": self.id,
            "name": self.name,
            "account": self.account,
            "association": {"user": self.user, "account": self.account},
            "user": self.user,
            "group": self.user,
            "partition": self.partition,
            "nodes": if never { "None assigned".to_owned() } else { self.nodes.join(",") },
            "state": {"current": [self.state], "reason": "None"},
            "exit_code": self.exit_code(),
            "priority": number(self.priority),
            "hold": self.held.is_some(),
            "array": {"job_id": self.array_id(), "task_id": perhaps(task)},
            "time": {
                "submission": self.submitted,
                "eligible": self.submitted,
                "start": start,
                "end": end,
                "elapsed": (end - self.started).max(0),
                "limit": self.time_limit.map_or_else(infinite, number),
            },
            "script": "",
        }))
    }
}
