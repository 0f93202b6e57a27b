//! The router, asked as clients ask it. The clock is turned by hand, keys are made anew.

mod conditions;
mod config_changes;
mod configs;
mod devices;
mod doors;
mod imports;
mod oauth;
mod openapi;
mod workflows;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use jiff::{SignedDuration, Timestamp};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use model::{DeviceId, PrincipalId, Role, SiteId};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::auth::Scope;
use crate::config::{Client, Config};
use crate::db::{Import, Store};
use crate::key::PublicKey;
use crate::{Hub, router};

/// 2026-11-30T08:00:00Z.
const START: i64 = 1_796_025_600;
const ISSUER: &str = "https://hub.test";

/// The clients: id, site, scopes.
const CLIENTS: [(&str, &str, &[&str]); 7] = [
    ("slurm-agent-lab", "lab", &["device:update", "device-condition:create"]),
    ("temporal-worker-lab", "lab", &["slurm-bootstrap-config:read"]),
    (
        "hpc",
        "lab",
        &["slurm-bootstrap-config:create", "slurm-bootstrap-config:read", "slurm-bootstrap-config:update"],
    ),
    ("ops", "lab", &["device-workflow:start", "device-workflow:read"]),
    ("lead", "lab", &["device-workflow:start", "device-workflow:force", "device-workflow:cancel"]),
    ("hpc-moon", "moon", &["slurm-bootstrap-config:read", "slurm-bootstrap-config:update"]),
    ("slurm-agent-moon", "moon", &["device:update", "device-condition:create"]),
];

struct Lab {
    router: Router,
    store: Store,
    config: Config,
    seconds: Arc<AtomicI64>,
    key: EncodingKey,
}

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Value,
}

impl Answer {
    /// The problem's slug.
    fn problem(&self) -> &str {
        assert_eq!(self.headers["content-type"], "application/problem+json", "{}", self.body);
        assert_eq!(self.body["status"], self.status.as_u16());
        self.body["type"].as_str().unwrap().strip_prefix("urn:fleet:problem:").unwrap()
    }

    fn good(self) -> Value {
        assert!(self.status.is_success(), "{} {}", self.status, self.body);
        self.body
    }

    /// The fields that are blamed.
    fn fields(&self) -> Vec<&str> {
        assert_eq!(self.problem(), "invalid");
        self.body["errors"].as_array().unwrap().iter().map(|e| e["field"].as_str().unwrap()).collect()
    }
}

fn site(id: &str) -> SiteId {
    SiteId::parse(id).unwrap()
}

fn device(id: &str, site_id: &str, role: &str) -> Import {
    Import {
        id: DeviceId::parse(id).unwrap(),
        site: site(site_id),
        name: id.to_owned(),
        role: Role::parse(role).unwrap(),
        slurm_node_name: None,
        nova_host: None,
    }
}

impl Lab {
    /// A hub with devices d-1 and d-2 at `lab`, m-1 at `moon`.
    async fn new() -> Self {
        Self::on(Store::in_memory(&[site("lab"), site("moon")]).await.unwrap()).await
    }

    /// The same on this database, which must know both sites.
    async fn on(store: Store) -> Self {
        let pair = rcgen::KeyPair::generate().unwrap();
        let public = PublicKey::parse(pair.public_key_pem().as_bytes()).unwrap();
        let client = |(id, at, scopes): (&str, &str, &[&str])| {
            let scopes = scopes.iter().map(|s| Scope::parse(s).unwrap()).collect();
            (PrincipalId::parse(id).unwrap(), Client { site: site(at), key: public.clone(), scopes })
        };
        let config = Config {
            listen: "127.0.0.1:0".parse().unwrap(),
            database: "unused".into(),
            issuer: ISSUER.to_owned(),
            stale_after: SignedDuration::from_secs(300),
            temporal: "http://127.0.0.1:1".parse().unwrap(),
            sites: BTreeMap::from([(site("lab"), "lab-ns".to_owned()), (site("moon"), "moon-ns".to_owned())]),
            clients: CLIENTS.into_iter().map(client).collect(),
        };
        let seconds = Arc::new(AtomicI64::new(START));
        let turned = seconds.clone();
        let clock: crate::clock::Clock =
            Arc::new(move || Timestamp::from_second(turned.load(Ordering::Relaxed)).unwrap());
        let devices =
            vec![device("d-1", "lab", "gpu"), device("d-2", "lab", "cpu"), device("m-1", "moon", "gpu")];
        store.import(devices).await.unwrap().unwrap();
        let router = router(Hub::new(config.clone(), store.clone(), clock));
        let key = EncodingKey::from_ec_pem(pair.serialize_pem().as_bytes()).unwrap();
        Self { router, store, config, seconds, key }
    }

    fn pass(&self, seconds: i64) {
        self.seconds.fetch_add(seconds, Ordering::Relaxed);
    }

    fn now(&self) -> i64 {
        self.seconds.load(Ordering::Relaxed)
    }

    /// A tick, so many seconds after the start.
    fn tick(at: i64) -> String {
        Timestamp::from_second(START + at).unwrap().to_string()
    }

    fn claims(&self, client: &str) -> Value {
        json!({
            "iss": client, "sub": client, "aud": format!("{ISSUER}/oauth/token"),
            "iat": self.now(), "exp": self.now() + 60, "jti": uuid::Uuid::new_v4().to_string(),
        })
    }

    fn sign(&self, claims: &Value) -> String {
        jsonwebtoken::encode(&Header::new(Algorithm::ES256), claims, &self.key).unwrap()
    }

    async fn grant(&self, assertion: &str, more: &[(&str, &str)]) -> Answer {
        let form = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("grant_type", "client_credentials")
            .append_pair("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
            .append_pair("client_assertion", assertion)
            .extend_pairs(more)
            .finish();
        let request = Request::post("/oauth/token")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Body::from(form))
            .unwrap();
        self.send(request).await
    }

    async fn token(&self, client: &str) -> String {
        let answer = self.grant(&self.sign(&self.claims(client)), &[]).await.good();
        answer["access_token"].as_str().unwrap().to_owned()
    }

    async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Answer { status: parts.status, headers: parts.headers, body }
    }

    /// Asks as `client`, with a new token.
    async fn get(&self, client: &str, path: &str) -> Answer {
        let token = self.token(client).await;
        let request =
            Request::get(format!("/api/v1{path}")).header("authorization", format!("Bearer {token}"));
        self.send(request.body(Body::empty()).unwrap()).await
    }

    async fn write(&self, method: &str, client: &str, path: &str, body: &Value) -> Answer {
        self.write_raw(method, client, path, body.to_string(), &[]).await
    }

    async fn post(&self, client: &str, path: &str, body: &Value) -> Answer {
        self.write("POST", client, path, body).await
    }

    async fn write_raw(
        &self,
        method: &str,
        client: &str,
        path: &str,
        body: impl Into<Body>,
        headers: &[(&str, &str)],
    ) -> Answer {
        let token = self.token(client).await;
        let mut request = Request::builder()
            .method(method)
            .uri(format!("/api/v1{path}"))
            .header("authorization", format!("Bearer {token}"));
        if !headers.iter().any(|(name, _)| *name == "content-type") {
            request = request.header("content-type", "application/json");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(body.into()).unwrap()).await
    }
}
