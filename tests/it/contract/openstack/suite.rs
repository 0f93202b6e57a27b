//! What our clients count on in Keystone, Glance and Nova, as it happens to servers on two machines.

use std::collections::BTreeMap;

use clients::Kind;
use clients::openstack::{Networks, NewServer, Server, ServerStatus};
use model::{ServerId, UserData};
use reqwest::Method;
use serde_json::{Value, json};

use super::subject::{Machine, Session, Subject};
use super::{CEILING, CLOUD_CONFIG, login, names, rebuild, roles};
use crate::contract::Got;
use crate::wait::eventually;

pub(super) const NOWHERE: &str = "00000000-0000-4000-8000-000000000000";

pub(super) async fn holds(s: &Subject) {
    who_asks(s).await;
    login::holds(s).await;
    let session = s.log_in().await;
    what_servers_are_made_of(s, &session).await;
    names::hold(s, &session).await;
    what_is_refused(s, &session).await;
    a_server(s, &session).await;
    our_clients_server(s).await;
    rebuild::holds(s, &session).await;
    rebuild::holds_for_our_client(s, &session).await;
    roles::hold(s).await;
}

async fn who_asks(s: &Subject) {
    let found = &s.findings;
    let got = s.authenticate("wrong").await;
    found.answer("a wrong password", &got, &got.says("requires authentication"), &(401, true));
    let refused = s.client("wrong").image(&s.image).await.unwrap_err();
    found.same("our client: a wrong password", &refused.kind, &Kind::Unauthenticated);

    let got = s.authenticate("deployer").await;
    found.answer("a token", &got, &(got.status, got.subject.is_empty()), &(201, false));
    let mut token = got.json()["token"].clone();
    let catalog = token["catalog"].take();
    found.whole("openstack_token", &token);
    token["catalog"] = catalog;
    found.shape("a token", &token, &[("expires_at", "string"), ("catalog", "list"), ("roles", "list")]);
    for kind in ["image", "compute", "identity"] {
        let catalog = token["catalog"].as_array().unwrap();
        let entry = catalog.iter().find(|e| e["type"] == kind).cloned().unwrap_or_default();
        let public =
            entry["endpoints"].as_array().and_then(|e| e.iter().find(|e| e["interface"] == "public"));
        let shape = [("url", "string"), ("region", "string"), ("region_id", "string")];
        found.shape(&format!("the public endpoint of {kind}"), public.unwrap_or(&Value::Null), &shape);
    }

    let session = Session { token: "garbage".to_owned(), ..s.log_in().await };
    let got = s.get(&session, "servers/detail").await;
    found.answer("Nova: a garbage token", &got, &got.says("requires authentication"), &(401, true));
    let got = s.glance(&session, &format!("images/{}", s.image)).await;
    found.answer("Glance: a garbage token", &got, &got.says("could not verify"), &(401, true));
}

async fn what_servers_are_made_of(s: &Subject, session: &Session) {
    let found = &s.findings;
    let got = s.glance(session, &format!("images/{}", s.image)).await;
    let image = got.json();
    found.whole("openstack_image", &image);
    let seen = (got.status, &image["id"], &image["name"], &image["status"]);
    found.answer("an image", &got, &seen, &(200, &json!(s.image), &json!("slurm-node-a"), &json!("active")));
    let got = s.glance(session, &format!("images/{NOWHERE}")).await;
    let words = format!("No image found with ID {NOWHERE}");
    found.answer("no image", &got, &got.says(&words), &(404, true));

    let got = s.get(session, "flavors/bm.small").await;
    let flavor = &got.json()["flavor"];
    found.whole("openstack_flavor", flavor);
    let seen = (got.status, &flavor["id"], &flavor["name"]);
    found.answer("a flavor", &got, &seen, &(200, &json!("bm.small"), &json!("bm.small")));
    let got = s.get(session, "flavors/nosuch").await;
    found.answer("no flavor", &got, &got.says("Flavor nosuch could not be found."), &(404, true));

    let client = s.client("deployer");
    let image = client.image(&s.image).await.unwrap().map(|i| i.status);
    found.same("our client: an image", &image.as_deref(), &Some("active"));
    found.same("our client: no image", &client.image(NOWHERE).await.unwrap(), &None);
    let flavor = client.flavor("bm.small").await.unwrap().map(|f| f.name);
    found.same("our client: a flavor", &flavor.as_deref(), &Some("bm.small"));
    found.same("our client: no flavor", &client.flavor("nosuch").await.unwrap(), &None);
}

