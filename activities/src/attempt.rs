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

/// Where the attempt before this one was when it was last heard of: its heartbeat, as a server keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Previous {
    /// The step.
    pub step: String,
    /// When its wait began.
    pub since: Timestamp,
}

/// One attempt.
#[derive(Debug)]
pub struct Attempt {
    /// Counts from 1. A later one may follow one that died anywhere, or that still runs.
    pub number: u32,
    /// When the first attempt was scheduled, on Temporal's clock: a deadline counts from here.
    pub scheduled: Timestamp,
    /// When it was started, on Temporal's clock.
    pub started: Timestamp,
    /// Cancelled, shutting down or paused: they look the same (facts: temporal §3).
    pub cancelled: CancellationToken,
    previous: Option<Previous>,
    progress: watch::Sender<Progress>,
}

impl Attempt {
    /// An attempt, and where its progress can be read. What it does never depends on `previous`, which
    /// may be missing or old: only the time of which a wait says that it began then.
    #[must_use]
    pub fn new(
        number: u32,
        started: Timestamp,
        previous: Option<Previous>,
        cancelled: CancellationToken,
    ) -> (Self, watch::Receiver<Progress>) {
        let first = Progress {
            step: "start",
            waiting_for: String::new(),
            since: started,
            timeout: Code::DeadlineExceeded,
        };
        let (progress, reader) = watch::channel(first);
        (Self { number, scheduled: started, started, cancelled, previous, progress }, reader)
    }

    /// The same, first scheduled at this time.
    #[must_use]
    pub fn scheduled_at(mut self, scheduled: Timestamp) -> Self {
        self.scheduled = scheduled;
        self
    }

    /// Enters a step. Stops here when cancelled: between steps nothing is half done. A step in which
    /// the attempt before this one ended began when it began there: whoever looks is told how long it
    /// has been waited for, not when the worker was started.
    ///
    /// # Errors
    /// [`Class::Cancelled`](crate::Class::Cancelled).
    pub fn step(&self, step: &'static str, timeout: Code) -> Result<(), Failure> {
        let begun = self.previous.as_ref().filter(|p| p.step == step).map(|p| p.since);
        self.progress.send_replace(Progress {
            step,
            waiting_for: String::new(),
            since: begun.unwrap_or_else(Timestamp::now),
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

    /// Stops here when cancelled: before a write that cannot be taken back.
    ///
    /// # Errors
    /// [`Class::Cancelled`](crate::Class::Cancelled).
    pub fn check(&self) -> Result<(), Failure> {
        if self.cancelled.is_cancelled() {
            return Err(Failure::cancelled(self.current()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn since(previous: Option<Previous>, step: &'static str) -> Timestamp {
        let (attempt, progress) = Attempt::new(2, Timestamp::now(), previous, CancellationToken::new());
        attempt.step(step, Code::DeadlineExceeded).unwrap();
        progress.borrow().since
    }

    #[test]
    fn a_wait_that_an_earlier_attempt_began_goes_on() {
        let before = Timestamp::from_second(1_790_000_000).unwrap();
        let previous = Some(Previous { step: "wait_active".to_owned(), since: before });
        assert_eq!(since(previous.clone(), "wait_active"), before);
        let started = Timestamp::now();
        assert!(since(previous, "plan") >= started);
        assert!(since(None, "wait_active") >= started);
    }
}
