//! Drain: closed under our mark, and empty.

use std::time::Duration;

use activities::drain::{End, Outcome, Request, drain};
use activities::{Attempt, Class, Code, Failure, PowerSaving, Progress};
use fakes::{Answer, Controller, Fault, JobSeed, NodeSeed, Service};
use model::AtDeadline;
use serde_json::json;
use tokio::sync::watch;

use crate::adopt::{asked, state_of};
use crate::site::{Setup, Site, T, attempt, node, within_ceiling};

/// The mark of what Ada asks.
pub(crate) const MARK: &str = "fleet:drain r-1: ada: new rack";
const DRAIN: &str = "POST /slurm/v0.0.45/node/gpu-1 {\"extra\":\"fleet:r-1\",\"state\":[\"DRAIN\"]}";
const TOLD: &str = "POST /slurm/v0.0.45/node/gpu-1 {\"reason\":\"fleet:drain r-1: ada: new rack\"}";

/// Longer than from a test's own time to the machine's.
pub(crate) const LONG: Duration = Duration::from_secs(2_000_000_000);

pub(crate) fn request(id: &str) -> Request {
    Request { asked: asked(id), deadline: LONG, at_deadline: AtDeadline::Fail }
}

/// A site whose one node is in this state.
pub(crate) async fn with_node(states: &[&str], reason: &str) -> Site {
    Site::start(Setup::of(&["gpu-1"]).with_nodes([node("gpu-1", states, reason)])).await
}

/// The same, and nothing moves but by the test.
async fn still(states: &[&str], reason: &str) -> Site {
    let setup = Setup::of(&["gpu-1"]).with_nodes([node("gpu-1", states, reason)]);
    Site::start(Setup { paced: false, ..setup }).await
}

fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

/// An attempt that begins now, and where it is.
fn watched() -> (Attempt, watch::Receiver<Progress>) {
    let started = jiff::Timestamp::from_second(now()).unwrap();
    Attempt::new(1, started, None, Default::default())
}

async fn run(site: &Site) -> Result<Outcome, Failure> {
    within_ceiling(drain(&site.world(), &attempt(1, now()), &request("r-1"))).await
}

#[tokio::test]
async fn the_conversation_of_a_drain() {
    let site = with_node(&["IDLE"], "").await;
    run(&site).await.unwrap();
    insta::assert_snapshot!(site.conversation());
}

#[tokio::test]
async fn drained_twice_the_second_run_only_reads() {
    let site = with_node(&["IDLE"], "").await;
    let first = run(&site).await.unwrap();
    assert_eq!((&first.end, &first.cancelled), (&End::Drained, &vec![]));
    assert_eq!(site.written(), [DRAIN, TOLD]);
    assert_eq!(state_of(&site), ["IDLE+DRAIN", MARK, "fleet:r-1"]);
    site.conversation();
    assert_eq!(run(&site).await.unwrap(), first);
    assert_eq!(site.written(), Vec::<String>::new());
}

#[tokio::test]
async fn case_b14_what_another_has_drained_keeps_its_words_and_is_as_good() {
    let site = with_node(&["IDLE", "DRAIN"], "NHC: ECC error").await;
    let outcome = run(&site).await.unwrap();
    assert_eq!(outcome.end, End::ByOther("NHC: ECC error".to_owned()));
    assert_eq!(site.written(), Vec::<String>::new());
    // and nothing of ours opens it
    let resumed = activities::resume::resume(&site.world(), &attempt(1, now()), &asked("r-2")).await;
    assert_eq!(resumed.unwrap_err().code, Code::DrainNotOurs);
    assert_eq!(state_of(&site), ["IDLE+DRAIN", "NHC: ECC error", ""]);
}

