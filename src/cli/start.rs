//! `satellite start adopt|resume DEVICE`: through the hub, a line a step.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use clients::Kind;
use clients::hub::Hub;
use model::{DeviceId, DrainReason, RequestId, RunStatus, RunView, SiteId, StartRequest, Verb};

use super::identity::Identity;
use super::say;

/// How often a run is looked at.
const EVERY: Duration = Duration::from_millis(500);

/// Starts a verb on a device.
#[derive(Debug, Args)]
pub(crate) struct Start {
    /// What to do.
    verb: VerbName,
    /// The hub's device id.
    device: DeviceId,
    /// Why, in your words: the last part of the mark on the node.
    #[arg(long, default_value = "asked by hand", value_parser = DrainReason::parse)]
    reason: DrainReason,
    /// Adopt only: plan, and stop there.
    #[arg(long)]
    dry_run: bool,
    /// Seconds the whole may take; default: the verb's own.
    #[arg(long, value_name = "SECONDS")]
    deadline: Option<u32>,
    /// The idempotency key; the same one again follows the same run. Default: a new one.
    #[arg(long, value_name = "ID")]
    request: Option<RequestId>,
    /// The site.
    #[arg(long, env = "FLEET_SITE")]
    site: SiteId,
    /// As whom; needs the scopes device-workflow:start and device-workflow:read.
    #[command(flatten)]
    identity: Identity,
    /// Start it, and do not follow it.
    #[arg(long)]
    no_wait: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum VerbName {
    Adopt,
    Resume,
}

impl From<VerbName> for Verb {
    fn from(name: VerbName) -> Self {
        match name {
            VerbName::Adopt => Self::Adopt,
            VerbName::Resume => Self::Resume,
        }
    }
}

/// Starts it, prints a line whenever something new is to be said, and ends as the run did.
pub(crate) async fn run(start: &Start) -> anyhow::Result<ExitCode> {
    let identity = &start.identity;
    let hub = Hub::new(identity.hub.clone(), start.site.clone(), identity.principal()?)?;
    let request = match &start.request {
        Some(request) => request.clone(),
        None => RequestId::parse(&uuid::Uuid::new_v4().to_string())?,
    };
    let body = StartRequest {
        verb: start.verb.into(),
        reason: start.reason.clone(),
        dry_run: start.dry_run,
        deadline_seconds: start.deadline,
    };
    let view = hub.start(&start.device, &request, &body).await.map_err(|e| match &e.kind {
        Kind::Conflict(holder) => anyhow::anyhow!("{} is busy: {holder}", start.device),
        _ => anyhow::Error::from(e),
    })?;
    say(&format!("{} {} · request {request} · run {}", view.verb.as_str(), view.device_id, view.run_id));
    if start.no_wait {
        return Ok(ExitCode::SUCCESS);
    }
    follow(&hub, &start.device, view).await
}

async fn follow(hub: &Hub, device: &DeviceId, mut view: RunView) -> anyhow::Result<ExitCode> {
    let mut said = String::new();
    loop {
        if let Some(line) = progress_line(&view).filter(|l| *l != said) {
            say(&line);
            said = line;
        }
        match view.status {
            RunStatus::Running => {}
            RunStatus::Completed => {
                say(&format!("done: {}", view.result.unwrap_or_default()));
                return Ok(ExitCode::SUCCESS);
            }
            RunStatus::Failed | RunStatus::Canceled | RunStatus::Terminated | RunStatus::TimedOut => {
                say(&failure_line(&view));
                return Ok(ExitCode::FAILURE);
            }
        }
        tokio::time::sleep(EVERY).await;
        view = hub.run(device, &view.run_id).await?.context("the hub has forgotten the run")?;
    }
}

fn progress_line(view: &RunView) -> Option<String> {
    let progress = view.progress.as_ref()?;
    let attempt =
        if progress.attempt > 1 { format!(" (attempt {})", progress.attempt) } else { String::new() };
    let waiting = if progress.waiting_for.is_empty() { "" } else { " · waiting: " };
    Some(format!("  {}{attempt}{waiting}{}", progress.step, progress.waiting_for))
}

fn failure_line(view: &RunView) -> String {
    match &view.failure {
        Some(f) if f.remedy.is_empty() => format!("failed: {}: {}", f.code, f.message),
        Some(f) => format!("failed: {}: {}; {}", f.code, f.message, f.remedy),
        None => format!("ended: {:?}", view.status).to_lowercase(),
    }
}
