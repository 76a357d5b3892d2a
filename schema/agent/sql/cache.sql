-- Cache with expiry, and diagnostics.

-- query cache_put (scope text, key text, value blob, now time, expires_at time)
INSERT INTO cache (scope, key, value, created_at, expires_at)
VALUES (:scope, :key, :value, :now, :expires_at)
ON CONFLICT (scope, key) DO UPDATE SET value = excluded.value,
  created_at = excluded.created_at, expires_at = excluded.expires_at;

-- query cache_get (scope text, key text, now time) -> (value blob)
SELECT value FROM cache WHERE scope = :scope AND key = :key
   AND (expires_at IS NULL OR expires_at > :now);

-- query cache_delete (scope text, key text)
DELETE FROM cache WHERE scope = :scope AND key = :key;

-- query cache_clear (scope text)
DELETE FROM cache WHERE scope = :scope;

-- query cache_sweep (now time, count i64)
DELETE FROM cache WHERE id IN
 (SELECT id FROM cache WHERE expires_at IS NOT NULL AND expires_at <= :now
   LIMIT :count);

-- query diagnostic_limit_get -> (rows i64)
SELECT value AS rows FROM meta WHERE key = 'diagnostics';

-- query diagnostic_limit_put (rows i64)
INSERT INTO meta (key, value) VALUES ('diagnostics', :rows)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- query diagnostic_add (at time, area text, subject text, is_cut bool, body text)
INSERT INTO diagnostic (at, area, subject, is_cut, body)
VALUES (:at, :area, :subject, :is_cut, :body);

-- query diagnostic_trim (rows i64)
DELETE FROM diagnostic WHERE id <= (SELECT max(id) FROM diagnostic) - :rows;

-- query diagnostic_list (area text, after i64, count i64) -> (id i64, at time,
--   area text, subject text, is_cut bool, body text)
SELECT id, at, area, subject, is_cut, body FROM diagnostic
 WHERE id > :after AND (:area IS NULL OR area = :area)
 ORDER BY id LIMIT :count;
