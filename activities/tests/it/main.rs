//! Activities against the fakes of a site and the reference hub, over HTTP, in one binary.
//!
//! Nothing here sleeps: waits look every millisecond, and time is counted in requests.

#![expect(clippy::unwrap_used, reason = "a test fails where it unwraps")]

mod adopt;
mod adopt_failures;
mod adopt_servers;
mod adopt_stops;
mod broken;
mod burn_in;
mod cancelled;
mod conditions;
mod crash;
mod drain;
mod drained;
mod forgotten;
mod older_release;
mod permanent;
mod plan;
mod plan_rebuild;
mod plan_refusals;
mod poll;
mod poll_blind;
mod rebuild;
mod recorded_states;
mod release;
mod resume;
mod site;
