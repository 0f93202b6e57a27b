//! The two conditions of a device, and their rows on the hub.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::DeviceId;

/// Which condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ConditionType {
    /// True: the scheduler knows the device's node. False does not mean that the machine is off.
    SlurmMember,
    /// True: the scheduler can place work on the device's node, now or by waking it. False does
    /// not mean broken: the reason says whether somebody closed it.
    SlurmSchedulable,
}

impl ConditionType {
    /// Both, in the order in which they are written.
    pub const ALL: [Self; 2] = [Self::SlurmMember, Self::SlurmSchedulable];

    /// The name on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SlurmMember => "SlurmMember",
            Self::SlurmSchedulable => "SlurmSchedulable",
        }
    }
}

/// A condition's status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// It could not be seen.
    Unknown,
}

impl Status {
    /// The name on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// What a poll says of one condition: everything of a row that the poller decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observed {
    /// The status.
    pub status: Status,
    /// A CamelCase word of the condition table, such as `Idle`.
    pub reason: String,
    /// For people. Holds no counter and no time that moves, so that an unchanged node writes
    /// nothing.
    pub message: String,
}

/// One condition of one device, as the hub serves it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// Whose.
    pub device_id: DeviceId,
    /// Which.
    #[serde(rename = "type")]
    pub kind: ConditionType,
    /// What was last written, or `Unknown/PollerSilent` where no poll came for too long.
    #[serde(flatten)]
    pub observed: Observed,
    /// The tick that wrote it.
    pub observed_at: Timestamp,
    /// When `status` last changed. Computed by the hub.
    pub last_transition_time: Timestamp,
    /// When `reason` last changed. Computed by the hub; grace periods count from it.
    pub reason_since: Timestamp,
}

/// One row of `POST …/device-conditions/`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConditionRow {
    /// Whose.
    pub device_id: DeviceId,
    /// Which.
    #[serde(rename = "type")]
    pub kind: ConditionType,
    /// What was seen.
    #[serde(flatten)]
    pub observed: Observed,
}

/// `POST …/device-conditions/`: at most 500 rows, all seen by one tick.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConditionPost {
    /// The tick's start on Temporal's clock. An older one than the highest claimed is refused
    /// whole, with 409.
    pub tick: Timestamp,
    /// What it saw.
    pub rows: Vec<ConditionRow>,
}

/// What became of one posted row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConditionResult {
    /// Whose.
    pub device_id: DeviceId,
    /// Which.
    #[serde(rename = "type")]
    pub kind: ConditionType,
    /// `written`, `unchanged`, or why it was refused.
    pub result: RowResult,
}

/// The outcome of one row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowResult {
    /// Stored, and different from what was there.
    Written,
    /// As it was; nothing stored.
    Unchanged,
    /// No such device at this site.
    UnknownDevice,
}
