-- Forks that read directories from a snapshot of their parent when these are
-- first used. src: id of the directory in the parent; dir: its id in the fork;
-- snap: the snapshot. The first query of each pair copies rows that have not
-- changed since the snapshot, the second one copies before-images.

-- row vfs_fill (src i64, dir i64, snap i64)

-- query vfs_unread_get (vfs_key) -> vfs_number
SELECT 1 AS n FROM vfs_unread WHERE id = :id;

-- query vfs_unread_first (vfs_range) -> vfs_number
SELECT id AS n FROM vfs_unread WHERE id >= :lo AND id < :hi ORDER BY id LIMIT 1;

-- query vfs_unread_add (vfs_key)
INSERT INTO vfs_unread (id) VALUES (:id);

-- query vfs_unread_drop (vfs_key)
DELETE FROM vfs_unread WHERE id = :id;

-- query vfs_range_unread_drop (vfs_range)
DELETE FROM vfs_unread WHERE id >= :lo AND id < :hi;

-- query vfs_ns_set_source (vfs_key)
UPDATE vfs_ns SET source_snap = :snap WHERE id = :id;

-- query vfs_source_get (vfs_key) -> (ns i64, next_ino i64, name text)
-- The snapshot that a fork reads from.
SELECT ns, next_ino, name FROM vfs_snap WHERE id = :snap;

-- query vfs_ns_from (vfs_key) -> (id i64, name text)
-- A fork that reads from the snapshot.
SELECT id, name FROM vfs_ns WHERE source_snap = :snap AND source_snap > 0
ORDER BY id LIMIT 1;

-- query vfs_fill_root (vfs_fill)
INSERT INTO vfs_inode (id, mode, nlink, uid, gid, size, accessed, modified, changed, created, rdev,
	flags, parent, name, blob, lower_size, target)
SELECT :dir, mode, nlink, uid, gid, size, accessed, modified, changed,
	created, rdev, flags, parent, name, blob, lower_size, target
FROM (SELECT * FROM (SELECT snap, mode, nlink, uid, gid, size, accessed, modified, changed,
	created, rdev, flags, parent, name, blob, lower_size, target
	FROM vfs_undo_inode WHERE id = :src AND snap >= :snap ORDER BY snap LIMIT 1)
UNION ALL
SELECT 0, mode, nlink, uid, gid, size, accessed, modified, changed,
	created, rdev, flags, parent, name, blob, lower_size, target
FROM vfs_inode WHERE id = :src
LIMIT 1);

-- query vfs_fill_root_xattrs (vfs_fill)
INSERT INTO vfs_xattr (id, name, value)
SELECT :dir, name, value FROM vfs_xattr AS x
WHERE id = :src AND NOT EXISTS (SELECT 1 FROM vfs_undo_xattr AS u
	WHERE u.id = :src AND u.name = x.name AND u.snap >= :snap)
UNION ALL
SELECT :dir, name, value FROM vfs_undo_xattr AS u
WHERE id = :src AND value IS NOT NULL AND snap = (SELECT min(snap)
	FROM vfs_undo_xattr AS w
	WHERE w.id = :src AND w.name = u.name AND w.snap >= :snap);

-- query vfs_fill_dentries (vfs_fill)
INSERT INTO vfs_dentry (dir, name, ino, type)
SELECT :dir, name, ino, type FROM vfs_dentry AS d
WHERE dir = :src AND NOT EXISTS (SELECT 1 FROM vfs_undo_dentry AS u
	WHERE u.dir = :src AND u.name = d.name AND u.snap >= :snap)
UNION ALL
SELECT :dir, name, ino, type FROM vfs_undo_dentry AS u
WHERE dir = :src AND ino > 0 AND snap = (SELECT min(snap)
	FROM vfs_undo_dentry AS w
	WHERE w.dir = :src AND w.name = u.name AND w.snap >= :snap);

