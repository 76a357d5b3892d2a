-- Statements of vfs/. An id is (namespace << 40) | ino; the ids of a namespace
-- are lo <= id < hi.

-- row vfs_key (id i64, idx i64, snap i64, ino i64, type i64, blob opt,
--              name blob, value blob, text text)
-- row vfs_number (n i64)
-- row vfs_range (lo i64, hi i64, by i64, snap i64, to i64)

-- row vfs_ns_row (id i64, name text, base text, parent i64, snap i64,
--                 next_ino i64, max_bytes i64, max_files i64, used_bytes i64,
--                 used_files i64, made_at i64, run text, is_ephemeral bool,
--                 source_snap i64)
-- columns vfs_ns_columns
id, name, base, parent, snap, next_ino, max_bytes, max_files, used_bytes,
	used_files, made_at, run, is_ephemeral, source_snap

-- query vfs_ns_find (vfs_key) -> vfs_ns_row
SELECT {vfs_ns_columns}
FROM vfs_ns WHERE name = :text;

-- query vfs_ns_list -> vfs_ns_row
-- Without those that are being deleted.
SELECT {vfs_ns_columns}
FROM vfs_ns WHERE name NOT GLOB '.*' ORDER BY id;

-- query vfs_ns_dropped -> (name text)
-- One that was hidden when its run ended.
SELECT name FROM vfs_ns WHERE name GLOB '.dropped-*' ORDER BY id LIMIT 1;

-- query vfs_ns_set_run (name text, run text, is_ephemeral bool)
UPDATE vfs_ns SET run = :run, is_ephemeral = :is_ephemeral WHERE name = :name;

-- query vfs_ns_now (vfs_key) -> (snap i64, next_ino i64, max_bytes i64,
--                                max_files i64, used_bytes i64, used_files i64,
--                                source_snap i64)
SELECT snap, next_ino, max_bytes, max_files, used_bytes, used_files, source_snap
FROM vfs_ns WHERE id = :id;

-- query vfs_ns_add (name text, base text, parent i64, made_at i64)
INSERT INTO vfs_ns (name, base, parent, made_at)
VALUES (:name, :base, :parent, :made_at);

-- query vfs_ns_use (id i64, bytes i64, files i64)
UPDATE vfs_ns SET used_bytes = :bytes, used_files = :files WHERE id = :id;

-- query vfs_ns_quota (id i64, max_bytes i64, max_files i64, bytes i64, files i64)
UPDATE vfs_ns SET max_bytes = :max_bytes, max_files = :max_files,
	used_bytes = :bytes, used_files = :files
WHERE id = :id;

-- query vfs_ns_drop (vfs_key)
DELETE FROM vfs_ns WHERE id = :id;

-- query vfs_ns_usage (vfs_range) -> (bytes i64, files i64)
SELECT coalesce(sum(size), 0) AS bytes, count(*) AS files
FROM vfs_inode WHERE id >= :lo AND id < :hi AND NOT flags & 4;

-- row vfs_inode_row (id i64, mode i64, nlink i64, uid i64, gid i64, size i64,
--                    accessed i64, modified i64, changed i64, created i64, rdev i64,
--                    flags i64, parent i64, name blob, blob opt, lower_size opt)
-- columns vfs_inode_columns
id, mode, nlink, uid, gid, size, accessed, modified, changed, created, rdev, flags,
	parent, name, blob, lower_size

-- query vfs_inode_get (vfs_key) -> vfs_inode_row
SELECT {vfs_inode_columns}
FROM vfs_inode WHERE id = :id;

-- query vfs_inode_at (vfs_key) -> vfs_inode_row
-- The node as in the snapshot: the before-image of the first change after it,
-- or the current node if there was none.
SELECT {vfs_inode_columns}
FROM (SELECT * FROM vfs_undo_inode WHERE id = :id AND snap >= :snap
	ORDER BY snap LIMIT 1)
UNION ALL
SELECT {vfs_inode_columns}
FROM vfs_inode WHERE id = :id
LIMIT 1;

-- query vfs_child (vfs_key) -> vfs_inode_row
-- The node of a name.
SELECT i.id, mode, nlink, uid, gid, size, accessed, modified, changed, created,
	rdev, flags, parent, i.name, blob, lower_size
FROM vfs_dentry AS d JOIN vfs_inode AS i
	ON i.id = (d.dir & ~1099511627775) | d.ino
WHERE d.dir = :id AND d.name = :name;

-- query vfs_inode_max (vfs_range) -> vfs_number
SELECT coalesce(max(id), :lo) AS n FROM vfs_inode WHERE id >= :lo AND id < :hi;

