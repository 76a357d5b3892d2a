"""skepd under its watchdog: it is restarted, and reports that."""
import json
import os
import pathlib
import signal
import socket

import lib
from skepd_lib import Connection

QUICK = {"run": {"heartbeat": "300ms", "grace": "400ms", "backoff": "50ms"}}


def configure(home, **sections):
    home.path.mkdir(mode=0o700, exist_ok=True)
    path = home.path / "skep.json"
    path.write_text(json.dumps(dict(QUICK, **sections)))
    path.chmod(0o600)


def up(home, **sections):
    configure(home, **sections)
    home.skep("up")
    home.undo.append(lambda: home.skep("down", "--now", code=None))
    return status(home)


def status(home):
    return home.skep("status", "--json").lines[0]


def record(home):
    return json.loads((home.path / "run" / "watchdog").read_text())


def parent(pid):
    text = pathlib.Path("/proc/%d/stat" % pid).read_text()
    return int(text[text.rindex(")") + 2:].split()[1])


def exists(pid):
    try:
        text = pathlib.Path("/proc/%d/stat" % pid).read_text()
    except OSError:
        return False
    return text[text.rindex(")") + 2] not in "ZX"


def back(home, count):
    """The status once skepd was restarted `count` times and answers."""
    def check():
        r = home.skep("status", "--json", code=None)
        return r.code == 0 and r.lines[0]["restarts"] == count and r.lines[0]
    return lib.eventually(check, 60, "restart %d" % count)


def findings(home):
    r = home.skep("doctor", "--quick", "--no-import", "--json", code=None)
    return {f["finding"]: f["what"] for f in r.lines}


def test_a_killed_skepd_is_restarted_and_runs_go_on(home):
    first = up(home)
    assert first["restarts"] == 0 and first["restarted_at"] is None, first
    assert "restarted" not in findings(home)
    watchdog = parent(first["pid"])
    assert os.readlink("/proc/%d/exe" % watchdog).endswith("skep-watchdog")
    assert len(os.listdir("/proc/%d/task" % watchdog)) == 1
    home.skep("agent", "add", "a", "--driver", "exec", "--", "sleep", "5")
    run = home.skep("run", "a", "x", "-d").out.strip()
    lib.eventually(lambda: home.skep("show", run, "--json").lines[0]["state"] ==
                   "running", what="a run")
    worker = home.skep("show", run, "--json").lines[0]["pid"]
    os.kill(first["pid"], signal.SIGSEGV)
    second = back(home, 1)
    assert second["pid"] != first["pid"]
    assert parent(second["pid"]) == watchdog
    assert "signal 11" in second["restart_cause"], second
    row = home.skep("show", run, "--json").lines[0]
    assert (row["pid"], row["attempt"]) == (worker, 1), row
    assert "signal 11" in findings(home)["restarted"]
    os.kill(second["pid"], signal.SIGKILL)
    third = back(home, 2)
    assert "signal 9" in third["restart_cause"], third
    row = lib.eventually(lambda: (
        lambda r: r["state"] == "succeeded" and r)(
            home.skep("show", run, "--json").lines[0]), what="the run's end")
    assert row["attempt"] == 1, row
    home.skep("down")
    assert not exists(third["pid"])
    lib.eventually(lambda: not exists(watchdog), what="the watchdog's end")
    assert not (home.path / "run" / "watchdog").exists()
    home.refused(69, "status")


def test_a_hanging_skepd_is_replaced(home):
    first = up(home, watchdog={"timeout": "2000ms"})
    os.kill(first["pid"], signal.SIGSTOP)
    second = back(home, 1)
    assert second["pid"] != first["pid"] and not exists(first["pid"])
    assert "no response" in second["restart_cause"], second
    home.skep("down")


def test_a_planned_end_is_not_undone(home):
    first = up(home)
    watchdog = parent(first["pid"])
    os.kill(first["pid"], signal.SIGTERM)  # as a service manager does
    lib.eventually(lambda: not exists(watchdog), what="the watchdog's end")
    assert not exists(first["pid"])
    home.refused(69, "status")
    second = up(home)
    os.kill(parent(second["pid"]), signal.SIGTERM)  # passed on
    lib.eventually(lambda: not exists(second["pid"]), what="skepd's end")
    home.refused(69, "status")
    third = up(home)
    old = parent(third["pid"])
    home.skep("restart")
    fourth = status(home)
    assert fourth["pid"] != third["pid"] and fourth["restarts"] == 0, fourth
    assert not exists(old), "the old watchdog is left"
    home.skep("down")


