//! What Temporal says of a run, as the hub serves it. Pure.

use jiff::Timestamp;
use model::{FailureView, Progress, RunStatus, RunView};
use proto::{Proto, names, v1};
use temporalio_common::protos::temporal::api::common::v1::{Memo, Payload, Payloads};
use temporalio_common::protos::temporal::api::enums::v1::WorkflowExecutionStatus;
use temporalio_common::protos::temporal::api::failure::v1::{Failure, failure::FailureInfo};
use temporalio_common::protos::temporal::api::history::v1::{HistoryEvent, history_event::Attributes};
use temporalio_common::protos::temporal::api::workflow::v1::PendingActivityInfo;
use temporalio_common::protos::temporal::api::workflowservice::v1::DescribeWorkflowExecutionResponse;

use crate::db::Request;

/// The code of a failure that carries none of ours.
const UNCLASSIFIED: &str = "unclassified";

/// A run: what was asked, and how it goes. `closing` is the event that closed it, if it is closed.
pub(crate) fn run(
    request: &Request,
    run_id: &str,
    description: &DescribeWorkflowExecutionResponse,
    closing: Option<&HistoryEvent>,
) -> RunView {
    let info = description.workflow_execution_info.clone().unwrap_or_default();
    let status = status(info.status());
    let running = status == RunStatus::Running;
    let memo = info.memo.unwrap_or_default();
    RunView {
        run_id: run_id.to_owned(),
        workflow_id: names::workflow_id(&request.site, &request.device),
        device_id: request.device.clone(),
        verb: request.verb,
        request_id: request.id.clone(),
        actor: request.actor.clone(),
        force: word(&memo, names::MEMO_FORCED_BY).is_some(),
        skip_burn_in: word(&memo, names::MEMO_BURN_IN_SKIPPED_BY).is_some(),
        status,
        progress: description.pending_activities.first().filter(|_| running).map(progress),
        result: closing.and_then(result),
        failure: closing.and_then(failure),
        started_at: info.start_time.map(time).unwrap_or(Timestamp::UNIX_EPOCH),
        closed_at: info.close_time.map(time).filter(|_| !running),
    }
}

/// Whether the run is over, and so has a closing event.
pub(crate) fn is_closed(description: &DescribeWorkflowExecutionResponse) -> bool {
    let info = description.workflow_execution_info.as_ref();
    info.is_some_and(|info| status(info.status()) != RunStatus::Running)
}

/// Who holds a device, in a line: the running workflow, its request and who asked.
pub(crate) fn holder(description: &DescribeWorkflowExecutionResponse) -> String {
    let info = description.workflow_execution_info.clone().unwrap_or_default();
    let kind = info.r#type.map(|t| t.name).unwrap_or_default();
    let verb = match kind.as_str() {
        names::ADOPT_DEVICE => "adopt",
        names::RESUME_DEVICE => "resume",
        names::DRAIN_DEVICE => "drain",
        names::RELEASE_DEVICE => "release",
        names::BURN_IN_DEVICE => "burn_in",
        other => other,
    };
    let memo = info.memo.unwrap_or_default();
    let said = |key| word(&memo, key).unwrap_or_else(|| "unknown".to_owned());
    format!("{verb} is running: request {}, asked by {}", said(names::MEMO_REQUEST), said(names::MEMO_ACTOR))
}

fn word(memo: &Memo, key: &str) -> Option<String> {
    serde_json::from_slice(&memo.fields.get(key)?.data).ok()
}

fn status(status: WorkflowExecutionStatus) -> RunStatus {
    use WorkflowExecutionStatus as S;
    match status {
        S::Completed => RunStatus::Completed,
        S::Failed => RunStatus::Failed,
        S::Canceled => RunStatus::Canceled,
        S::Terminated => RunStatus::Terminated,
        S::TimedOut => RunStatus::TimedOut,
        S::Running | S::ContinuedAsNew | S::Paused | S::Unspecified => RunStatus::Running,
    }
}

/// The heartbeat's progress; before the first one, the activity's name and why it is tried again.
fn progress(activity: &PendingActivityInfo) -> Progress {
    let attempt = u32::try_from(activity.attempt).unwrap_or_default();
    let beat = activity.heartbeat_details.as_ref().and_then(|d| d.payloads.first());
    let beat = beat.and_then(|p| Proto::<v1::Progress>::decode(p).ok()).map(|p| p.0);
    match beat {
        Some(beat) => Progress {
            step: beat.step,
            waiting_for: beat.waiting_for,
            since: beat.since.map_or(Timestamp::UNIX_EPOCH, |s| timestamp(s.seconds, s.nanos)),
            attempt,
        },
        None => Progress {
            step: activity.activity_type.as_ref().map(|t| t.name.clone()).unwrap_or_default(),
            waiting_for: activity.last_failure.as_ref().map(|f| f.message.clone()).unwrap_or_default(),
            since: activity.scheduled_time.map(time).unwrap_or(Timestamp::UNIX_EPOCH),
            attempt,
        },
    }
}

