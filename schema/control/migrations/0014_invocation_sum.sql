-- Invocations with their counts, so that a list costs the same however many runs
-- one has. Triggers keep them in step with run. What is neither waiting nor ended
-- is live.
CREATE TABLE invocation (
  name         TEXT    PRIMARY KEY,
  agents       INTEGER NOT NULL DEFAULT 0,
  sessions     INTEGER NOT NULL DEFAULT 0,
  runs         INTEGER NOT NULL DEFAULT 0,
  waiting      INTEGER NOT NULL DEFAULT 0,
  ended        INTEGER NOT NULL DEFAULT 0,
  succeeded    INTEGER NOT NULL DEFAULT 0,
  failed       INTEGER NOT NULL DEFAULT 0,
  cancelled    INTEGER NOT NULL DEFAULT 0,
  timed_out    INTEGER NOT NULL DEFAULT 0,
  ended_at     INTEGER NOT NULL DEFAULT 0  -- when the last of them ended
) STRICT, WITHOUT ROWID;

CREATE TABLE invocation_session (
  invocation   TEXT    NOT NULL,
  agent        TEXT    NOT NULL,
  session      TEXT    NOT NULL,
  runs         INTEGER NOT NULL,
  PRIMARY KEY (invocation, agent, session)
) STRICT, WITHOUT ROWID;

INSERT INTO invocation_session (invocation, agent, session, runs)
SELECT invocation, agent, session, count(*) FROM run
 WHERE invocation IS NOT NULL GROUP BY invocation, agent, session;

INSERT INTO invocation (name, agents, sessions, runs, waiting, ended, succeeded,
  failed, cancelled, timed_out, ended_at)
SELECT invocation, (SELECT count(DISTINCT s.agent) FROM invocation_session s
    WHERE s.invocation = run.invocation),
  (SELECT count(*) FROM invocation_session s WHERE s.invocation = run.invocation),
  count(*), sum(state = 'queued'), count(ended_at), sum(state = 'succeeded'),
  sum(state = 'failed'), sum(state = 'cancelled'), sum(state = 'timed_out'),
  coalesce(max(ended_at), 0)
  FROM run WHERE invocation IS NOT NULL GROUP BY invocation;

CREATE TRIGGER invocation_joined AFTER INSERT ON run
WHEN new.invocation IS NOT NULL BEGIN
  INSERT OR IGNORE INTO invocation (name) VALUES (new.invocation);
  UPDATE invocation SET runs = runs + 1, waiting = waiting + (new.state = 'queued'),
    ended = ended + (new.ended_at IS NOT NULL),
    succeeded = succeeded + (new.state = 'succeeded'),
    failed = failed + (new.state = 'failed'),
    cancelled = cancelled + (new.state = 'cancelled'),
    timed_out = timed_out + (new.state = 'timed_out'),
    ended_at = max(ended_at, coalesce(new.ended_at, 0)),
    agents = agents + NOT EXISTS (SELECT 1 FROM invocation_session s
      WHERE s.invocation = new.invocation AND s.agent = new.agent),
    sessions = sessions + NOT EXISTS (SELECT 1 FROM invocation_session s
      WHERE s.invocation = new.invocation AND s.agent = new.agent
        AND s.session = new.session)
   WHERE name = new.invocation;
  INSERT INTO invocation_session (invocation, agent, session, runs)
  VALUES (new.invocation, new.agent, new.session, 1)
  ON CONFLICT (invocation, agent, session) DO UPDATE SET runs = runs + 1;
END;

-- Only what is counted: not each step of a run that goes on.
CREATE TRIGGER invocation_moved AFTER UPDATE OF state, ended_at ON run
WHEN new.invocation IS NOT NULL AND (new.ended_at IS NOT old.ended_at OR
  (new.state <> old.state AND (
    old.state IN ('queued','succeeded','failed','cancelled','timed_out') OR
    new.state IN ('queued','succeeded','failed','cancelled','timed_out')))) BEGIN
  UPDATE invocation SET
    waiting = waiting + (new.state = 'queued') - (old.state = 'queued'),
    ended = ended + (new.ended_at IS NOT NULL) - (old.ended_at IS NOT NULL),
    succeeded = succeeded + (new.state = 'succeeded') - (old.state = 'succeeded'),
    failed = failed + (new.state = 'failed') - (old.state = 'failed'),
    cancelled = cancelled + (new.state = 'cancelled') - (old.state = 'cancelled'),
    timed_out = timed_out + (new.state = 'timed_out') - (old.state = 'timed_out'),
    ended_at = max(ended_at, coalesce(new.ended_at, 0))
   WHERE name = new.invocation;
END;

CREATE TRIGGER invocation_left AFTER DELETE ON run
WHEN old.invocation IS NOT NULL BEGIN
  UPDATE invocation_session SET runs = runs - 1
   WHERE invocation = old.invocation AND agent = old.agent
     AND session = old.session;
  DELETE FROM invocation_session
   WHERE invocation = old.invocation AND agent = old.agent
     AND session = old.session AND runs = 0;
  UPDATE invocation SET runs = runs - 1, waiting = waiting - (old.state = 'queued'),
    ended = ended - (old.ended_at IS NOT NULL),
    succeeded = succeeded - (old.state = 'succeeded'),
    failed = failed - (old.state = 'failed'),
    cancelled = cancelled - (old.state = 'cancelled'),
    timed_out = timed_out - (old.state = 'timed_out'),
    agents = agents - NOT EXISTS (SELECT 1 FROM invocation_session s
      WHERE s.invocation = old.invocation AND s.agent = old.agent),
    sessions = sessions - NOT EXISTS (SELECT 1 FROM invocation_session s
      WHERE s.invocation = old.invocation AND s.agent = old.agent
        AND s.session = old.session)
   WHERE name = old.invocation;
  DELETE FROM invocation WHERE name = old.invocation AND runs = 0;
END;
