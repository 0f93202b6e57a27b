//! Cancel: the activity is told, ends, and nothing follows.

use proto::names;

use super::adopt_device::start;
use super::lab::{Lab, Run};
use super::script::{Act, Failure, adopt_request};

/// Cancels an adoption while it waits; adopt then does `told`.
async fn cancelled_in_adopt(lab: &Lab, told: Act) -> Run {
    lab.mocks.script(names::ADOPT, [Act::wait_then(told)]);
    let run = start(lab, adopt_request()).await;
    lab.until("adopt 1").await;
    run.cancel().await;
    run
}

#[tokio::test]
async fn adopt_is_told_ends_and_nothing_is_resumed() {
    let lab = Lab::start().await;
    cancelled_in_adopt(&lab, Act::Stop).await.canceled().await;
    assert_eq!(lab.mocks.log(), ["adopt 1", "adopt 1 is told to stop"]);
}

#[tokio::test]
async fn an_adoption_that_outran_its_cancel_is_not_resumed() {
    let lab = Lab::start().await;
    cancelled_in_adopt(&lab, Act::Succeed).await.canceled().await;
    assert_eq!(lab.mocks.log(), ["adopt 1", "adopt 1 is told to stop"]);
}

#[tokio::test]
async fn what_would_be_tried_again_is_canceled_instead() {
    let lab = Lab::start().await;
    let failure = Failure::passing("slurm.unavailable", "slurmrestd could not be reached");
    cancelled_in_adopt(&lab, Act::Fail(failure)).await.canceled().await;
    assert_eq!(lab.mocks.log(), ["adopt 1", "adopt 1 is told to stop"]);
}

#[tokio::test]
async fn a_permanent_failure_is_said_all_the_same() {
    let lab = Lab::start().await;
    let failure = Failure::permanent("openstack.ambiguous", "two servers carry the mark of gpu-001");
    let run = cancelled_in_adopt(&lab, Act::Fail(failure.clone())).await;
    assert_eq!(run.failure().await, failure);
}

#[tokio::test]
async fn between_attempts_it_ends_at_once() {
    let lab = Lab::start().await;
    let failure = Failure::passing("slurm.unavailable", "slurmrestd could not be reached");
    lab.mocks.script(names::ADOPT, vec![Act::Fail(failure); 2]);
    let run = start(&lab, adopt_request()).await;
    // the third attempt is 2 s away
    lab.until("adopt 2").await;
    run.cancel().await;
    run.canceled().await;
    assert_eq!(lab.mocks.log(), ["adopt 1", "adopt 2"]);
}

#[tokio::test]
async fn resume_is_told_and_ends() {
    let lab = Lab::start().await;
    lab.mocks.script(names::RESUME, [Act::wait()]);
    let run = start(&lab, adopt_request()).await;
    lab.until("resume 1").await;
    run.cancel().await;
    run.canceled().await;
    assert_eq!(lab.mocks.log(), ["adopt 1", "burn_in_sbatch 1", "resume 1", "resume 1 is told to stop"]);
}
