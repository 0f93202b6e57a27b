//! PollSchedulerConditions: one tick, one attempt.

use proto::v1::PollResult;
use proto::{Proto, names};
use serde_json::json;

use super::lab::{Lab, Run};
use super::script::{Act, Failure, poll_request, polled};

/// Starts a tick.
pub(crate) async fn start(lab: &Lab) -> Run {
    let input = vec![Proto(poll_request()).encode().unwrap()];
    lab.start_with(names::POLL_SCHEDULER_CONDITIONS_WORKFLOW, input).await
}

#[tokio::test]
async fn polls_once_and_hands_the_counts_on() {
    let lab = Lab::start().await;
    assert_eq!(start(&lab).await.result::<PollResult>().await, polled());
    assert_eq!(lab.mocks.log(), ["poll_scheduler_conditions 1"]);
    assert_eq!(lab.mocks.inputs(names::POLL_SCHEDULER_CONDITIONS), [json!({"site": "lab"})]);
}

#[tokio::test]
async fn a_failure_that_may_pass_is_final_the_next_tick_is_the_retry() {
    let lab = Lab::start().await;
    let failure = Failure::passing("hub.unavailable", "the hub could not be reached");
    lab.mocks.script(names::POLL_SCHEDULER_CONDITIONS, [Act::Fail(failure.clone())]);
    assert_eq!(start(&lab).await.failure().await, failure.handed_on());
    assert_eq!(lab.mocks.log(), ["poll_scheduler_conditions 1"]);
    assert_eq!(start(&lab).await.result::<PollResult>().await, polled());
}
