//! The SDK's own metrics, handed on as text.
//!
//! The SDK has no call that gathers them, nor one that takes ours in (facts: temporal §7): it serves
//! them on a port of its own. That port is a random one on loopback, and asked from here alone.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use temporalio_common::telemetry::metrics::CoreMeter;
use temporalio_common::telemetry::{
    PrometheusExporterOptions, TelemetryOptions, start_prometheus_metric_exporter,
};
use temporalio_sdk::runtime::RuntimeOptions;

/// It is this process that answers.
const ANSWER: Duration = Duration::from_secs(2);

/// The SDK's meter and where its text is.
#[derive(Debug)]
pub(super) struct SdkMetrics {
    meter: Arc<dyn CoreMeter>,
    url: String,
    client: reqwest::Client,
}

impl SdkMetrics {
    /// Starts the SDK's exporter.
    pub(super) fn start() -> anyhow::Result<Self> {
        let options = PrometheusExporterOptions::builder()
            .socket_addr(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
            .counters_total_suffix(true)
            .unit_suffix(true)
            .use_seconds_for_durations(true)
            .build();
        let exporter = start_prometheus_metric_exporter(options)?;
        // a proxy of the environment must not be asked for loopback
        let client = reqwest::Client::builder().timeout(ANSWER).no_proxy().build()?;
        Ok(Self { meter: exporter.meter, url: format!("http://{}/metrics", exporter.bound_addr), client })
    }

    /// Options of a runtime that counts here.
    pub(super) fn runtime(&self) -> anyhow::Result<RuntimeOptions> {
        let telemetry = TelemetryOptions::builder().metrics(self.meter.clone()).build();
        RuntimeOptions::builder().telemetry_options(telemetry).build().map_err(anyhow::Error::msg)
    }

    /// Everything that the SDK has counted, in Prometheus's text format.
    pub(super) async fn text(&self) -> reqwest::Result<String> {
        self.client.get(&self.url).send().await?.error_for_status()?.text().await
    }
}
