-- Deliveries: the durable queue of outgoing messages.

-- row delivery_row (seq i64, id text, channel text, conversation text,
--   ordering_key text, is_queued bool, is_next bool, needs_review bool, state text,
--   source_key text, agent text, session text, reply_to text, body json, attempts i64,
--   attempt_id text, lease_until time, due_at time, expires_at time, remote_status opt, detail text,
--   remote_id text, resend_of text, created_at time, sent_at time, done_at time)

-- columns delivery_columns
seq, id, channel, conversation, ordering_key, is_queued, is_next, needs_review, state,
       source_key, agent, session, reply_to, body, attempts, attempt_id, lease_until,
       due_at, expires_at, remote_status, detail, remote_id, resend_of, created_at, sent_at,
       done_at

-- query delivery_get (id text) -> delivery_row
SELECT {delivery_columns}
  FROM delivery WHERE id = :id;

-- query delivery_prefix (id_range) -> found_id
SELECT id, channel || ', ' || state AS label FROM delivery
 WHERE id >= :low AND id < :high ORDER BY id DESC LIMIT 6 OFFSET :skip;

-- query delivery_seq (id text) -> (seq i64)
SELECT seq FROM delivery WHERE id = :id;

-- query delivery_by_source_key (source_key text) -> (id text, channel text,
--   conversation text, body json)
SELECT id, channel, conversation, body FROM delivery WHERE source_key = :source_key;

-- row delivery_filter (sources json, before i64, channel text, state text,
--   conversation text, agent text, session text, count i64)
-- Newest first, as for runs: each set of filters reads ids from its index.
-- query delivery_ids (delivery_filter) -> (id text)
SELECT id FROM delivery WHERE seq < :before ORDER BY seq DESC LIMIT :count;

-- query delivery_ids_channel (delivery_filter) -> (id text)
SELECT id FROM delivery INDEXED BY delivery_channel
 WHERE channel = :channel
   AND seq < :before ORDER BY seq DESC LIMIT :count;

-- query delivery_ids_conversation (delivery_filter) -> (id text)
SELECT id FROM delivery INDEXED BY delivery_conversation
 WHERE conversation IS NOT NULL AND conversation = :conversation
   AND seq < :before ORDER BY seq DESC LIMIT :count;

-- query delivery_ids_agent (delivery_filter) -> (id text)
SELECT id FROM delivery INDEXED BY delivery_agent
 WHERE agent IS NOT NULL AND agent = :agent
   AND seq < :before ORDER BY seq DESC LIMIT :count;

-- query delivery_ids_session (delivery_filter) -> (id text)
SELECT id FROM delivery INDEXED BY delivery_session
 WHERE agent IS NOT NULL AND agent = :agent AND session = :session
   AND seq < :before ORDER BY seq DESC LIMIT :count;

-- query delivery_ids_done (delivery_filter) -> (id text)
SELECT id FROM delivery INDEXED BY delivery_done
 WHERE done_at IS NOT NULL AND state = :state
   AND seq < :before ORDER BY seq DESC LIMIT :count;

-- query delivery_ids_channel_done (delivery_filter) -> (id text)
SELECT id FROM delivery INDEXED BY delivery_channel_done
 WHERE done_at IS NOT NULL AND channel = :channel AND state = :state
   AND seq < :before ORDER BY seq DESC LIMIT :count;

-- query delivery_ids_session_done (delivery_filter) -> (id text)
SELECT id FROM delivery INDEXED BY delivery_session_done
 WHERE done_at IS NOT NULL AND agent = :agent AND session = :session
   AND state = :state
   AND seq < :before ORDER BY seq DESC LIMIT :count;

-- query delivery_ids_open (delivery_filter) -> (id text)
-- Unfinished ones: the backlog, not the history.
SELECT id FROM delivery INDEXED BY delivery_open
 WHERE done_at IS NULL AND state = :state
   AND (:channel IS NULL OR channel = :channel)
   AND (:agent IS NULL OR agent = :agent)
   AND (:session IS NULL OR session = :session)
   AND seq < :before ORDER BY seq DESC LIMIT :count;

