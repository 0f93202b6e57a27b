//! Requests, parsed: strings become types at the door.
//!
//! *Invariant*: what a message leaves unset has its default from here, as the message's own comment
//! says it, so that the workflow's time table and the activity's deadline are one number.

mod burn_in;

use std::time::Duration;

use model::{Actor, AtDeadline, DeviceId, DrainReason, Invalid, RequestId, SiteId, Verb};

use crate::v1::{self, AdoptRequest, DrainRequest, ReleaseRequest, ResumeRequest};

pub use burn_in::{BurnIn, ScriptRun};

/// How long an adoption may take, where the request does not say.
const ADOPT_DEADLINE: Duration = Duration::from_secs(2 * 60 * 60);
/// How long the jobs on a node that is drained or released may go on, where the request does not say.
const DRAIN_DEADLINE: Duration = Duration::from_secs(8 * 24 * 60 * 60);

/// What every verb of a device is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lifecycle {
    /// What to do.
    pub verb: Verb,
    /// The idempotency key.
    pub request: RequestId,
    /// Where.
    pub site: SiteId,
    /// To which device.
    pub device: DeviceId,
    /// Who asked.
    pub actor: Actor,
    /// Why.
    pub why: DrainReason,
}

/// What an adoption is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adoption {
    /// Of which device, by whom, and why.
    pub asked: Lifecycle,
    /// How long it may take: a second to a year.
    pub deadline: Duration,
}

/// What a drain and a release are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closing {
    /// Of which device, by whom, and why.
    pub asked: Lifecycle,
    /// How long the jobs on the node may go on: a second to a year.
    pub deadline: Duration,
    /// What is done with those that are there then.
    pub at_deadline: AtDeadline,
}

impl AdoptRequest {
    /// Parses the request.
    ///
    /// # Errors
    /// [`Invalid`] names the first field that is wrong.
    pub fn parse(&self) -> Result<Adoption, Invalid> {
        let common = [&self.request_id, &self.site, &self.device_id, &self.actor, &self.reason];
        Ok(Adoption {
            deadline: time("deadline", self.deadline.as_ref())?.unwrap_or(ADOPT_DEADLINE),
            asked: lifecycle(Verb::Adopt, common)?,
        })
    }
}

impl ResumeRequest {
    /// Parses the request.
    ///
    /// # Errors
    /// [`Invalid`] names the first field that is wrong.
    pub fn parse(&self) -> Result<Lifecycle, Invalid> {
        let common = [&self.request_id, &self.site, &self.device_id, &self.actor, &self.reason];
        lifecycle(Verb::Resume, common)
    }
}

impl DrainRequest {
    /// Parses the request.
    ///
    /// # Errors
    /// [`Invalid`] names the first field that is wrong.
    pub fn parse(&self) -> Result<Closing, Invalid> {
        let common = [&self.request_id, &self.site, &self.device_id, &self.actor, &self.reason];
        closing(lifecycle(Verb::Drain, common)?, self.deadline.as_ref(), self.at_deadline)
    }
}

impl ReleaseRequest {
    /// Parses the request.
    ///
    /// # Errors
    /// [`Invalid`] names the first field that is wrong.
    pub fn parse(&self) -> Result<Closing, Invalid> {
        let common = [&self.request_id, &self.site, &self.device_id, &self.actor, &self.reason];
        closing(lifecycle(Verb::Release, common)?, self.deadline.as_ref(), self.at_deadline)
    }
}

fn lifecycle(verb: Verb, common: [&String; 5]) -> Result<Lifecycle, Invalid> {
    let [request, site, device, actor, why] = common;
    Ok(Lifecycle {
        verb,
        request: RequestId::parse(request)?,
        site: SiteId::parse(site)?,
        device: DeviceId::parse(device)?,
        actor: Actor::parse(actor)?,
        why: DrainReason::parse(why)?,
    })
}

fn closing(
    asked: Lifecycle,
    deadline: Option<&pbjson_types::Duration>,
    at_deadline: i32,
) -> Result<Closing, Invalid> {
    let deadline = time("deadline", deadline)?.unwrap_or(DRAIN_DEADLINE);
    let at_deadline = match v1::AtDeadline::try_from(at_deadline) {
        Ok(v1::AtDeadline::Unspecified | v1::AtDeadline::Fail) => AtDeadline::Fail,
        Ok(v1::AtDeadline::CancelJobs) => AtDeadline::CancelJobs,
        Err(_) => {
            let remedy = "use AT_DEADLINE_FAIL or AT_DEADLINE_CANCEL_JOBS, or leave it out";
            return Err(Invalid::new("at_deadline", "is none that this release knows", remedy));
        }
    };
    Ok(Closing { asked, deadline, at_deadline })
}

