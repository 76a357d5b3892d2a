"""Plugins under test: adding them, and looking at their processes."""
import os
import pathlib

import lib
from channel_lib import deliveries
from skepd_lib import Host


def plugin(h, name, *command, **config):
    h.call("PUT", "/v1/channels/" + name, {
        "kind": "plugin", "command": [str(c) for c in command],
        "config": dict({"backoff": 50, "timeout": 1000}, **config)})


def show(h, name):
    return h.call("GET", "/v1/channels/" + name)


def marked(ident):
    """Living processes that bear the mark of a channel's id."""
    mark = b"SKEP_RUN_ID=" + ident.encode() + b"\0"
    found = []
    for entry in os.listdir("/proc"):
        try:
            env = pathlib.Path("/proc", entry, "environ").read_bytes()
            if mark in env + b"\0" and not Host.is_zombie(int(entry)):
                found.append(int(entry))
        except (OSError, ValueError):
            pass
    return found


def processes(h, name):
    return marked(show(h, name)["id"])


def until(h, name, state, seconds=30):
    return lib.eventually(lambda: show(h, name)["state"] == state and
                          show(h, name), seconds, "%s is %s" % (name, state))


def trouble(h, name, words, seconds=30):
    """Waits until the channel says so."""
    return lib.eventually(lambda: words in (show(h, name)["trouble"] or ""),
                          seconds, "trouble: " + words)


def delivered(h, n, **filters):
    return lib.eventually(lambda: len(deliveries(h, state="delivered",
                                                 **filters)) >= n, 30,
                          "%d deliveries" % n)


def nobody_left(home):
    """Nothing of this home goes on."""
    lib.eventually(lambda: not [p for p in home._survivors()
                                if not Host.is_zombie(p)], 10, "the end of all")
