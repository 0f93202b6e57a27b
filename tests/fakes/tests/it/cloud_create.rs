//! `POST /servers`: what is taken, what is refused, in whose words.

use fakes::{Cloud, CloudOptions, Role};
use serde_json::{Value, json};

use crate::{Client, nova, server};

async fn start() -> (Cloud, Client) {
    let cloud = Cloud::start(CloudOptions::default()).await.unwrap();
    let client = nova(&cloud).await;
    (cloud, client)
}

/// The server with this changed, or without it.
fn with(cloud: &Cloud, key: &str, value: Option<Value>) -> Value {
    let mut body = server(cloud, "node-1");
    let fields = body["server"].as_object_mut().unwrap();
    match value {
        Some(value) => fields.insert(key.to_owned(), value),
        None => fields.remove(key),
    };
    body
}

#[tokio::test]
async fn the_answer_has_a_password_and_no_server() {
    let (cloud, client) = start().await;
    let got = client.post("/servers", &server(&cloud, "node-1")).await;
    let body = got.json();
    assert_eq!(got.status, 202);
    assert_eq!(got.header("location"), body["server"]["links"][0]["href"]);
    assert_eq!(got.header("openstack-api-version"), "compute 2.90");
    assert!(body["server"]["adminPass"].is_string());
    assert_eq!(body["server"].get("status"), None);
}

#[tokio::test]
async fn the_same_twice_makes_two() {
    let (cloud, client) = start().await;
    for _ in 0..2 {
        assert_eq!(client.post("/servers", &server(&cloud, "node-1")).await.status, 202);
    }
    assert_eq!(cloud.servers().len(), 2);
}

#[tokio::test]
async fn what_is_refused_with_400() {
    let (cloud, client) = start().await;
    let queued = cloud.image_id("queued").unwrap();
    let long = "A".repeat(65_536);
    for (key, value, ends) in [
        ("imageRef", None, "Missing imageRef attribute"),
        ("imageRef", Some(json!("")), "Missing imageRef attribute"),
        ("imageRef", Some(Value::Null), "None is not valid under any of the given schemas"),
        ("imageRef", Some(json!("nope")), "'nope' is not valid under any of the given schemas"),
        ("imageRef", Some(json!("c2f3eef3-a07b-4cb9-ae2d-6191e89f065c")), "Can not find requested image"),
        ("imageRef", Some(json!(queued)), "is not active."),
        ("flavorRef", None, "'flavorRef' is a required property"),
        ("flavorRef", Some(json!("nope")), "Flavor nope could not be found."),
        ("networks", None, "'networks' is a required property"),
        ("hypervisor_hostname", Some(json!("nope")), "Compute host nope could not be found."),
        ("hostname", Some(json!("under_score")), "'^[a-zA-Z0-9]+[a-zA-Z0-9-]*[a-zA-Z0-9]+$'"),
        ("name", Some(json!("")), "Invalid input for field/attribute name. Value: . '' is too short"),
        ("name", Some(json!("x".repeat(256))), "' is too long"),
        ("metadata", Some(json!({"k": 1})), "field/attribute k. Value: 1. 1 is not of type 'string'"),
        ("metadata", Some(json!({"k": "v".repeat(256)})), "' is too long"),
        ("tags", Some(json!(["a,b"])), "field/attribute 0. Value: a,b. 'a,b' does not match '^[^,/]*$'"),
        ("tags", Some(json!(["a".repeat(61)])), "' is too long"),
        ("tags", Some(json!(vec!["t"; 51])), "] is too long"),
        ("config_drive", Some(json!("maybe")), "'no']"),
        ("frob", Some(json!(1)), "Additional properties are not allowed ('frob' was unexpected)"),
        ("user_data", Some(Value::Null), "Value: None. None is not of type 'string'"),
        ("user_data", Some(json!("#cloud-config\n")), "'#cloud-config\\n' is not a 'base64'"),
        ("user_data", Some(json!("YWI")), "Value: YWI. 'YWI' is not a 'base64'"),
        ("user_data", Some(json!(long[..65_535])), "' is not a 'base64'"),
        ("user_data", Some(json!(long)), "' is too long"),
    ] {
        let (status, message) = client.post("/servers", &with(&cloud, key, value.clone())).await.nova();
        assert_eq!((status, message.ends_with(ends)), (400, true), "{key} {message:.300}");
    }
    assert_eq!(cloud.servers().len(), 0);
}

