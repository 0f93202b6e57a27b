//! One attempt at an activity: what it is told, and how it says where it is.

use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{Code, Failure};

/// Where an attempt is. Its heartbeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The step.
    pub step: &'static str,
    /// What it waits for, as last seen; empty while it acts.
    pub waiting_for: String,
    /// When this wait began.
    pub since: Timestamp,
    /// The failure's code should this never come true.
    pub timeout: Code,
}

/// One attempt.
#[derive(Debug)]
pub struct Attempt {
    /// Counts from 1. A later one may follow one that died anywhere, or that still runs.
    pub number: u32,
    /// When it was started, on Temporal's clock.
    pub started: Timestamp,
    /// Cancelled, shutting down or paused: they look the same (facts: temporal §3).
    pub cancelled: CancellationToken,
    progress: watch::Sender<Progress>,
}

impl Attempt {
    /// An attempt, and where its progress can be read.
    #[must_use]
    pub fn new(
        number: u32,
        started: Timestamp,
        cancelled: CancellationToken,
    ) -> (Self, watch::Receiver<Progress>) {
        let first = Progress {
            step: "start",
            waiting_for: String::new(),
            since: started,
            timeout: Code::DeadlineExceeded,
        };
        let (progress, reader) = watch::channel(first);
        (Self { number, started, cancelled, progress }, reader)
    }

    /// Enters a step. Stops here when cancelled: between steps nothing is half done.
    ///
    /// # Errors
    /// [`Class::Cancelled`](crate::Class::Cancelled).
    pub fn step(&self, step: &'static str, timeout: Code) -> Result<(), Failure> {
        self.progress.send_replace(Progress {
            step,
            waiting_for: String::new(),
            since: Timestamp::now(),
            timeout,
        });
        self.check()
    }

    /// Says what is waited for. The wait began when this was first said.
    pub fn waiting(&self, what: &str) {
        self.progress.send_if_modified(|p| {
            let new = p.waiting_for != what;
            if new {
                what.clone_into(&mut p.waiting_for);
            }
            new
        });
    }

    /// The step it is in.
    #[must_use]
    pub fn current(&self) -> &'static str {
        self.progress.borrow().step
    }

    /// Sleeps, unless cancelled.
    ///
    /// # Errors
    /// [`Class::Cancelled`](crate::Class::Cancelled).
    pub async fn pause(&self, time: Duration) -> Result<(), Failure> {
        tokio::select! {
            () = tokio::time::sleep(time) => self.check(),
            () = self.cancelled.cancelled() => self.check(),
        }
    }

    fn check(&self) -> Result<(), Failure> {
        if self.cancelled.is_cancelled() {
            return Err(Failure::cancelled(self.current()));
        }
        Ok(())
    }
}
