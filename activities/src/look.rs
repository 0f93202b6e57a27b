//! Look-ups that several verbs begin with.

use clients::slurm::Node;
use model::{Device, DeviceId, Invalid, Mark, NodeName};

use crate::wait::patiently;
use crate::{Attempt, Class, Code, Failure, PowerSaving, World};

/// A device and the node it is to be. No other device of the site has that node.
pub(crate) struct Subject {
    pub(crate) device: Device,
    pub(crate) node: NodeName,
}

/// Finds the device among all of its site, so that a second device for the same node is noticed.
pub(crate) async fn find_subject(
    world: &World,
    attempt: &Attempt,
    id: &DeviceId,
) -> Result<Subject, Failure> {
    let devices = patiently(world, attempt, || world.hub.devices()).await?;
    let Some(device) = devices.iter().find(|d| d.id == *id) else {
        let problem = format!("site {} has no device {id}", world.site.id);
        let invalid = Invalid::new("device_id", problem, "name a device of this worker's site");
        return Err(Failure::permanent(Code::RequestInvalid, &invalid));
    };
    let node_of = |d: &Device| world.site.node_template.node_of(d);
    let node = node_of(device).map_err(|e| Failure::permanent(Code::RequestInvalid, &e))?;
    if let Some(other) = devices.iter().find(|d| d.id != *id && node_of(d).as_ref() == Ok(&node)) {
        let message = format!("devices {id} and {} are both node {node}", other.id);
        let remedy = "give one of them another slurm_node_name in the hub";
        return Err(Failure::needs_human(Code::RequestConflict, message, remedy).about("slurm_node_name"));
    }
    Ok(Subject { device: device.clone(), node })
}

/// The node. `None` is concluded from its own GET and the full list, never from one: a look-up that
/// failed can look like absence (cases: B01).
pub(crate) async fn find_node(world: &World, name: &NodeName) -> Result<Option<Node>, Failure> {
    if let Some(node) = world.slurm.node(name).await? {
        return Ok(Some(node));
    }
    let all = world.slurm.nodes().await?;
    let listed = all.list.iter().any(|n| n.name == *name);
    if !listed && all.unreadable == 0 {
        return Ok(None);
    }
    let message = match listed {
        true => format!("SLURM lists {name} and says that it does not know it"),
        false => {
            format!("SLURM does not know {name}, and {} nodes of its list cannot be read", all.unreadable)
        }
    };
    let failure = Failure::needs_human(Code::SlurmUnavailable, message, "look at slurmrestd and slurmctld");
    Err(Failure { class: Class::Retry, ..failure })
}

/// The node, which must exist.
pub(crate) async fn existing(world: &World, name: &NodeName) -> Result<Node, Failure> {
    find_node(world, name).await?.ok_or_else(|| unknown(name))
}

/// The node, its allocation reckoned anew.
pub(crate) async fn reckoned(world: &World, name: &NodeName) -> Result<Node, Failure> {
    if world.slurm.reckon().await? {
        return existing(world, name).await;
    }
    let list = world.slurm.nodes().await?.list;
    list.into_iter().find(|n| n.name == *name).ok_or_else(|| unknown(name))
}

/// SLURM has no such node.
pub(crate) fn unknown(name: &NodeName) -> Failure {
    let message = format!("SLURM has no node {name}");
    Failure::needs_human(Code::NodeUnknown, message, "compare the hub's names with slurm.conf")
}

/// Refuses, before anything is done, where SLURM's release cannot change nodes over REST.
pub(crate) async fn ensure_nodes_can_be_changed(world: &World, attempt: &Attempt) -> Result<(), Failure> {
    patiently(world, attempt, || world.slurm.can_change_nodes()).await
}

/// Refuses, before the node is closed, where SLURM's power saving would take its machine once it is: run on
/// 24.11 and 26.05, it suspends a drained node as any idle one, and a POWER_DOWN by hand clears its DRAIN. A
/// node that this mark is on is being closed already.
pub(crate) fn ensure_stays_up(world: &World, node: &Node, mark: &Mark) -> Result<(), Failure> {
    let powers = ["POWER_DOWN", "POWERING_DOWN", "POWER_UP", "POWERING_UP"];
    let why = match node.suspend_time {
        Some(seconds) => format!("SLURM suspends it when it was idle for {seconds} s"),
        // CLOUD+POWERED_DOWN is what a node is that was created and never ran
        None if node.tokens.any(&powers) || node.tokens.has("POWERED_DOWN") && !node.tokens.has("CLOUD") => {
            format!("it is {}", node.tokens)
        }
        None => return Ok(()),
    };
    if world.site.power_saving == PowerSaving::SparesDrained || mark.claims(&node.extra) {
        return Ok(());
    }
    let message =
        format!("power saving acts on {}, and this site's settings say there is none: {why}", node.name);
    let remedy =
        "put DRAIN into SuspendExcStates of slurm.conf, then set slurm.power_saving = \"spares_drained\"";
    Err(Failure::needs_human(Code::PowerSaving, message, remedy).about("slurm.power_saving"))
}
