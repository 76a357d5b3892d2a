-- Channels, bindings, conversations, users.

-- row channel_row (name text, id text, kind text, is_enabled bool,
--   is_paused bool, is_default bool, state text, pid opt, starts i64,
--   command json, config json, cursor json, delivered i64, failed i64,
--   received i64, last_error text, last_error_at time, held_until time,
--   created_at time, updated_at time)

-- columns channel_columns
name, id, kind, is_enabled, is_paused, is_default, state, pid, starts,
       command, config, cursor, delivered, failed, received, last_error,
       last_error_at, held_until, created_at, updated_at

-- query channel_get (name text) -> channel_row
SELECT {channel_columns}
  FROM channel WHERE name = :name;

-- query channel_get_default -> channel_row
SELECT {channel_columns}
  FROM channel WHERE is_default = 1;

-- query channel_list -> channel_row
SELECT {channel_columns}
  FROM channel ORDER BY name;

-- query channel_put (name text, id text, kind text, is_enabled bool,
--   command json, config json, now time)
INSERT INTO channel (name, id, kind, is_enabled, command, config, is_default,
                     created_at, updated_at)
VALUES (:name, :id, :kind, :is_enabled, :command, :config,
        NOT EXISTS (SELECT 1 FROM channel WHERE is_default = 1), :now, :now)
ON CONFLICT (name) DO UPDATE SET is_enabled = excluded.is_enabled,
  command = excluded.command, config = excluded.config,
  updated_at = excluded.updated_at;

-- query channel_switch (name text, is_enabled opt, is_paused opt, now time)
-- Resuming a channel also ends its pause by the receiver.
UPDATE channel SET is_enabled = coalesce(:is_enabled, is_enabled),
       is_paused = coalesce(:is_paused, is_paused), updated_at = :now,
       held_until = CASE WHEN :is_paused = 0 THEN NULL ELSE held_until END
 WHERE name = :name
   AND (is_enabled <> coalesce(:is_enabled, is_enabled)
     OR is_paused <> coalesce(:is_paused, is_paused)
     OR (:is_paused = 0 AND held_until IS NOT NULL));

-- query channel_hold (name text, until time)
-- The error of a pause ends with the pause.
UPDATE channel SET held_until = :until,
       last_error = CASE WHEN :until IS NULL AND
         last_error LIKE 'the receiver asked for a pause%'
         THEN NULL ELSE last_error END
 WHERE name = :name;

-- query channel_clear_default
UPDATE channel SET is_default = 0 WHERE is_default = 1;

-- query channel_set_default (name text)
UPDATE channel SET is_default = 1 WHERE name = :name;

-- query channel_cursor (name text, cursor json, now time)
UPDATE channel SET cursor = :cursor, updated_at = :now WHERE name = :name;

-- query channel_count (name text, delivered i64, failed i64, received i64)
UPDATE channel SET delivered = delivered + :delivered,
       failed = failed + :failed, received = received + :received
 WHERE name = :name;

-- query channel_set_error (name text, last_error text, now time)
UPDATE channel SET last_error = :last_error, last_error_at = :now WHERE name = :name;

-- query channel_state (name text, state text, pid opt, started bool)
UPDATE channel SET state = :state, pid = :pid, starts = starts + :started
 WHERE name = :name AND state IS NOT 'deleting';

-- query channel_forget_states
-- The states that a former skepd recorded.
UPDATE channel SET state = NULL, pid = NULL
 WHERE state IS NOT NULL AND state <> 'deleting';

-- query channel_mark_deleting (name text, now time)
UPDATE channel SET is_enabled = 0, is_default = 0, state = 'deleting',
       pid = NULL, updated_at = :now WHERE name = :name;

-- query channel_deleting -> (name text)
SELECT name FROM channel WHERE state = 'deleting' LIMIT 1;

-- query conversation_first (channel text) -> (id text, address json)
SELECT id, json_object('peer', peer, 'thread', thread, 'kind', kind) AS address
  FROM conversation WHERE channel = :channel LIMIT 1;

-- query conversation_delete (id text)
DELETE FROM conversation WHERE id = :id;

-- query channel_delete (name text)
DELETE FROM channel WHERE name = :name;

-- row binding_row (channel text, peer text, kind text, agent text,
--   session text, session_per text, created_at time)

