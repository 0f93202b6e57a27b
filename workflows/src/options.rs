//! The time table (DESIGN §10).

use std::time::Duration;

use proto::BurnIn;
use temporalio_common::RetryPolicy;
use temporalio_workflow::{
    ActivityCancellationType, ActivityCloseTimeouts, ActivityOptions, WorkflowCancellationToken,
};

/// The heartbeat time-out of every verb.
const HEARTBEAT: Duration = Duration::from_secs(30);
/// What an activity that acts at its deadline by itself has after it, to do so and say how it ended.
const AFTER: Duration = Duration::from_secs(15 * 60);
/// How long the tests of a site's catalogue may run: their time limits are not known here.
const TESTS: Duration = Duration::from_secs(4 * 60 * 60);
/// How long opening a node may take.
pub(crate) const RESUME: Duration = Duration::from_secs(15 * 60);

/// A verb: tried again without limit until `deadline`. An attempt is used by a worker's shutdown
/// and by a lost heartbeat, so nothing counts them.
pub(crate) fn verb(deadline: Duration) -> ActivityOptions {
    ActivityOptions::with_schedule_to_close_timeout(deadline)
        .heartbeat_timeout(HEARTBEAT)
        .cancellation_type(ActivityCancellationType::WaitCancellationCompleted)
        .retry_policy(retry(0))
        .build()
}

/// A drain or a release: it acts at the request's deadline by itself.
pub(crate) fn closing(deadline: Duration) -> ActivityOptions {
    verb(deadline + AFTER)
}

/// A burn-in: its start is bounded by the request's deadline, what it runs by its own limits.
pub(crate) fn burn_in(asked: &BurnIn) -> ActivityOptions {
    let script = asked.script.as_ref().map(|s| s.time_limit).unwrap_or_default();
    verb(asked.deadline + TESTS.max(script) + AFTER)
}

/// The end of what a burn-in left: on a token of its own, so that a workflow that was cancelled runs it
/// too.
pub(crate) fn burn_in_stop() -> ActivityOptions {
    let mut options = verb(AFTER);
    options.cancellation_token = Some(WorkflowCancellationToken::new());
    options
}

/// One tick of the poll: not tried again, the next tick is the retry.
pub(crate) fn tick() -> ActivityOptions {
    let close = ActivityCloseTimeouts::ScheduleAndStartToClose {
        start_to_close: Duration::from_secs(45),
        schedule_to_close: Duration::from_secs(50),
    };
    ActivityOptions::with_close_timeouts(close).retry_policy(retry(1)).build()
}

fn retry(attempts: u32) -> RetryPolicy {
    RetryPolicy::builder()
        .initial_interval(Duration::from_secs(1))
        .backoff_coefficient(2.0)
        .maximum_interval(Duration::from_secs(60))
        .maximum_attempts(attempts)
        .build()
}
