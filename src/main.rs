//! `satellite`: the composition root. Reads settings, builds the clients, registers activities and
//! workflows with Temporal, and offers people the same verbs through the hub.
//!
//! *Invariant*: nothing is decided here; what a verb does is in `activities`, in what order in
//! `workflows`.

mod cli;
mod schedule;
mod settings;
mod telemetry;
mod worker;

fn main() -> std::process::ExitCode {
    cli::run()
}
