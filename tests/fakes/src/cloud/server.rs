//! Servers: what becomes of one, tick by tick.
//!
//! *Invariant*: only a tick places a server, ends its build or rebuild, switches it, or takes it off its
//! machine. One that was never placed goes at once.

use std::collections::BTreeMap;

use super::Site;
use super::nova::Wrong;
use super::{Role, rebuild};
use crate::machine::{Build, Destroy};
use crate::serve::Reply;

/// What the virt driver was asked to do, as the test image's `events.jsonl` has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// To do what.
    pub kind: EventKind,
    /// The machine.
    pub node: String,
    /// The server's id.
    pub uuid: String,
    /// Its name.
    pub name: String,
    /// Its hostname.
    pub hostname: String,
    /// Its image's id.
    pub image: String,
    /// Its user-data, exactly as sent.
    pub user_data: Option<String>,
    /// Its metadata.
    pub metadata: BTreeMap<String, String>,
    /// Whether it was to have a config drive.
    pub config_drive: bool,
}

/// What the virt driver does. A rebuild is a destroy and a spawn, both with what is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// A server comes up on a machine.
    Spawn,
    /// It is taken off.
    Destroy,
    /// It is switched off. The test image's driver does not write this down.
    PowerOff,
    /// It is switched on. The test image's driver does not write this down.
    PowerOn,
}

/// Nova's `vm_state`. What it calls `status` is this and the task: [`Server::status`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Building,
    Active,
    Stopped,
    Error,
    Deleted,
}

impl State {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Building => "building",
            Self::Active => "active",
            Self::Stopped => "stopped",
            Self::Error => "error",
            Self::Deleted => "deleted",
        }
    }
}

/// Who locked a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lock {
    /// The project's user, who is locked out too, and may unlock it.
    Owner,
    /// An admin, who alone may unlock it.
    Admin,
}

/// Why a server is in ERROR.
#[derive(Debug, Clone)]
pub(super) struct Fault {
    pub(super) code: u16,
    pub(super) message: String,
    pub(super) created: i64,
}

/// A server.
#[derive(Debug, Clone)]
pub(super) struct Server {
    pub(super) id: String,
    /// Its number, from 1.
    pub(super) number: u64,
    pub(super) name: String,
    pub(super) hostname: String,
    pub(super) image: String,
    pub(super) flavor: String,
    pub(super) metadata: BTreeMap<String, String>,
    pub(super) tags: Vec<String>,
    pub(super) user_data: Option<String>,
    pub(super) config_drive: bool,
    /// The machine that was asked for.
    pub(super) wanted: Option<String>,
    /// The machine that it is on.
    pub(super) machine: Option<String>,
    pub(super) state: State,
    pub(super) locked: Option<Lock>,
    pub(super) task: Option<&'static str>,
    /// The next tick takes it off its machine.
    pub(super) deleting: bool,
    /// Ticks of its build or rebuild.
    pub(super) age: u64,
    /// It was SHUTOFF before its rebuild, and will be.
    pub(super) stops: bool,
    pub(super) fault: Option<Fault>,
    pub(super) created: i64,
    pub(super) updated: i64,
    pub(super) launched: Option<i64>,
    pub(super) terminated: Option<i64>,
}

/// The task states of a build, a tick each; null is one of them.
const TASKS: [Option<&str>; 5] =
    [Some("scheduling"), None, Some("networking"), Some("block_device_mapping"), Some("spawning")];

impl Server {
    /// Nova's `status`.
    pub(super) fn status(&self) -> &'static str {
        match self.state {
            State::Deleted => "DELETED",
            State::Active | State::Stopped | State::Error if rebuild::is_task(self.task) => "REBUILD",
            State::Building => "BUILD",
            State::Active => "ACTIVE",
            State::Stopped => "SHUTOFF",
            State::Error => "ERROR",
        }
    }

    /// Whether a change by this role is refused because somebody locked it.
    pub(super) fn unless_locked(&self, role: Role) -> Result<(), Wrong> {
        match self.locked {
            Some(_) if role < Role::Admin => Err(Wrong::conflict(format!("Instance {} is locked", self.id))),
            _ => Ok(()),
        }
    }

    pub(super) fn event(&self, kind: EventKind, node: &str) -> Event {
        Event {
            kind,
            node: node.to_owned(),
            uuid: self.id.clone(),
            name: self.name.clone(),
            hostname: self.hostname.clone(),
            image: self.image.clone(),
            user_data: self.user_data.clone(),
            metadata: self.metadata.clone(),
            config_drive: self.config_drive,
        }
    }

    pub(super) fn fail(&mut self, code: u16, message: String, now: i64) {
        self.state = State::Error;
        self.fault = Some(Fault { code, message, created: now });
        self.updated = now;
    }
}

