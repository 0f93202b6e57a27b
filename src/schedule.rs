//! The poll's Schedule: made by the worker at start and by `satellite setup`, by raw gRPC, since the
//! SDK's own call sets neither execution time-out nor catch-up window on create (facts: temporal
//! §4).
//!
//! *Invariant*: an operator's pause is kept, and a schedule of a newer spec version or with notes of
//! somebody else is left alone.

use std::cmp::Ordering;
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
    CreateScheduleRequest, DescribeScheduleRequest, DescribeScheduleResponse, UpdateScheduleRequest,
};
use tonic::{Code, Request, Status};

/// What the schedule says of itself: raised when [`spec`] changes.
const VERSION: u32 = 1;
const NOTES: &str = "slurm-satellite spec ";
/// Missed ticks older than this are not caught up.
const CATCH_UP: Duration = Duration::from_secs(60);
/// A run that found no worker must not block the ticks behind it (facts: temporal §4).
const EXECUTION: Duration = Duration::from_secs(55);

/// What is there under the schedule's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing.
    Absent,
    /// Ours, of an older spec version or with another interval than the settings say.
    Outdated {
        /// An operator has paused it.
        paused: bool,
    },
    /// Ours, and as it should be.
    Current {
        /// An operator has paused it.
        paused: bool,
    },
    /// Of a newer version, or somebody else's by its notes and by what it starts.
    Theirs {
        /// An operator has paused it.
        paused: bool,
    },
}

/// Looks at the site's poll Schedule.
///
/// # Errors
/// What Temporal says.
pub(crate) async fn find(client: &Client, site: &SiteId, every: Duration) -> Result<Found, Status> {
    Ok(look(client, site, every).await?.0)
}

/// Makes the site's poll Schedule, or brings an outdated one up to date. Returns what was there
/// before: [`Found::Absent`] was made, [`Found::Outdated`] was updated, all else was left alone.
///
/// # Errors
/// What Temporal says; `NotFound` means the namespace.
pub(crate) async fn ensure(client: &Client, site: &SiteId, every: Duration) -> Result<Found, Status> {
    let (found, description) = look(client, site, every).await?;
    let id = names::schedule_id(site);
    let namespace = client.options().namespace.clone();
    let mut service = client.connection().workflow_service();
    match found {
        Found::Absent => {
            let create = CreateScheduleRequest {
                namespace,
                schedule_id: id.clone(),
                schedule: Some(spec(site, every, ScheduleState::default())?),
                // the same for every replica: two that race make one schedule
                request_id: format!("create-{id}"),
                ..CreateScheduleRequest::default()
            };
            match service.create_schedule(Request::new(create)).await {
                Err(status) if status.code() == Code::AlreadyExists => Ok(Found::Current { paused: false }),
                answer => answer.map(|_| found),
            }
        }
        Found::Outdated { .. } => {
            let state = description.schedule.and_then(|s| s.state).unwrap_or_default();
            let update = UpdateScheduleRequest {
                namespace,
                schedule_id: id,
                schedule: Some(spec(site, every, state)?),
                conflict_token: description.conflict_token,
                request_id: uuid::Uuid::new_v4().to_string(),
                ..UpdateScheduleRequest::default()
            };
            service.update_schedule(Request::new(update)).await.map(|_| found)
        }
        Found::Current { .. } | Found::Theirs { .. } => Ok(found),
    }
}

async fn look(
    client: &Client,
    site: &SiteId,
    every: Duration,
) -> Result<(Found, DescribeScheduleResponse), Status> {
    let describe = DescribeScheduleRequest {
        namespace: client.options().namespace.clone(),
        schedule_id: names::schedule_id(site),
    };
    match client.connection().workflow_service().describe_schedule(Request::new(describe)).await {
        Ok(answer) => {
            let description = answer.into_inner();
            let wanted = spec(site, every, ScheduleState::default())?;
            let found = judge(&description.schedule.clone().unwrap_or_default(), &wanted);
            Ok((found, description))
        }
        Err(status) if status.code() == Code::NotFound => Ok((Found::Absent, Default::default())),
        Err(status) => Err(status),
    }
}

