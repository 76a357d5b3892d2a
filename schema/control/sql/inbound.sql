-- Inbound messages, and attachments in both directions.

-- row inbound_row (id text, channel text, external_id text,
--   conversation text, sender text, kind text, body json, state text,
--   reason text, detail text, run text, received_at time)

-- query inbound_answers (id text) -> (id text, state text)
SELECT d.id, d.state
  FROM inbound i JOIN delivery d ON d.conversation = i.conversation
 WHERE i.id = :id AND d.conversation IS NOT NULL AND d.reply_to = i.external_id
 ORDER BY d.seq;

-- query inbound_get (id text) -> inbound_row
SELECT id, channel, external_id, conversation, sender, kind, body, state,
       reason, detail, run, received_at
  FROM inbound WHERE id = :id;

-- query inbound_done (run text)
-- The run that the message started has ended.
UPDATE inbound INDEXED BY inbound_run SET state = 'done'
 WHERE run IS NOT NULL AND run = :run AND state = 'queued';

-- query inbound_prefix (id_range) -> found_id
SELECT id, channel || ', ' || state AS label FROM inbound
 WHERE id >= :low AND id < :high ORDER BY id DESC LIMIT 6 OFFSET :skip;

-- query inbound_find (channel text, external_id text) -> inbound_row
SELECT id, channel, external_id, conversation, sender, kind, body, state,
       reason, detail, run, received_at
  FROM inbound WHERE channel = :channel AND external_id = :external_id;

-- row inbound_filter (before text, channel text, state text,
--   conversation text, count i64)
-- query inbound_ids (inbound_filter) -> (id text)
SELECT id FROM inbound WHERE id < :before ORDER BY id DESC LIMIT :count;

-- query inbound_ids_channel (inbound_filter) -> (id text)
SELECT id FROM inbound INDEXED BY inbound_channel
 WHERE channel = :channel
   AND id < :before ORDER BY id DESC LIMIT :count;

-- query inbound_ids_state (inbound_filter) -> (id text)
SELECT id FROM inbound INDEXED BY inbound_state
 WHERE state = :state
   AND id < :before ORDER BY id DESC LIMIT :count;

-- query inbound_ids_channel_state (inbound_filter) -> (id text)
SELECT id FROM inbound INDEXED BY inbound_channel_state
 WHERE channel = :channel AND state = :state
   AND id < :before ORDER BY id DESC LIMIT :count;

-- query inbound_ids_conversation (inbound_filter) -> (id text)
SELECT id FROM inbound INDEXED BY inbound_conversation
 WHERE conversation IS NOT NULL AND conversation = :conversation
   AND id < :before ORDER BY id DESC LIMIT :count;

-- query inbound_add (inbound_row)
INSERT INTO inbound (id, channel, external_id, conversation, sender, kind,
                     body, state, reason, detail, run, received_at)
VALUES (:id, :channel, :external_id, :conversation, :sender, :kind, :body,
        :state, :reason, :detail, :run, :received_at);

-- query inbound_set (id text, state text, reason text, detail text, run text,
--   conversation text)
UPDATE inbound SET state = :state, reason = :reason, detail = :detail,
       run = coalesce(:run, run),
       conversation = coalesce(:conversation, conversation)
 WHERE id = :id;

-- query host_event_inbound (at time, id text, agent text, channel text,
--   state text, run text, reason text)
INSERT INTO host_event (at, kind, subject, agent, body)
VALUES (:at, 'inbound', :id, :agent,
  json_object('state', :state, 'channel', :channel, 'run', :run,
              'reason', :reason));

-- query inbound_remove (channel text, count i64)
DELETE FROM inbound WHERE id IN
 (SELECT id FROM inbound WHERE channel = :channel LIMIT :count);

-- query host_event_channel (at time, name text, what text, detail text)
INSERT INTO host_event (at, kind, subject, agent, body)
VALUES (:at, 'channel', :name, NULL,
  json_object('what', :what, 'detail', :detail));

-- row media_row (id text, sha256 text, mime text, size i64, created_at time)

-- query media_by_hash (sha256 text) -> media_row
SELECT id, sha256, mime, size, created_at FROM media WHERE sha256 = :sha256;

-- query media_get (id text) -> media_row
SELECT id, sha256, mime, size, created_at FROM media WHERE id = :id;

-- query media_bytes (id text) -> (bytes blob)
SELECT bytes FROM media WHERE id = :id;

-- query media_add (id text, sha256 text, mime text, size i64, bytes blob,
--   now time)
INSERT INTO media (id, sha256, mime, size, bytes, created_at)
VALUES (:id, :sha256, :mime, :size, :bytes, :now);

-- query media_use_next (after text, count i64) -> (last text)
-- The last of the next so many uses; NULL: none.
SELECT max(owner) AS last FROM
 (SELECT owner FROM media_use WHERE owner > :after ORDER BY owner LIMIT :count);

-- query media_use_gc (after text, last text)
-- Uses by messages and runs that were deleted.
DELETE FROM media_use WHERE owner > :after AND owner <= :last
   AND NOT EXISTS (SELECT 1 FROM inbound WHERE id = media_use.owner)
   AND NOT EXISTS (SELECT 1 FROM run WHERE id = media_use.owner)
   AND NOT EXISTS (SELECT 1 FROM delivery WHERE id = media_use.owner);

-- query media_next (after text, count i64) -> (last text)
SELECT max(id) AS last FROM
 (SELECT id FROM media WHERE id > :after ORDER BY id LIMIT :count);

