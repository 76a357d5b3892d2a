-- Backups, restores, imports.

-- row backup_run_row (id text, kind text, state text, path text, sha256 text,
--   bytes i64, files i64, agents i64, problem text, pid i64, start_ticks i64,
--   boot_id text, started_at time, ended_at time)

-- query backup_run_put (backup_run_row)
INSERT INTO backup_run (id, kind, state, path, sha256, bytes, files, agents,
                        problem, pid, start_ticks, boot_id, started_at, ended_at)
VALUES (:id, :kind, :state, :path, :sha256, :bytes, :files, :agents, :problem,
        :pid, :start_ticks, :boot_id, :started_at, :ended_at)
ON CONFLICT (id) DO UPDATE SET state = excluded.state, path = excluded.path,
  sha256 = excluded.sha256, bytes = excluded.bytes, files = excluded.files,
  agents = excluded.agents, problem = excluded.problem,
  ended_at = excluded.ended_at;

-- query backup_run_list (count i64) -> backup_run_row
-- Newest first.
SELECT id, kind, state, path, sha256, bytes, files, agents, problem, pid,
       start_ticks, boot_id, started_at, ended_at
  FROM backup_run ORDER BY id DESC LIMIT :count;

-- query backup_newest -> backup_run_row
-- The newest backup that has a result.
SELECT id, kind, state, path, sha256, bytes, files, agents, problem, pid,
       start_ticks, boot_id, started_at, ended_at
  FROM backup_run WHERE state IN ('done','partial') ORDER BY id DESC LIMIT 1;

-- query backup_run_kept (kind text) -> (id text, path text)
-- Archives of one kind that should still exist, newest first.
SELECT id, path FROM backup_run
 WHERE kind = :kind AND state IN ('done','partial') AND path IS NOT NULL
 ORDER BY id DESC;

-- query backup_last (kind text) -> (at time)
SELECT max(started_at) AS at FROM backup_run WHERE kind = :kind;

-- query supervisor_none
-- For a copy of the database: the supervisor row belongs to the original.
UPDATE supervisor SET pid = 0;

-- query lease_none
DELETE FROM lease;

-- query backup_run_none
-- Unfinished backups, including the one that is being restored.
DELETE FROM backup_run WHERE state = 'running';

-- query run_open (agent text) -> (id text, session text, state text, attempt i64)
-- Runs of an agent that have not ended.
SELECT id, session, state, attempt FROM run
 WHERE agent = :agent AND ended_at IS NULL AND state NOT IN
   ('succeeded','failed','cancelled','timed_out') ORDER BY id;

-- query prune_run_edge (keep i64) -> (id text)
-- The oldest run that is kept because it is one of the newest.
SELECT id FROM run WHERE state IN ('succeeded','failed','cancelled','timed_out')
 ORDER BY id DESC LIMIT 1 OFFSET :keep - 1;

-- Finished runs and their rows. A run that another one names as its parent or
-- origin is deleted too; the reference becomes NULL. The foreign keys would change
-- any number of rows at once. These statements change at most `rows` of each
-- table, and a run is deleted when no table has more.
-- row run_prune (before time, edge text, count i64, rows i64)
-- query prune_children (run_prune)
UPDATE run SET parent = NULL WHERE id IN (SELECT c.id FROM
 (SELECT id FROM run WHERE id < :edge
     AND state IN ('succeeded','failed','cancelled','timed_out')
     AND coalesce(ended_at, created_at) < :before ORDER BY id LIMIT :count)
   AS r JOIN run AS c ON c.parent = r.id LIMIT :rows);

-- query prune_retries (run_prune)
UPDATE run SET retry_of = NULL WHERE id IN (SELECT c.id FROM
 (SELECT id FROM run WHERE id < :edge
     AND state IN ('succeeded','failed','cancelled','timed_out')
     AND coalesce(ended_at, created_at) < :before ORDER BY id LIMIT :count)
   AS r JOIN run AS c ON c.retry_of = r.id LIMIT :rows);

-- query prune_transitions (run_prune)
DELETE FROM run_transition WHERE id IN (SELECT c.id FROM
 (SELECT id FROM run WHERE id < :edge
     AND state IN ('succeeded','failed','cancelled','timed_out')
     AND coalesce(ended_at, created_at) < :before ORDER BY id LIMIT :count)
   AS r JOIN run_transition AS c ON c.run = r.id LIMIT :rows);

