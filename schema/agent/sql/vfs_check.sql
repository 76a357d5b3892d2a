-- The checks of fsck and their repairs: one pair for each row of
-- vfs/check/check.def. Each covers all namespaces of the file.

-- Whether any check of a group would find something: 0 if not. It assumes that
-- the checks before those of the group found nothing.

-- query vfs_find_in_inodes -> vfs_number
SELECT count(*) + (SELECT count(*) FROM vfs_chunk AS c JOIN vfs_inode AS i ON
	i.id = c.id JOIN vfs_blob AS b ON b.id = c.blob WHERE i.mode & 61440 = 32768
	AND i.size < c.idx * 65536 + coalesce(b.raw, length(b.data))) AS n FROM
	vfs_inode AS i LEFT JOIN vfs_blob AS b ON b.id = i.blob WHERE i.id >> 40 NOT
	IN (SELECT id FROM vfs_ns) OR mode & 61440 NOT IN (4096, 8192, 16384, 24576,
	32768, 40960, 49152) OR mode & ~65535 OR (mode & 61440 = 40960 AND
	coalesce(length(target), 0) NOT BETWEEN 1 AND 4095) OR (NOT flags & 1 AND i.id
	IN (SELECT id FROM vfs_xattr)) OR (blob IS NOT NULL AND b.id IS NULL) OR
	(lower_size IS NOT NULL AND i.id NOT IN (SELECT id FROM vfs_lower)) OR (nlink
	= 0 AND i.id NOT IN (SELECT id FROM vfs_orphan)) OR size < 0 OR (mode & 61440
	= 40960 AND size <> length(target)) OR (mode & 61440 = 32768 AND size <
	coalesce(b.raw, length(b.data), 0));

-- Names are valid, and each node has as many as it should. Counting the names of
-- each node would sort all of them. The row of a node with one name usually
-- contains that name. So only the remaining names are counted by node: those of
-- files with several names, and those that are not in the row of their node. Then
-- no node has too many names, and if the sum is right, none has too few.
-- query vfs_find_in_names -> vfs_number
SELECT count(CASE WHEN length(d.name) NOT BETWEEN 1 AND 255 OR d.name IN
	(x'2e', x'2e2e') OR instr(d.name, x'2f') OR instr(d.name, x'00') OR i.id IS
	NULL OR p.id IS NULL OR (p.mode & 61440) <> 16384 OR d.type <> i.mode >> 12
	OR d.ino = 1 OR i.nlink < 1 OR ((i.parent <> d.dir & 1099511627775 OR i.name
	<> d.name) AND (d.type = 4 OR (i.nlink = 1 AND EXISTS (SELECT 1 FROM
	vfs_dentry AS k WHERE k.dir = (d.dir & ~1099511627775) | i.parent AND k.name =
	i.name AND k.ino = d.ino)))) THEN 1 END) + (count(CASE WHEN d.dir >> 40 NOT IN
	(SELECT id FROM vfs_ns WHERE source_snap > 0) THEN 1 END) <> (SELECT
	coalesce(sum(CASE mode & 61440 WHEN 16384 THEN nlink > 0 ELSE max(nlink, 0)
	END), 0) FROM vfs_inode WHERE id & 1099511627775 <> 1 AND id >> 40 NOT IN (SELECT id
	FROM vfs_ns WHERE source_snap > 0))) + CASE WHEN count(CASE
	WHEN d.type <> 4 AND (i.nlink > 1 OR i.parent <> d.dir & 1099511627775 OR
	i.name <> d.name) THEN 1 END) = 0 THEN 0 ELSE (SELECT count(*) FROM (SELECT 1
	FROM vfs_dentry AS d JOIN vfs_inode AS i ON i.id = (d.dir & ~1099511627775) |
	d.ino WHERE d.type <> 4 AND (i.nlink > 1 OR i.parent <> d.dir & 1099511627775
	OR i.name <> d.name) GROUP BY i.id HAVING CASE WHEN i.id >> 40 IN (SELECT
	id FROM vfs_ns WHERE source_snap > 0) THEN count(*) > i.nlink ELSE count(*) <>
	i.nlink END)) END AS n FROM
	vfs_dentry AS d LEFT JOIN vfs_inode AS i ON i.id = (d.dir & ~1099511627775) |
	d.ino LEFT JOIN vfs_inode AS p ON p.id = d.dir;

