//! Rebuilds in place, on a machine of their own: what is new at once, what comes of it, what is refused.

use clients::Kind;
use clients::openstack::{Rebuild, ServerStatus};
use model::{ServerId, UserData};
use reqwest::Method;
use serde_json::{Value, json};

use super::roles::deleted;
use super::subject::{Machine, Session, Subject};
use super::suite::NOWHERE;
use super::{CEILING, CLOUD_CONFIG};
use crate::wait::eventually;

const MACHINE: &str = "node-3";
/// What the rebuilt machine is handed.
const SECOND: &str = "I2Nsb3VkLWNvbmZpZwojIHR3bwo=";
const LAUNCHED: &str = "OS-SRV-USG:launched_at";

pub(super) async fn holds(s: &Subject, session: &Session) {
    let found = &s.findings;
    let other = image(s, session).await;
    let all = json!({"rebuild": {
        "imageRef": other, "name": "gpu-033", "hostname": "gpu-033", "user_data": SECOND,
        "metadata": {"fleet_request": "r-2"},
    }});
    s.behave(MACHINE, &Machine::Slow).await;
    let got = s.create(session, MACHINE, &json!({"name": "gpu-003", "hostname": "gpu-003"})).await;
    let id = got.json()["server"]["id"].as_str().unwrap().to_owned();
    let busy = |what: &str| format!("Cannot 'rebuild' instance {id} while it is in {what}");
    let got = s.act(session, &id, &all).await;
    found.answer("a rebuild while it is BUILD", &got, &got.says(&busy("vm_state building")), &(409, true));
    let before = s.until(session, &id, "ACTIVE", &Value::Null).await;

    refused(s, session, &id, &other).await;
    locked(s, session, &id, &all).await;

    let got = s.act(session, &id, &all).await;
    let echo = got.json()["server"].clone();
    found.whole("openstack_rebuilding", &echo);
    let seen = (got.status, &echo["status"], &echo["user_data"], &echo["OS-EXT-STS:task_state"]);
    found.same(
        "a rebuild is accepted",
        &seen,
        &(202, &json!("REBUILD"), &json!(SECOND), &json!("rebuilding")),
    );
    let now = s.get(session, &format!("servers/{id}")).await.json()["server"].clone();
    found.same("and is REBUILD at once", &now["status"], &json!("REBUILD"));
    shows_what_is_new(s, "at once", &now, &other);
    found.same("at once: launched as before", &now[LAUNCHED], &before[LAUNCHED]);
    let got = s.act(session, &id, &all).await;
    found.answer("a rebuild meanwhile", &got, &got.says(&busy("task_state ")), &(409, true));

    let after = s.until(session, &id, "ACTIVE", &Value::Null).await;
    shows_what_is_new(s, "when done", &after, &other);
    found.same("launched anew", &(after[LAUNCHED].as_str() > before[LAUNCHED].as_str()), &true);
    found.same("it stayed", &after["OS-EXT-SRV-ATTR:hypervisor_hostname"], &json!(MACHINE));
    let (one, two) = (Some(CLOUD_CONFIG.to_owned()), Some(SECOND.to_owned()));
    let expected = [("spawn", &s.image, one), ("destroy", &other, two.clone()), ("spawn", &other, two)];
    let expected: Vec<_> = expected.map(|(kind, image, data)| (kind.to_owned(), image.clone(), data)).into();
    found.same("what reached the machine", &s.events(&id).await, &expected);

    kept_and_failed(s, session, &id).await;
    switched(s, session, &id).await;
    deleted(s, session, &id).await;
    let got = s.act(session, &id, &all).await;
    let gone = format!("Instance {id} could not be found.");
    found.answer("a rebuild of what is gone", &got, &got.says(&gone), &(404, true));
}

/// The id of `slurm-node-b`.
async fn image(s: &Subject, session: &Session) -> String {
    let got = s.glance(session, "images?name=slurm-node-b").await;
    got.json()["images"][0]["id"].as_str().unwrap().to_owned()
}

