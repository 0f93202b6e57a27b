//! Everything that runs: Temporal, the hub, SLURM and OpenStack, the worker.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sandbox::{Hub, PRINCIPALS, Process, Site, Temporal, Tuning, binary, check_ports, folder};
use serde_json::json;
use tokio::signal::unix::Signal;

use crate::world::World;
use crate::{line, say};

/// The ports; what listens there is named when one is taken.
const PORTS: [(&str, u16); 4] =
    [("Temporal", 7233), ("Temporal's UI", 8233), ("the hub", 8080), ("the worker's metrics", 9464)];

/// A device of the site: its id, its role, its machine.
pub(crate) type Device = (&'static str, &'static str, &'static str);

/// What is to run.
pub(crate) struct Plan {
    /// The folder below `target` for logs, keys and settings.
    pub(crate) folder: &'static str,
    /// Whether SLURM and OpenStack are the real ones.
    pub(crate) real: bool,
    /// The worker.
    pub(crate) satellite: PathBuf,
    /// The poll's interval, in seconds.
    pub(crate) poll_seconds: u32,
    /// The site's devices.
    pub(crate) devices: [Device; 3],
}

/// It runs. Ends with this value; real services are ended with [`Self::end`].
pub(crate) struct Running {
    pub(crate) folder: PathBuf,
    temporal: Temporal,
    pub(crate) hub: Hub,
    pub(crate) worker: Process,
    pub(crate) world: World,
}

impl Running {
    pub(crate) async fn start(plan: &Plan) -> anyhow::Result<Self> {
        check_ports(&PORTS)?;
        let folder = folder(plan.folder)?;
        let world = async { if plan.real { World::real().await } else { World::imitate().await } };
        let ((temporal, hub), world) = tokio::try_join!(fleet(&folder, &plan.devices), world)?;
        let tuning = Tuning { poll_seconds: plan.poll_seconds, http_port: PORTS[3].1, log: "info" };
        let site = Site::configure(&folder, &temporal, &hub, &world.systems, tuning)?;
        site.burn_in_as("bob")?;
        let worker = site.worker(&plan.satellite)?;
        say("the site's worker runs; no node is opened before it has passed deploy/burn-in");
        Ok(Self { folder, temporal, hub, worker, world })
    }

    /// The URL of Temporal's UI.
    pub(crate) fn ui(&self) -> &str {
        self.temporal.ui.as_deref().unwrap_or_default()
    }

    /// The root URL of the worker's probes and metrics.
    pub(crate) fn probes(&self) -> String {
        format!("http://127.0.0.1:{}", PORTS[3].1)
    }

    /// Returns when something that should run has ended, with what it said.
    pub(crate) async fn watch(&mut self) -> anyhow::Error {
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
        self.world.check()
    }

    /// Stays up until Ctrl-C.
    pub(crate) async fn keep(&mut self, interrupt: &mut Signal) -> anyhow::Result<()> {
        let key = self.folder.join("fleet-squad.pem");
        line("\nIt stays up until Ctrl-C. Try, in another terminal:");
        line(&format!("  export FLEET_HUB_URL={} FLEET_SITE=lab FLEET_CLIENT_ID=fleet-squad", self.hub.url));
        line(&format!("  export FLEET_KEY_FILE={}", key.display()));
        let satellite = binary("satellite")?;
        line(&format!("  {} start adopt gpu-001 --dry-run", satellite.display()));
        line(&format!("  {} start drain cpu-001 --reason 'swap a DIMM'", satellite.display()));
        line(&format!("  {} start resume cpu-001", satellite.display()));
        for command in self.world.tries() {
            line(&format!("  {command}"));
        }
        tokio::select! {
            _ = interrupt.recv() => say("ending"),
            died = self.watch() => return Err(died),
        }
        Ok(())
    }

    /// Ends it.
    pub(crate) async fn end(self) -> anyhow::Result<()> {
        let Self { world, worker, .. } = self;
        drop(worker);
        world.end().await
    }
}

/// Temporal, and the hub with these devices.
async fn fleet(folder: &Path, devices: &[Device]) -> anyhow::Result<(Temporal, Hub)> {
    say("Temporal's dev server starts");
    let temporal = Temporal::start(folder, "lab", PORTS[0].1, Some(PORTS[1].1)).await?;
    say(&format!("Temporal is up; its UI: {}", temporal.ui.as_deref().unwrap_or_default()));
    let devices: Vec<_> = devices
        .iter()
        .map(|(id, role, machine)| {
            json!({"id": id, "site_id": "lab", "name": id, "role": role, "nova_host": machine})
        })
        .collect();
    let hub = Hub::start(folder, &temporal, PORTS[2].1, &PRINCIPALS, &json!(devices)).await?;
    say(&format!("the hub is up at {}, with {} devices", hub.url, devices.len()));
    Ok((temporal, hub))
}