/// `DELETE /servers/{id}`: 204, also while it is being deleted. On one whose deletion failed the first
/// one only ends the failed deletion; the next deletes (recorded: delete-retry-after-failure).
pub(super) fn delete(site: &mut Site, id: &str) -> Result<Reply, Wrong> {
    let now = site.now;
    let Some(at) = site.servers.iter().position(|s| s.id == id) else { return Err(Wrong::no_server(id)) };
    let role = site.options.role;
    if role == Role::Reader {
        return Err(Wrong::policy("os_compute_api:servers:delete"));
    }
    let server = &mut site.servers[at];
    server.unless_locked(role)?;
    let failed = server.state == State::Error && server.task == Some("deleting") && !server.deleting;
    if server.state == State::Deleted {
        // nothing is left to do
    } else if server.machine.is_none() {
        site.servers.remove(at);
    } else if failed {
        server.task = None;
    } else {
        (server.task, server.deleting, server.updated) = (Some("deleting"), true, now);
    }
    Ok(Reply::empty(204).with("content-type", "application/json"))
}

/// Every server's next step.
pub(super) fn tick(site: &mut Site) {
    site.servers.retain(|s| s.state != State::Deleted);
    for at in 0..site.servers.len() {
        if site.servers[at].deleting {
            destroy(site, at);
        } else if site.servers[at].state == State::Building {
            build(site, at);
        } else {
            rebuild::tick(site, at);
        }
    }
}

fn destroy(site: &mut Site, at: usize) {
    let now = site.now;
    let server = &mut site.servers[at];
    let machine = server.machine.clone().unwrap_or_default();
    let behaviour = site.options.machines.iter().find(|m| m.name == machine).map(|m| &m.behaviour.destroy);
    if let Some(Destroy::Fails(text)) = behaviour {
        server.fail(400, format!("Failed to terminate instance: {text}"), now);
        server.deleting = false;
        return;
    }
    let event = server.event(EventKind::Destroy, &machine);
    (server.state, server.task, server.machine) = (State::Deleted, None, None);
    (server.terminated, server.updated, server.deleting) = (Some(now), now, false);
    site.events.push(event);
}

fn build(site: &mut Site, at: usize) {
    let now = site.now;
    if site.servers[at].machine.is_none() {
        let Some(machine) = place(site, at) else {
            let server = &mut site.servers[at];
            server.task = None;
            server.fail(500, "No valid host was found. ".to_owned(), now);
            return;
        };
        site.servers[at].machine = Some(machine);
    }
    let server = &mut site.servers[at];
    server.age += 1;
    server.updated = now;
    let stage = usize::try_from(server.age).unwrap_or(usize::MAX).min(TASKS.len() - 1);
    server.task = TASKS[stage];
    let machine = server.machine.clone().unwrap_or_default();
    let behaviour =
        site.options.machines.iter().find(|m| m.name == machine).map(|m| m.behaviour.build.clone());
    match behaviour.unwrap_or_default() {
        Build::Takes(ticks) if server.age < ticks => {}
        Build::Takes(_) => {
            (server.state, server.task, server.launched) = (State::Active, None, Some(now));
            let event = server.event(EventKind::Spawn, &machine);
            site.events.push(event);
        }
        Build::Fails(text) => {
            let id = &server.id;
            // on the one machine that was asked for there is no other attempt
            let why = match server.wanted {
                Some(_) => {
                    format!("Exhausted all hosts available for retrying build failures for instance {id}.")
                }
                None => {
                    format!("Exceeded max scheduling attempts 3 for instance {id}. Last exception: {text}")
                }
            };
            (server.task, server.machine) = (None, None);
            server.fail(500, format!("Exceeded maximum number of retries. {why}"), now);
        }
        // it was free when the server was placed, and would be placed there no more
        Build::NoValidHost => {
            (server.task, server.machine) = (None, None);
            server.fail(500, "No valid host was found. ".to_owned(), now);
        }
    }
}

/// A free machine: the one that was asked for, or the first.
fn place(site: &Site, at: usize) -> Option<String> {
    let server = &site.servers[at];
    let fits = site.options.flavors.iter().any(|f| f.id == server.flavor && f.fits());
    let free = |name: &str| !site.servers.iter().any(|s| s.machine.as_deref() == Some(name));
    let mut machines = site.options.machines.iter();
    let found = machines.find(|m| {
        server.wanted.as_ref().is_none_or(|w| *w == m.name)
            && m.behaviour.build != Build::NoValidHost
            && free(&m.name)
    });
    found.filter(|_| fits).map(|m| m.name.clone())
}
