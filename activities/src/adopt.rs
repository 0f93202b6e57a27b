//! Adopt: makes a device a SLURM node as its role's row says, and leaves it closed.
//!
//! After success one server with our mark runs the row's image, flavor and user-data on the
//! device's machine, and its node is registered, closed under our mark (or open as it was, where
//! nothing was to be done), with the row's features and GRES, in a partition that is UP.
//!
//! Idempotent by the server's tag `fleet.device.<id>` and the request id in its metadata. Waits for
//! Nova and for slurmd; the workflow holds the deadline. Never deletes a server that was ever
//! launched, never writes GRES, never touches a node that somebody else closed.

use std::collections::BTreeMap;

use clients::Error;
use clients::openstack::{NewServer, Server, ServerStatus};
use clients::slurm::Node;
use model::{
    Actor, Complete, DeviceId, DevicePatch, DrainReason, Invalid, Mark, NodeName, NodeSource, Owner,
    RequestId, ServerId, Verb,
};

use crate::close::{ensure_closed, refuse_foreign, unknown, wait_empty};
use crate::look::{Subject, find_subject};
use crate::plan::{
    Act, Plan, Seen, Target, digest, fault, metadata, plan, requested_by, shortfalls, slurm_conf,
};
use crate::wait::{Look, patiently, until};
use crate::{Attempt, Class, Code, Failure, World};

/// What is asked.
#[derive(Debug, Clone)]
pub struct Request {
    /// The idempotency key.
    pub id: RequestId,
    /// The device.
    pub device: DeviceId,
    /// Who asked.
    pub actor: Actor,
    /// Why.
    pub why: DrainReason,
    /// Plan and stop there.
    pub dry_run: bool,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// What the plan was.
    pub plan: Plan,
    /// This request created the server: in this attempt, or in an earlier one that died after it.
    pub created: bool,
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
    steps(world, attempt, request).await.map_err(|f| f.in_step(attempt.current()))
}

