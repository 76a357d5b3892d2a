-- The control plane: what exists, and who may write. One writer, skepd.

-- Agents as they are now. What is looked at by name or filter is a column; the
-- rest of the definition is `spec`, JSON whose unknown members are kept.
CREATE TABLE agent (
  name         TEXT    PRIMARY KEY,
  driver       TEXT    NOT NULL CHECK (driver IN ('script','exec','acp','chat')),
  workspace    TEXT    NOT NULL DEFAULT 'disk'
                       CHECK (workspace IN ('disk','vfs-scratch','vfs-only')),
  model        TEXT,
  prompt       TEXT,                       -- system prompt
  is_default   INTEGER NOT NULL DEFAULT 0 CHECK (is_default IN (0,1)),
  is_enabled   INTEGER NOT NULL DEFAULT 1 CHECK (is_enabled IN (0,1)),
  spec         TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(spec)),
  version      INTEGER NOT NULL,           -- counts up with every change
  digest       TEXT    NOT NULL,           -- of the definition, to see edits
  source       TEXT    NOT NULL CHECK (source IN ('command','file')),
  created_at   INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- At most one default agent.
CREATE UNIQUE INDEX agent_default ON agent (is_default) WHERE is_default = 1;

-- Every definition that an agent ever had: a run names the version it used.
CREATE TABLE agent_version (
  agent        TEXT    NOT NULL,
  version      INTEGER NOT NULL,
  definition   TEXT    NOT NULL CHECK (json_valid(definition)),
  digest       TEXT    NOT NULL,
  source       TEXT    NOT NULL CHECK (source IN ('command','file')),
  created_at   INTEGER NOT NULL,
  PRIMARY KEY (agent, version)
) STRICT, WITHOUT ROWID;

-- The registry of agent files. The path is asked here, never put together.
-- `epoch` grows when the file's owner changes; the file holds it too, so that a
-- host that comes back after it was given up cannot write.
CREATE TABLE agent_database (
  agent          TEXT    PRIMARY KEY,
  path           TEXT    NOT NULL UNIQUE,
  schema_version INTEGER NOT NULL,
  epoch          INTEGER NOT NULL DEFAULT 1,
  bytes          INTEGER NOT NULL DEFAULT 0,
  wal_bytes      INTEGER NOT NULL DEFAULT 0,
  created_at     INTEGER NOT NULL,
  last_seen_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Small settings and markers of subsystems. Large values are artifacts.
CREATE TABLE kv (
  scope        TEXT    NOT NULL,
  key          TEXT    NOT NULL,
  value        TEXT    NOT NULL CHECK (length(value) <= 65536),
  expires_at   INTEGER,
  updated_at   INTEGER NOT NULL,
  PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;

-- Sweeps look for what has expired, and nothing else.
CREATE INDEX kv_expiry ON kv (expires_at) WHERE expires_at IS NOT NULL;

-- Who may do a job that only one may do. A lease that ran out can be claimed;
-- `epoch` counts the claims, so that the former holder can be told apart.
CREATE TABLE lease (
  name         TEXT    PRIMARY KEY,
  holder       TEXT    NOT NULL,
  epoch        INTEGER NOT NULL,
  taken_at     INTEGER NOT NULL,
  expires_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Exactly one supervisor per home. A process is named by pid, start time and
-- boot, since pids are used again.
CREATE TABLE supervisor (
  id           INTEGER PRIMARY KEY CHECK (id = 1),
  pid          INTEGER NOT NULL,
  start_ticks  INTEGER NOT NULL,           -- field 22 of /proc/PID/stat
  boot_id      TEXT    NOT NULL,
  program      TEXT    NOT NULL,           -- version that runs
  epoch        INTEGER NOT NULL,           -- counts supervisors of this home
  since        INTEGER NOT NULL
) STRICT;

-- What operators and programs did to the state as a whole. Append only.
CREATE TABLE audit (
  id           INTEGER PRIMARY KEY,
  at           INTEGER NOT NULL,
  actor        TEXT    NOT NULL,           -- 'cli:root', 'skepd', 'http:token'
  act          TEXT    NOT NULL,           -- 'agent.add', 'state.prune', …
  subject      TEXT,
  detail       TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(detail))
) STRICT;
