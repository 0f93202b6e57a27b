//! The burn-in of AdoptDevice and ResumeDevice: what opens the node, `stop` and cancel while it runs.

use proto::v1::{AdoptDeviceResult, BurnInVerdict, ResumeResult};
use proto::{Proto, names};
use serde_json::{Value, json};

use super::lab::{Lab, Run};
use super::script::{Act, Failure, adopt_request, adopted, burned, passed, resume_request, resumed};

/// The workflows that open a node, and what comes before their burn-in.
const OPENERS: [(&str, &[&str]); 2] = [(names::ADOPT_DEVICE, &["adopt 1"]), (names::RESUME_DEVICE, &[])];

async fn start(lab: &Lab, workflow: &str) -> Run {
    let input = match workflow {
        names::ADOPT_DEVICE => Proto(adopt_request()).encode(),
        _ => Proto(resume_request()).encode(),
    };
    lab.start_with(workflow, vec![input.unwrap()]).await
}

/// Starts it, its burn-in waits and then does `told`; returns when it waits.
async fn waits(lab: &Lab, workflow: &str, told: Act) -> Run {
    lab.mocks.script(names::BURN_IN_SBATCH, [Act::wait_then(told)]);
    let run = start(lab, workflow).await;
    lab.until("burn_in_sbatch 1").await;
    run
}

async fn result(workflow: &str, run: &Run) -> Value {
    match workflow {
        names::ADOPT_DEVICE => serde_json::to_value(run.result::<AdoptDeviceResult>().await).unwrap(),
        _ => serde_json::to_value(run.result::<ResumeResult>().await).unwrap(),
    }
}

/// A result with these beside what comes before the burn-in.
fn with(workflow: &str, mut more: Value) -> Value {
    if workflow == names::ADOPT_DEVICE {
        more["adopt"] = serde_json::to_value(adopted(false)).unwrap();
    }
    more
}

fn log(before: &[&str], then: &[&str]) -> Vec<String> {
    [before, then].concat().into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_node_that_is_open_or_whose_site_tests_none_is_resumed() {
    for (workflow, before) in OPENERS {
        for verdict in [BurnInVerdict::AlreadyOpen, BurnInVerdict::Off] {
            let lab = Lab::start().await;
            let burned = burned(verdict, "nothing was run");
            lab.mocks.burns_in(burned.clone());
            let run = start(&lab, workflow).await;
            let result = result(workflow, &run).await;
            assert_eq!(result["burnIn"], serde_json::to_value(burned).unwrap());
            assert_eq!(lab.mocks.log(), log(before, &["burn_in_sbatch 1", "resume 1"]));
        }
    }
}

#[tokio::test]
async fn without_proof_of_health_nothing_is_opened() {
    for (workflow, before) in OPENERS {
        for (verdict, code) in [
            (BurnInVerdict::Failed, "burn_in.failed"),
            (BurnInVerdict::Unknown, "burn_in.unknown"),
            (BurnInVerdict::NotRun, "burn_in.not_run"),
        ] {
            let lab = Lab::start().await;
            lab.mocks.burns_in(burned(verdict, "gpus: 7 of 8 answer"));
            let failure = start(&lab, workflow).await.failure().await;
            assert_eq!((failure.code.as_str(), failure.message.as_str()), (code, "gpus: 7 of 8 answer"));
            assert_eq!(lab.mocks.log(), log(before, &["burn_in_sbatch 1"]));
        }
    }
}

#[tokio::test]
async fn a_burn_in_that_fails_is_undone_and_nothing_is_opened() {
    for (workflow, before) in OPENERS {
        let lab = Lab::start().await;
        let failure = Failure::permanent("slurm.drain_not_ours", "gpu-001 is drained: bad DIMM A3 [alice]");
        lab.mocks.script(names::BURN_IN_SBATCH, [Act::Fail(failure.clone())]);
        assert_eq!(start(&lab, workflow).await.failure().await, failure);
        assert_eq!(lab.mocks.log(), log(before, &["burn_in_sbatch 1", "burn_in_stop 1"]));
    }
}

#[tokio::test]
async fn stop_ends_the_burn_in_and_leaves_the_node_closed() {
    for (workflow, before) in OPENERS {
        let lab = Lab::start().await;
        let run = waits(&lab, workflow, Act::Stop).await;
        run.signal(names::STOP, Vec::new()).await;
        assert_eq!(result(workflow, &run).await, with(workflow, json!({ "stopped": true })));
        let undone = ["burn_in_sbatch 1", "burn_in_sbatch 1 is told to stop", "burn_in_stop 1"];
        assert_eq!(lab.mocks.log(), log(before, &undone));
    }
}

#[tokio::test]
async fn a_burn_in_that_outran_its_stop_opens_nothing() {
    for (workflow, before) in OPENERS {
        let lab = Lab::start().await;
        let run = waits(&lab, workflow, Act::Succeed).await;
        run.signal(names::STOP, Vec::new()).await;
        let proven = json!({ "stopped": true, "burnIn": passed() });
        assert_eq!(result(workflow, &run).await, with(workflow, proven));
        let told = ["burn_in_sbatch 1", "burn_in_sbatch 1 is told to stop"];
        assert_eq!(lab.mocks.log(), log(before, &told));
    }
}

#[tokio::test]
async fn cancel_undoes_the_burn_in_and_opens_nothing() {
    for (workflow, before) in OPENERS {
        let lab = Lab::start().await;
        let run = waits(&lab, workflow, Act::Stop).await;
        run.cancel().await;
        run.canceled().await;
        let undone = ["burn_in_sbatch 1", "burn_in_sbatch 1 is told to stop", "burn_in_stop 1"];
        assert_eq!(lab.mocks.log(), log(before, &undone));

        let lab = Lab::start().await;
        let run = waits(&lab, workflow, Act::Succeed).await;
        run.cancel().await;
        run.canceled().await;
        assert_eq!(lab.mocks.log(), log(before, &undone[..2]));
    }
}

#[tokio::test]
async fn a_deployment_during_a_burn_in_uses_an_attempt_and_no_more() {
    for (workflow, before) in OPENERS {
        let mut lab = Lab::start().await;
        let run = waits(&lab, workflow, Act::Stop).await;
        lab.deploy();
        let result = result(workflow, &run).await;
        assert_eq!(result["burnIn"], serde_json::to_value(passed()).unwrap());
        let again = ["burn_in_sbatch 1", "burn_in_sbatch 1 is told to stop", "burn_in_sbatch 2", "resume 1"];
        assert_eq!(lab.mocks.log(), log(before, &again));
        if workflow == names::ADOPT_DEVICE {
            assert_eq!(result["resume"], serde_json::to_value(resumed()).unwrap());
        }
    }
}
