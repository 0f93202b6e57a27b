//! What does not pass by itself ends an activity with its code, and nothing is written after it; so does
//! the next attempt, which changes nothing either.

use activities::Class::{self, NeedsHuman, Permanent};
use activities::adopt::adopt;
use activities::burn_in::burn_in_sbatch;
use activities::drain::drain;
use activities::poll_conditions::Poller;
use activities::release::release;
use activities::resume::resume;
use activities::{Attempt, Code, Failure, World};
use fakes::{Answer, Behaviour, Build, Fault, ImageSeed, Registers, Role, Service};
use futures::future::BoxFuture;
use hub::config::Scope;
use hub::db::Import;
use jiff::Timestamp;
use model::{BootstrapDraft, NodeName, NodeSource};

use crate::adopt::{MARK, asked, request};
use crate::site::{Setup, Site, T, attempt, device, is_write, node, row, within_ceiling};
use crate::{burn_in, drain, release};

/// What is wrong, and what comes of it.
struct Wrong {
    what: &'static str,
    /// With the site, before it starts.
    site: fn(Setup) -> Setup,
    /// With the process, or with a machine.
    process: fn(&Site, &mut World),
    /// Code, class and step of the failure.
    failure: (Code, Class, &'static str),
    /// So many writes, the refused one too.
    writes: usize,
}

const fn wrong(what: &'static str, failure: (Code, Class, &'static str), writes: usize) -> Wrong {
    Wrong { what, site: |s| s, process: |_, _| {}, failure, writes }
}

impl Wrong {
    const fn site(self, site: fn(Setup) -> Setup) -> Self {
        Self { site, ..self }
    }

    const fn process(self, process: fn(&Site, &mut World)) -> Self {
        Self { process, ..self }
    }
}

type Run = fn(World, Attempt) -> BoxFuture<'static, Result<(), Failure>>;

async fn check(rows: &[Wrong], start: fn() -> Setup, run: Run, second: i64) {
    for Wrong { what, site, process, failure: (code, class, step), writes } in rows {
        let site = Site::start(site(start())).await;
        let once = async |number| {
            let mut world = site.world();
            process(&site, &mut world);
            within_ceiling(run(world, attempt(number, second))).await.map_err(|f| (f.code, f.class, f.step))
        };
        assert_eq!(once(1).await, Err((*code, *class, *step)), "{what}");
        assert_eq!(site.writes().len(), *writes, "{what}: {}", site.conversation());
        site.conversation();
        let again = once(2).await.map_err(|(code, class, _)| (code, class));
        assert_eq!(again, Err((*code, *class)), "{what}, again");
        let done = |r: &&fakes::Request| is_write(r) && r.status.is_none_or(|s| s < 400);
        assert_eq!(site.fakes.log().iter().find(done), None, "{what}, again");
    }
}

fn behave(site: &Site, behaviour: Behaviour) {
    site.fakes.cloud.behave("gpu-1.rack", &behaviour);
}

fn changed(setup: Setup, change: impl Fn(&mut BootstrapDraft)) -> Setup {
    let mut row = row(NodeSource::Registers);
    change(&mut row);
    Setup { row: Some(row), ..setup }
}

/// A second device for the same node.
fn twice(mut setup: Setup) -> Setup {
    let named = Some(Some(NodeName::parse("gpu-1").unwrap()));
    setup.devices.push(Import { slurm_node_name: named, ..device("b") });
    setup
}

/// slurmrestd serves no version of ours, whatever is asked for.
fn serves_none(site: &Site) {
    for _ in 0..8 {
        let body = "Unable to find requested URL endpoint.".into();
        let unserved = Answer::Status { code: 404, body };
        site.fakes.fault(Fault::on(Service::Slurmrestd, "GET", "*/ping", unserved));
    }
}

/// A token of nobody's signature.
fn refuses_the_token(site: &Site, world: &mut World) {
    world.slurm =
        site.slurm_with(&fakes::token(b"another cluster's key, of 32 bytes", "root", 4_000_000_000), "root");
}

/// A user who may look and not change nodes.
fn is_no_administrator(site: &Site, world: &mut World) {
    world.slurm = site.slurm_with(&site.fakes.slurm.token("alice"), "alice");
}

fn is_a_stranger(site: &Site, world: &mut World) {
    world.hub = site.hub_as("stranger");
}

