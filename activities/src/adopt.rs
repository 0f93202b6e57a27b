//! Adopt: makes a device a SLURM node as its role's row says, and leaves it closed.
//!
//! After success one server with our mark runs the row's image, flavor and user-data on the
//! device's machine, and its node is registered, closed under our mark (or open as it was, where
//! nothing was to be done), with the row's features and GRES, in a partition that is UP.
//!
//! Idempotent by the server's tag `fleet.device.<id>` and the request id in its metadata. Waits for
//! Nova and for slurmd; the workflow holds the deadline. Never deletes a server that was ever
//! launched, never writes GRES, never touches a node that somebody else closed.

mod rebuild;
mod registration;
mod server;

use clients::openstack::Server;
use model::{Complete, DevicePatch, Invalid, NodeName, NodeSource, Owner, ServerId, Verb};

use crate::close::{Patience, ensure_closed, refuse_foreign, wait_drained};
use crate::delete::tag;
use crate::look::{Subject, ensure_nodes_can_be_changed, ensure_stays_up, find_subject, unknown};
use crate::plan::{Act, Made, Plan, Seen, Target, node_conf, plan};
use crate::wait::patiently;
use crate::{Asked, Attempt, Code, Failure, World};
use rebuild::ensure_rebuilt;
use registration::{check_node, wait_registered};
use server::{delete_leftovers, ensure_server, twins, wait_active};

/// What is asked.
#[derive(Debug, Clone)]
pub struct Request {
    /// Of which device, by whom, and why.
    pub asked: Asked,
    /// Plan and stop there.
    pub dry_run: bool,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// What the plan was.
    pub plan: Plan,
    /// How this request made the server what it is, in this attempt or in an earlier one that died
    /// after it; none where it was so already. After a dry run: how it would.
    pub made: Option<Made>,
    /// It stopped at the plan.
    pub dry_run: bool,
    /// The node.
    pub node: NodeName,
    /// The server; none where a dry run found none.
    pub server: Option<ServerId>,
    /// What an operator should know.
    pub warnings: Vec<String>,
}

/// Adopts.
///
/// # Errors
/// `request.invalid`, `request.conflict`, `bootstrap.*`, `openstack.*`, `slurm.drain_not_ours`,
/// `slurm.config_mismatch`, and what keeps the systems from answering.
pub async fn adopt(world: &World, attempt: &Attempt, request: &Request) -> Result<Outcome, Failure> {
    Box::pin(steps(world, attempt, request)).await.map_err(|f| f.in_step(attempt.current()))
}

async fn steps(world: &World, attempt: &Attempt, request: &Request) -> Result<Outcome, Failure> {
    attempt.step("read_hub", Code::HubUnavailable)?;
    let subject = find_subject(world, attempt, &request.asked.device).await?;
    let target = read_target(world, attempt, &subject).await?;

    attempt.step("plan", Code::OpenStackUnavailable)?;
    ensure_nodes_can_be_changed(world, attempt).await?;
    let seen = look(world, attempt, request, &target).await?;
    let plan = plan(&target, &seen, &request.asked.id)?;
    if let (Act::Create { .. } | Act::Rebuild(_), Some(node)) = (&plan.act, &seen.node) {
        ensure_stays_up(world, node, &request.asked.mark(Verb::Adopt))?;
    }
    let mut outcome = Outcome {
        made: made(&plan, request),
        plan: plan.clone(),
        dry_run: request.dry_run,
        node: target.node.clone(),
        server: server_of(&plan),
        warnings: target.config.warnings.iter().map(|w| (*w).to_owned()).collect(),
    };
    if request.dry_run {
        return Ok(outcome);
    }

    let server = match plan.act {
        Act::Noop(server) => {
            refuse_open_and_wrong(request, &target, &seen, &server, &plan.differences)?;
            delete_leftovers(world, attempt, &twins(&seen.servers, &server)).await?;
            *server
        }
        Act::Create { leftovers } => {
            delete_leftovers(world, attempt, &leftovers).await?;
            prepare_node(world, attempt, request, &target, &seen).await?;
            ensure_server(world, attempt, request, &target, &seen).await?
        }
        Act::Rebuild(server) => {
            delete_leftovers(world, attempt, &twins(&seen.servers, &server)).await?;
            prepare_node(world, attempt, request, &target, &seen).await?;
            Box::pin(ensure_rebuilt(world, attempt, request, &target, &seen, &server.id)).await?
        }
    };
    outcome.server = Some(server.id.clone());
    record_server(world, attempt, &subject, &server.id).await?;
    if plan.differences.is_empty() && is_settled(request, &seen, &server) {
        return Ok(outcome);
    }
    wait_active(world, attempt, &target, &server.id).await?;
    let mut registered = wait_registered(world, attempt, request, &target, &server).await?;
    let in_use = Made::by(&request.asked.id, &server).is_some() && registered.node.tokens.is_busy();
    if registered.opened || in_use {
        outcome.warnings.push("opened at registration".to_owned());
        attempt.step("wait_empty", Code::NodeBusy)?;
        registered.node =
            wait_drained(world, attempt, &target.node, Some(registered.node), patience(request)).await?.node;
    }
    check_node(world, attempt, &target, &registered.node).await?;
    Ok(outcome)
}

