//! The SLURM and the OpenStack of the site: imitated in this process, or real ones in containers.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use fakes::{CloudOptions, End, JobBehaviour, SlurmOptions};
use model::UserData;
use sandbox::{Run, Services, Systems};
use tokio::task::JoinHandle;

use crate::say;

/// Imitated machines move on so often.
const TICK: Duration = Duration::from_secs(1);
/// What a machine is handed where nothing boots.
const USER_DATA: &[u8] = b"## template: jinja\n#cloud-config\nruncmd:\n  - slurmd -Z --conf '{{ ds.meta_data.meta.fleet_slurm_conf }}'\n";

/// They run.
pub(crate) struct World {
    kind: Kind,
    /// Where the worker finds them.
    pub(crate) systems: Systems,
    /// The id of the image to boot.
    pub(crate) image: String,
    /// The user-data of every role.
    pub(crate) user_data: UserData,
}

enum Kind {
    /// What moves the imitated machines.
    Imitated(JoinHandle<()>),
    Real(Box<Services>),
}

/// The job of a burn-in on a machine that works: what the tests of `deploy/burn-in` say of it.
fn burn_in() -> JobBehaviour {
    let comment = "cpu-memory.exit=0,gpus.exit=0,disk.exit=0,cpu-memory.cpus=4,cpu-memory.cpu_mbs=900,\
                   cpu-memory.memory_mb=512,gpus.gpus=4,disk.checked_mb=64,disk.write_mbs=350";
    JobBehaviour {
        name: "fleet-burnin-".to_owned(),
        takes: 3,
        comment: comment.to_owned(),
        holds: true,
        end: End::Completed,
    }
}

impl World {
    /// The fakes; their machines move on by a timer of ours.
    pub(crate) async fn imitate() -> anyhow::Result<Self> {
        let now = jiff::Timestamp::now().as_second();
        let slurm = SlurmOptions { now, ..SlurmOptions::default() };
        let cloud = CloudOptions { now, ..CloudOptions::default() };
        let password = cloud.password.clone();
        let world = fakes::World::start(slurm, cloud).await?;
        world.slurm.behave(burn_in());
        let systems = Systems {
            slurm: world.slurm.url().to_owned(),
            slurm_token: world.slurm.token("root"),
            keystone: world.cloud.keystone_url(),
            password,
        };
        say(&format!("SLURM is imitated at {}, OpenStack at {}", systems.slurm, systems.keystone));
        let image = world.cloud.image_id("slurm-node-a").context("image")?;
        let moves = tokio::spawn(async move {
            let mut timer = tokio::time::interval(TICK);
            loop {
                timer.tick().await;
                world.tick();
            }
        });
        Ok(Self { kind: Kind::Imitated(moves), systems, image, user_data: UserData::encode(USER_DATA) })
    }

    /// The real ones; a server's machine is a container that boots with cloud-init.
    pub(crate) async fn real() -> anyhow::Result<Self> {
        let label = sandbox::label();
        say(&format!("SLURM 26.05 and OpenStack start in containers, label {label} (up to a minute)"));
        let services = Box::pin(Services::start(Run::new(), say)).await?;
        Ok(Self {
            systems: services.systems.clone(),
            image: services.image.clone(),
            user_data: UserData::encode(services.run.user_data().as_bytes()),
            kind: Kind::Real(services.into()),
        })
    }

    /// Fails if they do not move on any more.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        match &self.kind {
            Kind::Imitated(moves) => ensure!(!moves.is_finished(), "the imitated SLURM and OpenStack ended"),
            Kind::Real(services) => services.room.check()?,
        }
        Ok(())
    }

    /// What a person may try in them.
    pub(crate) fn tries(&self) -> Vec<String> {
        let Kind::Real(services) = &self.kind else { return Vec::new() };
        let (run, admin) =
            (&services.run, "-e OS_USERNAME=admin -e OS_PASSWORD=admin -e OS_PROJECT_NAME=admin");
        let domain = "-e OS_USER_DOMAIN_NAME=Default -e OS_PROJECT_DOMAIN_NAME=Default";
        let keystone = format!("-e OS_AUTH_URL={}", self.systems.keystone);
        vec![
            format!("docker exec {} sinfo --Node --long", run.controller),
            format!("docker exec {} scontrol show node gpu-001", run.controller),
            format!("docker logs node-1-{}", run.id),
            format!(
                "docker exec {keystone} {admin} {domain} os-{} openstack server list --all-projects",
                run.id
            ),
        ]
    }

    /// Ends them.
    pub(crate) async fn end(self) -> anyhow::Result<()> {
        match self.kind {
            Kind::Imitated(moves) => moves.abort(),
            Kind::Real(services) => {
                services.end().await?;
                say("every container is gone");
            }
        }
        Ok(())
    }
}
