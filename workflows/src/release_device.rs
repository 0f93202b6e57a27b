//! ReleaseDevice: release.

#![expect(missing_docs, reason = "the macros make constants that cannot carry any")]

use proto::v1::{ReleaseDeviceResult, ReleaseRequest};
use proto::{Input, Proto, names};
use temporalio_common::data_converters::RawValue;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_workflow::{SyncWorkflowContext, WorkflowContext, WorkflowResult};

use crate::stop::Stop;
use crate::{Release, failure, options};

/// Takes a device out of SLURM and deletes its server.
#[workflow]
#[derive(Debug, Default)]
pub struct ReleaseDevice {
    stop: Stop,
}

#[workflow_methods]
impl ReleaseDevice {
    /// Releases.
    #[run(name = names::RELEASE_DEVICE)]
    pub async fn run(
        ctx: &mut WorkflowContext<Self>,
        input: Input<ReleaseRequest>,
    ) -> WorkflowResult<Proto<ReleaseDeviceResult>> {
        let request = input.0.map_err(|e| failure::undecodable(&e))?;
        let device = request.device_id.clone();
        let parsed = failure::unless_invalid(&device, request.parse())?;
        failure::check_lock(ctx.workflow_id(), &parsed.asked)?;
        let stop = ctx.state(|s| s.stop.clone());
        let options = options::closing(parsed.deadline);
        let release = stop.interrupts_all(ctx, &device, Release, request, options).await?;
        Ok(Proto(ReleaseDeviceResult { stopped: release.is_none(), release }))
    }

    /// Ends before the next step; what is closed stays closed. An argument is not read: one that could
    /// not be decoded would hold the device's lock for ever.
    #[signal(name = names::STOP)]
    pub fn stop(&mut self, _ctx: &mut SyncWorkflowContext<Self>, _ignored: RawValue) {
        self.stop.ask();
    }
}
