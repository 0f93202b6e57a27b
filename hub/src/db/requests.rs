//! Workflow requests: id → what was asked, and the run that answers it.

use jiff::Timestamp;
use model::{Actor, DeviceId, RequestId, SiteId, Verb};
use tokio_rusqlite::rusqlite::{OptionalExtension as _, Row, params};

use super::{Error, Store, nanos};

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    /// Its site.
    pub(crate) site: SiteId,
    /// The idempotency key.
    pub(crate) id: RequestId,
    /// The device.
    pub(crate) device: DeviceId,
    /// What is asked.
    pub(crate) verb: Verb,
    /// Who asks.
    pub(crate) actor: Actor,
    /// What the whole request hashes to.
    pub(crate) body_hash: String,
    /// The run, once Temporal has answered.
    pub(crate) run_id: Option<String>,
}

/// What is known of a request that came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Begun {
    /// It is new, or its start was never answered: start it, with the same id.
    Start,
    /// It has this run.
    Has(String),
    /// The id came with something else before.
    Reused,
}

const SELECT: &str =
    "SELECT site_id, request_id, device_id, verb, actor, body_hash, run_id FROM workflow_requests";

impl Store {
    /// Notes a request before its start, so that a lost answer is found again.
    pub(crate) async fn begin_request(&self, request: Request, now: Timestamp) -> Result<Begun, Error> {
        self.write(move |t| {
            let sql = format!("{SELECT} WHERE site_id = ? AND request_id = ?");
            let have = t
                .query_row(&sql, [request.site.as_str(), request.id.as_str()], |r| Ok(read(r)))
                .optional()?
                .transpose()?;
            if let Some(have) = have {
                return Ok(match have.run_id {
                    _ if have.body_hash != request.body_hash => Begun::Reused,
                    Some(run) => Begun::Has(run),
                    None => Begun::Start,
                });
            }
            t.execute(
                "INSERT INTO workflow_requests
                 (site_id, request_id, device_id, verb, actor, body_hash, created_at)
                 VALUES (?, ?, ?, ?, ?, ?, ?)",
                params![
                    request.site.as_str(),
                    request.id.as_str(),
                    request.device.as_str(),
                    request.verb.as_str(),
                    request.actor.as_str(),
                    request.body_hash,
                    nanos(now),
                ],
            )?;
            Ok(Begun::Start)
        })
        .await
    }

    /// Notes the run of a request.
    pub(crate) async fn set_run(&self, site: &SiteId, id: &RequestId, run: &str) -> Result<(), Error> {
        let (site, id, run) = (site.to_string(), id.to_string(), run.to_owned());
        self.write(move |t| {
            let sql = "UPDATE workflow_requests SET run_id = ? WHERE site_id = ? AND request_id = ?";
            t.execute(sql, [run, site, id])?;
            Ok(())
        })
        .await
    }

    /// The device's requests that have a run, newest first, at most `limit`.
    pub(crate) async fn list_requests(&self, device: &DeviceId, limit: u32) -> Result<Vec<Request>, Error> {
        let device = device.to_string();
        self.read(move |t| {
            let mut statement = t.prepare_cached(&format!(
                "{SELECT} WHERE device_id = ? AND run_id IS NOT NULL
                 ORDER BY created_at DESC, rowid DESC LIMIT ?"
            ))?;
            let mut rows = statement.query(params![device, limit])?;
            let mut requests = Vec::new();
            while let Some(row) = rows.next()? {
                requests.push(read(row)?);
            }
            Ok(requests)
        })
        .await
    }

    /// The request of one of the device's runs.
    pub(crate) async fn get_request(&self, device: &DeviceId, run: &str) -> Result<Option<Request>, Error> {
        let (device, run) = (device.to_string(), run.to_owned());
        self.read(move |t| {
            let sql = format!("{SELECT} WHERE device_id = ? AND run_id = ? LIMIT 1");
            t.query_row(&sql, [device, run], |r| Ok(read(r))).optional()?.transpose()
        })
        .await
    }
}

fn read(row: &Row<'_>) -> Result<Request, Error> {
    Ok(Request {
        site: SiteId::parse(&row.get::<_, String>(0)?)?,
        id: RequestId::parse(&row.get::<_, String>(1)?)?,
        device: DeviceId::parse(&row.get::<_, String>(2)?)?,
        verb: serde_json::from_value(serde_json::Value::String(row.get(3)?))?,
        actor: Actor::parse(&row.get::<_, String>(4)?)?,
        body_hash: row.get(5)?,
        run_id: row.get(6)?,
    })
}
