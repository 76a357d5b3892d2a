-- The host log, tokens, planned restarts.

-- row host_event_row (seq i64, at time, kind text, subject text, agent text,
--   body json)

-- query host_event_add (at time, kind text, subject text, agent text, body json)
INSERT INTO host_event (at, kind, subject, agent, body)
VALUES (:at, :kind, :subject, :agent, :body);

-- query host_event_run (at time, run text, agent text, session text,
--   from_state text, to_state text, reason text, attempt i64)
INSERT INTO host_event (at, kind, subject, agent, body)
VALUES (:at, 'run', :run, :agent,
  json_object('state', :to_state, 'from', :from_state, 'reason', :reason,
              'attempt', :attempt, 'session', :session));

-- query host_event_list (after i64, count i64) -> host_event_row
SELECT seq, at, kind, subject, agent, body FROM host_event
 WHERE seq > :after ORDER BY seq LIMIT :count;

-- query host_event_states (after i64, count i64) -> (seq i64, kind text, state text)
-- States only, for counters.
SELECT seq, kind, body ->> 'state' AS state FROM host_event
 WHERE seq > :after ORDER BY seq LIMIT :count;

-- query host_event_bounds -> (first i64, last i64)
SELECT coalesce((SELECT seq FROM host_event ORDER BY seq LIMIT 1), 0) AS first,
  coalesce((SELECT max(seq) FROM host_event), 0) AS last;

-- query host_event_trim (keep i64, count i64)
-- Never the newest: the next number follows from it.
DELETE FROM host_event WHERE seq IN
 (SELECT seq FROM host_event
   WHERE seq <= (SELECT max(seq) FROM host_event) - max(:keep, 1)
   ORDER BY seq LIMIT :count);

-- row api_token_row (id text, name text, hash text, scopes json,
--   created_at time, expires_at time)

-- query api_token_put (api_token_row)
INSERT INTO api_token (id, name, hash, scopes, created_at, expires_at)
VALUES (:id, :name, :hash, :scopes, :created_at, :expires_at);

-- query api_token_find (hash text, now time) -> api_token_row
SELECT id, name, hash, scopes, created_at, expires_at FROM api_token
 WHERE hash = :hash AND (expires_at IS NULL OR expires_at > :now);

-- row api_token_item (id text, name text, scopes json, created_at time,
--   expires_at time)

-- query api_token_list -> api_token_item
SELECT id, name, scopes, created_at, expires_at FROM api_token ORDER BY id;

-- query api_token_delete (name text)
DELETE FROM api_token WHERE name = :name;

-- query shutdown_intent_put (intent text, by text, at time, active i64)
INSERT INTO shutdown_intent (id, intent, by, at, active) VALUES (1, :intent, :by, :at, :active)
ON CONFLICT (id) DO UPDATE SET intent = excluded.intent, by = excluded.by,
  at = excluded.at, active = excluded.active;

-- query shutdown_intent_get -> (intent text, by text, at time, active i64)
SELECT intent, by, at, active FROM shutdown_intent WHERE id = 1;

-- query shutdown_intent_clear
DELETE FROM shutdown_intent;

-- query api_token_named (name text) -> (n i64)
SELECT count(*) AS n FROM api_token WHERE name = :name;
