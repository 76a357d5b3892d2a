-- Runs: the queue, transitions, lists.

-- query reason_put (code text, description text)
INSERT INTO reason (code, description) VALUES (:code, :description)
ON CONFLICT (code) DO UPDATE SET description = excluded.description
WHERE description <> excluded.description;

-- query run_insert (id text, name text, agent text, session text, reason text,
--   priority i64, queue_pos opt, is_next bool, due_at time, expires_at time,
--   max_attempts i64, backoff_ms i64, run_timeout_ms opt, idle_timeout_ms opt,
--   grace_ms i64, policy text, parent text, depth i64, retry_of text,
--   idem_key text, idem_digest text, tags json, submitted_by text,
--   invocation text, workspace text, fork_of text, over_dir text,
--   is_fresh bool, is_ephemeral bool, is_shared bool, command text, now time)
INSERT INTO run (id, name, agent, session, state, reason, priority, queue_pos, is_next,
  due_at, expires_at, max_attempts, backoff_ms, run_timeout_ms,
  idle_timeout_ms, grace_ms, policy, parent, depth, retry_of, idem_key,
  idem_digest, tags, submitted_by, invocation, workspace, fork_of, over_dir,
  is_fresh, is_ephemeral, is_shared, command, created_at)
VALUES (:id, :name, :agent, :session, 'queued', :reason, :priority, :queue_pos, :is_next,
  :due_at, :expires_at, :max_attempts, :backoff_ms, :run_timeout_ms,
  :idle_timeout_ms, :grace_ms, :policy, :parent, :depth, :retry_of, :idem_key,
  :idem_digest, :tags, :submitted_by, :invocation, :workspace, :fork_of, :over_dir,
  :is_fresh, :is_ephemeral, :is_shared, :command, :now);

-- query run_input_put (run text, prompt text, options json)
INSERT INTO run_input (run, prompt, options) VALUES (:run, :prompt, :options);

-- query run_input_get (run text) -> (prompt text, options json)
SELECT prompt, options FROM run_input WHERE run = :run;

-- query run_by_key (agent text, idem_key text) -> (id text, idem_digest text)
SELECT id, idem_digest FROM run WHERE agent = :agent AND idem_key = :idem_key;

-- query run_queue_state (agent text, session text) -> (waiting i64, first i64,
--   last i64, next text)
-- The queue of a session: its length, first and last position, and next run.
SELECT count(*) AS waiting, coalesce(min(queue_pos), 0) AS first,
       coalesce(max(queue_pos), 0) AS last,
       max(CASE WHEN is_next = 1 THEN id END) AS next
  FROM run WHERE agent = :agent AND session = :session AND queue_pos IS NOT NULL;

-- query run_promote (agent text, session text)
-- Makes the first run of the queue the next one, unless there is one.
UPDATE run SET is_next = 1 WHERE id =
 (SELECT id FROM run WHERE agent = :agent AND session = :session
     AND queue_pos IS NOT NULL ORDER BY queue_pos LIMIT 1)
 AND NOT EXISTS (SELECT 1 FROM run WHERE agent = :agent AND session = :session
     AND queue_pos IS NOT NULL AND is_next = 1);

-- query run_top_priority (below i64) -> (priority i64)
SELECT priority FROM run
 WHERE state = 'queued' AND is_next = 1 AND due_at IS NULL AND is_blocked = 0
   AND priority < :below
 ORDER BY priority DESC LIMIT 1;

-- query run_next (priority i64, agent text) -> (id text, agent text)
-- The oldest startable run of the first agent after this one.
SELECT id, agent FROM run
 WHERE state = 'queued' AND is_next = 1 AND due_at IS NULL AND is_blocked = 0
   AND priority = :priority AND agent > :agent
 ORDER BY agent, id LIMIT 1;

-- query run_due (now time) -> (id text, agent text, session text, queue_pos opt)
SELECT id, agent, session, queue_pos FROM run
 WHERE state = 'queued' AND due_at IS NOT NULL AND due_at <= :now
 ORDER BY due_at LIMIT 100;

