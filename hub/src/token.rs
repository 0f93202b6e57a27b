//! `POST /oauth/token`: client_credentials with private_key_jwt (RFC 6749, RFC 7523).

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::app::Hub;
use crate::assertion;
use crate::auth::{Principal, Scope, TOKEN_LIFE};
use crate::problem::chain;

const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// An OAuth error document. Its words are ours and hold nothing that was sent.
struct Refused {
    status: StatusCode,
    error: &'static str,
    description: String,
}

impl Refused {
    fn new(status: StatusCode, error: &'static str, description: impl Into<String>) -> Self {
        Self { status, error, description: description.into() }
    }

    fn request(description: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", description)
    }

    fn client(description: &str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "invalid_client", description)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let body = json!({ "error": self.error, "error_description": self.description });
        (self.status, [(header::CACHE_CONTROL, "no-store")], Json(body)).into_response()
    }
}

/// Answers a token for an assertion that holds.
pub(crate) async fn grant(State(hub): State<Arc<Hub>>, headers: HeaderMap, body: Bytes) -> Response {
    match issue(&hub, &headers, &body).await {
        Ok(response) => response,
        Err(refused) => {
            tracing::warn!(error = refused.error, reason = refused.description, "token refused");
            refused.into_response()
        }
    }
}

async fn issue(hub: &Hub, headers: &HeaderMap, body: &[u8]) -> Result<Response, Refused> {
    let form = read(headers, body)?;
    let now = (hub.clock)();
    match form.get("grant_type")? {
        Some("client_credentials") => {}
        Some(_) => {
            let said = "grant_type must be client_credentials";
            return Err(Refused::new(StatusCode::BAD_REQUEST, "unsupported_grant_type", said));
        }
        None => return Err(Refused::request("grant_type is missing")),
    }
    if form.get("client_assertion_type")? != Some(ASSERTION_TYPE) {
        return Err(Refused::client("client_assertion_type must be the JWT bearer's (RFC 7523)"));
    }
    let assertion =
        form.get("client_assertion")?.ok_or_else(|| Refused::client("client_assertion is missing"))?;
    let verified = assertion::verify(assertion, &hub.config, now).map_err(Refused::client)?;
    if form.get("client_id")?.is_some_and(|id| id != verified.id.as_str()) {
        return Err(Refused::client("client_id is another client's than the assertion"));
    }
    let scopes = narrow(&verified.client.scopes, form.get("scope")?)?;
    let fresh = hub.store.use_assertion(&verified.id, &verified.jti, verified.expires, now).await;
    if !fresh.map_err(failed)? {
        return Err(Refused::client("the assertion was used before: sign each with a jti of its own"));
    }
    let scope = scopes.iter().map(|s| s.as_str()).collect::<Vec<_>>().join(" ");
    let principal = Principal { id: verified.id, site: verified.client.site.clone(), scopes };
    tracing::info!(client = %principal.id, site = %principal.site, scope, "token issued");
    let token = hub.tokens.issue(principal, now);
    let body = json!({
        "access_token": token,
        "token_type": "Bearer",
        "expires_in": TOKEN_LIFE.as_secs(),
        "scope": scope,
    });
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(body)).into_response())
}

fn failed(error: crate::db::Error) -> Refused {
    tracing::error!(operation = "use assertion", error = chain(&error), "the hub failed");
    Refused::new(StatusCode::INTERNAL_SERVER_ERROR, "server_error", "the hub failed; its log says why")
}

/// All the client's scopes, or those that were asked for.
fn narrow(have: &BTreeSet<Scope>, wanted: Option<&str>) -> Result<BTreeSet<Scope>, Refused> {
    let Some(wanted) = wanted.filter(|w| !w.trim().is_empty()) else { return Ok(have.clone()) };
    let granted = |word: &str| Scope::parse(word).ok().filter(|s| have.contains(s));
    wanted.split_ascii_whitespace().map(granted).collect::<Option<_>>().ok_or_else(|| {
        Refused::new(StatusCode::BAD_REQUEST, "invalid_scope", "scope asks for more than the client may have")
    })
}

/// The form's fields.
struct Fields(Vec<(String, String)>);

fn read(headers: &HeaderMap, body: &[u8]) -> Result<Fields, Refused> {
    let form = "application/x-www-form-urlencoded";
    let kind = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    if !kind.split(';').next().is_some_and(|t| t.trim().eq_ignore_ascii_case(form)) {
        return Err(Refused::request("send Content-Type: application/x-www-form-urlencoded"));
    }
    Ok(Fields(url::form_urlencoded::parse(body).into_owned().collect()))
}

impl Fields {
    /// A field; RFC 6749 forbids to send one twice.
    fn get(&self, name: &str) -> Result<Option<&str>, Refused> {
        let mut values = self.0.iter().filter(|(n, _)| n == name).map(|(_, v)| v.as_str());
        match (values.next(), values.next()) {
            (_, Some(_)) => Err(Refused::request("a parameter is sent twice")),
            (value, None) => Ok(value),
        }
    }
}
