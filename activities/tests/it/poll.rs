//! The poller: the hub equals what was seen, or nothing is written.

use activities::poll_conditions::{End, Outcome, Poller};
use activities::{Code, Failure, World};
use jiff::Timestamp;
use serde_json::Value;

use crate::site::{Answer, Fault, Site, attempt};

/// The first tick, in seconds of Unix time.
const T: i64 = 1_790_000_000;

async fn site(names: &[&str]) -> Site {
    let site = Site::start().await;
    site.state().hub.with_devices(names);
    for name in names {
        site.state().slurm.put(name, &["IDLE"], "");
    }
    site
}

async fn tick(poller: &Poller, world: &World, second: i64) -> Result<Outcome, Failure> {
    poller.poll(world, &attempt(1, second)).await
}

/// A tick by a process that has just started.
async fn fresh_tick(site: &Site, second: i64) -> Result<Outcome, Failure> {
    tick(&Poller::default(), &site.world(), second).await
}

/// The rows that were posted since the conversation was last forgotten.
fn posted(site: &Site) -> Vec<Value> {
    let posts = site.writes().into_iter().filter(|c| c.path.ends_with("/device-conditions/"));
    posts.flat_map(|c| c.body["rows"].as_array().cloned().unwrap_or_default()).collect()
}

#[tokio::test]
async fn the_conversation_of_a_first_and_of_an_unchanged_tick() {
    let site = site(&["a"]).await;
    let (poller, world) = (Poller::default(), site.world());
    tick(&poller, &world, T).await.unwrap();
    insta::assert_snapshot!("first", site.conversation());
    tick(&poller, &world, T + 60).await.unwrap();
    let reads = |l: &str| !l.contains("/nodes") && !l.contains("/node/");
    // whole list or node by node: that depends on how long the list took
    let unchanged: Vec<String> =
        site.conversation().lines().filter(|l| reads(l)).map(str::to_owned).collect();
    insta::assert_snapshot!("unchanged", unchanged.join("\n"));
}

#[tokio::test]
async fn a_first_tick_makes_the_hub_equal_to_what_was_seen() {
    let site = site(&["a", "b"]).await;
    site.state().slurm.put("b", &["IDLE", "DRAIN"], "bad DIMM A3 [alice]");
    site.state().slurm.put("c", &["IDLE"], "");
    let outcome = fresh_tick(&site, T).await.unwrap();
    let seen = Outcome {
        end: End::Seen,
        devices: 2,
        nodes: 3,
        written: 4,
        devices_without_node: 0,
        nodes_without_device: 1,
        devices_in_conflict: 0,
        unknown_tokens: 0,
    };
    assert_eq!(outcome, seen);
    assert_eq!(
        site.state().hub.verdicts(),
        [
            "d-a SlurmMember True Known",
            "d-a SlurmSchedulable True Idle",
            "d-b SlurmMember True Known",
            "d-b SlurmSchedulable False Drained",
        ]
    );
    assert_eq!(site.state().hub.good_at, Some(Timestamp::from_second(T).unwrap()));
    let message = posted(&site)[3]["message"].clone();
    assert_eq!(message, "b is DRAIN+IDLE: bad DIMM A3 [alice]");
}

#[tokio::test]
async fn case_b48_unchanged_ticks_write_no_row() {
    let site = site(&["a", "b", "c"]).await;
    let (poller, world) = (Poller::default(), site.world());
    assert_eq!(tick(&poller, &world, T).await.unwrap().written, 6);
    let before = site.state().hub.conditions.clone();
    site.conversation();
    for n in 1..=10 {
        let outcome = tick(&poller, &world, T + 60 * n).await.unwrap();
        assert_eq!((outcome.end, outcome.written), (End::Seen, 0));
    }
    assert_eq!(posted(&site), Vec::<Value>::new());
    assert_eq!(site.state().hub.conditions, before);
}

#[tokio::test]
async fn another_process_finds_nothing_to_write() {
    let site = site(&["a"]).await;
    fresh_tick(&site, T).await.unwrap();
    assert_eq!(fresh_tick(&site, T + 60).await.unwrap().written, 0);
}

#[tokio::test]
async fn an_overtaken_claim_writes_nothing_and_looks_at_nothing() {
    let site = site(&["a"]).await;
    site.state().hub.tick = Timestamp::from_second(T + 60).unwrap();
    assert_eq!(fresh_tick(&site, T).await.unwrap().end, End::Overtaken);
    assert_eq!(posted(&site), Vec::<Value>::new());
    assert_eq!(site.count("GET", "/nodes"), 0);
    assert_eq!(site.state().hub.good_at, None);
}

