//! Where our failures and progress become Temporal's. Logged once, here.

use activities::{Class, Failure, Previous, Progress};
use jiff::Timestamp;
use proto::{Proto, v1};
use temporalio_sdk::ApplicationFailure;
use temporalio_sdk::activities::{ActivityContext, ActivityError};

/// A failure, as the activity's end.
pub(super) fn error(activity: &'static str, device: &str, failure: Failure) -> ActivityError {
    let code = failure.code.as_str();
    let chain = chain(&failure);
    if failure.class == Class::Cancelled {
        tracing::info!(activity, device, step = failure.step, "stopped");
        return ActivityError::cancelled();
    }
    tracing::warn!(
        activity,
        device,
        code,
        step = failure.step,
        field = failure.field,
        cause = chain,
        "{}",
        failure.message
    );
    let details = v1::FailureDetails {
        device: device.to_owned(),
        step: failure.step.to_owned(),
        field: failure.field.clone(),
        remedy: failure.remedy.clone(),
    };
    let (non_retryable, delay) = match failure.class {
        Class::Retry => (false, None),
        Class::RetryAfter(delay) => (false, Some(delay)),
        Class::Permanent | Class::NeedsHuman | Class::Cancelled => (true, None),
    };
    ApplicationFailure::builder(failure.message)
        .type_name(code.to_owned())
        .non_retryable(non_retryable)
        .maybe_next_retry_delay(delay)
        .details(Proto(details))
        .build()
        .into()
}

/// Progress, as a heartbeat.
pub(super) fn progress(progress: &Progress) -> Proto<v1::Progress> {
    Proto(v1::Progress {
        step: progress.step.to_owned(),
        waiting_for: progress.waiting_for.clone(),
        since: Some(pbjson_types::Timestamp {
            seconds: progress.since.as_second(),
            nanos: progress.since.subsec_nanosecond(),
        }),
        timeout_code: progress.timeout.as_str().to_owned(),
    })
}

/// The last heartbeat of the attempt before this one. One that cannot be read is none: nothing rests
/// on it.
pub(super) fn previous(context: &ActivityContext) -> Option<Previous> {
    let Proto(last) = context.heartbeat_details().deserialize::<Proto<v1::Progress>>().ok().flatten()?;
    let since = last.since?;
    let since = Timestamp::new(since.seconds, since.nanos).ok()?;
    Some(Previous { step: last.step, since })
}

/// The sources below a failure, on one line.
fn chain(failure: &Failure) -> String {
    let mut parts = Vec::new();
    let mut source = std::error::Error::source(failure);
    while let Some(error) = source {
        parts.push(error.to_string());
        source = error.source();
    }
    parts.join(": ")
}
