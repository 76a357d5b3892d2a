-- Commands to workers, and their questions.

-- row command_row (id i64, run text, verb text, body json, state text,
--   refusal text, by text, created_at time, done_at time)

-- query command_add (run text, verb text, body json, by text, now time)
INSERT INTO run_command (run, verb, body, by, created_at)
VALUES (:run, :verb, :body, :by, :now);

-- query command_next (run text, after i64) -> command_row
SELECT id, run, verb, body, state, refusal, by, created_at, done_at
  FROM run_command INDEXED BY run_command_pending
 WHERE run = :run AND id > :after AND state = 'pending' ORDER BY id LIMIT 1;

-- query command_messages (run text, count i64) -> command_row
-- Messages that wait for the start of the run.
SELECT id, run, verb, body, state, refusal, by, created_at, done_at
  FROM run_command INDEXED BY run_command_pending
 WHERE run = :run AND state = 'pending' AND verb = 'message'
 ORDER BY id LIMIT :count;

-- query command_list (run text) -> command_row
SELECT id, run, verb, body, state, refusal, by, created_at, done_at
  FROM run_command WHERE run = :run ORDER BY id;

-- query command_done (id i64, run text, refusal text, now time)
UPDATE run_command
   SET state = CASE WHEN :refusal IS NULL THEN 'applied' ELSE 'refused' END,
       refusal = :refusal, done_at = :now
 WHERE id = :id AND run = :run AND state = 'pending';

-- query command_expire (run text, to_state text, now time)
-- The end of a run fulfils a cancel.
UPDATE run_command
   SET state = CASE WHEN verb = 'cancel' AND :to_state = 'cancelled'
                    THEN 'applied' ELSE 'expired' END,
       done_at = :now
 WHERE run = :run AND state = 'pending';

-- query command_drop (run text, verb text, now time)
-- A later command of the opposite kind replaces this one.
UPDATE run_command SET state = 'expired', done_at = :now
 WHERE run = :run AND state = 'pending' AND verb = :verb;

-- query command_reset (run text, now time)
-- Commands for an attempt that has ended; messages and answers belong to the
-- run. A stop requests the end of the attempt.
UPDATE run_command
   SET state = CASE WHEN verb = 'stop' THEN 'applied' ELSE 'expired' END,
       done_at = :now
 WHERE run = :run AND state = 'pending' AND verb NOT IN ('message','answer');

-- row approval_row (id text, run text, agent text, key text, title text,
--   detail json, state text, fallback text, expires_at time, answered_by text,
--   note text, choice text, asked_at time, answered_at time)

-- query approval_add (approval_row)
INSERT INTO approval (id, run, agent, key, title, detail, state, fallback,
  expires_at, answered_by, note, choice, asked_at, answered_at)
VALUES (:id, :run, :agent, :key, :title, :detail, :state, :fallback,
  :expires_at, :answered_by, :note, :choice, :asked_at, :answered_at);

-- query approval_get (id text) -> approval_row
SELECT id, run, agent, key, title, detail, state, fallback, expires_at,
  answered_by, note, choice, asked_at, answered_at FROM approval WHERE id = :id;

-- row found_id (id text, label text)
-- An id that matches a word of the user; label tells the candidates apart.
-- row id_range (low text, high text, skip i64)

-- query approval_prefix (id_range) -> found_id
SELECT id, agent || ', ' || state AS label FROM approval
 WHERE id >= :low AND id < :high ORDER BY id DESC LIMIT 6 OFFSET :skip;

-- query approval_find (run text, key text) -> approval_row
SELECT id, run, agent, key, title, detail, state, fallback, expires_at,
  answered_by, note, choice, asked_at, answered_at
  FROM approval WHERE run = :run AND key = :key;

-- query approval_open_same (key text, id text) -> approval_row
-- Other runs that wait for the answer to the same question.
SELECT id, run, agent, key, title, detail, state, fallback, expires_at,
  answered_by, note, choice, asked_at, answered_at
  FROM approval INDEXED BY approval_open
 WHERE state = 'open' AND key = :key AND id <> :id;

-- query approval_open_count (run text) -> (n i64)
SELECT count(*) AS n FROM approval WHERE run = :run AND state = 'open';

-- row approval_filter (state text, run text, before text, count i64)
-- query approval_oldest_open (run text) -> (id text, title text, asked_at time)
SELECT id, title, asked_at FROM approval INDEXED BY approval_run_state
 WHERE run = :run AND state = 'open' ORDER BY id LIMIT 1;

-- query approval_ids (approval_filter) -> (id text)
SELECT id FROM approval WHERE id < :before ORDER BY id DESC LIMIT :count;

-- query approval_ids_state (approval_filter) -> (id text)
SELECT id FROM approval INDEXED BY approval_state
 WHERE state = :state AND id < :before ORDER BY id DESC LIMIT :count;

-- query approval_ids_run (approval_filter) -> (id text)
SELECT id FROM approval INDEXED BY approval_run
 WHERE run = :run AND id < :before ORDER BY id DESC LIMIT :count;

-- query approval_ids_run_state (approval_filter) -> (id text)
SELECT id FROM approval INDEXED BY approval_run_state
 WHERE run = :run AND state = :state AND id < :before
 ORDER BY id DESC LIMIT :count;

-- query approval_due (now time) -> approval_row
SELECT id, run, agent, key, title, detail, state, fallback, expires_at,
  answered_by, note, choice, asked_at, answered_at
  FROM approval INDEXED BY approval_expiry
 WHERE state = 'open' AND expires_at IS NOT NULL AND expires_at <= :now
 ORDER BY expires_at LIMIT 100;

-- query approval_answer (id text, state text, by text, note text,
--   choice text, now time)
-- Only once: changes no row if there is an answer.
UPDATE approval SET state = :state, answered_by = :by, note = :note,
  choice = :choice, answered_at = :now
 WHERE id = :id AND state = 'open';

-- query approval_withdraw (run text, now time)
UPDATE approval SET state = 'withdrawn', answered_at = :now
 WHERE run = :run AND state = 'open';
