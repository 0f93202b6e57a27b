//! Nova: microversions, paths, flavors. Error bodies have one key, which varies with the status.
//!
//! Not imitated: actions other than rebuild, start, stop, lock and unlock, changes of a server, volumes,
//! networks other than none. Of a path that is not here Nova says 404, and so does this.

use serde_json::{Value, json};

use super::options::FlavorSeed;
use super::show::{self, Viewer};
use super::{Site, action, create, identity, list, server};
use crate::serve::{Call, Reply};

/// The newest microversion, 2.100.
pub(super) const NEWEST: u32 = 100;

/// An error in Nova's shape.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wrong(pub(super) u16, pub(super) String);

impl Wrong {
    pub(super) fn bad(message: impl Into<String>) -> Self {
        Self(400, message.into())
    }

    pub(super) fn policy(rule: &str) -> Self {
        Self(403, format!("Policy doesn't allow {rule} to be performed."))
    }

    pub(super) fn conflict(message: impl Into<String>) -> Self {
        Self(409, message.into())
    }

    pub(super) fn no_server(id: &str) -> Self {
        Self(404, format!("Instance {id} could not be found."))
    }

    fn reply(self) -> Reply {
        let key = match self.0 {
            400 => "badRequest",
            403 => "forbidden",
            404 => "itemNotFound",
            409 => "conflictingRequest",
            _ => "computeFault",
        };
        Reply::json(self.0, &json!({key: {"code": self.0, "message": self.1}}))
            .with("content-type", "application/json; charset=UTF-8")
    }
}

pub(super) fn answer(site: &mut Site, call: &Call) -> Reply {
    let segments = call.segments();
    let path: Vec<&str> = segments.iter().map(String::as_str).collect();
    // the versions are shown to anybody
    match path.as_slice() {
        [] => return Reply::json(200, &json!({"versions": [version(site)]})),
        ["v2.1"] => return versioned(Reply::json(200, &json!({"version": version(site)})), "2.1"),
        _ => {}
    }
    if !site.knows(call) {
        return identity::unauthorized(&site.urls);
    }
    let asked = call.header("openstack-api-version").and_then(|h| h.strip_prefix("compute "));
    let minor = match microversion(asked) {
        Ok(minor) => minor,
        Err(wrong) if wrong.0 == 406 => return versioned(wrong.reply(), asked.unwrap_or_default()),
        Err(wrong) => return wrong.reply(),
    };
    let reply = perform(site, call, &path, minor).unwrap_or_else(Wrong::reply);
    versioned(reply, &format!("2.{minor}"))
}

fn versioned(reply: Reply, version: &str) -> Reply {
    reply
        .with("openstack-api-version", format!("compute {version}"))
        .with("x-openstack-nova-api-version", version)
        .with("vary", "X-OpenStack-Nova-API-Version")
}

/// The minor version that was asked for; 2.1 when none was.
fn microversion(asked: Option<&str>) -> Result<u32, Wrong> {
    let Some(asked) = asked.map(str::trim) else { return Ok(1) };
    if asked == "latest" {
        return Ok(NEWEST);
    }
    let numbers = asked.split_once('.').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    match numbers {
        None => Err(Wrong::bad(format!(
            "API Version String {asked} is of invalid format. Must be of format MajorNum.MinorNum."
        ))),
        Some((2_u32, minor @ 1..=NEWEST)) => Ok(minor),
        Some(_) => Err(Wrong(
            406,
            format!("Version {asked} is not supported by the API. Minimum is 2.1 and maximum is 2.{NEWEST}."),
        )),
    }
}

fn version(site: &Site) -> Value {
    json!({
        "id": "v2.1",
        "status": "CURRENT",
        "version": format!("2.{NEWEST}"),
        "min_version": "2.1",
        "updated": "2013-07-23T11:33:21Z",
        "links": [{"rel": "self", "href": format!("{}/v2.1/", site.urls.nova)}],
        "media-types": [{
            "base": "application/json",
            "type": "application/vnd.openstack.compute+json;version=2.1",
        }],
    })
}

fn perform(site: &mut Site, call: &Call, path: &[&str], minor: u32) -> Result<Reply, Wrong> {
    let viewer = Viewer { minor, role: site.options.role, alone: false };
    match (call.method.as_str(), path) {
        ("GET", ["v2.1", "flavors", "detail"]) => {
            let flavors: Vec<Value> = site.options.flavors.iter().map(|f| flavor(site, f, minor)).collect();
            Ok(Reply::json(200, &json!({"flavors": flavors})))
        }
        ("GET", ["v2.1", "flavors", id]) => match site.options.flavors.iter().find(|f| f.id == **id) {
            Some(found) => Ok(Reply::json(200, &json!({"flavor": flavor(site, found, minor)}))),
            None => Err(Wrong(404, format!("Flavor {id} could not be found."))),
        },
        ("POST", ["v2.1", "servers"]) => create::create(site, call, minor),
        ("GET", ["v2.1", "servers"]) => list::list(site, call, viewer, false),
        ("GET", ["v2.1", "servers", "detail"]) => list::list(site, call, viewer, true),
        ("GET", ["v2.1", "servers", id]) => match site.servers.iter().find(|s| s.id == **id) {
            Some(found) => {
                let viewer = Viewer { alone: true, ..viewer };
                Ok(Reply::json(200, &json!({"server": show::server(site, found, viewer)})))
            }
            None => Err(Wrong::no_server(id)),
        },
        ("POST", ["v2.1", "servers", id, "action"]) => action::act(site, call, id, minor),
        ("DELETE", ["v2.1", "servers", id]) => server::delete(site, id),
        _ => {
            let message = "The resource could not be found.<br /><br />\n\n\n";
            let body = json!({"message": message, "code": "404 Not Found", "title": "Not Found"});
            Ok(Reply::json(404, &body))
        }
    }
}

/// No swap is `""` before 2.75 and 0 from then on.
fn flavor(site: &Site, flavor: &FlavorSeed, minor: u32) -> Value {
    let link = |rel: &str, path: &str| json!({"rel": rel, "href": format!("{}{path}/flavors/{}", site.urls.nova, flavor.id)});
    json!({
        "id": flavor.id,
        "name": flavor.name,
        "ram": flavor.ram,
        "disk": 1,
        "swap": if minor < 75 { json!("") } else { json!(0) },
        "OS-FLV-EXT-DATA:ephemeral": 0,
        "OS-FLV-DISABLED:disabled": false,
        "vcpus": 1,
        "os-flavor-access:is_public": true,
        "rxtx_factor": 1.0,
        "links": [link("self", "/v2.1"), link("bookmark", "")],
        "description": null,
        "extra_specs": flavor.extra_specs,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microversions() {
        assert_eq!(microversion(None), Ok(1));
        assert_eq!(microversion(Some("2.90")), Ok(90));
        assert_eq!(microversion(Some("latest")), Ok(100));
        let high = "Version 2.999 is not supported by the API. Minimum is 2.1 and maximum is 2.100.";
        assert_eq!(microversion(Some("2.999")), Err(Wrong(406, high.to_owned())));
        let odd = "API Version String banana is of invalid format. Must be of format MajorNum.MinorNum.";
        assert_eq!(microversion(Some("banana")), Err(Wrong(400, odd.to_owned())));
    }
}
