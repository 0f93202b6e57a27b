//! What Nova's policy lets whom do, and what its refusal says.

use clients::openstack::{Networks, NewServer};
use clients::{Error, Kind};
use fakes::Role;
use reqwest::Method;
use serde_json::{Value, json};

use super::Site;
use super::subject::{Session, Subject};

/// Naming the machine wants this rule of Nova's policy.
const DESTINATION: &str =
    "Policy doesn't allow compute:servers:create:requested_destination to be performed.";

pub(super) async fn hold(s: &Subject) {
    let found = &s.findings;
    let member = s.log_in_as(Role::Member).await;
    let got = s.create(&member, "node-7", &json!({})).await;
    found.answer("a member that names the machine", &got, &got.says(DESTINATION), &(403, true));
    let refused = our_client_is_refused(s).await;
    found.same(
        "our client: a member that names the machine",
        &refused.to_string().as_str(),
        &format!("nova create server: not allowed: {DESTINATION} (HTTP 403)").as_str(),
    );
    found.same("our client: refused is known", &refused.is_unknown(), &false);
    let got = s.create(&member, "node-7", &json!({"hypervisor_hostname": null})).await;
    found.answer("a member that does not", &got, &got.status, &202);
    let id = id(&got.json());
    let server = s.settled(&member, &id).await;
    let machine = server.get("OS-EXT-SRV-ATTR:hypervisor_hostname");
    found.same("a member sees no machine", &machine, &None);

    let reader = s.log_in_as(Role::Reader).await;
    let rebuild = json!({"rebuild": {"imageRef": s.image}});
    let got = s.act(&reader, &id, &rebuild).await;
    // the older policy has no reader: who is in the project may
    let expected = if s.release.readers_create { 202 } else { 403 };
    found.answer("a reader's rebuild", &got, &got.status, &expected);
    let got = s.create(&reader, "node-7", &json!({"hypervisor_hostname": null, "name": "of-a-reader"})).await;
    found.answer("a reader's server", &got, &got.status, &expected);
    let member = s.log_in_as(Role::Member).await;
    for id in got.json()["server"]["id"].as_str().map(str::to_owned).into_iter().chain([id]) {
        s.settled(&member, &id).await;
        deleted(s, &member, &id).await;
    }

    let deployer = s.log_in_as(Role::Deployer).await;
    for (version, there) in [("2.93", true), ("2.94", s.release.beyond_2_93), ("2.101", false)] {
        let got = s.nova_at(version, &deployer, Method::GET, "flavors/bm.small", None).await;
        found.answer(version, &got, &got.status, &if there { 200 } else { 406 });
    }
}

/// As who may not name the machine.
async fn our_client_is_refused(s: &Subject) -> Error {
    let user = if let Site::Fake(_) = s.site { "deployer" } else { "worker" };
    let new = NewServer {
        name: "gpu-007".to_owned(),
        image: s.image.clone(),
        flavor: "bm.small".to_owned(),
        machine: Some("node-7".to_owned()),
        user_data: None,
        networks: Networks::None,
        config_drive: false,
        metadata: [].into(),
        tag: "fleet.device.gpu-007".to_owned(),
    };
    let refused = s.client_of(user).create_server(&new).await.unwrap_err();
    s.findings.same(
        "our client: forbidden in Nova's words",
        &refused.kind,
        &Kind::Forbidden(DESTINATION.to_owned()),
    );
    refused
}

fn id(created: &Value) -> String {
    created["server"]["id"].as_str().unwrap().to_owned()
}

pub(super) async fn deleted(s: &Subject, session: &Session, id: &str) {
    let got = s.nova(session, Method::DELETE, &format!("servers/{id}"), None).await;
    s.findings.answer("deleted at the end", &got, &got.status, &204);
    s.gone(session, id).await;
}