/// A time that was given, in whole seconds: less than a second is none.
fn time(field: &str, given: Option<&pbjson_types::Duration>) -> Result<Option<Duration>, Invalid> {
    let Some(given) = given else { return Ok(None) };
    match u64::try_from(given.seconds) {
        Ok(seconds @ 1..=31_536_000) => Ok(Some(Duration::from_secs(seconds))),
        _ => {
            let problem = "is not between a second and a year";
            Err(Invalid::new(field, problem, "leave it out for the default"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: i64) -> Option<pbjson_types::Duration> {
        Some(pbjson_types::Duration { seconds, nanos: 0 })
    }

    fn drain() -> DrainRequest {
        DrainRequest {
            request_id: "r-1".to_owned(),
            site: "lab".to_owned(),
            device_id: "d-1".to_owned(),
            actor: "ada".to_owned(),
            reason: "bad fan".to_owned(),
            ..DrainRequest::default()
        }
    }

    #[test]
    fn the_first_wrong_field_is_named() {
        let mut request = AdoptRequest {
            request_id: "r-1".to_owned(),
            site: "lab".to_owned(),
            device_id: "d-1".to_owned(),
            actor: "ada".to_owned(),
            reason: "new".to_owned(),
            ..AdoptRequest::default()
        };
        let parsed = request.parse().unwrap();
        assert_eq!((parsed.asked.request.as_str(), parsed.deadline), ("r-1", ADOPT_DEADLINE));
        request.deadline = seconds(0);
        assert_eq!(request.parse().unwrap_err().field, "deadline");
        request.deadline = None;
        request.device_id = String::new();
        assert_eq!(request.parse().unwrap_err().field, "device_id");
        assert_eq!(ResumeRequest::default().parse().unwrap_err().field, "request_id");
        assert_eq!(DrainRequest::default().parse().unwrap_err().field, "request_id");
        assert_eq!(ReleaseRequest::default().parse().unwrap_err().field, "request_id");
        assert_eq!(
            DrainRequest { reason: "a\nb".to_owned(), ..drain() }.parse().unwrap_err().field,
            "reason"
        );
    }

    #[test]
    fn a_drain_has_its_defaults() {
        let parsed = drain().parse().unwrap();
        assert_eq!((parsed.deadline, parsed.at_deadline), (DRAIN_DEADLINE, AtDeadline::Fail));
        assert_eq!((parsed.asked.verb, parsed.asked.why.as_str()), (Verb::Drain, "bad fan"));
        let release = ReleaseRequest {
            request_id: "r-1".to_owned(),
            site: "lab".to_owned(),
            device_id: "d-1".to_owned(),
            actor: "ada".to_owned(),
            reason: "end of lease".to_owned(),
            at_deadline: 2,
            ..ReleaseRequest::default()
        };
        let parsed = release.parse().unwrap();
        assert_eq!((parsed.asked.verb, parsed.at_deadline), (Verb::Release, AtDeadline::CancelJobs));
    }

    #[test]
    fn times_are_a_second_to_a_year() {
        for (given, parsed) in [(1, 1), (31_536_000, 31_536_000)] {
            let request = DrainRequest { deadline: seconds(given), ..drain() };
            assert_eq!(request.parse().unwrap().deadline, Duration::from_secs(parsed));
        }
        for given in [0, -5, 31_536_001, i64::MIN] {
            let invalid = DrainRequest { deadline: seconds(given), ..drain() }.parse().unwrap_err();
            assert_eq!(
                invalid.to_string(),
                "deadline: is not between a second and a year; leave it out for the default"
            );
        }
        let half = pbjson_types::Duration { seconds: 0, nanos: 500_000_000 };
        assert_eq!(DrainRequest { deadline: Some(half), ..drain() }.parse().unwrap_err().field, "deadline");
    }

    #[test]
    fn what_happens_at_the_deadline_is_known_or_refused() {
        for (number, meaning) in [(0, AtDeadline::Fail), (1, AtDeadline::Fail), (2, AtDeadline::CancelJobs)] {
            let request = DrainRequest { at_deadline: number, ..drain() };
            assert_eq!(request.parse().unwrap().at_deadline, meaning);
        }
        for number in [3, -1, 99] {
            let invalid = DrainRequest { at_deadline: number, ..drain() }.parse().unwrap_err();
            assert_eq!(
                invalid.to_string(),
                "at_deadline: is none that this release knows; \
                 use AT_DEADLINE_FAIL or AT_DEADLINE_CANCEL_JOBS, or leave it out"
            );
        }
    }
}
