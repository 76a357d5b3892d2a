"""A supervisor under test: starting, asking, killing it, and its books."""
import functools
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

import lib

ROOT = pathlib.Path(__file__).resolve().parents[3]
OVER = ("succeeded", "failed", "cancelled", "timed_out")
QUICK = {"run": {"heartbeat": "300ms", "start_timeout": "2500ms", "grace": "400ms",
                 "backoff": "50ms"}}


def faults_bin(fault="error"):
    """The directory of a build that has the fault points in it, or None. A
    process that is killed or stalls executes nothing more for a sanitizer to
    check, and a later error (error:3) little that the first one does not: for
    these $SKEP_KILLS_BIN may name a build that is faster."""
    quick = None if re.search(r"\berror$", fault) else os.environ.get("SKEP_KILLS_BIN")
    return _first_with_fault_points(quick)


@functools.cache
def _first_with_fault_points(quick):
    for path in (quick, os.environ.get("SKEP_FAULTS_BIN"),
                 ROOT / "build" / "faults", ROOT / "build" / "dev",
                 ROOT / "build" / "asan"):
        skepd = path and pathlib.Path(path) / "skepd"
        if skepd and skepd.exists() and b"fault injected at" in skepd.read_bytes():
            return pathlib.Path(path)
    return None


def fault_points():
    text = (ROOT / "lib/base/fault.def").read_text()
    return re.findall(r"^FAULT\((\w+),", text, re.M)


class Connection(http.client.HTTPConnection):
    def __init__(self, path, seconds):
        super().__init__("skep", timeout=seconds)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))


class Refused(Exception):
    def __init__(self, status, body):
        super().__init__("%d %s" % (status, body))
        self.status, self.body = status, body


