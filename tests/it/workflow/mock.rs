//! Activities under the real ones' names, inputs and outputs, that do what the test says.

#![expect(
    dead_code,
    reason = "the macro makes a constant for each activity; the worker registers the struct"
)]

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proto::{Input, Proto, names, v1};
use serde_json::Value;
use temporalio_macros::activities;
use temporalio_sdk::ApplicationFailure;
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use tokio_util::sync::CancellationToken;

use super::script::{self, Act, Failure};

/// How often a waiting activity beats.
const BEAT: Duration = Duration::from_millis(50);

/// The script of a test, and what came of it.
#[derive(Debug, Default)]
pub(crate) struct Mocks {
    script: Mutex<HashMap<&'static str, VecDeque<Act>>>,
    log: Mutex<Vec<String>>,
    inputs: Mutex<Vec<(&'static str, Value)>>,
    burned: Mutex<Option<v1::BurnInResult>>,
    released: CancellationToken,
}

impl Mocks {
    /// What the attempts of an activity do, in order. Past the end they succeed.
    pub(crate) fn script(&self, activity: &'static str, acts: impl IntoIterator<Item = Act>) {
        self.script.lock().unwrap().entry(activity).or_default().extend(acts);
    }

    /// What a burn-in that ends says of the node, in place of `passed`.
    pub(crate) fn burns_in(&self, result: v1::BurnInResult) {
        *self.burned.lock().unwrap() = Some(result);
    }

    /// Lets those that wait end well.
    pub(crate) fn release(&self) {
        self.released.cancel();
    }

    /// What happened, in order: `adopt 1` (its first attempt began), `adopt 1 is told to stop`.
    pub(crate) fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    /// The inputs of an activity, an attempt each.
    pub(crate) fn inputs(&self, activity: &str) -> Vec<Value> {
        let inputs = self.inputs.lock().unwrap();
        inputs.iter().filter(|(name, _)| *name == activity).map(|(_, input)| input.clone()).collect()
    }

    fn note(&self, line: String) {
        self.log.lock().unwrap().push(line);
    }

    fn next(&self, activity: &'static str) -> Act {
        let mut script = self.script.lock().unwrap();
        script.get_mut(activity).and_then(VecDeque::pop_front).unwrap_or(Act::Succeed)
    }

    async fn attempt<T>(
        &self,
        context: &ActivityContext,
        activity: &'static str,
        input: Value,
        answer: T,
    ) -> Result<Proto<T>, ActivityError> {
        let name = format!("{activity} {}", context.info().attempt);
        self.note(name.clone());
        self.inputs.lock().unwrap().push((activity, input));
        let mut act = self.next(activity);
        loop {
            act = match act {
                Act::Succeed => return Ok(Proto(answer)),
                Act::Fail(failure) => return Err(failed(failure)),
                Act::Panic => panic!("a mistake of ours"),
                Act::Stop => return Err(ActivityError::cancelled()),
                Act::StopLater => {
                    self.released.cancelled().await;
                    Act::Stop
                }
                Act::Wait { progress, told } => {
                    if self.wait(context, progress.as_ref()).await {
                        Act::Succeed
                    } else {
                        self.note(format!("{name} is told to stop"));
                        *told
                    }
                }
            }
        }
    }

    /// True when it was released, false when it is told to stop.
    async fn wait(&self, context: &ActivityContext, progress: Option<&v1::Progress>) -> bool {
        loop {
            if let Some(progress) = progress {
                context.record_heartbeat(Proto(progress.clone())).await.unwrap();
            }
            tokio::select! {
                () = self.released.cancelled() => return true,
                () = context.cancelled() => return false,
                () = tokio::time::sleep(BEAT) => {}
            }
        }
    }
}

fn failed(failure: Failure) -> ActivityError {
    ApplicationFailure::builder(failure.message)
        .type_name(failure.code)
        .non_retryable(failure.non_retryable)
        .details(Proto(failure.details))
        .build()
        .into()
}

/// What the worker registers.
#[derive(Debug)]
pub(crate) struct Activities(pub(crate) Arc<Mocks>);

#[activities]
impl Activities {
    #[activity(name = names::ADOPT)]
    async fn adopt(
        self: Arc<Self>,
        ctx: ActivityContext,
        input: Input<v1::AdoptRequest>,
    ) -> Result<Proto<v1::AdoptResult>, ActivityError> {
        let request = input.0.unwrap();
        let said = serde_json::to_value(&request).unwrap();
        self.0.attempt(&ctx, names::ADOPT, said, script::adopted(request.dry_run)).await
    }

    #[activity(name = names::RESUME)]
    async fn resume(
        self: Arc<Self>,
        ctx: ActivityContext,
        input: Input<v1::ResumeRequest>,
    ) -> Result<Proto<v1::ResumeResult>, ActivityError> {
        let said = serde_json::to_value(input.0.unwrap()).unwrap();
        self.0.attempt(&ctx, names::RESUME, said, script::resumed()).await
    }

    #[activity(name = names::DRAIN)]
    async fn drain(
        self: Arc<Self>,
        ctx: ActivityContext,
        input: Input<v1::DrainRequest>,
    ) -> Result<Proto<v1::DrainResult>, ActivityError> {
        let said = serde_json::to_value(input.0.unwrap()).unwrap();
        self.0.attempt(&ctx, names::DRAIN, said, script::drained()).await
    }

    #[activity(name = names::RELEASE)]
    async fn release(
        self: Arc<Self>,
        ctx: ActivityContext,
        input: Input<v1::ReleaseRequest>,
    ) -> Result<Proto<v1::ReleaseResult>, ActivityError> {
        let said = serde_json::to_value(input.0.unwrap()).unwrap();
        self.0.attempt(&ctx, names::RELEASE, said, script::released()).await
    }

    #[activity(name = names::BURN_IN_SBATCH)]
    async fn burn_in_sbatch(
        self: Arc<Self>,
        ctx: ActivityContext,
        input: Input<v1::BurnInRequest>,
    ) -> Result<Proto<v1::BurnInResult>, ActivityError> {
        let said = serde_json::to_value(input.0.unwrap()).unwrap();
        let burned = self.0.burned.lock().unwrap().clone().unwrap_or_else(script::passed);
        self.0.attempt(&ctx, names::BURN_IN_SBATCH, said, burned).await
    }

    #[activity(name = names::BURN_IN_STOP)]
    async fn burn_in_stop(
        self: Arc<Self>,
        ctx: ActivityContext,
        input: Input<v1::BurnInRequest>,
    ) -> Result<Proto<v1::BurnInStopResult>, ActivityError> {
        let said = serde_json::to_value(input.0.unwrap()).unwrap();
        let stopped = v1::BurnInStopResult { node: "gpu-001".to_owned(), cancelled_jobs: vec![4711] };
        self.0.attempt(&ctx, names::BURN_IN_STOP, said, stopped).await
    }

    #[activity(name = names::POLL_SCHEDULER_CONDITIONS)]
    async fn poll(
        self: Arc<Self>,
        ctx: ActivityContext,
        input: Input<v1::PollRequest>,
    ) -> Result<Proto<v1::PollResult>, ActivityError> {
        let said = serde_json::to_value(input.0.unwrap()).unwrap();
        self.0.attempt(&ctx, names::POLL_SCHEDULER_CONDITIONS, said, script::polled()).await
    }
}
