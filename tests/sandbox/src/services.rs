//! The site's real systems: SLURM, OpenStack, and machines that boot with cloud-init.

use std::sync::Arc;

use anyhow::Context as _;
use uuid::Uuid;

use crate::cloud::Cloud;
use crate::containers::{self, Container, Run};
use crate::machine_room::MachineRoom;
use crate::site::Systems;
use crate::slurm::SlurmUser;

/// They run. Ended with [`Self::end`].
pub struct Services {
    /// Names and secrets.
    pub run: Run,
    /// slurmctld and slurmrestd.
    pub slurm: Container,
    /// Keystone, Glance, Placement and Nova.
    pub openstack: Arc<Container>,
    /// The machines.
    pub room: MachineRoom,
    /// OpenStack's administrator.
    pub cloud: Cloud,
    /// Where the worker finds them.
    pub systems: Systems,
    /// The id of the image to boot.
    pub image: String,
}

impl Services {
    /// Starts them, with this run's names, secrets and SLURM release, and waits until both are ready.
    ///
    /// # Errors
    /// When one is not.
    pub async fn start(run: Run, tell: impl Fn(&str) + Send + Sync + 'static) -> anyhow::Result<Self> {
        let slurm = async {
            let slurm = containers::slurm(&run).await?;
            tell(&format!("SLURM {} is up at {}", run.release.name, slurm.1));
            Ok(slurm)
        };
        let openstack = async {
            let openstack = containers::openstack(&run, "openstack").await?;
            tell(&format!("OpenStack is up, its Keystone at {}", openstack.1));
            Ok::<_, anyhow::Error>(openstack)
        };
        let ((slurm, slurm_url), (openstack, keystone)) = tokio::try_join!(slurm, openstack)?;
        let cloud = Cloud::log_in(&keystone).await?;
        let password = Uuid::new_v4().to_string();
        cloud.set_password(&password).await?;
        let image = cloud.image("slurm-node-a").await?;
        let slurm_token = run.slurm_token("root")?;
        let systems = Systems { slurm: slurm_url, slurm_token, keystone, password };
        let openstack = Arc::new(openstack);
        let room = MachineRoom::open(run.clone(), openstack.clone(), tell);
        Ok(Self { run, slurm, openstack, room, cloud, systems, image })
    }

    /// A user of the cluster.
    ///
    /// # Errors
    /// When no token can be made.
    pub fn user(&self, name: &str) -> anyhow::Result<SlurmUser> {
        SlurmUser::new(&self.systems.slurm, self.run.release, name, self.run.slurm_token(name)?)
    }

    /// Ends every container.
    ///
    /// # Errors
    /// When one cannot be ended, or a machine could not be started before.
    pub async fn end(self) -> anyhow::Result<()> {
        let machines = self.room.close().await;
        self.slurm.rm().await?;
        Arc::into_inner(self.openstack).context("OpenStack is still used")?.rm().await?;
        machines
    }
}
