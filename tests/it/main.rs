//! Integration tests: the real services, in one binary.
//!
//! What is started here is real: Temporal's dev server, `fleet-hub`, `satellite`, SLURM, Keystone,
//! Glance, Placement and Nova. Every wait is on state, with a ceiling that says what was last seen.

mod adopt_real;
mod containers;
mod fleet;
mod machine_room;
mod processes;
mod scan;
mod slurm;
mod wait;
