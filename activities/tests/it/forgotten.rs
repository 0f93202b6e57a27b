//! slurmctld killed and started again, at any moment of a burn-in: it has forgotten what it acknowledged in
//! its last five seconds.

use std::time::Duration;

use activities::burn_in::{Outcome, Verdict, burn_in_sbatch};
use activities::{Attempt, Class, Failure, Progress};
use fakes::{Answer, Fault, JobSeed, Release};
use serde_json::json;
use tokio::sync::watch;

use crate::burn_in::{BOTH, CONTENT, now, ours, request, setup};
use crate::site::Site;

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
        let started = jiff::Timestamp::from_second(now()).unwrap();
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
