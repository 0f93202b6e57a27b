//! Adoption, from the hub's row to a closed node.

use activities::adopt::{Outcome, Request, adopt};
use activities::plan::Made;
use activities::{Attempt, Class, Code, Failure};
use model::{Actor, DeviceId, DrainReason, NodeSource, RequestId};
use serde_json::{Value, json};

use crate::site::{Answer, Fate, Fault, Site, attempt, hub, slurm, within_ceiling};

pub(crate) const MARK: &str = "fleet:adopt r-1: ada: new rack";

pub(crate) fn request(id: &str) -> Request {
    Request {
        id: RequestId::parse(id).unwrap(),
        device: DeviceId::parse("d-gpu-1").unwrap(),
        actor: Actor::parse("ada").unwrap(),
        why: DrainReason::parse("new rack").unwrap(),
        dry_run: false,
    }
}

/// A site whose one device has no server, and whose next server registers as this node.
async fn site(states: &[&str], reason: &str) -> Site {
    let site = Site::start().await;
    {
        let mut state = site.state();
        state.hub.with_devices(&["gpu-1"]);
        let mut node = slurm::node("gpu-1", states);
        node["reason"] = json!(reason);
        state.slurm.boots = Some(node);
        state.slurm.looks_before_registration = 1;
    }
    site
}

/// A site whose image registers closed.
pub(crate) async fn registers_closed() -> Site {
    site(&["IDLE", "DRAIN", "DYNAMIC_NORM"], "fleet:registering").await
}

/// One attempt, by a process that has just started.
pub(crate) async fn run(site: &Site, number: u32) -> Result<Outcome, Failure> {
    run_as(site, attempt(number, 1_790_000_100), "r-1").await
}

pub(crate) async fn run_as(site: &Site, attempt: Attempt, id: &str) -> Result<Outcome, Failure> {
    within_ceiling(adopt(&site.world(), &attempt, &request(id))).await
}

pub(crate) fn state_of(site: &Site) -> (Value, Value, Value) {
    let node = site.state().slurm.nodes["gpu-1"].clone();
    (node["state"].clone(), node["reason"].clone(), node["extra"].clone())
}

#[tokio::test]
async fn the_conversation_of_an_adoption_whose_node_registers_closed() {
    let site = registers_closed().await;
    let outcome = run(&site, 1).await.unwrap();
    insta::assert_snapshot!(site.conversation());
    assert_eq!(outcome.server.unwrap().as_str(), "server-1");
    assert_eq!(outcome.plan.differences, ["there is no server", "SLURM has no node gpu-1"]);
    assert_eq!(outcome.made, Some(Made::Created));
    assert_eq!(outcome.warnings, Vec::<String>::new());
    let closed = json!(["IDLE", "DRAIN", "DYNAMIC_NORM"]);
    assert_eq!(state_of(&site), (closed, json!(MARK), json!("fleet:r-1")));
    assert_eq!(site.state().hub.devices[0].server_id.as_ref().unwrap().as_str(), "server-1");
}

#[tokio::test]
async fn adopted_twice_the_second_run_only_reads() {
    let site = registers_closed().await;
    let first = run(&site, 1).await.unwrap();
    site.conversation();
    let second = run_as(&site, attempt(1, 1_790_000_200), "r-2").await.unwrap();
    assert_eq!(second.plan.differences, Vec::<String>::new());
    assert_eq!((second.server, second.made), (first.server, None));
    assert_eq!(site.writes().len(), 0);
    assert_eq!(site.count("GET", "/servers/detail"), 1);
    assert_eq!(state_of(&site).1, MARK);
}

#[tokio::test]
async fn a_dry_run_plans_and_writes_nothing() {
    let site = registers_closed().await;
    let request = Request { dry_run: true, ..request("r-1") };
    let outcome = adopt(&site.world(), &attempt(1, 1_790_000_100), &request).await.unwrap();
    assert_eq!((outcome.dry_run, outcome.server), (true, None));
    assert_eq!(outcome.plan.differences, ["there is no server", "SLURM has no node gpu-1"]);
    assert_eq!(site.writes().len(), 0);
}

