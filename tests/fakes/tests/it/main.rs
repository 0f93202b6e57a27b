//! The odd parts of the real ones, each once.

#![expect(clippy::unwrap_used, reason = "a test fails where it unwraps")]

mod cloud_create;
mod cloud_identity;
mod cloud_list;
mod cloud_rebuild;
mod cloud_servers;
mod slurm_22_05;
mod slurm_accounts;
mod slurm_auth;
mod slurm_cancel;
mod slurm_jobs;
mod slurm_nodes;
mod slurm_queue;
mod slurm_records;
mod slurm_release;
mod slurm_reservations;
mod slurm_versions;
mod wire;
mod world;

use std::sync::Once;

use reqwest::Method;
use serde_json::{Value, json};

use fakes::{Cloud, Slurmrestd};

/// A client that sends what it is told to.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    client: reqwest::Client,
    base: String,
    headers: Vec<(String, String)>,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) text: String,
}

impl Got {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("{} {}", self.status, self.text))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |v| v.to_str().unwrap())
    }

    /// The status, and the number of the first error of any shape.
    pub(crate) fn slurm_old(&self) -> (u16, Option<i64>) {
        let error = &self.json()["errors"][0];
        let number = ["errno", "error_number", "error_code"].iter().find_map(|key| error[key].as_i64());
        (self.status, number)
    }

    /// The status and SLURM's first error number.
    pub(crate) fn slurm(&self) -> (u16, Option<i64>) {
        (self.status, self.json()["errors"][0]["error_number"].as_i64())
    }

    /// The status and Nova's message.
    pub(crate) fn nova(&self) -> (u16, String) {
        let body = self.json();
        let inner = body.as_object().unwrap().values().next().unwrap();
        (self.status, inner["message"].as_str().unwrap().to_owned())
    }
}

impl Client {
    pub(crate) fn new(base: &str) -> Self {
        static PROVIDER: Once = Once::new();
        PROVIDER.call_once(|| rustls::crypto::ring::default_provider().install_default().unwrap());
        Self { client: reqwest::Client::new(), base: base.to_owned(), headers: Vec::new() }
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(n, _)| n != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) async fn try_send(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> reqwest::Result<Got> {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let mut request = self.client.request(method, format!("{}{path}", self.base));
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        if let Some(body) = body {
            if !self.headers.iter().any(|(n, _)| n == "content-type") {
                request = request.header("content-type", "application/json");
            }
            request = request.body(body.to_string());
        }
        let response = request.send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Ok(Got { status, headers, text: response.text().await? })
    }

    pub(crate) async fn get(&self, path: &str) -> Got {
        self.try_send("GET", path, None).await.unwrap()
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Got {
        self.try_send("POST", path, Some(body)).await.unwrap()
    }

    pub(crate) async fn delete(&self, path: &str) -> Got {
        self.try_send("DELETE", path, None).await.unwrap()
    }
}

/// slurmrestd as this user; paths are below the newest version of 26.05.
pub(crate) fn slurm(slurm: &Slurmrestd, user: &str) -> Client {
    slurm_at(slurm, user, "slurm/v0.0.45")
}

/// slurmrestd as this user, below this path.
pub(crate) fn slurm_at(slurm: &Slurmrestd, user: &str, path: &str) -> Client {
    Client::new(&format!("{}/{path}", slurm.url()))
        .with("X-SLURM-USER-NAME", user)
        .with("X-SLURM-USER-TOKEN", &slurm.token(user))
}

/// A job that can be submitted, with more keys.
pub(crate) fn job(more: Value) -> Value {
    let mut job = json!({"name": "j", "current_working_directory": "/tmp", "environment": ["PATH=/bin"]});
    job.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"script": "#!/bin/bash\n", "job": job})
}

/// A job's state, reason and nodes.
pub(crate) fn shown(fake: &Slurmrestd, id: i64) -> (Value, Value, Value) {
    let job = fake.job(id).unwrap();
    (job["job_state"].clone(), job["state_reason"].clone(), job["nodes"].clone())
}

/// The body that asks for a token.
pub(crate) fn password(word: &str) -> Value {
    json!({"auth": {
        "identity": {"methods": ["password"], "password": {"user": {
            "name": "deployer", "domain": {"name": "Default"}, "password": word,
        }}},
        "scope": {"project": {"name": "lab", "domain": {"name": "Default"}}},
    }})
}

/// Nova at 2.90, with a token; paths are below `/v2.1`.
pub(crate) async fn nova(cloud: &Cloud) -> Client {
    let got = Client::new(&cloud.keystone_url()).post("/auth/tokens", &password("deployer")).await;
    assert_eq!(got.status, 201);
    Client::new(&cloud.nova_url())
        .with("X-Auth-Token", got.header("x-subject-token"))
        .with("OpenStack-API-Version", "compute 2.90")
}

/// A server that can be made on this machine.
pub(crate) fn server(cloud: &Cloud, machine: &str) -> Value {
    json!({"server": {
        "name": "gpu-001",
        "hostname": "gpu-001",
        "imageRef": cloud.image_id("slurm-node-a"),
        "flavorRef": "bm.small",
        "networks": "none",
        "config_drive": true,
        "metadata": {"fleet_slurm_conf": "Gres=gpu:h100:4 Feature=dyn,h100 State=DRAIN Reason=fleet:registering"},
        "tags": ["fleet.device.d-1"],
        "user_data": "I2Nsb3VkLWNvbmZpZwo=",
        "hypervisor_hostname": machine,
    }})
}

/// Creates it; its id.
pub(crate) async fn create(nova: &Client, body: &Value) -> String {
    let got = nova.post("/servers", body).await;
    assert_eq!(got.status, 202, "{}", got.text);
    got.json()["server"]["id"].as_str().unwrap().to_owned()
}
