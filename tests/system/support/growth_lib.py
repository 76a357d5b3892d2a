"""A home with a long history, made in seconds: rows are inserted by SQL while no
supervisor runs, and indexes are built afterwards."""
import json
import sqlite3

AGENTS = 10
SESSIONS = 1000
AGENT, SESSION = "agent1", "long"

# What is inserted, table by table. :n is the number of rows, i runs from 1 to it.
CONTROL = (
    ("run", "runs", """
INSERT INTO run (id, agent, agent_version, session, state, reason, attempt,
  backoff_ms, grace_ms, tags, submitted_by, invocation, last_seq, created_at,
  started_at, ended_at, parent, retry_of, idem_key)
SELECT printf('run_%026d', i), 'agent' || (i % 10), 1, CASE WHEN i % 10 = 1 THEN 'long' ELSE 's' || (i % 1000) END,
  CASE i WHEN 7 THEN 'failed' WHEN 8 THEN 'cancelled' WHEN 9 THEN 'timed_out'
         ELSE 'succeeded' END, 'finished', 1, 1000, 5000,
  CASE WHEN i % 2 THEN '["odd"]' WHEN i = 10 THEN '["rare","even"]'
       ELSE '["even"]' END, 'cli:root', CASE i % 8 WHEN 0 THEN 'big'
  WHEN 4 THEN 'job' || (i / 32) END, 5,
  1794600000000 + i, 1794600000001 + i, 1794600000005 + i,
  CASE WHEN i % 5 = 0 THEN printf('run_%026d', 1) END,
  CASE WHEN i = 20 THEN printf('run_%026d', 1) END,
  CASE WHEN i % 3 = 0 THEN 'key' || i END FROM n"""),
    ("run_input", "runs", """
INSERT INTO run_input (run, prompt)
SELECT printf('run_%026d', i), 'do the work ' || i FROM n"""),
    ("run_transition", "runs", """
INSERT INTO run_transition (run, attempt, from_state, to_state, reason, at)
SELECT printf('run_%026d', i), 1, 'ending', 'succeeded', 'finished',
  1794600000005 + i FROM n"""),
    ("host_event", "runs", """
INSERT INTO host_event (at, kind, subject, agent, body)
SELECT 1794600000005 + i, 'run', printf('run_%026d', i), 'agent' || (i % 10),
  '{"state":"succeeded","from":"ending"}' FROM n"""),
    ("channel", None, """
INSERT INTO channel (name, id, kind, is_enabled, config, created_at, updated_at)
SELECT 'web' || i, printf('chn_%026d', i), 'pull', i = 1, '{}', 1, 1 FROM n
 WHERE i <= 4"""),
    ("conversation", "messages", """
INSERT INTO conversation (id, channel, peer, agent, session, last_message_at,
  last_inbound_at, messages, created_at)
SELECT printf('cnv_%026d', i), 'web' || (1 + i % 2), 'peer' || i, 'agent1',
  's' || i, 1794600000000 + i, 1794600000000 + i, 1, 1794600000000 FROM n"""),
    ("delivery", "messages", """
INSERT INTO delivery (id, channel, conversation, ordering_key, is_queued, is_next, state,
  source_key, agent, session, attempts, due_at, created_at, done_at, body)
SELECT printf('dlv_%026d', i), 'web' || (1 + i % 2), printf('cnv_%026d', 1 + i % 7),
  printf('cnv_%026d', 1 + i % 7), 0, 0,
  CASE WHEN i IN (5, 15, 25) THEN 'dead' WHEN i = 6 THEN 'discarded' ELSE 'delivered' END,
  'src' || i, 'agent' || (i % 10), 's' || (i % 100), 1, 1794600000000,
  1794600000000 + i, 1794600000001 + i, '{"text":"hello"}' FROM n"""),
    ("inbound", "messages", """
INSERT INTO inbound (id, channel, external_id, conversation, sender, kind, body,
  state, run, received_at)
SELECT printf('inb_%026d', i), 'web' || (1 + i % 2), 'ext' || i,
  printf('cnv_%026d', 1 + i % 7), 'peer', 'message', '{"text":"hello"}',
  CASE WHEN i IN (4, 5, 14, 24) THEN 'dead' WHEN i = 6 THEN 'discarded' ELSE 'queued' END,
  printf('run_%026d', i), 1794600000000 + i FROM n"""),
    ("message", "messages", """
INSERT INTO message (id, source_key, sender, room, body, created_at)
SELECT printf('msg_%026d', i), 'm' || i, 'agent2/s', 'lobby', 'hello',
  1794600000000 + i FROM n"""),
    ("message_to", "messages", """
INSERT INTO message_to (agent, session, message, read_at)
SELECT 'agent1', 's' || (i % 2), printf('msg_%026d', i),
  CASE WHEN i % 2 THEN 1794600000000 + i END FROM n"""),
    ("room_member", None, """
INSERT INTO room_member (room, agent, session, joined_at)
SELECT 'lobby', 'agent1', 's' || i, 1 FROM n WHERE i <= 20"""),
    ("approval", "messages", """
INSERT INTO approval (id, run, agent, key, title, state, fallback, asked_at)
SELECT printf('apr_%026d', i), printf('run_%026d', 1 + i % 3), 'agent1', 'k' || i,
  'may I?', CASE WHEN i = 5 THEN 'denied' WHEN i < 10 THEN 'open' ELSE 'allowed' END, 'deny',
  1794600000000 + i FROM n"""),
    ("audit", "messages", """
INSERT INTO audit (at, actor, act, subject)
SELECT 1794600000000 + i, 'cli:root', 'agent.set', 'agent1' FROM n"""),
)