#[tokio::test]
async fn case_b12_a_blind_tick_writes_nothing_until_the_sight_is_stale() {
    let site = site(&["a"]).await;
    let (poller, world) = (Poller::default(), site.world());
    tick(&poller, &world, T).await.unwrap();
    site.state().slurm.down = true;
    site.conversation();
    for second in [T + 60, T + 299] {
        let outcome = tick(&poller, &world, second).await.unwrap();
        assert_eq!((outcome.end, outcome.written), (End::Blind, 0), "{second}");
    }
    assert_eq!(posted(&site), Vec::<Value>::new());
    assert_eq!(site.state().hub.good_at, Some(Timestamp::from_second(T).unwrap()));

    let outcome = tick(&poller, &world, T + 300).await.unwrap();
    assert_eq!((outcome.end, outcome.written), (End::Blind, 2));
    assert_eq!(
        site.state().hub.verdicts(),
        ["d-a SlurmMember Unknown SlurmUnreachable", "d-a SlurmSchedulable Unknown SlurmUnreachable",]
    );
    // said once
    assert_eq!(tick(&poller, &world, T + 360).await.unwrap().written, 0);

    site.state().slurm.down = false;
    assert_eq!(tick(&poller, &world, T + 420).await.unwrap().written, 2);
    assert_eq!(
        site.state().hub.verdicts(),
        ["d-a SlurmMember True Known", "d-a SlurmSchedulable True Idle",]
    );
}

#[tokio::test]
async fn a_blind_first_tick_of_a_site_never_seen_writes_nothing() {
    let site = site(&["a"]).await;
    site.state().slurm.down = true;
    assert_eq!(fresh_tick(&site, T).await.unwrap().end, End::Blind);
    assert_eq!(posted(&site), Vec::<Value>::new());
}

#[tokio::test]
async fn case_b08_a_version_no_longer_served_makes_no_device_a_stranger() {
    let site = site(&["a"]).await;
    fresh_tick(&site, T).await.unwrap();
    site.conversation();
    site.state().faults.push(Fault { method: "GET", path: "/nodes", answer: Answer::Status(404) });
    assert_eq!(fresh_tick(&site, T + 60).await.unwrap().end, End::Blind);
    assert_eq!(posted(&site), Vec::<Value>::new());
}

#[tokio::test]
async fn a_tick_is_blind_while_every_node_is_unknown() {
    let site = site(&["a", "b"]).await;
    for name in ["a", "b"] {
        site.state().slurm.put(name, &["UNKNOWN"], "");
    }
    assert_eq!(fresh_tick(&site, T).await.unwrap().end, End::Blind);
    site.state().slurm.put("b", &["IDLE"], "");
    assert_eq!(fresh_tick(&site, T + 60).await.unwrap().end, End::Seen);
}

#[tokio::test]
async fn after_a_blind_tick_the_whole_list_is_looked_at_again() {
    let site = site(&["a"]).await;
    let (poller, world) = (Poller::default(), site.world());
    site.state().slurm.down = true;
    tick(&poller, &world, T).await.unwrap();
    site.state().slurm.down = false;
    site.conversation();
    tick(&poller, &world, T + 60).await.unwrap();
    assert_eq!((site.count("GET", "/nodes"), site.count("GET", "/node/a")), (1, 0));
}

#[tokio::test]
async fn one_node_that_vanishes_is_pending_for_a_tick() {
    let site = site(&["a", "b", "c"]).await;
    fresh_tick(&site, T).await.unwrap();
    site.state().slurm.nodes.remove("b");
    fresh_tick(&site, T + 60).await.unwrap();
    assert_eq!(
        site.state().hub.verdicts()[2..4],
        ["d-b SlurmMember True NotInSlurmPending", "d-b SlurmSchedulable True NotInSlurmPending",]
    );
    fresh_tick(&site, T + 120).await.unwrap();
    assert_eq!(
        site.state().hub.verdicts()[2..4],
        ["d-b SlurmMember False NotInSlurm", "d-b SlurmSchedulable False NotMember",]
    );
}