#[tokio::test]
async fn what_another_has_closed_in_whatever_way_is_waited_for_until_it_is_empty() {
    for states in [&["IDLE", "DRAIN"][..], &["IDLE", "FAIL"]] {
        let site = still(states, "bad DIMM A3 [alice]").await;
        let job = site.fakes.slurm.run(JobSeed::on(&["gpu-1"]));
        let (world, request, (attempt, mut progress)) = (site.world(), request("r-1"), watched());
        let ends = async {
            progress
                .wait_for(|p| p.step == "wait_empty" && p.waiting_for.contains("1 job holds"))
                .await
                .unwrap();
            site.fakes.slurm.finish(job, 0);
            site.fakes.slurm.tick();
        };
        let both = async { tokio::join!(drain(&world, &attempt, &request), ends) };
        let outcome = within_ceiling(both).await.0.unwrap();
        assert_eq!(outcome.end, End::ByOther("bad DIMM A3 [alice]".to_owned()), "{states:?}");
        assert_eq!(site.written(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn case_b15_a_drain_ends_only_after_the_last_job_and_says_which_it_waits_for() {
    let site = still(&["IDLE"], "").await;
    let seed = JobSeed { time_limit: Some(60), ..JobSeed::on(&["gpu-1"]) };
    let running = site.fakes.slurm.run(seed);
    let (world, request, (attempt, mut progress)) = (site.world(), request("r-1"), watched());
    let ends = async {
        let waits = |p: &Progress| p.step == "wait_empty" && p.waiting_for.contains("1 job holds gpu-1");
        let said = progress.wait_for(waits).await.unwrap().clone();
        assert_eq!(
            said.waiting_for,
            "1 job holds gpu-1 (ALLOCATED+DRAIN): 1; the last must end by 2026-09-21T15:13:20Z"
        );
        // suspended, it does not show in the node's state, and holds it still
        site.fakes.slurm.suspend(running);
        let waits = |p: &Progress| p.waiting_for.starts_with("1 job holds gpu-1 (DRAIN+IDLE)");
        progress.wait_for(waits).await.unwrap();
        site.fakes.slurm.finish(running, 0);
        let waits = |p: &Progress| p.waiting_for.contains("COMPLETING");
        progress.wait_for(waits).await.unwrap();
        site.fakes.slurm.tick();
    };
    let both = async { tokio::join!(drain(&world, &attempt, &request), ends) };
    assert_eq!(within_ceiling(both).await.0.unwrap().end, End::Drained);
    assert_eq!(site.fakes.slurm.job(running).unwrap()["job_state"], json!(["COMPLETED"]));
    assert_eq!(site.count("DELETE", "/job/1"), 0);
}

#[tokio::test]
async fn case_b17_a_job_that_starts_before_the_drain_is_acknowledged_runs_to_its_end() {
    let site = still(&["IDLE"], "").await;
    // held at the DRAIN: the node has been read
    site.fakes.fault(Fault::on(Service::Slurmrestd, "POST", "*/node/gpu-1", Answer::Hang));
    let (world, request, (attempt, mut progress)) = (site.world(), request("r-1"), watched());
    let starts = async {
        site.fakes.until_held().await;
        let job = site.fakes.slurm.run(JobSeed::on(&["gpu-1"]));
        site.fakes.release();
        progress.wait_for(|p| p.waiting_for.contains("1 job holds gpu-1")).await.unwrap();
        assert_eq!(site.fakes.slurm.job(job).unwrap()["job_state"], json!(["RUNNING"]));
        site.fakes.slurm.finish(job, 0);
        site.fakes.slurm.tick();
    };
    let both = async { tokio::join!(drain(&world, &attempt, &request), starts) };
    assert_eq!(within_ceiling(both).await.0.unwrap().end, End::Drained);
}

#[tokio::test]
async fn a_deadline_fails_and_cancels_nothing_unless_that_was_asked() {
    for (at_deadline, cancelled) in [(AtDeadline::Fail, false), (AtDeadline::CancelJobs, true)] {
        let mut setup = Setup::of(&["gpu-1"]).with_nodes([node("gpu-1", &["IDLE"], "")]);
        setup.slurm.job_ticks = None;
        let site = Site::start(setup).await;
        let tasks = JobSeed { array: "1-3".to_owned(), nodes: vec!["gpu-1".to_owned()], ..JobSeed::on(&[]) };
        let array = site.fakes.slurm.submit(tasks);
        site.fakes.slurm.tick();
        let request = Request { at_deadline, deadline: Duration::ZERO, ..request("r-1") };
        let result = within_ceiling(drain(&site.world(), &attempt(1, now()), &request)).await;
        assert_eq!(
            state_of(&site),
            ["IDLE+DRAIN", MARK, "fleet:r-1"].map(str::to_owned).map(|s| match cancelled {
                true => s,
                false => s.replace("IDLE", "ALLOCATED"),
            })
        );
        let running: Vec<_> =
            site.fakes.slurm.jobs().into_iter().filter(|j| j["job_state"] == json!(["RUNNING"])).collect();
        if cancelled {
            assert_eq!(result.unwrap().cancelled.len(), 1);
            assert!(running.is_empty(), "{running:?}");
            // the tasks that wait are other users' work, elsewhere perhaps
            let rest = site.fakes.slurm.job(array).unwrap();
            assert_eq!(
                (&rest["job_state"], &rest["array_task_string"]),
                (&json!(["PENDING"]), &json!("2-3"))
            );
        } else {
            let failure = result.unwrap_err();
            assert_eq!((failure.code, failure.class), (Code::NodeBusy, Class::NeedsHuman));
            assert!(
                failure.message.starts_with("time was up: 1 job holds gpu-1 (ALLOCATED+DRAIN): "),
                "{failure}"
            );
            assert_eq!(running.len(), 1);
        }
    }
}

#[tokio::test]
async fn cancelling_where_it_would_hang_slurmctld_is_refused_at_the_start() {
    for (user, accounting, refused) in
        [("root", false, false), ("slurm", false, true), ("slurm", true, false)]
    {
        let mut setup = Setup::of(&["gpu-1"]).with_nodes([node("gpu-1", &["IDLE"], "")]);
        setup.slurm.accounting = accounting;
        let site = Site::start(setup).await;
        let mut world = site.world();
        world.slurm = site.slurm_with(&site.fakes.slurm.token(user), user);
        let request = Request { at_deadline: AtDeadline::CancelJobs, ..request("r-1") };
        let result = within_ceiling(drain(&world, &attempt(1, now()), &request)).await;
        if refused {
            let failure = result.unwrap_err();
            assert_eq!((failure.code, failure.class), (Code::CancelUnsafe, Class::NeedsHuman), "{user}");
            assert_eq!((failure.field.as_str(), site.written().len()), ("at_deadline", 0));
        } else {
            assert_eq!(result.unwrap().end, End::Drained, "{user}");
        }
    }
}

#[tokio::test]
async fn a_node_that_boots_for_a_job_is_not_drained_under_it() {
    let setup = Setup::of(&["gpu-1"]).with_nodes([node("gpu-1", &["MIXED", "POWERING_UP"], "")]);
    let site = Site::start(Setup { paced: false, ..setup }).await;
    let (mut world, request, (attempt, mut progress)) = (site.world(), request("r-1"), watched());
    world.site.power_saving = PowerSaving::SparesDrained;
    let boots = async {
        progress.wait_for(|p| p.waiting_for == "gpu-1 is powering up for a job").await.unwrap();
        assert_eq!(site.written(), Vec::<String>::new());
        site.fakes.slurm.put(node("gpu-1", &["IDLE"], ""));
    };
    let both = async { tokio::join!(drain(&world, &attempt, &request), boots) };
    assert_eq!(within_ceiling(both).await.0.unwrap().end, End::Drained);
}

/// A person's drain is nobody's to refuse, and what we have begun is ended.
#[tokio::test]
async fn power_saving_that_the_settings_deny_is_said_before_a_node_is_closed_and_not_after() {
    for (tokens, reason, extra, outcome) in [
        (&["IDLE", "POWERING_DOWN"][..], "", "", Err("it is IDLE+POWERING_DOWN")),
        (&["IDLE", "POWERED_DOWN"], "", "", Err("it is IDLE+POWERED_DOWN")),
        (&["IDLE", "CLOUD", "POWERED_DOWN"], "", "", Ok(End::Drained)),
        (&["IDLE", "POWERING_DOWN"], "", "fleet:r-1", Ok(End::Drained)),
        (
            &["IDLE", "DRAIN", "POWERED_DOWN"],
            "bad DIMM [alice]",
            "",
            Ok(End::ByOther("bad DIMM [alice]".to_owned())),
        ),
    ] {
        let seed = NodeSeed { extra: extra.to_owned(), ..node("gpu-1", tokens, reason) };
        let site = Site::start(Setup::of(&["gpu-1"]).with_nodes([seed])).await;
        let ended = within_ceiling(drain(&site.world(), &attempt(1, T), &request("r-1"))).await;
        let said = ended.map(|o| o.end).map_err(|f| f.message);
        let start = "power saving acts on gpu-1, and this site's settings say there is none: ";
        assert_eq!(said, outcome.map_err(|why| format!("{start}{why}")), "{tokens:?}");
    }
}

/// slurmctld reckons what a node has given to jobs only when the list is asked for.
#[tokio::test]
async fn a_node_whose_own_get_says_mixed_is_reckoned_anew() {
    let seed = NodeSeed { extra: "fleet:r-1".to_owned(), ..node("gpu-1", &["IDLE", "DRAIN"], MARK) };
    let site = Site::start(Setup::of(&["gpu-1"]).with_nodes([seed])).await;
    let mut stale = site.fakes.slurm.node("gpu-1").unwrap();
    stale["state"] = json!(["MIXED", "DRAIN"]);
    let body = json!({"nodes": [stale], "errors": [], "warnings": []});
    let answer = Answer::Status { code: 200, body };
    site.fakes.fault(Fault::on(Service::Slurmrestd, "GET", "*/node/gpu-1", answer));
    assert_eq!(run(&site).await.unwrap().end, End::Drained);
    let said = site.conversation();
    assert_eq!(said.matches("nodes/?update_time=4102444800").count(), 1, "{said}");
}

#[tokio::test]
async fn case_b01_a_look_up_that_failed_is_neither_drained_nor_absent() {
    let site = with_node(&["IDLE"], "").await;
    let odd = json!({"nodes": [], "errors": [{"description": "Failure to query node gpu-1", "error_number": 0,
        "error": "No error", "source": "_dump_nodes"}]});
    // as often as a look is repeated
    for _ in 0..4 {
        let answer = Answer::Status { code: 200, body: odd.clone() };
        site.fakes.fault(Fault::on(Service::Slurmrestd, "GET", "*/node/gpu-1", answer));
    }
    let failure = run(&site).await.unwrap_err();
    assert_eq!((failure.code, failure.class), (Code::SlurmUnavailable, Class::Retry));
    assert_eq!(failure.message, "SLURM lists gpu-1 and says that it does not know it");
    assert_eq!(site.written(), Vec::<String>::new());
    // the next attempt finds it
    assert_eq!(run(&site).await.unwrap().end, End::Drained);
    // and one that is truly unknown is that
    site.fakes.slurm.take_out("gpu-1");
    let failure = run(&site).await.unwrap_err();
    assert_eq!((failure.code, failure.class), (Code::NodeUnknown, Class::NeedsHuman));
}

#[tokio::test]
async fn case_b11_a_slurmctld_that_is_away_is_waited_for_and_a_cancel_is_heeded() {
    let site = still(&["IDLE"], "").await;
    for controller in [Controller::Down, Controller::Hung] {
        site.fakes.slurm.controller(Controller::Up);
        site.fakes.slurm.put(node("gpu-1", &["IDLE"], ""));
        let job = site.fakes.slurm.run(JobSeed::on(&["gpu-1"]));
        let (world, request, (attempt, mut progress)) = (site.world(), request("r-1"), watched());
        let cancelled = attempt.cancelled.clone();
        let goes_away = async {
            progress.wait_for(|p| p.waiting_for.contains("1 job holds")).await.unwrap();
            site.fakes.slurm.controller(controller);
            progress.wait_for(|p| p.waiting_for.contains("not available")).await.unwrap();
            cancelled.cancel();
        };
        let both = async { tokio::join!(drain(&world, &attempt, &request), goes_away) };
        let failure = within_ceiling(both).await.0.unwrap_err();
        assert_eq!(failure.class, Class::Cancelled);
        site.fakes.slurm.controller(Controller::Up);
        assert_eq!(state_of(&site), ["ALLOCATED+DRAIN", MARK, "fleet:r-1"]);
        site.fakes.slurm.finish(job, 0);
        site.fakes.slurm.tick();
    }
}

#[tokio::test]
async fn a_drain_that_slurmctld_forgot_is_made_again() {
    let site = still(&["IDLE"], "").await;
    // killed between the last look and the end of the settling
    let (world, request, (attempt_1, mut progress)) = (site.world(), request("r-1"), watched());
    let mut world = world;
    world.site.settle = Duration::from_millis(300);
    let crashes = async {
        progress.wait_for(|p| p.step == "settle").await.unwrap();
        site.fakes.slurm.crash();
        assert_eq!(site.fakes.slurm.node("gpu-1").unwrap()["reason"], "");
    };
    let both = async { tokio::join!(drain(&world, &attempt_1, &request), crashes) };
    let failure = within_ceiling(both).await.0.unwrap_err();
    assert_eq!((failure.code, failure.class), (Code::NodeBusy, Class::Retry), "{failure}");
    let again = within_ceiling(drain(&site.world(), &attempt(2, now()), &request)).await;
    assert_eq!(again.unwrap().end, End::Drained);
    for _ in 0..4 {
        site.fakes.slurm.tick();
    }
    assert_eq!(state_of(&site), ["IDLE+DRAIN", MARK, "fleet:r-1"]);
}

#[tokio::test]
async fn somebody_who_drains_it_in_the_same_moment_keeps_their_words() {
    let site = still(&["IDLE"], "").await;
    site.fakes.fault(Fault::on(Service::Slurmrestd, "POST", "*/node/gpu-1", Answer::Hang));
    let (world, request, (attempt, _progress)) = (site.world(), request("r-1"), watched());
    let drains = async {
        site.fakes.until_held().await;
        site.fakes.slurm.put(NodeSeed { ..node("gpu-1", &["IDLE", "DRAIN"], "bad DIMM A3 [alice]") });
        site.fakes.release();
    };
    let both = async { tokio::join!(drain(&world, &attempt, &request), drains) };
    let outcome = within_ceiling(both).await.0.unwrap();
    assert_eq!(outcome.end, End::ByOther("bad DIMM A3 [alice]".to_owned()));
    assert_eq!(state_of(&site)[..2], ["IDLE+DRAIN", "bad DIMM A3 [alice]"]);
}
