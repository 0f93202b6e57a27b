//! slurmrestd of each release that we speak with.

mod gone;
mod make;
mod release;
mod suite;

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use clients::slurm::{Slurm, Token};
use fakes::{Registration, SlurmOptions, Slurmrestd};
use futures::FutureExt as _;
use reqwest::{Client, Method, RequestBuilder};
use sandbox::{Container, Run, SlurmUser};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use release::{Release, V24_11, V26_05};

use super::{Findings, Got};
use crate::wait::{eventually, http};

const CEILING: Duration = Duration::from_secs(60);
/// What a node of ours says of itself when it registers.
const CONF: &str = "Gres=gpu:h100:4 Feature=dyn,h100 State=DRAIN Reason=fleet:registering";

enum Cluster {
    Fake(Slurmrestd),
    Real { run: Box<Run>, controller: Box<Container>, nodes: Mutex<Vec<Container>> },
}

/// A cluster without a node, and its users: root, who is an administrator, and alice.
struct Subject {
    release: &'static Release,
    http: Client,
    url: String,
    root: String,
    alice: String,
    cluster: Cluster,
    findings: Findings,
}

#[tokio::test]
async fn contract_slurm_26_05_fake() {
    fake(&V26_05).await;
}

#[tokio::test]
async fn contract_slurm_24_11_fake() {
    fake(&V24_11).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_slurm_26_05_real() {
    real(&V26_05).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_slurm_24_11_real() {
    real(&V24_11).await;
}

async fn fake(release: &'static Release) {
    let options = SlurmOptions { release: release.fake, ..SlurmOptions::default() };
    let fake = Slurmrestd::start(options).await.unwrap();
    let (url, root, alice) = (fake.url().to_owned(), fake.token("root"), fake.token("alice"));
    holds(Subject::new(release, url, root, alice, Cluster::Fake(fake))).await;
}

async fn real(release: &'static Release) {
    let run = Run::of(release.real);
    let (controller, url) = sandbox::slurm(&run).await.unwrap();
    let (root, alice) = (run.slurm_token("root").unwrap(), run.slurm_token("alice").unwrap());
    let cluster = Cluster::Real { run: run.into(), controller: controller.into(), nodes: Mutex::default() };
    holds(Subject::new(release, url, root, alice, cluster)).await;
}

/// Containers are ended here: a drop comes when the runtime cannot ask their engine any more.
async fn holds(subject: Subject) {
    let ended = AssertUnwindSafe(suite::holds(&subject)).catch_unwind().await;
    if let Cluster::Real { controller, nodes, .. } = subject.cluster {
        for container in nodes.into_inner().into_iter().chain([*controller]) {
            container.rm().await.unwrap();
        }
    }
    subject.findings.tell(ended);
}

impl Subject {
    fn new(release: &'static Release, url: String, root: String, alice: String, cluster: Cluster) -> Self {
        Self { release, http: http(), url, root, alice, cluster, findings: Findings::default() }
    }

    /// Every key of the object and its type are as this release's snapshot says.
    fn whole(&self, what: &str, object: &Value) {
        let release = self.release.real.name.replace('.', "_");
        self.findings.whole(&format!("slurm_{release}_{what}"), object);
    }

    /// A second passes, where time does not pass by itself.
    fn tick(&self) {
        if let Cluster::Fake(fake) = &self.cluster {
            fake.tick();
        }
    }

    /// A machine boots, and its slurmd registers a dynamic node with [`CONF`].
    async fn register(&self, name: &str) {
        match &self.cluster {
            Cluster::Fake(fake) => {
                let conf = Some(format!("CPUs=4 RealMemory=4000 {CONF}"));
                assert!(fake.register(&Registration { node: name.to_owned(), conf, gpus: None }));
            }
            Cluster::Real { run, nodes, .. } => {
                let user_data = run.user_data().into_bytes();
                let metadata = json!({"fleet_slurm_conf": CONF});
                let node = sandbox::node(run, name, name, user_data, &metadata).await.unwrap();
                nodes.lock().await.push(node);
            }
        }
    }

    /// A node's machine goes away.
    async fn stop(&self, name: &str) {
        match &self.cluster {
            Cluster::Fake(fake) => fake.stop_slurmd(name),
            Cluster::Real { nodes, .. } => {
                for container in nodes.lock().await.drain(..) {
                    container.rm().await.unwrap();
                }
            }
        }
    }

    fn request(&self, method: Method, path: &str, token: &str) -> RequestBuilder {
        self.request_as("root", method, path, token)
    }

    fn request_as(&self, name: &str, method: Method, path: &str, token: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}/slurm/{path}", self.url));
        request.header("X-SLURM-USER-NAME", name).header("X-SLURM-USER-TOKEN", token)
    }

    /// A path below the release's version.
    fn at(&self, path: &str) -> String {
        format!("{}/{path}", self.release.real.version)
    }

    async fn get(&self, path: &str) -> Got {
        Got::of(self.request(Method::GET, &self.at(path), &self.root)).await
    }

    async fn post(&self, path: &str, body: &Value) -> Got {
        Got::of(self.request(Method::POST, &self.at(path), &self.root).json(body)).await
    }

    /// The only node of the answer.
    async fn node(&self) -> Value {
        self.get("node/c1").await.json()["nodes"][0].clone()
    }

    /// Waits until the node's state is exactly this.
    async fn until(&self, state: &[&str]) -> Value {
        eventually(&format!("c1 is {state:?}"), CEILING, || async {
            let node = self.node().await;
            if node["state"] == json!(state) {
                return Ok(node);
            }
            self.tick();
            Err(node["state"].to_string())
        })
        .await
    }

    fn user(&self, name: &str) -> SlurmUser {
        let token = if name == "root" { &self.root } else { &self.alice };
        SlurmUser::new(&self.url, self.release.real, name, token.clone()).unwrap()
    }

    /// Our own client.
    fn client(&self, name: &str) -> Slurm {
        let SlurmUser { url, name, token, .. } = self.user(name);
        let token = Token::in_environment("SLURM_JWT", token.into());
        Slurm::new(url.parse().unwrap(), name, token).unwrap()
    }
}
