//! The site's settings and its worker.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::hub::Hub;
use crate::process::{Process, binary};
use crate::temporal::Temporal;

/// Where the worker finds the site's systems.
#[derive(Debug, Clone)]
pub struct Systems {
    /// slurmrestd's root URL.
    pub slurm: String,
    /// A token of SLURM's root.
    pub slurm_token: String,
    /// Keystone's URL, ending in `/v3`.
    pub keystone: String,
    /// The password of the project's user `deployer`.
    pub password: String,
}

/// A site that is configured.
#[derive(Debug)]
pub struct Site {
    folder: PathBuf,
    settings: PathBuf,
}

impl Site {
    /// Writes `site.toml` and the secrets that it names.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn configure(
        folder: &Path,
        temporal: &Temporal,
        hub: &Hub,
        systems: &Systems,
        poll_seconds: u32,
        http_port: u16,
    ) -> anyhow::Result<Self> {
        std::fs::write(folder.join("slurm-token"), &systems.slurm_token)?;
        std::fs::write(folder.join("openstack-password"), &systems.password)?;
        let text = format!(
            "site = \"lab\"\n\
             [temporal]\nurl = \"http://{}\"\nnamespace = \"{}\"\n\
             [hub]\nurl = \"{}\"\nagent_key_file = \"slurm-agent-lab.pem\"\n\
             worker_key_file = \"temporal-worker-lab.pem\"\n\
             [slurm]\nurl = \"{}\"\nuser = \"root\"\ntoken_file = \"slurm-token\"\n\
             [openstack]\nauth_url = \"{}\"\nusername = \"deployer\"\npassword_file = \"openstack-password\"\n\
             project = \"lab\"\nnetworks = \"none\"\n\
             [poll]\nevery_seconds = {poll_seconds}\n[http]\nlisten = \"127.0.0.1:{http_port}\"\n",
            temporal.address, temporal.namespace, hub.url, systems.slurm, systems.keystone
        );
        let settings = folder.join("site.toml");
        std::fs::write(&settings, text)?;
        Ok(Self { folder: folder.to_owned(), settings })
    }

    /// Starts `satellite worker`.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn worker(&self) -> anyhow::Result<Process> {
        let arguments = ["worker", "--config", self.settings.to_str().context("folder")?];
        Process::start(&self.folder, "worker", &binary("satellite")?, &arguments)
    }
}
