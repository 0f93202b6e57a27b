//! 24.11.5 where it differs, and what 26.05.5 alone can do.

use fakes::{NodeSeed, Registration, Release, SlurmOptions, Slurmrestd};
use serde_json::{Value, json};

use crate::{Client, slurm, slurm_at};

async fn with(release: Release, nodes: Vec<NodeSeed>) -> Slurmrestd {
    Slurmrestd::start(SlurmOptions { release, nodes, ..SlurmOptions::default() }).await.unwrap()
}

/// n1 is open, n2 drained by hand, n3 open and in no partition.
async fn old() -> (Slurmrestd, Client) {
    let n2 = NodeSeed::new("n2").in_state(&["IDLE", "DRAIN"], "by hand");
    let n3 = NodeSeed { partitions: Vec::new(), ..NodeSeed::new("n3") };
    let fake = with(Release::V24_11, vec![NodeSeed::new("n1"), n2, n3]).await;
    let client = client(&fake, "root");
    (fake, client)
}

/// As this user, on v0.0.42.
fn client(fake: &Slurmrestd, user: &str) -> Client {
    slurm_at(fake, user, "slurm/v0.0.42")
}

fn reason(fake: &Slurmrestd, node: &str) -> Value {
    fake.node(node).unwrap()["reason"].clone()
}

#[tokio::test]
async fn the_older_release_serves_its_own_version_alone() {
    let (fake, client) = old().await;
    let got = client.get("/ping").await;
    let ping = got.json()["pings"][0].clone();
    assert_eq!((got.status, &ping["pinged"], &ping["responding"]), (200, &json!("UP"), &json!(true)));
    let meta = got.json()["meta"].clone();
    assert_eq!(meta["slurm"]["release"], "24.11.5");
    assert_eq!(meta["plugin"]["data_parser"], "data_parser/v0.0.42");
    let newer = slurm(&fake, "root").get("/ping").await;
    let said = "Unable find requested URL. Please view /openapi/v3 for API reference.";
    assert_eq!((newer.status, newer.text.as_str()), (404, said));
    for path in ["/new/node/", "/reservation"] {
        assert_ne!(client.post(path, &json!({"node_conf": "NodeName=c1 State=CLOUD"})).await.status, 200);
    }
    let got = client.post("/new/node/", &json!({"node_conf": "NodeName=c1 State=CLOUD"})).await;
    assert_eq!(got.status, 404);
}

#[tokio::test]
async fn what_slurmctld_refuses_is_http_500_and_has_fewer_numbers() {
    let (fake, client) = old().await;
    let resume = json!({"state": ["RESUME"]});
    assert_eq!(client.post("/node/n1", &resume).await.slurm(), (500, Some(2028)));
    assert_eq!(client.post("/node/nosuch", &resume).await.slurm(), (500, Some(2018)));
    assert_eq!(client.delete("/node/n1").await.slurm(), (500, Some(2028)));
    let alice = self::client(&fake, "alice");
    assert_eq!(alice.post("/node/n1", &resume).await.slurm(), (500, Some(2010)));
    assert_eq!(client.get("/node/nosuch").await.slurm(), (200, Some(0)));
    assert_eq!(client.get("/job/7").await.slurm(), (404, Some(2017)));
    assert_eq!(client.post("/job/submit", &json!({"job": {}})).await.slurm(), (422, Some(9000)));
    let bare = json!({"script": "#!/bin/sh", "job": {"current_working_directory": "/tmp"}});
    assert_eq!(client.post("/job/submit", &bare).await.slurm(), (500, Some(2019)));
    let garbage = self::client(&fake, "root").with("X-SLURM-USER-TOKEN", "garbage");
    assert_eq!(garbage.get("/nodes").await.slurm(), (511, Some(1007)));
}

#[tokio::test]
async fn a_single_get_tells_the_partitions_of_the_first_node() {
    let (_fake, client) = old().await;
    let one = client.get("/node/n3").await.json()["nodes"][0]["partitions"].clone();
    let list = client.get("/nodes").await.json()["nodes"][2]["partitions"].clone();
    assert_eq!((one, list), (json!(["main"]), json!([])));
    let partition = client.get("/partitions").await.json()["partitions"][0].clone();
    assert_eq!(partition["nodes"]["configured"], "n1,n2");
}

