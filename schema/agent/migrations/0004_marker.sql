-- What the processes of a run are doing: changes of its workspace are recorded
-- with it. Idle processes may be doing the work of a later run of the session.
ALTER TABLE run ADD COLUMN doing INTEGER;         -- run.id
ALTER TABLE run ADD COLUMN turn INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN tool TEXT;

-- The run that made a change, as it was then. NULL: no run.
ALTER TABLE vfs_journal ADD COLUMN run INTEGER;   -- run.id
ALTER TABLE vfs_journal ADD COLUMN turn INTEGER;
ALTER TABLE vfs_journal ADD COLUMN tool TEXT;

-- The workspace of a run before its first turn (turn 0) and after each turn.
-- `snap` is a hidden snapshot; markers without a change between them have the
-- same one.
CREATE TABLE marker (
  run          INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  turn         INTEGER NOT NULL,
  session      INTEGER NOT NULL,
  seq          INTEGER NOT NULL,     -- last event of the session then
  ns           INTEGER NOT NULL,
  snap         INTEGER NOT NULL,
  journal      INTEGER NOT NULL,     -- last change of the file then
  at           INTEGER NOT NULL,
  PRIMARY KEY (run, turn)
) STRICT, WITHOUT ROWID;

CREATE INDEX marker_session ON marker (session, seq);
CREATE INDEX marker_snap ON marker (snap);

CREATE TRIGGER marker_snap_deleted AFTER DELETE ON vfs_snap BEGIN
  DELETE FROM marker WHERE snap = old.id;
END;

-- It is being deleted, in several transactions.
CREATE TRIGGER marker_snap_dropped AFTER UPDATE OF name ON vfs_snap
WHEN new.name GLOB '.dropped-*' BEGIN
  DELETE FROM marker WHERE snap = new.id;
END;

-- The workspaces that a rewind changed, and their state before: a hidden
-- snapshot, for `restore`.
CREATE TABLE rewind_workspace (
  rewind       INTEGER NOT NULL REFERENCES rewind (id) ON DELETE CASCADE,
  ns           INTEGER NOT NULL,
  snap         INTEGER NOT NULL,
  target       INTEGER NOT NULL,     -- snapshot of the state after
  PRIMARY KEY (rewind, ns)
) STRICT, WITHOUT ROWID;
