//! The reference Fleet Manager: DESIGN §4 on SQLite, with OAuth.
//!
//! *Invariant*: who acts comes from the token and never from the body; a principal sees and writes
//! its own site alone; Temporal's client is named in `temporal` only, and only the workflow
//! endpoints need it.

mod app;
mod assertion;
mod auth;
mod body;
pub mod clock;
mod conditions;
pub mod config;
mod config_patch;
mod configs;
pub mod db;
mod devices;
mod etag;
mod fields;
pub mod import;
mod key;
mod openapi;
mod polls;
mod problem;
mod temporal;
mod token;
mod view;
mod workflows;

#[cfg(test)]
mod tests;

pub use app::{Hub, router};
