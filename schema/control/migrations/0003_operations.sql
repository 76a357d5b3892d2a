-- What operators did with the state as a whole, and what came of it.

-- Backups that were made, or tried. One that says 'running' and whose process
-- is gone was killed.
CREATE TABLE backup_run (
  id           TEXT    PRIMARY KEY,        -- bak_…
  kind         TEXT    NOT NULL CHECK (kind IN ('manual','scheduled','safety')),
  state        TEXT    NOT NULL CHECK (state IN
               ('running','done','partial','failed')),
  path         TEXT,                       -- NULL: it went to a pipe
  sha256       TEXT,                       -- the seal
  bytes        INTEGER NOT NULL DEFAULT 0,
  files        INTEGER NOT NULL DEFAULT 0,
  agents       INTEGER NOT NULL DEFAULT 0,
  problem      TEXT,                       -- why it failed, or is not whole
  pid          INTEGER NOT NULL,
  start_ticks  INTEGER NOT NULL,
  boot_id      TEXT    NOT NULL,
  started_at   INTEGER NOT NULL,
  ended_at     INTEGER
) STRICT, WITHOUT ROWID;

-- Imports of other programs' state.
CREATE TABLE migration_run (
  id           TEXT    PRIMARY KEY,        -- mig_…
  source       TEXT    NOT NULL,           -- the directory or file
  importer     TEXT    NOT NULL,
  state        TEXT    NOT NULL CHECK (state IN ('running','done','partial','failed')),
  backup_path  TEXT,                       -- made before anything was changed
  sources      INTEGER NOT NULL DEFAULT 0,
  imported     INTEGER NOT NULL DEFAULT 0,
  skipped      INTEGER NOT NULL DEFAULT 0, -- done before
  warnings     INTEGER NOT NULL DEFAULT 0,
  started_at   INTEGER NOT NULL,
  ended_at     INTEGER
) STRICT, WITHOUT ROWID;

-- One row for each piece that was looked at. The same piece, unchanged and for
-- the same target, is imported once.
CREATE TABLE migration_source (
  path         TEXT    NOT NULL,           -- absolute; #part within a file
  target       TEXT    NOT NULL,           -- 'agent/session', 'agent:space', …
  mtime_ns     INTEGER NOT NULL,
  bytes        INTEGER NOT NULL,
  sha256       TEXT    NOT NULL,
  run          TEXT    NOT NULL REFERENCES migration_run (id),
  importer     TEXT    NOT NULL,
  state        TEXT    NOT NULL CHECK (state IN
               ('imported','failed','unknown')),
  records      INTEGER NOT NULL DEFAULT 0,
  warning      TEXT,
  removed      TEXT,                       -- 'deleted', or where it was moved
  at           INTEGER NOT NULL,
  PRIMARY KEY (path, target)
) STRICT, WITHOUT ROWID;
