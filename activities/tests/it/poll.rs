//! The poller: the hub equals what was seen, or nothing is written.

use activities::poll_conditions::{End, Outcome, Poller};
use activities::{Code, Failure, World};
use fakes::{Answer, Fault, Service};
use jiff::Timestamp;
use model::{DeviceId, DevicePatch, NodeName};
use serde_json::{Value, json};

use crate::site::{Setup, Site, T, attempt, node};

/// A site of these devices, each an idle node.
pub(crate) async fn site(names: &[&str]) -> Site {
    let nodes = names.iter().map(|name| node(name, &["IDLE"], ""));
    Site::start(Setup::of(names).with_nodes(nodes)).await
}

pub(crate) async fn tick(poller: &Poller, world: &World, second: i64) -> Result<Outcome, Failure> {
    poller.poll(world, &attempt(1, second)).await
}

/// A tick by a process that has just started.
pub(crate) async fn fresh_tick(site: &Site, second: i64) -> Result<Outcome, Failure> {
    tick(&Poller::default(), &site.world(), second).await
}

/// The rows that were posted since the conversation was last forgotten.
pub(crate) fn posted(site: &Site) -> Vec<Value> {
    let posts = site.writes().into_iter().filter(|r| r.path.ends_with("/device-conditions/"));
    posts.flat_map(|r| r.body.unwrap_or_default()["rows"].as_array().cloned().unwrap_or_default()).collect()
}

/// slurmctld's next answers hold this node in a state that nobody can read.
fn garble(site: &Site, names: &[&str]) {
    let shown = |name: &&str| site.fakes.slurm.node(name).unwrap();
    let mut nodes: Vec<Value> =
        ["a", "b", "c", "d", "e"].iter().filter(|n| site.fakes.slurm.node(n).is_some()).map(shown).collect();
    nodes
        .iter_mut()
        .filter(|n| names.iter().any(|name| n["name"] == *name))
        .for_each(|n| n["state"] = json!(7));
    let answer = |nodes: Vec<Value>| Answer::Status {
        code: 200,
        body: json!({"nodes": nodes, "errors": [], "warnings": []}),
    };
    for name in names {
        let one = nodes.iter().find(|n| n["name"] == *name).unwrap().clone();
        let path = format!("*/node/{name}");
        site.fakes.fault(Fault::on(Service::Slurmrestd, "GET", &path, answer(vec![one])));
    }
    site.fakes.fault(Fault::on(Service::Slurmrestd, "GET", "*/nodes", answer(nodes)));
}

#[tokio::test]
async fn the_conversation_of_a_first_an_unchanged_and_a_steady_tick() {
    let site = site(&["a"]).await;
    let (poller, world) = (Poller::default(), site.world());
    tick(&poller, &world, T).await.unwrap();
    insta::assert_snapshot!("first", site.conversation());
    // whole list, or reckoned and node by node: that depends on how long the list took
    let rest = |site: &Site| {
        let said = site.conversation();
        let is_look = |l: &&str| l.contains("/nodes ") || l.contains("/node/");
        let looks = said.lines().filter(is_look).count();
        assert_eq!(looks, 1, "{said}");
        said.lines().filter(|l| !l.contains("/nodes") && !l.contains("/node/")).collect::<Vec<_>>().join("\n")
    };
    tick(&poller, &world, T + 60).await.unwrap();
    insta::assert_snapshot!("unchanged", rest(&site));
    tick(&poller, &world, T + 120).await.unwrap();
    insta::assert_snapshot!("steady", rest(&site));
}

#[tokio::test]
async fn a_first_tick_makes_the_hub_equal_to_what_was_seen() {
    let site = site(&["a", "b"]).await;
    site.fakes.slurm.put(node("b", &["IDLE", "DRAIN"], "bad DIMM A3 [alice]"));
    site.fakes.slurm.put(node("c", &["IDLE"], ""));
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
        site.verdicts().await,
        [
            "d-a SlurmMember True Known",
            "d-a SlurmSchedulable True Idle",
            "d-b SlurmMember True Known",
            "d-b SlurmSchedulable False Drained",
        ]
    );
    assert_eq!(site.good_at(T).await, Some(T));
    let message = posted(&site)[3]["message"].clone();
    assert_eq!(message, "b is DRAIN+IDLE: bad DIMM A3 [alice]");
}

