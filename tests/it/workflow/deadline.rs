//! The request's deadline: what never came true becomes the code.

use proto::names;
use proto::v1::FailureDetails;

use super::adopt_device::start;
use super::lab::Lab;
use super::script::{Act, Failure, within};

fn time_was_up(code: &str, message: &str, step: &str) -> Failure {
    Failure {
        code: code.to_owned(),
        message: message.to_owned(),
        non_retryable: true,
        details: FailureDetails {
            device: "gpu-001".to_owned(),
            step: step.to_owned(),
            remedy: "mend what it waited for, then start again".to_owned(),
            ..FailureDetails::default()
        },
    }
}

#[tokio::test]
async fn time_up_in_a_wait_is_the_code_of_what_never_came_true() {
    let lab = Lab::start().await;
    lab.mocks.script(names::ADOPT, [Act::wait()]);
    let expected = time_was_up(
        "slurm.registration_timeout",
        "time was up in step wait_registered: gpu-001 to register; seen: no such node",
        "wait_registered",
    );
    assert_eq!(start(&lab, within(2)).await.failure().await, expected);
    lab.until("adopt 1 is told to stop").await;
    assert_eq!(lab.mocks.log(), ["adopt 1", "adopt 1 is told to stop"]);
}

#[tokio::test]
async fn time_up_before_any_heartbeat_is_deadline_exceeded() {
    let lab = Lab::start().await;
    lab.mocks.script(names::ADOPT, [Act::hang()]);
    let expected = time_was_up("deadline.exceeded", "time was up in step start", "start");
    assert_eq!(start(&lab, within(2)).await.failure().await, expected);
    assert_eq!(lab.mocks.log(), ["adopt 1"]);
}

#[tokio::test]
async fn no_time_for_another_attempt_is_the_code_of_the_last() {
    let lab = Lab::start().await;
    let failure = Failure::passing("slurm.unavailable", "slurmrestd could not be reached");
    lab.mocks.script(names::ADOPT, vec![Act::Fail(failure.clone()); 9]);
    assert_eq!(start(&lab, within(2)).await.failure().await, failure.handed_on());
    assert_eq!(lab.mocks.log(), ["adopt 1", "adopt 2"]);
}

#[tokio::test]
async fn a_panic_until_time_is_up_is_deadline_exceeded() {
    let lab = Lab::start().await;
    lab.mocks.script(names::ADOPT, vec![Act::Panic; 9]);
    let failure = start(&lab, within(1)).await.failure().await;
    assert_eq!((failure.code.as_str(), failure.non_retryable), ("deadline.exceeded", true));
    assert!(failure.message.contains("a mistake of ours"), "{failure:?}");
}
