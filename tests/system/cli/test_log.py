"""skep log: what was logged is found, also in rotated files, and no secret."""
import base64
import json
import os
import signal
import subprocess

import lib
from chat_mock import Mock
from skepd_lib import Host, QUICK, finish
from test_chat import chat

LINE = "ts=2026-01-02T03:04:%02d.000Z level=%s prog=%s mod=%s msg=\"%s\" run=%s\n"


def make_logs(home):
    logs = home.path / "logs"
    logs.mkdir(parents=True, mode=0o700)
    (logs / "skepd.log.2").write_text(LINE % (1, "info", "skepd", "run/start",
                                              "the first", "run_a"))
    (logs / "skepd.log.1").write_text(LINE % (3, "warn", "skep-worker",
                                              "run/attempt", "Second one", "run_b"))
    (logs / "skepd.log").write_text(
        LINE % (5, "error", "skepd", "channel/pull", "third", "run_a") +
        "not a line of ours\n")
    (logs / "channel-mail.log").write_text(
        "-- skepd 2026-01-02T03:04:04.000Z: started\nhello from the plugin\n")
    (logs / "audit.log").write_text('{"act": "x"}\n')
    return logs


def found(home, *args):
    return [r["message"] for r in home.skep("log", *args, "--json").lines]


def test_lines_of_all_files_are_found_in_their_order(home):
    make_logs(home)
    assert found(home) == [
        "the first", "Second one", "-- skepd 2026-01-02T03:04:04.000Z: started",
        "hello from the plugin", "third", "not a line of ours"]
    assert found(home, "--source", "worker") == ["Second one"]
    assert found(home, "--source", "channel/mail", "hello") == [
        "hello from the plugin"]
    assert found(home, "--source", "channel") == found(home, "--source",
                                                       "channel/mail")
    assert found(home, "--level", "warn") == ["Second one", "third"]
    assert found(home, "--module", "run") == ["the first", "Second one"]
    assert found(home, "--module", "run/start") == ["the first"]
    assert found(home, "--run", "run_a") == ["the first", "third"]
    assert found(home, "SECOND") == ["Second one"]
    assert found(home, "-n", "1") == ["not a line of ours"]
    assert found(home, "--since", "1s") == []
    assert "no line" in home.skep("log", "nowhere").err
    row = home.skep("log", "third", "--json").json
    assert (row["source"], row["level"], row["module"], row["run"]) == (
        "skepd", "error", "channel/pull", "run_a"), row
    assert row["at"] == 1767323045000, row
    assert "--level" in home.refused(64, "log", "--level", "loud")
    assert "--since" in home.refused(64, "log", "--since", "soon")


def test_new_lines_are_followed_across_a_rotation(home):
    logs = make_logs(home)
    p = home.start(home.bin / "skep", "log", "--follow", "--json", "--source",
                   "skepd", stdout=subprocess.PIPE, text=True)
    assert json.loads(p.stdout.readline())["message"] == "the first"
    for _ in range(2):
        p.stdout.readline()
    with open(logs / "skepd.log", "a") as f:
        f.write(LINE % (6, "info", "skepd", "m/m", "fourth", "-"))
    assert json.loads(p.stdout.readline())["message"] == "fourth"
    p.send_signal(signal.SIGSTOP)  # it sees all of the following at once
    with open(logs / "skepd.log", "a") as f:
        f.write(LINE % (7, "info", "skepd", "m/m", "fifth", "-"))
    os.rename(logs / "skepd.log.1", logs / "skepd.log.2")
    (logs / "skepd.log.1").write_text((logs / "skepd.log").read_text())
    os.truncate(logs / "skepd.log", 0)
    with open(logs / "skepd.log", "a") as f:
        f.write(LINE % (8, "info", "skepd", "m/m", "sixth", "-"))
    p.send_signal(signal.SIGCONT)
    assert json.loads(p.stdout.readline())["message"] == "fifth"
    assert json.loads(p.stdout.readline())["message"] == "sixth"
    p.kill()
    p.wait()


