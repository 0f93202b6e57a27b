//! Servers, as Nova shows them.

use std::collections::BTreeMap;

use model::ServerId;
use serde::Deserialize;

use crate::excerpt;

/// What we use of a server. Its user-data is never read back: a digest in the metadata stands
/// for it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "Raw")]
pub struct Server {
    /// Its id.
    pub id: ServerId,
    /// Its name.
    pub name: String,
    /// Its status. `task_state` may be null while it is still BUILD.
    pub status: ServerStatus,
    /// What Nova is doing to it.
    pub task_state: Option<String>,
    /// Nobody but an admin may change it before it is unlocked.
    pub locked: bool,
    /// Its image; empty when it boots from a volume.
    pub image: String,
    /// Its flavor's name: a server does not show the id.
    pub flavor_name: String,
    /// The machine it is on, where the policy shows it and it is placed.
    pub machine: Option<String>,
    /// Its metadata.
    pub metadata: BTreeMap<String, String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// Why it is in ERROR, in Nova's words, cut and masked.
    pub fault: Option<String>,
    /// When it was last built or rebuilt to the end, as Nova writes it, in whole seconds: these sort as
    /// text. Never, for one that Nova could not place.
    pub launched_at: Option<String>,
}

/// The statuses that we tell apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerStatus {
    /// Being made.
    Build,
    /// Being rebuilt.
    Rebuild,
    /// Running.
    Active,
    /// Failed; see the fault.
    Error,
    /// Deleted, as good as gone.
    Deleted,
    /// Another one, such as SHUTOFF.
    Other(String),
}

impl From<String> for ServerStatus {
    fn from(text: String) -> Self {
        match text.as_str() {
            "BUILD" => Self::Build,
            "REBUILD" => Self::Rebuild,
            "ACTIVE" => Self::Active,
            "ERROR" => Self::Error,
            "DELETED" | "SOFT_DELETED" => Self::Deleted,
            _ => Self::Other(text),
        }
    }
}

impl std::fmt::Display for ServerStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Build => "BUILD",
            Self::Rebuild => "REBUILD",
            Self::Active => "ACTIVE",
            Self::Error => "ERROR",
            Self::Deleted => "DELETED",
            Self::Other(text) => text,
        })
    }
}

#[derive(Deserialize)]
struct Raw {
    id: ServerId,
    #[serde(default)]
    name: String,
    status: String,
    #[serde(default, rename = "OS-EXT-STS:task_state")]
    task_state: Option<String>,
    #[serde(default)]
    locked: bool,
    #[serde(default)]
    image: serde_json::Value,
    #[serde(default)]
    flavor: Flavor,
    #[serde(default, rename = "OS-EXT-SRV-ATTR:hypervisor_hostname")]
    machine: Option<String>,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    fault: Option<Fault>,
    #[serde(default, rename = "OS-SRV-USG:launched_at")]
    launched_at: Option<String>,
}

#[derive(Deserialize, Default)]
struct Flavor {
    #[serde(default)]
    original_name: String,
}

#[derive(Deserialize)]
struct Fault {
    #[serde(default)]
    message: String,
}

impl From<Raw> for Server {
    fn from(raw: Raw) -> Self {
        Self {
            id: raw.id,
            name: raw.name,
            status: raw.status.into(),
            task_state: raw.task_state,
            locked: raw.locked,
            image: raw.image.get("id").and_then(|i| i.as_str()).unwrap_or_default().to_owned(),
            flavor_name: raw.flavor.original_name,
            machine: raw.machine,
            metadata: raw.metadata,
            tags: raw.tags,
            fault: raw.fault.map(|f| excerpt(&f.message)),
            launched_at: raw.launched_at,
        }
    }
}
