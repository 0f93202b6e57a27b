//! slurmrestd 26.05.5: what is there, what is refused, and in which shapes.

use clients::Kind;
use clients::slurm::{NodeUpdate, SetState, Slurm, Token};
use model::NodeName;
use serde_json::{Value, json};

use crate::fake::{Fake, Reply};

/// A token that ends in 2096; its signature is nobody's.
pub(crate) const JWT: &str = "eyJhbGciOiJIUzI1NiJ9.eyJleHAiOjQwMDAwMDAwMDB9.c2ln";
pub(crate) const PING: &str = "GET /slurm/v0.0.45/ping";
pub(crate) const NODES: &str = "GET /slurm/v0.0.45/nodes";

pub(crate) fn name(text: &str) -> NodeName {
    NodeName::parse(text).unwrap()
}

/// A client of it, as root with this token.
pub(crate) fn client(fake: &Fake, token: &str) -> Slurm {
    let token = Token::in_environment("SLURM_JWT", token.to_owned().into());
    Slurm::new(fake.base.clone(), "root".to_owned(), token).unwrap()
}

/// A slurmrestd that serves this version alone, and a client of it.
pub(crate) async fn serving(version: &str) -> (Fake, Slurm) {
    let fake = Fake::start().await;
    fake.on(&format!("GET /slurm/{version}/ping"), [Reply::slurm("ping")]);
    let slurm = client(&fake, JWT);
    (fake, slurm)
}

/// A slurmrestd that serves v0.0.45, and a client of it.
pub(crate) async fn slurm() -> (Fake, Slurm) {
    serving("v0.0.45").await
}

#[tokio::test]
async fn the_version_is_probed_once() {
    let (fake, slurm) = slurm().await;
    fake.on(NODES, [Reply::slurm("nodes_v0.0.45")]);
    for _ in 0..3 {
        assert_eq!(slurm.nodes().await.unwrap().list.len(), 4);
    }
    assert_eq!((fake.asked(PING).len(), fake.asked(NODES).len()), (1, 3));
    slurm.forget_dialect();
    assert_eq!(slurm.dialect().await.unwrap().version, "v0.0.45");
    assert_eq!(fake.asked(PING).len(), 2);
}

#[tokio::test]
async fn both_headers_go_out_and_the_content_type_is_bare() {
    let (fake, slurm) = slurm().await;
    let call = "POST /slurm/v0.0.45/node/n2";
    fake.on(call, [Reply::slurm("update_drain_v0.0.45")]);
    let update = NodeUpdate {
        state: Some([SetState::Drain]),
        reason: Some("fleet:adopt r-1: ada: x".to_owned()),
        extra: Some(String::new()),
    };
    slurm.update_node(&name("n2"), &update).await.unwrap();
    let [asked] = fake.asked(call).try_into().unwrap();
    assert_eq!(asked.header("x-slurm-user-name"), Some("root"));
    assert_eq!(asked.header("x-slurm-user-token"), Some(JWT));
    assert_eq!(asked.header("content-type"), Some("application/json"));
    assert_eq!(asked.json(), json!({"state": ["DRAIN"], "reason": "fleet:adopt r-1: ada: x", "extra": ""}));
}

#[tokio::test]
async fn what_is_not_changed_is_not_sent() {
    let (fake, slurm) = slurm().await;
    let call = "POST /slurm/v0.0.45/node/n2";
    fake.on(call, [Reply::slurm("update_drain_v0.0.45")]);
    let update = NodeUpdate { state: Some([SetState::Resume]), ..NodeUpdate::default() };
    slurm.update_node(&name("n2"), &update).await.unwrap();
    assert_eq!(fake.asked(call)[0].json(), json!({"state": ["RESUME"]}));
}

#[tokio::test]
async fn case_b18_what_slurmctld_refuses_keeps_its_words() {
    let (fake, slurm) = slurm().await;
    let transition = "Failure to update node n2: Invalid node state transition";
    let banana = "Unknown flag \"BANANA\": Data parser unable to parse invalid flag";
    for (recording, status, kind) in [
        (
            "update_denied_v0.0.45",
            422,
            Kind::Forbidden("Failure to update node n2: Invalid user id".to_owned()),
        ),
        ("update_resume_idle_v0.0.45", 422, Kind::Rejected(transition.to_owned())),
        ("update_badstate_v0.0.45", 500, Kind::Rejected(format!("{banana}; {transition}"))),
    ] {
        fake.on("POST /slurm/v0.0.45/node/n2", [Reply::slurm(recording)]);
        let error = slurm.update_node(&name("n2"), &NodeUpdate::default()).await.unwrap_err();
        assert_eq!((error.kind.clone(), error.status), (kind, Some(status)), "{recording}");
        assert!(!error.is_unknown(), "{recording}");
    }
}

#[tokio::test]
async fn a_node_is_read_whole() {
    let (fake, slurm) = slurm().await;
    fake.on("GET /slurm/v0.0.45/node/n1", [Reply::slurm("node_v0.0.45")]);
    let node = slurm.node(&name("n1")).await.unwrap().unwrap();
    assert_eq!(node.tokens.to_string(), "IDLE");
    assert_eq!(node.features, ["rack1", "ib"]);
    assert_eq!(node.active_features, ["rack1", "ib"]);
    assert_eq!((node.gres.as_str(), node.reason.as_str(), node.extra.as_str()), ("gpu:h100:4", "", ""));
    assert_eq!(node.partitions, ["main", "burnin"]);
    let recorded = Reply::slurm("node_v0.0.45").body();
    let started = &recorded["nodes"][0]["slurmd_start_time"]["number"];
    assert_eq!(Some(node.slurmd_start_time), started.as_i64());
}

