"""What is said between skepd, its plugins and people: each word in its time, to
whom it is meant for, and where one looks for it."""
import ctypes
import json
import os
import pathlib
import signal
import sys
import time

import lib
from channel_lib import deliveries
from plugin_lib import (Bad, nobody_left, plugin, processes, show, await_last_error,
                        until, shim)
from skepd_lib import QUICK, Host, Refused, faults_bin, host

PUT = r'''
import json, os, sys, time
def put(**m):
    print(json.dumps(dict(m, jsonrpc="2.0")), flush=True)
'''
# A plugin that is well, with something between its start and its end.
WELL = PUT + r'''
put(method="channel.register", params={"name": "well"})
for line in sys.stdin:
    m = json.loads(line)
    if "method" in m and "id" in m:
        put(id=m["id"], result={})
    %s
'''


def well(h, name, then="pass", *args):
    plugin(h, name, sys.executable, "-c", WELL % then, *args)


# -- its start


def test_a_command_that_cannot_be_started_leaves_no_zombie(home):
    PR_SET_CHILD_SUBREAPER = 36
    assert ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    h = host(home)
    plugin(h, "none", "/no/such/program")
    await_last_error(h, "none", "cannot start /no/such/program")
    lib.eventually(lambda: home.query(
        home.control, "SELECT count(*) FROM host_event WHERE kind = 'channel'"
        " AND body LIKE '%cannot start%'")[0][0] >= 2, 30, "another start")
    time.sleep(0.3)
    mine = pathlib.Path("/proc/self/task/%d/children" % os.getpid())
    assert mine.read_text().split() == [str(h.process.pid)], mine.read_text()
    h.down()


def test_every_word_of_a_command_is_passed_on(home):
    h = host(home)
    output = home.dir / "said"
    well(h, "long", "open(sys.argv[1], 'w').write(sys.argv[-1])", output,
         *["w%d" % i for i in range(400)])
    lib.eventually(lambda: output.exists() and output.read_text() == "w399", 30,
                   "the last word")
    try:
        plugin(h, "huge", "/bin/true", "x" * (4 << 20))
        assert False, "it was taken"
    except Refused as e:
        assert "the command is longer than" in str(e.body), e.body
    h.down()


def test_a_shim_ignores_the_signals_of_a_terminal(home):
    h = host(home)
    well(h, "p")
    row = until(h, "p", "ready")
    for sig in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        os.kill(shim(row["id"]), sig)
    time.sleep(1.5)  # it would have ended it after a second
    assert show(h, "p")["pid"] == row["pid"] and processes(h, "p")
    h.down()
    nobody_left(home)


def test_nothing_is_told_that_was_meant_for_the_one_before(home):
    h = host(home)
    output = home.dir / "said"
    plugin(h, "p", sys.executable, "-c", PUT + r'''
if not os.path.exists(sys.argv[1]):
    open(sys.argv[1], "w").close()
    os.close(0)  # the answer cannot be written
    put(id=1, method="channel.register", params={"name": "first"})
    time.sleep(30)
put(method="channel.register", params={"name": "second"})
for line in sys.stdin:
    m = json.loads(line)
    open(sys.argv[1], "a").write(m["method"] + "\n")
    put(id=m.get("id"), result={})
''', output)
    row = until(h, "p", "ready")
    assert row["starts"] == 2
    assert output.read_text() == "channel.configure\n", output.read_text()
    h.down()


# -- what it says


def test_a_cursor_is_acknowledged_once_it_is_on_the_disk(home):
    if not faults_bin():
        lib.skip("needs a build with fault points")
    h = Host(home, QUICK, faults_bin("kill")).start(fault="txn_before_commit:kill:60")
    output = home.dir / "said"
    plugin(h, "p", sys.executable, "-c", PUT + r'''
def cursor(n):
    put(id="c%d" % n, method="channel.event", params={"event": "cursor",
        "data": {"n": n}})
put(method="channel.register", params={"name": "cursors"})
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "channel.configure":
        put(id=m["id"], result={})
        cursor(1)
    elif str(m.get("id")).startswith("c") and "result" in m:
        n = int(m["id"][1:])
        open(sys.argv[1], "w").write("%d\n" % n)
        cursor(n + 1)
''', output)
    h.process.wait(lib.HANG)
    lib.eventually(lambda: not list(home._survivors()), 30, "the plugin's end")
    [(kept,)] = home.query(home.control,
                           "SELECT cursor FROM channel WHERE name = 'p'")
    assert json.loads(kept)["n"] >= int(output.read_text()) > 3, (
        kept, output.read_text())


def test_trouble_is_over_when_it_is_ready_again(home):
    h = host(home)
    well(h, "p")
    os.kill(until(h, "p", "ready")["pid"], signal.SIGKILL)
    await_last_error(h, "p", "it died by signal 9")
    row = until(h, "p", "ready")
    assert (row["last_error"], row["starts"]) == (None, 2), row
    assert "it died by signal 9" in home.skep("channel", "logs", "p").out
    h.down()


def test_trouble_of_its_own_is_over_when_it_says_so(home):
    h = host(home)
    go = home.dir / "go"
    well(h, "p", r'''
    if m.get("method") == "channel.configure":
        put(method="channel.status", params={"status": "error", "detail": "ill"})
        while not os.path.exists(sys.argv[1]):
            time.sleep(0.02)
        put(method="channel.status", params={"status": "ok"})''', go)
    await_last_error(h, "p", "ill")
    go.touch()
    lib.eventually(lambda: show(h, "p")["last_error"] is None, 30, "better times")
    assert show(h, "p")["starts"] == 1
    h.down()


