-- Runs: what was asked for, what became of it, and who was told.

-- Why a run moved, as a word. Filled from schema/control/run_reason.def and
-- ipc/end_reason.def at each start, so that both layers refuse any other word.
CREATE TABLE reason (
  code         TEXT    PRIMARY KEY,
  word         TEXT    NOT NULL            -- for people
) STRICT, WITHOUT ROWID;

-- One row a run, small because it changes often; what was asked is run_input.
--
-- A session runs one run at a time, in the order of `line`, which counts within
-- the session. line is NULL before a delayed run is due and after a run's end;
-- the run that is first in line has is_head = 1. So everything that may start at once is in one small index.
CREATE TABLE run (
  id              TEXT    PRIMARY KEY,     -- run_…
  agent           TEXT    NOT NULL,
  agent_version   INTEGER NOT NULL DEFAULT 0, -- 0: never started
  session         TEXT    NOT NULL,        -- key within the agent
  state           TEXT    NOT NULL CHECK (state IN
                  ('queued','starting','running','paused','stopping','ending',
                   'succeeded','failed','cancelled','timed_out')),
  -- What the end will be, once the process tree is proven gone.
  verdict         TEXT    CHECK (verdict IN
                  ('succeeded','failed','cancelled','timed_out','again')),
  reason          TEXT    NOT NULL REFERENCES reason (code), -- of the last move
  detail          TEXT,
  priority        INTEGER NOT NULL DEFAULT 0 CHECK (priority BETWEEN -100 AND 100),
  line            INTEGER,
  is_head         INTEGER NOT NULL DEFAULT 0 CHECK (is_head IN (0,1)),
  due_at          INTEGER,                 -- not before; NULL: any time
  expires_at      INTEGER,                 -- waits in the queue no longer
  attempt         INTEGER NOT NULL DEFAULT 0,
  max_attempts    INTEGER NOT NULL DEFAULT 1,
  backoff_ms      INTEGER NOT NULL,        -- doubles with every attempt
  run_timeout_ms  INTEGER,
  idle_timeout_ms INTEGER,
  grace_ms        INTEGER NOT NULL,
  policy          TEXT    NOT NULL DEFAULT 'queue'
                          CHECK (policy IN ('queue','reject','interrupt')),
  parent          TEXT    REFERENCES run (id) ON DELETE SET NULL,
  depth           INTEGER NOT NULL DEFAULT 0,
  retry_of        TEXT    REFERENCES run (id) ON DELETE SET NULL,
  idem_key        TEXT,
  idem_digest     TEXT,                    -- of the request behind the key
  tags            TEXT    NOT NULL DEFAULT '[]' CHECK (json_valid(tags)),
  submitted_by    TEXT    NOT NULL,
  -- The worker of this attempt; pids are used again, so all three name it.
  pid             INTEGER,
  start_ticks     INTEGER,
  boot_id         TEXT,
  token_hash      TEXT,
  heartbeat_ms    INTEGER NOT NULL DEFAULT 0, -- that it was told to keep
  -- What the worker said.
  last_seq        INTEGER NOT NULL DEFAULT 0,
  input_tokens    INTEGER NOT NULL DEFAULT 0,
  output_tokens   INTEGER NOT NULL DEFAULT 0,
  cost_micros     INTEGER NOT NULL DEFAULT 0,
  exit_code       INTEGER,
  signal          INTEGER,
  created_at      INTEGER NOT NULL,
  started_at      INTEGER,                 -- this attempt
  ended_at        INTEGER
) STRICT;

-- What may start now. Done rows are in none of these indexes.
CREATE INDEX run_ready ON run (priority DESC, agent, id)
  WHERE state = 'queued' AND is_head = 1 AND due_at IS NULL;
CREATE INDEX run_due ON run (due_at) WHERE state = 'queued' AND due_at IS NOT NULL;
CREATE INDEX run_expiry ON run (expires_at)
  WHERE state = 'queued' AND expires_at IS NOT NULL;
CREATE INDEX run_line ON run (agent, session, line) WHERE line IS NOT NULL;
-- What has a worker, or may have one: the scan at start.
CREATE INDEX run_active ON run (id)
  WHERE state IN ('starting','running','paused','stopping','ending');
