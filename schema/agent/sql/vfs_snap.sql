-- Snapshots and forks. The before-image of a change is in the undo tables under
-- the snapshot that was the newest then; lo <= id < hi is one namespace.

-- row vfs_snap_row (id i64, ns i64, name text, next_ino i64, hidden bool,
--                   made_at i64)
-- query vfs_snap_find (ns i64, name text) -> (id i64, next_ino i64)
SELECT id, next_ino FROM vfs_snap WHERE ns = :ns AND name = :name;

-- query vfs_snap_list (vfs_key) -> vfs_snap_row
SELECT id, ns, name, next_ino, hidden, made_at FROM vfs_snap WHERE ns = :id
ORDER BY id;

-- query vfs_snap_count (vfs_key) -> vfs_number
-- Without those of markers, which every run leaves.
SELECT count(*) AS n FROM vfs_snap
WHERE ns = :id AND name NOT GLOB '.marker-*';

-- query vfs_snap_before (vfs_key) -> vfs_snap_row
SELECT id, ns, name, next_ino, hidden, made_at FROM vfs_snap
WHERE ns = :id AND id < :snap ORDER BY id DESC LIMIT 1;

-- The usage of a namespace that has a quota. Nodes without a name are in the
-- quota, but not in a fork.
-- columns vfs_named_usage
(SELECT used_bytes - (SELECT coalesce(sum(i.size), 0) FROM vfs_orphan AS o
		JOIN vfs_inode AS i ON i.id = o.id
		WHERE o.id >= :ns << 40 AND o.id < (:ns + 1) << 40) AS bytes,
	used_files - (SELECT count(*) FROM vfs_orphan AS o
		JOIN vfs_inode AS i ON i.id = o.id
		WHERE o.id >= :ns << 40 AND o.id < (:ns + 1) << 40) AS files
	FROM vfs_ns WHERE id = :ns AND (max_bytes > 0 OR max_files > 0)) AS u

-- query vfs_snap_add (vfs_snap_row)
INSERT INTO vfs_snap (ns, name, next_ino, hidden, made_at, used_bytes, used_files)
SELECT :ns, :name, :next_ino, :hidden, :made_at, u.bytes, u.files
FROM (SELECT 1) LEFT JOIN {vfs_named_usage};

-- query vfs_quota_of (ns i64, snap i64) -> (max_bytes i64, max_files i64, bytes opt,
--                                           files opt)
-- The quota of a namespace and its usage: in the snapshot, if that is known, or
-- with snap 0 now.
SELECT n.max_bytes, n.max_files,
	CASE WHEN :snap THEN s.used_bytes ELSE u.bytes END AS bytes,
	CASE WHEN :snap THEN s.used_files ELSE u.files END AS files
FROM vfs_ns AS n JOIN {vfs_named_usage} LEFT JOIN vfs_snap AS s ON s.id = :snap
WHERE n.id = :ns;

-- query vfs_snap_drop (vfs_key)
DELETE FROM vfs_snap WHERE id = :snap;

-- query vfs_ns_snap (vfs_key)
UPDATE vfs_ns SET snap = :snap, next_ino = :ino WHERE id = :id;

-- Rows of one snapshot, a few at a time, starting after the key of the last
-- one. Rows of other snapshots in between are read only once.
-- row vfs_undo_page (id i64, idx i64, hi i64, snap i64, count i64)
-- query vfs_undo_inodes (vfs_undo_page) -> (id i64, blob opt)
SELECT id, blob FROM vfs_undo_inode
WHERE id > :id AND id < :hi AND snap = :snap ORDER BY id LIMIT :count;

-- query vfs_undo_chunks (vfs_undo_page) -> (id i64, idx i64, blob opt)
SELECT id, idx, blob FROM vfs_undo_chunk
WHERE (id, idx) > (:id, :idx) AND id < :hi AND snap = :snap
ORDER BY id, idx LIMIT :count;

-- query vfs_undo_inode_drop (vfs_key)
DELETE FROM vfs_undo_inode WHERE id = :id AND snap = :snap;

