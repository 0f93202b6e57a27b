//! ResumeDevice: outcome, failure, cancel.

use proto::v1::ResumeResult;
use proto::{Proto, names};
use serde_json::json;

use super::lab::{Lab, Run};
use super::script::{Act, Failure, resume_request, resumed};

async fn start(lab: &Lab) -> Run {
    lab.start_with(names::RESUME_DEVICE, vec![Proto(resume_request()).encode().unwrap()]).await
}

#[tokio::test]
async fn resumes_as_asked_once_what_passes_has_passed() {
    let lab = Lab::start().await;
    let failure = Failure::passing("hub.unavailable", "the hub could not be reached");
    lab.mocks.script(names::RESUME, [Act::Fail(failure)]);
    assert_eq!(start(&lab).await.result::<ResumeResult>().await, resumed());
    assert_eq!(lab.mocks.log(), ["resume 1", "resume 2"]);
    let words = json!({"requestId": "r-1", "site": "lab", "deviceId": "gpu-001", "actor": "ada",
                       "reason": "new in rack 7"});
    assert_eq!(lab.mocks.inputs(names::RESUME), [words.clone(), words]);
}

#[tokio::test]
async fn a_permanent_failure_is_the_workflows() {
    let lab = Lab::start().await;
    let failure = Failure::permanent("slurm.drain_not_ours", "gpu-001 is drained: bad DIMM A3 [alice]");
    lab.mocks.script(names::RESUME, [Act::Fail(failure.clone())]);
    assert_eq!(start(&lab).await.failure().await, failure);
    assert_eq!(lab.mocks.log(), ["resume 1"]);
}

#[tokio::test]
async fn stop_changes_nothing_there_is_no_closed_point_before_the_end() {
    let lab = Lab::start().await;
    lab.mocks.script(names::RESUME, [Act::wait()]);
    let run = start(&lab).await;
    lab.until("resume 1").await;
    run.signal(names::STOP, Vec::new()).await;
    lab.mocks.release();
    assert_eq!(run.result::<ResumeResult>().await, resumed());
}

#[tokio::test]
async fn cancel_is_told_to_the_activity_and_ends_it() {
    let lab = Lab::start().await;
    lab.mocks.script(names::RESUME, [Act::wait()]);
    let run = start(&lab).await;
    lab.until("resume 1").await;
    run.cancel().await;
    run.canceled().await;
    assert_eq!(lab.mocks.log(), ["resume 1", "resume 1 is told to stop"]);
}
