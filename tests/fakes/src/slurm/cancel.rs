//! `DELETE job/{id}`: of a job, of an array's task (`13_2`), or of all that is left of an array.

use serde_json::{Value, json};

use super::array::Array;
use super::controller::{Controller, Slurmctld};
use super::dialect::{Dialect, unset};
use super::envelope::{DENIED, FINISHED, JOB, NOT_PERMITTED, Operation, QUERY, Said, Wrong, done, number};
use super::job::End;

/// What became of a cancel.
pub(super) enum Cancelled {
    /// No such job.
    Unknown,
    /// Neither its user nor an administrator asked.
    Denied(Vec<i64>),
    /// Done, but for these, which had ended before.
    Done(Vec<i64>),
}

impl Slurmctld {
    pub(super) fn cancel(&mut self, key: &str, user: &str, admin: bool) -> Cancelled {
        let (base, task) = match key.split_once('_') {
            Some((base, task)) => (base.parse::<i64>(), task.parse::<u32>().ok()),
            None => (key.parse::<i64>(), None),
        };
        let Ok(base) = base else { return Cancelled::Unknown };
        let is_task = |array: &Option<Array>| match (array, task) {
            (_, None) => true,
            (Some(Array::Task(_, this)), Some(task)) => *this == task,
            (Some(Array::Rest(rest)), Some(task)) => rest.contains(&task),
            (None, Some(_)) => false,
        };
        // by the id of a task alone, or by the array's
        let meant = |j: &super::job::Job| j.id == base || j.array_id() == base;
        let mut ids: Vec<i64> = Vec::new();
        for job in self.jobs.iter().filter(|j| meant(j) && is_task(&j.array)) {
            if job.user != user && !admin {
                return Cancelled::Denied(vec![job.id]);
            }
            ids.push(job.id);
        }
        if ids.is_empty() {
            return Cancelled::Unknown;
        }
        let now = self.now;
        let mut ended = Vec::new();
        for job in self.jobs.iter_mut().filter(|j| ids.contains(&j.id)) {
            let has_ended = !job.is_unfinished();
            match (&mut job.array, task) {
                _ if has_ended => ended.push(job.id),
                (Some(Array::Rest(rest)), Some(task)) if rest.len() > 1 => rest.retain(|t| *t != task),
                _ => job.end(End::Cancelled, now),
            }
        }
        self.changed = now;
        Cancelled::Done(ended)
    }
}

/// As 24.11 and later answer: 200 whatever became of it, which stands in `status`. Without slurmdbd a cancel by who
/// may not is the end of slurmctld: it hangs for good (facts: slurm §0.4).
pub(super) fn cancel(
    ctld: &mut Slurmctld,
    dialect: Dialect,
    key: &str,
    (user, admin): (&str, bool),
    accounting: bool,
) -> Said {
    if !key.starts_with(|c: char| c.is_ascii_digit()) {
        return Operation::new("Rejecting request. Failure parsing parameters", "op_handler_job")
            .failed(QUERY);
    }
    let operation = operation(dialect);
    let status = match ctld.cancel(key, user, admin) {
        Cancelled::Unknown => vec![told(JOB, key, unset())],
        Cancelled::Denied(_) if !accounting => {
            ctld.controller = Controller::Hung;
            return operation.failed(NOT_PERMITTED);
        }
        Cancelled::Denied(jobs) => jobs.into_iter().map(|id| told(DENIED, key, number(id))).collect(),
        Cancelled::Done(ended) => {
            let step = |id: &i64| ctld.jobs.iter().find(|j| j.id == *id).map(super::job::Job::step);
            ended.iter().map(|id| told(FINISHED, &step(id).unwrap_or_default(), number(*id))).collect()
        }
    };
    let body = if dialect.tells_cancelled() { json!({"status": status}) } else { json!({}) };
    done(body, Vec::new())
}

pub(super) fn operation(dialect: Dialect) -> Operation {
    let remains = if dialect.tells_cancelled() { json!({"status": []}) } else { json!({}) };
    Operation { remains, ..Operation::new("Signal request failed", "slurm_kill_jobs()") }
}

fn told(Wrong(_, code, text): Wrong, step: &str, job: Value) -> Value {
    json!({
        "error": {"string": text, "code": code, "message": text},
        "step_id": step,
        "job_id": job,
        "federation": {"sibling": ""},
    })
}
