//! Integration tests: the real services, in one binary.
//!
//! What is started here is real: Temporal's dev server, `fleet-hub`, `satellite`, SLURM, Keystone,
//! Glance, Placement and Nova. Every wait is on state, with a ceiling that says what was last seen.

#![expect(clippy::unwrap_used, reason = "a test fails where it unwraps")]

mod adopt_real;
mod burn_in_real;
mod cluster;
mod command_line;
mod contract;
mod ending;
mod faults;
mod interop;
mod rebuild_real;
mod scan;
mod setup;
mod wait;
mod watch;
mod workflow;
