//! The log, and every fault.

use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::post;
use fakes::{Answer, Cloud, CloudOptions, Fault, Request, Service, SlurmOptions, World};
use serde_json::json;

use crate::{Client, create, nova, server, slurm};

async fn start() -> (Cloud, Client) {
    let cloud = Cloud::start(CloudOptions::default()).await.unwrap();
    let client = nova(&cloud).await;
    cloud.forget();
    (cloud, client)
}

fn creates(answer: Answer) -> Fault {
    Fault::on(Service::Nova, "POST", "/v2.1/servers", answer)
}

/// Never reached by a test that passes.
async fn within_ceiling<T>(run: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), run).await.unwrap()
}

#[tokio::test]
async fn a_conversation_over_all_services_in_order_without_secrets() {
    let world = World::start(SlurmOptions::default(), CloudOptions::default()).await.unwrap();
    let client = nova(&world.cloud).await;
    let id = create(&client, &server(&world.cloud, "node-1")).await;
    client.get(&format!("/servers/{id}")).await;
    slurm(&world.slurm, "root").get("/nodes?update_time=5").await;
    let expected = "\
keystone POST /v3/auth/tokens {\"auth\":{\"identity\":{\"methods\":[\"password\"],\"password\":{\"user\":{\"domain\":{\"name\":\"Default\"},\"name\":\"deployer\",\"password\":\"<password>\"}}},\"scope\":{\"project\":{\"domain\":{\"name\":\"Default\"},\"name\":\"lab\"}}}} -> 201
nova POST /v2.1/servers {\"server\":{\"config_drive\":true,\"flavorRef\":\"bm.small\",\"hostname\":\"gpu-001\",\"hypervisor_hostname\":\"node-1\",\"imageRef\":\"<id-1>\",\"metadata\":{\"fleet_slurm_conf\":\"Gres=gpu:h100:4 Feature=dyn,h100 State=DRAIN Reason=fleet:registering\"},\"name\":\"gpu-001\",\"networks\":\"none\",\"tags\":[\"fleet.device.d-1\"],\"user_data\":\"<user_data>\"}} -> 202
nova GET /v2.1/servers/<id-2> -> 200
slurmrestd GET /slurm/v0.0.45/nodes?update_time=5 -> 200
";
    assert_eq!(world.conversation(), expected);
    assert_eq!(world.log().iter().map(|r| r.service).filter(|s| *s == Service::Nova).count(), 2);
    assert!(!format!("{:?}", world.log()).contains("I2Nsb3VkLWNvbmZpZwo="));
}

#[tokio::test]
async fn a_status_is_answered_and_nothing_is_done() {
    let (cloud, client) = start().await;
    cloud.fault(creates(Answer::Status { code: 503, body: json!("busy") }));
    let got = client.post("/servers", &server(&cloud, "node-1")).await;
    assert_eq!((got.status, got.text.as_str(), cloud.servers().len()), (503, "busy", 0));
    assert_eq!(cloud.faults_left(), 0);
}

#[tokio::test]
async fn a_status_is_answered_and_it_is_done() {
    let (cloud, client) = start().await;
    cloud.fault(creates(Answer::DoneButStatus { code: 503, body: json!({}) }));
    assert_eq!(client.post("/servers", &server(&cloud, "node-1")).await.status, 503);
    assert_eq!(cloud.servers().len(), 1);
}

#[tokio::test]
async fn an_answer_that_is_cut_or_lost_is_an_error_of_the_connection() {
    for (answer, made) in [(Answer::Cut, 1), (Answer::DoneButLost, 1), (Answer::Lost, 0)] {
        let (cloud, client) = start().await;
        cloud.fault(creates(answer.clone()));
        let error = client.try_send("POST", "/servers", Some(&server(&cloud, "node-1"))).await.unwrap_err();
        assert!(error.is_request() || error.is_body() || error.is_decode(), "{error:?}");
        assert_eq!(cloud.servers().len(), made, "{answer:?}");
        let status = if answer == Answer::Cut { Some(202) } else { None };
        assert_eq!(cloud.log()[0].status, status, "{answer:?}");
    }
}

#[tokio::test]
async fn a_hanging_request_is_done_once_it_is_released() {
    let (cloud, client) = start().await;
    cloud.fault(creates(Answer::Hang));
    let body = server(&cloud, "node-1");
    let hanging = tokio::spawn(async move { client.post("/servers", &body).await.status });
    within_ceiling(cloud.until_held()).await;
    assert_eq!((cloud.servers().len(), cloud.log()[0].status), (0, None));
    cloud.release();
    assert_eq!(within_ceiling(hanging).await.unwrap(), 202);
    assert_eq!(cloud.log()[0].status, Some(202));
}

#[tokio::test]
async fn a_delayed_request_waits_for_ticks() {
    let (cloud, client) = start().await;
    cloud.fault(creates(Answer::Delay(2)));
    let body = server(&cloud, "node-1");
    let delayed = tokio::spawn(async move { client.post("/servers", &body).await.status });
    within_ceiling(cloud.until_held()).await;
    cloud.tick();
    assert_eq!(cloud.log()[0].status, None);
    cloud.tick();
    assert_eq!(within_ceiling(delayed).await.unwrap(), 202);
}

#[tokio::test]
async fn one_byte_at_a_time_is_the_same_answer() {
    let (cloud, client) = start().await;
    cloud.fault(Fault::on(Service::Nova, "GET", "*", Answer::OneByte));
    let got = client.get("/flavors/bm.small").await;
    assert_eq!((got.status, &got.json()["flavor"]["name"]), (200, &json!("bm.small")));
}

#[tokio::test]
async fn the_nth_request_of_all_whatever_it_is() {
    let (cloud, client) = start().await;
    cloud.fault(Fault::at(2, Answer::Status { code: 500, body: json!({}) }));
    let mut seen = Vec::new();
    for path in ["/servers", "/flavors/detail", "/servers"] {
        seen.push(client.get(path).await.status);
    }
    assert_eq!(seen, [200, 500, 200]);
    let kept: Vec<Option<u16>> = cloud.log().iter().map(|r: &Request| r.status).collect();
    assert_eq!(kept, [Some(200), Some(500), Some(200)]);
}

#[tokio::test]
async fn an_answer_is_held_and_all_is_done() {
    let (cloud, client) = start().await;
    cloud.fault(creates(Answer::DoneButHeld));
    let body = server(&cloud, "node-1");
    let held = tokio::spawn(async move { client.post("/servers", &body).await.status });
    within_ceiling(cloud.until_held()).await;
    assert_eq!((cloud.servers().len(), cloud.log()[0].status), (1, None));
    cloud.release();
    assert_eq!(within_ceiling(held).await.unwrap(), 202);
}

#[tokio::test]
async fn a_service_of_the_tests_own_is_on_the_same_wire() {
    let world = World::start(SlurmOptions::default(), CloudOptions::default()).await.unwrap();
    let router = Router::new().route("/echo", post(async |body: String| (StatusCode::CREATED, body)));
    let beside = world.beside("hub", router).await.unwrap();
    let client = Client::new(beside.url());
    slurm(&world.slurm, "root").get("/ping").await;
    world.fault(Fault::at(2, Answer::DoneButLost));
    let got = client.post("/echo?a=b", &json!({"password": "x"})).await;
    assert_eq!((got.status, got.text.as_str()), (201, "{\"password\":\"x\"}"));
    client.try_send("GET", "/echo", None).await.unwrap_err();
    let expected = "\
slurmrestd GET /slurm/v0.0.45/ping -> 200
hub POST /echo?a=b {\"password\":\"<password>\"} -> 201
hub GET /echo -> nothing
";
    assert_eq!(world.conversation(), expected);
    assert_eq!(world.log()[1].service, Service::Beside("hub"));
}
