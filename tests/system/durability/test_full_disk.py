"""A full disk: skepd says so, keeps reading, and recovers."""
import contextlib
import os

import lib
from test_bad_input import mount
from test_requests import routes_of
from web_lib import Skepd


def fill(home):
    with open(home.path / "fill", "ab", 0) as f:
        with contextlib.suppress(OSError):
            while f.write(b"z" * 4096):
                pass


def empty(home):
    (home.path / "fill").unlink()


def small_disk(home):
    mount(home, "-t", "tmpfs", "-o", "size=48m,mode=700", "tmpfs")
    home.skep("agent", "add", "a", "--driver", "exec", "--", "echo", "hi")
    home.skep("up")
    home.undo.append(lambda: home.skep("down", "--now", code=None))
    home.skep("run", "a", "x", "--wait")
    lib.eventually(lambda: (home.path / "state" / "reserve").exists(), 60,
                   "the reserve")


def status(home):
    return home.skep("status", "--json").lines[0]


def refused_for_space(home, *args):
    error = home.refused(74, *args)
    assert "full" in error, error


def works_again(home):
    lib.eventually(lambda: home.skep("run", "a", "again", "--wait",
                                     code=None).code == 0, 60, "a run")
    assert status(home)["disk"] == "low"
    lib.eventually(lambda: (home.path / "state" / "reserve").exists(), 60,
                   "the reserve again")


def test_a_disk_that_fills_up_is_reported_at_once(home):
    small_disk(home)
    assert status(home)["disk"] == "low"  # 48 MB
    home.skep("state", "checkpoint", "--mode", "restart")
    fill(home)
    seen = status(home)
    assert seen["disk"] == "full" and seen["disk_free"] < 2 << 20, seen
    for _ in range(3):  # refused, or accepted into a log with room: then failed
        r = home.skep("run", "a", "x", "--wait", code=None)
        assert r.code in (1, 74) and "full" in r.err, (r.code, r.err)
    assert home.skep("ps", "--all", "--json").lines, "runs can be read"
    empty(home)
    works_again(home)
    home.skep("down")
    home.integrity()


def test_skepd_starts_on_a_full_disk_and_reads(home):
    small_disk(home)
    home.skep("down")
    fill(home)
    home.skep("up")
    assert status(home)["disk"] == "full"
    [run] = home.skep("ps", "--all", "--json").lines
    assert run["state"] == "succeeded", run
    assert home.skep("show", run["id"], "--json").lines[0]["state"] == "succeeded"
    fill(home)  # what the reserve left
    refused_for_space(home, "run", "a", "x", "--wait")
    refused_for_space(home, "agent", "set", "a", "--model", "m")
    empty(home)
    works_again(home)
    home.skep("down")
    home.integrity()


def test_skepd_comes_back_after_a_crash_on_a_full_disk(home):
    small_disk(home)
    first = status(home)
    fill(home)
    os.kill(first["pid"], 9)

    def back():
        r = home.skep("status", "--json", code=None)
        return r.code == 0 and r.lines[0]["pid"] != first["pid"] and r.lines[0]
    assert lib.eventually(back, 60, "skepd")["disk"] == "full"
    assert home.skep("ps", "--all", "--json").lines
    empty(home)
    works_again(home)
    home.skep("down")
    home.integrity()


def without_space(home):
    """A home on a disk without a free byte, and without the reserve."""
    small_disk(home)
    home.skep("session", "append", "s", "hello", "--agent", "a")
    home.skep("vfs", "put", "a", "f", input="text\n")


def starts_read_only(home):
    seen = status(home)
    assert seen["disk"] == "full" and seen["read_only"] is True, seen
    return seen["pid"]


def is_writable(home):
    r = home.skep("status", "--json", code=None)  # it starts again
    return r.code == 0 and r.lines[0]["read_only"] is False


def reads(home):
    [run] = home.skep("ps", "--all", "--json").lines
    assert run["state"] == "succeeded", run
    home.skep("show", run["id"])
    assert "hello" in home.skep("session", "show", "s", "--agent", "a",
                                 "--events").out
    assert home.skep("vfs", "cat", "a", "f").out == "text\n"
    assert [a["name"] for a in home.skep("agent", "ls", "--json").lines] == ["a"]
    found = home.skep("doctor", "--json", code=None).lines
    assert any(f["finding"] == "disk_full" for f in found), found


def changes_are_refused(home):
    for args in (["run", "a", "x", "--wait"], ["run", "a", "x"],
                 ["agent", "set", "a", "--model", "m"],
                 ["session", "append", "s", "more", "--agent", "a"],
                 ["vfs", "rm", "a", "f"]):
        refused_for_space(home, *args)


def test_skepd_starts_without_a_free_byte(home):
    without_space(home)
    home.skep("down")
    (home.path / "state" / "reserve").unlink()
    fill(home)
    assert os.statvfs(home.path).f_bavail == 0
    home.skep("up")
    pid = starts_read_only(home)
    reads(home)
    changes_are_refused(home)
    assert "already running" in home.skep("up").out
    assert starts_read_only(home) == pid
    empty(home)
    lib.eventually(lambda: is_writable(home), 60, "writing")
    assert status(home)["pid"] == pid
    home.skep("run", "a", "again", "--wait")
    home.skep("down")
    home.integrity()


def test_skepd_comes_back_without_a_free_byte(home):
    without_space(home)
    first = status(home)
    (home.path / "state" / "reserve").unlink()
    fill(home)
    os.kill(first["pid"], 9)
    fill(home)

    def back():
        r = home.skep("status", "--json", code=None)
        return r.code == 0 and r.lines[0]["pid"] != first["pid"]
    lib.eventually(back, 60, "skepd")
    fill(home)
    reads(home)
    changes_are_refused(home)
    home.skep("down")
    fill(home)
    error = home.refused(74, "status")
    assert "full (0 bytes free)" in error and str(home.path) in error, error
    empty(home)
    home.skep("up")
    home.skep("run", "a", "again", "--wait")
    home.skep("down")
    home.integrity()


def test_every_route_answers_without_a_free_byte(home):
    without_space(home)
    home.skep("down")
    (home.path / "state" / "reserve").unlink()
    fill(home)
    s = Skepd(home)  # its log is on another disk
    assert starts_read_only(home) == s.proc.pid
    refused = 0
    for route in routes_of(s):
        if route.name == "stop":
            continue
        body = route.members() if route.body else None
        code, answer = s.ask(route.method, route.url(), body)
        assert s.proc.poll() is None, (route.method, route.url(), s.log())
        what = (route.method, route.url(), code, answer)
        assert code == 507 or code < 500, what
        if route.method == "GET":
            assert code != 507, what
        else:
            refused += code == 507
            assert code >= 400 or "valid" in route.path, what
    assert refused > 20, refused
    s.stop()
    empty(home)
    home.integrity()
