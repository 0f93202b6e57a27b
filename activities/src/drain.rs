//! Drain: closes a node under our mark and waits until it is empty.
//!
//! After success the node takes no job, none holds it, and slurmctld has had the time to save that: until
//! then it may forget what it acknowledged (facts: slurm §12). Idempotent: a node that is drained under
//! this request's mark is only looked at. One that somebody else has closed keeps their words, and is
//! waited for in the same way. Waits for jobs until the request's deadline and, unless it is told
//! otherwise, never ends one.

use std::time::Duration;

use jiff::Timestamp;
use model::{AtDeadline, NodeName, Verb};

use crate::close::{Patience, ensure_closed, wait_drained};
use crate::look::{ensure_nodes_can_be_changed, ensure_stays_up, existing, find_subject};
use crate::wait::{patiently, settle};
use crate::{Asked, Attempt, Code, Failure, World};

/// What is asked.
#[derive(Debug, Clone)]
pub struct Request {
    /// Of which device, by whom, and why.
    pub asked: Asked,
    /// How long the jobs on it may go on, from when the verb was first scheduled.
    pub deadline: Duration,
    /// What is done with those that are there then.
    pub at_deadline: AtDeadline,
}

/// Whose closing it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Drained under our mark.
    Drained,
    /// Closed by somebody else, who said this.
    ByOther(String),
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The node.
    pub node: NodeName,
    /// Whose closing it is.
    pub end: End,
    /// The jobs that were cancelled when time was up.
    pub cancelled: Vec<i64>,
}

/// Drains.
///
/// # Errors
/// `request.*`, `slurm.release_too_old`, `slurm.cancel_unsafe`, `slurm.node_unknown`, `slurm.node_busy`
/// when time was up, and what keeps the systems from answering.
pub async fn drain(world: &World, attempt: &Attempt, request: &Request) -> Result<Outcome, Failure> {
    Box::pin(steps(world, attempt, request)).await.map_err(|f| f.in_step(attempt.current()))
}

async fn steps(world: &World, attempt: &Attempt, request: &Request) -> Result<Outcome, Failure> {
    attempt.step("read_hub", Code::HubUnavailable)?;
    let name = find_subject(world, attempt, &request.asked.device).await?.node;
    attempt.step("look", Code::SlurmUnavailable)?;
    ensure_nodes_can_be_changed(world, attempt).await?;
    ensure_cancel_is_safe(world, attempt, request.at_deadline).await?;
    let node = patiently(world, attempt, || existing(world, &name)).await?;
    if !node.tokens.is_closed() {
        ensure_stays_up(world, &node, &request.asked.mark(Verb::Drain))?;
    }

    attempt.step("close_node", Code::SlurmUnavailable)?;
    let (node, by_anybody) = match ensure_closed(world, attempt, node, &request.asked, Verb::Drain).await {
        Ok(node) => (node, false),
        Err(other) if other.code == Code::DrainNotOurs => {
            (patiently(world, attempt, || existing(world, &name)).await?, true)
        }
        Err(failure) => return Err(failure),
    };
    attempt.step("wait_empty", Code::NodeBusy)?;
    let deadline = Some((end(attempt, request.deadline), request.at_deadline));
    let patience = Patience { by_anybody, deadline, ..Patience::default() };
    let mut emptied = wait_drained(world, attempt, &name, Some(node), patience).await?;

    settle(world, attempt, Code::SlurmUnavailable, "the node is drained").await?;
    emptied.node = wait_drained(world, attempt, &name, None, patience).await?.node;
    let end = match by_anybody {
        true => End::ByOther(emptied.node.reason),
        false => End::Drained,
    };
    Ok(Outcome { node: name, end, cancelled: emptied.cancelled })
}

/// When the jobs must be gone.
pub(crate) fn end(attempt: &Attempt, deadline: Duration) -> Timestamp {
    attempt.scheduled.saturating_add(deadline).unwrap_or(Timestamp::MAX)
}

/// Cancelling somebody else's job hangs slurmctld for good where there is no slurmdbd and the token is
/// not root's (facts: slurm §0.4): refused at the start, not at the deadline.
pub(crate) async fn ensure_cancel_is_safe(
    world: &World,
    attempt: &Attempt,
    at_deadline: AtDeadline,
) -> Result<(), Failure> {
    let root = world.slurm.user() == "root";
    if at_deadline == AtDeadline::Fail
        || root
        || patiently(world, attempt, || world.slurm.accounting()).await?
    {
        return Ok(());
    }
    let user = world.slurm.user();
    let message = format!("{user} may not cancel others' jobs: without slurmdbd it would hang slurmctld");
    let remedy = "give the worker root's token or set up slurmdbd, or drain without cancelling";
    Err(Failure::needs_human(Code::CancelUnsafe, message, remedy).about("at_deadline"))
}
