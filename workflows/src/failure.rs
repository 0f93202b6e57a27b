//! How a workflow fails: always an application failure whose type is one of our codes, never to be
//! tried again, with [`FailureDetails`].

use proto::v1::{FailureDetails, Progress};
use proto::{Proto, Undecodable};
use temporalio_common::error::{ApplicationFailure, IncomingError};
use temporalio_workflow::{ActivityExecutionError, WorkflowTermination};

/// The code of an input that cannot be read, as `activities` has it.
const REQUEST_INVALID: &str = "request.invalid";
/// The code of a time-out before any heartbeat.
const DEADLINE_EXCEEDED: &str = "deadline.exceeded";

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

/// Fails because of a field of the input.
pub(crate) fn invalid(device: &str, field: &str, message: &str, remedy: &str) -> WorkflowTermination {
    let details = FailureDetails {
        device: device.to_owned(),
        step: "decode".to_owned(),
        field: field.to_owned(),
        remedy: remedy.to_owned(),
    };
    fail(REQUEST_INVALID, message, details)
}

/// Hands an activity's failure on: its code, or the code for what never came true when time was up.
pub(crate) fn of_activity(device: &str, error: ActivityExecutionError) -> WorkflowTermination {
    if error.as_cancelled().is_some() {
        return WorkflowTermination::cancelled();
    }
    if let Some(timeout) = error.as_timeout() {
        let last = timeout.last_heartbeat_details::<Proto<Progress>>().ok().flatten();
        return timed_out(device, last.map(|p| p.0).unwrap_or_default());
    }
    match error.cause() {
        Some(IncomingError::Application(failure)) => {
            let details = failure.details::<Proto<FailureDetails>>().ok().flatten();
            let code = failure.type_name().unwrap_or(DEADLINE_EXCEEDED).to_owned();
            fail(&code, &failure.to_string(), details.map(|d| d.0).unwrap_or_default())
        }
        _ => error.into(),
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

fn fail(code: &str, message: &str, details: FailureDetails) -> WorkflowTermination {
    ApplicationFailure::builder(message.to_owned())
        .type_name(code.to_owned())
        .non_retryable(true)
        .details(Proto(details))
        .build()
        .into()
}
