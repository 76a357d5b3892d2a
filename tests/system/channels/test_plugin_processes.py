"""The tree of a plugin ends with it, also a process of it that nothing tells
from a stranger's: not its parent, session or environment. Without a cgroup the
shim finds it; where the shim is killed, the spawner inherits it. Only if both
are killed a cgroup is needed."""
import os
import pathlib
import signal
import sys
import time

import lib
from plugin_lib import (SCRIPT, Bad, delivered, marked, nobody_left, plugin,
                        shim, show, await_last_error, until)
from skepd_lib import QUICK, Host, cgroups_of, faults_bin, host


SLEEP = os.path.realpath("/bin/sleep")

GOOD = r'''
import json, os, sys
open(sys.argv[1], "a").write("%d\n" % os.getpid())
def put(**m):
    print(json.dumps(dict(m, jsonrpc="2.0")), flush=True)
put(method="channel.register", params={"name": "good"})
for line in sys.stdin:
    m = json.loads(line)
    if "id" in m:
        put(id=m["id"], result={})
'''


def spawner(h):
    """Its pid, if there is one."""
    for entry in os.listdir("/proc"):
        try:
            name = pathlib.Path("/proc", entry, "comm").read_text()
            if (name.startswith("skep-spawner") and
                    stat(int(entry))["parent"] == h.process.pid):
                return int(entry)
        except (OSError, ValueError):
            pass
    return None


def stat(pid):
    text = pathlib.Path("/proc/%d/stat" % pid).read_text()
    state, parent, group, session = text.rsplit(")", 1)[1].split()[:4]
    return {"state": state, "parent": int(parent), "session": int(session)}


def lives(pid):
    try:
        return stat(pid)["state"] not in "ZX"
    except OSError:
        return False


def gone(*pids):
    lib.eventually(lambda: not any(lives(p) for p in pids), 30, "their end")


class Escape(Bad):
    """A plugin with an escaped process, and its shim."""

    def __init__(self, home, mode="escape", cgroup="off", **more):
        home.undo.append(self.end_them)  # done after the end of skepd
        more["cgroup"] = self.cgroup = cgroup
        more["sandbox"] = "off"  # in one, no process can get out of sight
        super().__init__(home, mode, message=False, **more)
        row = until(self.h, "bad", "ready")
        if cgroup != "off" and not cgroups_of(self.channel):
            lib.skip("no cgroup can be made here")
        self.pid = row["pid"]
        self.shim = shim(self.channel)
        # the escaped process writes it, after the plugin is ready maybe
        lib.eventually(lambda: self.notes("escaped"), 30, "its pid")
        self.escaped = int(self.notes("escaped")[0])
        lib.eventually(self.is_a_stranger, 30, "the escape")

    def end_them(self):
        """Should all else fail."""
        for pid in map(int, self.notes("escaped")):
            if lives(pid) and os.readlink("/proc/%d/exe" % pid) == SLEEP:
                os.kill(pid, signal.SIGKILL)

    def is_a_stranger(self):
        place = pathlib.Path("/proc", str(self.escaped))
        mine = stat(self.escaped)
        assert mine["session"] != stat(self.pid)["session"]
        same = (place / "cgroup").read_text() == pathlib.Path(
            "/proc/%d/cgroup" % self.h.process.pid).read_text()
        assert same == (self.cgroup == "off"), "in a cgroup of its own"
        return (not (place / "environ").read_bytes() and
                mine["parent"] == self.shim)

    def all_exited(self):
        gone(self.escaped, self.pid, self.shim)

    def ends_well(self):
        super().ends_well()
        assert not cgroups_of(self.channel), "its cgroup goes with it"


def test_it_goes_when_the_channel_is_disabled(home):
    e = Escape(home)
    home.skep("channel", "disable", "bad")
    e.all_exited()
    e.be_good()
    home.skep("channel", "enable", "bad")
    until(e.h, "bad", "ready")
    e.ends_well()


