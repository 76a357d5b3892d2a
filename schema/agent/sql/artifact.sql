-- Artifacts: contents, chunks, keys.

-- query artifact_content_begin (now time)
INSERT INTO artifact_content (state, touched_at) VALUES ('pending', :now);

-- query artifact_content_touch (content i64, now time)
-- Changes no row if gc has marked this content as dead meanwhile.
UPDATE artifact_content SET touched_at = :now
 WHERE id = :content AND state = 'pending';

-- query artifact_content_ready (content i64, size i64, sha256 text, now time)
UPDATE artifact_content
   SET state = 'ready', size = :size, sha256 = :sha256, touched_at = :now
 WHERE id = :content AND state = 'pending';

-- query artifact_content_kill (content i64)
-- Deletes at once, without grace for readers: it was never visible.
UPDATE artifact_content SET state = 'dead', touched_at = 0
 WHERE id = :content AND state = 'pending';

-- query artifact_chunk_add (id i64, data blob)
INSERT INTO artifact_chunk (id, data) VALUES (:id, :data);

-- query artifact_chunk_get (id i64) -> (data blob)
SELECT data FROM artifact_chunk WHERE id = :id;

-- query artifact_upsert (aid text, class text, owner text, kind text, name text,
--   mime text, meta json, content i64, now time) -> (aid text)
INSERT INTO artifact (aid, class, owner, kind, name, mime, meta, content,
                      created_at, updated_at)
VALUES (:aid, :class, :owner, :kind, :name, :mime, :meta, :content, :now, :now)
ON CONFLICT (owner, class, kind, name) DO UPDATE SET
  mime = excluded.mime, meta = excluded.meta, content = excluded.content,
  updated_at = excluded.updated_at
RETURNING aid;

-- row artifact_row (aid text, class text, owner text, kind text, name text,
--   mime text, meta json, size i64, sha256 text, created_at time,
--   updated_at time)

-- query artifact_by_aid (aid text) -> artifact_row
SELECT a.aid, a.class, a.owner, a.kind, a.name, a.mime, a.meta, c.size,
       c.sha256, a.created_at, a.updated_at
  FROM artifact a JOIN artifact_content c ON c.id = a.content
 WHERE a.aid = :aid;

-- query artifact_by_key (owner text, class text, kind text,
--   name text) -> artifact_row
SELECT a.aid, a.class, a.owner, a.kind, a.name, a.mime, a.meta, c.size,
       c.sha256, a.created_at, a.updated_at
  FROM artifact a JOIN artifact_content c ON c.id = a.content
 WHERE a.owner = :owner AND a.class = :class AND a.kind = :kind
   AND a.name = :name;

-- query artifact_content_of (aid text) -> (content i64, size i64, sha256 text)
SELECT a.content, c.size, c.sha256
  FROM artifact a JOIN artifact_content c ON c.id = a.content
 WHERE a.aid = :aid;

-- query artifact_content_is_ready (content i64) -> (is_ready bool)
SELECT state = 'ready' AS is_ready FROM artifact_content WHERE id = :content;

-- query artifact_list (class text, kind text, prefix text, after text,
--   count i64) -> artifact_row
SELECT a.aid, a.class, a.owner, a.kind, a.name, a.mime, a.meta, c.size,
       c.sha256, a.created_at, a.updated_at
  FROM artifact a JOIN artifact_content c ON c.id = a.content
 WHERE a.aid > :after
   AND (:class IS NULL OR a.class = :class)
   AND (:kind IS NULL OR a.kind = :kind)
   AND substr(a.name, 1, length(:prefix)) = :prefix
 ORDER BY a.aid LIMIT :count;

-- query artifact_list_owner (owner text, class text, kind text, prefix text,
--   after text, count i64) -> artifact_row
-- The + keeps the planner on the index that starts with the owner.
SELECT a.aid, a.class, a.owner, a.kind, a.name, a.mime, a.meta, c.size,
       c.sha256, a.created_at, a.updated_at
  FROM artifact a JOIN artifact_content c ON c.id = a.content
 WHERE a.owner = :owner AND +a.aid > :after
   AND (:class IS NULL OR a.class = :class)
   AND (:kind IS NULL OR a.kind = :kind)
   AND substr(a.name, 1, length(:prefix)) = :prefix
 ORDER BY +a.aid LIMIT :count;

-- query artifact_delete (aid text)
DELETE FROM artifact WHERE aid = :aid;

-- query artifact_content_loose (dead time, pending time) -> (id i64)
SELECT id FROM artifact_content
 WHERE state <> 'ready' AND touched_at <=
       CASE state WHEN 'dead' THEN :dead ELSE :pending END
 ORDER BY touched_at LIMIT 1;

-- query artifact_chunk_drop (content i64, count i64)
DELETE FROM artifact_chunk WHERE id IN
 (SELECT id FROM artifact_chunk
   WHERE id >= :content << 20 AND id < (:content + 1) << 20 LIMIT :count);

-- query artifact_content_drop (content i64)
DELETE FROM artifact_content WHERE id = :content;
