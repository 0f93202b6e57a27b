//! Runs that are started, told to stop, cancelled, and ended, through the hub and on the command line. The
//! site's Temporal is real, and there is no worker: a run goes on until somebody ends it there.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Duration;

use sandbox::{Hub, Process, Scopes, Temporal, binary, folder, free_port, output};
use serde_json::{Value, json};

use crate::wait::eventually;

/// Who may do everything, and who may not end what they started.
const PRINCIPALS: [Scopes; 2] = [
    (
        "lead",
        &["device-workflow:start", "device-workflow:read", "device-workflow:force", "device-workflow:cancel"],
    ),
    ("starter", &["device-workflow:start", "device-workflow:read"]),
];

struct Lab {
    hub: Hub,
    temporal: Temporal,
    folder: PathBuf,
}

impl Lab {
    async fn start(name: &str) -> Self {
        let folder = folder(&format!("it/{name}")).unwrap();
        let temporal = Temporal::start(&folder, "lab", free_port().unwrap(), None).await.unwrap();
        let device = |id| json!({"id": id, "site_id": "lab", "name": id, "role": "good"});
        let devices = json!([device("d-1"), device("d-2")]);
        let hub = Hub::start(&folder, &temporal, free_port().unwrap(), &PRINCIPALS, &devices).await.unwrap();
        Self { hub, temporal, folder }
    }

    /// `satellite` as this principal.
    fn satellite(&self, who: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(binary("satellite").unwrap());
        command.args(arguments).envs([
            ("FLEET_SITE", "lab"),
            ("FLEET_HUB_URL", self.hub.url.as_str()),
            ("FLEET_CLIENT_ID", who),
            ("FLEET_KEY_FILE", self.hub.key_file(who).to_str().unwrap()),
        ]);
        command
    }

    /// What it said, once it has ended.
    async fn says(&self, who: &str, arguments: &[&str]) -> (Option<i32>, String) {
        let mut command = self.satellite(who, arguments);
        let Output { status, stdout, stderr } =
            tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        let text = String::from_utf8([stdout, stderr].concat()).unwrap();
        (status.code(), text.trim_end().to_owned())
    }

    async fn post(&self, who: &str, path: &str) -> (u16, Value) {
        let path = format!("sites/lab/devices/{path}");
        self.hub.by_hand(who).unwrap().post(&path, &json!({})).await.unwrap()
    }

    async fn latest(&self) -> Value {
        let runs = "sites/lab/devices/d-1/workflows/";
        self.hub.by_hand("lead").unwrap().get(runs).await.unwrap()["items"][0].clone()
    }

    /// The history's events of this kind.
    fn events(&self, kind: &str) -> Vec<Value> {
        let show = ["workflow", "show", "-n", "lab", "-w", "slurm/lab/d-1", "-o", "json"];
        let history: Value =
            serde_json::from_str(&output(&mut self.temporal.cli(&show).unwrap()).unwrap()).unwrap();
        let events = history["events"].as_array().unwrap().clone();
        events.into_iter().filter(|e| e["eventType"] == kind).collect()
    }

