-- Workers that have outlived a run.

-- row idle_worker_row (started_for text, run text, agent text, session text, config_digest text,
--   attempt i64, token_hash text, pid i64, start_ticks i64, boot_id text,
--   cgroup text, idle_since time, expires_at time, works_in text, is_shared bool)
-- The last two are those of its run.

-- query idle_put (started_for text, run text, agent text, session text, config_digest text,
--   attempt i64, token_hash text, pid i64, start_ticks i64, boot_id text,
--   cgroup text, idle_since time, expires_at time)
INSERT INTO idle_worker (started_for, run, agent, session, config_digest, attempt, token_hash,
                         pid, start_ticks, boot_id, cgroup, idle_since, expires_at)
VALUES (:started_for, :run, :agent, :session, :config_digest, :attempt, :token_hash, :pid,
        :start_ticks, :boot_id, :cgroup, :idle_since, :expires_at)
ON CONFLICT (started_for) DO UPDATE SET
  run = excluded.run, attempt = excluded.attempt,
  token_hash = excluded.token_hash, idle_since = excluded.idle_since,
  expires_at = excluded.expires_at;

-- query idle_delete (started_for text)
DELETE FROM idle_worker WHERE started_for = :started_for;

-- columns idle_worker_columns
started_for, run, agent, session, config_digest, attempt, token_hash, pid, start_ticks,
       boot_id, cgroup, idle_since, expires_at,
       (SELECT works_in FROM run r WHERE r.id = idle_worker.run) AS works_in,
       (SELECT is_shared FROM run r WHERE r.id = idle_worker.run) AS is_shared

-- query idle_of_run (run text) -> idle_worker_row
SELECT {idle_worker_columns}
  FROM idle_worker WHERE run = :run;

-- query idle_list -> idle_worker_row
SELECT {idle_worker_columns}
  FROM idle_worker ORDER BY started_for;
