//! Names in Temporal. Stable: a running history refers to them.

use model::{DeviceId, SiteId};

/// Activity: makes a device a closed node.
pub const ADOPT: &str = "adopt";
/// Activity: opens a node of ours.
pub const RESUME: &str = "resume";
/// Activity: closes a node and waits until it is empty.
pub const DRAIN: &str = "drain";
/// Activity: takes a node out of SLURM and deletes its server.
pub const RELEASE: &str = "release";
/// Activity: runs the site's tests on a node that is closed to users.
pub const BURN_IN_SBATCH: &str = "burn_in_sbatch";
/// Activity: ends what a burn-in left, the node closed.
pub const BURN_IN_STOP: &str = "burn_in_stop";
/// Activity: turns node states into conditions.
pub const POLL_SCHEDULER_CONDITIONS: &str = "poll_scheduler_conditions";

/// Workflow: adopt, burn in, then resume.
pub const ADOPT_DEVICE: &str = "AdoptDevice";
/// Workflow: burn in, then resume.
pub const RESUME_DEVICE: &str = "ResumeDevice";
/// Workflow: drain.
pub const DRAIN_DEVICE: &str = "DrainDevice";
/// Workflow: release.
pub const RELEASE_DEVICE: &str = "ReleaseDevice";
/// Workflow: burn in, and leave the node closed.
pub const BURN_IN_DEVICE: &str = "BurnInDevice";
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
/// Memo key: who asked that the run goes on over what somebody else closed; absent where nobody did.
pub const MEMO_FORCED_BY: &str = "fleet_forced_by";
/// Memo key: who asked that the node is opened without a burn-in; absent where nobody did.
pub const MEMO_BURN_IN_SKIPPED_BY: &str = "fleet_burn_in_skipped_by";

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
