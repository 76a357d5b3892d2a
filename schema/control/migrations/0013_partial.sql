-- Sandboxes may be partial, where the definition accepts it.
CREATE TABLE sandbox_new (
  run          TEXT    PRIMARY KEY REFERENCES run (id) ON DELETE CASCADE,
  agent        TEXT    NOT NULL,
  attempt      INTEGER NOT NULL,
  mode         TEXT    NOT NULL CHECK (mode IN ('on','partial','required')),
  network      TEXT    NOT NULL CHECK (network IN ('host','loopback','none')),
  limits       TEXT    NOT NULL CHECK (json_valid(limits)), -- in force
  pid          INTEGER,                    -- of the worker; NULL: not yet there
  made_at      INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO sandbox_new SELECT run, agent, attempt, mode, network, limits, pid,
  made_at, updated_at FROM sandbox;
DROP TABLE sandbox;
ALTER TABLE sandbox_new RENAME TO sandbox;
