//! A job, as slurmctld shows it.
//!
//! *Invariant*: whether a job holds a node is never guessed. A field that has no part in that, and is
//! not what it should be, reads as if it were not there.

use model::{NodeName, hostlist};
use serde_json::Value;

use super::decode::{list, number, text};

/// States that do not hold a node. A word that we do not know does.
const WITHOUT_NODE: [&str; 12] = [
    "PENDING",
    "COMPLETED",
    "CANCELLED",
    "FAILED",
    "TIMEOUT",
    "NODE_FAIL",
    "PREEMPTED",
    "BOOT_FAIL",
    "DEADLINE",
    "OUT_OF_MEMORY",
    "REVOKED",
    "REQUEUED",
];

/// States that a job ends in.
const ENDED: [&str; 10] = [
    "COMPLETED",
    "CANCELLED",
    "FAILED",
    "TIMEOUT",
    "NODE_FAIL",
    "PREEMPTED",
    "BOOT_FAIL",
    "DEADLINE",
    "OUT_OF_MEMORY",
    "REVOKED",
];

/// Words beside a state that a job ends in which say that it is not over yet.
const UNFINISHED: [&str; 11] = [
    "PENDING",
    "CONFIGURING",
    "RUNNING",
    "SUSPENDED",
    "STOPPED",
    "RESIZING",
    "SIGNALING",
    "COMPLETING",
    "STAGE_OUT",
    "REQUEUED",
    "REQUEUE_HOLD",
];

/// What we use of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Job {
    /// Its id. Reused after slurmctld lost its last seconds: with the name it is a job's identity.
    pub id: i64,
    /// Its name, which its owner can change at any time.
    pub name: String,
    /// Whose it is.
    pub user: String,
    /// State and flags, upper-cased.
    pub states: Vec<String>,
    /// Why it is in that state, such as `ReqNodeNotAvail`; right after a change of the job `None`, until
    /// the scheduler has looked at it again (run on 24.11 and 26.05).
    pub reason: String,
    /// The nodes it has or had.
    pub nodes: Vec<String>,
    /// The nodes it was pinned to. None too where they cannot be read: it may then run anywhere.
    pub required_nodes: Vec<String>,
    /// The partitions it may run in, or runs in.
    pub partitions: Vec<String>,
    /// The features it asks for, as SLURM writes them: `rack1&ib`.
    pub features: String,
    /// The reservation it runs in.
    pub reservation: String,
    /// Higher goes first; 0 is held.
    pub priority: Option<i64>,
    /// What it is of an array, if it is of one.
    pub array: Option<Array>,
    /// When it was submitted, in seconds of Unix time; 0 where it is not said.
    pub submit_time: i64,
    /// When it started, or is expected to, in seconds of Unix time; 0 where that is not known.
    pub start_time: i64,
    /// When it ended, or must, in seconds of Unix time; 0 where that is not known.
    pub end_time: i64,
    /// How long it may run, in minutes; without it, for ever.
    pub time_limit_minutes: Option<i64>,
    /// What its script ended with. Not before it has ended, nor where a signal ended it; 0 where it was
    /// cancelled before it started, and where its time was up while slurmctld was away (seen on 26.05): the
    /// state comes first.
    pub exit_code: Option<i64>,
    /// The signal that ended it.
    pub signal: Option<i64>,
    /// Free text that its owner can set, also from within: `a=1 b=2`. slurmdbd keeps none unless the
    /// cluster says so.
    pub comment: String,
}

/// A job's place in an array. Tasks that have not started are one job together, which has the array's
/// id; each gets an id of its own when it starts, and the last one keeps the array's (run on 24.11 and
/// 26.05).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Array {
    /// The array's id.
    pub job: i64,
    /// Which task it is; none while it stands for several.
    pub task: Option<i64>,
    /// The tasks that it stands for, such as `2-10%3`.
    pub tasks: String,
}

/// What a job is called by when it is cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobKey {
    /// A job that is of no array. The id of an array means all that is left of it.
    Job(i64),
    /// One task of an array.
    Task {
        /// The array's id.
        array: i64,
        /// Which task.
        task: i64,
    },
}

impl From<i64> for JobKey {
    fn from(id: i64) -> Self {
        Self::Job(id)
    }
}

impl std::fmt::Display for JobKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Job(id) => write!(f, "{id}"),
            Self::Task { array, task } => write!(f, "{array}_{task}"),
        }
    }
}

