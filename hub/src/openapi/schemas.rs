//! The shapes of [`model`] for the OpenAPI document alone: `model` knows no OpenAPI. A test holds
//! them against what the hub serves.
#![expect(dead_code, reason = "read by their derived schemas")]

use serde_json::Value;
use utoipa::ToSchema;

/// A machine that the hub knows.
#[derive(ToSchema)]
pub(super) struct Device {
    id: String,
    site_id: String,
    name: String,
    /// The key of its bootstrap config.
    role: String,
    #[schema(required)]
    slurm_node_name: Option<String>,
    /// The hypervisor hostname of its machine in Nova.
    #[schema(required)]
    nova_host: Option<String>,
    #[schema(required)]
    server_id: Option<String>,
    status: DeviceStatus,
    conditions: Vec<Condition>,
}

/// Derived, never stored.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(super) enum DeviceStatus {
    Free,
    Validation,
    Ready,
    Degraded,
}

/// A page of devices, by id.
#[derive(ToSchema)]
pub(super) struct DevicePage {
    items: Vec<Device>,
    /// Pass it as `cursor`; null on the last page.
    #[schema(required)]
    next_cursor: Option<String>,
}

/// A field that is absent is kept, null clears it.
#[derive(ToSchema)]
pub(super) struct DevicePatch {
    slurm_node_name: Option<String>,
    /// Another server starts a new adoption.
    server_id: Option<String>,
}

#[derive(ToSchema)]
pub(super) enum ConditionType {
    SlurmMember,
    SlurmSchedulable,
}

#[derive(ToSchema)]
pub(super) enum Status {
    True,
    False,
    Unknown,
}

/// One condition of one device; `Unknown/PollerSilent` where no poll came for too long.
#[derive(ToSchema)]
pub(super) struct Condition {
    device_id: String,
    r#type: ConditionType,
    status: Status,
    /// A CamelCase word.
    reason: String,
    message: String,
    /// The tick that wrote it.
    #[schema(format = DateTime)]
    observed_at: String,
    /// Computed by the hub.
    #[schema(format = DateTime)]
    last_transition_time: String,
    /// Computed by the hub.
    #[schema(format = DateTime)]
    reason_since: String,
}

#[derive(ToSchema)]
pub(super) struct ConditionList {
    items: Vec<Condition>,
}

#[derive(ToSchema)]
pub(super) struct ConditionRow {
    device_id: String,
    r#type: ConditionType,
    status: Status,
    /// A CamelCase word of at most 64 letters and digits.
    reason: String,
    #[schema(max_length = 1024)]
    message: String,
}

/// Rows of one tick.
#[derive(ToSchema)]
pub(super) struct ConditionPost {
    #[schema(format = DateTime)]
    tick: String,
    #[schema(max_items = 500)]
    rows: Vec<ConditionRow>,
}

#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(super) enum RowResult {
    Written,
    Unchanged,
    UnknownDevice,
}

#[derive(ToSchema)]
pub(super) struct ConditionResult {
    device_id: String,
    r#type: ConditionType,
    result: RowResult,
}

/// A result a row, in the order of the rows.
#[derive(ToSchema)]
pub(super) struct ConditionResults {
    results: Vec<ConditionResult>,
}

#[derive(ToSchema)]
pub(super) struct PollPost {
    /// The tick's start on Temporal's clock.
    #[schema(format = DateTime)]
    tick: String,
    /// The tick has seen SLURM and the hub holds what it saw.
    #[schema(default = false)]
    good: Option<bool>,
}

#[derive(ToSchema)]
pub(super) struct Claim {
    /// Random at each start of the hub.
    #[schema(format = "uuid")]
    incarnation: String,
    /// Moves with every change of a device or condition of the site.
    rev: u64,
    /// Moves with every change of a device of the site.
    devices_rev: u64,
    /// The last tick that ended well.
    #[schema(format = DateTime, required)]
    good_at: Option<String>,
}

#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(super) enum NodeSource {
    Static,
    Registers,
    Created,
}

/// What makes a device of a role a SLURM node, as written.
#[derive(ToSchema)]
pub(super) struct BootstrapDraft {
    device_role: String,
    /// Glance image, by id or by a name that one active image alone has; adoption of the role fails while
    /// it is null.
    image: Option<String>,
    /// Nova flavor, by id or name; adoption of the role fails while it is null.
    flavor: Option<String>,
    features: Option<Vec<String>>,
    gres: Option<String>,
    /// cloud-init user-data in strict base64.
    #[schema(max_length = 65532)]
    user_data: Option<String>,
    node_source: NodeSource,
}

