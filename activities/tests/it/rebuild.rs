//! Rebuild in place: the row has changed under a node that may run users' jobs.

use activities::adopt::{Outcome, Request, adopt};
use activities::plan::Made;
use activities::resume::resume;
use activities::{Class, Code};
use clients::slurm::NodeUpdate;
use fakes::{Answer, Behaviour, Event, EventKind, Fault, JobSeed, Rebuild, Registration, Service};
use model::{NodeName, UserData};
use serde_json::json;

use crate::adopt::{MARK, asked, request, run, run_as, servers, state_of};
use crate::site::{ANOTHER, Setup, Site, T, attempt, within_ceiling};

fn second_user_data() -> UserData {
    UserData::encode(b"#!/bin/sh\n: the second, fleet_slurm_conf\n")
}

/// A site whose one device was adopted and opened by an earlier request; then its row changed.
async fn changed() -> Site {
    let mut setup = Setup::of(&["gpu-1"]);
    // a job still runs when the adoption first asks for jobs
    setup.slurm.job_ticks = Some(24);
    let site = Site::start(setup).await;
    run_as(&site, attempt(1, T - 100), "r-0").await.unwrap();
    resumed(&site).await;
    let image = site.fakes.cloud.image_id(ANOTHER).unwrap();
    site.change_row(&json!({"image": image, "user_data": second_user_data().as_base64()})).await;
    site.conversation();
    site
}

async fn resumed(site: &Site) {
    let asked = asked("r-2");
    within_ceiling(resume(&site.world(), &attempt(1, T - 50), &asked)).await.unwrap();
}

/// The same, and a user's job runs on it.
pub(crate) async fn changed_and_busy() -> Site {
    let site = changed().await;
    site.fakes.slurm.submit(JobSeed::on(&["gpu-1"]));
    site.fakes.tick();
    assert_eq!(job(&site), "RUNNING");
    site.conversation();
    site
}

fn job(site: &Site) -> String {
    site.fakes.slurm.job(1).unwrap()["job_state"][0].as_str().unwrap().to_owned()
}

fn spawns(site: &Site) -> Vec<Event> {
    site.fakes.cloud.events().into_iter().filter(|e| e.kind == EventKind::Spawn).collect()
}

fn action(answer: Answer) -> Fault {
    Fault::on(Service::Nova, "POST", "*/action", answer)
}

fn behave(site: &Site, rebuild: Rebuild) {
    site.fakes.cloud.behave("gpu-1.rack", &Behaviour { rebuild, ..Behaviour::default() });
}

/// Nothing of the server was changed.
fn assert_untouched(site: &Site) {
    assert_eq!(site.count("POST", "/action"), 0);
    assert_eq!(spawns(site).len(), 1);
}

fn assert_rebuilt(site: &Site, outcome: &Outcome) {
    assert_eq!(outcome.made, Some(Made::Rebuilt));
    assert_eq!(servers(site), [outcome.server.as_ref().unwrap().as_str()]);
    let spawns = spawns(site);
    assert_eq!(spawns.len(), 2);
    assert_eq!((&spawns[1].uuid, &spawns[1].node), (&spawns[0].uuid, &spawns[0].node));
    assert_eq!(Some(&spawns[1].image), site.fakes.cloud.image_id(ANOTHER).as_ref());
    assert_eq!(spawns[1].user_data.as_deref(), Some(second_user_data().as_base64()));
    assert_eq!(spawns[1].metadata["fleet_request"], "r-1");
    assert_eq!(spawns[1].metadata["fleet_revision"], "2");
    assert_eq!(state_of(site), ["IDLE+DRAIN+DYNAMIC_NORM", MARK, "fleet:r-1"]);
}

#[tokio::test]
async fn the_conversation_of_a_rebuild() {
    let site = changed().await;
    let before = servers(&site);
    let outcome = run(&site, 1).await.unwrap();
    insta::assert_snapshot!(site.conversation());
    assert_rebuilt(&site, &outcome);
    assert_eq!(servers(&site), before);
    let image = |name| site.fakes.cloud.image_id(name).unwrap();
    let image = format!("image is {}, should be {}", image("slurm-node"), image(ANOTHER));
    assert_eq!(outcome.plan.differences, [image.as_str(), "user-data differs"]);
}

#[tokio::test]
async fn rebuilt_twice_is_rebuilt_once() {
    let site = changed().await;
    run(&site, 1).await.unwrap();
    site.conversation();
    let again = run_as(&site, attempt(1, T + 200), "r-2").await.unwrap();
    assert_eq!((again.made, again.plan.differences), (None, Vec::new()));
    assert_eq!(site.written(), Vec::<String>::new());
}