-- row vfs_inode_new (id i64, mode i64, nlink i64, uid i64, gid i64, size i64,
--                    accessed i64, modified i64, changed i64, created i64, rdev i64,
--                    flags i64, parent i64, name blob, blob opt, lower_size opt,
--                    target blob)
-- query vfs_inode_add (vfs_inode_new)
INSERT INTO vfs_inode (id, mode, nlink, uid, gid, size, accessed, modified, changed,
	created, rdev, flags, parent, name, blob, lower_size, target)
VALUES (:id, :mode, :nlink, :uid, :gid, :size, :accessed, :modified, :changed, :created,
	:rdev, :flags, :parent, :name, :blob, :lower_size, :target);

-- query vfs_inode_save (vfs_inode_row)
UPDATE vfs_inode SET mode = :mode, nlink = :nlink, uid = :uid, gid = :gid,
	size = :size, accessed = :accessed, modified = :modified, changed = :changed,
	flags = :flags, parent = :parent, name = :name, blob = :blob,
	lower_size = :lower_size
WHERE id = :id;

-- query vfs_inode_drop (vfs_key)
DELETE FROM vfs_inode WHERE id = :id;

-- query vfs_link_get (vfs_key) -> (target blob)
SELECT target FROM vfs_inode WHERE id = :id;

-- query vfs_link_at (vfs_key) -> (target blob)
SELECT target FROM (SELECT target FROM vfs_undo_inode
	WHERE id = :id AND snap >= :snap ORDER BY snap LIMIT 1)
UNION ALL
SELECT target FROM vfs_inode WHERE id = :id
LIMIT 1;

-- query vfs_undo_inode (vfs_key)
INSERT OR IGNORE INTO vfs_undo_inode (id, snap, mode, nlink, uid, gid, size,
	accessed, modified, changed, created, rdev, flags, parent, name, blob, lower_size,
	target)
SELECT id, :snap, mode, nlink, uid, gid, size, accessed, modified, changed, created, rdev,
	flags, parent, name, blob, lower_size, target
FROM vfs_inode WHERE id = :id;

-- row vfs_dentry_row (name blob, ino i64, type i64)
-- query vfs_dentry_get (vfs_key) -> (ino i64, type i64)
SELECT ino, type FROM vfs_dentry WHERE dir = :id AND name = :name;

-- query vfs_dentry_at (vfs_key) -> (ino i64, type i64)
SELECT ino, type FROM (SELECT ino, type FROM vfs_undo_dentry
	WHERE dir = :id AND name = :name AND snap >= :snap
	ORDER BY snap LIMIT 1)
UNION ALL
SELECT ino, type FROM vfs_dentry WHERE dir = :id AND name = :name
LIMIT 1;

-- query vfs_dentry_list (vfs_key) -> vfs_dentry_row
SELECT name, ino, type FROM vfs_dentry WHERE dir = :id ORDER BY name;

-- query vfs_dentry_list_at (vfs_key) -> vfs_dentry_row
SELECT name, ino, type FROM vfs_dentry AS d
WHERE dir = :id AND NOT EXISTS (SELECT 1 FROM vfs_undo_dentry AS u
	WHERE u.dir = :id AND u.name = d.name AND u.snap >= :snap)
UNION ALL
SELECT name, ino, type FROM vfs_undo_dentry AS u
WHERE dir = :id AND ino > 0 AND snap = (SELECT min(snap)
	FROM vfs_undo_dentry AS w
	WHERE w.dir = :id AND w.name = u.name AND w.snap >= :snap)
ORDER BY name;

-- query vfs_dentry_any (vfs_key) -> vfs_number
SELECT 1 AS n FROM vfs_dentry WHERE dir = :id LIMIT 1;

-- query vfs_dentry_add (vfs_key)
INSERT INTO vfs_dentry (dir, name, ino, type) VALUES (:id, :name, :ino, :type);

-- query vfs_dentry_drop (vfs_key)
DELETE FROM vfs_dentry WHERE dir = :id AND name = :name;

-- query vfs_undo_dentry (vfs_key)
INSERT OR IGNORE INTO vfs_undo_dentry (dir, name, snap, ino, type)
VALUES (:id, :name, :snap, :ino, :type);

-- query vfs_chunk_get (vfs_key) -> (blob opt)
SELECT blob FROM vfs_chunk WHERE id = :id AND idx = :idx;

-- query vfs_chunk_at (vfs_key) -> (blob opt)
SELECT blob FROM (SELECT blob FROM vfs_undo_chunk
	WHERE id = :id AND idx = :idx AND snap >= :snap ORDER BY snap LIMIT 1)
UNION ALL
SELECT blob FROM vfs_chunk WHERE id = :id AND idx = :idx
LIMIT 1;

