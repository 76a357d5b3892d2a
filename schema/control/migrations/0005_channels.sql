-- Channels: how messages come in and go out, and what became of each. Workers
-- never see these tables: they write an outbox row in the agent's file, and
-- skepd takes it over.

-- People of this home. The owner is made with the home.
CREATE TABLE person (
  id           TEXT    PRIMARY KEY,
  name         TEXT    NOT NULL,
  role         TEXT    NOT NULL CHECK (role IN ('owner','member')),
  created_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Secrets are not here: `config` names files in credentials/.
CREATE TABLE channel (
  name         TEXT    PRIMARY KEY,
  id           TEXT    NOT NULL UNIQUE,    -- chn_…, marks a plugin's processes
  kind         TEXT    NOT NULL CHECK (kind IN ('file','webhook','smtp','tty','plugin')),
  is_enabled   INTEGER NOT NULL DEFAULT 1 CHECK (is_enabled IN (0,1)),
  is_paused    INTEGER NOT NULL DEFAULT 0 CHECK (is_paused IN (0,1)),
  is_default   INTEGER NOT NULL DEFAULT 0 CHECK (is_default IN (0,1)),
  command      TEXT    CHECK (command IS NULL OR json_valid(command)), -- of a plugin
  config       TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(config)),
  cursor       TEXT    CHECK (cursor IS NULL OR json_valid(cursor)), -- a plugin's own
  delivered    INTEGER NOT NULL DEFAULT 0, -- since it was made
  failed       INTEGER NOT NULL DEFAULT 0, -- attempts that did not succeed
  received     INTEGER NOT NULL DEFAULT 0,
  trouble      TEXT,                       -- the last one, for people
  trouble_at   INTEGER,
  created_at   INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX channel_default ON channel (is_default) WHERE is_default = 1;

-- Which agent answers whom, until a conversation has its own row. peer '*' and
-- kind 'any' match all; the narrower one wins.
CREATE TABLE binding (
  channel      TEXT    NOT NULL REFERENCES channel (name) ON DELETE CASCADE,
  peer         TEXT    NOT NULL DEFAULT '*',
  kind         TEXT    NOT NULL DEFAULT 'any' CHECK (kind IN ('any','direct','group')),
  agent        TEXT    NOT NULL,
  session      TEXT,                       -- NULL: made from channel and peer
  threads      TEXT    NOT NULL DEFAULT 'conversation'
                       CHECK (threads IN ('conversation','sender')),
  created_at   INTEGER NOT NULL,
  PRIMARY KEY (channel, peer, kind)
) STRICT, WITHOUT ROWID;

-- One row a conversation. peer is the platform's name of it; thread is '' or,
-- where each sender has a thread of his own, the sender.
CREATE TABLE conversation (
  id              TEXT    PRIMARY KEY,     -- cnv_…
  channel         TEXT    NOT NULL REFERENCES channel (name) ON DELETE CASCADE,
  peer            TEXT    NOT NULL,
  thread          TEXT    NOT NULL DEFAULT '',
  kind            TEXT    NOT NULL DEFAULT 'direct' CHECK (kind IN ('direct','group')),
  title           TEXT,
  agent           TEXT,                    -- NULL: nobody answers yet
  session         TEXT,
  last_message_at INTEGER NOT NULL,        -- in or out: the order of lists
  last_inbound_at INTEGER NOT NULL DEFAULT 0, -- the newest is a session's route
  messages        INTEGER NOT NULL DEFAULT 0,
  created_at      INTEGER NOT NULL,
  UNIQUE (channel, peer, thread)
) STRICT, WITHOUT ROWID;

CREATE INDEX conversation_activity ON conversation (last_message_at, id);
-- The last route of a session: where a message without a target goes.
CREATE INDEX conversation_route ON conversation (agent, session, last_inbound_at);

-- What came in. Durable before it is acknowledged; the platform's own id tells
-- a second delivery of the same message.
CREATE TABLE inbound (
  id           TEXT    PRIMARY KEY,        -- inb_…
  channel      TEXT    NOT NULL REFERENCES channel (name) ON DELETE CASCADE,
  external_id  TEXT    NOT NULL,
  conversation TEXT    REFERENCES conversation (id) ON DELETE SET NULL,
  sender       TEXT    NOT NULL,
  kind         TEXT    NOT NULL CHECK (kind IN ('message','event','request')),
  body         TEXT    NOT NULL CHECK (json_valid(body)),
  state        TEXT    NOT NULL CHECK (state IN ('queued','noted','dead','dismissed')),
  reason       TEXT,                       -- why it is dead
  detail       TEXT,
  run          TEXT,                       -- the turn that it became
  received_at  INTEGER NOT NULL,
  UNIQUE (channel, external_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX inbound_said ON inbound (conversation, received_at)
  WHERE conversation IS NOT NULL;
CREATE INDEX inbound_dead ON inbound (id) WHERE state = 'dead';
-- Which message a run answers.
CREATE INDEX inbound_run ON inbound (run) WHERE run IS NOT NULL;

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
  state        TEXT    NOT NULL CHECK (state IN
               ('pending','sending','unknown','delivered','dead','dismissed')),
  source       TEXT,                       -- the outbox row that it was
  agent        TEXT,
  session      TEXT,
  reply_to     TEXT,                       -- the platform's id of what it answers
  body         TEXT    NOT NULL CHECK (json_valid(body)),
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
  done_at      INTEGER
) STRICT;

CREATE INDEX delivery_ready ON delivery (channel, due_at, seq)
  WHERE state = 'pending' AND is_head = 1;
CREATE INDEX delivery_line ON delivery (line, seq)
  WHERE state IN ('pending','sending') AND line IS NOT NULL;
-- What was on its way when skepd died; what nobody knows; dead letters.
CREATE INDEX delivery_flying ON delivery (seq) WHERE state IN ('sending','unknown');
CREATE INDEX delivery_dead ON delivery (seq) WHERE state = 'dead';
-- What was said in a conversation.
CREATE INDEX delivery_said ON delivery (conversation, seq)
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

CREATE INDEX delivery_attempt_of ON delivery_attempt (delivery, n);

-- Attachments. The row is the truth; a file is made of it on demand.
CREATE TABLE media (
  id           TEXT    PRIMARY KEY,        -- med_…
  sha256       TEXT    NOT NULL UNIQUE,
  mime         TEXT    NOT NULL,
  size         INTEGER NOT NULL,
  bytes        BLOB    NOT NULL,
  created_at   INTEGER NOT NULL
) STRICT;

-- Which messages have it, and under which name.
CREATE TABLE media_use (
  owner        TEXT    NOT NULL,           -- inb_… or dlv_…
  idx          INTEGER NOT NULL,
  media        TEXT    NOT NULL REFERENCES media (id),
  name         TEXT    NOT NULL,
  PRIMARY KEY (owner, idx)
) STRICT, WITHOUT ROWID;

CREATE INDEX media_use_of ON media_use (media);

-- Messages between sessions. A broadcast is one message to every member of a
-- room; who has read it is told member by member.
CREATE TABLE message (
  id           TEXT    PRIMARY KEY,        -- msg_…
  source       TEXT    UNIQUE,             -- an outbox row, or a given key
  sender       TEXT    NOT NULL,           -- AGENT/SESSION, or who asked
  room         TEXT,
  body         TEXT    NOT NULL,
  created_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE message_to (
  agent        TEXT    NOT NULL,
  session      TEXT    NOT NULL,
  message      TEXT    NOT NULL REFERENCES message (id) ON DELETE CASCADE,
  read_at      INTEGER,
  PRIMARY KEY (agent, session, message)
) STRICT, WITHOUT ROWID;

CREATE INDEX message_unread ON message_to (agent, session, message)
  WHERE read_at IS NULL;

CREATE TABLE room_member (
  room         TEXT    NOT NULL,
  agent        TEXT    NOT NULL,
  session      TEXT    NOT NULL,
  joined_at    INTEGER NOT NULL,
  PRIMARY KEY (room, agent, session)
) STRICT, WITHOUT ROWID;
