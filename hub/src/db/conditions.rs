//! Conditions: written by ticks in order, served with the poller's silence laid over them.

use jiff::{SignedDuration, Timestamp};
use model::{
    Condition, ConditionResult, ConditionRow, ConditionType, DeviceId, Observed, RowResult, SiteId, Status,
};
use tokio_rusqlite::rusqlite::{OptionalExtension as _, Row, Transaction, params};

use super::{Change, Error, Store, bump, nanos, polls, time};

/// What became of posted conditions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Written {
    /// A result a row.
    Rows(Vec<ConditionResult>),
    /// A newer tick was claimed: this one. Nothing was written.
    Overtaken(Timestamp),
}

impl Store {
    /// Every condition of the site.
    pub(crate) async fn list_conditions(
        &self,
        site: &SiteId,
        now: Timestamp,
        stale_after: SignedDuration,
    ) -> Result<Vec<Condition>, Error> {
        let site = site.clone();
        self.read(move |t| of_site(t, &site, silence(t, &site, now, stale_after)?)).await
    }

    /// Writes the rows that differ. A tick newer than the highest is a claim of its own, so that
    /// no older one can write after it.
    pub(crate) async fn write_conditions(
        &self,
        site: &SiteId,
        tick: Timestamp,
        rows: Vec<ConditionRow>,
        now: Timestamp,
    ) -> Result<Written, Error> {
        let site = site.clone();
        self.write(move |t| {
            match polls::highest(t, &site)? {
                Some(highest) if tick < highest => return Ok(Written::Overtaken(highest)),
                Some(highest) if tick == highest => {}
                _ => polls::claim(t, &site, tick, now)?,
            }
            let mut results = Vec::with_capacity(rows.len());
            for row in rows {
                let result = write_row(t, &site, tick, &row)?;
                results.push(ConditionResult { device_id: row.device_id, kind: row.kind, result });
            }
            if results.iter().any(|r| r.result == RowResult::Written) {
                bump(t, &site, Change::Conditions)?;
                polls::mark_ready(t, &site, tick)?;
            }
            Ok(Written::Rows(results))
        })
        .await
    }
}

fn write_row(
    t: &Transaction<'_>,
    site: &SiteId,
    tick: Timestamp,
    row: &ConditionRow,
) -> Result<RowResult, Error> {
    let known = "SELECT 1 FROM devices WHERE id = ? AND site_id = ?";
    let known = t.query_row(known, [row.device_id.as_str(), site.as_str()], |_| Ok(())).optional()?;
    if known.is_none() {
        return Ok(RowResult::UnknownDevice);
    }
    let have = t
        .prepare_cached(&format!("{SELECT} WHERE c.device_id = ? AND c.type = ?"))?
        .query_row([row.device_id.as_str(), row.kind.as_str()], |r| Ok(read(r)))
        .optional()?
        .transpose()?;
    let (transition, since) = match &have {
        Some(have) if have.observed == row.observed => return Ok(RowResult::Unchanged),
        Some(have) => (
            if have.observed.status == row.observed.status { have.last_transition_time } else { tick },
            if have.observed.reason == row.observed.reason { have.reason_since } else { tick },
        ),
        None => (tick, tick),
    };
    t.prepare_cached(
        "INSERT OR REPLACE INTO conditions
         (device_id, type, status, reason, message, observed_at, last_transition_time, reason_since)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    )?
    .execute(params![
        row.device_id.as_str(),
        row.kind.as_str(),
        row.observed.status.as_str(),
        row.observed.reason,
        row.observed.message,
        nanos(tick),
        nanos(transition),
        nanos(since),
    ])?;
    Ok(RowResult::Written)
}

const SELECT: &str = "SELECT c.device_id, c.type, c.status, c.reason, c.message, c.observed_at,
                             c.last_transition_time, c.reason_since FROM conditions c";

/// Since when the site's poller is silent, if it is.
pub(super) fn silence(
    t: &Transaction<'_>,
    site: &SiteId,
    now: Timestamp,
    stale_after: SignedDuration,
) -> Result<Option<Silence>, Error> {
    let claimed: Option<Option<i64>> =
        t.query_row("SELECT claimed_at FROM sites WHERE id = ?", [site.as_str()], |r| r.get(0)).optional()?;
    let last = claimed.flatten().map_or(Timestamp::UNIX_EPOCH, time);
    let from = last.saturating_add(stale_after).unwrap_or(Timestamp::MAX);
    Ok((now > from).then_some(Silence { last, from }))
}

/// A poller that is silent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Silence {
    last: Timestamp,
    from: Timestamp,
}

impl Silence {
    /// What a condition is worth now.
    fn over(self, condition: &mut Condition) {
        if condition.observed.status != Status::Unknown {
            condition.last_transition_time = self.from;
        }
        condition.reason_since = self.from;
        condition.observed = Observed {
            status: Status::Unknown,
            reason: "PollerSilent".to_owned(),
            message: format!("no poll has claimed a tick since {:.0}", self.last),
        };
    }
}

/// The site's conditions, by device and type.
pub(super) fn of_site(
    t: &Transaction<'_>,
    site: &SiteId,
    silence: Option<Silence>,
) -> Result<Vec<Condition>, Error> {
    let sql = format!("{SELECT} JOIN devices d ON d.id = c.device_id WHERE d.site_id = ? ORDER BY 1, 2");
    let mut statement = t.prepare_cached(&sql)?;
    let mut rows = statement.query([site.as_str()])?;
    collect(&mut rows, silence)
}

/// A device's conditions.
pub(super) fn of_device(
    t: &Transaction<'_>,
    device: &DeviceId,
    silence: Option<Silence>,
) -> Result<Vec<Condition>, Error> {
    let mut statement = t.prepare_cached(&format!("{SELECT} WHERE c.device_id = ? ORDER BY 2"))?;
    let mut rows = statement.query([device.as_str()])?;
    collect(&mut rows, silence)
}

fn collect(
    rows: &mut tokio_rusqlite::rusqlite::Rows<'_>,
    silence: Option<Silence>,
) -> Result<Vec<Condition>, Error> {
    let mut conditions = Vec::new();
    while let Some(row) = rows.next()? {
        let mut condition = read(row)?;
        if let Some(silence) = silence {
            silence.over(&mut condition);
        }
        conditions.push(condition);
    }
    Ok(conditions)
}

fn read(row: &Row<'_>) -> Result<Condition, Error> {
    let word = |text: String| serde_json::Value::String(text);
    Ok(Condition {
        device_id: DeviceId::parse(&row.get::<_, String>(0)?)?,
        kind: serde_json::from_value::<ConditionType>(word(row.get(1)?))?,
        observed: Observed {
            status: serde_json::from_value::<Status>(word(row.get(2)?))?,
            reason: row.get(3)?,
            message: row.get(4)?,
        },
        observed_at: time(row.get(5)?),
        last_transition_time: time(row.get(6)?),
        reason_since: time(row.get(7)?),
    })
}
