//! Runs a body as one attempt: the beat beside it, cancellation into it, and one attempt a device.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use activities::{Attempt, Failure};
use jiff::Timestamp;
use model::DeviceId;
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use tokio_util::sync::CancellationToken;

use super::cross_over;
use crate::telemetry::metrics::Metrics;

/// The beat goes on at least this often, also while one call takes its time.
const BEAT: Duration = Duration::from_secs(5);

/// The attempts that run in this process. A second one for a device ends the first: an attempt can
/// outlive its workflow, or be taken for dead while it runs.
#[derive(Debug)]
pub(super) struct Attempts {
    running: Mutex<HashMap<DeviceId, Running>>,
    metrics: Arc<Metrics>,
}

#[derive(Debug, Clone, Default)]
struct Running {
    cancelled: CancellationToken,
    over: Arc<tokio::sync::Mutex<()>>,
}

impl Attempts {
    pub(super) fn new(metrics: Arc<Metrics>) -> Self {
        Self { running: Mutex::default(), metrics }
    }

    /// Runs `body`. For a device, it begins when an earlier attempt of the same device has ended.
    /// Counted as ended by `outcome`, in a word, or by its failure's code.
    pub(super) async fn run<T, F>(
        &self,
        context: &ActivityContext,
        name: &'static str,
        device: Option<&DeviceId>,
        outcome: impl FnOnce(&T) -> &'static str,
        body: impl FnOnce(Attempt) -> F,
    ) -> Result<T, ActivityError>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let begun = Instant::now();
        let cancelled = CancellationToken::new();
        let over = device.map(|d| self.take_over(d, &cancelled));
        let info = context.info();
        let time = |at: Option<SystemTime>| at.and_then(|t| Timestamp::try_from(t).ok());
        let started = time(info.started_time).unwrap_or_else(Timestamp::now);
        let (attempt, mut progress) =
            Attempt::new(info.attempt, started, cross_over::previous(context), cancelled.clone());
        let attempt = attempt.scheduled_at(time(info.scheduled_time).unwrap_or(started));
        let work = async {
            let _held = match &over {
                Some(over) => Some(over.lock().await),
                None => None,
            };
            body(attempt).await
        };
        tokio::pin!(work);
        let mut beat = tokio::time::interval(BEAT);
        let mut told = false;
        let result = loop {
            tokio::select! {
                result = &mut work => break result,
                _ = beat.tick() => {}
                Ok(()) = progress.changed() => {}
                () = context.cancelled(), if !told => {
                    told = true;
                    cancelled.cancel();
                }
            }
            let now = progress.borrow_and_update().clone();
            if let Err(error) = context.record_heartbeat(cross_over::progress(&now)).await {
                tracing::warn!(%error, "heartbeat");
            }
        };
        if let Some(device) = device {
            self.forget(device, &cancelled);
        }
        let ended = result.as_ref().map_or_else(|failure| failure.code.as_str(), outcome);
        self.metrics.activity(name, ended, begun.elapsed());
        let device = device.map(ToString::to_string).unwrap_or_default();
        result.map_err(|failure| cross_over::error(name, &device, failure))
    }

    fn take_over(&self, device: &DeviceId, cancelled: &CancellationToken) -> Arc<tokio::sync::Mutex<()>> {
        let mut running = self.running.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let entry = running.entry(device.clone()).or_default();
        entry.cancelled.cancel();
        entry.cancelled = cancelled.clone();
        entry.over.clone()
    }

    /// Forgets a device whose last attempt this was.
    fn forget(&self, device: &DeviceId, cancelled: &CancellationToken) {
        let mut running = self.running.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        cancelled.cancel();
        if running.get(device).is_some_and(|r| r.cancelled.is_cancelled()) {
            running.remove(device);
        }
    }
}
