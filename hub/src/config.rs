//! hub.toml. *Invariant*: the one place that reads settings; all mistakes are reported together.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use jiff::SignedDuration;
use model::{Invalid, PrincipalId, SiteId};
use serde_json::Value;
use url::Url;

pub use crate::auth::Scope;
use crate::fields::{Fields, list, parsed, text};
pub use crate::key::PublicKey;

/// The settings, checked.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where to listen; port 0 lets the system choose.
    pub listen: SocketAddr,
    /// SQLite's file.
    pub database: PathBuf,
    /// The hub's own URL, without a slash at its end: what assertions name as audience.
    pub issuer: String,
    /// Without a claim for that long, conditions are served as `Unknown/PollerSilent`. Default 300 s.
    pub stale_after: SignedDuration,
    /// Temporal's frontend.
    pub temporal: Url,
    /// Site → Temporal namespace.
    pub sites: BTreeMap<SiteId, String>,
    /// OAuth clients.
    pub clients: BTreeMap<PrincipalId, Client>,
}

/// An OAuth client.
#[derive(Debug, Clone)]
pub struct Client {
    /// Its site.
    pub site: SiteId,
    /// Its key.
    pub key: PublicKey,
    /// What it may do.
    pub scopes: BTreeSet<Scope>,
}

/// Mistakes in a file, all of them, a line each: file, field, problem, remedy.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.lines())]
pub struct Mistakes {
    /// The file.
    pub file: PathBuf,
    /// The mistakes.
    pub mistakes: Vec<Invalid>,
}

