//! Bootstrap configs: one per site and role, every change kept.
//!
//! *Invariant*: a row and the history's newest entry of it are written in one transaction and are
//! equal. `rev` and `devices_rev` stay where they are: they say what the poller's caches hold,
//! which is devices and conditions; adoptions read the row anew.

use jiff::Timestamp;
use model::{BootstrapConfig, BootstrapDraft, Invalid, PrincipalId, Role, SiteId};
use serde::Serialize;
use tokio_rusqlite::rusqlite::{OptionalExtension as _, Row, Transaction, params};
use uuid::Uuid;

use super::{Error, Store, counter, nanos, time};
use crate::config_patch::Patch;
use crate::etag::IfMatch;

/// One change of a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ConfigChange {
    /// The revision that it made.
    pub(crate) revision: u64,
    /// When.
    pub(crate) changed_at: Timestamp,
    /// By whom.
    pub(crate) changed_by: PrincipalId,
    /// What was there; `None` for the row's creation.
    pub(crate) before: Option<BootstrapDraft>,
    /// What was there from then on.
    pub(crate) after: BootstrapDraft,
}

/// What became of a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Patched {
    /// It made a revision.
    Changed(BootstrapConfig),
    /// The row was like that before.
    Unchanged(BootstrapConfig),
    /// The row is at this revision, which is not one that was expected.
    Moved(u64),
    /// What the row would be is wrong.
    Invalid(Vec<Invalid>),
}

const SELECT: &str = "SELECT id, site_id, draft, revision, updated_at, updated_by FROM bootstrap_configs";

impl Store {
    /// The site's rows, or the role's.
    pub(crate) async fn list_configs(
        &self,
        site: &SiteId,
        role: Option<Role>,
    ) -> Result<Vec<BootstrapConfig>, Error> {
        let site = site.clone();
        self.read(move |t| {
            let mut statement = t.prepare_cached(&format!(
                "{SELECT} WHERE site_id = ?1 AND (?2 IS NULL OR device_role = ?2) ORDER BY device_role"
            ))?;
            let mut rows = statement.query(params![site.as_str(), role.as_ref().map(Role::as_str)])?;
            let mut configs = Vec::new();
            while let Some(row) = rows.next()? {
                configs.push(read(row)?);
            }
            Ok(configs)
        })
        .await
    }

    /// The site's row of this id.
    pub(crate) async fn get_config(
        &self,
        site: &SiteId,
        id: String,
    ) -> Result<Option<BootstrapConfig>, Error> {
        let site = site.clone();
        self.read(move |t| get(t, &site, &id)).await
    }

    /// Writes the role's first row; `None` when it has one.
    pub(crate) async fn create_config(
        &self,
        site: &SiteId,
        draft: BootstrapDraft,
        by: PrincipalId,
        now: Timestamp,
    ) -> Result<Option<BootstrapConfig>, Error> {
        let site = site.clone();
        self.write(move |t| {
            let have = "SELECT 1 FROM bootstrap_configs WHERE site_id = ? AND device_role = ?";
            let have = t.query_row(have, [site.as_str(), &draft.device_role], |_| Ok(())).optional()?;
            if have.is_some() {
                return Ok(None);
            }
            let id = Uuid::new_v4().to_string();
            let json = serde_json::to_string(&draft)?;
            t.execute(
                "INSERT INTO bootstrap_configs
                 (id, site_id, device_role, draft, revision, updated_at, updated_by)
                 VALUES (?, ?, ?, ?, 1, ?, ?)",
                params![id, site.as_str(), draft.device_role, json, nanos(now), by.as_str()],
            )?;
            keep(t, &id)?;
            get(t, &site, &id)
        })
        .await
    }

