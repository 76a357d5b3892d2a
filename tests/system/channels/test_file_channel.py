"""The file channel: each message is a line, once, whatever happens to the file."""
import fcntl
import json
import os
import re
import shutil
import subprocess
import time

import lib
from channel_lib import deliveries, post, await_deliveries
from skepd_lib import Host, host


def channel(h, path, name="f", **config):
    h.call("PUT", "/v1/channels/" + name, {"kind": "file", "config": dict({
        "path": str(path), "backoff": 50, "backoff_max": 100, "attempts": 500},
        **config)})


def texts(*paths):
    """Of all lines; each is JSON, and the last has its end."""
    got = []
    for path in paths:
        lines = path.read_text().split("\n")
        assert lines.pop() == "", path
        got += [json.loads(line)["text"] for line in lines]
    return got


def detail(h, ident):
    return h.call("GET", "/v1/deliveries/" + ident)["detail"] or ""


def waits_for(h, ident, words):
    lib.eventually(lambda: words in detail(h, ident), 30, words)


def mount(home, path, *options):
    path.mkdir()
    r = home.run("mount", "-t", "tmpfs", *options, "tmpfs", path, code=None)
    if r.code:
        lib.skip("mount is not allowed here: " + r.err.strip())
    home.undo.append(lambda: subprocess.run(["umount", "-l", path]))


def test_former_files_are_kept_and_counted(home):
    h = host(home)
    path = home.dir / "out.jsonl"
    for i in (4, 5, 6):  # of a time when more were kept
        (home.dir / ("out.jsonl.%d" % i)).write_text("old\n")
    channel(h, path, rotate=1024, keep=3)
    for i in range(40):
        post(h, "f", "m%02d %s" % (i, "x" * 100))
    await_deliveries(h, 40, "delivered")
    files = [path] + [home.dir / ("out.jsonl.%d" % i) for i in (1, 2, 3)]
    assert sorted(home.dir.glob("out.jsonl*")) == sorted(files)
    got = [t[:3] for t in texts(*reversed(files))]
    assert got == ["m%02d" % i for i in range(40 - len(got), 40)], got
    assert all(p.stat().st_mode & 0o777 == 0o600 for p in files)
    h.down()


def test_tail_follows_it_over_rotations(home):
    h = host(home)
    path = home.dir / "out.jsonl"
    channel(h, path, rotate=1024, keep=50)
    post(h, "f", "m0 .")
    await_deliveries(h, 1, "delivered")
    seen = home.dir / "seen"
    with open(seen, "wb") as out:
        home.start("tail", "-n", "+1", "-F", "-s", "0.05", path, stdout=out,
                   stderr=subprocess.DEVNULL)
    for i in range(1, 25):
        post(h, "f", "m%d %s" % (i, "x" * 200))
        want = '"m%d ' % i  # tail sees a file at least once before it is moved
        lib.eventually(lambda: want in seen.read_text(), 30, want)
    assert len(list(home.dir.glob("out.jsonl.*"))) > 2
    assert [t.split()[0] for t in texts(seen)] == ["m%d" % i for i in range(25)]
    h.down()


def test_two_supervisors_and_another_program_share_a_file(home):
    other = lib.Home(home.bin)
    home.undo.append(other.close)
    path = home.dir / "out.jsonl"
    hosts = [host(home), Host(other).start()]
    for h in hosts:
        channel(h, path, rotate=2048, keep=100, order="none")
    want = []
    for i in range(60):
        for n, h in enumerate(hosts):
            want.append("%d-%d" % (n, i))
            post(h, "f", want[-1])
        if i % 20 == 0:
            with open(path, "a") as f:  # whole lines of another program
                f.write('{"text": "other%d"}\n' % i)
            want.append("other%d" % i)
    for h in hosts:
        await_deliveries(h, 60, "delivered")
        h.down()
    assert sorted(texts(*home.dir.glob("out.jsonl*"))) == sorted(want)


def test_a_file_that_another_has_locked_is_waited_for(home):
    h = host(home)
    path = home.dir / "out.jsonl"
    path.touch()
    channel(h, path)
    channel(h, home.dir / "free.jsonl", "free")
    with open(path) as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        ident = post(h, "f", "later")
        waits_for(h, ident, "locked by another")
        post(h, "free", "now")
        await_deliveries(h, 1, "delivered", channel="free")
    await_deliveries(h, 1, "delivered", channel="f")
    assert texts(path) == ["later"]
    h.down()


