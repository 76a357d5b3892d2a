-- Sessions of one agent.

-- row session_row (id i64, sid text, key text, status text, kind text,
--   is_ephemeral bool, title text, model text, source text, parent text,
--   base opt, base_seq i64, leaf opt, system_seq opt, system_digest text,
--   meta json, rev i64, created_at time, updated_at time, workspace text)

-- query session_by_key (key text) -> session_row
SELECT id, sid, key, status, kind, is_ephemeral, title, model, source, parent,
       base, base_seq, leaf, system_seq, system_digest, meta, rev, created_at,
       updated_at, workspace
  FROM session WHERE key = :key;

-- query session_by_sid (sid text) -> session_row
SELECT id, sid, key, status, kind, is_ephemeral, title, model, source, parent,
       base, base_seq, leaf, system_seq, system_digest, meta, rev, created_at,
       updated_at, workspace
  FROM session WHERE sid = :sid;

-- query session_by_id (id i64) -> session_row
SELECT id, sid, key, status, kind, is_ephemeral, title, model, source, parent,
       base, base_seq, leaf, system_seq, system_digest, meta, rev, created_at,
       updated_at, workspace
  FROM session WHERE id = :id;

-- query session_insert (sid text, key text, status text, kind text,
--   is_ephemeral bool, title text, model text, source text, parent text,
--   base opt, base_seq i64, meta json, now time)
INSERT INTO session (sid, key, status, kind, is_ephemeral, title, model, source,
                     parent, base, base_seq, meta, created_at, updated_at)
VALUES (:sid, :key, :status, :kind, :is_ephemeral, :title, :model, :source,
        :parent, :base, :base_seq, :meta, :now, :now);

-- query session_update (id i64, rev i64, status text, kind text,
--   is_ephemeral bool, title text, model text, source text, parent text,
--   meta json, workspace text, now time)
-- Compare and set: changes no row if the row was changed meanwhile.
UPDATE session SET status = :status, kind = :kind,
       is_ephemeral = :is_ephemeral, title = :title, model = :model,
       source = :source, parent = :parent, meta = :meta,
       workspace = :workspace, rev = rev + 1, updated_at = :now
 WHERE id = :id AND rev = :rev;

-- query session_merge_meta (id i64, patch json, now time)
UPDATE session SET meta = json_patch(meta, :patch), rev = rev + 1,
       updated_at = :now
 WHERE id = :id;

-- query session_keep_workspace (session i64, run i64, workspace text, now time)
UPDATE session SET workspace = :workspace, rev = rev + 1, updated_at = :now
 WHERE id = :session AND workspace IS NULL AND NOT EXISTS
  (SELECT 1 FROM run r WHERE r.session = :session AND r.id <> :run
      AND r.status <> 'failed');

-- query session_set_leaf (id i64, leaf opt, now time)
UPDATE session SET leaf = :leaf, rev = rev + 1, updated_at = :now
 WHERE id = :id;

-- query session_set_system (id i64, seq opt, digest text, now time)
UPDATE session SET system_seq = :seq, system_digest = :digest, rev = rev + 1,
       updated_at = :now
 WHERE id = :id;

-- row session_item (id i64, sid text, key text, status text, kind text,
--   title text, model text, source text, parent text, is_ephemeral bool,
--   base opt, base_seq i64, events i64, active_at time, created_at time,
--   updated_at time)

-- row session_list_filter (before i64, status text, kind text, source text,
--   model text, parent text, prefix text, prefix_end text, all bool, count i64)
-- query session_item_get (id i64) -> session_item
SELECT s.id, s.sid, s.key, s.status, s.kind, s.title, s.model, s.source,
       s.parent, s.is_ephemeral, s.base, s.base_seq,
       coalesce((SELECT e.pos & 4294967295 FROM event e
         WHERE e.pos BETWEEN s.id << 32 AND s.id << 32 | 4294967295
         ORDER BY e.pos DESC LIMIT 1), s.base_seq) AS events,
       coalesce((SELECT e.at FROM event e
         WHERE e.pos BETWEEN s.id << 32 AND s.id << 32 | 4294967295
         ORDER BY e.pos DESC LIMIT 1), s.created_at) AS active_at,
       s.created_at, s.updated_at
  FROM session s WHERE s.id = :id;

