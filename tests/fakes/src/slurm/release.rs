//! Releases, and in what they differ. The rest of this folder is written as 26.05.5 is; what 24.11.5 does
//! otherwise is asked for here. What 22.05.8 does otherwise in slurmctld is here too; its slurmrestd, another
//! one altogether, is in [`old`](super::old).
//!
//! *Invariant*: a difference is stated once, as a method; nobody else compares releases.

use serde_json::{Value, json};

use super::envelope::{NO_ENVIRONMENT, POWER, QUERY, STATE, TRANSITION, Wrong};

/// What 24.11 says of whatever it cannot read.
const UNPARSED: &str = "Unable to parse query.";

/// A release of SLURM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Release {
    /// 22.05.8, v0.0.38: nodes can be read, jobs submitted and cancelled, and nothing else.
    V22_05,
    /// 24.11.5, v0.0.42 and v0.0.40.
    V24_11,
    /// 26.05.5, v0.0.45 and v0.0.42.
    #[default]
    V26_05,
}

impl Release {
    /// 24.11 or older.
    fn is_old(self) -> bool {
        self != Self::V26_05
    }

    /// Its slurmrestd is the one before 24.11's.
    pub(super) fn is_oldest(self) -> bool {
        self == Self::V22_05
    }

    /// The newest API version that it serves, as it stands in paths.
    #[must_use]
    pub fn version(self) -> &'static str {
        self.versions().first().copied().unwrap_or_default()
    }

    /// Its API versions that are imitated, newest first.
    #[must_use]
    pub fn versions(self) -> &'static [&'static str] {
        match self {
            Self::V22_05 => &["v0.0.38"],
            Self::V24_11 => &["v0.0.42", "v0.0.40"],
            Self::V26_05 => &["v0.0.45", "v0.0.42"],
        }
    }

    /// Its number in `meta`.
    pub(super) fn number(self) -> (&'static str, Value) {
        match self {
            Self::V22_05 => ("22.05.8", json!({"major": 22, "micro": 8, "minor": 5})),
            Self::V24_11 => ("24.11.5", json!({"major": "24", "micro": "5", "minor": "11"})),
            Self::V26_05 => ("26.05.5", json!({"major": "26", "micro": "5", "minor": "05"})),
        }
    }

    /// An error as this release says it: 24.11 has fewer numbers, and HTTP 500 for what slurmctld
    /// refuses.
    pub(super) fn says(self, wrong: Wrong) -> Wrong {
        if !self.is_old() {
            return wrong;
        }
        let Wrong(status, number, text) = match wrong {
            TRANSITION | POWER => STATE,
            NO_ENVIRONMENT => Wrong(422, 2019, "I/O error writing script/environment to file"),
            other => other,
        };
        let status = if [403, 422].contains(&status) && number != QUERY.1 { 500 } else { status };
        Wrong(status, number, text)
    }

    /// Of a path, a version or a method that is not served.
    pub(super) fn no_url(self) -> &'static str {
        if self.is_old() {
            return "Unable find requested URL. Please view /openapi/v3 for API reference.";
        }
        "Unable to find requested URL endpoint. Please query the '/openapi/v3' endpoint or visit \
         'https://slurm.schedmd.com/rest_api.html' for the OpenAPI specification which includes a \
         list of all possible slurmrestd endpoints."
    }

    /// What a failed `DELETE node` is called.
    pub(super) fn deleting(self) -> &'static str {
        if self.is_old() { "Failure to update node" } else { "Failure to delete node" }
    }

    /// A reason stays on a node that is opened, and can be given to one that is open.
    pub(super) fn keeps_reasons(self) -> bool {
        self == Self::V24_11
    }

    /// A powered-down node does not respond once it was drained and opened.
    pub(super) fn doubts_who_sleeps(self) -> bool {
        self == Self::V24_11
    }

    /// The last task of an array is told as that task once the scheduler has looked at it.
    pub(super) fn names_last_task(self) -> bool {
        self == Self::V24_11
    }

    /// Of a job that has its nodes to itself it says so.
    pub(super) fn tells_who_shares(self) -> bool {
        self.is_old()
    }

    /// A node that registers closed keeps the reason that it says.
    pub(super) fn takes_first_reasons(self) -> bool {
        !self.is_oldest()
    }

    /// A job that was submitted is known after a crash, but not that it started.
    pub(super) fn saves_submits(self) -> bool {
        self == Self::V24_11
    }

    /// A job that waits for closed nodes tells their names.
    pub(super) fn names_unavailable(self) -> bool {
        self.is_oldest()
    }

    /// Whose a reason is that nobody gave.
    pub(super) fn nobody(self) -> &'static str {
        if self.is_old() { "root" } else { "" }
    }

    /// A node that is asked for by itself tells the partitions of the first one.
    pub(super) fn tells_firsts_partitions(self) -> bool {
        self.is_old()
    }

    /// A list that changed since a time fails, unless partitions changed as well.
    pub(super) fn fails_lists_by_time(self) -> bool {
        self.is_old()
    }

    /// The priority of the job of this id that nobody gave one: the same for all where there are no weights;
    /// 22.05 counts down.
    pub(super) fn priority(self, id: i64) -> i64 {
        if self.is_oldest() { 4_294_901_760 - id } else { 1 }
    }

    /// Of a content type that is not known.
    pub(super) fn unknown_type(self) -> (u16, &'static str) {
        if self.is_old() { (400, UNPARSED) } else { (415, "MIME type is unknown to any loaded plugins") }
    }

    /// Of a body that cannot be parsed.
    pub(super) fn unparsed(self) -> &'static str {
        if self.is_old() { UNPARSED } else { "Failure during parsing" }
    }

    /// Of a caller that accepts none of the types that it writes.
    pub(super) fn unaccepted(self) -> &'static str {
        if self.is_old() {
            "Accept content type is unknown"
        } else {
            "HTTP Accept header content type is unknown or unsupported"
        }
    }
}
