//! Lists of servers: filters that are silently ignored, and pages.

use fakes::{Cloud, CloudOptions};
use serde_json::{Value, json};

use crate::{Client, create, nova, server};

/// Three servers, tagged `t-1` to `t-3`, on pages of two.
async fn start() -> (Cloud, Client, Vec<String>) {
    let cloud = Cloud::start(CloudOptions { page: 2, ..CloudOptions::default() }).await.unwrap();
    let client = nova(&cloud).await;
    let mut ids = Vec::new();
    for n in 1..=3 {
        let mut body = server(&cloud, &format!("node-{n}"));
        body["server"]["tags"] = json!([format!("t-{n}"), "all"]);
        body["server"]["name"] = json!(format!("gpu-{n}"));
        ids.push(create(&client, &body).await);
    }
    (cloud, client, ids)
}

fn ids(body: &Value) -> Vec<String> {
    body["servers"].as_array().unwrap().iter().map(|s| s["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_tag_finds_a_server_that_is_still_build() {
    let (_cloud, client, made) = start().await;
    let body = client.get("/servers/detail?tags=t-2").await.json();
    assert_eq!((ids(&body), &body["servers"][0]["status"]), (vec![made[1].clone()], &json!("BUILD")));
    assert_eq!(ids(&client.get("/servers/detail?tags=t-2,t-3").await.json()), Vec::<String>::new());
}

#[tokio::test]
async fn an_old_microversion_and_a_members_unknown_filter_return_everything() {
    let (_cloud, client, made) = start().await;
    let newest = vec![made[2].clone(), made[1].clone()];
    let old = client.clone().with("OpenStack-API-Version", "compute 2.25");
    assert_eq!(ids(&old.get("/servers/detail?tags=nope").await.json()), newest);
    assert_eq!(ids(&client.get("/servers/detail?metadata=%7B%22a%22%3A%22b%22%7D").await.json()), newest);
    assert_eq!(ids(&client.get("/servers?uuid=nope").await.json()), newest);
    let got = client.get("/servers?frob=1").await.nova();
    assert_eq!(got, (400, "'frob' does not match any of the regexes: '^_'".to_owned()));
}

#[tokio::test]
async fn a_full_last_page_has_a_next_one_that_is_empty() {
    let (cloud, client, made) = start().await;
    let first = client.get("/servers/detail?tags=all&limit=3").await.json();
    assert_eq!(ids(&first), [made[2].clone(), made[1].clone()]);
    let next = first["servers_links"][0]["href"].as_str().unwrap();
    assert_eq!(next, format!("{}/servers/detail?tags=all&limit=3&marker={}", cloud.nova_url(), made[1]));
    let second = client.get(next.strip_prefix(&cloud.nova_url()).unwrap()).await.json();
    assert_eq!((ids(&second), second.get("servers_links")), (vec![made[0].clone()], None));
    let full = client.get("/servers/detail?limit=1&tags=t-1").await.json();
    let next = full["servers_links"][0]["href"].as_str().unwrap();
    assert_eq!(
        ids(&client.get(next.strip_prefix(&cloud.nova_url()).unwrap()).await.json()),
        Vec::<String>::new()
    );
}

#[tokio::test]
async fn odd_limits_markers_names_and_tenants() {
    let (_cloud, client, made) = start().await;
    assert_eq!(ids(&client.get("/servers?limit=0").await.json()), Vec::<String>::new());
    let got = client.get("/servers?limit=-1").await.nova();
    assert!(got.1.ends_with("'-1' does not match '^[0-9]*$'"), "{}", got.1);
    let got = client.get("/servers?marker=nope").await.nova();
    assert_eq!(got, (400, "marker [nope] not found".to_owned()));
    assert_eq!(ids(&client.get("/servers?name=%5Egpu-1%24").await.json()), [made[0].clone()]);
    assert_eq!(ids(&client.get("/servers?name=pu-1").await.json()), [made[0].clone()]);
    let (status, message) = client.get("/servers/detail?all_tenants=1").await.nova();
    assert_eq!((status, message.contains("get_all_tenants")), (403, true));
}