-- query vfs_fill_unread (vfs_fill)
INSERT INTO vfs_unread (id)
SELECT (:dir & ~1099511627775) | ino FROM vfs_dentry WHERE dir = :dir AND type = 4;

-- The nodes of the names, unless another name has brought them. The nodes
-- themselves are copied last.
-- columns vfs_fill_new
(SELECT DISTINCT d.ino AS ino FROM vfs_dentry AS d WHERE d.dir = :dir
	AND NOT EXISTS (SELECT 1 FROM vfs_inode AS k
	WHERE k.id = (:dir & ~1099511627775) | d.ino)) AS f

-- query vfs_fill_share_inodes (vfs_fill)
INSERT INTO vfs_blob_refs (blob, refs)
SELECT i.blob, 2 FROM {vfs_fill_new} CROSS JOIN vfs_inode AS i
WHERE i.id = (:src & ~1099511627775) | f.ino AND i.blob IS NOT NULL AND NOT EXISTS (
	SELECT 1 FROM vfs_undo_inode AS u WHERE u.id = i.id AND u.snap >= :snap)
ON CONFLICT (blob) DO UPDATE SET refs = refs + 1;

-- query vfs_fill_share_old_inodes (vfs_fill)
INSERT INTO vfs_blob_refs (blob, refs)
SELECT u.blob, 2 FROM {vfs_fill_new} CROSS JOIN vfs_undo_inode AS u
WHERE u.id = (:src & ~1099511627775) | f.ino AND u.blob IS NOT NULL AND u.snap = (
	SELECT min(w.snap) FROM vfs_undo_inode AS w
	WHERE w.id = u.id AND w.snap >= :snap)
ON CONFLICT (blob) DO UPDATE SET refs = refs + 1;

-- query vfs_fill_share_chunks (vfs_fill)
INSERT INTO vfs_blob_refs (blob, refs)
SELECT c.blob, 2 FROM {vfs_fill_new} CROSS JOIN vfs_chunk AS c
WHERE c.id = (:src & ~1099511627775) | f.ino AND NOT EXISTS (SELECT 1 FROM vfs_undo_chunk AS u
	WHERE u.id = c.id AND u.idx = c.idx AND u.snap >= :snap)
ON CONFLICT (blob) DO UPDATE SET refs = refs + 1;

-- query vfs_fill_share_old_chunks (vfs_fill)
INSERT INTO vfs_blob_refs (blob, refs)
SELECT c.blob, 2 FROM {vfs_fill_new} CROSS JOIN vfs_undo_chunk AS c
WHERE c.id = (:src & ~1099511627775) | f.ino AND c.blob IS NOT NULL AND c.snap = (
	SELECT min(w.snap) FROM vfs_undo_chunk AS w
	WHERE w.id = c.id AND w.idx = c.idx AND w.snap >= :snap)
ON CONFLICT (blob) DO UPDATE SET refs = refs + 1;

-- query vfs_fill_chunks (vfs_fill)
INSERT INTO vfs_chunk (id, idx, blob)
SELECT (:dir & ~1099511627775) | f.ino, c.idx, c.blob FROM {vfs_fill_new} CROSS JOIN vfs_chunk AS c
WHERE c.id = (:src & ~1099511627775) | f.ino AND NOT EXISTS (SELECT 1 FROM vfs_undo_chunk AS u
	WHERE u.id = c.id AND u.idx = c.idx AND u.snap >= :snap);

-- query vfs_fill_old_chunks (vfs_fill)
INSERT INTO vfs_chunk (id, idx, blob)
SELECT (:dir & ~1099511627775) | f.ino, c.idx, c.blob FROM {vfs_fill_new} CROSS JOIN vfs_undo_chunk AS c
WHERE c.id = (:src & ~1099511627775) | f.ino AND c.blob IS NOT NULL AND c.snap = (
	SELECT min(w.snap) FROM vfs_undo_chunk AS w
	WHERE w.id = c.id AND w.idx = c.idx AND w.snap >= :snap);

