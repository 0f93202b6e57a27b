//! Whether a node is drained: a function of its tokens and the jobs.
//!
//! *Invariant*: no I/O. The jobs were read after the node: one that started in between shows in them.

use clients::slurm::{Job, JobKey, Node};
use jiff::Timestamp;

/// A wait names so many jobs, and counts the others.
const NAMED: usize = 20;

/// How far a node is from being drained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Drained {
    /// It takes no job, and none holds it.
    Yes,
    /// It takes no job, and these hold it still. None may be named where only its tokens say so.
    Held(Vec<Holding>),
    /// It may be given a job at any moment.
    Open,
}

/// A job that holds a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holding {
    /// Its id.
    pub id: i64,
    /// How it is cancelled without another one: an array's task by base and task.
    pub key: JobKey,
    /// When it must end, in seconds of Unix time; none: it has no time limit, or is suspended.
    pub ends: Option<i64>,
}

/// Judges a node and a job list that was read after it. Drained is: DRAIN without UNDRAIN, none of
/// ALLOCATED, MIXED and COMPLETING, and no unfinished job that holds the node; a suspended one does not
/// show in the tokens (facts: slurm §12). The job `ours` holds it for us, and does not count; nor do the
/// tokens of a node that it alone holds.
#[must_use]
pub fn drained(node: &Node, jobs: &[Job], ours: Option<i64>) -> Drained {
    judge(node.tokens.is_draining(), node, jobs, ours)
}

/// The same of a node that somebody else has closed, in whatever way: DOWN and FAIL take no job either.
pub(crate) fn closed_and_empty(node: &Node, jobs: &[Job]) -> Drained {
    judge(node.tokens.is_closed(), node, jobs, None)
}

fn judge(closed: bool, node: &Node, jobs: &[Job], ours: Option<i64>) -> Drained {
    if !closed {
        return Drained::Open;
    }
    let (mine, others): (Vec<&Job>, Vec<&Job>) =
        jobs.iter().filter(|j| j.holds(&node.name)).partition(|j| Some(j.id) == ours);
    let busy = node.tokens.is_busy() && mine.is_empty();
    if others.is_empty() && !busy {
        return Drained::Yes;
    }
    Drained::Held(others.into_iter().map(Holding::of).collect())
}

impl Holding {
    fn of(job: &Job) -> Self {
        let running = job.states.iter().any(|s| s == "RUNNING" || s == "COMPLETING");
        let ends = (running && job.time_limit_minutes.is_some() && job.end_time > 0).then_some(job.end_time);
        Self { id: job.id, key: job.key(), ends }
    }
}

/// What still holds a node, in a line: how many jobs, which, and when the last must have ended.
#[must_use]
pub fn waiting_for(node: &Node, held: &[Holding]) -> String {
    let (name, tokens) = (&node.name, &node.tokens);
    if held.is_empty() {
        return format!("{name} is {tokens}, and no job is known to hold it");
    }
    let mut ids: Vec<i64> = held.iter().map(|h| h.id).collect();
    ids.sort_unstable();
    let more = ids.len().saturating_sub(NAMED);
    let mut some = ids.iter().take(NAMED).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if more > 0 {
        some = format!("{some} and {more} more");
    }
    let last = held.iter().map(|h| h.ends).collect::<Option<Vec<i64>>>().and_then(|e| e.into_iter().max());
    let last = last.and_then(|e| Timestamp::from_second(e).ok());
    let until = match last {
        Some(last) => format!("the last must end by {last}"),
        None => "not all have a time by which they must end".to_owned(),
    };
    let jobs = if ids.len() == 1 { "job holds" } else { "jobs hold" };
    format!("{} {jobs} {name} ({tokens}): {some}; {until}", ids.len())
}