-- Types of names are right by then, so files need not be followed.
-- query vfs_find_in_tree -> vfs_number
SELECT count(*) AS n FROM (WITH RECURSIVE reach(id) AS (SELECT (id << 40) | 1
	FROM vfs_ns UNION SELECT (d.dir & ~1099511627775) | d.ino FROM reach AS r
	JOIN vfs_dentry AS d ON d.dir = r.id WHERE d.type = 4) SELECT id FROM
	vfs_inode WHERE nlink > 0 AND (mode & 61440) = 16384 AND id NOT IN (SELECT id
	FROM reach));

-- Each blob is used as often as it states, all blobs are used, and the number
-- of blobs with several uses is that of the counters.
-- query vfs_find_in_contents -> vfs_number
SELECT coalesce(sum(c <> coalesce(s.refs, 1)), 0) + (count(*) <> (SELECT
	count(*) FROM vfs_blob)) + (coalesce(sum(c > 1), 0) <> (SELECT count(*) FROM
	vfs_blob_refs)) AS n FROM (SELECT blob AS b, count(*) AS c FROM
	vfs_blob_user GROUP BY blob) AS r LEFT JOIN vfs_blob_refs AS s ON s.blob = r.b;

-- query vfs_find_ns -> vfs_number
SELECT count(DISTINCT id >> 40) AS n FROM vfs_inode WHERE id >> 40 NOT IN
	(SELECT id FROM vfs_ns);

-- query vfs_repair_ns
INSERT INTO vfs_ns (id, name, made_at)
SELECT id >> 40, 'lost-' || (id >> 40), min(created) FROM vfs_inode WHERE id >>
	40 NOT IN (SELECT id FROM vfs_ns) GROUP BY 1;

-- query vfs_find_root -> vfs_number
SELECT count(*) AS n FROM vfs_ns WHERE NOT EXISTS (SELECT 1 FROM vfs_inode
	WHERE vfs_inode.id = (vfs_ns.id << 40) | 1);

-- query vfs_repair_root
INSERT INTO vfs_inode (id, mode, nlink, uid, gid, size, accessed, modified,
	changed, created, rdev, flags, parent, name)
SELECT (id << 40) | 1, 16877, 2, 0, 0, 0, made_at, made_at, made_at, made_at,
	0, 0, 1, x'' FROM vfs_ns
WHERE NOT EXISTS (SELECT 1 FROM vfs_inode WHERE vfs_inode.id = (vfs_ns.id <<
	40) | 1);

-- A fork needs the snapshot from which it reads directories.
-- query vfs_find_source -> vfs_number
SELECT count(*) AS n FROM vfs_ns WHERE source_snap > 0 AND source_snap NOT IN
	(SELECT id FROM vfs_snap);

-- query vfs_repair_source
UPDATE vfs_ns SET source_snap = 0 WHERE source_snap > 0 AND source_snap NOT IN
	(SELECT id FROM vfs_snap);

-- query vfs_find_unread -> vfs_number
SELECT count(*) AS n FROM vfs_unread WHERE id NOT IN (SELECT id FROM vfs_inode
	WHERE (mode & 61440) = 16384) OR id >> 40 NOT IN (SELECT id FROM vfs_ns WHERE
	source_snap > 0);

-- query vfs_repair_unread
DELETE FROM vfs_unread WHERE id NOT IN (SELECT id FROM vfs_inode WHERE (mode &
	61440) = 16384) OR id >> 40 NOT IN (SELECT id FROM vfs_ns WHERE source_snap >
	0);

-- Types are files, directories, symbolic links, fifos, sockets and devices.
-- query vfs_find_type -> vfs_number
SELECT count(*) AS n FROM vfs_inode WHERE mode & 61440 NOT IN (4096, 8192,
	16384, 24576, 32768, 40960, 49152) OR mode & ~65535;

