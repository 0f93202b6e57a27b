//! What a poller keeps of the hub between ticks: reads saved, never knowledge of its own.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use jiff::Timestamp;
use model::{Claim, Condition, ConditionType, Device, DeviceId, NodeName, Status};
use uuid::Uuid;

use super::Roll;
use crate::{Failure, World};

/// The device list is read again after so long, whatever its revision.
const DEVICES: Duration = Duration::from_secs(5 * 60);
/// Everything is read again after so long.
const RESYNC: Duration = Duration::from_secs(15 * 60);

#[derive(Debug, Default)]
pub(super) struct Cache {
    pub(super) devices: Vec<Device>,
    devices_at: Option<(Uuid, u64, Timestamp)>,
    conditions: BTreeMap<DeviceId, Vec<Condition>>,
    conditions_at: Option<(Uuid, u64)>,
    resynced: Option<Timestamp>,
}

impl Cache {
    pub(super) fn is_due_for_resync(&self, t: Timestamp) -> bool {
        self.resynced.is_none_or(|at| older_than(at, t, RESYNC))
    }

    pub(super) fn forget_all(&mut self, t: Timestamp) {
        *self = Self { resynced: Some(t), ..Self::default() };
    }

    /// After a write or a lost answer nobody knows which revision the rows are of.
    pub(super) fn forget_conditions(&mut self) {
        self.conditions_at = None;
    }

    /// Reads what the claim says has moved. A list that breaks off is an error: the old one stays.
    pub(super) async fn refresh(
        &mut self,
        world: &World,
        claim: &Claim,
        t: Timestamp,
    ) -> Result<(), Failure> {
        let fresh = |(incarnation, rev, at)| {
            (incarnation, rev) == (claim.incarnation, claim.devices_rev) && !older_than(at, t, DEVICES)
        };
        if !self.devices_at.is_some_and(fresh) {
            self.devices = world.hub.devices().await?;
            self.devices_at = Some((claim.incarnation, claim.devices_rev, t));
        }
        if self.conditions_at != Some((claim.incarnation, claim.rev)) {
            let mut conditions: BTreeMap<DeviceId, Vec<Condition>> = BTreeMap::new();
            for row in world.hub.conditions().await? {
                conditions.entry(row.device_id.clone()).or_default().push(row);
            }
            self.conditions = conditions;
            self.conditions_at = Some((claim.incarnation, claim.rev));
        }
        Ok(())
    }

    pub(super) fn rows_of(&self, device: &DeviceId) -> &[Condition] {
        self.conditions.get(device).map(Vec::as_slice).unwrap_or_default()
    }

    /// The hub holds it as a member.
    pub(super) fn is_member(&self, device: &DeviceId) -> bool {
        let holds = |r: &Condition| r.kind == ConditionType::SlurmMember && r.observed.status == Status::True;
        self.rows_of(device).iter().any(holds)
    }

    /// Nodes whose absence is already concluded: it need not be proven again at every tick.
    pub(super) fn known_absent(&self, roll: &Roll) -> HashSet<NodeName> {
        let concluded = |r: &Condition| r.observed.reason == "NotInSlurm";
        let absent =
            |(d, n): (&DeviceId, &NodeName)| self.rows_of(d).iter().any(concluded).then(|| n.clone());
        roll.of_device.iter().filter_map(absent).collect()
    }
}

fn older_than(at: Timestamp, t: Timestamp, limit: Duration) -> bool {
    t < at || t.duration_since(at).unsigned_abs() >= limit
}
