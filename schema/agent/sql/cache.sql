-- Cache with expiry, and diagnostics.

-- query cache_gc (now time, count i64)
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
