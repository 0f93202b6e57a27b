//! How one API version of one release writes: the recorded objects, over which what they say of themselves
//! goes, and the few answers that differ.
//!
//! *Invariant*: nobody but this module knows which version is spoken.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::envelope::number;
use super::release::Release;
use super::{complex, old};

/// Objects of one API version, as they were recorded.
struct Recorded {
    release: Release,
    version: &'static str,
    node: Value,
    partition: Value,
    job: Value,
    reservation: Value,
    accounted: Value,
}

impl Recorded {
    fn read(release: Release, version: &'static str, [a, b, c, d, e]: [&str; 5]) -> Self {
        let read = |text| serde_json::from_str(text).unwrap_or_default();
        let (node, partition, job) = (read(a), read(b), read(c));
        Self { release, version, node, partition, job, reservation: read(d), accounted: read(e) }
    }
}

macro_rules! recorded {
    ($($file:literal),*) => { [$(include_str!(concat!("../../recorded/", $file))),*] };
}

/// Not recorded, and taken from the release's other version: reservations of v0.0.40, and what slurmdbd says there.
#[rustfmt::skip]
static RECORDED: LazyLock<[Recorded; 5]> = LazyLock::new(|| [
    Recorded::read(Release::V22_05, "v0.0.38", recorded!["22.05/node.json", "22.05/partition.json",
        "22.05/job.json", "22.05/reservation.json", "22.05/accounted.json"]),
    Recorded::read(Release::V24_11, "v0.0.40", recorded!["24.11-v0.0.40/node.json", "24.11-v0.0.40/partition.json",
        "24.11-v0.0.40/job.json", "24.11/reservation.json", "24.11/accounted.json"]),
    Recorded::read(Release::V24_11, "v0.0.42", recorded!["24.11/node.json", "24.11/partition.json",
        "24.11/job.json", "24.11/reservation.json", "24.11/accounted.json"]),
    Recorded::read(Release::V26_05, "v0.0.42", recorded!["26.05-v0.0.42/node.json", "26.05-v0.0.42/partition.json",
        "26.05-v0.0.42/job.json", "26.05-v0.0.42/reservation.json", "26.05-v0.0.42/accounted.json"]),
    Recorded::read(Release::V26_05, "v0.0.45", recorded!["node.json", "partition.json",
        "job.json", "reservation.json", "accounted.json"]),
]);

/// One API version of one release, and how its numbers are written.
#[derive(Clone, Copy)]
pub(super) struct Dialect {
    recorded: &'static Recorded,
    /// slurmrestd was started with `+complex`.
    complex: bool,
}

impl Dialect {
    /// None: it is not imitated.
    pub(super) fn of(release: Release, version: &str, complex: bool) -> Option<Self> {
        let recorded = RECORDED.iter().find(|r| r.release == release && r.version == version)?;
        Some(Self { recorded, complex })
    }

    pub(super) fn release(self) -> Release {
        self.recorded.release
    }

