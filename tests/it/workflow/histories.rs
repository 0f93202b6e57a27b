//! The recorded histories: one a workflow and shape, written once.
//!
//! *Invariant*: a file that is there is never written. What it holds was said by a released worker,
//! and runs of that release may still be open.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use proto::v1::{AdoptRequest, BurnInResult, BurnInVerdict, ResumeRequest};
use proto::{Proto, names};
use serde_json::Value;
use temporalio_common::protos::temporal::api::common::v1::Payload;

use super::lab::{Lab, Run};
use super::script::{
    Act, Failure, adopt_request, burn_in_request, burned, drain_request, poll_request, release_request,
    resume_request, within,
};

/// A way through a workflow.
struct Shape {
    /// The file's name.
    name: &'static str,
    workflow: &'static str,
    input: Vec<Payload>,
    /// What the first attempt of an activity does.
    act: Option<(&'static str, Act)>,
    /// What a burn-in says of the node, where it is not `passed`.
    burned: Option<BurnInResult>,
    meanwhile: Meanwhile,
}

/// What is done to a run while its activity waits.
#[derive(Clone, Copy, PartialEq)]
enum Meanwhile {
    Nothing,
    /// It is told to stop before its first task.
    StopFirst,
    Stop,
    Cancel,
}

/// Nothing is out of order.
fn plain(name: &'static str, workflow: &'static str, input: Payload) -> Shape {
    Shape { name, workflow, input: vec![input], act: None, burned: None, meanwhile: Meanwhile::Nothing }
}

impl Shape {
    /// This activity fails for good.
    fn failing(self, activity: &'static str) -> Self {
        let failure = Failure::permanent("slurm.drain_not_ours", "gpu-001 is drained: bad DIMM A3 [alice]");
        Self { act: Some((activity, Act::Fail(failure))), ..self }
    }

    /// This is done to the run while that activity waits.
    fn while_waiting(self, activity: &'static str, meanwhile: Meanwhile) -> Self {
        Self { act: Some((activity, Act::wait())), meanwhile, ..self }
    }

    /// The same, and the activity ends well all the same.
    fn outrun(self, activity: &'static str, meanwhile: Meanwhile) -> Self {
        Self { act: Some((activity, Act::wait_then(Act::Succeed))), meanwhile, ..self }
    }

    fn stopped_first(self) -> Self {
        Self { meanwhile: Meanwhile::StopFirst, ..self }
    }