-- query vfs_repair_type
UPDATE vfs_inode SET mode = CASE WHEN id IN (SELECT dir FROM vfs_dentry) THEN
	16832 WHEN target IS NOT NULL THEN 41471 ELSE 33152 END
WHERE mode & 61440 NOT IN (4096, 8192, 16384, 24576, 32768, 40960, 49152) OR
	mode & ~65535;

-- query vfs_find_target -> vfs_number
SELECT count(*) AS n FROM vfs_inode WHERE mode & 61440 = 40960 AND
	coalesce(length(target), 0) NOT BETWEEN 1 AND 4095;

-- query vfs_repair_target
-- A symbolic link without a target becomes a file.
UPDATE vfs_inode SET mode = 33152, size = 0, target = NULL
WHERE mode & 61440 = 40960 AND coalesce(length(target), 0) NOT BETWEEN 1 AND
	4095;

-- query vfs_find_name -> vfs_number
SELECT count(*) AS n FROM vfs_dentry WHERE length(name) NOT BETWEEN 1 AND 255
	OR name IN (x'2e', x'2e2e') OR instr(name, x'2f') OR instr(name, x'00');

-- query vfs_repair_name
DELETE FROM vfs_dentry WHERE length(name) NOT BETWEEN 1 AND 255 OR name IN
	(x'2e', x'2e2e') OR instr(name, x'2f') OR instr(name, x'00');

-- query vfs_find_dentry_node -> vfs_number
SELECT count(*) AS n FROM vfs_dentry WHERE NOT EXISTS (SELECT 1 FROM vfs_inode
	WHERE id = (dir & ~1099511627775) | ino);

-- query vfs_repair_dentry_node
DELETE FROM vfs_dentry WHERE NOT EXISTS (SELECT 1 FROM vfs_inode WHERE id =
	(dir & ~1099511627775) | ino);

-- query vfs_find_dentry_dir -> vfs_number
SELECT count(*) AS n FROM vfs_dentry WHERE NOT EXISTS (SELECT 1 FROM vfs_inode
	WHERE id = dir AND (mode & 61440) = 16384);

-- query vfs_repair_dentry_dir
DELETE FROM vfs_dentry WHERE NOT EXISTS (SELECT 1 FROM vfs_inode WHERE id =
	dir AND (mode & 61440) = 16384);

-- query vfs_find_dentry_type -> vfs_number
SELECT count(*) AS n FROM vfs_dentry AS d JOIN vfs_inode AS i ON i.id = (d.dir
	& ~1099511627775) | d.ino WHERE d.type <> i.mode >> 12;

-- query vfs_repair_dentry_type
UPDATE vfs_dentry SET type = (SELECT mode >> 12 FROM vfs_inode WHERE id = (dir
	& ~1099511627775) | ino)
WHERE type <> (SELECT mode >> 12 FROM vfs_inode WHERE id = (dir &
	~1099511627775) | ino);

-- A directory has one name, and the root none.
-- query vfs_find_dir_names -> vfs_number
SELECT (SELECT count(*) FROM (SELECT 1 FROM vfs_dentry WHERE type = 4 AND ino
	<> 1 GROUP BY (dir & ~1099511627775) | ino HAVING count(*) > 1)) + (SELECT
	count(*) FROM vfs_dentry WHERE ino = 1) AS n;

-- query vfs_repair_dir_names
-- The name that the directory itself states is kept.
DELETE FROM vfs_dentry WHERE ino = 1 OR (dir, name) IN (SELECT dir, name FROM
	(SELECT d.dir, d.name, row_number() OVER (PARTITION BY d.dir &
	~1099511627775, d.ino ORDER BY i.parent <> d.dir & 1099511627775, i.name <>
	d.name, d.dir, d.name) AS k FROM vfs_dentry AS d JOIN vfs_inode AS i ON i.id
	= (d.dir & ~1099511627775) | d.ino WHERE d.type = 4) WHERE k > 1);