-- query vfs_chunk_from (vfs_key) -> vfs_number
SELECT idx AS n FROM vfs_chunk WHERE id = :id AND idx >= :idx ORDER BY idx
LIMIT 256;

-- query vfs_chunk_count (vfs_key) -> vfs_number
SELECT count(*) AS n FROM vfs_chunk WHERE id = :id;

-- query vfs_chunk_put (vfs_key)
INSERT INTO vfs_chunk (id, idx, blob) VALUES (:id, :idx, :blob)
ON CONFLICT (id, idx) DO UPDATE SET blob = excluded.blob;

-- query vfs_chunk_drop (vfs_key)
DELETE FROM vfs_chunk WHERE id = :id AND idx = :idx;

-- query vfs_undo_chunk (vfs_key)
INSERT OR IGNORE INTO vfs_undo_chunk (id, idx, snap, blob)
VALUES (:id, :idx, :snap, :blob);

-- row vfs_blob_row (id i64, raw opt, data blob)
-- query vfs_blob_get (vfs_key) -> vfs_blob_row
SELECT id, raw, data FROM vfs_blob WHERE id = :id;

-- query vfs_blob_shape (vfs_key) -> (raw opt, n i64)
SELECT raw, length(data) AS n FROM vfs_blob WHERE id = :id;

-- query vfs_blob_state (vfs_key) -> (raw opt, n i64, refs i64)
SELECT raw, length(data) AS n,
	coalesce((SELECT refs FROM vfs_blob_refs WHERE blob = :id), 1) AS refs
FROM vfs_blob WHERE id = :id;

-- query vfs_blob_add (vfs_blob_row)
INSERT INTO vfs_blob (raw, data) VALUES (:raw, :data);

-- query vfs_blob_set (vfs_blob_row)
UPDATE vfs_blob SET raw = :raw, data = :data WHERE id = :id;

-- query vfs_blob_drop (vfs_key)
DELETE FROM vfs_blob WHERE id = :id;

-- query vfs_blob_drop_single (vfs_key)
-- Only if no other row uses it.
DELETE FROM vfs_blob WHERE id = :id
	AND NOT EXISTS (SELECT 1 FROM vfs_blob_refs WHERE blob = :id);

-- query vfs_blob_refs_get (vfs_key) -> vfs_number
SELECT refs AS n FROM vfs_blob_refs WHERE blob = :id;

-- query vfs_blob_refs_add (vfs_key)
INSERT INTO vfs_blob_refs (blob, refs) VALUES (:id, 2)
ON CONFLICT (blob) DO UPDATE SET refs = refs + 1;

-- query vfs_blob_refs_sub (vfs_key)
UPDATE vfs_blob_refs SET refs = refs - 1 WHERE blob = :id;

-- query vfs_blob_refs_drop (vfs_key)
DELETE FROM vfs_blob_refs WHERE blob = :id;

-- row vfs_xattr_row (name blob, value blob)
-- query vfs_xattr_list (vfs_key) -> vfs_xattr_row
SELECT name, value FROM vfs_xattr WHERE id = :id ORDER BY name;

-- query vfs_xattr_list_at (vfs_key) -> vfs_xattr_row
SELECT name, value FROM vfs_xattr AS x
WHERE id = :id AND NOT EXISTS (SELECT 1 FROM vfs_undo_xattr AS u
	WHERE u.id = :id AND u.name = x.name AND u.snap >= :snap)
UNION ALL
SELECT name, value FROM vfs_undo_xattr AS u
WHERE id = :id AND value IS NOT NULL AND snap = (SELECT min(snap)
	FROM vfs_undo_xattr AS w
	WHERE w.id = :id AND w.name = u.name AND w.snap >= :snap)
ORDER BY name;

-- query vfs_xattr_put (vfs_key)
INSERT INTO vfs_xattr (id, name, value) VALUES (:id, :name, :value)
ON CONFLICT (id, name) DO UPDATE SET value = excluded.value;

-- query vfs_xattr_drop (vfs_key)
DELETE FROM vfs_xattr WHERE id = :id AND name = :name;

-- query vfs_undo_xattr (vfs_key)
INSERT OR IGNORE INTO vfs_undo_xattr (id, name, snap, value)
VALUES (:id, :name, :snap,
	(SELECT value FROM vfs_xattr WHERE id = :id AND name = :name));

-- row vfs_owner (id i64, pid i64, start i64, is_shared bool)
-- query vfs_orphan_add (vfs_owner)
INSERT OR REPLACE INTO vfs_orphan (id, pid, start) VALUES (:id, :pid, :start);