#[tokio::test]
async fn case_b48_unchanged_ticks_write_no_row() {
    let site = site(&["a", "b", "c"]).await;
    let (poller, world) = (Poller::default(), site.world());
    assert_eq!(tick(&poller, &world, T).await.unwrap().written, 6);
    let before = site.person.conditions().await.unwrap();
    site.conversation();
    for n in 1..=10 {
        let outcome = tick(&poller, &world, T + 60 * n).await.unwrap();
        assert_eq!((outcome.end, outcome.written), (End::Seen, 0));
    }
    assert_eq!(posted(&site), Vec::<Value>::new());
    assert_eq!(site.person.conditions().await.unwrap(), before);
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
    site.person.claim(Timestamp::from_second(T + 60).unwrap()).await.unwrap().unwrap();
    assert_eq!(fresh_tick(&site, T).await.unwrap().end, End::Overtaken);
    assert_eq!(posted(&site), Vec::<Value>::new());
    assert_eq!(site.count("GET", "/nodes"), 0);
    assert_eq!(site.good_at(T + 60).await, None);
}

#[tokio::test]
async fn one_node_that_vanishes_is_pending_for_a_tick() {
    let site = site(&["a", "b", "c"]).await;
    fresh_tick(&site, T).await.unwrap();
    site.fakes.slurm.take_out("b");
    fresh_tick(&site, T + 60).await.unwrap();
    assert_eq!(
        site.verdicts().await[2..4],
        ["d-b SlurmMember True NotInSlurmPending", "d-b SlurmSchedulable True NotInSlurmPending"]
    );
    fresh_tick(&site, T + 120).await.unwrap();
    assert_eq!(
        site.verdicts().await[2..4],
        ["d-b SlurmMember False NotInSlurm", "d-b SlurmSchedulable False NotMember"]
    );
}

#[tokio::test]
async fn absence_is_asked_for_twice_and_then_believed() {
    let site = site(&["a", "b"]).await;
    site.fakes.slurm.take_out("b");
    fresh_tick(&site, T).await.unwrap();
    assert_eq!((site.count("GET", "/nodes"), site.count("GET", "/node/b")), (1, 1));
    fresh_tick(&site, T + 60).await.unwrap();
    site.conversation();
    fresh_tick(&site, T + 120).await.unwrap();
    assert_eq!((site.count("GET", "/nodes"), site.count("GET", "/node/b")), (1, 0));
}

#[tokio::test]
async fn nodes_that_cannot_be_read_have_not_vanished() {
    let names = ["a", "b", "c", "d", "e"];
    let site = site(&names).await;
    fresh_tick(&site, T).await.unwrap();
    garble(&site, &names);
    let outcome = fresh_tick(&site, T + 60).await.unwrap();
    assert_eq!((outcome.end, outcome.written), (End::Seen, 0));
    assert_eq!(site.fakes.faults_left(), 0);
}

#[tokio::test]
async fn two_devices_of_one_node_are_left_alone() {
    let site = site(&["a", "b", "c"]).await;
    let named = Some(Some(NodeName::parse("a").unwrap()));
    let patch = DevicePatch { slurm_node_name: named, ..DevicePatch::default() };
    site.person.update_device(&DeviceId::parse("d-b").unwrap(), &patch).await.unwrap();
    let outcome = fresh_tick(&site, T).await.unwrap();
    assert_eq!((outcome.devices, outcome.devices_in_conflict, outcome.written), (3, 2, 2));
    assert_eq!(site.verdicts().await, ["d-c SlurmMember True Known", "d-c SlurmSchedulable True Idle"]);
}

#[tokio::test]
async fn case_b05_a_node_that_cannot_be_read_spoils_nobody_and_is_not_absent() {
    let site = site(&["a", "b"]).await;
    fresh_tick(&site, T).await.unwrap();
    site.fakes.slurm.put(node("a", &["IDLE", "SOME_NEW_FLAG_2027"], ""));
    garble(&site, &["b"]);
    let outcome = fresh_tick(&site, T + 60).await.unwrap();
    assert_eq!((outcome.end, outcome.unknown_tokens), (End::Seen, 1));
    let rows = posted(&site);
    let last = rows.last().unwrap();
    let message = "a is IDLE+SOME_NEW_FLAG_2027 (unknown to this release: SOME_NEW_FLAG_2027)";
    assert_eq!((&last["device_id"], &last["message"]), (&"d-a".into(), &message.into()));
    assert_eq!(site.verdicts().await[2..4], ["d-b SlurmMember True Known", "d-b SlurmSchedulable True Idle"]);
}

#[tokio::test]
async fn a_write_whose_answer_is_lost_is_read_back() {
    let site = site(&["a"]).await;
    let (poller, world) = (Poller::default(), site.world());
    let lost = Fault::on(Service::Beside("hub"), "POST", "*/device-conditions/", Answer::DoneButLost);
    site.fakes.fault(lost);
    let failure = tick(&poller, &world, T).await.unwrap_err();
    assert_eq!((failure.code, failure.step), (Code::HubUnavailable, "write"));
    assert_eq!(site.good_at(T).await, None);
    site.conversation();
    let outcome = tick(&poller, &world, T + 60).await.unwrap();
    assert_eq!((outcome.end, outcome.written), (End::Seen, 0));
    assert_eq!(site.count("GET", "/device-conditions/"), 1);
}
