//! One device, for real: from the hub's row to a schedulable node.

mod releases;
pub(crate) mod watching;
pub(crate) mod world;

use std::panic::AssertUnwindSafe;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::FutureExt as _;
use sandbox::{Api, Process, Run, exec};
use serde_json::{Value, json};

use crate::scan::{self, Secrets};
use crate::wait::{eventually, say};
use watching::Watching;
use world::World;

const CEILING: Duration = Duration::from_secs(120);

pub(crate) fn tokens(node: &Value) -> Vec<String> {
    node["state"].as_array().unwrap().iter().map(|t| t.as_str().unwrap().to_owned()).collect()
}

/// `satellite start …`, as the fleet squad.
pub(crate) fn start(world: &World, verb: &str, device: &str, more: &[&str]) -> Command {
    world.site.start(verb, device, more).unwrap()
}

fn output(command: &mut Command) -> String {
    sandbox::output(command).unwrap()
}

/// `satellite start adopt …` to its end: its result.
pub(crate) async fn adopt(world: &World, device: &str, more: &[&str]) -> Value {
    let mut command = start(world, "adopt", device, more);
    let lines = tokio::task::spawn_blocking(move || output(&mut command)).await.unwrap();
    for line in lines.lines() {
        say(&format!("  | {line}"));
    }
    result(&lines)
}