#[tokio::test]
async fn case_b36_a_create_answered_503_and_done_makes_one_server() {
    let site = registers_closed().await;
    site.state().faults.push(Fault { method: "POST", path: "/servers", answer: Answer::Status(503) });
    run(&site, 1).await.unwrap();
    assert_eq!(site.count("POST", "/servers"), 1);
    assert_eq!(site.state().openstack.servers.len(), 1);
}

#[tokio::test]
async fn case_b36_a_create_whose_answer_is_lost_makes_one_server() {
    let site = registers_closed().await;
    site.state().faults.push(Fault { method: "POST", path: "/servers", answer: Answer::Lost });
    run(&site, 1).await.unwrap();
    assert_eq!(site.count("POST", "/servers"), 1);
    assert_eq!(site.state().openstack.servers.len(), 1);
}

#[tokio::test]
async fn a_later_attempt_joins_the_server_of_one_that_died() {
    let site = registers_closed().await;
    // it dies where the hub is told of the server
    site.state().faults.push(Fault { method: "PATCH", path: "/d-gpu-1", answer: Answer::Status(400) });
    let died = run(&site, 1).await.unwrap_err();
    assert_eq!((died.code, died.step), (Code::HubRefused, "record_server"));
    let outcome = run(&site, 2).await.unwrap();
    assert_eq!(outcome.made, Some(Made::Created));
    assert_eq!(site.count("POST", "/servers"), 1);
    assert_eq!(state_of(&site).1, MARK);
}

#[tokio::test]
async fn a_node_that_registered_and_was_never_marked_is_marked() {
    let site = registers_closed().await;
    // it dies where the node is marked
    site.state().faults.push(Fault { method: "POST", path: "/node/gpu-1", answer: Answer::Status(422) });
    let died = run(&site, 1).await.unwrap_err();
    assert_eq!((died.code, died.step), (Code::SlurmRefused, "wait_registered"));
    site.state().slurm.put("gpu-1", &["IDLE", "DRAIN"], "fleet:registering");
    let outcome = run_as(&site, attempt(1, 1_790_000_200), "r-1").await.unwrap();
    assert_eq!(outcome.plan.differences, Vec::<String>::new());
    assert_eq!(state_of(&site).1, MARK);
}

pub(crate) fn servers(site: &Site) -> Vec<Value> {
    site.state().openstack.servers.iter().map(|s| s["id"].clone()).collect()
}

#[tokio::test]
async fn what_an_earlier_request_left_unplaced_goes_before_the_new_server() {
    let site = registers_closed().await;
    site.state().openstack.put_failed("server-0", "d-gpu-1", "r-0");
    run(&site, 1).await.unwrap();
    let writes: Vec<String> =
        site.writes().iter().take(2).map(|c| format!("{} {}", c.method, c.path)).collect();
    assert_eq!(writes, ["DELETE /v2.1/servers/server-0", "POST /v2.1/servers"]);
    assert_eq!(servers(&site), ["server-1"]);
}

#[tokio::test]
async fn case_b36_a_failed_twin_of_this_request_is_deleted_and_the_good_one_kept() {
    let site = registers_closed().await;
    run(&site, 1).await.unwrap();
    site.state().openstack.put_failed("server-2", "d-gpu-1", "r-1");
    run(&site, 2).await.unwrap();
    assert_eq!(servers(&site), ["server-1"]);
    assert_eq!(site.count("POST", "/servers"), 1);
}

#[tokio::test]
async fn case_b13_a_foreign_drain_is_refused_without_one_write() {
    let site = Site::start().await;
    {
        let mut state = site.state();
        state.hub.with_devices(&["gpu-1"]);
        state.hub.config = hub::config(NodeSource::Static);
        state.slurm.put("gpu-1", &["IDLE", "DRAIN"], "bad DIMM A3 [alice]");
    }
    let failure = run(&site, 1).await.unwrap_err();
    assert_eq!(
        (failure.code, failure.class, failure.step),
        (Code::DrainNotOurs, Class::NeedsHuman, "close_node")
    );
    assert_eq!(failure.message, "gpu-1 is DRAIN+IDLE and not by us: bad DIMM A3 [alice]");
    assert_eq!(site.writes().len(), 0);
    assert_eq!(state_of(&site).1, "bad DIMM A3 [alice]");
}

