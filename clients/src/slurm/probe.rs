//! Which API version is spoken: probed once, kept until it is forgotten.
//!
//! *Invariant*: a 404 alone says that a version is not served. Whatever else kept slurmrestd from
//! answering is an error, and nothing is concluded from it.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::Value;

use super::Slurm;
use super::dialect::{self, Dialect};
use crate::{Error, Kind, Service};

const OPERATION: &str = "probe API version";

impl Slurm {
    /// Forgets which API version was found; the next call probes anew.
    pub fn forget_dialect(&self) {
        if let Ok(mut dialect) = self.dialect.write() {
            *dialect = None;
        }
    }

    /// The newest API version that both sides speak: `GET /slurm/{v}/ping` of each row, newest
    /// first. `ping` says nothing of health, only that the version is served (facts: slurm §0.5).
    /// What was found is logged whenever it is another than before.
    ///
    /// # Errors
    /// [`Kind::TooOld`] or [`Kind::Unspoken`] when slurmrestd serves none of ours; both name those
    /// that it serves, where it says.
    pub async fn dialect(&self) -> Result<&'static Dialect, Error> {
        if let Some(known) = self.dialect.read().ok().and_then(|d| *d) {
            return Ok(known);
        }
        for row in dialect::TABLE {
            let path = format!("slurm/{}/ping", row.version);
            let answer = self.send(OPERATION, &self.user, Method::GET, &path, &|r| r).await?;
            match answer.status.as_u16() {
                404 => {}
                200 => {
                    let release = answer.json(Service::Slurm, OPERATION).ok().and_then(|b| release(&b));
                    self.keep(row, release.unwrap_or_else(|| "unknown".to_owned()));
                    return Ok(row);
                }
                _ => return self.success(OPERATION, &answer).and(Ok(row)),
            }
        }
        Err(self.none_of_ours().await)
    }

    fn keep(&self, row: &'static Dialect, release: String) {
        if let Ok(mut dialect) = self.dialect.write() {
            *dialect = Some(row);
        }
        let found = (row.version, release);
        let Ok(mut told) = self.told.lock() else { return };
        if told.as_ref() != Some(&found) {
            let (version, release) = &found;
            let Dialect { node_write, node_create, reservations, hides, .. } = row;
            tracing::info!(
                version,
                release,
                node_write,
                node_create,
                reservations,
                ?hides,
                "speaking with slurmrestd"
            );
            *told = Some(found);
        }
    }

    /// Says what slurmrestd serves instead: `GET /openapi/v3`, megabytes, so only now.
    async fn none_of_ours(&self) -> Error {
        let answer = match self.send(OPERATION, &self.user, Method::GET, "openapi/v3", &|r| r).await {
            Ok(answer) => answer,
            Err(error) => return error,
        };
        let offered = match answer.status.as_u16() {
            200 => answer.json(Service::Slurm, OPERATION).map(|b| versions(&b)).unwrap_or_default(),
            _ => Vec::new(),
        };
        let serves = match offered.as_slice() {
            [] => "and does not say which it serves".to_owned(),
            some => format!("but {}", some.join(", ")),
        };
        let detail = format!("slurmrestd serves none of {}, {serves}", dialect::versions());
        let kind = if dialect::are_older(&offered) { Kind::TooOld(detail) } else { Kind::Unspoken(detail) };
        Error::new(Service::Slurm, OPERATION, kind)
    }
}

/// `meta.slurm.release`, such as `24.11.5`; 22.05 writes `meta.Slurm`.
fn release(body: &Value) -> Option<String> {
    let release = |key| body.pointer(key).and_then(Value::as_str);
    release("/meta/slurm/release").or_else(|| release("/meta/Slurm/release")).map(crate::excerpt)
}

/// The versions in an OpenAPI document's paths, oldest first.
fn versions(openapi: &Value) -> Vec<String> {
    let paths = openapi.get("paths").and_then(Value::as_object);
    let version = |path: &String| path.strip_prefix("/slurm/")?.split('/').next().map(str::to_owned);
    let all: BTreeSet<_> = paths
        .into_iter()
        .flat_map(|p| p.keys().filter_map(version))
        .filter_map(|v| dialect::number(&v).map(|n| (n, v)))
        .collect();
    all.into_iter().map(|(_, version)| version).collect()
}
