//! Temporal's dev server, with its UI.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use tokio::process::Command;

use crate::process::{Process, tool};

/// A running dev server with one namespace.
#[derive(Debug)]
pub struct Temporal {
    process: Process,
    /// `host:port` of its gRPC frontend.
    pub address: String,
    /// The URL of its UI.
    pub ui: String,
    /// The namespace.
    pub namespace: String,
}

impl Temporal {
    /// Starts it and waits until the namespace is there.
    ///
    /// # Errors
    /// When it cannot be started or ends by itself.
    pub async fn start(folder: &Path, namespace: &str, port: u16, ui_port: u16) -> anyhow::Result<Self> {
        let (port_text, ui_text) = (port.to_string(), ui_port.to_string());
        let arguments = [
            "server",
            "start-dev",
            "--ip",
            "127.0.0.1",
            "--log-level",
            "error",
            "--port",
            &port_text,
            "--ui-port",
            &ui_text,
            "--namespace",
            namespace,
            "--search-attribute",
            "FleetDevice=Keyword",
        ];
        let mut process = Process::start(folder, "temporal", &tool("temporal")?, &arguments)?;
        let address = format!("127.0.0.1:{port}");
        let describe = ["operator", "namespace", "describe", "-n", namespace, "--address", &address];
        loop {
            process.check()?;
            let asked = Command::new(tool("temporal")?).args(describe).output().await.context("temporal")?;
            if asked.status.success() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        let ui = format!("http://127.0.0.1:{ui_port}/namespaces/{namespace}/workflows");
        Ok(Self { process, address, ui, namespace: namespace.to_owned() })
    }

    /// Fails if it has ended by itself.
    ///
    /// # Errors
    /// See above.
    pub fn check(&mut self) -> anyhow::Result<()> {
        self.process.check()
    }
}
