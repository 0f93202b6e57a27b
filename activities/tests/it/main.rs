//! Activities against a small imitation of a site that speaks HTTP, in one binary.
//!
//! Nothing here sleeps: waits look every millisecond, and what the imitation does next is counted
//! in looks.

#![expect(clippy::unwrap_used, reason = "a test fails where it unwraps")]

mod adopt;
mod adopt_stops;
mod conditions;
mod crash;
mod plan;
mod plan_rebuild;
mod plan_refusals;
mod poll;
mod recorded_states;
mod resume;
mod site;
