//! slurmrestd 26.05.5, API v0.0.45, or 24.11.5, API v0.0.42, with slurmctld behind it.
//!
//! Not imitated, and said so with 501 where it is asked for: reservations, power saving, FUTURE,
//! cancelling jobs. MIXED does not happen: a job takes its nodes whole.

mod auth;
mod controller;
mod envelope;
mod job;
mod make;
mod node;
mod release;
mod route;
mod submit;
mod update;

use std::io;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::serve::{self, Servers};
use crate::wire::{Service, Wire};
pub use auth::token;
use controller::Slurmctld;
pub use controller::{Controller, PartitionSeed, Registration};
pub use job::JobSeed;
pub use node::NodeSeed;
use node::{Node, Slurmd};
pub use release::Release;

/// What a cluster starts with. The default is the test image's: no nodes, one partition.
#[derive(Debug, Clone)]
pub struct SlurmOptions {
    /// Which release it is.
    pub release: Release,
    /// The HS256 key of its tokens.
    pub jwt_key: Vec<u8>,
    /// Users who may change nodes, and be anybody.
    pub admins: Vec<String>,
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
            jwt_key: b"the key of a fake slurmctld, 32+".to_vec(),
            admins: vec!["root".to_owned(), "slurm".to_owned()],
            nodes: Vec::new(),
            partitions: vec![PartitionSeed::new("main")],
            job_ticks: Some(3),
            unheard_ticks: 2,
            down_ticks: 4,
            now: 1_790_000_000,
        }
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
    /// When there is no port.
    pub async fn start(options: SlurmOptions) -> io::Result<Self> {
        Self::start_on(Wire::new(), options).await
    }

    pub(crate) async fn start_on(wire: Wire, options: SlurmOptions) -> io::Result<Self> {
        let (listener, url) = serve::listen().await?;
        let mut ctld = Slurmctld {
            release: options.release,
            controller: Controller::Up,
            nodes: Vec::new(),
            partitions: options.partitions.clone(),
            jobs: Vec::new(),
            now: options.now,
            changed: options.now,
            silence: (options.unheard_ticks, options.down_ticks),
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

    /// Makes slurmctld like this.
    pub fn controller(&self, controller: Controller) {
        lock(&self.ctld).controller = controller;
    }

    /// The node, as the API would show it.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<Value> {
        let ctld = lock(&self.ctld);
        ctld.node(name).map(|node| ctld.show(node))
    }

    /// A node's state, its words joined by `+`; empty where there is no such node.
    #[must_use]
    pub fn state(&self, name: &str) -> String {
        let node = self.node(name).unwrap_or_default();
        let words = node["state"].as_array().cloned().unwrap_or_default();
        words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("+")
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

    /// A node's slurmd stops. slurmctld notices later.
    pub fn stop_slurmd(&self, node: &str) {
        if let Some(node) = lock(&self.ctld).node_mut(node) {
            node.slurmd = Slurmd::Silent(0);
        }
    }

    /// A job runs on these nodes at once; its id.
    pub fn run(&self, job: JobSeed) -> i64 {
        lock(&self.ctld).run(job)
    }

    /// A job is submitted with `sbatch`: it starts at the first tick at which its nodes are open, or any
    /// one node where it names none, and runs as long as [`SlurmOptions::job_ticks`] says; its id.
    pub fn submit(&self, job: JobSeed) -> i64 {
        lock(&self.ctld).submit(job, self.options.job_ticks)
    }

    /// A running job is suspended: its node looks idle from then on.
    pub fn suspend(&self, job: i64) {
        for job in lock(&self.ctld).jobs.iter_mut().filter(|j| j.id == job && j.state == "RUNNING") {
            job.state = "SUSPENDED";
        }
    }

    /// A job ends with this exit code; until the next tick it is COMPLETING.
    pub fn finish(&self, job: i64, exit: u32) {
        let mut ctld = lock(&self.ctld);
        let now = ctld.now;
        let state = if exit == 0 { "COMPLETED" } else { "FAILED" };
        ctld.jobs.iter_mut().filter(|j| j.id == job).for_each(|j| j.end(state, exit, now));
    }

    /// A job, as the API would show it.
    #[must_use]
    pub fn job(&self, id: i64) -> Option<Value> {
        let ctld = lock(&self.ctld);
        ctld.jobs.iter().find(|j| j.id == id).map(|job| job.show(ctld.release))
    }
}

fn lock(ctld: &Mutex<Slurmctld>) -> MutexGuard<'_, Slurmctld> {
    ctld.lock().unwrap_or_else(PoisonError::into_inner)
}
