//! Adoption makes one server, whatever is lost, and cleans up only what never ran.

use activities::{Class, Code};
use clients::openstack::{Networks, NewServer};
use fakes::{Answer, Behaviour, Build, Fault, Service};
use serde_json::{Value, json};

use crate::adopt::{MARK, registers_closed, run, run_as, servers, state_of, with_machine};
use crate::site::{Site, T, attempt, row};

fn creation(answer: Answer) -> Fault {
    Fault::on(Service::Nova, "POST", "/v2.1/servers", answer)
}

/// An earlier request's server, which Nova could not place.
async fn left_unplaced() -> Site {
    let site = with_machine(Behaviour { build: Build::NoValidHost, ..Behaviour::default() }).await;
    run_as(&site, attempt(1, T), "r-0").await.unwrap_err();
    site.fakes.cloud.behave("gpu-1.rack", &Behaviour::default());
    site.conversation();
    site
}

#[tokio::test]
async fn case_b36_a_create_answered_503_and_done_makes_one_server() {
    let site = registers_closed().await;
    site.fakes.fault(creation(Answer::DoneButStatus { code: 503, body: Value::Null }));
    run(&site, 1).await.unwrap();
    assert_eq!((site.count("POST", "/servers"), servers(&site).len()), (1, 1));
}

#[tokio::test]
async fn case_b36_a_create_whose_answer_is_lost_makes_one_server() {
    for answer in [Answer::DoneButLost, Answer::Cut] {
        let site = registers_closed().await;
        site.fakes.fault(creation(answer));
        run(&site, 1).await.unwrap();
        assert_eq!((site.count("POST", "/servers"), servers(&site).len()), (1, 1));
    }
}

#[tokio::test]
async fn a_later_attempt_joins_the_server_of_one_that_died() {
    let site = registers_closed().await;
    // it dies where the hub is told of the server
    let refused = Answer::Status { code: 400, body: Value::Null };
    site.fakes.fault(Fault::on(Service::Beside("hub"), "PATCH", "*/d-gpu-1", refused));
    let died = run(&site, 1).await.unwrap_err();
    assert_eq!((died.code, died.step), (Code::HubRefused, "record_server"));
    let outcome = run(&site, 2).await.unwrap();
    assert!(outcome.created);
    assert_eq!(site.count("POST", "/servers"), 1);
    assert_eq!(state_of(&site)[1], MARK);
}

#[tokio::test]
async fn what_an_earlier_request_left_unplaced_goes_before_the_new_server() {
    let site = left_unplaced().await;
    let old = servers(&site);
    run(&site, 1).await.unwrap();
    let writes: Vec<String> =
        site.writes().iter().take(2).map(|r| format!("{} {}", r.method, r.path)).collect();
    assert_eq!(writes, [format!("DELETE /v2.1/servers/{}", old[0]), "POST /v2.1/servers".to_owned()]);
    assert_eq!(servers(&site).len(), 1);
    assert_ne!(servers(&site), old);
}

#[tokio::test]
async fn a_leftover_that_somebody_locked_is_left_to_people() {
    let site = left_unplaced().await;
    let message = format!("Instance {} is locked", servers(&site)[0]);
    let body = json!({"conflictingRequest": {"code": 409, "message": message}});
    let locked = Answer::Status { code: 409, body };
    site.fakes.fault(Fault::on(Service::Nova, "DELETE", "*", locked));
    let failure = run(&site, 1).await.unwrap_err();
    assert_eq!(
        (failure.code, failure.class, failure.step),
        (Code::Locked, Class::NeedsHuman, "delete_leftover")
    );
    assert_eq!((site.writes().len(), servers(&site).len()), (1, 1));
}

#[tokio::test]
async fn case_b36_a_failed_twin_of_this_request_is_deleted_and_the_good_one_kept() {
    let site = registers_closed().await;
    run(&site, 1).await.unwrap();
    let good = servers(&site);
    let row = row(model::NodeSource::Registers);
    let twin = NewServer {
        name: "gpu-1".to_owned(),
        image: row.image.unwrap(),
        flavor: row.flavor.unwrap(),
        machine: Some("gpu-1.rack".to_owned()),
        user_data: None,
        networks: Networks::None,
        config_drive: false,
        metadata: [("fleet_request".to_owned(), "r-1".to_owned())].into(),
        tag: "fleet.device.d-gpu-1".to_owned(),
    };
    site.world().openstack.create_server(&twin).await.unwrap();
    site.fakes.tick();
    let statuses: Vec<Value> = site.fakes.cloud.servers().iter().map(|s| s["status"].clone()).collect();
    assert_eq!(statuses, [json!("ACTIVE"), json!("ERROR")]);
    site.conversation();
    run(&site, 2).await.unwrap();
    assert_eq!(servers(&site), good);
    assert_eq!(site.count("POST", "/servers"), 0);
}