def test_a_directory_that_goes_and_comes_back(home):
    h = host(home)
    folder = home.dir / "folder"
    folder.mkdir()
    channel(h, folder / "out.jsonl")
    post(h, "f", "one")
    await_deliveries(h, 1, "delivered")
    shutil.rmtree(folder)
    two, three = post(h, "f", "two"), post(h, "f", "three", "d")
    waits_for(h, two, "No such file")
    waits_for(h, three, "out.jsonl")
    folder.mkdir()
    await_deliveries(h, 3, "delivered")
    assert sorted(texts(folder / "out.jsonl")) == ["three", "two"]
    # the file alone: it is made again
    (folder / "out.jsonl").unlink()
    post(h, "f", "four")
    await_deliveries(h, 4, "delivered")
    assert texts(folder / "out.jsonl") == ["four"]
    h.down()


def test_what_is_no_plain_file_is_refused_and_says_so(home):
    h = host(home)
    path, target = home.dir / "out.jsonl", home.dir / "precious"
    target.write_text("mine\n")
    in_the_way = {"symbolic link": lambda: path.symlink_to(target),
                  "not a regular file": lambda: os.mkfifo(path),
                  "Is a directory": path.mkdir}
    channel(h, path)
    for n, (words, make) in enumerate(in_the_way.items()):
        make()
        ident = post(h, "f", words)
        waits_for(h, ident, words)
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        await_deliveries(h, n + 1, "delivered")
        assert texts(path) == [words] and target.read_text() == "mine\n"
        path.unlink()
    h.down()


def test_a_full_disk_loses_nothing_and_doubles_nothing(home):
    folder = home.dir / "small"
    mount(home, folder, "-o", "size=64k,mode=700")
    h = host(home)
    path = folder / "out.jsonl"
    channel(h, path, order="none", rotate=1 << 20)
    h.call("POST", "/v1/channels/f/pause")
    idents = [post(h, "f", "m%02d %s" % (i, "x" * 4000)) for i in range(30)]
    h.call("POST", "/v1/channels/f/resume")
    waits_for(h, idents[0], "No space")
    done = [d["body"]["text"] for d in deliveries(h) if d["state"] == "delivered"]
    half = texts(path) if path.exists() else []
    assert set(done) <= set(half), "what was told is in it"
    assert len(half) == len(set(half)) < 30
    home.run("mount", "-o", "remount,size=4m", folder)
    await_deliveries(h, 30, "delivered")
    assert sorted(t[:3] for t in texts(path)) == ["m%02d" % i for i in range(30)]
    h.down()


def test_a_read_only_disk_is_waited_for(home):
    folder = home.dir / "ro"
    mount(home, folder, "-o", "size=1m,mode=700")
    h = host(home)
    channel(h, folder / "out.jsonl")
    post(h, "f", "one")
    await_deliveries(h, 1, "delivered")
    home.run("mount", "-o", "remount,ro", folder)
    waits_for(h, post(h, "f", "two"), "Read-only")
    home.run("mount", "-o", "remount,rw", folder)
    await_deliveries(h, 2, "delivered")
    assert texts(folder / "out.jsonl") == ["one", "two"]
    h.down()


def test_a_line_that_was_cut_off_is_mended(home):
    h = host(home)
    path = home.dir / "out.jsonl"
    channel(h, path)
    cut = '{"id":"dlv_01m7hsvprrd9znhtjagnk6htt8","channel":"f","text":"' + "x" * 9000
    for n, (tail, left) in enumerate(((cut, ""), ("{\"id\":\"dl", ""), ("{", ""),
                                      ("of another's", "of another's\n"))):
        path.write_text('{"text":"first"}\n' + tail)
        post(h, "f", "next")
        await_deliveries(h, n + 1, "delivered")
        lines = path.read_text()
        assert lines.startswith('{"text":"first"}\n' + left + '{"id":"dlv_')
        assert lines.endswith('"text":"next"}\n') and cut not in lines
    h.down()


