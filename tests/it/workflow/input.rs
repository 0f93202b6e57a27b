//! Inputs: three encodings are read, and what cannot be read ends at once and frees the lock.

use std::collections::HashMap;

use proto::v1::{
    AdoptDeviceResult, AdoptRequest, BurnInRequest, DrainRequest, ReleaseRequest, ResumeRequest,
};
use proto::{Proto, names};
use temporalio_common::protos::temporal::api::common::v1::Payload;

use super::adopt_device::start;
use super::lab::Lab;
use super::script::{
    adopt_request, burn_in_request, drain_request, poll_request, release_request, resume_request, resumed,
    within,
};

const WORDS: &str =
    r#""requestId":"r-1","site":"lab","deviceId":"gpu-001","actor":"ada","reason":"new in rack 7""#;

fn payload(encoding: &str, data: impl Into<Vec<u8>>) -> Payload {
    Payload {
        metadata: HashMap::from([("encoding".to_owned(), encoding.as_bytes().to_vec())]),
        data: data.into(),
        external_payloads: Vec::new(),
    }
}

fn encoded(request: AdoptRequest) -> Vec<Payload> {
    vec![Proto(request).encode().unwrap()]
}

/// `adopt_request()`, field by field as protobuf writes them: all are strings.
fn binary() -> Vec<u8> {
    let AdoptRequest { request_id, site, device_id, actor, reason, .. } = adopt_request();
    let fields = [request_id, site, device_id, actor, reason];
    let field = |(tag, text): (u8, &String)| {
        let head = [tag << 3 | 2, u8::try_from(text.len()).unwrap()];
        [&head, text.as_bytes()].concat()
    };
    (1..).zip(&fields).flat_map(field).collect()
}

#[tokio::test]
async fn each_of_three_encodings_is_read() {
    let lab = Lab::start().await;
    let json = format!("{{{WORDS}}}");
    let inputs = [
        payload("json/plain", json.clone()),
        payload("json/protobuf", json),
        payload("binary/protobuf", binary()),
        Proto(adopt_request()).encode().unwrap(),
    ];
    for input in inputs {
        let run = lab.start_with(names::ADOPT_DEVICE, vec![input]).await;
        assert_eq!(run.result::<AdoptDeviceResult>().await.resume, Some(resumed()));
    }
    let read = lab.mocks.inputs(names::ADOPT);
    assert_eq!(read.len(), 4);
    assert!(read.iter().all(|r| *r == serde_json::to_value(adopt_request()).unwrap()), "{read:?}");
}