const UNLIKE: &str = "Gres=gpu:h100:8 Feature=h100 State=DRAIN Reason=fleet:registering";

/// A node that SLURM's power saving acts on.
fn sleepy() -> fakes::NodeSeed {
    node("gpu-1", &["IDLE", "POWERING_DOWN"], "")
}

const ADOPTION: [Wrong; 26] = [
    wrong("no such device", (Code::RequestInvalid, Permanent, "read_hub"), 0)
        .site(|s| Setup { devices: vec![device("b")], ..s }),
    wrong("no machine", (Code::RequestInvalid, Permanent, "read_hub"), 0)
        .site(|s| Setup { devices: vec![Import { nova_host: None, ..device("gpu-1") }], ..s }),
    wrong("a name that Nova would alter", (Code::RequestInvalid, Permanent, "read_hub"), 0).site(|s| {
        let named = Some(Some(NodeName::parse("gpu_1").unwrap()));
        Setup { devices: vec![Import { slurm_node_name: named, ..device("gpu-1") }], ..s }
    }),
    wrong("two devices of one node", (Code::RequestConflict, NeedsHuman, "read_hub"), 0).site(twice),
    wrong("no row", (Code::BootstrapMissing, NeedsHuman, "read_hub"), 0).site(|s| Setup { row: None, ..s }),
    wrong("a null image", (Code::BootstrapIncomplete, NeedsHuman, "read_hub"), 0)
        .site(|s| changed(s, |row| row.image = None)),
    wrong("node_source created on a release without it", (Code::ReleaseTooOld, NeedsHuman, "close_node"), 0)
        .site(|mut s| {
            s.slurm.release = fakes::Release::V24_11;
            changed(s, |row| row.node_source = NodeSource::Created)
        }),
    wrong("an image that is gone", (Code::BootstrapInvalid, NeedsHuman, "plan"), 0)
        .site(|s| changed(s, |row| row.image = Some(ImageSeed::new("gone", "active").id))),
    wrong("an image without data", (Code::BootstrapInvalid, NeedsHuman, "plan"), 0)
        .site(|s| changed(s, |row| row.image = Some(ImageSeed::new("queued", "queued").id))),
    wrong("a flavor that is gone (404)", (Code::BootstrapInvalid, NeedsHuman, "plan"), 0)
        .site(|s| changed(s, |row| row.flavor = Some("gone".to_owned()))),
    wrong("an unknown principal (401)", (Code::HubForbidden, NeedsHuman, "read_hub"), 0)
        .process(is_a_stranger),
    wrong("no scope for rows (403)", (Code::HubForbidden, NeedsHuman, "read_hub"), 0)
        .site(|s| Setup { worker: Vec::new(), ..s }),
    wrong("no scope for devices (403)", (Code::HubForbidden, NeedsHuman, "record_server"), 2)
        .site(|s| Setup { agent: vec![Scope::DeviceConditionCreate], ..s }),
    wrong("a wrong password (401)", (Code::OpenStackForbidden, NeedsHuman, "plan"), 0)
        .process(|site, world| world.openstack = site.openstack_with("guess")),
    wrong("no right to choose the machine (403)", (Code::OpenStackForbidden, NeedsHuman, "create_server"), 1)
        .process(|site, _| site.fakes.cloud.role(Role::Member)),
    wrong("no quota (403)", (Code::Quota, NeedsHuman, "create_server"), 1).site(|mut s| {
        s.cloud.instances = 0;
        s
    }),
    wrong("a machine that Nova lacks (400)", (Code::NoValidHost, NeedsHuman, "create_server"), 1).site(
        |mut s| {
            s.cloud.machines.clear();
            s
        },
    ),
    wrong("no valid host", (Code::NoValidHost, NeedsHuman, "create_server"), 1)
        .process(|site, _| behave(site, Behaviour { build: Build::NoValidHost, ..Behaviour::default() })),
    wrong("a refused token (511)", (Code::SlurmForbidden, NeedsHuman, "plan"), 0).process(refuses_the_token),
    wrong("no token", (Code::SecretMissing, NeedsHuman, "plan"), 0)
        .process(|site, world| world.slurm = site.slurm_with("", "root")),
    wrong("no version of ours (404)", (Code::NamingOrApiChanged, NeedsHuman, "plan"), 0)
        .process(|site, _| serves_none(site)),
    wrong("a user who may not write nodes", (Code::SlurmForbidden, NeedsHuman, "close_node"), 1)
        .site(|s| s.with_static_nodes().with_nodes([node("gpu-1", &["IDLE"], "")]))
        .process(is_no_administrator),
    wrong("a static node that SLURM lacks", (Code::NodeUnknown, NeedsHuman, "close_node"), 0)
        .site(Setup::with_static_nodes),
    wrong("power saving that the settings deny", (Code::PowerSaving, NeedsHuman, "plan"), 0)
        .site(|s| s.with_static_nodes().with_nodes([sleepy()])),
    wrong("INVALID_REG", (Code::ConfigMismatch, NeedsHuman, "wait_registered"), 2)
        .process(|site, _| behave(site, Behaviour { gpus: Some(0), ..Behaviour::default() })),
    wrong("other GRES", (Code::ConfigMismatch, NeedsHuman, "check_node"), 3).process(|site, _| {
        behave(site, Behaviour { registers: Registers::As(UNLIKE.to_owned()), ..Behaviour::default() });
    }),
];

