-- The data plane of one agent: sessions, transcripts, artifacts.
-- `checkpoints` and `writes` belong to LangGraph's SqliteSaver, which may use
-- this very file: no table of ours may have these names.

-- Facts about the file: agent, epoch, the program that last migrated it.
CREATE TABLE meta (
  key          TEXT    PRIMARY KEY,
  value        ANY     NOT NULL
) STRICT, WITHOUT ROWID;

-- Sessions, by {agent, key}. `id` is small because it is the upper half of the
-- position of every event.
--
-- A fork by pointer has a base: its history is the base's up to base_seq, then
-- its own events, which are numbered on from there. A deleted session that
-- forks still stand on stays as status 'deleted', without a key.
CREATE TABLE session (
  id            INTEGER PRIMARY KEY CHECK (id BETWEEN 1 AND 2147483647),
  sid           TEXT    NOT NULL UNIQUE,   -- ses_…
  key           TEXT,
  status        TEXT    NOT NULL DEFAULT 'active'
                        CHECK (status IN ('active','archived','deleted')),
  kind          TEXT    NOT NULL DEFAULT 'chat'
                        CHECK (kind IN ('chat','task','fork','subagent','import','system')),
  is_ephemeral  INTEGER NOT NULL DEFAULT 0 CHECK (is_ephemeral IN (0,1)),
  title         TEXT,
  model         TEXT,
  source        TEXT,                      -- channel, importer, command …
  parent        TEXT,                      -- sid of the session that asked for it
  base          INTEGER REFERENCES session (id),
  base_seq      INTEGER NOT NULL DEFAULT 0,
  leaf          INTEGER,                   -- seq shown last; NULL: the newest
  system_seq    INTEGER,                   -- the event with the system prompt
  system_digest TEXT,
  meta          TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(meta)),
  rev           INTEGER NOT NULL DEFAULT 1, -- counts changes of this row
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL           -- of this row; events have their own
) STRICT;

-- Look-up by key; deleted sessions give their key back.
CREATE UNIQUE INDEX session_key ON session (key) WHERE key IS NOT NULL;
-- Which forks stand on a session (deletion, lineage).
CREATE INDEX session_base ON session (base) WHERE base IS NOT NULL;

-- Runs that wrote here. An attempt that was given up is fenced: it may commit
-- nothing more.
CREATE TABLE run (
  id           INTEGER PRIMARY KEY,
  run_id       TEXT    NOT NULL UNIQUE,    -- run_…
  session      INTEGER NOT NULL REFERENCES session (id),
  attempt      INTEGER NOT NULL,
  epoch        INTEGER NOT NULL,
  status       TEXT    NOT NULL CHECK (status IN
               ('running','succeeded','failed','cancelled','timed_out','aborted')),
  reason       TEXT,
  started_at   INTEGER NOT NULL,
  ended_at     INTEGER
) STRICT;

-- The words that event.type stands for; made from schema/agent/transcript/event_type.def. Number
-- 0 is `unknown`: such an event keeps its own word in event_odd.
CREATE TABLE event_type (
  id           INTEGER PRIMARY KEY,
  name         TEXT    NOT NULL UNIQUE
) STRICT;

INSERT INTO event_type (id, name) VALUES
  ( 0, 'unknown'),
  ( 1, 'system'),
  ( 2, 'message'),
  ( 3, 'tool_call'),
  ( 4, 'tool_result'),
  ( 5, 'output'),
  ( 6, 'stderr'),
  ( 7, 'plan'),
  ( 8, 'status'),
  ( 9, 'usage'),
  (10, 'approval'),
  (11, 'run_started'),
  (12, 'run_finished'),
  (13, 'cancelled'),
  (14, 'compaction'),
  (15, 'artifact'),
  (16, 'error'),
  (17, 'note'),
  (18, 'steer'),
  (19, 'raw');

-- The transcript. pos = session.id << 32 | seq, so the events of a session lie
-- side by side in order, and an append touches one leaf of one b-tree. The
-- event's id is made from the session's and seq, so it needs no index, and the
-- parent is the event before unless event_jump says otherwise.
CREATE TABLE event (
  pos          INTEGER PRIMARY KEY,
  type         INTEGER NOT NULL,
  at           INTEGER NOT NULL,
  run          INTEGER,                    -- run.id
  key          TEXT,                       -- idempotency key
  body         TEXT    NOT NULL CHECK (json_valid(body))
) STRICT;

-- Redelivery: the same key in the same session finds the first event.
CREATE UNIQUE INDEX event_key ON event (pos >> 32, key) WHERE key IS NOT NULL;

-- Events whose parent is not the event before: the first after a rewind, and
-- imported trees. parent is a seq of the same history, 0 for a root.
CREATE TABLE event_jump (
  pos          INTEGER PRIMARY KEY REFERENCES event (pos) ON DELETE CASCADE,
  parent       INTEGER NOT NULL
) STRICT;

