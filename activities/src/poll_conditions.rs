//! Poll: turns SLURM's node states into the conditions of the hub's devices, right in any company
//! (DESIGN §11).
//!
//! *Invariant*: after a claim of tick t no older tick can write; rows that are compared in t were
//! confirmed by the hub after the claim; [`evaluate`] has no memory. So a tick that ends well
//! leaves the hub equal to what it saw, whoever ran it, and the cache here only saves reads.

mod cache;
mod sight;

use std::collections::{BTreeMap, HashMap};

use clients::slurm::Node;
use jiff::Timestamp;
use model::{
    Claim, Condition, ConditionPost, ConditionRow, ConditionType, Device, DeviceId, NodeName, RowResult,
};
use tokio::sync::Mutex;

use crate::conditions::{Sight, Verdict, evaluate, unknown_tokens};
use crate::{Attempt, Code, Failure, World};
use cache::Cache;
use sight::{Eyes, Seen};

/// Rows a post.
const ROWS: usize = 500;

/// What a tick came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// SLURM was seen, and the hub holds what was seen.
    Seen,
    /// SLURM could not be seen.
    Blind,
    /// A newer tick had been claimed.
    Overtaken,
    /// Another tick was still running in this process.
    Busy,
}

/// A tick in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// What it came to.
    pub end: End,
    /// Devices of the site.
    pub devices: usize,
    /// Nodes that SLURM listed.
    pub nodes: usize,
    /// Rows written.
    pub written: usize,
    /// Devices that have no node.
    pub devices_without_node: usize,
    /// Nodes that no device claims.
    pub nodes_without_device: usize,
    /// Devices that share a node's name.
    pub devices_in_conflict: usize,
    /// State tokens that are not known.
    pub unknown_tokens: usize,
}

impl Outcome {
    fn of(end: End) -> Self {
        Self {
            end,
            devices: 0,
            nodes: 0,
            written: 0,
            devices_without_node: 0,
            nodes_without_device: 0,
            devices_in_conflict: 0,
            unknown_tokens: 0,
        }
    }
}

/// The poller of a process: what it may keep from tick to tick.
#[derive(Debug, Default)]
pub struct Poller {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    cache: Cache,
    eyes: Eyes,
}

impl Poller {
    /// One tick.
    ///
    /// # Errors
    /// What keeps the hub from answering; `slurm.naming_or_api_changed` when most of the site's
    /// nodes vanished at once: nothing is concluded then.
    pub async fn poll(&self, world: &World, attempt: &Attempt) -> Result<Outcome, Failure> {
        let Ok(mut state) = self.state.try_lock() else { return Ok(Outcome::of(End::Busy)) };
        let State { cache, eyes } = &mut *state;
        tick(world, attempt, cache, eyes).await.map_err(|f| f.in_step(attempt.current()))
    }
}

async fn tick(
    world: &World,
    attempt: &Attempt,
    cache: &mut Cache,
    eyes: &mut Eyes,
) -> Result<Outcome, Failure> {
    let t = attempt.started;
    attempt.step("claim", Code::HubUnavailable)?;
    let Some(claim) = world.hub.claim(t).await? else { return Ok(Outcome::of(End::Overtaken)) };
    if cache.is_due_for_resync(t) {
        cache.forget_all(t);
        *eyes = Eyes::default();
        world.slurm.forget_dialect();
    }
    attempt.step("read_hub", Code::HubUnavailable)?;
    cache.refresh(world, &claim, t).await?;
    let roll = Roll::call(world, &cache.devices);

    attempt.step("look", Code::SlurmUnavailable)?;
    let seen = eyes.look(world, &roll.nodes(), &cache.known_absent(&roll)).await;
    let vanished = seen.as_ref().ok().and_then(|seen| mass_vanishing(&roll, cache, seen));
    let (verdicts, mut outcome) = match &seen {
        Ok(seen) if vanished.is_none() => (judge(&roll, cache, seen, t), count(&roll, seen)),
        Ok(_) => (blind(world, &roll, &claim, t), Outcome::of(End::Blind)),
        Err(error) => {
            tracing::warn!(error = %error, "SLURM could not be seen");
            (blind(world, &roll, &claim, t), Outcome::of(End::Blind))
        }
    };
    outcome.devices = cache.devices.len();
    outcome.devices_in_conflict = roll.in_conflict;

    attempt.step("write", Code::HubUnavailable)?;
    let rows = differing(&verdicts, cache);
    if !rows.is_empty() {
        // before the write: also when this future is dropped in the middle of it
        cache.forget_conditions();
    }
    let Some(written) = write(world, t, rows).await? else { return Ok(Outcome::of(End::Overtaken)) };
    outcome.written = written;
    if let Some(failure) = vanished {
        return Err(failure);
    }
    if outcome.end == End::Seen && world.hub.mark_good(t).await?.is_none() {
        return Ok(Outcome::of(End::Overtaken));
    }
    Ok(outcome)
}

/// Which device is which node.
struct Roll {
    of_device: BTreeMap<DeviceId, NodeName>,
    in_conflict: usize,
}

