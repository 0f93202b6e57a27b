//! Child processes, each with a log.

use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use tokio::process::{Child, Command};

use crate::wait::while_going;

/// A running child. Killed when dropped, and by the kernel should this process die first.
#[derive(Debug)]
pub struct Process {
    child: Child,
    name: &'static str,
    /// Where its stdout and stderr go.
    pub log: PathBuf,
}

impl Process {
    /// Starts `program` with its output in `folder/name.log`, which is appended to.
    ///
    /// Not from a thread that ends: the kernel takes a child's parent to be the thread that made it.
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
        // setpriv asks the kernel to end the child with its parent, also when that is killed; the shell sees
        // whether that was so before it was asked
        let guarded = Path::new("/usr/bin/setpriv").exists();
        let mut command = Command::new(if guarded { Path::new("/usr/bin/setpriv") } else { program });
        if guarded {
            let parent = std::process::id().to_string();
            let orphan = "[ \"$PPID\" = \"$0\" ] && exec \"$@\"";
            command.args(["--pdeathsig", "TERM", "sh", "-c", orphan]).arg(parent).arg(program);
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
        let log = self.text();
        let tail: Vec<&str> = log.lines().rev().take(5).collect();
        let tail = tail.into_iter().rev().collect::<Vec<_>>().join("\n  ");
        bail!("{} ended with {status}; the end of {}:\n  {tail}", self.name, self.log.display());
    }

    /// Looks until it is there, while the process runs.
    ///
    /// # Errors
    /// As [`Self::check`]; past the ceiling, with what was last seen.
    pub async fn until<T, F>(
        &mut self,
        what: &str,
        ceiling: Duration,
        look: impl FnMut() -> F,
    ) -> anyhow::Result<T>
    where
        F: Future<Output = Result<T, String>>,
    {
        while_going(|| self.check(), what, ceiling, look).await
    }

    /// Sends it a signal, such as `-TERM`.
    ///
    /// # Errors
    /// When it has ended.
    pub fn signal(&self, signal: &str) -> anyhow::Result<()> {
        let id = self.id()?.to_string();
        let status = std::process::Command::new("kill").args([signal, &id]).status()?;
        ensure!(status.success(), "kill {signal} {id} ({}): {status}", self.name);
        Ok(())
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// Past the ceiling.
    pub async fn ended(&mut self, ceiling: Duration) -> anyhow::Result<ExitStatus> {
        let ended = tokio::time::timeout(ceiling, self.child.wait()).await;
        Ok(ended.with_context(|| format!("{} still runs after {ceiling:?}", self.name))??)
    }

    /// Its process id.
    ///
    /// # Errors
    /// When it has ended.
    pub fn id(&self) -> anyhow::Result<u32> {
        self.child.id().with_context(|| format!("{} has ended", self.name))
    }

    /// What it has written so far.
    #[must_use]
    pub fn text(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

/// Runs a command to its end and returns its stdout.
///
/// # Errors
/// When it cannot be started, or fails: with its stderr.
pub fn output(command: &mut std::process::Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

/// A port that is free now, and handed out once by this process. It lies below those that the kernel
/// picks from (32768 on Linux): one of its own could be taken by any connection before a child
/// listens there.
///
/// # Errors
/// When there is none.
pub fn free_port() -> anyhow::Result<u16> {
    const FIRST: u32 = 10_240;
    const MANY: u32 = 20_000;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // processes of one after another begin apart
    let start = std::process::id().wrapping_mul(97) % MANY;
    for _ in 0..MANY {
        let port = FIRST + (start + NEXT.fetch_add(1, Ordering::Relaxed)) % MANY;
        let port = u16::try_from(port)?;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no port from {FIRST} on is free")
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
