//! Devices: imported, patched by the satellite, served with their conditions and derived status.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use model::{Device, DeviceId, DevicePatch, DeviceStatus, NodeName, Role, ServerId, SiteId};
use tokio_rusqlite::rusqlite::{OptionalExtension as _, Row, Transaction, params};

use super::conditions::{self, Silence};
use super::{Change, Error, Store, bump, nanos};

/// A device to be written by an import. A field that is `None` is kept, `Some(None)` clears it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// The id.
    pub id: DeviceId,
    /// Its site.
    pub site: SiteId,
    /// What people call it.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// Its node's name.
    pub slurm_node_name: Option<Option<NodeName>>,
    /// Its hypervisor.
    pub nova_host: Option<Option<String>>,
}

const SELECT: &str =
    "SELECT id, site_id, name, role, slurm_node_name, nova_host, server_id, ready_at FROM devices";

impl Store {
    /// One page of the site's devices by id, after `after`; one more than `limit` when there are more.
    pub(crate) async fn list_devices(
        &self,
        site: &SiteId,
        role: Option<Role>,
        after: Option<DeviceId>,
        limit: u32,
        (now, stale_after): (Timestamp, SignedDuration),
    ) -> Result<Vec<Device>, Error> {
        let site = site.clone();
        self.read(move |t| {
            let silence = conditions::silence(t, &site, now, stale_after)?;
            let mut statement = t.prepare_cached(&format!(
                "{SELECT} WHERE site_id = ?1 AND id > ?2 AND (?3 IS NULL OR role = ?3) ORDER BY id LIMIT ?4"
            ))?;
            let after = after.as_ref().map(DeviceId::as_str).unwrap_or_default();
            let role = role.as_ref().map(Role::as_str);
            let mut rows = statement.query(params![site.as_str(), after, role, limit + 1])?;
            let mut devices = Vec::new();
            while let Some(row) = rows.next()? {
                devices.push(read(t, row, silence)?);
            }
            Ok(devices)
        })
        .await
    }

    /// A device, wherever it is.
    pub(crate) async fn get_device(
        &self,
        id: &DeviceId,
        (now, stale_after): (Timestamp, SignedDuration),
    ) -> Result<Option<Device>, Error> {
        let id = id.clone();
        self.read(move |t| get(t, &id, now, stale_after)).await
    }

    /// Changes what differs. Another server starts a new adoption: that it was ready is forgotten.
    pub(crate) async fn patch_device(
        &self,
        id: &DeviceId,
        patch: DevicePatch,
        (now, stale_after): (Timestamp, SignedDuration),
    ) -> Result<Option<Device>, Error> {
        let id = id.clone();
        self.write(move |t| {
            let Some(have) = get(t, &id, now, stale_after)? else { return Ok(None) };
            let name = patch.slurm_node_name.unwrap_or_else(|| have.slurm_node_name.clone());
            let server = patch.server_id.unwrap_or_else(|| have.server_id.clone());
            if name == have.slurm_node_name && server == have.server_id {
                return Ok(Some(have));
            }
            let name = name.as_ref().map(NodeName::as_str);
            t.execute("UPDATE devices SET slurm_node_name = ? WHERE id = ?", params![name, id.as_str()])?;
            if server != have.server_id {
                let adopted = server.is_some().then_some(nanos(now));
                t.execute(
                    "UPDATE devices SET server_id = ?, adopted_at = ?, ready_at = NULL WHERE id = ?",
                    params![server.as_ref().map(ServerId::as_str), adopted, id.as_str()],
                )?;
            }
            bump(t, &have.site_id, Change::Devices)?;
            get(t, &id, now, stale_after)
        })
        .await
    }

    /// Writes devices, all or none; answers how many differed from what was there. `Err` in the
    /// answer lists the positions of devices that belong to another site: a device does not move.
    ///
    /// # Errors
    /// As every operation of the store.
    pub async fn import(&self, devices: Vec<Import>) -> Result<Result<usize, Vec<usize>>, Error> {
        self.write(move |t| {
            let mut elsewhere = Vec::new();
            for (at, device) in devices.iter().enumerate() {
                let site: Option<String> = t
                    .query_row("SELECT site_id FROM devices WHERE id = ?", [device.id.as_str()], |r| r.get(0))
                    .optional()?;
                if site.is_some_and(|site| site != device.site.as_str()) {
                    elsewhere.push(at);
                }
            }
            if !elsewhere.is_empty() {
                return Ok(Err(elsewhere));
            }
            let (mut changed, mut sites) = (0, BTreeSet::new());
            for device in &devices {
                if upsert(t, device)? {
                    changed += 1;
                    sites.insert(&device.site);
                }
            }
            for site in sites {
                bump(t, site, Change::Devices)?;
            }
            Ok(Ok(changed))
        })
        .await
    }
}

/// Whether anything differed.
fn upsert(t: &Transaction<'_>, device: &Import) -> Result<bool, Error> {
    let node = device.slurm_node_name.as_ref();
    let host = device.nova_host.as_ref();
    let changed = t
        .prepare_cached(
            "INSERT INTO devices (id, site_id, name, role, slurm_node_name, nova_host)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (id) DO UPDATE SET name = ?3, role = ?4,
                 slurm_node_name = iif(?7, ?5, slurm_node_name), nova_host = iif(?8, ?6, nova_host)
             WHERE name IS NOT ?3 OR role IS NOT ?4
                OR (?7 AND slurm_node_name IS NOT ?5) OR (?8 AND nova_host IS NOT ?6)",
        )?
        .execute(params![
            device.id.as_str(),
            device.site.as_str(),
            device.name,
            device.role.as_str(),
            node.and_then(|n| n.as_ref()).map(NodeName::as_str),
            host.and_then(|h| h.as_deref()),
            node.is_some(),
            host.is_some(),
        ])?;
    Ok(changed == 1)
}

fn get(
    t: &Transaction<'_>,
    id: &DeviceId,
    now: Timestamp,
    stale_after: SignedDuration,
) -> Result<Option<Device>, Error> {
    let mut statement = t.prepare_cached(&format!("{SELECT} WHERE id = ?"))?;
    let mut rows = statement.query([id.as_str()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let site = SiteId::parse(&row.get::<_, String>(1)?)?;
    let silence = conditions::silence(t, &site, now, stale_after)?;
    read(t, row, silence).map(Some)
}

fn read(t: &Transaction<'_>, row: &Row<'_>, silence: Option<Silence>) -> Result<Device, Error> {
    let text = |at: usize| row.get::<_, Option<String>>(at);
    let id = DeviceId::parse(&row.get::<_, String>(0)?)?;
    let conditions = conditions::of_device(t, &id, silence)?;
    let server_id = text(6)?.as_deref().map(ServerId::parse).transpose()?;
    let was_ready = row.get::<_, Option<i64>>(7)?.is_some();
    Ok(Device {
        id,
        site_id: SiteId::parse(&row.get::<_, String>(1)?)?,
        name: row.get(2)?,
        role: Role::parse(&row.get::<_, String>(3)?)?,
        slurm_node_name: text(4)?.as_deref().map(NodeName::parse).transpose()?,
        nova_host: text(5)?,
        status: DeviceStatus::derive(server_id.is_some(), was_ready, &conditions),
        server_id,
        conditions,
    })
}