-- query vfs_undo_chunk_drop (vfs_key)
DELETE FROM vfs_undo_chunk WHERE id = :id AND idx = :idx AND snap = :snap;

-- query vfs_undo_dentries_drop (vfs_range)
DELETE FROM vfs_undo_dentry WHERE dir >= :lo AND dir < :hi AND snap = :snap;

-- query vfs_undo_xattrs_drop (vfs_range)
DELETE FROM vfs_undo_xattr WHERE id >= :lo AND id < :hi AND snap = :snap;

-- Deletes a snapshot: an older one may need its rows, unless that has its own
-- (then the row is deleted). hi: end of the rows of the older one.
-- query vfs_pass_inodes (vfs_range)
UPDATE OR IGNORE vfs_undo_inode SET snap = :to
WHERE id >= :lo AND id < :hi AND snap = :snap;

-- query vfs_pass_dentries (vfs_range)
UPDATE OR IGNORE vfs_undo_dentry SET snap = :to
WHERE dir >= :lo AND dir < :hi AND snap = :snap;

-- query vfs_pass_chunks (vfs_range)
UPDATE OR IGNORE vfs_undo_chunk SET snap = :to
WHERE id >= :lo AND id < :hi AND snap = :snap;

-- query vfs_pass_xattrs (vfs_range)
UPDATE OR IGNORE vfs_undo_xattr SET snap = :to
WHERE id >= :lo AND id < :hi AND snap = :snap;

-- A snapshot that is deleted in batches gets another name and is hidden. Its
-- rows are found by a walk over all rows of the namespace, `count` at a time,
-- starting after the key of the last one; each is moved to the older snapshot
-- or deleted.
-- row vfs_undo_row (id i64, idx i64, name blob, snap i64, blob opt)
-- row vfs_undo_after (id i64, idx i64, name blob, snap i64, hi i64, count i64)
-- row vfs_undo_key (id i64, idx i64, name blob, snap i64, to i64)
-- query vfs_snap_hide (id i64, name text)
UPDATE vfs_snap SET hidden = 1, name = :name WHERE id = :id;

-- query vfs_snap_dropped (ns i64) -> (id i64, next_ino i64)
SELECT id, next_ino FROM vfs_snap
WHERE ns = :ns AND hidden AND name GLOB '.dropped-*' ORDER BY id LIMIT 1;

-- query vfs_dropped_inodes (vfs_undo_after) -> vfs_undo_row
SELECT id, 0 AS idx, x'' AS name, snap, blob FROM vfs_undo_inode
WHERE (id, snap) > (:id, :snap) AND id < :hi ORDER BY id, snap LIMIT :count;

-- query vfs_dropped_chunks (vfs_undo_after) -> vfs_undo_row
SELECT id, idx, x'' AS name, snap, blob FROM vfs_undo_chunk
WHERE (id, idx, snap) > (:id, :idx, :snap) AND id < :hi
ORDER BY id, idx, snap LIMIT :count;

-- query vfs_dropped_dentries (vfs_undo_after) -> vfs_undo_row
SELECT dir AS id, 0 AS idx, name, snap, NULL AS blob FROM vfs_undo_dentry
WHERE (dir, name, snap) > (:id, :name, :snap) AND dir < :hi
ORDER BY dir, name, snap LIMIT :count;

-- query vfs_dropped_xattrs (vfs_undo_after) -> vfs_undo_row
SELECT id, 0 AS idx, name, snap, NULL AS blob FROM vfs_undo_xattr
WHERE (id, name, snap) > (:id, :name, :snap) AND id < :hi
ORDER BY id, name, snap LIMIT :count;

-- query vfs_dropped_inode_pass (vfs_undo_key)
UPDATE OR IGNORE vfs_undo_inode SET snap = :to WHERE id = :id AND snap = :snap;

-- query vfs_dropped_inode_delete (vfs_undo_key)
DELETE FROM vfs_undo_inode WHERE id = :id AND snap = :snap;

