//! A cluster that is asked, whichever it is.

use clients::slurm::{Job, NodeUpdate, SetState, Slurm, Token};
use fakes::{NodeSeed, PartitionSeed, SlurmOptions, Slurmrestd};
use model::NodeName;
use reqwest::{Client, Method, RequestBuilder};
use sandbox::{Container, Daemon, Run, Signal, SlurmUser};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::release::{Release, Writes};
use super::wanted::Wanted;
use super::{CEILING, Findings, Got};
use crate::wait::{eventually, http};

/// In the partition `main` are all nodes, in this one those but the last. Its tier is higher.
const BURNIN: &str = "burnin";
const TIER: i64 = 10;
/// A user whom no machine knows.
pub(super) const STRANGER: &str = "stranger";

pub(super) enum Cluster {
    Fake(Slurmrestd),
    Real { run: Box<Run>, controller: Box<Container>, nodes: Mutex<Vec<Container>> },
}

/// What a cluster starts with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// Nodes of slurm.conf, n1 and so on.
    pub(super) nodes: u32,
    /// There is a slurmdbd.
    pub(super) accounting: bool,
}

/// A cluster, and its users: root, who is an administrator, alice and bob.
pub(super) struct Subject {
    pub(super) release: &'static Release,
    pub(super) shape: Shape,
    pub(super) http: Client,
    pub(super) url: String,
    pub(super) root: String,
    pub(super) alice: String,
    bob: String,
    pub(super) cluster: Cluster,
    pub(super) findings: Findings,
}

pub(super) fn named(name: &str) -> NodeName {
    NodeName::parse(name).unwrap()
}

impl Shape {
    /// The names of its nodes.
    pub(super) fn names(self) -> Vec<String> {
        (1..=self.nodes).map(|n| format!("n{n}")).collect()
    }

    /// The partitions that a node of it is in.
    pub(super) fn partitions_of(self, node: &str) -> Vec<String> {
        let last = node == format!("n{}", self.nodes);
        if last { vec!["main".to_owned()] } else { vec!["main".to_owned(), BURNIN.to_owned()] }
    }
}

impl Subject {
    pub(super) async fn fake(release: &'static Release, shape: Shape) -> Self {
        let node = |name: String| {
            let partitions = shape.partitions_of(&name);
            NodeSeed { partitions, ..NodeSeed::new(&name) }
        };
        let burnin = PartitionSeed { feature: None, tier: TIER, ..PartitionSeed::new(BURNIN) };
        let partitions = [PartitionSeed::new("main")].into_iter().chain((shape.nodes > 0).then_some(burnin));
        let options = SlurmOptions {
            release: release.fake,
            versions: release.alone.map(|_| release.real.version).into_iter().collect(),
            complex: release.alone.is_some_and(|version| version.ends_with("+complex")),
            accounting: shape.accounting,
            strangers: vec![STRANGER.to_owned()],
            nodes: shape.names().into_iter().map(node).collect(),
            partitions: partitions.collect(),
            ..SlurmOptions::default()
        };
        let fake = Slurmrestd::start(options).await.unwrap();
        let [root, alice, bob] = ["root", "alice", "bob"].map(|user| fake.token(user));
        let (url, cluster) = (fake.url().to_owned(), Cluster::Fake(fake));
        let (http, findings) = (http(), Findings::default());
        Self { release, shape, http, url, root, alice, bob, cluster, findings }
    }

    pub(super) async fn real(release: &'static Release, shape: Shape) -> Self {
        let mut run =
            Run { static_nodes: shape.nodes, accounting: shape.accounting, ..Run::of(release.real) };
        if shape.nodes > 0 {
            let nodes: Vec<String> = shape.names().into_iter().take(shape.nodes as usize - 1).collect();
            run.extra_conf = format!(
                "PartitionName={BURNIN} Nodes={} PriorityTier={TIER} MaxTime=INFINITE State=UP",
                nodes.join(",")
            );
        }
        let (controller, url) = sandbox::slurm(&run).await.unwrap();
        if let Some(version) = release.alone {
            Daemon::Slurmrestd.signal(&controller, Signal::Kill).await.unwrap();
            let plugins = format!("REST_ARGS=-s slurmctld -d {version}");
            sandbox::exec(&controller, &["env", &plugins, "start-slurmrestd.sh"]).await.unwrap();
        }
        let [root, alice, bob] = ["root", "alice", "bob"].map(|user| run.slurm_token(user).unwrap());
        let cluster =
            Cluster::Real { run: run.into(), controller: controller.into(), nodes: Mutex::default() };
        let (http, findings) = (http(), Findings::default());
        let real = Self { release, shape, http, url, root, alice, bob, cluster, findings };
        let ping = || real.request(Method::GET, &real.at("ping"), &real.root).send();
        real.sees("slurmrestd answers", || async { ping().await.map_err(|e| e.to_string()) }).await;
        real
    }

