//! `satellite setup`: what a site needs in Temporal before its worker can run: the namespace, the
//! search attribute `FleetDevice`, the poll's Schedule.
//!
//! *Invariant*: it looks, then makes what is missing. What is there is told and left alone, save a
//! schedule of ours that is outdated, which the worker's start would update as well. Nothing is ever
//! deleted.

mod attribute;
mod namespace;
mod refusal;

use std::cell::Cell;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use backon::{ConstantBuilder, Retryable as _};
use clap::{Args, value_parser};
use proto::names;
use temporalio_client::errors::ClientConnectError;
use temporalio_client::tonic::{Code, Status};
use temporalio_client::{Client, ClientOptions, Connection, ConnectionOptions};

use super::{say, say_error};
use crate::schedule::{self, Found};
use crate::settings::{Settings, Temporal};
use refusal::refusal;

/// Temporal is up, or setup fails: it can be run again.
const CONNECT: Duration = Duration::from_secs(10);
/// How often something is looked for that was made just now, and how many times: a minute. Temporal's
/// services read namespaces anew every second (dev server) to ten seconds.
const LOOK_EVERY: Duration = Duration::from_millis(500);
const LOOKS: usize = 120;
/// A look out of so many is told.
const TOLD: u32 = 10;
/// The whole takes no longer.
const WHOLE: Duration = Duration::from_secs(240);

/// Makes what the site needs in Temporal.
#[derive(Debug, Args)]
pub(crate) struct Setup {
    /// The site's settings.
    #[arg(long, value_name = "FILE")]
    pub(super) config: PathBuf,
    /// For how many days Temporal keeps what has ended, should the namespace be made.
    #[arg(long, value_name = "DAYS", default_value_t = 30, value_parser = value_parser!(u32).range(1..=3650))]
    retention_days: u32,
    /// Say what would be made, and make nothing.
    #[arg(long)]
    dry_run: bool,
}

/// What came of one thing. Each carries what it is like.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// It was not there.
    Made(String),
    /// It was there, and not as this release has it.
    Updated(String),
    /// It was there.
    Left(String),
}

/// Makes what is missing, a line each. 0: all is there; 1: something is not.
pub(crate) async fn run(setup: &Setup, settings: &Settings) -> ExitCode {
    match tokio::time::timeout(WHOLE, make_all(setup, settings)).await {
        Ok(Ok(changed)) => {
            say(&match (changed, setup.dry_run) {
                (0, _) => "nothing to change".to_owned(),
                (_, true) => format!("{changed} to change; nothing was changed"),
                (_, false) => format!("{changed} changed"),
            });
            ExitCode::SUCCESS
        }
        Ok(Err(Failed)) => ExitCode::FAILURE,
        Err(_) => {
            say_error(&format!("not done within {} s; run it again", WHOLE.as_secs()));
            ExitCode::FAILURE
        }
    }
}

/// Something is not there; why has been said.
struct Failed;

/// Does it, and counts what was changed. One that fails does not keep the others from being made,
/// unless it is the namespace.
async fn make_all(setup: &Setup, settings: &Settings) -> Result<usize, Failed> {
    let client = connect(&settings.temporal).await.map_err(|error| failed("Temporal", &error))?;
    let dry = setup.dry_run;
    let name = format!("namespace {}", settings.temporal.namespace);
    let namespace = namespace::ensure(&client, setup.retention_days, dry).await;
    let namespace = namespace.map_err(|error| failed(&name, &error))?;
    // a dry run makes no namespace that the others could be looked for in
    let absent = dry && matches!(namespace, Outcome::Made(_));
    let mut changed = told(&name, Ok(namespace), dry);
    let attribute = attribute::ensure(&client, dry, absent).await;
    changed =
        add(changed, told(&format!("search attribute {}", names::SEARCH_ATTRIBUTE_DEVICE), attribute, dry));
    let schedule = ensure_schedule(&client, settings, dry, absent).await;
    add(changed, told(&format!("schedule {}", names::schedule_id(&settings.site)), schedule, dry))
}

fn add(one: Result<usize, Failed>, other: Result<usize, Failed>) -> Result<usize, Failed> {
    Ok(one? + other?)
}

fn told(name: &str, outcome: anyhow::Result<Outcome>, dry: bool) -> Result<usize, Failed> {
    let outcome = outcome.map_err(|error| failed(name, &error))?;
    say(&format!("{name}: {}", line(&outcome, dry)));
    Ok(usize::from(!matches!(outcome, Outcome::Left(_))))
}

