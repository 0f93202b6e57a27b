//! What is true everywhere: ids, node names, features, GRES, user-data, drain reasons, conditions,
//! the shapes of the hub's rows, and their parsers. Hub and worker validate with the same code.
//!
//! *Invariant*: no I/O, no clock, no Temporal, no protobuf. A value that exists is valid; what a
//! person typed wrongly becomes an [`Invalid`] that names the field and the remedy.

mod bootstrap;
pub mod burn_in;
mod condition;
mod device;
mod features;
mod gres;
pub mod hostlist;
mod ids;
mod invalid;
mod node_name;
mod poll;
mod problem;
mod reason;
mod user_data;
mod workflow;

pub use bootstrap::{BootstrapConfig, BootstrapDraft, Complete, Incomplete, NodeSource};
pub use condition::{
    Condition, ConditionPost, ConditionResult, ConditionRow, ConditionType, Observed, RowResult, Status,
};
pub use device::{Device, DevicePage, DevicePatch, DeviceStatus};
pub use features::Features;
pub use gres::Gres;
pub use ids::{Actor, DeviceId, PrincipalId, RequestId, Role, ServerId, SiteId};
pub use invalid::Invalid;
pub use node_name::{NodeName, NodeTemplate};
pub use poll::{Claim, PollPost};
pub use problem::Problem;
pub use reason::{DrainReason, Mark, Owner, Verb};
pub use user_data::UserData;
pub use workflow::{AtDeadline, FailureView, Progress, RunStatus, RunView, StartRequest, check_tests};