fn result(event: &HistoryEvent) -> Option<serde_json::Value> {
    match event.attributes.as_ref()? {
        Attributes::WorkflowExecutionCompletedEventAttributes(completed) => {
            first(completed.result.as_ref()).and_then(|p| serde_json::from_slice(&p.data).ok())
        }
        _ => None,
    }
}

fn failure(event: &HistoryEvent) -> Option<FailureView> {
    match event.attributes.as_ref()? {
        Attributes::WorkflowExecutionFailedEventAttributes(failed) => failed.failure.as_ref().map(explain),
        _ => None,
    }
}

/// The first failure of the chain that carries a code of ours; else the outermost one's words.
fn explain(failure: &Failure) -> FailureView {
    let chain = std::iter::successors(Some(failure), |f| f.cause.as_deref());
    for link in chain {
        let Some(FailureInfo::ApplicationFailureInfo(info)) = &link.failure_info else { continue };
        if info.r#type.is_empty() {
            continue;
        }
        let details = first(info.details.as_ref()).and_then(|p| Proto::<v1::FailureDetails>::decode(p).ok());
        return FailureView {
            code: info.r#type.clone(),
            message: link.message.clone(),
            remedy: details.map(|d| d.0.remedy).unwrap_or_default(),
        };
    }
    FailureView {
        code: UNCLASSIFIED.to_owned(),
        message: failure.message.clone(),
        remedy: "look at the run in Temporal".to_owned(),
    }
}

fn first(payloads: Option<&Payloads>) -> Option<&Payload> {
    payloads?.payloads.first()
}

fn time(at: prost_wkt_types::Timestamp) -> Timestamp {
    timestamp(at.seconds, at.nanos)
}