    /// Ends the run as an administrator of Temporal would: there is no worker that could.
    fn terminate(&self) {
        let end = ["workflow", "terminate", "-n", "lab", "-w", "slurm/lab/d-1"];
        output(&mut self.temporal.cli(&end).unwrap()).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_told_to_end_while_it_runs_and_by_who_may() {
    let lab = Lab::start("ending-hub").await;
    let arguments = ["start", "release", "d-1", "--request", "r-1", "--force", "--no-wait"];
    let (code, said) = lab.says("lead", &arguments).await;
    assert_eq!(code, Some(0), "{said}");
    let view = lab.latest().await;
    let run = view["run_id"].as_str().unwrap().to_owned();
    assert_eq!(said, format!("release d-1 · request r-1 · run {run}"));
    assert_eq!(
        (&view["status"], &view["force"], &view["actor"]),
        (&json!("running"), &json!(true), &json!("lead"))
    );

    // who asked stands in the history: as a signal's argument, in base64, and as the cause of a cancel
    for (how, event, who) in [
        ("stop", "EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED", "ImxlYWQi"),
        ("cancel", "EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED", "asked by lead"),
    ] {
        let path = format!("d-1/workflows/{run}/{how}");
        let (status, problem) = lab.post("starter", &path).await;
        assert_eq!((status, &problem["detail"]), (403, &json!("device-workflow:cancel is needed")));
        let elsewhere = lab.post("lead", &format!("d-2/workflows/{run}/{how}")).await;
        assert_eq!(elsewhere.0, 404, "{elsewhere:?}");
        let unknown = lab.post("lead", &format!("d-1/workflows/none/{how}")).await;
        assert_eq!(unknown.0, 404, "{unknown:?}");
        assert!(lab.events(event).is_empty());
        let (status, told) = lab.post("lead", &path).await;
        assert_eq!((status, &told["run_id"]), (202, &json!(run)), "{told}");
        let events = lab.events(event);
        assert_eq!(events.len(), 1);
        assert!(events[0].to_string().contains(who), "{events:?}");
        let (status, again) = lab.post("lead", &path).await;
        assert_eq!(status, 202, "{again}");
    }

    lab.terminate();
    for how in ["stop", "cancel"] {
        let (status, problem) = lab.post("lead", &format!("d-1/workflows/{run}/{how}")).await;
        assert_eq!((status, &problem["type"]), (409, &json!("urn:fleet:problem:run-closed")));
        assert_eq!(problem["detail"], format!("run {run} has ended; read it for how"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_says_who_holds_a_device_and_ends_what_runs() {
    let lab = Lab::start("ending-cli").await;
    assert_eq!(
        lab.says("lead", &["stop", "d-1"]).await,
        (Some(1), "satellite: d-1: no run of it that was started through the hub is running".to_owned())
    );
    let forced = lab.says("starter", &["start", "resume", "d-1", "--force"]).await;
    let said = "satellite: hub start workflow: not allowed: device-workflow:force is needed (HTTP 403)";
    assert_eq!(forced, (Some(1), said.to_owned()));

    let drain = ["start", "drain", "d-1", "--request", "r-1", "--at-deadline", "fail", "--deadline", "600"];
    let mut following = follow(&lab, &drain);
    let log = following.log.clone();
    let says = |words: &'static str| {
        let log = log.clone();
        move || {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            async move { if text.contains(words) { Ok(()) } else { Err(text) } }
        }
    };
    eventually("it follows", Duration::from_secs(20), says("drain d-1 · request r-1 · run ")).await;
    let busy = lab.says("starter", &["start", "burn-in", "d-1", "--test", "disk"]).await;
    let holder = "satellite: d-1 is busy: drain is running: request r-1, asked by lead";
    assert_eq!(busy, (Some(1), holder.to_owned()));

    following.signal("-INT").unwrap();
    let code = following.ended(Duration::from_secs(10)).await.unwrap().code();
    let run = lab.latest().await["run_id"].as_str().unwrap().to_owned();
    let text = following.text();
    assert_eq!(code, Some(130), "{text}");
    let told = format!(
        "no longer followed: the run goes on; `satellite stop d-1 {run}` ends it at its next closed point"
    );
    assert!(text.contains(&told), "{text}");
    assert_eq!(lab.latest().await["status"], "running");

    let stop = lab.says("lead", &["stop", "d-1", "--no-wait"]).await;
    let said = format!("drain d-1 · request r-1 · run {run} · told to stop at its next closed point");
    assert_eq!(stop, (Some(0), said));
    assert_eq!(lab.events("EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED").len(), 1);
    let cancel = lab.says("lead", &["cancel", "d-1", &run, "--no-wait"]).await;
    assert_eq!(cancel, (Some(0), format!("drain d-1 · request r-1 · run {run} · told to end")));
    assert_eq!(lab.events("EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED").len(), 1);
    lab.terminate();
    let late = lab.says("lead", &["cancel", "d-1", &run]).await;
    assert_eq!(late, (Some(1), format!("satellite: d-1: run {run} has ended; read it for how")));
}

/// `satellite` that follows a run, as a process of its own.
fn follow(lab: &Lab, arguments: &[&str]) -> Process {
    let identity = [
        "--site",
        "lab",
        "--hub",
        lab.hub.url.as_str(),
        "--client-id",
        "lead",
        "--key-file",
        lab.hub.key_file("lead").to_str().unwrap(),
    ]
    .map(str::to_owned);
    let arguments: Vec<&str> = arguments.iter().copied().chain(identity.iter().map(String::as_str)).collect();
    Process::start(&lab.folder, "satellite", &binary("satellite").unwrap(), &arguments).unwrap()
}
