//! Names in Temporal. Stable: a running history refers to them.

use model::{DeviceId, SiteId};

/// Activity: makes a device a closed node.
pub const ADOPT: &str = "adopt";
/// Activity: opens a node of ours.
pub const RESUME: &str = "resume";
/// Activity: turns node states into conditions.
pub const POLL_SCHEDULER_CONDITIONS: &str = "poll_scheduler_conditions";

/// Workflow: adopt, then resume.
pub const ADOPT_DEVICE: &str = "AdoptDevice";
/// Workflow: resume.
pub const RESUME_DEVICE: &str = "ResumeDevice";
/// Workflow: one poll, started by the Schedule.
pub const POLL_SCHEDULER_CONDITIONS_WORKFLOW: &str = "PollSchedulerConditions";

/// Signal of every lifecycle workflow: end at the next closed point.
pub const STOP: &str = "stop";

/// Search attribute (Keyword) that the hub sets at start, for people who look for a device's runs in
/// Temporal's lists. Nothing of ours reads it: whoever starts a verb by hand may leave it out.
pub const SEARCH_ATTRIBUTE_DEVICE: &str = "FleetDevice";

/// Memo key: the request that started the run.
pub const MEMO_REQUEST: &str = "fleet_request";
/// Memo key: who asked.
pub const MEMO_ACTOR: &str = "fleet_actor";

/// The site's task queue.
#[must_use]
pub fn task_queue(site: &SiteId) -> String {
    format!("slurm-{site}")
}

/// The workflow id of every verb of a device: its lock.
#[must_use]
pub fn workflow_id(site: &SiteId, device: &DeviceId) -> String {
    format!("slurm/{site}/{device}")
}

/// The id of the site's poll Schedule.
#[must_use]
pub fn schedule_id(site: &SiteId) -> String {
    format!("slurm-conditions/{site}")
}
