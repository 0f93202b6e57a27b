//! Activities that are broken at their nth request, and what is the same of each of them.

use activities::adopt::adopt;
use activities::burn_in::{Verdict, burn_in_sbatch};
use activities::drain::drain;
use activities::poll_conditions::Poller;
use activities::release::release;
use activities::resume::resume;
use activities::{Attempt, Failure, World};
use fakes::{Answer, Behaviour, EventKind, Fault, JobSeed, Registers, Release};
use futures::future::BoxFuture;
use model::NodeSource;
use serde_json::{Value, json};

use crate::adopt::{MARK, asked, registers_closed, request, state_of};
use crate::resume::with_node;
use crate::site::{Setup, Site, T, attempt, node, row, within_ceiling};
use crate::{burn_in, drain, poll, rebuild, release};

/// How the process dies at a request, or what it is not told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Break {
    /// It dies before the request is done.
    Before,
    /// It dies after it was done and before the answer.
    After,
    /// It lives; the request is done and the answer lost.
    Lost,
}

impl Break {
    pub(crate) const ALL: [Self; 3] = [Self::Before, Self::After, Self::Lost];

    /// The break at the nth request from now.
    pub(crate) fn at(self, n: usize) -> Fault {
        Fault::at(
            n,
            match self {
                Self::Before => Answer::Hang,
                Self::After => Answer::DoneButHeld,
                Self::Lost => Answer::DoneButLost,
            },
        )
    }
}

/// An activity by a process of its own.
pub(crate) type Run = BoxFuture<'static, Result<(), Failure>>;

/// An activity on a kind of site.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// The site before it.
    pub(crate) start: fn() -> BoxFuture<'static, Site>,
    pub(crate) run: fn(World, Attempt) -> Run,
    /// The number and the start of the attempt that follows.
    pub(crate) again: (u32, i64),
    /// It follows also one that ended well: a tick that saw nothing did.
    pub(crate) always: bool,
    /// What it leaves.
    pub(crate) end: for<'a> fn(&'a Site) -> BoxFuture<'a, Value>,
}

impl Case {
    /// How many requests an unbroken run makes, and what it leaves.
    pub(crate) async fn whole(&self) -> (usize, Value) {
        let site = (self.start)().await;
        site.conversation();
        within_ceiling((self.run)(site.world(), attempt(1, T))).await.unwrap();
        let steps = site.fakes.log().len();
        let end = (self.end)(&site).await;
        // a second one changes nothing, and writes nothing but a poll's claim
        site.conversation();
        let (number, second) = self.again;
        within_ceiling((self.run)(site.world(), attempt(number, second))).await.unwrap();
        assert!(site.writes().iter().all(|w| w.path.ends_with("/polls/")), "{}", site.conversation());
        assert_eq!((self.end)(&site).await, end);
        (steps, end)
    }
}

pub(crate) const CASES: [Case; 11] = [
    Case {
        name: "adoption whose node registers closed",
        start: || Box::pin(registers_closed()),
        run: adoption,
        again: (2, T + 60),
        always: false,
        end: |site| Box::pin(adopted(site)),
    },
    Case {
        name: "adoption whose node registers open, and takes a job",
        start: || Box::pin(registers_open()),
        run: adoption,
        again: (2, T + 60),
        always: false,
        end: |site| Box::pin(adopted(site)),
    },
    Case {
        name: "adoption of a static node that runs a job",
        start: || Box::pin(static_and_busy()),
        run: adoption,
        again: (2, T + 60),
        always: false,
        end: |site| Box::pin(adopted(site)),
    },
    Case {
        name: "adoption that rebuilds a node that runs a job",
        start: || Box::pin(rebuild::changed_and_busy()),
        run: adoption,
        again: (2, T + 60),
        always: false,
        end: |site| Box::pin(adopted(site)),
    },
    Case {
        name: "adoption of a node that is made by REST",
        start: || Box::pin(created()),
        run: adoption,
        again: (2, T + 60),
        always: false,
        end: |site| Box::pin(adopted(site)),
    },
    Case {
        name: "resumption",
        start: || Box::pin(with_node(&["IDLE", "DRAIN"], MARK, "fleet:r-1")),
        run: resumption,
        again: (2, T + 60),
        always: false,
        end: |site| Box::pin(async { json!(state_of(site)) }),
    },
    Case {
        name: "tick",
        start: || Box::pin(changed()),
        run: tick,
        again: (1, T + 60),
        always: true,
        end: |site| Box::pin(polled(site)),
    },
    Case {
        name: "drain of a node that runs a job",
        start: || Box::pin(static_and_busy()),
        run: draining,
        again: (2, T + 60),
        always: false,
        end: |site| Box::pin(async { json!([state_of(site), users_jobs(site)]) }),
    },
    Case {
        name: "release of a node that runs a job",
        start: || Box::pin(opened_and_busy()),
        run: releasing,
        again: (2, T + 60),
        always: false,
        end: |site| Box::pin(released(site)),
    },
    Case {
        name: "burn-in within a reservation",
        start: || Box::pin(queued(Release::V26_05)),
        run: burning_in,
        again: (2, T + 60),
        always: false,
        end: |site| Box::pin(burnt_in(site)),
    },
    Case {
        name: "burn-in ahead of the queue",
        start: || Box::pin(queued(Release::V24_11)),
        run: burning_in,
        again: (2, T + 60),
        always: false,
        end: |site| Box::pin(burnt_in(site)),
    },
];

fn adoption(world: World, attempt: Attempt) -> Run {
    Box::pin(async move { adopt(&world, &attempt, &request("r-1")).await.map(drop) })
}

