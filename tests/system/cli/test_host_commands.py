"""up, down, restart, status: what they report, and what they leave alone."""
import json
import signal
import socket
import subprocess

import lib
from skepd_lib import Host, Refused, finish
from terminal_lib import Terminal


def up(home):
    home.skep("agent", "add", "s", "--driver", "script", "--set",
              'config={"steps":[{"sleep_ms":600000}]}')
    home.skep("up")


def sleeper(home):
    run = home.skep("run", "s", "x", "-d").out.strip()
    lib.eventually(lambda: home.skep("show", run, "--json").lines[0]["state"]
                   == "running", what="the run")
    return run


def state(home, run):
    return home.skep("show", run, "--json").lines[0]["state"]


def test_up_and_down_succeed_if_there_is_nothing_to_do(home):
    home.skep("up")
    again = home.skep("up")
    assert "skepd is already running, process" in again.out
    assert home.skep("up", "--json").json["changed"] is False
    assert home.skep("down").out == "skepd has stopped\n"
    assert home.skep("down").out == "skepd is not running, home %s\n" % home.path
    assert home.skep("down", "--json").json == {
        "state": "stopped", "home": str(home.path), "pid": None,
        "changed": False}


def test_down_names_what_it_waits_for_and_ctrl_c_takes_it_back(home):
    up(home)
    run = sleeper(home)
    t = Terminal(home, "down")
    t.until("waiting for 1 active run: %s (s)" % run)
    assert home.skep("status", "--json").json["stopping"] is True
    t.say("\x03")
    t.until("skepd continues, and nothing was stopped")
    assert t.wait() == 75
    assert home.skep("status", "--json").json["stopping"] is False
    assert state(home, run) == "running"
    second = sleeper(home)  # it starts runs again
    assert state(home, second) == "running"
    home.skep("cancel", "--all", "--yes", "--wait")
    assert home.skep("down").code == 0


def test_down_without_a_terminal_can_be_interrupted_too(home):
    up(home)
    run = sleeper(home)
    p = subprocess.Popen([home.bin / "skep", "down"], env=home.env,
                         stderr=subprocess.PIPE, text=True)
    assert run in p.stderr.readline()
    p.send_signal(signal.SIGINT)
    assert p.wait(lib.HANG) == 75
    assert home.skep("status", "--json").json["stopping"] is False
    home.skep("cancel", run, "--wait")
    home.skep("down")


def test_down_has_now_and_a_time_limit(home):
    up(home)
    run = sleeper(home)
    r = home.skep("down", "--timeout", "700ms")
    assert "stopping the active runs" in r.err and r.out == "skepd has stopped\n"
    assert state(home, run) == "queued"
    home.skep("up")
    lib.eventually(lambda: state(home, run) == "running", what="the next attempt")
    assert home.skep("down", "--now").out == "skepd has stopped\n"
    home.skep("up")
    home.skep("cancel", run, "--wait")
    home.skep("down")


def test_a_stop_cannot_be_taken_back_twice(home):
    h = Host(home).start()
    try:
        h.call("POST", "/v1/stop", {"intent": "stay"})
        raise AssertionError("it was accepted")
    except Refused as r:
        assert r.status == 409 and "not waiting" in json.dumps(r.body), r.body
    finish(h)


def test_restart_leaves_the_old_one_if_the_new_one_cannot_start(home):
    up(home)
    run = sleeper(home)
    before = home.skep("status", "--json").json["pid"]
    path = home.path / "skep.json"
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    taken.listen()
    listen = "127.0.0.1:%d" % taken.getsockname()[1]

    def refused(word):
        error = home.skep("restart", code=None)
        assert error.code != 0 and word in error.err, error.err
        assert "skep.json" in error.err or "Nothing was changed" in error.err \
            or "the old one keeps running" in error.err, error.err
        assert home.skep("status", "--json").json["pid"] == before
    path.write_text('{"run": {"heartbeat": "often"}}')
    refused("run.heartbeat")
    path.write_text(json.dumps({"http": {"listen": listen}}))
    refused(listen)
    path.write_text("{}")
    [(version,)] = home.query(home.control, "PRAGMA user_version")
    home.execute(home.control, "PRAGMA user_version = 99")
    refused("schema version 99")
    home.execute(home.control, "PRAGMA user_version = %d" % version)
    taken.close()
    assert state(home, run) == "running"
    home.skep("cancel", run, "--wait")
    home.skep("restart")
    assert home.skep("status", "--json").json["pid"] != before
    home.skep("down")


def test_the_first_line_of_status_names_problems(home):
    h = Host(home).start()
    h.script("ask", {"ask": {"key": "k", "title": "may I?"}}, {"text": "ok"})

    def first():
        return home.skep("status").out.splitlines()[0]
    assert first().split() == ["problems", "none"]
    h.submit("ask")
    lib.eventually(lambda: "1 approval waits for an answer ('skep approval ls')"
                   in first(), what="the approval")
    home.skep("approval", "allow", "last")
    lib.eventually(lambda: first().split() == ["problems", "none"], what="none")
    home.execute(home.control, "UPDATE channel SET last_error = 'no route'"
                 " WHERE name = 'local'")
    assert "channel local: no route" in first()
    assert "no route" in home.skep("status", "--json").json["problems"]
    home.execute(home.control, "UPDATE channel SET last_error = NULL")
    finish(h)
    r = home.skep("status", code=69)
    assert r.err.startswith("skep: no supervisor is running"), r.err
