"""skep run in the foreground: what goes where, and how it ends."""
import json
import os
import re
import signal
import subprocess

import lib
from skepd_lib import Host, finish
from terminal_lib import Terminal, on_terminal, plain


STEPS = ({"text": "first, a longer text", "chunks": 4, "every_ms": 20},
         {"tool": {"name": "read_file", "input": {"path": "a.txt"},
                   "output": {"text": "line one"}}},
         {"text": "the answer"})


def test_a_pipe_gets_only_the_final_text(home):
    h = Host(home).start()
    h.script("m", *STEPS)
    for more in ((), ("--print",), ("-p",), ("--wait",), ("-w",)):
        r = home.skep("run", "m", "x", *more)
        assert (r.out, r.err) == ("the answer\n", ""), (more, r.out, r.err)
    finish(h)


def test_a_terminal_gets_the_text_as_it_is_written(home):
    h = Host(home).start()
    h.script("m", *STEPS)
    code, out = on_terminal(home, "run", "m", "x", columns=60)
    assert code == 0 and plain(out) == (
        "first, a longer text\n● read_file a.txt → line one\nthe answer\n"), out
    # text on standard output, everything else on standard error
    master, slave = os.openpty()
    p = subprocess.run([home.bin / "skep", "run", "m", "x"], env=home.env,
                       stdout=slave, stderr=subprocess.PIPE, text=True)
    os.close(slave)
    text = b""
    try:
        while True:
            text += os.read(master, 4096)
    except OSError:
        pass
    os.close(master)
    assert p.returncode == 0 and p.stderr == "", p.stderr
    assert text.decode().replace("\r\n", "\n") == \
        "first, a longer text\nthe answer\n", text
    finish(h)


def test_detach_prints_the_id_and_json_everything(home):
    h = Host(home).start()
    h.script("m", *STEPS)
    run = home.skep("run", "m", "x", "--detach").out
    assert re.fullmatch(r"run_[0-9a-z]{26}\n", run), run
    h.until(run.strip())
    lines = home.skep("run", "m", "x", "--json").lines
    assert [x["type"] for x in lines if "type" in x][:2] == \
        ["message", "run_started"]
    assert lines[-1]["state"] == "succeeded" and lines[-1]["agent"] == "m"
    assert any("part" in x and x["part"]["kind"] == "tool" for x in lines)
    made = home.skep("run", "m", "x", "-d", "--json").json
    assert made["agent"] == "m" and made["id"].startswith("run_")
    h.until(made["id"])
    assert home.skep("run", "m", "x", "-p", "--json").json["state"] == "succeeded"
    assert "choose one" in home.refused(64, "run", "m", "x", "-d", "-p")
    finish(h)


