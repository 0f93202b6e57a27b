//! Look-ups that several verbs begin with.

use model::{Device, DeviceId, Invalid, NodeName};

use crate::wait::patiently;
use crate::{Attempt, Code, Failure, World};

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
