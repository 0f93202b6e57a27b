//! The demo, as a newcomer runs it.

#![expect(clippy::unwrap_used, reason = "a test fails where it unwraps")]

mod child;
mod imitated;
mod real;
