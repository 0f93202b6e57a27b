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
use tokio::signal::unix::{Signal, SignalKind, signal};

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
    let ended = run(Arguments::parse()).await;
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            line(&format!("it failed: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> anyhow::Result<()> {
    // one listener from the beginning to the end: a Ctrl-C that comes between two would be lost
    let mut interrupt = signal(SignalKind::interrupt())?;
    if let Some(satellite) = arguments.idle {
        return interruptible(&mut interrupt, Box::pin(idle::measure(satellite))).await;
    }
    let mut running = interruptible(&mut interrupt, Box::pin(story::tell(arguments.real))).await?;
    let kept = if arguments.keep { running.keep(&mut interrupt).await } else { Ok(()) };
    running.end().await.and(kept)
}

async fn interruptible<T>(
    interrupt: &mut Signal,
    all: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<T> {
    tokio::select! {
        ended = all => ended,
        _ = interrupt.recv() => Err(anyhow::anyhow!("stopped by Ctrl-C")),
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
