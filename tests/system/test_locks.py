"""POSIX locks of skepd and of a worker on their databases: no route and no command
may cost them. (Closing any descriptor of a file drops all locks of the process.)"""
import os
import re
import sqlite3

import lib
from skepd_lib import Refused, host

# What a connection in WAL mode always has: the shared lock on the file, and the
# one on the -shm that says that somebody uses it.
SHARED, IN_USE = "1073741826", "128"
VALUES = {"name": "ann", "agent": "ann", "key": "s", "session": "s", "id": "none"}


def locks(pid):
    """{(inode, first byte)} of the locks that stay."""
    got = set()
    with open("/proc/locks") as f:
        for line in f:
            w = line.split()
            if "->" not in w and w[1] == "POSIX" and int(w[4]) == pid and \
                    w[6] in (SHARED, IN_USE):
                got.add((int(w[5].rsplit(":", 1)[1]), w[6]))
    return got


def inodes(path):
    return {os.stat(str(path) + end).st_ino for end in ("", "-shm")}


class Watch:
    def __init__(self, home):
        self.home, self.h = home, host(home)
        self.h.shell("ann", "sleep 600")
        self.run = self.h.submit("ann", session="s")
        self.worker = self.h.until(self.run, "running")["pid"]
        self.files = inodes(home.control) | inodes(home.agent_db("ann"))
        self.before = {pid: {x for x in locks(pid) if x[0] in self.files}
                       for pid in (self.h.process.pid, self.worker)}
        assert len(self.before[self.h.process.pid]) >= 2, self.before
        assert len(self.before[self.worker]) >= 2, self.before

    def check(self, what):
        for pid, want in self.before.items():
            lib.eventually(lambda: want <= locks(pid), 5,
                           "the locks of %d after %s" % (pid, what))

    def end(self):
        self.h.cancel(self.run)
        self.h.until(self.run, "cancelled")
        self.h.down()


def test_the_watch_notices_a_lost_lock(home):
    if not os.path.exists("/proc/locks"):
        lib.skip("no /proc/locks")
    path = home.dir / "t.sqlite"
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("CREATE TABLE t (x)")
    db.execute("SELECT * FROM t").fetchall()
    both = {(i, byte) for i, byte in locks(os.getpid()) if i in inodes(path)}
    assert len(both) == 2, both
    for name in (path, str(path) + "-shm"):
        open(name, "rb").close()
    assert not both & locks(os.getpid())
    db.close()


def test_no_route_costs_a_lock(home):
    if not os.path.exists("/proc/locks"):
        lib.skip("no /proc/locks")
    w, asked = Watch(home), 0
    for path, methods in w.h.call("GET", "/openapi.json")["paths"].items():
        url = re.sub(r"\{(\w+)\}", lambda m: VALUES.get(m.group(1), "none"), path)
        for method in methods:
            # those that wait, stop the server, or end the run that is watched
            if re.search("stream|next|wait|shutdown|drain|stop", path) or (
                    method == "delete" and url == "/v1/agents/ann"):
                continue
            try:
                w.h.call(method.upper(), url, {} if method != "get" else None,
                         seconds=20)
            except (Refused, ValueError, OSError):
                pass
            asked += 1
            w.check(method + " " + url)
    assert asked > 30, asked
    print("%d requests" % asked)
    w.end()


COMMANDS = (
    "status", "run ls", "agent ls", "agent show ann", "session ls", "session show s",
    "session tail s", "session append s hello", "session search hello",
    "session export s", "session fork s t", "state ls", "state stats",
    "state checkpoint", "state checkpoint --mode full", "state tend --since 1h",
    "state vacuum --incremental", "state sweep", "state prune --keep-days 1 --dry-run",
    "doctor", "backup create --to {dir}/b.skepbackup", "backup verify {dir}/b.skepbackup",
    "vfs ls ann", "artifact put {db} --agent ann", "artifact put {db}-shm --agent ann",
    "session import {db}", "audit ls", "config check",
)


def test_no_command_costs_a_lock(home):
    if not os.path.exists("/proc/locks"):
        lib.skip("no /proc/locks")
    w = Watch(home)
    for text in COMMANDS:
        words = text.format(dir=home.dir, db=home.agent_db("ann")).split()
        more = ["--agent", "ann"] if words[0] == "session" else []
        home.skep(*words, *more, code=None)
        w.check(text)
    w.end()


def test_a_command_does_not_read_the_database_that_it_has_open(home):
    home.skep("agent", "add", "ann", "--driver", "script")
    home.skep("session", "append", "s", "hello", "--agent", "ann")
    for path in (home.agent_db("ann"), str(home.agent_db("ann")) + "-shm"):
        r = home.skep("artifact", "put", path, "x", "--agent", "ann", code=None)
        assert r.code != 0, r.out
    ((n,),) = home.query(home.agent_db("ann"), "SELECT count(*) FROM artifact")
    assert n == 0, n


for test in (test_no_route_costs_a_lock, test_no_command_costs_a_lock):
    test.seconds = 120