/// A row.
#[derive(ToSchema)]
pub(super) struct BootstrapConfig {
    id: String,
    site_id: String,
    device_role: String,
    #[schema(required)]
    image: Option<String>,
    #[schema(required)]
    flavor: Option<String>,
    features: Vec<String>,
    gres: String,
    #[schema(required)]
    user_data: Option<String>,
    node_source: NodeSource,
    revision: u64,
    #[schema(format = DateTime)]
    updated_at: String,
    updated_by: String,
}

#[derive(ToSchema)]
pub(super) struct BootstrapConfigList {
    items: Vec<BootstrapConfig>,
}

#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(super) enum Verb {
    Adopt,
    Release,
    Drain,
    Resume,
    BurnIn,
}

/// What is done with the jobs that are there when a drain's time is up.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(super) enum AtDeadline {
    Fail,
    CancelJobs,
}

#[derive(ToSchema)]
pub(super) struct StartRequest {
    verb: Verb,
    /// One printable line.
    #[schema(max_length = 100)]
    reason: String,
    /// Adopt: plan and stop there.
    #[schema(default = false)]
    dry_run: Option<bool>,
    /// All but drain: go on over what somebody else has closed. Needs `device-workflow:force`.
    #[schema(default = false)]
    force: Option<bool>,
    /// Adopt and resume: open the node without a burn-in.
    #[schema(default = false)]
    skip_burn_in: Option<bool>,
    /// Adopt: how long it may take. Drain and release: how long the jobs on the node may go on. Burn-in:
    /// how long until it starts.
    #[schema(minimum = 1, maximum = 31536000)]
    deadline_seconds: Option<u32>,
    /// Drain and release; absent: `fail`.
    at_deadline: Option<AtDeadline>,
    /// Burn-in: which tests of the site's catalogue; none: those of the site's settings.
    #[schema(max_items = 20)]
    tests: Option<Vec<String>>,
    /// Burn-in: a script in place of the tests, where the site allows it; begins with `#!`.
    #[schema(max_length = 65536)]
    script: Option<String>,
    /// Burn-in: how long the script may take; absent: ten minutes.
    #[schema(minimum = 1, maximum = 31536000)]
    time_limit_seconds: Option<u32>,
}

#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(super) enum RunStatus {
    Running,
    Completed,
    Failed,
    Canceled,
    Terminated,
    TimedOut,
}

/// A run, made of what Temporal says at the moment of asking.
#[derive(ToSchema)]
pub(super) struct RunView {
    run_id: String,
    workflow_id: String,
    device_id: String,
    verb: Verb,
    request_id: String,
    actor: String,
    /// The actor asked that it goes on over what somebody else closed.
    force: Option<bool>,
    /// The actor asked that the node is opened without a burn-in.
    skip_burn_in: Option<bool>,
    status: RunStatus,
    progress: Option<Progress>,
    /// What the workflow returned.
    result: Option<Value>,
    failure: Option<FailureView>,
    #[schema(format = DateTime)]
    started_at: String,
    #[schema(format = DateTime)]
    closed_at: Option<String>,
}

#[derive(ToSchema)]
pub(super) struct Progress {
    step: String,
    waiting_for: String,
    #[schema(format = DateTime)]
    since: String,
    attempt: u32,
}

#[derive(ToSchema)]
pub(super) struct FailureView {
    /// A stable code, such as `bootstrap.incomplete`.
    code: String,
    message: String,
    remedy: String,
}

#[derive(ToSchema)]
pub(super) struct RunList {
    items: Vec<RunView>,
}

/// RFC 9457.
#[derive(ToSchema)]
pub(super) struct Problem {
    /// Stable, such as `urn:fleet:problem:scope-missing`.
    r#type: String,
    title: String,
    status: u16,
    detail: Option<String>,
    /// One a mistake.
    errors: Option<Vec<Invalid>>,
}

#[derive(ToSchema)]
pub(super) struct Invalid {
    field: String,
    position: Option<u64>,
    problem: String,
    remedy: String,
}
