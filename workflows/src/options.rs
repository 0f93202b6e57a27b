//! The time table (DESIGN §10).

use std::time::Duration;

use temporalio_common::RetryPolicy;
use temporalio_workflow::{ActivityCancellationType, ActivityCloseTimeouts, ActivityOptions};

/// The heartbeat time-out of every verb.
const HEARTBEAT: Duration = Duration::from_secs(30);
/// How long adoption may take, where the request does not say.
pub(crate) const ADOPT: Duration = Duration::from_secs(2 * 60 * 60);
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
