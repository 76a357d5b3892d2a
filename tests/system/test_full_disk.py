"""A full disk: skepd says so, keeps reading, and recovers."""
import contextlib
import os

import lib
from test_bad_input import mount


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
    said = home.refused(74, *args)
    assert "full" in said, said


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