    /// What it answers to writes.
    pub(super) fn writes(&self) -> &'static Writes {
        self.release.writes.unwrap()
    }

    /// Every key of the object and its type are as this release's snapshot says.
    pub(super) fn whole(&self, what: &str, object: &Value) {
        self.findings.whole(&format!("slurm_{}_{what}", self.release.name), object);
    }

    pub(super) fn request(&self, method: Method, path: &str, token: &str) -> RequestBuilder {
        self.request_as("root", method, path, token)
    }

    pub(super) fn request_as(&self, name: &str, method: Method, path: &str, token: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}/slurm/{path}", self.url));
        request.header("X-SLURM-USER-NAME", name).header("X-SLURM-USER-TOKEN", token)
    }

    /// A path below the release's version.
    pub(super) fn at(&self, path: &str) -> String {
        format!("{}/{path}", self.release.real.version)
    }

    pub(super) async fn get(&self, path: &str) -> Got {
        Got::of(self.request(Method::GET, &self.at(path), &self.root)).await
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> Got {
        self.post_as("root", path, body).await
    }

    pub(super) async fn post_as(&self, name: &str, path: &str, body: &Value) -> Got {
        let request = self.request_as(name, Method::POST, &self.at(path), self.token(name));
        Got::of(request.json(body)).await
    }

    pub(super) async fn delete_as(&self, name: &str, path: &str) -> Got {
        Got::of(self.request_as(name, Method::DELETE, &self.at(path), self.token(name))).await
    }

    /// The node c1, alone.
    pub(super) async fn node(&self) -> Value {
        self.get("node/c1").await.json()["nodes"][0].clone()
    }

    /// Waits until the state of c1 is exactly this.
    pub(super) async fn until(&self, state: &[&str]) -> Value {
        self.sees(&format!("c1 is {state:?}"), || async {
            let node = self.node().await;
            if node["state"] == json!(state) { Ok(node) } else { Err(node["state"].to_string()) }
        })
        .await
    }

    /// Looks until it is there; where time does not pass by itself a second passes between two looks.
    pub(super) async fn sees<T, F>(&self, what: &str, look: impl Fn() -> F) -> T
    where
        F: Future<Output = Result<T, String>>,
    {
        eventually(what, CEILING, || async {
            let seen = look().await;
            if seen.is_err() {
                self.tick();
            }
            seen
        })
        .await
    }

    fn token(&self, name: &str) -> &str {
        match name {
            "root" => &self.root,
            "alice" => &self.alice,
            _ => &self.bob,
        }
    }

    pub(super) fn user(&self, name: &str) -> SlurmUser {
        SlurmUser::new(&self.url, self.release.real, name, self.token(name).to_owned()).unwrap()
    }

    /// Our own client.
    pub(super) fn client(&self, name: &str) -> Slurm {
        self.client_with(name, self.token(name))
    }

    /// Our own client, with whatever token.
    pub(super) fn client_with(&self, name: &str, token: &str) -> Slurm {
        let token = Token::in_environment("SLURM_JWT", token.to_owned().into());
        Slurm::new(self.url.parse().unwrap(), name.to_owned(), token).unwrap()
    }

    /// Submits a job in the release's own words, as one of its users. Its id.
    pub(super) async fn submit(&self, user: &str, job: &Wanted<'_>) -> i64 {
        let got = self.post_as(user, "job/submit", &(self.release.job)(job)).await;
        got.json()["job_id"].as_i64().unwrap_or_else(|| panic!("no job: {got:?}"))
    }

    /// Waits until our client sees the job so.
    pub(super) async fn job(&self, id: i64, what: &str, is: impl Fn(&Job) -> bool) -> Job {
        let client = self.client("root");
        self.sees(what, || async {
            let job = client.job(id).await.map_err(|e| e.to_string())?;
            let job = job.ok_or_else(|| "no such job".to_owned())?;
            if is(&job) { Ok(job) } else { Err(format!("{:?} {}", job.states, job.reason)) }
        })
        .await
    }

    /// Waits until our client sees the node's state so: its words in their order, `+` between them.
    pub(super) async fn state(&self, node: &str, state: &str) {
        let (client, name) = (self.client("root"), named(node));
        self.sees(&format!("{node} is {state}"), || async {
            let node = client.node(&name).await.map_err(|e| e.to_string())?;
            let tokens = node.map_or_else(String::new, |n| n.tokens.to_string());
            if tokens == state { Ok(()) } else { Err(tokens) }
        })
        .await;
    }

    /// The node's state, as our client sees it.
    pub(super) async fn tokens(&self, node: &str) -> String {
        let node = self.client("root").node(&named(node)).await.unwrap();
        node.map_or_else(String::new, |n| n.tokens.to_string())
    }

    /// Closes a node for ours.
    pub(super) async fn drain(&self, node: &str) {
        let reason = Some("fleet: ours".to_owned());
        let update = NodeUpdate { state: Some([SetState::Drain]), reason, extra: None };
        self.client("root").update_node(&named(node), &update).await.unwrap();
    }

    /// Opens a node.
    pub(super) async fn resume(&self, node: &str) {
        let update = NodeUpdate { state: Some([SetState::Resume]), ..NodeUpdate::default() };
        self.client("root").update_node(&named(node), &update).await.unwrap();
    }
}
