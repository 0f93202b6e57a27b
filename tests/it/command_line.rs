//! The worker's beginning and end, and the command line's mistakes: no SLURM, no OpenStack.

use std::process::Command;
use std::time::Duration;

use crate::processes::{Process, Temporal, binary, folder, free_port};
use crate::wait::eventually;

/// Settings that are whole; nothing but Temporal is there to be asked.
pub(crate) fn settings(folder: &std::path::Path, temporal: &str) {
    for who in ["agent", "worker"] {
        let key = rcgen::KeyPair::generate().unwrap();
        std::fs::write(folder.join(format!("{who}.pem")), key.serialize_pem()).unwrap();
    }
    std::fs::write(folder.join("password"), "not-a-password").unwrap();
    let nowhere = format!("http://127.0.0.1:{}", free_port());
    let text = format!(
        "site = \"lab\"\n[temporal]\nurl = \"http://{temporal}\"\n[hub]\nurl = \"{nowhere}\"\n\
         agent_key_file = \"agent.pem\"\nworker_key_file = \"worker.pem\"\n\
         [slurm]\nurl = \"{nowhere}\"\nuser = \"root\"\ntoken_file = \"token\"\n\
         [openstack]\nauth_url = \"{nowhere}/v3\"\nusername = \"u\"\npassword_file = \"password\"\nproject = \"lab\"\n\
         [http]\nlisten = \"127.0.0.1:0\"\n"
    );
    std::fs::write(folder.join("site.toml"), text).unwrap();
}

pub(crate) fn worker(folder: &std::path::Path) -> Command {
    let mut command = Command::new(binary("satellite"));
    command.args(["worker", "--config"]).arg(folder.join("site.toml"));
    command
}

#[test]
fn every_mistake_of_the_settings_is_said_at_once_and_the_exit_is_64() {
    let folder = folder("mistakes");
    std::fs::write(folder.join("site.toml"), "site = \"l ab\"\ncolour = 1\n[temporal]\nurl = \"nowhere\"\n")
        .unwrap();
    let answer = worker(&folder).output().unwrap();
    let text = String::from_utf8(answer.stderr).unwrap().replace(&folder.display().to_string(), "FOLDER");
    assert_eq!(answer.status.code(), Some(64), "{text}");
    insta::assert_snapshot!(text, @r"
    satellite: FOLDER/site.toml: site (position 1): holds a character that is not allowed; use 1 to 32 letters, digits and `-`
    satellite: FOLDER/site.toml: temporal.url: is not a URL; write http://… or https://…
    satellite: FOLDER/site.toml: hub: is missing; add the section [hub]
    satellite: FOLDER/site.toml: slurm: is missing; add the section [slurm]
    satellite: FOLDER/site.toml: openstack: is missing; add the section [openstack]
    satellite: FOLDER/site.toml: colour: is not a setting; remove it, or correct its name
    ");
}

#[test]
fn a_wrong_command_line_exits_with_64() {
    let answer = Command::new(binary("satellite")).args(["start", "adopt"]).output().unwrap();
    assert_eq!(answer.status.code(), Some(64));
    assert_eq!(Command::new(binary("satellite")).arg("--help").output().unwrap().status.code(), Some(0));
}

#[tokio::test]
async fn the_worker_waits_for_temporal_then_runs_and_ends_on_sigterm() {
    let folder = folder("waits");
    let port = free_port();
    settings(&folder, &format!("127.0.0.1:{port}"));
    let mut process = Process::start(&folder, "worker", &mut worker(&folder));
    let says = |words: &'static str| {
        let log = process.log.clone();
        move || {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            async move { text.contains(words).then_some(()).ok_or(text) }
        }
    };
    eventually("it says that Temporal is not up", Duration::from_secs(20), says("Temporal is not up")).await;
    let temporal = Temporal::start_on(&folder, "lab", port).await;
    eventually("it runs", Duration::from_secs(30), says("worker runs")).await;
    let schedule =
        temporal.cli(&["schedule", "describe", "-n", "lab", "-s", "slurm-conditions/lab"]).output().unwrap();
    let schedule = String::from_utf8(schedule.stdout).unwrap();
    assert!(schedule.contains("PollSchedulerConditions") && schedule.contains("Skip"), "{schedule}");
    process.signal("-TERM");
    assert_eq!(process.ended(Duration::from_secs(35)).await.code(), Some(0), "{}", process.text());
}

#[tokio::test]
async fn the_worker_ends_while_it_waits_for_temporal() {
    let folder = folder("ends");
    settings(&folder, &format!("127.0.0.1:{}", free_port()));
    let mut process = Process::start(&folder, "worker", &mut worker(&folder));
    let log = process.log.clone();
    eventually("it says that Temporal is not up", Duration::from_secs(20), || async {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        if text.contains("Temporal is not up") { Ok(()) } else { Err(text) }
    })
    .await;
    process.signal("-TERM");
    assert_eq!(process.ended(Duration::from_secs(10)).await.code(), Some(0), "{}", process.text());
}
