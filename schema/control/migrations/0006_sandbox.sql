-- Sandboxes that are there now: made with a run's attempt, gone with it.
CREATE TABLE sandbox (
  run          TEXT    PRIMARY KEY REFERENCES run (id) ON DELETE CASCADE,
  agent        TEXT    NOT NULL,
  attempt      INTEGER NOT NULL,
  mode         TEXT    NOT NULL CHECK (mode IN ('on','required')),
  network      TEXT    NOT NULL CHECK (network IN ('host','loopback','none')),
  limits       TEXT    NOT NULL CHECK (json_valid(limits)), -- in force
  pid          INTEGER,                    -- of the worker; NULL: not yet there
  made_at      INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