    /// Changes the site's row of this id where it is at a revision that is `expected`; `None` when
    /// there is none.
    pub(crate) async fn patch_config(
        &self,
        site: &SiteId,
        id: String,
        expected: IfMatch,
        patch: Patch,
        by: PrincipalId,
        now: Timestamp,
    ) -> Result<Option<Patched>, Error> {
        let site = site.clone();
        self.write(move |t| {
            let Some(have) = get(t, &site, &id)? else { return Ok(None) };
            if !expected.holds(have.revision) {
                return Ok(Some(Patched::Moved(have.revision)));
            }
            let draft = patch.over(&have.draft);
            if draft == have.draft {
                return Ok(Some(Patched::Unchanged(have)));
            }
            if let Err(mistakes) = draft.check() {
                return Ok(Some(Patched::Invalid(mistakes)));
            }
            t.execute(
                "UPDATE bootstrap_configs
                 SET draft = ?, revision = revision + 1, updated_at = ?, updated_by = ? WHERE id = ?",
                params![serde_json::to_string(&draft)?, nanos(now), by.as_str(), id],
            )?;
            keep(t, &id)?;
            Ok(get(t, &site, &id)?.map(Patched::Changed))
        })
        .await
    }

    /// One page of the changes of the site's row, newest first, of revisions below `below`; one
    /// more than `limit` when there are more. `None` when there is no such row.
    pub(crate) async fn list_config_changes(
        &self,
        site: &SiteId,
        id: String,
        below: Option<i64>,
        limit: u32,
    ) -> Result<Option<Vec<ConfigChange>>, Error> {
        let site = site.clone();
        self.read(move |t| {
            if get(t, &site, &id)?.is_none() {
                return Ok(None);
            }
            let mut statement = t.prepare_cached(
                "SELECT h.revision, h.changed_at, h.changed_by, b.draft, h.draft
                 FROM bootstrap_config_history h LEFT JOIN bootstrap_config_history b
                 ON b.config_id = h.config_id AND b.revision = h.revision - 1
                 WHERE h.config_id = ? AND h.revision < ? ORDER BY h.revision DESC LIMIT ?",
            )?;
            let mut rows = statement.query(params![id, below.unwrap_or(i64::MAX), limit + 1])?;
            let mut changes = Vec::new();
            while let Some(row) = rows.next()? {
                let before: Option<String> = row.get(3)?;
                changes.push(ConfigChange {
                    revision: counter(row, 0)?,
                    changed_at: time(row.get(1)?),
                    changed_by: PrincipalId::parse(&row.get::<_, String>(2)?)?,
                    before: before.map(|draft| serde_json::from_str(&draft)).transpose()?,
                    after: serde_json::from_str(&row.get::<_, String>(4)?)?,
                });
            }
            Ok(Some(changes))
        })
        .await
    }
}

/// Writes the row as it is now into the history.
fn keep(t: &Transaction<'_>, id: &str) -> Result<(), Error> {
    t.execute(
        "INSERT INTO bootstrap_config_history (config_id, revision, site_id, draft, changed_at, changed_by)
         SELECT id, revision, site_id, draft, updated_at, updated_by FROM bootstrap_configs WHERE id = ?",
        [id],
    )?;
    Ok(())
}

fn get(t: &Transaction<'_>, site: &SiteId, id: &str) -> Result<Option<BootstrapConfig>, Error> {
    let mut statement = t.prepare_cached(&format!("{SELECT} WHERE id = ? AND site_id = ?"))?;
    let mut rows = statement.query([id, site.as_str()])?;
    rows.next()?.map(read).transpose()
}

fn read(row: &Row<'_>) -> Result<BootstrapConfig, Error> {
    Ok(BootstrapConfig {
        id: row.get(0)?,
        site_id: SiteId::parse(&row.get::<_, String>(1)?)?,
        draft: serde_json::from_str(&row.get::<_, String>(2)?)?,
        revision: counter(row, 3)?,
        updated_at: time(row.get(4)?),
        updated_by: PrincipalId::parse(&row.get::<_, String>(5)?)?,
    })
}