-- query run_make_ready (id text, queue_pos i64)
UPDATE run SET due_at = NULL, queue_pos = :queue_pos WHERE id = :id AND state = 'queued';

-- query run_expired (now time) -> (id text)
SELECT id FROM run
 WHERE state = 'queued' AND expires_at IS NOT NULL AND expires_at <= :now
 ORDER BY expires_at LIMIT 100;

-- query run_next_alarm -> (at time)
-- The next time at which a run is due or expires.
SELECT min(at) AS at FROM
 (SELECT min(due_at) AS at FROM run WHERE state = 'queued' AND due_at IS NOT NULL
  UNION ALL
  SELECT min(expires_at) FROM run WHERE state = 'queued' AND expires_at IS NOT NULL
  UNION ALL
  SELECT min(expires_at) FROM approval INDEXED BY approval_expiry
   WHERE state = 'open' AND expires_at IS NOT NULL);

-- query run_set_state (id text, from_state text, to_state text, pending_state text,
--   reason text, detail text)
-- Compare and set: changes no row if the state of the run has changed
-- meanwhile.
UPDATE run SET state = :to_state, pending_state = :pending_state, reason = :reason,
  detail = :detail
 WHERE id = :id AND state = :from_state;

-- query run_set_attempt (id text, attempt i64, token_hash text,
--   heartbeat_ms i64, agent_version i64, works_in text, is_shared bool,
--   session_workspace text, now time)
UPDATE run SET attempt = :attempt, token_hash = :token_hash,
  heartbeat_ms = :heartbeat_ms, works_in = :works_in, is_shared = :is_shared,
  session_workspace = :session_workspace,
  agent_version = :agent_version, started_at = :now, pid = NULL,
  start_ticks = NULL, boot_id = NULL, cgroup = NULL, exit_code = NULL,
  signal = NULL
 WHERE id = :id;

-- query run_uncount (id text)
-- An attempt that never started does not count.
UPDATE run SET attempt = attempt - 1 WHERE id = :id AND attempt > 0;

-- query run_grant (id text)
-- An attempt that the host ended does not count against the run: it gets
-- another one.
UPDATE run SET max_attempts = max_attempts + 1 WHERE id = :id;

-- query run_count_never_started (run text) -> (count i64)
-- How often the run was queued again because its worker did not start.
SELECT count(*) AS count FROM run_transition
 WHERE run = :run AND from_state = 'ending' AND to_state = 'queued'
   AND reason IN ('spawn_failed','start_timeout');

-- query run_set_worker (id text, attempt i64, pid i64, start_ticks i64,
--   boot_id text, cgroup text)
UPDATE run SET pid = :pid, start_ticks = :start_ticks, boot_id = :boot_id,
  cgroup = :cgroup
 WHERE id = :id AND attempt = :attempt;

-- query run_set_report (id text, last_seq i64, exit_code opt, signal opt)
UPDATE run SET last_seq = max(last_seq, :last_seq), exit_code = :exit_code,
  signal = :signal
 WHERE id = :id;

-- query run_set_last_seq (id text, last_seq i64)
UPDATE run SET last_seq = max(last_seq, :last_seq) WHERE id = :id;

-- query run_set_usage (id text, last_seq i64, input_tokens i64,
--   output_tokens i64, cost_micros i64)
UPDATE run SET last_seq = max(last_seq, :last_seq),
  input_tokens = :input_tokens, output_tokens = :output_tokens,
  cost_micros = :cost_micros
 WHERE id = :id;

-- query run_close (id text, now time)
-- After the transition to a final state: out of the queue, no worker, no token.
UPDATE run SET queue_pos = NULL, is_next = 0, is_blocked = 0, due_at = NULL,
  pid = NULL,
  start_ticks = NULL, boot_id = NULL, cgroup = NULL, token_hash = NULL,
  ended_at = :now
 WHERE id = :id;

