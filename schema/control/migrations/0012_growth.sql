-- Lists and lookups whose cost does not grow with the history: every filter that
-- a list offers has an index, in the order of the list.

-- Runs by state. A run enters the first three when it ends and never leaves
-- them, so a change of state before that costs nothing here.
CREATE INDEX run_ended ON run (state, id) WHERE ended_at IS NOT NULL;
CREATE INDEX run_agent_ended ON run (agent, state, id) WHERE ended_at IS NOT NULL;
CREATE INDEX run_session_ended ON run (agent, session, state, id)
  WHERE ended_at IS NOT NULL;
CREATE INDEX run_queued ON run (id) WHERE state = 'queued';
CREATE INDEX run_agent_queued ON run (agent, id) WHERE state = 'queued';
CREATE INDEX run_session_queued ON run (agent, session, id) WHERE state = 'queued';
CREATE INDEX run_session ON run (agent, session, id);
CREATE INDEX run_invocation_state ON run (invocation, state, id)
  WHERE invocation IS NOT NULL;
-- Open children: a cancel walks from these to their ancestors.
CREATE INDEX run_open_child ON run (id)
  WHERE parent IS NOT NULL AND ended_at IS NULL;
-- The foreign key: without it, each deleted run scans the table.
CREATE INDEX run_retry ON run (retry_of) WHERE retry_of IS NOT NULL;

-- Runs by tag. Triggers keep it in step with run.tags and run.state.
CREATE TABLE run_tag (
  tag          TEXT    NOT NULL,
  run          TEXT    NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  agent        TEXT    NOT NULL,
  state        TEXT    NOT NULL,
  PRIMARY KEY (tag, run)
) STRICT, WITHOUT ROWID;

INSERT OR IGNORE INTO run_tag (tag, run, agent, state)
SELECT j.value, r.id, r.agent, r.state FROM run r JOIN json_each(r.tags) j
 WHERE r.tags <> '[]' AND j.type = 'text';

CREATE INDEX run_tag_agent ON run_tag (tag, agent, run);
CREATE INDEX run_tag_state ON run_tag (tag, state, run);
CREATE INDEX run_tag_agent_state ON run_tag (tag, agent, state, run);
CREATE INDEX run_tag_run ON run_tag (run);

CREATE TRIGGER run_tagged AFTER INSERT ON run WHEN new.tags <> '[]' BEGIN
  INSERT OR IGNORE INTO run_tag (tag, run, agent, state)
  SELECT j.value, new.id, new.agent, new.state FROM json_each(new.tags) j
   WHERE j.type = 'text';
END;

CREATE TRIGGER run_tag_moved AFTER UPDATE OF state ON run WHEN new.tags <> '[]'
BEGIN
  UPDATE run_tag SET state = new.state WHERE run = new.id;
END;

-- Commands of a run: its list, and the foreign key.
CREATE INDEX run_command_run ON run_command (run, id);

CREATE INDEX approval_state ON approval (state, id);
CREATE INDEX approval_run ON approval (run, id);
CREATE INDEX approval_run_state ON approval (run, state, id);

CREATE INDEX conversation_channel ON conversation (channel, last_message_at, id);

-- An index ends with the row's number: these are in the order of `seq`.
CREATE INDEX delivery_channel ON delivery (channel);
CREATE INDEX delivery_agent ON delivery (agent) WHERE agent IS NOT NULL;
CREATE INDEX delivery_session ON delivery (agent, session) WHERE agent IS NOT NULL;
-- By state. Those in line, and unknown ones, are few or wait for a person.
CREATE INDEX delivery_done ON delivery (state) WHERE done_at IS NOT NULL;
CREATE INDEX delivery_channel_done ON delivery (channel, state)
  WHERE done_at IS NOT NULL;
CREATE INDEX delivery_session_done ON delivery (agent, session, state)
  WHERE done_at IS NOT NULL;
CREATE INDEX delivery_open ON delivery (seq) WHERE done_at IS NULL;

-- What was said in a conversation, by time.
CREATE INDEX delivery_said_at ON delivery (conversation, created_at)
  WHERE conversation IS NOT NULL;

CREATE INDEX inbound_state ON inbound (state, id);
CREATE INDEX inbound_channel ON inbound (channel, id);
CREATE INDEX inbound_channel_state ON inbound (channel, state, id);
CREATE INDEX inbound_conversation ON inbound (conversation, id)
  WHERE conversation IS NOT NULL;
DROP INDEX inbound_dead;

CREATE INDEX message_to_agent ON message_to (agent, message);
-- Sums and searches of attachments read this instead of their bytes.
CREATE INDEX media_size ON media (id, size);