fn line(outcome: &Outcome, dry: bool) -> String {
    match (outcome, dry) {
        (Outcome::Made(like), false) => format!("made, {like}"),
        (Outcome::Made(like), true) => format!("would be made, {like}"),
        (Outcome::Updated(like), false) => format!("updated, {like}"),
        (Outcome::Updated(like), true) => format!("would be updated, {like}"),
        (Outcome::Left(like), _) => format!("is there, {like}"),
    }
}

fn failed(name: &str, error: &anyhow::Error) -> Failed {
    say_error(&format!("{name}: {error:#}"));
    Failed
}

async fn connect(temporal: &Temporal) -> anyhow::Result<Client> {
    let url = &temporal.url;
    let options = ConnectionOptions::new(url.clone()).identity("satellite setup").connect_timeout(CONNECT);
    let connection = match Connection::connect(options.build()).await {
        Ok(connection) => connection,
        Err(ClientConnectError::SystemInfoCallError(status)) => {
            return Err(refusal(&status, &format!("for leave to connect to {url}")));
        }
        Err(error) => anyhow::bail!(
            "{url} does not answer: {error}; see that it is up and that temporal.url is right, then run this again"
        ),
    };
    Ok(Client::new(connection, ClientOptions::new(temporal.namespace.as_str()).build())?)
}

async fn ensure_schedule(
    client: &Client,
    settings: &Settings,
    dry: bool,
    absent: bool,
) -> anyhow::Result<Outcome> {
    let (site, every) = (&settings.site, settings.poll.every);
    let namespace = &settings.temporal.namespace;
    let found = match (absent, dry) {
        (true, _) => Ok(Found::Absent),
        (false, true) => schedule::find(client, site, every).await,
        (false, false) => when_seen(namespace, async || schedule::ensure(client, site, every).await).await,
    };
    let found = found.map_err(|status| {
        refusal(&status, &format!("for a role that may write schedules in namespace {namespace}"))
    })?;
    let id = names::schedule_id(site);
    Ok(scheduled(found, every, &format!("temporal schedule delete -n {namespace} -s {id}")))
}

fn scheduled(found: Found, every: Duration, delete: &str) -> Outcome {
    let pause = |paused| if paused { "; it is paused and stays so" } else { "" };
    let ticks = format!("a poll every {} s", every.as_secs());
    match found {
        Found::Absent => Outcome::Made(ticks),
        Found::Outdated { paused } => Outcome::Updated(format!("{ticks}{}", pause(paused))),
        Found::Current { paused } => Outcome::Left(format!("{ticks}{}", pause(paused))),
        Found::Theirs { paused } => Outcome::Left(format!(
            "somebody else's or a newer release's, and is left alone{}; to have it made anew: {delete}",
            pause(paused)
        )),
    }
}

/// Makes a call again while the part of Temporal that answers does not know the namespace yet: for
/// calls where `NotFound` can mean nothing else.
async fn when_seen<T>(namespace: &str, call: impl AsyncFn() -> Result<T, Status>) -> Result<T, Status> {
    let looks = Cell::new(0_u32);
    (|| call())
        .retry(ConstantBuilder::default().with_delay(LOOK_EVERY).with_max_times(LOOKS))
        .when(|status| status.code() == Code::NotFound)
        .notify(|_, _| {
            if looks.get().is_multiple_of(TOLD) {
                say(&format!("namespace {namespace}: waiting until Temporal's services know it"));
            }
            looks.set(looks.get() + 1);
        })
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_was_there_and_what_was_done() {
        let every = Duration::from_secs(60);
        let said = |found, dry| line(&scheduled(found, every, "temporal schedule delete"), dry);
        assert_eq!(said(Found::Absent, false), "made, a poll every 60 s");
        assert_eq!(said(Found::Absent, true), "would be made, a poll every 60 s");
        assert_eq!(said(Found::Outdated { paused: false }, true), "would be updated, a poll every 60 s");
        assert_eq!(
            said(Found::Current { paused: true }, true),
            "is there, a poll every 60 s; it is paused and stays so"
        );
        assert_eq!(
            said(Found::Theirs { paused: true }, false),
            "is there, somebody else's or a newer release's, and is left alone; it is paused and stays so; to \
             have it made anew: temporal schedule delete"
        );
    }
}