impl Job {
    pub(super) fn decode(body: &Value) -> Result<Vec<Self>, String> {
        let raw = body.get("jobs").and_then(Value::as_array).ok_or("no `jobs` list")?;
        let unreadable = |j: &Value| match number(j, "job_id") {
            Some(id) => format!("job {id}"),
            None => "a job without an id".to_owned(),
        };
        raw.iter().map(|j| Self::decode_one(j).ok_or_else(|| unreadable(j))).collect()
    }

    fn decode_one(raw: &Value) -> Option<Self> {
        let word = |key| text(raw, key).unwrap_or_default();
        let moment = |key| number(raw, key).unwrap_or(0);
        let job = Self {
            id: number(raw, "job_id")?,
            name: word("name"),
            user: word("user_name"),
            states: words(list(raw, "job_state")?),
            reason: word("state_reason"),
            nodes: Vec::new(),
            required_nodes: hosts(raw, "required_nodes").unwrap_or_default(),
            partitions: list(raw, "partition").unwrap_or_default(),
            features: word("features"),
            reservation: word("resv_name"),
            priority: number(raw, "priority"),
            array: Array::decode(raw),
            submit_time: moment("submit_time"),
            start_time: moment("start_time"),
            end_time: moment("end_time"),
            time_limit_minutes: number(raw, "time_limit"),
            exit_code: None,
            signal: None,
            comment: word("comment"),
        };
        let nodes = match raw.get("nodes").and_then(|_| hosts(raw, "nodes")) {
            Some(nodes) => nodes,
            None if job.may_hold() => return None,
            None => Vec::new(),
        };
        Some(Self { nodes, ..job }.ended_with(raw.get("exit_code")))
    }

    /// The same, with what it ended with, if it has: the wait status on 22.05, an object since.
    pub(super) fn ended_with(self, raw: Option<&Value>) -> Self {
        let (exit_code, signal) = match raw {
            Some(raw) if self.has_ended() => match raw.as_i64() {
                Some(status) if status & 0x7f == 0 => (Some(status >> 8), None),
                Some(status) => (None, Some(status & 0x7f)),
                None => (number(raw, "return_code"), raw.get("signal").and_then(|s| number(s, "id"))),
            },
            _ => (None, None),
        };
        Self { exit_code, signal, ..self }
    }

    /// Whether it is unfinished on this node: running, completing, or suspended, which a node's own
    /// state hides (facts: slurm §12).
    #[must_use]
    pub fn holds(&self, node: &NodeName) -> bool {
        self.may_hold() && self.nodes.iter().any(|n| n == node.as_str())
    }

    /// By its state alone: it says nothing, or has a word that is not one of those without a node.
    fn may_hold(&self) -> bool {
        self.states.is_empty() || self.states.iter().any(|s| !WITHOUT_NODE.contains(&s.as_str()))
    }

    /// Whether it waits to run, and has not ended meanwhile.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.states.iter().any(|s| s == "PENDING")
    }

    /// Whether it runs, also where something is being done to it meanwhile.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.states.iter().any(|s| s == "RUNNING")
    }

    /// Whether it is over, with its exit code final. One that completes is not.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        let any = |words: &[&str]| self.states.iter().any(|s| words.contains(&s.as_str()));
        any(&ENDED) && !any(&UNFINISHED)
    }

    /// What to call it by to cancel it and nothing else: an array's id is also that of its last task.
    #[must_use]
    pub fn key(&self) -> JobKey {
        match &self.array {
            Some(Array { job, task: Some(task), .. }) => JobKey::Task { array: *job, task: *task },
            _ => JobKey::Job(self.id),
        }
    }
}

impl Array {
    fn decode(raw: &Value) -> Option<Self> {
        let job = number(raw, "array_job_id").filter(|id| *id != 0)?;
        let tasks = text(raw, "array_task_string").unwrap_or_default();
        Some(Self { job, task: number(raw, "array_task_id"), tasks })
    }
}

/// State words, upper-cased.
pub(super) fn words(raw: Vec<String>) -> Vec<String> {
    raw.iter().map(|s| s.to_ascii_uppercase()).collect()
}

/// A hostlist, as a text or as a list of texts.
pub(super) fn hosts(raw: &Value, key: &str) -> Option<Vec<String>> {
    let text = match raw.get(key) {
        Some(Value::Array(items)) => items.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?.join(","),
        _ => text(raw, key)?,
    };
    hostlist::expand(&text).ok()
}

#[cfg(test)]
mod tests;