impl Mistakes {
    fn lines(&self) -> String {
        let line = |mistake| format!("{}: {mistake}", self.file.display());
        self.mistakes.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

impl Config {
    /// Reads the file. Relative paths in it start from its folder.
    ///
    /// # Errors
    /// [`Mistakes`] lists everything that is wrong.
    pub fn load(file: &Path) -> Result<Self, Mistakes> {
        let whole = |problem: String, remedy: &str| Mistakes {
            file: file.to_owned(),
            mistakes: vec![Invalid::new("file", problem, remedy)],
        };
        let text = std::fs::read_to_string(file)
            .map_err(|e| whole(format!("cannot be read ({})", e.kind()), "name a file that can be read"))?;
        let table: toml::Table = text.parse().map_err(|e: toml::de::Error| {
            let at = e.span().map_or(0, |s| s.start);
            let line = text.get(..at).map_or(1, |before| before.matches('\n').count() + 1);
            whole(format!("is not TOML (line {line}: {})", e.message()), "write TOML")
        })?;
        let value = serde_json::to_value(table).map_err(|_| whole("cannot be read".into(), "write TOML"))?;
        let folder = file.parent().unwrap_or(Path::new(""));
        Self::parse(&value, folder).map_err(|mistakes| Mistakes { file: file.to_owned(), mistakes })
    }

    fn parse(value: &Value, folder: &Path) -> Result<Self, Vec<Invalid>> {
        let mut mistakes = Vec::new();
        let config = read(value, folder, &mut mistakes);
        match config {
            Some(config) if mistakes.is_empty() => Ok(config),
            _ => Err(mistakes),
        }
    }

    /// What an assertion may name as its audience.
    pub(crate) fn is_audience(&self, audience: &str) -> bool {
        audience
            .strip_prefix(self.issuer.as_str())
            .is_some_and(|rest| ["", "/", "/oauth/token"].contains(&rest))
    }
}

fn read(value: &Value, folder: &Path, mistakes: &mut Vec<Invalid>) -> Option<Config> {
    let mut fields = Fields::of("", value, mistakes)?;
    let listen = fields.required("listen", parsed(address));
    let database = fields.required("database", |v| Ok(folder.join(text(v)?)));
    let issuer = fields.required("issuer", parsed(url));
    let stale_after = fields.optional("stale_after_seconds", seconds);
    let mut temporal = None;
    fields.nested("temporal", |at, value, mistakes| {
        if let Some(mut fields) = Fields::of(at, value, mistakes) {
            temporal = fields.required("url", parsed(url));
            fields.finish();
        }
    });
    let mut sites = BTreeMap::new();
    fields.nested("sites", |at, value, mistakes| {
        for (position, value) in list(at, value, mistakes).iter().enumerate() {
            read_site(&format!("{at}[{position}]"), value, mistakes, &mut sites);
        }
    });
    let mut clients = BTreeMap::new();
    fields.nested("clients", |at, value, mistakes| {
        for (position, value) in list(at, value, mistakes).iter().enumerate() {
            read_client(&format!("{at}[{position}]"), value, folder, mistakes, &sites, &mut clients);
        }
    });
    fields.finish();
    Some(Config {
        listen: listen?,
        database: database?,
        issuer: issuer?.as_str().trim_end_matches('/').to_owned(),
        stale_after: stale_after.unwrap_or(SignedDuration::from_secs(300)),
        temporal: temporal?,
        sites,
        clients,
    })
}

fn read_site(at: &str, value: &Value, mistakes: &mut Vec<Invalid>, sites: &mut BTreeMap<SiteId, String>) {
    let Some(mut fields) = Fields::of(at, value, mistakes) else { return };
    let id = fields.required("id", parsed(SiteId::parse));
    let namespace = fields.required("temporal_namespace", parsed(namespace));
    fields.finish();
    if let (Some(id), Some(namespace)) = (id, namespace)
        && sites.insert(id, namespace).is_some()
    {
        mistakes.push(Invalid::new(&format!("{at}.id"), "names a site twice", "give each site once"));
    }
}

fn read_client(
    at: &str,
    value: &Value,
    folder: &Path,
    mistakes: &mut Vec<Invalid>,
    sites: &BTreeMap<SiteId, String>,
    clients: &mut BTreeMap<PrincipalId, Client>,
) {
    let Some(mut fields) = Fields::of(at, value, mistakes) else { return };
    let id = fields.required("id", parsed(PrincipalId::parse));
    let site = fields.required("site", |v| {
        let site = SiteId::parse(text(v)?)?;
        let unknown = || Invalid::new("site", "is not one of [[sites]]", "add the site, or name one of them");
        if sites.contains_key(&site) { Ok(site) } else { Err(unknown()) }
    });
    let key = fields.required("public_key_file", |v| {
        let pem = std::fs::read(folder.join(text(v)?)).map_err(|e| {
            let problem = format!("cannot be read ({})", e.kind());
            Invalid::new("public_key_file", problem, "name a file that can be read")
        })?;
        PublicKey::parse(&pem)
    });
    let mut scopes = BTreeSet::new();
    fields.nested("scopes", |at, value, mistakes| {
        for (position, value) in list(at, value, mistakes).iter().enumerate() {
            match text(value).and_then(Scope::parse) {
                Ok(scope) => drop(scopes.insert(scope)),
                Err(mistake) => mistakes.push(mistake.named(&format!("{at}[{position}]"))),
            }
        }
    });
    fields.finish();
    if let (Some(id), Some(site), Some(key)) = (id, site, key)
        && clients.insert(id, Client { site, key, scopes }).is_some()
    {
        mistakes.push(Invalid::new(&format!("{at}.id"), "names a client twice", "give each client once"));
    }
}

fn address(text: &str) -> Result<SocketAddr, Invalid> {
    text.parse().map_err(|_| Invalid::new("", "is not an address", "write host:port, such as 127.0.0.1:8080"))
}

fn url(text: &str) -> Result<Url, Invalid> {
    match Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(url),
        _ => Err(Invalid::new("", "is not an http(s) URL", "write one, such as http://127.0.0.1:7233")),
    }
}

fn namespace(text: &str) -> Result<String, Invalid> {
    let fine = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if text.is_empty() || !text.chars().all(fine) {
        return Err(Invalid::new("", "is not a namespace's name", "use letters, digits, `-`, `_` and `.`"));
    }
    Ok(text.to_owned())
}

fn seconds(value: &Value) -> Result<SignedDuration, Invalid> {
    match value.as_i64() {
        Some(seconds @ 1..=86_400) => Ok(SignedDuration::from_secs(seconds)),
        _ => Err(Invalid::new("", "is not between 1 and 86400", "give whole seconds, such as 300")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_mistakes_are_reported_together() {
        let folder = std::env::temp_dir().join(format!("hub-config-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("hub.toml");
        std::fs::write(
            &file,
            "listen = \"nowhere\"\nissuer = 7\nstale_after_seconds = 0\nlisten_on = 1\n\
             [temporal]\nurl = \"tcp://x\"\n\
             [[sites]]\nid = \"lab\"\ntemporal_namespace = \"\"\n\
             [[clients]]\nid = \"a b\"\nsite = \"moon\"\npublic_key_file = \"none.pem\"\nscopes = [\"device:delete\"]\n",
        )
        .unwrap();
        let said =
            Config::load(&file).unwrap_err().to_string().replace(&file.display().to_string(), "hub.toml");
        insta::assert_snapshot!(said);
        std::fs::write(&file, "listen = ").unwrap();
        assert!(Config::load(&file).unwrap_err().to_string().contains("is not TOML (line 1"));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn the_example_is_whole() {
        let folder = std::env::temp_dir().join(format!("hub-example-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir_all(&folder).unwrap();
        for client in ["slurm-agent-lab", "temporal-worker-lab", "hpc-lab", "fleet-squad"] {
            let key = rcgen::KeyPair::generate().unwrap().public_key_pem();
            std::fs::write(folder.join(format!("{client}.pub")), key).unwrap();
        }
        let file = folder.join("hub.toml");
        std::fs::write(&file, include_str!("../../deploy/hub.example.toml")).unwrap();
        assert_eq!(Config::load(&file).unwrap().clients.len(), 4);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
