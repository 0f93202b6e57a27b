//! Servers: made, found by their mark, read, deleted.

use clients::Kind;
use clients::openstack::{Networks, NewServer, OpenStack, Server, ServerStatus};
use model::ServerId;
use serde_json::{Value, json};

use crate::fake::{Fake, Reply};
use crate::openstack::{CREATE, cloud, new_server};

const LIST: &str = "GET /v2.1/servers/detail";

fn id(text: &str) -> ServerId {
    ServerId::parse(text).unwrap()
}

async fn read(recording: &str) -> Server {
    let (fake, openstack) = cloud().await;
    fake.on("GET /v2.1/servers/s-1", [Reply::openstack(recording)]);
    openstack.server(&id("s-1")).await.unwrap().unwrap()
}

/// What was sent for this server, but its envelope.
async fn sent(new: &NewServer) -> (Fake, OpenStack, Value) {
    let (fake, openstack) = cloud().await;
    fake.on(CREATE, [Reply::openstack("server-create")]);
    let made = openstack.create_server(new).await.unwrap();
    assert_eq!(made.as_str(), "ead60ff8-b6c5-4782-8ac3-9fbbded81778");
    let body = fake.asked(CREATE)[0].json();
    assert_eq!(fake.asked(CREATE)[0].header("openstack-api-version"), Some("compute 2.90"));
    (fake, openstack, body)
}

#[tokio::test]
async fn a_server_is_asked_for_exactly_so() {
    let (_fake, _openstack, body) = sent(&new_server()).await;
    assert_eq!(
        body,
        json!({"server": {
            "name": "gpu-1",
            "hostname": "gpu-1",
            "imageRef": "image-1",
            "flavorRef": "flavor-1",
            "hypervisor_hostname": "node-1",
            "networks": [{"uuid": "net-1"}, {"uuid": "net-2"}],
            "config_drive": true,
            "metadata": {"fleet_request": "r-1"},
            "tags": ["fleet.device.d-1"],
            "user_data": "I2Nsb3VkLWNvbmZpZwo=",
        }})
    );
}

#[tokio::test]
async fn what_is_not_given_is_not_sent_as_null() {
    for (networks, word) in [(Networks::None, "none"), (Networks::Auto, "auto")] {
        let bare = NewServer { machine: None, user_data: None, networks, ..new_server() };
        let (_fake, _openstack, body) = sent(&bare).await;
        let server = body["server"].as_object().unwrap();
        assert!(!server.contains_key("user_data") && !server.contains_key("hypervisor_hostname"));
        assert_eq!(server["networks"], word);
    }
}

#[tokio::test]
async fn case_b36_a_5xx_of_create_may_have_made_a_server() {
    let (fake, openstack) = cloud().await;
    for (status, kind) in [
        (500, Kind::Broken("no reason given".to_owned())),
        (502, Kind::Unavailable),
        (503, Kind::Unavailable),
        (504, Kind::Unavailable),
    ] {
        fake.on(CREATE, [Reply::text(status, "text/html", "<html>")]);
        let error = openstack.create_server(&new_server()).await.unwrap_err();
        assert!(error.is_unknown());
        assert_eq!(error.kind, kind);
    }
    assert_eq!(fake.asked(CREATE).len(), 4);
}

#[tokio::test]
async fn a_building_server_is_read() {
    let server = read("server-get-building").await;
    assert_eq!((server.status, server.task_state.as_deref()), (ServerStatus::Build, Some("scheduling")));
    assert_eq!((server.machine, server.launched_at, server.fault), (None, None, None));
    assert_eq!(server.tags, ["req-1", "slurm"]);
}

