//! Temporal's dev server, a worker with the real workflows and mocked activities, and runs of them.

use std::sync::Arc;
use std::time::Duration;

use model::{DeviceId, SiteId};
use proto::{Proto, names};
use sandbox::{Temporal, folder, free_port};
use temporalio_client::errors::WorkflowGetResultError;
use temporalio_client::{
    Client, ClientOptions, Connection, ConnectionOptions, UntypedSignal, UntypedWorkflow, WorkflowHandle,
    WorkflowHistory, WorkflowStartOptions,
};
use temporalio_common::data_converters::{PayloadConverter, RawValue, TemporalDeserializable};
use temporalio_common::error::IncomingError;
use temporalio_common::protos::temporal::api::common::v1::Payload;
use temporalio_sdk::{Runtime, Worker as SdkWorker, WorkerOptions};
use tokio::sync::oneshot;
use url::Url;
use uuid::Uuid;

use super::mock::{Activities, Mocks};
use super::script::Failure;
use crate::wait::eventually;

/// Longer than any deadline in these tests.
const CEILING: Duration = Duration::from_secs(20);
/// A cancel reaches an activity with the answer to a heartbeat; the SDK's default sends one in 24 s.
const HEARTBEATS: Duration = Duration::from_millis(100);

/// Everything of one test.
pub(crate) struct Lab {
    pub(crate) mocks: Arc<Mocks>,
    url: Url,
    client: Client,
    // the worker ends before its server
    worker: Worker,
    _temporal: Temporal,
}

impl Lab {
    pub(crate) async fn start() -> Self {
        let folder = folder(&format!("it/workflow-{}", Uuid::new_v4().simple())).unwrap();
        let temporal = Temporal::start(&folder, "lab", free_port().unwrap(), None).await.unwrap();
        let url: Url = format!("http://{}", temporal.address).parse().unwrap();
        let mocks = Arc::new(Mocks::default());
        let worker = Worker::start(url.clone(), mocks.clone());
        Self { mocks, client: client(url.clone()).await, url, worker, _temporal: temporal }
    }

    /// Starts a workflow on the device, as the hub does it.
    pub(crate) async fn start_with(&self, workflow: &str, input: Vec<Payload>) -> Run {
        let (site, device) = (site(), DeviceId::parse("gpu-001").unwrap());
        let options =
            WorkflowStartOptions::new(names::task_queue(&site), names::workflow_id(&site, &device)).build();
        let workflow = UntypedWorkflow::new(workflow);
        let handle = self.client.start_workflow(workflow, RawValue::new(input), options).await.unwrap();
        Run { mocks: self.mocks.clone(), handle }
    }

    /// Starts a workflow on the device that is told to stop before its first task.
    pub(crate) async fn start_stopped(&self, workflow: &str, input: Vec<Payload>) -> Run {
        let (site, device) = (site(), DeviceId::parse("gpu-001").unwrap());
        let options =
            WorkflowStartOptions::new(names::task_queue(&site), names::workflow_id(&site, &device)).build();
        let (input, stop) = (RawValue::new(input), UntypedSignal::new(names::STOP));
        let workflow = UntypedWorkflow::new(workflow);
        let started =
            self.client.signal_with_start_workflow(workflow, input, stop, RawValue::new(Vec::new()), options);
        Run { mocks: self.mocks.clone(), handle: started.await.unwrap() }
    }

    /// Starts another worker, then ends the one that ran, as a deployment does.
    pub(crate) fn deploy(&mut self) {
        self.worker = Worker::start(self.url.clone(), self.mocks.clone());
    }

    /// Waits until this is in the log.
    pub(crate) async fn until(&self, line: &str) {
        eventually(line, CEILING, || async {
            let log = self.mocks.log();
            if log.iter().any(|l| l == line) { Ok(()) } else { Err(format!("{log:?}")) }
        })
        .await;
    }
}

fn site() -> SiteId {
    SiteId::parse("lab").unwrap()
}