#[tokio::test]
async fn absence_is_asked_for_twice_and_then_believed() {
    let site = site(&["a", "b"]).await;
    site.state().slurm.nodes.remove("b");
    fresh_tick(&site, T).await.unwrap();
    assert_eq!((site.count("GET", "/nodes"), site.count("GET", "/node/b")), (1, 1));
    fresh_tick(&site, T + 60).await.unwrap();
    site.conversation();
    fresh_tick(&site, T + 120).await.unwrap();
    assert_eq!((site.count("GET", "/nodes"), site.count("GET", "/node/b")), (1, 0));
}

#[tokio::test]
async fn nodes_that_vanish_all_at_once_are_no_verdict() {
    let site = site(&["a", "b", "c", "d", "e"]).await;
    fresh_tick(&site, T).await.unwrap();
    let before = site.state().hub.conditions.clone();
    site.conversation();
    for (old, new) in [("a", "A"), ("b", "B"), ("c", "C"), ("d", "D"), ("e", "E")] {
        site.state().slurm.nodes.remove(old);
        site.state().slurm.put(new, &["IDLE"], "");
    }
    let failure = fresh_tick(&site, T + 60).await.unwrap_err();
    assert_eq!((failure.code, failure.step), (Code::NamingOrApiChanged, "look"));
    assert_eq!(failure.message, "5 of the site's 5 nodes vanished at once");
    assert_eq!(posted(&site), Vec::<Value>::new());
    assert_eq!(site.state().hub.conditions, before);
    assert_eq!(site.state().hub.good_at, Some(Timestamp::from_second(T).unwrap()));

    // but nobody may believe the old rows for ever
    fresh_tick(&site, T + 300).await.unwrap_err();
    let unknown = |v: &String| v.ends_with(" Unknown SlurmUnreachable");
    assert!(site.state().hub.verdicts().iter().all(unknown), "{:?}", site.state().hub.verdicts());
}

#[tokio::test]
async fn nodes_that_cannot_be_read_have_not_vanished() {
    let names = ["a", "b", "c", "d", "e"];
    let site = site(&names).await;
    fresh_tick(&site, T).await.unwrap();
    for name in names {
        site.state().slurm.nodes.get_mut(name).unwrap()["state"] = Value::from(7);
    }
    let outcome = fresh_tick(&site, T + 60).await.unwrap();
    assert_eq!((outcome.end, outcome.written), (End::Seen, 0));
}

#[tokio::test]
async fn two_devices_of_one_node_are_left_alone() {
    let site = site(&["a", "b", "c"]).await;
    site.state().hub.rename(1, "a");
    let outcome = fresh_tick(&site, T).await.unwrap();
    assert_eq!((outcome.devices, outcome.devices_in_conflict, outcome.written), (3, 2, 2));
    assert_eq!(
        site.state().hub.verdicts(),
        ["d-c SlurmMember True Known", "d-c SlurmSchedulable True Idle",]
    );
}

#[tokio::test]
async fn case_b05_a_node_that_cannot_be_read_spoils_nobody_and_is_not_absent() {
    let site = site(&["a", "b"]).await;
    fresh_tick(&site, T).await.unwrap();
    site.state().slurm.nodes.get_mut("b").unwrap()["state"] = Value::from(7);
    site.state().slurm.put("a", &["IDLE", "SOME_NEW_FLAG_2027"], "");
    let outcome = fresh_tick(&site, T + 60).await.unwrap();
    assert_eq!((outcome.end, outcome.unknown_tokens), (End::Seen, 1));
    let rows = posted(&site);
    let last = rows.last().unwrap();
    let message = "a is IDLE+SOME_NEW_FLAG_2027 (unknown to this release: SOME_NEW_FLAG_2027)";
    assert_eq!((&last["device_id"], &last["message"]), (&"d-a".into(), &message.into()));
    assert_eq!(
        site.state().hub.verdicts()[2..4],
        ["d-b SlurmMember True Known", "d-b SlurmSchedulable True Idle",]
    );
}

#[tokio::test]
async fn a_write_whose_answer_is_lost_is_read_back() {
    let site = site(&["a"]).await;
    let (poller, world) = (Poller::default(), site.world());
    site.state().faults.push(Fault { method: "POST", path: "/device-conditions/", answer: Answer::Lost });
    let failure = tick(&poller, &world, T).await.unwrap_err();
    assert_eq!((failure.code, failure.step), (Code::HubUnavailable, "write"));
    assert_eq!(site.state().hub.good_at, None);
    site.conversation();
    let outcome = tick(&poller, &world, T + 60).await.unwrap();
    assert_eq!((outcome.end, outcome.written), (End::Seen, 0));
    assert_eq!(site.count("GET", "/device-conditions/"), 1);
}
