//! A server as Nova shows it: what is shown hangs on the microversion and on who looks.

use serde_json::{Value, json};

use super::server::{Server, State};
use super::{Role, Site, identity};

/// Of every server that is on a machine: one compute service has them all.
const HOST_ID: &str = "44575df3d03a329e44e84e83139edea217a5259203aa7242ba3f9c2f";

/// Who looks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Viewer {
    /// With this microversion.
    pub(super) minor: u32,
    pub(super) role: Role,
    /// At one server, not at a list.
    pub(super) alone: bool,
}

/// The links of a server.
pub(super) fn links(site: &Site, id: &str) -> Value {
    let nova = &site.urls.nova;
    json!([
        {"rel": "self", "href": format!("{nova}/v2.1/servers/{id}")},
        {"rel": "bookmark", "href": format!("{nova}/servers/{id}")},
    ])
}

pub(super) fn server(site: &Site, server: &Server, viewer: Viewer) -> Value {
    let placed = server.machine.is_some();
    let running = server.launched.is_some() && placed;
    let power = if running && server.state == State::Stopped { 4 } else { i32::from(running) };
    let bookmark = |what: &str, id: &str| json!([{"rel": "bookmark", "href": format!("{}/{what}/{id}", site.urls.nova)}]);
    let mut shown = json!({
        "id": server.id,
        "name": server.name,
        "status": server.status(),
        "tenant_id": identity::PROJECT,
        "user_id": identity::USER,
        "metadata": server.metadata,
        "hostId": if placed { HOST_ID } else { "" },
        "image": {"id": server.image, "links": bookmark("images", &server.image)},
        "flavor": flavor(site, server, viewer),
        "created": site.time(server.created),
        "updated": site.time(server.updated),
        "addresses": {},
        "accessIPv4": "",
        "accessIPv6": "",
        "links": links(site, &server.id),
        "OS-DCF:diskConfig": "MANUAL",
        "OS-EXT-AZ:availability_zone": if placed { "nova" } else { "" },
        "config_drive": if server.config_drive { "True" } else { "" },
        "key_name": null,
        "OS-SRV-USG:launched_at": server.launched.map(|t| site.micros(t)),
        "OS-SRV-USG:terminated_at": server.terminated.map(|t| site.micros(t)),
        "OS-EXT-STS:task_state": server.task,
        "OS-EXT-STS:vm_state": server.state.as_str(),
        "OS-EXT-STS:power_state": power,
        "os-extended-volumes:volumes_attached": [],
    });
    match &server.fault {
        Some(fault) => {
            shown["fault"] =
                json!({"code": fault.code, "created": site.time(fault.created), "message": fault.message});
            if viewer.role == Role::Admin {
                shown["fault"]["details"] = json!("Traceback (most recent call last):\n");
            }
        }
        None => shown["progress"] = json!(0),
    }
    for (since, key, value) in newer(server, viewer) {
        if viewer.minor >= since {
            shown[key] = value;
        }
    }
    shown
}

/// What later microversions added, and what the policy shows to a deployer or an admin.
fn newer(server: &Server, viewer: Viewer) -> Vec<(u32, &'static str, Value)> {
    let placed = server.machine.is_some();
    let mut rows = vec![
        (9, "locked", json!(server.locked.is_some())),
        (19, "description", Value::Null),
        (26, "tags", json!(server.tags)),
        (63, "trusted_image_certificates", Value::Null),
        (73, "locked_reason", Value::Null),
        (90, "OS-EXT-SRV-ATTR:hostname", json!(server.hostname)),
        (96, "pinned_availability_zone", Value::Null),
    ];
    if viewer.alone {
        rows.push((71, "server_groups", json!([])));
    }
    if viewer.role >= Role::Deployer {
        let device = server.launched.is_some().then_some("/dev/sda");
        rows.extend([
            (1, "OS-EXT-SRV-ATTR:host", json!(placed.then_some("lab-compute"))),
            (1, "OS-EXT-SRV-ATTR:hypervisor_hostname", json!(server.machine)),
            (1, "OS-EXT-SRV-ATTR:instance_name", json!(format!("instance-{:08x}", server.number))),
            (3, "OS-EXT-SRV-ATTR:hostname", json!(server.hostname)),
            (3, "OS-EXT-SRV-ATTR:kernel_id", json!("")),
            (3, "OS-EXT-SRV-ATTR:launch_index", json!(0)),
            (3, "OS-EXT-SRV-ATTR:ramdisk_id", json!("")),
            (3, "OS-EXT-SRV-ATTR:reservation_id", json!(format!("r-{:08x}", server.number))),
            (3, "OS-EXT-SRV-ATTR:root_device_name", json!(device)),
            (3, "OS-EXT-SRV-ATTR:user_data", json!(server.user_data)),
        ]);
    }
    if viewer.role == Role::Admin {
        rows.push((16, "host_status", json!(if placed { "UP" } else { "" })));
    }
    rows
}

/// Its id and a link before 2.47; after that what it is, without the id.
fn flavor(site: &Site, server: &Server, viewer: Viewer) -> Value {
    let id = &server.flavor;
    if viewer.minor < 47 {
        let href = format!("{}/flavors/{id}", site.urls.nova);
        return json!({"id": id, "links": [{"rel": "bookmark", "href": href}]});
    }
    let found = site.options.flavors.iter().find(|f| f.id == *id);
    let mut shown = json!({
        "vcpus": 1,
        "ram": found.map_or(0, |f| f.ram),
        "disk": 1,
        "ephemeral": 0,
        "swap": 0,
        "original_name": found.map(|f| f.name.as_str()).unwrap_or_default(),
    });
    if viewer.minor >= 61 {
        shown["extra_specs"] = found.map_or(json!({}), |f| f.extra_specs.clone());
    }
    shown
}
