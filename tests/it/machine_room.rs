//! The machines: whenever Nova's driver spawns a server on one, it boots what it was handed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::containers::{Container, Run, exec, node};
use crate::wait::say;

/// Follows what Nova's driver is asked to do (the image's `events.jsonl`) and starts and stops
/// machines accordingly.
pub(crate) struct MachineRoom {
    openstack: Arc<Container>,
    machines: Arc<Mutex<BTreeMap<String, Container>>>,
    following: JoinHandle<()>,
}

impl MachineRoom {
    pub(crate) fn open(run: Run, openstack: Arc<Container>) -> Self {
        let machines = Arc::new(Mutex::new(BTreeMap::new()));
        let following = tokio::spawn(follow(run, openstack.clone(), machines.clone()));
        Self { openstack, machines, following }
    }

    /// Everything the driver was asked to do, in order.
    pub(crate) async fn events(&self) -> Vec<Value> {
        events(&self.openstack).await
    }

    /// How a machine that boots should behave: see the image's `behave`.
    pub(crate) async fn behave(&self, machine: &str, behaviour: &Value) {
        let script = format!("printf '%s' '{behaviour}' > /var/lib/lab/behave/{machine}.json");
        exec(&self.openstack, &["sh", "-c", &script]).await;
    }

    /// What cloud-init printed on a machine.
    pub(crate) async fn console(&self, machine: &str) -> String {
        match self.machines.lock().await.get(machine) {
            Some(container) => {
                String::from_utf8_lossy(&container.stdout_to_vec().await.unwrap()).into_owned()
            }
            None => "no such machine runs".to_owned(),
        }
    }

    /// Runs a command on a machine.
    pub(crate) async fn exec(&self, machine: &str, command: &[&str]) -> String {
        exec(self.machines.lock().await.get(machine).expect(machine), command).await
    }

    /// Ends it, and every machine. Containers end here and not while the runtime is shut down, where
    /// their engine cannot be asked any more.
    pub(crate) async fn close(self) {
        self.following.abort();
        let _ = self.following.await;
        let machines = std::mem::take(&mut *self.machines.lock().await);
        for machine in machines.into_values() {
            machine.rm().await.unwrap();
        }
    }
}

async fn events(openstack: &Container) -> Vec<Value> {
    let text = exec(openstack, &["sh", "-c", "cat /var/lib/lab/events.jsonl 2>/dev/null || true"]).await;
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

async fn follow(run: Run, openstack: Arc<Container>, machines: Arc<Mutex<BTreeMap<String, Container>>>) {
    let mut seen = 0;
    loop {
        let events = events(&openstack).await;
        for event in &events[seen..] {
            let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
            let machine = text("node");
            machines.lock().await.remove(&machine);
            if event["kind"] == "spawn" {
                say(&format!("{machine} boots as {}", text("hostname")));
                let user_data = STANDARD.decode(text("user_data")).unwrap();
                let container = node(&run, &machine, &text("hostname"), user_data, &event["metadata"]).await;
                machines.lock().await.insert(machine, container);
            }
        }
        seen = events.len();
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}