-- query vfs_fill_xattrs (vfs_fill)
INSERT INTO vfs_xattr (id, name, value)
SELECT (:dir & ~1099511627775) | f.ino, x.name, x.value FROM {vfs_fill_new} CROSS JOIN vfs_xattr AS x
WHERE x.id = (:src & ~1099511627775) | f.ino AND NOT EXISTS (SELECT 1 FROM vfs_undo_xattr AS u
	WHERE u.id = x.id AND u.name = x.name AND u.snap >= :snap);

-- query vfs_fill_old_xattrs (vfs_fill)
INSERT INTO vfs_xattr (id, name, value)
SELECT (:dir & ~1099511627775) | f.ino, x.name, x.value FROM {vfs_fill_new} CROSS JOIN vfs_undo_xattr AS x
WHERE x.id = (:src & ~1099511627775) | f.ino AND x.value IS NOT NULL AND x.snap = (
	SELECT min(w.snap) FROM vfs_undo_xattr AS w
	WHERE w.id = x.id AND w.name = x.name AND w.snap >= :snap);

-- query vfs_fill_inodes (vfs_fill)
INSERT INTO vfs_inode (id, mode, nlink, uid, gid, size, accessed, modified, changed, created, rdev,
	flags, parent, name, blob, lower_size, target)
SELECT (:dir & ~1099511627775) | f.ino, i.mode, i.nlink, i.uid, i.gid, i.size, i.accessed, i.modified, i.changed,
	i.created, i.rdev, i.flags, i.parent, i.name, i.blob, i.lower_size, i.target
FROM {vfs_fill_new} CROSS JOIN vfs_inode AS i
WHERE i.id = (:src & ~1099511627775) | f.ino AND NOT EXISTS (
	SELECT 1 FROM vfs_undo_inode AS u WHERE u.id = i.id AND u.snap >= :snap);

-- query vfs_fill_old_inodes (vfs_fill)
INSERT INTO vfs_inode (id, mode, nlink, uid, gid, size, accessed, modified, changed, created, rdev,
	flags, parent, name, blob, lower_size, target)
SELECT (:dir & ~1099511627775) | f.ino, i.mode, i.nlink, i.uid, i.gid, i.size, i.accessed, i.modified, i.changed,
	i.created, i.rdev, i.flags, i.parent, i.name, i.blob, i.lower_size, i.target
FROM {vfs_fill_new} CROSS JOIN vfs_undo_inode AS i
WHERE i.id = (:src & ~1099511627775) | f.ino AND i.snap = (SELECT min(w.snap) FROM vfs_undo_inode AS w
	WHERE w.id = i.id AND w.snap >= :snap);

-- query vfs_unread_usage (lo i64, hi i64, by i64, snap i64) -> (bytes i64, files i64)
-- Nodes of the snapshot that the fork has neither read nor deleted; lo and hi
-- limit their ids, in the fork they are larger by `by`.
SELECT coalesce(sum(size), 0) AS bytes, count(*) AS files FROM (
	SELECT id, size, nlink FROM vfs_inode AS i WHERE id >= :lo AND id < :hi
	AND NOT EXISTS (SELECT 1 FROM vfs_undo_inode AS u
		WHERE u.id = i.id AND u.snap >= :snap)
	UNION ALL
	SELECT id, size, nlink FROM vfs_undo_inode AS u
	WHERE id >= :lo AND id < :hi AND snap = (SELECT min(snap)
		FROM vfs_undo_inode AS w WHERE w.id = u.id AND w.snap >= :snap)) AS s
WHERE nlink > 0
	AND NOT EXISTS (SELECT 1 FROM vfs_inode AS k WHERE k.id = s.id + :by)
	AND NOT EXISTS (SELECT 1 FROM vfs_undo_inode AS k WHERE k.id = s.id + :by);
