//! Calls about jobs that are there.

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::dialect::JOB_WRITE;
use super::{Dialect, Job, JobKey, Slurm, decode, number};
use crate::{Error, Kind, Service, excerpt};

/// What became of a job that was to be cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancellation {
    /// It is told to end. On v0.0.40, which says the same of every job, it may have been over.
    Cancelled,
    /// It had ended, or slurmctld knows of none. Of an array by its id: some of its tasks had, and what
    /// became of the rest is not said (run on 24.11 and 26.05).
    Over,
}

impl Slurm {
    /// `GET /slurm/{v}/jobs`: every job that slurmctld still holds.
    ///
    /// # Errors
    /// [`Kind::Malformed`] when of one job it cannot be told whether it holds a node.
    pub async fn jobs(&self) -> Result<Vec<Job>, Error> {
        let answer = self.get("list jobs", "jobs").await?;
        Job::decode(&self.success("list jobs", &answer)?)
            .map_err(|what| answer.error(Service::Slurm, "list jobs", Kind::Malformed(what)))
    }

    /// `GET /slurm/{v}/job/{id}`. `None`: slurmctld holds no such job. It may never have been, may have
    /// been forgotten MinJobAge after its end (300 s), or been lost with slurmctld's last seconds
    /// (facts: slurm §6, §12).
    ///
    /// # Errors
    /// Whatever kept slurmctld from answering; [`Kind::Malformed`] for an answer without the job.
    pub async fn job(&self, id: i64) -> Result<Option<Job>, Error> {
        const OPERATION: &str = "get job";
        let answer = self.get(OPERATION, &format!("job/{id}")).await?;
        if decode::is_unknown_job(&answer) {
            self.token.accepted();
            return Ok(None);
        }
        let malformed = |what: String| answer.error(Service::Slurm, OPERATION, Kind::Malformed(what));
        let jobs = Job::decode(&self.success(OPERATION, &answer)?).map_err(malformed)?;
        // of an array all entries come
        match jobs.into_iter().find(|job| job.id == id) {
            Some(job) => Ok(Some(job)),
            None => Err(malformed(format!("not the job {id}"))),
        }
    }

    /// `POST /slurm/{v}/job/{id}`: sets the priority, which stays as it is then. Safe to repeat. Needs
    /// root, SlurmUser or an operator: the owner is told 2002, and 2095 for a lower one, which is set all
    /// the same. 4294967294 and above mean "as SLURM computes it" (run on 24.11 and 26.05). Read it back.
    ///
    /// # Errors
    /// [`Kind::TooOld`] where the version has no such call; [`Kind::Forbidden`] when the token's user
    /// may not; [`Kind::Rejected`] with slurmctld's words, also for a job that is over.
    pub async fn set_job_priority(&self, id: i64, priority: u32) -> Result<(), Error> {
        const OPERATION: &str = "set job priority";
        self.able(OPERATION, &JOB_WRITE).await?;
        let body = json!({"priority": {"set": true, "number": priority}});
        let build = |r: RequestBuilder| r.json(&body);
        let answer = self.call(OPERATION, &self.user, Method::POST, &format!("job/{id}"), build).await?;
        self.success(OPERATION, &answer).map(drop)
    }

    /// `DELETE /slurm/{v}/job/{id}`, or `{array}_{task}` for one task of an array ([`Job::key`]), as
    /// `as_user`. Safe to repeat. HTTP 200 means nothing here: `status` says what became of each.
    ///
    /// On a cluster without slurmdbd slurmctld hangs for ever when one who is neither the owner nor root
    /// asks (24.11, 26.05; facts: slurm §0.4): cancel as the owner, or ask [`Slurm::accounting`] first. That
    /// one is told [`Kind::Unavailable`], as everybody is while slurmctld is away.
    ///
    /// # Errors
    /// [`Kind::TooOld`] where the version has no such call; [`Kind::Forbidden`] when `as_user` may not;
    /// [`Kind::Rejected`] with slurmctld's words; [`Kind::Malformed`] without a `status`.
    pub async fn cancel_job(&self, as_user: &str, job: impl Into<JobKey>) -> Result<Cancellation, Error> {
        const OPERATION: &str = "cancel job";
        let dialect = self.able(OPERATION, &JOB_WRITE).await?;
        let path = format!("job/{}", job.into());
        let answer = self.call(OPERATION, as_user, Method::DELETE, &path, |r| r).await?;
        let body = self.success(OPERATION, &answer)?;
        cancellation(dialect, &body).map_err(|kind| answer.error(Service::Slurm, OPERATION, kind))
    }
}

/// What `status` says: nothing of a job that is told to end, a line for each that is not.
fn cancellation(dialect: &Dialect, body: &Value) -> Result<Cancellation, Kind> {
    let lines = match body.get("status") {
        Some(Value::Array(lines)) => lines.as_slice(),
        None if !dialect.tells_cancelled => &[],
        _ => return Err(Kind::Malformed("no `status` list".to_owned())),
    };
    let mut over = 0;
    for line in lines {
        let error = line.get("error");
        let code = error.and_then(|e| decode::number(e, "code"));
        let said = error.and_then(|e| e.get("string")).and_then(Value::as_str).unwrap_or_default();
        match code {
            Some(0) => {}
            Some(number::JOB_OVER | number::UNKNOWN_JOB) => over += 1,
            Some(n) if number::NOT_ALLOWED.contains(&n) => return Err(Kind::Forbidden(excerpt(said))),
            Some(_) => return Err(Kind::Rejected(excerpt(said))),
            None => return Err(Kind::Malformed("a `status` without a code".to_owned())),
        }
    }
    Ok(if over > 0 && over == lines.len() { Cancellation::Over } else { Cancellation::Cancelled })
}
