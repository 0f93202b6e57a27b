//! OpenStack: Keystone, Glance and Nova, as one user of one project.
//!
//! What every call must know (facts: openstack §2–§4): Nova has no idempotency key, so a POST that
//! ends in a 5xx or without an answer may have happened; a filter that does nothing for this user is
//! silently ignored, so the tag is checked on every row; a 403 is policy *or* quota, and only the
//! words tell; error bodies and rebuild answers echo user-data and passwords, so no body is ever
//! logged.

mod flavor;
mod image;
mod keystone;
mod page;
mod rebuild;
mod server;

use model::{ServerId, UserData};
use reqwest::{Method, RequestBuilder};
use secrecy::ExposeSecret as _;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tokio::sync::Mutex;
use url::Url;

use crate::http::{Answer, Http, with_token};
use crate::{Error, Kind, Service};
pub use flavor::Flavor;
pub use image::Image;
pub use keystone::{ApplicationCredential, Credentials, User};
use keystone::{Keystone, Session};
pub use rebuild::Rebuild;
pub use server::{Server, ServerStatus};

/// The microversion every call of Nova is made with: everything needed is there since Xena
/// (facts: openstack §2).
const COMPUTE: &str = "compute 2.90";

/// A project of a cloud.
#[derive(Debug)]
pub struct OpenStack {
    http: Http,
    keystone: Keystone,
    session: Mutex<Option<Session>>,
}

/// How new servers are connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Networks {
    /// To nothing.
    None,
    /// As Nova decides.
    Auto,
    /// To these networks, by id.
    Ids(Vec<String>),
}

/// A server to be created.
#[derive(Debug, Clone)]
pub struct NewServer {
    /// Its name and hostname.
    pub name: String,
    /// Glance image id.
    pub image: String,
    /// Nova flavor id.
    pub flavor: String,
    /// The machine, by hypervisor hostname. Needs the policy rule
    /// `compute:servers:create:requested_destination`.
    pub machine: Option<String>,
    /// Sent exactly as written.
    pub user_data: Option<UserData>,
    /// How it is connected.
    pub networks: Networks,
    /// Whether it gets a config drive.
    pub config_drive: bool,
    /// At most 255 characters a value.
    pub metadata: BTreeMap<String, String>,
    /// Found by this while it is still BUILD. At most 60 characters, no comma or slash.
    pub tag: String,
}

impl OpenStack {
    /// The cloud whose Keystone is at `auth_url` (ending in `/v3`).
    ///
    /// # Errors
    /// As [`Http::new`].
    pub fn new(auth_url: Url, credentials: Credentials, region: Option<String>) -> Result<Self, Error> {
        let keystone = Keystone { auth_url, credentials, region };
        Ok(Self { http: Http::new(Service::Nova)?, keystone, session: Mutex::new(None) })
    }

    /// Nova `GET /servers/detail?tags=`: every server of the project that carries `tag`, those
    /// that are still BUILD too. The tag is checked on each row.
    ///
    /// # Errors
    /// As [`Self::image`]; [`Kind::Malformed`] when pages do not end.
    pub async fn servers_with_tag(&self, tag: &str) -> Result<Vec<Server>, Error> {
        let path = ["servers", "detail"];
        let mut servers: Vec<Server> =
            self.pages(Service::Nova, "list servers", &path, &[("tags", tag)]).await?;
        servers.retain(|s| s.tags.iter().any(|t| t == tag));
        Ok(servers)
    }

    /// Nova `GET /servers/{id}`; `None` when it is gone.
    ///
    /// # Errors
    /// As [`Self::image`].
    pub async fn server(&self, id: &ServerId) -> Result<Option<Server>, Error> {
        const OPERATION: &str = "get server";
        #[derive(Deserialize)]
        struct Body {
            server: Server,
        }
        let answer = self.nova(OPERATION, Method::GET, &["servers", id.as_str()], |r| r).await?;
        Ok(self.unless_missing::<Body>(Service::Nova, OPERATION, &answer)?.map(|b| b.server))
    }

    /// Nova `POST /servers`. **Not** safe to repeat: twice makes two servers. An error of
    /// [`Error::is_unknown`] may have made one.
    ///
    /// # Errors
    /// As [`Self::image`].
    pub async fn create_server(&self, new: &NewServer) -> Result<ServerId, Error> {
        const OPERATION: &str = "create server";
        #[derive(Deserialize)]
        struct Body {
            server: Created,
        }
        #[derive(Deserialize)]
        struct Created {
            id: ServerId,
        }
        let body = new.body();
        let answer = self.nova(OPERATION, Method::POST, &["servers"], |r| r.json(&body)).await?;
        Ok(self.success::<Body>(Service::Nova, OPERATION, &answer)?.server.id)
    }

