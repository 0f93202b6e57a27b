//! slurmrestd 22.05.8: other shapes, other errors, nothing to write but jobs.

use fakes::{
    Controller, End, JobSeed, NodeSeed, Registration, Release, ReservationSeed, SlurmOptions, Slurmrestd,
};
use serde_json::{Value, json};

use crate::{Client, slurm_at};

/// n1 is open, n2 drained, c1 powered down in a cloud; n3 is in no partition.
async fn start() -> (Slurmrestd, Client) {
    let nodes = vec![
        NodeSeed::new("n1"),
        NodeSeed::new("n2").in_state(&["IDLE", "DRAIN", "COMPLETING"], "by hand"),
        NodeSeed { partitions: Vec::new(), ..NodeSeed::new("n3") },
        NodeSeed::new("c1").in_state(&["IDLE", "CLOUD", "POWERED_DOWN"], ""),
    ];
    let options = SlurmOptions { release: Release::V22_05, nodes, ..SlurmOptions::default() };
    let fake = Slurmrestd::start(options).await.unwrap();
    let client = client(&fake, "root");
    (fake, client)
}

fn client(fake: &Slurmrestd, user: &str) -> Client {
    slurm_at(fake, user, "slurm/v0.0.38")
}

fn job(more: Value) -> Value {
    let mut job = json!({"name": "j", "environment": {"PATH": "/bin"}});
    job.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"script": "#!/bin/bash\n", "job": job})
}

#[tokio::test]
async fn nodes_are_words_and_bare_numbers() {
    let (_fake, client) = start().await;
    let body = client.get("/nodes").await.json();
    let keys: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["errors", "meta", "nodes"]);
    assert_eq!(body["meta"]["Slurm"]["release"], "22.05.8");
    let names: Vec<&Value> = body["nodes"].as_array().unwrap().iter().map(|n| &n["name"]).collect();
    // one that is powered down in a cloud is hidden
    assert_eq!(names, ["n1", "n2", "n3"]);
    let n2 = &body["nodes"][1];
    let seen = (&n2["state"], &n2["state_flags"], &n2["features"], &n2["slurmd_start_time"], &n2["reason"]);
    let flags = json!(["COMPLETING", "DRAIN"]);
    let expected = (&json!("idle"), &flags, &json!("rack1,ib"), &json!(1_790_000_000), &json!("by hand"));
    assert_eq!(seen, expected);
    assert_eq!(body["nodes"][0]["reason_set_by_user"], Value::Null);
}

#[tokio::test]
async fn one_node_tells_the_firsts_partitions_and_a_hidden_one_is_shown() {
    let (_fake, client) = start().await;
    assert_eq!(client.get("/node/n3").await.json()["nodes"][0]["partitions"], json!(["main"]));
    assert_eq!(client.get("/nodes").await.json()["nodes"][2]["partitions"], json!([]));
    let c1 = client.get("/node/c1").await.json();
    assert_eq!(c1["nodes"][0]["state_flags"], json!(["CLOUD", "POWERED_DOWN"]));
}

#[tokio::test]
async fn an_unknown_node_is_500_with_2018() {
    let (_fake, client) = start().await;
    let got = client.get("/node/nosuch").await;
    assert_eq!((got.status, got.header("connection")), (500, "Close"));
    let body = got.json();
    assert_eq!(body["errors"], json!([{"error": "Invalid node name specified", "errno": 2018}]));
    assert_eq!(body["nodes"], json!([]));
}

#[tokio::test]
async fn a_refused_token_looks_like_a_slurmctld_that_is_away() {
    let (fake, client) = start().await;
    let expected = (500, json!([{"error": "Unspecified error", "errno": -1}]), json!([]));
    let seen = |got: crate::Got| (got.status, got.json()["errors"].clone(), got.json()["nodes"].clone());
    let garbage = client.clone().with("X-SLURM-USER-TOKEN", "garbage");
    assert_eq!(seen(garbage.get("/nodes").await), expected);
    let got = garbage.post("/job/submit", &job(json!({}))).await;
    assert_eq!(got.slurm_old(), (500, Some(5005)));
    assert_eq!(garbage.get("/ping").await.slurm(), (500, Some(-1)));
    fake.controller(Controller::Down);
    assert_eq!(seen(client.get("/nodes").await), expected);
    assert_eq!(client.get("/jobs").await.slurm(), (500, Some(-1)));
    assert_eq!(client.get("/ping").await.slurm(), (500, Some(-1)));
    let got = client.post("/job/submit", &job(json!({}))).await;
    let expected =
        json!([{"error_code": 1800, "error": "Unable to contact slurm controller (connect failure)"}]);
    assert_eq!((got.status, &got.json()["errors"]), (500, &expected));
}