-- query run_wait_again (id text, due_at time)
-- After the transition back to queued: stays the next run of its session.
UPDATE run SET due_at = :due_at, pid = NULL, start_ticks = NULL, boot_id = NULL,
  token_hash = NULL
 WHERE id = :id;

-- query run_block (id text, works_in text)
-- The run waits for its workspace.
UPDATE run SET is_blocked = 1, works_in = :works_in
 WHERE id = :id AND state = 'queued';

-- query run_unblock (agent text, works_in text)
-- The next run that waits for the workspace may be considered again.
UPDATE run SET is_blocked = 0 WHERE id =
 (SELECT id FROM run INDEXED BY run_blocked
   WHERE state = 'queued' AND is_blocked = 1 AND agent = :agent
     AND works_in = :works_in
   ORDER BY priority DESC, id LIMIT 1);

-- query run_unblock_after (id text)
-- The same for the workspace that this run leaves.
UPDATE run SET is_blocked = 0 WHERE id =
 (SELECT b.id FROM run r JOIN run b INDEXED BY run_blocked
      ON b.state = 'queued' AND b.is_blocked = 1 AND b.agent = r.agent
     AND b.works_in = r.works_in
   WHERE r.id = :id ORDER BY b.priority DESC, b.id LIMIT 1);

-- query run_unblock_all
-- After a restart: all are considered again.
UPDATE run INDEXED BY run_blocked SET is_blocked = 0
 WHERE state = 'queued' AND is_blocked = 1;

-- query run_blocked_first (agent text, works_in text) -> (id text, priority i64)
SELECT id, priority FROM run INDEXED BY run_blocked
 WHERE state = 'queued' AND is_blocked = 1 AND agent = :agent
   AND works_in = :works_in
 ORDER BY priority DESC, id LIMIT 1;

-- query run_session_guess (agent text, session text, id text) -> (session_workspace text)
-- What the previous run of the session found.
SELECT session_workspace FROM run INDEXED BY run_session
 WHERE agent = :agent AND session = :session AND id < :id
 ORDER BY id DESC LIMIT 1;

-- query run_set_session_workspace (id text, session_workspace text)
UPDATE run SET session_workspace = :session_workspace WHERE id = :id;

-- query run_transition_add (run text, attempt i64, from_state text,
--   to_state text, reason text, detail text, at time)
INSERT INTO run_transition (run, attempt, from_state, to_state, reason, detail, at)
VALUES (:run, :attempt, :from_state, :to_state, :reason, :detail, :at);

-- row run_transition_row (id i64, run text, attempt i64, from_state text,
--   to_state text, reason text, detail text, at time)

-- query run_transition_list (run text) -> run_transition_row
SELECT id, run, attempt, from_state, to_state, reason, detail, at
  FROM run_transition WHERE run = :run ORDER BY id;

-- row run_row (id text, name text, agent text, agent_version i64, session text, state text,
--   pending_state text, reason text, detail text, priority i64, due_at time,
--   expires_at time, attempt i64, max_attempts i64, backoff_ms i64,
--   run_timeout_ms opt, idle_timeout_ms opt, grace_ms i64, policy text,
--   parent text, depth i64, retry_of text, idem_key text, tags json,
--   submitted_by text, pid opt, start_ticks opt, boot_id text, last_seq i64,
--   input_tokens i64, output_tokens i64, cost_micros i64, exit_code opt,
--   signal opt, created_at time, started_at time, ended_at time,
--   invocation text, note text, workspace text, fork_of text, over_dir text,
--   is_fresh bool, is_ephemeral bool, is_shared bool, works_in text, command text,
--   health text, artifacts_status text, severity text, deliveries json,
--   deliveries_error text)
-- The last five are not columns: run_classify (schema/control/severity.h) sets
-- the first three; artifacts_status initially states whether the agent's
-- version requires files. deliveries is set for single runs
-- (schema/control/channel/run_deliveries.h), and deliveries_error says why they
-- cannot be read.