-- query vfs_dropped_chunk_pass (vfs_undo_key)
UPDATE OR IGNORE vfs_undo_chunk SET snap = :to WHERE id = :id AND idx = :idx AND snap = :snap;

-- query vfs_dropped_chunk_delete (vfs_undo_key)
DELETE FROM vfs_undo_chunk WHERE id = :id AND idx = :idx AND snap = :snap;

-- query vfs_dropped_dentry_pass (vfs_undo_key)
UPDATE OR IGNORE vfs_undo_dentry SET snap = :to WHERE dir = :id AND name = :name AND snap = :snap;

-- query vfs_dropped_dentry_delete (vfs_undo_key)
DELETE FROM vfs_undo_dentry WHERE dir = :id AND name = :name AND snap = :snap;

-- query vfs_dropped_xattr_pass (vfs_undo_key)
UPDATE OR IGNORE vfs_undo_xattr SET snap = :to WHERE id = :id AND name = :name AND snap = :snap;

-- query vfs_dropped_xattr_delete (vfs_undo_key)
DELETE FROM vfs_undo_xattr WHERE id = :id AND name = :name AND snap = :snap;

-- Rollback: the undo rows of one snapshot replace the tree.
-- query vfs_back_inode (vfs_key)
INSERT OR REPLACE INTO vfs_inode (id, mode, nlink, uid, gid, size, accessed, modified,
	changed, created, rdev, flags, parent, name, blob, lower_size, target)
SELECT id, mode, nlink, uid, gid, size, accessed, modified, changed, created, rdev, flags,
	parent, name, blob, lower_size, target
FROM vfs_undo_inode WHERE id = :id AND snap = :snap;

-- query vfs_back_dentries_out (vfs_range)
DELETE FROM vfs_dentry WHERE (dir, name) IN (SELECT dir, name
	FROM vfs_undo_dentry WHERE dir >= :lo AND dir < :hi AND snap = :snap);

-- query vfs_back_dentries_in (vfs_range)
INSERT INTO vfs_dentry (dir, name, ino, type)
SELECT dir, name, ino, type FROM vfs_undo_dentry
WHERE dir >= :lo AND dir < :hi AND snap = :snap AND ino > 0;

-- query vfs_back_xattrs_out (vfs_range)
DELETE FROM vfs_xattr WHERE (id, name) IN (SELECT id, name
	FROM vfs_undo_xattr WHERE id >= :lo AND id < :hi AND snap = :snap);

-- query vfs_back_xattrs_in (vfs_range)
INSERT INTO vfs_xattr (id, name, value)
SELECT id, name, value FROM vfs_undo_xattr
WHERE id >= :lo AND id < :hi AND snap = :snap AND value IS NOT NULL;

-- Everything in a range of ids, a few contents at a time.
-- query vfs_range_blobs (vfs_range) -> (id i64, blob i64)
SELECT id, blob FROM vfs_inode
WHERE id >= :lo AND id < :hi AND blob IS NOT NULL ORDER BY id LIMIT 500;

-- query vfs_range_inodes_drop (vfs_range)
DELETE FROM vfs_inode WHERE id >= :lo AND id < :hi;

-- query vfs_range_chunks (vfs_range) -> (id i64, idx i64, blob opt)
SELECT id, idx, blob FROM vfs_chunk WHERE id >= :lo AND id < :hi LIMIT 500;

-- query vfs_range_dentries_drop (vfs_range)
DELETE FROM vfs_dentry WHERE dir >= :lo AND dir < :hi;

-- query vfs_range_xattrs_drop (vfs_range)
DELETE FROM vfs_xattr WHERE id >= :lo AND id < :hi;

-- query vfs_range_hosts_drop (vfs_range)
DELETE FROM vfs_lower WHERE id >= :lo AND id < :hi;

-- query vfs_range_orphans_drop (vfs_range)
DELETE FROM vfs_orphan WHERE id >= :lo AND id < :hi;

