//! DrainDevice and ReleaseDevice: outcome, failure, cancel, `stop`. One activity each, in the same way.

use proto::v1::{AtDeadline, DrainDeviceResult, DrainRequest, ReleaseDeviceResult};
use proto::{Proto, names};
use serde_json::{Value, json};
use temporalio_common::protos::temporal::api::common::v1::Payload;

use super::lab::{Lab, Run};
use super::script::{Act, Failure, drain_request, drained, release_request, released};

/// A workflow, its activity, and its input.
struct Verb {
    workflow: &'static str,
    activity: &'static str,
    input: Payload,
}

fn verbs() -> [Verb; 2] {
    [
        Verb {
            workflow: names::DRAIN_DEVICE,
            activity: names::DRAIN,
            input: Proto(drain_request()).encode().unwrap(),
        },
        Verb {
            workflow: names::RELEASE_DEVICE,
            activity: names::RELEASE,
            input: Proto(release_request()).encode().unwrap(),
        },
    ]
}

impl Verb {
    async fn start(&self, lab: &Lab) -> Run {
        lab.start_with(self.workflow, vec![self.input.clone()]).await
    }

    /// Starts it, its activity waits and then does `told`; returns when it waits.
    async fn waits(&self, lab: &Lab, told: Act) -> Run {
        lab.mocks.script(self.activity, [Act::wait_then(told)]);
        let run = self.start(lab).await;
        lab.until(&format!("{} 1", self.activity)).await;
        run
    }

    /// The result as JSON: what the activity answered, under its name, and `stopped`.
    async fn result(&self, run: &Run) -> Value {
        match self.activity {
            names::DRAIN => serde_json::to_value(run.result::<DrainDeviceResult>().await).unwrap(),
            _ => serde_json::to_value(run.result::<ReleaseDeviceResult>().await).unwrap(),
        }
    }

    fn done(&self) -> Value {
        match self.activity {
            names::DRAIN => json!({ "drain": drained() }),
            _ => json!({ "release": released() }),
        }
    }

    fn log(&self, lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| format!("{} {line}", self.activity)).collect()
    }
}

#[tokio::test]
async fn the_request_is_handed_on_and_the_result_back() {
    for verb in verbs() {
        let lab = Lab::start().await;
        let run = verb.start(&lab).await;
        assert_eq!(verb.result(&run).await, verb.done());
        assert_eq!(lab.mocks.log(), verb.log(&["1"]));
    }
    let lab = Lab::start().await;
    let request = DrainRequest {
        deadline: Some(pbjson_types::Duration { seconds: 600, nanos: 0 }),
        at_deadline: AtDeadline::CancelJobs.into(),
        ..drain_request()
    };
    let run = lab.start_with(names::DRAIN_DEVICE, vec![Proto(request.clone()).encode().unwrap()]).await;
    run.result::<DrainDeviceResult>().await;
    assert_eq!(lab.mocks.inputs(names::DRAIN), [serde_json::to_value(request).unwrap()]);
}

#[tokio::test]
async fn what_may_pass_is_tried_again_and_a_permanent_failure_is_the_workflows() {
    for verb in verbs() {
        let lab = Lab::start().await;
        let passing = Failure::passing("slurm.unavailable", "slurmrestd could not be reached");
        let busy = Failure::permanent("slurm.node_busy", "8 jobs are on gpu-001, the last until Friday");
        lab.mocks.script(verb.activity, [Act::Fail(passing), Act::Fail(busy.clone())]);
        assert_eq!(verb.start(&lab).await.failure().await, busy);
        assert_eq!(lab.mocks.log(), verb.log(&["1", "2"]));
    }
}

#[tokio::test]
async fn stop_ends_the_activity_and_the_run_is_stopped() {
    for verb in verbs() {
        let lab = Lab::start().await;
        let run = verb.waits(&lab, Act::Stop).await;
        run.signal(names::STOP, vec![Payload::default()]).await;
        assert_eq!(verb.result(&run).await, json!({ "stopped": true }));
        assert_eq!(lab.mocks.log(), verb.log(&["1", "1 is told to stop"]));
    }
}

#[tokio::test]
async fn stop_before_the_activity_prevents_it() {
    for verb in verbs() {
        let lab = Lab::start().await;
        let run = lab.start_stopped(verb.workflow, vec![verb.input.clone()]).await;
        assert_eq!(verb.result(&run).await, json!({ "stopped": true }));
        assert!(lab.mocks.log().is_empty());
    }
}

#[tokio::test]
async fn stop_between_attempts_ends_it_at_once() {
    for verb in verbs() {
        let lab = Lab::start().await;
        let failure = Failure::passing("slurm.unavailable", "slurmrestd could not be reached");
        lab.mocks.script(verb.activity, vec![Act::Fail(failure); 2]);
        let run = verb.start(&lab).await;
        // the third attempt is 2 s away
        lab.until(&format!("{} 2", verb.activity)).await;
        run.signal(names::STOP, Vec::new()).await;
        assert_eq!(verb.result(&run).await, json!({ "stopped": true }));
        assert_eq!(lab.mocks.log(), verb.log(&["1", "2"]));
    }
}

#[tokio::test]
async fn what_outran_its_stop_is_done_or_failed_all_the_same() {
    for verb in verbs() {
        let lab = Lab::start().await;
        let run = verb.waits(&lab, Act::Succeed).await;
        run.signal(names::STOP, Vec::new()).await;
        assert_eq!(verb.result(&run).await, verb.done());

        let failure = Failure::permanent("slurm.drain_not_ours", "gpu-001 is drained: bad DIMM A3 [alice]");
        let lab = Lab::start().await;
        let run = verb.waits(&lab, Act::Fail(failure.clone())).await;
        run.signal(names::STOP, Vec::new()).await;
        assert_eq!(run.failure().await, failure);
    }
}

#[tokio::test]
async fn cancel_is_told_to_the_activity_also_after_a_stop() {
    for verb in verbs() {
        let lab = Lab::start().await;
        let run = verb.waits(&lab, Act::Stop).await;
        run.cancel().await;
        run.canceled().await;
        assert_eq!(lab.mocks.log(), verb.log(&["1", "1 is told to stop"]));

        let lab = Lab::start().await;
        let run = verb.waits(&lab, Act::StopLater).await;
        run.signal(names::STOP, Vec::new()).await;
        lab.until(&format!("{} 1 is told to stop", verb.activity)).await;
        run.cancel().await;
        lab.mocks.release();
        run.canceled().await;
    }
}

#[tokio::test]
async fn a_deployment_uses_an_attempt_and_no_more() {
    for verb in verbs() {
        let mut lab = Lab::start().await;
        let run = verb.waits(&lab, Act::Stop).await;
        lab.deploy();
        assert_eq!(verb.result(&run).await, verb.done());
        assert_eq!(lab.mocks.log(), verb.log(&["1", "1 is told to stop", "2"]));
    }
}
