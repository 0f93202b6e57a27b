//! What becomes of a server, tick by tick.

use fakes::{Behaviour, Build, Cloud, CloudOptions, Destroy, EventKind, Role};
use serde_json::{Value, json};

use crate::{Client, create, nova, server};

async fn start() -> (Cloud, Client) {
    let cloud = Cloud::start(CloudOptions::default()).await.unwrap();
    let client = nova(&cloud).await;
    (cloud, client)
}

async fn look(client: &Client, id: &str) -> Value {
    client.get(&format!("/servers/{id}")).await.json()["server"].clone()
}

async fn states(client: &Client, id: &str) -> (Value, Value) {
    let server = look(client, id).await;
    (server["status"].clone(), server["OS-EXT-STS:task_state"].clone())
}

#[tokio::test]
async fn a_build_passes_its_task_states_one_of_which_is_null() {
    let (cloud, client) = start().await;
    cloud.behave("node-1", &Behaviour { build: Build::Takes(6), ..Behaviour::default() });
    let id = create(&client, &server(&cloud, "node-1")).await;
    let mut seen = Vec::new();
    for _ in 0..7 {
        let (status, task) = states(&client, &id).await;
        seen.push(format!("{}/{}", status.as_str().unwrap(), task.as_str().unwrap_or("null")));
        cloud.tick();
    }
    let expected = [
        "BUILD/scheduling",
        "BUILD/null",
        "BUILD/networking",
        "BUILD/block_device_mapping",
        "BUILD/spawning",
        "BUILD/spawning",
        "ACTIVE/null",
    ];
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn what_reached_the_machine_is_in_the_events() {
    let (cloud, client) = start().await;
    let id = create(&client, &server(&cloud, "node-3")).await;
    cloud.tick();
    cloud.tick();
    let events = cloud.events();
    assert_eq!((events.len(), events[0].kind, events[0].node.as_str()), (1, EventKind::Spawn, "node-3"));
    assert_eq!((&events[0].uuid, events[0].user_data.as_deref()), (&id, Some("I2Nsb3VkLWNvbmZpZwo=")));
    assert!(events[0].config_drive);
    let active = look(&client, &id).await;
    assert_eq!(active["OS-EXT-SRV-ATTR:hypervisor_hostname"], "node-3");
    assert_eq!(active["OS-SRV-USG:launched_at"], "2026-09-21T14:13:22.000000");
    assert_eq!(
        (&active["tags"], &active["flavor"]["original_name"]),
        (&json!(["fleet.device.d-1"]), &json!("bm.small"))
    );
}

#[tokio::test]
async fn a_member_is_not_shown_the_machine_nor_an_old_microversion_the_tags() {
    let (cloud, client) = start().await;
    let id = create(&client, &server(&cloud, "node-3")).await;
    cloud.role(Role::Member);
    let shown = look(&client, &id).await;
    assert_eq!(
        (shown.get("OS-EXT-SRV-ATTR:host"), &shown["OS-EXT-SRV-ATTR:hostname"]),
        (None, &json!("gpu-001"))
    );
    assert_eq!(shown.get("OS-EXT-SRV-ATTR:user_data"), None);
    let old = look(&client.with("OpenStack-API-Version", "compute 2.1"), &id).await;
    assert_eq!((old.get("tags"), &old["flavor"]["id"]), (None, &json!("bm.small")));
}

#[tokio::test]
async fn a_busy_machine_is_no_valid_host_with_a_space_at_the_end() {
    let (cloud, client) = start().await;
    create(&client, &server(&cloud, "node-4")).await;
    let second = create(&client, &server(&cloud, "node-4")).await;
    cloud.tick();
    let shown = look(&client, &second).await;
    assert_eq!(
        (&shown["status"], &shown["fault"]["message"]),
        (&json!("ERROR"), &json!("No valid host was found. "))
    );
    assert_eq!(
        (&shown["hostId"], &shown["OS-SRV-USG:launched_at"], shown.get("progress")),
        (&json!(""), &json!(null), None)
    );
    // one that was never placed is gone at once
    assert_eq!(client.delete(&format!("/servers/{second}")).await.status, 204);
    assert_eq!(client.get(&format!("/servers/{second}")).await.status, 404);
}

#[tokio::test]
async fn a_driver_that_fails_ends_in_error_and_frees_the_machine() {
    let (cloud, client) = start().await;
    cloud.behave(
        "node-1",
        &Behaviour { build: Build::Fails("deploy failed".to_owned()), ..Behaviour::default() },
    );
    let id = create(&client, &server(&cloud, "node-1")).await;
    let mut anywhere = server(&cloud, "node-1");
    anywhere["server"].as_object_mut().unwrap().remove("hypervisor_hostname");
    cloud.tick();
    let fault = look(&client, &id).await["fault"].clone();
    let text = format!(
        "Exceeded maximum number of retries. Exhausted all hosts available for retrying build failures for instance {id}."
    );
    assert_eq!((&fault["code"], &fault["message"]), (&json!(500), &json!(text)));
    let other = create(&client, &anywhere).await;
    cloud.tick();
    let fault = look(&client, &other).await["fault"]["message"].clone();
    assert!(
        fault.as_str().unwrap().ends_with(&format!("instance {other}. Last exception: deploy failed")),
        "{fault}"
    );
    assert_eq!(cloud.events().len(), 0);
}

#[tokio::test]
async fn no_host_for_a_machine_that_is_out_nor_for_a_flavor_that_fits_none() {
    let (cloud, client) = start().await;
    cloud.behave("node-1", &Behaviour { build: Build::NoValidHost, ..Behaviour::default() });
    let out = create(&client, &server(&cloud, "node-1")).await;
    let mut body = server(&cloud, "node-2");
    body["server"]["flavorRef"] = json!("nohost");
    let odd = create(&client, &body).await;
    cloud.tick();
    assert_eq!(states(&client, &out).await.0, "ERROR");
    assert_eq!(states(&client, &odd).await.0, "ERROR");
}

#[tokio::test]
async fn a_deletion_passes_deleted_on_the_way_to_404() {
    let (cloud, client) = start().await;
    let id = create(&client, &server(&cloud, "node-1")).await;
    cloud.tick();
    cloud.tick();
    let path = format!("/servers/{id}");
    assert_eq!(client.delete(&path).await.status, 204);
    assert_eq!(client.delete(&path).await.status, 204);
    assert_eq!(states(&client, &id).await, (json!("ACTIVE"), json!("deleting")));
    cloud.tick();
    assert_eq!(states(&client, &id).await, (json!("DELETED"), json!(null)));
    assert_eq!(cloud.events().last().map(|e| e.kind), Some(EventKind::Destroy));
    cloud.tick();
    let gone = (404, format!("Instance {id} could not be found."));
    assert_eq!(client.get(&path).await.nova(), gone);
    assert_eq!(client.delete(&path).await.nova(), gone);
}

#[tokio::test]
async fn a_deletion_that_fails_wants_two_more() {
    let (cloud, client) = start().await;
    let id = create(&client, &server(&cloud, "node-1")).await;
    cloud.tick();
    cloud.tick();
    cloud.behave(
        "node-1",
        &Behaviour { destroy: Destroy::Fails("ipmi timeout".to_owned()), ..Behaviour::default() },
    );
    let path = format!("/servers/{id}");
    client.delete(&path).await;
    cloud.tick();
    assert_eq!(states(&client, &id).await, (json!("ERROR"), json!("deleting")));
    let fault = look(&client, &id).await["fault"].clone();
    assert_eq!(
        (&fault["code"], &fault["message"]),
        (&json!(400), &json!("Failed to terminate instance: ipmi timeout"))
    );
    cloud.behave("node-1", &Behaviour::default());
    assert_eq!(client.delete(&path).await.status, 204);
    cloud.tick();
    assert_eq!(states(&client, &id).await, (json!("ERROR"), json!(null)));
    client.delete(&path).await;
    cloud.tick();
    cloud.tick();
    assert_eq!(client.get(&path).await.status, 404);
}

#[tokio::test]
async fn a_deletion_while_building() {
    let (cloud, client) = start().await;
    cloud.behave("node-1", &Behaviour { build: Build::Takes(9), ..Behaviour::default() });
    let id = create(&client, &server(&cloud, "node-1")).await;
    cloud.tick();
    client.delete(&format!("/servers/{id}")).await;
    assert_eq!(states(&client, &id).await, (json!("BUILD"), json!("deleting")));
    cloud.tick();
    cloud.tick();
    assert_eq!(cloud.servers().len(), 0);
}
