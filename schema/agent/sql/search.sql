-- Full text: updating the index, and searching it.

-- query search_watermark_put (session i64, upto i64)
INSERT INTO search_watermark (session, upto) VALUES (:session, :upto)
ON CONFLICT (session) DO UPDATE SET upto = excluded.upto;

-- query search_watermark_lower (session i64)
-- The number of a deleted event at the end is reused by the next one, and that
-- of a deleted session by another.
UPDATE search_watermark SET upto = min(upto, coalesce(
  (SELECT e.pos & 4294967295 FROM event e
    WHERE e.pos BETWEEN :session << 32 AND :session << 32 | 4294967295
    ORDER BY e.pos DESC LIMIT 1), 0))
 WHERE session = :session;

-- query search_behind (lo i64, hi i64) -> (session i64, upto i64)
-- The first session with events after its watermark: one look-up per session.
SELECT s.id AS session, coalesce(m.upto, 0) AS upto
  FROM session s LEFT JOIN search_watermark m ON m.session = s.id
 WHERE s.id BETWEEN :lo AND :hi AND EXISTS
       (SELECT 1 FROM event e WHERE e.pos > s.id << 32 | coalesce(m.upto, 0)
           AND e.pos < (s.id + 1) << 32)
 ORDER BY s.id LIMIT 1;

-- query search_events (lo i64, hi i64) -> (pos i64, body json)
SELECT pos, body FROM event WHERE pos BETWEEN :lo AND :hi ORDER BY pos;

-- query search_event (pos i64) -> (body json)
SELECT body FROM event WHERE pos = :pos;

-- query search_parts (pos i64) -> (name text, text text, input json, output json)
SELECT name, text, input, output FROM parts WHERE pos = :pos ORDER BY idx;

-- query search_dirty_list (lo i64, hi i64, count i64) -> (pos i64)
SELECT pos FROM search_dirty WHERE pos BETWEEN :lo AND :hi
 ORDER BY pos LIMIT :count;

-- query search_dirty_drop (lo i64, hi i64)
DELETE FROM search_dirty WHERE pos BETWEEN :lo AND :hi;

-- query search_open_list (lo i64, hi i64, count i64) -> (pos i64)
-- Growing events. The first bound is the last one of the previous batch.
SELECT DISTINCT pos FROM part
 WHERE state IN ('streaming','input','running','awaiting')
   AND pos > :lo AND pos <= :hi
 ORDER BY pos LIMIT :count;

-- query search_text_get (pos i64) -> (text text)
SELECT text FROM search_text WHERE rowid = :pos;

-- query search_text_put (pos i64, text text)
INSERT OR REPLACE INTO search_text (rowid, text) VALUES (:pos, :text);

-- query search_text_drop (pos i64)
DELETE FROM search_text WHERE rowid = :pos;

-- query search_counts -> (indexed i64, dirty i64, events i64)
SELECT (SELECT count(*) FROM search_text) AS indexed,
       (SELECT count(*) FROM search_dirty) AS dirty,
       (SELECT count(*) FROM session s LEFT JOIN search_watermark m
            ON m.session = s.id JOIN event e
            ON e.pos > s.id << 32 | coalesce(m.upto, 0)
           AND e.pos < (s.id + 1) << 32) AS events;

-- row search_match_in (match text, lo i64, hi i64, type opt, unknown_type text,
--   since time, until time, count i64)
-- row search_match_row (pos i64, score f64, at time, type i64)

-- query search_edge (search_match_in) -> (n i64, pos i64)
-- The number of matches among the last so many, and the first of them. FTS5
-- reads backwards, so it stops there.
SELECT count(*) AS n, coalesce(min(pos), 0) AS pos FROM
 (SELECT t.rowid AS pos
    FROM search_text t CROSS JOIN event e ON e.pos = t.rowid
   WHERE t.search_text MATCH :match AND t.rowid BETWEEN :lo AND :hi
     AND (:type IS NULL OR e.type = :type)
     AND (:unknown_type IS NULL OR :unknown_type =
          (SELECT o.type FROM event_extra o WHERE o.pos = e.pos))
     AND e.at >= :since AND e.at < :until
   ORDER BY t.rowid DESC LIMIT :count);

-- query search_best (search_match_in) -> search_match_row
SELECT t.rowid AS pos, -t.rank AS score, e.at, e.type
  FROM search_text t CROSS JOIN event e ON e.pos = t.rowid
 WHERE t.search_text MATCH :match AND t.rank MATCH 'skep_rank()'
   AND t.rowid BETWEEN :lo AND :hi
   AND (:type IS NULL OR e.type = :type)
   AND (:unknown_type IS NULL OR :unknown_type =
        (SELECT o.type FROM event_extra o WHERE o.pos = e.pos))
   AND e.at >= :since AND e.at < :until
 ORDER BY t.rank, pos DESC;

-- query search_newest (search_match_in) -> search_match_row
SELECT t.rowid AS pos, -t.rank AS score, e.at, e.type
  FROM search_text t CROSS JOIN event e ON e.pos = t.rowid
 WHERE t.search_text MATCH :match AND t.rank MATCH 'skep_rank()'
   AND t.rowid BETWEEN :lo AND :hi
   AND (:type IS NULL OR e.type = :type)
   AND (:unknown_type IS NULL OR :unknown_type =
        (SELECT o.type FROM event_extra o WHERE o.pos = e.pos))
   AND e.at >= :since AND e.at < :until
 ORDER BY e.at DESC, pos DESC;

-- query search_detail (match text, pos i64, session i64, before text,
--   after text) -> (sid text, key text, unknown_type text, snippet text)
SELECT s.sid, s.key,
       (SELECT o.type FROM event_extra o WHERE o.pos = :pos) AS unknown_type,
       snippet(search_text, 0, :before, :after, '…', 24) AS snippet
  FROM search_text JOIN session s ON s.id = :session
 WHERE search_text MATCH :match AND search_text.rowid = :pos;

-- query search_forks (session i64) -> (id i64)
-- All forks of a session, over any number of levels.
WITH RECURSIVE above (id) AS (
  SELECT id FROM session WHERE base = :session
  UNION SELECT s.id FROM session s JOIN above a ON s.base = a.id)
SELECT id FROM above ORDER BY id;
