//! What jobs do by themselves, as data.

use super::controller::Slurmctld;
use super::job::End;

/// Ticks for which a node must have been drained: longer than slurmctld takes to save that.
const LASTING: u64 = 6;

/// What the jobs of a name do once they run, in place of ending after
/// [`SlurmOptions::job_ticks`](super::SlurmOptions::job_ticks).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobBehaviour {
    /// How their names begin.
    pub name: String,
    /// For how many ticks they work, at least one.
    pub takes: u64,
    /// What they write into their comment then; empty: nothing.
    pub comment: String,
    /// They then hold their nodes until all of them have been drained for 6 ticks.
    pub holds: bool,
    /// How they end.
    pub end: End,
}

impl Slurmctld {
    /// A second of the work of a running job.
    pub(super) fn work(&mut self, at: usize) {
        let now = self.now;
        let job = &mut self.jobs[at];
        job.worked += 1;
        if job.is_late(now) {
            return job.end(End::TimedOut, now);
        }
        if !job.script.is_empty() && !job.script.starts_with("#!") {
            // taken, and no program
            return job.end(End::Failed(8), now);
        }
        let Some(does) = self.behaviours.iter().rev().find(|b| job.name.starts_with(&b.name)) else {
            job.left = job.left.map(|left| left.saturating_sub(1));
            if job.left == Some(0) {
                job.end(End::Completed, now);
            }
            return;
        };
        if job.worked == does.takes.max(1) && !does.comment.is_empty() {
            job.comment.clone_from(&does.comment);
        }
        let drained =
            job.nodes.iter().all(|name| self.nodes.iter().any(|n| n.name == *name && n.has("DRAIN")));
        job.drained = if drained { job.drained + 1 } else { 0 };
        if job.worked >= does.takes && (!does.holds || job.drained > LASTING) {
            job.end(does.end, now);
        }
    }
}
