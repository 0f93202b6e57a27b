//! One verb on one node, the moment at which SLURM fails, and what must come of it.

use std::sync::Mutex;
use std::time::Duration;

use activities::burn_in::{burn_in_sbatch, burn_in_stop};
use activities::drain::{self, drain};
use activities::release::{self, release};
use activities::resume::resume;
use activities::{Asked, Attempt, Class, Failure, Progress, burn_in};
use jiff::Timestamp;
use model::{Actor, AtDeadline, DrainReason, RequestId};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::Fault;
use super::cluster::{Cluster, states};
use super::door::{Door, Stage};
use super::site::Site;
use crate::wait::eventually;

/// Nobody waits for it.
const LONG: Duration = Duration::from_secs(86_400);

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    /// Of an open node that a job of alice's runs on.
    Drain,
    /// Of a node that is closed under our mark.
    Resume,
    /// Of an open node that a job of alice's runs on, with its server.
    Release,
    /// Release of an open, idle node that its slurmd has brought, with its server.
    Remove,
    /// Of a node that is closed under our mark, and that alice's job waits for.
    BurnIn,
    /// Of such a burn-in, cancelled while its job runs.
    Stop,
}

/// When SLURM fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// At the first write whose line `METHOD path body` holds this.
    Write(&'static str),
    /// Once it waits in this step.
    Step(&'static str),
}

/// A row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) verb: Verb,
    pub(crate) moment: Moment,
    /// What may come of it.
    pub(crate) ends: &'static [&'static str],
}

impl Row {
    /// Whether its node is open at first, with a job of alice's.
    pub(crate) fn is_of_users(&self) -> bool {
        matches!(self.verb, Verb::Drain | Verb::Release)
    }

    /// Whether the job on its node must have ended for it to come to its moment.
    pub(crate) fn is_late(&self) -> bool {
        if matches!(self.verb, Verb::Resume | Verb::Remove | Verb::Stop) {
            return false;
        }
        match self.moment {
            Moment::Write(what) => what.starts_with("DELETE"),
            Moment::Step(step) => step == "settle",
        }
    }

    /// Those of a phase are started once those of the one before have come to their moment: the slow ones
    /// first, those that stay at theirs for a few seconds last.
    pub(crate) fn phase(&self) -> u8 {
        match self.moment {
            Moment::Step("settle") => 2,
            Moment::Step("wait_job") => 0,
            Moment::Write(what)
                if self.verb == Verb::BurnIn
                    && ["DELETE", "\"RESUME", "\"DRAIN"].iter().any(|w| what.starts_with(w)) =>
            {
                0
            }
            Moment::Step(_) | Moment::Write(_) => 1,
        }
    }
}

/// A row that is played.
pub(crate) struct Play {
    fault: Fault,
    pub(crate) row: Row,
    pub(crate) node: String,
    pub(crate) door: Door,
    site: Site,
    started: watch::Sender<bool>,
    progress: watch::Sender<Option<watch::Receiver<Progress>>>,
    /// Whether the machine of a node that is released has ended, with its slurmd.
    machine_ended: watch::Sender<bool>,
    /// What each attempt came to.
    attempts: Mutex<Vec<String>>,
}

impl Play {
    /// The device, its node and its jobs, as the verb finds them.
    /// The node is this static one, or a dynamic one in its place.
    pub(crate) async fn prepare(cluster: &Cluster, fault: Fault, row: Row, node: &str) -> Self {
        let (root, number) = (&cluster.root, node.trim_start_matches('n'));
        let node = if row.verb == Verb::Remove { format!("d{number}") } else { node.to_owned() };
        let held = match row.moment {
            Moment::Write(what) => Some(what),
            Moment::Step(_) => None,
        };
        let door = Door::to(&root.url, held);
        let site = Site::start(root, &node, &door).await;
        let closed =
            json!({"state": ["DRAIN"], "reason": "fleet:adopt r-1: ada: new rack", "extra": "fleet:r-1"});
        match row.verb {
            Verb::Drain => {}
            Verb::Resume | Verb::BurnIn | Verb::Stop => root.update(&node, &closed).await.unwrap(),
            Verb::Release => site.deploy(&node).await,
            Verb::Remove => {
                cluster.register(&node, 17_100 + number.parse::<usize>().unwrap()).await;
                site.deploy(&node).await;
            }
        }
        let (started, progress) = (watch::Sender::new(false), watch::Sender::new(None));
        let (machine_ended, attempts) = (watch::Sender::new(false), Mutex::default());
        let play = Self { fault, row, node, door, site, started, progress, machine_ended, attempts };
        if row.verb == Verb::Stop {
            play.burn_in_until_its_job_runs().await;
        }
        play
    }