#[tokio::test]
async fn a_server_whose_node_never_registered_is_rebuilt_when_the_row_is_mended() {
    let site = changed().await;
    site.fakes.slurm.take_out("gpu-1");
    let outcome = run(&site, 1).await.unwrap();
    assert_rebuilt(&site, &outcome);
    assert_eq!(spawns(&site)[1].metadata["fleet_slurmd_before"], "0");
}

#[tokio::test]
async fn a_slurmd_that_was_restarted_while_a_job_was_waited_for_is_the_one_of_before() {
    let site = changed_and_busy().await;
    let planned = started(&site);
    let restarts = async {
        while !state_of(&site)[1].starts_with("fleet:") {
            tokio::task::yield_now().await;
        }
        let node = site.fakes.slurm.node("gpu-1").unwrap();
        let [name, conf] = [&node["name"], &node["gres"]].map(|v| v.as_str().unwrap().to_owned());
        let conf = Some(format!("Gres={conf} Feature=h100"));
        assert!(site.fakes.slurm.register(&Registration { node: name, conf, gpus: None }));
        started(&site)
    };
    let (outcome, restarted) = tokio::join!(run(&site, 1), restarts);
    assert_rebuilt(&site, &outcome.unwrap());
    assert!(restarted > planned);
    assert_eq!(spawns(&site)[1].metadata["fleet_slurmd_before"], restarted.to_string());
    assert!(started(&site) > restarted);
}

fn started(site: &Site) -> i64 {
    site.fakes.slurm.node("gpu-1").unwrap()["slurmd_start_time"]["number"].as_i64().unwrap()
}

#[tokio::test]
async fn a_dry_run_says_what_it_would_rebuild_and_why() {
    let site = changed_and_busy().await;
    let request = Request { dry_run: true, ..request("r-1") };
    let outcome = adopt(&site.world(), &attempt(1, T), &request).await.unwrap();
    assert_eq!((outcome.made, outcome.dry_run), (Some(Made::Rebuilt), true));
    assert_eq!(outcome.server.unwrap().as_str(), servers(&site)[0]);
    assert_eq!(outcome.plan.differences.len(), 2);
    assert_eq!(site.written(), Vec::<String>::new());
}

#[tokio::test]
async fn a_users_job_ends_by_itself_before_its_node_is_rebuilt() {
    let site = changed_and_busy().await;
    let outcome = run(&site, 1).await.unwrap();
    assert_rebuilt(&site, &outcome);
    assert_eq!(job(&site), "COMPLETED");
    let said = site.conversation();
    let at = |line: &str| said.lines().position(|l| l.contains(line)).unwrap();
    assert!(at("\"state\":[\"DRAIN\"]") < at("slurm/v0.0.45/jobs"), "{said}");
    let rebuilt = at("/action");
    let looks: Vec<&str> = said.lines().take(rebuilt).filter(|l| l.contains("/jobs ")).collect();
    assert!(looks.len() >= 3, "{said}");
    // both looks that a rebuild rests on come after everything that was waited for
    let last: Vec<&str> = said.lines().take(rebuilt).skip(rebuilt - 2).collect();
    assert!(last[0].contains("GET /slurm/v0.0.45/node/gpu-1 ") && last[1].contains("/jobs "), "{last:?}");
}

#[tokio::test]
async fn case_b13_a_foreign_drain_is_refused_before_anything() {
    let site = changed().await;
    let update = NodeUpdate { reason: Some("bad DIMM A3 [alice]".to_owned()), ..drain() };
    person_updates(&site, &update).await;
    let failure = run(&site, 1).await.unwrap_err();
    assert_eq!((failure.code, failure.step), (Code::DrainNotOurs, "close_node"));
    assert_untouched(&site);
    assert_eq!(state_of(&site)[1], "bad DIMM A3 [alice]");
}

#[tokio::test]
async fn who_takes_the_closing_over_while_a_job_is_waited_for_keeps_the_node() {
    let site = changed_and_busy().await;
    let (failure, ()) = tokio::join!(run(&site, 1), async {
        while !state_of(&site)[1].starts_with("fleet:") {
            tokio::task::yield_now().await;
        }
        let words = NodeUpdate { reason: Some("hands off [bob]".to_owned()), ..NodeUpdate::default() };
        person_updates(&site, &words).await;
    });
    let failure = failure.unwrap_err();
    assert_eq!((failure.code, failure.class), (Code::DrainNotOurs, Class::NeedsHuman));
    assert_untouched(&site);
    assert_eq!(state_of(&site)[1], "hands off [bob]");
}

