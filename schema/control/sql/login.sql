-- Logins of browsers to the dashboard.

-- row login_row (id text, name text, hash text, is_open bool, scopes json,
--   token text, browser text, lifetime_ms i64, created_at time,
--   opened_at time, expires_at time)

-- query login_put (login_row)
INSERT INTO login (id, name, hash, is_open, scopes, token, browser, lifetime_ms,
  created_at, opened_at, expires_at)
VALUES (:id, :name, :hash, :is_open, :scopes, :token, :browser, :lifetime_ms,
  :created_at, :opened_at, :expires_at);

-- query login_by_hash (hash text, is_open bool, now time) -> login_row
SELECT id, name, hash, is_open, scopes, token, browser, lifetime_ms, created_at,
  opened_at, expires_at
  FROM login WHERE hash = :hash AND is_open = :is_open AND expires_at > :now;

-- query login_open (id text, hash text, browser text, now time)
-- Exchanges the code for the cookie.
UPDATE login SET hash = :hash, is_open = 1, browser = :browser, opened_at = :now,
  expires_at = :now + lifetime_ms
 WHERE id = :id AND is_open = 0;

-- row login_item (id text, name text, is_open bool, scopes json, browser text,
--   created_at time, opened_at time, expires_at time)

-- query login_list (now time) -> login_item
SELECT id, name, is_open, scopes, browser, created_at, opened_at, expires_at
  FROM login WHERE expires_at > :now ORDER BY id;

-- query login_get (id text) -> login_item
SELECT id, name, is_open, scopes, browser, created_at, opened_at, expires_at
  FROM login WHERE id = :id;

-- query login_delete (id text)
DELETE FROM login WHERE id = :id;

-- query login_trim (now time, keep i64)
-- Deletes expired logins, and the oldest ones so that few are left.
DELETE FROM login WHERE expires_at <= :now
  OR id NOT IN (SELECT id FROM login ORDER BY id DESC LIMIT :keep);
