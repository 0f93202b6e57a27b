//! Containers end with this process, however that ends: a shell outlives it by a moment and removes
//! what carries its label.
//!
//! Containers are children of the engine, so that the kernel does not end them with us, and what a
//! destructor would do is not done after `kill -9`. The shell waits on a pipe that only this process
//! holds open, in a process group of its own, so that Ctrl-C does not reach it.

use std::io::{PipeWriter, pipe};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use anyhow::Context as _;
use uuid::Uuid;

/// The label's key.
pub(crate) const KEY: &str = "fleet.sandbox";
/// Twice: the engine may be at the creation of one when we end.
const SCRIPT: &str = r#"
cat >/dev/null
for pause in 1 0; do
  docker ps -aq --filter "label=$1" | xargs -r docker rm -fv
  sleep $pause
done
docker network ls -q --filter "name=fleet-$2-" | xargs -r docker network rm
docker volume ls -q --filter "name=fleet-$2-" | xargs -r docker volume rm
"#;

static ID: OnceLock<String> = OnceLock::new();
static HELD: Mutex<Option<PipeWriter>> = Mutex::new(None);

/// This process, in the label of its containers and the names of their networks and volumes.
pub(crate) fn id() -> &'static str {
    ID.get_or_init(|| Uuid::new_v4().simple().to_string()[..8].to_owned())
}

/// The label of every container of this process, as `docker ps --filter label=…` takes it.
#[must_use]
pub fn label() -> String {
    format!("{KEY}={}", id())
}

/// Makes sure that the shell waits. To be called before a container is made.
///
/// # Errors
/// When it cannot be started.
pub(crate) fn ensure() -> anyhow::Result<()> {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    if held.is_some() {
        return Ok(());
    }
    let (reader, writer) = pipe().context("a pipe")?;
    Command::new("sh")
        .args(["-c", SCRIPT, "sh", &label(), id()])
        .stdin(reader)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .context("the shell that removes containers")?;
    *held = Some(writer);
    Ok(())
}