#[tokio::test]
async fn a_locked_server_is_left_as_it_is() {
    let site = changed().await;
    site.fakes.cloud.lock(&servers(&site)[0], true);
    let failure = run(&site, 1).await.unwrap_err();
    assert_eq!((failure.code, failure.class), (Code::Locked, Class::NeedsHuman));
    assert_eq!(failure.remedy, "ask who locked the server in Nova, and have them unlock it");
    assert_eq!(spawns(&site).len(), 1);
    // closed under our mark: once it is unlocked, the next adoption goes on
    site.fakes.cloud.lock(&servers(&site)[0], false);
    let outcome = run(&site, 1).await.unwrap();
    assert_rebuilt(&site, &outcome);
}

#[tokio::test]
async fn a_rebuild_that_fails_on_the_machine_says_so_and_the_next_request_tries_again() {
    let site = changed().await;
    behave(&site, Rebuild::Fails("deploy failed: no PXE boot".to_owned()));
    let failure = run(&site, 1).await.unwrap_err();
    assert_eq!(
        (failure.code, failure.class, failure.step),
        (Code::ServerError, Class::NeedsHuman, "wait_active")
    );
    assert!(failure.message.ends_with("is in ERROR: deploy failed: no PXE boot"), "{}", failure.message);
    let again = run(&site, 2).await.unwrap_err();
    assert_eq!((again.code, again.step), (Code::ServerError, "plan"));
    assert_eq!(site.count("POST", "/action"), 1);

    behave(&site, Rebuild::default());
    let outcome = run_as(&site, attempt(1, T + 200), "r-2").await.unwrap();
    assert_eq!(outcome.made, Some(Made::Rebuilt));
    let server = &servers(&site)[0];
    assert_eq!(
        outcome.plan.differences,
        [
            format!("server {server} is in ERROR: deploy failed: no PXE boot").as_str(),
            "slurmd of gpu-1 has not registered since",
            "gpu-1 does not respond (DOWN+DRAIN+DYNAMIC_NORM+NOT_RESPONDING)",
        ]
    );
    assert_eq!(site.count("POST", "/action"), 2);
    // slurmctld gave the silent node up; RESUME takes both words off
    assert_eq!(state_of(&site), ["DOWN+DRAIN+DYNAMIC_NORM", "fleet:adopt r-2: ada: new rack", "fleet:r-2"]);
    resumed(&site).await;
    assert_eq!(state_of(&site), ["IDLE+DYNAMIC_NORM", "", ""]);
}

#[tokio::test]
async fn a_rebuild_answered_500_and_accepted_is_not_sent_again() {
    let site = changed().await;
    site.fakes.fault(action(Answer::DoneButStatus { code: 500, body: json!(null) }));
    let outcome = run(&site, 1).await.unwrap();
    assert_rebuilt(&site, &outcome);
    assert_eq!(site.count("POST", "/action"), 1);
}

#[tokio::test]
async fn a_rebuild_that_meets_another_task_of_novas_waits() {
    let site = changed().await;
    let busy = json!({"conflictingRequest": {"code": 409,
        "message": "Cannot 'rebuild' instance x while it is in task_state image_uploading"}});
    site.fakes.fault(action(Answer::Status { code: 409, body: busy }));
    let outcome = run(&site, 1).await.unwrap();
    assert_rebuilt(&site, &outcome);
    assert_eq!(site.count("POST", "/action"), 2);
}

#[tokio::test]
async fn no_user_data_takes_the_old_one_away() {
    let site = changed().await;
    site.change_row(&json!({"user_data": null})).await;
    run(&site, 1).await.unwrap();
    assert_eq!(spawns(&site)[1].user_data, None);
}

#[tokio::test]
async fn another_flavor_is_refused_with_the_way_out_and_nothing_is_closed() {
    let site = changed_and_busy().await;
    site.change_row(&json!({"flavor": "vm.small"})).await;
    let failure = run(&site, 1).await.unwrap_err();
    assert_eq!((failure.code, failure.step), (Code::RequestConflict, "plan"));
    assert!(failure.message.ends_with("flavor is bm.small, should be vm.small"), "{}", failure.message);
    assert_eq!(failure.remedy, "release the device, then adopt it");
    assert_eq!(site.written(), Vec::<String>::new());
}

fn drain() -> NodeUpdate {
    NodeUpdate { state: Some([clients::slurm::SetState::Drain]), ..NodeUpdate::default() }
}

async fn person_updates(site: &Site, update: &NodeUpdate) {
    let world = site.world();
    let node = NodeName::parse("gpu-1").unwrap();
    world.slurm.update_node(&node, update).await.unwrap();
}
