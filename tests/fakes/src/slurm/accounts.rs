//! slurmdbd: what it keeps of jobs, those too that slurmctld has forgotten (all three releases, measured).
//!
//! *Invariant*: it is told of a job when that is submitted, and keeps it for ever.

use serde_json::{Value, json};

use super::controller::Slurmctld;
use super::dialect::Dialect;
use super::envelope::{NO_DATABASE, NO_ERROR, Operation, Said, refused, unknown_field, warning};
use super::job::Job;
use crate::serve::Call;

/// As 24.11 and later answer: nothing found is a warning, and so is a query that it does not know.
pub(super) fn answer(ctld: &Slurmctld, dialect: Dialect, call: &Call, path: &[&str]) -> Said {
    let mut warnings = Vec::new();
    let found: Vec<&Job> = match (call.method.as_str(), path) {
        ("GET", ["ping"] | ["jobs"] | ["job", _]) if !ctld.slurmdbd => {
            let operation = Operation::new("Failed to open slurmdbd connection", "openapi_get_db_conn");
            return operation.failed(NO_DATABASE);
        }
        ("GET", ["ping"]) => {
            let pings = json!({"pings": [dialect.slurmdbd(NO_ERROR.2)]});
            return Said::Accounted { body: pings, warnings };
        }
        ("GET", ["job", id]) => ctld.accounted().filter(|j| j.id.to_string() == **id).collect(),
        ("GET", ["jobs"]) => {
            let pairs = call.pairs();
            for (key, value) in pairs.iter().filter(|(key, _)| !["job_name", "users"].contains(&key.as_str()))
            {
                warnings.push(unknown_field(key, &json!(value), "JOB_CONDITION", "#/"));
            }
            let is = |key: &str, text: &str| {
                asked(&pairs, key).is_none_or(|all| all.split(',').any(|n| n == text))
            };
            let fits = |j: &&Job| started(j) && is("job_name", &j.name) && is("users", &j.user);
            ctld.accounted().filter(fits).collect()
        }
        _ => return refused(501, "fakes: this path of slurmdbd is not imitated"),
    };
    if found.is_empty() {
        warnings.push(warning("slurmdb_jobs_get() found nothing", "_dump_jobs"));
    }
    let jobs: Vec<Value> = found.into_iter().map(|j| j.account(dialect)).collect();
    Said::Accounted { body: json!({"jobs": jobs}), warnings }
}

/// A list leaves out who never started.
pub(super) fn started(job: &Job) -> bool {
    !job.nodes.is_empty()
}

fn asked<'a>(pairs: &'a [(String, String)], key: &str) -> Option<&'a str> {
    pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
}

impl Slurmctld {
    /// Every job that there ever was.
    pub(super) fn accounted(&self) -> impl Iterator<Item = &Job> {
        self.purged.iter().chain(&self.jobs)
    }
}
