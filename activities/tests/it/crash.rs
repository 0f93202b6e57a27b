//! Every activity broken at every request: the process dies before it or after it, or lives and the
//! answer is lost. Whatever is broken, the next attempt ends where an unbroken one does, with one
//! server and no foreign word touched.

use activities::adopt::adopt;
use activities::poll_conditions::Poller;
use activities::resume::resume;
use activities::{Attempt, Failure, World};
use futures::future::{BoxFuture, join_all};
use model::DeviceId;
use serde_json::{Value, json};

use crate::adopt::{MARK, registers_closed, request};
use crate::site::{Break, Site, attempt, within_ceiling};

const BREAKS: [Break; 3] = [Break::Before, Break::After, Break::Lost];
const T: i64 = 1_790_000_000;

/// Runs an activity until it ends or its process dies; whether it ended well.
async fn survives(site: &Site, run: Run) -> bool {
    within_ceiling(async {
        tokio::select! {
            result = run => result.is_ok(),
            () = site.dies() => false,
        }
    })
    .await
}

/// How many requests an unbroken run makes.
async fn requests(site: &Site, run: Run) -> usize {
    site.conversation();
    within_ceiling(run).await.unwrap();
    site.conversation().lines().count()
}

/// An activity by a process of its own.
type Run = BoxFuture<'static, Result<(), Failure>>;

fn adoption(world: World, attempt: Attempt) -> Run {
    Box::pin(async move { adopt(&world, &attempt, &request("r-1")).await.map(drop) })
}

fn resumption(world: World, attempt: Attempt) -> Run {
    let device = DeviceId::parse("d-gpu-1").unwrap();
    Box::pin(async move { resume(&world, &attempt, &device).await.map(drop) })
}

fn tick(world: World, second: i64) -> Run {
    Box::pin(async move { Poller::default().poll(&world, &attempt(1, second)).await.map(drop) })
}

/// What an adoption leaves.
fn adopted(site: &Site) -> Value {
    let state = site.state();
    let node = &state.slurm.nodes["gpu-1"];
    json!({
        "servers": state.openstack.servers.iter().map(|s| s["id"].clone()).collect::<Vec<_>>(),
        "device": state.hub.devices[0].server_id.as_ref().map(ToString::to_string),
        "node": [node["state"], node["reason"], node["extra"]],
    })
}

#[tokio::test]
async fn an_adoption_broken_anywhere_ends_with_one_server_and_our_mark() {
    let whole = registers_closed().await;
    let steps = requests(&whole, adoption(whole.world(), attempt(1, T))).await;
    assert!(steps >= 18, "{steps}");
    let end = adopted(&whole);
    assert_eq!((&end["servers"], &end["node"][1]), (&json!(["server-1"]), &json!(MARK)));
    let cells = (1..=steps).flat_map(|n| BREAKS.map(|b| (n, b)));
    let broken = cells.map(|(n, how)| {
        let end = end.clone();
        async move {
            let site = registers_closed().await;
            site.state().broken = Some((n, how));
            if !survives(&site, adoption(site.world(), attempt(1, T))).await {
                let again = within_ceiling(adoption(site.world(), attempt(2, T))).await;
                again.unwrap_or_else(|f| panic!("request {n}, {how:?}: {f}"));
            }
            assert_eq!(adopted(&site), end, "request {n}, {how:?}");
            assert_eq!(site.state().openstack.servers.len(), 1, "request {n}, {how:?}");
        }
    });
    join_all(broken).await;
}

#[tokio::test]
async fn a_resumption_broken_anywhere_ends_with_an_open_node() {
    let closed = || async {
        let site = Site::start().await;
        {
            let mut state = site.state();
            state.hub.with_devices(&["gpu-1"]);
            state.slurm.put("gpu-1", &["IDLE", "DRAIN"], MARK);
            state.slurm.nodes.get_mut("gpu-1").unwrap()["extra"] = json!("fleet:r-1");
        }
        site
    };
    let node = |site: &Site| {
        let node = site.state().slurm.nodes["gpu-1"].clone();
        json!([node["state"], node["reason"], node["extra"]])
    };
    let whole = closed().await;
    let steps = requests(&whole, resumption(whole.world(), attempt(1, T))).await;
    assert!(steps >= 6, "{steps}");
    assert_eq!(node(&whole), json!([["IDLE"], "", ""]));
    for (n, how) in (1..=steps).flat_map(|n| BREAKS.map(|b| (n, b))) {
        let site = closed().await;
        site.state().broken = Some((n, how));
        if !survives(&site, resumption(site.world(), attempt(1, T))).await {
            let again = within_ceiling(resumption(site.world(), attempt(2, T))).await;
            again.unwrap_or_else(|f| panic!("request {n}, {how:?}: {f}"));
        }
        assert_eq!(node(&site), json!([["IDLE"], "", ""]), "request {n}, {how:?}");
        let resumes = site.writes().iter().filter(|c| c.body["state"] == json!(["RESUME"])).count();
        assert!(resumes <= 1, "request {n}, {how:?}: {resumes} times RESUME");
    }
}

#[tokio::test]
async fn a_tick_broken_anywhere_is_made_good_by_the_next() {
    let fresh = || async {
        let site = Site::start().await;
        {
            let mut state = site.state();
            state.hub.with_devices(&["a", "b"]);
            state.slurm.put("a", &["IDLE"], "");
            state.slurm.put("b", &["IDLE", "DRAIN"], "bad DIMM A3 [alice]");
        }
        site
    };
    let whole = fresh().await;
    let steps = requests(&whole, tick(whole.world(), T)).await;
    assert!(steps >= 7, "{steps}");
    let end = whole.state().hub.verdicts();
    assert_eq!(end.len(), 4);
    for (n, how) in (1..=steps).flat_map(|n| BREAKS.map(|b| (n, b))) {
        let site = fresh().await;
        site.state().broken = Some((n, how));
        survives(&site, tick(site.world(), T)).await;
        within_ceiling(tick(site.world(), T + 60)).await.unwrap_or_else(|f| panic!("{n}, {how:?}: {f}"));
        assert_eq!(site.state().hub.verdicts(), end, "request {n}, {how:?}");
        assert_eq!(site.state().hub.good_at.map(|t| t.as_second()), Some(T + 60), "request {n}, {how:?}");
        let node = site.state().slurm.nodes["b"].clone();
        assert_eq!(node["reason"], "bad DIMM A3 [alice]", "request {n}, {how:?}");
    }
}
