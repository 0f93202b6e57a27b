//! The machines: whenever Nova's driver spawns a server on one, it boots what it was handed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use crate::containers::{Container, Run, exec, node};

/// How often Nova's driver is asked what it was told to do.
const EVERY: Duration = Duration::from_millis(300);

type Machines = Arc<Mutex<BTreeMap<String, Container>>>;

/// Follows what Nova's driver is asked to do (the image's `events.jsonl`) and starts and stops
/// machines accordingly.
pub struct MachineRoom {
    openstack: Arc<Container>,
    machines: Machines,
    following: JoinHandle<anyhow::Result<()>>,
}

impl MachineRoom {
    /// Opens it. Each machine that boots is told.
    pub fn open(run: Run, openstack: Arc<Container>, tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        let machines = Machines::default();
        let following = tokio::spawn(follow(run, openstack.clone(), machines.clone(), tell));
        Self { openstack, machines, following }
    }

    /// Fails if machines do not boot any more.
    ///
    /// # Errors
    /// See above; why is said by [`Self::close`].
    pub fn check(&self) -> anyhow::Result<()> {
        anyhow::ensure!(!self.following.is_finished(), "a machine could not be started");
        Ok(())
    }

    /// Everything the driver was asked to do, in order.
    ///
    /// # Errors
    /// When the container cannot be asked.
    pub async fn events(&self) -> anyhow::Result<Vec<Value>> {
        events(&self.openstack).await
    }

    /// How a machine that boots should behave: see the image's `behave`.
    ///
    /// # Errors
    /// When the container cannot be asked.
    pub async fn behave(&self, machine: &str, behaviour: &Value) -> anyhow::Result<()> {
        let script = format!("printf '%s' '{behaviour}' > /var/lib/lab/behave/{machine}.json");
        exec(&self.openstack, &["sh", "-c", &script]).await.map(drop)
    }

    /// What cloud-init printed on a machine.
    ///
    /// # Errors
    /// When no such machine runs.
    pub async fn console(&self, machine: &str) -> anyhow::Result<String> {
        let machines = self.machines.lock().await;
        let container = machines.get(machine).with_context(|| format!("{machine} does not run"))?;
        Ok(String::from_utf8_lossy(&container.stdout_to_vec().await?).into_owned())
    }

    /// Runs a command on a machine.
    ///
    /// # Errors
    /// When no such machine runs, or the command fails.
    pub async fn exec(&self, machine: &str, command: &[&str]) -> anyhow::Result<String> {
        let machines = self.machines.lock().await;
        exec(machines.get(machine).with_context(|| format!("{machine} does not run"))?, command).await
    }

    /// Ends it, and every machine. Containers end here and not while the runtime is shut down, where
    /// their engine cannot be asked any more.
    ///
    /// # Errors
    /// When a machine could not be started before, or cannot be ended.
    pub async fn close(mut self) -> anyhow::Result<()> {
        self.following.abort();
        let ended = (&mut self.following).await;
        let machines = std::mem::take(&mut *self.machines.lock().await);
        for machine in machines.into_values() {
            machine.rm().await?;
        }
        match ended {
            Ok(Err(error)) => Err(error),
            Err(error) if !error.is_cancelled() => bail!("machine room: {error}"),
            Ok(Ok(())) | Err(_) => Ok(()),
        }
    }
}

impl Drop for MachineRoom {
    fn drop(&mut self) {
        self.following.abort();
    }
}

async fn events(openstack: &Container) -> anyhow::Result<Vec<Value>> {
    let text = exec(openstack, &["sh", "-c", "cat /var/lib/lab/events.jsonl 2>/dev/null || true"]).await?;
    // the last line may be half written
    Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

async fn follow(
    run: Run,
    openstack: Arc<Container>,
    machines: Machines,
    tell: impl Fn(&str),
) -> anyhow::Result<()> {
    let mut seen = 0;
    loop {
        let events = events(&openstack).await?;
        for event in &events[seen..] {
            let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
            let machine = text("node");
            machines.lock().await.remove(&machine);
            if event["kind"] == "spawn" {
                tell(&format!("{machine} boots as {}", text("hostname")));
                let user_data = STANDARD.decode(text("user_data")).context("user-data at the driver")?;
                let container =
                    node(&run, &machine, &text("hostname"), user_data, &event["metadata"]).await?;
                machines.lock().await.insert(machine, container);
            }
        }
        seen = events.len();
        tokio::time::sleep(EVERY).await;
    }
}
