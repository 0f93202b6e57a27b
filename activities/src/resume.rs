//! Resume: opens a node that is closed under our mark.
//!
//! After success the node is open and its slurmd responds. Idempotent: an open node is left alone
//! (RESUME would be an error there). Waits for a node that does not respond, and out the seconds of
//! NOT_RESPONDING that follow a RESUME. Never opens what somebody else closed.

use clients::slurm::{Node, NodeUpdate, SetState};
use model::{DeviceId, NodeName, Owner};

use crate::close::{existing, refuse_foreign};
use crate::look::find_subject;
use crate::wait::{Look, patiently, until};
use crate::{Attempt, Code, Failure, World};

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It was closed by us and is open.
    Resumed(NodeName),
    /// It was open.
    AlreadyOpen(NodeName),
}

/// Opens the device's node.
///
/// # Errors
/// `request.*`, `slurm.node_unknown`, `slurm.drain_not_ours`, `slurm.config_mismatch`, and what
/// keeps the systems from answering.
pub async fn resume(world: &World, attempt: &Attempt, device: &DeviceId) -> Result<Outcome, Failure> {
    steps(world, attempt, device).await.map_err(|f| f.in_step(attempt.current()))
}

async fn steps(world: &World, attempt: &Attempt, device: &DeviceId) -> Result<Outcome, Failure> {
    attempt.step("read_hub", Code::HubUnavailable)?;
    let name = find_subject(world, attempt, device).await?.node;
    attempt.step("look", Code::SlurmUnavailable)?;
    let resumed = open(world, attempt, &name).await?;
    attempt.step("wait_open", Code::SlurmUnavailable)?;
    let node = until(world, attempt, || wait_open(world, &name)).await?;
    clear_claim(world, attempt, &node).await?;
    Ok(if resumed { Outcome::Resumed(name) } else { Outcome::AlreadyOpen(name) })
}

/// Sends RESUME to a closed node; looks again before it repeats one whose answer was lost, since a
/// second RESUME is an error. True when one was sent.
async fn open(world: &World, attempt: &Attempt, name: &NodeName) -> Result<bool, Failure> {
    let resume = NodeUpdate { state: Some([SetState::Resume]), ..NodeUpdate::default() };
    let mut sent = false;
    while until(world, attempt, || look(world, name)).await? {
        attempt.step("open_node", Code::SlurmUnavailable)?;
        sent = true;
        match world.slurm.update_node(name, &resume).await {
            Ok(()) => break,
            Err(error) if error.is_unknown() => {
                attempt.waiting(&error.to_string());
                attempt.pause(world.site.look_every).await?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(sent)
}

/// Whether it is closed, by us, and can be opened.
async fn look(world: &World, name: &NodeName) -> Result<Look<bool>, Failure> {
    let node = existing(world, name).await?;
    if !node.tokens.is_closed() {
        return Ok(Look::Ready(false));
    }
    refuse_foreign(&node)?;
    if Owner::of(&node.reason, &node.extra) == Owner::Nobody {
        return Ok(Look::NotYet(format!("{name} is {}: {}", node.tokens, node.reason)));
    }
    if node.tokens.has("INVALID_REG") {
        let message = format!("SLURM calls the registration of {name} invalid: {}", node.reason);
        let remedy = "compare the row, the user-data and slurm.conf";
        return Err(Failure::needs_human(Code::ConfigMismatch, message, remedy));
    }
    if !node.tokens.is_responding() {
        return Ok(Look::NotYet(format!("{name} does not respond ({})", node.tokens)));
    }
    Ok(Look::Ready(true))
}

/// Open and responding.
async fn wait_open(world: &World, name: &NodeName) -> Result<Look<Node>, Failure> {
    let node = existing(world, name).await?;
    if node.tokens.is_closed() {
        refuse_foreign(&node)?;
        return Ok(Look::NotYet(format!("{name} is still {}", node.tokens)));
    }
    if node.tokens.any(&["NOT_RESPONDING", "UNKNOWN"]) {
        return Ok(Look::NotYet(format!("{name} does not respond yet ({})", node.tokens)));
    }
    Ok(Look::Ready(node))
}

/// An open node is nobody's. The claim goes last: until then a node that closes again is known as ours.
/// With it goes our reason, where the release keeps it (24.11): one that says nothing takes its place.
async fn clear_claim(world: &World, attempt: &Attempt, node: &Node) -> Result<(), Failure> {
    let claimed = !node.extra.is_empty() && Owner::may_claim(&node.extra);
    let reason = Owner::after_opening(&node.reason).map(str::to_owned);
    if !claimed && reason.is_none() {
        return Ok(());
    }
    attempt.step("clear_claim", Code::SlurmUnavailable)?;
    let clear = NodeUpdate { state: None, reason, extra: claimed.then(String::new) };
    patiently(world, attempt, || world.slurm.update_node(&node.name, &clear)).await
}
