//! One run: read, told to stop, cancelled. None of it needs a worker.

use model::Actor;
use proto::names;
use temporalio_common::protos::temporal::api::common::v1::{Payloads, WorkflowExecution};
use temporalio_common::protos::temporal::api::enums::v1::HistoryEventFilterType;
use temporalio_common::protos::temporal::api::history::v1::HistoryEvent;
use temporalio_common::protos::temporal::api::workflowservice::v1::{
    DescribeWorkflowExecutionRequest, DescribeWorkflowExecutionResponse, GetWorkflowExecutionHistoryRequest,
    RequestCancelWorkflowExecutionRequest, SignalWorkflowExecutionRequest,
};
use tonic::Code;

use super::{Error, IDENTITY, Temporal, json_plain};

impl Temporal {
    /// DescribeWorkflowExecution; without a run id, of the latest run. Needs no worker. `None` when
    /// there is no such run (any more).
    pub(crate) async fn describe(
        &self,
        namespace: &str,
        workflow_id: &str,
        run_id: &str,
    ) -> Result<Option<DescribeWorkflowExecutionResponse>, Error> {
        let request = DescribeWorkflowExecutionRequest {
            namespace: namespace.to_owned(),
            execution: Some(execution(workflow_id, run_id)),
        };
        let answer = self
            .call(async |connection| {
                connection.workflow_service().describe_workflow_execution(tonic::Request::new(request)).await
            })
            .await;
        match answer {
            Ok(description) => Ok(Some(description)),
            Err(Error::NotFound(_)) => Ok(None),
            // a run id that is not a UUID
            Err(Error::Refused(status)) if status.code() == Code::InvalidArgument => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The event that closed a run: its result, or its failure.
    pub(crate) async fn close_event(
        &self,
        namespace: &str,
        workflow_id: &str,
        run_id: &str,
    ) -> Result<Option<HistoryEvent>, Error> {
        let request = GetWorkflowExecutionHistoryRequest {
            namespace: namespace.to_owned(),
            execution: Some(execution(workflow_id, run_id)),
            history_event_filter_type: HistoryEventFilterType::CloseEvent.into(),
            skip_archival: true,
            ..Default::default()
        };
        let answer = self
            .call(async |connection| {
                connection
                    .workflow_service()
                    .get_workflow_execution_history(tonic::Request::new(request))
                    .await
            })
            .await?;
        Ok(answer.history.and_then(|mut history| history.events.pop()))
    }

    /// SignalWorkflowExecution with `stop`, and who asks. Safe to repeat. [`Error::NotFound`] when the run
    /// is over.
    pub(crate) async fn stop(
        &self,
        namespace: &str,
        workflow_id: &str,
        run_id: &str,
        actor: &Actor,
    ) -> Result<(), Error> {
        let request = SignalWorkflowExecutionRequest {
            namespace: namespace.to_owned(),
            workflow_execution: Some(execution(workflow_id, run_id)),
            signal_name: names::STOP.to_owned(),
            // not read by the workflow: it stands in the history
            input: Some(Payloads { payloads: vec![json_plain(actor.as_str())] }),
            identity: IDENTITY.to_owned(),
            ..Default::default()
        };
        let signal = async |connection: temporalio_client::Connection| {
            connection.workflow_service().signal_workflow_execution(tonic::Request::new(request)).await
        };
        self.call(signal).await.map(drop)
    }

    /// RequestCancelWorkflowExecution, with who asks as its reason. Safe to repeat. [`Error::NotFound`]
    /// when the run is over.
    pub(crate) async fn cancel(
        &self,
        namespace: &str,
        workflow_id: &str,
        run_id: &str,
        actor: &Actor,
    ) -> Result<(), Error> {
        let request = RequestCancelWorkflowExecutionRequest {
            namespace: namespace.to_owned(),
            workflow_execution: Some(execution(workflow_id, run_id)),
            identity: IDENTITY.to_owned(),
            reason: format!("asked by {actor}"),
            ..Default::default()
        };
        let cancel = async |connection: temporalio_client::Connection| {
            connection
                .workflow_service()
                .request_cancel_workflow_execution(tonic::Request::new(request))
                .await
        };
        self.call(cancel).await.map(drop)
    }
}

fn execution(workflow_id: &str, run_id: &str) -> WorkflowExecution {
    WorkflowExecution { workflow_id: workflow_id.to_owned(), run_id: run_id.to_owned() }
}
