//! Ticks: claimed in order, one highest per site (DESIGN §11).

use jiff::Timestamp;
use model::SiteId;
use tokio_rusqlite::rusqlite::{OptionalExtension as _, Transaction, params};

use super::{Error, Store, counter, nanos, time};

/// What a poll came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Polled {
    /// Accepted; the site's counters as they are now.
    Accepted {
        /// Moves with every change of a device or condition.
        rev: u64,
        /// Moves with every change of a device.
        devices_rev: u64,
        /// The last tick that ended well.
        good_at: Option<Timestamp>,
    },
    /// A newer tick was claimed: this one.
    Overtaken(Timestamp),
    /// Said to have ended well, and was never claimed.
    Unclaimed,
}

impl Store {
    /// Claims `tick`; with `good`, notes that it ended well. A good tick is also a proof that the
    /// conditions of adopted devices still hold, though unchanged ones are not written again.
    pub(crate) async fn poll(
        &self,
        site: &SiteId,
        tick: Timestamp,
        good: bool,
        now: Timestamp,
    ) -> Result<Polled, Error> {
        let site = site.clone();
        self.write(move |t| {
            match highest(t, &site)? {
                Some(highest) if tick < highest => return Ok(Polled::Overtaken(highest)),
                Some(highest) if good && tick == highest => {
                    t.execute(
                        "UPDATE sites SET good_at = ? WHERE id = ?",
                        params![nanos(tick), site.as_str()],
                    )?;
                    mark_ready(t, &site, tick)?;
                }
                _ if good => return Ok(Polled::Unclaimed),
                _ => claim(t, &site, tick, now)?,
            }
            let counters = "SELECT rev, devices_rev, good_at FROM sites WHERE id = ?";
            Ok(t.query_row(counters, [site.as_str()], |row| {
                Ok(Polled::Accepted {
                    rev: counter(row, 0)?,
                    devices_rev: counter(row, 1)?,
                    good_at: row.get::<_, Option<i64>>(2)?.map(time),
                })
            })?)
        })
        .await
    }
}

/// The highest tick that was accepted.
pub(super) fn highest(t: &Transaction<'_>, site: &SiteId) -> Result<Option<Timestamp>, Error> {
    let tick: Option<Option<i64>> =
        t.query_row("SELECT tick FROM sites WHERE id = ?", [site.as_str()], |row| row.get(0)).optional()?;
    Ok(tick.flatten().map(time))
}

/// Makes `tick` the highest. The caller has looked that none is newer.
pub(super) fn claim(
    t: &Transaction<'_>,
    site: &SiteId,
    tick: Timestamp,
    now: Timestamp,
) -> Result<(), Error> {
    t.execute(
        "UPDATE sites SET tick = ?, claimed_at = ? WHERE id = ?",
        params![nanos(tick), nanos(now), site.as_str()],
    )?;
    Ok(())
}

/// Remembers of every adopted device whose conditions are both True now that it once was ready.
pub(super) fn mark_ready(t: &Transaction<'_>, site: &SiteId, tick: Timestamp) -> Result<(), Error> {
    t.execute(
        "UPDATE devices SET ready_at = ?1
         WHERE site_id = ?2 AND ready_at IS NULL AND server_id IS NOT NULL AND adopted_at <= ?1
           AND (SELECT count(*) FROM conditions c WHERE c.device_id = id AND c.status = 'True') = 2",
        params![nanos(tick), site.as_str()],
    )?;
    Ok(())
}
