//! Machines between Nova and slurmctld.

use fakes::{Behaviour, Boot, CloudOptions, NodeSeed, Rebuild, Registers, SlurmOptions, World};
use serde_json::json;

use crate::{create, nova, server, slurm};

async fn start(behaviour: Behaviour) -> World {
    let world = World::start(SlurmOptions::default(), CloudOptions::default()).await.unwrap();
    world.cloud.behave("node-1", &behaviour);
    world
}

async fn adopted(behaviour: Behaviour, ticks: usize) -> World {
    let world = start(behaviour).await;
    let client = nova(&world.cloud).await;
    create(&client, &server(&world.cloud, "node-1")).await;
    world.ticks(ticks);
    world
}

fn reason(world: &World) -> String {
    world.slurm.node("gpu-001").unwrap()["reason"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_machine_boots_a_tick_after_its_server_is_active_and_registers_as_told() {
    let world = adopted(Behaviour::default(), 2).await;
    assert_eq!(world.cloud.servers()[0]["status"], "ACTIVE");
    assert_eq!(world.slurm.node("gpu-001"), None);
    world.tick();
    assert_eq!(
        (world.slurm.state("gpu-001").as_str(), reason(&world).as_str()),
        ("IDLE+DRAIN+DYNAMIC_NORM", "fleet:registering")
    );
    let node = world.slurm.node("gpu-001").unwrap();
    assert_eq!(
        (&node["features"], &node["gres"], &node["partitions"]),
        (&json!(["dyn", "h100"]), &json!("gpu:h100:4"), &json!(["main"]))
    );
    assert_eq!(node["slurmd_start_time"]["number"], 1_790_000_003);
}

#[tokio::test]
async fn a_slow_boot_and_one_that_never_comes() {
    let world = adopted(Behaviour { boot: Boot::Takes(3), ..Behaviour::default() }, 4).await;
    assert_eq!(world.slurm.node("gpu-001"), None);
    world.tick();
    assert_eq!(world.slurm.state("gpu-001"), "IDLE+DRAIN+DYNAMIC_NORM");
    let world = adopted(Behaviour { boot: Boot::Never, ..Behaviour::default() }, 20).await;
    assert_eq!(world.slurm.node("gpu-001"), None);
}

#[tokio::test]
async fn one_that_registers_open_takes_a_users_job() {
    let world = start(Behaviour { registers: Registers::Open, ..Behaviour::default() }).await;
    let body = json!({"script": "#!/bin/sh\n", "job": {"name": "j", "current_working_directory": "/tmp", "environment": ["A=b"]}});
    assert_eq!(slurm(&world.slurm, "alice").post("/job/submit", &body).await.status, 200);
    create(&nova(&world.cloud).await, &server(&world.cloud, "node-1")).await;
    world.ticks(3);
    assert_eq!(world.slurm.state("gpu-001"), "IDLE+DYNAMIC_NORM");
    world.tick();
    assert_eq!(world.slurm.state("gpu-001"), "ALLOCATED+DYNAMIC_NORM");
}

#[tokio::test]
async fn one_with_too_few_gpus_is_an_invalid_registration_with_slurms_own_reason() {
    let world = adopted(Behaviour { gpus: Some(0), ..Behaviour::default() }, 3).await;
    assert_eq!(world.slurm.state("gpu-001"), "IDLE+DRAIN+INVALID_REG+DYNAMIC_NORM");
    assert_eq!(reason(&world), "gres/gpu count reported lower than configured (0 < 4)");
}

#[tokio::test]
async fn one_that_registers_as_something_else() {
    let conf = "Gres=gpu:h100:8 Feature=dyn State=DRAIN Reason=fleet:registering".to_owned();
    let world = adopted(Behaviour { registers: Registers::As(conf), ..Behaviour::default() }, 3).await;
    assert_eq!(world.slurm.node("gpu-001").unwrap()["gres"], "gpu:h100:8");
}

#[tokio::test]
async fn a_static_node_has_a_new_slurmd_and_an_unknown_one_without_a_conf_has_none() {
    let world = start(Behaviour::default()).await;
    world.slurm.put(NodeSeed::new("gpu-001").in_state(&["IDLE", "DRAIN"], "mine"));
    let mut body = server(&world.cloud, "node-1");
    body["server"]["metadata"] = json!({});
    let client = nova(&world.cloud).await;
    create(&client, &body).await;
    body["server"]["hostname"] = json!("gpu-002");
    body["server"]["hypervisor_hostname"] = json!("node-2");
    create(&client, &body).await;
    world.ticks(3);
    let node = world.slurm.node("gpu-001").unwrap();
    assert_eq!((world.slurm.state("gpu-001").as_str(), reason(&world).as_str()), ("IDLE+DRAIN", "mine"));
    assert_eq!(node["slurmd_start_time"]["number"], 1_790_000_003);
    assert_eq!(world.slurm.node("gpu-002"), None);
}

#[tokio::test]
async fn a_machine_whose_server_is_deleted_falls_silent() {
    let world = adopted(Behaviour::default(), 3).await;
    let client = nova(&world.cloud).await;
    let id = world.cloud.servers()[0]["id"].as_str().unwrap().to_owned();
    client.delete(&format!("/servers/{id}")).await;
    world.ticks(3);
    assert_eq!(world.slurm.state("gpu-001"), "IDLE+DRAIN+NOT_RESPONDING+DYNAMIC_NORM");
    world.ticks(2);
    assert_eq!(
        (world.slurm.state("gpu-001").as_str(), reason(&world).as_str()),
        ("DOWN+DRAIN+NOT_RESPONDING+DYNAMIC_NORM", "fleet:registering : Not responding")
    );
}

#[tokio::test]
async fn time_that_is_counted_in_requests() {
    let world = World::start(SlurmOptions::default(), CloudOptions::default()).await.unwrap();
    let client = nova(&world.cloud).await;
    world.tick_by_requests();
    let id = create(&client, &server(&world.cloud, "node-1")).await;
    let path = format!("/servers/{id}");
    let mut seen = Vec::new();
    for _ in 0..2 {
        seen.push(client.get(&path).await.json()["server"]["status"].clone());
    }
    assert_eq!(seen, ["BUILD", "ACTIVE"]);
    assert_eq!(slurm(&world.slurm, "root").get("/node/gpu-001").await.json()["nodes"][0]["name"], "gpu-001");
}

#[tokio::test]
async fn a_machine_that_is_rebuilt_goes_away_and_registers_anew() {
    let world = adopted(Behaviour { rebuild: Rebuild::Takes(3), ..Behaviour::default() }, 3).await;
    let started = |world: &World| {
        let node = world.slurm.node("gpu-001").unwrap();
        node["slurmd_start_time"]["number"].as_i64().unwrap()
    };
    let before = started(&world);
    let client = nova(&world.cloud).await;
    let id = world.cloud.servers()[0]["id"].as_str().unwrap().to_owned();
    let rebuild = json!({"rebuild": {"imageRef": world.cloud.image_id("slurm-node-b")}});
    assert_eq!(client.post(&format!("/servers/{id}/action"), &rebuild).await.status, 202);
    world.ticks(3);
    assert_eq!(world.slurm.state("gpu-001"), "IDLE+DRAIN+NOT_RESPONDING+DYNAMIC_NORM");
    assert_eq!(started(&world), before);
    world.tick();
    assert_eq!(world.slurm.state("gpu-001"), "IDLE+DRAIN+DYNAMIC_NORM");
    assert_eq!((started(&world), reason(&world).as_str()), (before + 4, "fleet:registering"));
}

#[tokio::test]
async fn a_machine_that_is_rebuilt_under_another_name_is_another_node() {
    let world = adopted(Behaviour::default(), 3).await;
    let client = nova(&world.cloud).await;
    let id = world.cloud.servers()[0]["id"].as_str().unwrap().to_owned();
    let rebuild =
        json!({"rebuild": {"imageRef": world.cloud.image_id("slurm-node-b"), "hostname": "gpu-009"}});
    assert_eq!(client.post(&format!("/servers/{id}/action"), &rebuild).await.status, 202);
    world.ticks(4);
    assert_eq!(world.slurm.state("gpu-001"), "IDLE+DRAIN+NOT_RESPONDING+DYNAMIC_NORM");
    assert_eq!(world.slurm.state("gpu-009"), "IDLE+DRAIN+DYNAMIC_NORM");
}
