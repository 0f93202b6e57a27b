//! Temporal's client: named here and below only. Raw gRPC, since the SDK cannot hand over a request id.
//!
//! The connection is made when it is first needed and made again after Temporal was away.

mod run;

use std::collections::HashMap;
use std::time::Duration;

use model::{Actor, DeviceId, RequestId, SiteId};
use proto::names;
use temporalio_client::{Connection, ConnectionOptions, TlsOptions};
use temporalio_common::protos::temporal::api::common::v1::{
    Memo, Payload, Payloads, SearchAttributes, WorkflowType,
};
use temporalio_common::protos::temporal::api::enums::v1::{WorkflowIdConflictPolicy, WorkflowIdReusePolicy};
use temporalio_common::protos::temporal::api::taskqueue::v1::TaskQueue;
use temporalio_common::protos::temporal::api::workflowservice::v1::StartWorkflowExecutionRequest;
use tokio::sync::Mutex;
use tonic::{Code, Status};
use url::Url;

/// How long a call may take.
const CALL: Duration = Duration::from_secs(10);
const IDENTITY: &str = "fleet-hub";

/// Temporal, as the hub needs it.
pub(crate) struct Temporal {
    url: Url,
    connection: Mutex<Option<Connection>>,
}

/// A workflow to be started.
pub(crate) struct Start<'a> {
    /// The site's namespace.
    pub(crate) namespace: &'a str,
    /// The site.
    pub(crate) site: &'a SiteId,
    /// The device, whose lock is taken.
    pub(crate) device: &'a DeviceId,
    /// The workflow's type.
    pub(crate) workflow: &'static str,
    /// The request: Temporal answers the same one with the run it has.
    pub(crate) request: &'a RequestId,
    /// Who asks.
    pub(crate) actor: &'a Actor,
    /// They ask that it goes on over what somebody else closed.
    pub(crate) force: bool,
    /// They ask that the node is opened without a burn-in.
    pub(crate) skip_burn_in: bool,
    /// The encoded input.
    pub(crate) input: Payload,
}

/// A run that answers a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Started {
    /// Its id.
    pub(crate) run_id: String,
    /// False when it was there before.
    pub(crate) new: bool,
}

