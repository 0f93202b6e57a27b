//! Keystone: tokens for a password or an application credential, the catalog, revocation.

use serde_json::{Value, json};

use super::application::{self, Application};
use super::{Site, Urls};
use crate::serve::{Call, Reply};

/// A token that was given out.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) id: String,
    /// The application credential that it was given for.
    pub(super) application: Option<Application>,
    /// Ticks until it is refused.
    left: Option<u64>,
}

impl Token {
    pub(super) fn tick(&mut self) {
        self.left = self.left.map(|left| left.saturating_sub(1));
    }

    pub(super) fn is_good(&self) -> bool {
        self.left != Some(0)
    }
}

pub(super) fn answer(site: &mut Site, call: &Call) -> Reply {
    let segments = call.segments();
    let path: Vec<&str> = segments.iter().map(String::as_str).collect();
    let reply = match (call.method.as_str(), path.as_slice()) {
        ("POST", ["v3", "auth", "tokens"]) => authenticate(site, call),
        ("DELETE", ["v3", "auth", "tokens"]) if site.knows(call) => {
            let revoked = call.header("x-subject-token").unwrap_or_default().to_owned();
            site.tokens.retain(|t| t.id != revoked);
            Reply::empty(204)
        }
        ("POST", ["v3", "users", USER, "application_credentials"]) if site.knows(call) => {
            application::create(site, call)
        }
        ("DELETE", ["v3", "auth", "tokens"]) | ("POST", ["v3", "users", USER, "application_credentials"]) => {
            unauthorized(&site.urls)
        }
        _ => error(404, "Not Found", "The requested URL was not found on the server."),
    };
    reply.with("vary", "X-Auth-Token")
}

/// Keystone's and its middleware's shape of an error.
pub(super) fn error(code: u16, title: &str, message: &str) -> Reply {
    Reply::json(code, &json!({"error": {"code": code, "message": message, "title": title}}))
}

/// The answer of Keystone and of every service to a token or a password that is no good.
pub(super) fn unauthorized(urls: &Urls) -> Reply {
    let message = "The request you have made requires authentication.";
    let uri = format!("Keystone uri=\"{}/v3\"", urls.keystone);
    error(401, "Unauthorized", message).with("www-authenticate", uri)
}

fn authenticate(site: &mut Site, call: &Call) -> Reply {
    let Ok(body) = serde_json::from_slice::<Value>(&call.body) else {
        return error(400, "Bad Request", "Expecting to find valid JSON in request body");
    };
    let auth = &body["auth"];
    if !auth["identity"].is_object() {
        let message = "'identity' is a required property\n\nFailed validating 'required' in schema";
        return error(400, "Bad Request", message);
    }
    let identity = &auth["identity"];
    if identity["methods"] == json!(["application_credential"]) {
        if !auth["scope"].is_null() {
            let message = "Error authenticating with application credential: Application credentials cannot \
                           request a scope.";
            let uri = format!("Keystone uri=\"{}/v3\"", site.urls.keystone);
            let body =
                json!({"error": {"code": 401, "identity": {}, "message": message, "title": "Unauthorized"}});
            return Reply::json(401, &body).with("www-authenticate", uri);
        }
        return match application::find(site, &identity["application_credential"]) {
            Ok(application) => grant(site, Some(application)),
            Err(refused) => refused,
        };
    }
    let user = &identity["password"]["user"];
    let options = &site.options;
    let known = identity["methods"] == json!(["password"])
        && user["name"] == options.user.as_str()
        && user["password"] == options.password.as_str()
        && is_default(&user["domain"]);
    // without a scope the user's default project is meant
    let project = &auth["scope"]["project"];
    let scoped =
        project.is_null() || project["name"] == options.project.as_str() && is_default(&project["domain"]);
    if !known || !scoped {
        return unauthorized(&site.urls);
    }
    grant(site, None)
}

fn grant(site: &mut Site, application: Option<Application>) -> Reply {
    let mut token = granted(site);
    if let Some(Application { id, name, .. }) = &application {
        token["methods"] = json!(["application_credential"]);
        token["application_credential"] = json!({"id": id, "name": name, "restricted": true});
    }
    let id = site.uuid("token").simple().to_string();
    site.tokens.push(Token { id: id.clone(), application, left: site.options.token_ticks });
    Reply::json(201, &json!({"token": token})).with("x-subject-token", id)
}

pub(super) fn is_default(domain: &Value) -> bool {
    domain["name"] == "Default" || domain["id"] == "default"
}

fn granted(site: &Site) -> Value {
    let (options, urls) = (&site.options, &site.urls);
    let domain = json!({"id": "default", "name": "Default"});
    let role = |name: &&str| json!({"id": format!("role-{name}"), "name": name});
    let endpoint = |interface: &str, url: &str| {
        json!({
            "id": format!("endpoint-{interface}"),
            "interface": interface,
            "region_id": "RegionOne",
            "region": "RegionOne",
            "url": url,
        })
    };
    let entry = |kind: &str, name: &str, url: String| {
        let endpoints = [endpoint("internal", &url), endpoint("public", &url)];
        json!({"id": format!("service-{name}"), "type": kind, "name": name, "endpoints": endpoints})
    };
    json!({
        "methods": ["password"],
        "user": {
            "domain": domain,
            "id": USER,
            "name": options.user,
            "password_expires_at": null,
        },
        "audit_ids": ["NcTgZxffQpqVjktSwaSFZA"],
        "expires_at": "2096-01-01T00:00:00.000000Z",
        "issued_at": format!("{}Z", site.micros(site.now)),
        "project": {"domain": domain, "id": PROJECT, "name": options.project},
        "is_domain": false,
        "roles": options.role.names().iter().map(role).collect::<Vec<_>>(),
        "catalog": [
            entry("identity", "keystone", format!("{}/v3", urls.keystone)),
            entry("image", "glance", urls.glance.clone()),
            entry("compute", "nova", format!("{}/v2.1", urls.nova)),
        ],
    })
}

/// The only user's id.
pub(super) const USER: &str = "5556a1e0fc244c9798d3048f5912867a";
/// The project's id.
pub(super) const PROJECT: &str = "eb2c8785cf004efdb814627b128ae28f";
