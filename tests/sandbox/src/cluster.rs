//! What happens to a site's SLURM: its daemons end, hang and start again, and one controller takes over
//! from the other.
//!
//! *Invariant*: a signal goes to the process in the container and to nothing else of it, so that what the
//! daemon leaves behind (its state, its nodes, the jobs) is what a machine would have.

use anyhow::Context as _;
use testcontainers::ImageExt as _;
use testcontainers::core::Mount;

use crate::containers::{Container, Run, exec, slurm_on, started_slurm};

/// A daemon that runs in a container of [`crate::slurm()`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Daemon {
    /// The controller.
    Slurmctld,
    /// The REST API, which has no state.
    Slurmrestd,
    /// Accounting, where the cluster has it. Its database goes on.
    Slurmdbd,
}

/// What a process is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// It ends, and saves its state.
    Term,
    /// It is gone: what was acknowledged in the last five seconds may be lost.
    Kill,
    /// It hangs: connections are accepted by the kernel, and nothing answers.
    Stop,
    /// It goes on.
    Continue,
}

impl Daemon {
    fn name(self) -> &'static str {
        match self {
            Self::Slurmctld => "slurmctld",
            Self::Slurmrestd => "slurmrestd",
            Self::Slurmdbd => "slurmdbd",
        }
    }

    /// Sends it the signal; after one that ends it, returns when it has ended.
    ///
    /// # Errors
    /// When it does not run, or has not ended after 20 s.
    pub async fn signal(self, container: &Container, signal: Signal) -> anyhow::Result<()> {
        let (word, ends) = match signal {
            Signal::Term => ("TERM", true),
            Signal::Kill => ("KILL", true),
            Signal::Stop => ("STOP", false),
            Signal::Continue => ("CONT", false),
        };
        let name = self.name();
        exec(container, &["pkill", "--signal", word, name]).await?;
        if ends {
            let gone = format!("while pgrep {name} >/dev/null; do sleep 0.05; done");
            let ended = exec(container, &["timeout", "20", "sh", "-c", &gone]).await;
            ended.with_context(|| format!("{name} still runs 20 s after {word}"))?;
        }
        Ok(())
    }

    /// Starts one that has ended, as the entrypoint did. It may not answer yet.
    ///
    /// # Errors
    /// When it cannot be started.
    pub async fn start(self, container: &Container) -> anyhow::Result<()> {
        let command: &[&str] = match self {
            Self::Slurmctld => &["runuser", "-u", "slurm", "--", "slurmctld"],
            Self::Slurmrestd => &["start-slurmrestd.sh"],
            Self::Slurmdbd => &["runuser", "-u", "slurm", "--", "slurmdbd"],
        };
        exec(container, command).await.map(drop)
    }
}

/// A cluster with two controllers, each with a slurmrestd of its own beside it. They share their state.
///
/// Seen on 24.11 and 26.05: after the primary's end a request waits, without an error, until the backup
/// answers it: 15 s with `SlurmctldTimeout=10`, 45 s with the image's 30, and SLURM's own default is 120.
/// A primary that is started again serves after 33 to 39 s.
pub struct Pair {
    /// Its slurmctld serves while it runs. The static nodes' slurmds run here too.
    pub primary: Container,
    /// slurmrestd's URL in the primary's container.
    pub primary_url: String,
    /// Its slurmctld takes over.
    pub backup: Container,
    /// slurmrestd's URL in the backup's container: it outlives the primary's.
    pub backup_url: String,
}

impl Pair {
    /// Starts both, and waits until both are ready.
    ///
    /// # Errors
    /// When one is not.
    pub async fn start(run: &Run) -> anyhow::Result<Self> {
        let hosts = [run.controller.clone(), format!("{}-b", run.controller)];
        let state = format!("{}-state", run.network);
        let one = |host: &str| {
            let request = slurm_on(run, host)?
                .with_mount(Mount::volume_mount(&state, "/var/spool/slurmctld"))
                .with_env_var("CONTROLLERS", hosts.join(" "));
            anyhow::Ok(started_slurm(request))
        };
        let ((primary, primary_url), (backup, backup_url)) =
            tokio::try_join!(one(&hosts[0])?, one(&hosts[1])?)?;
        Ok(Self { primary, primary_url, backup, backup_url })
    }

    /// Ends both.
    ///
    /// # Errors
    /// When one cannot be ended.
    pub async fn end(self) -> anyhow::Result<()> {
        self.primary.rm().await?;
        self.backup.rm().await?;
        Ok(())
    }
}
