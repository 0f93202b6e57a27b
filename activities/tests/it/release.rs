//! Release: the order that cannot kill a job.

use std::time::Duration;

use activities::adopt::adopt;
use activities::release::{Outcome, Record, Request, release};
use activities::{Attempt, Class, Code, Failure};
use clients::openstack::{Networks, NewServer};
use fakes::{Answer, Fault, JobSeed, Registration, Service};
use model::AtDeadline;
use model::NodeSource;
use serde_json::{Value, json};

use crate::adopt::{asked, registers_closed, servers, state_of};
use crate::drain::LONG;
use crate::site::{Setup, Site, T, attempt, node, row, within_ceiling};

const MARK: &str = "fleet:release r-2: ada: new rack";

pub(crate) fn request(id: &str) -> Request {
    Request { asked: asked(id), deadline: LONG, at_deadline: AtDeadline::Fail }
}

fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

pub(crate) async fn adopt_it(site: &Site) {
    let request = activities::adopt::Request { asked: asked("r-1"), dry_run: false };
    within_ceiling(adopt(&site.world(), &attempt(1, T), &request)).await.unwrap();
    site.conversation();
}

/// A site whose one device was adopted by request `r-1`, and is closed; its node is dynamic.
pub(crate) async fn adopted() -> Site {
    let site = registers_closed().await;
    adopt_it(&site).await;
    site
}

/// The same with a node that slurm.conf has.
pub(crate) async fn adopted_static() -> Site {
    let setup = Setup { row: Some(row(NodeSource::Static)), ..Setup::of(&["gpu-1"]) };
    let site = Site::start(setup.with_nodes([node("gpu-1", &["IDLE"], "")])).await;
    adopt_it(&site).await;
    site
}

async fn run(site: &Site) -> Result<Outcome, Failure> {
    within_ceiling(release(&site.world(), &attempt(1, now()), &request("r-2"))).await
}

#[tokio::test]
async fn the_conversation_of_a_release() {
    let site = adopted().await;
    run(&site).await.unwrap();
    insta::assert_snapshot!(site.conversation());
}

#[tokio::test]
async fn released_the_device_is_free_its_server_gone_and_its_node_too() {
    let site = adopted().await;
    let server = site.device("gpu-1").await.server_id;
    let outcome = run(&site).await.unwrap();
    assert_eq!((outcome.server, outcome.record), (server, Record::Deleted));
    assert_eq!(servers(&site), Vec::<Value>::new());
    assert_eq!(site.fakes.slurm.node("gpu-1"), None);
    let device = site.device("gpu-1").await;
    assert_eq!((device.server_id, device.status.as_str()), (None, "free"));
    site.conversation();
    let again = run(&site).await.unwrap();
    assert_eq!((again.server, again.record), (None, Record::Absent));
    assert_eq!(site.written(), Vec::<String>::new());
}

#[tokio::test]
async fn a_static_node_stays_drained_under_our_mark() {
    let site = adopted_static().await;
    let outcome = run(&site).await.unwrap();
    assert_eq!(outcome.record, Record::Kept);
    assert_eq!(servers(&site), Vec::<Value>::new());
    let state = state_of(&site);
    assert!(state[0].contains("DRAIN") && state[1].starts_with(MARK), "{state:?}");
    site.conversation();
    assert_eq!(run(&site).await.unwrap().record, Record::Kept);
    assert_eq!(site.written(), Vec::<String>::new());
}

#[tokio::test]
async fn no_server_goes_under_a_job_suspended_or_not() {
    for suspended in [false, true] {
        let site = adopted().await;
        let mut setup = request("r-2");
        setup.deadline = Duration::ZERO;
        site.fakes.slurm.put(node("gpu-1", &["IDLE", "DYNAMIC_NORM"], ""));
        let job = site.fakes.slurm.run(JobSeed::on(&["gpu-1"]));
        if suspended {
            site.fakes.slurm.suspend(job);
        }
        let failure = within_ceiling(release(&site.world(), &attempt(1, now()), &setup)).await.unwrap_err();
        assert_eq!((failure.code, failure.step), (Code::NodeBusy, "wait_empty"), "{failure}");
        assert_eq!(servers(&site).len(), 1);
        assert_eq!(site.count("DELETE", "gpu-1"), 0);
        site.fakes.slurm.finish(job, 0);
        site.fakes.slurm.tick();
        assert_eq!(site.fakes.slurm.job(job).unwrap()["job_state"], json!(["COMPLETED"]));
    }
}

#[tokio::test]
async fn case_b01_a_failed_look_up_deletes_nothing_and_an_unknown_node_needs_force() {
    let site = adopted().await;
    let odd = json!({"nodes": [], "errors": [{"description": "Failure to query node gpu-1", "error_number": 0,
        "error": "No error", "source": "_dump_nodes"}]});
    // as often as a look is repeated
    for _ in 0..4 {
        let answer = Answer::Status { code: 200, body: odd.clone() };
        site.fakes.fault(Fault::on(Service::Slurmrestd, "GET", "*/node/gpu-1", answer));
    }
    let failure = run(&site).await.unwrap_err();
    assert_eq!((failure.code, failure.class), (Code::SlurmUnavailable, Class::Retry));
    assert_eq!((servers(&site).len(), site.written()), (1, Vec::<String>::new()));

    site.fakes.slurm.take_out("gpu-1");
    let failure = run(&site).await.unwrap_err();
    assert_eq!((failure.code, failure.class), (Code::NodeUnknown, Class::NeedsHuman));
    assert!(
        failure.message.starts_with("SLURM has no node gpu-1: nothing says that its server "),
        "{failure}"
    );
    assert_eq!((servers(&site).len(), site.written()), (1, Vec::<String>::new()));

    let mut forced = request("r-3");
    forced.asked.force = true;
    let outcome = within_ceiling(release(&site.world(), &attempt(1, now()), &forced)).await.unwrap();
    assert_eq!(outcome.record, Record::Absent);
    assert_eq!(servers(&site), Vec::<Value>::new());
}

