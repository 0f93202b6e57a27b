//! The worker's settings: one TOML file, read and checked once, every mistake reported together.
//!
//! *Invariant*: the only place that reads the environment and the files that settings name.
//! Everyone else is handed a value.

mod burn_in;
mod openstack;
mod section;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use activities::PowerSaving;
use clients::slurm::Token;
use model::{Invalid, NodeTemplate, PrincipalId, SiteId};
use secrecy::SecretString;
use url::Url;

pub(crate) use burn_in::BurnIn;
use openstack::OpenStack;
use section::{Mistakes, Section};

/// Everything that a worker is told.
#[derive(Debug)]
pub(crate) struct Settings {
    /// `site`: which site this worker acts for.
    pub(crate) site: SiteId,
    /// `node_template`: how the node of a device without a `slurm_node_name` is called; default
    /// `{name}`.
    pub(crate) node_template: NodeTemplate,
    /// `[temporal]`.
    pub(crate) temporal: Temporal,
    /// `[hub]`.
    pub(crate) hub: Hub,
    /// `[slurm]`.
    pub(crate) slurm: Slurm,
    /// `[openstack]`.
    pub(crate) openstack: OpenStack,
    /// `[burn_in]`; none where it says `off = true`.
    pub(crate) burn_in: Option<BurnIn>,
    /// `[poll]`.
    pub(crate) poll: Poll,
    /// `[http]`.
    pub(crate) http: Http,
    /// `[log]`.
    pub(crate) log: Log,
}

/// `[temporal]`: where workflows come from.
#[derive(Debug, Clone)]
pub(crate) struct Temporal {
    /// `url`: the server's gRPC address.
    pub(crate) url: Url,
    /// `namespace`: default the site's id.
    pub(crate) namespace: String,
}

/// `[hub]`: the Fleet Manager, and the two principals that this process holds.
#[derive(Debug)]
pub(crate) struct Hub {
    /// `url`: its root URL.
    pub(crate) url: Url,
    /// `audience`: the `aud` of assertions; default `url` without a trailing slash.
    pub(crate) audience: String,
    /// `agent_client_id` (default `slurm-agent-<site>`) and `agent_key_file`.
    pub(crate) agent: Principal,
    /// `worker_client_id` (default `temporal-worker-<site>`) and `worker_key_file`.
    pub(crate) worker: Principal,
}

/// A principal and its private key.
#[derive(Debug)]
pub(crate) struct Principal {
    pub(crate) client_id: PrincipalId,
    pub(crate) key: SecretString,
}

/// `[slurm]`: the cluster's slurmrestd.
#[derive(Debug)]
pub(crate) struct Slurm {
    /// `url`: its root URL.
    pub(crate) url: Url,
    /// `user`: the token's user; needs AdminLevel Administrator, or to be SlurmUser or root.
    pub(crate) user: String,
    /// `token_file`, re-read as it is rotated, or `token_env`.
    pub(crate) token: Token,
    /// `power_saving`: `off`, or `spares_drained` where slurm.conf has `SuspendExcStates=DRAIN`; a site
    /// must say which.
    pub(crate) power_saving: PowerSaving,
}

/// `[poll]`: the conditions' poll.
#[derive(Debug)]
pub(crate) struct Poll {
    /// `every_seconds`: default 60, at least 1.
    pub(crate) every: Duration,
    /// `stale_after_seconds`: without a good tick for so long, conditions become Unknown; default
    /// 300.
    pub(crate) stale_after: Duration,
}

/// `[http]`: the worker's own port.
#[derive(Debug)]
pub(crate) struct Http {
    /// `listen`: IP address and port of `/metrics`, `/livez` and `/readyz`; default
    /// `127.0.0.1:9464`. Port 0 lets the system choose.
    pub(crate) listen: SocketAddr,
}

/// `[log]`: what is written to stderr.
#[derive(Debug)]
pub(crate) struct Log {
    /// `filter`: a tracing filter; default `info`.
    pub(crate) filter: String,
    /// `json`: one JSON object a line (default), or text for a person.
    pub(crate) json: bool,
}

impl Settings {
    /// Reads a file.
    ///
    /// # Errors
    /// Every mistake, each with its field and remedy.
    pub(crate) fn read(path: &Path) -> Result<Self, Vec<Invalid>> {
        let one = |problem: String, remedy: &str| vec![Invalid::new("--config", problem, remedy)];
        let text = std::fs::read_to_string(path).map_err(|e| {
            one(format!("{} cannot be read: {}", path.display(), e.kind()), "name a readable file")
        })?;
        let table: toml::Table = text.parse().map_err(|e: toml::de::Error| {
            let line = e.span().map_or(0, |s| text[..s.start].lines().count().max(1));
            one(format!("{} is not TOML: line {line}: {}", path.display(), e.message()), "correct that line")
        })?;
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        Self::parse(table, &folder)
    }

