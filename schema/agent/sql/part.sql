-- Parts that grow while a message streams.

-- row part_row (pos i64, idx i64, kind text, state text, name text,
--   call_id text, text text, input json, output json, meta json, rev i64,
--   created_at time, updated_at time)

-- query part_insert (pos i64, idx i64, kind text, state text, name text,
--   call_id text, text text, input json, output json, meta json, now time)
INSERT INTO part (pos, idx, kind, state, name, call_id, text, input, output,
                  meta, created_at, updated_at)
VALUES (:pos, :idx, :kind, :state, :name, :call_id, :text, :input, :output,
        :meta, :now, :now);

-- query part_next_idx (pos i64) -> (idx i64)
SELECT coalesce(max(idx) + 1, 0) AS idx FROM part WHERE pos = :pos;

-- query part_grow (pos i64, idx i64, chunk text, now time)
UPDATE part SET text = text || :chunk, rev = rev + 1, updated_at = :now
 WHERE pos = :pos AND idx = :idx
   AND state IN ('streaming','input','running','awaiting');

-- query part_chunk_add (pos i64, idx i64, chunk text, now time)
-- Appends to a long part: its row does not change.
INSERT INTO part_chunk (pos, idx, upto, n, at, text)
SELECT p.pos, p.idx,
       coalesce((SELECT upto FROM part_chunk WHERE pos = :pos AND idx = :idx
          ORDER BY upto DESC LIMIT 1), length(p.text)) + length(:chunk),
       1 + coalesce((SELECT n FROM part_chunk WHERE pos = :pos AND idx = :idx
          ORDER BY upto DESC LIMIT 1), 0), :now, :chunk
  FROM part p WHERE p.pos = :pos AND p.idx = :idx
   AND p.state IN ('streaming','input','running','awaiting');

-- query part_set (pos i64, idx i64, kind text, state text, input json,
--   output json, meta json, now time)
-- NULL keeps a value; meta is merged.
UPDATE part SET kind = coalesce(:kind, kind), state = coalesce(:state, state),
       input = coalesce(:input, input),
       output = coalesce(:output, output),
       meta = CASE WHEN :meta IS NULL THEN meta ELSE json_patch(meta, :meta) END,
       rev = rev + 1, updated_at = :now
 WHERE pos = :pos AND idx = :idx
   AND state IN ('streaming','input','running','awaiting');

-- query part_list (pos i64) -> part_row
SELECT pos, idx, kind, state, name, call_id, text, input, output, meta, rev,
       created_at, updated_at
  FROM parts WHERE pos = :pos ORDER BY idx;

-- query part_abort_open (lo i64, hi i64, reason text, now time)
-- Closes parts that a dead worker left open. Open questions stay open.
UPDATE part SET state = 'aborted', rev = rev + 1, updated_at = :now,
       output = coalesce(output, json_object('error', :reason))
 WHERE pos BETWEEN :lo AND :hi AND state IN ('streaming','input','running');

-- query part_abort_awaiting (lo i64, hi i64, reason text, now time)
-- The same for calls that wait for permission: they were not executed.
UPDATE part SET state = 'aborted', rev = rev + 1, updated_at = :now,
       output = coalesce(output, json_object('error', :reason, 'not_run', 1))
 WHERE pos BETWEEN :lo AND :hi AND state = 'awaiting';
