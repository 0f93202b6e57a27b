//! A node rebuilt in place, for real: the row changes, and a second adoption makes it true under the
//! same server, when the user's job has ended.

use std::process::Command;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sandbox::{Api, Release, Run, binary, output};
use serde_json::{Value, json};

use crate::adopt_real::world::World;
use crate::adopt_real::{adopt, condition, start, tokens, told};
use crate::scan::{Secrets, nothing_secret};
use crate::wait::{eventually, http, say};

const CEILING: Duration = Duration::from_secs(120);
/// What the second user-data leaves on the machine.
const MARKER: &str = "/etc/fleet-second";
/// alice's job ends when this is there.
const LET_GO: &str = "/tmp/let-go";

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rebuild_real_26_05() {
    told(Run::of(Release::V26_05), tell).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rebuild_real_24_11() {
    told(Run::of(Release::V24_11), tell).await;
}

async fn tell(world: &World) {
    let hpc = world.hub.by_hand("hpc-lab").unwrap();
    let squad = world.hub.by_hand("fleet-squad").unwrap();
    let row = post_row(world, &hpc).await;
    let worker = world.worker();

    say("gpu-001 is adopted");
    let first = adopt(world, "gpu-001", &[]).await;
    assert_eq!(first["adopt"]["plan"], "PLAN_CREATE");
    ready(&squad).await;
    let before = world.root.node("gpu-001").await.unwrap().unwrap();

    let (second, user_data) = change_row(world, &hpc, &row).await;
    a_person_reads_who_changed_it(world, &row, &second).await;
    let job = occupy(world).await;
    a_dry_run_says_what_differs(world, &first, &second, &row).await;
    rebuilds_when_the_job_has_ended(world, &squad, &first, job).await;
    is_what_the_row_says(world, &squad, &first, &before, &second).await;
    again_is_no_write(world).await;
    another_flavor_is_refused(world, &hpc, &second).await;

    let secrets = Secrets::new(&[
        ("the second user-data", second["user_data"].as_str().unwrap()),
        ("the second user-data, decoded", &user_data),
        ("munge's key", &world.services.run.munge_key),
        ("the SLURM token", &world.root.token),
        ("the OpenStack password", &world.services.systems.password),
    ]);
    nothing_secret(world, &secrets, &worker);
}

async fn post_row(world: &World, hpc: &Api) -> Value {
    let (status, row) = hpc.post("sites/lab/slurm-bootstrap-configs/", &world.gpu_row).await.unwrap();
    assert_eq!(status, 201, "{row}");
    row
}

async fn patch(hpc: &Api, row: &Value, change: &Value) -> Value {
    let path = format!("sites/lab/slurm-bootstrap-configs/{}", row["id"].as_str().unwrap());
    let (status, row) = hpc.patch(&path, &row["revision"].to_string(), change).await.unwrap();
    assert_eq!(status, 200, "{row}");
    row
}

async fn ready(squad: &Api) {
    eventually("gpu-001 is ready and idle", CEILING, || async {
        let device = squad.device("gpu-001").await.unwrap();
        let seen = condition(&device, "SlurmSchedulable");
        if device["status"] == "ready" && seen == "True/Idle" { Ok(()) } else { Err(seen) }
    })
    .await;
}

async fn change_row(world: &World, hpc: &Api, row: &Value) -> (Value, String) {
    say("HPC changes the row: another image, and a user-data that leaves a file");
    let user_data = world
        .services
        .run
        .user_data()
        .replace("write_files:", &format!("write_files:\n  - path: {MARKER}\n    content: second"));
    assert!(user_data.contains(MARKER));
    let image = world.services.cloud.image("slurm-node-b").await.unwrap();
    let change = json!({"image": image, "user_data": STANDARD.encode(&user_data)});
    let second = patch(hpc, row, &change).await;
    assert_eq!((&second["revision"], &second["image"]), (&json!(2), &json!(image)));
    (second, user_data)
}

/// By hand, as README says: a token, and a call with it.
async fn a_person_reads_who_changed_it(world: &World, first: &Value, second: &Value) {
    say("satellite token, and the row's history");
    let mut command = Command::new(binary("satellite").unwrap());
    command.args(["token", "--client-id", "hpc-lab", "--hub", world.hub.url.as_str()]);
    command.arg("--key-file").arg(world.hub.key_file("hpc-lab"));
    let token = output(&mut command).unwrap();
    let id = second["id"].as_str().unwrap();
    let path = format!("api/v1/sites/lab/slurm-bootstrap-configs/{id}/history");
    let request = http().get(world.hub.url.join(&path).unwrap()).bearer_auth(token.trim());
    let history: Value = request.send().await.unwrap().json().await.unwrap();
    let [newest, oldest] = &history["items"].as_array().unwrap()[..] else { panic!("{history}") };
    assert_eq!((&newest["revision"], &newest["changed_by"]), (&json!(2), &json!("hpc-lab")));
    assert_eq!((&newest["before"]["image"], &newest["after"]["image"]), (&first["image"], &second["image"]));
    assert_eq!((&oldest["revision"], &oldest["before"]), (&json!(1), &json!(null)));
}

async fn occupy(world: &World) -> i64 {
    say("alice's job runs on it");
    let alice = world.services.user("alice").unwrap();
    let script = format!("#!/bin/sh\nwhile ! [ -e {LET_GO} ]; do sleep 0.2; done\n");
    let job = alice.submit("gpu-001", &script).await.unwrap();
    eventually("her job runs", CEILING, || async {
        let state = world.root.job(job).await.unwrap()["job_state"].clone();
        if state == json!(["RUNNING"]) { Ok(()) } else { Err(state.to_string()) }
    })
    .await;
    job
}

async fn a_dry_run_says_what_differs(world: &World, first: &Value, second: &Value, row: &Value) {
    say("satellite start adopt gpu-001 --dry-run: rebuild, and why");
    let writes = world.writes().await;
    let planned = adopt(world, "gpu-001", &["--dry-run"]).await;
    assert_eq!(planned["adopt"]["plan"], "PLAN_REBUILD");
    assert_eq!(planned["adopt"]["serverId"], first["adopt"]["serverId"]);
    let image = |row: &Value| row["image"].as_str().unwrap().to_owned();
    let differences =
        json!([format!("image is {}, should be {}", image(row), image(second)), "user-data differs"]);
    assert_eq!(planned["adopt"]["differences"], differences);
    assert_eq!(world.writes().await, writes);
}

async fn rebuilds_when_the_job_has_ended(world: &World, squad: &Api, first: &Value, job: i64) {
    say("satellite start adopt gpu-001: closed at once, rebuilt when the job has ended");
    let more = ["--request", "req-2", "--reason", "image b"];
    let (done, ()) = tokio::join!(adopt(world, "gpu-001", &more), lets_the_job_end(world, squad, job));
    assert_eq!(done["adopt"]["plan"], "PLAN_REBUILD");
    assert_eq!(done["adopt"]["serverId"], first["adopt"]["serverId"]);
    assert_eq!(done["resume"]["outcome"], "RESUME_OUTCOME_RESUMED");
    let job = world.root.job(job).await.unwrap();
    assert_eq!((&job["job_state"], &job["restart_cnt"]), (&json!(["COMPLETED"]), &json!(0)));
}

/// When the adoption waits for it, and has done nothing but close the node.
async fn lets_the_job_end(world: &World, squad: &Api, job: i64) {
    let (jobs, its) = ("1 job holds gpu-001 (", format!("): {job}; the last must end by "));
    eventually("it waits for the job", CEILING, || async {
        let runs = squad.get("sites/lab/devices/gpu-001/workflows/").await.unwrap();
        let progress = runs["items"][0]["progress"].clone();
        let said = progress["waiting_for"].as_str().unwrap_or_default();
        let waits = progress["step"] == "wait_empty" && said.starts_with(jobs) && said.contains(&its);
        if waits { Ok(()) } else { Err(progress.to_string()) }
    })
    .await;
    let node = world.root.node("gpu-001").await.unwrap().unwrap();
    assert_eq!(node["reason"], "fleet:adopt req-2: fleet-squad: image b");
    let [server] = &world.services.cloud.servers("gpu-001").await.unwrap()[..] else { panic!("one server") };
    assert_eq!((&server["status"], &server["image"]["id"]), (&json!("ACTIVE"), &world.gpu_row["image"]));
    assert_eq!(world.spawns("node-1").await.len(), 1);
    assert_eq!(world.root.job(job).await.unwrap()["job_state"], json!(["RUNNING"]));

    say("her job ends by itself");
    world.services.room.exec("node-1", &["touch", LET_GO]).await.unwrap();
}

async fn is_what_the_row_says(world: &World, squad: &Api, first: &Value, before: &Value, second: &Value) {
    say("the same server, the new image and user-data, a slurmd that has registered anew");
    let [server] = &world.services.cloud.servers("gpu-001").await.unwrap()[..] else { panic!("one server") };
    assert_eq!(server["id"], first["adopt"]["serverId"]);
    assert_eq!((&server["status"], &server["image"]["id"]), (&json!("ACTIVE"), &second["image"]));
    let noted = |key: &str| server["metadata"][key].clone();
    assert_eq!((noted("fleet_request"), noted("fleet_revision")), (json!("req-2"), json!("2")));
    let spawns = world.spawns("node-1").await;
    assert_eq!(spawns.len(), 2, "{spawns:?}");
    assert_eq!((&spawns[1]["uuid"], &spawns[1]["image"]), (&server["id"], &second["image"]));
    assert_eq!(spawns[1]["user_data"], second["user_data"]);
    let marker = world.services.room.exec("node-1", &["cat", MARKER]).await.unwrap();
    assert_eq!(marker, "second");
    let console = world.services.room.console("node-1").await.unwrap();
    assert!(console.contains("CLOUD-INIT DONE rc=0"), "{console}");
    ready(squad).await;
    let node = world.root.node("gpu-001").await.unwrap().unwrap();
    assert_eq!(tokens(&node), ["IDLE", "DYNAMIC_NORM"]);
    let started = |node: &Value| node["slurmd_start_time"]["number"].as_i64().unwrap();
    assert!(started(&node) > started(before), "{} {}", started(&node), started(before));
    assert_eq!(node["extra"], "");
}

async fn again_is_no_write(world: &World) {
    say("adopted once more: noop, no write");
    let writes = world.writes().await;
    let done = adopt(world, "gpu-001", &[]).await;
    assert_eq!((&done["adopt"]["plan"], &done["adopt"]["differences"]), (&json!("PLAN_NOOP"), &json!(null)));
    assert_eq!(world.writes().await, writes);
}

async fn another_flavor_is_refused(world: &World, hpc: &Api, row: &Value) {
    say("a row with another flavor: refused with the way out, nothing written");
    let row = patch(hpc, row, &json!({"flavor": "vm.small"})).await;
    assert_eq!(row["revision"], 3);
    let writes = world.writes().await;
    let answer = start(world, "adopt", "gpu-001", &[]).output().unwrap();
    let lines = String::from_utf8(answer.stdout).unwrap();
    let last = lines.lines().last().unwrap();
    say(&format!("  | {last}"));
    assert_eq!(answer.status.code(), Some(1));
    assert!(last.starts_with("failed: request.conflict: server "), "{last}");
    assert!(
        last.contains("flavor is bm.small, should be vm.small; release the device, then adopt it"),
        "{last}"
    );
    assert_eq!(world.writes().await, writes);
}
