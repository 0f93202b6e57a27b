//! What the demo shows, in order. Imitated or real, it is the same story.

use std::time::Duration;

use anyhow::{Context as _, bail};
use clients::hub::Hub as HubApi;
use model::{DeviceId, SiteId};
use sandbox::binary;

use crate::follow::{End, adopt, until_ready};
use crate::running::{Device, Plan, Running};
use crate::{line, rows, say};

/// From the first adoption on it takes no longer.
const CEILING: Duration = Duration::from_secs(120);
/// The same where machines boot.
const CEILING_REAL: Duration = Duration::from_secs(240);
/// The poll's interval, in seconds.
const POLL: u32 = 2;

/// The last one's role has an incomplete row.
const DEVICES: [Device; 3] =
    [("gpu-001", "gpu", "node-1"), ("cpu-001", "cpu", "node-2"), ("new-001", "new", "node-3")];

/// Tells it. What runs is handed on.
pub(crate) async fn tell(real: bool) -> anyhow::Result<Running> {
    line("slurm-satellite: one site on this machine. Temporal, the hub and the worker are the real ones;");
    line(if real {
        "SLURM, Keystone, Glance, Placement and Nova too; machines are containers that boot with cloud-init.\n"
    } else {
        "SLURM and OpenStack are imitated, so no Docker is needed.\n"
    });
    let plan =
        Plan { folder: "demo", real, satellite: binary("satellite")?, poll_seconds: POLL, devices: DEVICES };
    let mut running = Running::start(&plan).await?;
    let squad = running.hub.api("fleet-squad", &SiteId::parse("lab")?)?;
    rows::write(&running).await?;

    say("the fleet squad adopts gpu-001, cpu-001 and new-001");
    let [gpu, cpu, new] = DEVICES.map(|(id, ..)| DeviceId::parse(id));
    let (gpu, cpu, new) = (gpu?, cpu?, new?);
    let ceiling = if real { CEILING_REAL } else { CEILING };
    let opened = async |device| adopt(&squad, device, ceiling).await?.check();
    let all = async {
        tokio::try_join!(
            adopt(&squad, &new, ceiling),
            opened(&gpu),
            opened(&cpu),
            until_ready(&squad, &gpu),
            until_ready(&squad, &cpu),
        )
    };
    let (new, ..) = tokio::select! {
        ends = all => ends?,
        died = running.watch() => return Err(died),
        () = tokio::time::sleep(ceiling) => bail!("not done within {} s; see the logs", ceiling.as_secs()),
    };
    match new {
        End::Failed(failure) if failure.code == "bootstrap.incomplete" => {
            say("that is as it should be: a row with a null flavor spoils its own role alone");
        }
        End::Failed(failure) => bail!("new-001 failed otherwise: {}: {}", failure.code, failure.message),
        End::Adopted => bail!("new-001 was adopted on a row without a flavor"),
    }
    summary(&squad, &running).await?;
    Ok(running)
}

async fn summary(hub: &HubApi, running: &Running) -> anyhow::Result<()> {
    line("\n  device    role  server                                status");
    for (id, role, _) in DEVICES {
        let device = hub.device(&DeviceId::parse(id)?).await?.context("device")?;
        let server = device.server_id.map_or_else(|| "none".to_owned(), |s| s.to_string());
        line(&format!("  {id:<8}  {role:<4}  {server:<36}  {}", device.status.as_str()));
    }
    line(&format!("\n  Temporal's UI  {}", running.ui()));
    line(&format!("  logs           {}", running.folder.display()));
    say("all went as it should");
    Ok(())
}
