//! The workflows as they are now, on every history that was recorded.

use proto::v1::{AdoptDeviceResult, AdoptRequest, ResumeRequest};
use proto::{Input, Proto, names};
use temporalio_client::WorkflowHistory;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::workflow_replayer::{
    WorkflowReplayError, WorkflowReplayFailure, WorkflowReplayer, WorkflowReplayerOptions,
};
use temporalio_sdk::{ActivityOptions, WorkflowContext, WorkflowResult};

use super::histories::folder;

#[tokio::test]
async fn every_recorded_history_is_replayed() {
    let options = WorkflowReplayerOptions::new()
        .register_workflow::<workflows::AdoptDevice>()
        .unwrap()
        .register_workflow::<workflows::ResumeDevice>()
        .unwrap()
        .register_workflow::<workflows::PollSchedulerConditions>()
        .unwrap()
        .build();
    let replayer = WorkflowReplayer::new(options).unwrap();
    let (mut replayed, mut failed) = (0, Vec::new());
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "json") {
            replayed += 1;
            if let Err(error) = replayer.replay_workflow(read(path.file_name().unwrap())).await {
                failed.push(format!("{}: {error}", path.display()));
            }
        }
    }
    assert!(replayed > 0);
    assert!(failed.is_empty(), "a running workflow would break: use `patched`\n{}", failed.join("\n"));
}

#[tokio::test]
async fn a_workflow_of_another_order_fails_the_replay() {
    let options = WorkflowReplayerOptions::new().register_workflow::<AdoptDevice>().unwrap().build();
    let replayer = WorkflowReplayer::new(options).unwrap();
    let error = replayer.replay_workflow(read("AdoptDevice-ok-v1.json".as_ref())).await.unwrap_err();
    assert!(
        matches!(error, WorkflowReplayError::Replay(WorkflowReplayFailure::Nondeterminism { .. })),
        "{error:?}"
    );
}

fn read(name: &std::ffi::OsStr) -> WorkflowHistory {
    WorkflowHistory::from_json(&std::fs::read(folder().join(name)).unwrap()).unwrap()
}

/// AdoptDevice with its two steps in the other order.
#[workflow]
#[derive(Debug, Default)]
struct AdoptDevice;

#[workflow_methods]
impl AdoptDevice {
    #[run(name = names::ADOPT_DEVICE)]
    async fn run(
        ctx: &mut WorkflowContext<Self>,
        input: Input<AdoptRequest>,
    ) -> WorkflowResult<Proto<AdoptDeviceResult>> {
        let options = || ActivityOptions::start_to_close_timeout(std::time::Duration::from_secs(60));
        let resume = ctx
            .execute_activity(workflows::Resume, Input::from(ResumeRequest::default()), options())
            .await?
            .0;
        let adopt = ctx.execute_activity(workflows::Adopt, input, options()).await?.0;
        Ok(Proto(AdoptDeviceResult { adopt: Some(adopt), resume: Some(resume), stopped: false }))
    }
}