#[tokio::test]
async fn an_active_server_is_read() {
    let server = read("server-get-active-admin").await;
    assert_eq!((server.status, server.task_state), (ServerStatus::Active, None));
    assert_eq!(server.machine.as_deref(), Some("node-3"));
    assert_eq!(server.image, "6229648e-bc9d-4e64-bda1-b1ceb63a1da8");
    assert_eq!((server.name.as_str(), server.flavor_name.as_str()), ("dev-1", "bm.small"));
    assert_eq!(server.metadata["request_key"], "req-1");
    assert_eq!(server.launched_at.as_deref(), Some("2026-11-30T03:52:57.000000"));
}

#[tokio::test]
async fn case_b42_a_failed_server_says_why() {
    let server = read("server-error-no-valid-host").await;
    assert_eq!((server.status, server.launched_at), (ServerStatus::Error, None));
    assert_eq!(server.fault.as_deref(), Some("No valid host was found."));
}

#[tokio::test]
async fn servers_are_found_by_their_tag() {
    let (fake, openstack) = cloud().await;
    fake.on(LIST, [Reply::openstack("servers-by-tag")]);
    let found = openstack.servers_with_tag("rk:abc").await.unwrap();
    let ids: Vec<&str> = found.iter().map(|s| s.id.as_str()).collect();
    assert_eq!(ids, ["d685b100-3b0d-4a2a-8125-a9c6997b06df", "1f46b002-ee20-4ad1-97a4-bf6e115a080e"]);
    assert_eq!(fake.asked(LIST)[0].query, "tags=rk%3Aabc");
}

#[tokio::test]
async fn servers_that_do_not_carry_the_tag_are_not_ours_whatever_was_filtered() {
    let (fake, openstack) = cloud().await;
    // all servers of the project: a filter that Nova ignored
    fake.on(LIST, [Reply::openstack("servers-by-tag-old-mv"), Reply::openstack("servers-by-tag")]);
    assert_eq!(openstack.servers_with_tag("rk:zzz").await.unwrap(), []);
    assert_eq!(openstack.servers_with_tag("rk:ab").await.unwrap(), []);
}

/// A page of these servers, all with tag `t`, and a link to the next one.
fn page(ids: &[&str], more: bool) -> Reply {
    let server = |id: &&str| json!({"id": id, "status": "ACTIVE", "tags": ["t"]});
    let servers: Vec<Value> = ids.iter().map(server).collect();
    let recorded = Reply::openstack("servers-page1").body();
    let links = if more { recorded["servers_links"].clone() } else { json!([]) };
    Reply::json(200, &json!({"servers": servers, "servers_links": links}))
}

#[tokio::test]
async fn case_b43_pages_are_followed_to_the_end() {
    let (fake, openstack) = cloud().await;
    fake.on(LIST, [page(&["a", "b"], true), page(&["c", "d"], true), page(&[], false)]);
    let found = openstack.servers_with_tag("t").await.unwrap();
    let ids: Vec<&str> = found.iter().map(|s| s.id.as_str()).collect();
    assert_eq!(ids, ["a", "b", "c", "d"]);
    let queries: Vec<String> = fake.asked(LIST).into_iter().map(|a| a.query).collect();
    assert_eq!(queries, ["tags=t", "tags=t&marker=b", "tags=t&marker=d"]);
}

#[tokio::test]
async fn case_b43_a_marker_that_does_not_move_is_an_error() {
    let (fake, openstack) = cloud().await;
    fake.on(LIST, [page(&["a", "b"], true)]);
    let error = openstack.servers_with_tag("t").await.unwrap_err();
    assert_eq!(error.kind, Kind::Malformed("pages that do not end".to_owned()));
    assert_eq!(fake.asked(LIST).len(), 2);
}

#[tokio::test]
async fn deleted_or_gone_is_done() {
    let (fake, openstack) = cloud().await;
    let call = "DELETE /v2.1/servers/s-1";
    fake.on(call, [Reply::openstack("delete"), Reply::openstack("delete-missing")]);
    openstack.delete_server(&id("s-1")).await.unwrap();
    openstack.delete_server(&id("s-1")).await.unwrap();
    assert_eq!(fake.asked(call).len(), 2);
}
