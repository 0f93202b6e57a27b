//! Burn-in tests: what a site may run on a closed node, the one job that runs them, and what it proves.
//!
//! A test is a script that is named and known by its digest. [`job_script()`] composes the tests of a
//! request into the script of one job; that job writes what it found into its own comment, and
//! [`judge`] reads it there.
//!
//! *Invariant*: nothing here reads a file or speaks to SLURM. A [`Test`] that exists can be run: its
//! script has an interpreter, is text, and is bounded in size and time. What is doubtful is never
//! [`Verdict::Passed`].

mod catalogue;
mod job_script;
mod name;
mod test;
mod verdict;

pub use catalogue::Catalogue;
pub use job_script::{job_script, time_needed};
pub use name::TestName;
pub use test::{Bound, Digest, Test, Threshold, check_free_text, free_text};
pub use verdict::{Ended, Judgement, Verdict, has_ended, judge};
