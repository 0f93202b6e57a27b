//! Resume: opens what is ours.

use activities::resume::{Outcome, resume};
use activities::{Class, Code, Failure};
use model::{DeviceId, NodeName};
use serde_json::{Value, json};

use crate::site::{Answer, Fault, Site, attempt, within_ceiling};

const OURS: &str = "fleet:adopt r-1: ada: new rack";

async fn site(states: &[&str], reason: &str, extra: &str) -> Site {
    let site = Site::start().await;
    {
        let mut state = site.state();
        state.hub.with_devices(&["gpu-1"]);
        state.slurm.put("gpu-1", states, reason);
        state.slurm.nodes.get_mut("gpu-1").unwrap()["extra"] = json!(extra);
    }
    site
}

async fn run(site: &Site) -> Result<Outcome, Failure> {
    let device = DeviceId::parse("d-gpu-1").unwrap();
    within_ceiling(resume(&site.world(), &attempt(1, 1_790_000_100), &device)).await
}

fn name() -> NodeName {
    NodeName::parse("gpu-1").unwrap()
}

fn node(site: &Site) -> Value {
    site.state().slurm.nodes["gpu-1"].clone()
}

fn posts(site: &Site) -> Vec<String> {
    site.writes().iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn case_b18_an_open_node_is_left_alone() {
    let site = site(&["IDLE"], "", "").await;
    assert_eq!(run(&site).await.unwrap(), Outcome::AlreadyOpen(name()));
    assert_eq!(posts(&site), Vec::<String>::new());
}

#[tokio::test]
async fn the_conversation_of_a_resumption() {
    let site = site(&["IDLE", "DRAIN"], OURS, "fleet:r-1").await;
    run(&site).await.unwrap();
    insta::assert_snapshot!(site.conversation());
}

#[tokio::test]
async fn our_drain_is_opened_and_our_claim_cleared() {
    let site = site(&["IDLE", "DRAIN"], OURS, "fleet:r-1").await;
    assert_eq!(run(&site).await.unwrap(), Outcome::Resumed(name()));
    let node = node(&site);
    assert_eq!((&node["state"], &node["extra"]), (&json!(["IDLE"]), &json!("")));
    assert_eq!(
        posts(&site),
        [
            "POST /slurm/v0.0.45/node/gpu-1 {\"state\":[\"RESUME\"]}",
            "POST /slurm/v0.0.45/node/gpu-1 {\"extra\":\"\"}",
        ]
    );
}

#[tokio::test]
async fn resumed_twice_the_second_run_only_reads() {
    let site = site(&["IDLE", "DRAIN"], OURS, "fleet:r-1").await;
    run(&site).await.unwrap();
    site.conversation();
    assert_eq!(run(&site).await.unwrap(), Outcome::AlreadyOpen(name()));
    assert_eq!(posts(&site), Vec::<String>::new());
}

#[tokio::test]
async fn case_b13_a_foreign_drain_is_refused_and_its_words_kept() {
    let site = site(&["IDLE", "DRAIN"], "bad DIMM A3 [alice]", "").await;
    let failure = run(&site).await.unwrap_err();
    assert_eq!((failure.code, failure.class), (Code::DrainNotOurs, Class::NeedsHuman));
    assert_eq!(failure.message, "gpu-1 is DRAIN+IDLE and not by us: bad DIMM A3 [alice]");
    assert_eq!(posts(&site), Vec::<String>::new());
    assert_eq!(node(&site)["reason"], "bad DIMM A3 [alice]");
}

#[tokio::test]
async fn case_b21_our_claim_does_not_make_anothers_words_ours() {
    let site = site(&["IDLE", "DRAIN"], "ADMIN SHUTDOWN", "fleet:r-1").await;
    assert_eq!(run(&site).await.unwrap_err().code, Code::DrainNotOurs);
    assert_eq!(posts(&site), Vec::<String>::new());
}

#[tokio::test]
async fn a_resume_whose_answer_is_lost_is_sent_once() {
    let site = site(&["IDLE", "DRAIN"], OURS, "").await;
    site.state().faults.push(Fault { method: "POST", path: "/node/gpu-1", answer: Answer::Lost });
    assert_eq!(run(&site).await.unwrap(), Outcome::Resumed(name()));
    assert_eq!(posts(&site), ["POST /slurm/v0.0.45/node/gpu-1 {\"state\":[\"RESUME\"]}"]);
    assert_eq!(node(&site)["state"], json!(["IDLE"]));
}

#[tokio::test]
async fn an_invalid_registration_is_not_opened() {
    let reason = "gres/gpu count reported lower than configured (0 < 4)";
    let site = site(&["IDLE", "DRAIN", "INVALID_REG"], reason, "fleet:r-1").await;
    let failure = run(&site).await.unwrap_err();
    assert_eq!(failure.code, Code::ConfigMismatch);
    assert!(failure.message.ends_with(reason), "{}", failure.message);
    assert_eq!(posts(&site), Vec::<String>::new());
}

#[tokio::test]
async fn a_node_that_slurm_lacks_is_unknown() {
    let site = site(&["IDLE"], "", "").await;
    site.state().slurm.nodes.clear();
    assert_eq!(run(&site).await.unwrap_err().code, Code::NodeUnknown);
}
