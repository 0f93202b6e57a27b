//! A benchmark: what the worker takes while nothing happens.
//!
//! Measured: memory and CPU of `satellite worker`, this build of it, over two polls' time. Against: a
//! site on this machine with three adopted devices, polled every 60 s as in production; Temporal and
//! the hub are real, SLURM and OpenStack imitated in another process. To repeat: `make idle`.
//!
//! *Invariant*: it tells numbers beside their goals, and fails only when it cannot measure: whether a
//! number is good enough is for the reader.

mod sample;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clients::Service;
use clients::http::Http;
use model::{DeviceId, SiteId};

use crate::follow::{adopt, until_ready};
use crate::running::{Device, Plan, Running};
use crate::{line, rows, say};
use sample::{Sample, cpu_percent};

/// As in production, in seconds.
const POLL: u32 = 60;
/// The devices are ready, and the worker with them, within this: adoptions, and then a poll.
const CEILING: Duration = Duration::from_secs(240);
/// How often a sample is taken, and how many are: two polls' time.
const EVERY: Duration = Duration::from_secs(10);
const SAMPLES: u32 = 12;
/// The goals: bytes, and percent of one core.
const MEMORY: u64 = 40_000_000;
const CPU: f64 = 1.0;

const DEVICES: [Device; 3] =
    [("gpu-001", "gpu", "node-1"), ("gpu-002", "gpu", "node-2"), ("cpu-001", "cpu", "node-3")];

/// Measures, and tells it.
pub(crate) async fn measure(satellite: PathBuf) -> anyhow::Result<()> {
    let watched = EVERY * SAMPLES;
    line("What an idle worker takes: memory and CPU time of `satellite worker`, as /proc counts them, over");
    line(&format!(
        "{} s, at a site with three adopted devices that is polled every {POLL} s. Temporal and",
        watched.as_secs()
    ));
    line("the hub are real, SLURM and OpenStack imitated. To repeat: make idle.");
    line(&format!("The worker: {}\n", satellite.display()));
    let plan = Plan { folder: "idle", real: false, satellite, poll_seconds: POLL, devices: DEVICES };
    let mut running = Running::start(&plan).await?;
    rows::write(&running).await?;
    adopt_all(&mut running).await?;
    until_it_has_polled(&mut running).await?;

    say(&format!("the worker is ready and idle; {} s begin", watched.as_secs()));
    let pid = running.worker.id()?;
    let (began, first) = (Instant::now(), Sample::of(pid)?);
    let mut samples = Vec::new();
    for _ in 0..SAMPLES {
        tokio::time::sleep(EVERY).await;
        running.worker.check()?;
        let sample = Sample::of(pid)?;
        say(&format!("{sample}"));
        samples.push(sample);
    }
    let percent = cpu_percent(&first, samples.last().unwrap_or(&first), began.elapsed());
    summary(&samples, percent);
    running.end().await
}

async fn adopt_all(running: &mut Running) -> anyhow::Result<()> {
    let squad = running.hub.api("fleet-squad", &SiteId::parse("lab")?)?;
    let [one, two, three] = DEVICES.map(|(id, ..)| DeviceId::parse(id));
    let (one, two, three) = (one?, two?, three?);
    let ready = async |device| {
        adopt(&squad, device, CEILING).await?.check()?;
        until_ready(&squad, device).await
    };
    tokio::select! {
        all = async { tokio::try_join!(ready(&one), ready(&two), ready(&three)) } => all.map(drop),
        died = running.watch() => Err(died),
        () = tokio::time::sleep(CEILING) => Err(anyhow::anyhow!("the devices are not ready; see the logs")),
    }
}

/// Waits until `/readyz` is true and a poll has been good.
async fn until_it_has_polled(running: &mut Running) -> anyhow::Result<()> {
    let (http, probes) = (Http::new(Service::Hub)?, running.probes());
    let get = async |path: &str| {
        let answer = http.client().get(format!("{probes}{path}")).send().await.map_err(|e| e.to_string())?;
        let (status, text) = (answer.status(), answer.text().await.map_err(|e| e.to_string())?);
        status.is_success().then_some(text.clone()).ok_or(text)
    };
    let look = || async {
        get("/readyz").await?;
        let page = get("/metrics").await?;
        let polled = page.lines().any(|l| l.starts_with("satellite_poll_last_good_seconds "));
        polled.then_some(()).ok_or_else(|| "no poll has been good".to_owned())
    };
    running.worker.until("the worker is ready and has polled", CEILING, look).await.context("idle")
}

fn summary(samples: &[Sample], percent: f64) {
    let largest = |of: fn(&Sample) -> u64| samples.iter().map(of).max().unwrap_or_default();
    let (rss, anonymous) = (largest(|s| s.resident), largest(|s| s.anonymous));
    let met = |yes| if yes { "met" } else { "missed" };
    line(&format!(
        "\n  resident (RSS), largest  {:6.1} MB   goal: under {:.0} MB, {}",
        megabytes(rss),
        megabytes(MEMORY),
        met(rss < MEMORY)
    ));
    line(&format!(
        "  of it anonymous          {:6.1} MB   the rest are pages of files: the binary",
        megabytes(anonymous)
    ));
    line(&format!(
        "  CPU, of one core         {percent:6.2} %    goal: under {CPU} %, {}",
        met(percent < CPU)
    ));
}

/// 10⁶ bytes each.
#[expect(clippy::cast_precision_loss, reason = "it is printed with one digit")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
