-- Events: append, read, roll up.

-- query meta_get (key text) -> (value text)
SELECT CAST(value AS TEXT) AS value FROM meta WHERE key = :key;

-- query meta_get_i64 (key text) -> (value i64)
SELECT CAST(value AS INTEGER) AS value FROM meta WHERE key = :key;

-- query meta_put_text (key text, value text)
INSERT INTO meta (key, value) VALUES (:key, :value)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- query meta_put_i64 (key text, value i64)
INSERT INTO meta (key, value) VALUES (:key, :value)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- query event_tail (lo i64, hi i64) -> (pos i64)
SELECT coalesce(max(pos), 0) AS pos FROM event WHERE pos BETWEEN :lo AND :hi;

-- query event_insert (pos i64, type i64, at time, run opt, key text, body json)
INSERT INTO event (pos, type, at, run, key, body)
VALUES (:pos, :type, :at, :run, :key, :body);

-- query event_find_key (session i64, key text) -> (pos i64, type i64, body json)
SELECT pos, type, body FROM event WHERE pos >> 32 = :session AND key = :key;

-- query event_parent_insert (pos i64, parent i64)
INSERT INTO event_parent (pos, parent) VALUES (:pos, :parent);

-- query event_extra_insert (pos i64, event_id text, type text)
INSERT INTO event_extra (pos, event_id, type) VALUES (:pos, :event_id, :type);

-- query event_last_branch (lo i64, hi i64) -> (pos i64, parent i64)
SELECT pos, parent FROM event_parent WHERE pos BETWEEN :lo AND :hi
 ORDER BY pos DESC LIMIT 1;

-- row event_record (pos i64, type i64, unknown_type text, event_id text, at time,
--   run text, key text, parent opt, body json)

-- query event_forward (lo i64, hi i64, count i64) -> event_record
SELECT e.pos, e.type, o.type AS unknown_type, o.event_id, e.at, r.run_id AS run,
       e.key, j.parent, e.body
  FROM event e
  LEFT JOIN event_extra o ON o.pos = e.pos
  LEFT JOIN event_parent j ON j.pos = e.pos
  LEFT JOIN run r ON r.id = e.run
 WHERE e.pos BETWEEN :lo AND :hi ORDER BY e.pos LIMIT :count;

-- query event_backward (lo i64, hi i64, count i64) -> event_record
SELECT e.pos, e.type, o.type AS unknown_type, o.event_id, e.at, r.run_id AS run,
       e.key, j.parent, e.body
  FROM event e
  LEFT JOIN event_extra o ON o.pos = e.pos
  LEFT JOIN event_parent j ON j.pos = e.pos
  LEFT JOIN run r ON r.id = e.run
 WHERE e.pos BETWEEN :lo AND :hi ORDER BY e.pos DESC LIMIT :count;

-- query event_delete_range (lo i64, hi i64, count i64)
DELETE FROM event WHERE pos IN
 (SELECT pos FROM event WHERE pos BETWEEN :lo AND :hi LIMIT :count);

-- query usage_insert (pos i64, model text, input i64, output i64, cached i64,
--   reasoning i64, cost_nano i64)
INSERT INTO usage (pos, model, input, output, cached, reasoning, cost_nano)
VALUES (:pos, :model, :input, :output, :cached, :reasoning, :cost_nano)
ON CONFLICT (pos) DO UPDATE SET model = excluded.model, input = excluded.input,
  output = excluded.output, cached = excluded.cached,
  reasoning = excluded.reasoning, cost_nano = excluded.cost_nano;

-- row usage_total (input i64, output i64, cached i64, reasoning i64, cost_nano i64)

-- query usage_sum (lo i64, hi i64) -> usage_total
SELECT coalesce(sum(input), 0) AS input, coalesce(sum(output), 0) AS output,
       coalesce(sum(cached), 0) AS cached,
       coalesce(sum(reasoning), 0) AS reasoning,
       coalesce(sum(cost_nano), 0) AS cost_nano
  FROM usage WHERE pos BETWEEN :lo AND :hi;

-- row usage_row (model text, input i64, output i64, cached i64, reasoning i64,
--   cost_nano i64)

-- query usage_get (pos i64) -> usage_row
SELECT model, input, output, cached, reasoning, cost_nano FROM usage
 WHERE pos = :pos;

-- query outbox_insert (pos i64, key text, target json, body json, now time)
INSERT INTO outbox (pos, key, target, body, created_at)
VALUES (:pos, :key, :target, :body, :now);

-- row outbox_row (id i64, pos i64, key text, target json, body json,
--   created_at time)

-- query outbox_waiting (after i64, count i64) -> outbox_row
SELECT id, pos, key, target, body, created_at FROM outbox
 WHERE taken_at IS NULL AND id > :after ORDER BY id LIMIT :count;

