//! Follows a run and a device through the hub, a line a change.

use std::time::Duration;

use anyhow::{Context as _, bail};
use clients::hub::Hub;
use model::{
    ConditionType, Device, DeviceId, DeviceStatus, DrainReason, FailureView, RequestId, RunStatus,
    StartRequest, Verb,
};

use crate::say;

/// How often the hub is asked.
const EVERY: Duration = Duration::from_millis(250);

/// How an adoption ended.
pub(crate) enum End {
    /// The node is open.
    Adopted,
    /// Why not.
    Failed(FailureView),
}

impl End {
    /// Fails if the adoption did.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        match self {
            Self::Adopted => Ok(()),
            Self::Failed(failure) => bail!("an adoption failed: {}: {}", failure.code, failure.message),
        }
    }
}

/// Starts the adoption of a device, with this deadline, and says each step.
pub(crate) async fn adopt(hub: &Hub, device: &DeviceId, deadline: Duration) -> anyhow::Result<End> {
    let request = RequestId::parse(&format!("demo-{device}"))?;
    let start = StartRequest {
        deadline_seconds: Some(u32::try_from(deadline.as_secs())?),
        ..StartRequest::new(Verb::Adopt, DrainReason::parse("the demo")?)
    };
    let mut view = hub.start(device, &request, &start).await?;
    let mut said = String::new();
    loop {
        if let Some(progress) = &view.progress {
            let waiting = if progress.waiting_for.is_empty() { "" } else { " · waiting: " };
            let now = format!("{device}  {}{waiting}{}", progress.step, progress.waiting_for);
            if now != said {
                say(&now);
                said = now;
            }
        }
        match (view.status, view.failure.take()) {
            (RunStatus::Running, _) => {}
            (RunStatus::Completed, _) => {
                let result = view.result.unwrap_or_default();
                let node = result["adopt"]["node"].as_str().context("a result without a node")?;
                let proof = result["burnIn"]["reason"].as_str().context("a result without a burn-in")?;
                say(&format!("{device}  adopted: burn-in {proof}; node {node} is open"));
                return Ok(End::Adopted);
            }
            (_, Some(failure)) => {
                say(&format!("{device}  failed: {}: {}; {}", failure.code, failure.message, failure.remedy));
                return Ok(End::Failed(failure));
            }
            (status, None) => bail!("{device}: the run ended as {status:?}"),
        }
        tokio::time::sleep(EVERY).await;
        view = hub.run(device, &view.run_id).await?.context("the hub has forgotten the run")?;
    }
}

/// Says each change of a device's conditions and status until it is ready.
pub(crate) async fn until_ready(hub: &Hub, id: &DeviceId) -> anyhow::Result<()> {
    let mut said = String::new();
    loop {
        let device = hub.device(id).await?.context("the hub has forgotten the device")?;
        let now = describe(&device);
        if now != said {
            say(&now);
            said = now;
        }
        if device.status == DeviceStatus::Ready {
            return Ok(());
        }
        tokio::time::sleep(EVERY).await;
    }
}

fn describe(device: &Device) -> String {
    let condition = |kind: ConditionType| {
        let found = device.conditions.iter().find(|c| c.kind == kind).map(|c| &c.observed);
        found.map_or_else(
            || format!("{} not seen yet", kind.as_str()),
            |o| format!("{} {}/{}", kind.as_str(), o.status.as_str(), o.reason),
        )
    };
    let conditions = ConditionType::ALL.map(condition).join(" · ");
    format!("{}  {conditions} · the device is {}", device.id, device.status.as_str())
}