pub(crate) fn condition(device: &Value, kind: &str) -> String {
    let find = |c: &&Value| c["type"] == kind;
    let text = |c: &Value| format!("{}/{}", c["status"].as_str().unwrap(), c["reason"].as_str().unwrap());
    device["conditions"].as_array().unwrap().iter().find(find).map_or("none".to_owned(), text)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn adopt_real() {
    told(Run::new(), tell).await;
}

/// Tells a story in a world of its own, which ends also when the story fails.
pub(crate) async fn told(run: Run, story: impl AsyncFnOnce(&World)) {
    let world = Box::pin(World::start(run)).await;
    let told = AssertUnwindSafe(Box::pin(story(&world))).catch_unwind().await;
    if told.is_err() {
        world.keep_logs().await;
    }
    world.end().await;
    if let Err(panic) = told {
        std::panic::resume_unwind(panic);
    }
}

async fn tell(world: &World) {
    let secrets = Secrets::new(&[
        ("the user-data", world.gpu_row["user_data"].as_str().unwrap()),
        ("the user-data, decoded", &world.services.run.user_data()),
        ("munge's key", &world.services.run.munge_key),
        ("the SLURM token", &world.root.token),
        ("the OpenStack password", &world.services.systems.password),
        ("slurmctld's JWT key", &STANDARD.encode(&world.services.run.jwt_key)),
    ]);
    hpc_writes_the_rows(world).await;
    let mut worker = world.worker();
    let squad = world.hub.by_hand("fleet-squad").unwrap();

    a_dry_run_only_plans(world).await;
    adopts(world, &squad).await;
    a_user_runs_a_job(world).await;
    adopts_again_without_a_write(world, &squad).await;
    leaves_a_humans_drain_alone(world).await;
    refuses_a_null_flavor(world).await;
    an_unreadable_input_ends_at_once(world);
    worker = survives_a_kill(world, &squad, worker).await;
    ends_on_sigterm(world, &mut worker).await;
    nothing_secret_was_written(world, &secrets, &worker);
}

pub(crate) async fn hpc_writes_the_rows(world: &World) {
    say("an HPC principal writes the rows");
    let hpc = world.hub.by_hand("hpc-lab").unwrap();
    let path = "sites/lab/slurm-bootstrap-configs/";
    let (status, row) = hpc.post(path, &world.gpu_row).await.unwrap();
    assert_eq!((status, &row["revision"], &row["updated_by"]), (201, &json!(1), &json!("hpc-lab")), "{row}");
    let cpu = json!({"device_role": "cpu", "image": world.services.image, "flavor": null, "node_source": "registers"});
    assert_eq!(hpc.post(path, &cpu).await.unwrap().0, 201);
    // no agent may write one
    let agent = world.hub.by_hand("temporal-worker-lab").unwrap();
    let (status, problem) = agent.post(path, &world.gpu_row).await.unwrap();
    assert_eq!((status, &problem["type"]), (403, &json!("urn:fleet:problem:scope-missing")));
}

/// The last line of `satellite start`: the result.
pub(crate) fn result(lines: &str) -> Value {
    serde_json::from_str(lines.lines().last().unwrap().strip_prefix("done: ").unwrap()).unwrap()
}

async fn a_dry_run_only_plans(world: &World) {
    say("satellite start adopt gpu-001 --dry-run");
    let before = world.writes().await;
    let planned = result(&output(&mut start(world, "adopt", "gpu-001", &["--dry-run"])));
    assert_eq!(
        (&planned["adopt"]["plan"], &planned["adopt"]["dryRun"]),
        (&json!("PLAN_CREATE"), &json!(true))
    );
    assert_eq!(planned["adopt"]["differences"], json!(["there is no server", "SLURM has no node gpu-001"]));
    assert_eq!(planned["resume"], json!(null));
    assert_eq!(world.writes().await, before);
    assert_eq!(world.services.cloud.servers("gpu-001").await.unwrap(), Vec::<Value>::new());
}

async fn adopts(world: &World, squad: &Api) {
    say("satellite start adopt gpu-001");
    assert_eq!(squad.device("gpu-001").await.unwrap()["status"], "free");
    let root = world.root.clone();
    let sightings = Watching::start(move || {
        let root = root.clone();
        async move {
            root.node("gpu-001")
                .await
                .unwrap()
                .map(|n| (tokens(&n), n["reason"].as_str().unwrap().to_owned()))
        }
    });
    let watcher = Arc::new(world.hub.by_hand("fleet-squad").unwrap());
    let statuses = Watching::start(move || {
        let watcher = watcher.clone();
        async move { Some(watcher.device("gpu-001").await.unwrap()["status"].as_str().unwrap().to_owned()) }
    });

    let mut command = start(world, "adopt", "gpu-001", &["--reason", "new rack", "--request", "req-1"]);
    let lines = tokio::task::spawn_blocking(move || output(&mut command)).await.unwrap();
    for line in lines.lines() {
        say(&format!("  | {line}"));
    }
    assert!(lines.starts_with("adopt gpu-001 · request req-1 · run "), "{lines}");
    assert!(lines.contains("wait_registered"), "{lines}");
    let result = result(&lines);
    assert_eq!(result["adopt"]["plan"], "PLAN_CREATE");
    assert_eq!(result["resume"]["outcome"], "RESUME_OUTCOME_RESUMED");
    assert_eq!(
        result["adopt"]["warnings"].as_array().unwrap().len(),
        1,
        "the munge key is warned about: {result}"
    );

    say("the node was closed under our mark when it was first seen");
    let open = |(t, _): &(Vec<String>, String)| !t.contains(&"DRAIN".to_owned());
    let node = eventually("gpu-001 is IDLE", CEILING, || async {
        let node = world.root.node("gpu-001").await.unwrap().ok_or("no node")?;
        if tokens(&node) == ["IDLE", "DYNAMIC_NORM"] { Ok(node) } else { Err(node["state"].to_string()) }
    })
    .await;
    let sightings = sightings.end().await;
    assert!(!open(&sightings[0]) && sightings[0].1.starts_with("fleet:"), "{sightings:?}");
    let opened = sightings.iter().position(open).unwrap();
    // the whole mark may stand there for less than a look: slurmctld's log has it
    let mark = "node gpu-001 reason set to: fleet:adopt req-1: fleet-squad: new rack";
    let log = ["grep", "-F", mark, "/var/log/slurm/slurmctld.log"];
    exec(&world.services.slurm, &log).await.unwrap();
    assert!(sightings[opened..].iter().all(open), "{sightings:?}");

    say("features and GRES are the row's, and no mark is left");
    assert_eq!(node["features"], world.gpu_row["features"]);
    assert_eq!(node["active_features"], world.gpu_row["features"]);
    assert_eq!(node["gres"], world.gpu_row["gres"]);
    assert_eq!((&node["reason"], &node["extra"]), (&json!(world.unmarked()), &json!("")));

    say("Nova made one server on the device's machine; its driver was handed the row's user-data");
    let servers = world.services.cloud.servers("gpu-001").await.unwrap();
    assert_eq!(servers.len(), 1, "{servers:?}");
    let server = &servers[0];
    assert_eq!((&server["name"], &server["status"]), (&json!("gpu-001"), &json!("ACTIVE")));
    assert_eq!(server["OS-EXT-SRV-ATTR:hypervisor_hostname"], "node-1");
    let spawns = world.spawns("node-1").await;
    assert_eq!(spawns.len(), 1, "{spawns:?}");
    assert_eq!(spawns[0]["user_data"], world.gpu_row["user_data"]);
    assert_eq!(spawns[0]["image"], world.gpu_row["image"]);
    assert_eq!(spawns[0]["uuid"], result["adopt"]["serverId"]);
    let console = world.services.room.console("node-1").await.unwrap();
    assert!(console.contains("CLOUD-INIT DONE rc=0"), "{console}");

    say("the poller turns both conditions True, and the device from validation to ready");
    eventually("gpu-001 is ready", CEILING, || async {
        let device = squad.device("gpu-001").await.unwrap();
        let seen = (condition(&device, "SlurmMember"), condition(&device, "SlurmSchedulable"));
        match device["status"] == "ready" {
            true => {
                assert_eq!(seen, ("True/Known".to_owned(), "True/Idle".to_owned()));
                assert_eq!(device["server_id"], result["adopt"]["serverId"]);
                Ok(())
            }
            false => Err(format!("{} {seen:?}", device["status"])),
        }
    })
    .await;
    assert_eq!(statuses.end().await, ["free", "validation", "ready"]);
}

async fn a_user_runs_a_job(world: &World) {
    say("another user's job runs there");
    let alice = world.services.user("alice").unwrap();
    let id = alice.submit("gpu-001", "#!/bin/sh\nid -un; hostname\n").await.unwrap();
    let job = eventually("alice's job has ended", CEILING, || async {
        let job = alice.job(id).await.unwrap();
        if job["job_state"] == json!(["COMPLETED"]) { Ok(job) } else { Err(job["job_state"].to_string()) }
    })
    .await;
    assert_eq!((&job["nodes"], &job["user_name"]), (&json!("gpu-001"), &json!("alice")));
    let out = world.services.room.exec("node-1", &["cat", &format!("/tmp/slurm-{id}.out")]).await.unwrap();
    assert_eq!(out, "alice\ngpu-001\n");
}

async fn adopts_again_without_a_write(world: &World, squad: &Api) {
    say("adopted a second time: noop, and no write anywhere");
    eventually("gpu-001 is Idle on the hub", CEILING, || async {
        let seen = condition(&squad.device("gpu-001").await.unwrap(), "SlurmSchedulable");
        if seen == "True/Idle" { Ok(()) } else { Err(seen) }
    })
    .await;
    let (writes, device) = (world.writes().await, squad.device("gpu-001").await.unwrap());
    let log = std::fs::read_to_string(world.folder.join("worker.log")).unwrap().len();
    let lines = output(&mut start(world, "adopt", "gpu-001", &["--request", "req-2"]));
    let result: Value =
        serde_json::from_str(lines.lines().last().unwrap().strip_prefix("done: ").unwrap()).unwrap();
    assert_eq!(result["adopt"]["plan"], "PLAN_NOOP");
    assert_eq!(result["adopt"]["differences"], json!(null), "{result}");
    assert_eq!(result["resume"]["outcome"], "RESUME_OUTCOME_ALREADY_OPEN");
    assert!(
        writes[0] > 0 && writes[1] > 0,
        "the logs that are counted must show the first adoption: {writes:?}"
    );
    assert_eq!(world.writes().await, writes);
    assert_eq!(squad.device("gpu-001").await.unwrap(), device);
    // our own account of it: every call of the worker since then but for tokens and polls was a GET
    let all = std::fs::read_to_string(world.folder.join("worker.log")).unwrap();
    let wrote: Vec<&str> = all[log..]
        .lines()
        .filter(|l| l.contains("\"message\":\"call\"") && !l.contains("\"method\":\"GET\""))
        .filter(|l| !["get token", "claim tick", "mark tick good"].iter().any(|o| l.contains(o)))
        .collect();
    assert_eq!(wrote, Vec::<&str>::new());
    // the same request again is the same run
    let again = output(&mut start(world, "adopt", "gpu-001", &["--request", "req-2"]));
    assert_eq!(again.lines().next(), lines.lines().next());
}

async fn leaves_a_humans_drain_alone(world: &World) {
    say("satellite start resume gpu-001: open already; drained by a person: refused, their words kept");
    let lines = output(&mut start(world, "resume", "gpu-001", &[]));
    assert_eq!(result(&lines)["outcome"], "RESUME_OUTCOME_ALREADY_OPEN");
    let words = "bad DIMM A3 [alice]";
    world.root.update("gpu-001", &json!({"state": ["DRAIN"], "reason": words})).await.unwrap();
    for verb in ["resume", "adopt"] {
        let answer = start(world, verb, "gpu-001", &[]).output().unwrap();
        let lines = String::from_utf8(answer.stdout).unwrap();
        assert_eq!(answer.status.code(), Some(1), "{lines}");
        let last = lines.lines().last().unwrap();
        say(&format!("  | {last}"));
        assert!(last.starts_with("failed: slurm.drain_not_ours: ") && last.contains(words), "{last}");
        let node = world.root.node("gpu-001").await.unwrap().unwrap();
        assert_eq!(
            (tokens(&node), &node["reason"]),
            (vec!["IDLE".into(), "DRAIN".into(), "DYNAMIC_NORM".into()], &json!(words))
        );
    }
    world.root.update("gpu-001", &json!({"state": ["RESUME"]})).await.unwrap();
}

async fn refuses_a_null_flavor(world: &World) {
    say("a role with a null flavor: its code, and nothing called");
    let (writes, logins) = (world.writes().await, world.keystone_logins().await);
    let answer = start(world, "adopt", "cpu-001", &[]).output().unwrap();
    let lines = String::from_utf8(answer.stdout).unwrap();
    assert_eq!(answer.status.code(), Some(1), "{lines}");
    let last = lines.lines().last().unwrap();
    say(&format!("  | {last}"));
    assert_eq!(
        last,
        "failed: bootstrap.incomplete: role cpu: flavor is null; \
         have HPC fill the field in, in the site's bootstrap config for the role"
    );
    assert_eq!((world.writes().await, world.keystone_logins().await), (writes, logins));
    assert_eq!(world.spawns("node-3").await, Vec::<Value>::new());
}

fn an_unreadable_input_ends_at_once(world: &World) {
    say("an input that cannot be read fails at once, with its field, and does not hold the device");
    for (input, expected) in [
        (r#"{"deviceId":"cpu-001","dryRun":"yes"}"#, "field dryRun"),
        (r#"{"requestId":"r","site":"lab","deviceId":"cpu-001","actor":"ada"}"#, "reason: is empty"),
    ] {
        let arguments = [
            "workflow",
            "execute",
            "-n",
            "lab",
            "--task-queue",
            "slurm-lab",
            "--type",
            "AdoptDevice",
            "--workflow-id",
            "slurm/lab/cpu-001",
            "--input",
            input,
            "-o",
            "json",
        ];
        let answer = world.temporal.cli(&arguments).unwrap().output().unwrap();
        let text =
            format!("{}{}", String::from_utf8_lossy(&answer.stdout), String::from_utf8_lossy(&answer.stderr));
        assert!(
            !answer.status.success() && text.contains("request.invalid") && text.contains(expected),
            "{text}"
        );
    }
}

async fn survives_a_kill(world: &World, squad: &Api, worker: Process) -> Process {
    say("the worker is killed (-9) while Nova builds gpu-002: the rest happens, one server");
    world.services.room.behave("node-2", &json!({"delay": 8})).await.unwrap();
    let mut command = start(world, "adopt", "gpu-002", &["--request", "req-3"]);
    let following = tokio::task::spawn_blocking(move || output(&mut command));
    eventually("Nova builds gpu-002", CEILING, || async {
        let servers = world.services.cloud.servers("gpu-002").await.unwrap();
        match servers.first() {
            Some(server) if server["status"] == "BUILD" => Ok(()),
            other => Err(format!("{:?}", other.map(|s| &s["status"]))),
        }
    })
    .await;
    let locked = start(world, "resume", "gpu-002", &[]).output().unwrap();
    let refusal = String::from_utf8(locked.stderr).unwrap();
    say(&format!("  | {}", refusal.trim()));
    assert_eq!(locked.status.code(), Some(1));
    assert!(["adopt", "req-3", "fleet-squad"].iter().all(|w| refusal.contains(w)), "{refusal}");
    worker.signal("-KILL").unwrap();
    let worker = world.worker();
    let lines = following.await.unwrap();
    for line in lines.lines() {
        say(&format!("  | {line}"));
    }
    assert!(lines.contains("(attempt 2)"), "{lines}");
    let result: Value =
        serde_json::from_str(lines.lines().last().unwrap().strip_prefix("done: ").unwrap()).unwrap();
    assert_eq!(result["adopt"]["plan"], "PLAN_CREATE");
    assert_eq!(result["resume"]["outcome"], "RESUME_OUTCOME_RESUMED");
    assert_eq!(world.services.cloud.servers("gpu-002").await.unwrap().len(), 1);
    assert_eq!(world.spawns("node-2").await.len(), 1);
    eventually("gpu-002 is ready", CEILING, || async {
        let status = squad.device("gpu-002").await.unwrap()["status"].clone();
        if status == "ready" { Ok(()) } else { Err(status.to_string()) }
    })
    .await;
    worker
}

async fn ends_on_sigterm(world: &World, worker: &mut Process) {
    say("SIGTERM ends the worker within its grace, in the middle of an adoption");
    world.services.room.behave("node-4", &json!({"delay": 60})).await.unwrap();
    output(&mut start(world, "adopt", "gpu-003", &["--request", "req-4", "--no-wait"]));
    eventually("Nova builds gpu-003", CEILING, || async {
        let servers = world.services.cloud.servers("gpu-003").await.unwrap();
        servers.first().map(|_| ()).ok_or_else(|| "no server".to_owned())
    })
    .await;
    worker.signal("-TERM").unwrap();
    assert_eq!(worker.ended(Duration::from_secs(35)).await.unwrap().code(), Some(0));
    let log = worker.text();
    assert!(log.contains("worker ended"), "{log}");
    assert_eq!(world.services.cloud.servers("gpu-003").await.unwrap().len(), 1);
}

fn nothing_secret_was_written(world: &World, secrets: &Secrets, worker: &Process) {
    say("no secret in any history or log");
    let histories = world.temporal.histories().unwrap();
    let of = |kind: &str| histories.iter().filter(|(w, _)| w.starts_with(kind)).count();
    assert!(of("slurm/lab/") >= 6 && of("slurm-conditions/lab") >= 3, "{}", histories.len());
    scan::nothing_secret(world, secrets, worker);
}
