//! One server: created once, its leftovers gone, waited for until it is ACTIVE.
//!
//! *Invariant*: Nova has no idempotency key, so nothing is posted before a look by our tag, and an
//! answer that is lost or a 5xx is unknown and looked at again.

use std::collections::BTreeMap;

use clients::Error;
use clients::openstack::{NewServer, Server, ServerStatus};
use clients::slurm::Node;
use model::ServerId;

use super::Request;
use crate::delete::{delete_server, tag};
use crate::plan::{Act, Made, Seen, Target, digest, fault, metadata, plan, slurm_conf, usable};
use crate::wait::{Look, patiently, until};
use crate::{Attempt, Class, Code, Failure, World};

/// Servers of earlier requests that Nova never launched hold nothing and block the machine.
pub(super) async fn delete_leftovers(
    world: &World,
    attempt: &Attempt,
    leftovers: &[ServerId],
) -> Result<(), Failure> {
    for id in leftovers {
        attempt.step("delete_leftover", Code::ServerError)?;
        delete_server(world, attempt, id).await?;
    }
    Ok(())
}

/// What the plan leaves beside the server that it keeps: failed twins of this request.
pub(super) fn twins(servers: &[Server], keep: &Server) -> Vec<ServerId> {
    servers.iter().map(|s| s.id.clone()).filter(|id| *id != keep.id).collect()
}

/// One server. A later attempt may follow one that still runs: it looks, waits a heartbeat time-out,
/// and looks again.
pub(super) async fn ensure_server(
    world: &World,
    attempt: &Attempt,
    request: &Request,
    target: &Target,
    seen: &Seen,
) -> Result<Server, Failure> {
    attempt.step("create_server", Code::OpenStackUnavailable)?;
    wait_out_earlier(world, attempt).await?;
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

/// A later attempt may follow one whose last call is still on its way.
pub(super) async fn wait_out_earlier(world: &World, attempt: &Attempt) -> Result<(), Failure> {
    if attempt.number > 1 {
        attempt.waiting("an earlier attempt that may still run");
        attempt.pause(world.site.heartbeat_timeout).await?;
    }
    Ok(())
}

/// The device's one server, if it has one; a failed twin of this request goes.
async fn find_server(
    world: &World,
    attempt: &Attempt,
    request: &Request,
    target: &Target,
    seen: &Seen,
) -> Result<Option<Server>, Failure> {
    let tag = tag(&request.asked.device);
    let servers = patiently(world, attempt, || world.openstack.servers_with_tag(&tag)).await?;
    let now = Seen { servers: servers.clone(), ..seen.clone() };
    match plan(target, &now, &request.asked.id)?.act {
        Act::Noop(server) => {
            delete_leftovers(world, attempt, &twins(&servers, &server)).await?;
            Ok(Some(*server))
        }
        Act::Create { .. } => Ok(None),
        Act::Rebuild(server) => {
            let message = format!("server {} appeared, and is not what the row says", server.id);
            let failure = Failure::needs_human(Code::RequestConflict, message, "adopt again");
            Err(Failure { class: Class::Retry, ..failure })
        }
    }
}

fn new_server(world: &World, request: &Request, target: &Target, seen: &Seen) -> Result<NewServer, Failure> {
    let config = &target.config;
    let (image, flavor) = usable(target, seen)?;
    Ok(NewServer {
        name: target.node.to_string(),
        image: image.id.clone(),
        flavor: flavor.id.clone(),
        machine: Some(target.machine.clone()),
        user_data: config.user_data.clone(),
        networks: world.site.networks.clone(),
        config_drive: world.site.config_drive,
        metadata: our_metadata(request, target, seen.node.as_ref(), Made::Created)?,
        tag: tag(&request.asked.device),
    })
}

/// What a server of ours says of itself from this act on. `node` is as it was seen last.
pub(super) fn our_metadata(
    request: &Request,
    target: &Target,
    node: Option<&Node>,
    made: Made,
) -> Result<BTreeMap<String, String>, Failure> {
    let config = &target.config;
    let before = node.map_or(0, |n| n.slurmd_start_time);
    let pairs = [
        (metadata::DEVICE, request.asked.device.to_string()),
        (metadata::REQUEST, request.asked.id.to_string()),
        (metadata::MADE, made.as_str().to_owned()),
        (metadata::REVISION, config.revision.to_string()),
        (metadata::USER_DATA, digest(config.user_data.as_ref())),
        (metadata::SLURMD_BEFORE, before.to_string()),
    ];
    let mut metadata: BTreeMap<String, String> = pairs.map(|(k, v)| (k.to_owned(), v)).into();
    metadata.extend(slurm_conf(config)?.map(|c| (metadata::SLURM_CONF.to_owned(), c)));
    Ok(metadata)
}

/// Waits until the server runs on the device's machine.
pub(super) async fn wait_active(
    world: &World,
    attempt: &Attempt,
    target: &Target,
    id: &ServerId,
) -> Result<(), Failure> {
    attempt.step("wait_active", Code::ServerError)?;
    until(world, attempt, || async {
        let server = existing_server(id, world.openstack.server(id).await?)?;
        match (&server.status, &server.task_state, &server.machine) {
            (ServerStatus::Error, _, _) => Err(fault(&server)),
            (ServerStatus::Active, None, Some(machine)) if *machine != target.machine => {
                let message =
                    format!("server {id} is on {machine}, the device's machine is {}", target.machine);
                let remedy = "compare nova_host in the hub with Nova";
                Err(Failure::needs_human(Code::RequestConflict, message, remedy).about("nova_host"))
            }
            (ServerStatus::Active, None, _) => Ok(Look::Ready(())),
            _ => Ok(Look::NotYet(doing(&server))),
        }
    })
    .await
}

/// The server, which must exist.
pub(super) fn existing_server(id: &ServerId, server: Option<Server>) -> Result<Server, Failure> {
    server.filter(|s| s.status != ServerStatus::Deleted).ok_or_else(|| {
        let message = format!("server {id} is gone");
        Failure::needs_human(Code::ServerError, message, "see who deleted it, then adopt again")
    })
}

/// What Nova is doing to a server, in words.
pub(super) fn doing(server: &Server) -> String {
    let task = server.task_state.as_deref().map(|t| format!(", {t}")).unwrap_or_default();
    format!("server {} is {}{task}", server.id, server.status)
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