def rotate(log, keep):
    """As skepd does it: the content is copied, and the file truncated."""
    for i in range(keep, 1, -1):
        if os.path.exists("%s.%d" % (log, i - 1)):
            os.rename("%s.%d" % (log, i - 1), "%s.%d" % (log, i))
    with open("%s.1" % log, "w") as f:
        f.write(log.read_text())
    os.truncate(log, 0)


def test_each_line_is_followed_once_whenever_the_log_is_rotated(home):
    """A rotation can happen at any point of the follower's listing, several of them
    between two listings, and file systems reuse the inode of a deleted file."""
    logs = home.path / "logs"
    logs.mkdir(parents=True, mode=0o700)
    log = logs / "skepd.log"
    log.touch(mode=0o600)
    p = home.start(home.bin / "skep", "log", "--follow", "--json",
                   stdout=subprocess.PIPE, text=True)
    count = 0
    for i in range(40):
        first = count
        for _ in range(i % 3 + 1):
            for _ in range(3):
                with open(log, "a") as f:
                    f.write(LINE % (count % 60, "info", "skepd", "m/m",
                                    "line %d" % count, "-"))
                count += 1
            rotate(log, 4)
        for n in range(first, count):
            message = json.loads(p.stdout.readline())["message"]
            assert message == "line %d" % n, (message, n)
    p.kill()
    p.wait()


def test_skepd_rotates_its_log_and_keeps_all_lines(home):
    logs = home.path / "logs"
    logs.mkdir(parents=True, mode=0o700)
    (logs / "skepd.log").write_text(LINE % (1, "info", "skepd", "a/b", "old", "-"))
    for i in range(900):
        with open(logs / "skepd.log", "a") as f:
            f.write(LINE % (2, "info", "skepd", "a/b", "line %d" % i, "-"))
    home.path.joinpath("skep.json").write_text(json.dumps(
        {"log": {"max": 65536, "keep": 2}}))
    home.skep("up")
    home.undo.append(lambda: home.skep("down", code=None))
    lib.eventually(lambda: (logs / "skepd.log.1").exists() and
                   (logs / "skepd.log").stat().st_size < 65536)
    assert oct((logs / "skepd.log.1").stat().st_mode)[-3:] == "600"
    assert len(found(home, "line", "-n", "10000", "--module", "a")) == 900
    h = json.loads(home.skep("log", "--module", "a", "-n", "1", "--json").out)
    assert h["message"] == "line 899", h
    home.skep("down")


def test_no_log_contains_a_secret(home):
    """Secrets in every place from which skep reads one."""
    key = "sk-test-9c1d7be2a4f03865"
    token = "whsec_" + base64.b64encode(b"5b7e19c2d84f6a03" * 2).decode()
    home.path.mkdir(parents=True, exist_ok=True)
    creds = home.path / "credentials"
    creds.mkdir(mode=0o700)
    (creds / "model").write_text(key)
    (creds / "model").chmod(0o600)
    (creds / "hook").write_text(token)
    (creds / "hook").chmod(0o600)
    m = Mock(home, {"status": 401, "body": {"error": {"message": "no " + key}}})
    home.host = Host(home, dict(QUICK, log={"level": "debug"}),
                     env={"MODEL_KEY": key}).start()
    d = chat(home, m, config={"key_file": "model", "retries": 0})
    chat(home, m, name="b", config={"key_env": "MODEL_KEY", "retries": 0})
    for agent in "a", "b":
        assert d.until(d.submit(agent))["state"] == "failed"
    d.call("PUT", "/v1/channels/w", {"kind": "webhook", "config": {
        "url": "http://127.0.0.1:1/x", "secret_file": "hook"}})
    d.call("POST", "/v1/deliveries", {"channel": "w", "conversation": "p",
                                      "body": {"text": "x"}})
    secret = home.skep("token", "add", "t").out.strip()
    home.skep("agent", "add", "x", "--driver", "exec", "--set",
              'config={"command":["env"],"env":{"OPENAI_API_KEY":"%s"}}' % key,
              code=None)
    lib.eventually(lambda: m.asked)
    said = d.log() + "".join(p.read_text(errors="replace") for p in
                             (home.path / "logs").glob("*") if p.is_file())
    for word in key, token, secret:
        assert word not in said, said
    finish(d)
