//! Processes of our own and Temporal's server, each with a log; none outlives the test.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::wait::eventually;

/// A running process. Killed when dropped.
pub(crate) struct Process {
    child: Child,
    pub(crate) log: PathBuf,
}

impl Process {
    /// Starts it with stdout and stderr in `folder/name.log`, appending.
    pub(crate) fn start(folder: &Path, name: &str, command: &mut Command) -> Self {
        let log = folder.join(format!("{name}.log"));
        let file = File::options().create(true).append(true).open(&log).unwrap();
        let child = command
            .stdin(Stdio::null())
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .spawn()
            .unwrap_or_else(|e| panic!("{name} cannot be started: {e}"));
        Self { child, log }
    }

    pub(crate) fn signal(&self, signal: &str) {
        let status = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// Waits for its end.
    pub(crate) async fn ended(&mut self, ceiling: Duration) -> std::process::ExitStatus {
        let child = std::cell::RefCell::new(&mut self.child);
        eventually("process ends", ceiling, || async {
            child.borrow_mut().try_wait().unwrap().ok_or_else(|| "still running".to_owned())
        })
        .await
    }

    pub(crate) fn text(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that is free now.
pub(crate) fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A new folder for a test's logs.
pub(crate) fn folder(name: &str) -> PathBuf {
    let id = uuid::Uuid::new_v4().simple().to_string();
    let folder =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/it").join(format!("{name}-{}", &id[..8]));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A binary of this workspace, built beside this test.
pub(crate) fn binary(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_satellite")).with_file_name(name);
    assert!(path.exists(), "{} is missing: run the tests with `make test`", path.display());
    path
}

/// A tool that `make tools` installs.
pub(crate) fn tool(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(".venv/bin").join(name);
    assert!(path.exists(), "{} is missing: run `make tools`", path.display());
    path
}

/// Runs a command to its end and returns its stdout; panics with its stderr when it fails.
pub(crate) fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Temporal's dev server, with one namespace and the hub's search attribute.
pub(crate) struct Temporal {
    pub(crate) process: Process,
    pub(crate) address: String,
    pub(crate) namespace: String,
}

impl Temporal {
    pub(crate) async fn start(folder: &Path, namespace: &str) -> Self {
        Self::start_on(folder, namespace, free_port()).await
    }

    pub(crate) async fn start_on(folder: &Path, namespace: &str, port: u16) -> Self {
        let mut command = Command::new(tool("temporal"));
        command.args(["server", "start-dev", "--headless", "--ip", "127.0.0.1", "--log-level", "error"]);
        command.args(["--port", &port.to_string(), "--http-port", &free_port().to_string()]);
        command.args(["--namespace", namespace, "--search-attribute", "FleetDevice=Keyword"]);
        command.args(["--dynamic-config-value", "history.timerProcessorMaxTimeShift=\"10ms\""]);
        let process = Process::start(folder, "temporal", &mut command);
        let temporal =
            Self { process, address: format!("127.0.0.1:{port}"), namespace: namespace.to_owned() };
        eventually("Temporal is up", Duration::from_secs(60), || async {
            let out = temporal.cli(&["operator", "namespace", "describe", "-n", namespace]).output().unwrap();
            out.status
                .success()
                .then_some(())
                .ok_or_else(|| String::from_utf8_lossy(&out.stderr).into_owned())
        })
        .await;
        temporal
    }

    pub(crate) fn cli(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(tool("temporal"));
        command.args(arguments).args(["--address", &self.address]);
        command
    }

    /// Every history of the namespace, as JSON, by workflow id and run.
    pub(crate) fn histories(&self) -> Vec<(String, serde_json::Value)> {
        let list = output(&mut self.cli(&[
            "workflow",
            "list",
            "-n",
            &self.namespace,
            "-o",
            "json",
            "--limit",
            "1000",
        ]));
        let list: serde_json::Value = serde_json::from_str(&list).unwrap();
        let runs = list.as_array().unwrap().iter().map(|w| {
            let text = |key| w["execution"][key].as_str().unwrap().to_owned();
            (text("workflowId"), text("runId"))
        });
        let show = |(workflow, run): (String, String)| {
            let arguments =
                ["workflow", "show", "-n", &self.namespace, "-w", &workflow, "-r", &run, "-o", "json"];
            let history = serde_json::from_str(&output(&mut self.cli(&arguments))).unwrap();
            (format!("{workflow} {run}"), history)
        };
        runs.map(show).collect()
    }
}