-- query delivery_ids_run (delivery_filter) -> (id text)
-- Those of these outbox rows, with any other filter.
SELECT d.id
  FROM json_each(:sources) j CROSS JOIN delivery d ON d.source_key = j.value
 WHERE d.source_key IS NOT NULL AND d.seq < :before
   AND (:channel IS NULL OR d.channel = :channel)
   AND (:state IS NULL OR d.state = :state)
   AND (:conversation IS NULL OR d.conversation = :conversation)
   AND (:agent IS NULL OR d.agent = :agent)
   AND (:session IS NULL OR d.session = :session)
 ORDER BY d.seq DESC LIMIT :count;

-- query delivery_briefs (sources json) -> (items json)
SELECT json_group_array(json_object('id', id, 'channel', channel, 'state', state))
       AS items
  FROM (SELECT d.id, d.channel, d.state
          FROM json_each(:sources) j CROSS JOIN delivery d ON d.source_key = j.value
         WHERE d.source_key IS NOT NULL ORDER BY d.seq DESC);

-- query delivery_insert (id text, channel text, conversation text, ordering_key text,
--   source_key text, agent text, session text, reply_to text, body json,
--   resend_of text, expires_at time, now time)
-- Changes no row if the source key is known. It becomes the next one of its
-- ordering key, unless there is one.
INSERT INTO delivery (id, channel, conversation, ordering_key, is_queued, is_next, state,
  source_key, agent, session, reply_to, body, due_at, expires_at, resend_of,
  created_at)
VALUES (:id, :channel, :conversation, :ordering_key, 1,
  :ordering_key IS NULL OR NOT EXISTS (SELECT 1 FROM delivery
     WHERE ordering_key = :ordering_key AND is_queued = 1 AND ordering_key IS NOT NULL),
  'pending', :source_key, :agent, :session, :reply_to, :body, :now, :expires_at,
  :resend_of, :now)
ON CONFLICT (source_key) WHERE source_key IS NOT NULL DO NOTHING;

-- row delivery_claim_row (seq i64, id text, conversation text, ordering_key text,
--   agent text, session text, reply_to text, body json, attempts i64,
--   expires_at time, created_at time, peer text, thread text, peer_kind text)

-- columns delivery_claim_columns
d.seq, d.id, d.conversation, d.ordering_key, d.agent, d.session, d.reply_to,
       d.body, d.attempts, d.expires_at, d.created_at, c.peer, c.thread,
       c.kind AS peer_kind

-- query delivery_ready (channel text, now time,
--   count i64) -> delivery_claim_row
SELECT {delivery_claim_columns}
  FROM delivery d LEFT JOIN conversation c ON c.id = d.conversation
 WHERE d.channel = :channel AND d.state = 'pending' AND d.is_next = 1
   AND d.due_at <= :now
 ORDER BY d.due_at, d.seq LIMIT :count;

-- query delivery_ready_to (channel text, conversation text, now time,
--   count i64) -> delivery_claim_row
-- The same for one conversation.
SELECT {delivery_claim_columns}
  FROM delivery d JOIN conversation c ON c.id = d.conversation
 WHERE d.ordering_key = :conversation AND d.conversation = :conversation
   AND d.channel = :channel AND d.ordering_key IS NOT NULL AND d.is_queued = 1
   AND d.state = 'pending' AND d.is_next = 1 AND d.due_at <= :now
 ORDER BY d.seq LIMIT :count;

