//! What a cloud starts with: by default what the test image is seeded with.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::machine::Behaviour;

/// What the project's user may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Read.
    Reader,
    /// Create and delete, not choose the machine.
    Member,
    /// A member with the role that chooses the machine and sees on which a server is.
    Deployer,
    /// Everything.
    Admin,
}

impl Role {
    /// Keystone's names, least first.
    pub(super) fn names(self) -> &'static [&'static str] {
        match self {
            Self::Reader => &["reader"],
            Self::Member => &["reader", "member"],
            Self::Deployer => &["reader", "member", "deployer"],
            Self::Admin => &["reader", "member", "manager", "admin"],
        }
    }
}

/// An image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageSeed {
    /// Its id, a UUID.
    pub id: String,
    /// Its name; need not be the only one of that name.
    pub name: String,
    /// `active`, `queued`.
    pub status: String,
}

impl ImageSeed {
    /// An image whose id follows from its name.
    #[must_use]
    pub fn new(name: &str, status: &str) -> Self {
        let id = Uuid::new_v5(&Uuid::NAMESPACE_DNS, format!("image {name}").as_bytes()).to_string();
        Self { id, name: name.to_owned(), status: status.to_owned() }
    }
}

/// A flavor.
#[derive(Debug, Clone, PartialEq)]
pub struct FlavorSeed {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// RAM in MiB.
    pub ram: u64,
    /// What it asks of a machine. A resource `CUSTOM_…` other than `CUSTOM_BAREMETAL` fits none.
    pub extra_specs: Value,
}

impl FlavorSeed {
    /// A flavor whose id is its name.
    #[must_use]
    pub fn new(name: &str, ram: u64, extra_specs: Value) -> Self {
        Self { id: name.to_owned(), name: name.to_owned(), ram, extra_specs }
    }

    /// Whether any machine has what it asks for.
    pub(super) fn fits(&self) -> bool {
        let ours = "resources:CUSTOM_BAREMETAL";
        let custom = |key: &String| key.starts_with("resources:CUSTOM_") && key != ours;
        !self.extra_specs.as_object().is_some_and(|specs| specs.keys().any(custom))
    }
}

/// A machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineSeed {
    /// Its hypervisor hostname.
    pub name: String,
    /// What it does.
    pub behaviour: Behaviour,
}

/// What a cloud starts with.
#[derive(Debug, Clone)]
pub struct CloudOptions {
    /// The only user.
    pub user: String,
    /// Its password.
    pub password: String,
    /// The only project.
    pub project: String,
    /// What the user may do.
    pub role: Role,
    /// Its images.
    pub images: Vec<ImageSeed>,
    /// Its flavors.
    pub flavors: Vec<FlavorSeed>,
    /// Its machines.
    pub machines: Vec<MachineSeed>,
    /// The project may have so many servers.
    pub instances: usize,
    /// A page of a list holds so many servers at most.
    pub page: usize,
    /// A token is refused after so many ticks. Its `expires_at` is far away in any case, since a
    /// client compares that with a real clock.
    pub token_ticks: Option<u64>,
    /// The time at the start, in seconds of Unix time. A tick is a second.
    pub now: i64,
}

impl Default for CloudOptions {
    fn default() -> Self {
        let baremetal = json!({
            "resources:CUSTOM_BAREMETAL": "1",
            "resources:DISK_GB": "0",
            "resources:MEMORY_MB": "0",
            "resources:VCPU": "0",
        });
        let machine = |n| MachineSeed { name: format!("node-{n}"), behaviour: Behaviour::default() };
        Self {
            user: "deployer".to_owned(),
            password: "deployer".to_owned(),
            project: "lab".to_owned(),
            role: Role::Deployer,
            images: vec![
                ImageSeed::new("debian-13", "active"),
                ImageSeed::new("slurm-node-a", "active"),
                ImageSeed::new("slurm-node-b", "active"),
                ImageSeed::new("queued", "queued"),
            ],
            flavors: vec![
                FlavorSeed::new("bm.small", 512, baremetal),
                FlavorSeed::new("vm.small", 512, json!({})),
                FlavorSeed::new("nohost", 64, json!({"resources:CUSTOM_NOPE": "1"})),
            ],
            machines: (1..=8).map(machine).collect(),
            instances: 100,
            page: 1000,
            token_ticks: None,
            now: 1_790_000_000,
        }
    }
}
