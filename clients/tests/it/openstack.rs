//! Keystone and Glance, and what Nova refuses.

use clients::openstack::{ApplicationCredential, Credentials, Networks, NewServer, OpenStack, User};
use clients::{Kind, Service};
use model::UserData;
use serde_json::json;

use crate::fake::{Fake, Reply};

pub(crate) const TOKENS: &str = "POST /v3/auth/tokens";
pub(crate) const CREATE: &str = "POST /v2.1/servers";
const IMAGE: &str = "4c2d913a-123d-402a-892c-cb88177793e5";

/// A cloud that gives tokens, and a client of it.
pub(crate) async fn cloud() -> (Fake, OpenStack) {
    let credentials = Credentials::Password {
        user: User { name: "worker".to_owned(), domain: "Default".to_owned() },
        password: "s3cret".to_owned().into(),
        project: "lab".to_owned(),
        project_domain: "Default".to_owned(),
    };
    cloud_as(credentials).await
}

async fn cloud_as(credentials: Credentials) -> (Fake, OpenStack) {
    let fake = Fake::start().await;
    fake.on(TOKENS, [token(&fake, "token-1"), token(&fake, "token-2")]);
    let region = Some("RegionOne".to_owned());
    let openstack = OpenStack::new(fake.base.join("v3").unwrap(), credentials, region).unwrap();
    (fake, openstack)
}

/// The recorded token, of this cloud and of another century.
fn token(fake: &Fake, value: &str) -> Reply {
    let base = fake.base.as_str().trim_end_matches('/');
    Reply::openstack("token-password")
        .with_header("x-subject-token", value)
        .replacing("2026-11-30T04:52:34", "2096-11-30T04:52:34")
        .replacing("http://127.0.0.1:9292", base)
        .replacing("http://127.0.0.1:8774", base)
}

pub(crate) fn new_server() -> NewServer {
    NewServer {
        name: "gpu-1".to_owned(),
        image: "image-1".to_owned(),
        flavor: "flavor-1".to_owned(),
        machine: Some("node-1".to_owned()),
        user_data: Some(UserData::encode(b"#cloud-config\n")),
        networks: Networks::Ids(vec!["net-1".to_owned(), "net-2".to_owned()]),
        config_drive: true,
        metadata: [("fleet_request".to_owned(), "r-1".to_owned())].into(),
        tag: "fleet.device.d-1".to_owned(),
    }
}

#[tokio::test]
async fn one_token_serves_many_calls() {
    let (fake, openstack) = cloud().await;
    let call = format!("GET /v2/images/{IMAGE}");
    fake.on(&call, [Reply::openstack("image-get")]);
    for _ in 0..3 {
        let image = openstack.image(IMAGE).await.unwrap().unwrap();
        assert_eq!(
            (image.id.as_str(), image.name.as_deref(), image.status.as_str()),
            (IMAGE, Some("debian-12"), "active")
        );
    }
    let [asked] = fake.asked(TOKENS).try_into().unwrap();
    assert_eq!(
        asked.json(),
        json!({"auth": {
            "identity": {"methods": ["password"], "password": {"user": {
                "name": "worker", "domain": {"name": "Default"}, "password": "s3cret",
            }}},
            "scope": {"project": {"name": "lab", "domain": {"name": "Default"}}},
        }})
    );
    let sent: Vec<_> =
        fake.asked(&call).iter().map(|a| a.header("x-auth-token").map(str::to_owned)).collect();
    assert_eq!(sent, vec![Some("token-1".to_owned()); 3]);
}

#[tokio::test]
async fn an_application_credential_is_sent_without_a_scope() {
    let user = User { name: "worker".to_owned(), domain: "Default".to_owned() };
    for (credential, sent) in [
        (ApplicationCredential::Id("ac-1".to_owned()), json!({"id": "ac-1", "secret": "s3cret"})),
        (
            ApplicationCredential::Name { name: "satellite".to_owned(), user },
            json!({
                "name": "satellite",
                "user": {"name": "worker", "domain": {"name": "Default"}},
                "secret": "s3cret",
            }),
        ),
    ] {
        let secret = "s3cret".to_owned().into();
        let (fake, openstack) = cloud_as(Credentials::Application { credential, secret }).await;
        fake.on(&format!("GET /v2/images/{IMAGE}"), [Reply::openstack("image-get")]);
        assert!(openstack.image(IMAGE).await.unwrap().is_some());
        let [asked] = fake.asked(TOKENS).try_into().unwrap();
        let methods = ["application_credential"];
        let identity = json!({"methods": methods, "application_credential": sent});
        assert_eq!(asked.json(), json!({"auth": {"identity": identity}}));
        assert!(!format!("{openstack:?}").contains("s3cret"));
    }
}