-- query delivery_order_by_conversation (channel text)
-- For a channel whose clients poll by conversation: deliveries with another
-- order, which no request would return, get the conversation as their key.
UPDATE delivery SET ordering_key = conversation,
       is_next = max(is_next, state = 'pending')
 WHERE seq IN (
   SELECT seq FROM delivery INDEXED BY delivery_ready
    WHERE channel = :channel AND state = 'pending' AND is_next = 1
   UNION ALL
   SELECT seq FROM delivery
    WHERE ordering_key = :channel AND is_queued = 1 AND ordering_key IS NOT NULL
   UNION ALL
   SELECT seq FROM delivery WHERE lease_until IS NOT NULL
   UNION ALL
   SELECT seq FROM delivery
    WHERE (state = 'unknown' OR state = 'dead') AND channel = :channel)
   AND channel = :channel AND conversation IS NOT NULL
   AND ordering_key IS NOT conversation;

-- query delivery_next_due (channel text) -> (due_at time)
SELECT due_at FROM delivery
 WHERE channel = :channel AND state = 'pending' AND is_next = 1
 ORDER BY due_at LIMIT 1;

-- query delivery_claim (seq i64, attempt_id text, epoch i64,
--   lease_until time, now time)
UPDATE delivery SET state = 'sending', attempts = attempts + 1,
       attempt_id = :attempt_id, epoch = :epoch, lease_until = :lease_until,
       sent_at = :now
 WHERE seq = :seq AND state = 'pending';

-- query delivery_move (seq i64, from_state text, to_state text,
--   attempt_id text, due_at time, is_queued bool, is_next bool, remote_status opt,
--   detail text, remote_id text, done_at time)
-- Compare and set. attempt_id NULL: any attempt.
UPDATE delivery SET state = :to_state, due_at = coalesce(:due_at, due_at),
       is_queued = :is_queued, is_next = :is_next, needs_review = 0, lease_until = NULL,
       remote_status = :remote_status, detail = :detail, remote_id = coalesce(:remote_id, remote_id),
       done_at = :done_at
 WHERE seq = :seq AND state = :from_state
   AND (:attempt_id IS NULL OR attempt_id = :attempt_id);

-- query delivery_renew (seq i64)
-- An operator retries it: attempts count from the start.
UPDATE delivery SET attempts = 0, expires_at = NULL WHERE seq = :seq;

-- query delivery_conversation_next (conversation text, after i64,
--   count i64) -> (n i64, last i64)
-- The number of deliveries among the next so many of a conversation, and the
-- last one.
SELECT count(*) AS n, coalesce(max(seq), 0) AS last FROM
 (SELECT seq FROM delivery
   WHERE conversation = :conversation AND conversation IS NOT NULL
     AND seq > :after ORDER BY seq LIMIT :count);

-- query delivery_keep_address (conversation text, address json, after i64,
--   last i64)
-- Conversations are deleted with their channel. The address is kept, also of
-- delivered messages, which may be sent again.
UPDATE delivery SET conversation = :address
 WHERE conversation = :conversation AND conversation IS NOT NULL
   AND seq > :after AND seq <= :last;

-- query delivery_readdress (seq i64, conversation text, ordering_key text)
UPDATE delivery SET conversation = :conversation, ordering_key = :ordering_key
 WHERE seq = :seq AND is_queued = 0;

-- query delivery_position (seq i64) -> (is_queued bool, is_next bool)
SELECT is_queued, is_next FROM delivery WHERE seq = :seq;

-- row delivery_left_row (seq i64, id text, ordering_key text, agent text, attempts i64,
--   was_next bool)

-- query delivery_left_first (channel text, count i64) -> delivery_left_row
-- Deliveries of a deleted channel: the next one of each ordering key …
SELECT seq, id, ordering_key, agent, attempts, is_next AS was_next
  FROM delivery INDEXED BY delivery_ready
 WHERE channel = :channel AND state = 'pending' AND is_next = 1 LIMIT :count;

