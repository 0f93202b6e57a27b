//! Temporal's dev server, and its CLI.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::Value;

use crate::files::tool;
use crate::process::{Process, output};

/// It is up within this.
const CEILING: Duration = Duration::from_secs(60);

/// A running dev server with one namespace, and the hub's search attribute.
#[derive(Debug)]
pub struct Temporal {
    /// The server.
    pub process: Process,
    /// `host:port` of its gRPC frontend.
    pub address: String,
    /// The URL of its UI, where one was asked for.
    pub ui: Option<String>,
    /// The namespace.
    pub namespace: String,
}

impl Temporal {
    /// Starts it and waits until the namespace is there. Without a port for its UI it has none.
    ///
    /// # Errors
    /// When it cannot be started or ends by itself.
    pub async fn start(
        folder: &Path,
        namespace: &str,
        port: u16,
        ui_port: Option<u16>,
    ) -> anyhow::Result<Self> {
        let (port_text, ui_text) = (port.to_string(), ui_port.unwrap_or_default().to_string());
        let mut arguments = vec!["server", "start-dev", "--ip", "127.0.0.1", "--log-level", "error"];
        arguments.extend(["--port", &port_text, "--namespace", namespace]);
        arguments.extend(["--search-attribute", "FleetDevice=Keyword"]);
        // its timers are a second late without this
        arguments.extend(["--dynamic-config-value", "history.timerProcessorMaxTimeShift=\"10ms\""]);
        arguments.extend(if ui_port.is_some() { vec!["--ui-port", &ui_text] } else { vec!["--headless"] });
        let process = Process::start(folder, "temporal", &tool("temporal")?, &arguments)?;
        let address = format!("127.0.0.1:{port}");
        let ui = ui_port.map(|port| format!("http://127.0.0.1:{port}/namespaces/{namespace}/workflows"));
        let mut temporal = Self { process, address, ui, namespace: namespace.to_owned() };
        temporal.until_up().await?;
        Ok(temporal)
    }

    async fn until_up(&mut self) -> anyhow::Result<()> {
        let describe = self.cli(&["operator", "namespace", "describe", "-n", &self.namespace])?;
        let mut describe = tokio::process::Command::from(describe);
        let look = || {
            let asked = describe.output();
            async {
                let answer = asked.await.map_err(|e| e.to_string())?;
                let seen = || String::from_utf8_lossy(&answer.stderr).into_owned();
                answer.status.success().then_some(()).ok_or_else(seen)
            }
        };
        self.process.until("Temporal is up", CEILING, look).await
    }

    /// The CLI, with these arguments, against this server.
    ///
    /// # Errors
    /// When the CLI is not installed.
    pub fn cli(&self, arguments: &[&str]) -> anyhow::Result<Command> {
        let mut command = Command::new(tool("temporal")?);
        command.args(arguments).args(["--address", &self.address]);
        Ok(command)
    }

    /// Every history of the namespace, as JSON, by workflow id and run.
    ///
    /// # Errors
    /// When the server does not tell them.
    pub fn histories(&self) -> anyhow::Result<Vec<(String, Value)>> {
        let list = ["workflow", "list", "-n", &self.namespace, "-o", "json", "--limit", "1000"];
        let list: Value = serde_json::from_str(&output(&mut self.cli(&list)?)?)?;
        let mut histories = Vec::new();
        for entry in list.as_array().context("a list of workflows")? {
            let text = |key| entry["execution"][key].as_str().context("an execution without its ids");
            let (workflow, run) = (text("workflowId")?, text("runId")?);
            let show = ["workflow", "show", "-n", &self.namespace, "-w", workflow, "-r", run, "-o", "json"];
            let history = serde_json::from_str(&output(&mut self.cli(&show)?)?)?;
            histories.push((format!("{workflow} {run}"), history));
        }
        Ok(histories)
    }
}
