//! One site: slurmrestd, Keystone, Glance and Nova as the `fakes` have them, and the reference hub, all on
//! one wire: one log, one list of faults.
//!
//! *Invariant*: the state behind the wire is changed by requests, or as somebody at the machine would; time
//! is counted in requests (or moved by the test), so a conversation is the same in every run.

mod setup;

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use activities::{Attempt, PowerSaving, World};
use axum::Router;
use clients::http::Http;
use clients::hub::Hub;
use clients::oauth::Principal;
use clients::openstack::{Credentials, Networks, OpenStack, User};
use clients::slurm::{Slurm, Token};
use fakes::{Beside, End, JobBehaviour, Request, Service};
use hub::config::{Client, Config, PublicKey, Scope};
use hub::db::Store;
use jiff::{SignedDuration, Timestamp};
use model::{Device, DeviceId, NodeTemplate, PrincipalId, Role, SiteId};
use secrecy::ExposeSecret as _;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use url::Url;

pub(crate) use setup::{ANOTHER, Setup, catalogue, device, node, row};

/// When the first attempt of a test is started, in seconds of Unix time: before the hub's clock, which is
/// the machine's.
pub(crate) const T: i64 = 1_700_000_000;

/// The key pair of every principal, in PEM.
static KEY: LazyLock<(String, String)> = LazyLock::new(|| {
    let pair = rcgen::KeyPair::generate().unwrap();
    (pair.serialize_pem(), pair.public_key_pem())
});

/// A running site.
pub(crate) struct Site {
    /// The cluster and the cloud, and the wire.
    pub(crate) fakes: fakes::World,
    /// The hub as a person asks it, who may do everything: beside the wire.
    pub(crate) person: Hub,
    hub: Beside,
    /// The hub, beside the wire.
    aside: Url,
    burn_in: bool,
    _serving: JoinSet<()>,
}

impl Site {
    pub(crate) async fn start(setup: Setup) -> Self {
        let fakes = fakes::World::start(setup.slurm, setup.cloud).await.unwrap();
        let store = Store::in_memory(&[lab()]).await.unwrap();
        store.import(setup.devices).await.unwrap().unwrap();
        let everything = [
            Scope::DeviceUpdate,
            Scope::DeviceConditionCreate,
            Scope::BootstrapConfigRead,
            Scope::BootstrapConfigCreate,
            Scope::BootstrapConfigUpdate,
        ];
        let clients = [
            ("slurm-agent-lab", setup.agent),
            ("temporal-worker-lab", setup.worker),
            ("person", everything.to_vec()),
        ];
        let router = hub::router(hub::Hub::new(config(clients), store, hub::clock::system()));
        let hub = fakes.beside("hub", router.clone()).await.unwrap();
        let (aside, serving) = serve(router).await;
        let person = speaker(&aside, "person");
        if let Some(row) = &setup.row {
            person.create_bootstrap_config(row).await.unwrap();
        }
        if let Some(says) = &setup.burn_in {
            let (name, comment) = ("fleet-burnin-".to_owned(), says.clone());
            let behaviour = JobBehaviour { name, takes: 3, comment, holds: true, end: End::Completed };
            fakes.slurm.behave(behaviour);
        }
        if setup.paced {
            fakes.tick_by_requests();
        }
        Self { fakes, person, hub, aside, burn_in: setup.burn_in.is_some(), _serving: serving }
    }

    /// A process that has just started: nothing cached, no token.
    pub(crate) fn world(&self) -> World {
        World {
            burn_in: self.burn_in.then(setup::burn_in),
            site: activities::Site {
                id: lab(),
                node_template: NodeTemplate::default(),
                networks: Networks::None,
                config_drive: false,
                power_saving: PowerSaving::Off,
                stale_after: Duration::from_secs(300),
                look_every: Duration::from_millis(1),
                settle: Duration::from_millis(1),
                repeat_after: Duration::from_millis(1),
                heartbeat_timeout: Duration::from_millis(1),
            },
            slurm: self.slurm_with(&self.fakes.slurm.token("root"), "root"),
            openstack: self.openstack_with("deployer"),
            hub: self.hub_as("slurm-agent-lab"),
            configs: self.hub_as("temporal-worker-lab"),
        }
    }

    /// The hub as this principal.
    pub(crate) fn hub_as(&self, id: &str) -> Hub {
        speaker(&Url::parse(self.hub.url()).unwrap(), id)
    }

    /// The cluster with this token, as this user.
    pub(crate) fn slurm_with(&self, token: &str, user: &str) -> Slurm {
        let base = Url::parse(self.fakes.slurm.url()).unwrap();
        let token = Token::in_environment("SLURM_JWT", token.to_owned().into());
        Slurm::new(base, user.to_owned(), token).unwrap()
    }

    /// The project with this password.
    pub(crate) fn openstack_with(&self, password: &str) -> OpenStack {
        let credentials = Credentials::Password {
            user: User { name: "deployer".to_owned(), domain: "Default".to_owned() },
            password: password.to_owned().into(),
            project: "lab".to_owned(),
            project_domain: "Default".to_owned(),
        };
        OpenStack::new(Url::parse(&self.fakes.cloud.keystone_url()).unwrap(), credentials, None).unwrap()
    }

