//! Resume: opens what is ours.

use activities::resume::{Outcome, resume};
use activities::{Class, Code, Failure};
use fakes::{Answer, Fault, NodeSeed, Registration, Service};
use model::{DeviceId, NodeName};

use crate::adopt::{MARK, state_of};
use crate::site::{Setup, Site, T, attempt, node, within_ceiling};

const RESUME: &str = "POST /slurm/v0.0.45/node/gpu-1 {\"state\":[\"RESUME\"]}";
const CLEAR: &str = "POST /slurm/v0.0.45/node/gpu-1 {\"extra\":\"\"}";

/// A site whose one node is in this state.
pub(crate) async fn with_node(states: &[&str], reason: &str, extra: &str) -> Site {
    let node = NodeSeed { extra: extra.to_owned(), ..node("gpu-1", states, reason) };
    Site::start(Setup::of(&["gpu-1"]).with_nodes([node])).await
}

async fn run(site: &Site) -> Result<Outcome, Failure> {
    let device = DeviceId::parse("d-gpu-1").unwrap();
    within_ceiling(resume(&site.world(), &attempt(1, T), &device)).await
}

fn name() -> NodeName {
    NodeName::parse("gpu-1").unwrap()
}

#[tokio::test]
async fn case_b18_an_open_node_is_left_alone() {
    let site = with_node(&["IDLE"], "", "").await;
    assert_eq!(run(&site).await.unwrap(), Outcome::AlreadyOpen(name()));
    assert_eq!(site.written(), Vec::<String>::new());
}

#[tokio::test]
async fn the_conversation_of_a_resumption() {
    let site = with_node(&["IDLE", "DRAIN"], MARK, "fleet:r-1").await;
    run(&site).await.unwrap();
    insta::assert_snapshot!(site.conversation());
}

#[tokio::test]
async fn our_drain_is_opened_and_our_claim_cleared() {
    let site = with_node(&["IDLE", "DRAIN"], MARK, "fleet:r-1").await;
    assert_eq!(run(&site).await.unwrap(), Outcome::Resumed(name()));
    assert_eq!(state_of(&site), ["IDLE", "", ""]);
    assert_eq!(site.written(), [RESUME, CLEAR]);
}

#[tokio::test]
async fn resumed_twice_the_second_run_only_reads() {
    let site = with_node(&["IDLE", "DRAIN"], MARK, "fleet:r-1").await;
    run(&site).await.unwrap();
    site.conversation();
    assert_eq!(run(&site).await.unwrap(), Outcome::AlreadyOpen(name()));
    assert_eq!(site.written(), Vec::<String>::new());
}

#[tokio::test]
async fn a_node_that_does_not_respond_after_it_was_opened_is_waited_for() {
    let closed = NodeSeed { extra: "fleet:r-1".to_owned(), ..node("gpu-1", &["IDLE", "DRAIN"], MARK) };
    let mut setup = Setup::of(&["gpu-1"]).with_nodes([closed]);
    // its slurmd stops, and slurmctld will not notice
    (setup.slurm.unheard_ticks, setup.slurm.down_ticks) = (u64::MAX, u64::MAX);
    let site = Site::start(setup).await;
    site.fakes.slurm.stop_slurmd("gpu-1");
    let (world, device) = (site.world(), DeviceId::parse("d-gpu-1").unwrap());
    let started = jiff::Timestamp::from_second(T).unwrap();
    let (attempt, mut progress) = activities::Attempt::new(1, started, None, Default::default());
    let comes_back = async {
        let waits = |p: &activities::Progress| p.step == "wait_open" && p.waiting_for.contains("not respond");
        progress.wait_for(waits).await.unwrap();
        assert_eq!(state_of(&site)[1..], ["", "fleet:r-1"]);
        site.fakes.slurm.register(&Registration { node: "gpu-1".to_owned(), conf: None, gpus: None });
    };
    let both = async { tokio::join!(resume(&world, &attempt, &device), comes_back) };
    assert_eq!(within_ceiling(both).await.0.unwrap(), Outcome::Resumed(name()));
    assert_eq!(state_of(&site), ["IDLE", "", ""]);
}

#[tokio::test]
async fn case_b13_a_foreign_drain_is_refused_and_its_words_kept() {
    let site = with_node(&["IDLE", "DRAIN"], "bad DIMM A3 [alice]", "").await;
    let failure = run(&site).await.unwrap_err();
    assert_eq!((failure.code, failure.class), (Code::DrainNotOurs, Class::NeedsHuman));
    assert_eq!(failure.message, "gpu-1 is DRAIN+IDLE and not by us: bad DIMM A3 [alice]");
    assert_eq!(site.written(), Vec::<String>::new());
    assert_eq!(state_of(&site)[1], "bad DIMM A3 [alice]");
}

#[tokio::test]
async fn case_b21_our_claim_does_not_make_anothers_words_ours() {
    let site = with_node(&["IDLE", "DRAIN"], "ADMIN SHUTDOWN", "fleet:r-1").await;
    assert_eq!(run(&site).await.unwrap_err().code, Code::DrainNotOurs);
    assert_eq!(site.written(), Vec::<String>::new());
}

#[tokio::test]
async fn a_resume_whose_answer_is_lost_is_sent_once() {
    let site = with_node(&["IDLE", "DRAIN"], MARK, "").await;
    site.fakes.fault(Fault::on(Service::Slurmrestd, "POST", "*/node/gpu-1", Answer::DoneButLost));
    assert_eq!(run(&site).await.unwrap(), Outcome::Resumed(name()));
    assert_eq!(site.written(), [RESUME]);
    assert_eq!(state_of(&site)[0], "IDLE");
}

#[tokio::test]
async fn an_invalid_registration_is_not_opened() {
    let reason = "gres/gpu count reported lower than configured (0 < 4)";
    let site = with_node(&["IDLE", "DRAIN", "INVALID_REG"], reason, "fleet:r-1").await;
    let failure = run(&site).await.unwrap_err();
    assert_eq!(failure.code, Code::ConfigMismatch);
    assert!(failure.message.ends_with(reason), "{}", failure.message);
    assert_eq!(site.written(), Vec::<String>::new());
}

#[tokio::test]
async fn a_node_that_slurm_lacks_is_unknown() {
    let site = Site::start(Setup::of(&["gpu-1"])).await;
    assert_eq!(run(&site).await.unwrap_err().code, Code::NodeUnknown);
}
