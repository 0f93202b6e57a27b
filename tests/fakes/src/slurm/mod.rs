//! slurmrestd 26.05.5 (v0.0.45, v0.0.42), 24.11.5 (v0.0.42, v0.0.40) or 22.05.8 (v0.0.38), with slurmctld, and where
//! asked for slurmdbd, behind it.
//!
//! Not imitated, and said so with 501 where it is asked for: changing the power of a node, FUTURE, bulk updates.
//! MIXED does not happen: a job takes its nodes whole.

mod accounts;
mod alter;
mod array;
mod auth;
mod behave;
mod cancel;
mod complex;
mod controller;
mod dialect;
mod drive;
mod envelope;
mod job;
mod make;
mod node;
mod old;
mod queue;
mod raw;
mod register;
mod release;
mod reserve;
mod route;
mod saved;
mod submit;
mod tell;
mod update;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::serve::{self, Servers};
use crate::wire::{Service, Wire};
pub use auth::token;
pub use behave::JobBehaviour;
use controller::Slurmctld;
pub use controller::{Controller, PartitionSeed};
use dialect::Dialect;
pub use job::{End, JobSeed};
pub use node::NodeSeed;
use node::{Node, Slurmd};
pub use register::Registration;
pub use release::Release;
pub use reserve::ReservationSeed;

/// What a cluster starts with. The default is the test image's: no nodes, one partition.
#[derive(Debug, Clone)]
pub struct SlurmOptions {
    /// Which release it is.
    pub release: Release,
    /// The API versions that it serves, as they stand in paths; empty: all of the release's that are imitated.
    /// The newest is what [`Slurmrestd::node`] and [`Slurmrestd::job`] show in.
    pub versions: Vec<&'static str>,
    /// slurmrestd was started with `+complex`: bare numbers and nulls.
    pub complex: bool,
    /// There is a slurmdbd. It is asked below `/slurmdb/`, and a cancel by who may not is refused; without it
    /// such a cancel hangs slurmctld for good.
    pub accounting: bool,
    /// A finished job is unknown to slurmctld after so many ticks; none: never.
    pub min_job_age: Option<u64>,
    /// The HS256 key of its tokens.
    pub jwt_key: Vec<u8>,
    /// Users who may change nodes, and be anybody.
    pub admins: Vec<String>,
    /// Users whom the cluster's machines do not know: nothing can be reserved for one.
    pub strangers: Vec<String>,
    /// Its nodes.
    pub nodes: Vec<NodeSeed>,
    /// Its partitions; the first one is the default.
    pub partitions: Vec<PartitionSeed>,
    /// For how many ticks a submitted job runs; none: until [`Slurmrestd::finish`].
    pub job_ticks: Option<u64>,
    /// A slurmd that stopped is NOT_RESPONDING after so many ticks.
    pub unheard_ticks: u64,
    /// And DOWN after so many.
    pub down_ticks: u64,
    /// The time at the start, in seconds of Unix time. A tick is a second.
    pub now: i64,
}

impl Default for SlurmOptions {
    fn default() -> Self {
        Self {
            release: Release::default(),
            versions: Vec::new(),
            complex: false,
            accounting: false,
            min_job_age: None,
            jwt_key: b"the key of a fake slurmctld, 32+".to_vec(),
            admins: vec!["root".to_owned(), "slurm".to_owned()],
            strangers: Vec::new(),
            nodes: Vec::new(),
            partitions: vec![PartitionSeed::new("main")],
            job_ticks: Some(3),
            unheard_ticks: 2,
            down_ticks: 4,
            now: 1_790_000_000,
        }
    }
}

impl SlurmOptions {
    /// The versions that are served, newest first.
    fn served(&self) -> Vec<&'static str> {
        let asked = |v: &&&str| self.versions.is_empty() || self.versions.contains(*v);
        self.release.versions().iter().filter(asked).copied().collect()
    }

    fn dialect(&self, version: &str) -> Option<Dialect> {
        let served = self.served().contains(&version);
        served.then(|| Dialect::of(self.release, version, self.complex)).flatten()
    }

    fn newest(&self) -> Option<Dialect> {
        self.dialect(self.served().first()?)
    }
}

/// A running slurmrestd. A handle: clones are the same one.
#[derive(Debug, Clone)]
pub struct Slurmrestd {
    url: String,
    options: Arc<SlurmOptions>,
    ctld: Arc<Mutex<Slurmctld>>,
    wire: Wire,
    _servers: Arc<Servers>,
}

impl Deref for Slurmrestd {
    type Target = Wire;

    fn deref(&self) -> &Wire {
        &self.wire
    }
}

impl Slurmrestd {
    /// Starts one on a port of its own.
    ///
    /// # Errors
    /// When there is no port, or when it is to serve versions none of which is imitated.
    pub async fn start(options: SlurmOptions) -> io::Result<Self> {
        Self::start_on(Wire::new(), options).await
    }

