//! Release: takes a node out of SLURM and deletes its server, in the order that cannot kill a job.
//!
//! After success no server with the device's mark exists, the hub has none for it, and the node is gone
//! from SLURM, or stays drained under our mark where it is static. The order: drained and empty, found so
//! once more after slurmctld has saved it; the server deleted, and gone; the node looked at anew, and its
//! record deleted. In the other order slurmd registers an open node again, and its server is deleted
//! under a job.
//!
//! Idempotent by the server's tag: what is gone is not deleted again. Waits for jobs until the request's
//! deadline. Never deletes a server whose node SLURM does not know, unless that is forced, nor one under
//! a job.

use std::time::Duration;

use clients::openstack::{Server, ServerStatus};
use clients::slurm::{Deletion, Job, Node};
use jiff::Timestamp;
use model::{AtDeadline, DevicePatch, NodeName, ServerId, Verb};

use crate::close::{Patience, ensure_closed, wait_drained};
use crate::delete::{delete_server, tag};
use crate::drain::{end, ensure_cancel_is_safe};
use crate::look::{Subject, ensure_nodes_can_be_changed, ensure_stays_up, find_node, find_subject};
use crate::plan::{ambiguous, never_launched};
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

/// What became of the node's record in SLURM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record {
    /// It was dynamic and is deleted.
    Deleted,
    /// It is static and stays drained under our mark.
    Kept,
    /// SLURM had no such node.
    Absent,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The node.
    pub node: NodeName,
    /// The server that is gone; none where there was none.
    pub server: Option<ServerId>,
    /// What became of the node's record.
    pub record: Record,
    /// The jobs that were cancelled when time was up.
    pub cancelled: Vec<i64>,
}

/// Releases.
///
/// # Errors
/// `request.*`, `slurm.release_too_old`, `slurm.cancel_unsafe`, `slurm.drain_not_ours`,
/// `slurm.node_unknown` where there is a server and no node, `slurm.node_busy` when time was up,
/// `slurm.node_returned`, `openstack.*`, and what keeps the systems from answering.
pub async fn release(world: &World, attempt: &Attempt, request: &Request) -> Result<Outcome, Failure> {
    Box::pin(steps(world, attempt, request)).await.map_err(|f| f.in_step(attempt.current()))
}

async fn steps(world: &World, attempt: &Attempt, request: &Request) -> Result<Outcome, Failure> {
    attempt.step("read_hub", Code::HubUnavailable)?;
    let subject = find_subject(world, attempt, &request.asked.device).await?;
    attempt.step("look", Code::SlurmUnavailable)?;
    ensure_nodes_can_be_changed(world, attempt).await?;
    ensure_cancel_is_safe(world, attempt, request.at_deadline).await?;
    let servers = find_servers(world, attempt, request).await?;
    let name = &subject.node;
    let node = patiently(world, attempt, || find_node(world, name)).await?;

    let mut outcome = Outcome {
        node: name.clone(),
        server: servers.last().cloned().or_else(|| subject.device.server_id.clone()),
        record: Record::Absent,
        cancelled: Vec::new(),
    };
    match node {
        None => refuse_unknown(request, name, &servers)?,
        Some(node) => outcome.cancelled = empty(world, attempt, request, node, &servers).await?,
    }
    for server in &servers {
        attempt.step("delete_server", Code::ServerError)?;
        delete_server(world, attempt, server).await?;
    }
    record_released(world, attempt, &subject).await?;
    outcome.record = remove_record(world, attempt, request, name).await?;
    Ok(outcome)
}

/// The servers with the device's mark: one at most that was ever launched, after those that never were.
async fn find_servers(world: &World, attempt: &Attempt, request: &Request) -> Result<Vec<ServerId>, Failure> {
    let tag = tag(&request.asked.device);
    let mut servers = patiently(world, attempt, || world.openstack.servers_with_tag(&tag)).await?;
    servers.retain(|s| s.status != ServerStatus::Deleted);
    let (launched, mut all): (Vec<Server>, Vec<Server>) =
        servers.into_iter().partition(|s| !never_launched(s));
    if launched.len() > 1 {
        return Err(ambiguous(&launched.iter().collect::<Vec<_>>()));
    }
    all.extend(launched);
    Ok(all.into_iter().map(|s| s.id).collect())
}

/// A server without a node may run anything: nothing says that it is empty (cases: B01).
fn refuse_unknown(request: &Request, name: &NodeName, servers: &[ServerId]) -> Result<(), Failure> {
    let Some(server) = servers.last() else { return Ok(()) };
    if request.asked.force {
        return Ok(());
    }
    let message = format!("SLURM has no node {name}: nothing says that its server {server} is empty");
    let remedy = "compare the hub's names with slurm.conf; a server that nobody needs is released with force";
    Err(Failure::needs_human(Code::NodeUnknown, message, remedy))
}

/// The node closed under our mark, or as its closing was forced, and empty; found so twice where its
/// server is to be deleted: a write that slurmctld acknowledged can be lost for some seconds (facts:
/// slurm §12), so the looks that count come after those, right before the call.
async fn empty(
    world: &World,
    attempt: &Attempt,
    request: &Request,
    node: Node,
    servers: &[ServerId],
) -> Result<Vec<i64>, Failure> {
    let name = &node.name.clone();
    ensure_stays_up(world, &node, &request.asked.mark(Verb::Release))?;
    attempt.step("close_node", Code::SlurmUnavailable)?;
    let node = ensure_closed(world, attempt, node, &request.asked, Verb::Release).await?;
    attempt.step("wait_empty", Code::NodeBusy)?;
    let emptied = wait_drained(world, attempt, name, Some(node), patience(attempt, request)).await?;
    if servers.is_empty() {
        return Ok(emptied.cancelled);
    }
    settle(world, attempt, Code::NodeBusy, "the node is drained").await?;
    wait_drained(world, attempt, name, None, patience(attempt, request)).await?;
    attempt.check()?;
    Ok(emptied.cancelled)
}

