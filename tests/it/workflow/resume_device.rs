//! ResumeDevice: order, outcome, failure, cancel, and `stop` outside the burn-in.

use proto::v1::{ResumeRequest, ResumeResult};
use proto::{Proto, names};
use serde_json::json;

use super::lab::{Lab, Run};
use super::script::{Act, Failure, proven_and_resumed, resume_request, resumed};

/// Starts ResumeDevice with this request.
pub(crate) async fn start(lab: &Lab, request: ResumeRequest) -> Run {
    lab.start_with(names::RESUME_DEVICE, vec![Proto(request).encode().unwrap()]).await
}

#[tokio::test]
async fn burns_in_then_resumes_as_asked_once_what_passes_has_passed() {
    let lab = Lab::start().await;
    let failure = Failure::passing("hub.unavailable", "the hub could not be reached");
    lab.mocks.script(names::RESUME, [Act::Fail(failure)]);
    assert_eq!(start(&lab, resume_request()).await.result::<ResumeResult>().await, proven_and_resumed());
    assert_eq!(lab.mocks.log(), ["burn_in_sbatch 1", "resume 1", "resume 2"]);
    let words = json!({"requestId": "r-1", "site": "lab", "deviceId": "gpu-001", "actor": "ada",
                       "reason": "new in rack 7"});
    assert_eq!(lab.mocks.inputs(names::RESUME), [words.clone(), words.clone()]);
    let mut tested = words;
    tested["onlyIfClosed"] = true.into();
    assert_eq!(lab.mocks.inputs(names::BURN_IN_SBATCH), [tested]);
}

#[tokio::test]
async fn force_is_handed_on_to_each_step() {
    let lab = Lab::start().await;
    start(&lab, ResumeRequest { force: true, ..resume_request() }).await.result::<ResumeResult>().await;
    for activity in [names::BURN_IN_SBATCH, names::RESUME] {
        assert_eq!(lab.mocks.inputs(activity)[0]["force"], true, "{activity}");
    }
}

#[tokio::test]
async fn a_burn_in_is_left_out_where_the_request_says_so() {
    let lab = Lab::start().await;
    let run = start(&lab, ResumeRequest { skip_burn_in: true, ..resume_request() }).await;
    assert_eq!(run.result::<ResumeResult>().await, resumed());
    assert_eq!(lab.mocks.log(), ["resume 1"]);
}

#[tokio::test]
async fn a_permanent_failure_is_the_workflows() {
    let lab = Lab::start().await;
    let failure = Failure::permanent("slurm.drain_not_ours", "gpu-001 is drained: bad DIMM A3 [alice]");
    lab.mocks.script(names::RESUME, [Act::Fail(failure.clone())]);
    assert_eq!(start(&lab, resume_request()).await.failure().await, failure);
    assert_eq!(lab.mocks.log(), ["burn_in_sbatch 1", "resume 1"]);
}

#[tokio::test]
async fn stop_before_the_first_activity_prevents_it() {
    for request in [resume_request(), ResumeRequest { skip_burn_in: true, ..resume_request() }] {
        let lab = Lab::start().await;
        let input = vec![Proto(request).encode().unwrap()];
        let run = lab.start_stopped(names::RESUME_DEVICE, input).await;
        let stopped = ResumeResult { stopped: true, ..ResumeResult::default() };
        assert_eq!(run.result::<ResumeResult>().await, stopped);
        assert!(lab.mocks.log().is_empty());
    }
}

#[tokio::test]
async fn stop_during_resume_comes_too_late() {
    let lab = Lab::start().await;
    lab.mocks.script(names::RESUME, [Act::wait()]);
    let run = start(&lab, resume_request()).await;
    lab.until("resume 1").await;
    run.signal(names::STOP, Vec::new()).await;
    lab.mocks.release();
    assert_eq!(run.result::<ResumeResult>().await, proven_and_resumed());
}

#[tokio::test]
async fn cancel_is_told_to_the_activity_and_ends_it() {
    let lab = Lab::start().await;
    lab.mocks.script(names::RESUME, [Act::wait()]);
    let run = start(&lab, resume_request()).await;
    lab.until("resume 1").await;
    run.cancel().await;
    run.canceled().await;
    assert_eq!(lab.mocks.log(), ["burn_in_sbatch 1", "resume 1", "resume 1 is told to stop"]);
}