-- query vfs_find_chunk_node -> vfs_number
SELECT count(*) AS n FROM vfs_chunk WHERE id NOT IN (SELECT id FROM vfs_inode);

-- query vfs_repair_chunk_node
DELETE FROM vfs_chunk WHERE id NOT IN (SELECT id FROM vfs_inode);

-- query vfs_find_xattr_node -> vfs_number
SELECT count(*) AS n FROM vfs_xattr WHERE id NOT IN (SELECT id FROM vfs_inode);

-- query vfs_repair_xattr_node
DELETE FROM vfs_xattr WHERE id NOT IN (SELECT id FROM vfs_inode);

-- query vfs_find_xattr_flag -> vfs_number
SELECT count(*) AS n FROM vfs_inode WHERE NOT flags & 1 AND id IN (SELECT id
	FROM vfs_xattr);

-- query vfs_repair_xattr_flag
UPDATE vfs_inode SET flags = flags | 1 WHERE NOT flags & 1 AND id IN (SELECT
	id FROM vfs_xattr);

-- query vfs_find_undo_inode -> vfs_number
SELECT count(*) AS n FROM vfs_undo_inode WHERE snap NOT IN (SELECT id FROM
	vfs_snap);

-- query vfs_repair_undo_inode
DELETE FROM vfs_undo_inode WHERE snap NOT IN (SELECT id FROM vfs_snap);

-- query vfs_find_undo_dentry -> vfs_number
SELECT count(*) AS n FROM vfs_undo_dentry WHERE snap NOT IN (SELECT id FROM
	vfs_snap);

-- query vfs_repair_undo_dentry
DELETE FROM vfs_undo_dentry WHERE snap NOT IN (SELECT id FROM vfs_snap);

-- query vfs_find_undo_chunk -> vfs_number
SELECT count(*) AS n FROM vfs_undo_chunk WHERE snap NOT IN (SELECT id FROM
	vfs_snap);

-- query vfs_repair_undo_chunk
DELETE FROM vfs_undo_chunk WHERE snap NOT IN (SELECT id FROM vfs_snap);

-- query vfs_find_undo_xattr -> vfs_number
SELECT count(*) AS n FROM vfs_undo_xattr WHERE snap NOT IN (SELECT id FROM
	vfs_snap);

-- query vfs_repair_undo_xattr
DELETE FROM vfs_undo_xattr WHERE snap NOT IN (SELECT id FROM vfs_snap);

-- query vfs_find_snap_ns -> vfs_number
SELECT count(*) AS n FROM vfs_snap WHERE ns NOT IN (SELECT id FROM vfs_ns);

-- query vfs_repair_snap_ns
DELETE FROM vfs_snap WHERE ns NOT IN (SELECT id FROM vfs_ns);

-- query vfs_find_snap_newest -> vfs_number
SELECT count(*) AS n FROM vfs_ns WHERE snap <> coalesce((SELECT max(id) FROM
	vfs_snap WHERE ns = vfs_ns.id), 0);

-- query vfs_repair_snap_newest
UPDATE vfs_ns SET snap = coalesce((SELECT max(id) FROM vfs_snap WHERE ns =
	vfs_ns.id), 0),
	next_ino = coalesce((SELECT next_ino FROM vfs_snap WHERE ns = vfs_ns.id ORDER
	BY id DESC LIMIT 1), 0)
WHERE snap <> coalesce((SELECT max(id) FROM vfs_snap WHERE ns = vfs_ns.id), 0);

-- query vfs_find_inode_blob -> vfs_number
SELECT count(*) AS n FROM vfs_inode WHERE blob IS NOT NULL AND blob NOT IN
	(SELECT id FROM vfs_blob);

-- query vfs_repair_inode_blob
UPDATE vfs_inode SET blob = NULL WHERE blob IS NOT NULL AND blob NOT IN
	(SELECT id FROM vfs_blob);

-- query vfs_find_chunk_blob -> vfs_number
SELECT count(*) AS n FROM vfs_chunk WHERE blob NOT IN (SELECT id FROM
	vfs_blob);

