//! `satellite start VERB DEVICE`: through the hub.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use clients::Kind;
use clients::hub::Hub;
use model::{AtDeadline, DeviceId, DrainReason, RequestId, RunStatus, SiteId, StartRequest, Verb};

use super::follow::follow;
use super::identity::Identity;
use super::{EXIT_USAGE, say, say_error};

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
    /// Adopt: plan, and stop there.
    #[arg(long)]
    dry_run: bool,
    /// All but drain: go on where somebody else has drained the node. Your name stands in the run; needs the
    /// scope device-workflow:force.
    #[arg(long)]
    force: bool,
    /// Adopt and resume: open the node without a burn-in. Your name stands in the run.
    #[arg(long)]
    skip_burn_in: bool,
    /// Adopt: seconds it may take. Drain and release: seconds the jobs on the node may run on. Burn-in:
    /// seconds until it starts. Default: the verb's own (2 h; drain and release 8 days).
    #[arg(long, value_name = "SECONDS")]
    deadline: Option<u32>,
    /// Drain and release: what becomes of jobs that still run at the deadline. Default: fail, and they run on.
    #[arg(long, value_name = "WHAT")]
    at_deadline: Option<AtDeadlineName>,
    /// Burn-in: a test of the site's catalogue, by name; may be given again. Default: those of its settings.
    #[arg(long = "test", value_name = "NAME")]
    tests: Vec<String>,
    /// Burn-in: a batch script in place of the tests, where the site allows it.
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Burn-in: seconds the script may run. Default: 600.
    #[arg(long, value_name = "SECONDS")]
    time_limit: Option<u32>,
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
    /// Make the device a SLURM node, burn it in, and open it.
    Adopt,
    /// Drain its node and wait until the last job has ended by itself.
    Drain,
    /// Drain it, delete its server, and take it out of SLURM.
    Release,
    /// Run tests on its node while it is closed to users, and leave it closed.
    BurnIn,
    /// Burn its node in, and open it.
    Resume,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum AtDeadlineName {
    /// The drain fails; the node stays drained, and the jobs run on.
    Fail,
    /// The jobs are cancelled. Refused at the start where SLURM cannot do that safely.
    CancelJobs,
}

impl From<AtDeadlineName> for AtDeadline {
    fn from(name: AtDeadlineName) -> Self {
        match name {
            AtDeadlineName::Fail => Self::Fail,
            AtDeadlineName::CancelJobs => Self::CancelJobs,
        }
    }
}

impl From<VerbName> for Verb {
    fn from(name: VerbName) -> Self {
        match name {
            VerbName::Adopt => Self::Adopt,
            VerbName::Drain => Self::Drain,
            VerbName::Release => Self::Release,
            VerbName::BurnIn => Self::BurnIn,
            VerbName::Resume => Self::Resume,
        }
    }
}

/// Starts it, prints a line whenever something new is to be said, and ends as the run did.
pub(crate) async fn run(start: &Start) -> anyhow::Result<ExitCode> {
    let body = body(start)?;
    let mistakes = body.mistakes();
    if !mistakes.is_empty() {
        for mistake in mistakes {
            let flag = flag(&mistake.field);
            say_error(&mistake.named(&flag).to_string());
        }
        return Ok(ExitCode::from(EXIT_USAGE));
    }
    let identity = &start.identity;
    let hub = Hub::new(identity.hub.clone(), start.site.clone(), identity.principal()?)?;
    let request = match &start.request {
        Some(request) => request.clone(),
        None => RequestId::parse(&uuid::Uuid::new_v4().to_string())?,
    };
    let view = hub.start(&start.device, &request, &body).await.map_err(|e| match &e.kind {
        Kind::Conflict(holder) => anyhow::anyhow!("{} is busy: {holder}", start.device),
        _ => anyhow::Error::from(e),
    })?;
    say(&format!("{} {} · request {request} · run {}", view.verb.as_str(), view.device_id, view.run_id));
    if start.no_wait {
        return Ok(ExitCode::SUCCESS);
    }
    follow(&hub, &start.device, view, RunStatus::Completed).await
}

/// What is asked, with the script's text.
fn body(start: &Start) -> anyhow::Result<StartRequest> {
    Ok(StartRequest {
        dry_run: start.dry_run,
        force: start.force,
        skip_burn_in: start.skip_burn_in,
        deadline_seconds: start.deadline,
        at_deadline: start.at_deadline.map(Into::into),
        tests: start.tests.clone(),
        script: start.script.as_deref().map(read).transpose()?,
        time_limit_seconds: start.time_limit,
        ..StartRequest::new(start.verb.into(), start.reason.clone())
    })
}

fn read(script: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(script)
        .map_err(|e| anyhow::anyhow!("--script: {} cannot be read: {}", script.display(), e.kind()))
}

/// A field of the request as it is called here.
fn flag(field: &str) -> String {
    match field {
        "deadline_seconds" => "--deadline".to_owned(),
        "time_limit_seconds" => "--time-limit".to_owned(),
        tests if tests.starts_with("tests") => "--test".to_owned(),
        other => format!("--{}", other.replace('_', "-")),
    }
}
