"""While something holds the write lock of one agent's file, everything else goes on."""
import os
import signal
import sqlite3
import threading

import lib
from channel_lib import receiver, await_deliveries, webhook
from skepd_lib import Connection, Refused, host


class Locked:
    """The write lock of an agent's file, as a run holds it that writes much."""

    def __init__(self, h, agent):
        self.db = sqlite3.connect(h.home.agent_db(agent), isolation_level=None)

    def __enter__(self):
        self.db.execute("BEGIN IMMEDIATE")
        return self

    def __exit__(self, *args):
        self.db.execute("ROLLBACK")
        self.db.close()


class Waiting(threading.Thread):
    """A request that is answered when the lock is free."""

    def __init__(self, h, path, body, method="PATCH"):
        super().__init__(daemon=True)
        self.h, self.path, self.body, self.status = h, path, body, None
        self.method = method
        self.start()

    def run(self):
        try:
            self.h.call(self.method, self.path, self.body, seconds=120)
            self.status = 200
        except Refused as e:
            self.status = e.status


def test_the_lock_of_one_agent_delays_no_other(home):
    r = receiver(home)
    h = host(home)
    webhook(h, "web", r.url)
    log = home.dir / "log"
    h.call("PUT", "/v1/channels/log", {"kind": "file", "config": {"path": str(log)}})
    h.script("a", {"stall": "for ever"})
    h.script("b", *({"outbox": {"key": to, "target": {"channel": to},
                                "body": {"text": "from b"}}} for to in ("web", "log")))
    run = h.submit("a", session="s")
    h.until(run, "running")
    lib.eventually(lambda: len(h.events("a", run)) > 1, 60, "its first events")
    session = "/v1/sessions/a/s"
    with Locked(h, "a"):
        # each of these waits for the file of a
        os.kill(h.row(run)["pid"], signal.SIGKILL)
        edits = [Waiting(h, session, {"title": "t%d" % i}) for i in range(3)]
        lib.eventually(lambda: h.row(run)["state"] == "ending", 60, "the end of a")
        # and nothing here does
        for i in range(2):
            other = h.submit("b", session="s%d" % i)
            c = Connection(h.home.path / "run" / "skep.sock", 60)
            c.request("GET", "/v1/runs/%s/events" % other,
                      headers={"Accept": "text/event-stream"})
            text = c.getresponse().read()
            assert b"run_finished" in text, text
            c.close()
            assert h.until(other)["state"] == "succeeded"
        await_deliveries(h, 4, "delivered")
        assert len(log.read_text().splitlines()) == 2
        h.call("GET", "/v1/rooms")
        assert [e.status for e in edits] == [None] * 3
        assert h.row(run)["state"] == "ending"
    for e in edits:
        e.join(60)
    assert [e.status for e in edits] == [200] * 3, [e.status for e in edits]
    h.until(run)
    h.down()


def make_old(home, agent):
    """The file of an agent is one of an older program: it has no schema yet."""
    path = home.agent_db(agent)
    for suffix in ("", "-wal", "-shm"):
        if os.path.exists(str(path) + suffix):
            os.unlink(str(path) + suffix)
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("CREATE TABLE t (a)")
    db.execute("DROP TABLE t")
    db.close()
    home.execute(home.control, "UPDATE agent_database SET schema_version = 0 "
                 "WHERE agent = ?", agent)


def test_the_migration_of_one_file_delays_no_other_agent(home):
    h = host(home)
    for name in ("a", "b"):
        h.script(name, {"event": {"type": "note"}})
        h.until(h.submit(name))
    h.down()
    make_old(home, "a")
    with Locked(h, "a"):
        h.start()
        run = h.submit("a")
        lib.eventually(lambda: "migrating the file of an agent" in h.log(), 60,
                       "the migration")
        asked = Waiting(h, "/v1/agents/a/file", None, "POST")
        for _ in range(2):
            assert h.until(h.submit("b"))["state"] == "succeeded"
        h.call("GET", "/v1/health")
        assert h.row(run)["state"] == "queued"
        assert asked.status is None
    assert h.until(run)["state"] == "succeeded"
    asked.join(60)
    assert asked.status == 200, asked.status
    [[version]] = home.query(home.control, "SELECT schema_version FROM "
                             "agent_database WHERE agent = 'a'")
    assert version > 0
    h.down()


def test_a_run_whose_file_cannot_be_migrated_fails_with_the_reason(home):
    h = host(home)
    h.script("a", {"event": {"type": "note"}})
    h.until(h.submit("a"))
    h.down()
    home.execute(home.control, "UPDATE agent_database SET schema_version = 0")
    home.agent_db("a").write_bytes(b"no database" * 1000)
    h.start()
    row = h.until(h.submit("a"))
    assert (row["state"], row["reason"]) == ("failed", "agent_broken"), row
    assert "agent.sqlite" in row["detail"], row
    h.down()
