//! Reservations: what slurmctld keeps of one, and how it is made and deleted by REST on 26.05 (measured there).
//!
//! *Invariant*: a reservation keeps off its nodes who is not named in it, from its start on; the nodes tell of it
//! from the next tick on, as the real ones do with some seconds' delay.

use serde_json::{Value, json};

use super::SlurmOptions;
use super::controller::Slurmctld;
use super::dialect::Dialect;
use super::envelope::{
    BUSY, IN_USE, NODE, OVERLAP, Operation, QUERY, RESERVATION, STARTED, Said, TIME, UNREADABLE, USER, Wrong,
    done, number, refused, storage_disabled,
};
use super::job::Job;

/// Keys of a reservation that are imitated.
const KNOWN: [&str; 6] = ["name", "start_time", "duration", "users", "node_list", "flags"];
/// A start may lie so many seconds in the past: 300 were taken, 3600 were not.
const EARLIEST: i64 = 300;

/// A reservation, as one that `scontrol` made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReservationSeed {
    /// Its name.
    pub name: String,
    /// When it starts, in seconds of Unix time by the fake's own clock; 0 is long ago.
    pub start: i64,
    /// For how many minutes.
    pub minutes: i64,
    /// Whose jobs may run in it.
    pub users: Vec<String>,
    /// Its nodes.
    pub nodes: Vec<String>,
    /// Such as `MAINT`, `IGNORE_JOBS`.
    pub flags: Vec<String>,
}

impl ReservationSeed {
    /// For maintenance of these nodes by `user`, without an end in sight.
    #[must_use]
    pub fn new(name: &str, user: &str, nodes: &[&str]) -> Self {
        let words = |list: &[&str]| list.iter().map(|w| (*w).to_owned()).collect();
        Self {
            name: name.to_owned(),
            start: 0,
            minutes: 1_000_000_000,
            users: words(&[user]),
            nodes: words(nodes),
            flags: words(&["MAINT", "IGNORE_JOBS"]),
        }
    }
}

/// A reservation.
#[derive(Debug, Clone)]
pub(super) struct Reservation {
    pub(super) name: String,
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) users: Vec<String>,
    pub(super) nodes: Vec<String>,
    pub(super) flags: Vec<String>,
    /// Its nodes tell of it.
    pub(super) told: bool,
}

impl From<ReservationSeed> for Reservation {
    fn from(seed: ReservationSeed) -> Self {
        let end = seed.start + seed.minutes * 60;
        let ReservationSeed { name, start, users, nodes, flags, .. } = seed;
        Self { name, start, end, users, nodes, flags, told: false }
    }
}

impl Reservation {
    pub(super) fn is_active(&self, now: i64) -> bool {
        self.start <= now && now < self.end
    }

    /// This job may run in it now.
    pub(super) fn is_for(&self, job: &Job, now: i64) -> bool {
        self.name == job.reservation && self.is_active(now) && self.users.contains(&job.user)
    }

    pub(super) fn is_for_maintenance(&self) -> bool {
        self.flags.iter().any(|f| f == "MAINT")
    }

    pub(super) fn show(&self, ctld: &Slurmctld, dialect: Dialect) -> Value {
        let cpus: i64 = self.nodes.iter().filter_map(|n| ctld.node(n)).map(|n| n.cpus).sum();
        let mut flags = self.flags.clone();
        flags.push("SPEC_NODES".to_owned());
        dialect.reservation(json!({
            "name": self.name,
            "start_time": number(self.start),
            "end_time": number(self.end),
            "users": self.users.join(","),
            "node_list": self.nodes.join(","),
            "node_count": self.nodes.len(),
            "core_count": cpus,
            "tres": format!("cpu={cpus}"),
            "flags": flags,
        }))
    }
}

/// Its nodes are told of a reservation that has begun; one that is over is gone.
pub(super) fn tick(ctld: &mut Slurmctld) {
    let now = ctld.now;
    ctld.end_reservations(|r| r.end <= now);
    ctld.reservations.iter_mut().filter(|r| r.is_active(now)).for_each(|r| r.told = true);
}

/// `GET reservation/{name}`. Where there is none at all, slurmctld does not even say that this one is unknown.
pub(super) fn one(ctld: &Slurmctld, dialect: Dialect, name: &str) -> Said {
    if ctld.reservations.is_empty() {
        return listing().failed(super::envelope::NO_ERROR);
    }
    match ctld.reservations.iter().find(|r| r.name == name) {
        Some(found) => list(ctld, vec![found.show(ctld, dialect)]),
        None => {
            let text = format!("Unable to find reservation {name}");
            Operation::new(text, "_get_single_reservation").failed(QUERY)
        }
    }
}

/// `GET reservations`.
pub(super) fn all(ctld: &Slurmctld, dialect: Dialect) -> Said {
    list(ctld, ctld.reservations.iter().map(|r| r.show(ctld, dialect)).collect())
}

pub(super) fn listing() -> Operation {
    Operation::new("Unable to query reservations", "slurm_load_reservations()")
}

fn list(ctld: &Slurmctld, shown: Vec<Value>) -> Said {
    done(json!({"reservations": shown, "last_update": number(ctld.changed)}), Vec::new())
}

