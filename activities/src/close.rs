//! Closing a node under our mark, and knowing that it is empty.

use std::time::{Duration, Instant};

use clients::slurm::{Node, NodeUpdate, SetState};
use jiff::Timestamp;
use model::{AtDeadline, Mark, NodeName, Owner, Verb};

use crate::drained::{Drained, Holding, closed_and_empty, drained, waiting_for};
use crate::look::{existing, reckoned};
use crate::wait::{Look, absorbs, until};
use crate::{Asked, Attempt, Class, Code, Failure, World};

/// Drains the node under our mark, or finds it so; the node as it was read last. `seen` is how it was
/// a moment ago. Foreign words are never written over: the drain goes out without a reason, is read
/// back, and gets ours only where none is. It carries our claim, by which a later attempt knows whose
/// a drain without a reason is. A closing by somebody else is refused, or, where that is forced, is as
/// good as ours; their words stay.
pub(crate) async fn ensure_closed(
    world: &World,
    attempt: &Attempt,
    seen: Node,
    asked: &Asked,
    verb: Verb,
) -> Result<Node, Failure> {
    let (name, mark, mut seen) = (&seen.name.clone(), &asked.mark(verb), Some(seen));
    until(world, attempt, || {
        let seen = seen.take();
        async move { close(world, seen_or_read(world, name, seen).await?, mark, asked.force).await }
    })
    .await
}

/// One look at the node, and what is missing until it is drained under our mark.
pub(crate) async fn close(
    world: &World,
    mut node: Node,
    mark: &Mark,
    force: bool,
) -> Result<Look<Node>, Failure> {
    let name = &node.name.clone();
    let mut theirs = node.tokens.is_closed() && is_foreign(&node);
    if theirs {
        refuse_foreign(&node, force)?;
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
            theirs = is_foreign(&node);
            refuse_foreign(&node, force)?;
        }
    }
    if theirs {
        // forced: whoever closed it has said why, and their words stay
        return Ok(match node.tokens.is_draining() {
            true => Look::Ready(node),
            false => Look::NotYet(format!("{name} is {}", node.tokens)),
        });
    }
    let claim = claim(&node, mark);
    let reason = (!mark.stands_in(&node.reason)).then(|| mark.reason());
    if claim.is_some() || reason.is_some() {
        world.slurm.update_node(name, &NodeUpdate { state: None, reason, extra: claim }).await?;
        node = existing(world, name).await?;
    }
    if node.tokens.is_draining() && mark.stands_in(&node.reason) {
        return Ok(Look::Ready(node));
    }
    refuse_foreign(&node, force)?;
    Ok(Look::NotYet(format!("{name} is {}: {}", node.tokens, node.reason)))
}

/// Our claim, where it is not there yet and nobody else's `extra` is. One that names the request's job
/// as well is as good.
fn claim(node: &Node, mark: &Mark) -> Option<String> {
    (Owner::may_claim(&node.extra) && !mark.claims(&node.extra)).then(|| mark.claim())
}

/// How long a node is waited for, and over what.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Patience {
    /// Also while somebody else has closed it, in whatever way.
    pub(crate) by_anybody: bool,
    /// A job of ours, which may be on it.
    pub(crate) ours: Option<i64>,
    /// Until when jobs may hold it, and what is done then. None: as long as the workflow lets it.
    pub(crate) deadline: Option<(Timestamp, AtDeadline)>,
}

/// How rarely a wait looks where looks are slow.
const RAREST: Duration = Duration::from_secs(30);

/// A node that is empty.
#[derive(Debug)]
pub(crate) struct Emptied {
    /// As it was read last.
    pub(crate) node: Node,
    /// The jobs that were cancelled when time was up.
    pub(crate) cancelled: Vec<i64>,
}