def test_it_goes_with_its_cgroup(home):
    e = Escape(home, cgroup="auto")
    home.skep("channel", "rm", "bad")
    e.all_exited()
    lib.eventually(lambda: not cgroups_of(e.channel), 30, "the cgroup's end")
    e.ends_well()


def test_it_goes_when_the_channel_is_removed(home):
    e = Escape(home)
    home.skep("channel", "rm", "bad")
    e.all_exited()
    e.ends_well()


def test_it_goes_when_skepd_goes(home):
    e = Escape(home)
    home.skep("down")
    e.h.process.wait(lib.HANG)
    assert not lives(e.escaped) and not lives(e.pid) and not lives(e.shim)
    e.ends_well()


def test_it_goes_when_the_plugin_ends(home):
    e = Escape(home, "escape and die")
    e.h.call("POST", "/v1/deliveries", {"channel": "bad", "body": {"text": "x"}})
    await_last_error(e.h, "bad", "it ended with status 3")
    e.be_good()
    delivered(e.h, 1, channel="bad")
    assert not lives(e.escaped), "before the next start"
    e.ends_well()


def test_it_goes_when_the_plugin_is_killed(home):
    e = Escape(home)
    os.kill(e.pid, signal.SIGKILL)
    await_last_error(e.h, "bad", "it died by signal 9 (Killed)")
    e.all_exited()
    e.be_good()
    until(e.h, "bad", "ready")
    e.ends_well()


def test_it_goes_when_skepd_is_killed(home):
    e = Escape(home)
    e.h.kill()
    e.all_exited()
    e.be_good()
    e.h.start()
    until(e.h, "bad", "ready")
    e.ends_well()


def test_there_are_never_two_when_skepd_is_killed_and_comes_back(home):
    e = Escape(home)
    e.h.kill()
    e.be_good()
    e.h.start()
    until(e.h, "bad", "ready")
    assert not lives(e.escaped), "before the next start"
    e.ends_well()


def test_the_next_skepd_wakes_a_shim_that_was_stopped(home):
    e = Escape(home)
    os.kill(e.shim, signal.SIGSTOP)
    e.h.kill()
    assert lives(e.escaped)
    e.be_good()
    e.h.start()
    until(e.h, "bad", "ready")
    assert not lives(e.escaped), "before the next start"
    e.ends_well()


def test_it_goes_when_the_shim_is_killed(home):
    e = Escape(home)
    os.kill(e.shim, signal.SIGKILL)
    await_last_error(e.h, "bad", "its shim has exited")
    e.all_exited()
    e.be_good()
    until(e.h, "bad", "ready")
    e.ends_well()


def test_the_next_skepd_ends_it_when_the_shim_and_skepd_are_killed(home):
    e = Escape(home, cgroup="auto")
    os.kill(e.h.process.pid, signal.SIGSTOP)  # it cannot see the other's end
    os.kill(e.shim, signal.SIGKILL)
    e.h.kill()
    gone(e.pid)
    assert lives(e.escaped), "nobody is there to end it"
    e.be_good()
    e.h.start()
    until(e.h, "bad", "ready")
    assert not lives(e.escaped), "before the next start"
    e.ends_well()


def test_it_survives_the_spawner_and_still_ends(home):
    e = Escape(home)
    first = spawner(e.h)
    os.kill(first, signal.SIGKILL)
    lib.eventually(lambda: spawner(e.h) not in (None, first), 30, "the next")
    e.be_good()
    e.h.call("POST", "/v1/deliveries", {"channel": "bad", "body": {"text": "x"}})
    delivered(e.h, 1, channel="bad")
    row = show(e.h, "bad")
    assert (row["pid"], row["starts"]) == (e.pid, 1), row
    home.skep("channel", "disable", "bad")
    e.all_exited()
    e.ends_well()


