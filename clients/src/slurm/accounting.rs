//! slurmdbd, where a cluster has one: what slurmctld has forgotten.
//!
//! *Invariant*: that there is no slurmdbd is told by slurmrestd, which then serves none of its paths
//! beside those of slurmctld (run on 24.11 and 26.05). A slurmdbd that is away is an error.

use reqwest::Method;
use serde_json::Value;

use super::decode::{list, number, text};
use super::job::{hosts, words};
use super::{Job, Slurm, decode, number as code};
use crate::{Error, Kind, Service};

/// The id that slurmdbd was asked for when its answer to one that it does not know was recorded. Were
/// there such a job, that would be an answer too.
const NO_JOB: i64 = 99_999_999;

impl Slurm {
    /// Whether slurmdbd answers: `GET /slurmdb/{v}/job/{id}` of a job that cannot be. False: none is
    /// configured where slurmrestd runs, or slurmrestd was started without it (`-s slurmctld`).
    ///
    /// # Errors
    /// [`Kind::Unavailable`] where one is configured and cannot be reached (7000); whatever else kept it
    /// from answering.
    pub async fn accounting(&self) -> Result<bool, Error> {
        Ok(self.past_jobs("ask slurmdbd", NO_JOB).await?.is_some())
    }

    /// `GET /slurmdb/{v}/job/{id}`: a job that slurmctld may have forgotten; the one that was submitted
    /// last where the id was given twice. `None`: slurmdbd knows none, or there is no slurmdbd
    /// ([`Slurm::accounting`] tells them apart). slurmdbd follows slurmctld by seconds, and drops the
    /// comment unless told to keep it (run on 26.05). Until it has heard of its start, a job can be called
    /// `allocation` and be in no partition, even when it has ended (seen on 22.05). Of 22.05 neither exit code nor signal can be taken: a
    /// job that failed with 3 ended with 0 (facts: slurm §6).
    ///
    /// # Errors
    /// Whatever kept slurmdbd from answering; [`Kind::Malformed`] for a job that cannot be read.
    pub async fn past_job(&self, id: i64) -> Result<Option<Job>, Error> {
        let jobs = self.past_jobs("get past job", id).await?.unwrap_or_default();
        Ok(jobs.into_iter().filter(|job| job.id == id).max_by_key(|job| job.submit_time))
    }

    /// `None`: there is no slurmdbd.
    async fn past_jobs(&self, operation: &'static str, id: i64) -> Result<Option<Vec<Job>>, Error> {
        let version = self.dialect().await?.version;
        let path = format!("slurmdb/{version}/job/{id}");
        let answer = self.send(operation, &self.user, Method::GET, &path, &|r| r).await?;
        if answer.status.as_u16() == 404 && decode::envelope(&answer).is_none() {
            // not served: because of slurmdbd alone only if the rest of the version still is
            let ping = self.get(operation, "ping").await?;
            return self.success(operation, &ping).map(|_| None);
        }
        if decode::error_numbers(&answer) == [code::NOTHING_FOUND] {
            return Ok(Some(Vec::new()));
        }
        let body = self.success(operation, &answer)?;
        let malformed =
            |what: &str| answer.error(Service::Slurm, operation, Kind::Malformed(what.to_owned()));
        let raw = body.get("jobs").and_then(Value::as_array).ok_or_else(|| malformed("no `jobs` list"))?;
        raw.iter()
            .map(|j| decode_past(j).ok_or_else(|| malformed("a past job")))
            .collect::<Result<_, _>>()
            .map(Some)
    }
}

/// A job in slurmdbd's words. Its nodes decide nothing: it is over.
fn decode_past(raw: &Value) -> Option<Job> {
    let part = |key: &str| raw.get(key).unwrap_or(&Value::Null);
    let (state, time, array) = (part("state"), part("time"), part("array"));
    let word = |object: &Value, key: &str| text(object, key).unwrap_or_default();
    let moment = |key| number(time, key).unwrap_or(0);
    let array_job = number(array, "job_id").filter(|id| *id != 0);
    let job = Job {
        id: number(raw, "job_id")?,
        name: word(raw, "name"),
        user: word(raw, "user"),
        states: words(list(state, "current").filter(|s| !s.is_empty())?),
        reason: word(state, "reason"),
        nodes: hosts(raw, "nodes").unwrap_or_default(),
        required_nodes: Vec::new(),
        partitions: list(raw, "partition").unwrap_or_default(),
        features: word(raw, "constraints"),
        reservation: word(part("reservation"), "name"),
        priority: number(raw, "priority"),
        array: array_job.map(|job| super::Array {
            job,
            task: number(array, "task_id"),
            tasks: word(array, "task"),
        }),
        submit_time: moment("submission"),
        start_time: moment("start"),
        end_time: moment("end"),
        time_limit_minutes: number(time, "limit"),
        exit_code: None,
        signal: None,
        comment: word(part("comment"), "job"),
    };
    Some(job.ended_with(raw.get("exit_code")))
}
