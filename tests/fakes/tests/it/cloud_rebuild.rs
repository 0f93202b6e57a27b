//! Rebuilds, switches and locks.

use fakes::{Answer, Behaviour, Cloud, CloudOptions, EventKind, Fault, Rebuild, Role, Service};
use serde_json::{Value, json};

use crate::{Client, create, nova, server};

/// A cloud with a server that is ACTIVE on node-1.
async fn active() -> (Cloud, Client, String) {
    let cloud = Cloud::start(CloudOptions::default()).await.unwrap();
    let client = nova(&cloud).await;
    let id = create(&client, &server(&cloud, "node-1")).await;
    cloud.tick();
    cloud.tick();
    (cloud, client, id)
}

fn rebuild(cloud: &Cloud) -> Value {
    json!({"rebuild": {
        "imageRef": cloud.image_id("slurm-node-b"),
        "name": "gpu-002",
        "hostname": "gpu-002",
        "user_data": "I3R3bwo=",
        "metadata": {"fleet_request": "r-2"},
    }})
}

async fn act(client: &Client, id: &str, body: &Value) -> (u16, String) {
    let got = client.post(&format!("/servers/{id}/action"), body).await;
    if got.status == 202 { (202, String::new()) } else { got.nova() }
}

async fn look(client: &Client, id: &str) -> Value {
    client.get(&format!("/servers/{id}")).await.json()["server"].clone()
}

async fn states(client: &Client, id: &str) -> String {
    let server = look(client, id).await;
    let text = |key: &str| server[key].as_str().unwrap_or("null").to_owned();
    format!("{}/{}", text("status"), text("OS-EXT-STS:task_state"))
}

#[tokio::test]
async fn a_rebuild_shows_all_that_is_new_when_it_is_accepted() {
    let (cloud, client, id) = active().await;
    let before = look(&client, &id).await;
    let got = client.post(&format!("/servers/{id}/action"), &rebuild(&cloud)).await;
    let echo = &got.json()["server"];
    assert_eq!((got.status, &echo["status"]), (202, &json!("REBUILD")));
    assert_eq!((&echo["user_data"], echo["adminPass"].is_string()), (&json!("I3R3bwo="), true));
    assert_eq!(echo.get("OS-EXT-SRV-ATTR:user_data"), None);
    assert!(got.header("location").ends_with(&format!("/v2.1/servers/{id}")));
    let shown = look(&client, &id).await;
    for (key, value) in [
        ("name", json!("gpu-002")),
        ("OS-EXT-SRV-ATTR:hostname", json!("gpu-002")),
        ("metadata", json!({"fleet_request": "r-2"})),
        ("tags", json!(["fleet.device.d-1"])),
        ("OS-EXT-SRV-ATTR:user_data", json!("I3R3bwo=")),
        ("OS-SRV-USG:launched_at", before["OS-SRV-USG:launched_at"].clone()),
    ] {
        assert_eq!(shown[key], value, "{key}");
    }
    assert_eq!(shown["image"]["id"], json!(cloud.image_id("slurm-node-b")));
    cloud.tick();
    cloud.tick();
    let after = look(&client, &id).await;
    assert_eq!((&after["status"], &after["OS-EXT-STS:task_state"]), (&json!("ACTIVE"), &Value::Null));
    assert!(after["OS-SRV-USG:launched_at"].as_str() > before["OS-SRV-USG:launched_at"].as_str());
    let events: Vec<_> = cloud.events().into_iter().map(|e| (e.kind, e.user_data.unwrap())).collect();
    let one = "I2Nsb3VkLWNvbmZpZwo=".to_owned();
    let two = || "I3R3bwo=".to_owned();
    assert_eq!(events, [(EventKind::Spawn, one), (EventKind::Destroy, two()), (EventKind::Spawn, two())]);
}

#[tokio::test]
async fn a_rebuild_passes_its_task_states_and_is_refused_meanwhile() {
    let (cloud, client, id) = active().await;
    cloud.behave("node-1", &Behaviour { rebuild: Rebuild::Takes(4), ..Behaviour::default() });
    assert_eq!(act(&client, &id, &rebuild(&cloud)).await.0, 202);
    let mut seen = Vec::new();
    for task in ["rebuilding", "rebuild_block_device_mapping", "rebuild_spawning", "rebuild_spawning"] {
        seen.push(states(&client, &id).await);
        let words = format!("Cannot 'rebuild' instance {id} while it is in task_state {task}");
        assert_eq!(act(&client, &id, &rebuild(&cloud)).await, (409, words));
        cloud.tick();
    }
    seen.push(states(&client, &id).await);
    assert_eq!(
        seen,
        [
            "REBUILD/rebuilding",
            "REBUILD/rebuild_block_device_mapping",
            "REBUILD/rebuild_spawning",
            "REBUILD/rebuild_spawning",
            "ACTIVE/null"
        ]
    );
}

