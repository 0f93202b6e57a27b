//! Every activity told to stop while its nth request is in flight: it finishes that, begins nothing that it
//! need not, undoes nothing, and a later attempt ends where an undisturbed one does.

use activities::{Attempt, Class};
use fakes::{Answer, Fault, Request};
use futures::stream::{StreamExt as _, iter};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::broken::{CASES, Case};
use crate::site::{Site, T, attempt, is_write, within_ceiling};

/// What must hold between the cancel and the next attempt.
type Held = fn(&Site, &[Request]);

async fn at_every_request(case: &Case, holds: Held) {
    let (steps, end) = case.whole().await;
    iter(1..=steps).for_each_concurrent(8, |n| at(case, n, &end, holds)).await;
}

async fn at(case: &Case, n: usize, end: &Value, holds: Held) {
    let what = format!("{}: cancelled at request {n}", case.name);
    let site = (case.start)().await;
    site.conversation();
    site.fakes.fault(Fault::at(n, Answer::Hang));
    let cancelled = CancellationToken::new();
    let started = Timestamp::from_second(T).unwrap();
    let (first, _progress) = Attempt::new(1, started, None, cancelled.clone());
    let cancels = async {
        site.fakes.until_held().await;
        cancelled.cancel();
        site.fakes.release();
    };
    let both = async { tokio::join!((case.run)(site.world(), first), cancels) };
    if let Err(failure) = within_ceiling(both).await.0 {
        assert_eq!(failure.class, Class::Cancelled, "{what}: {failure}");
    }
    let log = site.fakes.log();
    // a version that an older release does not serve is asked for first
    let done = |r: &Request| r.status.is_some_and(|s| s < 400 || s == 404 && r.path.ends_with("/ping"));
    assert!(done(&log[n - 1]), "{what}: {}", log[n - 1]);
    let later: Vec<Request> = log[n..].iter().filter(|r| is_write(r)).cloned().collect();
    holds(&site, &later);
    let (number, second) = case.again;
    let again = (case.run)(site.world(), attempt(number, second));
    within_ceiling(again).await.unwrap_or_else(|f| panic!("{what}: {f}"));
    assert_eq!((case.end)(&site).await, *end, "{what}");
}

/// No server is begun; a node that was being closed gets its mark, and none is open that was closed.
fn closed(site: &Site, later: &[Request]) {
    let marks =
        |r: &Request| r.body.as_ref().is_some_and(|b| b.get("reason").is_some() && b.get("state").is_none());
    let drains = |r: &Request| r.body.as_ref().is_some_and(|b| b["state"] == json!(["DRAIN"]));
    for request in later {
        let closes = request.path.ends_with("/node/gpu-1") && (marks(request) || drains(request));
        assert!(closes, "{request}");
    }
    let node = site.fakes.slurm.node("gpu-1").unwrap_or_default();
    let drained = site.fakes.slurm.state("gpu-1").contains("DRAIN");
    let ours = |key: &str| node[key].as_str().is_some_and(|r| r.starts_with("fleet:"));
    // a node made by REST loses its reason when it registers; its extra tells (facts: slurm §12)
    let unspoken = node["reason"] == "" && ours("extra");
    assert!(!drained || ours("reason") || unspoken, "{node}");
}

#[tokio::test]
async fn an_adoption_leaves_its_node_closed() {
    for case in &CASES[..5] {
        at_every_request(case, closed).await;
    }
}

#[tokio::test]
async fn a_drain_and_a_release_leave_their_node_closed_or_as_it_was() {
    for case in &CASES[7..9] {
        at_every_request(case, |site, later| {
            let writes = |r: &&Request| r.body.as_ref().is_none_or(|b| b.get("reason").is_none());
            assert_eq!(later.iter().find(writes), None);
            let node = site.fakes.slurm.node("gpu-1").unwrap_or_default();
            let drained = site.fakes.slurm.state("gpu-1").contains("DRAIN");
            let marked = ["reason", "extra"]
                .iter()
                .any(|k| node[*k].as_str().is_some_and(|r| r.starts_with("fleet:")));
            assert!(!drained || marked, "{node}");
        })
        .await;
    }
}

#[tokio::test]
async fn a_burn_in_leaves_its_node_closed() {
    for case in &CASES[9..] {
        at_every_request(case, |site, later| {
            // between RESUME and the confirmed DRAIN nothing is interruptible; then nothing more is done
            // making a reservation is one call of the client, of three requests
            let closes = |r: &&Request| r.path.ends_with("/node/gpu-1") || r.path.ends_with("/reservation");
            assert!(later.iter().all(|r| closes(&r)), "{later:?}");
            assert!(site.fakes.slurm.state("gpu-1").contains("DRAIN"), "{}", site.fakes.slurm.state("gpu-1"));
        })
        .await;
    }
}

#[tokio::test]
async fn a_resumption_leaves_its_node_closed_under_our_mark_or_open() {
    at_every_request(&CASES[5], |site, later| {
        assert_eq!(later, []);
        let state = site.fakes.slurm.state("gpu-1");
        let node = site.fakes.slurm.node("gpu-1").unwrap();
        if state.contains("DRAIN") {
            assert_eq!((&node["reason"], &node["extra"]), (&json!(crate::adopt::MARK), &json!("fleet:r-1")));
        } else {
            assert_eq!(node["reason"], "");
        }
    })
    .await;
}

#[tokio::test]
async fn a_tick_posts_whole_or_not_at_all() {
    at_every_request(&CASES[6], |_, later| {
        // what was posted is true, and may be called good
        assert!(later.iter().all(|r| r.path.ends_with("/polls/")), "{later:?}");
    })
    .await;
}
