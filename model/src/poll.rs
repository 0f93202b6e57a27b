//! The claim of a tick (DESIGN §11).

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// `POST …/polls/`: claims a tick, or says that it ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PollPost {
    /// The tick's start on Temporal's clock.
    pub tick: Timestamp,
    /// The tick has seen SLURM and the hub holds what it saw. Never set on a claim.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub good: bool,
}

/// The hub's answer to a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Random at each start of the hub: what was cached before is worth nothing after.
    pub incarnation: Uuid,
    /// Moves with every change of a device or a condition of the site.
    pub rev: u64,
    /// Moves with every change of a device of the site.
    pub devices_rev: u64,
    /// The last tick that ended well; staleness counts from it.
    pub good_at: Option<Timestamp>,
}
