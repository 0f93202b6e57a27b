//! Clients that are not ours: Temporal's Python SDK (`tests/interop`) and Temporal's own CLI, on a site
//! whose Temporal was made by `satellite setup`. Hub and worker are the real ones, SLURM and OpenStack
//! imitated.

mod by_hand;
mod lab;

use serde_json::{Value, json};

use lab::Lab;

/// What a client says of an adoption that failed because the role's flavor is null.
fn failed_for_its_flavor(case: &str, details: impl FnOnce(Value) -> Value) -> Value {
    let said = json!({
        "device": "no-flavor",
        "step": "read_hub",
        "field": "flavor",
        "remedy": "have HPC fill the field in, in the site's bootstrap config for the role",
    });
    json!({
        "case": case,
        "type": "bootstrap.incomplete",
        "message": "role no-flavor: flavor is null",
        "non_retryable": true,
        "details": details(said),
    })
}

/// What came of an adoption at a site that burns nothing in, but for what says so.
fn untested(result: &Value) -> Value {
    let mut rest = result.clone();
    let burn_in = rest.as_object_mut().and_then(|r| r.remove("burnIn"));
    assert_eq!(burn_in.unwrap_or_default()["verdict"], "BURN_IN_VERDICT_OFF", "{result}");
    rest
}

#[tokio::test(flavor = "multi_thread")]
async fn a_python_client_sends_and_reads_plain_dicts() {
    let lab = Lab::start("interop-plain").await;
    let said = lab.python("plain.py", "busy").await;
    let cases: Vec<&str> = said.iter().map(|case| case["case"].as_str().unwrap()).collect();
    let [dry, progress, busy, adopted, failed, mistyped, once_more, found, unread] = said.as_slice() else {
        panic!("{cases:?}")
    };

    let create = ["there is no server", "SLURM has no node plain-1"];
    assert_eq!(
        dry["result"],
        json!({"adopt": {"plan": "PLAN_CREATE", "dryRun": true, "node": "plain-1", "differences": create}})
    );
    assert_eq!(progress["progress"]["step"], "wait_active");
    let waiting = progress["progress"]["waitingFor"].as_str().unwrap();
    assert!(waiting.contains("is BUILD"), "{waiting}");
    assert_eq!(busy["workflow_id"], "slurm/lab/plain-1");
    let server = lab.server("plain-1");
    assert_eq!(
        untested(&adopted["result"]),
        json!({
            "adopt": {"plan": "PLAN_CREATE", "node": "plain-1", "serverId": server, "differences": create},
            "resume": {"outcome": "RESUME_OUTCOME_RESUMED", "node": "plain-1"},
        })
    );
    lab.assert_open("plain-1");

    assert_eq!(*failed, failed_for_its_flavor("no flavor", |details| json!([details])));
    assert_eq!(
        *mistyped,
        json!({
            "case": "mistyped",
            "type": "request.invalid",
            "message": "input, field dryRun: is not what the message has there (line 1, column 50)",
            "non_retryable": true,
            "details": [{
                "step": "decode",
                "field": "dryRun",
                "remedy": "send one message of the workflow's input type",
            }],
        })
    );
    // the device is free, and a field that this release does not know is not read
    assert_eq!(once_more["result"]["adopt"]["node"], "plain-2", "{once_more}");
    assert_eq!(found["ids"], json!(["slurm/lab/plain-1", "slurm/lab/plain-1"]));
    // what the README says of a client with neither classes nor converter
    assert_eq!(unread["error"], "Unknown Protobuf type fleet.slurm.v1.FailureDetails");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_python_client_sends_and_reads_messages() {
    let lab = Lab::start("interop-typed").await;
    let said = lab.python("typed.py", "progress").await;
    let [progress, json, binary, failed, invalid] = said.as_slice() else { panic!("{said:#?}") };
    assert_eq!(progress["step"], "wait_active");
    assert!(progress["waiting_for"].as_str().unwrap().contains("is BUILD"), "{progress}");
    assert!((0..120).contains(&progress["seconds"].as_i64().unwrap()), "{progress}");
    for (case, device, sent) in [(json, "typed-1", "json/protobuf"), (binary, "typed-2", "binary/protobuf")] {
        assert_eq!(
            *case,
            json!({
                "case": "adopted",
                "device": device,
                "sent": sent,
                "planned": "PLAN_CREATE",
                "planned_only": true,
                "read": "AdoptDeviceResult",
                "plan": "PLAN_CREATE",
                "node": device,
                "server_id": lab.server(device),
                "resume": "RESUME_OUTCOME_RESUMED",
            })
        );
        lab.assert_open(device);
    }
    assert_eq!(*failed, failed_for_its_flavor("failed", |details| details));
    let remedy = "give one line of 1 to 100 printable ASCII characters";
    assert_eq!(
        *invalid,
        json!({
            "case": "failed",
            "type": "request.invalid",
            "message": format!("reason: is empty; {remedy}"),
            "non_retryable": true,
            "details": {"device": "typed-1", "step": "decode", "field": "reason", "remedy": remedy},
        })
    );
}
