//! The hub: devices, one bootstrap config, conditions, and the claim of a tick (DESIGN §11).

use jiff::Timestamp;
use model::{
    BootstrapConfig, BootstrapDraft, Claim, Condition, ConditionPost, Device, DeviceId, DevicePatch,
    DeviceStatus, NodeName, NodeSource, PollPost, PrincipalId, Role, SiteId, UserData,
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::Reply;

/// The hub's rows of the site.
#[derive(Debug)]
pub(crate) struct Fake {
    /// The site's devices.
    pub(crate) devices: Vec<Device>,
    /// The row of role `gpu`.
    pub(crate) config: BootstrapConfig,
    /// The site's conditions.
    pub(crate) conditions: Vec<Condition>,
    /// The newest tick that was claimed.
    pub(crate) tick: Timestamp,
    /// The newest tick that was good.
    pub(crate) good_at: Option<Timestamp>,
    rev: u64,
}

impl Default for Fake {
    fn default() -> Self {
        Self {
            devices: Vec::new(),
            config: config(NodeSource::Registers),
            conditions: Vec::new(),
            tick: Timestamp::UNIX_EPOCH,
            good_at: None,
            rev: 1,
        }
    }
}

fn site() -> SiteId {
    SiteId::parse("lab").unwrap()
}

/// The row of role `gpu`.
pub(crate) fn config(node_source: NodeSource) -> BootstrapConfig {
    BootstrapConfig {
        id: "c-1".to_owned(),
        site_id: site(),
        draft: BootstrapDraft {
            device_role: "gpu".to_owned(),
            image: Some("image-1".to_owned()),
            flavor: Some("flavor-1".to_owned()),
            features: vec!["h100".to_owned()],
            gres: "gpu:h100:4".to_owned(),
            user_data: Some(UserData::encode(b"#!/bin/sh\n: fleet_slurm_conf\n")),
            node_source,
        },
        revision: 7,
        updated_at: Timestamp::UNIX_EPOCH,
        updated_by: PrincipalId::parse("hpc").unwrap(),
    }
}

/// A device of role `gpu` on machine `<name>.rack`.
pub(crate) fn device(id: &str, name: &str) -> Device {
    Device {
        id: DeviceId::parse(id).unwrap(),
        site_id: site(),
        name: name.to_owned(),
        role: Role::parse("gpu").unwrap(),
        slurm_node_name: None,
        nova_host: Some(format!("{name}.rack")),
        server_id: None,
        status: DeviceStatus::Free,
        conditions: Vec::new(),
    }
}

impl Fake {
    /// As many devices as names, `d-<name>`.
    pub(crate) fn with_devices(&mut self, names: &[&str]) {
        self.devices = names.iter().map(|n| device(&format!("d-{n}"), n)).collect();
    }

    /// The device's node name is this, whatever it is called.
    pub(crate) fn rename(&mut self, at: usize, node: &str) {
        self.devices[at].slurm_node_name = Some(NodeName::parse(node).unwrap());
    }

    /// Every condition as `device type status reason`, in order.
    pub(crate) fn verdicts(&self) -> Vec<String> {
        let line = |c: &Condition| {
            let (status, reason) = (c.observed.status.as_str(), &c.observed.reason);
            format!("{} {} {status} {reason}", c.device_id, c.kind.as_str())
        };
        let mut lines: Vec<String> = self.conditions.iter().map(line).collect();
        lines.sort_unstable();
        lines
    }

    pub(super) fn answer(&mut self, method: &str, path: &[&str], body: &Value) -> Reply {
        match (method, path) {
            ("GET", ["sites", "lab", "devices"]) => (200, json!({"items": self.devices})),
            ("PATCH", ["devices", id]) => self.patch(id, body),
            ("GET", ["sites", "lab", "slurm-bootstrap-configs"]) => (200, json!({"items": [self.config]})),
            ("GET", ["sites", "lab", "device-conditions"]) => (200, json!({"items": self.conditions})),
            ("POST", ["sites", "lab", "device-conditions"]) => self.post(body),
            ("POST", ["sites", "lab", "polls"]) => self.poll(body),
            _ => (404, Value::Null),
        }
    }

    fn patch(&mut self, id: &str, body: &Value) -> Reply {
        let patch: DevicePatch = serde_json::from_value(body.clone()).unwrap();
        let device = self.devices.iter_mut().find(|d| d.id.as_str() == id).unwrap();
        if let Some(server) = patch.server_id {
            device.server_id = server;
        }
        self.rev += 1;
        (200, json!(device))
    }

    fn poll(&mut self, body: &Value) -> Reply {
        let post: PollPost = serde_json::from_value(body.clone()).unwrap();
        if post.tick < self.tick {
            return overtaken();
        }
        self.tick = post.tick;
        if post.good {
            self.good_at = Some(post.tick);
        }
        let claim = Claim { incarnation: Uuid::nil(), rev: self.rev, devices_rev: 1, good_at: self.good_at };
        (200, json!(claim))
    }

    fn post(&mut self, body: &Value) -> Reply {
        let post: ConditionPost = serde_json::from_value(body.clone()).unwrap();
        if post.tick < self.tick {
            return overtaken();
        }
        let mut results = Vec::new();
        for row in post.rows {
            let stored =
                self.conditions.iter().position(|c| (&c.device_id, c.kind) == (&row.device_id, row.kind));
            let before = stored.map(|at| self.conditions.remove(at));
            let since = |same: bool, at: Timestamp| if same { at } else { post.tick };
            let same_status = before.as_ref().is_some_and(|b| b.observed.status == row.observed.status);
            let same_reason = before.as_ref().is_some_and(|b| b.observed.reason == row.observed.reason);
            let (moved, reasoned) =
                before.map_or((post.tick, post.tick), |b| (b.last_transition_time, b.reason_since));
            self.conditions.push(Condition {
                device_id: row.device_id.clone(),
                kind: row.kind,
                observed: row.observed,
                observed_at: post.tick,
                last_transition_time: since(same_status, moved),
                reason_since: since(same_reason, reasoned),
            });
            results.push(json!({"device_id": row.device_id, "type": row.kind, "result": "written"}));
        }
        self.rev += 1;
        (200, json!({"results": results}))
    }
}

fn overtaken() -> Reply {
    let kind = "urn:fleet:problem:tick-overtaken";
    (409, json!({"type": kind, "title": "a newer tick was claimed", "status": 409}))
}
