//! `fleet-hub`: serves the reference Fleet Manager, and imports devices.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use hub::config::{Config, Mistakes};
use hub::db::Store;
use hub::{Hub, clock, import, router};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

/// Exit status of a wrong configuration or import file (sysexits' EX_USAGE).
const USAGE: u8 = 64;

/// How long requests in flight may take after a signal.
const GRACE: Duration = Duration::from_secs(15);

/// The reference Fleet Manager.
#[derive(Parser)]
#[command(name = "fleet-hub", version)]
struct Command {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Serves the hub until SIGTERM or SIGINT.
    Serve {
        /// hub.toml.
        #[arg(long)]
        config: PathBuf,
    },
    /// Writes devices into the hub's database, all or none; works beside a running server.
    Import {
        /// hub.toml.
        #[arg(long)]
        config: PathBuf,
        /// A JSON list of {id, site_id, name, role, slurm_node_name?, nova_host?}.
        devices: PathBuf,
    },
}

/// Why the hub ends badly.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Mistakes(#[from] Mistakes),
    #[error("{0} failed")]
    Failed(&'static str, #[source] Box<dyn std::error::Error + Send + Sync>),
}

#[tokio::main]
async fn main() -> ExitCode {
    let command = Command::parse();
    start_logging();
    let outcome = match &command.verb {
        Verb::Serve { config } => serve(config).await,
        Verb::Import { config, devices } => import_devices(config, devices).await,
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Error::Mistakes(mistakes)) => {
            print_error(&mistakes.to_string());
            ExitCode::from(USAGE)
        }
        Err(Error::Failed(what, source)) => {
            tracing::error!(error = source.as_ref(), "{what} failed");
            ExitCode::FAILURE
        }
    }
}

fn start_logging() {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
}

async fn serve(file: &Path) -> Result<(), Error> {
    let config = Config::load(file)?;
    let store = open(&config).await?;
    let failed = |what| move |e: std::io::Error| Error::Failed(what, e.into());
    let listener = TcpListener::bind(config.listen).await.map_err(failed("listening"))?;
    let address = listener.local_addr().map_err(failed("listening"))?;
    let stop = stopped().map_err(failed("watching for signals"))?;
    let router = router(Hub::new(config, store, clock::system()));
    print(&format!("fleet-hub listens on http://{address}"));
    tracing::info!(%address, "listening");
    let (told, ending) = tokio::sync::oneshot::channel();
    let server = axum::serve(listener, router).with_graceful_shutdown(async move {
        stop.await;
        // nobody listens any more when the server has ended by itself
        let _ = told.send(());
    });
    tokio::select! {
        served = server.into_future() => served.map_err(failed("serving"))?,
        () = grace(ending) => tracing::warn!("requests were still open"),
    }
    tracing::info!("ended");
    Ok(())
}

/// Ends when requests in flight have had their time after a signal.
async fn grace(ending: tokio::sync::oneshot::Receiver<()>) {
    match ending.await {
        Ok(()) => tokio::time::sleep(GRACE).await,
        Err(_) => std::future::pending().await,
    }
}

/// Ends with the first SIGTERM or SIGINT.
fn stopped() -> std::io::Result<impl Future<Output = ()> + Send + 'static> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

async fn import_devices(file: &Path, devices: &Path) -> Result<(), Error> {
    let config = Config::load(file)?;
    let store = open(&config).await?;
    let done = import::run(devices, &config, &store).await.map_err(|error| match error {
        import::Error::Mistakes(mistakes) => Error::Mistakes(mistakes),
        import::Error::Store(source) => Error::Failed("writing", source.into()),
    })?;
    print(&format!("{} devices, {} changed", done.devices, done.changed));
    Ok(())
}

async fn open(config: &Config) -> Result<Store, Error> {
    let sites: Vec<_> = config.sites.keys().cloned().collect();
    let store = Store::open(&config.database, &sites).await;
    store.map_err(|e| Error::Failed("opening the database", e.into()))
}

#[expect(clippy::print_stdout, reason = "the answer of a command")]
fn print(line: &str) {
    println!("{line}");
}

#[expect(clippy::print_stderr, reason = "mistakes are for the person who typed them")]
fn print_error(lines: &str) {
    eprintln!("{lines}");
}
