//! ResumeDevice: resume. Burn-in joins before it.

#![expect(missing_docs, reason = "the macros make constants that cannot carry any")]

use proto::v1::{ResumeRequest, ResumeResult};
use proto::{Input, Proto, names};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_workflow::{WorkflowContext, WorkflowResult};

use crate::{Resume, failure, options};

/// Opens a node of ours to users.
#[workflow]
#[derive(Debug, Default)]
pub struct ResumeDevice;

#[workflow_methods]
impl ResumeDevice {
    /// Opens it.
    #[run(name = names::RESUME_DEVICE)]
    pub async fn run(
        ctx: &mut WorkflowContext<Self>,
        input: Input<ResumeRequest>,
    ) -> WorkflowResult<Proto<ResumeResult>> {
        let request = input.0.map_err(|e| failure::undecodable(&e))?;
        let device = request.device_id.clone();
        let parsed =
            request.parse().map_err(|e| failure::invalid(&device, &e.field, &e.to_string(), &e.remedy))?;
        failure::check_lock(ctx.workflow_id(), &parsed)?;
        ctx.execute_activity(Resume, Input::from(request), options::verb(options::RESUME))
            .await
            .map_err(|e| failure::of_activity(&device, e))
    }
}