-- query delivery_left_behind (ordering_key text, channel text,
--   count i64) -> delivery_left_row
-- … the ones behind it …
SELECT seq, id, ordering_key, agent, attempts, is_next AS was_next
  FROM delivery INDEXED BY delivery_order
 WHERE ordering_key = :ordering_key AND is_queued = 1 AND ordering_key IS NOT NULL
   AND channel = :channel AND state = 'pending' AND is_next = 0
 ORDER BY seq LIMIT :count;

-- query delivery_left_sending (channel text, count i64) -> delivery_left_row
-- … the ones in flight …
SELECT seq, id, ordering_key, agent, attempts, is_next AS was_next
  FROM delivery INDEXED BY delivery_sending
 WHERE lease_until IS NOT NULL AND state = 'sending' AND channel = :channel
 LIMIT :count;

-- query delivery_left_unknown (channel text, after i64,
--   count i64) -> delivery_left_row
-- … and unknown ones, of which some may block others.
SELECT seq, id, ordering_key, agent, attempts,
       ordering_key IS NOT NULL AND is_queued = 1 AND is_next = 1 AS was_next
  FROM delivery
 WHERE state = 'unknown' AND channel = :channel AND seq > :after AND needs_review = 0
 ORDER BY seq LIMIT :count;

-- query delivery_left_dead (seq i64, detail text, now time)
UPDATE delivery SET state = 'dead', is_queued = 0, is_next = 0, needs_review = 0,
       lease_until = NULL, detail = :detail, done_at = :now
 WHERE seq = :seq AND state = 'pending';

-- query delivery_left_review (seq i64)
UPDATE delivery SET is_queued = 0, is_next = 0, needs_review = 1
 WHERE seq = :seq AND state = 'unknown';

-- query delivery_key_busy (ordering_key text) -> (n i64)
SELECT count(*) AS n FROM (SELECT 1 FROM delivery
 WHERE ordering_key = :ordering_key AND is_queued = 1 AND ordering_key IS NOT NULL
 LIMIT 1);

-- query delivery_promote (ordering_key text)
-- The next one has left the queue: the first of the others becomes the next
-- one.
UPDATE delivery SET is_next = 1 WHERE seq =
 (SELECT seq FROM delivery
   WHERE ordering_key = :ordering_key AND is_queued = 1 AND ordering_key IS NOT NULL
   ORDER BY seq LIMIT 1);

-- query delivery_lost (epoch i64, count i64) -> delivery_row
-- In flight when a former skepd was running.
SELECT {delivery_columns}
  FROM delivery
 WHERE state = 'sending' AND lease_until IS NOT NULL AND epoch <> :epoch
 ORDER BY lease_until LIMIT :count;

-- query delivery_overdue (now time, count i64) -> delivery_row
-- Expired leases.
SELECT {delivery_columns}
  FROM delivery WHERE state = 'sending' AND lease_until <= :now
 ORDER BY lease_until LIMIT :count;

-- query delivery_too_old (now time, count i64) -> delivery_row
-- Whether they wait for their turn, their time, or their channel.
SELECT {delivery_columns}
  FROM delivery
 WHERE is_queued = 1 AND state = 'pending' AND expires_at IS NOT NULL
   AND expires_at <= :now
 ORDER BY expires_at LIMIT :count;

-- query delivery_orphan (count i64) -> delivery_row
-- Deliveries for a channel that does not exist. The names of channels are found
-- by skipping over the index, so it costs little if there are none.
WITH RECURSIVE waiting (name) AS (
  SELECT min(channel) FROM delivery WHERE state = 'pending' AND is_next = 1
  UNION ALL
  SELECT (SELECT min(channel) FROM delivery
           WHERE state = 'pending' AND is_next = 1 AND channel > name)
    FROM waiting WHERE name IS NOT NULL)
SELECT {delivery_columns}
  FROM delivery INDEXED BY delivery_ready
 WHERE state = 'pending' AND is_next = 1
   AND channel IN (SELECT name FROM waiting WHERE name IS NOT NULL
                   EXCEPT SELECT name FROM channel)
 LIMIT :count;

