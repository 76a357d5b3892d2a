"""Every named fault point, with every way to fail, in every program that has
it. Whatever happens: no acknowledged event is lost or doubled, no run is stuck,
no process and no socket is left.

One test a point; the build with the points in it is $SKEP_FAULTS_BIN, and for
processes that are killed or stall $SKEP_KILLS_BIN, if there is one."""
import http.client
import os
import time

import lib
from skepd_lib import Host, OVER, QUICK, Refused, fault_points, faults_bin

NOTES = 5
ACTIONS = "kill error stall kill:2 error:3"
SECONDS = lib.HANG
NO_PREFORK = {"run": dict(QUICK["run"], prefork=0)}


class Case:
    def __init__(self, home, fault, config):
        self.host = Host(home, config, faults_bin(fault))
        self.host.timeout = 8  # one that stalls is replaced
        self.fault = fault
        self.runs = {}
        self.seen = {}  # notes that were read from the file, a run
        self.armed = True

    def recover(self):
        """A supervisor that is dead or does not answer is replaced, by one
        without the fault."""
        h = self.host
        try:
            if h.process.poll() is None and h.answers(seconds=2):
                return
        except (AssertionError, Refused):
            pass
        if h.process.poll() is None:
            h.kill()
        self.armed = False
        h.start()

    def ask(self, fn, *args, **more):
        """Until it is answered; a request has a key, so asking again is safe."""
        end = time.monotonic() + SECONDS
        while True:
            try:
                return fn(*args, **more)
            except (OSError, http.client.HTTPException):
                self.recover()
            except Refused as e:
                if e.status < 500 or time.monotonic() > end:
                    raise
            if time.monotonic() > end:
                raise AssertionError("nobody answers: %s" % self.host.log()[-3000:])
            time.sleep(0.05)

    def begin(self):
        h = self.host
        h.start(self.fault, wait=False)
        end = time.monotonic() + 12
        while not (h.home.path / "run" / "skep.sock").exists():
            if h.process.poll() is not None or time.monotonic() > end:
                self.recover()
                break
            time.sleep(0.02)
        steps = [{"event": {"type": "note", "text": "n%d" % i}}
                 for i in range(NOTES)]
        self.ask(h.script, "quick", *steps)
        self.ask(h.script, "slow", *steps, {"event": {"type": "status"},
                                            "repeat": 600, "every_ms": 100})
        self.ask(h.shell, "shell", "echo hello; sleep 0.2; echo bye")
        for name, agent in (("one", "quick"), ("two", "quick"),
                            ("three", "shell"), ("four", "slow")):
            self.runs[name] = self.ask(h.submit, agent, idem_key=name,
                                       max_attempts=4, grace_ms=200,
                                       idle_timeout_ms=1000)

    def settle(self):
        h = self.host
        end = time.monotonic() + SECONDS
        cancelled = False
        while time.monotonic() < end:
            states = {n: self.ask(h.get, r) for n, r in self.runs.items()}
            self.look(states)
            if not cancelled and all(s["state"] in OVER or n == "four"
                                     for n, s in states.items()):
                self.ask(h.cancel, self.runs["four"])
                cancelled = True
            if all(s["state"] in OVER for s in states.values()):
                return states
            time.sleep(0.2)
        raise AssertionError("stuck: %s\n%s" % (
            [(n, s["state"], s["reason"], s["attempt"])
             for n, s in states.items()], h.log()[-4000:]))

    def look(self, states):
        """What is in a file once stays there."""
        for run in states.values():
            now = self.host.events(run["agent"], run["id"])
            before = self.seen.get(run["id"], [])
            assert now[:len(before)] == before, "an event changed or went"
            self.seen[run["id"]] = now

    def check(self, states):
        h = self.host
        for name in ("one", "two"):
            run = states[name]
            got = h.notes("quick", run["id"])
            if run["state"] == "succeeded":
                assert got[-NOTES:] == ["n%d" % i for i in range(NOTES)], got
                assert len(got) <= NOTES * run["attempt"], got
        assert states["four"]["state"] != "succeeded", states["four"]


