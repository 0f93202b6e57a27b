//! Imitations of slurmrestd 26.05, 24.11 and 22.05, Keystone, Glance and Nova, for tests and the demo.
//!
//! They answer as the real ones were recorded, down to the odd parts; what was not recorded is said
//! where it is. Each keeps its state, a log of every request, and a list of faults to come.
//!
//! *Invariant*: no clock is read and nothing sleeps: time moves by [`World::tick`] alone. None of our
//! crates is used here, so that a mistake of ours is never made twice.

mod beside;
mod cloud;
mod fault;
mod machine;
mod mask;
mod python;
mod serve;
mod slurm;
mod wire;
mod world;

pub use beside::{Beside, NoAnswer};
pub use cloud::{Cloud, CloudOptions, Event, EventKind, FlavorSeed, ImageSeed, MachineSeed, Role};
pub use fault::{Answer, Fault};
pub use machine::{Behaviour, Boot, Build, Destroy, Rebuild, Registers};
pub use slurm::{
    Controller, End, JobBehaviour, JobSeed, NodeSeed, PartitionSeed, Registration, Release, ReservationSeed,
    SlurmOptions, Slurmrestd, token,
};
pub use wire::{Request, Service, Wire};
pub use world::World;