    fn burned(self, verdict: BurnInVerdict) -> Self {
        Self { burned: Some(burned(verdict, "gpus: 7 of 8 answer")), ..self }
    }
}

/// The first release's: no burn-in, and `stop` in AdoptDevice alone.
fn first_release() -> Vec<Shape> {
    let adopt =
        |name, request: AdoptRequest| plain(name, names::ADOPT_DEVICE, Proto(request).encode().unwrap());
    let dry_run = AdoptRequest { dry_run: true, ..adopt_request() };
    let incomplete = Failure::permanent("bootstrap.incomplete", "the row of gpu has no flavor");
    let resume = Proto(resume_request()).encode().unwrap();
    let poll = Proto(poll_request()).encode().unwrap();
    vec![
        adopt("AdoptDevice-ok-v1", adopt_request()),
        adopt("AdoptDevice-dry-run-v1", dry_run),
        Shape {
            act: Some((names::ADOPT, Act::Fail(incomplete))),
            ..adopt("AdoptDevice-failed-v1", adopt_request())
        },
        adopt("AdoptDevice-stopped-v1", adopt_request()).while_waiting(names::ADOPT, Meanwhile::Stop),
        adopt("AdoptDevice-canceled-v1", adopt_request()).while_waiting(names::ADOPT, Meanwhile::Cancel),
        adopt("AdoptDevice-late-v1", within(1)).while_waiting(names::ADOPT, Meanwhile::Nothing),
        Shape { input: Vec::new(), ..adopt("AdoptDevice-invalid-v1", adopt_request()) },
        plain("ResumeDevice-ok-v1", names::RESUME_DEVICE, resume),
        plain("PollSchedulerConditions-ok-v1", names::POLL_SCHEDULER_CONDITIONS_WORKFLOW, poll),
    ]
}

/// With the patch `burn-in`: adoption and resumption.
fn openers() -> Vec<Shape> {
    let adopt = |name| plain(name, names::ADOPT_DEVICE, Proto(adopt_request()).encode().unwrap());
    let resume = |name| plain(name, names::RESUME_DEVICE, Proto(resume_request()).encode().unwrap());
    let adopt_untested = Proto(AdoptRequest { skip_burn_in: true, ..adopt_request() }).encode().unwrap();
    let resume_untested = Proto(ResumeRequest { skip_burn_in: true, ..resume_request() }).encode().unwrap();
    let burn_in = names::BURN_IN_SBATCH;
    vec![
        adopt("AdoptDevice-ok-v2"),
        plain("AdoptDevice-skip-burn-in-v1", names::ADOPT_DEVICE, adopt_untested),
        adopt("AdoptDevice-stopped-first-v1").stopped_first(),
        adopt("AdoptDevice-outran-cancel-v1").outrun(names::ADOPT, Meanwhile::Cancel),
        adopt("AdoptDevice-burn-in-not-passed-v1").burned(BurnInVerdict::Failed),
        adopt("AdoptDevice-burn-in-failed-v1").failing(burn_in),
        adopt("AdoptDevice-burn-in-stopped-v1").while_waiting(burn_in, Meanwhile::Stop),
        adopt("AdoptDevice-burn-in-outran-stop-v1").outrun(burn_in, Meanwhile::Stop),
        adopt("AdoptDevice-burn-in-canceled-v1").while_waiting(burn_in, Meanwhile::Cancel),
        adopt("AdoptDevice-resume-failed-v1").failing(names::RESUME),
        resume("ResumeDevice-ok-v2"),
        plain("ResumeDevice-skip-burn-in-v1", names::RESUME_DEVICE, resume_untested.clone()),
        resume("ResumeDevice-stopped-first-v1").stopped_first(),
        plain("ResumeDevice-skip-burn-in-stopped-first-v1", names::RESUME_DEVICE, resume_untested)
            .stopped_first(),
        resume("ResumeDevice-burn-in-not-passed-v1").burned(BurnInVerdict::Unknown),
        resume("ResumeDevice-burn-in-failed-v1").failing(burn_in),
        resume("ResumeDevice-burn-in-stopped-v1").while_waiting(burn_in, Meanwhile::Stop),
        resume("ResumeDevice-burn-in-outran-stop-v1").outrun(burn_in, Meanwhile::Stop),
        resume("ResumeDevice-burn-in-canceled-v1").while_waiting(burn_in, Meanwhile::Cancel),
        resume("ResumeDevice-resume-failed-v1").failing(names::RESUME),
    ]
}

/// The verbs of one step.
fn single() -> Vec<Shape> {
    let drain = |name| plain(name, names::DRAIN_DEVICE, Proto(drain_request()).encode().unwrap());
    let release = |name| plain(name, names::RELEASE_DEVICE, Proto(release_request()).encode().unwrap());
    let burn_in = |name| plain(name, names::BURN_IN_DEVICE, Proto(burn_in_request()).encode().unwrap());
    let sbatch = names::BURN_IN_SBATCH;
    vec![
        drain("DrainDevice-ok-v1"),
        drain("DrainDevice-failed-v1").failing(names::DRAIN),
        drain("DrainDevice-stopped-v1").while_waiting(names::DRAIN, Meanwhile::Stop),
        drain("DrainDevice-outran-stop-v1").outrun(names::DRAIN, Meanwhile::Stop),
        drain("DrainDevice-stopped-first-v1").stopped_first(),
        drain("DrainDevice-canceled-v1").while_waiting(names::DRAIN, Meanwhile::Cancel),
        Shape { input: Vec::new(), ..drain("DrainDevice-invalid-v1") },
        release("ReleaseDevice-ok-v1"),
        release("ReleaseDevice-failed-v1").failing(names::RELEASE),
        release("ReleaseDevice-stopped-v1").while_waiting(names::RELEASE, Meanwhile::Stop),
        release("ReleaseDevice-outran-stop-v1").outrun(names::RELEASE, Meanwhile::Stop),
        release("ReleaseDevice-stopped-first-v1").stopped_first(),
        release("ReleaseDevice-canceled-v1").while_waiting(names::RELEASE, Meanwhile::Cancel),
        Shape { input: Vec::new(), ..release("ReleaseDevice-invalid-v1") },
        burn_in("BurnInDevice-ok-v1"),
        burn_in("BurnInDevice-not-passed-v1").burned(BurnInVerdict::NotRun),
        burn_in("BurnInDevice-failed-v1").failing(sbatch),
        burn_in("BurnInDevice-stopped-v1").while_waiting(sbatch, Meanwhile::Stop),
        burn_in("BurnInDevice-outran-stop-v1").outrun(sbatch, Meanwhile::Stop),
        burn_in("BurnInDevice-stopped-first-v1").stopped_first(),
        burn_in("BurnInDevice-canceled-v1").while_waiting(sbatch, Meanwhile::Cancel),
        Shape { input: Vec::new(), ..burn_in("BurnInDevice-invalid-v1") },
    ]
}

fn shapes() -> impl Iterator<Item = Shape> {
    first_release().into_iter().chain(openers()).chain(single())
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
    let waits = shape.act.as_ref().map(|(activity, _)| format!("{activity} 1"));
    if let Some((activity, act)) = shape.act {
        lab.mocks.script(activity, [act]);
    }
    if let Some(burned) = shape.burned {
        lab.mocks.burns_in(burned);
    }
    let run = match shape.meanwhile {
        Meanwhile::StopFirst => lab.start_stopped(shape.workflow, shape.input).await,
        Meanwhile::Nothing | Meanwhile::Stop | Meanwhile::Cancel => {
            lab.start_with(shape.workflow, shape.input).await
        }
    };
    if let (Meanwhile::Stop | Meanwhile::Cancel, Some(waits)) = (shape.meanwhile, waits) {
        lab.until(&waits).await;
        match shape.meanwhile {
            Meanwhile::Cancel => run.cancel().await,
            _ => run.signal(names::STOP, Vec::new()).await,
        }
        // adopt is not told, and waits for the test
        if waits == "adopt 1" && shape.meanwhile == Meanwhile::Stop {
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