/// Waits until the node is drained: by its state, and by a job list that was read after it. `seen` is
/// how it was a moment ago; none: it is read. Somebody who makes the closing theirs meanwhile ends the wait, unless
/// anybody's is as good.
pub(crate) async fn wait_drained(
    world: &World,
    attempt: &Attempt,
    name: &NodeName,
    mut seen: Option<Node>,
    patience: Patience,
) -> Result<Emptied, Failure> {
    let mut cancelled = Vec::new();
    loop {
        let (began, mut pause) = (Instant::now(), world.site.look_every);
        match look(world, name, seen.take(), patience).await {
            Ok((node, Drained::Yes)) => return Ok(Emptied { node, cancelled }),
            Ok((node, Drained::Open)) => return Err(lost(&node)),
            Ok((node, Drained::Held(held))) => {
                // the job list of a large cluster takes its time: many drains must not keep slurmctld busy
                pause = pause.max((4 * began.elapsed()).min(RAREST));
                let waits_for = waiting_for(&node, &held);
                attempt.waiting(&waits_for);
                match patience.deadline {
                    Some((end, AtDeadline::Fail)) if end <= Timestamp::now() => {
                        return Err(late(&waits_for));
                    }
                    Some((end, AtDeadline::CancelJobs)) if end <= Timestamp::now() => {
                        attempt.check()?;
                        cancel(world, &held, &mut cancelled).await?;
                    }
                    _ => {}
                }
            }
            Err(failure) if absorbs(&failure) => attempt.waiting(&failure.message),
            Err(failure) => return Err(failure),
        }
        attempt.pause(pause).await?;
    }
}

async fn look(
    world: &World,
    name: &NodeName,
    seen: Option<Node>,
    patience: Patience,
) -> Result<(Node, Drained), Failure> {
    let node = seen_or_read(world, name, seen).await?;
    let drained = judge(world, &node, patience).await?;
    if drained != Drained::Held(Vec::new()) {
        return Ok((node, drained));
    }
    let node = reckoned(world, name).await?;
    let drained = judge(world, &node, patience).await?;
    Ok((node, drained))
}

/// Judges a node that was just read.
async fn judge(world: &World, node: &Node, patience: Patience) -> Result<Drained, Failure> {
    if node.tokens.is_closed() {
        refuse_foreign(node, patience.by_anybody)?;
    }
    let jobs = world.slurm.jobs().await?;
    Ok(match patience.by_anybody {
        true => closed_and_empty(node, &jobs),
        false => drained(node, &jobs, patience.ours),
    })
}

/// Cancels what holds a node, each job once.
async fn cancel(world: &World, held: &[Holding], cancelled: &mut Vec<i64>) -> Result<(), Failure> {
    for job in held.iter().filter(|j| !cancelled.contains(&j.id)).collect::<Vec<_>>() {
        match world.slurm.cancel_job(world.slurm.user(), job.key).await {
            Ok(_) => cancelled.push(job.id),
            // looked at again
            Err(error) if crate::failure::is_absorbed(&error.kind) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

async fn seen_or_read(world: &World, name: &NodeName, seen: Option<Node>) -> Result<Node, Failure> {
    match seen {
        Some(node) => Ok(node),
        None => existing(world, name).await,
    }
}

/// Whether somebody else closed it.
pub(crate) fn is_foreign(node: &Node) -> bool {
    matches!(Owner::of(&node.reason, &node.extra), Owner::Other(_))
}

/// Refuses a node that somebody else closed, unless that is forced.
pub(crate) fn refuse_foreign(node: &Node, force: bool) -> Result<(), Failure> {
    match Owner::of(&node.reason, &node.extra) {
        Owner::Other(words) if !force => {
            let words = if words.is_empty() { "no reason given".to_owned() } else { words };
            let message = format!("{} is {} and not by us: {words}", node.name, node.tokens);
            let remedy = "ask who closed it; their words are left as they are";
            Err(Failure::needs_human(Code::DrainNotOurs, message, remedy))
        }
        Owner::Ours(_) | Owner::Nobody | Owner::Other(_) => Ok(()),
    }
}

fn lost(node: &Node) -> Failure {
    let message = format!("{} should be drained and is {}", node.name, node.tokens);
    Failure { class: Class::Retry, ..Failure::needs_human(Code::NodeBusy, message, "see who opened it") }
}

fn late(waits_for: &str) -> Failure {
    let remedy = "wait for the jobs, or ask their users; then start again";
    Failure::needs_human(Code::NodeBusy, format!("time was up: {waits_for}"), remedy)
}
