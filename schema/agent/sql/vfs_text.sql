-- Full text of workspaces: updating the index, and searching it.

-- query vfs_text_watermark_get (ns i64) -> (seq i64)
SELECT seq FROM vfs_text_watermark WHERE ns = :ns;

-- query vfs_text_watermark_put (ns i64, seq i64)
INSERT INTO vfs_text_watermark (ns, seq) VALUES (:ns, :seq)
ON CONFLICT (ns) DO UPDATE SET seq = excluded.seq;

-- query vfs_text_bounds (ns i64) -> (first i64, last i64)
-- The oldest known change, and the newest one of the namespace.
SELECT coalesce((SELECT min(seq) FROM vfs_journal), 0) AS first,
       coalesce((SELECT seq FROM vfs_journal WHERE ns = :ns
                  ORDER BY seq DESC LIMIT 1), 0) AS last;

-- query vfs_text_changes (ns i64, seq i64, count i64) -> (seq i64, op i64, ino i64)
SELECT seq, op, ino FROM vfs_journal
 WHERE seq > :seq AND ns = :ns ORDER BY seq LIMIT :count;

-- row vfs_text_due (id i64, is_new i64)
-- query vfs_text_behind (lo i64, hi i64, count i64) -> vfs_text_due
-- Files that have changed since they were examined, or were never examined. Of
-- files in the lower directory, only changed ones count.
SELECT i.id, f.id IS NULL AS is_new FROM vfs_inode i LEFT JOIN vfs_text_file f ON f.id = i.id
 WHERE i.id >= :lo AND i.id < :hi AND i.mode & 61440 = 32768
   AND (f.id IS NULL OR f.changed <> i.changed OR f.size <> i.size)
   AND (i.lower_size IS NULL OR i.blob > 0 OR EXISTS
        (SELECT 1 FROM vfs_chunk c WHERE c.id = i.id))
 ORDER BY i.id LIMIT :count;

-- query vfs_text_gone (lo i64, hi i64, count i64) -> vfs_text_due
SELECT f.id, 0 AS is_new FROM vfs_text_file f LEFT JOIN vfs_inode i ON i.id = f.id
 WHERE f.id >= :lo AND f.id < :hi AND i.id IS NULL
 ORDER BY f.id LIMIT :count;

-- query vfs_text_file_put (id i64, changed i64, size i64)
INSERT INTO vfs_text_file (id, changed, size) VALUES (:id, :changed, :size)
ON CONFLICT (id) DO UPDATE SET changed = excluded.changed, size = excluded.size;

-- query vfs_text_file_drop (id i64)
DELETE FROM vfs_text_file WHERE id = :id;

-- query vfs_text_add (id i64, text text)
-- FTS5 does not look for an old row.
INSERT INTO vfs_text (rowid, text) VALUES (:id, :text);

-- query vfs_text_put (id i64, text text)
INSERT OR REPLACE INTO vfs_text (rowid, text) VALUES (:id, :text);

-- query vfs_text_drop (id i64)
DELETE FROM vfs_text WHERE rowid = :id;

-- query vfs_text_best (match text, lo i64, hi i64) -> (id i64, score f64)
SELECT rowid AS id, -rank AS score FROM vfs_text
 WHERE vfs_text MATCH :match AND rank MATCH 'skep_rank()'
   AND rowid >= :lo AND rowid < :hi
 ORDER BY rank, rowid;

-- query vfs_text_snippet (match text, id i64) -> (snippet text)
SELECT snippet(vfs_text, 0, '[', ']', '…', 16) AS snippet FROM vfs_text
 WHERE vfs_text MATCH :match AND rowid = :id;
