//! BurnInDevice: verdicts, and what is undone after an end that is no verdict.

use proto::v1::{BurnInDeviceResult, BurnInRequest, BurnInResult, BurnInVerdict, FailureDetails};
use proto::{Proto, names};

use super::lab::{Lab, Run};
use super::script::{Act, Failure, burn_in_request, burned, passed};

/// Starts BurnInDevice with this request.
async fn start(lab: &Lab, request: BurnInRequest) -> Run {
    lab.start_with(names::BURN_IN_DEVICE, vec![Proto(request).encode().unwrap()]).await
}

/// Starts it, its burn-in waits and then does `told`; returns when it waits.
async fn waits(lab: &Lab, told: Act) -> Run {
    lab.mocks.script(names::BURN_IN_SBATCH, [Act::wait_then(told)]);
    let run = start(lab, burn_in_request()).await;
    lab.until("burn_in_sbatch 1").await;
    run
}

fn stopped() -> BurnInDeviceResult {
    BurnInDeviceResult { burn_in: None, stopped: true }
}

/// The burn-in was told to stop, and what it left was ended.
const UNDONE: [&str; 3] = ["burn_in_sbatch 1", "burn_in_sbatch 1 is told to stop", "burn_in_stop 1"];

fn refused() -> Failure {
    Failure::permanent("slurm.drain_not_ours", "gpu-001 is drained: bad DIMM A3 [alice]")
}

#[tokio::test]
async fn the_request_is_handed_on_and_a_good_verdict_back() {
    let request = BurnInRequest { tests: vec!["disk".to_owned()], force: true, ..burn_in_request() };
    for verdict in [BurnInVerdict::Passed, BurnInVerdict::Off] {
        let lab = Lab::start().await;
        let burned = burned(verdict, "so it is");
        lab.mocks.burns_in(burned.clone());
        let result = start(&lab, request.clone()).await.result::<BurnInDeviceResult>().await;
        assert_eq!(result, BurnInDeviceResult { burn_in: Some(burned), stopped: false });
        assert_eq!(lab.mocks.log(), ["burn_in_sbatch 1"]);
        let said = serde_json::to_value(&request).unwrap();
        assert_eq!(lab.mocks.inputs(names::BURN_IN_SBATCH), [said]);
    }
}

#[tokio::test]
async fn each_other_verdict_is_a_failure_and_nothing_is_left_to_be_undone() {
    let lab = Lab::start().await;
    for (verdict, leaked_jobs, code, remedy) in [
        (
            BurnInVerdict::Failed,
            vec![],
            "burn_in.failed",
            "read the test's output on the node; mend it, then start again",
        ),
        (
            BurnInVerdict::Unknown,
            vec![],
            "burn_in.unknown",
            "read the message and the job's output, then start again",
        ),
        (
            BurnInVerdict::Unknown,
            vec![4712],
            "burn_in.leaked",
            "tell HPC which jobs; drain the node, then start again",
        ),
        (BurnInVerdict::NotRun, vec![], "burn_in.not_run", "clear what the message names, then start again"),
    ] {
        lab.mocks.burns_in(BurnInResult { leaked_jobs, ..burned(verdict, "disk: write_mbs 12 is below 50") });
        let failure = start(&lab, burn_in_request()).await.failure().await;
        let expected = Failure {
            code: code.to_owned(),
            message: "disk: write_mbs 12 is below 50".to_owned(),
            non_retryable: true,
            details: FailureDetails {
                device: "gpu-001".to_owned(),
                step: "burn_in".to_owned(),
                field: String::new(),
                remedy: remedy.to_owned(),
            },
        };
        assert_eq!(failure, expected);
    }
    assert_eq!(lab.mocks.log(), ["burn_in_sbatch 1"; 4]);
}

#[tokio::test]
async fn what_a_failed_burn_in_left_is_ended_before_its_failure_is_handed_on() {
    let lab = Lab::start().await;
    lab.mocks.script(names::BURN_IN_SBATCH, [Act::Fail(refused())]);
    assert_eq!(start(&lab, burn_in_request()).await.failure().await, refused());
    assert_eq!(lab.mocks.log(), ["burn_in_sbatch 1", "burn_in_stop 1"]);
    assert_eq!(lab.mocks.inputs(names::BURN_IN_STOP), lab.mocks.inputs(names::BURN_IN_SBATCH));
}

#[tokio::test]
async fn stop_ends_the_burn_in_and_what_it_left() {
    let lab = Lab::start().await;
    let run = waits(&lab, Act::Stop).await;
    run.signal(names::STOP, Vec::new()).await;
    assert_eq!(run.result::<BurnInDeviceResult>().await, stopped());
    assert_eq!(lab.mocks.log(), UNDONE);
}

#[tokio::test]
async fn stop_before_the_burn_in_prevents_it() {
    let lab = Lab::start().await;
    let input = vec![Proto(burn_in_request()).encode().unwrap()];
    let run = lab.start_stopped(names::BURN_IN_DEVICE, input).await;
    assert_eq!(run.result::<BurnInDeviceResult>().await, stopped());
    assert!(lab.mocks.log().is_empty());
}

#[tokio::test]
async fn a_verdict_that_outran_its_stop_stands() {
    let lab = Lab::start().await;
    let run = waits(&lab, Act::Succeed).await;
    run.signal(names::STOP, Vec::new()).await;
    let result = run.result::<BurnInDeviceResult>().await;
    assert_eq!(result, BurnInDeviceResult { burn_in: Some(passed()), stopped: false });
    assert_eq!(lab.mocks.log(), UNDONE[..2]);
}

#[tokio::test]
async fn a_cancelled_burn_in_is_undone_too() {
    let lab = Lab::start().await;
    let run = waits(&lab, Act::Stop).await;
    run.cancel().await;
    run.canceled().await;
    assert_eq!(lab.mocks.log(), UNDONE);
}

#[tokio::test]
async fn what_is_left_is_ended_also_when_its_end_must_be_tried_again_or_is_cancelled() {
    let lab = Lab::start().await;
    let passing = Failure::passing("slurm.unavailable", "slurmrestd could not be reached");
    lab.mocks.script(names::BURN_IN_STOP, [Act::Fail(passing), Act::wait()]);
    let run = waits(&lab, Act::Stop).await;
    run.signal(names::STOP, Vec::new()).await;
    lab.until("burn_in_stop 2").await;
    run.cancel().await;
    lab.mocks.release();
    run.canceled().await;
    assert_eq!(lab.mocks.log(), [&UNDONE[..], &["burn_in_stop 2"]].concat());
}

#[tokio::test]
async fn what_could_not_be_ended_is_said_unless_a_failure_stands_before_it() {
    let left = Failure::permanent("slurm.forbidden", "job 4711 may not be cancelled");
    for stop in [true, false] {
        let lab = Lab::start().await;
        lab.mocks.script(names::BURN_IN_STOP, [Act::Fail(left.clone())]);
        let run = waits(&lab, Act::Stop).await;
        if stop {
            run.signal(names::STOP, Vec::new()).await;
        } else {
            run.cancel().await;
        }
        assert_eq!(run.failure().await, left);
    }
    let lab = Lab::start().await;
    lab.mocks.script(names::BURN_IN_SBATCH, [Act::Fail(refused())]);
    lab.mocks.script(names::BURN_IN_STOP, [Act::Fail(left)]);
    assert_eq!(start(&lab, burn_in_request()).await.failure().await, refused());
}
