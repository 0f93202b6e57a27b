//! SLURM's REST API as one of its users asks it, by hand.

use anyhow::{Context as _, ensure};
use clients::Service;
use clients::http::Http;
use reqwest::RequestBuilder;
use serde_json::{Value, json};

use crate::containers::Release;

/// A user of the cluster.
#[derive(Clone)]
pub struct SlurmUser {
    http: Http,
    /// slurmrestd's root URL.
    pub url: String,
    /// The release, whose API version is spoken.
    pub release: Release,
    /// The user's name.
    pub name: String,
    /// A token of the user.
    pub token: String,
}

impl SlurmUser {
    /// The user of this name, with a token.
    ///
    /// # Errors
    /// When an HTTP client cannot be made.
    pub fn new(url: &str, release: Release, name: &str, token: String) -> anyhow::Result<Self> {
        let http = Http::new(Service::Slurm)?;
        Ok(Self { http, url: url.to_owned(), release, name: name.to_owned(), token })
    }

    fn to(&self, path: &str) -> String {
        format!("{}/slurm/{}/{path}", self.url, self.release.version)
    }

    /// The answer of slurmdbd, by slurmrestd, whatever it says.
    ///
    /// # Errors
    /// When the answer is no JSON, as where there is no slurmdbd: then it is a 404 in plain text.
    pub async fn accounting(&self, path: &str) -> anyhow::Result<Value> {
        self.send(self.http.client().get(format!("{}/slurmdb/{}/{path}", self.url, self.release.version)))
            .await
    }

    async fn send(&self, request: RequestBuilder) -> anyhow::Result<Value> {
        let request =
            request.header("X-SLURM-USER-NAME", &self.name).header("X-SLURM-USER-TOKEN", &self.token);
        Ok(request.send().await?.json().await?)
    }

    async fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        let answer = self.send(self.http.client().post(self.to(path)).json(body)).await?;
        ensure!(answer["errors"] == json!([]), "{path}: {}", answer["errors"]);
        Ok(answer)
    }

    /// The answer, whatever it says.
    ///
    /// # Errors
    /// When slurmrestd does not answer with JSON.
    pub async fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.send(self.http.client().get(self.to(path))).await
    }

    /// The node, if SLURM lists it. Its own GET could show the allocation of some earlier list.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub async fn node(&self, name: &str) -> anyhow::Result<Option<Value>> {
        let list = self.get("nodes").await?["nodes"].take();
        Ok(list.as_array().and_then(|l| l.iter().find(|n| n["name"] == name)).cloned())
    }

    /// Changes a node, as a person would.
    ///
    /// # Errors
    /// When SLURM refuses.
    pub async fn update(&self, node: &str, change: &Value) -> anyhow::Result<()> {
        self.post(&format!("node/{node}"), change).await.map(drop)
    }

    /// Submits a job that is pinned to a node. Returns its id.
    ///
    /// # Errors
    /// When SLURM refuses.
    pub async fn submit(&self, node: &str, script: &str) -> anyhow::Result<i64> {
        let body = json!({"script": script, "job": {
            "name": "users-job", "required_nodes": [node], "environment": ["PATH=/bin:/usr/bin"],
            "current_working_directory": "/tmp", "tasks": 1, "memory_per_node": {"set": true, "number": 100},
            "time_limit": {"set": true, "number": 5},
        }});
        let answer = self.post("job/submit", &body).await?;
        answer["job_id"].as_i64().context("an answer without a job id")
    }

    /// The job.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub async fn job(&self, id: i64) -> anyhow::Result<Value> {
        Ok(self.get(&format!("job/{id}")).await?["jobs"][0].clone())
    }
}
