-- The reply of a run.

-- query answer_events (lo i64, hi i64, run i64) -> (pos i64, type i64, body json)
SELECT pos, type, body FROM event
 WHERE pos > :lo AND pos <= :hi AND run = :run ORDER BY pos;

-- query answer_parts (pos i64) -> (text text)
SELECT text FROM parts WHERE pos = :pos AND kind = 'text' ORDER BY idx;
