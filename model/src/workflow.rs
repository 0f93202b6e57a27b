//! Starting a workflow through the hub, and reading how it goes.

mod start;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Actor, DeviceId, RequestId, Verb};

pub use start::{AtDeadline, StartRequest, check_tests};

/// A run, as the hub serves it: made of what Temporal says, at the moment of asking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunView {
    /// Temporal's run id.
    pub run_id: String,
    /// Temporal's workflow id: the device's lock.
    pub workflow_id: String,
    /// Whose.
    pub device_id: DeviceId,
    /// What is done.
    pub verb: Verb,
    /// The request that started it.
    pub request_id: RequestId,
    /// Who asked.
    pub actor: Actor,
    /// They asked that it goes on over what somebody else closed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
    /// They asked that the node is opened without a burn-in.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skip_burn_in: bool,
    /// `running`, `completed`, `failed`, `canceled`, `terminated` or `timed_out`.
    pub status: RunStatus,
    /// While running: where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// When completed: what came of it, as the workflow returned it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<serde_json::Value>,
    /// When failed: why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureView>,
    /// When it started.
    pub started_at: Timestamp,
    /// When it closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<Timestamp>,
}

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Open.
    Running,
    /// Reached its goal.
    Completed,
    /// Missed its goal; see the failure.
    Failed,
    /// Cancelled by somebody.
    Canceled,
    /// Ended by an administrator, past all clean-up.
    Terminated,
    /// Ended by Temporal.
    TimedOut,
}

/// Where a running activity is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The step.
    pub step: String,
    /// What it waits for, as last seen; empty while it acts.
    #[serde(default)]
    pub waiting_for: String,
    /// Since when.
    pub since: Timestamp,
    /// Which attempt of the activity this is, from 1.
    #[serde(default)]
    pub attempt: u32,
}

/// Why a run failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureView {
    /// A stable code, such as `bootstrap.incomplete`.
    pub code: String,
    /// One line.
    pub message: String,
    /// What to do about it.
    #[serde(default)]
    pub remedy: String,
}
