//! What is said through Temporal: the `fleet.slurm.v1` messages, the names of activities,
//! workflows, queues and ids, and the payload converter.
//!
//! *Invariant*: every name is declared once, here. An input that cannot be decoded is a value
//! ([`Input`]), never an error of the SDK, which would retry it for ever and hold the device's
//! lock.

pub mod names;
mod payload;
mod request;

pub use model::Invalid;
pub use payload::{Input, Proto, Undecodable};
pub use request::{Adoption, BurnIn, Closing, Lifecycle, ScriptRun};

/// The messages, generated.
#[allow(
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::allow_attributes_without_reason,
    reason = "generated code"
)]
pub mod v1 {
    include!(concat!(env!("OUT_DIR"), "/fleet.slurm.v1.rs"));
    include!(concat!(env!("OUT_DIR"), "/fleet.slurm.v1.serde.rs"));
}
