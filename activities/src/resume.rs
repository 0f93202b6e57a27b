//! Resume: opens a node that is closed under our mark.
//!
//! After success the node is open, its slurmd responds, and slurmctld has had the time to save that:
//! until then it may forget what it acknowledged (facts: slurm §12). Idempotent: an open node is left
//! alone (RESUME would be an error there). Waits for a node that does not respond, and out the seconds
//! of NOT_RESPONDING that follow a RESUME. Never opens what somebody else closed, unless that is forced.

use clients::Kind;
use clients::slurm::{Node, NodeUpdate, SetState};
use model::{NodeName, Owner};

use crate::close::refuse_foreign;
use crate::look::{ensure_nodes_can_be_changed, existing, find_subject};
use crate::wait::{Look, REPEATS, patiently, settle, until};
use crate::{Asked, Attempt, Class, Code, Failure, World};

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
pub async fn resume(world: &World, attempt: &Attempt, asked: &Asked) -> Result<Outcome, Failure> {
    Box::pin(steps(world, attempt, asked)).await.map_err(|f| f.in_step(attempt.current()))
}

async fn steps(world: &World, attempt: &Attempt, asked: &Asked) -> Result<Outcome, Failure> {
    attempt.step("read_hub", Code::HubUnavailable)?;
    let name = find_subject(world, attempt, &asked.device).await?.node;
    attempt.step("look", Code::SlurmUnavailable)?;
    ensure_nodes_can_be_changed(world, attempt).await?;
    if !open(world, attempt, &name, asked.force).await? {
        wait_open(world, attempt, &name).await?;
        return Ok(Outcome::AlreadyOpen(name));
    }
    wait_open(world, attempt, &name).await?;
    settle(world, attempt, Code::SlurmUnavailable, "the node is open").await?;
    wait_open(world, attempt, &name).await?;
    Ok(Outcome::Resumed(name))
}

/// Waits until it is open and responds, and leaves nothing of ours on it.
async fn wait_open(world: &World, attempt: &Attempt, name: &NodeName) -> Result<(), Failure> {
    attempt.step("wait_open", Code::SlurmUnavailable)?;
    let node = until(world, attempt, || look_open(world, name)).await?;
    clear_claim(world, attempt, &node).await
}

/// Sends RESUME to a closed node; looks again before it repeats one whose answer was lost, since a
/// second RESUME is an error, and one that was refused, three times in ten seconds. True when one was sent.
async fn open(world: &World, attempt: &Attempt, name: &NodeName, force: bool) -> Result<bool, Failure> {
    let resume = NodeUpdate { state: Some([SetState::Resume]), ..NodeUpdate::default() };
    let (mut sent, mut left) = (false, REPEATS.into_iter());
    while until(world, attempt, || look(world, name, force)).await? {
        attempt.step("open_node", Code::SlurmUnavailable)?;
        sent = true;
        match world.slurm.update_node(name, &resume).await {
            Ok(()) => break,
            Err(error) if error.is_unknown() => {
                attempt.waiting(&error.to_string());
                attempt.pause(world.site.look_every).await?;
            }
            // 24.11 refuses RESUME until the node has registered with a slurmctld that has just started
            Err(error) if matches!(error.kind, Kind::Rejected(_)) => {
                let Some(times) = left.next() else { return Err(error.into()) };
                attempt.waiting(&error.to_string());
                attempt.pause(world.site.repeat_after * times).await?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(sent)
}

/// Whether it is closed, by us, and can be opened.
async fn look(world: &World, name: &NodeName, force: bool) -> Result<Look<bool>, Failure> {
    let node = existing(world, name).await?;
    if !node.tokens.is_closed() {
        return refuse_asleep(&node).map(|()| Look::Ready(false));
    }
    refuse_foreign(&node, force)?;
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

/// A node that power saving has put to sleep, or that no machine has ever been, is not closed: RESUME
/// is no way to wake it (cases: B18).
fn refuse_asleep(node: &Node) -> Result<(), Failure> {
    if !node.tokens.any(&["POWERED_DOWN", "POWERING_DOWN", "POWER_DOWN"]) {
        return Ok(());
    }
    let message = format!("{} is {}: powered down, not closed", node.name, node.tokens);
    let remedy = "SLURM wakes it when a job needs it; a device without a server is adopted";
    Err(Failure::needs_human(Code::RequestConflict, message, remedy))
}

/// Open and responding. One that was opened and is closed under our mark again was forgotten by
/// slurmctld: the next attempt opens it again.
async fn look_open(world: &World, name: &NodeName) -> Result<Look<Node>, Failure> {
    let node = existing(world, name).await?;
    if node.tokens.is_closed() {
        refuse_foreign(&node, false)?;
        let message = format!("{name} was opened and is {}", node.tokens);
        let failure = Failure::needs_human(Code::SlurmUnavailable, message, "look at slurmctld");
        return Err(Failure { class: Class::Retry, ..failure });
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