-- query vfs_repair_chunk_blob
DELETE FROM vfs_chunk WHERE blob NOT IN (SELECT id FROM vfs_blob);

-- query vfs_find_undo_inode_blob -> vfs_number
SELECT count(*) AS n FROM vfs_undo_inode WHERE blob IS NOT NULL AND blob NOT
	IN (SELECT id FROM vfs_blob);

-- query vfs_repair_undo_inode_blob
UPDATE vfs_undo_inode SET blob = NULL WHERE blob IS NOT NULL AND blob NOT IN
	(SELECT id FROM vfs_blob);

-- query vfs_find_undo_chunk_blob -> vfs_number
SELECT count(*) AS n FROM vfs_undo_chunk WHERE blob IS NOT NULL AND blob NOT
	IN (SELECT id FROM vfs_blob);

-- query vfs_repair_undo_chunk_blob
UPDATE vfs_undo_chunk SET blob = NULL WHERE blob IS NOT NULL AND blob NOT IN
	(SELECT id FROM vfs_blob);

-- query vfs_find_copied_blob -> vfs_number
SELECT count(*) AS n FROM vfs_copied WHERE blob NOT IN (SELECT id FROM
	vfs_blob);

-- query vfs_repair_copied_blob
DELETE FROM vfs_copied WHERE blob NOT IN (SELECT id FROM vfs_blob);

-- query vfs_find_host -> vfs_number
SELECT count(*) AS n FROM vfs_inode WHERE lower_size IS NOT NULL AND id NOT IN
	(SELECT id FROM vfs_lower);

-- query vfs_repair_host
UPDATE vfs_inode SET lower_size = NULL WHERE lower_size IS NOT NULL AND id NOT IN
	(SELECT id FROM vfs_lower);

-- No content is after the end of its file.
-- query vfs_find_size -> vfs_number
SELECT count(*) AS n FROM vfs_inode AS i WHERE size < 0 OR (mode & 61440 =
	40960 AND size <> length(target)) OR (mode & 61440 = 32768 AND size < max(
	coalesce((SELECT coalesce(raw, length(data)) FROM vfs_blob AS b WHERE b.id =
	i.blob), 0), coalesce((SELECT max(c.idx * 65536 + coalesce(raw,
	length(data))) FROM vfs_chunk AS c JOIN vfs_blob AS b ON b.id = c.blob WHERE
	c.id = i.id), 0)));

-- query vfs_repair_size
UPDATE vfs_inode AS i SET size = CASE mode & 61440 WHEN 40960 THEN
	length(target) WHEN 32768 THEN max(size, 0, coalesce((SELECT coalesce(raw,
	length(data)) FROM vfs_blob AS b WHERE b.id = i.blob), 0), coalesce((SELECT
	max(c.idx * 65536 + coalesce(raw, length(data))) FROM vfs_chunk AS c JOIN
	vfs_blob AS b ON b.id = c.blob WHERE c.id = i.id), 0)) ELSE max(size, 0) END
WHERE size < 0 OR mode & 61440 IN (32768, 40960);

-- query vfs_find_nameless -> vfs_number
SELECT count(*) AS n FROM vfs_inode AS i WHERE nlink > 0 AND id &
	1099511627775 <> 1 AND id NOT IN (SELECT (dir & ~1099511627775) | ino FROM
	vfs_dentry);

-- query vfs_find_cycle -> vfs_number
SELECT count(*) AS n FROM (WITH RECURSIVE reach(id) AS (SELECT (id << 40) | 1
	FROM vfs_ns UNION SELECT (d.dir & ~1099511627775) | d.ino FROM reach AS r
	JOIN vfs_dentry AS d ON d.dir = r.id) SELECT id FROM vfs_inode WHERE nlink >
	0 AND (mode & 61440) = 16384 AND id NOT IN (SELECT id FROM reach));