-- query vfs_journal_drop (vfs_key)
DELETE FROM vfs_journal WHERE ns = :id
	AND seq < (SELECT max(seq) FROM vfs_journal);

-- A fork: the rows of a namespace again, with ids moved by `by`. snap 0 is the
-- current tree, else the tree of that snapshot; hi limits its ids.
-- query vfs_fork_inodes (vfs_range)
INSERT INTO vfs_inode (id, mode, nlink, uid, gid, size, accessed, modified, changed,
	created, rdev, flags, parent, name, blob, lower_size, target)
SELECT id + :by, mode, nlink, uid, gid, size, accessed, modified, changed, created, rdev,
	flags, parent, name, blob, lower_size, target
FROM vfs_inode AS i
WHERE id >= :lo AND id < :hi AND (:snap = 0 OR NOT EXISTS (
	SELECT 1 FROM vfs_undo_inode AS u WHERE u.id = i.id AND u.snap >= :snap));

-- query vfs_fork_old_inodes (vfs_range)
INSERT INTO vfs_inode (id, mode, nlink, uid, gid, size, accessed, modified, changed,
	created, rdev, flags, parent, name, blob, lower_size, target)
SELECT id + :by, mode, nlink, uid, gid, size, accessed, modified, changed, created, rdev,
	flags, parent, name, blob, lower_size, target
FROM vfs_undo_inode AS u
WHERE id >= :lo AND id < :hi AND snap = (SELECT min(snap)
	FROM vfs_undo_inode AS w WHERE w.id = u.id AND w.snap >= :snap);

-- query vfs_fork_dentries (vfs_range)
INSERT INTO vfs_dentry (dir, name, ino, type)
SELECT dir + :by, name, ino, type FROM vfs_dentry AS d
WHERE dir >= :lo AND dir < :hi AND (:snap = 0 OR NOT EXISTS (
	SELECT 1 FROM vfs_undo_dentry AS u
	WHERE u.dir = d.dir AND u.name = d.name AND u.snap >= :snap));

-- query vfs_fork_old_dentries (vfs_range)
INSERT INTO vfs_dentry (dir, name, ino, type)
SELECT dir + :by, name, ino, type FROM vfs_undo_dentry AS u
WHERE dir >= :lo AND dir < :hi AND ino > 0 AND snap = (SELECT min(snap)
	FROM vfs_undo_dentry AS w
	WHERE w.dir = u.dir AND w.name = u.name AND w.snap >= :snap);

-- query vfs_fork_chunks (vfs_range)
INSERT INTO vfs_chunk (id, idx, blob)
SELECT id + :by, idx, blob FROM vfs_chunk AS c
WHERE id >= :lo AND id < :hi AND (:snap = 0 OR NOT EXISTS (
	SELECT 1 FROM vfs_undo_chunk AS u
	WHERE u.id = c.id AND u.idx = c.idx AND u.snap >= :snap));

-- query vfs_fork_old_chunks (vfs_range)
INSERT INTO vfs_chunk (id, idx, blob)
SELECT id + :by, idx, blob FROM vfs_undo_chunk AS u
WHERE id >= :lo AND id < :hi AND blob IS NOT NULL AND snap = (
	SELECT min(snap) FROM vfs_undo_chunk AS w
	WHERE w.id = u.id AND w.idx = u.idx AND w.snap >= :snap);

-- query vfs_fork_xattrs (vfs_range)
INSERT INTO vfs_xattr (id, name, value)
SELECT id + :by, name, value FROM vfs_xattr AS x
WHERE id >= :lo AND id < :hi AND (:snap = 0 OR NOT EXISTS (
	SELECT 1 FROM vfs_undo_xattr AS u
	WHERE u.id = x.id AND u.name = x.name AND u.snap >= :snap));

-- query vfs_fork_old_xattrs (vfs_range)
INSERT INTO vfs_xattr (id, name, value)
SELECT id + :by, name, value FROM vfs_undo_xattr AS u
WHERE id >= :lo AND id < :hi AND value IS NOT NULL AND snap = (
	SELECT min(snap) FROM vfs_undo_xattr AS w
	WHERE w.id = u.id AND w.name = u.name AND w.snap >= :snap);

