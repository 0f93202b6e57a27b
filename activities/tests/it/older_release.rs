//! SLURM 24.11: it keeps reasons on open nodes, and a single GET tells another node's partitions.

use activities::plan::Made;
use activities::resume::{Outcome, resume};
use activities::{Code, Failure};
use fakes::{NodeSeed, Release};
use model::NodeSource;
use serde_json::json;

use crate::adopt::{self, MARK, asked, state_of};
use crate::site::{Setup, Site, T, attempt, node, row, within_ceiling};

const RESUME: &str = "POST /slurm/v0.0.42/node/gpu-1 {\"state\":[\"RESUME\"]}";
const CLEAR: &str = "POST /slurm/v0.0.42/node/gpu-1 {\"extra\":\"\",\"reason\":\"fleet:opened\"}";

/// A site of 24.11. The first of its nodes is in no partition.
async fn site(setup: Setup, node: Option<NodeSeed>) -> Site {
    let first = NodeSeed { partitions: Vec::new(), ..NodeSeed::new("gpu-0") };
    let mut setup = setup.with_nodes([first].into_iter().chain(node));
    setup.slurm.release = Release::V24_11;
    Site::start(setup).await
}

async fn with_node(states: &[&str], reason: &str, extra: &str) -> Site {
    let node = NodeSeed { extra: extra.to_owned(), ..node("gpu-1", states, reason) };
    site(Setup::of(&["gpu-1"]), Some(node)).await
}

async fn run(site: &Site) -> Result<Outcome, Failure> {
    let asked = asked("r-2");
    within_ceiling(resume(&site.world(), &attempt(1, T), &asked)).await
}

#[tokio::test]
async fn a_reason_that_would_stay_gives_way_with_the_claim() {
    let site = with_node(&["IDLE", "DRAIN"], MARK, "fleet:r-1").await;
    assert!(matches!(run(&site).await.unwrap(), Outcome::Resumed(_)));
    assert_eq!(state_of(&site), ["IDLE", "fleet:opened", ""]);
    assert_eq!(site.written(), [RESUME, CLEAR]);
    site.conversation();
    assert!(matches!(run(&site).await.unwrap(), Outcome::AlreadyOpen(_)));
    assert_eq!(site.written(), Vec::<String>::new());
}

#[tokio::test]
async fn a_node_that_a_person_opened_loses_our_stale_words_and_keeps_theirs() {
    let ours = with_node(&["IDLE"], &format!("{MARK} : Not responding"), "").await;
    assert!(matches!(run(&ours).await.unwrap(), Outcome::AlreadyOpen(_)));
    assert_eq!(state_of(&ours), ["IDLE", "fleet:opened", ""]);
    let theirs = with_node(&["IDLE"], "bad DIMM A3 [alice]", "").await;
    assert!(matches!(run(&theirs).await.unwrap(), Outcome::AlreadyOpen(_)));
    assert_eq!(theirs.written(), Vec::<String>::new());
}

/// Without the neutral text the old mark would make it ours, and open it.
#[tokio::test]
async fn case_b13_a_node_that_a_person_closed_again_without_a_word_is_theirs() {
    let site = with_node(&["IDLE", "DRAIN"], MARK, "fleet:r-1").await;
    run(&site).await.unwrap();
    site.fakes.slurm.put(node("gpu-1", &["IDLE", "DRAIN"], "fleet:opened"));
    assert_eq!(run(&site).await.unwrap_err().code, Code::DrainNotOurs);
    assert_eq!(state_of(&site)[0], "IDLE+DRAIN");
}

#[tokio::test]
async fn a_static_node_is_adopted_though_a_single_get_says_that_it_is_in_no_partition() {
    let setup = Setup::of(&["gpu-1"]).with_static_nodes();
    let site = site(setup, Some(node("gpu-1", &["IDLE"], "fw2"))).await;
    let outcome = adopt::run(&site, 1).await.unwrap();
    assert_eq!(outcome.made, Some(Made::Created));
    assert_eq!(state_of(&site), ["IDLE+DRAIN", MARK, "fleet:r-1"]);
    assert_eq!(site.fakes.slurm.node("gpu-1").unwrap()["partitions"], json!(["main"]));
    assert!(matches!(run(&site).await.unwrap(), Outcome::Resumed(_)));
    assert_eq!(state_of(&site), ["IDLE", "fleet:opened", ""]);
}

#[tokio::test]
async fn a_node_that_registers_closed_is_adopted() {
    let site = site(Setup::of(&["gpu-1"]), None).await;
    assert_eq!(adopt::run(&site, 1).await.unwrap().made, Some(Made::Created));
    assert_eq!(state_of(&site), ["IDLE+DRAIN+DYNAMIC_NORM", MARK, "fleet:r-1"]);
    assert!(matches!(run(&site).await.unwrap(), Outcome::Resumed(_)));
    assert_eq!(state_of(&site), ["IDLE+DYNAMIC_NORM", "fleet:opened", ""]);
}

#[tokio::test]
async fn a_node_that_is_to_be_made_is_refused_before_nova_is_asked() {
    let row = Some(row(NodeSource::Created));
    let site = site(Setup { row, ..Setup::of(&["gpu-1"]) }, None).await;
    let failure = adopt::run(&site, 1).await.unwrap_err();
    assert_eq!((failure.code, failure.field.as_str()), (Code::ReleaseTooOld, "node_source"));
    assert_eq!(
        failure.message,
        "slurm create node: its release is too old: making nodes needs v0.0.44 or newer, as SLURM 26.05 serves; \
         this slurmrestd speaks v0.0.42"
    );
    assert_eq!(failure.remedy, "have HPC set node_source to `registers` or `static`, or upgrade SLURM");
    assert_eq!(site.written(), Vec::<String>::new());
}