#[tokio::test]
async fn the_longest_user_data_is_taken_and_a_refusal_echoes_it_whole() {
    let (cloud, client) = start().await;
    let longest = "A".repeat(65_532);
    let got = client.post("/servers", &with(&cloud, "user_data", Some(json!(longest)))).await;
    assert_eq!(got.status, 202);
    let secret = "c2VjcmV0".repeat(1000) + "!YQ";
    let (_, message) = client.post("/servers", &with(&cloud, "user_data", Some(json!(secret)))).await.nova();
    assert!(message.contains(&secret));
}

#[tokio::test]
async fn an_old_microversion_does_not_know_a_property_and_a_new_one_is_406() {
    let (cloud, client) = start().await;
    let old = client.clone().with("OpenStack-API-Version", "compute 2.51");
    let body = json!({"server": {
        "name": "f", "imageRef": cloud.image_id("debian-13"), "flavorRef": "bm.small", "networks": "none", "tags": ["a"],
    }});
    let (status, message) = old.post("/servers", &body).await.nova();
    let ends = "Additional properties are not allowed ('tags' was unexpected)";
    assert_eq!((status, message.ends_with(ends)), (400, true), "{message}");
    let got = client.clone().with("OpenStack-API-Version", "compute 2.999").get("/servers").await;
    let message = "Version 2.999 is not supported by the API. Minimum is 2.1 and maximum is 2.100.";
    assert_eq!(got.json(), json!({"computeFault": {"code": 406, "message": message}}));
    let very_old = client.with("OpenStack-API-Version", "compute 2.36");
    let (_, message) = very_old.post("/servers", &with(&cloud, "networks", Some(json!("none")))).await.nova();
    assert!(message.contains("was unexpected"), "{message}");
}

#[tokio::test]
async fn policy_and_quota_are_both_403() {
    let cloud = Cloud::start(CloudOptions { instances: 1, ..CloudOptions::default() }).await.unwrap();
    let client = nova(&cloud).await;
    cloud.role(Role::Member);
    let (status, message) = client.post("/servers", &server(&cloud, "node-1")).await.nova();
    let rule = "compute:servers:create:requested_destination";
    assert_eq!((status, message), (403, format!("Policy doesn't allow {rule} to be performed.")));
    cloud.role(Role::Reader);
    let (_, message) = client.post("/servers", &with(&cloud, "hypervisor_hostname", None)).await.nova();
    assert_eq!(message, "Policy doesn't allow os_compute_api:servers:create to be performed.");
    cloud.role(Role::Deployer);
    assert_eq!(client.post("/servers", &server(&cloud, "node-1")).await.status, 202);
    let got = client.post("/servers", &server(&cloud, "node-2")).await.nova();
    let message = "Quota exceeded for instances: Requested 1, but already used 1 of 1 instances";
    assert_eq!(got, (403, message.to_owned()));
}

#[tokio::test]
async fn versions_are_shown_without_a_token_and_flavors_with_one() {
    let (cloud, client) = start().await;
    let got = Client::new(&cloud.nova_url()).get("/").await;
    assert_eq!((got.status, &got.json()["version"]["version"]), (200, &json!("2.100")));
    assert_eq!(client.get("/flavors/bm.small").await.json()["flavor"]["name"], "bm.small");
    let got = client.get("/flavors/nope").await.nova();
    assert_eq!(got, (404, "Flavor nope could not be found.".to_owned()));
    assert_eq!(client.get("/flavors/detail").await.json()["flavors"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn a_network_is_not_to_be_had() {
    let (cloud, client) = start().await;
    let (status, message) =
        client.post("/servers", &with(&cloud, "networks", Some(json!("auto")))).await.nova();
    assert_eq!((status, message.starts_with("Unexpected API Error.")), (500, true));
}
