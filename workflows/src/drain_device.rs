//! DrainDevice: drain.

#![expect(missing_docs, reason = "the macros make constants that cannot carry any")]

use proto::v1::{DrainDeviceResult, DrainRequest};
use proto::{Input, Proto, names};
use temporalio_common::data_converters::RawValue;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_workflow::{SyncWorkflowContext, WorkflowContext, WorkflowResult};

use crate::stop::Stop;
use crate::{Drain, failure, options};

/// Closes a node and waits until its jobs have ended.
#[workflow]
#[derive(Debug, Default)]
pub struct DrainDevice {
    stop: Stop,
}

#[workflow_methods]
impl DrainDevice {
    /// Drains.
    #[run(name = names::DRAIN_DEVICE)]
    pub async fn run(
        ctx: &mut WorkflowContext<Self>,
        input: Input<DrainRequest>,
    ) -> WorkflowResult<Proto<DrainDeviceResult>> {
        let request = input.0.map_err(|e| failure::undecodable(&e))?;
        let device = request.device_id.clone();
        let parsed = failure::unless_invalid(&device, request.parse())?;
        failure::check_lock(ctx.workflow_id(), &parsed.asked)?;
        let stop = ctx.state(|s| s.stop.clone());
        let options = options::closing(parsed.deadline);
        let drain = stop.interrupts_all(ctx, &device, Drain, request, options).await?;
        Ok(Proto(DrainDeviceResult { stopped: drain.is_none(), drain }))
    }

    /// Waits for no job any longer; what is closed stays closed. An argument is not read: one that could
    /// not be decoded would hold the device's lock for ever.
    #[signal(name = names::STOP)]
    pub fn stop(&mut self, _ctx: &mut SyncWorkflowContext<Self>, _ignored: RawValue) {
        self.stop.ask();
    }
}