-- columns run_columns
id, name, agent, agent_version, session, state, pending_state, reason, detail,
  priority, due_at, expires_at, attempt, max_attempts, backoff_ms,
  run_timeout_ms, idle_timeout_ms, grace_ms, policy, parent, depth, retry_of,
  idem_key, tags, submitted_by, pid, start_ticks, boot_id, last_seq,
  input_tokens, output_tokens, cost_micros, exit_code, signal, created_at,
  started_at, ended_at, invocation, note, workspace, fork_of, over_dir, is_fresh,
  is_ephemeral, is_shared, works_in, command, NULL AS health,
  (SELECT json_type(definition, '$.artifacts') FROM agent_version v
    WHERE v.agent = run.agent AND v.version = run.agent_version) AS artifacts_status,
  NULL AS severity, NULL AS deliveries,
  NULL AS deliveries_error

-- query run_note (id text, note text)
UPDATE run SET note = nullif(:note, '') WHERE id = :id;

-- query run_get (id text) -> run_row
SELECT {run_columns}
  FROM run WHERE id = :id;

-- query run_prefix (id_range) -> found_id
-- Newest first. Enough rows for an error that lists the candidates.
SELECT id, coalesce(name, agent) || ', ' || state AS label FROM run
 WHERE id >= :low AND id < :high ORDER BY id DESC LIMIT 6 OFFSET :skip;

-- query run_find_name (name text) -> found_id
SELECT id, 'name' AS label FROM run INDEXED BY run_name
 WHERE name IS NOT NULL AND name = :name ORDER BY id DESC LIMIT 1;

-- query run_find_agent (name text) -> found_id
SELECT id, 'latest run of the agent' AS label FROM run INDEXED BY run_agent
 WHERE agent = :name ORDER BY id DESC LIMIT 1;

-- row run_filter (agent text, session text, state text, tag text,
--   invocation text, before text, count i64)
-- query run_ids (run_filter) -> (id text)
-- Lists return ids, newest first; the rows are read one by one
-- (schema/control/lists.h). before is the last id of the previous page, or '~'.
-- Each set of filters has its own statement, which names its index, so that no
-- list scans the history.
SELECT id FROM run WHERE id < :before ORDER BY id DESC LIMIT :count;

-- query run_ids_agent (run_filter) -> (id text)
SELECT id AS id FROM run INDEXED BY run_agent
 WHERE agent = :agent
   AND id < :before ORDER BY id DESC LIMIT :count;

-- query run_ids_session (run_filter) -> (id text)
SELECT id AS id FROM run INDEXED BY run_session
 WHERE agent = :agent AND session = :session
   AND id < :before ORDER BY id DESC LIMIT :count;

-- query run_ids_ended (run_filter) -> (id text)
SELECT id AS id FROM run INDEXED BY run_ended
 WHERE ended_at IS NOT NULL AND state = :state
   AND id < :before ORDER BY id DESC LIMIT :count;

-- query run_ids_agent_ended (run_filter) -> (id text)
SELECT id AS id FROM run INDEXED BY run_agent_ended
 WHERE ended_at IS NOT NULL AND agent = :agent AND state = :state
   AND id < :before ORDER BY id DESC LIMIT :count;

-- query run_ids_session_ended (run_filter) -> (id text)
SELECT id AS id FROM run INDEXED BY run_session_ended
 WHERE ended_at IS NOT NULL AND agent = :agent AND session = :session
   AND state = :state
   AND id < :before ORDER BY id DESC LIMIT :count;

-- query run_ids_queued (run_filter) -> (id text)
SELECT id AS id FROM run INDEXED BY run_queued
 WHERE state = 'queued'
   AND id < :before ORDER BY id DESC LIMIT :count;

-- query run_ids_agent_queued (run_filter) -> (id text)
SELECT id AS id FROM run INDEXED BY run_agent_queued
 WHERE state = 'queued' AND agent = :agent
   AND id < :before ORDER BY id DESC LIMIT :count;

-- query run_ids_session_queued (run_filter) -> (id text)
SELECT id AS id FROM run INDEXED BY run_session_queued
 WHERE state = 'queued' AND agent = :agent AND session = :session
   AND id < :before ORDER BY id DESC LIMIT :count;