impl Roll {
    /// Devices that share a node, or whose node has no valid name, are reported and left alone.
    fn call(world: &World, devices: &[Device]) -> Self {
        let mut by_node: BTreeMap<NodeName, Vec<&DeviceId>> = BTreeMap::new();
        let mut in_conflict = 0;
        for device in devices {
            match world.site.node_template.node_of(device) {
                Ok(node) => by_node.entry(node).or_default().push(&device.id),
                Err(invalid) => {
                    in_conflict += 1;
                    tracing::warn!(device = %device.id, %invalid, "device has no valid node name");
                }
            }
        }
        let mut of_device = BTreeMap::new();
        for (node, devices) in by_node {
            if let [one] = devices.as_slice() {
                of_device.insert((*one).clone(), node);
            } else {
                in_conflict += devices.len();
                let devices: Vec<String> = devices.iter().map(ToString::to_string).collect();
                tracing::warn!(node = %node, devices = devices.join(","), "devices share a node");
            }
        }
        Self { of_device, in_conflict }
    }

    fn nodes(&self) -> Vec<NodeName> {
        self.of_device.values().cloned().collect()
    }
}

fn judge(roll: &Roll, cache: &Cache, seen: &Seen, t: Timestamp) -> Vec<(DeviceId, Verdict)> {
    let verdict = |(device, node): (&DeviceId, &NodeName)| {
        let rows = cache.rows_of(device);
        let sight = seen.nodes.get(node).map_or(Sight::Absent, Sight::Node);
        (device.clone(), evaluate(rows, node, sight, &seen.partitions, t))
    };
    // a node that could not be read is neither there nor absent
    roll.of_device.iter().filter(|(_, n)| !seen.unreadable.contains(*n)).map(verdict).collect()
}

/// A blind tick says only that nothing has been seen for too long.
fn blind(world: &World, roll: &Roll, claim: &Claim, t: Timestamp) -> Vec<(DeviceId, Verdict)> {
    let stale = claim
        .good_at
        .is_some_and(|good| t.duration_since(good).unsigned_abs() >= world.site.stale_after && t >= good);
    if !stale {
        return Vec::new();
    }
    roll.of_device.keys().map(|d| (d.clone(), Verdict::unreachable())).collect()
}

/// When most of the site's members are gone at once, naming or the API has changed, not the site: the
/// tick is blind, and fails loudly.
fn mass_vanishing(roll: &Roll, cache: &Cache, seen: &Seen) -> Option<Failure> {
    const FEW: usize = 3;
    let member = |d: &DeviceId| cache.is_member(d);
    let members: Vec<&NodeName> = roll.of_device.iter().filter(|(d, _)| member(d)).map(|(_, n)| n).collect();
    let shown = |n: &NodeName| seen.nodes.contains_key(n) || seen.unreadable.contains(n);
    let vanished = members.iter().filter(|n| !shown(n)).count();
    if vanished <= FEW || vanished * 2 <= members.len() {
        return None;
    }
    let message = format!("{vanished} of the site's {} nodes vanished at once", members.len());
    let remedy = "compare the hub's names with SLURM's; nothing was concluded";
    Some(Failure::needs_human(Code::NamingOrApiChanged, message, remedy).in_step("look"))
}

fn count(roll: &Roll, seen: &Seen) -> Outcome {
    let claimed: HashMap<&NodeName, ()> = roll.of_device.values().map(|n| (n, ())).collect();
    let unknown = |n: &Node| unknown_tokens(&n.tokens).len();
    Outcome {
        nodes: seen.nodes.len(),
        devices_without_node: roll.of_device.values().filter(|n| !seen.nodes.contains_key(*n)).count(),
        nodes_without_device: seen.nodes.keys().filter(|n| !claimed.contains_key(n)).count(),
        unknown_tokens: seen.nodes.values().map(unknown).sum(),
        ..Outcome::of(End::Seen)
    }
}

fn differing(verdicts: &[(DeviceId, Verdict)], cache: &Cache) -> Vec<ConditionRow> {
    let mut rows = Vec::new();
    for (device, verdict) in verdicts {
        for kind in ConditionType::ALL {
            let stored = cache.rows_of(device).iter().find(|r: &&Condition| r.kind == kind);
            let observed = verdict.of(kind);
            if stored.is_none_or(|s| s.observed != *observed) {
                rows.push(ConditionRow { device_id: device.clone(), kind, observed: observed.clone() });
            }
        }
    }
    rows
}

/// How many rows were written; `None` when a newer tick was claimed meanwhile.
async fn write(world: &World, t: Timestamp, rows: Vec<ConditionRow>) -> Result<Option<usize>, Failure> {
    let mut written = 0;
    for part in rows.chunks(ROWS) {
        let post = ConditionPost { tick: t, rows: part.to_vec() };
        let Some(results) = world.hub.post_conditions(&post).await? else { return Ok(None) };
        written += results.iter().filter(|r| r.result == RowResult::Written).count();
    }
    Ok(Some(written))
}
