-- Workers that have outlived a run, with the agent process that took long to
-- start: idle, or at a later run of their session. Gone with their processes.
CREATE TABLE warm_worker (
  tree         TEXT    PRIMARY KEY,        -- the run that the processes were
                                           -- started for: marks, names cgroup
  run          TEXT    NOT NULL UNIQUE,    -- that it works for, or did last
  agent        TEXT    NOT NULL,
  session      TEXT    NOT NULL,
  fit          TEXT    NOT NULL,           -- digest of what it was told, but
                                           -- for what is a run's own
  attempt      INTEGER NOT NULL,           -- of the run; with the token it
  token_hash   TEXT    NOT NULL,           -- proves who it is
  pid          INTEGER NOT NULL,
  start_ticks  INTEGER NOT NULL,
  boot_id      TEXT    NOT NULL,
  idle_since   INTEGER,                    -- NULL: it works
  until        INTEGER NOT NULL            -- when its time is up
) STRICT, WITHOUT ROWID;
