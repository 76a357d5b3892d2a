-- Runs of several sessions and agents that were asked for together.
ALTER TABLE run ADD COLUMN invocation TEXT;
CREATE INDEX run_invocation ON run (invocation, id) WHERE invocation IS NOT NULL;
