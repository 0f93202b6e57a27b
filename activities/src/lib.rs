//! What the satellite does to a node, one file a verb.
//!
//! Every body is handed a [`World`] to act on and an [`Attempt`] to report to, and returns its
//! outcome or a [`Failure`]. It looks, then acts: running twice is running once.
//!
//! *Invariant*: nothing here names Temporal. What is not ours is read and left alone; on doubt,
//! nothing is changed.

pub mod adopt;
mod asked;
mod attempt;
pub mod burn_in;
mod close;
pub mod conditions;
mod delete;
pub mod drain;
pub mod drained;
mod failure;
mod look;
pub mod plan;
pub mod poll_conditions;
pub mod release;
pub mod resume;
mod wait;
mod world;

pub use asked::Asked;
pub use attempt::{Attempt, Previous, Progress};
pub use failure::{Class, Code, Failure, Owner};
pub use world::{PowerSaving, Site, World};
