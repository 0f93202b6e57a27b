//! Child processes, each with a log.

use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, bail};
use tokio::process::{Child, Command};

/// A running child. Killed when dropped, and by the kernel should this process die first.
#[derive(Debug)]
pub struct Process {
    child: Child,
    name: &'static str,
    /// Where its stdout and stderr go.
    pub log: PathBuf,
}

impl Process {
    /// Starts `program` with its output in `folder/name.log`.
    ///
    /// # Errors
    /// When the log or the program cannot be opened.
    pub fn start(
        folder: &Path,
        name: &'static str,
        program: &Path,
        arguments: &[&str],
    ) -> anyhow::Result<Self> {
        let log = folder.join(format!("{name}.log"));
        let file = File::options().create(true).append(true).open(&log).context("log file")?;
        // setpriv asks the kernel to end the child with its parent, also when that is killed
        let guarded = Path::new("/usr/bin/setpriv").exists();
        let mut command = Command::new(if guarded { Path::new("/usr/bin/setpriv") } else { program });
        if guarded {
            command.args(["--pdeathsig", "TERM"]).arg(program);
        }
        let child = command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(file.try_clone().context("log file")?)
            .stderr(file)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{name} cannot be started ({})", program.display()))?;
        Ok(Self { child, name, log })
    }

    /// An error with its log's tail if it has ended by itself.
    ///
    /// # Errors
    /// See above.
    pub fn check(&mut self) -> anyhow::Result<()> {
        let Some(status) = self.child.try_wait()? else { return Ok(()) };
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let tail: Vec<&str> = log.lines().rev().take(5).collect();
        let tail = tail.into_iter().rev().collect::<Vec<_>>().join("\n  ");
        bail!("{} ended with {status}; the end of {}:\n  {tail}", self.name, self.log.display());
    }
}

/// A binary of this workspace, beside the one that runs; beside its folder for a test's.
///
/// # Errors
/// When it has not been built.
pub fn binary(name: &str) -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let mut folder = own.parent().context("a folder")?;
    if folder.ends_with("deps") {
        folder = folder.parent().context("a folder")?;
    }
    let path = folder.join(name);
    if !path.exists() {
        bail!("{} is missing: run `cargo build --workspace --bins`", path.display());
    }
    Ok(path)
}

/// A tool that `make tools` installs.
///
/// # Errors
/// When it is not there.
pub fn tool(name: &str) -> anyhow::Result<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin").join(name);
    if !path.exists() {
        bail!("{} is missing: run `make tools`", path.display());
    }
    Ok(path)
}

/// A port that is free now.
///
/// # Errors
/// When there is none.
pub fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// Fails unless each port is free, naming those that are not.
///
/// # Errors
/// See above.
pub fn check_ports(ports: &[(&str, u16)]) -> anyhow::Result<()> {
    let taken = |(_, port): &&(&str, u16)| TcpListener::bind(("127.0.0.1", *port)).is_err();
    let taken: Vec<String> =
        ports.iter().filter(taken).map(|(what, port)| format!("{port} ({what})")).collect();
    if taken.is_empty() {
        return Ok(());
    }
    bail!("taken: port {}; end what listens there", taken.join(", port "))
}
