//! The signal `stop`: end at the next closed point.
//!
//! *Invariant*: it never undoes anything. An activity that has not begun does not begin; one that can be
//! interrupted is cancelled and waited for, and says itself how it ended.

use std::pin::pin;

use proto::{Input, Proto};
use temporalio_common::ActivityDefinition;
use temporalio_common::data_converters::TemporalDeserializable;
use temporalio_workflow::workflows::select;
use temporalio_workflow::{
    ActivityExecutionError, ActivityOptions, WorkflowCancellationToken, WorkflowContext, WorkflowTermination,
};

use crate::failure;

/// Whether somebody has sent it. Part of a workflow's state: clones are the same one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop(WorkflowCancellationToken);

impl Stop {
    /// Somebody has.
    pub(crate) fn ask(&self) {
        self.0.cancel();
    }

    /// Somebody had, by now.
    pub(crate) fn is_asked(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Runs an activity that `stop` cancels, as a cancel of the workflow does.
    pub(crate) async fn interrupts<W, A>(
        &self,
        ctx: &WorkflowContext<W>,
        activity: A,
        input: impl Into<A::Input>,
        mut options: ActivityOptions,
    ) -> Result<A::Output, ActivityExecutionError>
    where
        A: ActivityDefinition,
        A::Output: TemporalDeserializable,
    {
        let token = ctx.cancellation_token().child_token();
        options.cancellation_token = Some(token.clone());
        let mut running = pin!(ctx.execute_activity(activity, input, options));
        let mut asked = pin!(self.0.cancelled());
        select! {
            end = running => return end,
            () = asked => {}
        }
        token.cancel();
        running.await
    }

    /// The only activity of a workflow: what came of it; `None` when `stop` came before it, or ended it.
    pub(crate) async fn interrupts_all<W, A, R, T>(
        &self,
        ctx: &WorkflowContext<W>,
        device: &str,
        activity: A,
        request: R,
        options: ActivityOptions,
    ) -> Result<Option<T>, WorkflowTermination>
    where
        A: ActivityDefinition<Input = Input<R>, Output = Proto<T>>,
        A::Output: TemporalDeserializable,
        Input<R>: From<R>,
    {
        if self.is_asked() {
            return Ok(None);
        }
        match self.interrupts(ctx, activity, Input::from(request), options).await {
            Ok(Proto(result)) => Ok(Some(result)),
            Err(error) if self.ended(ctx, &error) => Ok(None),
            Err(error) => Err(failure::of_activity(device, error)),
        }
    }

    /// Whether an activity ended so because of it, and not of a cancel of the workflow.
    pub(crate) fn ended<W>(&self, ctx: &WorkflowContext<W>, error: &ActivityExecutionError) -> bool {
        self.is_asked() && !ctx.cancellation_token().is_cancelled() && failure::is_cancellation(error)
    }
}
