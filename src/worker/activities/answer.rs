//! What came of activities, as messages.

use activities::plan::Made;
use activities::{adopt, burn_in, drain, poll_conditions, release, resume};
use proto::{Proto, v1};

/// A list in a history is short.
const LISTED: usize = 20;

pub(super) fn adopted(outcome: adopt::Outcome) -> Proto<v1::AdoptResult> {
    let plan = match outcome.made {
        Some(Made::Created) => v1::Plan::Create,
        Some(Made::Rebuilt) => v1::Plan::Rebuild,
        None => v1::Plan::Noop,
    };
    Proto(v1::AdoptResult {
        plan: plan.into(),
        dry_run: outcome.dry_run,
        node: outcome.node.to_string(),
        server_id: outcome.server.map(|s| s.to_string()).unwrap_or_default(),
        differences: outcome.plan.differences,
        warnings: outcome.warnings,
    })
}

pub(super) fn resumed(outcome: resume::Outcome) -> Proto<v1::ResumeResult> {
    let (outcome, node) = match outcome {
        resume::Outcome::Resumed(node) => (v1::ResumeOutcome::Resumed, node),
        resume::Outcome::AlreadyOpen(node) => (v1::ResumeOutcome::AlreadyOpen, node),
    };
    Proto(v1::ResumeResult { outcome: outcome.into(), node: node.to_string(), ..Default::default() })
}

pub(super) fn polled(outcome: poll_conditions::Outcome) -> Proto<v1::PollResult> {
    let end = match outcome.end {
        poll_conditions::End::Seen => v1::PollOutcome::Seen,
        poll_conditions::End::Blind => v1::PollOutcome::Blind,
        poll_conditions::End::Overtaken => v1::PollOutcome::Overtaken,
        poll_conditions::End::Busy => v1::PollOutcome::Busy,
    };
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Proto(v1::PollResult {
        outcome: end.into(),
        devices: count(outcome.devices),
        nodes: count(outcome.nodes),
        written: count(outcome.written),
        devices_without_node: count(outcome.devices_without_node),
        nodes_without_device: count(outcome.nodes_without_device),
        devices_in_conflict: count(outcome.devices_in_conflict),
        unknown_tokens: count(outcome.unknown_tokens),
    })
}

pub(super) fn drained(outcome: drain::Outcome) -> Proto<v1::DrainResult> {
    let (end, others_reason) = match outcome.end {
        drain::End::Drained => (v1::DrainOutcome::Drained, String::new()),
        drain::End::ByOther(said) => (v1::DrainOutcome::AlreadyDrainedByOther, said),
    };
    Proto(v1::DrainResult {
        outcome: end.into(),
        node: outcome.node.to_string(),
        others_reason,
        cancelled_jobs: first(outcome.cancelled),
    })
}

pub(super) fn released(outcome: release::Outcome) -> Proto<v1::ReleaseResult> {
    let record = match outcome.record {
        release::Record::Deleted => v1::NodeRecord::Deleted,
        release::Record::Kept => v1::NodeRecord::Kept,
        release::Record::Absent => v1::NodeRecord::Absent,
    };
    Proto(v1::ReleaseResult {
        node: outcome.node.to_string(),
        server_id: outcome.server.map(|s| s.to_string()).unwrap_or_default(),
        record: record.into(),
        cancelled_jobs: first(outcome.cancelled),
    })
}

pub(super) fn burned_in(outcome: burn_in::Outcome) -> Proto<v1::BurnInResult> {
    let verdict = match outcome.verdict {
        burn_in::Verdict::Passed => v1::BurnInVerdict::Passed,
        burn_in::Verdict::Failed => v1::BurnInVerdict::Failed,
        burn_in::Verdict::Unknown => v1::BurnInVerdict::Unknown,
        burn_in::Verdict::NotRun => v1::BurnInVerdict::NotRun,
        burn_in::Verdict::Off => v1::BurnInVerdict::Off,
        burn_in::Verdict::AlreadyOpen => v1::BurnInVerdict::AlreadyOpen,
    };
    Proto(v1::BurnInResult {
        verdict: verdict.into(),
        node: outcome.node.to_string(),
        job_id: outcome.job.unwrap_or_default(),
        reason: outcome.reason,
        values: outcome.values.into_iter().collect(),
        tests: outcome.tests,
        leaked_jobs: first(outcome.leaked),
    })
}

pub(super) fn stopped(outcome: burn_in::Stopped) -> Proto<v1::BurnInStopResult> {
    Proto(v1::BurnInStopResult { node: outcome.node.to_string(), cancelled_jobs: first(outcome.cancelled) })
}

fn first(mut jobs: Vec<i64>) -> Vec<i64> {
    jobs.truncate(LISTED);
    jobs
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::NodeName;

    fn node() -> NodeName {
        NodeName::parse("n1").unwrap()
    }

    #[test]
    fn a_drain_says_whose_it_is_and_lists_few_jobs() {
        let outcome = drain::Outcome {
            node: node(),
            end: drain::End::ByOther("bad DIMM A3 [alice]".to_owned()),
            cancelled: (1..=30).collect(),
        };
        let Proto(said) = drained(outcome);
        assert_eq!(said.outcome(), v1::DrainOutcome::AlreadyDrainedByOther);
        assert_eq!((said.node.as_str(), said.others_reason.as_str()), ("n1", "bad DIMM A3 [alice]"));
        assert_eq!(said.cancelled_jobs, (1..=20).collect::<Vec<i64>>());
    }

    #[test]
    fn a_burn_in_that_ran_no_job_has_none() {
        let outcome = burn_in::Outcome {
            verdict: burn_in::Verdict::NotRun,
            node: node(),
            job: None,
            reason: "a reservation holds n1".to_owned(),
            values: Default::default(),
            tests: vec!["disk sha256:00".to_owned()],
            leaked: Vec::new(),
        };
        let Proto(said) = burned_in(outcome);
        assert_eq!((said.verdict(), said.job_id), (v1::BurnInVerdict::NotRun, 0));
        assert_eq!((said.reason.as_str(), said.tests.len()), ("a reservation holds n1", 1));
    }
}
