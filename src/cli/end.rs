//! `satellite stop DEVICE` and `satellite cancel DEVICE`: end what is being done to a device.

use std::process::ExitCode;

use clap::Args;
use clients::Kind;
use clients::hub::Hub;
use model::{DeviceId, RunStatus, SiteId};

use super::follow::follow;
use super::identity::Identity;
use super::say;

/// Ends a run of a device.
#[derive(Debug, Args)]
pub(crate) struct End {
    /// The hub's device id.
    device: DeviceId,
    /// The run; default: the one that is running.
    run: Option<String>,
    /// The site.
    #[arg(long, env = "FLEET_SITE")]
    site: SiteId,
    /// As whom; needs the scopes device-workflow:cancel and device-workflow:read.
    #[command(flatten)]
    identity: Identity,
    /// Tell it, and do not follow it to its end.
    #[arg(long)]
    no_wait: bool,
}

/// How.
#[derive(Debug, Clone, Copy)]
pub(crate) enum How {
    /// At its next closed point.
    Stop,
    /// Where it is.
    Cancel,
}

/// Tells the run, and follows it.
pub(crate) async fn run(end: &End, how: How) -> anyhow::Result<ExitCode> {
    let device = &end.device;
    let hub = Hub::new(end.identity.hub.clone(), end.site.clone(), end.identity.principal()?)?;
    let run = match &end.run {
        Some(run) => run.clone(),
        None => running(&hub, device).await?,
    };
    let (told, word, wanted) = match how {
        How::Stop => {
            (hub.stop(device, &run).await, "told to stop at its next closed point", RunStatus::Completed)
        }
        How::Cancel => (hub.cancel(device, &run).await, "told to end", RunStatus::Canceled),
    };
    let view = told.map_err(|e| match &e.kind {
        Kind::Conflict(said) => anyhow::anyhow!("{device}: {said}"),
        _ => anyhow::Error::from(e),
    })?;
    say(&format!("{} {device} · request {} · run {run} · {word}", view.verb.as_str(), view.request_id));
    if end.no_wait {
        return Ok(ExitCode::SUCCESS);
    }
    follow(&hub, device, view, wanted).await
}

/// The run that holds the device.
async fn running(hub: &Hub, device: &DeviceId) -> anyhow::Result<String> {
    let runs = hub.runs(device).await?;
    let running = runs.into_iter().find(|r| r.status == RunStatus::Running);
    running
        .map(|r| r.run_id)
        .ok_or_else(|| anyhow::anyhow!("{device}: no run of it that was started through the hub is running"))
}
