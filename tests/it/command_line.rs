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
        "site = \"lab\"\nburn_in.off = true\n[temporal]\nurl = \"http://{temporal}\"\n[hub]\nurl = \"{nowhere}\"\n\
         agent_key_file = \"agent.pem\"\nworker_key_file = \"worker.pem\"\n\
         [slurm]\nurl = \"{nowhere}\"\nuser = \"root\"\ntoken_file = \"token\"\npower_saving = \"off\"\n\
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
    satellite: FOLDER/site.toml: burn_in: is missing; add [burn_in], or write burn_in.off = true
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

/// What `satellite start` says of these arguments, without a hub that could answer.
fn start(arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(binary("satellite").unwrap());
    let identity =
        ["--site", "lab", "--hub", "http://127.0.0.1:1", "--client-id", "ada", "--key-file", "none.pem"];
    let answer = command.arg("start").args(arguments).args(identity).output().unwrap();
    (answer.status.code(), String::from_utf8(answer.stderr).unwrap().trim_end().to_owned())
}

#[test]
fn what_a_verb_has_no_use_for_is_said_a_line_each_before_anything_is_sent() {
    let folder = folder("it/start").unwrap();
    let script = folder.join("script");
    std::fs::write(&script, "exit 0\n").unwrap();
    let (script, none) = (script.to_str().unwrap(), folder.join("none"));
    let resume = ["resume", "d-1", "--deadline", "60", "--at-deadline", "cancel-jobs", "--dry-run"];
    assert_eq!(
        start(&resume),
        (
            Some(64),
            "satellite: --dry-run: is not for resume; leave it out: it is for adopt\n\
             satellite: --deadline: is not for resume; leave it out: it is for adopt, drain, release, burn_in\n\
             satellite: --at-deadline: is not for resume; leave it out: it is for drain, release"
                .to_owned()
        )
    );
    let burn_in = ["burn-in", "d-1", "--script", script, "--time-limit", "0", "--test", "Disk"];
    assert_eq!(
        start(&burn_in),
        (
            Some(64),
            "satellite: --time-limit: is not between a second and a year; leave it out for the default\n\
             satellite: --test (position 0): holds a character that is not allowed; use 1 to 40 lower-case letters, digits and `-`\n\
             satellite: --script: names no interpreter in its first line; begin it with `#!/bin/bash`\n\
             satellite: --script: came with tests beside it; send one of the two"
                .to_owned()
        )
    );
    let missing = start(&["burn-in", "d-1", "--script", none.to_str().unwrap()]);
    let said = format!("satellite: --script: {} cannot be read: entity not found", none.display());
    assert_eq!(missing, (Some(1), said));
    let (code, said) = start(&["drain", "d-1", "--reason", "two\nlines"]);
    assert!(code == Some(64) && said.contains("reason (position 3): holds a character"), "{said}");
    let (code, said) = start(&["explode", "d-1"]);
    assert!(
        code == Some(64) && said.contains("[possible values: adopt, drain, release, burn-in, resume]"),
        "{said}"
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