class Host:
    """skepd in a home. Verbs raise Refused for an answer that is an error, and
    OSError when no server answers."""

    def __init__(self, home, config=QUICK, bin_dir=None, env=None):
        self.home, self.bin = home, bin_dir or home.bin
        self.env = env or {}
        self.process = None
        self.timeout = lib.HANG  # seconds for an answer
        home.path.mkdir(mode=0o700, exist_ok=True)
        (home.path / "skep.json").write_text(json.dumps(config))
        (home.path / "skep.json").chmod(0o600)

    # -- the process

    def start(self, fault=None, wait=True):
        env = dict(self.env)
        if fault:
            env["SKEP_FAULT"] = fault
        with open(self.home.dir / "skepd.log", "ab") as log:
            self.process = self.home.start(self.bin / "skepd", env=env,
                                           stderr=log)
        if wait:
            lib.eventually(self.answers, 60, "an answer of skepd")
        return self

    def answers(self, seconds=5):
        if self.process.poll() is not None:
            raise AssertionError("skepd ended: %s" % self.log()[-2000:])
        try:
            return self.call("GET", "/v1/health", seconds=seconds)
        except (OSError, http.client.HTTPException):
            return None

    def kill(self):
        self.process.kill()
        self.process.wait()

    def down(self, seconds=lib.HANG):
        """In order; its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def log(self):
        """Without the requests."""
        text = (self.home.dir / "skepd.log").read_text(errors="replace")
        return "".join(line for line in text.splitlines(True)
                       if "msg=http" not in line)

    # -- asking

    def call(self, method, path, body=None, seconds=None):
        c = Connection(self.home.path / "run" / "skep.sock",
                       seconds or self.timeout)
        try:
            c.request(method, path, None if body is None else json.dumps(body),
                      {"Content-Type": "application/json"})
            r = c.getresponse()
            text = r.read()
        finally:
            c.close()
        answer = json.loads(text) if text else None
        if r.status >= 400:
            raise Refused(r.status, answer)
        return answer

    def agent(self, name, driver="script", config=None, **more):
        self.call("PUT", "/v1/agents/" + name,
                  dict(driver=driver, config=config or {}, **more))
        return name

    def script(self, name, *steps, **more):
        return self.agent(name, "script", {"steps": list(steps)}, **more)

    def shell(self, name, text, **more):
        return self.agent(name, "exec", {"shell": text, "stdin": "none"}, **more)

    def submit(self, agent, prompt="go", **more):
        return self.call("POST", "/v1/runs",
                         dict(agent=agent, prompt=prompt, **more))["id"]

    def get(self, run):
        return self.call("GET", "/v1/runs/" + run)

    def cancel(self, run):
        return self.call("POST", "/v1/runs/%s/cancel" % run, {})

    def until(self, run, *states, seconds=lib.HANG):
        """Waits until the run is in one of the states; gives its row."""
        last = [None]

        def check():
            last[0] = self.get(run)
            return last[0]["state"] in (states or OVER) and last[0]
        try:
            return lib.eventually(check, seconds, "it")
        except AssertionError:
            raise AssertionError("%s is %s (%s), not %s\n%s" % (
                run, last[0]["state"], last[0]["reason"], states or "over",
                self.log()[-3000:]))

    def transitions(self, run):
        items = self.call("GET", "/v1/runs/%s/transitions" % run)["items"]
        return [(t["to_state"], t["reason"]) for t in items]

    # -- the books

    def row(self, run):
        """As stored; also without a supervisor."""
        names = "id agent state reason pid attempt last_seq".split()
        got = self.home.query(self.home.control, "SELECT %s FROM run WHERE id = ?"
                              % ",".join(names), run)
        return dict(zip(names, got[0]))

    def events(self, agent, run=None):
        """(seq, type, body) in order, of a run or of everything."""
        sql = ("SELECT e.pos & 4294967295, t.name, e.body FROM event e"
               " JOIN event_type t ON t.id = e.type"
               " LEFT JOIN run r ON r.id = e.run"
               " WHERE ?1 IS NULL OR r.run_id = ?1 ORDER BY e.pos")
        path = self.home.agent_db(agent)
        if not path.exists() or not self.home.query(
                path, "PRAGMA user_version")[0][0]:
            return []  # its tables are not there yet
        return [(seq, kind, json.loads(body))
                for seq, kind, body in self.home.query(path, sql, run)]

    def notes(self, agent, run):
        return [b.get("text") for _, kind, b in self.events(agent, run)
                if kind == "note"]

    def check_books(self):
        """Every run is over and moved step by step; every transcript is whole
        and has one end a run; nothing of a run is left on the machine."""
        q = self.home.query
        runs = q(self.home.control, "SELECT id, agent, state, attempt,"
                 " max_attempts FROM run")
        for run, agent, state, attempt, most in runs:
            transitions = q(self.home.control, "SELECT from_state, to_state, reason"
                      " FROM run_transition WHERE run = ? ORDER BY id", run)
            assert state in OVER, "%s is %s: %s" % (run, state, transitions)
            assert transitions[0][:2] == (None, "queued"), transitions
            for before, after in zip(transitions, transitions[1:]):
                assert before[1] == after[0], (run, transitions)
            assert transitions[-1][1] == state, (run, transitions)
            starts = sum(m[1] == "starting" for m in transitions)
            again = [m[2] for m in transitions if m[:2] == ("ending", "queued")]
            failed_starts = min(3, sum(
                r in ("spawn_failed", "start_timeout") for r in again))
            failed_starts += again.count("session_workspace")
            assert starts == attempt + failed_starts, (run, attempt, transitions)
            assert attempt <= most, (run, attempt, most, transitions)
        for path in sorted((self.home.path / "agents").glob("*/agent.sqlite")):
            if q(path, "PRAGMA user_version")[0][0]:
                self.check_transcript(path, dict((r[0], r[2]) for r in runs))
            else:  # without tables: no attempt came far enough to have events
                assert not [r for r in runs if r[1] == path.parent.name
                            and r[2] == "succeeded"], path
        self.home.integrity()
        left = [p.name for p in (self.home.path / "run").iterdir()
                if p.is_socket()]
        assert not left, "a socket is left: %s" % left
        left = [p for p in self.home._survivors() if not self.is_zombie(p)]
        assert not left, "processes are left: %s" % [
            pathlib.Path("/proc/%d/cmdline" % p).read_bytes() for p in left]

    @staticmethod
    def is_zombie(pid):
        try:
            text = pathlib.Path("/proc/%d/stat" % pid).read_text()
        except OSError:
            return True
        return text[text.rindex(")") + 2] in "ZX"

    def check_transcript(self, path, states):
        q = self.home.query
        rows = q(path, "SELECT pos >> 32, count(*), min(pos & 4294967295),"
                 " max(pos & 4294967295) FROM event GROUP BY 1")
        for session, n, first, last in rows:
            assert (first, last) == (1, n), "a gap: %s" % (rows,)
        ends = q(path, "SELECT r.run_id, r.status, r.attempt, count(e.pos),"
                 " count(e.pos) FILTER (WHERE e.body LIKE '%\"succeeded\"%')"
                 " FROM run r LEFT JOIN event e ON e.run = r.id AND e.type IN"
                 " (SELECT id FROM event_type WHERE name IN"
                 "  ('run_finished','cancelled')) GROUP BY 1")
        for run, status, attempts, n, good in ends:
            assert n <= attempts, "%s ends %d times" % (run, n)
            won = states.get(run) == "succeeded"
            assert good == won, (run, status, states.get(run), good, q(
                self.home.control, "SELECT attempt, to_state, reason, detail"
                " FROM run_transition WHERE run = ?", run), self.log()[-2000:])
            assert (status == "succeeded") == won, (run, status)
        prompts = q(path, "SELECT key, count(*) FROM event WHERE key IS NOT NULL"
                    " GROUP BY pos >> 32, key HAVING count(*) > 1")
        assert not prompts, prompts


def in_one_turn(h, *requests):
    """Requests that skepd reads in one turn of its loop; their statuses."""
    calls = [Connection(h.home.path / "run" / "skep.sock", 60) for _ in requests]
    for c in calls:
        c.request("GET", "/v1/health")
        c.getresponse().read()
    h.process.send_signal(signal.SIGSTOP)
    try:
        for c, (path, body) in zip(calls, requests):
            c.request("POST", path, json.dumps(body),
                      {"Content-Type": "application/json"})
    finally:
        h.process.send_signal(signal.SIGCONT)
    answers = [c.getresponse() for c in calls]
    for c, r in zip(calls, answers):
        r.read()
        c.close()
    return [r.status for r in answers]


def host(home, **config):
    """A supervisor with quick settings, and these over them."""
    merged = {"run": dict(QUICK["run"], **config)}
    return Host(home, merged).start()


def cgroups_of(ident):
    """Those of a run or a plugin channel, in both versions."""
    out = subprocess.run(["find", "/sys/fs/cgroup", "-maxdepth", "6", "-name",
                          "skep-*-" + ident], text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL)
    return out.stdout.split()


def finish(h):
    assert h.down() == 0, h.log()[-2000:]
    h.check_books()
