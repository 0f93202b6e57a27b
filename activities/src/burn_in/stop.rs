//! Stop: ends what a burn-in left, the node closed.
//!
//! After success no job of the request runs or waits, no reservation of ours is there, and the node, if
//! this request's burn-in had to do with it, is drained. Idempotent: what has ended is only looked at. A
//! node that the burn-in never touched is left as it is.

use model::{NodeName, Verb};

use super::{BurnIn, Request};
use crate::look::{ensure_nodes_can_be_changed, find_node, find_subject};
use crate::wait::patiently;
use crate::{Attempt, Code, Failure, World};

/// What a stop came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stopped {
    /// The node.
    pub node: NodeName,
    /// The jobs of this request that were cancelled.
    pub cancelled: Vec<i64>,
}

/// Ends what a burn-in left.
///
/// # Errors
/// `request.*`, `slurm.release_too_old`, and what keeps the systems from answering.
pub async fn burn_in_stop(world: &World, attempt: &Attempt, request: &Request) -> Result<Stopped, Failure> {
    Box::pin(steps(world, attempt, request)).await.map_err(|f| f.in_step(attempt.current()))
}

async fn steps(world: &World, attempt: &Attempt, request: &Request) -> Result<Stopped, Failure> {
    attempt.step("read_hub", Code::HubUnavailable)?;
    let name = find_subject(world, attempt, &request.asked.device).await?.node;
    let nothing = |name| Ok(Stopped { node: name, cancelled: Vec::new() });
    let Some(settings) = &world.burn_in else { return nothing(name) };
    let mark = request.asked.mark(Verb::BurnIn);
    let burn_in = BurnIn { world, attempt, settings, request, name, mark, tests: Vec::new() };

    attempt.step("look", Code::SlurmUnavailable)?;
    ensure_nodes_can_be_changed(world, attempt).await?;
    let name = &burn_in.name;
    let node = patiently(world, attempt, || find_node(world, name)).await?;
    let jobs = burn_in.our_jobs().await?;
    let alive: Vec<_> = jobs.into_iter().filter(|j| !j.has_ended()).collect();
    let touched = node.as_ref().is_some_and(|n| burn_in.mark.claims(&n.extra) || !alive.is_empty());
    if touched && node.is_some_and(|n| !n.tokens.is_closed()) {
        attempt.step("close_node", Code::SlurmUnavailable)?;
        burn_in.close_now(None).await?;
    }
    let mut cancelled = Vec::new();
    for job in &alive {
        burn_in.cancel(job).await?;
        cancelled.push(job.id);
    }
    match touched {
        true => burn_in.leave_closed(None).await?,
        false => drop(burn_in.remove_reservation().await?),
    }
    Ok(Stopped { node: burn_in.name, cancelled })
}
