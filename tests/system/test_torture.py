"""Random runs, cancels and kills of workers, spawner and supervisor for three
minutes; at the end the books balance. SKEP_TORTURE_SECONDS says for how long
instead, SKEP_TORTURE_SEED repeats one."""
import http.client
import os
import random
import signal
import time

import lib
from skepd_lib import Host, OVER, Refused

SECONDS = int(os.environ.get("SKEP_TORTURE_SECONDS", "180"))
CONFIG = {"run": {"heartbeat": 300, "start_timeout": 2000, "grace": 300,
                  "backoff": 20, "max": 24, "per_agent": 8}}
NOTES = 8


class Torture:
    def __init__(self, home, seed):
        self.random = random.Random(seed)
        self.host = Host(home, CONFIG)
        self.home = home
        self.runs = {}  # id -> agent
        self.acts = {}
        self.number = 0

    def agents(self):
        h = self.host
        notes = [{"event": {"type": "note", "text": "n%d" % i}}
                 for i in range(NOTES)]
        h.script("quick", *notes)
        h.script("slow", *notes, {"sleep_ms": 700})
        h.script("crash", *notes[:3], {"crash": "now", "attempts": 1},
                 *notes[3:])
        h.script("chatty", {"event": {"type": "note", "text": "c"},
                            "repeat": 300, "every_ms": 2, "batch": 4})
        h.shell("shell", "echo a; (sleep 3 &) ; sleep 0.3; echo b")
        h.shell("stubborn", "trap '' TERM; echo here; sleep 2; echo gone")

    def restart(self):
        if self.host.process.poll() is None:
            self.host.kill()
        self.host.start()

    def submit(self):
        agent = self.random.choice(["quick", "slow", "crash", "chatty",
                                    "shell", "stubborn"])
        self.number += 1
        more = {"idem_key": "k%d" % self.number, "max_attempts": 5}
        if self.random.random() < 0.3:
            more["session"] = "s%d" % self.random.randrange(3)
        if self.random.random() < 0.2:
            more["priority"] = self.random.randrange(10)
        for _ in range(50):
            try:
                self.runs[self.host.submit(agent, **more)] = agent
                return
            except (OSError, http.client.HTTPException):
                self.restart()
        raise AssertionError("nobody takes a run")

    def cancel(self):
        if self.runs:
            self.host.cancel(self.random.choice(list(self.runs)))

    def pause(self):
        if self.runs:
            run = self.random.choice(list(self.runs))
            try:
                self.host.call("POST", "/v1/runs/%s/pause" % run)
                self.host.call("POST", "/v1/runs/%s/resume" % run)
            except Refused:
                pass

    def kill_worker(self):
        rows = self.home.query(self.home.control, "SELECT pid FROM run WHERE"
                               " pid IS NOT NULL AND state = 'running'")
        if rows:
            try:
                os.kill(self.random.choice(rows)[0], signal.SIGKILL)
            except ProcessLookupError:
                pass

    def kill_spawner(self):
        for pid in self.home._survivors():
            try:
                with open("/proc/%d/comm" % pid) as f:
                    if f.read().strip() == "skep-spawner":
                        os.kill(pid, signal.SIGKILL)
            except OSError:
                pass

    def kill_skepd(self):
        self.host.kill()
        time.sleep(self.random.random() * 0.3)
        self.host.start()

    def restart_in_order(self):
        self.host.down()
        self.host.start()

    def act(self):
        choice = self.random.choices(
            [self.submit, self.cancel, self.pause, self.kill_worker,
             self.kill_spawner, self.kill_skepd, self.restart_in_order],
            [60, 12, 6, 12, 2, 4, 2])[0]
        self.acts[choice.__name__] = self.acts.get(choice.__name__, 0) + 1
        try:
            choice()
        except (OSError, http.client.HTTPException):
            self.restart()

    def settle(self):
        h = self.host
        for run in self.runs:
            if self.runs[run] in ("slow", "stubborn", "chatty"):
                h.cancel(run)
        lib.eventually(lambda: not self.home.query(
            self.home.control, "SELECT 1 FROM run WHERE state NOT IN %s LIMIT 1"
            % (OVER,)), 60, "the end of all runs: %s" % self.home.query(
                self.home.control, "SELECT id, state, reason, agent FROM run"
                " WHERE state NOT IN %s" % (OVER,)))

    def check(self):
        h = self.host
        stored = {r for r, in self.home.query(self.home.control,
                                              "SELECT id FROM run")}
        assert stored == set(self.runs), "accepted and stored differ"
        for run, agent in self.runs.items():
            row = h.row(run)
            got = h.notes(agent, run)
            if agent in ("quick", "slow", "crash") and \
                    row["state"] == "succeeded":
                assert got[-NOTES:] == ["n%d" % i for i in range(NOTES)] or \
                    agent == "crash", (run, row, got)


def test_random_kills_and_cancels_leave_the_books_balanced(home):
    seed = int(os.environ.get("SKEP_TORTURE_SEED", "0")) or \
        random.randrange(1 << 30)
    t = Torture(home, seed)
    t.host.start()
    t.agents()
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        t.act()
        time.sleep(t.random.random() * 0.03)
    print("seed %d, %d runs, %s" % (seed, len(t.runs), t.acts), flush=True)
    t.settle()
    assert t.host.down() == 0
    t.check()
    t.host.check_books()
    states = home.query(home.control,
                        "SELECT state, count(*) FROM run GROUP BY 1")
    print(states)


test_random_kills_and_cancels_leave_the_books_balanced.seconds = \
    SECONDS * 2 + 120