    /// Parses a table; relative files are looked for in `folder`.
    fn parse(table: toml::Table, folder: &Path) -> Result<Self, Vec<Invalid>> {
        let mistakes = Mistakes::default();
        let mut root = Section::new("", table, &mistakes, folder);
        let site = root.parsed("site", SiteId::parse);
        let template = root.optional("node_template", NodeTemplate::parse);
        let name = site.as_ref().map(ToString::to_string).unwrap_or_default();
        let temporal = root.section("temporal", |s| {
            Some(Temporal { url: s.url("url")?, namespace: s.text_or("namespace", &name)? })
        });
        let hub = root.section("hub", |s| hub(s, &name));
        let slurm = root.section("slurm", |s| {
            let (url, user, token) = (s.url("url"), s.text("user"), token(s));
            let power_saving = power_saving(s);
            Some(Slurm { url: url?, user: user?, token: token?, power_saving: power_saving? })
        });
        let openstack = root.section("openstack", OpenStack::read);
        let burn_in = if root.has("burn_in") {
            root.section("burn_in", BurnIn::read)
        } else {
            root.mistake("burn_in", "is missing", "add [burn_in], or write burn_in.off = true");
            None
        };
        let poll = root.optional_section("poll", |s| {
            let (every, stale) =
                (s.seconds_or("every_seconds", 60), s.seconds_or("stale_after_seconds", 300));
            Some(Poll { every: every?, stale_after: stale? })
        });
        let http = root.optional_section("http", |s| {
            let default = SocketAddr::from((Ipv4Addr::LOCALHOST, 9464));
            Some(Http { listen: s.address_or("listen", default)? })
        });
        let log = root.optional_section("log", |s| {
            let (filter, json) = (s.text_or("filter", "info"), s.flag_or("json", true));
            Some(Log { filter: filter?, json: json? })
        });
        root.finish();
        let settings = (|| {
            Some(Self {
                site: site?,
                node_template: template?.unwrap_or_default(),
                temporal: temporal?,
                hub: hub?,
                slurm: slurm?,
                openstack: openstack?,
                burn_in: burn_in?,
                poll: poll?,
                http: http?,
                log: log?,
            })
        })();
        match settings {
            Some(settings) if mistakes.is_empty() => Ok(settings),
            _ => Err(mistakes.into_inner()),
        }
    }
}

fn hub(s: &mut Section<'_>, site: &str) -> Option<Hub> {
    let url = s.url("url");
    let default = url.as_ref().map(|u| u.as_str().trim_end_matches('/').to_owned()).unwrap_or_default();
    let audience = s.text_or("audience", &default);
    let mut principal = |who: &str, id: &str| {
        let client_id = s.text_or(&format!("{who}_client_id"), id);
        let key = s.secret_file(&format!("{who}_key_file"));
        let parsed = client_id.and_then(|c| s.check(&format!("{who}_client_id"), PrincipalId::parse(&c)));
        Some(Principal { client_id: parsed?, key: key? })
    };
    let agent = principal("agent", &format!("slurm-agent-{site}"));
    let worker = principal("worker", &format!("temporal-worker-{site}"));
    Some(Hub { url: url?, audience: audience?, agent: agent?, worker: worker? })
}

fn token(s: &mut Section<'_>) -> Option<Token> {
    match (s.has("token_file"), s.has("token_env")) {
        (true, false) => s.path("token_file").map(Token::in_file),
        (false, true) => {
            let name = s.text("token_env")?;
            s.environment("token_env", &name).map(|value| Token::in_environment(&name, value))
        }
        _ => {
            s.mistake(
                "token_file",
                "exactly one of `token_file` and `token_env` is needed",
                "name one of them",
            );
            s.ignore(&["token_file", "token_env"]);
            None
        }
    }
}

fn power_saving(s: &mut Section<'_>) -> Option<PowerSaving> {
    const KEY: &str = "power_saving";
    const REMEDY: &str = "write \"off\", or \"spares_drained\" once slurm.conf has SuspendExcStates=DRAIN";
    if !s.has(KEY) {
        s.mistake(KEY, "is missing", REMEDY);
        return None;
    }
    s.parsed(KEY, |text| match text {
        "off" => Ok(PowerSaving::Off),
        "spares_drained" => Ok(PowerSaving::SparesDrained),
        _ => Err(Invalid::new(KEY, "is none of its values", REMEDY)),
    })
}

/// A secret that is kept in a file, without the white space around it.
///
/// # Errors
/// What is wrong, without a part of it.
pub(crate) fn read_secret(path: &PathBuf) -> Result<SecretString, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| format!("{} cannot be read: {}", path.display(), e.kind()))?;
    match text.trim() {
        "" => Err(format!("{} is empty", path.display())),
        text => Ok(text.to_owned().into()),
    }
}

#[cfg(test)]
mod tests;
