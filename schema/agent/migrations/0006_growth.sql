-- Reads whose cost does not grow with the history of a session or agent.

-- The last event of the session when the run began: its own events follow. NULL
-- in rows of earlier versions.
ALTER TABLE run ADD COLUMN after_seq INTEGER;
-- Runs of a session in their order, and those that are not over.
CREATE INDEX run_session ON run (session);
CREATE INDEX run_running ON run (session) WHERE status = 'running';

-- Lists of sessions, newest first, by each filter. An index ends with the id.
CREATE INDEX session_shown ON session (id)
  WHERE key IS NOT NULL AND status = 'active' AND is_ephemeral = 0;
CREATE INDEX session_shown_kind ON session (kind)
  WHERE key IS NOT NULL AND status = 'active' AND is_ephemeral = 0;
CREATE INDEX session_status ON session (status) WHERE key IS NOT NULL;
CREATE INDEX session_status_kind ON session (status, kind) WHERE key IS NOT NULL;

-- Foreign keys: without these, a deleted session or event scans the table.
CREATE INDEX rewind_session ON rewind (session);
CREATE INDEX outbox_event ON outbox (pos);