/// The hub learns at once that the server is gone: from here on the device is free.
async fn record_released(world: &World, attempt: &Attempt, subject: &Subject) -> Result<(), Failure> {
    attempt.step("record_server", Code::HubUnavailable)?;
    if subject.device.server_id.is_none() {
        return Ok(());
    }
    let patch = DevicePatch { server_id: Some(None), ..DevicePatch::default() };
    patiently(world, attempt, || world.hub.update_device(&subject.device.id, &patch)).await
}

/// The node's record goes, where SLURM lets it: only now, since a slurmd that still ran would register
/// its node again, open. It is looked at anew: ours, drained, empty.
async fn remove_record(
    world: &World,
    attempt: &Attempt,
    request: &Request,
    name: &NodeName,
) -> Result<Record, Failure> {
    attempt.step("remove_record", Code::NodeBusy)?;
    let Some(node) = patiently(world, attempt, || find_node(world, name)).await? else {
        return Ok(Record::Absent);
    };
    let node = ensure_closed(world, attempt, node, &request.asked, Verb::Release).await?;
    let emptied = wait_drained(world, attempt, name, Some(node), patience(attempt, request)).await?;
    let dialect = patiently(world, attempt, || world.slurm.dialect()).await?;
    if !emptied.node.tokens.has("DYNAMIC_NORM") || !dialect.record_delete {
        return Ok(Record::Kept);
    }
    let deadline = end(attempt, request.deadline);
    loop {
        attempt.step("remove_record", Code::NodeBusy)?;
        wait_unnamed(world, attempt, request, name).await?;
        match patiently(world, attempt, || world.slurm.delete_node(name)).await? {
            Deletion::Static => return Ok(Record::Kept),
            Deletion::Deleted | Deletion::Unknown => {}
        }
        match stays_away(world, attempt, name).await? {
            None => return Ok(Record::Deleted),
            Some(node) if is_forgotten(&node, request) && Timestamp::now() < deadline => {
                attempt.waiting("slurmctld, which was killed and has forgotten the deletion");
                attempt.pause(world.site.look_every).await?;
            }
            Some(node) => return Err(returned(world, attempt, request, node).await?),
        }
    }
}

/// Waits until no job that slurmctld still knows names the node: one that is pinned to it would be left
/// without a node, one that has just ended without its record.
async fn wait_unnamed(
    world: &World,
    attempt: &Attempt,
    request: &Request,
    name: &NodeName,
) -> Result<(), Failure> {
    let deadline = end(attempt, request.deadline);
    loop {
        let names = |job: &Job| {
            [&job.nodes, &job.required_nodes].iter().any(|l| l.iter().any(|n| n == name.as_str()))
        };
        let jobs = patiently(world, attempt, || world.slurm.jobs()).await?;
        let ids: Vec<String> = jobs.iter().filter(|j| names(j)).map(|j| j.id.to_string()).take(20).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let seen = format!("jobs that name {name}, pending or just ended: {}", ids.join(", "));
        attempt.waiting(&seen);
        if deadline <= Timestamp::now() {
            let remedy = "have their users cancel them; the server is gone, and the node stays drained";
            return Err(Failure::needs_human(Code::NodeBusy, format!("time was up: {seen}"), remedy));
        }
        attempt.pause(world.site.look_every).await?;
    }
}

/// The node is absent from the full list, and stays so for as long as slurmctld may forget the deletion;
/// or the node that is back.
async fn stays_away(world: &World, attempt: &Attempt, name: &NodeName) -> Result<Option<Node>, Failure> {
    attempt.step("wait_absent", Code::NodeReturned)?;
    let find = || patiently(world, attempt, || find_node(world, name));
    if let Some(back) = find().await? {
        return Ok(Some(back));
    }
    attempt.waiting("a slurmd that might register it again");
    attempt.pause(world.site.settle).await?;
    find().await
}

/// Whether it is the very record that was deleted: a slurmd that registers its node makes one without our
/// claim.
fn is_forgotten(node: &Node, request: &Request) -> bool {
    node.tokens.is_draining() && request.asked.mark(Verb::Release).claims(&node.extra)
}

/// A node that a slurmd has registered again is drained again.
async fn returned(
    world: &World,
    attempt: &Attempt,
    request: &Request,
    node: Node,
) -> Result<Failure, Failure> {
    let asked = Asked { force: false, ..request.asked.clone() };
    let node = ensure_closed(world, attempt, node, &asked, Verb::Release).await?;
    let message =
        format!("{} was deleted and is back, {}: its slurmd runs somewhere", node.name, node.tokens);
    let remedy = "end slurmd on that machine, then release again; the node is drained";
    Ok(Failure::needs_human(Code::NodeReturned, message, remedy))
}

fn patience(attempt: &Attempt, request: &Request) -> Patience {
    let deadline = Some((end(attempt, request.deadline), request.at_deadline));
    Patience { by_anybody: request.asked.force, deadline, ..Patience::default() }
}