#[tokio::test]
async fn a_wrong_secret_is_keystones_refusal_and_never_printed() {
    let credential = ApplicationCredential::Id("ac-1".to_owned());
    let secret = "s3cret".to_owned().into();
    let (fake, openstack) = cloud_as(Credentials::Application { credential, secret }).await;
    fake.on(TOKENS, [Reply::openstack("token-appcred-wrong-secret")]);
    let error = openstack.image(IMAGE).await.unwrap_err();
    assert_eq!((error.service, error.kind.clone()), (Service::Keystone, Kind::Unauthenticated));
    assert!(!format!("{error} {error:?} {openstack:?}").contains("s3cret"));
    assert_eq!(fake.asked(TOKENS).len(), 1);
}

#[tokio::test]
async fn an_application_credential_that_is_gone_is_forbidden_in_keystones_words() {
    let credential = ApplicationCredential::Id("ac-1".to_owned());
    let secret = "s3cret".to_owned().into();
    let (fake, openstack) = cloud_as(Credentials::Application { credential, secret }).await;
    let words = "Could not find Application Credential: ac-1.";
    let gone = json!({"error": {"code": 404, "message": words, "title": "Not Found"}});
    fake.on(TOKENS, [Reply::json(404, &gone)]);
    let error = openstack.image(IMAGE).await.unwrap_err();
    assert_eq!((error.service, error.kind), (Service::Keystone, Kind::Forbidden(words.to_owned())));
}

#[tokio::test]
async fn a_revoked_token_is_replaced_once() {
    let (fake, openstack) = cloud().await;
    let call = format!("GET /v2/images/{IMAGE}");
    fake.on(&call, [Reply::openstack("server-get-revoked-token"), Reply::openstack("image-get")]);
    assert!(openstack.image(IMAGE).await.unwrap().is_some());
    let sent: Vec<_> =
        fake.asked(&call).iter().map(|a| a.header("x-auth-token").map(str::to_owned)).collect();
    assert_eq!(sent, [Some("token-1".to_owned()), Some("token-2".to_owned())]);
    assert_eq!(fake.asked(TOKENS).len(), 2);
}

#[tokio::test]
async fn a_new_token_that_is_refused_too_is_unauthenticated() {
    let (fake, openstack) = cloud().await;
    let call = format!("GET /v2/images/{IMAGE}");
    fake.on(&call, [Reply::openstack("server-get-revoked-token")]);
    let error = openstack.image(IMAGE).await.unwrap_err();
    assert_eq!(
        (error.service, error.kind, error.status),
        (Service::Glance, Kind::Unauthenticated, Some(401))
    );
    assert_eq!((fake.asked(&call).len(), fake.asked(TOKENS).len()), (2, 2));
}

#[tokio::test]
async fn a_wrong_password_is_keystones_refusal_and_never_printed() {
    let (fake, openstack) = cloud().await;
    fake.on(TOKENS, [Reply::openstack("token-password-wrong")]);
    let error = openstack.image(IMAGE).await.unwrap_err();
    assert_eq!((error.service, error.kind.clone()), (Service::Keystone, Kind::Unauthenticated));
    assert_eq!(error.to_string(), "keystone get token: token refused (HTTP 401)");
    assert_eq!(error.request_id.as_deref(), Some("req-bbff66bb-1ca8-41e1-8e0e-2a913e812206"));
    assert!(!format!("{error:?} {openstack:?}").contains("s3cret"));
    assert_eq!(fake.asked(TOKENS).len(), 1);
}

#[tokio::test]
async fn a_token_without_its_header_is_malformed() {
    let (fake, openstack) = cloud().await;
    fake.on(TOKENS, [Reply::json(201, &Reply::openstack("token-password").body())]);
    let error = openstack.image(IMAGE).await.unwrap_err();
    assert_eq!(error.kind, Kind::Malformed("no X-Subject-Token".to_owned()));
}

