"""Plugins under test: adding them, and looking at their processes."""
import os
import pathlib
import statistics
import sys

import lib
from channel_lib import deliveries, post, receiver, webhook
from skepd_lib import Host, host

SCRIPT = pathlib.Path(__file__).resolve().parent / "bad_plugin.py"
EXAMPLES = SCRIPT.parents[3] / "docs" / "examples"


def paths(home):
    """The setting `paths` of a plugin whose files are beside the home. The tests
    may be in a directory that the sandbox hides."""
    return {"write": [str(home.dir), str(SCRIPT.parent), str(EXAMPLES)]}


def plugin(h, name, *command, **config):
    h.call("PUT", "/v1/channels/" + name, {
        "kind": "plugin", "command": [str(c) for c in command],
        "config": dict({"backoff": 50, "timeout": 1000,
                        "paths": paths(h.home)}, **config)})


def show(h, name):
    return h.call("GET", "/v1/channels/" + name)


def tagged(ident):
    """Living processes with the tag of a channel's id, in any home: pid, and
    whether it is a shim. (The spawner has the tag of its last child, and the
    first process in a sandbox that of the plugin.)"""
    tag = b"SKEP_RUN_ID=" + ident.encode() + b"@"
    found = []
    for entry in os.listdir("/proc"):
        try:
            place = pathlib.Path("/proc", entry)
            env = (place / "environ").read_bytes()
            if tag in env and not Host.is_zombie(int(entry)):
                name = (place / "comm").read_text().strip()
                if name not in ("skep-spawner", "skep-init"):
                    found.append((int(entry), name == "skep-plugin"))
        except (OSError, ValueError):
            pass
    return found


def marked(ident):
    """Living processes of the plugin of a channel's id, without the shim."""
    return [pid for pid, is_shim in tagged(ident) if not is_shim]


def shim(ident):
    """The process below which the plugin of a channel's id runs."""
    [pid] = [pid for pid, is_shim in tagged(ident) if is_shim]
    return pid


def processes(h, name):
    return marked(show(h, name)["id"])


def until(h, name, state, seconds=lib.HANG):
    return lib.eventually(lambda: show(h, name)["state"] == state and
                          show(h, name), seconds, "%s is %s" % (name, state))


def await_last_error(h, name, words, seconds=lib.HANG):
    """Waits until the channel says so."""
    return lib.eventually(lambda: words in (show(h, name)["last_error"] or ""),
                          seconds, "trouble: " + words)


def delivered(h, n, **filters):
    return lib.eventually(lambda: len(deliveries(h, state="delivered",
                                                 **filters)) >= n, 30,
                          "%d deliveries" % n)


def nobody_left(home):
    """Nothing of this home goes on."""
    lib.eventually(lambda: not [p for p in home._survivors()
                                if not Host.is_zombie(p)], 10, "the end of all")


class Bad:
    """A bad plugin, and a good channel beside it."""

    def __init__(self, home, mode, message=True, cgroup="auto", **config):
        self.home, self.place = home, home.dir / "bad"
        self.place.mkdir()
        self.receiver = receiver(home)
        self.h = host(home, cgroup=cgroup)
        webhook(self.h, "good", self.receiver.url, timeout=20000)
        self.usual = self.others_go_on()
        plugin(self.h, "bad", sys.executable, SCRIPT, mode, self.place,
               **dict({"timeout": 600}, **config))
        self.channel = show(self.h, "bad")["id"]
        self.message = post(self.h, "bad", "x") if message else None

    def notes(self, name):
        path = self.place / name
        return path.read_text().splitlines() if path.exists() else []

    def starts(self):
        return [float(x.split()[0]) for x in self.notes("starts")]

    def pids(self):
        return [int(x.split()[1]) for x in self.notes("starts")]

    def be_good(self):
        (self.place / "good").touch()

    def memory(self):
        text = pathlib.Path("/proc/%d/status" % self.h.process.pid).read_text()
        return int(text.split("VmRSS:")[1].split()[0]) * 1024

    def cpu(self):
        """Seconds of processor time that skepd's loop has used."""
        pid = self.h.process.pid
        text = pathlib.Path("/proc/%d/task/%d/schedstat" % (pid, pid)).read_text()
        return int(text.split()[0]) / 1e9

    def others_go_on(self, n=15):
        """What skepd's loop works from posting a message on the good channel to
        its receiver, the middle of n, one after the other. Processor time: the
        load of the machine does not count, the work for others does."""
        took = []
        for i in range(n):
            began = self.cpu()
            ident = post(self.h, "good", "g", "c%d" % i)
            lib.eventually(lambda: ident in self.receiver.ids(), 60, "a message")
            took.append(self.cpu() - began)
        return statistics.median(took)

    def as_usual(self):
        took = self.others_go_on()
        assert took < 10 * self.usual + 0.25, (took, self.usual)

    def ends_well(self):
        assert not self.notes("two"), "two at once"
        self.h.down()
        nobody_left(self.home)
