//! Adoption, from the hub's row to a closed node.

use activities::adopt::{Outcome, Request, adopt};
use activities::plan::Made;
use activities::{Asked, Attempt, Code, Failure};
use fakes::{Behaviour, Boot, JobSeed, NodeSeed, Registers};
use jiff::Timestamp;
use model::{Actor, DeviceId, DrainReason, RequestId};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::broken::created;
use crate::site::{Setup, Site, T, attempt, node, within_ceiling};

pub(crate) const MARK: &str = "fleet:adopt r-1: ada: new rack";

/// What Ada asks of the device of gpu-1.
pub(crate) fn asked(id: &str) -> Asked {
    Asked {
        id: RequestId::parse(id).unwrap(),
        device: DeviceId::parse("d-gpu-1").unwrap(),
        actor: Actor::parse("ada").unwrap(),
        why: DrainReason::parse("new rack").unwrap(),
        force: false,
    }
}

pub(crate) fn request(id: &str) -> Request {
    Request { asked: asked(id), dry_run: false }
}

/// A site whose one device has no server, and whose image registers closed.
pub(crate) async fn registers_closed() -> Site {
    Site::start(Setup::of(&["gpu-1"])).await
}

/// The same, with a machine that behaves so.
pub(crate) async fn with_machine(behaviour: Behaviour) -> Site {
    let site = registers_closed().await;
    site.fakes.cloud.behave("gpu-1.rack", &behaviour);
    site
}

/// A site whose one device is this static node.
pub(crate) async fn with_static(node: NodeSeed) -> Site {
    Site::start(Setup::of(&["gpu-1"]).with_static_nodes().with_nodes([node])).await
}

/// One attempt, by a process that has just started.
pub(crate) async fn run(site: &Site, number: u32) -> Result<Outcome, Failure> {
    run_as(site, attempt(number, T), "r-1").await
}

pub(crate) async fn run_as(site: &Site, attempt: Attempt, id: &str) -> Result<Outcome, Failure> {
    within_ceiling(adopt(&site.world(), &attempt, &request(id))).await
}

/// The node's state, its words joined by `+`, its reason and its `extra`.
pub(crate) fn state_of(site: &Site) -> [String; 3] {
    let node = site.fakes.slurm.node("gpu-1").unwrap_or_default();
    let text = |key: &str| node[key].as_str().unwrap_or_default().to_owned();
    [site.fakes.slurm.state("gpu-1"), text("reason"), text("extra")]
}

