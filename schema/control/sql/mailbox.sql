-- Messages between sessions.

-- query message_add (id text, source_key text, sender text, room text, body text,
--   now time)
INSERT INTO message (id, source_key, sender, room, body, created_at)
VALUES (:id, :source_key, :sender, :room, :body, :now)
ON CONFLICT (source_key) DO NOTHING;

-- query message_by_source_key (source_key text) -> (id text, sender text, room text,
--   body text)
SELECT id, sender, room, body FROM message WHERE source_key = :source_key;

-- query message_to_add (message text, agent text, session text)
INSERT INTO message_to (message, agent, session)
VALUES (:message, :agent, :session) ON CONFLICT DO NOTHING;

-- query message_to_room (message text, room text, agent text, session text)
-- To every member except the sender.
INSERT INTO message_to (message, agent, session)
SELECT :message, agent, session FROM room_member
 WHERE room = :room AND NOT (agent IS :agent AND session IS :session);

-- row message_row (id text, sender text, room text, body text, agent text,
--   session text, created_at time, read_at time)

-- query message_unread (agent text, session text, count i64) -> message_row
-- In the order in which they were sent.
SELECT m.id, m.sender, m.room, m.body, t.agent, t.session, m.created_at,
       t.read_at
  FROM message_to t JOIN message m ON m.id = t.message
 WHERE t.agent = :agent AND t.session = :session AND t.read_at IS NULL
 ORDER BY t.message LIMIT :count;

-- query message_offered (agent text, session text, run text, count i64) -> message_row
-- Unread messages that the run was not offered.
SELECT m.id, m.sender, m.room, m.body, t.agent, t.session, m.created_at,
       t.read_at
  FROM message_to t JOIN message m ON m.id = t.message
 WHERE t.agent = :agent AND t.session = :session AND t.read_at IS NULL
   AND NOT EXISTS (SELECT 1 FROM run_command c WHERE c.run = :run
         AND c.verb = 'message' AND c.body ->> 'message' = m.id)
 ORDER BY t.message LIMIT :count;

-- query message_applied (agent text, session text, command i64, run text, now time)
UPDATE message_to SET read_at = :now
 WHERE agent = :agent AND session = :session AND read_at IS NULL
   AND message = (SELECT body ->> 'message' FROM run_command
                   WHERE id = :command AND run = :run AND verb = 'message');

-- row message_filter (agent text, session text, before text, count i64)
-- query message_list (message_filter) -> message_row
SELECT m.id, m.sender, m.room, m.body, t.agent, t.session, m.created_at,
       t.read_at
  FROM message_to t INDEXED BY message_to_agent CROSS JOIN message m
    ON m.id = t.message
 WHERE t.agent = :agent AND t.message < :before
 ORDER BY t.message DESC LIMIT :count;

-- query message_list_session (message_filter) -> message_row
SELECT m.id, m.sender, m.room, m.body, t.agent, t.session, m.created_at,
       t.read_at
  FROM message_to t CROSS JOIN message m ON m.id = t.message
 WHERE t.agent = :agent AND t.session = :session AND t.message < :before
 ORDER BY t.message DESC LIMIT :count;

-- query message_read (agent text, session text, message text, now time)
UPDATE message_to SET read_at = :now
 WHERE agent = :agent AND session = :session AND message = :message
   AND read_at IS NULL;

-- query message_is_to (agent text, session text, message text) -> (n i64)
SELECT 1 AS n FROM message_to
 WHERE agent = :agent AND session = :session AND message = :message;

-- query room_join (room text, agent text, session text, now time)
INSERT INTO room_member (room, agent, session, joined_at)
VALUES (:room, :agent, :session, :now) ON CONFLICT DO NOTHING;

-- query room_leave (room text, agent text, session text)
DELETE FROM room_member
 WHERE room = :room AND agent = :agent AND session = :session;

-- row room_row (room text, agent text, session text, joined_at time,
--   unread i64)

-- query room_list (room text) -> room_row
SELECT r.room, r.agent, r.session, r.joined_at,
       (SELECT count(*) FROM message_to t JOIN message m ON m.id = t.message
         WHERE t.agent = r.agent AND t.session = r.session
           AND t.read_at IS NULL AND m.room = r.room) AS unread
  FROM room_member r WHERE :room IS NULL OR r.room = :room
 ORDER BY r.room, r.agent, r.session;

-- query room_size (room text) -> (n i64)
SELECT count(*) AS n FROM room_member WHERE room = :room;

-- query retention_message (after text, count i64) -> (id text, created_at time,
--   read_at time)
-- Oldest first. read_at: when the last receiver read it; NULL: one has not. A
-- message without receivers is finished when it is created.
SELECT m.id, m.created_at,
       CASE WHEN count(t.message) = 0 THEN m.created_at
            WHEN count(t.read_at) = count(t.message) THEN max(t.read_at)
       END AS read_at
  FROM (SELECT id, created_at FROM message
         WHERE id > :after ORDER BY id LIMIT :count) m
  LEFT JOIN message_to t ON t.message = m.id
 GROUP BY m.id ORDER BY m.id;

-- query retention_message_delete (id text)
DELETE FROM message WHERE id = :id;