-- query run_ids_active (run_filter) -> (id text)
-- Runs that have a process: at most run.max, for any filters.
SELECT id FROM run INDEXED BY run_active
 WHERE state IN ('starting','running','paused','stopping','ending')
   AND state = :state AND (:agent IS NULL OR agent = :agent)
   AND (:session IS NULL OR session = :session)
   AND id < :before ORDER BY id DESC LIMIT :count;

-- query run_ids_invocation (run_filter) -> (id text)
SELECT id AS id FROM run INDEXED BY run_invocation
 WHERE invocation IS NOT NULL AND invocation = :invocation
   AND id < :before ORDER BY id DESC LIMIT :count;

-- query run_ids_invocation_state (run_filter) -> (id text)
SELECT id AS id FROM run INDEXED BY run_invocation_state
 WHERE invocation IS NOT NULL AND invocation = :invocation
   AND state = :state
   AND id < :before ORDER BY id DESC LIMIT :count;

-- query run_ids_tag (run_filter) -> (id text)
SELECT run AS id FROM run_tag
 WHERE tag = :tag AND run < :before ORDER BY run DESC LIMIT :count;

-- query run_ids_tag_agent (run_filter) -> (id text)
SELECT run AS id FROM run_tag INDEXED BY run_tag_agent
 WHERE tag = :tag AND agent = :agent
   AND run < :before ORDER BY run DESC LIMIT :count;

-- query run_ids_tag_state (run_filter) -> (id text)
SELECT run AS id FROM run_tag INDEXED BY run_tag_state
 WHERE tag = :tag AND state = :state
   AND run < :before ORDER BY run DESC LIMIT :count;

-- query run_ids_tag_agent_state (run_filter) -> (id text)
SELECT run AS id FROM run_tag INDEXED BY run_tag_agent_state
 WHERE tag = :tag AND agent = :agent AND state = :state
   AND run < :before ORDER BY run DESC LIMIT :count;

-- row invocation_row (invocation text, agents i64, sessions i64, runs i64,
--   waiting i64, active i64, succeeded i64, failed i64, cancelled i64,
--   timed_out i64, created_at time, ended_at time, health text, severity text)
-- The last two are those of its worst run, set by invocation_classify.

-- query invocation_list (before text, count i64) -> invocation_row
-- By name, descending; before is the last name of the previous page, or '~'.
SELECT name AS invocation, agents, sessions, runs, waiting,
  runs - waiting - ended AS active, succeeded, failed, cancelled, timed_out,
  (SELECT r.created_at FROM run r INDEXED BY run_invocation
    WHERE r.invocation IS NOT NULL AND r.invocation = invocation.name
    ORDER BY r.id LIMIT 1) AS created_at,
  CASE WHEN ended = runs THEN ended_at END AS ended_at,
  NULL AS health, NULL AS severity
  FROM invocation WHERE name < :before ORDER BY name DESC LIMIT :count;

-- query run_list_active -> run_row
-- All unfinished runs, for ps.
SELECT {run_columns}
  FROM run INDEXED BY run_active
 WHERE state IN ('starting','running','paused','stopping','ending')
 ORDER BY id;

-- row run_active_row (id text, agent text, session text, state text,
--   pending_state text, attempt i64, max_attempts i64, backoff_ms i64,
--   run_timeout_ms opt, idle_timeout_ms opt, grace_ms i64, pid opt,
--   start_ticks opt, boot_id text, cgroup text, token_hash text, heartbeat_ms i64,
--   last_seq i64, started_at time, reason text, detail text, workspace text,
--   fork_of text, over_dir text, is_fresh bool, is_ephemeral bool,
--   is_shared bool, works_in text, session_workspace text, priority i64,
--   command text)

-- columns run_active_columns
id, agent, session, state, pending_state, attempt, max_attempts, backoff_ms,
  run_timeout_ms, idle_timeout_ms, grace_ms, pid, start_ticks, boot_id, cgroup,
  token_hash, heartbeat_ms, last_seq, started_at, reason, detail, workspace,
  fork_of, over_dir, is_fresh, is_ephemeral, is_shared, works_in,
  session_workspace, priority, command

