//! The hub with its principals.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use clients::oauth::Principal;
use model::SiteId;
use secrecy::SecretString;
use serde_json::Value;
use url::Url;

use crate::api::Api;
use crate::files::binary;
use crate::process::{Process, output};
use crate::temporal::Temporal;

/// It answers within this.
const CEILING: Duration = Duration::from_secs(30);

/// A principal's name and its scopes.
pub type Scopes = (&'static str, &'static [&'static str]);

/// The site's principals, and what each may do.
pub const PRINCIPALS: [Scopes; 4] = [
    ("slurm-agent-lab", &["device:update", "device-condition:create"]),
    ("temporal-worker-lab", &["slurm-bootstrap-config:read"]),
    (
        "hpc-lab",
        &["slurm-bootstrap-config:create", "slurm-bootstrap-config:read", "slurm-bootstrap-config:update"],
    ),
    ("fleet-squad", &["device-workflow:start", "device-workflow:read", "device-workflow:cancel"]),
];

/// A running hub.
#[derive(Debug)]
pub struct Hub {
    /// `fleet-hub`.
    pub process: Process,
    /// Its root URL.
    pub url: Url,
    folder: PathBuf,
}

impl Hub {
    /// Makes keys and settings in `folder`, imports the devices, starts it and waits until it
    /// answers.
    ///
    /// # Errors
    /// When anything of that fails.
    pub async fn start(
        folder: &Path,
        temporal: &Temporal,
        port: u16,
        principals: &[Scopes],
        devices: &Value,
    ) -> anyhow::Result<Self> {
        let url: Url = format!("http://127.0.0.1:{port}").parse()?;
        let config = folder.join("hub.toml");
        std::fs::write(&config, settings(folder, temporal, port, principals, devices)?)?;
        let file = folder.join("devices.json");
        std::fs::write(&file, devices.to_string())?;
        let mut import = std::process::Command::new(binary("fleet-hub")?);
        output(import.args(["import", "--config"]).args([&config, &file]))?;
        let arguments = ["serve", "--config", config.to_str().context("folder")?];
        let mut process = Process::start(folder, "hub", &binary("fleet-hub")?, &arguments)?;
        let http = clients::http::Http::new(clients::Service::Hub)?;
        let healthz = url.join("healthz")?;
        let look = || async {
            let answer = http.send("healthz", http.client().get(healthz.clone())).await;
            let status = answer.map_err(|e| e.to_string())?.status;
            status.is_success().then_some(()).ok_or_else(|| status.to_string())
        };
        process.until("the hub is up", CEILING, look).await?;
        Ok(Self { process, url, folder: folder.to_owned() })
    }

    /// The private key's file of a principal.
    #[must_use]
    pub fn key_file(&self, principal: &str) -> PathBuf {
        self.folder.join(format!("{principal}.pem"))
    }

    /// A principal that can ask for tokens.
    ///
    /// # Errors
    /// When its key cannot be read.
    fn principal(&self, name: &str) -> anyhow::Result<Principal> {
        let key = SecretString::from(std::fs::read_to_string(self.key_file(name))?);
        let audience = self.url.as_str().trim_end_matches('/').to_owned();
        Principal::new(name, &key, self.url.join("oauth/token")?, audience).map_err(anyhow::Error::msg)
    }

    /// The hub's API as a principal of the site.
    ///
    /// # Errors
    /// When its key cannot be read.
    pub fn api(&self, name: &str, site: &SiteId) -> anyhow::Result<clients::hub::Hub> {
        Ok(clients::hub::Hub::new(self.url.clone(), site.clone(), self.principal(name)?)?)
    }

    /// The hub's API by hand, as a principal of the site.
    ///
    /// # Errors
    /// When its key cannot be read.
    pub fn by_hand(&self, name: &str) -> anyhow::Result<Api> {
        Api::new(&self.url, self.principal(name)?)
    }
}

/// hub.toml, with a fresh key for each principal beside it.
fn settings(
    folder: &Path,
    temporal: &Temporal,
    port: u16,
    principals: &[Scopes],
    devices: &Value,
) -> anyhow::Result<String> {
    let mut text = format!(
        "listen = \"127.0.0.1:{port}\"\ndatabase = \"hub.db\"\nissuer = \"http://127.0.0.1:{port}\"\n\
         [temporal]\nurl = \"http://{}\"\n",
        temporal.address
    );
    let sites: BTreeSet<&str> =
        devices.as_array().into_iter().flatten().filter_map(|d| d["site_id"].as_str()).collect();
    for site in sites {
        writeln!(text, "[[sites]]\nid = \"{site}\"\ntemporal_namespace = \"{}\"", temporal.namespace)?;
    }
    for (id, scopes) in principals {
        let key = rcgen::KeyPair::generate()?;
        std::fs::write(folder.join(format!("{id}.pem")), key.serialize_pem())?;
        std::fs::write(folder.join(format!("{id}.pub")), key.public_key_pem())?;
        write!(
            text,
            "[[clients]]\nid = \"{id}\"\nsite = \"lab\"\npublic_key_file = \"{id}.pub\"\nscopes = {scopes:?}\n"
        )?;
    }
    Ok(text)
}