/// `POST reservation`: with the name of one that is there it changes that one, if it has not begun.
pub(super) fn make(ctld: &mut Slurmctld, body: &Value, admin: bool, options: &SlurmOptions) -> Said {
    if body.as_object().into_iter().flat_map(|o| o.keys()).any(|k| !KNOWN.contains(&k.as_str())) {
        return refused(501, "fakes: such a reservation is not imitated");
    }
    let words = |key: &str| match body.get(key) {
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Some(Value::String(csv)) => csv.split(',').map(str::to_owned).collect(),
        _ => Vec::<String>::new(),
    };
    let seed = ReservationSeed {
        name: body.get("name").and_then(Value::as_str).unwrap_or_default().to_owned(),
        start: set(body.get("start_time")).unwrap_or_default(),
        minutes: set(body.get("duration")).unwrap_or_default(),
        users: words("users"),
        nodes: words("node_list"),
        flags: words("flags"),
    };
    let invalid = |text: &str, source| Operation::new(text, source).failed(RESERVATION);
    if seed.name.is_empty() {
        return invalid("Reservation must be given.", "_mod_reservation");
    }
    if seed.users.is_empty() {
        let text = "Either Users/Groups, AllowedPartitions, QOS and/or Accounts must be specified.  \
                    No reservation created.";
        return invalid(text, "validate_resv_create_desc");
    }
    if seed.nodes.is_empty() {
        let text = "CoreCnt, Nodes, NodeCnt, TRES or Watts must be specified.  No reservation created.";
        return invalid(text, "validate_resv_create_desc");
    }
    let name = &seed.name;
    let there = ctld.reservations.iter().find(|r| r.name == *name);
    let (doing, source) = match there {
        Some(_) => (format!("Error updating reservation {name}"), "slurm_update_reservation"),
        // two blanks, as seen
        None => (format!("Error creating reservation  {name}"), "slurm_create_reservation"),
    };
    let wrong = match there {
        _ if !admin => Some(USER),
        Some(there) if there.is_active(ctld.now) => Some(STARTED),
        _ if body.get("start_time").is_none() || body.get("duration").is_none() => Some(RESERVATION),
        _ if seed.users.iter().any(|u| options.strangers.contains(u)) => Some(UNREADABLE),
        _ => ctld.cannot_reserve(&seed),
    };
    if let Some(wrong) = wrong {
        return Operation::new(doing, source).failed(wrong);
    }
    let shown = asked(&seed);
    ctld.reservations.retain(|r| r.name != seed.name);
    ctld.reservations.push(seed.into());
    ctld.changed = ctld.now;
    let warnings = if options.accounting { Vec::new() } else { vec![storage_disabled(), storage_disabled()] };
    done(json!({"reservations": [shown]}), warnings)
}

impl Slurmctld {
    /// What slurmctld has against a reservation. One for maintenance may lie over any other.
    fn cannot_reserve(&self, seed: &ReservationSeed) -> Option<Wrong> {
        let has = |flag: &str| seed.flags.iter().any(|f| f == flag);
        let (start, end) = (seed.start, seed.start + seed.minutes * 60);
        let overlaps = |r: &&Reservation| {
            r.start < end
                && start < r.end
                && r.nodes.iter().any(|n| seed.nodes.contains(n))
                && r.name != seed.name
        };
        if seed.start < self.now - EARLIEST {
            Some(TIME)
        } else if seed.nodes.iter().any(|n| self.node(n).is_none()) {
            Some(NODE)
        } else if !has("MAINT") && self.reservations.iter().filter(overlaps).any(|r| !r.is_for_maintenance())
        {
            Some(OVERLAP)
        } else if !has("IGNORE_JOBS") && self.jobs.iter().any(|j| seed.nodes.iter().any(|n| j.holds(n))) {
            Some(BUSY)
        } else {
            None
        }
    }

    /// It is over, or was deleted: jobs that wait for it never start.
    pub(super) fn end_reservations(&mut self, over: impl Fn(&Reservation) -> bool) {
        for gone in self.reservations.extract_if(.., |r| over(r)) {
            let waits = |j: &&mut Job| j.state == "PENDING" && j.reservation == gone.name;
            self.jobs.iter_mut().filter(waits).for_each(Job::lose_reservation);
        }
        self.changed = self.now;
    }
}

/// What was asked for, handed back.
fn asked(seed: &ReservationSeed) -> Value {
    let unset = super::dialect::unset;
    json!({
        "accounts": [], "burst_buffer": "", "comment": "", "core_count": unset(), "duration": number(seed.minutes),
        "end_time": number(4_294_967_294), "features": "", "flags": seed.flags, "groups": [], "licenses": [],
        "max_start_delay": unset(), "name": seed.name, "node_count": unset(), "node_list": seed.nodes, "partition": "",
        "purge_completed": {"time": unset()}, "start_time": number(seed.start), "tres": [], "users": seed.users,
    })
}

/// `DELETE reservation/{name}`.
pub(super) fn delete(ctld: &mut Slurmctld, name: &str, admin: bool) -> Said {
    let deleting = Operation::new(format!("Error deleting reservation {name}"), "slurm_delete_reservation");
    if !admin {
        return deleting.failed(USER);
    }
    if !ctld.reservations.iter().any(|r| r.name == name) {
        return deleting.failed(RESERVATION);
    }
    if ctld.jobs.iter().any(|j| j.reservation == name && j.is_unfinished()) {
        return deleting.failed(IN_USE);
    }
    ctld.end_reservations(|r| r.name == name);
    done(json!({}), Vec::new())
}

/// A number, bare or in SLURM's wrapping with `set`.
pub(super) fn set(value: Option<&Value>) -> Option<i64> {
    match value? {
        Value::Number(number) => number.as_i64(),
        wrapped if wrapped.get("set") == Some(&json!(true)) => wrapped.get("number").and_then(Value::as_i64),
        _ => None,
    }
}
