"""The tree of a plugin ends with it, also a process of it that nothing tells
from a stranger's: not its parent, session, environment or cgroup. No cgroup is
used for plugins, so these hold wherever they run."""
import os
import pathlib
import signal
import time

import lib
from plugin_lib import Bad, delivered, trouble, until, shim


SLEEP = os.path.realpath("/bin/sleep")


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

    def __init__(self, home, mode="escape", **more):
        home.undo.append(self.end_them)  # done after the end of skepd
        super().__init__(home, mode, message=False, **more)
        row = until(self.h, "bad", "ready")
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
        assert (place / "cgroup").read_text() == pathlib.Path(
            "/proc/%d/cgroup" % self.h.process.pid).read_text()
        return (not (place / "environ").read_bytes() and
                mine["parent"] == self.shim)

    def all_gone(self):
        gone(self.escaped, self.pid, self.shim)


def test_it_goes_when_the_channel_is_disabled(home):
    e = Escape(home)
    home.skep("channel", "disable", "bad")
    e.all_gone()
    e.be_good()
    home.skep("channel", "enable", "bad")
    until(e.h, "bad", "ready")
    e.ends_well()


def test_it_goes_when_the_channel_is_removed(home):
    e = Escape(home)
    home.skep("channel", "rm", "bad")
    e.all_gone()
    e.ends_well()


def test_it_goes_when_skepd_goes(home):
    e = Escape(home)
    home.skep("down")
    e.h.process.wait(60)
    assert not lives(e.escaped) and not lives(e.pid) and not lives(e.shim)
    e.ends_well()


def test_it_goes_when_the_plugin_ends(home):
    e = Escape(home, "escape and die")
    e.h.call("POST", "/v1/deliveries", {"channel": "bad", "body": {"text": "x"}})
    trouble(e.h, "bad", "it ended with status 3")
    e.be_good()
    delivered(e.h, 1, channel="bad")
    assert not lives(e.escaped), "before the next start"
    e.ends_well()


def test_it_goes_when_the_plugin_is_killed(home):
    e = Escape(home)
    os.kill(e.pid, signal.SIGKILL)
    trouble(e.h, "bad", "it died by signal 9 (Killed)")
    e.all_gone()
    e.be_good()
    until(e.h, "bad", "ready")
    e.ends_well()


def test_it_goes_when_skepd_is_killed(home):
    e = Escape(home)
    e.h.kill()
    e.all_gone()
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
    trouble(e.h, "bad", "its shim is gone")
    e.all_gone()
    e.be_good()
    until(e.h, "bad", "ready")
    e.ends_well()


def test_the_next_skepd_ends_it_when_the_shim_and_skepd_are_killed(home):
    e = Escape(home)
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


def test_one_that_runs_away_is_caught(home):
    e = Bad(home, "run away", message=False)
    until(e.h, "bad", "ready")
    mine = shim(e.channel)

    lib.eventually(lambda: len(e.notes("runs")) > 20, 30, "its run")
    before = len(e.notes("runs"))
    home.skep("channel", "disable", "bad")
    gone(mine)  # who has proven that nobody is left
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
    assert "SKEP_CHANNEL=bad" in env and "SKEP_PLUGIN_SHIM" not in env
    assert os.readlink("/proc/%d/cwd" % e.pid) == str(home.path)
    assert stat(e.pid)["session"] == e.pid
    e.ends_well()
