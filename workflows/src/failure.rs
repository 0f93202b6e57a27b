//! How a workflow fails: always an application failure whose type is one of our codes, never to be
//! tried again, with [`FailureDetails`].

use proto::v1::{FailureDetails, Progress};
use proto::{Lifecycle, Proto, Undecodable, names};
use temporalio_common::error::{ApplicationFailure, IncomingError, RetryState};
use temporalio_workflow::{ActivityExecutionError, WorkflowTermination};

/// The code of an input that cannot be read, as `activities` has it.
const REQUEST_INVALID: &str = "request.invalid";
/// The code of a time-out before any heartbeat.
const DEADLINE_EXCEEDED: &str = "deadline.exceeded";
/// The code of what ended with its worker.
const CANCELLED: &str = "cancelled";
/// What the SDK calls an attempt that its worker's shutdown ended.
const WORKER_SHUTDOWN: &str = "WorkerShutdown";

/// Fails because of the input, naming its field.
pub(crate) fn undecodable(error: &Undecodable) -> WorkflowTermination {
    let details = FailureDetails {
        field: error.field.clone().unwrap_or_default(),
        step: "decode".to_owned(),
        remedy: "send one message of the workflow's input type".to_owned(),
        ..FailureDetails::default()
    };
    fail(REQUEST_INVALID, &error.to_string(), details)
}

/// The request, or the failure because of its field.
pub(crate) fn unless_invalid<T>(
    device: &str,
    parsed: Result<T, proto::Invalid>,
) -> Result<T, WorkflowTermination> {
    parsed.map_err(|e| invalid(device, &e.field, &e.to_string(), &e.remedy))
}

/// Fails because of a field of the input.
fn invalid(device: &str, field: &str, message: &str, remedy: &str) -> WorkflowTermination {
    let details = FailureDetails {
        device: device.to_owned(),
        step: "decode".to_owned(),
        field: field.to_owned(),
        remedy: remedy.to_owned(),
    };
    fail(REQUEST_INVALID, message, details)
}

/// Fails a run of a device that does not hold the device's lock, which is the run's own id: whoever
/// starts one by hand can mistype that as well, and two runs would act on one device.
pub(crate) fn check_lock(id: &str, parsed: &Lifecycle) -> Result<(), WorkflowTermination> {
    let lock = names::workflow_id(&parsed.site, &parsed.device);
    if id == lock {
        return Ok(());
    }
    let remedy = format!("start it with the workflow id {lock}");
    let message =
        format!("device_id: this run's id is {id}, which does not lock {}; {remedy}", parsed.device);
    Err(invalid(parsed.device.as_str(), "device_id", &message, &remedy))
}

/// Hands an activity's failure on: its code, or the code for what never came true when time was up.
pub(crate) fn of_activity(device: &str, error: ActivityExecutionError) -> WorkflowTermination {
    if is_cancellation(&error) {
        return WorkflowTermination::cancelled();
    }
    if let Some(timeout) = error.as_timeout() {
        let last = timeout.last_heartbeat_details::<Proto<Progress>>().ok().flatten();
        return timed_out(device, last.map(|p| p.0).unwrap_or_default());
    }
    match error.cause() {
        Some(IncomingError::Application(failure)) => {
            let details = failure.details::<Proto<FailureDetails>>().ok().flatten();
            let code = match (&details, failure.type_name()) {
                (Some(_), Some(code)) => code,
                (_, sdk) => code_for_sdk(sdk, retry_state(&error)),
            };
            fail(code, &failure.to_string(), details.map(|d| d.0).unwrap_or_default())
        }
        // A result that this release cannot read: the workflow *task* fails, and is tried again
        // until a worker that can read it has it.
        _ => error.into(),
    }
}

/// Whether it was told to stop, and ended because of that.
pub(crate) fn is_cancellation(error: &ActivityExecutionError) -> bool {
    error.as_cancelled().is_some() || gave_up_on_cancel(error)
}

/// After a cancel nothing is tried again: what would have been, a lost worker too, ended by it.
fn gave_up_on_cancel(error: &ActivityExecutionError) -> bool {
    let permanent =
        matches!(error.cause(), Some(IncomingError::Application(failure)) if failure.is_non_retryable());
    retry_state(error) == Some(RetryState::CancelRequested) && !permanent
}

/// A failure without our details is the SDK's own, such as a panic, and has no code of ours.
fn code_for_sdk(type_name: Option<&str>, retry: Option<RetryState>) -> &'static str {
    if type_name == Some(WORKER_SHUTDOWN) && retry != Some(RetryState::Timeout) {
        CANCELLED
    } else {
        DEADLINE_EXCEEDED
    }
}

fn retry_state(error: &ActivityExecutionError) -> Option<RetryState> {
    match error {
        ActivityExecutionError::Failed(failed) => Some(failed.retry_state()),
        _ => None,
    }
}

fn timed_out(device: &str, last: Progress) -> WorkflowTermination {
    let code = if last.timeout_code.is_empty() { DEADLINE_EXCEEDED } else { &last.timeout_code };
    let step = if last.step.is_empty() { "start" } else { &last.step };
    let seen = if last.waiting_for.is_empty() { String::new() } else { format!(": {}", last.waiting_for) };
    let details = FailureDetails {
        device: device.to_owned(),
        step: step.to_owned(),
        remedy: "mend what it waited for, then start again".to_owned(),
        ..FailureDetails::default()
    };
    fail(code, &format!("time was up in step {step}{seen}"), details)
}

