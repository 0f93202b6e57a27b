//! Releases, and in what an older one differs. The rest of this folder is written as 26.05.5 is; what
//! 24.11.5 does otherwise is asked for here.
//!
//! *Invariant*: a difference is stated once, as a method; nobody else compares releases.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::envelope::{NO_ENVIRONMENT, POWER, QUERY, STATE, TRANSITION, Wrong};

/// What 24.11 says of whatever it cannot read.
const UNPARSED: &str = "Unable to parse query.";

/// A release of SLURM, with the newest API version that it serves; older ones are not imitated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Release {
    /// 24.11.5, v0.0.42.
    V24_11,
    /// 26.05.5, v0.0.45.
    #[default]
    V26_05,
}

/// Objects of a release, as they were recorded; what one says of itself goes over it.
struct Recorded {
    node: Value,
    partition: Value,
    job: Value,
}

impl Recorded {
    fn read([node, partition, job]: [&str; 3]) -> Self {
        let read = |text| serde_json::from_str(text).unwrap_or_default();
        Self { node: read(node), partition: read(partition), job: read(job) }
    }
}

static RECORDED_24_11: LazyLock<Recorded> = LazyLock::new(|| {
    Recorded::read([
        include_str!("../../recorded/24.11/node.json"),
        include_str!("../../recorded/24.11/partition.json"),
        include_str!("../../recorded/24.11/job.json"),
    ])
});
static RECORDED_26_05: LazyLock<Recorded> = LazyLock::new(|| {
    Recorded::read([
        include_str!("../../recorded/node.json"),
        include_str!("../../recorded/partition.json"),
        include_str!("../../recorded/job.json"),
    ])
});

impl Release {
    fn is_old(self) -> bool {
        self == Self::V24_11
    }

    /// The API version, as it stands in paths.
    #[must_use]
    pub fn version(self) -> &'static str {
        if self.is_old() { "v0.0.42" } else { "v0.0.45" }
    }

    fn recorded(self) -> &'static Recorded {
        if self.is_old() { &RECORDED_24_11 } else { &RECORDED_26_05 }
    }

    pub(super) fn node(self) -> Value {
        self.recorded().node.clone()
    }

    pub(super) fn partition(self) -> Value {
        self.recorded().partition.clone()
    }

    pub(super) fn job(self) -> Value {
        self.recorded().job.clone()
    }

    /// The `meta` of every answer.
    pub(super) fn meta(self) -> Value {
        let (major, minor, release) =
            if self.is_old() { ("24", "11", "24.11.5") } else { ("26", "05", "26.05.5") };
        json!({
            "plugin": {
                "type": "openapi/slurmctld",
                "name": "Slurm OpenAPI slurmctld",
                "data_parser": format!("data_parser/{}", self.version()),
                "accounting_storage": "",
            },
            "client": {"source": "127.0.0.1:6820(fd:9)", "user": "root", "group": "root"},
            "command": [],
            "slurm": {
                "version": {"major": major, "micro": "5", "minor": minor},
                "release": release,
                "cluster": "lab",
            },
        })
    }

    /// An error as this release says it: 24.11 has fewer numbers, and HTTP 500 for what slurmctld
    /// refuses.
    pub(super) fn says(self, wrong: Wrong) -> Wrong {
        if !self.is_old() {
            return wrong;
        }
        let Wrong(status, number, text) = match wrong {
            TRANSITION | POWER => STATE,
            NO_ENVIRONMENT => Wrong(422, 2019, "I/O error writing script/environment to file"),
            other => other,
        };
        let status = if status == 422 && number != QUERY.1 { 500 } else { status };
        Wrong(status, number, text)
    }

    /// Of a path, a version or a method that is not served.
    pub(super) fn no_url(self) -> &'static str {
        if self.is_old() {
            return "Unable find requested URL. Please view /openapi/v3 for API reference.";
        }
        "Unable to find requested URL endpoint. Please query the '/openapi/v3' endpoint or visit \
         'https://slurm.schedmd.com/rest_api.html' for the OpenAPI specification which includes a \
         list of all possible slurmrestd endpoints."
    }

    /// How a controller in a ping looks.
    pub(super) fn ping(self, up: bool, status: &str) -> Value {
        let mut ping = json!({"hostname": "ctl", "responding": up, "latency": 452, "primary": true});
        if self.is_old() {
            ping["pinged"] = json!(if up { "UP" } else { "DOWN" });
            ping["mode"] = json!("primary");
        } else {
            ping["status"] = json!(status);
        }
        ping
    }

    /// A reason stays on a node that is opened, and can be given to one that is open.
    pub(super) fn keeps_reasons(self) -> bool {
        self.is_old()
    }

    /// Whose a reason is that nobody gave.
    pub(super) fn nobody(self) -> &'static str {
        if self.is_old() { "root" } else { "" }
    }

    /// A node that is asked for by itself tells the partitions of the first one.
    pub(super) fn tells_firsts_partitions(self) -> bool {
        self.is_old()
    }

    /// A list that changed since a time fails, unless partitions changed as well.
    pub(super) fn fails_lists_by_time(self) -> bool {
        self.is_old()
    }

    /// `POST new/node/` is served.
    pub(super) fn makes_nodes(self) -> bool {
        !self.is_old()
    }

    /// Of a content type that is not known.
    pub(super) fn unknown_type(self) -> (u16, &'static str) {
        if self.is_old() { (400, UNPARSED) } else { (415, "MIME type is unknown to any loaded plugins") }
    }

    /// Of a body that cannot be parsed.
    pub(super) fn unparsed(self) -> &'static str {
        if self.is_old() { UNPARSED } else { "Failure during parsing" }
    }

    /// Of a caller that accepts none of the types that it writes.
    pub(super) fn unaccepted(self) -> &'static str {
        if self.is_old() {
            "Accept content type is unknown"
        } else {
            "HTTP Accept header content type is unknown or unsupported"
        }
    }
}