#[tokio::test]
async fn case_b13_a_foreign_drain_of_an_adopted_node_is_refused_too() {
    let site = registers_closed().await;
    run(&site, 1).await.unwrap();
    site.state().slurm.put("gpu-1", &["IDLE", "DRAIN"], "bad DIMM A3 [alice]");
    site.conversation();
    let failure = run_as(&site, attempt(1, 1_790_000_200), "r-2").await.unwrap_err();
    assert_eq!(failure.code, Code::DrainNotOurs);
    assert_eq!(site.writes().len(), 0);
}

#[tokio::test]
async fn a_static_node_is_closed_and_emptied_before_nova_is_asked() {
    let site = registers_closed().await;
    {
        let mut state = site.state();
        state.hub.config = hub::config(NodeSource::Static);
        state.slurm.put("gpu-1", &["IDLE"], "");
        let held = json!([{"job_id": 7, "name": "x", "job_state": ["SUSPENDED"], "nodes": "gpu-[1-2]"}]);
        state.slurm.jobs = vec![held, json!([])];
        let mut reborn = slurm::node("gpu-1", &["IDLE", "DRAIN"]);
        reborn["reason"] = json!(MARK);
        reborn["extra"] = json!("fleet:r-1");
        reborn["slurmd_start_time"]["number"] = json!(1_790_000_500);
        state.slurm.boots = Some(reborn);
    }
    run(&site, 1).await.unwrap();
    let conversation = site.conversation();
    let at = |line: &str| conversation.lines().position(|l| l.starts_with(line)).unwrap();
    assert!(at("POST /slurm/v0.0.45/node/gpu-1 {\"state\":[\"DRAIN\"]}") < at("GET /slurm/v0.0.45/jobs"));
    assert!(at("GET /slurm/v0.0.45/jobs") < at("POST /v2.1/servers"));
    assert_eq!(conversation.matches("GET /slurm/v0.0.45/jobs").count(), 2);
    let metadata = site.state().openstack.servers[0]["metadata"].clone();
    assert_eq!(metadata["fleet_slurmd_before"], "1790000000");
    assert_eq!(metadata.get("fleet_slurm_conf"), None);
}

#[tokio::test]
async fn a_reason_that_an_earlier_closing_left_on_an_open_node_is_nobodys() {
    let site = registers_closed().await;
    {
        let mut state = site.state();
        state.hub.config = hub::config(NodeSource::Static);
        state.slurm.put("gpu-1", &["IDLE"], "fw2");
        let mut reborn = slurm::node("gpu-1", &["IDLE", "DRAIN"]);
        reborn["reason"] = json!(MARK);
        reborn["extra"] = json!("fleet:r-1");
        reborn["slurmd_start_time"]["number"] = json!(1_790_000_500);
        state.slurm.boots = Some(reborn);
    }
    run(&site, 1).await.unwrap();
    assert_eq!(state_of(&site).1, json!(MARK));
}

#[tokio::test]
async fn a_static_node_that_slurm_lacks_is_refused_before_nova_is_asked() {
    let site = registers_closed().await;
    site.state().hub.config = hub::config(NodeSource::Static);
    let failure = run(&site, 1).await.unwrap_err();
    assert_eq!(failure.code, Code::NodeUnknown);
    assert_eq!(site.writes().len(), 0);
}

#[tokio::test]
async fn a_node_first_seen_open_is_drained_and_said_so() {
    let site = site(&["IDLE", "DYNAMIC_NORM"], "").await;
    let job = json!([{"job_id": 7, "name": "early", "job_state": ["RUNNING"], "nodes": "gpu-1"}]);
    site.state().slurm.jobs = vec![job, json!([])];
    let outcome = run(&site, 1).await.unwrap();
    assert_eq!(outcome.warnings, ["opened at registration"]);
    let closed = json!(["IDLE", "DYNAMIC_NORM", "DRAIN"]);
    assert_eq!(state_of(&site), (closed, json!(MARK), json!("fleet:r-1")));
    assert_eq!(site.count("GET", "/jobs"), 2);
}