/// Fails with this code, for good.
pub(crate) fn fail(code: &str, message: &str, details: FailureDetails) -> WorkflowTermination {
    ApplicationFailure::builder(message.to_owned())
        .type_name(code.to_owned())
        .non_retryable(true)
        .details(Proto(details))
        .build()
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use temporalio_common::data_converters::{
        ActivityExecutionDecodeHint, DefaultFailureConverter, FailureConverter, FailureDecodeHint,
        PayloadConverter, SerializationContextData,
    };
    use temporalio_common::error::OutgoingWorkflowError;
    use temporalio_common::protos::temporal::api::common::v1::Payloads;
    use temporalio_common::protos::temporal::api::enums::v1::{RetryState as Wire, TimeoutType};
    use temporalio_common::protos::temporal::api::failure::v1::failure::FailureInfo;
    use temporalio_common::protos::temporal::api::failure::v1::{
        ActivityFailureInfo, ApplicationFailureInfo, Failure, TimeoutFailureInfo,
    };

    /// What a workflow makes of an activity that ended so: its failure's type and message, or
    /// `cancelled` for a cancellation.
    fn ends(retry: Wire, cause: Failure) -> String {
        let failure = Failure {
            cause: Some(Box::new(cause)),
            failure_info: Some(FailureInfo::ActivityFailureInfo(ActivityFailureInfo {
                retry_state: retry.into(),
                ..ActivityFailureInfo::default()
            })),
            ..Failure::default()
        };
        let (converter, context) = (PayloadConverter::default(), SerializationContextData::None);
        let error = DefaultFailureConverter::default().to_error(failure, &converter, &context).unwrap();
        let error = ActivityExecutionDecodeHint::new(false).adapt(error);
        match of_activity("d-1", error) {
            WorkflowTermination::Cancelled { .. } => "a cancellation".to_owned(),
            WorkflowTermination::Failed(OutgoingWorkflowError::Application(failure)) => {
                assert!(failure.is_non_retryable());
                format!("{}: {failure}", failure.type_name().unwrap())
            }
            other => panic!("{other:?}"),
        }
    }

    fn timeout(kind: TimeoutType, last: Option<Progress>) -> Failure {
        let details = last.map(|p| Payloads { payloads: vec![Proto(p).encode().unwrap()] });
        Failure {
            failure_info: Some(FailureInfo::TimeoutFailureInfo(TimeoutFailureInfo {
                timeout_type: kind.into(),
                last_heartbeat_details: details,
            })),
            ..Failure::default()
        }
    }

    fn application(type_name: &str, non_retryable: bool, details: Option<FailureDetails>) -> Failure {
        Failure {
            message: "words".to_owned(),
            failure_info: Some(FailureInfo::ApplicationFailureInfo(ApplicationFailureInfo {
                r#type: type_name.to_owned(),
                non_retryable,
                details: details.map(|d| Payloads { payloads: vec![Proto(d).encode().unwrap()] }),
                ..ApplicationFailureInfo::default()
            })),
            ..Failure::default()
        }
    }

    fn waiting() -> Progress {
        Progress {
            step: "wait_active".to_owned(),
            waiting_for: "ACTIVE; seen: BUILD".to_owned(),
            timeout_code: "openstack.server_error".to_owned(),
            ..Progress::default()
        }
    }

    #[test]
    fn a_failure_of_ours_keeps_its_code() {
        let ours = |permanent| application("hub.refused", permanent, Some(FailureDetails::default()));
        assert_eq!(ends(Wire::NonRetryableFailure, ours(true)), "hub.refused: words");
        assert_eq!(ends(Wire::Timeout, ours(false)), "hub.refused: words");
        assert_eq!(ends(Wire::MaximumAttemptsReached, ours(false)), "hub.refused: words");
    }

    #[test]
    fn time_up_is_the_code_of_what_it_waited_for() {
        let late = |last| ends(Wire::Timeout, timeout(TimeoutType::ScheduleToClose, last));
        assert_eq!(
            late(Some(waiting())),
            "openstack.server_error: time was up in step wait_active: ACTIVE; seen: BUILD"
        );
        assert_eq!(late(None), "deadline.exceeded: time was up in step start");
        let acting = Progress { step: "plan".to_owned(), ..Progress::default() };
        assert_eq!(late(Some(acting)), "deadline.exceeded: time was up in step plan");
    }

    #[test]
    fn after_a_cancel_only_a_permanent_failure_is_one() {
        let ours = |permanent| application("hub.refused", permanent, Some(FailureDetails::default()));
        assert_eq!(ends(Wire::CancelRequested, ours(true)), "hub.refused: words");
        assert_eq!(ends(Wire::CancelRequested, ours(false)), "a cancellation");
        // nobody is to be paged for a registration that was called off
        let lost = timeout(TimeoutType::Heartbeat, Some(waiting()));
        assert_eq!(ends(Wire::CancelRequested, lost), "a cancellation");
    }

    #[test]
    fn the_sdks_own_failures_get_a_code_of_ours() {
        let shutdown = || application("WorkerShutdown", false, None);
        assert_eq!(ends(Wire::MaximumAttemptsReached, shutdown()), "cancelled: words");
        assert_eq!(ends(Wire::Timeout, shutdown()), "deadline.exceeded: words");
        assert_eq!(ends(Wire::Timeout, application("", false, None)), "deadline.exceeded: words");
    }
}