-- query vfs_orphan_list (vfs_range) -> vfs_owner
SELECT id, pid, start, 0 AS is_shared FROM vfs_orphan WHERE id >= :lo AND id < :hi;

-- query vfs_orphan_drop (vfs_key)
DELETE FROM vfs_orphan WHERE id = :id;

-- query vfs_open_process_add (vfs_owner)
INSERT OR REPLACE INTO vfs_open_process (ns, pid, start, is_shared)
VALUES (:id, :pid, :start, :is_shared);

-- query vfs_open_process_list (vfs_key) -> vfs_owner
SELECT ns AS id, pid, start, is_shared FROM vfs_open_process WHERE ns = :id;

-- query vfs_open_process_drop (vfs_owner)
DELETE FROM vfs_open_process WHERE ns = :id AND pid = :pid;

-- query vfs_journal_add (ns i64, op i64, dir i64, name blob, ino i64, who text,
--                        at i64, run opt, turn opt, tool text)
INSERT INTO vfs_journal (ns, op, dir, name, ino, who, at, run, turn, tool)
VALUES (:ns, :op, :dir, :name, :ino, :who, :at, :run, :turn, :tool);

-- row vfs_journal_row (seq i64, op i64, dir i64, name blob, ino i64, who text,
--                      at i64, run text, turn opt, tool text)
-- query vfs_journal_after (ns i64, seq i64, max i64) -> vfs_journal_row
SELECT j.seq, j.op, j.dir, j.name, j.ino, j.who, j.at, r.run_id AS run, j.turn,
	j.tool
FROM vfs_journal AS j LEFT JOIN run AS r ON r.id = j.run
WHERE j.seq > :seq AND j.ns = :ns ORDER BY j.seq LIMIT :max;

-- query vfs_journal_last -> vfs_number
SELECT coalesce(max(seq), 0) AS n FROM vfs_journal;

-- query vfs_journal_trim (vfs_number)
DELETE FROM vfs_journal WHERE seq <= :n;

-- query vfs_undo_xattrs (vfs_key)
INSERT OR IGNORE INTO vfs_undo_xattr (id, name, snap, value)
SELECT id, name, :snap, value FROM vfs_xattr WHERE id = :id;

-- query vfs_xattr_drop_all (vfs_key)
DELETE FROM vfs_xattr WHERE id = :id;

-- row vfs_lower_row (id i64, path blob, size i64, modified i64, lower_ino i64)
-- query vfs_lower_get (vfs_key) -> vfs_lower_row
SELECT id, path, size, modified, lower_ino FROM vfs_lower WHERE id = :id;

-- query vfs_lower_add (vfs_lower_row)
INSERT INTO vfs_lower (id, path, size, modified, lower_ino)
VALUES (:id, :path, :size, :modified, :lower_ino);

-- query vfs_lower_max (vfs_range) -> vfs_number
SELECT max(coalesce((SELECT max(id) FROM vfs_inode
		WHERE id >= :lo AND id < :hi), :lo),
	coalesce((SELECT max(id) FROM vfs_lower
		WHERE id >= :lo AND id < :hi), :lo),
	coalesce((SELECT max(id) FROM vfs_undo_inode
		WHERE id >= :lo AND id < :hi), :lo)) AS n;

-- query vfs_undo_filled (id i64, nlink i64)
-- The lower directory of a directory was read: so it is in older snapshots.
UPDATE vfs_undo_inode SET flags = flags & ~2, nlink = nlink + :nlink
WHERE id = :id AND flags & 2;

-- query vfs_unseen (vfs_range) -> vfs_number
-- The first directory whose lower directory was never read (flag 2).
SELECT id AS n FROM vfs_inode WHERE id >= :lo AND id < :hi AND flags & 2
ORDER BY id LIMIT 1;

-- query vfs_dentry_first (vfs_key) -> (name blob, ino i64, type i64)
SELECT name, ino, type FROM vfs_dentry WHERE dir = :id ORDER BY name LIMIT 1;

-- query vfs_dentry_of (lo i64, hi i64, ino i64) -> (dir i64, name blob)
SELECT dir, name FROM vfs_dentry
WHERE dir >= :lo AND dir < :hi AND ino = :ino;

-- query vfs_lower_at (lo i64, hi i64, path blob) -> vfs_lower_row
SELECT id, path, size, modified, lower_ino FROM vfs_lower INDEXED BY vfs_lower_path
WHERE path = :path AND id >= :lo AND id < :hi LIMIT 1;

-- query vfs_lower_digest (vfs_key) -> (digest text)
SELECT digest FROM vfs_lower WHERE id = :id AND digest IS NOT NULL;

-- query vfs_lower_digest_set (id i64, digest text)
UPDATE vfs_lower SET digest = :digest WHERE id = :id;
