//! AdoptDevice: order, outcome, failure, and `stop` outside the burn-in.

use proto::v1::{AdoptDeviceResult, AdoptRequest};
use proto::{Proto, names};
use serde_json::json;
use temporalio_common::protos::temporal::api::common::v1::Payload;

use super::lab::{Lab, Run};
use super::script::{Act, Failure, adopt_request, adopted, passed, resumed};

/// Starts AdoptDevice with this request.
pub(crate) async fn start(lab: &Lab, request: AdoptRequest) -> Run {
    lab.start_with(names::ADOPT_DEVICE, vec![Proto(request).encode().unwrap()]).await
}

/// All that there is to be done, done.
pub(crate) fn whole() -> AdoptDeviceResult {
    AdoptDeviceResult {
        adopt: Some(adopted(false)),
        burn_in: Some(passed()),
        resume: Some(resumed()),
        stopped: false,
    }
}

#[tokio::test]
async fn adopts_burns_in_then_resumes_in_the_same_words() {
    let lab = Lab::start().await;
    let run = start(&lab, adopt_request()).await;
    assert_eq!(run.result::<AdoptDeviceResult>().await, whole());
    assert_eq!(lab.mocks.log(), ["adopt 1", "burn_in_sbatch 1", "resume 1"]);
    let words = json!({"requestId": "r-1", "site": "lab", "deviceId": "gpu-001", "actor": "ada",
                       "reason": "new in rack 7"});
    let said = [lab.mocks.inputs(names::ADOPT), lab.mocks.inputs(names::RESUME)].concat();
    assert_eq!(said, [words.clone(), words.clone()]);
    let mut tested = words;
    tested["onlyIfClosed"] = true.into();
    assert_eq!(lab.mocks.inputs(names::BURN_IN_SBATCH), [tested]);
}

#[tokio::test]
async fn force_is_handed_on_to_each_step() {
    let lab = Lab::start().await;
    start(&lab, AdoptRequest { force: true, ..adopt_request() }).await.result::<AdoptDeviceResult>().await;
    for activity in [names::ADOPT, names::BURN_IN_SBATCH, names::RESUME] {
        assert_eq!(lab.mocks.inputs(activity)[0]["force"], true, "{activity}");
    }
}

#[tokio::test]
async fn a_burn_in_is_left_out_where_the_request_says_so() {
    let lab = Lab::start().await;
    let run = start(&lab, AdoptRequest { skip_burn_in: true, ..adopt_request() }).await;
    assert_eq!(run.result::<AdoptDeviceResult>().await, AdoptDeviceResult { burn_in: None, ..whole() });
    assert_eq!(lab.mocks.log(), ["adopt 1", "resume 1"]);
    assert_eq!(lab.mocks.inputs(names::RESUME)[0]["skipBurnIn"], true);
}

#[tokio::test]
async fn a_dry_run_tests_and_resumes_nothing() {
    let lab = Lab::start().await;
    let run = start(&lab, AdoptRequest { dry_run: true, ..adopt_request() }).await;
    let planned = AdoptDeviceResult { adopt: Some(adopted(true)), ..AdoptDeviceResult::default() };
    assert_eq!(run.result::<AdoptDeviceResult>().await, planned);
    assert_eq!(lab.mocks.log(), ["adopt 1"]);
    assert_eq!(lab.mocks.inputs(names::ADOPT)[0]["dryRun"], true);
}

#[tokio::test]
async fn a_permanent_failure_of_adopt_is_the_workflows_and_nothing_is_resumed() {
    let lab = Lab::start().await;
    let failure = Failure::permanent("bootstrap.incomplete", "the row of gpu has no flavor");
    lab.mocks.script(names::ADOPT, [Act::Fail(failure.clone())]);
    assert_eq!(start(&lab, adopt_request()).await.failure().await, failure);
    assert_eq!(lab.mocks.log(), ["adopt 1"]);
}

#[tokio::test]
async fn a_permanent_failure_of_resume_is_the_workflows() {
    let lab = Lab::start().await;
    let failure = Failure::permanent("slurm.drain_not_ours", "gpu-001 is drained: bad DIMM A3 [alice]");
    lab.mocks.script(names::RESUME, [Act::Fail(failure.clone())]);
    assert_eq!(start(&lab, adopt_request()).await.failure().await, failure);
    assert_eq!(lab.mocks.log(), ["adopt 1", "burn_in_sbatch 1", "resume 1"]);
}

#[tokio::test]
async fn what_may_pass_by_itself_is_tried_again() {
    let lab = Lab::start().await;
    let failure = || Act::Fail(Failure::passing("slurm.unavailable", "slurmrestd could not be reached"));
    lab.mocks.script(names::ADOPT, [failure()]);
    lab.mocks.script(names::BURN_IN_SBATCH, [failure()]);
    lab.mocks.script(names::RESUME, [failure()]);
    assert_eq!(start(&lab, adopt_request()).await.result::<AdoptDeviceResult>().await, whole());
    let twice = ["adopt 1", "adopt 2", "burn_in_sbatch 1", "burn_in_sbatch 2", "resume 1", "resume 2"];
    assert_eq!(lab.mocks.log(), twice);
    let inputs = lab.mocks.inputs(names::ADOPT);
    assert_eq!(inputs[0], inputs[1]);
}

#[tokio::test]
async fn a_panic_is_tried_again() {
    let lab = Lab::start().await;
    lab.mocks.script(names::ADOPT, [Act::Panic]);
    assert_eq!(start(&lab, adopt_request()).await.result::<AdoptDeviceResult>().await, whole());
    assert_eq!(lab.mocks.log(), ["adopt 1", "adopt 2", "burn_in_sbatch 1", "resume 1"]);
}

#[tokio::test]
async fn stop_during_adopt_leaves_the_node_closed_whatever_comes_with_it() {
    let word = Proto(adopt_request()).encode().unwrap();
    for input in [vec![], vec![word.clone()], vec![Payload::default()], vec![word.clone(), word]] {
        let lab = Lab::start().await;
        lab.mocks.script(names::ADOPT, [Act::wait()]);
        let run = start(&lab, adopt_request()).await;
        lab.until("adopt 1").await;
        run.signal(names::STOP, input).await;
        lab.mocks.release();
        let stopped =
            AdoptDeviceResult { adopt: Some(adopted(false)), stopped: true, ..AdoptDeviceResult::default() };
        assert_eq!(run.result::<AdoptDeviceResult>().await, stopped);
        assert_eq!(lab.mocks.log(), ["adopt 1"]);
    }
}

#[tokio::test]
async fn stop_during_resume_comes_too_late_and_another_signal_is_nothing() {
    let lab = Lab::start().await;
    lab.mocks.script(names::RESUME, [Act::wait()]);
    let run = start(&lab, adopt_request()).await;
    lab.until("resume 1").await;
    run.signal("halt", Vec::new()).await;
    run.signal(names::STOP, Vec::new()).await;
    lab.mocks.release();
    assert_eq!(run.result::<AdoptDeviceResult>().await, whole());
}

#[tokio::test]
async fn stop_before_adopt_prevents_it() {
    let lab = Lab::start().await;
    let input = vec![Proto(adopt_request()).encode().unwrap()];
    let run = lab.start_stopped(names::ADOPT_DEVICE, input).await;
    let stopped = AdoptDeviceResult { stopped: true, ..AdoptDeviceResult::default() };
    assert_eq!(run.result::<AdoptDeviceResult>().await, stopped);
    assert!(lab.mocks.log().is_empty());
}
