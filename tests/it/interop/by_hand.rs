//! `temporal workflow start`, as a person types it.

use std::process::Command;

use sandbox::output;
use serde_json::{Value, json};

use super::lab::Lab;
use super::untested;

/// What a person types for a device that is free.
const GOOD: &str =
    r#"{"requestId":"hand-1","site":"lab","deviceId":"hand-1","actor":"ada","reason":"new in rack 7"}"#;

/// Starts AdoptDevice on `hand-1` with these arguments; they are those of the CLI.
fn start(lab: &Lab, more: &[&str]) -> Command {
    let start = [
        "workflow",
        "start",
        "-n",
        "lab",
        "--type",
        "AdoptDevice",
        "--task-queue",
        "slurm-lab",
        "--workflow-id",
        "slurm/lab/hand-1",
    ];
    lab.temporal.cli(&[&start, more].concat()).unwrap()
}

/// How the last run ended: `temporal workflow result`.
async fn end(lab: &Lab) -> Value {
    let result = ["workflow", "result", "-n", "lab", "-w", "slurm/lab/hand-1", "-o", "json"];
    let mut result = lab.temporal.cli(&result).unwrap();
    let answer = tokio::task::spawn_blocking(move || result.output().unwrap());
    let answer = lab.moving(true, answer).await.unwrap();
    serde_json::from_slice(&answer.stdout).unwrap_or_else(|_| panic!("{answer:?}"))
}

/// The input that is good, but for one key.
fn but(key: &str, value: &Value) -> String {
    let mut input: Value = serde_json::from_str(GOOD).unwrap();
    input[key] = value.clone();
    input.to_string()
}

/// Starts it, and it fails at once: the field and the message.
async fn mistyped(lab: &Lab, input: &[&str]) -> (String, String) {
    output(&mut start(lab, input)).unwrap();
    let end = end(lab).await;
    assert_eq!(end["status"], "FAILED", "{end}");
    let failure = &end["closeEvent"]["workflowExecutionFailedEventAttributes"]["failure"];
    let told = &failure["applicationFailureInfo"];
    assert_eq!((&told["type"], &told["nonRetryable"]), (&json!("request.invalid"), &json!(true)), "{end}");
    let details = &told["details"][0];
    assert_eq!(details["step"], "decode", "{end}");
    assert!(!details["remedy"].as_str().unwrap().is_empty(), "{end}");
    let field = details["field"].as_str().unwrap_or_default();
    (field.to_owned(), failure["message"].as_str().unwrap().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_mistypes_fails_at_once_and_the_device_is_free() {
    let lab = Lab::start("interop-hand").await;
    // what is no JSON does not leave the CLI
    let refused = start(&lab, &["--input", "hand-1"]).output().unwrap();
    assert_eq!(String::from_utf8(refused.stderr).unwrap().trim(), "Error: input #1 is not valid JSON");

    let no_device = GOOD.replace("deviceId", "device");
    for (input, field, message) in [
        (
            but("dryRun", &json!("yes")),
            "dryRun",
            "input, field dryRun: is not what the message has there (line 1,",
        ),
        (
            but("deadline", &json!("soon")),
            "deadline",
            "input, field deadline: is not what the message has there",
        ),
        (
            but("site", &json!(["lab"])),
            "site",
            "input, field site: is not what the message has there (line 1,",
        ),
        (
            but("actor", &json!("ada\nlovelace")),
            "actor",
            "actor (position 3): holds a character that is not allowed",
        ),
        (no_device, "device_id", "device_id: is empty; use 1 to 46 letters, digits and"),
        (json!(["hand-1"]).to_string(), "", "input: is not what the message has there (line 1, column 1)"),
    ] {
        let (at, said) = mistyped(&lab, &["--input", &input]).await;
        assert!(at == field && said.starts_with(message), "{input}: {at}: {said}");
    }
    assert_eq!(mistyped(&lab, &[]).await.1, "input: is missing; send one message");
    let twice = mistyped(&lab, &["--input", GOOD, "--input", GOOD]).await.1;
    assert_eq!(twice, "input: has 2 payloads; send one message");
    let no_json = mistyped(&lab, &["--input", "hand-1", "--input-meta", "encoding=binary/plain"]).await.1;
    assert!(no_json.starts_with("input: has encoding \"binary/plain\"; send json/protobuf,"), "{no_json}");
    let elsewhere = mistyped(&lab, &["--input", &but("site", &json!("l ab"))]).await;
    assert_eq!(elsewhere.0, "site", "{elsewhere:?}");

    let message = "device_id: this run's id is slurm/lab/hand-1, which does not lock plain-1; start it with the workflow \
                   id slurm/lab/plain-1";
    let other = mistyped(&lab, &["--input", &but("deviceId", &json!("plain-1"))]).await;
    assert_eq!(other, ("device_id".to_owned(), message.to_owned()));

    let first = output(&mut start(&lab, &["--input", GOOD, "--fail-existing"])).unwrap();
    // the lock holds: without --fail-existing the CLI shows the run that is there as if it were new
    assert_eq!(output(&mut start(&lab, &["--input", GOOD])).unwrap(), first);
    let busy = start(&lab, &["--input", GOOD, "--fail-existing"]).output().unwrap();
    let busy = (busy.status.success(), String::from_utf8(busy.stderr).unwrap());
    assert!(!busy.0 && busy.1.contains("is already running. WorkflowId: slurm/lab/hand-1"), "{busy:?}");
    let end = end(&lab).await;
    let server = lab.server("hand-1");
    assert_eq!(
        (&end["status"], untested(&end["result"])),
        (
            &json!("COMPLETED"),
            json!({
                "_protoMessageType": "fleet.slurm.v1.AdoptDeviceResult",
                "adopt": {
                    "plan": "PLAN_CREATE",
                    "node": "hand-1",
                    "serverId": server,
                    "differences": ["there is no server", "SLURM has no node hand-1"],
                },
                "resume": {"outcome": "RESUME_OUTCOME_RESUMED", "node": "hand-1"},
            })
        )
    );
    lab.assert_open("hand-1");
}
