//! How activities ended, each in a word: a label of the metrics.

use activities::plan::Made;
use activities::{adopt, burn_in, drain, poll_conditions, release, resume};

/// An adoption in a word, for the metrics.
pub(super) fn adoption(outcome: &adopt::Outcome) -> &'static str {
    match outcome {
        adopt::Outcome { dry_run: true, .. } => "planned",
        adopt::Outcome { made: Some(Made::Created), .. } => "created",
        adopt::Outcome { made: Some(Made::Rebuilt), .. } => "rebuilt",
        adopt::Outcome { made: None, .. } => "unchanged",
    }
}

/// A resumption in a word, for the metrics.
pub(super) fn resumption(outcome: &resume::Outcome) -> &'static str {
    match outcome {
        resume::Outcome::Resumed(_) => "resumed",
        resume::Outcome::AlreadyOpen(_) => "already_open",
    }
}

/// A tick in a word, for the metrics.
pub(super) fn tick(outcome: &poll_conditions::Outcome) -> &'static str {
    match outcome.end {
        poll_conditions::End::Seen => "seen",
        poll_conditions::End::Blind => "blind",
        poll_conditions::End::Overtaken => "overtaken",
        poll_conditions::End::Busy => "busy",
    }
}

/// A drain in a word.
pub(super) fn drain(outcome: &drain::Outcome) -> &'static str {
    match outcome {
        drain::Outcome { cancelled, .. } if !cancelled.is_empty() => "jobs_cancelled",
        drain::Outcome { end: drain::End::Drained, .. } => "drained",
        drain::Outcome { end: drain::End::ByOther(_), .. } => "drained_by_other",
    }
}

/// A release in a word: what became of the node's record.
pub(super) fn release(outcome: &release::Outcome) -> &'static str {
    match outcome.record {
        release::Record::Deleted => "deleted",
        release::Record::Kept => "kept",
        release::Record::Absent => "absent",
    }
}

/// A burn-in in a word: its verdict, and a job that slipped in before it.
pub(super) fn burn_in(outcome: &burn_in::Outcome) -> &'static str {
    match outcome.verdict {
        _ if !outcome.leaked.is_empty() => "leaked",
        burn_in::Verdict::Passed => "passed",
        burn_in::Verdict::Failed => "failed",
        burn_in::Verdict::Unknown => "unknown",
        burn_in::Verdict::NotRun => "not_run",
        burn_in::Verdict::Off => "off",
        burn_in::Verdict::AlreadyOpen => "already_open",
    }
}

/// A stop of a burn-in in a word.
pub(super) fn stopped(outcome: &burn_in::Stopped) -> &'static str {
    if outcome.cancelled.is_empty() { "nothing_left" } else { "jobs_cancelled" }
}
