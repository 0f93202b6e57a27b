//! Rebuild in place: the same server gets the row's image and user-data.
//!
//! *Invariant*: nothing is rebuilt under a job. The node is closed under our mark and empty, and is
//! found so twice: a write that slurmctld acknowledged can be lost for some seconds (facts: slurm
//! §12), so the look that counts comes after those, right before the call.

use clients::Kind;
use clients::openstack::{Rebuild, Server, ServerStatus};
use clients::slurm::Node;
use model::ServerId;

use super::server::{doing, existing_server, our_metadata, wait_out_earlier};
use super::{Request, patience};
use crate::close::wait_drained;
use crate::plan::{Made, Seen, Target, is_as_asked, metadata, usable};
use crate::wait::{patiently, settle};
use crate::{Attempt, Code, Failure, World};

/// The server as Nova accepted it: with this request's metadata, the row's image and user-data. A
/// rebuild carries its request id in its metadata, which is applied when it is accepted: that tells
/// whether one whose answer was lost was accepted.
pub(super) async fn ensure_rebuilt(
    world: &World,
    attempt: &Attempt,
    request: &Request,
    target: &Target,
    seen: &Seen,
    id: &ServerId,
) -> Result<Server, Failure> {
    settle(world, attempt, Code::NodeBusy, "the node is drained").await?;
    attempt.step("rebuild_server", Code::ServerError)?;
    wait_out_earlier(world, attempt).await?;
    loop {
        let server = patiently(world, attempt, || world.openstack.server(id)).await?;
        let server = existing_server(id, server)?;
        if is_as_asked(&server, target, seen, &request.asked.id) {
            return Ok(server);
        }
        if server.task_state.is_some() || matches!(server.status, ServerStatus::Build | ServerStatus::Rebuild)
        {
            attempt.waiting(&doing(&server));
            attempt.pause(world.site.look_every).await?;
            continue;
        }
        // a node that never registered, for a user-data that was wrong, has no job either
        let node = match patiently(world, attempt, || world.slurm.node(&target.node)).await? {
            Some(node) => {
                Some(wait_drained(world, attempt, &target.node, Some(node), patience(request)).await?.node)
            }
            None => None,
        };
        let rebuild = rebuild(request, target, seen, &server, node.as_ref())?;
        attempt.check()?;
        match world.openstack.rebuild(id, &rebuild).await {
            Ok(()) => {}
            // Nova is at something else with it, which passes
            Err(error) if matches!(error.kind, Kind::Conflict(_)) => {
                attempt.waiting(&error.to_string());
                attempt.pause(world.site.look_every).await?;
            }
            Err(error) if error.is_unknown() => {
                // it may still be on its way: looked at only when it can no longer come
                attempt.waiting(&error.to_string());
                attempt.pause(world.site.heartbeat_timeout).await?;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Everything in one call. Metadata that is not ours is sent along as it is: a rebuild replaces all.
fn rebuild(
    request: &Request,
    target: &Target,
    seen: &Seen,
    server: &Server,
    node: Option<&Node>,
) -> Result<Rebuild, Failure> {
    let mut metadata = server.metadata.clone();
    metadata.retain(|key, _| !key.starts_with(metadata::OURS));
    metadata.extend(our_metadata(request, target, node, Made::Rebuilt)?);
    Ok(Rebuild {
        image: usable(target, seen)?.0.id.clone(),
        user_data: target.config.user_data.clone(),
        name: target.node.to_string(),
        metadata,
    })
}