async fn steps(world: &World, attempt: &Attempt, request: &Request) -> Result<Outcome, Failure> {
    attempt.step("read_hub", Code::HubUnavailable)?;
    let subject = find_subject(world, attempt, &request.device).await?;
    let target = read_target(world, attempt, &subject).await?;

    attempt.step("plan", Code::OpenStackUnavailable)?;
    let seen = look(world, attempt, request, &target).await?;
    let plan = plan(&target, &seen, &request.id)?;
    let mut outcome = Outcome {
        created: is_creation(&plan, request),
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
    };
    outcome.server = Some(server.id.clone());
    record_server(world, attempt, &subject, &server.id).await?;
    if plan.differences.is_empty() && is_settled(request, &seen, &server) {
        return Ok(outcome);
    }
    wait_active(world, attempt, &target, &server.id).await?;
    let mut registered = wait_registered(world, attempt, request, &target, &server).await?;
    let in_use = is_by(&server, request) && registered.node.tokens.is_busy();
    if registered.opened || in_use {
        outcome.warnings.push("opened at registration".to_owned());
        attempt.step("wait_empty", Code::NodeBusy)?;
        registered.node = wait_empty(world, attempt, registered.node).await?;
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
    if config.node_source == NodeSource::Created {
        let message = format!("role {}: node_source `created` is not served by this release", config.role);
        let remedy = "have HPC set `registers` or `static`";
        return Err(Failure::needs_human(Code::BootstrapInvalid, message, remedy).about("node_source"));
    }
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
    let tag = tag(&request.device);
    let (config, node) = (&target.config, &target.node);
    Ok(Seen {
        image: patiently(world, attempt, || openstack.image(&config.image)).await?,
        flavor: patiently(world, attempt, || openstack.flavor(&config.flavor)).await?,
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
        return refuse_foreign(node);
    }
    if !differences.is_empty() && !is_by(server, request) && node.tokens.is_responding() {
        return Err(mismatch(target, differences, "it is open and was left so"));
    }
    Ok(())
}

/// Servers of earlier requests that Nova never launched hold nothing and block the machine.
async fn delete_leftovers(world: &World, attempt: &Attempt, leftovers: &[ServerId]) -> Result<(), Failure> {
    for id in leftovers {
        attempt.step("delete_leftover", Code::ServerError)?;
        patiently(world, attempt, || world.openstack.delete_server(id)).await?;
        until(world, attempt, || async {
            Ok(match world.openstack.server(id).await? {
                None => Look::Ready(()),
                Some(s) if s.status == ServerStatus::Deleted => Look::Ready(()),
                Some(s) => Look::NotYet(format!("server {id} is {}, being deleted", s.status)),
            })
        })
        .await?;
    }
    Ok(())
}

/// A node that exists is closed under our mark and empty before its machine is given a server.
async fn prepare_node(
    world: &World,
    attempt: &Attempt,
    request: &Request,
    target: &Target,
    seen: &Seen,
) -> Result<(), Failure> {
    attempt.step("close_node", Code::SlurmUnavailable)?;
    if seen.node.is_none() {
        if target.config.node_source == NodeSource::Static {
            let message =
                format!("SLURM has no node {}, and role {} has static ones", target.node, target.config.role);
            let remedy = "add it to slurm.conf, or have HPC set node_source";
            return Err(Failure::needs_human(Code::NodeUnknown, message, remedy));
        }
        return Ok(());
    }
    // read again: what was planned on may be minutes old where leftovers went first
    let node = patiently(world, attempt, || world.slurm.node(&target.node)).await?;
    let node = node.ok_or_else(|| unknown(&target.node))?;
    let node = ensure_closed(world, attempt, node, &mark(request)).await?;
    attempt.step("wait_empty", Code::NodeBusy)?;
    wait_empty(world, attempt, node).await.map(drop)
}

/// One server. Nova has no idempotency key: look by our tag before each POST, take a lost answer as
/// unknown and look again. A later attempt may follow one that still runs: it looks, waits a
/// heartbeat time-out, and looks again.
async fn ensure_server(
    world: &World,
    attempt: &Attempt,
    request: &Request,
    target: &Target,
    seen: &Seen,
) -> Result<Server, Failure> {
    attempt.step("create_server", Code::OpenStackUnavailable)?;
    if attempt.number > 1 {
        attempt.waiting("an earlier attempt that may still run");
        attempt.pause(world.site.heartbeat_timeout).await?;
    }
    if let Some(server) = find_server(world, attempt, request, target, seen).await? {
        return Ok(server);
    }
    let new = new_server(world, request, target, seen)?;
    attempt.check()?;
    let posted = world.openstack.create_server(&new).await;
    let unknown = match posted {
        Ok(_) => None,
        Err(error) if error.is_unknown() => Some(error),
        Err(error) => return Err(refused(error, target)),
    };
    // Also after a good answer: a twin of an attempt that still ran would show here.
    match (find_server(world, attempt, request, target, seen).await?, unknown) {
        (Some(server), _) => Ok(server),
        (None, Some(error)) => Err(error.into()),
        (None, None) => {
            let message = "Nova accepted the server and does not show it".to_owned();
            let failure = Failure::needs_human(Code::ServerError, message, "look at Nova");
            Err(Failure { class: Class::Retry, ..failure })
        }
    }
}

/// The device's one server, if it has one; a failed twin of this request goes.
async fn find_server(
    world: &World,
    attempt: &Attempt,
    request: &Request,
    target: &Target,
    seen: &Seen,
) -> Result<Option<Server>, Failure> {
    let tag = tag(&request.device);
    let servers = patiently(world, attempt, || world.openstack.servers_with_tag(&tag)).await?;
    let now = Seen { servers: servers.clone(), ..seen.clone() };
    match plan(target, &now, &request.id)?.act {
        Act::Noop(server) => {
            delete_leftovers(world, attempt, &twins(&servers, &server)).await?;
            Ok(Some(*server))
        }
        Act::Create { .. } => Ok(None),
    }
}

/// What the plan leaves beside the server that it keeps: failed twins of this request.
fn twins(servers: &[Server], keep: &Server) -> Vec<ServerId> {
    servers.iter().map(|s| s.id.clone()).filter(|id| *id != keep.id).collect()
}

fn new_server(world: &World, request: &Request, target: &Target, seen: &Seen) -> Result<NewServer, Failure> {
    let config = &target.config;
    let before = seen.node.as_ref().map_or(0, |n| n.slurmd_start_time);
    let pairs = [
        (metadata::DEVICE, request.device.to_string()),
        (metadata::REQUEST, request.id.to_string()),
        (metadata::REVISION, config.revision.to_string()),
        (metadata::USER_DATA, digest(config.user_data.as_ref())),
        (metadata::SLURMD_BEFORE, before.to_string()),
    ];
    let mut metadata: BTreeMap<String, String> = pairs.map(|(k, v)| (k.to_owned(), v)).into();
    metadata.extend(slurm_conf(config)?.map(|c| (metadata::SLURM_CONF.to_owned(), c)));
    Ok(NewServer {
        name: target.node.to_string(),
        image: config.image.clone(),
        flavor: config.flavor.clone(),
        machine: Some(target.machine.clone()),
        user_data: config.user_data.clone(),
        networks: world.site.networks.clone(),
        config_drive: world.site.config_drive,
        metadata,
        tag: tag(&request.device),
    })
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

async fn wait_active(
    world: &World,
    attempt: &Attempt,
    target: &Target,
    id: &ServerId,
) -> Result<(), Failure> {
    attempt.step("wait_active", Code::ServerError)?;
    until(world, attempt, || async {
        let server = world.openstack.server(id).await?;
        let Some(server) = server.filter(|s| s.status != ServerStatus::Deleted) else {
            let message = format!("server {id} is gone");
            return Err(Failure::needs_human(
                Code::ServerError,
                message,
                "see who deleted it, then adopt again",
            ));
        };
        match (&server.status, &server.task_state, &server.machine) {
            (ServerStatus::Error, _, _) => Err(fault(&server)),
            (ServerStatus::Active, None, Some(machine)) if *machine != target.machine => {
                let message =
                    format!("server {id} is on {machine}, the device's machine is {}", target.machine);
                let remedy = "compare nova_host in the hub with Nova";
                Err(Failure::needs_human(Code::RequestConflict, message, remedy).about("nova_host"))
            }
            (ServerStatus::Active, None, _) => Ok(Look::Ready(())),
            (status, task, _) => {
                let task = task.as_deref().map(|t| format!(", {t}")).unwrap_or_default();
                Ok(Look::NotYet(format!("server {id} is {status}{task}")))
            }
        }
    })
    .await
}

/// A node whose slurmd has registered anew.
struct Registered {
    /// As it was read last, closed under our mark.
    node: Node,
    /// It was first seen open.
    opened: bool,
}

/// Waits until slurmd has registered anew, and marks the node.
async fn wait_registered(
    world: &World,
    attempt: &Attempt,
    request: &Request,
    target: &Target,
    server: &Server,
) -> Result<Registered, Failure> {
    attempt.step("wait_registered", Code::RegistrationTimeout)?;
    let before = server.metadata.get(metadata::SLURMD_BEFORE).and_then(|t| t.parse().ok()).unwrap_or(0);
    let name = &target.node;
    let mut opened = false;
    loop {
        let mut node = until(world, attempt, || async {
            Ok(match world.slurm.node(name).await? {
                None => Look::NotYet(format!("{name} has not registered; server {} is ACTIVE", server.id)),
                Some(node) => Look::Ready(node),
            })
        })
        .await?;
        if node.tokens.has("INVALID_REG") {
            return Err(mismatch(target, std::slice::from_ref(&node.reason), "SLURM calls it INVALID_REG"));
        }
        let registered = node.slurmd_start_time != 0 && node.slurmd_start_time != before;
        opened |= registered && !node.tokens.is_closed();
        if registered {
            node = ensure_closed(world, attempt, node, &mark(request)).await?;
            if node.tokens.is_responding() {
                return Ok(Registered { node, opened });
            }
        }
        attempt.waiting(&format!("{name} is {}, slurmd not registered anew", node.tokens));
        attempt.pause(world.site.look_every).await?;
    }
}

/// The node is what its row says, or stays closed.
async fn check_node(world: &World, attempt: &Attempt, target: &Target, node: &Node) -> Result<(), Failure> {
    attempt.step("check_node", Code::SlurmUnavailable)?;
    let partitions = patiently(world, attempt, || world.slurm.partitions()).await?;
    let short = shortfalls(target, Some(node), &partitions);
    if short.is_empty() { Ok(()) } else { Err(mismatch(target, &short, "it stays closed")) }
}

fn mismatch(target: &Target, short: &[String], then: &str) -> Failure {
    let message = format!("{} is not what its row says ({then}): {}", target.node, short.join("; "));
    Failure::needs_human(Code::ConfigMismatch, message, "compare the row, the user-data and slurm.conf")
}

fn refused(error: Error, target: &Target) -> Failure {
    let no_host = error.to_string().contains("Compute host");
    let failure = Failure::from(error);
    if no_host {
        let remedy = format!("compare nova_host {} in the hub with Nova's hypervisors", target.machine);
        return Failure { code: Code::NoValidHost, remedy, ..failure }.about("nova_host");
    }
    failure
}

/// Nothing is left to do for a node without a difference: it was opened after an earlier request's
/// adoption, or is closed under a whole mark. An attempt that died may have left it as it registered
/// (open even, and with a job), or drained and not yet marked.
fn is_settled(request: &Request, seen: &Seen, server: &Server) -> bool {
    let Some(node) = &seen.node else { return false };
    let ours = is_by(server, request);
    if !node.tokens.is_closed() {
        return !ours;
    }
    let marked = matches!(Owner::of(&node.reason, ""), Owner::Ours(Some(_)));
    marked && !(ours && node.tokens.is_busy())
}

fn is_creation(plan: &Plan, request: &Request) -> bool {
    match &plan.act {
        Act::Create { .. } => true,
        Act::Noop(server) => is_by(server, request),
    }
}

/// This very request made the server, in this attempt or in an earlier one.
fn is_by(server: &Server, request: &Request) -> bool {
    requested_by(server) == Some(request.id.as_str())
}

fn server_of(plan: &Plan) -> Option<ServerId> {
    match &plan.act {
        Act::Noop(server) => Some(server.id.clone()),
        Act::Create { .. } => None,
    }
}

/// The tag by which a device's server is found, while it is still BUILD too.
fn tag(device: &DeviceId) -> String {
    format!("fleet.device.{device}")
}

fn mark(request: &Request) -> Mark {
    Mark {
        verb: Verb::Adopt,
        request: request.id.clone(),
        actor: request.actor.clone(),
        why: request.why.clone(),
    }
}