-- query delivery_unknown (after i64, channel text, count i64) -> delivery_row
-- Those that need a review wait for a user.
SELECT {delivery_columns}
  FROM delivery
 WHERE state = 'unknown' AND channel = :channel AND seq > :after AND needs_review = 0
 ORDER BY seq LIMIT :count;

-- row delivery_attempt_row (id text, delivery i64, n i64, outcome text,
--   remote_status opt, detail text, started_at time, ended_at time)

-- query delivery_attempt_add (id text, delivery i64, n i64, outcome text,
--   remote_status opt, detail text, started_at time, ended_at time)
INSERT INTO delivery_attempt (id, delivery, n, outcome, remote_status, detail,
                              started_at, ended_at)
VALUES (:id, :delivery, :n, :outcome, :remote_status, :detail, :started_at, :ended_at)
ON CONFLICT (id) DO NOTHING;

-- query delivery_attempt_list (delivery i64) -> delivery_attempt_row
-- In the order of time: after a retry by a user, attempts count from 1 again.
SELECT id, delivery, n, outcome, remote_status, detail, started_at, ended_at
  FROM delivery_attempt WHERE delivery = :delivery ORDER BY ended_at, id;

-- query delivery_hasten (channel text, until time, now time)
-- Deliveries that were due during the pause of their channel are due with its
-- end.
UPDATE delivery SET due_at = :now
 WHERE channel = :channel AND state = 'pending' AND is_next = 1
   AND due_at > :now AND due_at <= :until;

-- query delivery_stats (now time) -> (channel text, state text, n i64,
--   oldest_at time, due_at time, note text)
-- due_at: time of the next pending one. note: why none is sent.
SELECT d.channel, d.state, d.n, d.oldest_at,
       CASE WHEN d.due_at < c.held_until AND c.held_until > :now
            THEN c.held_until ELSE d.due_at END AS due_at,
       CASE WHEN d.state NOT IN ('pending','unknown') THEN NULL
            WHEN c.name IS NULL THEN 'there is no such channel'
            WHEN c.is_enabled = 0 THEN 'the channel is disabled'
            WHEN c.is_paused = 1 AND d.state = 'pending'
            THEN 'the channel is paused'
            WHEN c.held_until > :now AND d.state = 'pending'
            THEN 'the receiver asked for a pause; ''skep channel'
              || ' resume'' ends it' END AS note
  FROM (SELECT channel, state, count(*) AS n, min(created_at) AS oldest_at,
               CASE WHEN state = 'pending' THEN min(due_at) END AS due_at
          FROM delivery GROUP BY channel, state) d
  LEFT JOIN channel c ON c.name = d.channel
 ORDER BY d.channel, d.state;

-- query host_event_delivery (at time, id text, agent text, channel text,
--   state text, attempt i64, remote_status opt, detail text)
INSERT INTO host_event (at, kind, subject, agent, body)
VALUES (:at, 'delivery', :id, :agent,
  json_object('state', :state, 'channel', :channel, 'attempt', :attempt,
              'remote_status', :remote_status, 'detail', :detail));

-- query messages_stuck -> (dead i64, unknown i64, inbound i64)
-- Those that need a user; each count uses a small index.
SELECT (SELECT count(*) FROM delivery WHERE state = 'dead') AS dead,
       (SELECT count(*) FROM delivery WHERE state = 'unknown') AS unknown,
       (SELECT count(*) FROM inbound WHERE state = 'dead') AS inbound;

-- query retention_delivery (after i64, count i64) -> (seq i64, id text, state text,
--   created_at time, done_at time)
-- Oldest first.
SELECT seq, id, state, created_at, done_at FROM delivery
 WHERE seq > :after ORDER BY seq LIMIT :count;

-- query retention_delivery_delete (seq i64)
-- The newest stays, so that no number is reused.
DELETE FROM delivery WHERE seq = :seq AND seq < (SELECT max(seq) FROM delivery);
