//! What the demo shows, in order.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use clients::hub::Hub as HubApi;
use fakes::{CloudOptions, SlurmOptions, World};
use model::{BootstrapDraft, DeviceId, NodeSource, SiteId, UserData};
use sandbox::{Hub, PRINCIPALS, Process, Site, Systems, Temporal, Tuning, binary, check_ports, folder};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::follow::{End, adopt, until_ready};
use crate::{line, say};

/// The demo's ports; what listens there is named when one is taken.
const PORTS: [(&str, u16); 4] =
    [("Temporal", 7233), ("Temporal's UI", 8233), ("the hub", 8080), ("the worker's metrics", 9464)];
/// Imitated machines move on so often.
const TICK: Duration = Duration::from_secs(1);
/// The demo takes no longer.
const CEILING: Duration = Duration::from_secs(120);
/// The poll's interval, in seconds.
const POLL: u32 = 2;

/// Device, role, machine.
const DEVICES: [(&str, &str, &str); 3] =
    [("gpu-001", "gpu", "node-1"), ("cpu-001", "cpu", "node-2"), ("new-001", "new", "node-3")];

/// Tells it. What runs is handed on: it ends with it.
pub(crate) async fn tell() -> anyhow::Result<Running> {
    line("slurm-satellite: one site on this machine. Temporal, the hub and the worker are the real ones;");
    line("SLURM and OpenStack are imitated, so no Docker is needed.\n");
    check_ports(&PORTS)?;
    let folder = folder("demo")?;
    let mut running = Running::start(&folder).await?;
    let squad = running.hub.api("fleet-squad", &SiteId::parse("lab")?)?;
    write_rows(&running).await?;

    say("the fleet squad adopts gpu-001, cpu-001 and new-001");
    let ids = DEVICES.map(|(id, ..)| DeviceId::parse(id));
    let [gpu, cpu, new] = ids;
    let (gpu, cpu, new) = (gpu?, cpu?, new?);
    let all = async {
        tokio::try_join!(
            adopt(&squad, &gpu),
            adopt(&squad, &cpu),
            adopt(&squad, &new),
            until_ready(&squad, &gpu),
            until_ready(&squad, &cpu),
        )
    };
    let (gpu, cpu, new, ..) = tokio::select! {
        ends = all => ends?,
        died = running.watch() => return Err(died),
        () = tokio::time::sleep(CEILING) => bail!("not done within {} s; see the logs", CEILING.as_secs()),
    };
    check_ends(&(gpu, cpu, new))?;
    summary(&squad, &running).await?;
    Ok(running)
}

/// Everything that runs. Ends with this value.
pub(crate) struct Running {
    folder: PathBuf,
    temporal: Temporal,
    hub: Hub,
    worker: Process,
    imitated: JoinHandle<()>,
    image: String,
}

impl Running {
    async fn start(folder: &Path) -> anyhow::Result<Self> {
        say("Temporal's dev server starts");
        let temporal = Temporal::start(folder, "lab", PORTS[0].1, Some(PORTS[1].1)).await?;
        say(&format!("Temporal is up; its UI: {}", ui(&temporal)));
        let devices = DEVICES.map(|(id, role, machine)| {
            json!({"id": id, "site_id": "lab", "name": id, "role": role, "nova_host": machine})
        });
        let hub = Hub::start(folder, &temporal, PORTS[2].1, &PRINCIPALS, &json!(devices)).await?;
        say(&format!("the hub is up at {}, with {} devices", hub.url, DEVICES.len()));
        let (systems, imitated, image) = imitate().await?;
        say(&format!("SLURM is imitated at {}, OpenStack at {}", systems.slurm, systems.keystone));
        let tuning = Tuning { poll_seconds: POLL, http_port: PORTS[3].1, log: "info" };
        let site = Site::configure(folder, &temporal, &hub, &systems, tuning)?;
        let worker = site.worker(&binary("satellite")?)?;
        say("the site's worker runs");
        Ok(Self { folder: folder.to_owned(), temporal, hub, worker, imitated, image })
    }

