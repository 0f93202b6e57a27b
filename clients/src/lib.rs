//! How the satellite speaks to the world: SLURM's REST API, OpenStack, the hub.
//!
//! One HTTP layer ([`http`]), one error type ([`Error`]). A client repeats one thing alone: a call
//! that was refused as unauthenticated, once, with a new token. Everything else is the caller's.
//!
//! *Invariant*: no body, token, key or user-data ever reaches a log line or an error; what a
//! service says in words is cut and masked by [`excerpt`] first. Absence is an `Option`, never an
//! error, and a look-up that failed is never absence.

mod error;
pub mod http;
pub mod hub;
pub mod oauth;
pub mod openstack;
pub mod slurm;

pub use error::{Error, Kind, Service, excerpt};