#[tokio::test]
async fn a_token_wants_its_users_name_and_no_bearer() {
    let (fake, _client) = start().await;
    let base = format!("{}/slurm/v0.0.38", fake.url());
    let nameless = Client::new(&base).with("X-SLURM-USER-TOKEN", &fake.token("root"));
    let bearer = Client::new(&base)
        .with("X-SLURM-USER-NAME", "root")
        .with("Authorization", &format!("Bearer {}", fake.token("root")));
    for client in [nameless, bearer] {
        let got = client.get("/nodes").await;
        assert_eq!((got.status, got.text.as_str()), (401, "Authentication failure"));
    }
}

#[tokio::test]
async fn no_node_can_be_written() {
    let (fake, client) = start().await;
    for method in ["POST", "DELETE", "PUT", "PATCH"] {
        let got = client.try_send(method, "/node/n1", Some(&json!({"state": "drain"}))).await.unwrap();
        assert_eq!((got.status, got.header("content-type")), (405, "text/plain"), "{method}");
    }
    assert_eq!(client.post("/reservation", &json!({})).await.status, 405);
    assert_eq!(fake.state("n1"), "IDLE");
    let newer = slurm_at(&fake, "root", "slurm/v0.0.42");
    assert_eq!(newer.get("/nodes").await.status, 404);
}

#[tokio::test]
async fn partitions_and_reservations() {
    let (fake, client) = start().await;
    let partition = client.get("/partitions").await.json()["partitions"][0].clone();
    let seen = (&partition["nodes"], &partition["state"], &partition["priority_tier"], &partition["flags"]);
    assert_eq!(seen, (&json!("n1,n2,c1"), &json!("UP"), &json!(1), &json!(["default"])));
    fake.reserve(ReservationSeed::new("burn", "bob", &["n1"]));
    let reservation = client.get("/reservations").await.json()["reservations"][0].clone();
    let seen = (&reservation["node_list"], &reservation["users"], &reservation["start_time"]);
    assert_eq!(seen, (&json!("n1"), &json!("bob"), &json!(0)));
    assert_eq!(client.get("/reservation/burn").await.json()["reservations"][0]["name"], "burn");
    assert_eq!(client.get("/reservation/nosuch").await.slurm_old(), (500, Some(2053)));
}

#[tokio::test]
async fn a_job_and_its_end() {
    let (fake, client) = start().await;
    let pinned =
        json!({"nodelist": "n1", "no_requeue": true, "time_limit": "00:05:00", "exclusive": "exclusive"});
    let got = client.post("/job/submit", &job(pinned)).await;
    let body = got.json();
    assert_eq!((got.status, &body["job_id"], &body["step_id"]), (200, &json!(1), &json!("BATCH")));
    fake.tick();
    let shown = client.get("/job/1").await.json()["jobs"][0].clone();
    let seen =
        (&shown["job_state"], &shown["nodes"], &shown["time_limit"], &shown["exit_code"], &shown["requeue"]);
    assert_eq!(seen, (&json!("RUNNING"), &json!("n1"), &json!(5), &json!(0), &json!(false)));
    fake.finish(1, 7);
    assert_eq!(fake.job(1).unwrap()["job_state"], "COMPLETING");
    fake.tick();
    let shown = client.get("/jobs").await.json()["jobs"][0].clone();
    assert_eq!((&shown["job_state"], &shown["exit_code"]), (&json!("FAILED"), &json!(1792)));
    let killed = fake.run(JobSeed::on(&["n1"]));
    fake.end(killed, End::Killed(9));
    let shown = fake.job(killed).unwrap();
    assert_eq!((&shown["exit_code"], &shown["state_reason"]), (&json!(9), &json!("JobLaunchFailure")));
    assert_eq!(client.get("/job/999999").await.slurm(), (500, Some(2017)));
}

#[tokio::test]
async fn what_submit_refuses() {
    let (_fake, client) = start().await;
    let bare = json!({"script": "#!/bin/bash\n", "job": {"name": "j"}});
    for (body, status, number) in [
        (json!({"job": {"environment": {"A": "b"}}}), 500, Some(2009)),
        (bare, 400, Some(2127)),
        (job(json!({"bogus": 1})), 400, None),
        (job(json!({"required_nodes": ["n1"]})), 400, Some(1)),
        (job(json!({"partition": "nope"})), 500, Some(2000)),
        (job(json!({"nodelist": "nope"})), 500, Some(2018)),
        (job(json!({"reservation": "nope"})), 500, Some(2053)),
    ] {
        assert_eq!(client.post("/job/submit", &body).await.slurm_old(), (status, number), "{body}");
    }
    let errors = client.post("/job/submit", &job(json!({"bogus": 1}))).await.json()["errors"].clone();
    let expected = json!([
        {"description": "Unknown key \"bogus\"", "source": "hsearch_r"},
        {"error_code": 9001, "error": "Failure during parsing"},
    ]);
    assert_eq!(errors, expected);
}

