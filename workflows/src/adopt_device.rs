//! AdoptDevice: adopt, burn in, then resume.

#![expect(missing_docs, reason = "the macros make constants that cannot carry any")]

use proto::v1::{AdoptDeviceResult, AdoptRequest, BurnInRequest, ResumeRequest};
use proto::{Input, Proto, names};
use temporalio_common::data_converters::RawValue;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_workflow::{SyncWorkflowContext, WorkflowContext, WorkflowResult};

use crate::stop::Stop;
use crate::{Adopt, Resume, burn_in, failure, options};

/// Makes a device a SLURM node and opens it to users.
#[workflow]
#[derive(Debug, Default)]
pub struct AdoptDevice {
    stop: Stop,
}

#[workflow_methods]
impl AdoptDevice {
    /// Adopts, burns in, then opens: unless it was a dry run, or somebody said `stop` meanwhile.
    #[run(name = names::ADOPT_DEVICE)]
    pub async fn run(
        ctx: &mut WorkflowContext<Self>,
        input: Input<AdoptRequest>,
    ) -> WorkflowResult<Proto<AdoptDeviceResult>> {
        let request = input.0.map_err(|e| failure::undecodable(&e))?;
        let device = request.device_id.clone();
        let parsed = failure::unless_invalid(&device, request.parse())?;
        failure::check_lock(ctx.workflow_id(), &parsed.asked)?;
        let (health, resume, skip) = (health(&request), resume(&request), request.skip_burn_in);
        let tested = failure::unless_invalid(&device, health.parse())?;
        let stop = ctx.state(|s| s.stop.clone());
        let mut done = AdoptDeviceResult::default();
        if stop.is_asked() && ctx.patched(burn_in::PATCH) {
            return Ok(Proto(AdoptDeviceResult { stopped: true, ..done }));
        }
        let adopt = ctx
            .execute_activity(Adopt, Input::from(request), options::verb(parsed.deadline))
            .await
            .map_err(|e| failure::of_activity(&device, e))?
            .0;
        let dry_run = adopt.dry_run;
        done.adopt = Some(adopt);
        if dry_run || stop.is_asked() {
            return Ok(Proto(AdoptDeviceResult { stopped: stop.is_asked(), ..done }));
        }
        if !skip && ctx.patched(burn_in::PATCH) {
            done.burn_in = burn_in::prove(ctx, &stop, health, &tested).await?;
            if stop.is_asked() {
                return Ok(Proto(AdoptDeviceResult { stopped: true, ..done }));
            }
        }
        let resume = ctx
            .execute_activity(Resume, Input::from(resume), options::verb(options::RESUME))
            .await
            .map_err(|e| failure::of_activity(&device, e))?
            .0;
        Ok(Proto(AdoptDeviceResult { resume: Some(resume), ..done }))
    }

    /// Ends at the next closed point: before adoption, after it, or by ending the burn-in. A node that is
    /// being opened is opened. An argument is not read: one that could not be decoded would hold the
    /// device's lock for ever.
    #[signal(name = names::STOP)]
    pub fn stop(&mut self, _ctx: &mut SyncWorkflowContext<Self>, _ignored: RawValue) {
        self.stop.ask();
    }
}

/// Proves the node's health before it is opened. One that was open all along stays open.
fn health(adopt: &AdoptRequest) -> BurnInRequest {
    BurnInRequest {
        request_id: adopt.request_id.clone(),
        site: adopt.site.clone(),
        device_id: adopt.device_id.clone(),
        actor: adopt.actor.clone(),
        reason: adopt.reason.clone(),
        force: adopt.force,
        only_if_closed: true,
        ..BurnInRequest::default()
    }
}

fn resume(adopt: &AdoptRequest) -> ResumeRequest {
    ResumeRequest {
        request_id: adopt.request_id.clone(),
        site: adopt.site.clone(),
        device_id: adopt.device_id.clone(),
        actor: adopt.actor.clone(),
        reason: adopt.reason.clone(),
        skip_burn_in: adopt.skip_burn_in,
        force: adopt.force,
    }
}
