//! BurnInDevice: burn in, and leave the node closed.

#![expect(missing_docs, reason = "the macros make constants that cannot carry any")]

use proto::v1::{BurnInDeviceResult, BurnInRequest};
use proto::{Input, Proto, names};
use temporalio_common::data_converters::RawValue;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_workflow::{SyncWorkflowContext, WorkflowContext, WorkflowResult};

use crate::stop::Stop;
use crate::{burn_in, failure};

/// Tests a node that is closed to users.
#[workflow]
#[derive(Debug, Default)]
pub struct BurnInDevice {
    stop: Stop,
}

#[workflow_methods]
impl BurnInDevice {
    /// Burns in. A verdict that would not open the node is a failure.
    #[run(name = names::BURN_IN_DEVICE)]
    pub async fn run(
        ctx: &mut WorkflowContext<Self>,
        input: Input<BurnInRequest>,
    ) -> WorkflowResult<Proto<BurnInDeviceResult>> {
        let request = input.0.map_err(|e| failure::undecodable(&e))?;
        let parsed = failure::unless_invalid(&request.device_id, request.parse())?;
        failure::check_lock(ctx.workflow_id(), &parsed.asked)?;
        let stop = ctx.state(|s| s.stop.clone());
        let burn_in = burn_in::prove(ctx, &stop, request, &parsed).await?;
        Ok(Proto(BurnInDeviceResult { stopped: burn_in.is_none(), burn_in }))
    }

    /// Cancels the job; the node stays closed. An argument is not read: one that could not be decoded
    /// would hold the device's lock for ever.
    #[signal(name = names::STOP)]
    pub fn stop(&mut self, _ctx: &mut SyncWorkflowContext<Self>, _ignored: RawValue) {
        self.stop.ask();
    }
}