#[tokio::test]
async fn case_b42_a_server_in_error_fails_at_once_with_its_text() {
    let site = registers_closed().await;
    site.state().openstack.fate = Fate::Error("Exceeded maximum number of retries. Exhausted all hosts.");
    let failure = run(&site, 1).await.unwrap_err();
    assert_eq!(
        (failure.code, failure.class, failure.step),
        (Code::ServerError, Class::NeedsHuman, "wait_active")
    );
    let text = "server server-1 is in ERROR: Exceeded maximum number of retries. Exhausted all hosts.";
    assert_eq!(failure.message, text);
    assert!(site.state().slurm.nodes.is_empty());
    assert_eq!(site.count("DELETE", "/server-1"), 0);
    assert_eq!(site.state().hub.devices[0].server_id.as_ref().unwrap().as_str(), "server-1");
}

#[tokio::test]
async fn case_b25_no_valid_host_is_its_own_code() {
    let site = registers_closed().await;
    site.state().openstack.fate = Fate::Error("No valid host was found. ");
    let failure = run(&site, 1).await.unwrap_err();
    assert_eq!((failure.code, failure.field.as_str()), (Code::NoValidHost, "nova_host"));
}

#[tokio::test]
async fn case_b24_a_node_that_registers_invalid_is_never_adopted() {
    let reason = "gres/gpu count reported lower than configured (0 < 4)";
    let site = site(&["IDLE", "DRAIN", "INVALID_REG", "DYNAMIC_NORM"], reason).await;
    let failure = run(&site, 1).await.unwrap_err();
    assert_eq!((failure.code, failure.step), (Code::ConfigMismatch, "wait_registered"));
    assert!(failure.message.ends_with(reason), "{}", failure.message);
}

#[tokio::test]
async fn case_b26_a_node_with_the_old_resources_stays_closed() {
    let site = registers_closed().await;
    site.state().slurm.boots.as_mut().unwrap()["gres"] = json!("gpu:h100:8");
    let failure = run(&site, 1).await.unwrap_err();
    assert_eq!((failure.code, failure.step), (Code::ConfigMismatch, "check_node"));
    let said = "gpu-1 is not what its row says (it stays closed): \
                gpu-1 has GRES `gpu:h100:8`, the row says `gpu:h100:4`";
    assert_eq!(failure.message, said);
    assert_eq!(state_of(&site).1, MARK);
}

#[tokio::test]
async fn case_b16_the_slurmd_of_before_is_no_registration() {
    let site = registers_closed().await;
    let mut old = slurm::node("gpu-1", &["IDLE", "DRAIN"]);
    old["reason"] = json!("fleet:adopt r-0: ada: before");
    {
        let mut state = site.state();
        state.slurm.nodes.insert("gpu-1".to_owned(), old);
        state.slurm.looks_before_registration = 4;
        state.slurm.boots.as_mut().unwrap()["slurmd_start_time"]["number"] = json!(1_790_000_500);
    }
    run(&site, 1).await.unwrap();
    // it was looked at until the new slurmd was there
    assert_eq!(site.state().slurm.looks_before_registration, 0);
    assert_eq!(site.state().slurm.nodes["gpu-1"]["slurmd_start_time"]["number"], 1_790_000_500);
}

#[tokio::test]
async fn a_null_flavor_stops_the_role_before_openstack_is_asked() {
    let site = registers_closed().await;
    site.state().hub.config.draft.flavor = None;
    let failure = run(&site, 1).await.unwrap_err();
    assert_eq!((failure.code, failure.field.as_str()), (Code::BootstrapIncomplete, "flavor"));
    assert_eq!(failure.message, "role gpu: flavor is null");
    assert_eq!(site.count("POST", "/v3/auth/tokens"), 0);
}
