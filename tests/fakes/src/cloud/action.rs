//! `POST /servers/{id}/action`: what is done to a server that is there.

use serde_json::{Map, Value};

use super::nova::Wrong;
use super::server::{EventKind, Lock, Server, State};
use super::{Role, Site, rebuild};
use crate::serve::{Call, Reply};

pub(super) fn act(site: &mut Site, call: &Call, id: &str, minor: u32) -> Result<Reply, Wrong> {
    let body: Map<String, Value> =
        serde_json::from_slice(&call.body).map_err(|_| Wrong::bad("Malformed request body"))?;
    let (name, what) = body.into_iter().next().unwrap_or_default();
    if name == "rebuild" {
        return rebuild::accept(site, id, &what, minor);
    }
    let role = site.options.role;
    let now = site.now;
    let server = server(site, id)?;
    let member = |rule: &str| if role < Role::Member { Err(Wrong::policy(rule)) } else { Ok(()) };
    match name.as_str() {
        "os-start" => {
            member("os_compute_api:servers:start")?;
            server.unless_locked(role)?;
            is_ready(server, "start", &[State::Stopped])?;
            (server.task, server.updated) = (Some("powering-on"), now);
        }
        "os-stop" => {
            member("os_compute_api:servers:stop")?;
            server.unless_locked(role)?;
            is_ready(server, "stop", &[State::Active, State::Error])?;
            (server.task, server.updated) = (Some("powering-off"), now);
        }
        "lock" => {
            member("os_compute_api:os-lock-server:lock")?;
            server.locked = Some(if role == Role::Admin { Lock::Admin } else { Lock::Owner });
        }
        "unlock" => {
            member("os_compute_api:os-lock-server:unlock")?;
            if server.locked == Some(Lock::Admin) && role < Role::Admin {
                return Err(Wrong::policy("os_compute_api:os-lock-server:unlock:unlock_override"));
            }
            server.locked = None;
        }
        _ => return Err(Wrong::bad(format!("There is no such action: {name}"))),
    }
    Ok(Reply::empty(202).with("content-type", "application/json"))
}

pub(super) fn server<'a>(site: &'a mut Site, id: &str) -> Result<&'a mut Server, Wrong> {
    site.servers.iter_mut().find(|s| s.id == id).ok_or_else(|| Wrong::no_server(id))
}

/// Whether it is in one of these states, idle, and was ever launched: in this order, as Nova asks.
pub(super) fn is_ready(server: &Server, action: &str, states: &[State]) -> Result<(), Wrong> {
    let id = &server.id;
    let busy = |what: &str, is: &str| {
        Err(Wrong::conflict(format!("Cannot '{action}' instance {id} while it is in {what} {is}")))
    };
    if !states.contains(&server.state) {
        return busy("vm_state", server.state.as_str());
    }
    if let Some(task) = server.task {
        return busy("task_state", task);
    }
    if server.launched.is_none() {
        return Err(Wrong::conflict(format!("Instance {id} is in an invalid state for '{action}'")));
    }
    Ok(())
}

/// A switch that was turned takes a tick.
pub(super) fn switch(site: &mut Site, at: usize) {
    let now = site.now;
    let server = &mut site.servers[at];
    let (state, kind) = match server.task {
        Some("powering-on") => (State::Active, EventKind::PowerOn),
        Some("powering-off") => (State::Stopped, EventKind::PowerOff),
        _ => return,
    };
    (server.state, server.task, server.updated) = (state, None, now);
    let machine = server.machine.clone().unwrap_or_default();
    let event = server.event(kind, &machine);
    site.events.push(event);
}