def test_kill_9_at_any_moment_loses_no_line_and_doubles_none(home):
    h = host(home)
    path = home.dir / "out.jsonl"
    channel(h, path, rotate=4096, keep=500, order="none", inflight=4)
    want = []
    for n in range(8):
        h.call("POST", "/v1/channels/f/pause")
        for i in range(25):
            want.append("%d-%d" % (n, i))
            post(h, "f", want[-1], "c%d" % i)
        before = path.stat().st_mtime_ns if path.exists() else 0
        h.call("POST", "/v1/channels/f/resume")
        lib.eventually(lambda: path.exists() and path.stat().st_mtime_ns != before,
                       30, "the first line")
        time.sleep(0.003 * n)  # it is in the middle of it, each time elsewhere
        h.kill()
        h.start()
    await_deliveries(h, len(want), "delivered")
    assert sorted(texts(*home.dir.glob("out.jsonl*"))) == sorted(want)
    h.down()


def test_it_is_on_the_disk_before_it_counts(home):
    if not shutil.which("strace"):
        lib.skip("strace is not installed")
    h = host(home)
    path = home.dir / "out.jsonl"
    channel(h, path, rotate=1024)
    trace = home.dir / "trace"
    p = home.start("strace", "-f", "-y", "-s", "200", "-e",
                   "trace=write,fsync,fdatasync", "-o", trace, "-p",
                   str(h.process.pid), stderr=subprocess.PIPE)
    if b"attached" not in p.stderr.readline():
        lib.skip("strace may not attach here")
    for i in range(12):
        post(h, "f", "m%d %s" % (i, "x" * 100))
        await_deliveries(h, i + 1, "delivered")
    p.terminate()
    p.wait()
    name, folder = re.escape(str(path)), re.escape(str(home.dir))
    steps = re.findall(r"(write|fdatasync|fsync)\(\d+<(%s|%s)>" % (name, folder),
                       trace.read_text())
    calls = [what for what, where in steps if where == str(path)]
    assert calls == ["write", "fdatasync"] * 12, calls
    made = len(list(home.dir.glob("out.jsonl*")))
    assert steps.count(("fsync", str(home.dir))) == made > 1, steps
    h.down()


def lose(h, n):
    """As if n had been written and skepd had died before it heard of it."""
    home = h.home
    h.call("POST", "/v1/channels/f/pause")
    idents = [post(h, "f", "m%d" % i, "c%d" % i) for i in range(n)]
    h.down()
    home.execute(home.control, "UPDATE delivery SET state = 'unknown', "
                 "is_queued = 0, attempts = 1 WHERE state = 'pending'")
    return idents


def test_questions_about_a_locked_file_hold_up_nobody(home):
    h = host(home)
    path = home.dir / "out.jsonl"
    path.touch()
    channel(h, path)
    idents = lose(h, 40)
    with open(path) as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        h.start()
        began = time.monotonic()
        while time.monotonic() < began + 4:
            assert {d["state"] for d in deliveries(h, channel="f")} == {"unknown"}
            time.sleep(0.2)
        path.write_text("".join('{"id":"%s","text":"m"}\n' % i for i in idents[:39]))
    h.down()  # the next one asks again
    h.start()
    await_deliveries(h, 39, "delivered")
    [d] = await_deliveries(h, 1, "pending")  # the channel is paused
    assert d["id"] == idents[39] and "does not have it" in d["detail"], d
    h.down()


def test_what_still_waits_for_its_turn_is_not_written_twice(home):
    h = host(home)
    path = home.dir / "out.jsonl"
    locked = [open(home.dir / ("locked%d" % i), "w") for i in range(16)]
    for i, f in enumerate(locked):
        fcntl.flock(f, fcntl.LOCK_EX)
        channel(h, f.name, "l%d" % i, backoff=1, backoff_max=1, attempts=1000)
    channel(h, path, timeout=10)

    def until(ident, state):  # without skepd, whose threads are busy
        lib.eventually(lambda: home.query(
            home.control, "SELECT 1 FROM delivery WHERE id = ? AND state = ?",
            ident, state), 30, state)
    for i in range(16):
        until(post(h, "l%d" % i, "never"), "sending")
    until(post(h, "f", "one", "a"), "sending")  # it waits for a thread,
    two = post(h, "f", "two", "b")  # and this one for the first
    until(two, "unknown")  # its lease ran out
    time.sleep(0.5)  # the file is asked
    for f in locked:
        f.close()
    await_deliveries(h, 2, "delivered", channel="f")
    time.sleep(0.5)
    assert texts(path) == ["one", "two"]
    h.down()
