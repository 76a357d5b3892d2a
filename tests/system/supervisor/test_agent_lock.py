"""While something holds the write lock of one agent's file, everything else goes on."""
import os
import signal
import sqlite3
import threading

import lib
from channel_lib import receiver, settled, webhook
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

    def __init__(self, h, path, body):
        super().__init__(daemon=True)
        self.h, self.path, self.body, self.status = h, path, body, None
        self.start()

    def run(self):
        try:
            self.h.call("PATCH", self.path, self.body, seconds=120)
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
        settled(h, 4, "delivered")
        assert len(log.read_text().splitlines()) == 2
        h.call("GET", "/v1/rooms")
        assert [e.status for e in edits] == [None] * 3
        assert h.row(run)["state"] == "ending"
    for e in edits:
        e.join(60)
    assert [e.status for e in edits] == [200] * 3, [e.status for e in edits]
    h.until(run)
    h.down()
