//! Every activity broken at every request: the process dies before it or after it, or lives and the answer
//! is lost. Whatever is broken, the next attempt, told of the last heartbeat or of none, ends where an
//! unbroken one does: with one server, and no foreign word touched.

use activities::{Attempt, Previous};
use futures::stream::{StreamExt as _, iter};
use jiff::Timestamp;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::broken::{Break, CASES, Case};
use crate::site::{Site, T, within_ceiling};

/// A request, how it breaks there, and whether the server has a heartbeat.
type Cell = (usize, Break, bool);

/// So many sites at once.
const AT_ONCE: usize = 8;

async fn every_cell(case: &Case) {
    let (steps, end) = case.whole().await;
    let beats = |(n, how)| [true, false].map(|beat| (n, how, beat));
    let cells: Vec<Cell> = (1..=steps).flat_map(|n| Break::ALL.map(|b| (n, b))).flat_map(beats).collect();
    iter(cells).for_each_concurrent(AT_ONCE, |cell| one(case, cell, &end)).await;
}

async fn one(case: &Case, (n, how, beat): Cell, end: &Value) {
    let what = format!("{}: request {n}, {how:?}, heartbeat: {beat}", case.name);
    let site = (case.start)().await;
    let started = |second| Timestamp::from_second(second).unwrap();
    let (first, heart) = Attempt::new(1, started(T), None, CancellationToken::new());
    site.fakes.fault(how.at(n));
    if !survives(&site, (case.run)(site.world(), first)).await || case.always {
        let previous = beat.then(|| {
            let last = heart.borrow();
            Previous { step: last.step.to_owned(), since: last.since }
        });
        let (number, second) = case.again;
        let again = Attempt::new(number, started(second), previous, CancellationToken::new()).0;
        within_ceiling((case.run)(site.world(), again)).await.unwrap_or_else(|f| panic!("{what}: {f}"));
    }
    assert_eq!((case.end)(&site).await, *end, "{what}");
    assert_eq!(site.fakes.faults_left(), 0, "{what}");
}

/// Runs an activity until it ends or its process dies; whether it ended well.
async fn survives(site: &Site, run: crate::broken::Run) -> bool {
    within_ceiling(async {
        tokio::select! {
            result = run => result.is_ok(),
            () = site.fakes.until_held() => false,
        }
    })
    .await
}

#[tokio::test]
async fn an_adoption_broken_anywhere_ends_with_one_server_and_our_mark() {
    every_cell(&CASES[0]).await;
}

#[tokio::test]
async fn an_adoption_opened_at_registration_and_broken_anywhere_spares_the_job() {
    every_cell(&CASES[1]).await;
}

#[tokio::test]
async fn an_adoption_of_a_static_node_broken_anywhere_spares_the_job() {
    every_cell(&CASES[2]).await;
}

#[tokio::test]
async fn a_rebuild_broken_anywhere_ends_with_the_same_server_rebuilt_once() {
    every_cell(&CASES[3]).await;
}

#[tokio::test]
async fn an_adoption_of_a_node_made_by_rest_broken_anywhere_makes_one_node() {
    every_cell(&CASES[4]).await;
}

#[tokio::test]
async fn a_resumption_broken_anywhere_ends_with_an_open_node() {
    every_cell(&CASES[5]).await;
}

#[tokio::test]
async fn a_drain_broken_anywhere_spares_the_job() {
    every_cell(&CASES[7]).await;
}

#[tokio::test]
async fn a_release_broken_anywhere_spares_the_job_and_leaves_nothing() {
    every_cell(&CASES[8]).await;
}

#[tokio::test]
async fn a_burn_in_within_a_reservation_broken_anywhere_is_one_job_on_a_closed_node() {
    every_cell(&CASES[9]).await;
}

#[tokio::test]
async fn a_burn_in_ahead_of_the_queue_broken_anywhere_is_one_job_on_a_closed_node() {
    every_cell(&CASES[10]).await;
}

#[tokio::test]
async fn a_tick_broken_anywhere_is_made_good_by_the_next() {
    every_cell(&CASES[6]).await;
}