#[tokio::test]
async fn a_foreign_drain_is_refused_and_its_words_stay_where_it_is_forced() {
    let site = adopted_static().await;
    site.fakes.slurm.put(node("gpu-1", &["IDLE", "DRAIN"], "bad DIMM A3 [alice]"));
    let failure = run(&site).await.unwrap_err();
    assert_eq!((failure.code, failure.class), (Code::DrainNotOurs, Class::NeedsHuman));
    assert_eq!((servers(&site).len(), site.written()), (1, Vec::<String>::new()));
    let mut forced = request("r-3");
    forced.asked.force = true;
    let outcome = within_ceiling(release(&site.world(), &attempt(1, now()), &forced)).await.unwrap();
    assert_eq!((outcome.record, servers(&site).len()), (Record::Kept, 0));
    assert!(state_of(&site)[1].starts_with("bad DIMM A3 [alice]"), "{:?}", state_of(&site));
}

#[tokio::test]
async fn a_node_that_comes_back_is_drained_again_and_said_to_be_back() {
    let site = adopted().await;
    let (world, request, attempt) = (site.world(), request("r-2"), attempt(1, now()));
    // held at the look after the record was deleted
    let comes_back = async {
        while site.fakes.slurm.node("gpu-1").is_some() {
            tokio::task::yield_now().await;
        }
        let conf = Some("CPUs=4 RealMemory=4000 Gres=gpu:h100:4 Feature=h100".to_owned());
        assert!(site.fakes.slurm.register(&Registration { node: "gpu-1".to_owned(), conf, gpus: None }));
    };
    let both = async { tokio::join!(release(&world, &attempt, &request), comes_back) };
    let failure = within_ceiling(both).await.0.unwrap_err();
    assert_eq!((failure.code, failure.class), (Code::NodeReturned, Class::NeedsHuman), "{failure}");
    assert_eq!(state_of(&site), ["IDLE+DRAIN+DYNAMIC_NORM", MARK, "fleet:r-2"]);
}

#[tokio::test]
async fn a_deletion_that_slurmctld_has_forgotten_is_made_again() {
    let site = adopted().await;
    let started = jiff::Timestamp::from_second(now()).unwrap();
    let (attempt, mut progress) = Attempt::new(1, started, None, Default::default());
    let (world, request) = (site.world(), request("r-2"));
    let forgets = async {
        progress.wait_for(|p| p.step == "settle").await.unwrap();
        site.fakes.ticks(6);
        while site.fakes.slurm.node("gpu-1").is_some() {
            tokio::task::yield_now().await;
        }
        site.fakes.slurm.crash();
        let [_, reason, extra] = state_of(&site);
        assert_eq!((reason.strip_prefix(MARK), extra.as_str()), (Some(" : Not responding"), "fleet:r-2"));
    };
    let both = async { tokio::join!(release(&world, &attempt, &request), forgets) };
    assert_eq!(within_ceiling(both).await.0.unwrap().record, Record::Deleted);
    assert_eq!((site.fakes.slurm.node("gpu-1"), site.count("DELETE", "/node/gpu-1")), (None, 2));
}

#[tokio::test]
async fn a_record_that_a_job_names_is_waited_for() {
    let site = adopted().await;
    let pending = site.fakes.slurm.submit(JobSeed::on(&["gpu-1"]));
    let started = jiff::Timestamp::from_second(now()).unwrap();
    let (attempt, mut progress) = Attempt::new(1, started, None, Default::default());
    let (world, request) = (site.world(), request("r-2"));
    let goes = async {
        let says = format!("jobs that name gpu-1, pending or just ended: {pending}");
        progress.wait_for(|p| p.step == "remove_record" && p.waiting_for == says).await.unwrap();
        assert!(site.fakes.slurm.state("gpu-1").contains("DRAIN"));
        assert_eq!(servers(&site), Vec::<Value>::new());
        site.fakes.slurm.lose(pending);
    };
    let both = async { tokio::join!(release(&world, &attempt, &request), goes) };
    assert_eq!(within_ceiling(both).await.0.unwrap().record, Record::Deleted);
}

#[tokio::test]
async fn two_servers_are_ambiguous_and_none_is_deleted() {
    let site = Site::start(Setup::of(&["gpu-1", "gpu-2"])).await;
    adopt_it(&site).await;
    let new = NewServer {
        name: "gpu-1".to_owned(),
        image: site.fakes.cloud.image_id("slurm-node").unwrap(),
        flavor: "bm.small".to_owned(),
        machine: Some("gpu-2.rack".to_owned()),
        user_data: None,
        networks: Networks::None,
        config_drive: false,
        metadata: Default::default(),
        tag: "fleet.device.d-gpu-1".to_owned(),
    };
    let openstack = site.world().openstack;
    let flavor = openstack.flavor_called("bm.small").await.unwrap().unwrap();
    openstack.create_server(&NewServer { flavor: flavor.id, ..new }).await.unwrap();
    for _ in 0..5 {
        site.fakes.tick();
    }
    site.conversation();
    let failure = run(&site).await.unwrap_err();
    assert_eq!((failure.code, failure.class), (Code::Ambiguous, Class::NeedsHuman));
    assert_eq!((servers(&site).len(), site.written()), (2, Vec::<String>::new()));
}
