//! The site's settings, its worker, and the command line of its people.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use crate::files::{ROOT, binary};
use crate::hub::Hub;
use crate::process::Process;
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

/// What differs between the workers of one site.
#[derive(Debug, Clone, Copy)]
pub struct Tuning {
    /// Seconds between two polls.
    pub poll_seconds: u32,
    /// The port of its probes and metrics; 0 for any.
    pub http_port: u16,
    /// The filter of its log.
    pub log: &'static str,
}

/// A site that runs no burn-in, as `Site::configure` writes it.
const NO_BURN_IN: &str = "[burn_in]\noff = true\n";

/// A site that is configured.
#[derive(Debug)]
pub struct Site {
    folder: PathBuf,
    settings: PathBuf,
    hub: String,
    key_file: PathBuf,
}

impl Site {
    /// Writes `site.toml`, without burn-in, and the secrets that it names.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn configure(
        folder: &Path,
        temporal: &Temporal,
        hub: &Hub,
        systems: &Systems,
        tuning: Tuning,
    ) -> anyhow::Result<Self> {
        std::fs::write(folder.join("slurm-token"), &systems.slurm_token)?;
        std::fs::write(folder.join("openstack-password"), &systems.password)?;
        let text = format!(
            "site = \"lab\"\n\
             [temporal]\nurl = \"http://{}\"\nnamespace = \"{}\"\n\
             [hub]\nurl = \"{}\"\nagent_key_file = \"slurm-agent-lab.pem\"\n\
             worker_key_file = \"temporal-worker-lab.pem\"\n\
             [slurm]\nurl = \"{}\"\nuser = \"root\"\ntoken_file = \"slurm-token\"\npower_saving = \"off\"\n\
             [openstack]\nauth_url = \"{}\"\nusername = \"deployer\"\npassword_file = \"openstack-password\"\n\
             project = \"lab\"\nnetworks = \"none\"\n\
             {NO_BURN_IN}\
             [poll]\nevery_seconds = {}\n[http]\nlisten = \"127.0.0.1:{}\"\n[log]\nfilter = \"{}\"\n",
            temporal.address,
            temporal.namespace,
            hub.url,
            systems.slurm,
            systems.keystone,
            tuning.poll_seconds,
            tuning.http_port,
            tuning.log
        );
        let settings = folder.join("site.toml");
        std::fs::write(&settings, text)?;
        let key_file = hub.key_file("fleet-squad");
        Ok(Self { folder: folder.to_owned(), settings, hub: hub.url.to_string(), key_file })
    }

    /// Has the worker, when it is started, run the tests of `deploy/burn-in` as this user.
    ///
    /// # Errors
    /// When the settings cannot be written.
    pub fn burn_in_as(&self, user: &str) -> anyhow::Result<()> {
        let catalogue = Path::new(ROOT).join("deploy/burn-in/catalogue.toml").canonicalize()?;
        let section = format!("[burn_in]\ncatalogue = \"{}\"\nuser = \"{user}\"\n", catalogue.display());
        let text = std::fs::read_to_string(&self.settings)?;
        Ok(std::fs::write(&self.settings, text.replace(NO_BURN_IN, &section))?)
    }

    /// Adds lines to `[burn_in]`, for a worker that is started later.
    ///
    /// # Errors
    /// When the settings cannot be written.
    pub fn add_to_burn_in(&self, lines: &str) -> anyhow::Result<()> {
        let text = std::fs::read_to_string(&self.settings)?;
        Ok(std::fs::write(&self.settings, text.replace("[burn_in]\n", &format!("[burn_in]\n{lines}")))?)
    }

    /// Starts `satellite worker`, this build of it.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn worker(&self, satellite: &Path) -> anyhow::Result<Process> {
        let arguments = ["worker", "--config", self.settings.to_str().context("folder")?];
        Process::start(&self.folder, "worker", satellite, &arguments)
    }

    /// `satellite start VERB DEVICE …`, as the fleet squad.
    ///
    /// # Errors
    /// When it has not been built.
    pub fn start(&self, verb: &str, device: &str, more: &[&str]) -> anyhow::Result<Command> {
        self.satellite(&["start", verb, device], more)
    }

    /// `satellite stop DEVICE …`, as the fleet squad.
    ///
    /// # Errors
    /// When it has not been built.
    pub fn stop(&self, device: &str, more: &[&str]) -> anyhow::Result<Command> {
        self.satellite(&["stop", device], more)
    }

    fn satellite(&self, words: &[&str], more: &[&str]) -> anyhow::Result<Command> {
        let mut command = Command::new(binary("satellite")?);
        command.args(words).args(more);
        command.args(["--hub", &self.hub, "--site", "lab", "--client-id", "fleet-squad"]);
        command.arg("--key-file").arg(&self.key_file);
        Ok(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_without_burn_in_gets_one_when_a_test_asks() {
        let folder = crate::files::folder("it/burn-in-as").unwrap();
        let settings = folder.join("site.toml");
        std::fs::write(&settings, format!("site = \"lab\"\n{NO_BURN_IN}[poll]\n")).unwrap();
        let site = Site { folder, settings, hub: String::new(), key_file: PathBuf::new() };
        site.burn_in_as("bob").unwrap();
        let text = std::fs::read_to_string(&site.settings).unwrap();
        let section = text.strip_prefix("site = \"lab\"\n[burn_in]\ncatalogue = \"").unwrap();
        let (catalogue, rest) = section.split_once('"').unwrap();
        assert!(Path::new(catalogue).is_file(), "{catalogue}");
        assert_eq!(rest, "\nuser = \"bob\"\n[poll]\n");
        site.add_to_burn_in("hold_seconds = 60\n").unwrap();
        let more = std::fs::read_to_string(&site.settings).unwrap();
        assert_eq!(more, text.replace("[burn_in]\n", "[burn_in]\nhold_seconds = 60\n"));
    }
}