fn timestamp(seconds: i64, nanos: i32) -> Timestamp {
    Timestamp::new(seconds, nanos).unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use model::{Actor, DeviceId, RequestId, SiteId, Verb};
    use temporalio_common::protos::temporal::api::common::v1::{ActivityType, WorkflowType};
    use temporalio_common::protos::temporal::api::failure::v1::{
        ActivityFailureInfo, ApplicationFailureInfo,
    };
    use temporalio_common::protos::temporal::api::history::v1::{
        WorkflowExecutionCompletedEventAttributes, WorkflowExecutionFailedEventAttributes,
    };
    use temporalio_common::protos::temporal::api::workflow::v1::WorkflowExecutionInfo;

    use super::*;

    fn asked() -> Request {
        Request {
            site: SiteId::parse("lab").unwrap(),
            id: RequestId::parse("r-1").unwrap(),
            device: DeviceId::parse("d-1").unwrap(),
            verb: Verb::Adopt,
            actor: Actor::parse("ada").unwrap(),
            body_hash: String::new(),
            run_id: Some("run-1".to_owned()),
        }
    }

    fn described(status: WorkflowExecutionStatus) -> DescribeWorkflowExecutionResponse {
        let plain = |text: &str| Payload {
            metadata: HashMap::from([("encoding".to_owned(), b"json/plain".to_vec())]),
            data: text.as_bytes().to_vec(),
            ..Default::default()
        };
        let fields = HashMap::from([
            (names::MEMO_REQUEST.to_owned(), plain("\"r-1\"")),
            (names::MEMO_ACTOR.to_owned(), plain("\"ada\"")),
        ]);
        DescribeWorkflowExecutionResponse {
            workflow_execution_info: Some(WorkflowExecutionInfo {
                r#type: Some(WorkflowType { name: names::ADOPT_DEVICE.to_owned() }),
                start_time: Some(prost_wkt_types::Timestamp { seconds: 100, nanos: 0 }),
                close_time: Some(prost_wkt_types::Timestamp { seconds: 200, nanos: 0 }),
                status: status.into(),
                memo: Some(Memo { fields }),
                ..Default::default()
            }),
            ..Default::default()
        }
    }

    fn activity() -> PendingActivityInfo {
        PendingActivityInfo {
            activity_type: Some(ActivityType { name: "adopt".to_owned() }),
            attempt: 3,
            scheduled_time: Some(prost_wkt_types::Timestamp { seconds: 110, nanos: 0 }),
            last_failure: Some(Failure { message: "SLURM is away".to_owned(), ..Default::default() }),
            ..Default::default()
        }
    }

    fn payloads(payload: Payload) -> Option<Payloads> {
        Some(Payloads { payloads: vec![payload] })
    }

    #[test]
    fn running_shows_the_heartbeat() {
        let beat = v1::Progress {
            step: "wait_active".to_owned(),
            waiting_for: "BUILD".to_owned(),
            since: Some(pbjson_types::Timestamp { seconds: 120, nanos: 0 }),
            ..Default::default()
        };
        let heartbeat_details = payloads(Proto(beat).encode().unwrap());
        let mut description = described(WorkflowExecutionStatus::Running);
        description.pending_activities = vec![PendingActivityInfo { heartbeat_details, ..activity() }];
        let view = run(&asked(), "run-1", &description, None);
        let progress = view.progress.unwrap();
        assert_eq!((progress.step.as_str(), progress.waiting_for.as_str()), ("wait_active", "BUILD"));
        assert_eq!((progress.since.as_second(), progress.attempt), (120, 3));
        assert_eq!(
            (view.status, view.closed_at, view.started_at.as_second()),
            (RunStatus::Running, None, 100)
        );
        assert!(!is_closed(&description));
    }

    #[test]
    fn who_forced_a_run_is_to_be_seen() {
        let mut description = described(WorkflowExecutionStatus::Running);
        let view = run(&asked(), "run-1", &description, None);
        assert_eq!((view.force, view.skip_burn_in), (false, false));
        let memo = description.workflow_execution_info.as_mut().unwrap().memo.as_mut().unwrap();
        for key in [names::MEMO_FORCED_BY, names::MEMO_BURN_IN_SKIPPED_BY] {
            let actor = memo.fields[names::MEMO_ACTOR].clone();
            memo.fields.insert(key.to_owned(), actor);
        }
        let view = run(&asked(), "run-1", &description, None);
        assert_eq!((view.force, view.skip_burn_in, view.actor.as_str()), (true, true, "ada"));
    }

    #[test]
    fn before_the_first_heartbeat_the_last_failure_speaks() {
        let mut description = described(WorkflowExecutionStatus::Running);
        description.pending_activities = vec![activity()];
        let progress = run(&asked(), "run-1", &description, None).progress.unwrap();
        assert_eq!((progress.step.as_str(), progress.waiting_for.as_str()), ("adopt", "SLURM is away"));
        assert_eq!((progress.since.as_second(), progress.attempt), (110, 3));
    }

    #[test]
    fn completed_shows_the_result_as_it_was_returned() {
        let done = v1::ResumeResult { node: "n1".to_owned(), ..Default::default() };
        let attributes = WorkflowExecutionCompletedEventAttributes {
            result: payloads(Proto(done).encode().unwrap()),
            ..Default::default()
        };
        let closing = HistoryEvent {
            attributes: Some(Attributes::WorkflowExecutionCompletedEventAttributes(attributes)),
            ..Default::default()
        };
        let description = described(WorkflowExecutionStatus::Completed);
        assert!(is_closed(&description));
        let view = run(&asked(), "run-1", &description, Some(&closing));
        assert_eq!(view.result, Some(serde_json::json!({ "node": "n1" })));
        assert_eq!((view.status, view.closed_at.unwrap().as_second()), (RunStatus::Completed, 200));
    }

    fn failed(failure: Failure) -> FailureView {
        let attributes =
            WorkflowExecutionFailedEventAttributes { failure: Some(failure), ..Default::default() };
        let closing = HistoryEvent {
            attributes: Some(Attributes::WorkflowExecutionFailedEventAttributes(attributes)),
            ..Default::default()
        };
        run(&asked(), "run-1", &described(WorkflowExecutionStatus::Failed), Some(&closing)).failure.unwrap()
    }

    #[test]
    fn the_code_is_found_in_the_chain() {
        let details =
            v1::FailureDetails { remedy: "give the role an image".to_owned(), ..Default::default() };
        let cause = Failure {
            message: "role gpu: image is null".to_owned(),
            failure_info: Some(FailureInfo::ApplicationFailureInfo(ApplicationFailureInfo {
                r#type: "bootstrap.incomplete".to_owned(),
                details: payloads(Proto(details).encode().unwrap()),
                ..Default::default()
            })),
            ..Default::default()
        };
        let outer = Failure {
            message: "Activity task failed".to_owned(),
            failure_info: Some(FailureInfo::ActivityFailureInfo(ActivityFailureInfo::default())),
            cause: Some(Box::new(cause)),
            ..Default::default()
        };
        let view = failed(outer);
        assert_eq!(view.code, "bootstrap.incomplete");
        assert_eq!(
            (view.message.as_str(), view.remedy.as_str()),
            ("role gpu: image is null", "give the role an image")
        );
        let bare = failed(Failure { message: "odd".to_owned(), ..Default::default() });
        assert_eq!((bare.code.as_str(), bare.message.as_str()), ("unclassified", "odd"));
    }

    #[test]
    fn the_holder_is_named() {
        let said = holder(&described(WorkflowExecutionStatus::Running));
        assert_eq!(said, "adopt is running: request r-1, asked by ada");
        for (workflow, verb) in [
            (names::DRAIN_DEVICE, "drain"),
            (names::RELEASE_DEVICE, "release"),
            (names::RESUME_DEVICE, "resume"),
            (names::BURN_IN_DEVICE, "burn_in"),
        ] {
            let mut running = described(WorkflowExecutionStatus::Running);
            let info = running.workflow_execution_info.as_mut().unwrap();
            info.r#type = Some(WorkflowType { name: workflow.to_owned() });
            assert_eq!(holder(&running), format!("{verb} is running: request r-1, asked by ada"));
        }
        let said = holder(&DescribeWorkflowExecutionResponse::default());
        assert!(said.ends_with("request unknown, asked by unknown"));
    }
}
