//! The script of a burn-in job, run by bash with an scontrol of ours; `sleep` answers at once.

#![expect(clippy::unwrap_used, reason = "a test fails where it unwraps")]

mod deployed;
mod lab;
mod wrapper;
