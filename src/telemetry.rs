//! Logs: one subscriber for the whole process, to stderr. Metrics: below.
//!
//! *Invariant*: the SDK's own console logger is never used: it would write on one thread only
//! (facts: temporal §7).

pub(crate) mod metrics;

use tracing_subscriber::EnvFilter;

use crate::settings::Log;

/// Sets the process's subscriber.
///
/// # Errors
/// When the filter cannot be read, or a subscriber was set before.
pub(crate) fn start(log: &Log) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(&log.filter)?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let set = if log.json { builder.json().flatten_event(true).try_init() } else { builder.try_init() };
    set.map_err(|e| anyhow::anyhow!("{e}"))
}
