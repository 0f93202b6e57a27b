//! The Temporal worker of a site.
//!
//! *Invariant*: the SDK's activities are named here and below only; converter and failure cross
//! over here.

mod activities;
mod attempts;
mod cross_over;
mod health;
mod http;
mod sdk_metrics;
mod shutdown;
mod world;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use backon::{ExponentialBuilder, Retryable as _};
use model::SiteId;
use proto::names;
use temporalio_client::tonic::{Code, Status};
use temporalio_client::{Client, ClientOptions, Connection, ConnectionOptions};
use temporalio_sdk::{Runtime, Worker, WorkerOptions};
use url::Url;

use crate::schedule;
use crate::settings::{Settings, Temporal};
use crate::telemetry::metrics::Metrics;
use activities::Activities;
use health::Health;
use sdk_metrics::SdkMetrics;

/// Activities are told to stop so long after SIGTERM; then they have until [`shutdown::LATEST`].
const GRACE: Duration = Duration::from_secs(5);
/// The SDK sends a heartbeat at most this often; its default, 24 s here, would show people where an
/// adoption was half a minute ago.
const HEARTBEATS: Duration = Duration::from_secs(2);

/// Runs until SIGTERM or SIGINT.
///
/// # Errors
/// What keeps the worker from running; a Temporal server that is not up yet is waited for.
pub(crate) async fn run(settings: Settings) -> anyhow::Result<()> {
    let (site, every, listen) = (settings.site.clone(), settings.poll.every, settings.http.listen);
    let Temporal { url, namespace } = settings.temporal.clone();
    let world = Arc::new(world::build(settings)?);
    let metrics = Arc::new(Metrics::new());
    let calls = metrics.clone();
    clients::http::observe(move |call| calls.call(call));
    let sdk = Arc::new(SdkMetrics::start().context("Temporal's metrics")?);
    let health = Arc::new(Health::new(world.clone()));
    let told = http::Told { health: health.clone(), metrics: metrics.clone(), sdk: sdk.clone() };
    http::start(listen, told).await?;
    let mut stop = shutdown::Stop::listen()?;
    let connection = tokio::select! {
        connection = connect(&url, &site) => connection?,
        () = stop.asked() => return Ok(()),
    };
    let options = ClientOptions::new(namespace.as_str()).build();
    let client = Client::new(connection, options).context("Temporal client")?;
    let found = schedule::ensure(&client, &site, every).await.map_err(|s| no_schedule(&namespace, &s))?;
    tracing::info!(schedule = names::schedule_id(&site), before = ?found, "poll schedule is there");

    let runtime = Runtime::from_current_tokio(sdk.runtime()?).context("Temporal runtime")?;
    let options = WorkerOptions::new(names::task_queue(&site))
        .graceful_shutdown_period(GRACE)
        .max_heartbeat_throttle_interval(HEARTBEATS)
        .register_activities(Activities::new(site.clone(), world, metrics))
        .register_workflow::<workflows::AdoptDevice>()?
        .register_workflow::<workflows::ResumeDevice>()?
        .register_workflow::<workflows::DrainDevice>()?
        .register_workflow::<workflows::ReleaseDevice>()?
        .register_workflow::<workflows::BurnInDevice>()?
        .register_workflow::<workflows::PollSchedulerConditions>()?
        .build();
    let mut worker = Worker::new(&runtime, client.clone(), options).context("Temporal worker")?;
    let shut_down = worker.shutdown_handle();
    health.runs(client.connection().clone());
    tokio::spawn(async move {
        stop.asked().await;
        tracing::info!("stopping");
        health.stops();
        shutdown::exit_at_the_latest();
        shut_down();
    });
    tracing::info!(%site, queue = names::task_queue(&site), "worker runs");
    worker.run().await.with_context(|| format!("namespace {namespace}"))?;
    tracing::info!("worker ended");
    Ok(())
}

fn no_schedule(namespace: &str, status: &Status) -> anyhow::Error {
    let remedy = if status.code() == Code::NotFound { "; run `satellite setup`" } else { "" };
    anyhow::anyhow!(
        "poll schedule in namespace {namespace}: {:?}: {}{remedy}",
        status.code(),
        status.message()
    )
}

/// Connects, waiting for a server that is not up.
async fn connect(url: &Url, site: &SiteId) -> anyhow::Result<Connection> {
    let forever = ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(200))
        .with_max_delay(Duration::from_secs(10))
        .without_max_times();
    let attempt = || async {
        let identity = format!("satellite/{site}/{}", std::process::id());
        Connection::connect(ConnectionOptions::new(url.clone()).identity(identity).build()).await
    };
    let connection = attempt
        .retry(forever)
        .notify(|error, delay| {
            tracing::warn!(%url, %error, seconds = delay.as_secs_f32(), "Temporal is not up; trying again");
        })
        .await;
    connection.with_context(|| format!("Temporal at {url}"))
}
