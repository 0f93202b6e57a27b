//! Tokens of the hub: few, renewed, and asked for with an assertion that holds (cases: B47, B48).

use std::collections::BTreeSet;

use clients::oauth::Principal;
use clients::{Kind, Service};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::fake::{Asked, Fake, Reply};
use crate::hub::{DEVICES, TOKEN, granted, hub, hub_with, page};

fn bearers(fake: &Fake) -> Vec<String> {
    fake.asked(DEVICES).iter().map(|a| a.header("authorization").unwrap().to_owned()).collect()
}

/// A field of a form.
fn field(asked: &Asked, name: &str) -> String {
    let form = url::form_urlencoded::parse(&asked.body);
    form.filter(|(k, _)| k == name).map(|(_, v)| v.into_owned()).collect()
}

#[tokio::test]
async fn case_b48_a_hundred_calls_at_once_make_one_token_request() {
    let (fake, hub) = hub().await;
    fake.on(DEVICES, [page(&["a"], None)]);
    let mut calls = JoinSet::new();
    for _ in 0..100 {
        let hub = hub.clone();
        calls.spawn(async move { hub.devices().await.map(|d| d.len()) });
    }
    let read: Vec<usize> = calls.join_all().await.into_iter().map(Result::unwrap).collect();
    assert_eq!(read, [1; 100]);
    assert_eq!((fake.asked(TOKEN).len(), fake.asked(DEVICES).len()), (1, 100));
}

#[tokio::test]
async fn case_b48_a_hundred_refusals_at_once_make_one_new_token_request() {
    let (fake, hub) = hub().await;
    fake.when(DEVICES, |asked| match asked.header("authorization") {
        Some("Bearer token-2") => page(&["a"], None),
        _ => Reply::text(401, "text/plain", ""),
    });
    let mut calls = JoinSet::new();
    for _ in 0..100 {
        let hub = hub.clone();
        calls.spawn(async move { hub.devices().await.map(|d| d.len()) });
    }
    let read: Vec<usize> = calls.join_all().await.into_iter().map(Result::unwrap).collect();
    assert_eq!(read, [1; 100]);
    assert_eq!(fake.asked(TOKEN).len(), 2);
}

#[tokio::test]
async fn a_refused_token_is_replaced_once() {
    let (fake, hub) = hub().await;
    fake.on(DEVICES, [Reply::text(401, "text/plain", ""), page(&["a"], None)]);
    assert_eq!(hub.devices().await.unwrap().len(), 1);
    assert_eq!(bearers(&fake), ["Bearer token-1", "Bearer token-2"]);
    assert_eq!(fake.asked(TOKEN).len(), 2);
}

#[tokio::test]
async fn a_second_refusal_is_unauthenticated() {
    let (fake, hub) = hub().await;
    fake.on(DEVICES, [Reply::text(401, "text/plain", "")]);
    let error = hub.devices().await.unwrap_err();
    assert_eq!((error.service, error.kind, error.status), (Service::Hub, Kind::Unauthenticated, Some(401)));
    assert_eq!(bearers(&fake).len(), 2);
}

#[tokio::test]
async fn a_token_that_ends_within_its_margin_is_not_used_again() {
    let (fake, hub) = hub().await;
    let brief = json!({"access_token": "brief", "expires_in": 30});
    fake.on(TOKEN, [Reply::json(200, &brief), granted("token-2")]);
    fake.on(DEVICES, [page(&["a"], None)]);
    hub.devices().await.unwrap();
    hub.devices().await.unwrap();
    hub.devices().await.unwrap();
    assert_eq!(bearers(&fake), ["Bearer brief", "Bearer token-2", "Bearer token-2"]);
}

#[tokio::test]
async fn case_b47_the_assertion_holds_what_strict_servers_want() {
    let key = rcgen::KeyPair::generate().unwrap();
    let (fake, hub) = hub_with(&key.serialize_pem()).await;
    fake.on(DEVICES, [Reply::text(401, "text/plain", "")]);
    hub.devices().await.unwrap_err();
    let verify = DecodingKey::from_ec_pem(key.public_key_pem().as_bytes()).unwrap();
    let mut validation = Validation::new(Algorithm::ES256);
    validation.set_audience(&["https://hub.example"]);
    let mut ids = BTreeSet::new();
    for asked in fake.asked(TOKEN) {
        assert_eq!(field(&asked, "grant_type"), "client_credentials");
        assert_eq!(field(&asked, "client_id"), "slurm-agent-lab");
        let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
        assert_eq!(field(&asked, "client_assertion_type"), kind);
        let assertion = field(&asked, "client_assertion");
        let decoded = jsonwebtoken::decode::<Value>(&assertion, &verify, &validation).unwrap();
        let claims = decoded.claims;
        assert_eq!(decoded.header.kid.as_deref(), Some("slurm-agent-lab"));
        assert_eq!((&claims["iss"], &claims["sub"]), (&json!("slurm-agent-lab"), &json!("slurm-agent-lab")));
        assert_eq!(claims["aud"], json!("https://hub.example"));
        assert_eq!(claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(), 60);
        assert_eq!(claims.get("nbf"), None);
        ids.insert(claims["jti"].as_str().unwrap().to_owned());
    }
    assert_eq!(ids.len(), 2);
}

#[tokio::test]
async fn an_assertion_that_is_refused_is_unauthenticated() {
    let (fake, hub) = hub().await;
    let refused = json!({"error": "invalid_client", "error_description": "unknown key"});
    fake.on(TOKEN, [Reply::json(400, &refused)]);
    let error = hub.devices().await.unwrap_err();
    assert_eq!(error.to_string(), "hub get token: token refused (HTTP 400)");
    assert_eq!(fake.asked(DEVICES).len(), 0);
}

#[test]
fn a_key_that_is_none_is_described_and_not_printed() {
    let key = "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----\n".to_owned().into();
    let url = url::Url::parse("http://127.0.0.1/token").unwrap();
    let error = Principal::new("x", &key, url, String::new()).unwrap_err();
    assert_eq!(error, "is not a private key in PEM (PKCS#8: EC P-256, Ed25519 or RSA)");
}
