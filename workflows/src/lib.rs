//! In what order, and how long: one workflow a verb.
//!
//! *Invariant*: a workflow only orders. No I/O, no clock, nothing that needs data not in hand. It
//! decodes its input to a value and fails in its first lines where that cannot be read, or where its
//! own id is not the lock of the device that it names; what comes with a signal is not read at all.
//! Every other failure is its activity's, handed on with the same code, or a burn-in's verdict. A change
//! of order goes through `patched`, with a recorded history (`tests/histories`).

mod activities;
mod adopt_device;
mod burn_in;
mod burn_in_device;
mod drain_device;
mod failure;
mod options;
mod poll;
mod release_device;
mod resume_device;
mod stop;

pub use activities::{Adopt, BurnInSbatch, BurnInStop, Drain, Poll, Release, Resume};
pub use adopt_device::AdoptDevice;
pub use burn_in_device::BurnInDevice;
pub use drain_device::DrainDevice;
pub use poll::PollSchedulerConditions;
pub use release_device::ReleaseDevice;
pub use resume_device::ResumeDevice;
