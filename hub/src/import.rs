//! `fleet-hub import`: devices from a JSON file, all or none.

use std::collections::BTreeSet;
use std::path::Path;

use model::{DeviceId, Invalid, NodeName, Role, SiteId};
use serde_json::Value;

use crate::config::{Config, Mistakes};
use crate::db::{self, Import, Store};
use crate::fields::{Fields, parsed, text};

/// Why an import stored nothing.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file is wrong.
    #[error(transparent)]
    Mistakes(#[from] Mistakes),
    /// The database failed.
    #[error("the database failed")]
    Store(#[from] db::Error),
}

/// What an import did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Imported {
    /// Devices in the file.
    pub devices: usize,
    /// Those that differed from what the hub had.
    pub changed: usize,
}

/// Imports the devices of `file` in one transaction. Works beside a running server. Devices that
/// the file does not name stay as they are; an optional field that is absent is kept.
///
/// # Errors
/// [`Error::Mistakes`] lists every mistake with the device's position in the file.
pub async fn run(file: &Path, config: &Config, store: &Store) -> Result<Imported, Error> {
    let sites: BTreeSet<SiteId> = config.sites.keys().cloned().collect();
    let wrong = |mistakes| Mistakes { file: file.to_owned(), mistakes };
    let content = std::fs::read(file).map_err(|e| {
        let problem = format!("cannot be read ({})", e.kind());
        wrong(vec![Invalid::new("file", problem, "name a file that can be read")])
    })?;
    let devices = parse(&content, &sites).map_err(wrong)?;
    let count = devices.len();
    match store.import(devices).await? {
        Ok(changed) => Ok(Imported { devices: count, changed }),
        Err(positions) => {
            let moved = |at: usize| {
                let field = format!("[{at}].site_id");
                Invalid::new(
                    &field,
                    "differs from the device's site",
                    "a device does not move: give it a new id",
                )
            };
            Err(wrong(positions.into_iter().map(moved).collect()).into())
        }
    }
}

fn parse(content: &[u8], sites: &BTreeSet<SiteId>) -> Result<Vec<Import>, Vec<Invalid>> {
    let value: Value = serde_json::from_slice(content).map_err(|e| {
        let problem = format!("is not JSON (line {}, column {})", e.line(), e.column());
        vec![Invalid::new("file", problem, "write a list of devices")]
    })?;
    let Value::Array(items) = &value else {
        return Err(vec![Invalid::new("file", "is not a list", "write a list of devices")]);
    };
    let (mut mistakes, mut devices, mut seen) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (at, item) in items.iter().enumerate() {
        let at = format!("[{at}]");
        let Some(device) = read(&at, item, sites, &mut mistakes) else { continue };
        if !seen.insert(device.id.clone()) {
            mistakes.push(Invalid::new(&format!("{at}.id"), "names a device twice", "give each device once"));
        }
        devices.push(device);
    }
    if mistakes.is_empty() { Ok(devices) } else { Err(mistakes) }
}

fn read(at: &str, item: &Value, sites: &BTreeSet<SiteId>, mistakes: &mut Vec<Invalid>) -> Option<Import> {
    let mut fields = Fields::of(at, item, mistakes)?;
    let id = fields.required("id", parsed(DeviceId::parse));
    let site = fields.required("site_id", |v| {
        let site = SiteId::parse(text(v)?)?;
        let unknown = || Invalid::new("site_id", "is not a site of hub.toml", "add the site there first");
        if sites.contains(&site) { Ok(site) } else { Err(unknown()) }
    });
    let name = fields.required("name", parsed(|t| line(t, 128)));
    let role = fields.required("role", parsed(Role::parse));
    let slurm_node_name = fields.optional("slurm_node_name", nullable(NodeName::parse));
    let nova_host = fields.optional("nova_host", nullable(|t| line(t, 255)));
    fields.finish();
    Some(Import { id: id?, site: site?, name: name?, role: role?, slurm_node_name, nova_host })
}

fn nullable<T>(parse: impl Fn(&str) -> Result<T, Invalid>) -> impl Fn(&Value) -> Result<Option<T>, Invalid> {
    move |value| if value.is_null() { Ok(None) } else { parse(text(value)?).map(Some) }
}

fn line(text: &str, longest: usize) -> Result<String, Invalid> {
    let count = text.chars().count();
    if count == 0 || count > longest || text.chars().any(char::is_control) {
        let remedy = format!("give 1 to {longest} characters on one line");
        return Err(Invalid::new("", "is empty, too long or holds a control character", remedy));
    }
    Ok(text.to_owned())
}
