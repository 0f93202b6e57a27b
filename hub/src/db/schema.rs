//! The tables, as a list of migrations. A released entry is never changed: a new one is appended.
//!
//! Times are nanoseconds since 1970 in UTC, so that ticks compare exactly.

use tokio_rusqlite::rusqlite::{Connection, TransactionBehavior};

use super::Error;

const MIGRATIONS: [&str; 1] = ["
CREATE TABLE sites (
    id          TEXT PRIMARY KEY,
    tick        INTEGER,                      -- highest accepted, on Temporal's clock
    claimed_at  INTEGER,                      -- when that was, on the hub's clock
    good_at     INTEGER,                      -- the last tick that ended well
    rev         INTEGER NOT NULL DEFAULT 0,   -- moves with every change of a device or condition
    devices_rev INTEGER NOT NULL DEFAULT 0    -- moves with every change of a device
) STRICT;

CREATE TABLE devices (
    id              TEXT PRIMARY KEY,
    site_id         TEXT NOT NULL REFERENCES sites (id),
    name            TEXT NOT NULL,
    role            TEXT NOT NULL,
    slurm_node_name TEXT,
    nova_host       TEXT,
    server_id       TEXT,
    adopted_at      INTEGER,   -- when server_id was set, on the hub's clock
    ready_at        INTEGER    -- the first tick since then that saw both conditions True
) STRICT;
CREATE INDEX devices_of_site ON devices (site_id, id);

CREATE TABLE conditions (
    device_id            TEXT NOT NULL REFERENCES devices (id),
    type                 TEXT NOT NULL,
    status               TEXT NOT NULL,
    reason               TEXT NOT NULL,
    message              TEXT NOT NULL,
    observed_at          INTEGER NOT NULL,
    last_transition_time INTEGER NOT NULL,
    reason_since         INTEGER NOT NULL,
    PRIMARY KEY (device_id, type)
) STRICT, WITHOUT ROWID;

CREATE TABLE bootstrap_configs (
    id          TEXT PRIMARY KEY,
    site_id     TEXT NOT NULL REFERENCES sites (id),
    device_role TEXT NOT NULL,
    draft       TEXT NOT NULL,   -- JSON, as written
    revision    INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    updated_by  TEXT NOT NULL,
    UNIQUE (site_id, device_role)
) STRICT;
CREATE TABLE bootstrap_config_history (
    config_id  TEXT NOT NULL,
    revision   INTEGER NOT NULL,
    site_id    TEXT NOT NULL,
    draft      TEXT NOT NULL,
    changed_at INTEGER NOT NULL,
    changed_by TEXT NOT NULL,
    PRIMARY KEY (config_id, revision)
) STRICT;

CREATE TABLE workflow_requests (
    site_id    TEXT NOT NULL,
    request_id TEXT NOT NULL,
    device_id  TEXT NOT NULL REFERENCES devices (id),
    verb       TEXT NOT NULL,
    actor      TEXT NOT NULL,
    body_hash  TEXT NOT NULL,
    run_id     TEXT,                -- unset until Temporal has answered the start
    created_at INTEGER NOT NULL,
    PRIMARY KEY (site_id, request_id)
) STRICT;
CREATE INDEX requests_of_device ON workflow_requests (device_id, created_at);

CREATE TABLE assertions (
    client_id TEXT NOT NULL,
    jti       TEXT NOT NULL,
    expires   INTEGER NOT NULL,   -- seconds since 1970
    PRIMARY KEY (client_id, jti)
) STRICT, WITHOUT ROWID;
"];

/// Brings the tables up to date. Safe beside another process that does the same.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), Error> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let have: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    for (version, sql) in (1..).zip(MIGRATIONS).filter(|(version, _)| *version > have) {
        transaction.execute_batch(sql)?;
        transaction.pragma_update(None, "user_version", version)?;
    }
    let know = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    if have > know {
        return Err(Error::Newer { have, know });
    }
    Ok(transaction.commit()?)
}
