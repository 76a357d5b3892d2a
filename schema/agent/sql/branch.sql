-- Rewinds, compactions, copies.

-- query rewind_insert (session i64, from_leaf i64, to_leaf i64, now time)
INSERT INTO rewind (session, from_leaf, to_leaf, at)
VALUES (:session, :from_leaf, :to_leaf, :now);

-- query rewind_last (session i64) -> (id i64, from_leaf i64, to_leaf i64)
SELECT id, from_leaf, to_leaf FROM rewind
 WHERE session = :session AND restored_at IS NULL ORDER BY id DESC LIMIT 1;

-- query rewind_restored (id i64, now time)
UPDATE rewind SET restored_at = :now WHERE id = :id;

-- query compaction_insert (session i64, event_seq i64, upto i64, summary text,
--   tokens_before opt, tokens_after opt, now time)
INSERT INTO compaction (session, event_seq, upto, summary, tokens_before,
                      tokens_after, at)
VALUES (:session, :event_seq, :upto, :summary, :tokens_before, :tokens_after,
        :now);

-- row compaction_row (id i64, session i64, event_seq i64, upto i64, summary text,
--   tokens_before opt, tokens_after opt, at time)

-- query compaction_last (session i64, lo i64, hi i64) -> compaction_row
-- The newest one whose compaction event is in a range of the history.
SELECT id, session, event_seq, upto, summary, tokens_before, tokens_after, at
  FROM compaction
 WHERE session = :session AND event_seq BETWEEN :lo AND :hi
 ORDER BY event_seq DESC LIMIT 1;

-- query copy_events (from_lo i64, from_hi i64, shift i64)
INSERT INTO event (pos, type, at, run, key, body)
SELECT pos + :shift, type, at, run, key, body FROM event
 WHERE pos BETWEEN :from_lo AND :from_hi ORDER BY pos;

-- query copy_extra (from_lo i64, from_hi i64, shift i64)
-- Names of unknown types are copied; ids from elsewhere are not, since a copy
-- has new ids.
INSERT INTO event_extra (pos, event_id, type)
SELECT pos + :shift, NULL, type FROM event_extra
 WHERE pos BETWEEN :from_lo AND :from_hi AND type IS NOT NULL;

-- query copy_jumps (from_lo i64, from_hi i64, shift i64)
INSERT INTO event_parent (pos, parent)
SELECT pos + :shift, parent FROM event_parent
 WHERE pos BETWEEN :from_lo AND :from_hi;

-- query copy_parts (from_lo i64, from_hi i64, shift i64)
INSERT INTO part (pos, idx, kind, state, name, call_id, text, input, output,
                  meta, rev, created_at, updated_at)
SELECT pos + :shift, idx, kind, state, name, call_id, text, input, output, meta,
       rev, created_at, updated_at
  FROM parts WHERE pos BETWEEN :from_lo AND :from_hi;

-- query copy_usage (from_lo i64, from_hi i64, shift i64)
INSERT INTO usage (pos, model, input, output, cached, reasoning, cost_nano)
SELECT pos + :shift, model, input, output, cached, reasoning, cost_nano
  FROM usage WHERE pos BETWEEN :from_lo AND :from_hi;
