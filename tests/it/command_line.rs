//! The worker's beginning and end, and the command line's mistakes: no SLURM, no OpenStack.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use sandbox::{Process, Temporal, binary, folder, free_port, output};

use crate::wait::eventually;

/// Settings that are whole; nothing but Temporal is there to be asked.
pub(crate) fn settings(folder: &Path, temporal: &str) {
    for who in ["agent", "worker"] {
        let key = rcgen::KeyPair::generate().unwrap();
        std::fs::write(folder.join(format!("{who}.pem")), key.serialize_pem()).unwrap();
    }
    std::fs::write(folder.join("password"), "not-a-password").unwrap();
    let nowhere = format!("http://127.0.0.1:{}", free_port().unwrap());
    let text = format!(
        "site = \"lab\"\n[temporal]\nurl = \"http://{temporal}\"\n[hub]\nurl = \"{nowhere}\"\n\
         agent_key_file = \"agent.pem\"\nworker_key_file = \"worker.pem\"\n\
         [slurm]\nurl = \"{nowhere}\"\nuser = \"root\"\ntoken_file = \"token\"\n\
         [openstack]\nauth_url = \"{nowhere}/v3\"\nusername = \"u\"\npassword_file = \"password\"\nproject = \"lab\"\n\
         [http]\nlisten = \"127.0.0.1:0\"\n"
    );
    std::fs::write(folder.join("site.toml"), text).unwrap();
}

/// Starts the worker on the settings of this folder.
pub(crate) fn worker(folder: &Path) -> Process {
    let settings = folder.join("site.toml");
    let arguments = ["worker", "--config", settings.to_str().unwrap()];
    Process::start(folder, "worker", &binary("satellite").unwrap(), &arguments).unwrap()
}

#[test]
fn every_mistake_of_the_settings_is_said_at_once_and_the_exit_is_64() {
    let folder = folder("it/mistakes").unwrap();
    std::fs::write(folder.join("site.toml"), "site = \"l ab\"\ncolour = 1\n[temporal]\nurl = \"nowhere\"\n")
        .unwrap();
    let mut worker = Command::new(binary("satellite").unwrap());
    let answer = worker.args(["worker", "--config"]).arg(folder.join("site.toml")).output().unwrap();
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
    let answer = Command::new(binary("satellite").unwrap()).args(["start", "adopt"]).output().unwrap();
    assert_eq!(answer.status.code(), Some(64));
    assert_eq!(
        Command::new(binary("satellite").unwrap()).arg("--help").output().unwrap().status.code(),
        Some(0)
    );
}

#[tokio::test]
async fn the_worker_waits_for_temporal_then_runs_and_ends_on_sigterm() {
    let folder = folder("it/waits").unwrap();
    let port = free_port().unwrap();
    settings(&folder, &format!("127.0.0.1:{port}"));
    let mut process = worker(&folder);
    let says = |words: &'static str| {
        let log = process.log.clone();
        move || {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            async move { text.contains(words).then_some(()).ok_or(text) }
        }
    };
    eventually("it says that Temporal is not up", Duration::from_secs(20), says("Temporal is not up")).await;
    let temporal = Temporal::start(&folder, "lab", port, None).await.unwrap();
    eventually("it runs", Duration::from_secs(30), says("worker runs")).await;
    let schedule = output(
        &mut temporal.cli(&["schedule", "describe", "-n", "lab", "-s", "slurm-conditions/lab"]).unwrap(),
    )
    .unwrap();
    assert!(schedule.contains("PollSchedulerConditions") && schedule.contains("Skip"), "{schedule}");
    process.signal("-TERM").unwrap();
    assert_eq!(process.ended(Duration::from_secs(35)).await.unwrap().code(), Some(0), "{}", process.text());
}

#[tokio::test]
async fn the_worker_ends_while_it_waits_for_temporal() {
    let folder = folder("it/ends").unwrap();
    settings(&folder, &format!("127.0.0.1:{}", free_port().unwrap()));
    let mut process = worker(&folder);
    let log = process.log.clone();
    eventually("it says that Temporal is not up", Duration::from_secs(20), || async {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        if text.contains("Temporal is not up") { Ok(()) } else { Err(text) }
    })
    .await;
    process.signal("-TERM").unwrap();
    assert_eq!(process.ended(Duration::from_secs(10)).await.unwrap().code(), Some(0), "{}", process.text());
}
