//! The hub with its principals, the worker, and the command line, as a site has them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use clients::Service;
use clients::http::Http;
use clients::oauth::Principal;
use secrecy::ExposeSecret as _;
use serde_json::Value;

use crate::processes::{Process, Temporal, binary, output};
use crate::wait::{eventually, http};

/// Principals of the site, with what each may do.
const PRINCIPALS: [(&str, &[&str]); 4] = [
    ("slurm-agent-lab", &["device:update", "device-condition:create"]),
    ("temporal-worker-lab", &["slurm-bootstrap-config:read"]),
    (
        "hpc-lab",
        &["slurm-bootstrap-config:create", "slurm-bootstrap-config:read", "slurm-bootstrap-config:update"],
    ),
    ("fleet-squad", &["device-workflow:start", "device-workflow:read"]),
];

/// A running hub.
pub(crate) struct Hub {
    pub(crate) process: Process,
    pub(crate) url: String,
    folder: PathBuf,
}

impl Hub {
    /// Makes keys and configuration, imports the devices, and starts it.
    pub(crate) async fn start(folder: &Path, temporal: &Temporal, devices: &Value) -> Self {
        let mut clients = String::new();
        for (id, scopes) in PRINCIPALS {
            let key = rcgen::KeyPair::generate().unwrap();
            std::fs::write(folder.join(format!("{id}.pem")), key.serialize_pem()).unwrap();
            std::fs::write(folder.join(format!("{id}.pub")), key.public_key_pem()).unwrap();
            clients += &format!(
                "[[clients]]\nid = \"{id}\"\nsite = \"lab\"\npublic_key_file = \"{id}.pub\"\nscopes = {scopes:?}\n"
            );
        }
        let port = crate::processes::free_port();
        let url = format!("http://127.0.0.1:{port}");
        let config = format!(
            "listen = \"127.0.0.1:{port}\"\ndatabase = \"hub.db\"\nissuer = \"{url}\"\n\
             [temporal]\nurl = \"http://{}\"\n\
             [[sites]]\nid = \"lab\"\ntemporal_namespace = \"{}\"\n{clients}",
            temporal.address, temporal.namespace
        );
        let (config_file, devices_file) = (folder.join("hub.toml"), folder.join("devices.json"));
        std::fs::write(&config_file, config).unwrap();
        std::fs::write(&devices_file, devices.to_string()).unwrap();
        output(
            Command::new(binary("fleet-hub"))
                .args(["import", "--config"])
                .arg(&config_file)
                .arg(&devices_file),
        );
        let mut command = Command::new(binary("fleet-hub"));
        command.args(["serve", "--config"]).arg(&config_file);
        let process = Process::start(folder, "hub", &mut command);
        eventually("hub is up", Duration::from_secs(30), || async {
            let answer = http().get(format!("{url}/healthz")).send().await.map_err(|e| e.to_string())?;
            answer.status().is_success().then_some(()).ok_or_else(|| answer.status().to_string())
        })
        .await;
        Self { process, url, folder: folder.to_owned() }
    }

    /// The private key's file of a principal.
    pub(crate) fn key_file(&self, principal: &str) -> PathBuf {
        self.folder.join(format!("{principal}.pem"))
    }

    /// The API as a principal.
    pub(crate) fn api(&self, principal: &str) -> Api {
        let key = std::fs::read_to_string(self.key_file(principal)).unwrap().into();
        let token_url = format!("{}/oauth/token", self.url).parse().unwrap();
        Api {
            base: format!("{}/api/v1/", self.url),
            http: Http::new(Service::Hub).unwrap(),
            principal: Principal::new(principal, &key, token_url, self.url.clone()).unwrap(),
        }
    }
}

/// The hub's API, by hand.
pub(crate) struct Api {
    base: String,
    http: Http,
    principal: Principal,
}

impl Api {
    pub(crate) async fn get(&self, path: &str) -> Value {
        let (status, body) = self.send(self.http.client().get(format!("{}{path}", self.base))).await;
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.send(self.http.client().post(format!("{}{path}", self.base)).json(body)).await
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> (u16, Value) {
        let token = self.principal.token(&self.http, None).await.unwrap();
        let answer = request.bearer_auth(token.expose_secret()).send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap())
    }

    /// A device, with its conditions and status.
    pub(crate) async fn device(&self, id: &str) -> Value {
        self.get(&format!("sites/lab/devices/{id}")).await
    }
}

/// Where the worker finds the site's systems.
pub(crate) struct Site<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) temporal: &'a Temporal,
    pub(crate) hub: &'a Hub,
    pub(crate) slurm_url: &'a str,
    pub(crate) slurm_token: &'a str,
    pub(crate) keystone_url: &'a str,
    pub(crate) openstack_password: &'a str,
}

impl Site<'_> {
    /// Writes the settings.
    pub(crate) fn configure(&self) -> PathBuf {
        std::fs::write(self.folder.join("slurm-token"), self.slurm_token).unwrap();
        std::fs::write(self.folder.join("openstack-password"), self.openstack_password).unwrap();
        let settings = format!(
            r#"site = "lab"
[temporal]
url = "http://{}"
namespace = "{}"
[hub]
url = "{}"
agent_key_file = "slurm-agent-lab.pem"
worker_key_file = "temporal-worker-lab.pem"
[slurm]
url = "{}"
user = "root"
token_file = "slurm-token"
[openstack]
auth_url = "{}"
username = "deployer"
password_file = "openstack-password"
project = "lab"
networks = "none"
[poll]
every_seconds = 3
[http]
listen = "127.0.0.1:0"
[log]
filter = "info,clients=debug"
"#,
            self.temporal.address, self.temporal.namespace, self.hub.url, self.slurm_url, self.keystone_url
        );
        let path = self.folder.join("site.toml");
        std::fs::write(&path, settings).unwrap();
        path
    }

    pub(crate) fn worker(&self) -> Process {
        let mut command = Command::new(binary("satellite"));
        command.args(["worker", "--config"]).arg(self.folder.join("site.toml"));
        Process::start(self.folder, "worker", &mut command)
    }

    /// `satellite start VERB DEVICE …`, as the fleet squad.
    pub(crate) fn start(&self, verb: &str, device: &str, more: &[&str]) -> Command {
        let mut command = Command::new(binary("satellite"));
        command.args(["start", verb, device]).args(more);
        command.args(["--hub", &self.hub.url, "--site", "lab", "--client-id", "fleet-squad"]);
        command.arg("--key-file").arg(self.hub.key_file("fleet-squad"));
        command
    }
}