#[tokio::test]
async fn what_cannot_be_rebuilt() {
    let (cloud, client, id) = active().await;
    let other = create(&client, &server(&cloud, "node-2")).await;
    let words = format!("Cannot 'rebuild' instance {other} while it is in vm_state building");
    assert_eq!(act(&client, &other, &rebuild(&cloud)).await, (409, words));
    let placeless = create(&client, &server(&cloud, "node-1")).await;
    cloud.tick();
    let words = format!("Instance {placeless} is in an invalid state for 'rebuild'");
    assert_eq!(act(&client, &placeless, &rebuild(&cloud)).await, (409, words));
    client.delete(&format!("/servers/{id}")).await;
    let words = format!("Cannot 'rebuild' instance {id} while it is in task_state deleting");
    assert_eq!(act(&client, &id, &rebuild(&cloud)).await, (409, words));
    let words = "Instance nosuch could not be found.".to_owned();
    assert_eq!(act(&client, "nosuch", &rebuild(&cloud)).await, (404, words));
    cloud.role(Role::Reader);
    let words = "Policy doesn't allow os_compute_api:servers:rebuild to be performed.".to_owned();
    assert_eq!(act(&client, &other, &rebuild(&cloud)).await, (403, words));
}

#[tokio::test]
async fn what_a_rebuild_cannot_be_made_of() {
    let (cloud, client, id) = active().await;
    let queued = cloud.image_id("queued").unwrap();
    for (over, words) in [
        (json!({"imageRef": "6daec758-4ae3-4ade-9fb6-e663cce100bc"}), "Cannot find image for rebuild"),
        (json!({"imageRef": queued}), &format!("Image {queued} is not active.")),
        (json!({"imageRef": ""}), "Invalid input for field/attribute imageRef. Value: . '' is not a 'uuid'"),
        (
            json!({"imageRef": null}),
            "Invalid input for field/attribute imageRef. Value: None. None is not of type 'string'",
        ),
        (
            json!({"user_data": "#cloud-config\n"}),
            "Invalid input for field/attribute user_data. Value: #cloud-config\n. '#cloud-config\\n' is not \
             valid under any of the given schemas",
        ),
        (
            json!({"hostname": "slurm-7.example.org"}),
            "Invalid input for field/attribute hostname. Value: slurm-7.example.org. 'slurm-7.example.org' \
             does not match '^[a-zA-Z0-9]+[a-zA-Z0-9-]*[a-zA-Z0-9]+$'",
        ),
    ] {
        let mut body = rebuild(&cloud);
        for (key, value) in over.as_object().unwrap() {
            body["rebuild"][key] = value.clone();
        }
        assert_eq!(act(&client, &id, &body).await, (400, words.to_owned()));
    }
    let words = "Invalid input for field/attribute rebuild. Value: {}. 'imageRef' is a required property";
    assert_eq!(act(&client, &id, &json!({"rebuild": {}})).await, (400, words.to_owned()));
    assert_eq!(states(&client, &id).await, "ACTIVE/null");
}

#[tokio::test]
async fn user_data_is_kept_taken_away_or_emptied() {
    let (cloud, client, id) = active().await;
    let image = cloud.image_id("slurm-node-a");
    for (given, expected) in [
        (json!({"imageRef": image}), json!("I2Nsb3VkLWNvbmZpZwo=")),
        (json!({"imageRef": image, "user_data": ""}), json!("")),
        (json!({"imageRef": image, "user_data": null}), Value::Null),
    ] {
        assert_eq!(act(&client, &id, &json!({"rebuild": given})).await.0, 202);
        cloud.tick();
        cloud.tick();
        let shown = look(&client, &id).await;
        assert_eq!((&shown["OS-EXT-SRV-ATTR:user_data"], &shown["name"]), (&expected, &json!("gpu-001")));
    }
}

#[tokio::test]
async fn a_driver_that_fails_leaves_what_is_new_and_can_be_asked_again() {
    let (cloud, client, id) = active().await;
    let launched = look(&client, &id).await["OS-SRV-USG:launched_at"].clone();
    let fails = Rebuild::Fails("deploy failed: no PXE boot".to_owned());
    cloud.behave("node-1", &Behaviour { rebuild: fails, ..Behaviour::default() });
    act(&client, &id, &rebuild(&cloud)).await;
    cloud.tick();
    assert_eq!(states(&client, &id).await, "ERROR/null");
    let failed = look(&client, &id).await;
    let fault = &failed["fault"];
    assert_eq!((&fault["code"], &fault["message"]), (&json!(400), &json!("deploy failed: no PXE boot")));
    assert_eq!(
        (&failed["OS-EXT-SRV-ATTR:user_data"], &failed["OS-SRV-USG:launched_at"]),
        (&json!("I3R3bwo="), &launched)
    );
    cloud.behave("node-1", &Behaviour::default());
    assert_eq!(act(&client, &id, &rebuild(&cloud)).await.0, 202);
    assert_eq!(states(&client, &id).await, "REBUILD/rebuilding");
    cloud.tick();
    cloud.tick();
    assert_eq!(states(&client, &id).await, "ACTIVE/null");
    assert_eq!(look(&client, &id).await.get("fault"), None);
}

