-- Deliveries anew. The check of `state` was a list of six: SQLite builds a small
-- table for each such list in each statement, which took a third of the time of
-- a change; a chain of comparisons takes none. What is on its way is found by
-- its lease, what waits by its age, and what a restore brought is held until a
-- person decides.
CREATE TABLE delivery_attempt_kept AS SELECT * FROM delivery_attempt;
DROP TABLE delivery_attempt;
ALTER TABLE delivery RENAME TO delivery_before;

-- Outbound messages. The receiver's idempotency key is `id`: the same in every
-- attempt. Rows with the same `line` go out one after the other; the first that
-- is not over has is_head = 1, so what may be sent now is one small index, and
-- rows that are over are in none.
CREATE TABLE delivery (
  seq          INTEGER PRIMARY KEY,
  id           TEXT    NOT NULL UNIQUE,    -- dlv_…
  channel      TEXT    NOT NULL,
  conversation TEXT,
  line         TEXT,                       -- NULL: no order
  is_head      INTEGER NOT NULL CHECK (is_head IN (0,1)),
  is_held      INTEGER NOT NULL DEFAULT 0 CHECK (is_held IN (0,1)), -- for a person
  state        TEXT    NOT NULL CHECK (state = 'pending' OR state = 'sending' OR
               state = 'unknown' OR state = 'delivered' OR state = 'dead' OR
               state = 'dismissed'),
  source       TEXT,                       -- the outbox row that it was
  agent        TEXT,
  session      TEXT,
  reply_to     TEXT,                       -- the platform's id of what it answers
  attempts     INTEGER NOT NULL DEFAULT 0,
  attempt_id   TEXT,                       -- att_…, written before the send
  epoch        INTEGER NOT NULL DEFAULT 0, -- of the skepd that claimed it
  lease_until  INTEGER,
  due_at       INTEGER NOT NULL,
  expires_at   INTEGER,                    -- too old from here on
  code         INTEGER,                    -- the receiver's last answer
  detail       TEXT,
  ref          TEXT,                       -- the platform's id, once it is there
  resend_of    TEXT,
  created_at   INTEGER NOT NULL,
  sent_at      INTEGER,                    -- this attempt
  done_at      INTEGER,
  body         TEXT    NOT NULL CHECK (json_valid(body))
) STRICT;

INSERT INTO delivery (seq, id, channel, conversation, line, is_head, state,
  source, agent, session, reply_to, attempts, attempt_id, epoch, lease_until,
  due_at, expires_at, code, detail, ref, resend_of, created_at, sent_at, done_at,
  body)
SELECT seq, id, channel, conversation, line, is_head, state, source, agent,
  session, reply_to, attempts, attempt_id, epoch, lease_until, due_at, expires_at,
  code, detail, ref, resend_of, created_at, sent_at, done_at, body
  FROM delivery_before;
DROP TABLE delivery_before;

-- An index ends with the row's number by itself: those of a line are in order.
CREATE INDEX delivery_ready ON delivery (channel, due_at)
  WHERE state = 'pending' AND is_head = 1;
CREATE INDEX delivery_line ON delivery (line)
  WHERE state IN ('pending','sending') AND line IS NOT NULL;
CREATE INDEX delivery_old ON delivery (expires_at)
  WHERE state = 'pending' AND expires_at IS NOT NULL;
-- On its way; what nobody knows; dead letters.
CREATE INDEX delivery_sending ON delivery (lease_until) WHERE state = 'sending';
CREATE INDEX delivery_unknown ON delivery (channel) WHERE state = 'unknown';
CREATE INDEX delivery_dead ON delivery (channel) WHERE state = 'dead';
-- What was said in a conversation.
CREATE INDEX delivery_said ON delivery (conversation)
  WHERE conversation IS NOT NULL;
-- Exactly once, however often an outbox is read.
CREATE UNIQUE INDEX delivery_source ON delivery (source) WHERE source IS NOT NULL;

-- Attempts that did not succeed; the one that did is in its row.
CREATE TABLE delivery_attempt (
  id           TEXT    PRIMARY KEY,        -- att_…
  delivery     INTEGER NOT NULL REFERENCES delivery (seq) ON DELETE CASCADE,
  n            INTEGER NOT NULL,
  outcome      TEXT    NOT NULL,           -- the state that followed
  code         INTEGER,
  detail       TEXT,
  started_at   INTEGER,
  ended_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO delivery_attempt (id, delivery, n, outcome, code, detail, started_at,
  ended_at)
SELECT id, delivery, n, outcome, code, detail, started_at, ended_at
  FROM delivery_attempt_kept;
DROP TABLE delivery_attempt_kept;
CREATE INDEX delivery_attempt_of ON delivery_attempt (delivery, n);
