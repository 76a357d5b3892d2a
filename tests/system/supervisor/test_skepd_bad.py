"""The supervisor and what it cannot use: commands, places, disks, strangers."""
import os
import shutil
import subprocess

import lib
from skepd_lib import Refused, finish, host


def notes(n):
    return [{"event": {"type": "note", "text": "n%d" % i}} for i in range(n)]


def test_bad_commands_end_with_a_reason(home):
    h = host(home)
    (home.dir / "plain").write_text("x")
    cases = [(["/no/such/thing"], "command_not_found"),
             ([str(home.dir / "plain")], "not_executable"),
             (["/bin/false"], "exit_code"),
             (["/bin/sh", "-c", "kill -9 $$"], "signal")]
    for i, (argv, reason) in enumerate(cases):
        h.agent("a%d" % i, "exec", {"command": argv, "stdin": "none"})
        row = h.until(h.submit("a%d" % i))
        assert (row["state"], row["reason"]) == ("failed", reason), row
    finish(h)


def test_places_that_cannot_be_used_are_refused_with_a_reason(home):
    deep = home.dir / ("x" * 60) / ("y" * 60)
    r = home.run(home.bin / "skepd", "--home", deep, code=78)
    assert "socket" in r.err and "Assert" not in r.err, r.err
    (home.dir / "file").write_text("x")
    r = home.run(home.bin / "skepd", "--home", home.dir / "file" / "home",
                 code=None)
    assert r.code != 0 and len(r.err.splitlines()) <= 2, r.err
    home.path.mkdir(mode=0o700)
    (home.path / "skep.json").write_text('{"run": {"max": "many"}}')
    r = home.run(home.bin / "skepd", code=78)
    assert "run.max" in r.err, r.err
    assert not home.control.exists(), "a broken configuration opens nothing"


def test_without_its_spawner_it_does_not_start_and_says_so(home):
    alone = shutil.copy(home.bin / "skepd", home.dir / "skepd")
    r = home.run(alone, code=None)
    assert r.code > 0 and "skep-spawner" in r.err, (r.code, r.err)


def small_disk(home):
    """The home is on a file system of a few MiB; where it is mounted."""
    mount = home.dir / "small"
    mount.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", mount],
                      stderr=subprocess.DEVNULL).returncode:
        lib.skip("a small filesystem cannot be mounted")
    home.undo.append(lambda: subprocess.run(["umount", "-l", mount]))
    home.path = mount / "home"
    home.env["SKEP_HOME"] = str(home.path)
    return mount


def fill_up(mount):
    fill = os.open(mount / "fill", os.O_CREAT | os.O_WRONLY)
    try:
        while os.write(fill, b"x" * 4096):
            pass
    except OSError:
        os.close(fill)


def test_a_full_disk_is_said_and_nothing_is_lost(home):
    mount = small_disk(home)
    h = host(home)
    h.script("a", *notes(2))
    run = h.submit("a")
    assert h.until(run)["state"] == "succeeded"
    fill_up(mount)
    refused = 0
    for i in range(40):
        try:
            h.submit("a", "x" * 20000)
        except Refused as e:
            assert e.status in (500, 507), e
            refused += 1
            break
    assert refused, "nothing was refused"
    os.unlink(mount / "fill")
    lib.eventually(lambda: h.answers(), 10, "an answer")
    again = lib.eventually(lambda: accepted(h), 10, "a run that is taken")
    assert h.until(again)["state"] == "succeeded"
    assert h.get(run)["state"] == "succeeded"
    for row, in home.query(home.control, "SELECT id FROM run"):
        h.until(row)
    finish(h)


def accepted(h):
    try:
        return h.submit("a")
    except Refused:
        return None


def strangers(home):
    """Connections to the workers' socket by a process that is no worker."""
    import socket
    for greeting in (b"", b"\0SP\0\0\x30\0\0", b"GET / HTTP/1.1\r\n\r\n",
                     b"\xff" * 64):
        s = socket.socket(socket.AF_UNIX)
        s.connect(str(home.path / "run" / "workers.sock"))
        s.sendall(greeting)
        yield s


def test_strangers_on_the_workers_socket_hurt_nobody(home):
    import struct
    h = host(home)
    h.script("a", {"sleep_ms": 1500}, *notes(1))
    run = h.submit("a")
    h.until(run, "running")
    frames = [b"", b"{", b'{"type":"hello"}', b'{"type":"cancel","id":1}',
              b'{"type":"hello","run":"%s","attempt":1,"token":"guess",'
              b'"pid":1,"started":1,"build":"x"}' % run.encode(),
              b'{"type":"finished","run":"%s","attempt":1,"token":"",'
              b'"outcome":"failed","reason":"internal","seq":0}' % run.encode(),
              b"\0" * 1000]
    open_ones = []
    for s in strangers(home):
        for i, frame in enumerate(frames * 20):
            body = struct.pack(">I", 0x80000000 | i) + frame
            try:
                s.sendall(b"\x01" + struct.pack(">Q", len(body)) + body)
            except OSError:
                break
        open_ones.append(s)
    assert h.until(run)["state"] == "succeeded"
    assert h.until(h.submit("a"))["state"] == "succeeded"
    finish(h)
