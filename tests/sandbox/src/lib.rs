//! A whole site on one machine: Temporal's dev server, `fleet-hub` and `satellite` as processes; SLURM
//! and OpenStack imitated in this one, or the real ones in containers. The one harness: the demo and
//! every test that needs more than one process start here.
//!
//! *Invariant*: nothing that is started here outlives this process by more than a moment; every wait is on state and ends
//! at a ceiling, with what was last seen; a port that is taken is an error that says which.

mod api;
mod cloud;
mod cluster;
mod containers;
mod files;
mod hub;
mod machine_room;
mod process;
mod reaper;
mod services;
mod site;
mod slurm;
mod temporal;
mod wait;

pub use api::Api;
pub use cloud::Cloud;
pub use cluster::{Daemon, Pair, Signal};
pub use containers::{Container, Release, Run, exec, node, openstack, slurm};
pub use files::{binary, folder, tool};
pub use hub::{Hub, PRINCIPALS, Scopes};
pub use machine_room::MachineRoom;
pub use process::{Process, check_ports, free_port, output};
pub use reaper::label;
pub use services::Services;
pub use site::{Site, Systems, Tuning};
pub use slurm::SlurmUser;
pub use temporal::Temporal;
pub use wait::eventually;