#[tokio::test]
async fn missing_images_flavors_and_servers_are_none() {
    let (fake, openstack) = cloud().await;
    fake.on("GET /v2/images/gone", [Reply::openstack("image-get-missing")]);
    fake.on("GET /v2.1/flavors/nope", [Reply::openstack("flavor-get-missing")]);
    fake.on("GET /v2.1/servers/gone", [Reply::openstack("server-missing")]);
    assert_eq!(openstack.image("gone").await.unwrap(), None);
    assert_eq!(openstack.flavor("nope").await.unwrap(), None);
    assert_eq!(openstack.server(&"gone".parse().unwrap()).await.unwrap(), None);
}

#[tokio::test]
async fn a_404_that_is_not_the_services_own_is_an_error() {
    let (_fake, openstack) = cloud().await;
    let refused = Kind::Rejected("no reason given".to_owned());
    assert_eq!(openstack.image("gone").await.unwrap_err().kind, refused);
    assert_eq!(openstack.flavor("gone").await.unwrap_err().kind, refused);
    let id = "gone".parse().unwrap();
    assert_eq!(openstack.server(&id).await.unwrap_err().kind, refused);
    assert_eq!(openstack.delete_server(&id).await.unwrap_err().kind, refused);
}

#[tokio::test]
async fn nova_is_asked_with_its_microversion_and_glance_without() {
    let (fake, openstack) = cloud().await;
    fake.on("GET /v2/images/gone", [Reply::openstack("image-get-missing")]);
    fake.on("GET /v2.1/flavors/nope", [Reply::openstack("flavor-get-missing")]);
    openstack.image("gone").await.unwrap();
    openstack.flavor("nope").await.unwrap();
    let version = |call| fake.asked(call)[0].header("openstack-api-version").map(str::to_owned);
    assert_eq!(version("GET /v2.1/flavors/nope").as_deref(), Some("compute 2.90"));
    assert_eq!(version("GET /v2/images/gone"), None);
}

#[tokio::test]
async fn a_quota_that_is_used_up_is_forbidden_in_novas_words() {
    let (fake, openstack) = cloud().await;
    fake.on(CREATE, [Reply::openstack("create-quota-instances")]);
    let error = openstack.create_server(&new_server()).await.unwrap_err();
    let words = "Quota exceeded for instances: Requested 1, but already used 3 of 1 instances";
    assert_eq!((error.kind.clone(), error.status), (Kind::Forbidden(words.to_owned()), Some(403)));
    assert!(!error.is_unknown());
}

#[tokio::test]
async fn an_unknown_machine_is_refused_in_novas_words() {
    let (fake, openstack) = cloud().await;
    fake.on(CREATE, [Reply::openstack("create-hypervisor-hostname-missing")]);
    let error = openstack.create_server(&new_server()).await.unwrap_err();
    assert_eq!(error.kind, Kind::Rejected("Compute host nope could not be found.".to_owned()));
}

#[tokio::test]
async fn the_user_data_that_nova_echoes_is_in_no_error() {
    let (fake, openstack) = cloud().await;
    let recorded = Reply::openstack("create-userdata-65536");
    let echo = recorded.body()["badRequest"]["message"].as_str().unwrap().to_owned();
    assert!(echo.len() > 65_536);
    let secret = UserData::encode(b"#cloud-config\npassword: hunter2 hunter2 hunter2\n");
    let short =
        Reply::openstack("create-userdata-bad-base64").replacing("!!!not base64!!!", secret.as_base64());
    fake.on(CREATE, [recorded, short]);
    for forbidden in ["A".repeat(32), secret.as_base64()[..16].to_owned()] {
        let error = openstack.create_server(&new_server()).await.unwrap_err();
        let mut chain = format!("{error} {error:?}");
        let mut next = std::error::Error::source(&error);
        while let Some(source) = next {
            chain = format!("{chain} {source} {source:?}");
            next = source.source();
        }
        assert!(chain.contains("Invalid input for field/attribute user_data. Value: [masked]."), "{chain}");
        assert!(!chain.contains(&forbidden), "{chain}");
    }
}
