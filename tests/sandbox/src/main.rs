//! `make demo`: adopts three devices on a site that runs on this machine, and shows how.

mod follow;
mod story;

use std::process::ExitCode;
use std::sync::LazyLock;
use std::time::Instant;

/// When the demo began.
static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

#[tokio::main]
async fn main() -> ExitCode {
    LazyLock::force(&BEGAN);
    let told = tokio::select! {
        told = story::tell() => told,
        _ = tokio::signal::ctrl_c() => Err(anyhow::anyhow!("stopped by Ctrl-C")),
    };
    let ended = match told {
        Ok(running) if std::env::args().any(|a| a == "--keep") => running.keep().await,
        Ok(_) => Ok(()),
        Err(error) => Err(error),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            line(&format!("the demo failed: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// A line with the time since the beginning.
fn say(what: &str) {
    line(&format!("{:6.1} s  {what}", BEGAN.elapsed().as_secs_f32()));
}

#[expect(clippy::print_stdout, reason = "the demo talks to a person")]
fn line(text: &str) {
    println!("{text}");
}
