//! The hub's API, by hand: what our own client would not send, and answers as they came.

use anyhow::ensure;
use clients::Service;
use clients::http::Http;
use clients::oauth::Principal;
use reqwest::RequestBuilder;
use secrecy::ExposeSecret as _;
use serde_json::Value;
use url::Url;

/// The API, as one principal.
pub struct Api {
    base: Url,
    http: Http,
    principal: Principal,
}

impl Api {
    pub(crate) fn new(hub: &Url, principal: Principal) -> anyhow::Result<Self> {
        Ok(Self { base: hub.join("api/v1/")?, http: Http::new(Service::Hub)?, principal })
    }

    /// What is there.
    ///
    /// # Errors
    /// When the hub does not answer, or not with 200.
    pub async fn get(&self, path: &str) -> anyhow::Result<Value> {
        let (status, body) = self.send(self.http.client().get(self.base.join(path)?)).await?;
        ensure!(status == 200, "{path}: HTTP {status}: {body}");
        Ok(body)
    }

    /// The status and the body of the answer.
    ///
    /// # Errors
    /// When the hub does not answer.
    pub async fn post(&self, path: &str, body: &Value) -> anyhow::Result<(u16, Value)> {
        self.send(self.http.client().post(self.base.join(path)?).json(body)).await
    }

    async fn send(&self, request: RequestBuilder) -> anyhow::Result<(u16, Value)> {
        let token = self.principal.token(&self.http, None).await?;
        let answer = request.bearer_auth(token.expose_secret()).send().await?;
        Ok((answer.status().as_u16(), answer.json().await?))
    }

    /// A device, with its conditions and status.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub async fn device(&self, id: &str) -> anyhow::Result<Value> {
        self.get(&format!("sites/lab/devices/{id}")).await
    }
}
