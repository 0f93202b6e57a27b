//! Glance: images by id and by name. Its errors carry HTML.

use serde_json::{Value, json};

use super::options::ImageSeed;
use super::{Site, identity};
use crate::serve::{Call, Reply};

pub(super) fn answer(site: &mut Site, call: &Call) -> Reply {
    if !site.knows(call) {
        return unauthorized(site);
    }
    let segments = call.segments();
    let path: Vec<&str> = segments.iter().map(String::as_str).collect();
    match (call.method.as_str(), path.as_slice()) {
        ("GET", ["v2", "images", id]) => match site.options.images.iter().find(|i| i.id == **id) {
            Some(image) => Reply::json(200, &show(site, image)),
            None => missing(&format!("No image found with ID {id}")),
        },
        ("GET", ["v2", "images"]) => list(site, call),
        _ => missing("The resource could not be found."),
    }
}

/// Glance's middleware says it in Glance's shape.
fn unauthorized(site: &Site) -> Reply {
    let message = "This server could not verify that you are authorized to access the document you requested. \
                   Either you supplied the wrong credentials (e.g., bad password), or your browser does not \
                   understand how to supply the credentials required.<br /><br />\n\n\n";
    let body = json!({"message": message, "code": "401 Unauthorized", "title": "Unauthorized"});
    let uri = format!("Keystone uri=\"{}/v3\"", site.urls.keystone);
    Reply::json(401, &body).with("www-authenticate", uri)
}

fn missing(what: &str) -> Reply {
    let message = format!("{what}<br /><br />\n\n\n");
    Reply::json(404, &json!({"message": message, "code": "404 Not Found", "title": "Not Found"}))
}

fn list(site: &Site, call: &Call) -> Reply {
    let pairs = call.pairs();
    let wanted = |key: &str| pairs.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str());
    let limit = wanted("limit").and_then(|l| l.parse().ok()).unwrap_or(usize::MAX);
    let fits = |image: &&ImageSeed| {
        wanted("name").is_none_or(|n| n == image.name)
            && wanted("status").is_none_or(|s| s == image.status)
            && wanted("id").is_none_or(|i| i == image.id)
    };
    let images: Vec<Value> =
        site.options.images.iter().filter(fits).take(limit).map(|i| show(site, i)).collect();
    let first = if call.query.is_empty() { String::new() } else { format!("?{}", call.query) };
    let first = format!("/v2/images{first}");
    Reply::json(200, &json!({"images": images, "first": first, "schema": "/v2/schemas/images"}))
}

fn show(site: &Site, image: &ImageSeed) -> Value {
    let time = site.time(site.options.now);
    let uploaded = image.status == "active";
    let mut shown = json!({
        "id": image.id,
        "name": image.name,
        "status": image.status,
        "disk_format": "raw",
        "container_format": "bare",
        "visibility": "public",
        "size": uploaded.then_some(1024),
        "virtual_size": uploaded.then_some(1024),
        "checksum": uploaded.then_some("7265f4d211b56873a381d321f586e4a9"),
        "os_hash_algo": uploaded.then_some("sha512"),
        "os_hash_value": uploaded.then_some("fa41ec783342d4c23e7b6550f1e96e32"),
        "protected": false,
        "min_ram": 0,
        "min_disk": 0,
        "owner": identity::PROJECT,
        "os_hidden": false,
        "created_at": time,
        "updated_at": time,
        "tags": [],
        "self": format!("/v2/images/{}", image.id),
        "file": format!("/v2/images/{}/file", image.id),
        "schema": "/v2/schemas/image",
    });
    if uploaded {
        shown["stores"] = json!("fs");
        // whatever else its uploader said of it; here openstacksdk
        shown["owner_specified.openstack.md5"] = json!("");
        shown["owner_specified.openstack.object"] = json!(format!("images/{}", image.name));
        shown["owner_specified.openstack.sha256"] = json!("");
    }
    shown
}
