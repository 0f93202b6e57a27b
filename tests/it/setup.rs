//! `satellite setup` on Temporal's dev server: what it makes, what it leaves alone, what it cannot do.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use sandbox::{Temporal, binary, folder, free_port, output};
use serde_json::Value;

use crate::command_line::{settings, worker};
use crate::wait::eventually;

mod refusing;

/// A dev server that has another site's namespace alone, and the settings of site `lab`.
async fn lab(name: &str) -> (std::path::PathBuf, Temporal) {
    let folder = folder(&format!("it/{name}")).unwrap();
    let temporal = Temporal::start(&folder, "elsewhere", free_port().unwrap(), None).await.unwrap();
    settings(&folder, &temporal.address);
    (folder, temporal)
}

/// Its exit code, and its lines on stdout and stderr, save how long it waited.
fn setup(folder: &Path, more: &[&str]) -> (Option<i32>, Vec<String>) {
    let mut setup = Command::new(binary("satellite").unwrap());
    let answer = setup.args(["setup", "--config"]).arg(folder.join("site.toml")).args(more).output().unwrap();
    let text = String::from_utf8([answer.stdout, answer.stderr].concat()).unwrap();
    let lines = text.lines().filter(|l| !l.contains("waiting until Temporal's services know it"));
    (answer.status.code(), lines.map(str::to_owned).collect())
}

fn said(folder: &Path, more: &[&str]) -> Vec<String> {
    let (code, lines) = setup(folder, more);
    assert_eq!(code, Some(0), "{lines:?}");
    lines
}

