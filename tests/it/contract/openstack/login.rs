//! Application credentials: what they open, and what they are refused with.

use clients::Kind;
use clients::openstack::{ApplicationCredential, Credentials, User};
use serde_json::{Value, json};

use super::subject::Subject;
use crate::contract::Got;

pub(super) async fn holds(s: &Subject) {
    let found = &s.findings;
    let user = s.authenticate("deployer").await;
    let user_id = user.json()["token"]["user"]["id"].as_str().unwrap().to_owned();
    let wanted = json!({"application_credential": {"name": "satellite"}});
    let create = |token: String| {
        let url = format!("{}/users/{user_id}/application_credentials", s.keystone);
        Got::of(s.http.post(url).header("X-Auth-Token", token).json(&wanted))
    };
    let got = create(user.subject.clone()).await;
    let made = got.json()["application_credential"].clone();
    found.same("an application credential is made", &got.status, &201);
    let types = [("id", "string"), ("name", "string"), ("secret", "string"), ("expires_at", "null")];
    found.shape("an application credential", &made, &types);

    let (id, secret) = (made["id"].as_str().unwrap(), made["secret"].as_str().unwrap());
    let domain = json!({"name": "Default"});
    let owner = json!({"name": "deployer", "domain": domain});
    let project = json!({"project": {"name": "lab", "domain": domain}});
    for (what, named) in [
        ("by its id", json!({"id": id, "secret": secret})),
        ("by its name", json!({"name": "satellite", "user": owner, "secret": secret})),
    ] {
        let got = s.tokens(&body(&named, &Value::Null)).await;
        let mut token = got.json()["token"].clone();
        token["catalog"].take();
        found.answer(what, &got, &(got.status, got.subject.is_empty()), &(201, false));
        found.whole("openstack_token_of_application", &token);
        let got = create(got.subject.clone()).await;
        let words = "not allowed for managing additional application credentials";
        found.answer("an application makes no other", &got, &got.says(words), &(403, true));
        let got = s.tokens(&body(&named, &project)).await;
        let words = "Application credentials cannot request a scope.";
        found.answer("an application with a scope", &got, &got.says(words), &(401, true));
    }
    let unknown = "Could not find Application Credential: nosuch.";
    for (what, named, status, words) in [
        ("a wrong secret", json!({"id": id, "secret": "wrong"}), 401, "requires authentication"),
        ("an unknown id", json!({"id": "nosuch", "secret": secret}), 404, unknown),
        (
            "an unknown name",
            json!({"name": "nosuch", "user": owner, "secret": secret}),
            401,
            "requires authentication",
        ),
    ] {
        let got = s.tokens(&body(&named, &Value::Null)).await;
        found.answer(what, &got, &got.says(words), &(status, true));
    }
    let client = s.client_with(Credentials::Application {
        credential: ApplicationCredential::Id("nosuch".to_owned()),
        secret: secret.to_owned().into(),
    });
    let error = client.image(&s.image).await.unwrap_err();
    found.same("our client: an unknown application", &error.kind, &Kind::Forbidden(unknown.to_owned()));

    let user = User { name: "deployer".to_owned(), domain: "Default".to_owned() };
    for credential in [
        ApplicationCredential::Id(id.to_owned()),
        ApplicationCredential::Name { name: "satellite".to_owned(), user },
    ] {
        let with = |secret: &str| Credentials::Application {
            credential: credential.clone(),
            secret: secret.to_owned().into(),
        };
        let client = s.client_with(with(secret));
        let servers = client.servers_with_tag("nosuch").await.unwrap();
        let image = client.image(&s.image).await.unwrap().map(|i| i.id);
        found.same(
            "our client: an application",
            &(image.as_deref(), servers),
            &(Some(s.image.as_str()), vec![]),
        );
        let refused = s.client_with(with("wrong")).image(&s.image).await.unwrap_err();
        found.same("our client: a wrong secret", &refused.kind, &Kind::Unauthenticated);
    }
}

fn body(credential: &Value, scope: &Value) -> Value {
    let methods = ["application_credential"];
    let identity = json!({"methods": methods, "application_credential": credential});
    let mut auth = json!({"identity": identity});
    if !scope.is_null() {
        auth["scope"] = scope.clone();
    }
    json!({"auth": auth})
}