fn resumption(world: World, attempt: Attempt) -> Run {
    let asked = asked("r-2");
    Box::pin(async move { resume(&world, &attempt, &asked).await.map(drop) })
}

fn draining(world: World, attempt: Attempt) -> Run {
    Box::pin(async move { drain(&world, &attempt, &drain::request("r-1")).await.map(drop) })
}

fn releasing(world: World, attempt: Attempt) -> Run {
    Box::pin(async move { release(&world, &attempt, &release::request("r-2")).await.map(drop) })
}

fn burning_in(world: World, attempt: Attempt) -> Run {
    Box::pin(async move {
        let outcome = burn_in_sbatch(&world, &attempt, &burn_in::request("r-1")).await?;
        assert_eq!(outcome.verdict, Verdict::Passed, "{}", outcome.reason);
        Ok(())
    })
}

fn tick(world: World, attempt: Attempt) -> Run {
    Box::pin(async move { Poller::default().poll(&world, &attempt).await.map(drop) })
}

/// Jobs run longer than the attempt that comes upon them.
fn with_long_jobs() -> Setup {
    let mut setup = Setup::of(&["gpu-1"]);
    setup.slurm.job_ticks = Some(12);
    setup
}

async fn registers_open() -> Site {
    let site = Site::start(with_long_jobs()).await;
    site.fakes.cloud.behave("gpu-1.rack", &Behaviour { registers: Registers::Open, ..Behaviour::default() });
    site.fakes.slurm.submit(JobSeed::on(&[]));
    site
}

async fn static_and_busy() -> Site {
    let node = node("gpu-1", &["IDLE"], "");
    let site = Site::start(with_long_jobs().with_static_nodes().with_nodes([node])).await;
    site.fakes.slurm.submit(JobSeed::on(&["gpu-1"]));
    site.fakes.tick();
    site
}

/// A site whose row has its nodes made by REST.
pub(crate) async fn created() -> Site {
    Site::start(Setup { row: Some(row(NodeSource::Created)), ..Setup::of(&["gpu-1"]) }).await
}

/// What an adoption leaves: one server, which the hub has, ever launched once, and a closed node.
async fn adopted(site: &Site) -> Value {
    let servers = site.fakes.cloud.servers();
    let device = site.device("gpu-1").await.server_id.map(|id| id.to_string());
    json!({
        "servers": servers.len(),
        "launches": site.fakes.cloud.events().iter().filter(|e| e.kind == EventKind::Spawn).count(),
        "recorded": servers[0]["id"].as_str() == device.as_deref(),
        "node": state_of(site),
        "job": site.fakes.slurm.job(1).map(|job| job["job_state"][0].clone()),
    })
}

/// A device that was adopted and opened, and runs a user's job.
async fn opened_and_busy() -> Site {
    let mut setup = with_long_jobs();
    // a record is not deleted while slurmctld knows a job that names it
    setup.slurm.min_job_age = Some(10);
    let site = Site::start(setup).await;
    release::adopt_it(&site).await;
    within_ceiling(resume(&site.world(), &attempt(1, T), &asked("r-1"))).await.unwrap();
    site.fakes.slurm.submit(JobSeed::on(&["gpu-1"]));
    site.fakes.tick();
    site
}

/// What a release leaves: no server, no node, a free device; the job ended by itself.
async fn released(site: &Site) -> Value {
    let device = site.device("gpu-1").await;
    json!({
        "servers": site.fakes.cloud.servers().len(),
        "node": site.fakes.slurm.node("gpu-1"),
        "device": [device.server_id.is_none(), device.status.as_str() == "free"],
        "jobs": users_jobs(site),
    })
}

/// A closed node that others wait for.
async fn queued(release: Release) -> Site {
    let site = Site::start(burn_in::setup(release, burn_in::CONTENT)).await;
    for seed in [JobSeed::on(&["gpu-1"]), JobSeed::on(&[]), JobSeed::on(&["gpu-1"])] {
        site.fakes.slurm.submit(seed);
    }
    site
}

/// What a burn-in leaves: one job of ours, no reservation, a closed node, and others' jobs as they were.
async fn burnt_in(site: &Site) -> Value {
    let ours: Vec<Value> = site.fakes.slurm.jobs().into_iter().filter(|j| j["user_name"] == "bob").collect();
    json!({
        "node": state_of(site),
        "ours": ours.iter().map(|j| json!([j["name"], j["job_state"]])).collect::<Vec<_>>(),
        "reservations": site.fakes.slurm.reservations(),
        "jobs": users_jobs(site),
    })
}

/// The states of users' jobs.
fn users_jobs(site: &Site) -> Vec<Value> {
    let jobs = site.fakes.slurm.jobs().into_iter();
    jobs.filter(|j| j["user_name"] != "bob").map(|j| j["job_state"].clone()).collect()
}

/// One device is as it was at the last tick, one has changed, one is gone, one is new.
async fn changed() -> Site {
    let site = poll::site(&["a", "b", "c", "d"]).await;
    site.fakes.slurm.take_out("d");
    poll::fresh_tick(&site, T - 60).await.unwrap();
    site.fakes.slurm.put(node("b", &["IDLE", "DRAIN"], "bad DIMM A3 [alice]"));
    site.fakes.slurm.put(node("d", &["IDLE"], ""));
    site
}

/// What a tick leaves.
async fn polled(site: &Site) -> Value {
    let good = site.good_at(T + 60).await.is_some_and(|good| good >= T);
    let reason = site.fakes.slurm.node("b").unwrap()["reason"].clone();
    json!({"rows": site.verdicts().await, "good": good, "reason": reason})
}