fn json(temporal: &Temporal, arguments: &[&str]) -> Value {
    let text = output(temporal.cli(arguments).unwrap().args(["-n", "lab", "-o", "json"])).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The schedule as Temporal has it, without how often it ran.
fn schedule(temporal: &Temporal) -> Value {
    json(temporal, &["schedule", "describe", "-s", "slurm-conditions/lab"])["schedule"].take()
}

#[tokio::test]
async fn a_site_gets_what_it_needs_and_a_second_run_changes_nothing() {
    let (folder, temporal) = lab("setup").await;
    let plan = [
        "namespace lab: would be made, retention 30 days",
        "search attribute FleetDevice: would be made, type Keyword",
        "schedule slurm-conditions/lab: would be made, a poll every 60 s",
        "3 to change; nothing was changed",
    ];
    assert_eq!(said(&folder, &["--dry-run"]), plan);
    let describe = ["operator", "namespace", "describe", "-n", "lab"];
    assert!(!temporal.cli(&describe).unwrap().output().unwrap().status.success());

    let made = [
        "namespace lab: made, retention 30 days",
        "search attribute FleetDevice: made, type Keyword",
        "schedule slurm-conditions/lab: made, a poll every 60 s",
        "3 changed",
    ];
    assert_eq!(said(&folder, &[]), made);
    let namespace = json(&temporal, &["operator", "namespace", "describe"]);
    assert_eq!(namespace["config"]["workflowExecutionRetentionTtl"], "2592000s", "{namespace}");
    let attributes = json(&temporal, &["operator", "search-attribute", "list"]);
    assert_eq!(attributes["customAttributes"]["FleetDevice"], "INDEXED_VALUE_TYPE_KEYWORD", "{attributes}");
    let first = schedule(&temporal);
    assert_eq!(first["spec"]["interval"][0]["interval"], "60s", "{first}");
    assert_eq!(first["action"]["startWorkflow"]["workflowType"]["name"], "PollSchedulerConditions");

    let there = [
        "namespace lab: is there, retention 30 days",
        "search attribute FleetDevice: is there, type Keyword",
        "schedule slurm-conditions/lab: is there, a poll every 60 s",
        "nothing to change",
    ];
    assert_eq!(said(&folder, &[]), there);
    assert_eq!(said(&folder, &["--dry-run"]), there);
    assert_eq!(schedule(&temporal), first);

    let worker = worker(&folder);
    let trigger = ["schedule", "trigger", "-n", "lab", "-s", "slurm-conditions/lab"];
    output(&mut temporal.cli(&trigger).unwrap()).unwrap();
    // its hub and its SLURM are not there, so that the poll fails: by our own code
    let failed = ["workflow", "count", "-n", "lab", "--query", "ExecutionStatus = 'Failed'"];
    eventually("the worker has done a poll", Duration::from_secs(60), || async {
        let counted = output(&mut temporal.cli(&failed).unwrap()).unwrap();
        if counted.trim() == "Total: 0" { Err(format!("{counted}{}", worker.text())) } else { Ok(()) }
    })
    .await;
    let (_, history) = temporal_in(temporal, "lab").histories().unwrap().pop().unwrap();
    let failure =
        &history["events"].as_array().unwrap().last().unwrap()["workflowExecutionFailedEventAttributes"];
    assert_eq!(failure["failure"]["applicationFailureInfo"]["type"], "hub.unavailable", "{failure}");
}

/// The same server, in another namespace.
fn temporal_in(temporal: Temporal, namespace: &str) -> Temporal {
    Temporal { namespace: namespace.to_owned(), ..temporal }
}

#[tokio::test]
async fn a_worker_whose_namespace_is_not_there_says_what_to_run() {
    let (folder, _temporal) = lab("setup-worker").await;
    let mut worker = worker(&folder);
    assert_eq!(worker.ended(Duration::from_secs(30)).await.unwrap().code(), Some(1));
    let said = "poll schedule in namespace lab: NotFound: Namespace lab is not found.; run `satellite setup`";
    assert!(worker.text().contains(said), "{}", worker.text());
}

#[tokio::test]
async fn what_people_have_changed_is_told_and_left_alone() {
    let (folder, temporal) = lab("setup-left").await;
    said(&folder, &["--retention-days", "7"]);
    let retention = "namespace lab: is there, retention 7 days, not 30 days, and is left alone; to change it: \
                     temporal operator namespace update -n lab --retention 30d";
    let text = std::fs::read_to_string(folder.join("site.toml")).unwrap();
    std::fs::write(folder.join("site.toml"), format!("{text}[poll]\nevery_seconds = 30\n")).unwrap();
    let changed = said(&folder, &[]);
    assert_eq!(changed[0], retention);
    assert_eq!(changed[2..], ["schedule slurm-conditions/lab: updated, a poll every 30 s", "1 changed"]);
    assert_eq!(schedule(&temporal)["spec"]["interval"][0]["interval"], "30s");
    assert_eq!(
        said(&folder, &[])[2..],
        ["schedule slurm-conditions/lab: is there, a poll every 30 s", "nothing to change"]
    );

    let pause = [
        "schedule",
        "toggle",
        "-n",
        "lab",
        "-s",
        "slurm-conditions/lab",
        "--pause",
        "--reason",
        "slurmctld moves",
    ];
    output(&mut temporal.cli(&pause).unwrap()).unwrap();
    let paused = "schedule slurm-conditions/lab: is there, a poll every 30 s; it is paused and stays so";
    assert_eq!(said(&folder, &[])[2..], [paused, "nothing to change"]);
    let state = schedule(&temporal)["state"].take();
    assert_eq!((&state["paused"], &state["notes"]), (&true.into(), &"slurmctld moves".into()), "{state}");

    std::fs::write(folder.join("site.toml"), text).unwrap();
    let theirs = "schedule slurm-conditions/lab: is there, somebody else's or a newer release's, and is left alone; \
                  it is paused and stays so; to have it made anew: temporal schedule delete -n lab -s \
                  slurm-conditions/lab";
    assert_eq!(said(&folder, &[])[2..], [theirs, "nothing to change"]);
    assert_eq!(schedule(&temporal)["spec"]["interval"][0]["interval"], "30s");
}

#[tokio::test]
async fn an_attribute_of_another_type_is_an_error_and_the_schedule_is_made() {
    let (folder, temporal) = lab("setup-attribute").await;
    output(&mut temporal.cli(&["operator", "namespace", "create", "-n", "lab"]).unwrap()).unwrap();
    let add =
        ["operator", "search-attribute", "create", "-n", "lab", "--name", "FleetDevice", "--type", "Text"];
    eventually("the namespace is known", Duration::from_secs(30), || async {
        output(&mut temporal.cli(&add).unwrap()).map_err(|e| e.to_string())
    })
    .await;
    let (code, lines) = setup(&folder, &[]);
    let error = "satellite: search attribute FleetDevice: it is there as INDEXED_VALUE_TYPE_TEXT, not as \
                 INDEXED_VALUE_TYPE_KEYWORD; see who uses it, then: temporal operator search-attribute remove -n lab \
                 --name FleetDevice, and run this again";
    assert_eq!((code, lines.last().unwrap().as_str()), (Some(1), error));
    assert!(
        lines.contains(&"schedule slurm-conditions/lab: made, a poll every 60 s".to_owned()),
        "{lines:?}"
    );

    let remove = ["operator", "search-attribute", "remove", "-n", "lab", "--name", "FleetDevice", "--yes"];
    output(&mut temporal.cli(&remove).unwrap()).unwrap();
    let lines = said(&folder, &[]);
    assert_eq!(
        lines[1..],
        [
            "search attribute FleetDevice: made, type Keyword",
            "schedule slurm-conditions/lab: is there, a poll every 60 s",
            "1 changed",
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_it_may_not_do_says_what_to_ask_for() {
    let folder = folder("it/setup-refused").unwrap();
    settings(&folder, &refusing::start().await);
    let (code, lines) = setup(&folder, &["--retention-days", "90"]);
    let error = "satellite: namespace lab: not permitted (PermissionDenied: Request unauthorized.); ask whoever \
                 administers Temporal to make namespace lab with a retention of 90 days, then run this again";
    assert_eq!((code, lines), (Some(1), vec![error.to_owned()]));
}

#[test]
fn a_server_that_is_not_there_and_a_wrong_command_line_are_said_so() {
    let folder = folder("it/setup-nowhere").unwrap();
    let nowhere = format!("127.0.0.1:{}", free_port().unwrap());
    settings(&folder, &nowhere);
    let (code, lines) = setup(&folder, &[]);
    assert_eq!((code, lines.len()), (Some(1), 1), "{lines:?}");
    assert!(
        lines[0].starts_with(&format!("satellite: Temporal: http://{nowhere}/ does not answer: ")),
        "{lines:?}"
    );
    assert!(lines[0].ends_with("; see that it is up and that temporal.url is right, then run this again"));
    assert_eq!(setup(&folder, &["--retention-days", "0"]).0, Some(64));
    std::fs::write(folder.join("site.toml"), "site = \"l ab\"\n").unwrap();
    assert_eq!(setup(&folder, &[]).0, Some(64));
}