-- query binding_put (channel text, peer text, kind text, agent text,
--   session text, session_per text, now time)
INSERT INTO binding (channel, peer, kind, agent, session, session_per, created_at)
VALUES (:channel, :peer, :kind, :agent, :session, :session_per, :now)
ON CONFLICT (channel, peer, kind) DO UPDATE SET agent = excluded.agent,
  session = excluded.session, session_per = excluded.session_per;

-- query binding_find (channel text, peer text, kind text) -> binding_row
-- The most specific match: this peer before any, this kind before any.
SELECT channel, peer, kind, agent, session, session_per, created_at FROM binding
 WHERE channel = :channel AND peer IN (:peer, '*') AND kind IN (:kind, 'any')
 ORDER BY peer = '*', kind = 'any' LIMIT 1;

-- query binding_list (channel text) -> binding_row
SELECT channel, peer, kind, agent, session, session_per, created_at FROM binding
 WHERE channel = :channel ORDER BY peer, kind;

-- query binding_of_agent (agent text) -> binding_row
SELECT channel, peer, kind, agent, session, session_per, created_at FROM binding
 WHERE agent = :agent ORDER BY channel, peer, kind;

-- query binding_delete (channel text, peer text, kind text)
DELETE FROM binding WHERE channel = :channel AND peer = :peer AND kind = :kind;

-- row conversation_row (id text, channel text, peer text, thread text,
--   kind text, title text, agent text, session text, last_message_at time,
--   last_inbound_at time, messages i64, created_at time)

-- query conversation_get (id text) -> conversation_row
SELECT id, channel, peer, thread, kind, title, agent, session, last_message_at,
       last_inbound_at, messages, created_at
  FROM conversation WHERE id = :id;

-- query conversation_find (channel text, peer text,
--   thread text) -> conversation_row
SELECT id, channel, peer, thread, kind, title, agent, session, last_message_at,
       last_inbound_at, messages, created_at
  FROM conversation
 WHERE channel = :channel AND peer = :peer AND thread = :thread;

-- query conversation_route (agent text, session text) -> conversation_row
SELECT id, channel, peer, thread, kind, title, agent, session, last_message_at,
       last_inbound_at, messages, created_at
  FROM conversation
 WHERE agent = :agent AND session = :session AND last_inbound_at > 0
 ORDER BY last_inbound_at DESC LIMIT 1;

-- row conversation_filter (channel text, before i64, before_id text, count i64)
-- The most recently used first; several may have the same time.
-- query conversation_ids (conversation_filter) -> (id text)
SELECT id FROM conversation INDEXED BY conversation_activity
 WHERE (last_message_at, id) < (:before, :before_id)
 ORDER BY last_message_at DESC, id DESC LIMIT :count;

-- query conversation_ids_channel (conversation_filter) -> (id text)
SELECT id FROM conversation INDEXED BY conversation_channel
 WHERE channel = :channel AND (last_message_at, id) < (:before, :before_id)
 ORDER BY last_message_at DESC, id DESC LIMIT :count;

-- query conversation_add (id text, channel text, peer text, thread text,
--   kind text, title text, agent text, session text, now time)
INSERT INTO conversation (id, channel, peer, thread, kind, title, agent,
                          session, last_message_at, created_at)
VALUES (:id, :channel, :peer, :thread, :kind, :title, :agent, :session, :now,
        :now);

-- query conversation_touch (id text, inbound bool, now time)
UPDATE conversation SET last_message_at = max(last_message_at, :now),
  last_inbound_at = CASE WHEN :inbound THEN max(last_inbound_at, :now)
                         ELSE last_inbound_at END,
  messages = messages + 1
 WHERE id = :id;

-- query conversation_bind (id text, agent text, session text)
UPDATE conversation SET agent = :agent, session = :session WHERE id = :id;

-- query conversation_rebind (channel text, peer text, kind text, agent text,
--   session text, is_threaded bool)
-- Existing conversations of a peer.
UPDATE conversation SET agent = :agent,
  session = coalesce(:session, session, channel || '/' || id)
 WHERE channel = :channel AND peer = :peer AND :kind IN ('any', kind)
   AND (thread <> '') = :is_threaded;

-- query user_add (id text, name text, role text, now time)
INSERT INTO user (id, name, role, created_at)
VALUES (:id, :name, :role, :now);

-- query user_count -> (n i64)
SELECT count(*) AS n FROM user;
