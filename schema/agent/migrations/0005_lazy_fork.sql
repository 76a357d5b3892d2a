-- A fork reads the directories of its source when they are first used.
-- source_snap: the snapshot of the parent from which it reads them; 0: it has all.
ALTER TABLE vfs_ns ADD COLUMN source_snap INTEGER NOT NULL DEFAULT 0;

CREATE INDEX vfs_ns_source ON vfs_ns (source_snap) WHERE source_snap > 0;

-- Directories of forks that were not read yet.
CREATE TABLE vfs_unread (
	id INTEGER PRIMARY KEY
) STRICT;