# One session with all events, in the file of one agent, and the runs that wrote
# them: run i wrote the events 2i - 1 and 2i.
TRANSCRIPT = (
    ("session", None, """
INSERT INTO session (id, sid, key, status, kind, created_at, updated_at)
SELECT i, printf('ses_%026d', i), CASE i WHEN 1 THEN 'long' ELSE 's' || i END,
  CASE WHEN i = 5 THEN 'archived' ELSE 'active' END,
  CASE WHEN i = 6 THEN 'task' ELSE 'chat' END, 1794600000000, 1794600000000
  FROM n WHERE i <= 50000"""),
    ("run", "runs", """
INSERT INTO run (id, run_id, session, attempt, epoch, status, started_at, ended_at,
  after_seq)
SELECT i, printf('run_%026d', i * 10 + 1), 1, 1, 1, 'succeeded', 1794600000000 + i,
  1794600000005 + i, 2 * i - 2 FROM n"""),
    ("event", "events", """
INSERT INTO event (pos, type, at, run, body)
SELECT (1 << 32) | i, 2, 1794600000000 + i, (i + 1) / 2,
  json_object('role', CASE WHEN i % 2 THEN 'user' ELSE 'assistant' END, 'text',
  'the common word and number ' || i || CASE WHEN i % 100000 = 5 THEN ' rare'
  ELSE '' END) FROM n"""),
)


def fill(path, tables, counts):
    """Inserts the rows of all tables without their indexes, then builds these."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA foreign_keys = OFF")
    db.execute("PRAGMA synchronous = OFF")
    db.execute("PRAGMA cache_size = -200000")
    db.execute("BEGIN")
    names = {table for table, _, _ in tables}
    indexes = [(name, sql) for name, table, sql in db.execute(
        "SELECT name, tbl_name, sql FROM sqlite_master"
        " WHERE type = 'index' AND sql IS NOT NULL") if table in names]
    for name, _ in indexes:
        db.execute("DROP INDEX " + name)
    for _, count, sql in tables:
        n = counts[count] if count else 100000
        verb, select = sql.strip().split("SELECT", 1)
        db.execute("%s WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1"
                   " FROM n WHERE i < %d) SELECT%s" % (verb, n, select))
    for _, sql in indexes:
        db.execute(sql)
    db.execute("COMMIT")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


def fill_control(home, runs, messages):
    fill(home.control, CONTROL, {"runs": runs, "messages": messages})


def fill_agent(home, runs, events):
    fill(home.agent_db(AGENT), TRANSCRIPT, {"runs": runs, "events": events})


def loop_ns(pid):
    """CPU time of the main thread, which is the supervisor's loop."""
    with open("/proc/%d/task/%d/schedstat" % (pid, pid)) as f:
        return int(f.read().split()[0])


def openapi(host):
    return json.loads(json.dumps(host.call("GET", "/openapi.json")))
