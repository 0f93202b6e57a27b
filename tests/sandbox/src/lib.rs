//! A whole site on one machine: Temporal's dev server, `fleet-hub` and `satellite` as processes, SLURM
//! and OpenStack imitated in this one.
//!
//! *Invariant*: nothing that is started here outlives this process, and a port that is taken is an
//! error that says which.

mod hub;
mod process;
mod site;
mod temporal;

pub use hub::{Hub, PRINCIPALS, Scopes};
pub use process::{Process, binary, check_ports, free_port, tool};
pub use site::{Site, Systems};
pub use temporal::Temporal;