def test_one_that_waits_is_started_when_somebody_enables_it(home):
    b = Bad(home, "exit", message=False)
    lib.eventually(lambda: len(b.starts()) >= 5, 60, "five starts")
    until(b.h, "bad", "waiting")  # for eight seconds, with some luck less
    n = len(b.starts())
    b.be_good()
    assert "started" in home.skep("channel", "enable", "bad").out
    until(b.h, "bad", "ready")
    assert len(b.starts()) == n + 1
    assert "no change" in home.skep("channel", "enable", "bad").out
    b.ends_well()


# -- its log


def log_of(home, *args):
    return home.skep("channel", "logs", "p", *args).out.splitlines()


def test_as_many_lines_are_shown_everywhere(home):
    h = host(home)
    well(h, "p")
    until(h, "p", "ready")
    with open(home.path / "logs" / "channel-p.log", "a") as f:
        f.write("".join("line %d\n" % i for i in range(300)))
    shown = log_of(home)
    assert len(shown) == 100 and shown[-1] == "line 299"
    assert [m["line"] for m in h.call("GET", "/v1/channels/p/log")["items"]] == \
        shown
    assert log_of(home, "--limit", "0") == []
    assert log_of(home, "--limit", "1") == ["line 299"]
    h.down()


def test_the_log_goes_with_its_channel(home):
    h = host(home)
    logs = home.path / "logs"

    def files():
        return sorted(p.name for p in logs.glob("channel-*"))
    for name in ("p", "q", "r"):
        well(h, name, "print('hello', file=sys.stderr, flush=True)")
        until(h, name, "ready")
        (logs / ("channel-%s.log.1" % name)).write_text("before\n")
    lib.eventually(lambda: all("hello" in (logs / n).read_text() for n in
                               files() if n.endswith(".log")), 30, "their words")
    h.call("DELETE", "/v1/channels/p")
    lib.eventually(lambda: files() == [
        "channel-q.log", "channel-q.log.1", "channel-r.log",
        "channel-r.log.1"], 30, "the end of the log")
    home.skep("channel", "disable", "q")
    lib.eventually(lambda: not processes(h, "q"), 30, "its end")
    home.skep("channel", "rm", "q")
    lib.eventually(lambda: files() == ["channel-r.log", "channel-r.log.1"], 30,
                   "the end of the other")
    h.call("PUT", "/v1/channels/f", {"kind": "file", "config": {
        "path": str(logs / "channel-f.log")}})
    (logs / "channel-f.log").write_text("a person's\n")
    h.call("DELETE", "/v1/channels/f")
    assert (logs / "channel-f.log").exists(), "no log of ours"
    (logs / "channel-f.log").unlink()
    h.down()
    home.skep("channel", "rm", "r")
    assert files() == []


def test_a_notice_that_is_refused_is_told_in_the_log(home):
    h = host(home)
    well(h, "p", r'''
    for i in range(200):
        put(method="channel.receive", params={"sender": "ann", "text": 7})''')
    until(h, "p", "ready")
    found = lib.eventually(lambda: [s for s in log_of(home, "--limit", "1000")
                                    if "is refused" in s], 30, "a word")
    assert "a notice channel.receive is refused: text must be a string" in found[0]
    time.sleep(0.5)
    assert len([s for s in log_of(home, "--limit", "1000")
                if "is refused" in s]) <= 30, "it has its limits"
    h.down()


def test_a_line_of_ours_is_a_line_of_its_own(home):
    h = host(home)
    well(h, "p", r'''
    os.write(2, b"half a word")
    time.sleep(0.3)
    sys.exit(3)''')
    shown = lib.eventually(lambda: [s for s in log_of(home) if
                                    "it ended with status 3" in s], 30, "its end")
    assert shown[0].startswith("-- skepd "), shown
    assert "half a word" in log_of(home)
    h.down()


# -- the examples


def test_a_file_that_takes_the_place_of_another_is_another_message(home):
    h = host(home)
    h.agent("echo", "exec", {"shell": "cat", "stdin": "text"})
    drop = home.dir / "drop"
    (drop / "in").mkdir(parents=True)
    root = pathlib.Path(__file__).resolve().parents[3]
    plugin(h, "drop", "sh", root / "docs/examples/dropbox.sh", agent="echo",
           dir=str(drop))
    until(h, "drop", "ready")
    place, second = drop / "done" / "bob", 1700000000 * 10 ** 9
    new = home.dir / "new"
    for n in range(2):  # the same inode, in the same second
        if n:
            lib.eventually(place.exists, 30, "a receipt")
            place.rename(new)
        new.write_text("number %d" % n)
        os.utime(new, ns=(second + n, second + n))
        new.rename(drop / "in" / "bob")
    lib.eventually(lambda: len(deliveries(h, state="delivered")) == 2, 30,
                   "two answers")
    h.down()


def test_the_examples_are_short(home):
    root = pathlib.Path(__file__).resolve().parents[3]
    found = [p for p in (root / "docs/examples").iterdir() if p.suffix != ".md"]
    assert len(found) == 2, found
    for path in found:
        assert len(path.read_text().splitlines()) < 60, path
