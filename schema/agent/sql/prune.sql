-- Old sessions, in batches: first they are marked as deleted, then their rows
-- are deleted. After a kill in between, the next call continues.

-- query prune_sessions (before time, keep i64) -> (id i64, key text)
-- Sessions without a running run whose last activity is too old. The newest
-- `keep` of all sessions stay at any age.
SELECT id, key FROM (
  SELECT s.id, s.key, coalesce((SELECT e.at FROM event e
           WHERE e.pos BETWEEN s.id << 32 AND s.id << 32 | 4294967295
           ORDER BY e.pos DESC LIMIT 1), s.updated_at) AS active_at,
         EXISTS (SELECT 1 FROM run r WHERE r.session = s.id
                    AND r.status = 'running') AS is_running
    FROM session s WHERE s.key IS NOT NULL
   ORDER BY active_at DESC, s.id DESC LIMIT -1 OFFSET :keep)
 WHERE active_at < :before AND NOT is_running ORDER BY id;

-- query prune_mark (id i64, before time, now time)
-- Only if it has not changed since it was chosen.
UPDATE session SET status = 'deleted', key = NULL, title = NULL, meta = '{}',
       system_seq = NULL, rev = rev + 1, updated_at = :now
 WHERE id = :id AND key IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM run r WHERE r.session = :id
                      AND r.status = 'running')
   AND coalesce((SELECT e.at FROM event e
         WHERE e.pos BETWEEN :id << 32 AND :id << 32 | 4294967295
         ORDER BY e.pos DESC LIMIT 1), updated_at) < :before;

-- query prune_marked (after i64) -> (id i64, need i64, forks i64)
-- The next marked session before this one, newest first, so that a fork is
-- deleted before its base; and up to where its forks need it.
SELECT s.id, coalesce((SELECT max(f.base_seq) FROM session f WHERE f.base = s.id),
                      0) AS need,
       (SELECT count(*) FROM session f WHERE f.base = s.id) AS forks
  FROM session s WHERE s.status = 'deleted' AND s.id < :after
 ORDER BY s.id DESC LIMIT 1;

-- query prune_artifacts (session i64, count i64)
-- Artifacts of the session's runs; named artifacts belong to the user.
DELETE FROM artifact WHERE id IN
 (SELECT a.id FROM run r JOIN artifact a ON a.owner = r.run_id
     AND a.class IN ('tool','run') WHERE r.session = :session LIMIT :count);

-- query prune_spaces -> (name text)
SELECT name FROM vfs_ns ORDER BY name;

-- query null_next (after i64, before time, count i64) -> (lo i64, hi i64, n i64)
-- The next old events, in order, that still have content.
SELECT min(pos) AS lo, max(pos) AS hi, count(*) AS n FROM
 (SELECT pos FROM event WHERE pos > :after AND at < :before
     AND body <> '{"nulled":true}' ORDER BY pos LIMIT :count);

-- query null_events (lo i64, hi i64, before time)
UPDATE event SET body = '{"nulled":true}'
 WHERE pos BETWEEN :lo AND :hi AND at < :before AND body <> '{"nulled":true}'
   AND NOT EXISTS (SELECT 1 FROM run r WHERE r.id = event.run
                      AND r.status = 'running');

-- query null_parts (lo i64, hi i64, before time)
UPDATE part SET text = '', input = NULL, output = NULL, rev = rev + 1
 WHERE pos BETWEEN :lo AND :hi AND updated_at < :before
   AND state IN ('done','error','aborted');
