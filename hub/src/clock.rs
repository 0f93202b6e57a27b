//! The clock, handed in: tests turn it by hand.

use std::sync::Arc;

use jiff::Timestamp;

/// Says what time it is.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The machine's own clock.
#[must_use]
pub fn system() -> Clock {
    Arc::new(Timestamp::now)
}