fn shows_what_is_new(s: &Subject, when: &str, server: &Value, image: &str) {
    for (field, expected) in [
        ("name", json!("gpu-033")),
        ("OS-EXT-SRV-ATTR:hostname", json!("gpu-033")),
        ("metadata", json!({"fleet_request": "r-2"})),
        ("OS-EXT-SRV-ATTR:user_data", json!(SECOND)),
    ] {
        s.findings.same(&format!("{when}: its {field}"), &server[field], &expected);
    }
    s.findings.same(&format!("{when}: its image"), &server["image"]["id"], &json!(image));
    let tags: Vec<&str> = server["tags"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    s.findings.same(&format!("{when}: its tags are kept"), &tags.contains(&"fleet.device.gpu-001"), &true);
}

async fn refused(s: &Subject, session: &Session, id: &str, image: &str) {
    let found = &s.findings;
    let queued = s.glance(session, "images?name=queued").await.json()["images"][0]["id"].clone();
    for (what, over, words) in [
        ("no such image", json!({"imageRef": NOWHERE}), "Cannot find image for rebuild"),
        ("a queued image", json!({"imageRef": queued}), "is not active."),
        ("an image's name", json!({"imageRef": "slurm-node-b"}), "is not a 'uuid'"),
        ("no image", json!({"imageRef": null}), "None is not of type 'string'"),
        (
            "bad base64",
            json!({"user_data": "#cloud-config\n"}),
            "is not valid under any of the given schemas",
        ),
        ("long metadata", json!({"metadata": {"k": "v".repeat(256)}}), "is too long"),
        ("a hostname with a dot", json!({"hostname": "gpu.003"}), "does not match"),
        ("an unknown key", json!({"bogus": 1}), "Additional properties are not allowed"),
        ("a flavor", json!({"flavorRef": "bm.small"}), "Additional properties are not allowed"),
    ] {
        let mut rebuild = json!({"imageRef": image});
        for (key, value) in over.as_object().unwrap() {
            rebuild[key] = value.clone();
        }
        let got = s.act(session, id, &json!({"rebuild": rebuild})).await;
        found.answer(&format!("a rebuild with {what}"), &got, &got.says(words), &(400, true));
    }
    let got = s.act(session, id, &json!({"rebuild": {}})).await;
    found.answer("an empty rebuild", &got, &got.says("'imageRef' is a required property"), &(400, true));
    let got = s.act(session, id, &json!({"bogus": null})).await;
    found.answer("no such action", &got, &got.says("There is no such action: bogus"), &(400, true));
}

async fn locked(s: &Subject, session: &Session, id: &str, rebuild: &Value) {
    let found = &s.findings;
    let got = s.act(session, id, &json!({"lock": null})).await;
    found.answer("it is locked", &got, &(got.status, got.text.as_str()), &(202, ""));
    let words = format!("Instance {id} is locked");
    let got = s.act(session, id, rebuild).await;
    found.answer("a rebuild of what is locked", &got, &got.says(&words), &(409, true));
    let got = s.act(session, id, &json!({"os-stop": null})).await;
    found.answer("a stop of what is locked", &got, &got.says(&words), &(409, true));
    let got = s.nova(session, Method::DELETE, &format!("servers/{id}"), None).await;
    found.answer("a deletion of what is locked", &got, &got.says(&words), &(409, true));
    let (client, id) = (s.client("deployer"), ServerId::parse(id).unwrap());
    let server = client.server(&id).await.unwrap().unwrap();
    found.same("our client: it is locked", &server.locked, &true);
    let error = client.rebuild(&id, &ours(&s.image)).await.unwrap_err();
    found.same("our client: a rebuild of what is locked", &error.kind, &Kind::Locked(words));
    let got = s.act(session, id.as_str(), &json!({"unlock": null})).await;
    found.answer("it is unlocked", &got, &got.status, &202);
}

/// What is not said is kept; a driver that fails leaves what is new, and can be asked again.
async fn kept_and_failed(s: &Subject, session: &Session, id: &str) {
    let found = &s.findings;
    s.behave(MACHINE, &Machine::Fails("deploy failed: no PXE boot")).await;
    let got = s.act(session, id, &json!({"rebuild": {"imageRef": s.image}})).await;
    found.answer("a rebuild that will fail is accepted", &got, &got.status, &202);
    let failed = s.until(session, id, "ERROR", &Value::Null).await;
    let fault = &failed["fault"];
    let seen = (&fault["code"], &fault["message"], &failed["OS-EXT-STS:vm_state"]);
    found.same("failed", &seen, &(&json!(400), &json!("deploy failed: no PXE boot"), &json!("error")));
    found.same("failed: its image is the new one", &failed["image"]["id"], &json!(s.image));
    let kept = (&failed["name"], &failed["metadata"], &failed["OS-EXT-SRV-ATTR:user_data"]);
    found.same(
        "failed: the rest is kept",
        &kept,
        &(&json!("gpu-033"), &json!({"fleet_request": "r-2"}), &json!(SECOND)),
    );
    found.same("failed: launched as before", &failed[LAUNCHED].is_string(), &true);

    s.behave(MACHINE, &Machine::Works).await;
    let clear = json!({"rebuild": {"imageRef": s.image, "user_data": null}});
    let got = s.act(session, id, &clear).await;
    let seen = (got.status, got.json()["server"]["status"].clone());
    found.answer("what has failed is rebuilt", &got, &seen, &(202, json!("REBUILD")));
    let cleared = s.until(session, id, "ACTIVE", &Value::Null).await;
    let seen = (&cleared["OS-EXT-SRV-ATTR:user_data"], cleared.get("fault"), &cleared["OS-EXT-STS:vm_state"]);
    found.same("its user-data is taken away", &seen, &(&Value::Null, None, &json!("active")));
}

/// One that was off is on for a while and off again, until it is started.
async fn switched(s: &Subject, session: &Session, id: &str) {
    let found = &s.findings;
    let got = s.act(session, id, &json!({"os-start": null})).await;
    let words = format!("Cannot 'start' instance {id} while it is in vm_state active");
    found.answer("a start of what runs", &got, &got.says(&words), &(409, true));
    let got = s.act(session, id, &json!({"os-stop": null})).await;
    found.answer("a stop", &got, &(got.status, got.text.as_str()), &(202, ""));
    let off = s.until(session, id, "SHUTOFF", &Value::Null).await;
    let seen = (&off["OS-EXT-STS:vm_state"], &off["OS-EXT-STS:power_state"]);
    found.same("when it is off", &seen, &(&json!("stopped"), &json!(4)));
    // slow, since `launched_at` is in whole seconds
    s.behave(MACHINE, &Machine::Slow).await;
    let got = s.act(session, id, &json!({"rebuild": {"imageRef": s.image}})).await;
    let echo = got.json()["server"].clone();
    let seen = (got.status, &echo["status"], &echo["OS-EXT-STS:vm_state"]);
    found.same("what is off is rebuilt", &seen, &(202, &json!("REBUILD"), &json!("stopped")));
    let again = s.until(session, id, "SHUTOFF", &Value::Null).await;
    found.same("launched while it was off", &(again[LAUNCHED].as_str() > off[LAUNCHED].as_str()), &true);
    let got = s.act(session, id, &json!({"os-start": null})).await;
    found.answer("a start of what is off", &got, &got.status, &202);
    let on = s.until(session, id, "ACTIVE", &Value::Null).await;
    found.same("started, and not launched", &on[LAUNCHED], &again[LAUNCHED]);
}

fn ours(image: &str) -> Rebuild {
    Rebuild {
        name: "gpu-004".to_owned(),
        image: image.to_owned(),
        user_data: Some(UserData::encode(b"#cloud-config\n# two\n")),
        metadata: [("fleet_request".to_owned(), "r-4".to_owned())].into(),
    }
}

pub(super) async fn holds_for_our_client(s: &Subject, session: &Session) {
    let found = &s.findings;
    let other = image(s, session).await;
    let got = s.create(session, "node-4", &json!({"name": "gpu-004", "hostname": "gpu-004"})).await;
    let text = got.json()["server"]["id"].as_str().unwrap().to_owned();
    let (client, id) = (s.client("deployer"), ServerId::parse(&text).unwrap());
    s.until(session, &text, "ACTIVE", &Value::Null).await;
    let before = client.server(&id).await.unwrap().unwrap();
    s.behave("node-4", &Machine::Slow).await;
    client.rebuild(&id, &ours(&other)).await.unwrap();
    let now = client.server(&id).await.unwrap().unwrap();
    let seen = (&now.status, &now.image, &now.metadata, &now.launched_at, now.locked);
    let new = ours(&other);
    found.same(
        "our client: a rebuild shows at once",
        &seen,
        &(&ServerStatus::Rebuild, &other, &new.metadata, &before.launched_at, false),
    );
    let error = client.rebuild(&id, &new).await.unwrap_err();
    found.same("our client: meanwhile", &matches!(error.kind, Kind::Conflict(_)), &true);
    let done = eventually("our client's server is rebuilt", CEILING, || async {
        let server = client.server(&id).await.unwrap().ok_or("none")?;
        if server.status == ServerStatus::Active && server.task_state.is_none() {
            return Ok(server);
        }
        s.tick();
        Err(server.status.to_string())
    })
    .await;
    found.same("our client: launched anew", &(done.launched_at > before.launched_at), &true);
    s.behave("node-4", &Machine::Works).await;
    client.rebuild(&id, &Rebuild { user_data: None, ..new }).await.unwrap();
    let cleared = s.until(session, &text, "ACTIVE", &Value::Null).await;
    found.same("our client: no user-data", &cleared["OS-EXT-SRV-ATTR:user_data"], &Value::Null);
    deleted(s, session, &text).await;
    let error = client.rebuild(&id, &ours(&other)).await.unwrap_err();
    found.same("our client: a rebuild of what is gone", &matches!(error.kind, Kind::Conflict(_)), &true);
}
