//! SLURM's REST API as a test asks it, by hand.

use serde_json::{Value, json};

use crate::wait::http;

/// A user of the cluster.
#[derive(Clone)]
pub(crate) struct SlurmUser {
    pub(crate) url: String,
    pub(crate) name: String,
    pub(crate) token: String,
}

impl SlurmUser {
    async fn send(&self, request: reqwest::RequestBuilder) -> Value {
        let request =
            request.header("X-SLURM-USER-NAME", &self.name).header("X-SLURM-USER-TOKEN", &self.token);
        request.send().await.unwrap().json().await.unwrap()
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.send(http().get(format!("{}/slurm/v0.0.45/{path}", self.url))).await
    }

    /// The node, if SLURM has it.
    pub(crate) async fn node(&self, name: &str) -> Option<Value> {
        self.get(&format!("node/{name}")).await["nodes"].get(0).cloned()
    }

    /// Changes a node, as a person would.
    pub(crate) async fn update(&self, node: &str, change: &Value) {
        let request = http().post(format!("{}/slurm/v0.0.45/node/{node}", self.url)).json(change);
        let answer = self.send(request).await;
        assert_eq!(answer["errors"], json!([]), "{answer}");
    }

    /// Submits a job that is pinned to a node.
    pub(crate) async fn submit(&self, node: &str, script: &str) -> i64 {
        let body = json!({"script": script, "job": {
            "name": "users-job", "required_nodes": [node], "environment": ["PATH=/bin:/usr/bin"],
            "current_working_directory": "/tmp", "tasks": 1, "memory_per_node": {"set": true, "number": 100},
            "time_limit": {"set": true, "number": 5},
        }});
        let request = http().post(format!("{}/slurm/v0.0.45/job/submit", self.url)).json(&body);
        let answer = self.send(request).await;
        assert_eq!(answer["errors"], json!([]), "{answer}");
        answer["job_id"].as_i64().unwrap()
    }

    pub(crate) async fn job(&self, id: i64) -> Value {
        self.get(&format!("job/{id}")).await["jobs"][0].clone()
    }
}
