//! slurmdbd as v0.0.38 tells of it: what goes wrong is HTTP 200 with `errors`.

use serde_json::{Value, json};

use super::super::accounts::started;
use super::super::controller::Slurmctld;
use super::super::dialect::Dialect;
use super::super::envelope::{NO_DATABASE, NOTHING_FOUND, QUERY, Wrong};
use super::super::job::Job;
use super::{Old, text, whole};
use crate::serve::Call;

const SOURCE: &str = "slurmdb_jobs_get";

pub(super) fn answer(ctld: &Slurmctld, dialect: Dialect, call: &Call, path: &[&str]) -> Old {
    let failed = |description: &str, wrong: Wrong| {
        Old::Body(200, json!({"jobs": []}), vec![whole(description, wrong, SOURCE)])
    };
    let found: Vec<&Job> = match (call.method.as_str(), path) {
        ("GET", ["diag"]) if ctld.slurmdbd => return Old::Body(200, json!({"statistics": {}}), Vec::new()),
        ("GET", ["jobs"] | ["job", _]) if !ctld.slurmdbd => {
            return failed("Failed connecting to slurmdbd", NO_DATABASE);
        }
        ("GET", ["job", id]) => ctld.accounted().filter(|j| j.id.to_string() == **id).collect(),
        ("GET", ["jobs"]) => {
            let pairs = call.pairs();
            if pairs.iter().any(|(key, _)| key != "job_name") {
                let Wrong(_, number, text) = QUERY;
                let error =
                    json!({"description": "Unknown Query field", "error_number": number, "error": text});
                return Old::Body(500, json!({}), vec![error]);
            }
            let named =
                |j: &&Job| started(j) && pairs.iter().all(|(_, names)| names.split(',').any(|n| n == j.name));
            ctld.accounted().filter(named).collect()
        }
        ("GET", ["ping"]) => return text(404, ctld.release.no_url()),
        _ => return text(501, "fakes: this path of slurmdbd is not imitated"),
    };
    if found.is_empty() {
        return failed("Nothing found", NOTHING_FOUND);
    }
    let jobs: Vec<Value> = found.into_iter().map(|j| j.account(dialect)).collect();
    Old::Body(200, json!({"jobs": jobs}), Vec::new())
}