    pub(super) fn version(self) -> &'static str {
        self.recorded.version
    }

    /// `POST new/node/` is served, from v0.0.44 on.
    pub(super) fn makes_nodes(self) -> bool {
        self.version() == "v0.0.45"
    }

    /// Reservations can be made and deleted, from v0.0.43 on.
    pub(super) fn makes_reservations(self) -> bool {
        self.version() == "v0.0.45"
    }

    /// What became of each job that was to be cancelled is told, not so on v0.0.40.
    pub(super) fn tells_cancelled(self) -> bool {
        self.version() != "v0.0.40"
    }

    /// A node, of which `ours` is known.
    pub(super) fn node(self, mut ours: Value) -> Value {
        if self.version() == "v0.0.42"
            && let Some(words) = ours.get_mut("state").and_then(Value::as_array_mut)
        {
            words.retain(|w| w != "BLOCKED" && w != "EXTERNAL");
        }
        self.over(&self.recorded.node, ours, old::node)
    }

    /// A partition, of which `ours` is known.
    pub(super) fn partition(self, ours: Value) -> Value {
        let mut partition = self.over(&self.recorded.partition, ours, old::partition);
        if self.complex {
            complex::unsaid(&mut partition);
        }
        partition
    }

    /// A job, of which `ours` is known.
    pub(super) fn job(self, mut ours: Value) -> Value {
        if self.version() == "v0.0.40"
            && let Some(ours) = ours.as_object_mut()
        {
            // how it writes those of a running job was not recorded
            ours.remove("job_resources");
        }
        self.over(&self.recorded.job, ours, old::job)
    }

    /// A reservation, of which `ours` is known.
    pub(super) fn reservation(self, ours: Value) -> Value {
        self.over(&self.recorded.reservation, ours, old::reservation)
    }

    /// A job as slurmdbd keeps it, of which `ours` is known.
    pub(super) fn accounted(self, mut ours: Value) -> Value {
        if self.version() == "v0.0.45"
            && let Some(ours) = ours.as_object_mut()
        {
            // there, but empty
            ours.remove("association");
        }
        let exit = self.release().is_oldest().then(|| old::accounted_exit(&ours["exit_code"]));
        let mut whole = self.over(&self.recorded.accounted, ours, old::accounted);
        if let Some(exit) = exit {
            whole["exit_code"] = exit;
        }
        whole
    }

    fn over(self, recorded: &Value, ours: Value, old: fn(Value) -> Value) -> Value {
        let ours = if self.release().is_oldest() { old(ours) } else { ours };
        let mut whole = recorded.clone();
        merge(&mut whole, ours);
        self.finished(whole)
    }

    /// A body, its numbers as this one writes them.
    pub(super) fn finished(self, body: Value) -> Value {
        if self.complex { complex::written(body) } else { body }
    }

    /// How a controller in a ping looks.
    pub(super) fn ping(self, up: bool, status: &str) -> Value {
        let mode = if up { "UP" } else { "DOWN" };
        match self.version() {
            "v0.0.40" => json!({"hostname": "ctl", "pinged": mode, "latency": 4302, "mode": "primary"}),
            "v0.0.45" => {
                json!({"hostname": "ctl", "responding": up, "latency": 452, "primary": true, "status": status})
            }
            _ => json!({
                "hostname": "ctl", "pinged": mode, "responding": up, "latency": 452, "mode": "primary",
                "primary": true,
            }),
        }
    }

    /// How slurmdbd in a ping looks.
    pub(super) fn slurmdbd(self, status: &str) -> Value {
        let mut ping = json!({"hostname": "ctl", "responding": true, "latency": 1641, "primary": true});
        if self.version() == "v0.0.45" {
            ping["status"] = json!(status);
        }
        ping
    }

    /// That a job was submitted.
    pub(super) fn submitted(self, id: i64) -> Value {
        let mut body = json!({"job_id": id, "step_id": "batch", "job_submit_user_msg": ""});
        if self.version() == "v0.0.40" {
            body["result"] = body.clone();
            body["result"]["error_code"] = json!(0);
            body["result"]["error"] = json!("No error");
        }
        body
    }

    /// The `meta` of an answer of slurmctld's, or of slurmdbd's.
    pub(super) fn meta(self, accounting: bool, slurmdbd: bool) -> Value {
        let (release, version) = self.release().number();
        if self.release().is_oldest() {
            let of = if slurmdbd {
                ("openapi/dbv0.0.38", "Slurm OpenAPI DB v0.0.38")
            } else {
                ("openapi/v0.0.38", "Slurm OpenAPI v0.0.38")
            };
            return json!({
                "plugin": {"type": of.0, "name": of.1},
                "Slurm": {"version": version, "release": release},
            });
        }
        let plugin = if slurmdbd { "slurmdbd" } else { "slurmctld" };
        let complex = if self.complex { "+complex" } else { "" };
        self.finished(json!({
            "plugin": {
                "type": format!("openapi/{plugin}"),
                "name": format!("Slurm OpenAPI {plugin}"),
                "data_parser": format!("data_parser/{}{complex}", self.version()),
                "accounting_storage": if accounting { "accounting_storage/slurmdbd" } else { "" },
            },
            "client": {"source": "127.0.0.1:6820(fd:9)", "user": "root", "group": "root"},
            "command": [],
            "slurm": {"version": version, "release": release, "cluster": "lab"},
        }))
    }
}

/// Every key of `ours` goes over the same of `recorded`, those of an object one by one; one that was not
/// recorded is not of this version.
fn merge(recorded: &mut Value, ours: Value) {
    let Value::Object(ours) = ours else { return };
    for (key, value) in ours {
        match recorded.get_mut(&key) {
            Some(place) if place.is_object() && value.as_object().is_some_and(|o| !o.is_empty()) => {
                merge(place, value);
            }
            Some(place) => *place = value,
            None => {}
        }
    }
}

/// SLURM's number that is not set.
pub(super) fn unset() -> Value {
    json!({"set": false, "infinite": false, "number": 0})
}

/// SLURM's number without an end.
pub(super) fn infinite() -> Value {
    json!({"set": false, "infinite": true, "number": 0})
}

/// One that may not be set.
pub(super) fn perhaps(n: Option<i64>) -> Value {
    n.map_or_else(unset, number)
}