    pub(crate) async fn start_on(wire: Wire, options: SlurmOptions) -> io::Result<Self> {
        if options.newest().is_none() {
            return Err(io::Error::other("none of these API versions is imitated"));
        }
        let (listener, url) = serve::listen().await?;
        let mut ctld = Slurmctld {
            release: options.release,
            controller: Controller::Up,
            nodes: Vec::new(),
            partitions: options.partitions.clone(),
            jobs: Vec::new(),
            slurmdbd: true,
            purged: Vec::new(),
            behaviours: Vec::new(),
            reservations: Vec::new(),
            slurmds: BTreeMap::new(),
            saved: VecDeque::new(),
            now: options.now,
            changed: options.now,
            silence: (options.unheard_ticks, options.down_ticks),
            min_job_age: options.min_job_age,
            last_job: 0,
        };
        ctld.nodes = options.nodes.iter().map(|seed| Node::seeded(seed.clone(), options.now)).collect();
        let (ctld, options) = (Arc::new(Mutex::new(ctld)), Arc::new(options));
        let (asked, with) = (ctld.clone(), options.clone());
        let answerer = serve::at_once(move |call| route::answer(&mut lock(&asked), &with, call));
        let servers = Servers(vec![serve::serve(listener, Service::Slurmrestd, wire.clone(), answerer)]);
        Ok(Self { url, options, ctld, wire, _servers: Arc::new(servers) })
    }

    /// Its root URL, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A token of `user` that ends in 2096.
    #[must_use]
    pub fn token(&self, user: &str) -> String {
        const ENDS: i64 = 4_000_000_000;
        token(&self.options.jwt_key, user, ENDS)
    }

    /// A second passes: what was resumed responds, jobs end and start, silence is noticed.
    pub fn tick(&self) {
        lock(&self.ctld).tick();
        self.wire.tick();
    }

    pub(crate) fn tick_alone(&self) {
        lock(&self.ctld).tick();
    }

    /// slurmctld is killed and started again: it has forgotten the changes of nodes, jobs and reservations that it
    /// acknowledged in the last 5 ticks, and knows of no node for 3 ticks.
    pub fn crash(&self) {
        lock(&self.ctld).crash();
    }

    /// slurmdbd, where there is one, answers from now on, or does not.
    pub fn slurmdbd(&self, answers: bool) {
        lock(&self.ctld).slurmdbd = answers;
    }

    /// Makes slurmctld like this.
    pub fn controller(&self, controller: Controller) {
        lock(&self.ctld).controller = controller;
    }

    /// The node, as the API would show it.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<Value> {
        let ctld = lock(&self.ctld);
        let dialect = self.options.newest()?;
        ctld.node(name).map(|node| ctld.show(node, dialect))
    }

    /// A node's state, its words joined by `+`; empty where there is no such node.
    #[must_use]
    pub fn state(&self, name: &str) -> String {
        let ctld = lock(&self.ctld);
        ctld.node(name).map_or_else(String::new, |node| ctld.words(node).join("+"))
    }

    /// Puts a node there, in place of one of its name.
    pub fn put(&self, seed: NodeSeed) {
        lock(&self.ctld).put(seed);
    }

    /// Takes a node out: out of slurm.conf, or by `scontrol delete` where it is dynamic.
    pub fn take_out(&self, node: &str) {
        let mut ctld = lock(&self.ctld);
        ctld.nodes.retain(|n| n.name != node);
        ctld.changed = ctld.now;
    }

    /// Changes a partition's state, such as to `DOWN`.
    pub fn partition(&self, name: &str, state: &str) {
        for partition in lock(&self.ctld).partitions.iter_mut().filter(|p| p.name == name) {
            state.clone_into(&mut partition.state);
        }
    }

    /// A slurmd starts and registers. False: slurmctld does not know the node and was not told of it.
    pub fn register(&self, registration: &Registration) -> bool {
        lock(&self.ctld).register(registration)
    }

    /// A node's slurmd starts again, as it was started before; one whose record was deleted comes back so. False:
    /// none runs there, or slurmctld did not take it.
    pub fn restart_slurmd(&self, node: &str) -> bool {
        lock(&self.ctld).register_again(node)
    }

    /// A node's slurmd stops. slurmctld notices later.
    pub fn stop_slurmd(&self, node: &str) {
        let mut ctld = lock(&self.ctld);
        ctld.slurmds.remove(node);
        if let Some(node) = ctld.node_mut(node) {
            node.slurmd = Slurmd::Silent(0);
        }
    }
}

fn lock(ctld: &Mutex<Slurmctld>) -> MutexGuard<'_, Slurmctld> {
    ctld.lock().unwrap_or_else(PoisonError::into_inner)
}
