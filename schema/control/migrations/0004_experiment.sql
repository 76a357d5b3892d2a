-- Experiments: runs that start from one snapshot, each in its own fork.
CREATE TABLE experiment (
  id            TEXT    PRIMARY KEY,       -- exp_…
  agent         TEXT    NOT NULL,          -- of the source
  source        TEXT    NOT NULL,          -- namespace that is forked
  snapshot      TEXT    NOT NULL,          -- of the source: the common start
  owns_snapshot INTEGER NOT NULL           -- taken for the experiment
                CHECK (owns_snapshot IN (0,1)),
  state         TEXT    NOT NULL CHECK (state IN
                ('preparing','running','done','picking','picked','dropping',
                 'dropped','failed')),
  detail        TEXT,                      -- why it failed, or could not be merged
  check_command TEXT,                      -- runs in each fork after its run
  -- The winner, which skepd merges into the source.
  picked        INTEGER,                   -- number of the trial
  strategy      TEXT    CHECK (strategy IN ('ours','theirs')),
  keeps_forks   INTEGER NOT NULL DEFAULT 0 CHECK (keeps_forks IN (0,1)),
  pick_keeps    INTEGER NOT NULL DEFAULT 0 CHECK (pick_keeps IN (0,1)),
  merged        INTEGER,                   -- number of changes
  conflicts     TEXT    NOT NULL DEFAULT '[]' CHECK (json_valid(conflicts)),
  is_working    INTEGER NOT NULL DEFAULT 0 -- a thread of skepd carries out a step
                CHECK (is_working IN (0,1)),
  submitted_by  TEXT    NOT NULL,
  created_at    INTEGER NOT NULL,
  ended_at      INTEGER                    -- when the last trial was done
) STRICT;

CREATE INDEX experiment_due ON experiment (id)
  WHERE state IN ('preparing','picking','dropping') AND is_working = 0;

-- What the trials of an experiment compare.
CREATE TABLE variant (
  experiment TEXT    NOT NULL REFERENCES experiment (id) ON DELETE CASCADE,
  number     INTEGER NOT NULL,
  name       TEXT    NOT NULL,
  agent      TEXT    NOT NULL,
  prompt     TEXT    NOT NULL,
  options    TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(options)),
  PRIMARY KEY (experiment, number)
) STRICT, WITHOUT ROWID;

-- One run of a variant, and what came of it. The results are copied from the
-- row of the run, which may be pruned.
CREATE TABLE trial (
  experiment    TEXT    NOT NULL REFERENCES experiment (id) ON DELETE CASCADE,
  number        INTEGER NOT NULL,
  variant       INTEGER NOT NULL,
  seed          INTEGER NOT NULL,          -- SKEP_SEED of its run
  attempt       INTEGER NOT NULL DEFAULT 1, -- 'skep try resume' starts another one
  state         TEXT    NOT NULL DEFAULT 'waiting' CHECK (state IN
                ('waiting','running','ran','checking','checked','done')),
  is_working    INTEGER NOT NULL DEFAULT 0 CHECK (is_working IN (0,1)),
  run           TEXT,
  fork          TEXT,                      -- namespace of its agent
  has_fork      INTEGER NOT NULL DEFAULT 0 CHECK (has_fork IN (0,1)),
  outcome       TEXT,                      -- final state of the run
  detail        TEXT,
  duration_ms   INTEGER,
  input_tokens  INTEGER,
  output_tokens INTEGER,
  cost_micros   INTEGER,
  check_run     TEXT,
  check_outcome TEXT,
  check_exit    INTEGER,
  check_ms      INTEGER,
  files_changed INTEGER,
  PRIMARY KEY (experiment, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX trial_due ON trial (experiment, number)
  WHERE state IN ('waiting','ran','checked') AND is_working = 0;
CREATE INDEX trial_run ON trial (run) WHERE state = 'running';
CREATE INDEX trial_check ON trial (check_run) WHERE state = 'checking';

-- The results of a run are recorded in the transaction that ends it. If skepd was
-- killed, it knows that a check has succeeded, but not its exit code.
CREATE TRIGGER run_ended_trial AFTER UPDATE OF ended_at ON run
WHEN old.ended_at IS NULL AND new.ended_at IS NOT NULL BEGIN
  UPDATE trial SET state = 'ran', outcome = new.state, detail = new.detail,
    duration_ms = new.ended_at - coalesce(new.started_at, new.ended_at),
    input_tokens = new.input_tokens, output_tokens = new.output_tokens,
    cost_micros = new.cost_micros
   WHERE run = new.id AND state = 'running';
  UPDATE trial SET state = 'checked', check_outcome = new.state,
    check_exit = coalesce(new.exit_code, iif(new.state = 'succeeded', 0, NULL)),
    check_ms = new.ended_at - coalesce(new.started_at, new.ended_at)
   WHERE check_run = new.id AND state = 'checking';
END;

-- The shell command that the run executes instead of the driver of its agent.
ALTER TABLE run ADD COLUMN command TEXT;
