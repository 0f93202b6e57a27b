//! OpenStack's APIs, by hand, as the cloud's administrator.

use anyhow::{Context as _, ensure};
use clients::Service;
use clients::http::Http;
use reqwest::Response;
use serde_json::{Value, json};

/// The cloud, with an administrator's token.
pub struct Cloud {
    http: Http,
    /// Keystone's URL, ending in `/v3`.
    pub keystone: String,
    nova: String,
    glance: String,
    token: String,
}

impl Cloud {
    /// Logs in. `keystone` ends in `:5000/v3`; the other services are on the same address.
    ///
    /// # Errors
    /// When Keystone refuses.
    pub async fn log_in(keystone: &str) -> anyhow::Result<Self> {
        let http = Http::new(Service::Keystone)?;
        let domain = json!({"name": "Default"});
        let admin = json!({"auth": {
            "identity": {"methods": ["password"], "password": {"user": {
                "name": "admin", "domain": domain, "password": "admin"}}},
            "scope": {"project": {"name": "admin", "domain": domain}},
        }});
        let answer = http.client().post(format!("{keystone}/auth/tokens")).json(&admin).send().await?;
        let token = answer.headers().get("x-subject-token").context("Keystone gave no token")?;
        let address = keystone.strip_suffix(":5000/v3").context("Keystone's URL")?;
        Ok(Self {
            keystone: keystone.to_owned(),
            nova: format!("{address}:8774/v2.1"),
            glance: format!("{address}:9292/v2"),
            token: token.to_str()?.to_owned(),
            http,
        })
    }

    async fn get(&self, url: &str) -> anyhow::Result<Value> {
        let request = self.http.client().get(url).header("X-Auth-Token", &self.token);
        let answer = request.header("OpenStack-API-Version", "compute 2.90").send().await?;
        Ok(accepted(url, answer)?.json().await?)
    }

    /// Sets the password of the project's user `deployer` to one that can be looked for.
    ///
    /// # Errors
    /// When Keystone refuses.
    pub async fn set_password(&self, password: &str) -> anyhow::Result<()> {
        let users = self.get(&format!("{}/users?name=deployer", self.keystone)).await?;
        let url = format!("{}/users/{}", self.keystone, id(&users["users"][0])?);
        let change = self.http.client().patch(&url).header("X-Auth-Token", &self.token);
        let answer = change.json(&json!({"user": {"password": password}})).send().await?;
        accepted(&url, answer).map(drop)
    }

    /// The id of the image of this name.
    ///
    /// # Errors
    /// When there is none.
    pub async fn image(&self, name: &str) -> anyhow::Result<String> {
        let images = self.get(&format!("{}/images?name={name}", self.glance)).await?;
        id(&images["images"][0]).with_context(|| format!("image {name}"))
    }

    /// Every server, of any project, that carries the device's tag or name.
    ///
    /// # Errors
    /// When Nova refuses.
    pub async fn servers(&self, device: &str) -> anyhow::Result<Vec<Value>> {
        let all = self.get(&format!("{}/servers/detail?all_tenants=1", self.nova)).await?;
        let tag = json!(format!("fleet.device.{device}"));
        let of =
            |s: &&Value| s["name"] == device || s["tags"].as_array().is_some_and(|tags| tags.contains(&tag));
        Ok(all["servers"].as_array().context("a list of servers")?.iter().filter(of).cloned().collect())
    }
}

fn accepted(url: &str, answer: Response) -> anyhow::Result<Response> {
    ensure!(answer.status().is_success(), "{url}: {}", answer.status());
    Ok(answer)
}

fn id(object: &Value) -> anyhow::Result<String> {
    Ok(object["id"].as_str().context("nothing with an id")?.to_owned())
}