-- query vfs_fork_hosts (vfs_range)
INSERT INTO vfs_lower (id, path, size, modified, lower_ino, digest)
SELECT id + :by, path, size, modified, lower_ino, digest FROM vfs_lower
WHERE id >= :lo AND id < :hi;

-- query vfs_fork_share_inodes (vfs_range)
INSERT INTO vfs_blob_refs (blob, refs)
SELECT blob, 2 FROM vfs_inode
WHERE id >= :lo AND id < :hi AND blob IS NOT NULL
ON CONFLICT (blob) DO UPDATE SET refs = refs + 1;

-- query vfs_fork_share_chunks (vfs_range)
INSERT INTO vfs_blob_refs (blob, refs)
SELECT blob, 2 FROM vfs_chunk WHERE id >= :lo AND id < :hi
ON CONFLICT (blob) DO UPDATE SET refs = refs + 1;

-- A fork of a namespace in another file reads these rows there. snap and hi as
-- above.
-- query vfs_view_inodes (vfs_range) -> vfs_inode_new
SELECT id, mode, nlink, uid, gid, size, accessed, modified, changed, created, rdev,
	flags, parent, name, blob, lower_size, target
FROM vfs_inode AS i
WHERE id >= :lo AND id < :hi AND (:snap = 0 OR NOT EXISTS (
	SELECT 1 FROM vfs_undo_inode AS u WHERE u.id = i.id AND u.snap >= :snap))
UNION ALL
SELECT id, mode, nlink, uid, gid, size, accessed, modified, changed, created, rdev,
	flags, parent, name, blob, lower_size, target
FROM vfs_undo_inode AS u
WHERE :snap > 0 AND id >= :lo AND id < :hi AND snap = (SELECT min(snap)
	FROM vfs_undo_inode AS w WHERE w.id = u.id AND w.snap >= :snap);

-- query vfs_view_dentries (vfs_range) -> (id i64, name blob, ino i64, type i64)
SELECT dir AS id, name, ino, type FROM vfs_dentry AS d
WHERE dir >= :lo AND dir < :hi AND (:snap = 0 OR NOT EXISTS (
	SELECT 1 FROM vfs_undo_dentry AS u
	WHERE u.dir = d.dir AND u.name = d.name AND u.snap >= :snap))
UNION ALL
SELECT dir, name, ino, type FROM vfs_undo_dentry AS u
WHERE :snap > 0 AND dir >= :lo AND dir < :hi AND ino > 0 AND snap = (
	SELECT min(snap) FROM vfs_undo_dentry AS w
	WHERE w.dir = u.dir AND w.name = u.name AND w.snap >= :snap);

-- query vfs_view_chunks (vfs_range) -> (id i64, idx i64, blob opt)
SELECT id, idx, blob FROM vfs_chunk AS c
WHERE id >= :lo AND id < :hi AND (:snap = 0 OR NOT EXISTS (
	SELECT 1 FROM vfs_undo_chunk AS u
	WHERE u.id = c.id AND u.idx = c.idx AND u.snap >= :snap))
UNION ALL
SELECT id, idx, blob FROM vfs_undo_chunk AS u
WHERE :snap > 0 AND id >= :lo AND id < :hi AND blob IS NOT NULL AND snap = (
	SELECT min(snap) FROM vfs_undo_chunk AS w
	WHERE w.id = u.id AND w.idx = u.idx AND w.snap >= :snap);

-- query vfs_view_xattrs (vfs_range) -> (id i64, name blob, value blob)
SELECT id, name, value FROM vfs_xattr AS x
WHERE id >= :lo AND id < :hi AND (:snap = 0 OR NOT EXISTS (
	SELECT 1 FROM vfs_undo_xattr AS u
	WHERE u.id = x.id AND u.name = x.name AND u.snap >= :snap))
