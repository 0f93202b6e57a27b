-- A database of schema 1 as the hub of November 2026 wrote it: one bootstrap config, revision 1.
-- (sqlite3 hub.db .dump, without its assertions.) Never changed: it stands for what sites have.
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE sites (
    id          TEXT PRIMARY KEY,
    tick        INTEGER,                      -- highest accepted, on Temporal's clock
    claimed_at  INTEGER,                      -- when that was, on the hub's clock
    good_at     INTEGER,                      -- the last tick that ended well
    rev         INTEGER NOT NULL DEFAULT 0,   -- moves with every change of a device or condition
    devices_rev INTEGER NOT NULL DEFAULT 0    -- moves with every change of a device
) STRICT;
INSERT INTO sites VALUES('lab',NULL,NULL,NULL,0,0);
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
INSERT INTO bootstrap_configs VALUES('e3673472-2e08-40e5-8205-85ebb6db1b53','lab','gpu','{"device_role":"gpu","image":"i-1","flavor":null,"features":["dyn"],"gres":"gpu:h100:4","user_data":"I2Nsb3VkLWNvbmZpZwo=","node_source":"registers"}',1,1796051584846637797,'hpc-lab');
CREATE TABLE bootstrap_config_history (
    config_id  TEXT NOT NULL,
    revision   INTEGER NOT NULL,
    site_id    TEXT NOT NULL,
    draft      TEXT NOT NULL,
    changed_at INTEGER NOT NULL,
    changed_by TEXT NOT NULL,
    PRIMARY KEY (config_id, revision)
) STRICT;
INSERT INTO bootstrap_config_history VALUES('e3673472-2e08-40e5-8205-85ebb6db1b53',1,'lab','{"device_role":"gpu","image":"i-1","flavor":null,"features":["dyn"],"gres":"gpu:h100:4","user_data":"I2Nsb3VkLWNvbmZpZwo=","node_source":"registers"}',1796051584846637797,'hpc-lab');
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
CREATE TABLE assertions (
    client_id TEXT NOT NULL,
    jti       TEXT NOT NULL,
    expires   INTEGER NOT NULL,   -- seconds since 1970
    PRIMARY KEY (client_id, jti)
) STRICT, WITHOUT ROWID;
CREATE INDEX devices_of_site ON devices (site_id, id);
CREATE INDEX requests_of_device ON workflow_requests (device_id, created_at);
COMMIT;
PRAGMA user_version = 1;