-- query session_list (session_list_filter) -> session_item
-- Newest first by id, which never changes, so a page never skips or repeats a
-- session while others are written. Accepts any set of filters, with a scan;
-- session_ids use an index each.
SELECT s.id, s.sid, s.key, s.status, s.kind, s.title, s.model, s.source,
       s.parent, s.is_ephemeral, s.base, s.base_seq,
       coalesce((SELECT e.pos & 4294967295 FROM event e
         WHERE e.pos BETWEEN s.id << 32 AND s.id << 32 | 4294967295
         ORDER BY e.pos DESC LIMIT 1), s.base_seq) AS events,
       coalesce((SELECT e.at FROM event e
         WHERE e.pos BETWEEN s.id << 32 AND s.id << 32 | 4294967295
         ORDER BY e.pos DESC LIMIT 1), s.created_at) AS active_at,
       s.created_at, s.updated_at
  FROM session s
 WHERE s.id < :before
   AND s.key IS NOT NULL
   AND (:all OR (s.status = 'active' AND NOT s.is_ephemeral) OR :status IS NOT NULL)
   AND (:status IS NULL OR s.status = :status)
   AND (:kind IS NULL OR s.kind = :kind)
   AND (:source IS NULL OR s.source = :source)
   AND (:model IS NULL OR s.model = :model)
   AND (:parent IS NULL OR s.parent = :parent)
   AND (:prefix IS NULL OR substr(s.key, 1, length(:prefix)) = :prefix)
 ORDER BY s.id DESC LIMIT :count;

-- query session_ids (session_list_filter) -> (id i64)
SELECT id FROM session INDEXED BY session_shown
 WHERE key IS NOT NULL AND status = 'active' AND is_ephemeral = 0
   AND id < :before ORDER BY id DESC LIMIT :count;

-- query session_ids_kind (session_list_filter) -> (id i64)
SELECT id FROM session INDEXED BY session_shown_kind
 WHERE key IS NOT NULL AND status = 'active' AND is_ephemeral = 0
   AND kind = :kind
   AND id < :before ORDER BY id DESC LIMIT :count;

-- query session_ids_all (session_list_filter) -> (id i64)
SELECT id FROM session
 WHERE key IS NOT NULL
   AND id < :before ORDER BY id DESC LIMIT :count;

-- query session_ids_all_kind (session_list_filter) -> (id i64)
SELECT id FROM session INDEXED BY session_status_kind
 WHERE key IS NOT NULL AND status = 'active' AND kind = :kind AND id < :before
UNION ALL
SELECT id FROM session INDEXED BY session_status_kind
 WHERE key IS NOT NULL AND status = 'archived' AND kind = :kind AND id < :before
 ORDER BY 1 DESC LIMIT :count;

-- query session_ids_status (session_list_filter) -> (id i64)
SELECT id FROM session INDEXED BY session_status
 WHERE key IS NOT NULL AND status = :status
   AND id < :before ORDER BY id DESC LIMIT :count;

-- query session_ids_status_kind (session_list_filter) -> (id i64)
SELECT id FROM session INDEXED BY session_status_kind
 WHERE key IS NOT NULL AND status = :status AND kind = :kind
   AND id < :before ORDER BY id DESC LIMIT :count;

-- query session_ids_prefix (session_list_filter) -> (id i64)
-- Keys from prefix to prefix_end, with any other filter. They are sorted, so
-- the cost is that of all matching sessions.
SELECT id FROM session INDEXED BY session_key
 WHERE key IS NOT NULL AND key >= :prefix AND key < :prefix_end
   AND substr(key, 1, length(:prefix)) = :prefix
   AND (:all OR (status = 'active' AND NOT is_ephemeral) OR :status IS NOT NULL)
   AND (:status IS NULL OR status = :status)
   AND (:kind IS NULL OR kind = :kind)
   AND id < :before ORDER BY id DESC LIMIT :count;

-- query session_tombstone (id i64, now time)
UPDATE session SET status = 'deleted', key = NULL, title = NULL, meta = '{}',
       system_seq = NULL, rev = rev + 1, updated_at = :now
 WHERE id = :id;

-- query session_delete_row (id i64)
DELETE FROM session WHERE id = :id;

-- query session_forks (base i64) -> (id i64, base_seq i64, status text)
SELECT id, base_seq, status FROM session WHERE base = :base ORDER BY id;

-- row session_lineage (id i64, sid text, key text, status text, title text,
--   base opt, base_seq i64, depth i64)

-- query session_tree (root i64) -> session_lineage
WITH RECURSIVE tree (id, depth, path) AS (
  SELECT :root, 0, printf('%010d', :root)
  UNION ALL
  SELECT s.id, tree.depth + 1, tree.path || printf('%010d', s.id)
    FROM session s JOIN tree ON s.base = tree.id)
SELECT s.id, s.sid, s.key, s.status, s.title, s.base, s.base_seq, tree.depth
  FROM tree JOIN session s ON s.id = tree.id ORDER BY tree.path;

-- query grant_put (session i64, tool text, pattern text, decision text, now time)
INSERT INTO permission_grant (session, tool, pattern, decision, at)
VALUES (:session, :tool, :pattern, :decision, :now)
ON CONFLICT (session, tool, pattern) DO UPDATE SET decision = excluded.decision,
  at = excluded.at;

-- row grant_row (tool text, pattern text, decision text, at time)

-- query grant_list (session i64) -> grant_row
SELECT tool, pattern, decision, at FROM permission_grant
 WHERE session = :session ORDER BY tool, pattern;

-- query grant_delete_all (session i64)
DELETE FROM permission_grant WHERE session = :session;
