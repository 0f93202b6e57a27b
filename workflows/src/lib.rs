//! In what order, and how long: one workflow a verb.
//!
//! *Invariant*: a workflow only orders. No I/O, no clock, nothing that needs data not in hand. It
//! decodes its input to a value and fails in its first lines where that cannot be read, or where its
//! own id is not the lock of the device that it names; what comes with a signal is not read at all.
//! Every other failure is its activity's, handed on with the same code. A change of order goes through `patched`, with a recorded history (`tests/histories`).

mod activities;
mod adopt_device;
mod failure;
mod options;
mod poll;
mod resume_device;

pub use activities::{Adopt, Poll, Resume};
pub use adopt_device::AdoptDevice;
pub use poll::PollSchedulerConditions;
pub use resume_device::ResumeDevice;