-- query outbox_of_run (reply text, first text, end text,
--   count i64) -> (id i64, created_at time)
-- Newest first. They are found in the index of the keys alone.
SELECT id, created_at FROM outbox
 WHERE id IN (SELECT id FROM
   (SELECT id FROM outbox WHERE key = :reply
    UNION ALL SELECT id FROM outbox WHERE key >= :first AND key < :end)
   ORDER BY id DESC LIMIT :count)
 ORDER BY id DESC;

-- query outbox_taken (id i64, now time)
UPDATE outbox SET taken_at = :now WHERE id = :id AND taken_at IS NULL;

-- row run_row_local (id i64, run_id text, session i64, attempt i64, epoch i64,
--   status text, reason text, started_at time, ended_at time)

-- query run_local_get (run_id text) -> run_row_local
SELECT id, run_id, session, attempt, epoch, status, reason, started_at, ended_at
  FROM run WHERE run_id = :run_id;

-- query run_before (run_id text) -> (seq i64)
-- The event before the first one of a run, 0 for none. For workers only: it
-- reads the events of the session.
SELECT coalesce(j.parent, (e.pos & 4294967295) - 1) AS seq
  FROM run r JOIN event e ON e.run = r.id
   AND e.pos BETWEEN r.session << 32 AND (r.session << 32) + 4294967295
  LEFT JOIN event_parent j ON j.pos = e.pos
 WHERE r.run_id = :run_id ORDER BY e.pos LIMIT 1;

-- query run_local_by_id (id i64) -> run_row_local
SELECT id, run_id, session, attempt, epoch, status, reason, started_at, ended_at
  FROM run WHERE id = :id;

-- query run_local_begin (run_id text, session i64, attempt i64, epoch i64,
--   workspace text, now time)
-- A later attempt takes over the run; an earlier or equal one changes nothing.
INSERT INTO run (run_id, session, attempt, epoch, status, workspace, started_at,
  after_seq)
VALUES (:run_id, :session, :attempt, :epoch, 'running', :workspace, :now,
  coalesce((SELECT pos & 4294967295 FROM event
             WHERE pos BETWEEN :session << 32 AND :session << 32 | 4294967295
             ORDER BY pos DESC LIMIT 1),
           (SELECT base_seq FROM session WHERE id = :session)))
ON CONFLICT (run_id) DO UPDATE SET attempt = excluded.attempt,
  epoch = excluded.epoch, status = 'running', workspace = excluded.workspace,
  reason = NULL, ended_at = NULL
 WHERE attempt < excluded.attempt;

-- query run_local_end (id i64, status text, reason text, now time)
UPDATE run SET status = :status, reason = :reason, ended_at = :now
 WHERE id = :id AND status = 'running';

-- query run_local_abandon (run_id text, reason text, now time)
UPDATE run SET status = 'aborted', reason = :reason, ended_at = :now
 WHERE run_id = :run_id AND status = 'running';

-- query run_local_reopen (id i64)
UPDATE run SET status = 'running', reason = NULL, ended_at = NULL
 WHERE id = :id AND status = 'aborted';

-- query event_last_of_run (lo i64, hi i64, run i64) -> (pos i64)
SELECT pos FROM event WHERE pos BETWEEN :lo AND :hi AND run = :run
 ORDER BY pos DESC LIMIT 1;

-- query run_local_import (run_id text, session i64, after_seq i64, at time)
-- A run of an imported session.
INSERT OR IGNORE INTO run (run_id, session, attempt, epoch, status, started_at,
  ended_at, after_seq)
VALUES (:run_id, :session, 1, 0, 'aborted', :at, :at, :after_seq);

-- query run_local_imported (id i64, session i64, status text, reason text, at time)
-- Its end. A run of the session from which the file was exported is not changed.
UPDATE run SET status = :status, reason = :reason, ended_at = :at
 WHERE id = :id AND session = :session;

-- query run_local_active (session i64) -> (n i64)
SELECT count(*) AS n FROM run WHERE session = :session AND status = 'running';

-- query run_local_delete (session i64)
DELETE FROM run WHERE session = :session;

-- query outbox_hold (now time)
-- After a restore: it is unknown whether these were sent.
UPDATE outbox SET taken_at = :now WHERE taken_at IS NULL;

-- query outbox_held -> (keys json)
SELECT json_group_array(key) AS keys FROM outbox WHERE taken_at IS NULL;

-- query run_local_open -> (run_id text, session text)
-- Runs that have no end yet.
SELECT r.run_id, s.key AS session FROM run r JOIN session s ON s.id = r.session
 WHERE r.status = 'running' AND s.key IS NOT NULL;
