"""How plugins come to their end: those of this home only, in the same time on
every way, without work for skepd, and told if one does not."""
import os
import pathlib
import shutil
import signal
import sys
import time

import lib
from plugin_lib import (SCRIPT, Bad, marked, nobody_left, plugin, show, until,
                        shim)
from skepd_lib import QUICK, Host, cgroups_of, host


def elsewhere(home):
    """Another home, for the same programs."""
    other = lib.Home(home.bin)
    home.undo.append(other.close)
    return other


def test_a_restored_home_leaves_the_first_one_alone(home):
    b = Bad(home, "escape", message=False, sandbox="off")
    first = until(b.h, "bad", "ready")
    child = int(lib.eventually(lambda: b.notes("escaped"), 30, "its child")[0])
    archive = home.dir / "backup"
    home.skep("backup", "create", "-o", archive)
    copy = elsewhere(home)
    home.skep("backup", "restore", archive, "--to", copy.path)
    (b.place / "lock").unlink()  # so that the second is not taken for two
    h = Host(copy).start()
    second = until(h, "bad", "ready")
    assert second["id"] == first["id"] and second["pid"] != first["pid"]
    time.sleep(1)  # for a word that was said by mistake
    row = show(b.h, "bad")
    assert (row["state"], row["pid"], row["starts"]) == (
        "ready", first["pid"], first["starts"]), row
    assert not Host.is_zombie(child)
    h.down()
    assert not Host.is_zombie(child) and show(b.h, "bad")["state"] == "ready"
    b.ends_well()
    assert Host.is_zombie(child)


def ticks(pid):
    """Of the processor, that a process has had."""
    text = pathlib.Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1]
    return sum(map(int, text.split()[11:13]))


def test_many_that_do_not_listen_cost_the_next_skepd_little(home):
    crowd = [home.start("sleep", "1000") for _ in range(150)]
    h = host(home)
    names = ["p%d" % i for i in range(8)]
    for name in names:
        place = home.dir / name
        place.mkdir()
        plugin(h, name, sys.executable, SCRIPT, "stubborn", place)
    for name in names:
        until(h, name, "ready")
    for name in names:  # they are not ended but by the next skepd
        os.kill(shim(show(h, name)["id"]), signal.SIGSTOP)
    h.kill()
    h.start()
    began, had = time.monotonic(), ticks(h.process.pid)
    answers = 0
    for name in names:
        while show(h, name)["state"] == "ending":
            h.call("GET", "/v1/health")
            answers += 1
            time.sleep(0.02)
    share = ((ticks(h.process.pid) - had) / os.sysconf("SC_CLK_TCK") /
             (time.monotonic() - began))
    assert answers > len(names), answers  # it does not wait for one of them
    assert share < 0.3, share
    for name in names:
        (home.dir / name / "good").touch()
        until(h, name, "ready")
        assert not (home.dir / name / "two").exists()
    h.down()
    for p in crowd:
        p.kill()
    nobody_left(home)


# It has a child that its shim and skepd may not signal, and ends itself.
HELD = r'''
import os, sys, time
if not os.path.exists(sys.argv[1]):
    pid = os.fork()
    if pid == 0:
        os.closerange(0, 3)
        os.execvp("setpriv", ["setpriv", "--reuid", "65534", "--clear-groups",
                              "sleep", "1000"])
    while os.stat("/proc/%d" % pid).st_uid != 65534:
        time.sleep(0.01)
    open(sys.argv[1], "w").write("%d" % pid)
    sys.exit(3)
sys.stdin.read()
'''


def held(home, cgroup):
    """skepd, the child's pid, and what ends the child."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        lib.skip("needs root, to be less than that")
    h = Host(home, {"run": dict(QUICK["run"], cgroup=cgroup)})
    with open(home.dir / "skepd.log", "ab") as log:
        h.process = home.start("setpriv", "--bounding-set=-kill",
                               h.bin / "skepd", stderr=log)
    lib.eventually(h.answers, 60, "an answer of skepd")
    child = home.dir / "child"
    plugin(h, "held", sys.executable, "-c", HELD, child, sandbox="off")
    pid = int(lib.eventually(lambda: child.exists() and child.read_text(), 30,
                             "its child"))

    def end_it():
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    home.undo.append(end_it)
    return h, pid, end_it


def test_one_that_may_not_be_signalled_ends_with_its_cgroup(home):
    h, pid, _ = held(home, "auto")
    if not cgroups_of(show(h, "held")["id"]):
        lib.skip("no cgroup can be made here")
    lib.eventually(lambda: Host.is_zombie(pid), 30, "its end")
    lib.eventually(lambda: show(h, "held")["starts"] > 1, 30, "the next start")
    h.down()


def test_one_that_may_not_be_ended_is_named_and_waited_for(home):
    h, pid, end_it = held(home, "off")
    row = lib.eventually(lambda: "process %d of the plugin does not end" % pid in
                         (show(h, "held")["last_error"] or "") and show(h, "held"),
                         60, "a word about it")
    assert "another user" in row["last_error"], row
    assert (row["state"], row["pid"], row["starts"]) == ("ending", pid, 1), row
    output = home.skep("channel", "logs", "held").out
    assert "process %d of the plugin does not end after SIGKILL" % pid in output, output
    began, had = time.monotonic(), ticks(h.process.pid)
    time.sleep(3)
    share = ((ticks(h.process.pid) - had) / os.sysconf("SC_CLK_TCK") /
             (time.monotonic() - began))
    assert share < 0.1, share
    end_it()
    lib.eventually(lambda: show(h, "held")["starts"] > 1, 30, "the next start")
    h.down()


test_one_that_may_not_be_ended_is_named_and_waited_for.seconds = 120

# It notes what comes, and when.
LAST = r'''
import json, signal, sys, time
def note(what):
    open(sys.argv[1], "a").write("%s %f\n" % (what, time.monotonic()))
signal.signal(signal.SIGTERM, lambda *_: note("term"))
def put(**m):
    print(json.dumps(dict(m, jsonrpc="2.0")), flush=True)
put(method="channel.register", params={"name": "last"})
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "channel.stop":
        note("stop")
    elif "id" in m:
        put(id=m["id"], result={})
while True:
    note("alive")
    print("alive", file=sys.stderr, flush=True)
    time.sleep(0.02)
'''


def times(path):
    """When it was told to stop, by SIGTERM, and when it was last alive."""
    at = {}
    for line in path.read_text().splitlines():
        word, when = line.split()
        if word != "term" or word not in at:
            at[word] = float(when)
    return at["term"] - at["stop"], at["alive"] - at["term"]


def time_to_leave(home, leave):
    h = host(home)
    log = home.dir / "log"
    plugin(h, "last", sys.executable, "-c", LAST, log)
    until(h, "last", "ready")
    channel = show(h, "last")["id"]
    leave(h)
    lib.eventually(lambda: not marked(channel), 30, "its end")
    stop, term = times(log)
    assert stop > 0.9 and term > 1.8, (stop, term)
    return h


def test_one_has_its_time_when_the_channel_is_disabled(home):
    h = time_to_leave(home, lambda h: home.skep("channel", "disable", "last"))
    h.down()


def test_one_has_its_time_when_skepd_goes(home):
    time_to_leave(home, lambda h: h.down())
    output = home.skep("channel", "logs", "last", "--limit", "1000").out
    assert output.count("alive") > 50, "its last words are in the log"


def test_nobody_waits_for_one_that_goes_at_once(home):
    b = Bad(home, "good", message=False)
    until(b.h, "bad", "ready")
    b.h.down()
    nobody_left(home)
