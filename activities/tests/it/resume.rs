//! Resume: opens what is ours.

use activities::resume::{Outcome, resume};
use activities::{Class, Code, Failure};
use fakes::{Answer, Fault, NodeSeed, Registration, Service};
use model::NodeName;
use serde_json::json;

use crate::adopt::{MARK, asked, state_of};
use crate::site::{Setup, Site, T, attempt, node, within_ceiling};

const RESUME: &str = "POST /slurm/v0.0.45/node/gpu-1 {\"state\":[\"RESUME\"]}";
const CLEAR: &str = "POST /slurm/v0.0.45/node/gpu-1 {\"extra\":\"\"}";

/// A site whose one node is in this state.
pub(crate) async fn with_node(states: &[&str], reason: &str, extra: &str) -> Site {
    let node = NodeSeed { extra: extra.to_owned(), ..node("gpu-1", states, reason) };
    Site::start(Setup::of(&["gpu-1"]).with_nodes([node])).await
}

async fn run(site: &Site) -> Result<Outcome, Failure> {
    let asked = asked("r-2");
    within_ceiling(resume(&site.world(), &attempt(1, T), &asked)).await
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
async fn case_b18_a_node_that_is_powered_down_is_not_closed_and_not_resumed() {
    let site = with_node(&["IDLE", "CLOUD", "POWERED_DOWN"], "", "").await;
    let failure = run(&site).await.unwrap_err();
    assert_eq!((failure.code, failure.class), (Code::RequestConflict, Class::NeedsHuman));
    assert_eq!(failure.message, "gpu-1 is CLOUD+IDLE+POWERED_DOWN: powered down, not closed");
    assert_eq!(site.written(), Vec::<String>::new());
}

#[tokio::test]
async fn case_b18_a_transition_that_slurmctld_refuses_is_given_up_soon() {
    let site = with_node(&["IDLE", "DRAIN"], MARK, "fleet:r-1").await;
    let refused = serde_json::json!({"errors": [{"description": "Failure to update node gpu-1", "error_number": 2028,
        "error": "Invalid node state specified", "source": "_update_node"}], "warnings": []});
    for _ in 0..4 {
        let answer = Answer::Status { code: 500, body: refused.clone() };
        site.fakes.fault(Fault::on(Service::Slurmrestd, "POST", "*/node/gpu-1", answer));
    }
    let failure = run(&site).await.unwrap_err();
    assert_eq!((failure.code, failure.class), (Code::SlurmRefused, Class::NeedsHuman), "{failure}");
    assert_eq!(site.written(), [RESUME; 4]);
}

#[tokio::test]
async fn a_foreign_drain_is_opened_where_that_is_forced() {
    let site = with_node(&["IDLE", "DRAIN"], "bad DIMM A3 [alice]", "").await;
    let asked = activities::Asked { force: true, ..asked("r-2") };
    let outcome = within_ceiling(resume(&site.world(), &attempt(1, T), &asked)).await.unwrap();
    assert_eq!(outcome, Outcome::Resumed(name()));
    assert_eq!(state_of(&site)[0], "IDLE");
}

#[tokio::test]
async fn a_resume_that_slurmctld_forgets_is_made_again_by_the_next_attempt() {
    let site = with_node(&["IDLE", "DRAIN"], MARK, "fleet:r-1").await;
    let mut world = site.world();
    world.site.settle = std::time::Duration::from_millis(300);
    let started = jiff::Timestamp::from_second(T).unwrap();
    let (attempt_1, mut progress) = activities::Attempt::new(1, started, None, Default::default());
    let asked = asked("r-2");
    let crashes = async {
        progress.wait_for(|p| p.step == "settle").await.unwrap();
        site.fakes.slurm.crash();
    };
    let both = async { tokio::join!(resume(&world, &attempt_1, &asked), crashes) };
    let failure = within_ceiling(both).await.0.unwrap_err();
    assert_eq!((failure.code, failure.class), (Code::SlurmUnavailable, Class::Retry), "{failure}");
    let again = within_ceiling(resume(&site.world(), &attempt(2, T), &asked)).await.unwrap();
    assert_eq!((again, state_of(&site)[0].as_str()), (Outcome::Resumed(name()), "IDLE"));
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
    let (world, asked) = (site.world(), asked("r-2"));
    let started = jiff::Timestamp::from_second(T).unwrap();
    let (attempt, mut progress) = activities::Attempt::new(1, started, None, Default::default());
    let comes_back = async {
        let waits = |p: &activities::Progress| p.step == "wait_open" && p.waiting_for.contains("not respond");
        progress.wait_for(waits).await.unwrap();
        assert_eq!(state_of(&site)[1..], ["", "fleet:r-1"]);
        site.fakes.slurm.register(&Registration { node: "gpu-1".to_owned(), conf: None, gpus: None });
    };
    let both = async { tokio::join!(resume(&world, &attempt, &asked), comes_back) };
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

/// 24.11 refuses it of a node that has not registered yet with a slurmctld that has just started.
#[tokio::test]
async fn a_resume_that_is_refused_is_sent_again_a_few_times() {
    let early = json!({"errors": [{"description": "Failure to update node gpu-1", "error_number": 2028,
        "error": "Invalid node state specified", "source": "_update_node"}], "warnings": []});
    for (refusals, ends) in [(1, Ok(Outcome::Resumed(name()))), (4, Err(Code::SlurmRefused))] {
        let site = with_node(&["IDLE", "DRAIN"], MARK, "").await;
        for _ in 0..refusals {
            let answer = Answer::Status { code: 500, body: early.clone() };
            site.fakes.fault(Fault::on(Service::Slurmrestd, "POST", "*/node/gpu-1", answer));
        }
        assert_eq!(run(&site).await.map_err(|f| f.code), ends);
        assert_eq!(site.fakes.faults_left(), 0);
    }
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