async fn client(url: Url) -> Client {
    // a fixed identity: it stands in recorded histories
    let options = ConnectionOptions::new(url).identity("lab").build();
    Client::new(Connection::connect(options).await.unwrap(), ClientOptions::new("lab").build()).unwrap()
}

/// One run of a workflow.
pub(crate) struct Run {
    mocks: Arc<Mocks>,
    handle: WorkflowHandle<Client, UntypedWorkflow>,
}

impl Run {
    pub(crate) async fn cancel(&self) {
        self.handle.cancel(Default::default()).await.unwrap();
    }

    /// Sends a signal, with what comes with it.
    pub(crate) async fn signal(&self, name: &str, input: Vec<Payload>) {
        let signal = UntypedSignal::new(name);
        self.handle.signal(signal, RawValue::new(input), Default::default()).await.unwrap();
    }

    /// The result of a run that completes.
    pub(crate) async fn result<T>(&self) -> T
    where
        Proto<T>: TemporalDeserializable + 'static,
    {
        match self.end().await {
            Ok(result) => result.to_value::<Proto<T>>(&PayloadConverter::default()).0,
            Err(error) => panic!("{error:?}"),
        }
    }

    /// The failure of a run that fails.
    pub(crate) async fn failure(&self) -> Failure {
        match self.end().await {
            Err(WorkflowGetResultError::Failed(error)) => match *error {
                IncomingError::Application(failure) => Failure {
                    code: failure.type_name().unwrap_or_default().to_owned(),
                    message: failure.to_string(),
                    non_retryable: failure.is_non_retryable(),
                    details: failure.details::<Proto<_>>().unwrap().map(|d| d.0).unwrap_or_default(),
                },
                other => panic!("not an application failure: {other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }

    /// Waits for the end of a run that is cancelled.
    pub(crate) async fn canceled(&self) {
        let end = self.end().await;
        assert!(matches!(end, Err(WorkflowGetResultError::Cancelled { .. })), "{end:?}");
    }

    /// Waits for its end, whatever that is.
    pub(crate) async fn end(&self) -> Result<RawValue, WorkflowGetResultError> {
        let end = tokio::time::timeout(CEILING, self.handle.get_result(Default::default())).await;
        let log = self.mocks.log();
        end.unwrap_or_else(|_| panic!("still running after {CEILING:?}; log: {log:?}"))
    }

    pub(crate) fn history(&self) -> WorkflowHistory {
        self.handle.fetch_history(Default::default())
    }
}

/// A worker on a thread of its own: its future is not `Send`. Ends when dropped.
struct Worker {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Worker {
    fn start(url: Url, mocks: Arc<Mocks>) -> Self {
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(work(url, mocks, stopped));
        });
        Self { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.stop.take());
        let ended = self.thread.take().map(std::thread::JoinHandle::join);
        assert!(matches!(ended, Some(Ok(()))) || std::thread::panicking(), "the worker panicked");
    }
}

async fn work(url: Url, mocks: Arc<Mocks>, stopped: oneshot::Receiver<()>) {
    let runtime = Runtime::from_current_tokio(Default::default()).unwrap();
    let options = WorkerOptions::new(names::task_queue(&site()))
        .graceful_shutdown_period(Duration::ZERO)
        .max_heartbeat_throttle_interval(HEARTBEATS)
        .register_activities(Activities(mocks))
        .register_workflow::<workflows::AdoptDevice>()
        .unwrap()
        .register_workflow::<workflows::ResumeDevice>()
        .unwrap()
        .register_workflow::<workflows::DrainDevice>()
        .unwrap()
        .register_workflow::<workflows::ReleaseDevice>()
        .unwrap()
        .register_workflow::<workflows::BurnInDevice>()
        .unwrap()
        .register_workflow::<workflows::PollSchedulerConditions>()
        .unwrap()
        .build();
    let mut worker = SdkWorker::new(&runtime, client(url).await, options).unwrap();
    let shut_down = worker.shutdown_handle();
    let stop = async {
        // the sender is dropped when the test ends
        let _ = stopped.await;
        shut_down();
    };
    let (ended, ()) = tokio::join!(worker.run(), stop);
    ended.unwrap();
}