    /// A burn-in that is cancelled then.
    async fn burn_in_until_its_job_runs(&self) {
        let cancel = CancellationToken::new();
        let (attempt, mut progress) = Attempt::new(1, Timestamp::now(), None, cancel.clone());
        let (world, request) = (&self.site.world, self.burn_in());
        let runs = async {
            progress
                .wait_for(|p| p.step == "wait_job" && p.waiting_for.contains(" is RUNNING"))
                .await
                .unwrap();
            cancel.cancel();
        };
        let (ended, ()) = tokio::join!(burn_in_sbatch(world, &attempt, &request), runs);
        assert_eq!(ended.unwrap_err().class, Class::Cancelled);
    }

    /// From now on it runs.
    pub(crate) fn start(&self) {
        self.started.send_replace(true);
    }

    /// Runs it, and ends the slurmd of a dynamic node with its server, as the real machine would.
    pub(crate) async fn run(&self, cluster: &Cluster) -> String {
        let machine_ends = async {
            if self.row.verb == Verb::Remove {
                eventually("its server is gone", super::CEILING, || async {
                    let servers = self.site.fakes.cloud.servers();
                    if servers.is_empty() { Ok(()) } else { Err(json!(servers).to_string()) }
                })
                .await;
                cluster.shell(&format!("pkill -f '[s]lurmd -Z -N {} '", self.node)).await;
                self.machine_ended.send_replace(true);
            }
        };
        tokio::join!(self.run_to_its_end(), machine_ends).0
    }

    /// As Temporal does: an attempt that may pass by itself is followed by another.
    async fn run_to_its_end(&self) -> String {
        self.started.subscribe().wait_for(|s| *s).await.unwrap();
        let mut number = 1;
        loop {
            let (attempt, progress) = Attempt::new(number, Timestamp::now(), None, CancellationToken::new());
            self.progress.send_replace(Some(progress));
            let ended = self.attempt(&attempt).await;
            self.attempts.lock().unwrap().push(format!("{ended:?}"));
            match ended {
                Ok(end) => return end,
                Err(failure) => {
                    let again = matches!(failure.class, Class::Retry | Class::RetryAfter(_));
                    assert!(again, "{}", self.what());
                }
            }
            number += 1;
        }
    }

    /// Which row, and what came of its attempts.
    fn what(&self) -> String {
        let attempts = self.attempts.lock().unwrap();
        format!("{:?}: {:?} on {}: {attempts:#?}", self.fault, self.row, self.node)
    }

    async fn attempt(&self, attempt: &Attempt) -> Result<String, Failure> {
        let (world, asked, at_deadline) = (&self.site.world, self.asked(), AtDeadline::Fail);
        Ok(match self.row.verb {
            Verb::Drain => {
                let request = drain::Request { asked, deadline: LONG, at_deadline };
                format!("{:?}", drain(world, attempt, &request).await?.end)
            }
            Verb::Resume => match resume(world, attempt, &asked).await? {
                activities::resume::Outcome::Resumed(_) => "Resumed".to_owned(),
                activities::resume::Outcome::AlreadyOpen(_) => "AlreadyOpen".to_owned(),
            },
            Verb::Release | Verb::Remove => {
                let request = release::Request { asked, deadline: LONG, at_deadline };
                format!("{:?}", release(world, attempt, &request).await?.record)
            }
            Verb::Stop => {
                burn_in_stop(world, attempt, &self.burn_in()).await?;
                "Stopped".to_owned()
            }
            Verb::BurnIn => {
                let outcome = burn_in_sbatch(world, attempt, &self.burn_in()).await?;
                assert_eq!(outcome.leaked, Vec::<i64>::new(), "{}", self.what());
                format!("{:?}: {}", outcome.verdict, outcome.reason)
            }
        })
    }

