//! ResumeDevice: burn in, then resume.

#![expect(missing_docs, reason = "the macros make constants that cannot carry any")]

use proto::v1::{BurnInRequest, ResumeRequest, ResumeResult};
use proto::{Input, Proto, names};
use temporalio_common::data_converters::RawValue;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_workflow::{SyncWorkflowContext, WorkflowContext, WorkflowResult};

use crate::stop::Stop;
use crate::{Resume, burn_in, failure, options};

/// Opens a node of ours to users, on proof of its health.
#[workflow]
#[derive(Debug, Default)]
pub struct ResumeDevice {
    stop: Stop,
}

#[workflow_methods]
impl ResumeDevice {
    /// Burns in, unless the request says otherwise, then opens: unless somebody said `stop` meanwhile.
    #[run(name = names::RESUME_DEVICE)]
    pub async fn run(
        ctx: &mut WorkflowContext<Self>,
        input: Input<ResumeRequest>,
    ) -> WorkflowResult<Proto<ResumeResult>> {
        let request = input.0.map_err(|e| failure::undecodable(&e))?;
        let device = request.device_id.clone();
        let parsed = failure::unless_invalid(&device, request.parse())?;
        failure::check_lock(ctx.workflow_id(), &parsed)?;
        let health = health(&request);
        let tested = failure::unless_invalid(&device, health.parse())?;
        let stop = ctx.state(|s| s.stop.clone());
        let mut burned = None;
        if !request.skip_burn_in && ctx.patched(burn_in::PATCH) {
            burned = burn_in::prove(ctx, &stop, health, &tested).await?;
        }
        if stop.is_asked() && ctx.patched(burn_in::PATCH) {
            return Ok(Proto(ResumeResult { burn_in: burned, stopped: true, ..ResumeResult::default() }));
        }
        let opened = ctx
            .execute_activity(Resume, Input::from(request), options::verb(options::RESUME))
            .await
            .map_err(|e| failure::of_activity(&device, e))?
            .0;
        Ok(Proto(ResumeResult { burn_in: burned, ..opened }))
    }

    /// Ends at the next closed point: before the node is opened, or by ending the burn-in. A node that is
    /// being opened is opened. An argument is not read: one that could not be decoded would hold the
    /// device's lock for ever.
    #[signal(name = names::STOP)]
    pub fn stop(&mut self, _ctx: &mut SyncWorkflowContext<Self>, _ignored: RawValue) {
        self.stop.ask();
    }
}

/// Proves the node's health before it is opened. One that is open already stays open.
fn health(resume: &ResumeRequest) -> BurnInRequest {
    BurnInRequest {
        request_id: resume.request_id.clone(),
        site: resume.site.clone(),
        device_id: resume.device_id.clone(),
        actor: resume.actor.clone(),
        reason: resume.reason.clone(),
        force: resume.force,
        only_if_closed: true,
        ..BurnInRequest::default()
    }
}
