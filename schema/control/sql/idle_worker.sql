-- Workers that have outlived a run.

-- row idle_worker_row (tree text, run text, agent text, session text, fit text,
--   attempt i64, token_hash text, pid i64, start_ticks i64, boot_id text,
--   cgroup text, idle_since time, until time)

-- query idle_put (tree text, run text, agent text, session text, fit text,
--   attempt i64, token_hash text, pid i64, start_ticks i64, boot_id text,
--   cgroup text, idle_since time, until time)
INSERT INTO warm_worker (tree, run, agent, session, fit, attempt, token_hash,
                         pid, start_ticks, boot_id, cgroup, idle_since, until)
VALUES (:tree, :run, :agent, :session, :fit, :attempt, :token_hash, :pid,
        :start_ticks, :boot_id, :cgroup, :idle_since, :until)
ON CONFLICT (tree) DO UPDATE SET
  run = excluded.run, attempt = excluded.attempt,
  token_hash = excluded.token_hash, idle_since = excluded.idle_since,
  until = excluded.until;

-- query idle_delete (tree text)
DELETE FROM warm_worker WHERE tree = :tree;

-- query idle_of_run (run text) -> idle_worker_row
SELECT tree, run, agent, session, fit, attempt, token_hash, pid, start_ticks,
       boot_id, cgroup, idle_since, until
  FROM warm_worker WHERE run = :run;

-- query idle_list -> idle_worker_row
SELECT tree, run, agent, session, fit, attempt, token_hash, pid, start_ticks,
       boot_id, cgroup, idle_since, until
  FROM warm_worker ORDER BY tree;
