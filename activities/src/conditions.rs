//! From a node's state to a device's conditions: pure, and a table (DESIGN §6).
//!
//! *Invariant*: no memory. Grace lives in the row's own reason and `reason_since`, so that whoever
//! runs the next tick comes to the same answer.

use std::time::Duration;

use clients::slurm::{Node, Partition, Tokens};
use jiff::Timestamp;
use model::{Condition, ConditionType, NodeName, Observed, Owner, Status};

/// A node may be UNKNOWN or NOT_RESPONDING for so long before anything is concluded.
pub const GRACE: Duration = Duration::from_secs(90);
/// A node may be COMPLETING for so long.
pub const STUCK_COMPLETING: Duration = Duration::from_secs(600);

/// Tokens that the table below uses, or that say nothing about work. Others are kept, named in the
/// message, and counted.
const KNOWN: [&str; 32] = [
    "ALLOCATED",
    "BLOCKED",
    "CLOUD",
    "COMPLETING",
    "DOWN",
    "DRAIN",
    "DYNAMIC_FUTURE",
    "DYNAMIC_NORM",
    "ERROR",
    "EXTERNAL",
    "FAIL",
    "FUTURE",
    "IDLE",
    "INVALID",
    "INVALID_REG",
    "MAINTENANCE",
    "MIXED",
    "NOT_RESPONDING",
    "PLANNED",
    "POWERED_DOWN",
    "POWERING_DOWN",
    "POWERING_UP",
    "POWER_DOWN",
    "POWER_DRAIN",
    "POWER_UP",
    "REBOOT_CANCELED",
    "REBOOT_ISSUED",
    "REBOOT_REQUESTED",
    "RESERVED",
    "RESUME",
    "UNDRAIN",
    "UNKNOWN",
];

/// What a tick saw of one device's node.
#[derive(Debug, Clone, Copy)]
pub enum Sight<'a> {
    /// slurmctld shows it.
    Node(&'a Node),
    /// It is neither in the full list nor has slurmctld it by its own GET.
    Absent,
}

/// The two conditions of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// `SlurmMember`.
    pub member: Observed,
    /// `SlurmSchedulable`.
    pub schedulable: Observed,
}

impl Verdict {
    /// The verdict on one condition.
    #[must_use]
    pub fn of(&self, kind: ConditionType) -> &Observed {
        match kind {
            ConditionType::SlurmMember => &self.member,
            ConditionType::SlurmSchedulable => &self.schedulable,
        }
    }

    /// Both unknown, because SLURM could not be seen for longer than the staleness limit.
    #[must_use]
    pub fn unreachable() -> Self {
        let seen = observed(Status::Unknown, "SlurmUnreachable", "SLURM could not be seen");
        Self { member: seen.clone(), schedulable: seen }
    }
}

/// Judges one device: its rows, its node, the partitions, and the tick's time.
#[must_use]
pub fn evaluate(
    rows: &[Condition],
    name: &NodeName,
    sight: Sight<'_>,
    partitions: &[Partition],
    tick: Timestamp,
) -> Verdict {
    let row = |kind| rows.iter().find(|r| r.kind == kind);
    let member_row = row(ConditionType::SlurmMember);
    let schedulable_row = row(ConditionType::SlurmSchedulable);
    match sight {
        Sight::Absent => absent(member_row, schedulable_row, name),
        Sight::Node(node) if node.tokens.has("FUTURE") => Verdict {
            member: observed(Status::False, "Future", &format!("{name} is FUTURE")),
            schedulable: observed(Status::False, "NotMember", &format!("{name} is FUTURE")),
        },
        Sight::Node(node) => Verdict {
            member: observed(Status::True, "Known", &format!("SLURM knows {name}")),
            schedulable: schedulable(schedulable_row, node, partitions, tick),
        },
    }
}

/// The tokens of a node that this release does not know.
#[must_use]
pub fn unknown_tokens(tokens: &Tokens) -> Vec<String> {
    tokens.iter().filter(|t| !KNOWN.contains(t)).map(str::to_owned).collect()
}

/// One tick as pending, so that a node that is just being re-created does not flap.
fn absent(member: Option<&Condition>, schedulable: Option<&Condition>, name: &NodeName) -> Verdict {
    const PENDING: &str = "NotInSlurmPending";
    let message = format!("SLURM has no node {name}");
    let concluded =
        |row: &Condition| [PENDING, "NotInSlurm", "Future"].contains(&row.observed.reason.as_str());
    if member.is_some_and(concluded) {
        return Verdict {
            member: observed(Status::False, "NotInSlurm", &message),
            schedulable: observed(Status::False, "NotMember", &message),
        };
    }
    Verdict {
        member: observed(last_status(member), PENDING, &message),
        schedulable: observed(last_status(schedulable), PENDING, &message),
    }
}