const RESUMPTION: [Wrong; 8] = [
    wrong("no such device", (Code::RequestInvalid, Permanent, "read_hub"), 0)
        .site(|s| Setup { devices: vec![device("b")], ..s }),
    wrong("two devices of one node", (Code::RequestConflict, NeedsHuman, "read_hub"), 0).site(twice),
    wrong("an unknown principal (401)", (Code::HubForbidden, NeedsHuman, "read_hub"), 0)
        .process(is_a_stranger),
    wrong("no version of ours (404)", (Code::NamingOrApiChanged, NeedsHuman, "look"), 0)
        .process(|site, _| serves_none(site)),
    wrong("a node that SLURM lacks", (Code::NodeUnknown, NeedsHuman, "look"), 0)
        .process(|site, _| site.fakes.slurm.take_out("gpu-1")),
    wrong("a foreign drain", (Code::DrainNotOurs, NeedsHuman, "look"), 0)
        .process(|site, _| site.fakes.slurm.put(node("gpu-1", &["IDLE", "DRAIN"], "bad DIMM A3 [alice]"))),
    wrong("INVALID_REG", (Code::ConfigMismatch, NeedsHuman, "look"), 0)
        .process(|site, _| site.fakes.slurm.put(node("gpu-1", &["IDLE", "DRAIN", "INVALID_REG"], MARK))),
    wrong("a user who may not write nodes", (Code::SlurmForbidden, NeedsHuman, "open_node"), 1)
        .process(is_no_administrator),
];

/// What is wrong for every verb that is about a node alone.
const CLOSING: [Wrong; 8] = [
    wrong("no such device", (Code::RequestInvalid, Permanent, "read_hub"), 0)
        .site(|s| Setup { devices: vec![device("b")], ..s }),
    wrong("two devices of one node", (Code::RequestConflict, NeedsHuman, "read_hub"), 0).site(twice),
    wrong("no version of ours (404)", (Code::NamingOrApiChanged, NeedsHuman, "look"), 0)
        .process(|site, _| serves_none(site)),
    wrong("a release that cannot change nodes", (Code::ReleaseTooOld, NeedsHuman, "look"), 0).site(
        |mut s| {
            s.slurm.release = fakes::Release::V22_05;
            s
        },
    ),
    wrong("a refused token (511)", (Code::SlurmForbidden, NeedsHuman, "look"), 0).process(refuses_the_token),
    wrong("no token", (Code::SecretMissing, NeedsHuman, "look"), 0)
        .process(|site, world| world.slurm = site.slurm_with("", "root")),
    wrong("power saving that the settings deny", (Code::PowerSaving, NeedsHuman, "look"), 0)
        .process(|site, _| site.fakes.slurm.put(sleepy())),
    wrong("a user who may not write nodes", (Code::SlurmForbidden, NeedsHuman, "close_node"), 1)
        .process(is_no_administrator),
];

/// And for those that do not leave it at that.
const FOREIGN: [Wrong; 1] = [wrong("a foreign drain", (Code::DrainNotOurs, NeedsHuman, "close_node"), 0)
    .process(|site, _| site.fakes.slurm.put(node("gpu-1", &["IDLE", "DRAIN"], "bad DIMM A3 [alice]")))];