    fn burn_in(&self) -> burn_in::Request {
        let (tests, script, only_if_closed) = (Vec::new(), None, false);
        burn_in::Request { asked: self.asked(), tests, script, deadline: LONG, only_if_closed }
    }

    fn asked(&self) -> Asked {
        Asked {
            id: RequestId::parse("r-1").unwrap(),
            device: self.site.device.clone(),
            actor: Actor::parse("ada").unwrap(),
            why: DrainReason::parse("new rack").unwrap(),
            force: false,
        }
    }

    /// Waits until it has come to its moment.
    pub(crate) async fn until_moment(&self) {
        match self.row.moment {
            Moment::Write(what) => {
                self.door.until(Stage::Asked).await;
                if self.row.verb == Verb::Remove && what.starts_with("DELETE") {
                    self.machine_ended.subscribe().wait_for(|e| *e).await.unwrap();
                }
            }
            Moment::Step(step) => self.until_waits_in(step).await,
        }
    }

    /// Waits until the job on the node may end without another one's start.
    pub(crate) async fn until_closed(&self) {
        if self.row.verb != Verb::BurnIn {
            self.until_waits_in("wait_empty").await;
        }
    }

    async fn until_waits_in(&self, step: &str) {
        let mut runs = self.progress.subscribe();
        let mut progress = runs.wait_for(Option::is_some).await.unwrap().clone().unwrap();
        progress.wait_for(|p| p.step == step && !p.waiting_for.is_empty()).await.unwrap();
    }

    /// What must be so once all have ended.
    pub(crate) async fn assert_ended_right(&self, cluster: &Cluster, jobs: &Value, end: &str) {
        let (what, name) = (self.what(), &self.node);
        assert!(self.row.ends.iter().any(|e| end.starts_with(e)), "{what}: {end}");
        if matches!(self.row.verb, Verb::Release | Verb::Remove) {
            assert_eq!(self.site.fakes.cloud.servers(), Vec::<Value>::new(), "{what}");
            assert_eq!(self.site.hub_device().await.server_id, None, "{what}");
        }
        let Some(node) = cluster.root.node(name).await.unwrap() else {
            assert_eq!(self.row.verb, Verb::Remove, "{what}: its node is gone");
            return;
        };
        let seen = (&node["state"], node["reason"].as_str().unwrap(), node["extra"].as_str().unwrap());
        let closed = |verb: &str, state: &Value, reason: &str, extra: &str| {
            assert_eq!(*state, json!(["IDLE", "DRAIN"]), "{what}");
            assert!(reason.starts_with(&format!("fleet:{verb} r-1: ada: ")), "{what}: {reason}");
            assert!(extra.starts_with("fleet:r-1"), "{what}: {extra}");
        };
        let job = |of: &str| states(jobs, &format!("{of}-{name}"));
        match self.row.verb {
            Verb::Drain | Verb::Release => {
                let verb = if self.row.verb == Verb::Drain { "drain" } else { "release" };
                closed(verb, seen.0, seen.1, seen.2);
                assert_eq!(job("runs"), [json!(["COMPLETED"])], "{what}: alice's job ends by itself");
                let starts = cluster.shell(&format!("wc -l < /tmp/ran-{name}")).await;
                assert_eq!(starts.trim(), "1", "{what}: alice's job was started once");
                assert_eq!(job("waits"), [json!(["PENDING"])], "{what}");
            }
            Verb::Resume => {
                assert_eq!((seen.0, seen.2), (&json!(["IDLE"]), ""), "{what}");
                assert!(!seen.1.starts_with("fleet:adopt"), "{what}: {}", seen.1);
            }
            Verb::BurnIn | Verb::Stop => {
                closed("burn_in", seen.0, seen.1, seen.2);
                let cancelled = self.row.verb == Verb::Stop || end.starts_with("NotRun");
                let state = if cancelled { "CANCELLED" } else { "COMPLETED" };
                let ours = states(jobs, &format!("fleet-burnin-d-{name}-r-1"));
                assert_eq!(ours, [json!([state])], "{what}: one job of ours");
                assert_eq!(job("waits"), [json!(["PENDING"])], "{what}: no user's job starts");
            }
            Verb::Remove => panic!("{what}: its node is there: {node}"),
        }
    }
}
