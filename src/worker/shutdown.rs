//! Ending: SIGTERM and SIGINT, and an end at the latest.

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The SDK's shutdown has no upper bound (facts: temporal §7): the process ends by itself after
/// so long. A pod is given 60 s.
pub(super) const LATEST: Duration = Duration::from_secs(50);
/// Ended by its own timer (sysexits' EX_SOFTWARE).
const EXIT_TOO_LATE: i32 = 70;

/// The signals that end the process.
pub(super) struct Stop {
    term: Signal,
    int: Signal,
}

impl Stop {
    /// Listens from now on.
    pub(super) fn listen() -> std::io::Result<Self> {
        Ok(Self { term: signal(SignalKind::terminate())?, int: signal(SignalKind::interrupt())? })
    }

    /// Returns when one has come.
    pub(super) async fn asked(&mut self) {
        tokio::select! {
            _ = self.term.recv() => {}
            _ = self.int.recv() => {}
        }
    }
}

/// Ends the process after [`LATEST`], whatever it is doing.
pub(super) fn exit_at_the_latest() {
    tokio::spawn(async {
        tokio::time::sleep(LATEST).await;
        tracing::error!(seconds = LATEST.as_secs(), "not ended in time; exiting");
        std::process::exit(EXIT_TOO_LATE);
    });
}
