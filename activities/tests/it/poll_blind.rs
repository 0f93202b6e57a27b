//! Ticks that could not see SLURM, or that saw what cannot be.

use activities::Code;
use activities::poll_conditions::{End, Poller};
use fakes::{Answer, Controller, Fault, Service};
use serde_json::Value;

use crate::poll::{fresh_tick, posted, site, tick};
use crate::site::{T, node};

#[tokio::test]
async fn case_b12_a_blind_tick_writes_nothing_until_the_sight_is_stale() {
    let site = site(&["a"]).await;
    let (poller, world) = (Poller::default(), site.world());
    tick(&poller, &world, T).await.unwrap();
    site.fakes.slurm.controller(Controller::Down);
    site.conversation();
    for second in [T + 60, T + 299] {
        let outcome = tick(&poller, &world, second).await.unwrap();
        assert_eq!((outcome.end, outcome.written), (End::Blind, 0), "{second}");
    }
    assert_eq!(posted(&site), Vec::<Value>::new());
    assert_eq!(site.good_at(T + 299).await, Some(T));

    let outcome = tick(&poller, &world, T + 300).await.unwrap();
    assert_eq!((outcome.end, outcome.written), (End::Blind, 2));
    assert_eq!(
        site.verdicts().await,
        ["d-a SlurmMember Unknown SlurmUnreachable", "d-a SlurmSchedulable Unknown SlurmUnreachable"]
    );
    // said once
    assert_eq!(tick(&poller, &world, T + 360).await.unwrap().written, 0);

    site.fakes.slurm.controller(Controller::Up);
    assert_eq!(tick(&poller, &world, T + 420).await.unwrap().written, 2);
    assert_eq!(site.verdicts().await, ["d-a SlurmMember True Known", "d-a SlurmSchedulable True Idle"]);
}

#[tokio::test]
async fn a_blind_first_tick_of_a_site_never_seen_writes_nothing() {
    let site = site(&["a"]).await;
    site.fakes.slurm.controller(Controller::Down);
    assert_eq!(fresh_tick(&site, T).await.unwrap().end, End::Blind);
    assert_eq!(posted(&site), Vec::<Value>::new());
}

#[tokio::test]
async fn case_b08_a_version_no_longer_served_makes_no_device_a_stranger() {
    let site = site(&["a"]).await;
    fresh_tick(&site, T).await.unwrap();
    site.conversation();
    let gone = Answer::Status { code: 404, body: "Unable to find requested URL endpoint.".into() };
    site.fakes.fault(Fault::on(Service::Slurmrestd, "GET", "*/nodes", gone));
    assert_eq!(fresh_tick(&site, T + 60).await.unwrap().end, End::Blind);
    assert_eq!(posted(&site), Vec::<Value>::new());
}

#[tokio::test]
async fn a_tick_is_blind_while_every_node_is_unknown() {
    let site = site(&["a", "b"]).await;
    site.fakes.slurm.controller(Controller::Restarting(1_000));
    assert_eq!(fresh_tick(&site, T).await.unwrap().end, End::Blind);
    site.fakes.slurm.controller(Controller::Up);
    site.fakes.slurm.put(node("a", &["UNKNOWN"], ""));
    assert_eq!(fresh_tick(&site, T + 60).await.unwrap().end, End::Seen);
}

#[tokio::test]
async fn after_a_blind_tick_the_whole_list_is_looked_at_again() {
    let site = site(&["a"]).await;
    let (poller, world) = (Poller::default(), site.world());
    site.fakes.slurm.controller(Controller::Down);
    tick(&poller, &world, T).await.unwrap();
    site.fakes.slurm.controller(Controller::Up);
    site.conversation();
    tick(&poller, &world, T + 60).await.unwrap();
    assert_eq!((site.count("GET", "/nodes"), site.count("GET", "/node/a")), (1, 0));
}

#[tokio::test]
async fn nodes_that_vanish_all_at_once_are_no_verdict() {
    let site = site(&["a", "b", "c", "d", "e"]).await;
    fresh_tick(&site, T).await.unwrap();
    let before = site.person.conditions().await.unwrap();
    site.conversation();
    for (old, new) in [("a", "A"), ("b", "B"), ("c", "C"), ("d", "D"), ("e", "E")] {
        site.fakes.slurm.take_out(old);
        site.fakes.slurm.put(node(new, &["IDLE"], ""));
    }
    let failure = fresh_tick(&site, T + 60).await.unwrap_err();
    assert_eq!((failure.code, failure.step), (Code::NamingOrApiChanged, "look"));
    assert_eq!(failure.message, "5 of the site's 5 nodes vanished at once");
    assert_eq!(posted(&site), Vec::<Value>::new());
    assert_eq!(site.person.conditions().await.unwrap(), before);
    assert_eq!(site.good_at(T + 60).await, Some(T));

    // but nobody may believe the old rows for ever
    fresh_tick(&site, T + 300).await.unwrap_err();
    let verdicts = site.verdicts().await;
    assert!(verdicts.iter().all(|v| v.ends_with(" Unknown SlurmUnreachable")), "{verdicts:?}");
}
