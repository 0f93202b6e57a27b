//! PollSchedulerConditions: one tick, started by the Schedule.

#![expect(missing_docs, reason = "the macros make constants that cannot carry any")]

use proto::v1::{PollRequest, PollResult};
use proto::{Input, Proto, names};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_workflow::{WorkflowContext, WorkflowResult};

use crate::{Poll, failure, options};

/// One tick of the poll.
#[workflow]
#[derive(Debug, Default)]
pub struct PollSchedulerConditions;

#[workflow_methods]
impl PollSchedulerConditions {
    /// Polls once. The next tick is the retry.
    #[run(name = names::POLL_SCHEDULER_CONDITIONS_WORKFLOW)]
    pub async fn run(
        ctx: &mut WorkflowContext<Self>,
        input: Input<PollRequest>,
    ) -> WorkflowResult<Proto<PollResult>> {
        let request = input.0.map_err(|e| failure::undecodable(&e))?;
        ctx.execute_activity(Poll, Input::from(request), options::tick())
            .await
            .map_err(|e| failure::of_activity("", e))
    }
}
