//! slurmctld killed and started again, at any moment of a burn-in: it has forgotten what it acknowledged in
//! its last five seconds.

use std::time::Duration;

use activities::burn_in::{Outcome, Verdict, burn_in_sbatch};
use activities::{Attempt, Class, Failure, Progress};
use fakes::{Answer, Fault, JobSeed, Release, Service};
use jiff::Timestamp;
use serde_json::json;
use tokio::sync::watch;

use crate::adopt::state_of;
use crate::burn_in::{BOTH, CONTENT, MARK, now, ours, request, setup};
use crate::site::{Site, within_ceiling};

/// Far above what a run takes. Never reached by one that ends.
const CEILING: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_burn_in_costs_no_users_job_and_no_second_job_whenever_slurmctld_forgets() {
    for release in BOTH {
        let mut at = 1;
        while killed_at(release, at).await {
            at += 1;
        }
        assert!(at > 25, "{release:?}: it ended after {at} requests");
    }
}

/// Killed at the nth request; false: there are not so many.
async fn killed_at(release: Release, n: usize) -> bool {
    let site = Site::start(setup(release, CONTENT)).await;
    let rival = site.fakes.slurm.submit(JobSeed::on(&["gpu-1"]));
    site.fakes.ticks(6);
    site.fakes.fault(Fault::at(n, Answer::Hang));
    let killed = async {
        site.fakes.until_held().await;
        site.fakes.slurm.crash();
        site.fakes.release();
        std::future::pending().await
    };
    let either = async {
        tokio::select! {
            outcome = until_it_ends(&site) => outcome,
            never = killed => never,
        }
    };
    let Ok(outcome) = tokio::time::timeout(CEILING, either).await else {
        panic!("{release:?}, killed at {n}: {}", site.conversation())
    };
    if site.fakes.faults_left() > 0 {
        return false;
    }
    let what = format!("{release:?}, killed at {n}: {outcome:?}");
    assert!(matches!(outcome.verdict, Verdict::Passed | Verdict::Unknown), "{what}");
    assert_eq!(outcome.leaked, Vec::<i64>::new(), "{what} {}", site.conversation());
    assert!(ours(&site).len() <= 1, "{what}");
    assert_eq!(site.fakes.slurm.job(rival).unwrap()["job_state"], json!(["PENDING"]), "{what}");
    assert!(site.fakes.slurm.state("gpu-1").contains("DRAIN"), "{what}");
    assert_eq!(site.fakes.slurm.reservations(), Vec::<String>::new(), "{what}");
    true
}

/// Attempt after attempt, as Temporal makes them.
async fn until_it_ends(site: &Site) -> Outcome {
    for number in 1.. {
        let started = Timestamp::from_second(now()).unwrap();
        let (attempt, progress) = Attempt::new(number, started, None, Default::default());
        let (world, request) = (site.world(), request("r-1"));
        let result = tokio::select! {
            biased;
            never = time_passes_while_it_settles(site, progress) => never,
            result = burn_in_sbatch(&world, &attempt, &request) => result,
        };
        match result {
            Ok(outcome) => return outcome,
            Err(failure) => assert_eq!(failure.class, Class::Retry, "{failure}: {}", site.conversation()),
        }
    }
    unreachable!()
}

/// Six seconds pass whenever the attempt waits for slurmctld to have saved something.
async fn time_passes_while_it_settles(
    site: &Site,
    mut progress: watch::Receiver<Progress>,
) -> Result<Outcome, Failure> {
    while progress.changed().await.is_ok() {
        if progress.borrow_and_update().step == "settle" {
            site.fakes.ticks(6);
        }
    }
    std::future::pending().await
}

/// A burn-in during which slurmctld is killed once it waits for this.
async fn crashes_at(release: Release, waiting_for: &'static str) -> (Site, Result<Outcome, Failure>) {
    let site = Site::start(setup(release, CONTENT)).await;
    let (attempt, mut progress) = Attempt::new(1, Timestamp::now(), None, Default::default());
    let (mut world, request) = (site.world(), request("r-1"));
    world.site.settle = Duration::from_millis(300);
    let crashes = async {
        progress.wait_for(|p| p.waiting_for == waiting_for).await.unwrap();
        site.fakes.slurm.crash();
    };
    let both = async { tokio::join!(burn_in_sbatch(&world, &attempt, &request), crashes) };
    let ended = within_ceiling(both).await.0;
    (site, ended)
}

#[tokio::test]
async fn what_was_forgotten_at_its_end_is_done_again() {
    for release in [Release::V26_05, Release::V24_11] {
        let (site, ended) = crashes_at(release, "slurmctld to have saved that the node is closed").await;
        assert_eq!(ended.unwrap().verdict, Verdict::Passed, "{release:?}");
        let state = state_of(&site);
        assert!(state[0].contains("DRAIN") && state[1] == MARK, "{release:?}: {state:?}");
        assert_eq!(site.fakes.slurm.reservations(), Vec::<String>::new(), "{release:?}");
        // 26.05: the reservation came back, and went once more
        let deleted = site.count("DELETE", "reservation/fleet-burnin-d-gpu-1-r-1");
        assert_eq!(deleted, if release == Release::V26_05 { 2 } else { 0 });
    }
}

#[tokio::test]
async fn a_priority_that_was_forgotten_is_set_again() {
    let site = Site::start(setup(Release::V24_11, CONTENT)).await;
    // acknowledged, and not done
    let acknowledged = json!({"results": null, "errors": [], "warnings": []});
    let answer = Answer::Status { code: 200, body: acknowledged };
    site.fakes.fault(Fault::on(Service::Slurmrestd, "POST", "*/job/1", answer));
    let (attempt, request) = (Attempt::new(1, Timestamp::now(), None, Default::default()).0, request("r-1"));
    let outcome = within_ceiling(burn_in_sbatch(&site.world(), &attempt, &request)).await.unwrap();
    assert_eq!((outcome.verdict, site.fakes.faults_left()), (Verdict::Passed, 0), "{}", outcome.reason);
    assert_eq!(site.count("POST", "/job/1"), 2);
}

/// 24.11 says so of a node that has not registered yet with a slurmctld that has just started.
#[tokio::test]
async fn a_resume_that_came_too_early_is_sent_again() {
    for release in [Release::V26_05, Release::V24_11] {
        let site = Site::start(setup(release, CONTENT)).await;
        let early = json!({"errors": [{"description": "Failure to update node gpu-1", "error_number": 2028,
            "error": "Invalid node state specified", "source": "_update_node"}], "warnings": []});
        // after the reason and the claim with the job
        let answer = Answer::Status { code: 500, body: early };
        site.fakes.fault(Fault::on(Service::Slurmrestd, "POST", "*/node/gpu-1", answer).nth(3));
        let (attempt, request) =
            (Attempt::new(1, Timestamp::now(), None, Default::default()).0, request("r-1"));
        let outcome = within_ceiling(burn_in_sbatch(&site.world(), &attempt, &request)).await.unwrap();
        assert_eq!((outcome.verdict, site.fakes.faults_left()), (Verdict::Passed, 0), "{release:?}");
        let resumes = site.written().iter().filter(|w| w.contains("RESUME")).count();
        assert_eq!(resumes, 2, "{release:?}");
    }
}
