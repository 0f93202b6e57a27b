//! Following a run, a line a step.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clients::hub::Hub;
use model::{DeviceId, RunStatus, RunView};

use super::say;

/// How often a run is looked at.
const EVERY: Duration = Duration::from_millis(500);
/// Ended by Ctrl-C, as shells write it: 128 and SIGINT's number.
const EXIT_INTERRUPTED: u8 = 130;

/// Prints a line whenever something new is to be said, and ends as the run did: well where it reached its
/// goal, or ended as `wanted`. Ctrl-C ends the following alone.
pub(super) async fn follow(
    hub: &Hub,
    device: &DeviceId,
    view: RunView,
    wanted: RunStatus,
) -> anyhow::Result<ExitCode> {
    let run = view.run_id.clone();
    tokio::select! {
        end = until_end(hub, device, view, wanted) => end,
        interrupted = tokio::signal::ctrl_c() => {
            interrupted?;
            say(&format!(
                "no longer followed: the run goes on; `satellite stop {device} {run}` ends it at its next closed point"
            ));
            Ok(ExitCode::from(EXIT_INTERRUPTED))
        }
    }
}

async fn until_end(
    hub: &Hub,
    device: &DeviceId,
    mut view: RunView,
    wanted: RunStatus,
) -> anyhow::Result<ExitCode> {
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
                let well = view.status == wanted;
                return Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE });
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