    /// Every request so far, a line each; forgotten with this.
    pub(crate) fn conversation(&self) -> String {
        let said = self.fakes.conversation();
        self.fakes.forget();
        said
    }

    /// Every request so far that changes something, with what became of it.
    pub(crate) fn writes(&self) -> Vec<Request> {
        self.fakes.log().into_iter().filter(is_write).collect()
    }

    /// The same, as `METHOD path body`.
    pub(crate) fn written(&self) -> Vec<String> {
        let body = |r: &Request| r.body.as_ref().map(|b| format!(" {b}")).unwrap_or_default();
        self.writes().iter().map(|r| format!("{} {}{}", r.method, r.path, body(r))).collect()
    }

    /// How many requests so far had this method and end of path.
    pub(crate) fn count(&self, method: &str, path: &str) -> usize {
        self.fakes.log().iter().filter(|r| r.method == method && r.path.ends_with(path)).count()
    }

    /// The device of this name, as the hub has it.
    pub(crate) async fn device(&self, name: &str) -> Device {
        let id = DeviceId::parse(&format!("d-{name}")).unwrap();
        self.person.device(&id).await.unwrap().unwrap()
    }

    /// Every condition as `device type status reason`, in order.
    pub(crate) async fn verdicts(&self) -> Vec<String> {
        let rows = self.person.conditions().await.unwrap();
        let line = |c: &model::Condition| {
            let (status, reason) = (c.observed.status.as_str(), &c.observed.reason);
            format!("{} {} {status} {reason}", c.device_id, c.kind.as_str())
        };
        rows.iter().map(line).collect()
    }

    /// The row of role `gpu` is changed, as HPC people do.
    pub(crate) async fn change_row(&self, change: &Value) {
        let role = Role::parse("gpu").unwrap();
        let row = self.person.bootstrap_config(&role).await.unwrap().unwrap();
        let http = Http::new(clients::Service::Hub).unwrap();
        let token = principal(&self.aside, "person").token(&http, None).await.unwrap();
        let path = format!("api/v1/sites/lab/slurm-bootstrap-configs/{}", row.id);
        let patch = http.client().patch(self.aside.join(&path).unwrap()).json(change);
        let patch =
            patch.bearer_auth(token.expose_secret()).header("If-Match", format!("\"{}\"", row.revision));
        let answer = http.send("change row", patch).await.unwrap();
        assert_eq!(answer.status.as_u16(), 200, "{}", answer.text());
    }

    /// When the last good tick was, in seconds of Unix time; `last` is the newest that was claimed.
    pub(crate) async fn good_at(&self, last: i64) -> Option<i64> {
        let claim = self.person.claim(Timestamp::from_second(last).unwrap()).await.unwrap().unwrap();
        claim.good_at.map(Timestamp::as_second)
    }
}

/// Whether a request changes something: neither a look nor the getting of a token.
pub(crate) fn is_write(request: &Request) -> bool {
    let token = request.service == Service::Keystone || request.path == "/oauth/token";
    request.method != "GET" && !token
}

/// The nth attempt at an activity, started at this second.
pub(crate) fn attempt(number: u32, second: i64) -> Attempt {
    let started = Timestamp::from_second(second).unwrap();
    Attempt::new(number, started, None, CancellationToken::new()).0
}

/// A wait that never ends fails the test. Never reached by one that passes.
pub(crate) async fn within_ceiling<T>(run: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), run).await.unwrap()
}

fn lab() -> SiteId {
    SiteId::parse("lab").unwrap()
}

const ISSUER: &str = "https://hub.test";

fn config<const N: usize>(clients: [(&str, Vec<Scope>); N]) -> Config {
    let client = |(id, scopes): (&str, Vec<Scope>)| {
        let key = PublicKey::parse(KEY.1.as_bytes()).unwrap();
        (PrincipalId::parse(id).unwrap(), Client { site: lab(), key, scopes: scopes.into_iter().collect() })
    };
    Config {
        listen: "127.0.0.1:0".parse().unwrap(),
        database: "unused".into(),
        issuer: ISSUER.to_owned(),
        stale_after: SignedDuration::from_secs(300),
        temporal: "http://127.0.0.1:1".parse().unwrap(),
        sites: BTreeMap::from([(lab(), "lab".to_owned())]),
        clients: clients.map(client).into(),
    }
}

/// Serves until it is dropped.
async fn serve(router: Router) -> (Url, JoinSet<()>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let mut server = JoinSet::new();
    server.spawn(async move { axum::serve(listener, router).await.unwrap() });
    (base, server)
}

/// The hub at `base` as this principal.
fn speaker(base: &Url, id: &str) -> Hub {
    Hub::new(base.clone(), lab(), principal(base, id)).unwrap()
}

fn principal(base: &Url, id: &str) -> Principal {
    let token = base.join("oauth/token").unwrap();
    Principal::new(id, &KEY.0.clone().into(), token, ISSUER.to_owned()).unwrap()
}