async fn what_is_refused(s: &Subject, session: &Session) {
    let found = &s.findings;
    for (what, over, words) in [
        ("an unknown machine", json!({"hypervisor_hostname": "node-99"}), "node-99 could not be found."),
        ("bad base64", json!({"user_data": "!!!not base64!!!"}), "is not a 'base64'"),
        ("no such image", json!({"imageRef": NOWHERE}), "Can not find requested image"),
        ("an image that is no id", json!({"imageRef": "slurm-node-a"}), "is not valid under any of"),
        ("no such flavor", json!({"flavorRef": "nosuch"}), "Flavor nosuch could not be found."),
        ("no networks", json!({"networks": null}), "'networks' is a required property"),
        ("an unknown key", json!({"bogus": 1}), "Additional properties are not allowed"),
        ("a long tag", json!({"tags": ["t".repeat(61)]}), "is too long"),
        ("a tag with a comma", json!({"tags": ["a,b"]}), "does not match"),
        ("long metadata", json!({"metadata": {"k": "v".repeat(256)}}), "is too long"),
        ("a hostname with a dot", json!({"hostname": "gpu.001"}), "does not match"),
    ] {
        let got = s.create(session, "node-8", &over).await;
        found.answer(what, &got, &got.says(words), &(400, true));
    }
    let got = s.get(session, &format!("servers/{NOWHERE}")).await;
    found.answer(
        "no server",
        &got,
        &got.says(&format!("Instance {NOWHERE} could not be found.")),
        &(404, true),
    );
    let got = s.nova(session, Method::DELETE, &format!("servers/{NOWHERE}"), None).await;
    found.answer("deleting none", &got, &got.says("could not be found"), &(404, true));
    let got = s.get(session, "bogus").await;
    found.answer("no such path", &got, &got.says("The resource could not be found."), &(404, true));
    let got = s.get(session, "servers/detail").await;
    found.answer("nothing was made", &got, &got.json()["servers"], &json!([]));
}