-- query run_active -> run_active_row
SELECT {run_active_columns}
  FROM run INDEXED BY run_active
 WHERE state IN ('starting','running','paused','stopping','ending')
 ORDER BY id;

-- query run_active_get (id text) -> run_active_row
SELECT {run_active_columns}
  FROM run WHERE id = :id;

-- query run_descendants (parent text) -> (id text)
-- Unfinished runs below this one. The walk goes from unfinished children up to
-- their ancestors, since a run may have any number of finished children.
WITH RECURSIVE above (id, parent) AS
 (SELECT id, parent FROM run INDEXED BY run_open_child
   WHERE parent IS NOT NULL AND ended_at IS NULL
  UNION
  SELECT above.id, run.parent FROM above JOIN run ON run.id = above.parent
   WHERE above.parent <> :parent AND run.parent IS NOT NULL)
SELECT id FROM above WHERE parent = :parent ORDER BY id;

-- query run_children (parent text, count i64) -> (id text)
-- Oldest first.
SELECT id FROM run INDEXED BY run_parent
 WHERE parent = :parent ORDER BY id LIMIT :count;

-- query run_child_counts (parent text) -> (total i64, open i64)
SELECT count(*) AS total,
       coalesce(sum(ended_at IS NULL), 0) AS open
  FROM run INDEXED BY run_parent WHERE parent = :parent;

-- query run_tree_usage (parent text) -> (tokens i64, cost_micros i64)
-- Of all runs below this one.
WITH RECURSIVE below (id, tokens, cost_micros) AS
 (SELECT id, input_tokens + output_tokens, cost_micros FROM run
   WHERE parent = :parent
  UNION ALL
  SELECT run.id, run.input_tokens + run.output_tokens, run.cost_micros
    FROM below JOIN run ON run.parent = below.id)
SELECT coalesce(sum(tokens), 0) AS tokens,
       coalesce(sum(cost_micros), 0) AS cost_micros FROM below;

-- query run_cancellable (agent text, session text, tag text) -> (id text, is_child bool)
-- Open runs that match, then the open child runs of these. Both walks read only
-- indexes of open runs.
WITH RECURSIVE chosen (id) AS MATERIALIZED
 (SELECT id FROM run INDEXED BY run_queued
   WHERE state = 'queued' AND (:agent IS NULL OR agent = :agent)
     AND (:session IS NULL OR session = :session)
     AND (:tag IS NULL OR EXISTS (SELECT 1 FROM run_tag t
           WHERE t.tag = :tag AND t.run = run.id))
  UNION ALL
  SELECT id FROM run INDEXED BY run_active
   WHERE state IN ('starting','running','paused','stopping','ending')
     AND (:agent IS NULL OR agent = :agent)
     AND (:session IS NULL OR session = :session)
     AND (:tag IS NULL OR EXISTS (SELECT 1 FROM run_tag t
           WHERE t.tag = :tag AND t.run = run.id))),
above (id, parent) AS
 (SELECT id, parent FROM run INDEXED BY run_open_child
   WHERE parent IS NOT NULL AND ended_at IS NULL
  UNION
  SELECT above.id, run.parent FROM above JOIN run ON run.id = above.parent
   WHERE run.parent IS NOT NULL)
SELECT id, 0 AS is_child FROM chosen
UNION ALL
SELECT DISTINCT id, 1 AS is_child FROM above
 WHERE parent IN (SELECT id FROM chosen) AND id NOT IN (SELECT id FROM chosen);

-- query run_waiting -> (queued i64, delayed i64)
-- Unfinished runs, from the small indexes; delayed ones have no position.
SELECT (SELECT count(*) FROM run WHERE queue_pos IS NOT NULL) AS queued,
  (SELECT count(*) FROM run WHERE state = 'queued' AND due_at IS NOT NULL
      AND queue_pos IS NULL) AS delayed;
