//! What is asked over HTTP, as the message that its workflow takes.

use model::{AtDeadline, StartRequest, Verb};
use proto::{Proto, names, v1};
use temporalio_common::protos::temporal::api::common::v1::Payload;

use crate::db::Request;

/// The workflow's type and its input.
pub(super) fn of(
    request: &Request,
    body: &StartRequest,
) -> Result<(&'static str, Payload), serde_json::Error> {
    let request_id = request.id.to_string();
    let site = request.site.to_string();
    let device_id = request.device.to_string();
    let actor = request.actor.to_string();
    let reason = body.reason.as_str().to_owned();
    let deadline = body.deadline_seconds.map(seconds);
    let (force, skip_burn_in) = (body.force, body.skip_burn_in);
    let at_deadline = at_deadline(body.at_deadline).into();
    Ok(match request.verb {
        Verb::Adopt => {
            let dry_run = body.dry_run;
            let input = v1::AdoptRequest {
                request_id,
                site,
                device_id,
                actor,
                reason,
                deadline,
                dry_run,
                force,
                skip_burn_in,
            };
            (names::ADOPT_DEVICE, Proto(input).encode()?)
        }
        Verb::Resume => {
            let input = v1::ResumeRequest { request_id, site, device_id, actor, reason, skip_burn_in, force };
            (names::RESUME_DEVICE, Proto(input).encode()?)
        }
        Verb::Drain => {
            let input =
                v1::DrainRequest { request_id, site, device_id, actor, reason, deadline, at_deadline };
            (names::DRAIN_DEVICE, Proto(input).encode()?)
        }
        Verb::Release => {
            let input = v1::ReleaseRequest {
                request_id,
                site,
                device_id,
                actor,
                reason,
                deadline,
                at_deadline,
                force,
            };
            (names::RELEASE_DEVICE, Proto(input).encode()?)
        }
        Verb::BurnIn => {
            let input = v1::BurnInRequest {
                request_id,
                site,
                device_id,
                actor,
                reason,
                tests: body.tests.clone(),
                script: body.script.clone().unwrap_or_default(),
                time_limit: body.time_limit_seconds.map(seconds),
                deadline,
                force,
                only_if_closed: false,
            };
            (names::BURN_IN_DEVICE, Proto(input).encode()?)
        }
    })
}

fn seconds(seconds: u32) -> pbjson_types::Duration {
    pbjson_types::Duration { seconds: seconds.into(), nanos: 0 }
}

fn at_deadline(asked: Option<AtDeadline>) -> v1::AtDeadline {
    match asked {
        None => v1::AtDeadline::Unspecified,
        Some(AtDeadline::Fail) => v1::AtDeadline::Fail,
        Some(AtDeadline::CancelJobs) => v1::AtDeadline::CancelJobs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Actor, DeviceId, DrainReason, RequestId, SiteId};
    use serde_json::{Value, json};

    /// The workflow and the keys of its input beyond what every verb is told.
    fn sent(body: Value) -> (&'static str, Value) {
        let body: StartRequest = serde_json::from_value(body).unwrap();
        assert!(body.mistakes().is_empty(), "{body:?}");
        let request = Request {
            site: SiteId::parse("lab").unwrap(),
            id: RequestId::parse("r-1").unwrap(),
            device: DeviceId::parse("d-1").unwrap(),
            verb: body.verb,
            actor: Actor::parse("ada").unwrap(),
            body_hash: String::new(),
            run_id: None,
        };
        assert_eq!(DrainReason::parse("r").unwrap(), body.reason);
        let (workflow, payload) = of(&request, &body).unwrap();
        let mut input: Value = serde_json::from_slice(&payload.data).unwrap();
        let known =
            [("requestId", "r-1"), ("site", "lab"), ("deviceId", "d-1"), ("actor", "ada"), ("reason", "r")];
        for (key, value) in known {
            assert_eq!(input.as_object_mut().unwrap().remove(key), Some(json!(value)), "{key}");
        }
        (workflow, input)
    }

    #[test]
    fn each_verb_sends_what_it_was_given() {
        let none = json!({});
        for (verb, workflow) in [
            ("adopt", "AdoptDevice"),
            ("resume", "ResumeDevice"),
            ("drain", "DrainDevice"),
            ("release", "ReleaseDevice"),
            ("burn_in", "BurnInDevice"),
        ] {
            assert_eq!(sent(json!({ "verb": verb, "reason": "r" })), (workflow, none.clone()));
        }
        let adopt = json!({ "verb": "adopt", "reason": "r", "dry_run": true, "force": true,
                            "skip_burn_in": true, "deadline_seconds": 60 });
        let said = json!({ "deadline": "60s", "dryRun": true, "force": true, "skipBurnIn": true });
        assert_eq!(sent(adopt).1, said);
        let resume = json!({ "verb": "resume", "reason": "r", "force": true, "skip_burn_in": true });
        assert_eq!(sent(resume).1, json!({ "force": true, "skipBurnIn": true }));
        let drain = json!({ "verb": "drain", "reason": "r", "deadline_seconds": 60, "at_deadline": "fail" });
        assert_eq!(sent(drain).1, json!({ "deadline": "60s", "atDeadline": "AT_DEADLINE_FAIL" }));
        let release =
            json!({ "verb": "release", "reason": "r", "at_deadline": "cancel_jobs", "force": true });
        assert_eq!(sent(release).1, json!({ "atDeadline": "AT_DEADLINE_CANCEL_JOBS", "force": true }));
        let tests = json!({ "verb": "burn_in", "reason": "r", "tests": ["disk", "gpus"], "force": true });
        assert_eq!(sent(tests).1, json!({ "tests": ["disk", "gpus"], "force": true }));
        let script = json!({ "verb": "burn_in", "reason": "r", "script": "#!/bin/sh\n",
                             "time_limit_seconds": 30, "deadline_seconds": 60 });
        assert_eq!(sent(script).1, json!({ "script": "#!/bin/sh\n", "timeLimit": "30s", "deadline": "60s" }));
    }
}
