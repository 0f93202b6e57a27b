//! What is asked of activities: parsed messages, in the activities' own types.

use activities::{Asked, adopt, burn_in, drain, release};
use proto::{BurnIn, Closing, Lifecycle, v1};

/// What every verb is told.
pub(super) fn of(asked: Lifecycle, force: bool) -> Asked {
    Asked { id: asked.request, device: asked.device, actor: asked.actor, why: asked.why, force }
}

pub(super) fn adoption(asked: Lifecycle, request: &v1::AdoptRequest) -> adopt::Request {
    adopt::Request { asked: of(asked, request.force), dry_run: request.dry_run }
}

/// Nothing forces a drain: what somebody else has closed is closed.
pub(super) fn drain(parsed: Closing) -> drain::Request {
    let Closing { asked, deadline, at_deadline } = parsed;
    drain::Request { asked: of(asked, false), deadline, at_deadline }
}

pub(super) fn release(parsed: Closing, force: bool) -> release::Request {
    let Closing { asked, deadline, at_deadline } = parsed;
    release::Request { asked: of(asked, force), deadline, at_deadline }
}

pub(super) fn burn_in(parsed: BurnIn, request: &v1::BurnInRequest) -> burn_in::Request {
    burn_in::Request {
        asked: of(parsed.asked, request.force),
        tests: parsed.tests,
        script: parsed.script.map(|s| (s.text, s.time_limit)),
        deadline: parsed.deadline,
        only_if_closed: request.only_if_closed,
    }
}
