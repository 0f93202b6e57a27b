//! AdoptDevice: adopt, then resume. Burn-in joins between them.

#![expect(missing_docs, reason = "the macros make constants that cannot carry any")]

use proto::v1::{AdoptDeviceResult, AdoptRequest, ResumeRequest};
use proto::{Input, Proto, names};
use temporalio_common::data_converters::RawValue;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_workflow::{SyncWorkflowContext, WorkflowContext, WorkflowResult};

use crate::{Adopt, Resume, failure, options};

/// Makes a device a SLURM node and opens it to users.
#[workflow]
#[derive(Debug, Default)]
pub struct AdoptDevice {
    stopped: bool,
}

#[workflow_methods]
impl AdoptDevice {
    /// Adopts, then opens: unless it was a dry run, or somebody said `stop` meanwhile.
    #[run(name = names::ADOPT_DEVICE)]
    pub async fn run(
        ctx: &mut WorkflowContext<Self>,
        input: Input<AdoptRequest>,
    ) -> WorkflowResult<Proto<AdoptDeviceResult>> {
        let request = input.0.map_err(|e| failure::undecodable(&e))?;
        let device = request.device_id.clone();
        let parsed =
            request.parse().map_err(|e| failure::invalid(&device, &e.field, &e.to_string(), &e.remedy))?;
        failure::check_lock(ctx.workflow_id(), &parsed)?;
        let resume = ResumeRequest {
            request_id: request.request_id.clone(),
            site: request.site.clone(),
            device_id: request.device_id.clone(),
            actor: request.actor.clone(),
            reason: request.reason.clone(),
        };
        let adopt = ctx
            .execute_activity(
                Adopt,
                Input::from(request),
                options::verb(parsed.deadline.unwrap_or(options::ADOPT)),
            )
            .await
            .map_err(|e| failure::of_activity(&device, e))?
            .0;
        let stopped = ctx.state(|s| s.stopped);
        if adopt.dry_run || stopped {
            return Ok(Proto(AdoptDeviceResult { adopt: Some(adopt), resume: None, stopped }));
        }
        let resume = ctx
            .execute_activity(Resume, Input::from(resume), options::verb(options::RESUME))
            .await
            .map_err(|e| failure::of_activity(&device, e))?
            .0;
        Ok(Proto(AdoptDeviceResult { adopt: Some(adopt), resume: Some(resume), stopped: false }))
    }

    /// Ends at the next closed point: the node is adopted and stays closed. An argument is not read:
    /// one that could not be decoded would hold the device's lock for ever.
    #[signal(name = names::STOP)]
    pub fn stop(&mut self, _ctx: &mut SyncWorkflowContext<Self>, _ignored: RawValue) {
        self.stopped = true;
    }
}