pub(crate) fn servers(site: &Site) -> Vec<String> {
    site.fakes.cloud.servers().iter().map(|s| s["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn the_conversation_of_an_adoption_whose_node_registers_closed() {
    let site = registers_closed().await;
    let outcome = run(&site, 1).await.unwrap();
    insta::assert_snapshot!(site.conversation());
    assert_eq!(outcome.plan.differences, ["there is no server", "SLURM has no node gpu-1"]);
    assert_eq!(outcome.made, Some(Made::Created));
    assert_eq!(outcome.warnings, Vec::<String>::new());
    assert_eq!(state_of(&site), ["IDLE+DRAIN+DYNAMIC_NORM", MARK, "fleet:r-1"]);
    let server = outcome.server.unwrap();
    assert_eq!(servers(&site), [server.as_str()]);
    assert_eq!(site.device("gpu-1").await.server_id, Some(server));
}

#[tokio::test]
async fn the_conversation_of_an_adoption_of_a_static_node() {
    let site = with_static(node("gpu-1", &["IDLE"], "")).await;
    run(&site, 1).await.unwrap();
    insta::assert_snapshot!(site.conversation());
    assert_eq!(state_of(&site), ["IDLE+DRAIN", MARK, "fleet:r-1"]);
}

#[tokio::test]
async fn the_conversation_of_an_adoption_of_a_node_made_by_rest() {
    let site = created().await;
    let outcome = run(&site, 1).await.unwrap();
    insta::assert_snapshot!(site.conversation());
    assert_eq!((outcome.made, outcome.warnings), (Some(Made::Created), Vec::new()));
    assert_eq!(state_of(&site), ["IDLE+CLOUD+DRAIN+DYNAMIC_NORM", MARK, "fleet:r-1"]);
}

#[tokio::test]
async fn adopted_twice_the_second_run_only_reads() {
    let site = registers_closed().await;
    let first = run(&site, 1).await.unwrap();
    site.conversation();
    let second = run_as(&site, attempt(1, T + 100), "r-2").await.unwrap();
    assert_eq!(second.plan.differences, Vec::<String>::new());
    assert_eq!((second.server, second.made), (first.server, None));
    assert_eq!(site.written(), Vec::<String>::new());
    insta::assert_snapshot!(site.conversation());
    assert_eq!(state_of(&site)[1], MARK);
}

#[tokio::test]
async fn a_dry_run_plans_and_writes_nothing() {
    let site = registers_closed().await;
    let request = Request { dry_run: true, ..request("r-1") };
    let outcome = adopt(&site.world(), &attempt(1, T), &request).await.unwrap();
    assert_eq!((outcome.dry_run, outcome.server), (true, None));
    assert_eq!(outcome.plan.differences, ["there is no server", "SLURM has no node gpu-1"]);
    assert_eq!(site.written(), Vec::<String>::new());
}

#[tokio::test]
async fn a_static_node_is_closed_and_emptied_before_nova_is_asked() {
    let site = with_static(node("gpu-1", &["IDLE"], "")).await;
    let job = site.fakes.slurm.run(JobSeed::on(&["gpu-1"]));
    site.fakes.slurm.suspend(job);
    let (world, request) = (site.world(), request("r-1"));
    let started = Timestamp::from_second(T).unwrap();
    let (attempt, mut progress) = Attempt::new(1, started, None, CancellationToken::new());
    let job_ends = async {
        let waits = "1 job holds gpu-1 (DRAIN+IDLE): 1; not all have a time by which they must end";
        progress.wait_for(|p| p.step == "wait_empty" && p.waiting_for == waits).await.unwrap();
        assert_eq!(site.fakes.cloud.servers(), Vec::<Value>::new());
        site.fakes.slurm.finish(job, 0);
    };
    let (result, ()) =
        within_ceiling(async { tokio::join!(adopt(&world, &attempt, &request), job_ends) }).await;
    result.unwrap();
    let writes = site.written();
    let first = ["POST /slurm/v0.0.45/node/gpu-1 {\"extra\":\"fleet:r-1\",\"state\":[\"DRAIN\"]}"];
    assert_eq!(writes[..1], first);
    let metadata = site.fakes.cloud.servers()[0]["metadata"].clone();
    assert_eq!(metadata["fleet_slurmd_before"], "1790000000");
    assert_eq!(metadata.get("fleet_slurm_conf"), None);
}

#[tokio::test]
async fn a_reason_that_an_earlier_closing_left_on_an_open_node_is_nobodys() {
    let site = with_static(node("gpu-1", &["IDLE"], "fw2")).await;
    run(&site, 1).await.unwrap();
    assert_eq!(state_of(&site)[1], MARK);
}

#[tokio::test]
async fn the_extra_of_others_is_left_as_it_is() {
    let extra = "{\"rack\":7}".to_owned();
    let site = with_static(NodeSeed { extra, ..node("gpu-1", &["IDLE"], "") }).await;
    run(&site, 1).await.unwrap();
    assert_eq!(state_of(&site)[1..], [MARK, "{\"rack\":7}"]);
}

#[tokio::test]
async fn a_node_first_seen_open_is_drained_and_said_so() {
    let site = with_machine(Behaviour { registers: Registers::Open, ..Behaviour::default() }).await;
    let early = site.fakes.slurm.submit(JobSeed::on(&[]));
    let outcome = run(&site, 1).await.unwrap();
    assert_eq!(outcome.warnings, ["opened at registration"]);
    assert_eq!(state_of(&site), ["IDLE+DRAIN+DYNAMIC_NORM", MARK, "fleet:r-1"]);
    let job = site.fakes.slurm.job(early).unwrap();
    assert_eq!((&job["nodes"], &job["job_state"][0]), (&"gpu-1".into(), &"COMPLETED".into()));
}

#[tokio::test]
async fn case_b16_the_slurmd_of_before_is_no_registration() {
    let old = node("gpu-1", &["IDLE", "DRAIN", "DYNAMIC_NORM"], "fleet:adopt r-0: ada: before");
    let site = Site::start(Setup::of(&["gpu-1"]).with_nodes([old])).await;
    site.fakes.cloud.behave("gpu-1.rack", &Behaviour { boot: Boot::Takes(6), ..Behaviour::default() });
    let before = site.fakes.slurm.node("gpu-1").unwrap()["slurmd_start_time"].clone();
    run(&site, 1).await.unwrap();
    let spawned = site.fakes.log().iter().position(|r| r.method == "PATCH").unwrap();
    let looks = |r: &&fakes::Request| r.method == "GET" && r.path.ends_with("/node/gpu-1");
    // it was looked at until the new slurmd was there
    assert!(site.fakes.log().iter().skip(spawned).filter(looks).count() > 3);
    assert_ne!(site.fakes.slurm.node("gpu-1").unwrap()["slurmd_start_time"], before);
}

#[tokio::test]
async fn a_node_that_registered_and_was_never_marked_is_marked() {
    let site = registers_closed().await;
    // it dies where the node is marked
    let refused = fakes::Answer::Status { code: 422, body: Value::Null };
    site.fakes.fault(fakes::Fault::on(fakes::Service::Slurmrestd, "POST", "*/node/gpu-1", refused));
    let died = run(&site, 1).await.unwrap_err();
    assert_eq!((died.code, died.step), (Code::SlurmRefused, "wait_registered"));
    assert_eq!(state_of(&site)[1..], ["fleet:registering", ""]);
    let outcome = run_as(&site, attempt(1, T + 100), "r-1").await.unwrap();
    assert_eq!(outcome.plan.differences, Vec::<String>::new());
    assert_eq!(state_of(&site)[1..], [MARK, "fleet:r-1"]);
}

#[tokio::test]
async fn a_drain_of_ours_whose_attempt_died_before_it_gave_a_reason_is_ours() {
    let extra = "fleet:r-1".to_owned();
    let site = with_static(NodeSeed { extra, ..node("gpu-1", &["IDLE", "DRAIN"], "") }).await;
    run(&site, 2).await.unwrap();
    assert_eq!(state_of(&site), ["IDLE+DRAIN", MARK, "fleet:r-1"]);
}

#[tokio::test]
async fn a_node_that_registered_open_while_nobody_looked_is_closed() {
    let site = with_machine(Behaviour { registers: Registers::Open, ..Behaviour::default() }).await;
    // it dies where the hub is told of the server
    let refused = fakes::Answer::Status { code: 400, body: Value::Null };
    site.fakes.fault(fakes::Fault::on(fakes::Service::Beside("hub"), "PATCH", "*/d-gpu-1", refused));
    run(&site, 1).await.unwrap_err();
    site.fakes.ticks(10);
    assert_eq!(state_of(&site)[..2], ["IDLE+DYNAMIC_NORM", ""]);
    assert_eq!(run(&site, 2).await.unwrap().warnings, ["opened at registration"]);
    assert_eq!(state_of(&site), ["IDLE+DRAIN+DYNAMIC_NORM", MARK, "fleet:r-1"]);
}