/// The row of the device's role, complete and valid, before any call of OpenStack.
async fn read_target(world: &World, attempt: &Attempt, subject: &Subject) -> Result<Target, Failure> {
    let device = &subject.device;
    let invalid = |e: Invalid| Failure::permanent(Code::RequestInvalid, &e);
    let row = patiently(world, attempt, || world.configs.bootstrap_config(&device.role)).await?;
    let Some(row) = row else {
        let message = format!("site {} has no bootstrap config for role {}", world.site.id, device.role);
        let failure = Failure::needs_human(Code::BootstrapMissing, message, "have HPC write one");
        return Err(failure.about("device_role"));
    };
    let config: Complete = row.complete()?;
    subject.node.hostname().map_err(invalid)?;
    let machine = device.nova_host.clone().ok_or_else(|| {
        let problem = format!("device {} has no machine", device.id);
        invalid(Invalid::new("nova_host", problem, "set its hypervisor hostname in the hub"))
    })?;
    Ok(Target { node: subject.node.clone(), machine, config })
}

/// Everything the plan is made of, read once.
async fn look(world: &World, attempt: &Attempt, request: &Request, target: &Target) -> Result<Seen, Failure> {
    let (openstack, slurm) = (&world.openstack, &world.slurm);
    let tag = tag(&request.asked.device);
    let (config, node) = (&target.config, &target.node);
    Ok(Seen {
        images: patiently(world, attempt, || openstack.images_called(&config.image)).await?,
        flavor: patiently(world, attempt, || openstack.flavor_called(&config.flavor)).await?,
        servers: patiently(world, attempt, || openstack.servers_with_tag(&tag)).await?,
        node: patiently(world, attempt, || slurm.node(node)).await?,
        partitions: patiently(world, attempt, || slurm.partitions()).await?,
    })
}

/// A node that is open and registered may be running users' jobs: what differs there is reported,
/// and nothing is closed for it. One that this very request brought up is ours to close.
fn refuse_open_and_wrong(
    request: &Request,
    target: &Target,
    seen: &Seen,
    server: &Server,
    differences: &[String],
) -> Result<(), Failure> {
    let Some(node) = &seen.node else { return Ok(()) };
    if node.tokens.is_closed() {
        return refuse_foreign(node, request.asked.force);
    }
    let ours = Made::by(&request.asked.id, server).is_some();
    if !differences.is_empty() && !ours && node.tokens.is_responding() {
        return Err(mismatch(target, differences, "it is open and was left so"));
    }
    Ok(())
}

