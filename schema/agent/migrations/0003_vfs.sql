-- Workspaces that live in the agent file. The picture and the reasons are in
-- vfs/README.md; what follows are the invariants that fsck checks.
--
-- An id is (namespace << 40) | ino, so that a namespace is one range of every
-- table and a fork copies ranges. Times are nanoseconds since 1970.
-- Names, link targets and attribute values are bytes, not text.

CREATE TABLE vfs_ns (
	id         INTEGER PRIMARY KEY,
	name       TEXT    NOT NULL UNIQUE,
	base       TEXT,                         -- host directory below, or none
	parent     INTEGER NOT NULL DEFAULT 0,   -- namespace it was forked from
	snap       INTEGER NOT NULL DEFAULT 0,   -- newest snapshot, 0: none
	next_ino   INTEGER NOT NULL DEFAULT 0,   -- of that snapshot; inos from here on are newer
	max_bytes  INTEGER NOT NULL DEFAULT 0,   -- quota, 0: none
	max_files  INTEGER NOT NULL DEFAULT 0,
	used_bytes INTEGER NOT NULL DEFAULT 0,   -- counted only while a quota is set
	used_files INTEGER NOT NULL DEFAULT 0,
	made_at    INTEGER NOT NULL
) STRICT;

-- blob is chunk 0, so that a small file needs no row in vfs_chunk. below is how
-- many bytes of the host file still show through where there is no chunk (NULL:
-- there is no host file).
-- (parent, name) is one of the places where the node is linked.
CREATE TABLE vfs_inode (
	id     INTEGER PRIMARY KEY,
	mode   INTEGER NOT NULL,
	nlink  INTEGER NOT NULL,
	uid    INTEGER NOT NULL,
	gid    INTEGER NOT NULL,
	size   INTEGER NOT NULL,
	accessed INTEGER NOT NULL,
	modified INTEGER NOT NULL,
	changed INTEGER NOT NULL,
	born INTEGER NOT NULL,
	rdev   INTEGER NOT NULL,
	flags  INTEGER NOT NULL,
	parent INTEGER NOT NULL,
	name   BLOB    NOT NULL,
	blob   INTEGER,
	below  INTEGER,
	target BLOB
) STRICT;

CREATE TABLE vfs_dentry (
	dir  INTEGER NOT NULL,
	name BLOB    NOT NULL,
	ino  INTEGER NOT NULL,
	type INTEGER NOT NULL,
	PRIMARY KEY (dir, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE vfs_chunk (
	id   INTEGER NOT NULL,
	idx  INTEGER NOT NULL,
	blob INTEGER NOT NULL,
	PRIMARY KEY (id, idx)
) STRICT, WITHOUT ROWID;

CREATE TABLE vfs_xattr (
	id    INTEGER NOT NULL,
	name  BLOB    NOT NULL,
	value BLOB    NOT NULL,
	PRIMARY KEY (id, name)
) STRICT, WITHOUT ROWID;

-- Contents. raw is the length before LZ4, or NULL where data is stored as it
-- is. A blob that several rows name is in vfs_share with their number; one
-- that a single row names is not.
CREATE TABLE vfs_blob (
	id   INTEGER PRIMARY KEY,
	raw  INTEGER,
	data BLOB NOT NULL
) STRICT;

CREATE TABLE vfs_share (
	blob INTEGER PRIMARY KEY,
	refs INTEGER NOT NULL
) STRICT;

-- A snapshot is a row here. What changes afterwards is first copied into the
-- undo tables, once for each key, under the newest snapshot of that time.
CREATE TABLE vfs_snap (
	id       INTEGER PRIMARY KEY AUTOINCREMENT,
	ns       INTEGER NOT NULL,
	name     TEXT    NOT NULL,
	next_ino INTEGER NOT NULL,
	hidden   INTEGER NOT NULL,
	made_at  INTEGER NOT NULL,
	UNIQUE (ns, name)
) STRICT;

CREATE TABLE vfs_undo_inode (
	id     INTEGER NOT NULL,
	snap   INTEGER NOT NULL,
	mode   INTEGER NOT NULL,
	nlink  INTEGER NOT NULL,
	uid    INTEGER NOT NULL,
	gid    INTEGER NOT NULL,
	size   INTEGER NOT NULL,
	accessed INTEGER NOT NULL,
	modified INTEGER NOT NULL,
	changed INTEGER NOT NULL,
	born INTEGER NOT NULL,
	rdev   INTEGER NOT NULL,
	flags  INTEGER NOT NULL,
	parent INTEGER NOT NULL,
	name   BLOB    NOT NULL,
	blob   INTEGER,
	below  INTEGER,
	target BLOB,
	PRIMARY KEY (id, snap)
) STRICT, WITHOUT ROWID;

CREATE TABLE vfs_undo_dentry (
	dir  INTEGER NOT NULL,
	name BLOB    NOT NULL,
	snap INTEGER NOT NULL,
	ino  INTEGER NOT NULL,      -- 0: there was none
	type INTEGER NOT NULL,
	PRIMARY KEY (dir, name, snap)
) STRICT, WITHOUT ROWID;

CREATE TABLE vfs_undo_chunk (
	id   INTEGER NOT NULL,
	idx  INTEGER NOT NULL,
	snap INTEGER NOT NULL,
	blob INTEGER,               -- NULL: there was no row
	PRIMARY KEY (id, idx, snap)
) STRICT, WITHOUT ROWID;

CREATE TABLE vfs_undo_xattr (
	id    INTEGER NOT NULL,
	name  BLOB    NOT NULL,
	snap  INTEGER NOT NULL,
	value BLOB,                 -- NULL: there was none
	PRIMARY KEY (id, name, snap)
) STRICT, WITHOUT ROWID;

-- Where a node's content comes from in a namespace with a host directory
-- below, and what that file was like when it was first seen.
CREATE TABLE vfs_host (
	id    INTEGER PRIMARY KEY,
	path  BLOB    NOT NULL,     -- relative to the base
	size  INTEGER NOT NULL,
	modified INTEGER NOT NULL,
	hino  INTEGER NOT NULL
) STRICT;

-- Nodes without a name that a process still holds open.
CREATE TABLE vfs_orphan (
	id    INTEGER PRIMARY KEY,
	pid   INTEGER NOT NULL,
	start INTEGER NOT NULL      -- the process's start time: pids come back
) STRICT;

-- Processes that may hold nodes open for long: mounts.
CREATE TABLE vfs_holder (
	pid   INTEGER NOT NULL,
	ns    INTEGER NOT NULL,
	start INTEGER NOT NULL,
	PRIMARY KEY (ns, pid)
) STRICT, WITHOUT ROWID;

-- Who did what, in order. Also how a mount learns what others did.
CREATE TABLE vfs_journal (
	seq  INTEGER PRIMARY KEY,
	ns   INTEGER NOT NULL,
	op   INTEGER NOT NULL,      -- vfs/core/journal.def
	dir  INTEGER NOT NULL,
	name BLOB    NOT NULL,
	ino  INTEGER NOT NULL,
	who  TEXT    NOT NULL,
	at   INTEGER NOT NULL
) STRICT;

-- Empty except while compact makes equal contents one.
CREATE TABLE vfs_join (
	old INTEGER PRIMARY KEY,
	new INTEGER NOT NULL
) STRICT;