class Hung:
    """A plugin whose start the spawner has not seen to: it is stopped."""

    def __init__(self, home):
        self.home, self.began = home, home.dir / "began"
        self.h = host(home, prefork=0)
        self.spawner = lib.eventually(lambda: spawner(self.h), 30, "a spawner")
        home.undo.append(self.go_on)
        os.kill(self.spawner, signal.SIGSTOP)
        plugin(self.h, "p", sys.executable, "-c", GOOD, self.began)

    def go_on(self):
        try:
            os.kill(self.spawner, signal.SIGCONT)
        except ProcessLookupError:
            pass

    def ends_well(self):
        ident = show(self.h, "p")["id"]
        self.h.down()
        nobody_left(self.home)
        assert not cgroups_of(ident)


def test_one_is_started_by_the_next_spawner(home):
    s = Hung(home)
    os.kill(s.spawner, signal.SIGKILL)
    row = until(s.h, "p", "ready")
    assert (row["starts"], len(s.began.read_text().split())) == (1, 1), row
    output = home.skep("channel", "logs", "p").out
    assert "the spawner ended before it was started" in output, output
    s.ends_well()


def test_one_whose_spawner_dies_with_the_fork_is_ended_and_started(home):
    if not faults_bin():
        lib.skip("no build with fault points")
    place = home.dir / "good"
    place.mkdir()
    h = Host(home, {"run": dict(QUICK["run"], prefork=0)}, faults_bin("kill")).start(
        "skep-spawner/spawner_after_fork:kill")
    plugin(h, "p", sys.executable, SCRIPT, "good", place)
    await_last_error(h, "p", "the spawner ended before it was started")
    ident = show(h, "p")["id"]
    h.kill()
    h.start()
    until(h, "p", "ready")
    assert len(marked(ident)) == 1 and not (place / "two").exists()
    h.down()
    nobody_left(home)


def test_one_that_is_disabled_before_it_was_forked_does_not_run(home):
    s = Hung(home)
    home.skep("channel", "disable", "p")
    s.go_on()
    home.skep("channel", "enable", "p")
    until(s.h, "p", "ready")
    assert len(s.began.read_text().split()) == 1, "the second alone"
    s.ends_well()


def test_skepd_does_not_wait_for_one_that_was_not_forked(home):
    s = Hung(home)
    s.ends_well()
    assert not s.began.exists()
    assert "spawner ended" not in s.h.log(), "it was waited for"


def test_one_that_runs_away_is_caught(home):
    e = Bad(home, "run away", message=False, sandbox="off")
    until(e.h, "bad", "ready")
    mine = shim(e.channel)

    lib.eventually(lambda: len(e.notes("runs")) > 20, 30, "its run")
    before = len(e.notes("runs"))
    home.skep("channel", "disable", "bad")
    gone(mine)  # which has verified that no process is left
    runs = e.notes("runs")
    assert len(runs) > before, "it ran to the end"
    assert not any(lives(int(pid)) for pid in runs[-20:])
    time.sleep(0.3)
    assert e.notes("runs") == runs
    e.ends_well()


def test_the_plugin_has_its_pipes_for_itself(home):
    e = Escape(home)
    for fd in (0, 1):
        assert os.readlink("/proc/%d/fd/%d" % (e.shim, fd)) == "/dev/null"
        assert os.readlink("/proc/%d/fd/%d" % (e.pid, fd)).startswith("pipe:")
    assert sorted(os.listdir("/proc/%d/fd" % e.pid)) == ["0", "1", "2", "3"]
    assert os.readlink("/proc/%d/fd/3" % e.pid).endswith("/lock")
    env = pathlib.Path("/proc/%d/environ" % e.pid).read_text()
    assert "SKEP_CHANNEL=bad" in env and "SKEP_HOME=%s" % home.path in env
    assert "NOTIFY_SOCKET" not in env
    assert os.readlink("/proc/%d/cwd" % e.pid) == str(home.path)
    assert stat(e.pid)["session"] == e.pid
    e.ends_well()