def test_the_exit_status_is_the_outcome(home):
    h = Host(home).start()
    h.agent("bad", "exec", {"shell": "echo partly; exit 3"})
    h.script("slow", {"text": "begun"}, {"sleep_ms": 600000})
    r = home.skep("run", "bad", "x", code=1)
    assert "failed" in r.err and r.out == "", (r.out, r.err)
    p = subprocess.Popen([home.bin / "skep", "run", "slow", "x"], env=home.env,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    lib.eventually(lambda: home.skep("ps", "-q").out.strip(), what="a run")
    home.skep("cancel", "last")
    assert p.wait(lib.HANG) == 75 and b"cancelled" in p.stderr.read()
    r = home.skep("run", "slow", "x", "--timeout", "200ms", code=75)
    assert "timed_out" in r.err
    finish(h)


def test_ctrl_c_cancels_the_run(home):
    h = Host(home).start()
    h.script("slow", {"text": "begun"}, {"sleep_ms": 600000})
    t = Terminal(home, "run", "slow", "x")
    t.until("begun")
    t.say("\x03")
    t.until("cancelling run")
    assert t.wait() == 75
    assert h.row(home.skep("ps", "-Aq").out.strip())["state"] == "cancelled"
    finish(h)


def test_it_asks_about_approvals(home):
    h = Host(home).start()
    h.script("ask", {"ask": {"key": "k", "title": "delete it?"}},
             {"ask": {"key": "l", "title": "delete it?"}}, {"text": "thanks"})
    for options in ((), ("--follow",)):
        t = Terminal(home, "run", "ask", "x", *options)
        t.until("the agent asks: delete it?")
        t.until("[w]hy: ")
        t.say("w\r")
        t.until("approval apr_")
        t.until("[w]hy: ")
        t.say("a\r")  # always: the same question is not asked again
        t.until("thanks")
        assert t.wait() == 0
    t = Terminal(home, "run", "ask", "x")
    t.until("[w]hy: ")
    t.say("n\r")
    assert t.wait() in (0, 1)
    states = [x["state"] for x in home.skep("approval", "ls", "--all",
                                            "--json").lines]
    assert states.count("allowed") == 4 and "denied" in states, states
    finish(h)


def test_it_says_why_nothing_happens(home):
    """Also where standard error is not a terminal."""
    h = Host(home, {"run": {"max": 1, "heartbeat": "300ms"}}).start()
    h.script("slow", {"sleep_ms": 600000})
    h.script("ask", {"ask": {"key": "k", "title": "may I?"}}, {"text": "ok"})
    first = h.submit("slow", session="s")
    h.until(first, "running")

    def started(*args):
        return subprocess.Popen([home.bin / "skep", "run", *args],
                                env=home.env, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True)
    p = started("slow", "x", "--session", "s", "--wait")
    line = p.stderr.readline()
    assert "waits for run %s of the same session" % first in line, line
    q = started("ask", "x", "--wait")
    line = q.stderr.readline()
    assert "is queued; 1 run is active" in line, line
    home.skep("cancel", "--agent", "slow", "--wait")
    line = q.stderr.readline()
    assert "waits for an answer: may I?" in line and "skep approval" in line
    home.skep("approval", "allow", "last")
    assert q.wait(lib.HANG) == 0 and p.wait(lib.HANG) == 75
    r = started("slow", "x", "--wait")
    lib.eventually(lambda: home.skep("ps", "-q").out.strip(), what="a run")
    h.kill()
    line = r.stderr.readline()
    assert "no supervisor is running" in line, line
    r.send_signal(signal.SIGKILL)
    r.wait()
    h.start()
    home.skep("cancel", "--all", "--wait")
    finish(h)


def test_logs_fold_tool_calls(home):
    h = Host(home).start()
    h.script("m", *STEPS)
    home.skep("run", "m", "hello")
    out = home.skep("logs", "m").out
    assert out == ("> hello\nfirst, a longer text\n"
                   "● read_file a.txt → line one\nthe answer\n✓ succeeded\n"), out
    assert home.skep("logs", "m", "--raw").out == \
        "first, a longer text\nthe answer\n"
    assert home.skep("logs", "m", "--tail", "2").out == \
        "the answer\n✓ succeeded\n"
    full = home.skep("logs", "m", "-v").out
    assert '"path":"a.txt"' in full and "run_started" in full
    assert full.count("the answer") == full.count("first, a") == 1
    home.skep("run", "m", "again")
    both = home.skep("logs", "--agent", "m", "--since", "1h").out
    assert both.count("==>") == 2 and both.index("> hello") < both.index("> again")
    assert home.skep("logs", "last", "--since", "1ms").out == ""
    lines = [json.loads(x) for x in
             home.skep("logs", "last", "--json").out.splitlines()]
    assert len({(x.get("seq"), "part" in x, json.dumps(x.get("part")))
                for x in lines}) == len(lines)
    finish(h)


def test_the_logs_of_a_purged_agent_say_so(home):
    h = Host(home).start()
    h.script("m", *STEPS)
    run = home.skep("run", "m", "x", "-d").out.strip()
    h.until(run)
    home.skep("agent", "rm", "m", "--purge")
    error = home.refused(66, "logs", run)
    assert "agent 'm' was purged" in error and "was deleted" in error, error
    finish(h)