#[tokio::test]
async fn one_that_the_driver_does_not_know_is_rebuilding_for_ever_but_can_be_deleted() {
    let (cloud, client, id) = active().await;
    cloud.behave("node-1", &Behaviour { rebuild: Rebuild::Never, ..Behaviour::default() });
    act(&client, &id, &rebuild(&cloud)).await;
    (0..50).for_each(|_| cloud.tick());
    assert_eq!(states(&client, &id).await, "REBUILD/rebuilding");
    client.delete(&format!("/servers/{id}")).await;
    cloud.tick();
    cloud.tick();
    assert_eq!(cloud.servers().len(), 0);
}

#[tokio::test]
async fn one_that_was_off_is_on_for_a_while_and_off_again_until_it_is_started() {
    let (cloud, client, id) = active().await;
    assert_eq!(act(&client, &id, &json!({"os-stop": null})).await.0, 202);
    assert_eq!(states(&client, &id).await, "ACTIVE/powering-off");
    cloud.tick();
    assert_eq!(states(&client, &id).await, "SHUTOFF/null");
    assert_eq!(act(&client, &id, &rebuild(&cloud)).await.0, 202);
    let mut seen = Vec::new();
    for _ in 0..5 {
        seen.push(states(&client, &id).await);
        cloud.tick();
    }
    let expected = [
        "REBUILD/rebuilding",
        "REBUILD/rebuild_block_device_mapping",
        "ACTIVE/null",
        "ACTIVE/powering-off",
        "SHUTOFF/null",
    ];
    assert_eq!(seen, expected);
    assert_eq!(act(&client, &id, &json!({"os-start": null})).await.0, 202);
    cloud.tick();
    assert_eq!(states(&client, &id).await, "ACTIVE/null");
    let words = format!("Cannot 'start' instance {id} while it is in vm_state active");
    assert_eq!(act(&client, &id, &json!({"os-start": null})).await, (409, words));
}

#[tokio::test]
async fn a_lock_keeps_everybody_but_an_admin_out() {
    let (cloud, client, id) = active().await;
    assert_eq!(act(&client, &id, &json!({"lock": null})).await.0, 202);
    assert_eq!(look(&client, &id).await["locked"], true);
    let locked = (409, format!("Instance {id} is locked"));
    assert_eq!(act(&client, &id, &rebuild(&cloud)).await, locked);
    assert_eq!(act(&client, &id, &json!({"os-stop": null})).await, locked);
    assert_eq!(client.delete(&format!("/servers/{id}")).await.nova(), locked);
    assert_eq!(act(&client, &id, &json!({"unlock": null})).await.0, 202);
    cloud.lock(&id, true);
    let words = "Policy doesn't allow os_compute_api:os-lock-server:unlock:unlock_override to be performed.";
    assert_eq!(act(&client, &id, &json!({"unlock": null})).await, (403, words.to_owned()));
    cloud.role(Role::Admin);
    assert_eq!(act(&client, &id, &rebuild(&cloud)).await.0, 202);
    cloud.role(Role::Deployer);
    cloud.lock(&id, false);
    assert_eq!(look(&client, &id).await["locked"], false);
}

#[tokio::test]
async fn a_500_that_was_accepted_all_the_same() {
    let (cloud, client, id) = active().await;
    let path = format!("/v2.1/servers/{id}/action");
    let broken = Answer::DoneButStatus { code: 500, body: json!({"computeFault": {"message": "neutron"}}) };
    cloud.fault(Fault::on(Service::Nova, "POST", &path, broken));
    assert_eq!(act(&client, &id, &rebuild(&cloud)).await.0, 500);
    assert_eq!(states(&client, &id).await, "REBUILD/rebuilding");
    assert_eq!(look(&client, &id).await["metadata"], json!({"fleet_request": "r-2"}));
    let body = cloud.log().last().unwrap().body.clone();
    assert_eq!(body, None);
    let asked = cloud.log().into_iter().find(|r| r.path == path).unwrap().body.unwrap();
    assert_eq!(asked["rebuild"]["user_data"], "<user_data>");
}
