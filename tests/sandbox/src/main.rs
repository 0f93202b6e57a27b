//! `make demo` and `make demo-real`: adopts three devices on a site that runs on this machine, and
//! shows how. `make idle`: what the site's worker takes while there is nothing to do.

mod follow;
mod idle;
mod rows;
mod running;
mod story;
mod world;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::LazyLock;
use std::time::Instant;

use clap::Parser as _;

/// When it began.
static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// A site on this machine: the demo, or what an idle worker takes.
#[derive(clap::Parser)]
struct Arguments {
    /// Real SLURM, OpenStack and cloud-init, in containers.
    #[arg(long)]
    real: bool,
    /// The demo stays up until Ctrl-C.
    #[arg(long)]
    keep: bool,
    /// No demo: measures this build of the worker while it is idle.
    #[arg(long, value_name = "SATELLITE", conflicts_with_all = ["real", "keep"])]
    idle: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> ExitCode {
    LazyLock::force(&BEGAN);
    let arguments = Arguments::parse();
    let ended = match arguments.idle {
        Some(satellite) => interruptible(Box::pin(idle::measure(satellite))).await,
        None => demo(arguments.real, arguments.keep).await,
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            line(&format!("it failed: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

async fn demo(real: bool, keep: bool) -> anyhow::Result<()> {
    let mut running = interruptible(Box::pin(story::tell(real))).await?;
    let kept = if keep { running.keep().await } else { Ok(()) };
    running.end().await.and(kept)
}

async fn interruptible<T>(all: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::select! {
        ended = all => ended,
        _ = tokio::signal::ctrl_c() => Err(anyhow::anyhow!("stopped by Ctrl-C")),
    }
}

/// A line with the time since the beginning.
fn say(what: &str) {
    line(&format!("{:6.1} s  {what}", BEGAN.elapsed().as_secs_f32()));
}

#[expect(clippy::print_stdout, reason = "it talks to a person")]
fn line(text: &str) {
    println!("{text}");
}