/// A node that was there when somebody asked.
const UNKNOWN: [Wrong; 1] = [wrong("a node that SLURM lacks", (Code::NodeUnknown, NeedsHuman, "look"), 0)
    .process(|site, _| site.fakes.slurm.take_out("gpu-1"))];

const TICK: [Wrong; 3] = [
    wrong("an unknown principal (401)", (Code::HubForbidden, NeedsHuman, "claim"), 0).process(is_a_stranger),
    wrong("no scope for conditions (403)", (Code::HubForbidden, NeedsHuman, "claim"), 1)
        .site(|s| Setup { agent: vec![Scope::DeviceUpdate], ..s }),
    wrong("a version of the hub that refuses ticks (400)", (Code::HubRefused, NeedsHuman, "claim"), 1)
        .process(|site, _| {
            let refused = Answer::Status { code: 400, body: "no".into() };
            site.fakes.fault(Fault::on(Service::Beside("hub"), "POST", "*/polls/", refused));
        }),
];

fn open_tick(world: World, attempt: Attempt) -> BoxFuture<'static, Result<(), Failure>> {
    Box::pin(async move { Poller::default().poll(&world, &attempt).await.map(drop) })
}

#[tokio::test]
async fn what_is_wrong_for_an_adoption_stays_wrong_and_nothing_is_written_after_it() {
    let run: Run =
        |world, attempt| Box::pin(async move { adopt(&world, &attempt, &request("r-1")).await.map(drop) });
    check(&ADOPTION, || Setup::of(&["gpu-1"]), run, T).await;
}

#[tokio::test]
async fn what_is_wrong_for_a_resumption_stays_wrong_and_nothing_is_written_after_it() {
    let run: Run = |world, attempt| {
        let asked = asked("r-2");
        Box::pin(async move { resume(&world, &attempt, &asked).await.map(drop) })
    };
    let closed = || Setup::of(&["gpu-1"]).with_nodes([node("gpu-1", &["IDLE", "DRAIN"], MARK)]);
    check(&RESUMPTION, closed, run, T).await;
}

fn open() -> Setup {
    Setup::of(&["gpu-1"]).with_nodes([node("gpu-1", &["IDLE"], "")])
}

#[tokio::test]
async fn what_is_wrong_for_a_drain_stays_wrong_and_nothing_is_written_after_it() {
    let run: Run = |world, attempt| {
        Box::pin(async move { drain(&world, &attempt, &drain::request("r-1")).await.map(drop) })
    };
    check(&CLOSING, open, run, T).await;
    check(&UNKNOWN, open, run, T).await;
}

#[tokio::test]
async fn what_is_wrong_for_a_release_stays_wrong_and_nothing_is_written_after_it() {
    let run: Run = |world, attempt| {
        Box::pin(async move { release(&world, &attempt, &release::request("r-1")).await.map(drop) })
    };
    check(&CLOSING, open, run, T).await;
    check(&FOREIGN, open, run, T).await;
}

#[tokio::test]
async fn what_is_wrong_for_a_burn_in_stays_wrong_and_nothing_is_written_after_it() {
    let run: Run = |world, attempt| {
        let request = burn_in::request("r-1");
        Box::pin(async move { burn_in_sbatch(&world, &attempt, &request).await.map(drop) })
    };
    let burns_in = || Setup { burn_in: Some(burn_in::CONTENT.to_owned()), ..open() };
    check(&CLOSING, burns_in, run, T).await;
    check(&UNKNOWN, burns_in, run, T).await;
    check(&FOREIGN, burns_in, run, T).await;
}

#[tokio::test]
async fn what_is_wrong_for_a_tick_stays_wrong_and_nothing_is_written_after_it() {
    check(&TICK, || Setup::of(&["gpu-1"]), open_tick, T).await;
}

#[tokio::test]
async fn a_tick_too_far_ahead_is_refused() {
    let site = Site::start(Setup::of(&["gpu-1"])).await;
    let ahead = Timestamp::now().as_second() + 3_600;
    let failure = open_tick(site.world(), attempt(1, ahead)).await.unwrap_err();
    assert_eq!((failure.code, failure.class, failure.step), (Code::HubRefused, NeedsHuman, "claim"));
    assert_eq!(site.writes().len(), 1);
}
