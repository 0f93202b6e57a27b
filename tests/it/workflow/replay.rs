//! The workflows as they are now, on every history that was recorded.

use proto::v1::{AdoptDeviceResult, AdoptRequest, ResumeRequest};
use proto::{Input, Proto, names};
use serde_json::{Value, json};
use temporalio_client::WorkflowHistory;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::workflow_replayer::{
    WorkflowReplayError, WorkflowReplayFailure, WorkflowReplayer, WorkflowReplayerOptions,
};
use temporalio_sdk::{ActivityOptions, WorkflowContext, WorkflowResult};

use super::histories::folder;

/// The workflows as they are now.
fn replayer() -> WorkflowReplayer {
    let options = WorkflowReplayerOptions::new()
        .register_workflow::<workflows::AdoptDevice>()
        .unwrap()
        .register_workflow::<workflows::ResumeDevice>()
        .unwrap()
        .register_workflow::<workflows::DrainDevice>()
        .unwrap()
        .register_workflow::<workflows::ReleaseDevice>()
        .unwrap()
        .register_workflow::<workflows::BurnInDevice>()
        .unwrap()
        .register_workflow::<workflows::PollSchedulerConditions>()
        .unwrap()
        .build();
    WorkflowReplayer::new(options).unwrap()
}

#[tokio::test]
async fn every_recorded_history_is_replayed() {
    let replayer = replayer();
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

/// The first release heeded no `stop` before its first activity, and ResumeDevice none at all: a run of it
/// that was told so goes on as it began.
#[tokio::test]
async fn an_early_stop_in_a_history_of_the_first_release_changes_nothing() {
    let stop = events("AdoptDevice-stopped-v1.json")[5].clone();
    assert_eq!(stop["attributes"]["WorkflowExecutionSignaledEventAttributes"]["signal_name"], "stop");
    for name in ["AdoptDevice-stopped-v1.json", "ResumeDevice-ok-v1.json"] {
        let mut events = events(name);
        events.insert(1, stop.clone());
        for event in &mut events[2..] {
            count_on(event);
        }
        events[1]["event_id"] = 2.into();
        let history = json!({ "events": events }).to_string();
        let history = WorkflowHistory::from_json(history.as_bytes()).unwrap();
        replayer().replay_workflow(history).await.unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

fn events(name: &str) -> Vec<Value> {
    let history: Value = serde_json::from_slice(&std::fs::read(folder().join(name)).unwrap()).unwrap();
    history["events"].as_array().unwrap().clone()
}

/// One event more stands before this one and those that it names.
fn count_on(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields.iter_mut() {
                match field.as_u64() {
                    Some(id) if key.ends_with("event_id") && id > 1 => *field = (id + 1).into(),
                    _ => count_on(field),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(count_on),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
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
        Ok(Proto(AdoptDeviceResult { adopt: Some(adopt), resume: Some(resume), ..Default::default() }))
    }
}
