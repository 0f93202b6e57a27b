//! Keystone and Glance.

use fakes::{Cloud, CloudOptions};
use serde_json::json;

use crate::{Client, nova, password};

async fn start() -> Cloud {
    Cloud::start(CloudOptions::default()).await.unwrap()
}

#[tokio::test]
async fn a_token_and_a_catalog_for_a_password() {
    let cloud = start().await;
    let got = Client::new(&cloud.keystone_url()).post("/auth/tokens", &password("deployer")).await;
    assert_eq!((got.status, got.header("x-subject-token").is_empty()), (201, false));
    let catalog = got.json()["token"]["catalog"].clone();
    let public = |kind: &str| {
        let entry = catalog.as_array().unwrap().iter().find(|e| e["type"] == kind).unwrap();
        let public = entry["endpoints"].as_array().unwrap().iter().find(|e| e["interface"] == "public");
        public.unwrap()["url"].as_str().unwrap().to_owned()
    };
    assert_eq!((public("image"), public("compute")), (cloud.glance_url(), cloud.nova_url()));
}

#[tokio::test]
async fn wrong_password_user_and_project_look_the_same() {
    let cloud = start().await;
    let client = Client::new(&cloud.keystone_url());
    let mut user = password("deployer");
    user["auth"]["identity"]["password"]["user"]["name"] = json!("nobody");
    let mut project = password("deployer");
    project["auth"]["scope"]["project"]["name"] = json!("nope");
    let expected = json!({"error": {
        "code": 401, "message": "The request you have made requires authentication.", "title": "Unauthorized",
    }});
    for body in [password("nope"), user, project] {
        let got = client.post("/auth/tokens", &body).await;
        assert_eq!((got.status, got.json()), (401, expected.clone()));
        assert!(got.header("www-authenticate").starts_with("Keystone uri="));
    }
    assert_eq!(client.post("/auth/tokens", &json!({"auth": {}})).await.status, 400);
}

#[tokio::test]
async fn an_application_credential_opens_what_its_user_may_and_makes_no_others() {
    let cloud = start().await;
    let keystone = Client::new(&cloud.keystone_url());
    let got = keystone.post("/auth/tokens", &password("deployer")).await;
    let user = got.json()["token"]["user"]["id"].as_str().unwrap().to_owned();
    let as_user = keystone.clone().with("X-Auth-Token", got.header("x-subject-token"));
    let path = format!("/users/{user}/application_credentials");
    let wanted = json!({"application_credential": {"name": "satellite"}});
    let made = as_user.post(&path, &wanted).await;
    assert_eq!(made.status, 201);
    let made = made.json()["application_credential"].clone();
    let by = |credential: serde_json::Value| {
        let methods = ["application_credential"];
        json!({"auth": {"identity": {"methods": methods, "application_credential": credential}}})
    };
    let owner = json!({"name": "deployer", "domain": {"name": "Default"}});
    let by_id = by(json!({"id": made["id"], "secret": made["secret"]}));
    let by_name = by(json!({"name": "satellite", "user": owner, "secret": made["secret"]}));
    for body in [&by_id, &by_name] {
        let got = keystone.post("/auth/tokens", body).await;
        assert_eq!(got.status, 201);
        assert_eq!(got.json()["token"]["application_credential"]["name"], "satellite");
        let as_application = keystone.clone().with("X-Auth-Token", got.header("x-subject-token"));
        assert_eq!(as_application.post(&path, &wanted).await.status, 403);
        let nova = Client::new(&cloud.nova_url()).with("X-Auth-Token", got.header("x-subject-token"));
        assert_eq!(nova.get("/servers").await.status, 200);
    }
    let mut scoped = by_id.clone();
    scoped["auth"]["scope"] = json!({"project": {"name": "lab", "domain": {"name": "Default"}}});
    let wrong = by(json!({"id": made["id"], "secret": "nope"}));
    for (body, words) in [
        (scoped, "Application credentials cannot request a scope."),
        (wrong, "The request you have made requires authentication."),
    ] {
        let (status, said) = keystone.post("/auth/tokens", &body).await.nova();
        assert_eq!((status, said.ends_with(words)), (401, true), "{said}");
    }
    let unknown = keystone.post("/auth/tokens", &by(json!({"id": "nosuch", "secret": "x"}))).await;
    assert_eq!(unknown.nova(), (404, "Could not find Application Credential: nosuch.".to_owned()));
    assert!(!cloud.conversation().contains(made["secret"].as_str().unwrap()));
}

#[tokio::test]
async fn a_revoked_token_is_refused_and_so_is_an_old_one() {
    let cloud = Cloud::start(CloudOptions { token_ticks: Some(2), ..CloudOptions::default() }).await.unwrap();
    let client = nova(&cloud).await;
    cloud.tick();
    assert_eq!(client.get("/servers").await.status, 200);
    cloud.tick();
    let got = client.get("/servers").await;
    assert_eq!(got.nova(), (401, "The request you have made requires authentication.".to_owned()));
    let client = nova(&cloud).await;
    cloud.revoke_tokens();
    assert_eq!(client.get("/servers").await.status, 401);
}

#[tokio::test]
async fn a_call_revokes_a_token() {
    let cloud = start().await;
    let keystone = Client::new(&cloud.keystone_url());
    let got = keystone.post("/auth/tokens", &password("deployer")).await;
    let token = got.header("x-subject-token");
    let keystone = keystone.with("X-Auth-Token", token).with("X-Subject-Token", token);
    assert_eq!(keystone.delete("/auth/tokens").await.status, 204);
    assert_eq!(keystone.delete("/auth/tokens").await.status, 401);
}

#[tokio::test]
async fn images_by_id_and_by_name() {
    let cloud = start().await;
    let token = Client::new(&cloud.keystone_url()).post("/auth/tokens", &password("deployer")).await;
    let glance = Client::new(&cloud.glance_url()).with("X-Auth-Token", token.header("x-subject-token"));
    let id = cloud.image_id("slurm-node-a").unwrap();
    assert_eq!(glance.get(&format!("/v2/images/{id}")).await.json()["status"], "active");
    let queued = cloud.image_id("queued").unwrap();
    let queued = glance.get(&format!("/v2/images/{queued}")).await.json();
    assert_eq!((&queued["status"], &queued["size"]), (&json!("queued"), &json!(null)));
    let named = glance.get("/v2/images?name=slurm-node-a&status=active").await.json();
    assert_eq!((named["images"].as_array().unwrap().len(), &named["images"][0]["id"]), (1, &json!(id)));
    let missing = "34a7dede-74ef-4e4f-8f38-71b775df70cb";
    let got = glance.get(&format!("/v2/images/{missing}")).await;
    let expected = json!({
        "message": format!("No image found with ID {missing}<br /><br />\n\n\n"),
        "code": "404 Not Found",
        "title": "Not Found",
    });
    assert_eq!((got.status, got.json()), (404, expected));
}