-- query media_gc (after text, last text)
-- Attachments that no message uses.
DELETE FROM media WHERE id > :after AND id <= :last
   AND NOT EXISTS (SELECT 1 FROM media_use WHERE media = media.id);

-- query media_after (id text) -> (id text, sha256 text, bytes blob)
-- One at a time, to be examined.
SELECT id, sha256, bytes FROM media WHERE id > :id ORDER BY id LIMIT 1;

-- query media_total -> (bytes i64)
SELECT coalesce(sum(size), 0) AS bytes FROM media INDEXED BY media_size;

-- query media_in_use -> (owner text)
-- Messages whose attachments an active run uses, also a retried one; and runs
-- with their own attachments.
SELECT DISTINCT u.owner FROM run r
  JOIN run_input i ON i.run = r.id
  JOIN media_use u ON u.owner = coalesce(json_extract(i.options, '$.media'), r.id)
 WHERE r.state IN ('starting','running','paused','stopping','ending');

-- query media_use_add (owner text, idx i64, media text, name text)
INSERT INTO media_use (owner, idx, media, name)
VALUES (:owner, :idx, :media, :name)
ON CONFLICT (owner, idx) DO UPDATE SET media = excluded.media,
  name = excluded.name;

-- query media_use_copy (owner text, made text)
-- A message that is sent again has the same attachments.
INSERT INTO media_use (owner, idx, media, name)
SELECT :made, idx, media, name FROM media_use WHERE owner = :owner;

-- row media_use_row (owner text, idx i64, media text, name text, mime text,
--   size i64, sha256 text)

-- query media_use_list (owner text) -> media_use_row
SELECT u.owner, u.idx, u.media, u.name, m.mime, m.size, m.sha256
  FROM media_use u JOIN media m ON m.id = u.media
 WHERE u.owner = :owner ORDER BY u.idx;

-- query history_after (text text) -> (at time)
-- A time in ISO 8601; NULL: it is invalid.
SELECT CAST(round((julianday(:text) - 2440587.5) * 86400000.0) AS INTEGER)
       AS at;

-- row history_filter (channel text, peer text, after time, count i64)
-- row history_row (id text, sender text, role text, body json, at time)
-- query conversation_history (history_filter) -> history_row
-- Both directions, newest first. Each conversation of the peer yields at most
-- count rows per direction, from an index.
SELECT id, sender, role, body, at FROM
 (SELECT i.external_id AS id, i.sender, 'user' AS role, i.body,
         i.received_at AS at
    FROM conversation c CROSS JOIN inbound i
   WHERE c.channel = :channel AND c.peer = :peer AND i.id IN
    (SELECT x.id FROM inbound x INDEXED BY inbound_conversation_at
      WHERE x.conversation = c.id AND x.conversation IS NOT NULL
        AND x.kind = 'message'
      ORDER BY x.received_at DESC LIMIT :count)
  UNION ALL
  SELECT d.id, 'agent:' || coalesce(d.agent, ''), 'assistant', d.body,
         d.created_at
    FROM conversation c CROSS JOIN delivery d
   WHERE c.channel = :channel AND c.peer = :peer AND d.seq IN
    (SELECT x.seq FROM delivery x INDEXED BY delivery_conversation_at
      WHERE x.conversation = c.id AND x.conversation IS NOT NULL
        AND x.agent IS NOT NULL
      ORDER BY x.created_at DESC LIMIT :count))
 ORDER BY at DESC, id DESC LIMIT :count;

-- query conversation_history_after (history_filter) -> history_row
-- The same after a time, oldest first.
SELECT id, sender, role, body, at FROM
 (SELECT i.external_id AS id, i.sender, 'user' AS role, i.body,
         i.received_at AS at
    FROM conversation c CROSS JOIN inbound i
   WHERE c.channel = :channel AND c.peer = :peer AND i.id IN
    (SELECT x.id FROM inbound x INDEXED BY inbound_conversation_at
      WHERE x.conversation = c.id AND x.conversation IS NOT NULL
        AND x.kind = 'message'
        AND x.received_at > :after
      ORDER BY x.received_at LIMIT :count)
  UNION ALL
  SELECT d.id, 'agent:' || coalesce(d.agent, ''), 'assistant', d.body,
         d.created_at
    FROM conversation c CROSS JOIN delivery d
   WHERE c.channel = :channel AND c.peer = :peer AND d.seq IN
    (SELECT x.seq FROM delivery x INDEXED BY delivery_conversation_at
      WHERE x.conversation = c.id AND x.conversation IS NOT NULL
        AND x.agent IS NOT NULL
        AND x.created_at > :after
      ORDER BY x.created_at LIMIT :count))
 ORDER BY at, id LIMIT :count;

-- query retention_inbound (after text, count i64) -> (id text, is_dead bool,
--   received_at time)
-- Oldest first.
SELECT id, state = 'dead' AS is_dead, received_at FROM inbound
 WHERE id > :after ORDER BY id LIMIT :count;

-- query retention_inbound_delete (id text)
-- A message whose run has not ended still has the address of the answer.
DELETE FROM inbound WHERE id = :id
   AND NOT EXISTS (SELECT 1 FROM run r WHERE r.id = inbound.run AND
     r.state NOT IN ('succeeded','failed','cancelled','timed_out'));

-- query media_use_delete (owner text)
DELETE FROM media_use WHERE owner = :owner;

-- query media_delete_unused (id text)
DELETE FROM media WHERE id = :id
   AND NOT EXISTS (SELECT 1 FROM media_use WHERE media = :id);
