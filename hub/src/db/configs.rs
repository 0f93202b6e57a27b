//! Bootstrap configs: one per site and role, every change kept.

use jiff::Timestamp;
use model::{BootstrapConfig, BootstrapDraft, PrincipalId, Role, SiteId};
use tokio_rusqlite::rusqlite::{OptionalExtension as _, params};
use uuid::Uuid;

use super::{Error, Store, counter, nanos, time};

impl Store {
    /// The site's rows, or the role's.
    pub(crate) async fn list_configs(
        &self,
        site: &SiteId,
        role: Option<Role>,
    ) -> Result<Vec<BootstrapConfig>, Error> {
        let site = site.clone();
        self.read(move |t| {
            let mut statement = t.prepare_cached(
                "SELECT id, draft, revision, updated_at, updated_by FROM bootstrap_configs
                 WHERE site_id = ?1 AND (?2 IS NULL OR device_role = ?2) ORDER BY device_role",
            )?;
            let mut rows = statement.query(params![site.as_str(), role.as_ref().map(Role::as_str)])?;
            let mut configs = Vec::new();
            while let Some(row) = rows.next()? {
                configs.push(BootstrapConfig {
                    id: row.get(0)?,
                    site_id: site.clone(),
                    draft: serde_json::from_str(&row.get::<_, String>(1)?)?,
                    revision: counter(row, 2)?,
                    updated_at: time(row.get(3)?),
                    updated_by: PrincipalId::parse(&row.get::<_, String>(4)?)?,
                });
            }
            Ok(configs)
        })
        .await
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
            t.execute(
                "INSERT INTO bootstrap_config_history
                 (config_id, revision, site_id, draft, changed_at, changed_by) VALUES (?, 1, ?, ?, ?, ?)",
                params![id, site.as_str(), json, nanos(now), by.as_str()],
            )?;
            Ok(Some(BootstrapConfig {
                id,
                site_id: site,
                draft,
                revision: 1,
                updated_at: time(nanos(now)),
                updated_by: by,
            }))
        })
        .await
    }
}
