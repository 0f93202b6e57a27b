//! The poll's Schedule: made by the worker at start, by raw gRPC, since the SDK's own call sets
//! neither execution time-out nor catch-up window on create (facts: temporal §4).
//!
//! *Invariant*: an operator's pause is kept, and a schedule of this or a newer spec version is left
//! alone.

use std::time::Duration;

use model::SiteId;
use proto::{Proto, names, v1};
use temporalio_client::{Client, tonic};
use temporalio_common::protos::temporal::api::common::v1::{Payloads, WorkflowType};
use temporalio_common::protos::temporal::api::enums::v1::ScheduleOverlapPolicy;
use temporalio_common::protos::temporal::api::schedule::v1::{
    IntervalSpec, Schedule, ScheduleAction, SchedulePolicies, ScheduleSpec, ScheduleState, schedule_action,
};
use temporalio_common::protos::temporal::api::taskqueue::v1::TaskQueue;
use temporalio_common::protos::temporal::api::workflow::v1::NewWorkflowExecutionInfo;
use temporalio_common::protos::temporal::api::workflowservice::v1::{
    CreateScheduleRequest, DescribeScheduleRequest, UpdateScheduleRequest,
};
use tonic::{Code, Request};

/// What the schedule says of itself: raised when [`spec`] changes.
const VERSION: u32 = 1;
const NOTES: &str = "slurm-satellite spec ";
/// Missed ticks older than this are not caught up.
const CATCH_UP: Duration = Duration::from_secs(60);
/// A run that found no worker must not block the ticks behind it (facts: temporal §4).
const EXECUTION: Duration = Duration::from_secs(55);

/// Makes the site's poll Schedule, or brings an older one up to date.
///
/// # Errors
/// What Temporal says.
pub(crate) async fn ensure(client: &Client, site: &SiteId, every: Duration) -> anyhow::Result<()> {
    let id = names::schedule_id(site);
    let namespace = client.options().namespace.clone();
    let mut service = client.connection().workflow_service();
    let describe = DescribeScheduleRequest { namespace: namespace.clone(), schedule_id: id.clone() };
    let found = match service.describe_schedule(Request::new(describe)).await {
        Ok(found) => found.into_inner(),
        Err(status) if status.code() == Code::NotFound => {
            let create = CreateScheduleRequest {
                namespace,
                schedule_id: id.clone(),
                schedule: Some(spec(site, every, ScheduleState::default())?),
                // the same for every replica: two that race make one schedule
                request_id: format!("create-{id}"),
                ..CreateScheduleRequest::default()
            };
            return match service.create_schedule(Request::new(create)).await {
                Ok(_) => {
                    tracing::info!(schedule = id, "poll schedule made");
                    Ok(())
                }
                Err(status) if status.code() == Code::AlreadyExists => Ok(()),
                Err(status) => Err(words(&status)),
            };
        }
        Err(status) => return Err(words(&status)),
    };
    let state = found.schedule.and_then(|s| s.state).unwrap_or_default();
    if version(&state.notes).is_none_or(|v| v >= VERSION) {
        return Ok(());
    }
    let update = UpdateScheduleRequest {
        namespace,
        schedule_id: id.clone(),
        schedule: Some(spec(site, every, state)?),
        conflict_token: found.conflict_token,
        request_id: uuid::Uuid::new_v4().to_string(),
        ..UpdateScheduleRequest::default()
    };
    service.update_schedule(Request::new(update)).await.map_err(|s| words(&s))?;
    tracing::info!(schedule = id, "poll schedule updated");
    Ok(())
}

/// The schedule as it should be; pause and limits of `state` are kept.
fn spec(site: &SiteId, every: Duration, state: ScheduleState) -> anyhow::Result<Schedule> {
    let input = Proto(v1::PollRequest { site: site.to_string() }).encode()?;
    let run = NewWorkflowExecutionInfo {
        workflow_id: names::schedule_id(site),
        workflow_type: Some(WorkflowType { name: names::POLL_SCHEDULER_CONDITIONS_WORKFLOW.to_owned() }),
        task_queue: Some(TaskQueue { name: names::task_queue(site), ..TaskQueue::default() }),
        input: Some(Payloads { payloads: vec![input] }),
        workflow_execution_timeout: Some(EXECUTION.try_into()?),
        ..NewWorkflowExecutionInfo::default()
    };
    let interval = IntervalSpec { interval: Some(every.try_into()?), phase: None };
    Ok(Schedule {
        spec: Some(ScheduleSpec { interval: vec![interval], ..ScheduleSpec::default() }),
        action: Some(ScheduleAction { action: Some(schedule_action::Action::StartWorkflow(run)) }),
        policies: Some(SchedulePolicies {
            overlap_policy: ScheduleOverlapPolicy::Skip.into(),
            catchup_window: Some(CATCH_UP.try_into()?),
            ..SchedulePolicies::default()
        }),
        state: Some(ScheduleState { notes: format!("{NOTES}{VERSION}"), ..state }),
    })
}

/// The spec version of a schedule of ours; `None` where somebody has written other notes, which
/// makes it theirs.
fn version(notes: &str) -> Option<u32> {
    notes.strip_prefix(NOTES)?.parse().ok()
}

fn words(status: &tonic::Status) -> anyhow::Error {
    anyhow::anyhow!("{:?}: {}", status.code(), status.message())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_older_spec_of_ours_is_replaced() {
        assert_eq!(version("slurm-satellite spec 1"), Some(1));
        assert_eq!(version("paused by ada: maintenance"), None);
    }

    #[test]
    fn an_operators_pause_is_kept() {
        let paused = ScheduleState { paused: true, notes: "old".to_owned(), ..ScheduleState::default() };
        let site = SiteId::parse("lab").unwrap();
        let state = spec(&site, Duration::from_secs(60), paused).unwrap().state.unwrap();
        assert!(state.paused);
        assert_eq!(state.notes, "slurm-satellite spec 1");
    }
}