UNION ALL
SELECT id, name, value FROM vfs_undo_xattr AS u
WHERE :snap > 0 AND id >= :lo AND id < :hi AND value IS NOT NULL AND snap = (
	SELECT min(snap) FROM vfs_undo_xattr AS w
	WHERE w.id = u.id AND w.name = u.name AND w.snap >= :snap);

-- row vfs_lower_full (id i64, path blob, size i64, modified i64, lower_ino i64,
--                     digest text)
-- query vfs_view_lower (vfs_range) -> vfs_lower_full
SELECT id, path, size, modified, lower_ino, digest FROM vfs_lower
WHERE id >= :lo AND id < :hi;

-- query vfs_lower_copy (vfs_lower_full)
INSERT INTO vfs_lower (id, path, size, modified, lower_ino, digest)
VALUES (:id, :path, :size, :modified, :lower_ino, :digest);

-- query vfs_unnamed (vfs_range) -> vfs_number
SELECT id AS n FROM vfs_inode WHERE id >= :lo AND id < :hi AND nlink = 0;

-- query vfs_copied_find (digest text) -> (blob i64)
SELECT blob FROM vfs_copied WHERE digest = :digest;

-- query vfs_copied_add (digest text, blob i64)
INSERT INTO vfs_copied (digest, blob) VALUES (:digest, :blob);

-- query vfs_copied_unused -> (digest text, blob i64)
-- Contents with no other user than this row.
SELECT digest, blob FROM vfs_copied AS c
WHERE NOT EXISTS (SELECT 1 FROM vfs_blob_refs AS r WHERE r.blob = c.blob)
LIMIT 500;

-- query vfs_copied_drop (digest text)
DELETE FROM vfs_copied WHERE digest = :digest;

-- query vfs_ns_rename (id i64, name text)
UPDATE vfs_ns SET name = :name WHERE id = :id;

-- query vfs_ns_copies -> (name text)
-- Namespaces that a fork of another agent's namespace fills: '.copy-PID-START'.
SELECT name FROM vfs_ns WHERE name GLOB '.copy-*' ORDER BY id;

-- query vfs_lower_clone (id i64, to i64)
INSERT INTO vfs_lower (id, path, size, modified, lower_ino, digest)
SELECT :to, path, size, modified, lower_ino, digest FROM vfs_lower WHERE id = :id;

-- query vfs_touched_dirs (vfs_range) -> vfs_number
-- Directories with a change since a snapshot: of a name, or of a node that has
-- the same place before and now.
SELECT dir AS n FROM vfs_undo_dentry
WHERE dir >= :lo AND dir < :hi AND snap >= :snap
UNION
SELECT (id & ~1099511627775) | parent FROM vfs_undo_inode
WHERE id >= :lo AND id < :hi AND snap >= :snap
UNION
SELECT (i.id & ~1099511627775) | i.parent FROM vfs_undo_inode AS u
	JOIN vfs_inode AS i ON i.id = u.id
WHERE u.id >= :lo AND u.id < :hi AND u.snap >= :snap;

-- query vfs_touched_links (vfs_range) -> vfs_number
-- Changed nodes that have, or had, several names (except directories).
SELECT count(*) AS n FROM vfs_undo_inode AS u
	LEFT JOIN vfs_inode AS i ON i.id = u.id
WHERE u.id >= :lo AND u.id < :hi AND u.snap >= :snap
	AND (u.mode & 61440) <> 16384 AND (u.nlink > 1 OR i.nlink > 1);

-- query vfs_clone_chunks (id i64, to i64)
INSERT INTO vfs_chunk (id, idx, blob)
SELECT :to, idx, blob FROM vfs_chunk WHERE id = :id AND blob > 0;

-- query vfs_clone_share (vfs_key)
INSERT INTO vfs_blob_refs (blob, refs)
SELECT blob, 2 FROM vfs_chunk WHERE id = :id AND blob > 0
ON CONFLICT (blob) DO UPDATE SET refs = refs + 1;
