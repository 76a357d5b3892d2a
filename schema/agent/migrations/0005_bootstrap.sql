-- Workspaces that were made ready for an agent (its definition's "bootstrap"),
-- by where they really are: one that was moved is another one.
CREATE TABLE workspace_mark (
  place        TEXT PRIMARY KEY,     -- mode, and resolved path or namespace
  state        TEXT NOT NULL CHECK (state IN ('begun', 'done')),
  run_id       TEXT NOT NULL,
  pid          INTEGER NOT NULL,     -- the worker that does it, or did it
  start_ticks  INTEGER NOT NULL,
  boot_id      TEXT NOT NULL,
  changed_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
