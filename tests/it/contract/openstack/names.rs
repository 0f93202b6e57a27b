//! Images and flavors by name: names of images are not unique.

use fakes::{FlavorSeed, ImageSeed};
use reqwest::Method;
use serde_json::{Value, json};

use super::Site;
use super::subject::{Session, Subject};
use crate::contract::Got;

/// The name that two images have.
const TWICE: &str = "Debian 13 (twice)";
const FLAVOR: (&str, &str) = ("f-1", "Bare metal / small");

/// What the fake has besides what the image is seeded with.
pub(super) fn images() -> [ImageSeed; 2] {
    ["a", "b"].map(|which| ImageSeed { name: TWICE.to_owned(), ..ImageSeed::new(which, "active") })
}

/// As [`images`].
pub(super) fn flavor() -> FlavorSeed {
    let (id, name) = FLAVOR;
    FlavorSeed { name: name.to_owned(), ..FlavorSeed::new(id, 512, json!({})) }
}

/// The real one gets the same, from its administrator.
pub(super) async fn seed(s: &Subject) {
    let Site::Real(_) = s.site else { return };
    let admin = s.log_in_as_admin().await;
    for _ in 0..2 {
        let new = json!({
            "name": TWICE, "disk_format": "raw", "container_format": "bare", "visibility": "public"});
        let image = request(s, &admin, Method::POST, "images", Some(&new)).await.json();
        let file = format!("images/{}/file", image["id"].as_str().unwrap());
        let got = request(s, &admin, Method::PUT, &file, None).await;
        assert_eq!(got.status, 204, "{}", got.text);
    }
    let (id, name) = FLAVOR;
    let new = json!({"flavor": {"id": id, "name": name, "ram": 512, "vcpus": 1, "disk": 1}});
    let got = s.nova(&admin, Method::POST, "flavors", Some(&new)).await;
    assert_eq!(got.status, 200, "{}", got.text);
}

async fn request(s: &Subject, admin: &Session, method: Method, path: &str, body: Option<&Value>) -> Got {
    let request = s.http.request(method, format!("{}/v2/{path}", admin.glance));
    let request = request.header("X-Auth-Token", &admin.token);
    let request = match body {
        Some(body) => request.json(body),
        None => request.header("Content-Type", "application/octet-stream").body("nothing that boots"),
    };
    Got::of(request).await
}

pub(super) async fn hold(s: &Subject, session: &Session) {
    let found = &s.findings;
    for (what, query, count) in [
        ("a name", "name=slurm-node-a&status=active", 1),
        ("a name that two have", "name=Debian+13+%28twice%29&status=active", 2),
        ("a name of a queued one", "name=queued&status=active", 0),
        ("a part of a name", "name=slurm-node&status=active", 0),
    ] {
        let got = s.glance(session, &format!("images?{query}")).await;
        let body = got.json();
        let seen = (got.status, body["images"].as_array().map(Vec::len), body.get("next").is_some());
        found.answer(what, &got, &seen, &(200, Some(count), false));
    }
    let got = s.get(session, "flavors/detail").await;
    let body = got.json();
    let names: Vec<&Value> = body["flavors"].as_array().unwrap().iter().map(|f| &f["name"]).collect();
    let seen = (got.status, names.contains(&&json!(FLAVOR.1)), body.get("flavors_links").is_some());
    found.answer("flavors", &got, &seen, &(200, true, false));

    let client = s.client("deployer");
    for (what, count) in [
        (s.image.as_str(), 1),
        (super::suite::NOWHERE, 0),
        ("slurm-node-a", 1),
        (TWICE, 2),
        ("queued", 0),
        ("slurm-node", 0),
        ("in:slurm-node-a,slurm-node-b", 0),
    ] {
        let images = client.images_called(what).await.unwrap();
        found.same(&format!("our client: images called {what}"), &images.len(), &count);
    }
    let named: Vec<String> =
        client.images_called("slurm-node-a").await.unwrap().into_iter().map(|i| i.id).collect();
    found.same("our client: an image's name is its id", &named, &vec![s.image.clone()]);
    for (what, expected) in
        [(FLAVOR.0, Some(FLAVOR.0)), (FLAVOR.1, Some(FLAVOR.0)), ("bm.small", Some("bm.small")), ("bm", None)]
    {
        let flavor = client.flavor_called(what).await.unwrap().map(|f| f.id);
        found.same(&format!("our client: the flavor called {what}"), &flavor.as_deref(), &expected);
    }
}