#[tokio::test]
async fn a_reason_stays_after_resume_and_grows_when_the_node_goes_away() {
    let (fake, client) = old().await;
    assert_eq!(client.post("/node/n2", &json!({"state": ["RESUME"]})).await.status, 200);
    fake.tick();
    assert_eq!((fake.state("n2").as_str(), reason(&fake, "n2")), ("IDLE", json!("by hand")));
    client.post("/node/n1", &json!({"reason": "on an open node"})).await;
    assert_eq!(reason(&fake, "n1"), "on an open node");
    for node in ["n2", "n3"] {
        fake.stop_slurmd(node);
    }
    (0..4).for_each(|_| fake.tick());
    assert_eq!(reason(&fake, "n2"), "by hand : Not responding");
    for node in ["n2", "n3"] {
        fake.register(&Registration { node: node.to_owned(), conf: None, gpus: None });
    }
    // ReturnToService=1 takes back only a node whose reason is this alone
    assert_eq!((fake.state("n2").as_str(), fake.state("n3").as_str()), ("DOWN", "IDLE"));
    assert_eq!(reason(&fake, "n3"), "Not responding");
}

#[tokio::test]
async fn a_list_since_a_time_fails_once_nodes_have_changed() {
    let (_fake, client) = old().await;
    assert_eq!(client.get("/nodes?update_time=1790000000").await.status, 304);
    let got = client.get("/nodes?update_time=1").await;
    assert_eq!(got.status, 500);
    assert_eq!(got.json()["errors"][0]["description"], "Unable to query partitions");
}

#[tokio::test]
async fn a_reason_on_an_open_node_of_26_05_is_ignored() {
    let fake = with(Release::V26_05, vec![NodeSeed::new("n1")]).await;
    let client = slurm(&fake, "root");
    assert_eq!(client.post("/node/n1", &json!({"reason": "x"})).await.status, 200);
    assert_eq!(reason(&fake, "n1"), "");
    client.post("/node/n1", &json!({"state": ["DRAIN"], "reason": "x"})).await;
    assert_eq!(reason(&fake, "n1"), "x");
}

#[tokio::test]
async fn a_node_is_made_drained_and_registers_closed_without_its_reason() {
    let fake = with(Release::V26_05, Vec::new()).await;
    let client = slurm(&fake, "root");
    let conf = "NodeName=c1 CPUs=8 RealMemory=16000 Gres=gpu:h100:4 Feature=dyn,h100 State=CLOUD";
    let made = client.post("/new/node/", &json!({"node_conf": conf})).await;
    assert_eq!((made.status, &made.json()["errors"]), (200, &json!([])));
    assert_eq!(fake.state("c1"), "IDLE+CLOUD+POWERED_DOWN+DYNAMIC_NORM");
    let node = fake.node("c1").unwrap();
    let seen = (&node["cpus"], &node["features"], &node["gres"], &node["partitions"]);
    let expected = (&json!(8), &json!(["dyn", "h100"]), &json!("gpu:h100:4"), &json!(["main"]));
    assert_eq!(seen, expected);
    assert_eq!(node["slurmd_start_time"]["number"], 0);

    let drain = json!({"state": ["DRAIN"], "reason": "fleet:x", "extra": "fleet:r-1"});
    client.post("/node/c1", &drain).await;
    assert_eq!(fake.state("c1"), "IDLE+CLOUD+DRAIN+POWERED_DOWN+DYNAMIC_NORM");
    assert_eq!(reason(&fake, "c1"), "fleet:x");
    fake.register(&Registration { node: "c1".to_owned(), conf: None, gpus: None });
    assert_eq!(fake.state("c1"), "IDLE+CLOUD+DRAIN+DYNAMIC_NORM");
    let node = fake.node("c1").unwrap();
    assert_eq!((&node["reason"], &node["extra"]), (&json!(""), &json!("fleet:r-1")));
    assert_eq!(client.delete("/node/c1").await.status, 200);
}

#[tokio::test]
async fn a_node_that_cannot_be_made() {
    let fake = with(Release::V26_05, vec![NodeSeed::new("n1")]).await;
    let root = slurm(&fake, "root");
    for (conf, status, number) in [
        ("NodeName=n1 State=CLOUD", 422, 2168),
        ("NodeName=c1 CPUs=4", 422, 2028),
        ("NodeName=c1 State=IDLE", 422, 2028),
        ("bogus", 500, -1),
        ("NodeName=c1 Bogus=1 State=CLOUD", 500, -1),
    ] {
        let got = root.post("/new/node/", &json!({"node_conf": conf})).await;
        assert_eq!(got.slurm(), (status, Some(number)), "{conf}");
    }
    assert_eq!(root.post("/new/node/", &json!({})).await.slurm(), (422, Some(9200)));
    let made = json!({"node_conf": "NodeName=c1 State=CLOUD"});
    assert_eq!(slurm(&fake, "alice").post("/new/node/", &made).await.slurm(), (422, Some(2010)));
    assert_eq!(fake.state("c1"), "");
}