-- Children that a cancel must reach; depth of a new child.
CREATE INDEX run_parent ON run (parent) WHERE parent IS NOT NULL;
CREATE UNIQUE INDEX run_idem ON run (agent, idem_key) WHERE idem_key IS NOT NULL;
-- Lists by agent, newest first.
CREATE INDEX run_agent ON run (agent, id);

CREATE TABLE run_input (
  run          TEXT    PRIMARY KEY REFERENCES run (id) ON DELETE CASCADE,
  prompt       TEXT    NOT NULL,
  options      TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(options))
) STRICT;

-- Every change of state, in the transaction of the change. Append only.
CREATE TABLE run_transition (
  id           INTEGER PRIMARY KEY,
  run          TEXT    NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  attempt      INTEGER NOT NULL,
  from_state   TEXT,                       -- NULL: the run was made
  to_state     TEXT    NOT NULL,
  reason       TEXT    NOT NULL REFERENCES reason (code),
  detail       TEXT,
  at           INTEGER NOT NULL
) STRICT;

CREATE INDEX run_transition_run ON run_transition (run, id);

-- Commands to a worker. The message is a hint: a worker that asks gets the
-- first pending row, and says so when its effect is committed. A run that ends
-- makes what is left 'late'.
CREATE TABLE run_command (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  run          TEXT    NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  verb         TEXT    NOT NULL CHECK (verb IN
               ('cancel','answer','message','pause','resume','stop')),
  body         TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(body)),
  state        TEXT    NOT NULL DEFAULT 'pending'
                       CHECK (state IN ('pending','applied','refused','late')),
  refusal      TEXT,
  by           TEXT    NOT NULL,
  created_at   INTEGER NOT NULL,
  done_at      INTEGER
) STRICT;

CREATE INDEX run_command_pending ON run_command (run, id) WHERE state = 'pending';

-- Questions of workers to people. (run, key) is the question: asked again, in
-- any attempt, it is the same one, and has one answer.
CREATE TABLE approval (
  id           TEXT    PRIMARY KEY,        -- apr_…
  run          TEXT    NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  agent        TEXT    NOT NULL,
  key          TEXT    NOT NULL,
  title        TEXT    NOT NULL,
  detail       TEXT    CHECK (detail IS NULL OR json_valid(detail)),
  state        TEXT    NOT NULL DEFAULT 'open' CHECK (state IN
               ('open','allowed','denied','expired','withdrawn')),
  fallback     TEXT    NOT NULL CHECK (fallback IN ('allow','deny')),
  expires_at   INTEGER,
  answered_by  TEXT,
  note         TEXT,
  asked_at     INTEGER NOT NULL,
  answered_at  INTEGER,
  UNIQUE (run, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX approval_open ON approval (id) WHERE state = 'open';
CREATE INDEX approval_expiry ON approval (expires_at)
  WHERE state = 'open' AND expires_at IS NOT NULL;

-- Everything that happened on this host, for followers with a cursor. Bounded:
-- the oldest rows go; a cursor older than the oldest row has a gap.
CREATE TABLE host_event (
  seq          INTEGER PRIMARY KEY AUTOINCREMENT,
  at           INTEGER NOT NULL,
  kind         TEXT    NOT NULL,           -- 'run', 'approval', 'agent', 'host'
  subject      TEXT    NOT NULL,           -- id or name
  agent        TEXT,
  body         TEXT    NOT NULL CHECK (json_valid(body))
) STRICT;

-- Who may use the TCP port. Only the hash of a token is here.
CREATE TABLE api_token (
  id           TEXT    PRIMARY KEY,        -- tok_…
  name         TEXT    NOT NULL UNIQUE,
  hash         TEXT    NOT NULL UNIQUE,
  scopes       TEXT    NOT NULL CHECK (json_valid(scopes)),
  created_at   INTEGER NOT NULL,
  expires_at   INTEGER
) STRICT, WITHOUT ROWID;

-- Why the supervisor went away on purpose: written before it goes, read and
-- cleared by the next one.
CREATE TABLE handoff (
  id           INTEGER PRIMARY KEY CHECK (id = 1),
  intent       TEXT    NOT NULL CHECK (intent IN ('restart','down','down-now')),
  by           TEXT    NOT NULL,
  at           INTEGER NOT NULL,
  active       INTEGER NOT NULL            -- runs that were active then
) STRICT;