/// A node that exists, or is made here, is closed under our mark and empty before its machine is given
/// a server, or the server it has is rebuilt.
async fn prepare_node(
    world: &World,
    attempt: &Attempt,
    request: &Request,
    target: &Target,
    seen: &Seen,
) -> Result<(), Failure> {
    attempt.step("close_node", Code::SlurmUnavailable)?;
    let config = &target.config;
    match (&seen.node, config.node_source) {
        (Some(_), _) => {}
        (None, NodeSource::Registers) => return Ok(()),
        (None, NodeSource::Created) => {
            // one that is there already is as good: it is closed and read back below
            let conf = node_conf(config);
            let made = patiently(world, attempt, || world.slurm.create_node(&target.node, &conf)).await;
            made.map_err(no_such_nodes)?;
        }
        (None, NodeSource::Static) => {
            let message =
                format!("SLURM has no node {}, and role {} has static ones", target.node, config.role);
            let remedy = "add it to slurm.conf, or have HPC set node_source";
            return Err(Failure::needs_human(Code::NodeUnknown, message, remedy));
        }
    }
    // read again: what was planned on may be minutes old where leftovers went first
    let node = patiently(world, attempt, || world.slurm.node(&target.node)).await?;
    let node = node.ok_or_else(|| unknown(&target.node))?;
    let node = ensure_closed(world, attempt, node, &request.asked, Verb::Adopt).await?;
    attempt.step("wait_empty", Code::NodeBusy)?;
    wait_drained(world, attempt, &target.node, Some(node), patience(request)).await.map(drop)
}

fn no_such_nodes(failure: Failure) -> Failure {
    if failure.code != Code::ReleaseTooOld {
        return failure;
    }
    let remedy = "have HPC set node_source to `registers` or `static`, or upgrade SLURM".to_owned();
    Failure { remedy, ..failure }.about("node_source")
}

/// The hub learns the server at once: from here on the device is adopted.
async fn record_server(
    world: &World,
    attempt: &Attempt,
    subject: &Subject,
    server: &ServerId,
) -> Result<(), Failure> {
    attempt.step("record_server", Code::HubUnavailable)?;
    if subject.device.server_id.as_ref() == Some(server) {
        return Ok(());
    }
    let patch = DevicePatch { server_id: Some(Some(server.clone())), ..DevicePatch::default() };
    patiently(world, attempt, || world.hub.update_device(&subject.device.id, &patch)).await
}

fn mismatch(target: &Target, short: &[String], then: &str) -> Failure {
    let message = format!("{} is not what its row says ({then}): {}", target.node, short.join("; "));
    Failure::needs_human(Code::ConfigMismatch, message, "compare the row, the user-data and slurm.conf")
}

/// Nothing is left to do for a node without a difference: it was opened after an earlier request's
/// adoption, or is closed under a whole mark. An attempt that died may have left it as it registered
/// (open even, and with a job), or drained and not yet marked.
fn is_settled(request: &Request, seen: &Seen, server: &Server) -> bool {
    let Some(node) = &seen.node else { return false };
    let ours = Made::by(&request.asked.id, server).is_some();
    if !node.tokens.is_closed() {
        return !ours;
    }
    let marked = matches!(Owner::of(&node.reason, ""), Owner::Ours(Some(_)));
    marked && !(ours && node.tokens.is_busy())
}

fn made(plan: &Plan, request: &Request) -> Option<Made> {
    match &plan.act {
        Act::Create { .. } => Some(Made::Created),
        Act::Rebuild(_) => Some(Made::Rebuilt),
        Act::Noop(server) => Made::by(&request.asked.id, server),
    }
}

fn server_of(plan: &Plan) -> Option<ServerId> {
    match &plan.act {
        Act::Noop(server) | Act::Rebuild(server) => Some(server.id.clone()),
        Act::Create { .. } => None,
    }
}

/// A node is waited for as long as the workflow lets it.
fn patience(request: &Request) -> Patience {
    Patience { by_anybody: request.asked.force, ..Patience::default() }
}