#[tokio::test]
async fn dynamic_and_invalid_nodes_are_read() {
    let (fake, slurm) = slurm().await;
    fake.on(
        "GET /slurm/v0.0.45/node/d1",
        [Reply::slurm("node_dynamic_norm"), Reply::slurm("node_invalid_reg")],
    );
    let dynamic = slurm.node(&name("d1")).await.unwrap().unwrap();
    assert_eq!(dynamic.tokens.to_string(), "DYNAMIC_NORM+IDLE");
    let invalid = slurm.node(&name("d1")).await.unwrap().unwrap();
    assert_eq!(invalid.tokens.to_string(), "DRAIN+DYNAMIC_NORM+IDLE+INVALID_REG");
    assert!(invalid.reason.starts_with("gres/gpu count reported lower"), "{}", invalid.reason);
}

#[tokio::test]
async fn bare_numbers_and_nulls_of_the_complex_flag_are_the_same_node() {
    let (fake, slurm) = slurm().await;
    let call = "GET /slurm/v0.0.45/node/n1";
    let mut complex = Reply::slurm("node_v0.0.45").body();
    let node = &mut complex["nodes"][0];
    node["slurmd_start_time"] = node["slurmd_start_time"]["number"].clone();
    node["reason"] = Value::Null;
    node["extra"] = Value::Null;
    node["features"] = json!("rack1,ib");
    fake.on(call, [Reply::slurm("node_v0.0.45"), Reply::json(200, &complex)]);
    let wrapped = slurm.node(&name("n1")).await.unwrap().unwrap();
    assert_eq!(slurm.node(&name("n1")).await.unwrap().unwrap(), wrapped);
    assert!(wrapped.slurmd_start_time > 1_796_000_000);
}

#[tokio::test]
async fn a_byte_that_is_not_utf8_does_not_spoil_the_list() {
    let (fake, slurm) = slurm().await;
    fake.on(NODES, [Reply::slurm("node_latin1_reason")]);
    let nodes = slurm.nodes().await.unwrap();
    assert_eq!((nodes.list.len(), nodes.unreadable), (1, 0));
    assert_eq!(nodes.list[0].reason, "caf\u{fffd}");
}

#[tokio::test]
async fn case_b05_one_odd_node_is_counted_and_spoils_nobody() {
    let (fake, slurm) = slurm().await;
    let mut body = Reply::slurm("nodes_v0.0.45").body();
    body["nodes"][1]["state"] = json!(7);
    fake.on(NODES, [Reply::json(200, &body)]);
    let nodes = slurm.nodes().await.unwrap();
    let names: Vec<&str> = nodes.list.iter().map(|n| n.name.as_str()).collect();
    assert_eq!((names, nodes.unreadable), (vec!["n1", "n3", "n4"], 1));
}

#[tokio::test]
async fn partitions_are_up_or_not() {
    let (fake, slurm) = slurm().await;
    let call = "GET /slurm/v0.0.45/partitions";
    fake.on(call, [Reply::slurm("partitions"), Reply::slurm("partition_down")]);
    let shown = |list: Vec<clients::slurm::Partition>| -> Vec<(String, bool)> {
        list.into_iter().map(|p| (p.name, p.up)).collect()
    };
    let all = shown(slurm.partitions().await.unwrap());
    assert_eq!(all, [("main".to_owned(), true), ("burnin".to_owned(), true)]);
    assert_eq!(shown(slurm.partitions().await.unwrap()), [("main".to_owned(), false)]);
}

#[tokio::test]
async fn the_one_running_job_of_many_holds_its_node() {
    let (fake, slurm) = slurm().await;
    fake.on("GET /slurm/v0.0.45/jobs", [Reply::slurm("jobs"), Reply::slurm("job_running")]);
    let jobs = slurm.jobs().await.unwrap();
    assert_eq!(jobs.len(), 47);
    let holding: Vec<i64> = jobs.iter().filter(|j| j.holds(&name("n1"))).map(|j| j.id).collect();
    assert_eq!(holding, [48]);
    assert!(!jobs.iter().any(|j| j.holds(&name("n2"))));
    assert!(slurm.jobs().await.unwrap()[0].holds(&name("n1")));
}

#[tokio::test]
async fn a_list_with_one_job_or_partition_that_cannot_be_read_is_an_error() {
    let (fake, slurm) = slurm().await;
    let mut jobs = Reply::slurm("job_running").body();
    jobs["jobs"][0]["nodes"] = json!("n[1");
    fake.on("GET /slurm/v0.0.45/jobs", [Reply::json(200, &jobs)]);
    assert_eq!(slurm.jobs().await.unwrap_err().kind, Kind::Malformed("job 47".to_owned()));
    let mut partitions = Reply::slurm("partitions").body();
    partitions["partitions"][1]["partition"]["state"] = json!(1);
    fake.on("GET /slurm/v0.0.45/partitions", [Reply::json(200, &partitions)]);
    assert_eq!(slurm.partitions().await.unwrap_err().kind, Kind::Malformed("partition burnin".to_owned()));
}
