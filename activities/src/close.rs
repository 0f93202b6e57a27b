//! Closing a node under our mark, and knowing that it is empty.

use clients::slurm::{Node, NodeUpdate, SetState};
use model::{Mark, NodeName, Owner};

use crate::wait::{Look, until};
use crate::{Attempt, Class, Code, Failure, World};

/// Drains the node under our mark, or finds it so; the node as it was read last. `seen` is how it was
/// a moment ago. Foreign words are never written over: the drain goes out without a reason, is read
/// back, and gets ours only where none is. It carries our claim, by which a later attempt knows whose
/// a drain without a reason is.
pub(crate) async fn ensure_closed(
    world: &World,
    attempt: &Attempt,
    seen: Node,
    mark: &Mark,
) -> Result<Node, Failure> {
    let (name, mut seen) = (&seen.name.clone(), Some(seen));
    until(world, attempt, || {
        let seen = seen.take();
        async move { close(world, seen_or_read(world, name, seen).await?, mark).await }
    })
    .await
}

async fn close(world: &World, mut node: Node, mark: &Mark) -> Result<Look<Node>, Failure> {
    let name = &node.name.clone();
    if node.tokens.is_closed() {
        refuse_foreign(&node)?;
    }
    if !node.tokens.is_draining() {
        if node.tokens.is_busy() && node.tokens.any(&["POWERING_UP", "POWER_UP"]) {
            // SLURM would requeue the job that it boots the node for.
            return Ok(Look::NotYet(format!("{name} is powering up for a job")));
        }
        // 24.11 keeps the reason of an earlier closing on an open node: that one is nobody's any more
        let leftover = std::mem::take(&mut node.reason);
        let drain = NodeUpdate { state: Some([SetState::Drain]), reason: None, extra: claim(&node, mark) };
        world.slurm.update_node(name, &drain).await?;
        node = existing(world, name).await?;
        if !node.reason.is_empty() && node.reason != leftover {
            refuse_foreign(&node)?;
        }
    }
    let claim = claim(&node, mark);
    let reason = Some(mark.reason()).filter(|r| *r != node.reason);
    if claim.is_some() || reason.is_some() {
        world.slurm.update_node(name, &NodeUpdate { state: None, reason, extra: claim }).await?;
        node = existing(world, name).await?;
    }
    if node.tokens.is_draining() && node.reason == mark.reason() {
        return Ok(Look::Ready(node));
    }
    refuse_foreign(&node)?;
    Ok(Look::NotYet(format!("{name} is {}: {}", node.tokens, node.reason)))
}

/// Our claim, where it is not there yet and nobody else's `extra` is.
fn claim(node: &Node, mark: &Mark) -> Option<String> {
    Owner::may_claim(&node.extra).then(|| mark.claim()).filter(|c| *c != node.extra)
}

/// Waits until no job holds the node: by its state, and by a job list that was read after it,
/// since a suspended job does not show in the state (facts: slurm §12). `seen` is how it was a moment
/// ago; the node as it was read last.
pub(crate) async fn wait_empty(world: &World, attempt: &Attempt, seen: Node) -> Result<Node, Failure> {
    let (name, mut seen) = (&seen.name.clone(), Some(seen));
    until(world, attempt, || {
        let seen = seen.take();
        async move { empty(world, seen_or_read(world, name, seen).await?).await }
    })
    .await
}

async fn empty(world: &World, node: Node) -> Result<Look<Node>, Failure> {
    let name = &node.name;
    if !node.tokens.is_draining() {
        return Err(lost(&node));
    }
    let jobs = world.slurm.jobs().await?;
    let holding: Vec<String> = jobs.iter().filter(|j| j.holds(name)).map(|j| j.id.to_string()).collect();
    if holding.is_empty() && !node.tokens.is_busy() {
        return Ok(Look::Ready(node));
    }
    let some = holding.iter().take(20).cloned().collect::<Vec<_>>().join(", ");
    Ok(Look::NotYet(format!("{} jobs on {name} ({}): {some}", holding.len(), node.tokens)))
}

async fn seen_or_read(world: &World, name: &NodeName, seen: Option<Node>) -> Result<Node, Failure> {
    match seen {
        Some(node) => Ok(node),
        None => existing(world, name).await,
    }
}

/// The node, which must exist.
pub(crate) async fn existing(world: &World, name: &NodeName) -> Result<Node, Failure> {
    world.slurm.node(name).await?.ok_or_else(|| unknown(name))
}

/// Refuses a node that somebody else closed.
pub(crate) fn refuse_foreign(node: &Node) -> Result<(), Failure> {
    match Owner::of(&node.reason, &node.extra) {
        Owner::Ours(_) | Owner::Nobody => Ok(()),
        Owner::Other(words) => {
            let words = if words.is_empty() { "no reason given".to_owned() } else { words };
            let message = format!("{} is {} and not by us: {words}", node.name, node.tokens);
            let remedy = "ask who closed it; their words are left as they are";
            Err(Failure::needs_human(Code::DrainNotOurs, message, remedy))
        }
    }
}

/// SLURM has no such node.
pub(crate) fn unknown(name: &NodeName) -> Failure {
    let message = format!("SLURM has no node {name}");
    Failure::needs_human(Code::NodeUnknown, message, "compare the hub's names with slurm.conf")
}

fn lost(node: &Node) -> Failure {
    let message = format!("{} should be drained and is {}", node.name, node.tokens);
    Failure { class: Class::Retry, ..Failure::needs_human(Code::NodeBusy, message, "see who opened it") }
}
