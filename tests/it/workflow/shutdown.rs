//! A worker that is shut down while its activity runs.

use proto::names;
use proto::v1::{AdoptDeviceResult, PollResult};

use super::adopt_device;
use super::lab::Lab;
use super::poll;
use super::script::{Act, adopt_request, polled, resumed};

#[tokio::test]
async fn a_deployment_uses_an_attempt_and_no_more() {
    let mut lab = Lab::start().await;
    lab.mocks.script(names::ADOPT, [Act::wait()]);
    let run = adopt_device::start(&lab, adopt_request()).await;
    lab.until("adopt 1").await;
    lab.deploy();
    assert_eq!(run.result::<AdoptDeviceResult>().await.resume, Some(resumed()));
    assert_eq!(
        lab.mocks.log(),
        ["adopt 1", "adopt 1 is told to stop", "adopt 2", "burn_in_sbatch 1", "resume 1"]
    );
}

#[tokio::test]
async fn a_tick_that_a_deployment_ended_is_cancelled_and_the_next_one_polls() {
    let mut lab = Lab::start().await;
    lab.mocks.script(names::POLL_SCHEDULER_CONDITIONS, [Act::wait()]);
    let run = poll::start(&lab).await;
    lab.until("poll_scheduler_conditions 1").await;
    lab.deploy();
    let failure = run.failure().await;
    assert_eq!((failure.code.as_str(), failure.non_retryable), ("cancelled", true), "{failure:?}");
    assert_eq!(poll::start(&lab).await.result::<PollResult>().await, polled());
}
