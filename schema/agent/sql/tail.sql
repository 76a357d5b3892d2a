-- Reads a session while it grows: schema/agent/transcript/tail.h.

-- query tail_run (run_id text) -> (id i64, after_seq i64)
SELECT id, after_seq FROM run WHERE run_id = :run_id;

-- query tail_run_next (id i64, session i64) -> (after_seq i64)
-- The run after this one: a session has one run at a time.
SELECT after_seq FROM run INDEXED BY run_session
 WHERE session = :session AND id > :id ORDER BY id LIMIT 1;

-- query tail_last_message (lo i64, hi i64, run_id text) -> (pos i64)
-- Among the newest few thousand events. For older ones, tail_last_part finds
-- those with parts; a message without parts gets no more.
SELECT e.pos FROM event e
 WHERE e.pos BETWEEN max(:lo, :hi - 4096) AND :hi AND e.type = 2
   AND (:run_id IS NULL OR e.run = (SELECT id FROM run WHERE run_id = :run_id))
 ORDER BY e.pos DESC LIMIT 1;

-- query tail_last_part (lo i64, hi i64) -> (pos opt)
SELECT max(pos) AS pos FROM part WHERE pos BETWEEN :lo AND :hi;

-- row tail_position (pos i64, idx i64, rev i64, is_open bool)

-- query tail_positions (lo i64, hi i64, run_id text) -> tail_position
SELECT p.pos, p.idx,
       p.rev + coalesce((SELECT n FROM part_chunk WHERE pos = p.pos
         AND idx = p.idx ORDER BY upto DESC LIMIT 1), 0) AS rev,
       p.state IN ('streaming','input','running','awaiting') AS is_open
  FROM part p JOIN event e ON e.pos = p.pos
 WHERE p.pos BETWEEN :lo AND :hi
   AND (:run_id IS NULL OR e.run = (SELECT id FROM run WHERE run_id = :run_id))
 ORDER BY p.pos, p.idx;

-- row tail_part (pos i64, idx i64, kind text, state text, name text,
--   call_id text, text text, length i64, input json, output json, meta json,
--   rev i64, updated_at time)

-- query tail_part_get (pos i64, idx i64, sent i64) -> tail_part
-- text is the text after the characters that were reported; length counts all.
SELECT p.pos, p.idx, p.kind, p.state, p.name, p.call_id,
       substr(p.text, :sent + 1) || coalesce((SELECT group_concat(c.text, '')
         FROM (SELECT substr(text, max(1, :sent + 1 - upto + length(text)))
                      AS text
                 FROM part_chunk WHERE pos = :pos AND idx = :idx
                  AND upto > :sent ORDER BY upto) c), '') AS text,
       coalesce((SELECT upto FROM part_chunk WHERE pos = :pos AND idx = :idx
         ORDER BY upto DESC LIMIT 1), length(p.text)) AS length,
       p.input, p.output, p.meta,
       p.rev + coalesce((SELECT n FROM part_chunk WHERE pos = :pos
         AND idx = :idx ORDER BY upto DESC LIMIT 1), 0) AS rev,
       max(p.updated_at, coalesce((SELECT at FROM part_chunk WHERE pos = :pos
         AND idx = :idx ORDER BY upto DESC LIMIT 1), 0)) AS updated_at
  FROM part p WHERE p.pos = :pos AND p.idx = :idx;