    /// Nova `DELETE /servers/{id}`: accepted, or gone already. Safe to repeat. Gone is what a later
    /// [`Self::server`] says.
    ///
    /// # Errors
    /// As [`Self::image`].
    pub async fn delete_server(&self, id: &ServerId) -> Result<(), Error> {
        const OPERATION: &str = "delete server";
        let answer = self.nova(OPERATION, Method::DELETE, &["servers", id.as_str()], |r| r).await?;
        if answer.status.is_success() || is_missing(&answer) {
            return Ok(());
        }
        Err(answer.error(Service::Nova, OPERATION, kind(&answer)))
    }

    async fn nova(
        &self,
        operation: &'static str,
        method: Method,
        path: &[&str],
        build: impl Fn(RequestBuilder) -> RequestBuilder + Send + Sync,
    ) -> Result<Answer, Error> {
        let build = |r: RequestBuilder| build(r.header("OpenStack-API-Version", COMPUTE));
        self.call(Service::Nova, operation, method, path, build).await
    }

    /// Sends with a token; once more with a new one when it is refused.
    async fn call(
        &self,
        service: Service,
        operation: &'static str,
        method: Method,
        path: &[&str],
        build: impl Fn(RequestBuilder) -> RequestBuilder + Send + Sync,
    ) -> Result<Answer, Error> {
        let (method, build) = (&method, &build);
        let send = |session: Session| async move {
            let url = session.url(service, path, operation)?;
            let request = self.http.client().request(method.clone(), url);
            let request = request
                .header("X-Auth-Token", session.token.expose_secret())
                .header("Accept", "application/json");
            self.http.send(operation, build(request)).await.map_err(|e| Error { service, ..e })
        };
        let another = |refused| async move { self.session(Some(&refused)).await.map(Some) };
        let session = self.session(None).await?;
        with_token(session, send, |answer| answer.status.as_u16() == 401, another).await
    }

    /// A session from the cache while it is good; `refused` is one that was just refused.
    async fn session(&self, refused: Option<&Session>) -> Result<Session, Error> {
        let mut cached = self.session.lock().await;
        if let Some(session) = cached.as_ref()
            && session.is_fresh()
            && refused.is_none_or(|r| r.token.expose_secret() != session.token.expose_secret())
        {
            return Ok(session.clone());
        }
        let session = self.keystone.authenticate(&self.http).await?;
        *cached = Some(session.clone());
        Ok(session)
    }

    fn success<T: serde::de::DeserializeOwned>(
        &self,
        service: Service,
        operation: &'static str,
        answer: &Answer,
    ) -> Result<T, Error> {
        if answer.status.is_success() {
            return answer.json(service, operation);
        }
        Err(answer.error(service, operation, kind(answer)))
    }

    fn unless_missing<T: serde::de::DeserializeOwned>(
        &self,
        service: Service,
        operation: &'static str,
        answer: &Answer,
    ) -> Result<Option<T>, Error> {
        if is_missing(answer) {
            return Ok(None);
        }
        self.success(service, operation, answer).map(Some)
    }
}

impl NewServer {
    fn body(&self) -> Value {
        let networks = match &self.networks {
            Networks::None => json!("none"),
            Networks::Auto => json!("auto"),
            Networks::Ids(ids) => ids.iter().map(|id| json!({"uuid": id})).collect(),
        };
        let mut server = json!({
            "name": self.name,
            "hostname": self.name,
            "imageRef": self.image,
            "flavorRef": self.flavor,
            "networks": networks,
            "config_drive": self.config_drive,
            "metadata": self.metadata,
            "tags": [self.tag],
        });
        if let Some(user_data) = &self.user_data {
            server["user_data"] = json!(user_data.as_base64());
        }
        if let Some(machine) = &self.machine {
            server["hypervisor_hostname"] = json!(machine);
        }
        json!({ "server": server })
    }
}

/// Gone, in a body of the service's own: a 404 of a proxy or of a wrong URL is no absence.
fn is_missing(answer: &Answer) -> bool {
    answer.status.as_u16() == 404
        && message(answer).is_some_and(|m| m.contains("not be found") || m.contains("No image found"))
}

/// Nova says 409 of what is locked and of what is busy; its words alone tell which.
fn kind(answer: &Answer) -> Kind {
    match answer.kind(&message(answer).unwrap_or_else(|| "no reason given".to_owned())) {
        Kind::Conflict(detail) if detail.ends_with("is locked") => Kind::Locked(detail),
        kind => kind,
    }
}

/// Nova: `{badRequest: {message}}` under a key that varies; keystonemiddleware: `{error: {message}}`;
/// Glance: `{message}` with HTML in it.
fn message(answer: &Answer) -> Option<String> {
    let body: Value = serde_json::from_str(&answer.text()).ok()?;
    let object = body.as_object()?;
    let inner = object.values().find_map(|v| v.get("message"));
    let text = object.get("message").or(inner)?.as_str()?;
    Some(text.replace("<br />", " ").trim().to_owned())
}
