//! Requests, parsed: strings become types at the door.

use std::time::Duration;

use model::{Actor, DeviceId, DrainReason, Invalid, RequestId, SiteId, Verb};

use crate::v1::{AdoptRequest, ResumeRequest};

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
    /// How long it may take, where the request says so. At least a second.
    pub deadline: Option<Duration>,
}

impl AdoptRequest {
    /// Parses the request.
    ///
    /// # Errors
    /// [`Invalid`] names the first field that is wrong.
    pub fn parse(&self) -> Result<Lifecycle, Invalid> {
        let deadline = self.deadline.as_ref().map(|d| deadline(d.seconds)).transpose()?;
        let common = [&self.request_id, &self.site, &self.device_id, &self.actor, &self.reason];
        lifecycle(Verb::Adopt, common, deadline)
    }
}

impl ResumeRequest {
    /// Parses the request.
    ///
    /// # Errors
    /// [`Invalid`] names the first field that is wrong.
    pub fn parse(&self) -> Result<Lifecycle, Invalid> {
        let common = [&self.request_id, &self.site, &self.device_id, &self.actor, &self.reason];
        lifecycle(Verb::Resume, common, None)
    }
}

fn lifecycle(verb: Verb, common: [&String; 5], deadline: Option<Duration>) -> Result<Lifecycle, Invalid> {
    let [request, site, device, actor, why] = common;
    Ok(Lifecycle {
        verb,
        request: RequestId::parse(request)?,
        site: SiteId::parse(site)?,
        device: DeviceId::parse(device)?,
        actor: Actor::parse(actor)?,
        why: DrainReason::parse(why)?,
        deadline,
    })
}

fn deadline(seconds: i64) -> Result<Duration, Invalid> {
    match u64::try_from(seconds) {
        Ok(seconds @ 1..=31_536_000) => Ok(Duration::from_secs(seconds)),
        _ => Err(Invalid::new(
            "deadline",
            "is not between a second and a year",
            "leave it out for the default",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(request.parse().unwrap().request.as_str(), "r-1");
        request.deadline = Some(pbjson_types::Duration { seconds: 0, nanos: 0 });
        assert_eq!(request.parse().unwrap_err().field, "deadline");
        request.deadline = None;
        request.device_id = String::new();
        assert_eq!(request.parse().unwrap_err().field, "device_id");
        assert_eq!(ResumeRequest::default().parse().unwrap_err().field, "request_id");
    }
}
