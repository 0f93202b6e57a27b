//! The node: registered anew by the slurmd of the server as it is now, closed under our mark, and
//! what its row says.

use clients::openstack::Server;

use super::{Request, mark, mismatch};
use crate::close::ensure_closed;
use crate::plan::{Target, has_registered, shortfalls};
use crate::wait::{Look, patiently, until};
use crate::{Attempt, Code, Failure, World};

/// Waits until slurmd has registered anew, and marks the node. True when it was first seen open.
pub(super) async fn wait_registered(
    world: &World,
    attempt: &Attempt,
    request: &Request,
    target: &Target,
    server: &Server,
) -> Result<bool, Failure> {
    attempt.step("wait_registered", Code::RegistrationTimeout)?;
    let name = &target.node;
    let mut opened = false;
    loop {
        let node = until(world, attempt, || async {
            Ok(match world.slurm.node(name).await? {
                None => Look::NotYet(format!("{name} has not registered; server {} is ACTIVE", server.id)),
                Some(node) => Look::Ready(node),
            })
        })
        .await?;
        if node.tokens.has("INVALID_REG") {
            return Err(mismatch(target, std::slice::from_ref(&node.reason), "SLURM calls it INVALID_REG"));
        }
        let registered = has_registered(&node, server);
        opened |= registered && !node.tokens.is_closed();
        if registered {
            ensure_closed(world, attempt, name, &mark(request)).await?;
            if node.tokens.is_responding() {
                return Ok(opened);
            }
        }
        attempt.waiting(&format!("{name} is {}, slurmd not registered anew", node.tokens));
        attempt.pause(world.site.look_every).await?;
    }
}

/// The node is what its row says, or stays closed.
pub(super) async fn check_node(world: &World, attempt: &Attempt, target: &Target) -> Result<(), Failure> {
    attempt.step("check_node", Code::SlurmUnavailable)?;
    let node = patiently(attempt, || world.slurm.node(&target.node)).await?;
    let partitions = patiently(attempt, || world.slurm.partitions()).await?;
    let short = shortfalls(target, node.as_ref(), &partitions);
    if short.is_empty() { Ok(()) } else { Err(mismatch(target, &short, "it stays closed")) }
}
