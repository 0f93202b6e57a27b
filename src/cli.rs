//! The command line.

mod end;
mod follow;
mod identity;
mod setup;
mod start;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use clients::Service;
use clients::http::Http;
use secrecy::{ExposeSecret as _, SecretString};

use crate::settings::Settings;
use crate::{telemetry, worker};

/// The settings are wrong (sysexits' EX_USAGE).
const EXIT_USAGE: u8 = 64;

/// Turns a site's OpenStack devices into SLURM nodes.
#[derive(Debug, Parser)]
#[command(name = "satellite", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs the site's Temporal worker until SIGTERM.
    Worker {
        /// The site's settings.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
    },
    /// Makes what the site needs in Temporal: namespace, search attribute, the poll's schedule. A
    /// second run changes nothing.
    Setup(setup::Setup),
    /// Starts a verb on a device through the hub, and follows it.
    Start(Box<start::Start>),
    /// Ends what is being done to a device at its next closed point: a drained node stays drained, a burn-in's
    /// job is cancelled, a node that is being opened is opened.
    Stop(end::End),
    /// Cancels what is being done to a device, where it is. A node that is drained stays drained; nothing is
    /// undone but a burn-in's job.
    Cancel(end::End),
    /// Prints an access token of the hub, for a call by hand: `curl -H "Authorization: Bearer $(satellite
    /// token)"`. It is good for the minutes that the hub gives it; keep it to yourself.
    Token(identity::Identity),
}

/// Runs the command line. 0: done; 1: failed; 64: the settings or the command line are wrong.
pub(crate) fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let wrong = error.use_stderr();
            drop(error.print());
            return if wrong { ExitCode::from(EXIT_USAGE) } else { ExitCode::SUCCESS };
        }
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("cannot start threads: {error}")),
    };
    match cli.command {
        Command::Worker { config } => {
            let settings = match read_settings(&config) {
                Ok(settings) => settings,
                Err(code) => return code,
            };
            if let Err(error) = telemetry::start(&settings.log) {
                say_error(&format!("{}: log.filter: {error:#}", config.display()));
                return ExitCode::from(EXIT_USAGE);
            }
            match runtime.block_on(worker::run(settings)) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    tracing::error!(error = format!("{error:#}"), "worker ended");
                    ExitCode::FAILURE
                }
            }
        }
        Command::Setup(setup) => match read_settings(&setup.config) {
            Ok(settings) => runtime.block_on(setup::run(&setup, &settings)),
            Err(code) => code,
        },
        Command::Token(identity) => match runtime.block_on(token(&identity)) {
            Ok(token) => {
                say(token.expose_secret());
                ExitCode::SUCCESS
            }
            Err(error) => fail(&format!("{error:#}")),
        },
        Command::Start(start) => ended(runtime.block_on(start::run(&start))),
        Command::Stop(end) => ended(runtime.block_on(end::run(&end, end::How::Stop))),
        Command::Cancel(end) => ended(runtime.block_on(end::run(&end, end::How::Cancel))),
    }
}

fn ended(result: anyhow::Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|error| fail(&format!("{error:#}")))
}

async fn token(identity: &identity::Identity) -> anyhow::Result<SecretString> {
    let http = Http::new(Service::Hub)?;
    Ok(identity.principal()?.token(&http, None).await?)
}

/// Reads the settings, or says each of their mistakes.
fn read_settings(config: &Path) -> Result<Settings, ExitCode> {
    Settings::read(config).map_err(|mistakes| {
        for mistake in &mistakes {
            say_error(&format!("{}: {mistake}", config.display()));
        }
        ExitCode::from(EXIT_USAGE)
    })
}

fn fail(message: &str) -> ExitCode {
    say_error(message);
    ExitCode::FAILURE
}

#[expect(clippy::print_stdout, reason = "the command line talks to a person")]
fn say(line: &str) {
    println!("{line}");
}

#[expect(clippy::print_stderr, reason = "the command line talks to a person")]
fn say_error(line: &str) {
    eprintln!("satellite: {line}");
}
