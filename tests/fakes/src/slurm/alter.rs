//! `POST job/{id}`: what of a job can be changed, and by whom (all three releases, measured).

use serde_json::{Value, json};

use super::controller::Slurmctld;
use super::envelope::{
    DENIED, FINISHED_ALREADY, HELD, JOB, Operation, PRIORITY, Said, USER, Wrong, done, refused,
};
use super::job::{Held, Job};
use super::reserve::set;

/// What can be changed here.
const KNOWN: [&str; 5] = ["comment", "hold", "name", "priority", "time_limit"];
/// A priority that means: as if nobody had given one.
const RESET: [i64; 2] = [4_294_967_294, 4_294_967_295];

pub(super) fn operation() -> Operation {
    let remains = json!({"results": null});
    Operation { remains, ..Operation::new("Job update requested failed", "slurm_update_job2()") }
}

pub(super) fn alter(ctld: &mut Slurmctld, id: &str, body: &Value, (user, admin): (&str, bool)) -> Said {
    if let Some(key) = unknown(body) {
        return refused(501, &format!("fakes: a job's `{key}` is not imitated"));
    }
    match ctld.alter(id, body, user, admin) {
        Ok(()) => done(json!({"results": null}), Vec::new()),
        Err(wrong) => operation().failed(wrong),
    }
}

/// A key that cannot be changed here.
pub(super) fn unknown(body: &Value) -> Option<&String> {
    body.as_object()?.keys().find(|k| !KNOWN.contains(&k.as_str()))
}

impl Slurmctld {
    /// Changes a job. What is refused may be done all the same.
    pub(super) fn alter(&mut self, id: &str, body: &Value, user: &str, admin: bool) -> Result<(), Wrong> {
        self.changed = self.now;
        let first = self.release.priority(id.parse().unwrap_or_default());
        let job = self.jobs.iter_mut().find(|j| j.id.to_string() == id).ok_or(JOB)?;
        if job.user != user && !admin {
            return Err(USER);
        }
        if !job.is_unfinished() {
            return Err(FINISHED_ALREADY);
        }
        for (key, place) in [("comment", &mut job.comment), ("name", &mut job.name)] {
            if let Some(text) = body.get(key).and_then(Value::as_str) {
                text.clone_into(place);
            }
        }
        if let Some(minutes) = set(body.get("time_limit")) {
            job.time_limit = Some(minutes);
        }
        if body.get("hold") == Some(&json!(true)) {
            hold(job, admin);
        }
        set(body.get("priority")).map_or(Ok(()), |priority| rank(job, priority, admin, first))
    }
}

fn hold(job: &mut Job, admin: bool) {
    (job.priority, job.held) = (0, Some(if admin { Held::Admin } else { Held::User }));
    job.wait(if admin { "JobHeldAdmin" } else { "JobHeldUser" }, "");
}

/// Its user may lower it, and is told an error; only an administrator may raise it.
fn rank(job: &mut Job, priority: i64, admin: bool, first: i64) -> Result<(), Wrong> {
    if priority == 0 {
        hold(job, admin);
        return Ok(());
    }
    if admin && RESET.contains(&priority) {
        (job.priority, job.held) = (first, None);
    } else if job.held.is_some() {
        return Err(HELD);
    } else if !admin && priority > job.priority {
        return Err(DENIED);
    } else if !admin && priority < job.priority {
        job.priority = priority;
        return Err(PRIORITY);
    } else {
        job.priority = priority;
    }
    // until the scheduler looks at it again
    if job.state == "PENDING" {
        job.wait("None", "");
        job.ranked = true;
    }
    Ok(())
}