#[tokio::test]
async fn a_job_that_cannot_start_is_taken_and_told_among_the_errors() {
    let (fake, client) = start().await;
    let got = client.post("/job/submit", &job(json!({"nodelist": "n2"}))).await;
    let text = "Required node not available (down, drained or reserved)";
    let expected = json!([{"error_code": 2068, "error": text}]);
    assert_eq!((got.status, &got.json()["errors"], &got.json()["job_id"]), (200, &expected, &json!(1)));
    let text = "ReqNodeNotAvail, UnavailableNodes:n2";
    for _ in 0..2 {
        let job = fake.job(1).unwrap();
        let seen = (&job["job_state"], &job["state_reason"], &job["state_description"]);
        assert_eq!(seen, (&json!("PENDING"), &json!("ReqNodeNotAvail"), &json!(text)));
        fake.tick();
    }
    let got = client.post("/job/submit", &job(json!({"hold": true}))).await;
    assert_eq!(got.slurm_old(), (200, Some(2042)));
}

#[tokio::test]
async fn a_job_is_changed_as_later() {
    let (fake, root) = start().await;
    let id = fake.submit(JobSeed::on(&["n2"]));
    let path = format!("/job/{id}");
    let alice = client(&fake, "alice");
    assert_eq!(root.post(&path, &json!({"priority": 4_294_967_290_i64})).await.json()["errors"], json!([]));
    assert_eq!(alice.post(&path, &json!({"priority": 4_294_967_293_i64})).await.slurm(), (500, Some(2002)));
    assert_eq!(alice.post(&path, &json!({"priority": 7})).await.slurm(), (500, Some(2095)));
    assert_eq!(fake.job(id).unwrap()["priority"], 7);
    assert_eq!(client(&fake, "bob").post(&path, &json!({"priority": 7})).await.slurm(), (500, Some(2010)));
    assert_eq!(root.post("/job/999999", &json!({"priority": 7})).await.slurm(), (500, Some(2017)));
    let got = root.post(&path, &json!({"bogus": 1})).await;
    assert_eq!((got.status, &got.json()["errors"][1]["error_number"]), (200, &json!(9001)));
}

#[tokio::test]
async fn a_cancel_by_another_is_refused_and_hangs_nothing() {
    let (fake, client) = start().await;
    let id = fake.run(JobSeed::on(&["n1"]));
    let path = format!("/job/{id}");
    let got = self::client(&fake, "bob").delete(&path).await;
    assert_eq!(got.slurm(), (500, Some(2002)));
    assert_eq!(
        got.json()["errors"][0]["description"],
        format!("unable to kill JobId={id} with signal 9: Access/permission denied")
    );
    for _ in 0..2 {
        assert_eq!(client.delete(&path).await.status, 200);
    }
    assert_eq!(client.delete("/job/999999").await.slurm(), (500, Some(2017)));
    fake.tick();
    let shown = fake.job(id).unwrap();
    assert_eq!((&shown["job_state"], &shown["exit_code"]), (&json!("CANCELLED"), &json!(15)));
}

#[tokio::test]
async fn a_node_that_registers_closed_has_no_reason() {
    let (fake, _client) = start().await;
    let conf = Some("Feature=dyn State=DRAIN Reason=fleet:registering".to_owned());
    fake.register(&Registration { node: "d1".to_owned(), conf, gpus: None });
    assert_eq!(
        (fake.state("d1").as_str(), &fake.node("d1").unwrap()["reason"]),
        ("IDLE+DRAIN+DYNAMIC_NORM", &json!(""))
    );
}

#[tokio::test]
async fn a_list_since_a_time() {
    let (fake, client) = start().await;
    assert_eq!(client.get("/nodes?update_time=1790000000").await.status, 304);
    fake.tick();
    assert_eq!(client.get("/nodes?update_time=1790000000").await.slurm_old(), (500, Some(-1)));
    assert_eq!(client.get("/nodes?update_time=0").await.status, 200);
    assert_eq!(client.get("/nodes?update_time=abc").await.status, 400);
}
