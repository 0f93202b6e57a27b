//! The hub's memory: SQLite, one connection, everything in transactions.
//!
//! *Invariant*: `rev`, `devices_rev`, tick and `good_at` of a site move in the transaction that
//! changes what they count. A second process (an import) may write beside the server: nothing is
//! cached.

mod assertions;
mod conditions;
mod configs;
mod devices;
mod polls;
mod requests;
mod schema;

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use model::{Invalid, SiteId};
use tokio_rusqlite::Connection;
use tokio_rusqlite::rusqlite::{self, Transaction, TransactionBehavior, params};

pub(crate) use conditions::Written;
pub(crate) use configs::{ConfigChange, Patched};
pub use devices::Import;
pub(crate) use polls::Polled;
pub(crate) use requests::{Begun, Request};

/// Why the memory fails.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// SQLite.
    #[error("SQLite")]
    Sqlite(#[from] rusqlite::Error),
    /// The connection's thread is gone.
    #[error("the database is closed")]
    Closed,
    /// The file was written by a newer hub.
    #[error("the database has schema {have}, this hub knows {know}: run the newer hub")]
    Newer {
        /// The file's.
        have: i64,
        /// Ours.
        know: i64,
    },
    /// A stored value that cannot be read.
    #[error("a stored value cannot be read")]
    Corrupt(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<Invalid> for Error {
    fn from(invalid: Invalid) -> Self {
        Self::Corrupt(Box::new(invalid))
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::Corrupt(Box::new(error))
    }
}

/// The database.
#[derive(Clone)]
pub struct Store {
    connection: Connection,
}

impl Store {
    /// Opens and migrates the file at `path`, and makes sure that it knows `sites`.
    ///
    /// # Errors
    /// When it cannot be opened, or was written by a newer hub.
    pub async fn open(path: &Path, sites: &[SiteId]) -> Result<Self, Error> {
        Self::prepare(Connection::open(path).await?, sites).await
    }

    /// A database that lives as long as this value, for tests.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn in_memory(sites: &[SiteId]) -> Result<Self, Error> {
        Self::prepare(Connection::open_in_memory().await?, sites).await
    }

    async fn prepare(connection: Connection, sites: &[SiteId]) -> Result<Self, Error> {
        let sites = sites.to_vec();
        let ready = connection.call(move |connection| -> Result<(), Error> {
            connection.busy_timeout(Duration::from_secs(10))?;
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            connection.pragma_update(None, "foreign_keys", true)?;
            schema::migrate(connection)?;
            for site in &sites {
                connection.execute("INSERT OR IGNORE INTO sites (id) VALUES (?)", [site.as_str()])?;
            }
            Ok(())
        });
        ready.await.map_err(flat)?;
        Ok(Self { connection })
    }

    /// Runs `work` in a transaction that writes.
    async fn write<R: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<R, Error> + Send + 'static,
    ) -> Result<R, Error> {
        self.within(TransactionBehavior::Immediate, work).await
    }

    /// Runs `work` on one state of the database.
    async fn read<R: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<R, Error> + Send + 'static,
    ) -> Result<R, Error> {
        self.within(TransactionBehavior::Deferred, work).await
    }

    async fn within<R: Send + 'static>(
        &self,
        behavior: TransactionBehavior,
        work: impl FnOnce(&Transaction<'_>) -> Result<R, Error> + Send + 'static,
    ) -> Result<R, Error> {
        let answer = self.connection.call(move |connection| {
            let transaction = connection.transaction_with_behavior(behavior)?;
            let value = work(&transaction)?;
            transaction.commit()?;
            Ok(value)
        });
        answer.await.map_err(flat)
    }
}

fn flat(error: tokio_rusqlite::Error<Error>) -> Error {
    match error {
        tokio_rusqlite::Error::Error(error) => error,
        _ => Error::Closed,
    }
}

/// What of a site has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    /// A device.
    Devices,
    /// A condition.
    Conditions,
}

fn bump(transaction: &Transaction<'_>, site: &SiteId, change: Change) -> Result<(), Error> {
    let devices = change == Change::Devices;
    transaction.execute(
        "UPDATE sites SET rev = rev + 1, devices_rev = devices_rev + ? WHERE id = ?",
        params![devices, site.as_str()],
    )?;
    Ok(())
}

/// A number that counts up from 0.
fn counter(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(at).map(i64::unsigned_abs)
}

/// Nanoseconds since 1970; a time past 2262 saturates.
fn nanos(at: Timestamp) -> i64 {
    i64::try_from(at.as_nanosecond()).unwrap_or(if at > Timestamp::UNIX_EPOCH { i64::MAX } else { i64::MIN })
}

fn time(nanos: i64) -> Timestamp {
    Timestamp::from_nanosecond(nanos.into()).unwrap_or(Timestamp::UNIX_EPOCH)
}
