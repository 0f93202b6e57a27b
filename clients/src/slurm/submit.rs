//! Submitting a job that is pinned to one node.
//!
//! *Invariant*: what is not written here does not run. slurmctld ignores a field that it does not
//! know, and a time limit without `set` is none (facts: slurm §0.10).

use model::NodeName;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::dialect::JOB_WRITE;
use super::{Slurm, decode};
use crate::{Error, Kind, Service, excerpt};

/// What slurmctld says of a job that is pinned to a closed node, in two lines (run on 24.11 and 26.05).
const CLOSED: [&str; 2] = [
    "Required node not available (down, drained or reserved)",
    "Job submission resulted in non-zero return code: Required node not available (down, drained or reserved)",
];

/// A job for one node, which it has to itself and in which nothing is requeued. Its script sees `PATH`
/// and what SLURM sets, starts in `/tmp`, and writes to `/tmp/NAME.out`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJob {
    /// Whose it is. The token must be theirs, or root's or SlurmUser's.
    pub user: String,
    /// Its name, by which it is found again.
    pub name: String,
    /// The node it is pinned to.
    pub node: NodeName,
    /// What runs. Begins with `#!`; slurmctld does not see to that.
    pub script: String,
    /// The account that it is booked on; else the user's own.
    pub account: Option<String>,
    /// Its quality of service; else the user's own.
    pub qos: Option<String>,
    /// The partition; else the cluster's default.
    pub partition: Option<String>,
    /// The reservation it runs in.
    pub reservation: Option<String>,
    /// How long it may run, in minutes: 1 or more.
    pub minutes: u32,
    /// Free text.
    pub comment: Option<String>,
}

/// A job that slurmctld has taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitted {
    /// Its id.
    pub id: i64,
    /// What slurmctld warned of, each in a line.
    pub warnings: Vec<String>,
}

impl Submitted {
    /// Every warning but that its node is closed: a field that was ignored, and what we do not know.
    #[must_use]
    pub fn unexpected_warnings(&self) -> Vec<&str> {
        self.warnings.iter().map(String::as_str).filter(|w| !CLOSED.contains(w)).collect()
    }
}

impl Slurm {
    /// `POST /slurm/{v}/job/submit`. NOT safe to repeat: look for the name among [`Slurm::jobs`] first,
    /// also after an error that [is unknown](Error::is_unknown). A job that was submitted less than a
    /// second before slurmctld died is forgotten, and its id given to another (facts: slurm §12).
    /// A priority is not sent: from a plain user it is ignored without a word.
    ///
    /// # Errors
    /// [`Kind::TooOld`] where the version describes jobs in another way; [`Kind::Unauthenticated`] when
    /// the token is that of another plain user; [`Kind::Rejected`] with slurmctld's words, and for a time
    /// limit of none; [`Kind::Malformed`] without a job id, and for one that came with errors, since that
    /// job may be there.
    pub async fn submit_job(&self, job: &NewJob) -> Result<Submitted, Error> {
        const OPERATION: &str = "submit job";
        self.able(OPERATION, &JOB_WRITE).await?;
        if job.minutes == 0 {
            let kind = Kind::Rejected("a time limit of 0 minutes is none to SLURM".to_owned());
            return Err(Error::new(Service::Slurm, OPERATION, kind));
        }
        let body = job.body();
        let build = |r: RequestBuilder| r.json(&body);
        let answer = self.call(OPERATION, &job.user, Method::POST, "job/submit", build).await?;
        let malformed = |what: String| answer.error(Service::Slurm, OPERATION, Kind::Malformed(what));
        let taken = serde_json::from_str::<Value>(&answer.text()).ok().as_ref().and_then(id);
        match (self.success(OPERATION, &answer), taken) {
            (Ok(body), Some(id)) => Ok(Submitted { id, warnings: warnings(&body) }),
            (Ok(_), None) => Err(malformed("a job without an id".to_owned())),
            (Err(error), Some(id)) => Err(malformed(format!("job {id} with an error")).because(error)),
            (Err(error), None) => Err(error),
        }
    }
}

impl NewJob {
    fn body(&self) -> Value {
        let mut job = json!({
            "name": self.name,
            "required_nodes": [self.node],
            "shared": ["none"],
            "requeue": false,
            "environment": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
            "current_working_directory": "/tmp",
            "standard_output": format!("/tmp/{}.out", self.name),
            "time_limit": {"set": true, "number": self.minutes},
        });
        for (key, value) in [
            ("account", &self.account),
            ("qos", &self.qos),
            ("partition", &self.partition),
            ("reservation", &self.reservation),
            ("comment", &self.comment),
        ] {
            if let Some(value) = value {
                job[key] = json!(value);
            }
        }
        json!({"script": self.script, "job": job})
    }
}

fn id(body: &Value) -> Option<i64> {
    decode::number(body, "job_id").filter(|id| *id > 0)
}

/// Each warning in its own words; one that has none is kept as it is.
fn warnings(body: &Value) -> Vec<String> {
    let said = |w: &Value| match w.get("description").and_then(Value::as_str) {
        Some(description) => excerpt(description),
        None => excerpt(&w.to_string()),
    };
    match body.get("warnings") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(all)) => all.iter().map(said).collect(),
        Some(other) => vec![said(other)],
    }
}
