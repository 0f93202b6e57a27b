//! The activities as workflows call them: name, input, output. Implemented in `src/worker`.

use proto::v1::{
    AdoptRequest, AdoptResult, BurnInRequest, BurnInResult, BurnInStopResult, DrainRequest, DrainResult,
    PollRequest, PollResult, ReleaseRequest, ReleaseResult, ResumeRequest, ResumeResult,
};
use proto::{Input, Proto, names};
use temporalio_common::ActivityDefinition;

/// Declares an activity: what it does, its name, its input and its output.
macro_rules! activity {
    ($(#[$doc:meta])* $activity:ident, $name:expr, $input:ty, $output:ty) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $activity;

        impl ActivityDefinition for $activity {
            type Input = Input<$input>;
            type Output = Proto<$output>;

            fn name(&self) -> &str {
                $name
            }
        }
    };
}

activity!(
    /// Makes a device a closed node.
    Adopt, names::ADOPT, AdoptRequest, AdoptResult
);
activity!(
    /// Opens a node of ours.
    Resume, names::RESUME, ResumeRequest, ResumeResult
);
activity!(
    /// Closes a node and waits until it is empty.
    Drain, names::DRAIN, DrainRequest, DrainResult
);
activity!(
    /// Takes a node out of SLURM and deletes its server.
    Release, names::RELEASE, ReleaseRequest, ReleaseResult
);
activity!(
    /// Runs the site's tests on a node that is closed to users.
    BurnInSbatch, names::BURN_IN_SBATCH, BurnInRequest, BurnInResult
);
activity!(
    /// Ends what a burn-in left, the node closed.
    BurnInStop, names::BURN_IN_STOP, BurnInRequest, BurnInStopResult
);
activity!(
    /// Turns node states into conditions.
    Poll, names::POLL_SCHEDULER_CONDITIONS, PollRequest, PollResult
);
