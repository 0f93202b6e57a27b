//! A server of ours, found by its tag, and deleted.

use clients::openstack::ServerStatus;
use model::{DeviceId, ServerId};

use crate::wait::{Look, patiently, until};
use crate::{Attempt, Failure, World};

/// The tag by which a device's server is found, while it is still BUILD too.
pub(crate) fn tag(device: &DeviceId) -> String {
    format!("fleet.device.{device}")
}

/// Deletes a server, and waits until Nova shows that it is gone.
pub(crate) async fn delete_server(world: &World, attempt: &Attempt, id: &ServerId) -> Result<(), Failure> {
    patiently(world, attempt, || world.openstack.delete_server(id)).await?;
    until(world, attempt, || async {
        Ok(match world.openstack.server(id).await? {
            None => Look::Ready(()),
            Some(s) if s.status == ServerStatus::Deleted => Look::Ready(()),
            Some(s) => Look::NotYet(format!("server {id} is {}, being deleted", s.status)),
        })
    })
    .await
}
