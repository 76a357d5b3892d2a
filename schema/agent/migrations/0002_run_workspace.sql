-- The run that created a namespace. An ephemeral one is hidden in the transaction
-- that ends the attempt; its rows are deleted later.
ALTER TABLE vfs_ns ADD COLUMN run TEXT;
ALTER TABLE vfs_ns ADD COLUMN is_ephemeral INTEGER NOT NULL DEFAULT 0
  CHECK (is_ephemeral IN (0,1));

CREATE INDEX vfs_ns_ephemeral ON vfs_ns (run) WHERE is_ephemeral = 1;

CREATE TRIGGER run_ended_ephemeral AFTER UPDATE OF status ON run
WHEN old.status = 'running' AND new.status <> 'running' BEGIN
  UPDATE vfs_ns SET name = '.dropped-' || id
   WHERE run = new.run_id AND is_ephemeral = 1;
END;

-- The mount is one of several of the namespace, which have no caches.
ALTER TABLE vfs_open_process ADD COLUMN is_shared INTEGER NOT NULL DEFAULT 0
  CHECK (is_shared IN (0,1));

-- The namespace in which a run works; NULL: a directory of the host.
ALTER TABLE run ADD COLUMN workspace TEXT;
-- The namespace in which the runs of a session work, unless they name one.
ALTER TABLE session ADD COLUMN workspace TEXT;