def run_case(home, fault, config=QUICK):
    case = Case(home, fault, config)
    case.begin()
    states = case.settle()
    case.check(states)
    if case.host.process.poll() is None:
        case.host.process.terminate()
        try:
            case.host.process.wait(10)
        except Exception:
            case.host.kill()  # stalled at the very end
    case.recover()            # whatever it was, the next one comes up
    assert case.host.down() == 0
    case.host.check_books()


def alive(h):
    if h.process.poll() is not None:
        h.start(wait=False)
    return h


def accepted(h, key):
    try:
        return alive(h).submit("a", idem_key=key, max_attempts=1)
    except (Refused, OSError, http.client.HTTPException):
        return None


def over(h, run):
    try:
        row = alive(h).get(run)
        return row if row["state"] in OVER else None
    except (Refused, OSError, http.client.HTTPException):
        return None


def test_a_worker_made_before_its_commit_failed_has_done_nothing(home):
    """It waits at a gate that then closes; the run starts again, once."""
    if not faults_bin():
        lib.skip("no build with fault points")
    gate_closes(Host(home, QUICK, faults_bin()).start())


def test_the_same_of_a_worker_that_was_not_preforked(home):
    if not faults_bin():
        lib.skip("no build with fault points")
    gate_closes(Host(home, NO_PREFORK, faults_bin()).start())


def gate_closes(h):
    h.script("a", {"event": {"type": "note", "text": "n"}})
    h.until(h.submit("a"))
    assert h.down() == 0
    for n in (1, 2, 3, 4):  # one of these commits is that of the start
        for fault in ("txn_before_commit:error:%d" % n,
                      "txn_after_commit:kill:%d" % n):
            h.start(fault, wait=False)
            run = lib.eventually(lambda: accepted(h, fault), 60, "a run")
            row = lib.eventually(lambda: over(h, run), 60, "its end")
            assert (row["state"], row["attempt"]) == ("succeeded", 1), (
                fault, row, h.transitions(run))
            assert h.notes("a", run) == ["n"], (fault, h.events("a", run))
            assert h.down() == 0
    h.check_books()


def faults_at(point):
    """A point that several programs have is tried in each. (A thread of skepd
    that hangs in an agent's file is waited for, longer than a test should.)"""
    actions = os.environ.get("SKEP_FAULT_ACTIONS", ACTIONS).split()
    if not point.startswith("append_"):
        return ["%s:%s" % (point, a) for a in actions]
    return ["%s/%s:%s" % (program, point, a)
            for program in ("skep-worker", "skepd") for a in actions
            if program != "skepd" or "stall" not in a]


def make(point, config):
    def test(home):
        if not faults_bin():
            lib.skip("no build with fault points")
        for fault in faults_at(point):
            own = lib.Home(home.bin)
            try:
                run_case(own, fault, config)
            except Exception as e:
                raise AssertionError("%s: %s" % (fault, e)) from None
            finally:
                own.close()
    test.seconds = 400
    return test


# These are on the way of a worker that was forked for its run, as well.
STARTING = ("spawner_", "worker_before_open", "txn_")
# Those of operators' commands are tried by test_ops_crash.py.
OPERATIONS = ("backup_", "restore_", "import_", "prune_", "vacuum_",
              "workspace_",  # and those of workspaces by test_workspace_crash.py
              "child_",      # of child runs by test_child_runs.py
              "experiment_", # of experiments by test_try_crash.py
              "schedule_",   # of schedules by test_schedule_crash.py
              "export_", "agent_")  # of exports by test_agent_export.py

for _point in fault_points():
    if _point.startswith(OPERATIONS):
        continue
    _name = "test_nothing_is_lost_by_a_fault_at_" + _point
    globals()[_name] = make(_point, QUICK)
    if _point.startswith(STARTING):
        globals()[_name + "_without_prefork"] = make(_point, NO_PREFORK)