    /// Returns when something that should run has ended, with what it said.
    async fn watch(&mut self) -> anyhow::Error {
        loop {
            if let Err(died) = self.check() {
                return died;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    fn check(&mut self) -> anyhow::Result<()> {
        self.temporal.process.check()?;
        self.hub.process.check()?;
        self.worker.check()?;
        ensure!(!self.imitated.is_finished(), "the imitated SLURM and OpenStack ended");
        Ok(())
    }

    /// Stays up until Ctrl-C.
    pub(crate) async fn keep(mut self) -> anyhow::Result<()> {
        let key = self.folder.join("fleet-squad.pem");
        line("\nIt stays up until Ctrl-C. Try, in another terminal:");
        line(&format!("  export FLEET_HUB_URL={} FLEET_SITE=lab FLEET_CLIENT_ID=fleet-squad", self.hub.url));
        line(&format!("  export FLEET_KEY_FILE={}", key.display()));
        let satellite = binary("satellite")?;
        line(&format!("  {} start adopt gpu-001 --dry-run", satellite.display()));
        line(&format!("  {} start resume cpu-001", satellite.display()));
        tokio::select! {
            _ = tokio::signal::ctrl_c() => say("ending"),
            died = self.watch() => return Err(died),
        }
        Ok(())
    }
}

/// SLURM and OpenStack, imitated; their machines move on by a timer of ours. Returns where they are,
/// what moves them, and the image to boot.
async fn imitate() -> anyhow::Result<(Systems, JoinHandle<()>, String)> {
    let now = jiff::Timestamp::now().as_second();
    let slurm = SlurmOptions { now, ..SlurmOptions::default() };
    let cloud = CloudOptions { now, ..CloudOptions::default() };
    let password = cloud.password.clone();
    let world = World::start(slurm, cloud).await?;
    let systems = Systems {
        slurm: world.slurm.url().to_owned(),
        slurm_token: world.slurm.token("root"),
        keystone: world.cloud.keystone_url(),
        password,
    };
    let image = world.cloud.image_id("slurm-node-a").context("image")?;
    let imitated = tokio::spawn(async move {
        let mut timer = tokio::time::interval(TICK);
        loop {
            timer.tick().await;
            world.tick();
        }
    });
    Ok((systems, imitated, image))
}

impl Drop for Running {
    fn drop(&mut self) {
        self.imitated.abort();
    }
}

fn ui(temporal: &Temporal) -> &str {
    temporal.ui.as_deref().unwrap_or_default()
}

/// The rows of the three roles, as HPC people write them: the last one's flavor is still null.
async fn write_rows(running: &Running) -> anyhow::Result<()> {
    let hpc = running.hub.api("hpc-lab", &SiteId::parse("lab")?)?;
    let user_data = UserData::encode(
        b"## template: jinja\n#cloud-config\nruncmd:\n  - slurmd -Z --conf '{{ ds.meta_data.meta.fleet_slurm_conf }}'\n",
    );
    let row = |role: &str, flavor: Option<&str>, features: &[&str], gres: &str| BootstrapDraft {
        device_role: role.to_owned(),
        image: Some(running.image.clone()),
        flavor: flavor.map(str::to_owned),
        features: features.iter().map(|f| (*f).to_owned()).collect(),
        gres: gres.to_owned(),
        user_data: Some(user_data.clone()),
        node_source: NodeSource::Registers,
    };
    for draft in [
        row("gpu", Some("bm.small"), &["dyn", "h100"], "gpu:h100:4"),
        row("cpu", Some("bm.small"), &["dyn"], ""),
        row("new", None, &["dyn"], ""),
    ] {
        hpc.create_bootstrap_config(&draft).await?;
        let flavor = draft.flavor.as_deref().unwrap_or("still null");
        say(&format!("HPC writes the row of role {}: flavor {flavor}", draft.device_role));
    }
    Ok(())
}

fn check_ends((gpu, cpu, new): &(End, End, End)) -> anyhow::Result<()> {
    for end in [gpu, cpu] {
        if let End::Failed(failure) = end {
            bail!("an adoption failed: {}: {}", failure.code, failure.message);
        }
    }
    match new {
        End::Failed(failure) if failure.code == "bootstrap.incomplete" => {
            say("that is as it should be: a row with a null flavor spoils its own role alone");
            Ok(())
        }
        End::Failed(failure) => bail!("new-001 failed otherwise: {}: {}", failure.code, failure.message),
        End::Adopted => bail!("new-001 was adopted on a row without a flavor"),
    }
}

async fn summary(hub: &HubApi, running: &Running) -> anyhow::Result<()> {
    line("\n  device    role  server                                status");
    for (id, role, _) in DEVICES {
        let device = hub.device(&DeviceId::parse(id)?).await?.context("device")?;
        let server = device.server_id.map_or_else(|| "none".to_owned(), |s| s.to_string());
        line(&format!("  {id:<8}  {role:<4}  {server:<36}  {}", device.status.as_str()));
    }
    line(&format!("\n  Temporal's UI  {}", ui(&running.temporal)));
    line(&format!("  logs           {}", running.folder.display()));
    say("all went as it should");
    Ok(())
}