#[tokio::test]
async fn an_unreadable_adopt_request_ends_at_once_and_frees_the_device() {
    let lab = Lab::start().await;
    let changed = |change: fn(&mut AdoptRequest)| {
        let mut request = adopt_request();
        change(&mut request);
        encoded(request)
    };
    let typed = Payload {
        metadata: HashMap::from([
            ("encoding".to_owned(), b"json/protobuf".to_vec()),
            ("messageType".to_owned(), b"fleet.slurm.v1.ResumeRequest".to_vec()),
        ]),
        ..payload("", format!("{{{WORDS}}}"))
    };
    let cases: Vec<(Vec<Payload>, &str, &str)> = vec![
        (
            vec![payload("json/plain", format!(r#"{{{WORDS},"dryRun":"hunter2"}}"#))],
            "dryRun",
            "input, field dryRun: is not what the message has there (line 1, column ",
        ),
        (vec![payload("json/protobuf", "{")], "", "input: is not JSON (line 1, column 1)"),
        (vec![typed], "", "input: is a fleet.slurm.v1.ResumeRequest, not a fleet.slurm.v1.AdoptRequest"),
        (vec![payload("binary/plain", "x")], "", "input: has encoding \"binary/plain\"; send json/protobuf,"),
        (vec![payload("binary/null", "")], "", "input: has encoding \"binary/null\"; send json/protobuf,"),
        (Vec::new(), "", "input: is missing; send one message"),
        (vec![encoded(adopt_request()).remove(0); 2], "", "input: has 2 payloads; send one message"),
        (changed(|r| r.reason.clear()), "reason", "reason: is empty; give one line"),
        (changed(|r| r.device_id.clear()), "device_id", "device_id: is empty; use 1 to"),
        (
            changed(|r| r.device_id = "gpu-002".to_owned()),
            "device_id",
            "device_id: this run's id is slurm/lab/gpu-001, which does not lock gpu-002; start it with the workflow id \
             slurm/lab/gpu-002",
        ),
        (encoded(within(0)), "deadline", "deadline: is not between a second and a year"),
        (encoded(within(-5)), "deadline", "deadline: is not between a second and a year"),
    ];
    for (input, field, message) in cases {
        let failure = lab.start_with(names::ADOPT_DEVICE, input).await.failure().await;
        assert_eq!((failure.code.as_str(), failure.non_retryable), ("request.invalid", true), "{message}");
        assert_eq!((failure.details.step.as_str(), failure.details.field.as_str()), ("decode", field));
        assert!(failure.message.starts_with(message), "{failure:?}");
        assert!(!failure.details.remedy.is_empty() && !failure.message.contains("hunter2"), "{failure:?}");
    }
    assert!(lab.mocks.log().is_empty(), "{:?}", lab.mocks.log());
    start(&lab, adopt_request()).await.result::<AdoptDeviceResult>().await;
}

#[tokio::test]
async fn an_unreadable_request_of_every_other_workflow_ends_at_once() {
    let lab = Lab::start().await;
    let poll = names::POLL_SCHEDULER_CONDITIONS_WORKFLOW;
    let no_actor = ResumeRequest { actor: String::new(), ..resume_request() };
    let elsewhere = ResumeRequest { device_id: "gpu-002".to_owned(), ..resume_request() };
    let killing = format!(r#"{{{WORDS},"atDeadline":7}}"#);
    let drain_elsewhere = DrainRequest { device_id: "gpu-002".to_owned(), ..drain_request() };
    let two_lines = ReleaseRequest { reason: "end\nof lease".to_owned(), ..release_request() };
    let no_interpreter = BurnInRequest { script: "exit 0".to_owned(), ..burn_in_request() };
    let no_time = BurnInRequest {
        script: "#!/bin/sh\n".to_owned(),
        time_limit: Some(pbjson_types::Duration { seconds: 0, nanos: 0 }),
        ..burn_in_request()
    };
    let burn_elsewhere = BurnInRequest { device_id: "gpu-002".to_owned(), ..burn_in_request() };
    let cases: Vec<(&str, Vec<Payload>, &str)> = vec![
        (names::RESUME_DEVICE, vec![payload("json/plain", r#"{"reason":7}"#)], "reason"),
        (names::RESUME_DEVICE, vec![Proto(no_actor).encode().unwrap()], "actor"),
        (names::RESUME_DEVICE, vec![Proto(elsewhere).encode().unwrap()], "device_id"),
        (names::RESUME_DEVICE, vec![Proto(poll_request()).encode().unwrap()], ""),
        (names::RESUME_DEVICE, Vec::new(), ""),
        (names::DRAIN_DEVICE, vec![payload("json/plain", r#"{"atDeadline":"KILL"}"#)], "atDeadline"),
        (names::DRAIN_DEVICE, vec![payload("json/plain", killing)], "atDeadline"),
        (names::DRAIN_DEVICE, vec![Proto(DrainRequest::default()).encode().unwrap()], "request_id"),
        (names::DRAIN_DEVICE, vec![Proto(drain_elsewhere).encode().unwrap()], "device_id"),
        (names::DRAIN_DEVICE, Vec::new(), ""),
        (names::RELEASE_DEVICE, vec![Proto(two_lines).encode().unwrap()], "reason"),
        (names::RELEASE_DEVICE, vec![Proto(drain_request()).encode().unwrap()], ""),
        (names::RELEASE_DEVICE, Vec::new(), ""),
        (names::BURN_IN_DEVICE, vec![Proto(no_interpreter).encode().unwrap()], "script"),
        (names::BURN_IN_DEVICE, vec![Proto(no_time).encode().unwrap()], "time_limit"),
        (names::BURN_IN_DEVICE, vec![Proto(burn_elsewhere).encode().unwrap()], "device_id"),
        (names::BURN_IN_DEVICE, Vec::new(), ""),
        (poll, vec![payload("json/plain", r#"{"site":["lab"]}"#)], "site"),
        (poll, Vec::new(), ""),
    ];
    for (workflow, input, field) in cases {
        let failure = lab.start_with(workflow, input).await.failure().await;
        assert_eq!((failure.code.as_str(), failure.non_retryable), ("request.invalid", true), "{workflow}");
        assert_eq!((failure.details.step.as_str(), failure.details.field.as_str()), ("decode", field));
        assert!(!failure.details.remedy.is_empty(), "{failure:?}");
    }
    assert!(lab.mocks.log().is_empty(), "{:?}", lab.mocks.log());
}
