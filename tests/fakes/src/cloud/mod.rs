//! Keystone, Glance and Nova (2.1 to 2.100), each on its own port, as the catalog names them.
//!
//! *Invariant*: a machine has one server at most; whatever a machine is handed is in the events.

mod action;
mod application;
mod create;
mod glance;
mod identity;
mod list;
mod nova;
mod options;
mod rebuild;
mod schema;
mod server;
mod show;

use std::io;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

use crate::machine::Behaviour;
use crate::serve::{self, Call, Reply, Servers};
use crate::wire::{Service, Wire};
use application::Application;
use identity::Token;
pub use options::{CloudOptions, FlavorSeed, ImageSeed, MachineSeed, Role};
pub use server::{Event, EventKind};
use server::{Lock, Server};

/// A running cloud. A handle: clones are the same one.
#[derive(Debug, Clone)]
pub struct Cloud {
    site: Arc<Mutex<Site>>,
    wire: Wire,
    _servers: Arc<Servers>,
}

/// Everything the cloud holds.
#[derive(Debug)]
struct Site {
    options: CloudOptions,
    urls: Urls,
    tokens: Vec<Token>,
    applications: Vec<Application>,
    /// In the order of their creation.
    servers: Vec<Server>,
    events: Vec<Event>,
    /// Seconds of Unix time. A tick is a second.
    now: i64,
    /// So many ids were made.
    made: u64,
}

/// Where the services are.
#[derive(Debug, Clone)]
struct Urls {
    keystone: String,
    glance: String,
    nova: String,
}

impl Deref for Cloud {
    type Target = Wire;

    fn deref(&self) -> &Wire {
        &self.wire
    }
}

impl Cloud {
    /// Starts one on three ports of its own.
    ///
    /// # Errors
    /// When there is no port.
    pub async fn start(options: CloudOptions) -> io::Result<Self> {
        Self::start_on(Wire::new(), options).await
    }

    pub(crate) async fn start_on(wire: Wire, options: CloudOptions) -> io::Result<Self> {
        let (keystone, keystone_url) = serve::listen().await?;
        let (glance, glance_url) = serve::listen().await?;
        let (nova, nova_url) = serve::listen().await?;
        let now = options.now;
        let site = Arc::new(Mutex::new(Site {
            options,
            urls: Urls { keystone: keystone_url, glance: glance_url, nova: nova_url },
            tokens: Vec::new(),
            applications: Vec::new(),
            servers: Vec::new(),
            events: Vec::new(),
            now,
            made: 0,
        }));
        let start = |listener, service, answer: fn(&mut Site, &Call) -> Reply| {
            let site = site.clone();
            let answerer = serve::at_once(move |call: &Call| {
                let mut site = lock(&site);
                let request = format!("req-{}", site.uuid("request"));
                let reply = answer(&mut site, call).with("x-openstack-request-id", &request);
                // Nova says it twice
                if service == Service::Nova { reply.with("x-compute-request-id", &request) } else { reply }
            });
            serve::serve(listener, service, wire.clone(), answerer)
        };
        let servers = Servers(vec![
            start(keystone, Service::Keystone, identity::answer),
            start(glance, Service::Glance, glance::answer),
            start(nova, Service::Nova, nova::answer),
        ]);
        Ok(Self { site, wire, _servers: Arc::new(servers) })
    }

    /// Keystone's URL, ending in `/v3`.
    #[must_use]
    pub fn keystone_url(&self) -> String {
        format!("{}/v3", lock(&self.site).urls.keystone)
    }

    /// Glance's URL, without a slash at the end.
    #[must_use]
    pub fn glance_url(&self) -> String {
        lock(&self.site).urls.glance.clone()
    }

    /// Nova's URL, ending in `/v2.1`.
    #[must_use]
    pub fn nova_url(&self) -> String {
        format!("{}/v2.1", lock(&self.site).urls.nova)
    }

    /// A second passes: builds and deletions go on, tokens grow old.
    pub fn tick(&self) {
        self.tick_alone();
        self.wire.tick();
    }

    pub(crate) fn tick_alone(&self) {
        let mut site = lock(&self.site);
        site.now += 1;
        site.tokens.iter_mut().for_each(Token::tick);
        server::tick(&mut site);
    }

    /// The id of the image of this name.
    #[must_use]
    pub fn image_id(&self, name: &str) -> Option<String> {
        lock(&self.site).options.images.iter().find(|i| i.name == name).map(|i| i.id.clone())
    }

    /// From now on the machine behaves so.
    pub fn behave(&self, machine: &str, behaviour: &Behaviour) {
        let mut site = lock(&self.site);
        for machine in site.options.machines.iter_mut().filter(|m| m.name == machine) {
            machine.behaviour = behaviour.clone();
        }
    }

    /// How a machine behaves.
    #[must_use]
    pub fn behaviour(&self, machine: &str) -> Option<Behaviour> {
        let site = lock(&self.site);
        site.options.machines.iter().find(|m| m.name == machine).map(|m| m.behaviour.clone())
    }

    /// What the virt driver was asked to do, in order: the proof of what reached a machine.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        lock(&self.site).events.clone()
    }

    /// Every server, oldest first, as an admin would see it at 2.100.
    #[must_use]
    pub fn servers(&self) -> Vec<Value> {
        let site = lock(&self.site);
        let viewer = show::Viewer { minor: nova::NEWEST, role: Role::Admin, alone: true };
        site.servers.iter().map(|s| show::server(&site, s, viewer)).collect()
    }

    /// An admin locks a server, or unlocks it.
    pub fn lock(&self, id: &str, locked: bool) {
        let mut site = lock(&self.site);
        for server in site.servers.iter_mut().filter(|s| s.id == id) {
            server.locked = locked.then_some(Lock::Admin);
        }
    }

    /// Every token that was given out is refused from now on.
    pub fn revoke_tokens(&self) {
        lock(&self.site).tokens.clear();
    }

    /// The role of the project's user, from the next call on.
    pub fn role(&self, role: Role) {
        lock(&self.site).options.role = role;
    }
}

impl Site {
    /// An id that no other thing has, and that is the same in every run.
    fn uuid(&mut self, what: &str) -> Uuid {
        self.made += 1;
        Uuid::new_v5(&Uuid::NAMESPACE_DNS, format!("{what}-{}", self.made).as_bytes())
    }

    /// Whether the call carries a token that is good.
    fn knows(&self, call: &Call) -> bool {
        self.token(call).is_some()
    }

    /// The token that the call carries, if it is good.
    fn token(&self, call: &Call) -> Option<&Token> {
        let id = call.header("x-auth-token")?;
        self.tokens.iter().find(|t| t.id == id && t.is_good())
    }

    fn clock(&self, second: i64, format: &str) -> String {
        Timestamp::from_second(second).unwrap_or_default().strftime(format).to_string()
    }

    /// As in `2026-11-30T03:52:57Z`.
    fn time(&self, second: i64) -> String {
        self.clock(second, "%Y-%m-%dT%H:%M:%SZ")
    }

    /// As in `2026-11-30T03:52:57.000000`.
    fn micros(&self, second: i64) -> String {
        self.clock(second, "%Y-%m-%dT%H:%M:%S.000000")
    }
}

fn lock(site: &Mutex<Site>) -> MutexGuard<'_, Site> {
    site.lock().unwrap_or_else(PoisonError::into_inner)
}