async fn a_server(s: &Subject, session: &Session) {
    let found = &s.findings;
    s.behave("node-1", &Machine::Slow).await;
    let got = s.create(session, "node-1", &json!({})).await;
    found.answer("a server is accepted", &got, &got.status, &202);
    let made = got.json()["server"].clone();
    found.whole("openstack_accepted", &made);
    found.shape("what was accepted", &made, &[("id", "string"), ("adminPass", "string"), ("links", "list")]);
    let id = made["id"].as_str().unwrap().to_owned();

    let got = s.get(session, "servers/detail?tags=fleet.device.gpu-001").await;
    let listed =
        got.json()["servers"].as_array().map(|l| l.iter().map(|s| s["id"].clone()).collect::<Vec<_>>());
    found.answer("found by its tag at once", &got, &(got.status, listed), &(200, Some(vec![json!(id)])));
    let building = s.get(session, &format!("servers/{id}")).await.json()["server"].clone();
    shown(s, "while it is BUILD", &building);
    let seen = (&building["status"], &building["OS-EXT-STS:vm_state"], &building["OS-SRV-USG:launched_at"]);
    found.same("while it is BUILD", &seen, &(&json!("BUILD"), &json!("building"), &Value::Null));

    let active = s.settled(session, &id).await;
    found.whole("openstack_server", &active);
    shown(s, "when it is ACTIVE", &active);
    let seen =
        (&active["status"], &active["OS-EXT-STS:task_state"], &active["OS-EXT-SRV-ATTR:hypervisor_hostname"]);
    found.same("when it is ACTIVE", &seen, &(&json!("ACTIVE"), &Value::Null, &json!("node-1")));
    found.shape(
        "when it is ACTIVE",
        &active,
        &[("OS-SRV-USG:launched_at", "string"), ("OS-EXT-SRV-ATTR:host", "string"), ("fault", "absent")],
    );
    found.same("its user-data is shown", &active["OS-EXT-SRV-ATTR:user_data"], &json!(CLOUD_CONFIG));

    for (what, query, status, count) in [
        ("a tag that nobody has", "tags=fleet.device.nosuch", 200, Some(0)),
        ("two tags", "tags=fleet,fleet.device.gpu-001", 200, Some(1)),
        ("two tags, one of them nobody's", "tags=fleet,nosuch", 200, Some(0)),
        ("a name", "name=^gpu-001$", 200, Some(1)),
        ("a status", "status=ERROR", 200, Some(0)),
        ("an ignored filter", "node=node-7", 200, Some(1)),
        ("an unknown filter", "bogus=1", 400, None),
        ("an unknown marker", "marker=nosuch", 400, None),
    ] {
        let got = s.get(session, &format!("servers/detail?{query}")).await;
        let seen = (got.status, got.json()["servers"].as_array().map(Vec::len));
        found.answer(what, &got, &seen, &(status, count));
    }
    let old = s.http.get(format!("{}/servers/detail?bogus=1", session.nova));
    let got = Got::of(old.header("X-Auth-Token", &session.token)).await;
    let seen = (got.status, got.json()["servers"].as_array().map(Vec::len));
    found.answer("an unknown filter, asked at 2.1, is ignored", &got, &seen, &(200, Some(1)));

    second_on_its_machine(s, session).await;

    let got = s.nova(session, Method::DELETE, &format!("servers/{id}"), None).await;
    found.answer("deleted", &got, &(got.status, got.text.as_str()), &(204, ""));
    let got = s.gone(session, &id).await;
    found.answer("gone", &got, &got.says(&format!("Instance {id} could not be found.")), &(404, true));
    let got = s.nova(session, Method::DELETE, &format!("servers/{id}"), None).await;
    found.answer("deleted again", &got, &got.says("could not be found"), &(404, true));
    let id = ServerId::parse(&id).unwrap();
    let client = s.client("deployer");
    found.same("our client: deleted again", &client.delete_server(&id).await.is_ok(), &true);
    found.same("our client: gone", &client.server(&id).await.unwrap(), &None);
}

