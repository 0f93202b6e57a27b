//! The recorded histories: one a workflow and shape, written once.
//!
//! *Invariant*: a file that is there is never written. What it holds was said by a released worker,
//! and runs of that release may still be open.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use proto::v1::AdoptRequest;
use proto::{Proto, names};
use serde_json::Value;
use temporalio_common::protos::temporal::api::common::v1::Payload;

use super::lab::{Lab, Run};
use super::script::{Act, Failure, adopt_request, poll_request, resume_request, within};

/// A way through a workflow.
struct Shape {
    /// The file's name.
    name: &'static str,
    workflow: &'static str,
    input: Vec<Payload>,
    /// What the first attempt of an activity does.
    act: Option<(&'static str, Act)>,
    meanwhile: Meanwhile,
}

/// What is done to a run while its activity waits.
#[derive(PartialEq)]
enum Meanwhile {
    Nothing,
    Stop,
    Cancel,
}

fn shapes() -> Vec<Shape> {
    let plain = |name, workflow, input: Payload| Shape {
        name,
        workflow,
        input: vec![input],
        act: None,
        meanwhile: Meanwhile::Nothing,
    };
    let adopt =
        |name, request: AdoptRequest| plain(name, names::ADOPT_DEVICE, Proto(request).encode().unwrap());
    let dry_run = AdoptRequest { dry_run: true, ..adopt_request() };
    let incomplete = Failure::permanent("bootstrap.incomplete", "the row of gpu has no flavor");
    let resume = Proto(resume_request()).encode().unwrap();
    let poll = Proto(poll_request()).encode().unwrap();
    let waits = || Some((names::ADOPT, Act::wait()));
    vec![
        adopt("AdoptDevice-ok-v1", adopt_request()),
        adopt("AdoptDevice-dry-run-v1", dry_run),
        Shape {
            act: Some((names::ADOPT, Act::Fail(incomplete))),
            ..adopt("AdoptDevice-failed-v1", adopt_request())
        },
        Shape {
            act: waits(),
            meanwhile: Meanwhile::Stop,
            ..adopt("AdoptDevice-stopped-v1", adopt_request())
        },
        Shape {
            act: waits(),
            meanwhile: Meanwhile::Cancel,
            ..adopt("AdoptDevice-canceled-v1", adopt_request())
        },
        Shape { act: waits(), ..adopt("AdoptDevice-late-v1", within(1)) },
        Shape { input: Vec::new(), ..adopt("AdoptDevice-invalid-v1", adopt_request()) },
        plain("ResumeDevice-ok-v1", names::RESUME_DEVICE, resume),
        plain("PollSchedulerConditions-ok-v1", names::POLL_SCHEDULER_CONDITIONS_WORKFLOW, poll),
    ]
}

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/histories")
}

#[tokio::test]
async fn each_shape_has_a_history() {
    let mut recorded = Vec::new();
    for shape in shapes() {
        let file = folder().join(format!("{}.json", shape.name));
        if !file.exists() {
            record(&file, shape).await;
            recorded.push(file.display().to_string());
        }
    }
    assert!(
        recorded.is_empty(),
        "recorded just now, since they were missing: {}. Read them, add them to the commit, and run \
         this again; see tests/histories/README.md",
        recorded.join(", ")
    );
}

async fn record(file: &Path, shape: Shape) {
    let lab = Lab::start().await;
    if let Some((activity, act)) = shape.act {
        lab.mocks.script(activity, [act]);
    }
    let run = lab.start_with(shape.workflow, shape.input).await;
    if shape.meanwhile != Meanwhile::Nothing {
        lab.until("adopt 1").await;
        if shape.meanwhile == Meanwhile::Cancel {
            run.cancel().await;
        } else {
            run.signal(names::STOP, Vec::new()).await;
            lab.mocks.release();
        }
    }
    let _ = run.end().await;
    File::create_new(file).unwrap().write_all(lines(&run).await.as_bytes()).unwrap();
}

/// The history as the SDK reads it back, an event a line.
async fn lines(run: &Run) -> String {
    let history: Value = serde_json::from_slice(&run.history().to_json().await.unwrap()).unwrap();
    let events: Vec<String> = history["events"].as_array().unwrap().iter().map(Value::to_string).collect();
    format!("{{\"events\":[\n{}\n]}}\n", events.join(",\n"))
}
