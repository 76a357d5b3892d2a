-- Settings, leases, the supervisor's lock, the audit log.

-- query kv_get (scope text, key text, now time) -> (value text)
SELECT value FROM kv WHERE scope = :scope AND key = :key
   AND (expires_at IS NULL OR expires_at > :now);

-- query kv_put (scope text, key text, value text, expires_at time, now time)
INSERT INTO kv (scope, key, value, expires_at, updated_at)
VALUES (:scope, :key, :value, :expires_at, :now)
ON CONFLICT (scope, key) DO UPDATE SET value = excluded.value,
  expires_at = excluded.expires_at, updated_at = excluded.updated_at;

-- query kv_delete (scope text, key text)
DELETE FROM kv WHERE scope = :scope AND key = :key;

-- query kv_gc (now time, count i64)
DELETE FROM kv WHERE (scope, key) IN
 (SELECT scope, key FROM kv WHERE expires_at IS NOT NULL AND expires_at <= :now
   LIMIT :count);

-- row lease_row (name text, holder text, epoch i64, taken_at time, expires_at time)

-- row supervisor_row (pid i64, start_ticks i64, boot_id text, program text,
--   epoch i64, since time)

-- query supervisor_get -> supervisor_row
SELECT pid, start_ticks, boot_id, program, epoch, since FROM supervisor;

-- query supervisor_put (supervisor_row)
INSERT INTO supervisor (id, pid, start_ticks, boot_id, program, epoch, since)
VALUES (1, :pid, :start_ticks, :boot_id, :program, :epoch, :since)
ON CONFLICT (id) DO UPDATE SET pid = excluded.pid,
  start_ticks = excluded.start_ticks, boot_id = excluded.boot_id,
  program = excluded.program, epoch = excluded.epoch, since = excluded.since;

-- query supervisor_clear (pid i64, start_ticks i64)
-- Keeps the row, and with it the epoch; pid 0 means that no supervisor runs.
UPDATE supervisor SET pid = 0 WHERE pid = :pid AND start_ticks = :start_ticks;

-- row audit_row (id i64, at time, actor text, act text, subject text, detail json)

-- query audit_add (at time, actor text, act text, subject text, detail json)
INSERT INTO audit (at, actor, act, subject, detail)
VALUES (:at, :actor, :act, :subject, :detail);

-- query audit_before (before i64, count i64) -> audit_row
SELECT id, at, actor, act, subject, detail FROM audit
 WHERE id < :before ORDER BY id DESC LIMIT :count;

-- query audit_after (after i64, count i64) -> audit_row
SELECT id, at, actor, act, subject, detail FROM audit
 WHERE id > :after ORDER BY id LIMIT :count;