/// What is true of it whatever its status.
fn shown(s: &Subject, when: &str, server: &Value) {
    let found = &s.findings;
    for (field, expected) in [
        ("name", json!("gpu-001")),
        ("metadata", json!({"fleet_role": "gpu"})),
        ("config_drive", json!("True")),
        ("addresses", json!({})),
        ("OS-EXT-SRV-ATTR:hostname", json!("gpu-001")),
        ("locked", json!(false)),
        ("description", Value::Null),
    ] {
        found.same(&format!("{when}, its {field}"), &server[field], &expected);
    }
    let mut tags: Vec<&str> = server["tags"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    tags.sort_unstable();
    found.same(&format!("{when}, its tags"), &tags, &vec!["fleet", "fleet.device.gpu-001"]);
    found.same(&format!("{when}, its image"), &server["image"]["id"], &json!(s.image));
    let flavor = (&server["flavor"]["original_name"], server["flavor"].get("id"));
    found.same(&format!("{when}, its flavor"), &flavor, &(&json!("bm.small"), None));
    let types = [("id", "string"), ("created", "string"), ("updated", "string"), ("tenant_id", "string")];
    found.shape(when, server, &types);
    let machine = &server["OS-EXT-SRV-ATTR:hypervisor_hostname"];
    let known = server.get("OS-EXT-SRV-ATTR:hypervisor_hostname").is_some();
    found.same(
        &format!("{when}, its machine"),
        &(known, machine.is_null() || machine == "node-1"),
        &(true, true),
    );
}

async fn second_on_its_machine(s: &Subject, session: &Session) {
    let found = &s.findings;
    let got = s
        .create(session, "node-1", &json!({"name": "second", "hostname": "second", "tags": ["second"]}))
        .await;
    found.answer("a second one is accepted", &got, &got.status, &202);
    let id = got.json()["server"]["id"].as_str().unwrap().to_owned();
    let failed = s.settled(session, &id).await;
    found.whole("openstack_server_in_error", &failed);
    let message = failed["fault"]["message"].as_str().unwrap_or_default();
    let seen = (&failed["status"], message.contains("No valid host was found"), &failed["fault"]["code"]);
    found.same("a second one", &seen, &(&json!("ERROR"), true, &json!(500)));
    let seen = (&failed["OS-EXT-SRV-ATTR:hypervisor_hostname"], &failed["OS-SRV-USG:launched_at"]);
    found.same("a second one is nowhere", &seen, &(&Value::Null, &Value::Null));
    let fields =
        [("OS-EXT-STS:vm_state", "string"), ("fault/created", "string"), ("fault/details", "absent")];
    found.shape("a second one", &failed, &fields);
    found.same("a second one does nothing", &failed["OS-EXT-STS:task_state"], &Value::Null);
    let got = s.act(session, &id, &json!({"rebuild": {"imageRef": s.image}})).await;
    let words = format!("Instance {id} is in an invalid state for 'rebuild'");
    found.answer("what was never launched is not rebuilt", &got, &got.says(&words), &(409, true));
    let got = s.nova(session, Method::DELETE, &format!("servers/{id}"), None).await;
    found.answer("deleted in ERROR", &got, &got.status, &204);
    s.gone(session, &id).await;
}

async fn our_clients_server(s: &Subject) {
    let (found, client, tag) = (&s.findings, s.client("deployer"), "fleet.device.gpu-002");
    s.behave("node-2", &Machine::Slow).await;
    let new = NewServer {
        name: "gpu-002".to_owned(),
        image: s.image.clone(),
        flavor: "bm.small".to_owned(),
        machine: Some("node-2".to_owned()),
        user_data: Some(UserData::encode(b"#cloud-config\n")),
        networks: Networks::None,
        config_drive: true,
        metadata: BTreeMap::from([("fleet_role".to_owned(), "gpu".to_owned())]),
        tag: tag.to_owned(),
    };
    let id = client.create_server(&new).await.unwrap();
    let list = client.servers_with_tag(tag).await.unwrap();
    let seen: Vec<_> = list.iter().map(|s| (&s.id, &s.status)).collect();
    found.same("our client: found by its tag", &seen, &vec![(&id, &ServerStatus::Build)]);
    found.same("our client: nobody's tag", &client.servers_with_tag("nosuch").await.unwrap(), &vec![]);
    let server = eventually("our client's server is ACTIVE", CEILING, || async {
        let server = client.server(&id).await.unwrap().ok_or("none")?;
        if server.status == ServerStatus::Active {
            return Ok(server);
        }
        s.tick();
        Err(server.status.to_string())
    })
    .await;
    let expected = Server {
        id: id.clone(),
        name: "gpu-002".to_owned(),
        status: ServerStatus::Active,
        task_state: None,
        locked: false,
        image: s.image.clone(),
        flavor_name: "bm.small".to_owned(),
        machine: Some("node-2".to_owned()),
        metadata: new.metadata.clone(),
        tags: vec![tag.to_owned()],
        fault: None,
        launched_at: server.launched_at.clone(),
    };
    found.same("our client: a server", &server, &expected);
    found.same("our client: launched", &server.launched_at.is_some(), &true);
    let unknown = client.create_server(&NewServer { machine: Some("node-99".to_owned()), ..new }).await;
    let unknown = unknown.map_err(|e| matches!(&e.kind, Kind::Rejected(_)) && !e.is_unknown());
    found.same("our client: an unknown machine", &unknown, &Err(true));
    client.delete_server(&id).await.unwrap();
    eventually("our client's server is gone", CEILING, || async {
        s.tick();
        client.server(&id).await.unwrap().map_or(Ok(()), |s| Err(s.status.to_string()))
    })
    .await;
    found.same("our client: no server is left", &client.servers_with_tag(tag).await.unwrap(), &vec![]);
}
