-- The workspace that a run asks for. NULL in all of them: that of the session, of
-- the definition, or of the agent's mode.
ALTER TABLE run ADD COLUMN workspace TEXT;    -- namespace
ALTER TABLE run ADD COLUMN fork_of TEXT;      -- [AGENT:]NAMESPACE[@SNAPSHOT]
ALTER TABLE run ADD COLUMN over_dir TEXT;     -- lower directory of a new namespace
ALTER TABLE run ADD COLUMN is_fresh INTEGER NOT NULL DEFAULT 0
  CHECK (is_fresh IN (0,1));                  -- new and empty
ALTER TABLE run ADD COLUMN is_ephemeral INTEGER NOT NULL DEFAULT 0
  CHECK (is_ephemeral IN (0,1));              -- new, and deleted with the attempt
ALTER TABLE run ADD COLUMN is_shared INTEGER NOT NULL DEFAULT 0
  CHECK (is_shared IN (0,1));                 -- others may use it meanwhile

-- The workspace in which it works, or for which it waits: a namespace, or the path
-- of a host directory. Set when the run is about to start.
ALTER TABLE run ADD COLUMN works_in TEXT;
-- The workspace that the session names, as skepd assumed it; '' for none, NULL: not
-- started. The worker compares it with the agent file.
ALTER TABLE run ADD COLUMN session_workspace TEXT;

-- It waits until another run leaves the workspace, and is not startable before.
ALTER TABLE run ADD COLUMN is_blocked INTEGER NOT NULL DEFAULT 0
  CHECK (is_blocked IN (0,1));

DROP INDEX run_ready;
CREATE INDEX run_ready ON run (priority DESC, agent, id)
  WHERE state = 'queued' AND is_next = 1 AND due_at IS NULL AND is_blocked = 0;
CREATE INDEX run_blocked ON run (agent, works_in, priority DESC, id)
  WHERE state = 'queued' AND is_blocked = 1;
