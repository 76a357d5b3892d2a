"""A worker without skepd: the test plays supervisor."""
import json
import os
import queue
import sqlite3
import subprocess
import threading
import time

import lib

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def run_id(n):
    text = ""
    for _ in range(26):
        text = ALPHABET[n % 32] + text
        n //= 32
    return "run_" + text


class Supervisor:
    """fake_supervisor, and what it heard."""

    def __init__(self, home):
        self.home = home
        home.path.mkdir(parents=True, exist_ok=True)
        self.socket = str(home.path / "w.sock")
        self.heard = []
        self.start()

    def start(self):
        self.queue = queue.Queue()
        self.process = self.home.start(
            self.home.bin / "fake_supervisor", self.socket,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._read, args=(self.process, self.queue),
                         daemon=True).start()
        self.wait("listening")

    @staticmethod
    def _read(process, to):
        for line in process.stdout:
            to.put((time.monotonic(), json.loads(line)))

    def kill(self):
        self.process.kill()
        self.process.wait()

    def send_line(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def command(self, run, **message):
        self.send_line("%s %s" % (run, json.dumps(message)))

    def wait(self, kind, seconds=lib.HANG, **fields):
        """The next message of this type (with these fields)."""
        end = time.monotonic() + seconds
        while True:
            try:
                at, m = self.queue.get(timeout=max(end - time.monotonic(), 0))
            except queue.Empty:
                raise AssertionError("no %s %s in %g s; heard %s" % (
                    kind, fields, seconds, self.heard[-10:])) from None
            self.heard.append(m)
            if m["type"] == kind and all(m.get(k) == v
                                         for k, v in fields.items()):
                m["at"] = at
                return m


class Worker:
    """One attempt of a run."""

    def __init__(self, sup, driver, config=None, n=1, env=None, under=(),
                 **more):
        home = sup.home
        self.sup, self.home, self.run = sup, home, run_id(n)
        self.db = str(home.agent_db("a"))
        start = dict(type="start", run=self.run, attempt=1, token="secret",
                     agent="a", session="main", agent_db=self.db,
                     schema_version=0, epoch=1, driver=driver, config=config,
                     prompt="do it", workspace_mode="disk",
                     workspace=str(home.dir), socket=sup.socket,
                     on_supervisor_loss="continue", synchronous="normal",
                     heartbeat_ms=1000, grace_ms=300)
        start.update(more)
        self.start = start
        self.began = time.monotonic()
        self.process = home.start(*under, home.bin / "skep-worker", env=env,
                                  stdin=subprocess.PIPE)
        self.process.stdin.write(json.dumps(start).encode())
        self.process.stdin.close()

    def finished(self, **more):
        """Waits for the end; the worker must be gone soon after it."""
        m = self.sup.wait("finished", run=self.run, **more)
        self.status = self.process.wait(lib.HANG)
        return m

    def events(self, kind=None):
        rows = self.home.query(
            self.db, "SELECT coalesce(o.type, t.name), e.body FROM event e "
            "JOIN event_type t ON t.id = e.type LEFT JOIN event_extra o "
            "ON o.pos = e.pos ORDER BY e.pos")
        return [(t, json.loads(b)) for t, b in rows if kind in (None, t)]

    def has(self, kind, n=1):
        """Are there n such events yet? To be asked before there is a file."""
        try:
            return len(self.events(kind)) >= n
        except sqlite3.OperationalError:
            return False

    def status_row(self):
        return self.home.query(self.db, "SELECT status, reason FROM run "
                               "WHERE run_id = ?", self.run)[0]


def marked(word):
    """Processes with this word in their arguments or environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                args = f.read()
            with open("/proc/%s/environ" % pid, "rb") as f:
                env = f.read()
            with open("/proc/%s/stat" % pid) as f:
                state = f.read().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if (word.encode() in args or word.encode() in env) and state != "Z":
            found.append((int(pid), state))
    return found


# a tree that does not want to end: two processes that say "up" and "deep"
STUBBORN = r"""
import os, signal, sys, time
def stubborn():
    for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(s, signal.SIG_IGN)
stubborn()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        stubborn()
        print("deep", flush=True)
        while True: time.sleep(1)
    os._exit(0)
os.wait()
print("up", flush=True)
while True: time.sleep(1)
"""


def sh(home, text, **more):
    return Worker(Supervisor(home), "exec", {"shell": text, **more})


def ok(w):
    m = w.finished()
    assert m["outcome"] == "succeeded" and m["reason"] == "completed", m
    assert w.status == 0
    assert w.status_row() == ("succeeded", "completed"), w.status_row()
    return m


def failed(w, reason, detail=""):
    m = w.finished()
    assert (m["outcome"], m["reason"]) == ("failed", reason), m
    assert detail in m.get("detail", ""), m
    assert w.status == 0
    assert w.status_row() == ("failed", reason), w.status_row()
    assert w.events()[-1][0] == "run_finished"
    return m
