//! `POST /servers`. Nothing tells a repetition from a second one: twice makes two.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::nova::Wrong;
use super::server::{Server, State};
use super::{Role, Site, schema, show};
use crate::serve::{Call, Reply};

/// What Nova says of a mistake of its own; here always the network's.
const UNEXPECTED: &str = "Unexpected API Error. Please report this at http://bugs.launchpad.net/nova/ and \
                          attach the Nova API log if possible.\n<class 'neutronclient.common.exceptions.NotFound'>";

pub(super) fn create(site: &mut Site, call: &Call, minor: u32) -> Result<Reply, Wrong> {
    let new = body(call)?;
    schema::check(&new, minor)?;
    if site.options.role < Role::Member {
        return Err(Wrong::policy("os_compute_api:servers:create"));
    }
    let wanted = machine(site, &new)?;
    let image = image(site, &new)?;
    let text = |key: &str| new.get(key).and_then(Value::as_str).map(str::to_owned);
    let flavor = text("flavorRef").unwrap_or_default();
    if !site.options.flavors.iter().any(|f| f.id == flavor) {
        return Err(Wrong::bad(format!("Flavor {flavor} could not be found.")));
    }
    if new.contains_key("key_name") {
        return Err(Wrong::bad("Invalid key_name provided."));
    }
    networks(&new)?;
    let metadata: BTreeMap<String, String> = pairs(&new);
    if metadata.len() > 128 {
        return Err(Wrong(403, "Maximum number of metadata items exceeds 128".to_owned()));
    }
    let (used, most) =
        (site.servers.iter().filter(|s| s.state != State::Deleted).count(), site.options.instances);
    if used >= most {
        let message =
            format!("Quota exceeded for instances: Requested 1, but already used {used} of {most} instances");
        return Err(Wrong(403, message));
    }
    let id = site.uuid("server").to_string();
    let name = text("name").unwrap_or_default();
    let tags = new.get("tags").and_then(Value::as_array).cloned().unwrap_or_default();
    let now = site.now;
    site.servers.push(Server {
        id: id.clone(),
        number: site.made,
        hostname: text("hostname").unwrap_or_else(|| name.to_ascii_lowercase()),
        name,
        image,
        flavor,
        metadata,
        tags: tags.iter().filter_map(|t| t.as_str().map(str::to_owned)).collect(),
        user_data: text("user_data"),
        config_drive: is_true(new.get("config_drive")),
        wanted,
        machine: None,
        state: State::Building,
        locked: None,
        task: Some("scheduling"),
        deleting: false,
        age: 0,
        stops: false,
        fault: None,
        created: now,
        updated: now,
        launched: None,
        terminated: None,
    });
    let body = json!({"server": {
        "id": id,
        "links": show::links(site, &id),
        "OS-DCF:diskConfig": "MANUAL",
        "security_groups": [{"name": "default"}],
        "adminPass": format!("admin-pass-{}", site.made),
    }});
    Ok(Reply::json(202, &body).with("location", format!("{}/v2.1/servers/{id}", site.urls.nova)))
}

/// The `server` of the body. Another content type is as good as an empty body.
fn body(call: &Call) -> Result<Map<String, Value>, Wrong> {
    let json = call.header("content-type").is_some_and(|t| t.starts_with("application/json"));
    if !json {
        return Err(Wrong::bad("'server' is a required property"));
    }
    let body: Value = serde_json::from_slice(&call.body).map_err(|_| Wrong::bad("Malformed request body"))?;
    body["server"].as_object().cloned().ok_or_else(|| Wrong::bad("'server' is a required property"))
}

/// The machine that is asked for, by `hypervisor_hostname` or as `zone:host:node`.
fn machine(site: &Site, new: &Map<String, Value>) -> Result<Option<String>, Wrong> {
    let text = |key: &str| new.get(key).and_then(Value::as_str);
    let zone: Vec<&str> = text("availability_zone").unwrap_or("nova").split(':').collect();
    let destined = new.contains_key("hypervisor_hostname") || new.contains_key("host");
    if zone.len() > 1 && site.options.role < Role::Deployer {
        return Err(Wrong::policy("os_compute_api:servers:create:forced_host"));
    }
    if destined && site.options.role < Role::Deployer {
        return Err(Wrong::policy("compute:servers:create:requested_destination"));
    }
    if destined && zone.len() > 1 {
        let message = "One mechanism with host and/or hypervisor_hostname and another mechanism with \
                       zone:host:node are mutually exclusive.";
        return Err(Wrong::bad(message));
    }
    if zone[0] != "nova" {
        return Err(Wrong::bad("The requested availability zone is not available"));
    }
    let unknown = |name: &str| Wrong::bad(format!("Compute host {name} could not be found."));
    if let Some(host) = text("host").filter(|h| *h != "lab-compute") {
        return Err(unknown(host));
    }
    match text("hypervisor_hostname") {
        Some(name) if !site.options.machines.iter().any(|m| m.name == name) => Err(unknown(name)),
        Some(name) => Ok(Some(name.to_owned())),
        None => Ok(zone.get(2).map(|node| (*node).to_owned())),
    }
}

fn image(site: &Site, new: &Map<String, Value>) -> Result<String, Wrong> {
    let id = new.get("imageRef").and_then(Value::as_str).unwrap_or_default();
    if id.is_empty() {
        return Err(Wrong::bad("Missing imageRef attribute"));
    }
    match site.options.images.iter().find(|i| i.id == id) {
        None => Err(Wrong::bad("Can not find requested image")),
        Some(image) if image.status != "active" => Err(Wrong::bad(format!("Image {id} is not active."))),
        Some(_) => Ok(id.to_owned()),
    }
}

/// There is no network: `auto` fails as it does where Neutron has none, an id is not found.
fn networks(new: &Map<String, Value>) -> Result<(), Wrong> {
    match new.get("networks") {
        Some(Value::String(word)) if word == "auto" => Err(Wrong(500, UNEXPECTED.to_owned())),
        Some(Value::Array(list)) => match list.first() {
            Some(network) => {
                let id = network["uuid"].as_str().unwrap_or_default();
                Err(Wrong::bad(format!("Network {id} could not be found.")))
            }
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

pub(super) fn pairs(new: &Map<String, Value>) -> BTreeMap<String, String> {
    let object = new.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    object.into_iter().filter_map(|(k, v)| Some((k, v.as_str()?.to_owned()))).collect()
}

fn is_true(value: Option<&Value>) -> bool {
    let word = value.and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase();
    value == Some(&Value::Bool(true)) || ["true", "1", "on", "yes"].contains(&word.as_str())
}
