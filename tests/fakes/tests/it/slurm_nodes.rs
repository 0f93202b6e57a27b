//! Nodes: reading, changing, deleting.

use fakes::{Controller, JobSeed, NodeSeed, Registration, Release, SlurmOptions, Slurmrestd};
use serde_json::{Value, json};

use crate::slurm;

async fn with(seeds: Vec<NodeSeed>) -> Slurmrestd {
    Slurmrestd::start(SlurmOptions { nodes: seeds, ..SlurmOptions::default() }).await.unwrap()
}

async fn start() -> Slurmrestd {
    with(vec![NodeSeed::new("n1"), NodeSeed::new("n2").in_state(&["IDLE", "DRAIN"], "by hand")]).await
}

fn reason(fake: &Slurmrestd, node: &str) -> Value {
    fake.node(node).unwrap()["reason"].clone()
}

#[tokio::test]
async fn the_envelope_is_that_of_26_05_5() {
    let fake = start().await;
    let got = slurm(&fake, "root").get("/nodes").await;
    assert!(got.text.contains(r#""data_parser": "data_parser\/v0.0.45""#), "{}", got.text);
    let body = got.json();
    assert_eq!(
        (body["nodes"].as_array().unwrap().len(), &body["errors"], &body["warnings"]),
        (2, &json!([]), &json!([]))
    );
    assert_eq!(body["meta"]["slurm"]["release"], "26.05.5");
    assert_eq!(body["last_update"], json!({"set": true, "infinite": false, "number": 1_790_000_000}));
}

#[tokio::test]
async fn an_unknown_node_is_200_with_errors_and_without_nodes() {
    let fake = start().await;
    let got = slurm(&fake, "root").get("/node/nosuch").await;
    let expected = json!([{
        "description": "Failure to query node nosuch",
        "error_number": 0,
        "error": "No error",
        "source": "_dump_nodes",
    }]);
    assert_eq!((got.status, &got.json()["errors"], got.json().get("nodes")), (200, &expected, None));
}

#[tokio::test]
async fn an_unknown_query_is_a_warning_and_an_old_list_is_304() {
    let fake = start().await;
    let client = slurm(&fake, "root");
    let warnings = client.get("/nodes?bogus=1").await.json()["warnings"].clone();
    let text = "Ignoring unknown field \"bogus\" of type string in DATA_PARSER_OPENAPI_NODES_QUERY";
    assert_eq!(warnings, json!([{"description": text, "source": "#/bogus/"}]));
    let got = client.get("/nodes?update_time=1790000000").await;
    assert_eq!((got.status, got.text.as_str()), (304, ""));
    assert_eq!(client.get("/nodes?update_time=1").await.status, 200);
    assert_eq!(client.get("/nodes?update_time=abc").await.slurm(), (500, Some(9202)));
}

#[tokio::test]
async fn draining_twice_is_draining_once_and_an_empty_reason_is_ignored() {
    let fake = start().await;
    let client = slurm(&fake, "root");
    for _ in 0..2 {
        let got = client.post("/node/n1", &json!({"state": ["DRAIN"], "reason": "fleet: x"})).await;
        assert_eq!((got.status, &got.json()["errors"]), (200, &json!([])));
    }
    assert_eq!(client.post("/node/n1", &json!({"state": "DRAIN", "reason": ""})).await.status, 200);
    assert_eq!((fake.state("n1").as_str(), reason(&fake, "n1")), ("IDLE+DRAIN", json!("fleet: x")));
}

#[tokio::test]
async fn extra_is_set_and_cleared_by_an_empty_one() {
    let fake = start().await;
    let client = slurm(&fake, "root");
    client.post("/node/n1", &json!({"extra": "fleet:r-1", "comment": "c"})).await;
    assert_eq!(fake.node("n1").unwrap()["extra"], "fleet:r-1");
    client.post("/node/n1", &json!({"extra": ""})).await;
    assert_eq!(
        (fake.node("n1").unwrap()["extra"].clone(), fake.node("n1").unwrap()["comment"].clone()),
        (json!(""), json!("c"))
    );
}

#[tokio::test]
async fn resuming_an_idle_node_is_422_with_2180_and_closes() {
    let fake = start().await;
    let got = slurm(&fake, "root").post("/node/n1", &json!({"state": ["RESUME"]})).await;
    assert_eq!((got.slurm(), got.header("connection")), ((422, Some(2180)), "Close"));
    assert_eq!(got.json()["errors"][0]["description"], "Failure to update node n1");
}

#[tokio::test]
async fn a_resumed_node_does_not_respond_until_the_next_tick_and_has_no_reason() {
    let fake = start().await;
    assert_eq!(slurm(&fake, "root").post("/node/n2", &json!({"state": ["RESUME"]})).await.status, 200);
    assert_eq!((fake.state("n2").as_str(), reason(&fake, "n2")), ("IDLE+NOT_RESPONDING", json!("")));
    fake.tick();
    assert_eq!(fake.state("n2"), "IDLE");
}

#[tokio::test]
async fn undrain_is_no_error_on_an_open_node() {
    let fake = start().await;
    let client = slurm(&fake, "root");
    assert_eq!(client.post("/node/n1", &json!({"state": ["UNDRAIN"]})).await.status, 200);
    client.post("/node/n1", &json!({"state": ["DOWN"], "reason": "x"})).await;
    client.post("/node/n1", &json!({"state": ["UNDRAIN"]})).await;
    fake.tick();
    assert_eq!(fake.state("n1"), "DOWN");
}

#[tokio::test]
async fn a_failed_node_goes_back_to_idle() {
    let fake = start().await;
    let client = slurm(&fake, "root");
    client.post("/node/n1", &json!({"state": ["FAIL"], "reason": "fl"})).await;
    assert_eq!(fake.state("n1"), "IDLE+FAIL");
    assert_eq!(client.post("/node/n1", &json!({"state": ["IDLE"]})).await.status, 200);
    assert_eq!(fake.state("n1"), "IDLE");
}

#[tokio::test]
async fn two_states_are_refused_and_the_reason_is_changed_all_the_same() {
    let fake = start().await;
    let body = json!({"state": ["DRAIN", "RESUME"], "reason": "half"});
    assert_eq!(slurm(&fake, "root").post("/node/n2", &body).await.slurm(), (422, Some(2180)));
    assert_eq!((fake.state("n2").as_str(), reason(&fake, "n2")), ("IDLE+DRAIN", json!("half")));
}

#[tokio::test]
async fn an_unknown_key_is_a_warning_and_an_unknown_state_two_errors() {
    let fake = start().await;
    let client = slurm(&fake, "root");
    let got = client.post("/node/n1", &json!({"bogus": 1})).await;
    let text = "Ignoring unknown field \"bogus\" of type 64 bit integer in DATA_PARSER_UPDATE_NODE_MSG";
    assert_eq!(got.json()["warnings"], json!([{"description": text, "source": "#/bogus/"}]));
    let got = client.post("/node/n2", &json!({"state": ["BANANA"]})).await;
    let errors = json!([
        {"description": "Unknown flag \"BANANA\"", "error_number": 9207,
         "error": "Data parser unable to parse invalid flag", "source": "#/state[0]/"},
        {"description": "Failure to update node n2", "error_number": 2180,
         "error": "Invalid node state transition", "source": "_update_node"},
    ]);
    assert_eq!((got.status, &got.json()["errors"]), (500, &errors));
}

#[tokio::test]
async fn who_is_no_admin_reads_and_changes_nothing() {
    let fake = start().await;
    let client = slurm(&fake, "alice");
    assert_eq!(client.get("/nodes").await.status, 200);
    assert_eq!(client.post("/node/n1", &json!({"state": ["DRAIN"]})).await.slurm(), (422, Some(2010)));
    assert_eq!(client.delete("/node/n1").await.slurm(), (422, Some(2010)));
    assert_eq!(fake.state("n1"), "IDLE");
}

#[tokio::test]
async fn active_features_stay_within_the_configured_ones() {
    let fake = start().await;
    let client = slurm(&fake, "root");
    let of = |key: &str| fake.node("n1").unwrap()[key].clone();
    assert_eq!(client.post("/node/n1", &json!({"features": ["ib"]})).await.slurm(), (422, Some(2031)));
    let both = json!({"features": ["ib", "h100"], "features_act": ["ib"]});
    assert_eq!(client.post("/node/n1", &both).await.status, 200);
    assert_eq!((of("features"), of("active_features")), (json!(["ib", "h100"]), json!(["ib"])));
    assert_eq!(client.post("/node/n1", &json!({"features": []})).await.json()["warnings"], json!([]));
    let got = client.post("/node/n1", &json!({"features": "", "features_act": ""})).await;
    assert_eq!((got.status, got.json()["warnings"].as_array().unwrap().len()), (200, 2));
    assert_eq!((of("features"), of("active_features")), (json!([]), json!([])));
}

#[tokio::test]
async fn only_an_empty_dynamic_node_is_deleted() {
    let fake =
        with(vec![NodeSeed::new("n1"), NodeSeed::new("d1").in_state(&["IDLE", "DYNAMIC_NORM"], "")]).await;
    let client = slurm(&fake, "root");
    assert_eq!(client.delete("/node/n1").await.slurm(), (422, Some(2028)));
    assert_eq!(client.delete("/node/nosuch").await.slurm(), (422, Some(2018)));
    let job = fake.run(JobSeed::on(&["d1"]));
    assert_eq!(client.delete("/node/d1").await.slurm(), (422, Some(2016)));
    fake.finish(job, 0);
    fake.tick();
    assert_eq!(client.delete("/node/d1").await.status, 200);
    assert_eq!(client.delete("/node/d1").await.slurm(), (422, Some(2018)));
}

#[tokio::test]
async fn slurmctld_down_hung_and_just_started() {
    let fake = start().await;
    let client = slurm(&fake, "root");
    fake.controller(Controller::Down);
    assert_eq!(client.get("/nodes").await.slurm(), (502, Some(1800)));
    assert_eq!(client.get("/jobs").await.json()["jobs"], json!([]));
    let got = client.get("/ping").await;
    assert_eq!((got.status, got.json()["pings"][0]["responding"].clone()), (200, json!(false)));
    fake.controller(Controller::Hung);
    assert_eq!(client.get("/node/n1").await.slurm(), (504, Some(5004)));
    fake.controller(Controller::Restarting(2));
    assert_eq!((fake.state("n1").as_str(), fake.state("n2").as_str()), ("UNKNOWN", "UNKNOWN+DRAIN"));
    fake.tick();
    assert_eq!(fake.state("n1"), "UNKNOWN");
    fake.tick();
    assert_eq!((fake.state("n1").as_str(), reason(&fake, "n2")), ("IDLE", json!("by hand")));
}

#[tokio::test]
async fn a_partition_names_its_nodes_and_its_state() {
    let fake = start().await;
    fake.partition("main", "DOWN");
    let partition = slurm(&fake, "root").get("/partitions").await.json()["partitions"][0].clone();
    assert_eq!(
        (&partition["nodes"]["configured"], &partition["partition"]["state"]),
        (&json!("n1,n2"), &json!(["DOWN"]))
    );
}

#[tokio::test]
async fn a_silent_slurmd_is_not_responding_then_down_and_comes_back() {
    let fake = start().await;
    fake.stop_slurmd("n1");
    fake.tick();
    assert_eq!(fake.state("n1"), "IDLE");
    fake.tick();
    assert_eq!(fake.state("n1"), "IDLE+NOT_RESPONDING");
    fake.tick();
    fake.tick();
    assert_eq!(
        (fake.state("n1").as_str(), reason(&fake, "n1")),
        ("DOWN+NOT_RESPONDING", json!("Not responding"))
    );
    assert!(fake.register(&Registration { node: "n1".to_owned(), conf: None, gpus: None }));
    assert_eq!((fake.state("n1").as_str(), reason(&fake, "n1")), ("IDLE", json!("")));
}

#[tokio::test]
async fn the_first_definition_of_a_dynamic_node_wins() {
    let fake = start().await;
    let registration = |gpus: u32| Registration {
        node: "d1".to_owned(),
        conf: Some(format!("CPUs=8 Gres=gpu:h100:{gpus} Feature=dyn,h100")),
        gpus: None,
    };
    fake.register(&registration(2));
    let node = fake.node("d1").unwrap();
    assert_eq!(
        (fake.state("d1").as_str(), &node["partitions"], &node["cpus"]),
        ("IDLE+DYNAMIC_NORM", &json!(["main"]), &json!(8))
    );
    fake.register(&registration(1));
    assert_eq!(fake.state("d1"), "IDLE+DRAIN+INVALID_REG+DYNAMIC_NORM");
    assert_eq!(reason(&fake, "d1"), "gres/gpu count reported lower than configured (1 < 2)");
    let resume = json!({"state": ["RESUME"]});
    assert_eq!(slurm(&fake, "root").post("/node/d1", &resume).await.slurm(), (422, Some(2180)));
    fake.register(&registration(2));
    assert_eq!(fake.state("d1"), "IDLE+DRAIN+DYNAMIC_NORM");
}

#[tokio::test]
async fn a_node_that_is_taken_out_is_unknown() {
    let fake = with(vec![NodeSeed::new("n1"), NodeSeed::new("n2")]).await;
    fake.take_out("n1");
    let names = |list: Value| list["nodes"].as_array().unwrap().iter().map(|n| n["name"].clone()).collect();
    let nodes: Vec<Value> = names(slurm(&fake, "root").get("/nodes").await.json());
    assert_eq!((nodes, fake.state("n1").as_str()), (vec![json!("n2")], ""));
}

#[tokio::test]
async fn an_administrator_at_the_machine_drains_and_resumes_on_every_release() {
    for (release, left) in [(Release::V22_05, ""), (Release::V24_11, "disk"), (Release::V26_05, "")] {
        let options = SlurmOptions { release, nodes: vec![NodeSeed::new("n1")], ..SlurmOptions::default() };
        let fake = Slurmrestd::start(options).await.unwrap();
        assert!(fake.scontrol("n1", "DRAIN", "disk"));
        assert_eq!((fake.state("n1").as_str(), reason(&fake, "n1")), ("IDLE+DRAIN", json!("disk")));
        assert!(fake.scontrol("n1", "RESUME", ""));
        fake.tick();
        assert_eq!((fake.state("n1").as_str(), reason(&fake, "n1")), ("IDLE", json!(left)));
        assert!(!fake.scontrol("n1", "RESUME", ""));
        assert!(!fake.scontrol("nosuch", "DRAIN", "disk"));
    }
}
