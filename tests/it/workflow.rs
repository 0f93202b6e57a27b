//! The workflows on Temporal's dev server, with activities that do what a test says: order,
//! deadlines that become codes, cancel, `stop`, inputs that cannot be read, and recorded histories.
//!
//! *Invariant*: nothing but Temporal runs. What an activity does is `activities`' own tests' matter;
//! that the real ones fit is `adopt_real`'s.

mod adopt_device;
mod burn_in_device;
mod cancel;
mod closing;
mod deadline;
mod histories;
mod input;
mod lab;
mod mock;
mod poll;
mod proof;
mod replay;
mod resume_device;
mod script;
mod shutdown;
mod time_table;
