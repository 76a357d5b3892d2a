-- Current sandboxes.

-- query sandbox_put (run text, agent text, attempt i64, mode text, network text,
--   limits json, now time)
INSERT INTO sandbox (run, agent, attempt, mode, network, limits, made_at,
                     updated_at)
VALUES (:run, :agent, :attempt, :mode, :network, :limits, :now, :now)
ON CONFLICT (run) DO UPDATE SET
  attempt = excluded.attempt, mode = excluded.mode,
  network = excluded.network, limits = excluded.limits, pid = NULL,
  made_at = excluded.made_at, updated_at = excluded.updated_at;

-- query sandbox_set_pid (run text, pid i64, now time)
UPDATE sandbox SET pid = :pid, updated_at = :now WHERE run = :run;

-- query sandbox_delete (run text)
DELETE FROM sandbox WHERE run = :run;

-- row sandbox_row (run text, agent text, attempt i64, mode text, network text,
--   limits json, pid opt, made_at time, updated_at time)

-- query sandbox_list (agent text) -> sandbox_row
SELECT run, agent, attempt, mode, network, limits, pid, made_at, updated_at
  FROM sandbox WHERE :agent IS NULL OR agent = :agent ORDER BY run;
