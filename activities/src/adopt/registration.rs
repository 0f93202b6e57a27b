//! The node: registered anew by the slurmd of the server as it is now, closed under our mark, and
//! what its row says.

use clients::openstack::Server;
use clients::slurm::Node;
use model::Verb;

use super::{Request, mismatch};
use crate::close::ensure_closed;
use crate::plan::{Target, has_registered, shortfalls};
use crate::wait::{Look, patiently, until};
use crate::{Attempt, Code, Failure, World};

/// A node whose slurmd has registered anew.
pub(super) struct Registered {
    /// As it was read last, closed under our mark.
    pub(super) node: Node,
    /// It was first seen open.
    pub(super) opened: bool,
}

/// Waits until slurmd has registered anew, and marks the node.
pub(super) async fn wait_registered(
    world: &World,
    attempt: &Attempt,
    request: &Request,
    target: &Target,
    server: &Server,
) -> Result<Registered, Failure> {
    attempt.step("wait_registered", Code::RegistrationTimeout)?;
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
        let registered = has_registered(&node, server);
        opened |= registered && !node.tokens.is_closed();
        if registered {
            node = ensure_closed(world, attempt, node, &request.asked, Verb::Adopt).await?;
            if node.tokens.is_responding() {
                return Ok(Registered { node, opened });
            }
        }
        attempt.waiting(&format!("{name} is {}, slurmd not registered anew", node.tokens));
        attempt.pause(world.site.look_every).await?;
    }
}

/// The node is what its row says, or stays closed.
pub(super) async fn check_node(
    world: &World,
    attempt: &Attempt,
    target: &Target,
    node: &Node,
) -> Result<(), Failure> {
    attempt.step("check_node", Code::SlurmUnavailable)?;
    let partitions = patiently(world, attempt, || world.slurm.partitions()).await?;
    let short = shortfalls(target, Some(node), &partitions);
    if short.is_empty() { Ok(()) } else { Err(mismatch(target, &short, "it stays closed")) }
}
