//! A device, as the hub serves it.

use serde::{Deserialize, Serialize};

use crate::{Condition, ConditionType, DeviceId, NodeName, Role, ServerId, SiteId, Status};

/// A machine that the hub knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// The hub's id.
    pub id: DeviceId,
    /// Where it stands.
    pub site_id: SiteId,
    /// What people call it.
    pub name: String,
    /// The key of its bootstrap config.
    pub role: Role,
    /// Its node's name where it differs from what the site's template makes of it.
    #[serde(default)]
    pub slurm_node_name: Option<NodeName>,
    /// The hypervisor hostname of its machine in Nova.
    #[serde(default)]
    pub nova_host: Option<String>,
    /// Its server, once adopted. Written by the satellite.
    #[serde(default)]
    pub server_id: Option<ServerId>,
    /// Derived, never stored.
    pub status: DeviceStatus,
    /// Its conditions; empty before the first poll that saw it.
    #[serde(default)]
    pub conditions: Vec<Condition>,
}

/// What people look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceStatus {
    /// Not adopted.
    Free,
    /// Adopted, not yet member and schedulable.
    Validation,
    /// Member and schedulable.
    Ready,
    /// It was ready, and is not now.
    Degraded,
}

impl DeviceStatus {
    /// The name on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Validation => "validation",
            Self::Ready => "ready",
            Self::Degraded => "degraded",
        }
    }

    /// Derives it. `was_ready`: since its adoption both conditions have once been True together.
    ///
    /// A node that SLURM's power saving puts to sleep is not degraded: the scheduler wakes it.
    #[must_use]
    pub fn derive(adopted: bool, was_ready: bool, conditions: &[Condition]) -> Self {
        let of = |kind| conditions.iter().find(|c| c.kind == kind).map(|c| &c.observed);
        let holds = |kind| of(kind).is_some_and(|o| o.status == Status::True);
        let powering_down = of(ConditionType::SlurmSchedulable).is_some_and(|o| o.reason == "PoweringDown");
        if !adopted {
            Self::Free
        } else if ConditionType::ALL.into_iter().all(holds)
            || (was_ready && powering_down && holds(ConditionType::SlurmMember))
        {
            Self::Ready
        } else if was_ready {
            Self::Degraded
        } else {
            Self::Validation
        }
    }
}

/// `PATCH /api/v1/devices/{device_id}`. A field that is absent is kept; `null` clears it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DevicePatch {
    /// The node's name.
    #[serde(default, with = "present", skip_serializing_if = "Option::is_none")]
    pub slurm_node_name: Option<Option<NodeName>>,
    /// The server.
    #[serde(default, with = "present", skip_serializing_if = "Option::is_none")]
    pub server_id: Option<Option<ServerId>>,
}

/// One page of `GET …/devices/`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DevicePage {
    /// The devices, by id.
    pub items: Vec<Device>,
    /// Pass it as `cursor` for the next page; absent on the last one.
    #[serde(default)]
    pub next_cursor: Option<String>,
}

/// Tells `null` from absent.
mod present {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer, T: Serialize>(
        value: &Option<Option<T>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.as_ref().and_then(Option::as_ref).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
        deserializer: D,
    ) -> Result<Option<Option<T>>, D::Error> {
        Option::<T>::deserialize(deserializer).map(Some)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Observed;

    pub(crate) fn device(id: &str) -> Device {
        Device {
            id: DeviceId::parse(id).unwrap(),
            site_id: SiteId::parse("lab").unwrap(),
            name: id.to_owned(),
            role: Role::parse("gpu").unwrap(),
            slurm_node_name: None,
            nova_host: None,
            server_id: None,
            status: DeviceStatus::Free,
            conditions: Vec::new(),
        }
    }

    fn conditions(member: Status, schedulable: Status, reason: &str) -> Vec<Condition> {
        let at = jiff::Timestamp::UNIX_EPOCH;
        let row = |kind, status| Condition {
            device_id: DeviceId::parse("d").unwrap(),
            kind,
            observed: Observed { status, reason: reason.to_owned(), message: String::new() },
            observed_at: at,
            last_transition_time: at,
            reason_since: at,
        };
        vec![row(ConditionType::SlurmMember, member), row(ConditionType::SlurmSchedulable, schedulable)]
    }

    #[test]
    fn status_is_derived() {
        use Status::{False, True, Unknown};
        let derive = DeviceStatus::derive;
        assert_eq!(derive(false, false, &[]), DeviceStatus::Free);
        assert_eq!(derive(false, true, &conditions(True, True, "Idle")), DeviceStatus::Free);
        assert_eq!(derive(true, false, &[]), DeviceStatus::Validation);
        assert_eq!(derive(true, false, &conditions(True, False, "Drained")), DeviceStatus::Validation);
        assert_eq!(derive(true, false, &conditions(True, True, "Idle")), DeviceStatus::Ready);
        assert_eq!(derive(true, true, &conditions(True, False, "Drained")), DeviceStatus::Degraded);
        assert_eq!(
            derive(true, true, &conditions(Unknown, Unknown, "SlurmUnreachable")),
            DeviceStatus::Degraded
        );
        assert_eq!(derive(true, true, &conditions(True, False, "PoweringDown")), DeviceStatus::Ready);
    }

    #[test]
    fn a_patch_tells_null_from_absent() {
        let patch: DevicePatch = serde_json::from_str(r#"{"server_id":null}"#).unwrap();
        assert_eq!(patch, DevicePatch { slurm_node_name: None, server_id: Some(None) });
        assert_eq!(serde_json::to_string(&patch).unwrap(), r#"{"server_id":null}"#);
        assert_eq!(serde_json::to_string(&DevicePatch::default()).unwrap(), "{}");
    }
}