-- query prune_commands (run_prune)
DELETE FROM run_command WHERE id IN (SELECT c.id FROM
 (SELECT id FROM run WHERE id < :edge
     AND state IN ('succeeded','failed','cancelled','timed_out')
     AND coalesce(ended_at, created_at) < :before ORDER BY id LIMIT :count)
   AS r JOIN run_command AS c ON c.run = r.id LIMIT :rows);

-- query prune_approvals (run_prune)
DELETE FROM approval WHERE id IN (SELECT c.id FROM
 (SELECT id FROM run WHERE id < :edge
     AND state IN ('succeeded','failed','cancelled','timed_out')
     AND coalesce(ended_at, created_at) < :before ORDER BY id LIMIT :count)
   AS r JOIN approval AS c ON c.run = r.id LIMIT :rows);

-- query prune_runs (run_prune)
DELETE FROM run WHERE id IN
 (SELECT id FROM run WHERE id < :edge
     AND state IN ('succeeded','failed','cancelled','timed_out')
     AND coalesce(ended_at, created_at) < :before ORDER BY id LIMIT :count);

-- query delivery_hold
-- After a restore: pending messages may have been sent since the backup. A user
-- decides, even if the channel is idempotent or can be queried.
UPDATE delivery SET state = 'unknown', is_queued = 0, is_next = 0, needs_review = 1,
       lease_until = NULL,
       detail = 'it waited when the backup was made that this home is restored from'
 WHERE state IN ('pending','sending','unknown');

-- query lease_list -> lease_row
SELECT name, holder, epoch, taken_at, expires_at FROM lease ORDER BY name;

-- query lease_drop (name text, now time)
DELETE FROM lease WHERE name = :name AND expires_at < :now;

-- query newest_row -> (at time)
-- The latest time in the database.
SELECT max(coalesce((SELECT max(at) FROM host_event), 0),
           coalesce((SELECT at FROM audit ORDER BY id DESC LIMIT 1), 0)) AS at;

-- row import_run_row (id text, source text, importer text, state text,
--   backup_path text, sources i64, imported i64, skipped i64, warnings i64,
--   started_at time, ended_at time)

-- query import_run_put (import_run_row)
INSERT INTO import_run (id, source, importer, state, backup_path, sources,
                           imported, skipped, warnings, started_at, ended_at)
VALUES (:id, :source, :importer, :state, :backup_path, :sources, :imported,
        :skipped, :warnings, :started_at, :ended_at)
ON CONFLICT (id) DO UPDATE SET state = excluded.state,
  sources = excluded.sources, imported = excluded.imported,
  skipped = excluded.skipped, warnings = excluded.warnings,
  ended_at = excluded.ended_at;

-- query import_run_known (id text) -> (id text)
SELECT id FROM import_run WHERE id = :id;

-- query import_run_left (id text, source text, now time)
-- Killed imports of the same source, when a new one begins.
UPDATE import_run SET state = 'failed', ended_at = :now
 WHERE state = 'running' AND source = :source AND id <> :id;

-- row import_item_row (path text, target text, mtime_ns i64, bytes i64,
--   sha256 text, run text, importer text, state text, records i64,
--   warning text, removed text, at time)

-- query import_item_get (path text, target text) -> import_item_row
SELECT path, target, mtime_ns, bytes, sha256, run, importer, state, records,
       warning, removed, at
  FROM import_item WHERE path = :path AND target = :target;

-- query import_item_put (import_item_row)
INSERT INTO import_item (path, target, mtime_ns, bytes, sha256, run,
                              importer, state, records, warning, removed, at)
VALUES (:path, :target, :mtime_ns, :bytes, :sha256, :run, :importer, :state,
        :records, :warning, :removed, :at)
ON CONFLICT (path, target) DO UPDATE SET mtime_ns = excluded.mtime_ns,
  bytes = excluded.bytes, sha256 = excluded.sha256, run = excluded.run,
  importer = excluded.importer, state = excluded.state,
  records = excluded.records, warning = excluded.warning,
  removed = excluded.removed, at = excluded.at;

-- query import_item_removed (file text, removed text)
-- All items of a file.
UPDATE import_item SET removed = :removed
 WHERE path = :file OR (path >= :file || '#' AND path < :file || '$');
