-- Workspaces whose set-up was done: worker/workspace/bootstrap.h.

-- query workspace_setup_get (place text) -> (state text, pid i64, start_ticks i64, boot_id text)
SELECT state, pid, start_ticks, boot_id FROM workspace_setup
WHERE place = :place;

-- query workspace_setup_put (place text, state text, run_id text, pid i64, start_ticks i64, boot_id text, changed_at i64)
INSERT OR REPLACE INTO workspace_setup
  (place, state, run_id, pid, start_ticks, boot_id, changed_at)
VALUES (:place, :state, :run_id, :pid, :start_ticks, :boot_id, :changed_at);

-- query workspace_setup_delete (place text)
DELETE FROM workspace_setup WHERE place = :place;

-- query workspace_created (name text) -> (made_at i64)
SELECT made_at FROM vfs_ns WHERE name = :name;