-- query vfs_find_dir_parent -> vfs_number
SELECT count(*) AS n FROM vfs_dentry AS d JOIN vfs_inode AS i ON i.id = (d.dir
	& ~1099511627775) | d.ino WHERE d.type = 4 AND (i.parent <> d.dir &
	1099511627775 OR i.name <> d.name);

-- query vfs_repair_dir_parent
UPDATE vfs_inode SET parent = d.dir & 1099511627775, name = d.name FROM
	vfs_dentry AS d
WHERE vfs_inode.id = (d.dir & ~1099511627775) | d.ino AND d.type = 4 AND
	(vfs_inode.parent <> d.dir & 1099511627775 OR vfs_inode.name <> d.name);

-- query vfs_find_file_links -> vfs_number
SELECT count(*) AS n FROM (SELECT (dir & ~1099511627775) | ino AS id, count(*)
	AS c FROM vfs_dentry WHERE type <> 4 GROUP BY 1) AS n JOIN vfs_inode AS i ON
	i.id = n.id WHERE i.nlink <> n.c AND (i.nlink < n.c OR i.id >> 40 NOT IN
	(SELECT id FROM vfs_ns WHERE source_snap > 0));

-- query vfs_repair_file_links
UPDATE vfs_inode SET nlink = n.c
FROM (SELECT (dir & ~1099511627775) | ino AS id, count(*) AS c FROM vfs_dentry
	WHERE type <> 4 GROUP BY 1) AS n
WHERE vfs_inode.id = n.id AND vfs_inode.nlink <> n.c AND (vfs_inode.nlink < n.c OR
	vfs_inode.id >> 40 NOT IN (SELECT id FROM vfs_ns WHERE source_snap > 0));

-- query vfs_find_dir_links -> vfs_number
SELECT count(*) AS n FROM vfs_inode AS i LEFT JOIN (SELECT dir, count(*) AS c
	FROM vfs_dentry WHERE type = 4 GROUP BY dir) AS n ON n.dir = i.id WHERE
	(i.mode & 61440) = 16384 AND i.nlink > 0 AND NOT i.flags & 2 AND i.nlink <> 2
	+ coalesce(n.c, 0) AND i.id NOT IN (SELECT id FROM vfs_unread);

-- query vfs_repair_dir_links
UPDATE vfs_inode SET nlink = 2 + (SELECT count(*) FROM vfs_dentry WHERE dir =
	vfs_inode.id AND type = 4)
WHERE (mode & 61440) = 16384 AND nlink > 0 AND NOT flags & 2 AND id NOT IN
	(SELECT id FROM vfs_unread);

-- query vfs_find_orphan -> vfs_number
SELECT count(*) AS n FROM vfs_inode WHERE nlink = 0 AND id NOT IN (SELECT id
	FROM vfs_orphan);

-- query vfs_repair_orphan
INSERT INTO vfs_orphan (id, pid, start)
SELECT id, 0, 1 FROM vfs_inode WHERE nlink = 0 AND id NOT IN (SELECT id FROM
	vfs_orphan);

-- query vfs_find_orphan_gone -> vfs_number
SELECT count(*) AS n FROM vfs_orphan WHERE id NOT IN (SELECT id FROM
	vfs_inode);

-- query vfs_repair_orphan_gone
DELETE FROM vfs_orphan WHERE id NOT IN (SELECT id FROM vfs_inode);

-- query vfs_find_share -> vfs_number
SELECT count(*) AS n FROM (SELECT blob AS b, count(*) AS c FROM
	vfs_blob_user GROUP BY blob) AS r LEFT JOIN vfs_blob_refs AS s ON s.blob = r.b WHERE c <> coalesce(s.refs, 1);

-- query vfs_repair_share
INSERT OR REPLACE INTO vfs_blob_refs (blob, refs)
SELECT blob, count(*) FROM vfs_blob_user GROUP BY blob;

-- query vfs_find_share_one -> vfs_number
SELECT count(*) AS n FROM vfs_blob_refs WHERE refs < 2 OR blob NOT IN
	(SELECT blob FROM vfs_blob_user);

