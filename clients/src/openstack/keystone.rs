//! Tokens and the catalog.

use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::kind;
use crate::http::Http;
use crate::{Error, Kind, Service};

/// A token is renewed so long before its end, in seconds.
const MARGIN: i64 = 60;

/// As whom we log in.
#[derive(Debug, Clone)]
pub enum Credentials {
    /// A user with a password, in a project.
    Password {
        /// The user.
        user: User,
        /// The user's password.
        password: SecretString,
        /// The project's name.
        project: String,
        /// The domain of the project, by name.
        project_domain: String,
    },
    /// An application credential: it has its user, its project and some of the user's roles.
    Application {
        /// Which one.
        credential: ApplicationCredential,
        /// Its secret.
        secret: SecretString,
    },
}

/// A user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Its name.
    pub name: String,
    /// Its domain, by name.
    pub domain: String,
}

/// How an application credential is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApplicationCredential {
    /// By its id.
    Id(String),
    /// By its name, which is its user's own.
    Name {
        /// The name.
        name: String,
        /// Whose it is.
        user: User,
    },
}

#[derive(Debug)]
pub(super) struct Keystone {
    pub(super) auth_url: Url,
    pub(super) credentials: Credentials,
    pub(super) region: Option<String>,
}

/// A token and what it opens.
#[derive(Debug, Clone)]
pub(super) struct Session {
    pub(super) token: SecretString,
    ends: Timestamp,
    glance: Option<Url>,
    nova: Option<Url>,
}

#[derive(Deserialize)]
struct Body {
    token: Granted,
}

#[derive(Deserialize)]
struct Granted {
    expires_at: Timestamp,
    #[serde(default)]
    catalog: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    endpoints: Vec<Endpoint>,
}

#[derive(Deserialize)]
struct Endpoint {
    interface: String,
    #[serde(default)]
    region_id: Option<String>,
    url: String,
}

impl Keystone {
    /// `POST /v3/auth/tokens`. Wrong password, secret, user and project all look the same: 401. An
    /// application credential whose id is gone is 404, in Keystone's words; by its name it is 401 (the
    /// contract suite, Keystone 22 and 27).
    pub(super) async fn authenticate(&self, http: &Http) -> Result<Session, Error> {
        const OPERATION: &str = "get token";
        let body = self.credentials.body();
        let url = join(&self.auth_url, &["auth", "tokens"]);
        let request = http.client().post(url).json(&body);
        let answer = http.asking(Service::Keystone).send(OPERATION, request).await?;
        if !answer.status.is_success() {
            let kind = match kind(&answer) {
                Kind::Rejected(gone) if gone.starts_with("Could not find Application Credential") => {
                    Kind::Forbidden(gone)
                }
                kind => kind,
            };
            return Err(answer.error(Service::Keystone, OPERATION, kind));
        }
        let malformed =
            |what: &str| answer.error(Service::Keystone, OPERATION, Kind::Malformed(what.to_owned()));
        let token = answer.headers.get("x-subject-token").and_then(|t| t.to_str().ok());
        let token = SecretString::from(token.ok_or_else(|| malformed("no X-Subject-Token"))?.to_owned());
        let granted: Granted = answer.json::<Body>(Service::Keystone, OPERATION)?.token;
        let find = |kind| self.endpoint(&granted.catalog, kind);
        Ok(Session { token, ends: granted.expires_at, glance: find("image"), nova: find("compute") })
    }

    fn endpoint(&self, catalog: &[Entry], kind: &str) -> Option<Url> {
        let fits = |e: &&Endpoint| {
            e.interface == "public" && self.region.as_ref().is_none_or(|r| e.region_id.as_ref() == Some(r))
        };
        let entry = catalog.iter().find(|e| e.kind == kind)?;
        Url::parse(&entry.endpoints.iter().find(fits)?.url).ok()
    }
}

impl Credentials {
    /// An application credential is refused with a scope, 401 (facts: openstack §2).
    fn body(&self) -> Value {
        match self {
            Self::Password { user, password, project, project_domain } => json!({"auth": {
                "identity": {"methods": ["password"], "password": {"user": {
                    "name": user.name,
                    "domain": {"name": user.domain},
                    "password": password.expose_secret(),
                }}},
                "scope": {"project": {"name": project, "domain": {"name": project_domain}}},
            }}),
            Self::Application { credential, secret } => {
                let mut named = match credential {
                    ApplicationCredential::Id(id) => json!({"id": id}),
                    ApplicationCredential::Name { name, user } => {
                        json!({"name": name, "user": {"name": user.name, "domain": {"name": user.domain}}})
                    }
                };
                named["secret"] = json!(secret.expose_secret());
                let methods = ["application_credential"];
                json!({"auth": {"identity": {"methods": methods, "application_credential": named}}})
            }
        }
    }
}

impl Session {
    pub(super) fn is_fresh(&self) -> bool {
        self.ends.as_second() > Timestamp::now().as_second() + MARGIN
    }

    pub(super) fn url(&self, service: Service, path: &[&str], operation: &'static str) -> Result<Url, Error> {
        let (base, kind) = match service {
            Service::Glance => (&self.glance, "image"),
            Service::Nova | Service::Keystone | Service::Slurm | Service::Hub => (&self.nova, "compute"),
        };
        base.as_ref().map(|b| join(b, path)).ok_or_else(|| {
            let what = format!("the catalog has no public `{kind}` endpoint in the region");
            Error::new(service, operation, Kind::Rejected(what))
        })
    }
}

/// The URL with these segments behind its path, each escaped.
fn join(base: &Url, segments: &[&str]) -> Url {
    let mut url = base.clone();
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(segments);
    }
    url
}
