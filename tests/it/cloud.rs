//! OpenStack's APIs as a test asks them, by hand, as the cloud's administrator.

use serde_json::{Value, json};

use crate::wait::http;

/// The cloud, with an administrator's token.
pub(crate) struct Cloud {
    pub(crate) keystone: String,
    nova: String,
    glance: String,
    token: String,
}

impl Cloud {
    /// Logs in. `keystone` ends in `:5000/v3`; the other services are on the same address.
    pub(crate) async fn log_in(keystone: &str) -> Self {
        let domain = json!({"name": "Default"});
        let admin = json!({"auth": {
            "identity": {"methods": ["password"], "password": {"user": {
                "name": "admin", "domain": domain, "password": "admin"}}},
            "scope": {"project": {"name": "admin", "domain": domain}},
        }});
        let answer = http().post(format!("{keystone}/auth/tokens")).json(&admin).send().await.unwrap();
        let address = keystone.strip_suffix(":5000/v3").unwrap();
        Self {
            keystone: keystone.to_owned(),
            nova: format!("{address}:8774/v2.1"),
            glance: format!("{address}:9292/v2"),
            token: answer.headers()["x-subject-token"].to_str().unwrap().to_owned(),
        }
    }

    async fn get(&self, url: String) -> Value {
        let request = http().get(&url).header("X-Auth-Token", &self.token);
        let answer = request.header("OpenStack-API-Version", "compute 2.90").send().await.unwrap();
        assert!(answer.status().is_success(), "{url}: {}", answer.status());
        answer.json().await.unwrap()
    }

    /// Sets the password of the project's user `deployer` to one that can be looked for.
    pub(crate) async fn set_password(&self, password: &str) {
        let users = self.get(format!("{}/users?name=deployer", self.keystone)).await;
        let id = users["users"][0]["id"].as_str().unwrap();
        let change =
            http().patch(format!("{}/users/{id}", self.keystone)).header("X-Auth-Token", &self.token);
        let answer = change.json(&json!({"user": {"password": password}})).send().await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.status());
    }

    /// The id of the image of this name.
    pub(crate) async fn image(&self, name: &str) -> String {
        let images = self.get(format!("{}/images?name={name}", self.glance)).await;
        images["images"][0]["id"].as_str().unwrap().to_owned()
    }

    /// Every server, of any project, that carries the device's tag or name.
    pub(crate) async fn servers(&self, device: &str) -> Vec<Value> {
        let all = self.get(format!("{}/servers/detail?all_tenants=1", self.nova)).await;
        let tag = json!(format!("fleet.device.{device}"));
        let of = |s: &&Value| s["tags"].as_array().unwrap().contains(&tag) || s["name"] == device;
        all["servers"].as_array().unwrap().iter().filter(of).cloned().collect()
    }
}