def test_a_crash_loop_backs_off_and_is_reported(home):
    first = up(home)
    watchdog = parent(first["pid"])
    os.rename(home.path / "state", home.dir / "away")  # it cannot start so
    (home.path / "state").write_text("in the way")
    os.kill(first["pid"], signal.SIGKILL)

    def waits():
        r = record(home)
        return r["restarts"] >= 3 and r["next_at"] and r
    seen = lib.eventually(waits, 60, "three attempts")
    assert "exit status" in seen["cause"], seen
    assert seen["next_at"] - seen["ended_at"] >= 1000, seen  # 250 ms doubled
    output = home.skep("status", code=None)
    assert output.code == 69 and "exit status" in output.err, output.err
    assert "watchdog" in output.err and "restarts it in" in output.err, output.err
    assert "exit status" in findings(home)["crash_loop"]
    (home.path / "state").unlink()
    os.rename(home.dir / "away", home.path / "state")
    home.skep("up")  # does not wait for the next attempt
    assert not exists(watchdog)
    assert status(home)["restarts"] == 0
    home.skep("down")


def test_down_ends_a_watchdog_that_waits(home):
    first = up(home)
    watchdog = parent(first["pid"])
    os.rename(home.path / "state", home.dir / "away")
    (home.path / "state").write_text("in the way")
    os.kill(first["pid"], signal.SIGKILL)
    lib.eventually(lambda: record(home)["restarts"] >= 3, 60, "attempts")
    home.skep("down")
    assert not exists(watchdog)
    assert not (home.path / "run" / "watchdog").exists()


def test_skepd_outlives_its_watchdog(home):
    first = up(home)
    os.kill(parent(first["pid"]), signal.SIGKILL)
    assert status(home)["pid"] == first["pid"]
    assert "watchdog_gone" in findings(home)
    home.skep("restart")
    assert "watchdog_gone" not in findings(home)
    home.skep("down")


def test_a_start_that_fails_at_once_is_not_repeated(home):
    configure(home, http={"listen": "127.0.0.1:1:2:3"})
    output = home.skep("up", code=None)
    assert output.code != 0 and "127.0.0.1" in output.err, output.err
    left = [p for p in home._survivors() if exists(p)]
    assert not left, left


def test_a_restart_that_cannot_work_keeps_the_old_one(home):
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    taken.listen()
    free = socket.socket()
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
    free.close()
    first = up(home, http={"listen": "127.0.0.1:%d" % port})
    for bad, why in (("127.0.0.1:%d" % taken.getsockname()[1], "in use"),
                     ("nonsense", "HOST:PORT"),
                     ("127.0.0.1:99999", "HOST:PORT"),
                     ("no.such.host.invalid:80", "listen")):
        configure(home, http={"listen": bad})
        error = home.refused(78, "restart")
        assert why in error and "the old one keeps running" in error, error
        assert status(home)["pid"] == first["pid"]
    (home.path / "skep.json").write_text('{"http": {"connections": "many"}}')
    home.refused(78, "restart")
    configure(home, http={"listen": "127.0.0.1:%d" % port})
    home.skep("restart")  # the port is the old one's
    assert status(home)["pid"] != first["pid"]
    configure(home, http={"listen": "localhost:%d" % port})
    home.skep("restart")
    taken.close()
    home.skep("down")


def test_systemd_style_starts_have_no_watchdog(home):
    configure(home)
    where = str(home.dir / "notify")
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.bind(where)
    p = home.start(home.bin / "skep", "up", "--foreground",
                   env={"NOTIFY_SOCKET": where}, stderr=open(os.devnull, "wb"))
    s.settimeout(60)
    while s.recv(100) != b"READY=1":
        pass
    c = Connection(home.path / "run" / "skep.sock", 30)
    c.request("GET", "/v1/health")
    assert json.loads(c.getresponse().read())["pid"] == p.pid
    assert not (home.path / "run" / "watchdog").exists()
    p.send_signal(signal.SIGTERM)
    assert p.wait(lib.HANG) == 0