/// What `there` is, beside what it should be.
fn judge(there: &Schedule, wanted: &Schedule) -> Found {
    let state = there.state.clone().unwrap_or_default();
    let paused = state.paused;
    match version(&state.notes).map(|v| v.cmp(&VERSION)) {
        Some(Ordering::Less) => Found::Outdated { paused },
        Some(Ordering::Equal) if work(there) != work(wanted) => Found::Outdated { paused },
        Some(Ordering::Equal) => Found::Current { paused },
        // `temporal schedule toggle` writes the operator's reason over our notes
        None if work(there) == work(wanted) => Found::Current { paused },
        Some(Ordering::Greater) | None => Found::Theirs { paused },
    }
}

/// How often it starts which workflow on which queue.
fn work(schedule: &Schedule) -> (Vec<Option<Duration>>, Option<(&str, &str)>) {
    let intervals = schedule.spec.iter().flat_map(|s| &s.interval);
    let every = intervals.map(|i| i.interval.and_then(|d| Duration::try_from(d).ok())).collect();
    let Some(schedule_action::Action::StartWorkflow(run)) =
        schedule.action.as_ref().and_then(|a| a.action.as_ref())
    else {
        return (every, None);
    };
    (
        every,
        run.workflow_type
            .as_ref()
            .map(|t| t.name.as_str())
            .zip(run.task_queue.as_ref().map(|q| q.name.as_str())),
    )
}

/// The schedule as it should be; pause and limits of `state` are kept.
fn spec(site: &SiteId, every: Duration, state: ScheduleState) -> Result<Schedule, Status> {
    let input = Proto(v1::PollRequest { site: site.to_string() }).encode().map_err(cannot)?;
    let run = NewWorkflowExecutionInfo {
        workflow_id: names::schedule_id(site),
        workflow_type: Some(WorkflowType { name: names::POLL_SCHEDULER_CONDITIONS_WORKFLOW.to_owned() }),
        task_queue: Some(TaskQueue { name: names::task_queue(site), ..TaskQueue::default() }),
        input: Some(Payloads { payloads: vec![input] }),
        workflow_execution_timeout: Some(EXECUTION.try_into().map_err(cannot)?),
        ..NewWorkflowExecutionInfo::default()
    };
    let interval = IntervalSpec { interval: Some(every.try_into().map_err(cannot)?), phase: None };
    Ok(Schedule {
        spec: Some(ScheduleSpec { interval: vec![interval], ..ScheduleSpec::default() }),
        action: Some(ScheduleAction { action: Some(schedule_action::Action::StartWorkflow(run)) }),
        policies: Some(SchedulePolicies {
            overlap_policy: ScheduleOverlapPolicy::Skip.into(),
            catchup_window: Some(CATCH_UP.try_into().map_err(cannot)?),
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

/// A schedule that cannot be written down; settings do not let this happen.
fn cannot(error: impl std::fmt::Display) -> Status {
    Status::internal(format!("the schedule cannot be encoded: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: Duration = Duration::from_secs(60);

    fn wanted(every: Duration) -> Schedule {
        spec(&SiteId::parse("lab").unwrap(), every, ScheduleState::default()).unwrap()
    }

    #[test]
    fn only_an_older_or_differing_spec_of_ours_is_replaced() {
        let said = |notes: &str, every, paused| {
            let mut there = wanted(EVERY);
            there.state = Some(ScheduleState { notes: notes.to_owned(), paused, ..ScheduleState::default() });
            judge(&there, &wanted(every))
        };
        assert_eq!(said("slurm-satellite spec 0", EVERY, false), Found::Outdated { paused: false });
        assert_eq!(said("slurm-satellite spec 1", EVERY, false), Found::Current { paused: false });
        assert_eq!(said("slurm-satellite spec 1", EVERY * 2, true), Found::Outdated { paused: true });
        assert_eq!(said("slurm-satellite spec 2", EVERY * 2, false), Found::Theirs { paused: false });
        assert_eq!(said("ada: maintenance", EVERY, true), Found::Current { paused: true });
        assert_eq!(said("ada: once an hour will do", EVERY * 2, false), Found::Theirs { paused: false });
    }

    #[test]
    fn an_operators_pause_is_kept() {
        let paused = ScheduleState { paused: true, notes: "old".to_owned(), ..ScheduleState::default() };
        let site = SiteId::parse("lab").unwrap();
        let state = spec(&site, EVERY, paused).unwrap().state.unwrap();
        assert!(state.paused);
        assert_eq!(state.notes, "slurm-satellite spec 1");
    }
}
