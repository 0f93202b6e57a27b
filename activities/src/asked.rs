//! What every verb of a device is told.

use model::{Actor, DeviceId, DrainReason, Mark, RequestId, Verb};

/// Of which device, by whom, and why.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The idempotency key.
    pub id: RequestId,
    /// The device.
    pub device: DeviceId,
    /// Who asked.
    pub actor: Actor,
    /// Why.
    pub why: DrainReason,
    /// Go on over what somebody else has closed. Who asked answers for it.
    pub force: bool,
}

impl Asked {
    /// The mark of this verb for this request.
    #[must_use]
    pub fn mark(&self, verb: Verb) -> Mark {
        Mark { verb, request: self.id.clone(), actor: self.actor.clone(), why: self.why.clone() }
    }
}