/// Why a call did not do what it was made for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// Another run holds the device.
    #[error("another run holds the device")]
    Busy,
    /// The namespace, or what was asked for in it, is not there.
    #[error("not found")]
    NotFound(#[source] Status),
    /// Temporal does not answer; the same call may do better later.
    #[error("Temporal does not answer")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Temporal does not accept the call.
    #[error("Temporal refuses the call")]
    Refused(#[source] Status),
}

impl From<Status> for Error {
    fn from(status: Status) -> Self {
        match status.code() {
            Code::AlreadyExists => Self::Busy,
            Code::NotFound => Self::NotFound(status),
            Code::Unavailable
            | Code::DeadlineExceeded
            | Code::Cancelled
            | Code::ResourceExhausted
            | Code::Aborted
            | Code::Internal
            | Code::DataLoss
            | Code::Unknown => Self::Unavailable(Box::new(status)),
            Code::Ok
            | Code::InvalidArgument
            | Code::PermissionDenied
            | Code::FailedPrecondition
            | Code::OutOfRange
            | Code::Unimplemented
            | Code::Unauthenticated => Self::Refused(status),
        }
    }
}

impl Temporal {
    /// Temporal at `url`. Nothing is called yet.
    pub(crate) fn new(url: Url) -> Self {
        Self { url, connection: Mutex::new(None) }
    }

    /// StartWorkflowExecution. Safe to repeat: the same request id joins the run that it started.
    /// Where `FleetDevice` is not registered the start fails, so once more without it.
    pub(crate) async fn start(&self, start: Start<'_>) -> Result<Started, Error> {
        let device = json_plain(start.device.as_str());
        let mut request = request(start);
        let attribute = HashMap::from([(names::SEARCH_ATTRIBUTE_DEVICE.to_owned(), keyword(device))]);
        request.search_attributes = Some(SearchAttributes { indexed_fields: attribute });
        match self.send_start(request.clone()).await {
            Err(Error::Refused(status))
                if status.code() == Code::InvalidArgument
                    && status.message().contains(names::SEARCH_ATTRIBUTE_DEVICE) =>
            {
                tracing::warn!(
                    attribute = names::SEARCH_ATTRIBUTE_DEVICE,
                    "search attribute is not registered"
                );
                request.search_attributes = None;
                self.send_start(request).await
            }
            answer => answer,
        }
    }

    async fn send_start(&self, request: StartWorkflowExecutionRequest) -> Result<Started, Error> {
        let answer = self
            .call(async |connection| {
                connection.workflow_service().start_workflow_execution(tonic::Request::new(request)).await
            })
            .await?;
        Ok(Started { run_id: answer.run_id, new: answer.started })
    }

    /// Makes one call, bounded, on the connection. One that Temporal did not answer is thrown away.
    async fn call<T>(
        &self,
        call: impl AsyncFnOnce(Connection) -> Result<tonic::Response<T>, Status>,
    ) -> Result<T, Error> {
        let late = |_| Error::Unavailable("no answer in time".into());
        let answer = tokio::time::timeout(CALL, async {
            let connection = self.connect().await?;
            call(connection).await.map(tonic::Response::into_inner).map_err(Error::from)
        });
        let answer = answer.await.map_err(late).flatten();
        if matches!(answer, Err(Error::Unavailable(_))) {
            *self.connection.lock().await = None;
        }
        answer
    }

    async fn connect(&self) -> Result<Connection, Error> {
        let mut slot = self.connection.lock().await;
        if let Some(connection) = slot.as_ref() {
            return Ok(connection.clone());
        }
        let tls = (self.url.scheme() == "https").then(TlsOptions::default);
        let options = ConnectionOptions::new(self.url.clone())
            .identity(IDENTITY.to_owned())
            .maybe_tls_options(tls)
            .connect_timeout(CALL / 2)
            .build();
        let connection =
            Connection::connect(options).await.map_err(|error| Error::Unavailable(Box::new(error)))?;
        Ok(slot.insert(connection).clone())
    }
}

fn request(start: Start<'_>) -> StartWorkflowExecutionRequest {
    let mut memo = HashMap::from([
        (names::MEMO_REQUEST.to_owned(), json_plain(start.request.as_str())),
        (names::MEMO_ACTOR.to_owned(), json_plain(start.actor.as_str())),
    ]);
    // who answers for it is to be read where runs are listed
    for (asked, key) in
        [(start.force, names::MEMO_FORCED_BY), (start.skip_burn_in, names::MEMO_BURN_IN_SKIPPED_BY)]
    {
        if asked {
            memo.insert(key.to_owned(), json_plain(start.actor.as_str()));
        }
    }
    StartWorkflowExecutionRequest {
        namespace: start.namespace.to_owned(),
        workflow_id: names::workflow_id(start.site, start.device),
        workflow_type: Some(WorkflowType { name: start.workflow.to_owned() }),
        task_queue: Some(TaskQueue { name: names::task_queue(start.site), ..Default::default() }),
        input: Some(Payloads { payloads: vec![start.input] }),
        identity: IDENTITY.to_owned(),
        request_id: start.request.to_string(),
        workflow_id_reuse_policy: WorkflowIdReusePolicy::AllowDuplicate.into(),
        workflow_id_conflict_policy: WorkflowIdConflictPolicy::Fail.into(),
        memo: Some(Memo { fields: memo }),
        ..Default::default()
    }
}

/// Text as `json/plain`.
fn json_plain(text: &str) -> Payload {
    Payload {
        metadata: HashMap::from([("encoding".to_owned(), b"json/plain".to_vec())]),
        data: serde_json::Value::from(text).to_string().into_bytes(),
        external_payloads: Vec::new(),
    }
}

fn keyword(mut payload: Payload) -> Payload {
    payload.metadata.insert("type".to_owned(), b"Keyword".to_vec());
    payload
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_carries_lock_request_and_asker() {
        let (site, device) = (SiteId::parse("lab").unwrap(), DeviceId::parse("d-1").unwrap());
        let (id, actor) = (RequestId::parse("r-1").unwrap(), Actor::parse("ada").unwrap());
        let sent = request(Start {
            namespace: "lab-ns",
            site: &site,
            device: &device,
            workflow: names::ADOPT_DEVICE,
            request: &id,
            actor: &actor,
            force: true,
            skip_burn_in: false,
            input: Payload::default(),
        });
        assert_eq!((sent.namespace.as_str(), sent.workflow_id.as_str()), ("lab-ns", "slurm/lab/d-1"));
        assert_eq!((sent.request_id.as_str(), sent.task_queue.unwrap().name.as_str()), ("r-1", "slurm-lab"));
        assert_eq!(sent.workflow_id_conflict_policy, i32::from(WorkflowIdConflictPolicy::Fail));
        assert_eq!(sent.workflow_id_reuse_policy, i32::from(WorkflowIdReusePolicy::AllowDuplicate));
        let memo = sent.memo.unwrap().fields;
        assert_eq!(memo[names::MEMO_ACTOR].data, b"\"ada\"");
        assert_eq!(memo[names::MEMO_FORCED_BY].data, b"\"ada\"");
        assert!(!memo.contains_key(names::MEMO_BURN_IN_SKIPPED_BY));
        assert_eq!((sent.workflow_execution_timeout, sent.workflow_run_timeout), (None, None));
    }

    #[test]
    fn what_may_do_better_later_is_unavailable() {
        assert!(matches!(Error::from(Status::already_exists("")), Error::Busy));
        assert!(matches!(Error::from(Status::unavailable("")), Error::Unavailable(_)));
        assert!(matches!(Error::from(Status::permission_denied("")), Error::Refused(_)));
    }
}