-- What few events have: an id that came from elsewhere, a type nobody knows.
CREATE TABLE event_odd (
  pos          INTEGER PRIMARY KEY REFERENCES event (pos) ON DELETE CASCADE,
  event_id     TEXT,
  type         TEXT
) STRICT;

CREATE INDEX event_odd_id ON event_odd (event_id) WHERE event_id IS NOT NULL;

-- Tokens and cost, beside the events that spent them.
CREATE TABLE usage (
  pos          INTEGER PRIMARY KEY REFERENCES event (pos) ON DELETE CASCADE,
  model        TEXT,
  input        INTEGER NOT NULL DEFAULT 0,
  output       INTEGER NOT NULL DEFAULT 0,
  cached       INTEGER NOT NULL DEFAULT 0,
  reasoning    INTEGER NOT NULL DEFAULT 0,
  cost_nano    INTEGER NOT NULL DEFAULT 0  -- 1e-9 of the currency
) STRICT;

-- Parts of a message that grow while it streams: one row each, through all
-- states. `text` grows; a tool call keeps its input beside its output.
CREATE TABLE part (
  pos          INTEGER NOT NULL REFERENCES event (pos) ON DELETE CASCADE,
  idx          INTEGER NOT NULL,
  kind         TEXT    NOT NULL CHECK (kind IN ('text','reasoning','tool','file','data')),
  state        TEXT    NOT NULL CHECK (state IN
               ('streaming','input','running','awaiting','done','error','aborted')),
  name         TEXT,                       -- tool, file name, data kind
  call_id      TEXT,
  text         TEXT    NOT NULL DEFAULT '',
  input        TEXT,                       -- JSON
  output       TEXT,                       -- JSON
  meta         TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(meta)),
  rev          INTEGER NOT NULL DEFAULT 1, -- counts changes: followers compare
  created_at   INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL,
  PRIMARY KEY (pos, idx)
) STRICT, WITHOUT ROWID;

-- Parts still open: what a follower watches and what a recovery closes.
CREATE INDEX part_open ON part (pos)
  WHERE state IN ('streaming','input','running','awaiting');

-- Rewinds, to be undone by restore.
CREATE TABLE rewind (
  id           INTEGER PRIMARY KEY,
  session      INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  from_leaf    INTEGER NOT NULL,           -- seq that was the end before
  to_leaf      INTEGER NOT NULL,
  at           INTEGER NOT NULL,
  restored_at  INTEGER
) STRICT;

-- Compactions: the model sees `summary` instead of everything up to `upto`. The
-- log itself stays whole.
CREATE TABLE snapshot (
  id            INTEGER PRIMARY KEY,
  session       INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  event_seq     INTEGER NOT NULL,          -- the compaction event
  upto          INTEGER NOT NULL,          -- last seq that is summed up
  summary       TEXT    NOT NULL,
  tokens_before INTEGER,
  tokens_after  INTEGER,
  at            INTEGER NOT NULL
) STRICT;

CREATE INDEX snapshot_session ON snapshot (session, event_seq);

-- What a session was allowed for good ("always"). Forks inherit none.
CREATE TABLE permission_grant (
  session      INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  tool         TEXT    NOT NULL,
  pattern      TEXT    NOT NULL DEFAULT '*',
  decision     TEXT    NOT NULL CHECK (decision IN ('allow','deny')),
  at           INTEGER NOT NULL,
  PRIMARY KEY (session, tool, pattern)
) STRICT, WITHOUT ROWID;

-- Messages to the outside, in the transaction of the event that they belong to.
-- The supervisor takes them over, once.
CREATE TABLE outbox (
  id           INTEGER PRIMARY KEY,
  pos          INTEGER NOT NULL REFERENCES event (pos) ON DELETE CASCADE,
  key          TEXT    NOT NULL UNIQUE,    -- idempotency key of the delivery
  target       TEXT    NOT NULL CHECK (json_valid(target)),
  body         TEXT    NOT NULL CHECK (json_valid(body)),
  created_at   INTEGER NOT NULL,
  taken_at     INTEGER
) STRICT;

CREATE INDEX outbox_waiting ON outbox (id) WHERE taken_at IS NULL;

-- For people with a sqlite3 shell: the plain names.
CREATE VIEW events AS
SELECT coalesce(o.event_id, 'evt_' || substr(s.sid, 5) || printf('%010d', e.pos & 4294967295)) AS event_id,
       s.key AS session, e.pos & 4294967295 AS seq,
       coalesce(o.type, t.name, 'unknown') AS type,
       coalesce(j.parent, (e.pos & 4294967295) - 1) AS parent_seq,
       datetime(e.at / 1000.0, 'unixepoch') AS at, r.run_id AS run, e.key, e.body
  FROM event e
  JOIN session s ON s.id = e.pos >> 32
  LEFT JOIN event_type t ON t.id = e.type
  LEFT JOIN event_jump j ON j.pos = e.pos
  LEFT JOIN event_odd o ON o.pos = e.pos
  LEFT JOIN run r ON r.id = e.run;