/// The first row of the table that fits.
fn schedulable(row: Option<&Condition>, node: &Node, partitions: &[Partition], tick: Timestamp) -> Observed {
    use Status::{False, True};
    let t = &node.tokens;
    let busy = t.is_busy();
    let say = |status, reason| observed(status, reason, &describe(node));
    if t.has("EXTERNAL") {
        return say(False, "External");
    }
    if t.has("INVALID_REG") {
        return say(False, "InvalidRegistration");
    }
    if t.any(&["ERROR", "INVALID"]) {
        return say(False, "StateError");
    }
    let closed_for_reboot = t.has("REBOOT_REQUESTED") && (t.is_draining() || t.has("DOWN")) && !busy;
    if node.reason.contains("reboot timed out") && t.has("DOWN") {
        return say(False, "RebootTimedOut");
    }
    if t.has("REBOOT_ISSUED") || closed_for_reboot {
        return say(False, "Rebooting");
    }
    if t.has("DOWN") {
        let reason = match (t.has("POWERED_DOWN"), t.has("NOT_RESPONDING")) {
            (true, _) => "PoweredDown",
            (false, true) => "NotResponding",
            (false, false) => "Down",
        };
        return say(False, reason);
    }
    if t.has("FAIL") {
        return say(False, if busy { "Failing" } else { "Failed" });
    }
    if t.is_draining() {
        return say(False, if busy { "Draining" } else { "Drained" });
    }
    if t.has("UNKNOWN") {
        return graced(row, node, tick, "StateUnknownGrace", Status::Unknown, "StateUnknown");
    }
    if t.has("NOT_RESPONDING") && !t.any(&["POWERING_UP", "POWER_UP", "POWERED_DOWN"]) {
        return graced(row, node, tick, "NotRespondingGrace", False, "NotResponding");
    }
    let mut of = partitions.iter().filter(|p| p.holds(node)).peekable();
    if of.peek().is_none() && node.partitions.is_empty() {
        return say(False, "NoPartition");
    }
    if !of.any(|p| p.up) {
        return say(False, "PartitionDown");
    }
    if t.has("MAINTENANCE") {
        return say(False, "Maintenance");
    }
    if t.any(&["POWERING_DOWN", "POWER_DOWN"]) {
        return say(False, "PoweringDown");
    }
    if t.any(&["POWERING_UP", "POWER_UP"]) {
        return say(True, "PoweringUp");
    }
    if t.has("POWERED_DOWN") {
        return say(True, "PoweredDown");
    }
    let named = [
        ("BLOCKED", "Blocked"),
        ("REBOOT_REQUESTED", "RebootRequested"),
        ("PLANNED", "Planned"),
        ("RESERVED", "Reserved"),
    ];
    if let Some((_, reason)) = named.into_iter().find(|(token, _)| t.has(token)) {
        return say(True, reason);
    }
    if t.has("COMPLETING") && !t.any(&["ALLOCATED", "MIXED"]) {
        return completing(row, node, tick);
    }
    say(True, if busy { "InUse" } else { "Idle" })
}

/// The row's last status for a while, then `then`.
fn graced(
    row: Option<&Condition>,
    node: &Node,
    tick: Timestamp,
    grace: &str,
    status: Status,
    then: &str,
) -> Observed {
    let message = describe(node);
    match row {
        Some(r) if r.observed.reason == then => observed(status, then, &message),
        Some(r) if r.observed.reason == grace && age(r, tick) >= GRACE => observed(status, then, &message),
        row => observed(last_status(row), grace, &message),
    }
}

/// COMPLETING is `InUse` until it takes too long.
fn completing(row: Option<&Condition>, node: &Node, tick: Timestamp) -> Observed {
    let message = describe(node);
    match row {
        Some(r) if r.observed.reason == "StuckCompleting" => {
            observed(Status::False, "StuckCompleting", &message)
        }
        Some(r) if r.observed.reason == "Completing" && age(r, tick) >= STUCK_COMPLETING => {
            observed(Status::False, "StuckCompleting", &message)
        }
        _ => observed(Status::True, "Completing", &message),
    }
}

fn last_status(row: Option<&Condition>) -> Status {
    row.map_or(Status::Unknown, |r| r.observed.status)
}

fn age(row: &Condition, tick: Timestamp) -> Duration {
    Duration::try_from(tick.duration_since(row.reason_since)).unwrap_or(Duration::ZERO)
}

/// State, and the reason while it means something. No counter and no time.
fn describe(node: &Node) -> String {
    let mut text = format!("{} is {}", node.name, node.tokens);
    if node.tokens.is_closed() && !node.reason.is_empty() {
        text = format!("{text}: {}", node.reason);
    }
    if let Some(request) = Owner::lost(node.tokens.is_closed(), &node.extra) {
        text = format!("{text} (mark lost: {request} has closed it, and it is open)");
    }
    let unknown = unknown_tokens(&node.tokens);
    if !unknown.is_empty() {
        text = format!("{text} (unknown to this release: {})", unknown.join(", "));
    }
    // a reason has no limit in SLURM: 5 MB were accepted (facts: slurm §4)
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(500).collect()
}

fn observed(status: Status, reason: &str, message: &str) -> Observed {
    Observed { status, reason: reason.to_owned(), message: message.to_owned() }
}