-- query vfs_repair_share_one
DELETE FROM vfs_blob_refs WHERE refs < 2 OR blob NOT IN
	(SELECT blob FROM vfs_blob_user);

-- query vfs_find_blob_unused -> vfs_number
SELECT count(*) AS n FROM vfs_blob WHERE id NOT IN (SELECT blob FROM
	vfs_blob_user);

-- query vfs_repair_blob_unused
DELETE FROM vfs_blob WHERE id NOT IN (SELECT blob FROM
	vfs_blob_user);

-- Forks that still read from their source count what they have not read, too.
-- query vfs_find_usage -> vfs_number
SELECT count(*) AS n FROM vfs_ns WHERE (max_bytes OR max_files) AND
	source_snap = 0 AND
	(used_bytes <> (SELECT coalesce(sum(size), 0) FROM vfs_inode WHERE
	vfs_inode.id >> 40 = vfs_ns.id AND NOT flags & 4) OR used_files <>
	(SELECT count(*) FROM vfs_inode WHERE vfs_inode.id >> 40 = vfs_ns.id AND
	NOT flags & 4));

-- query vfs_repair_usage
UPDATE vfs_ns SET used_bytes = (SELECT coalesce(sum(size), 0) FROM vfs_inode
	WHERE vfs_inode.id >> 40 = vfs_ns.id AND NOT flags & 4),
	used_files = (SELECT count(*) FROM vfs_inode WHERE vfs_inode.id >> 40 =
	vfs_ns.id AND NOT flags & 4)
WHERE (max_bytes OR max_files) AND source_snap = 0;

-- query vfs_nameless (vfs_key) -> vfs_number
SELECT id AS n FROM vfs_inode
WHERE nlink > 0 AND id & 1099511627775 <> 1
	AND id NOT IN (SELECT (dir & ~1099511627775) | ino FROM vfs_dentry)
	AND id >> 40 = :id
LIMIT 500;

-- query vfs_cycle_dir -> vfs_number
-- A directory that cannot be reached: its name is deleted.
WITH RECURSIVE reach(id) AS (SELECT (id << 40) | 1 FROM vfs_ns
	UNION SELECT (d.dir & ~1099511627775) | d.ino
	FROM reach AS r JOIN vfs_dentry AS d ON d.dir = r.id)
SELECT min(id) AS n FROM vfs_inode
WHERE nlink > 0 AND (mode & 61440) = 16384
	AND id NOT IN (SELECT id FROM reach)
HAVING min(id) IS NOT NULL;

-- query vfs_cycle_cut (vfs_key)
DELETE FROM vfs_dentry WHERE (dir & ~1099511627775) | ino = :id;

-- query vfs_blob_after (id i64, count i64) -> vfs_blob_row
SELECT id, raw, data FROM vfs_blob WHERE id > :id ORDER BY id LIMIT :count;

-- Equal contents are merged: first the pairs of old and new, then all rows that
-- use them. The table has rows only meanwhile.
-- query vfs_dedup_add (old i64, new i64)
INSERT INTO vfs_dedup (old, new) VALUES (:old, :new);

-- query vfs_dedup_inodes
UPDATE vfs_inode SET blob = j.new FROM vfs_dedup AS j
WHERE vfs_inode.blob = j.old;

-- query vfs_dedup_chunks
UPDATE vfs_chunk SET blob = j.new FROM vfs_dedup AS j
WHERE vfs_chunk.blob = j.old;

-- query vfs_dedup_undo_inodes
UPDATE vfs_undo_inode SET blob = j.new FROM vfs_dedup AS j
WHERE vfs_undo_inode.blob = j.old;

-- query vfs_dedup_undo_chunks
UPDATE vfs_undo_chunk SET blob = j.new FROM vfs_dedup AS j
WHERE vfs_undo_chunk.blob = j.old;

-- query vfs_dedup_copied
UPDATE vfs_copied SET blob = j.new FROM vfs_dedup AS j
WHERE vfs_copied.blob = j.old;

-- query vfs_dedup_clear
DELETE FROM vfs_dedup;
