//! A rebuild: all that is new is there when it is accepted, whatever becomes of it (recorded:
//! rebuild-*, server-rebuild-*).

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::nova::Wrong;
use super::server::{EventKind, State};
use super::show::{self, Viewer};
use super::{Role, Site, action, create, schema};
use crate::machine::Rebuild;
use crate::python;
use crate::serve::Reply;

/// The task states of a rebuild, a tick each.
const TASKS: [&str; 3] = ["rebuilding", "rebuild_block_device_mapping", "rebuild_spawning"];

/// user-data may have so many characters, of base64.
const LONGEST: usize = 65_535;

/// Properties of a rebuild, and the microversion that brought each.
const PROPERTIES: [(&str, u32); 13] = [
    ("imageRef", 1),
    ("name", 1),
    ("metadata", 1),
    ("adminPass", 1),
    ("accessIPv4", 1),
    ("accessIPv6", 1),
    ("preserve_ephemeral", 1),
    ("OS-DCF:diskConfig", 1),
    ("description", 19),
    ("key_name", 54),
    ("user_data", 57),
    ("trusted_image_certificates", 63),
    ("hostname", 90),
];

pub(super) fn is_task(task: Option<&str>) -> bool {
    task.is_some_and(|t| TASKS.contains(&t))
}

pub(super) fn accept(site: &mut Site, id: &str, what: &Value, minor: u32) -> Result<Reply, Wrong> {
    let new = what.as_object().cloned().unwrap_or_default();
    check(&new, minor)?;
    let (role, now) = (site.options.role, site.now);
    if role < Role::Member {
        return Err(Wrong::policy("os_compute_api:servers:rebuild"));
    }
    let server = action::server(site, id)?;
    server.unless_locked(role)?;
    action::is_ready(server, "rebuild", &[State::Active, State::Stopped, State::Error])?;
    let image = image(site, &new)?;
    let metadata: Option<BTreeMap<String, String>> = new.get("metadata").map(|_| create::pairs(&new));
    let text = |key: &str| new.get(key).and_then(Value::as_str).map(str::to_owned);
    let server = action::server(site, id)?;
    server.image = image;
    if let Some(name) = text("name") {
        server.name = name;
    }
    if let Some(hostname) = text("hostname") {
        server.hostname = hostname;
    }
    if let Some(metadata) = metadata {
        server.metadata = metadata;
    }
    // left out it is kept, null takes it away
    if new.contains_key("user_data") {
        server.user_data = text("user_data");
    }
    server.stops = server.state == State::Stopped;
    (server.task, server.age, server.fault, server.updated) = (Some(TASKS[0]), 0, None, now);
    let server = server.clone();
    let mut shown = show::server(site, &server, Viewer { minor, role, alone: true });
    if let Some(fields) = shown.as_object_mut() {
        // shown to everybody here, under another name
        fields.remove("OS-EXT-SRV-ATTR:user_data");
        fields.insert("user_data".to_owned(), json!(server.user_data));
        fields.insert("adminPass".to_owned(), json!(format!("admin-pass-{}", site.made)));
    }
    let location = format!("{}/v2.1/servers/{id}", site.urls.nova);
    Ok(Reply::json(202, &json!({"server": shown})).with("location", location))
}

fn check(new: &Map<String, Value>, minor: u32) -> Result<(), Wrong> {
    let whole = || Value::Object(new.clone());
    for (key, value) in new {
        if !PROPERTIES.iter().any(|(name, since)| name == key && *since <= minor) {
            let why = format!("Additional properties are not allowed ('{key}' was unexpected)");
            return Err(schema::invalid("rebuild", &whole(), &why));
        }
        match key.as_str() {
            "imageRef" => {
                schema::text(key, value, 0, 255)?;
                let fits = value.as_str().is_some_and(|t| uuid::Uuid::parse_str(t).is_ok());
                let why = format!("{} is not a 'uuid'", python::repr(value));
                if !fits {
                    return Err(schema::invalid(key, value, &why));
                }
            }
            "user_data" => {
                let fits = |t: &str| t.chars().count() <= LONGEST && schema::is_base64(t);
                let why = format!("{} is not valid under any of the given schemas", python::repr(value));
                if !value.is_null() && !value.as_str().is_some_and(fits) {
                    return Err(schema::invalid(key, value, &why));
                }
            }
            _ => schema::field(key, value, minor)?,
        }
    }
    if new.contains_key("imageRef") {
        return Ok(());
    }
    Err(schema::invalid("rebuild", &whole(), "'imageRef' is a required property"))
}

fn image(site: &Site, new: &Map<String, Value>) -> Result<String, Wrong> {
    let id = new.get("imageRef").and_then(Value::as_str).unwrap_or_default();
    match site.options.images.iter().find(|i| i.id == id) {
        None => Err(Wrong::bad("Cannot find image for rebuild")),
        Some(image) if image.status != "active" => Err(Wrong::bad(format!("Image {id} is not active."))),
        Some(_) => Ok(id.to_owned()),
    }
}

/// The next step of one that is there: of its rebuild, or of a switch that was turned.
pub(super) fn tick(site: &mut Site, at: usize) {
    let now = site.now;
    let server = &mut site.servers[at];
    if !is_task(server.task) {
        // one that was SHUTOFF is ACTIVE and idle for a while
        if server.stops && server.task.is_none() {
            (server.task, server.stops) = (Some("powering-off"), false);
        } else {
            action::switch(site, at);
        }
        return;
    }
    let machine = server.machine.clone().unwrap_or_default();
    let known = site.options.machines.iter().find(|m| m.name == machine);
    let behaviour = known.map(|m| m.behaviour.rebuild.clone()).unwrap_or_default();
    if behaviour == Rebuild::Never {
        return;
    }
    server.age += 1;
    server.updated = now;
    if server.age == 1 {
        let event = server.event(EventKind::Destroy, &machine);
        site.events.push(event);
    }
    match behaviour {
        Rebuild::Takes(ticks) if server.age < ticks => {
            let stage = usize::try_from(server.age).unwrap_or(usize::MAX).min(TASKS.len() - 1);
            server.task = Some(TASKS[stage]);
        }
        Rebuild::Takes(_) => {
            (server.state, server.task, server.launched) = (State::Active, None, Some(now));
            let event = server.event(EventKind::Spawn, &machine);
            site.events.push(event);
        }
        Rebuild::Fails(text) => {
            (server.task, server.stops) = (None, false);
            server.fail(400, text, now);
        }
        Rebuild::Never => {}
    }
}
