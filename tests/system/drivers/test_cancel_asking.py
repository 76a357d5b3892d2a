"""A run that is ended while it waits for an approval."""
import os
import signal

import lib
from chat_mock import Mock, calls, text
from skepd_lib import finish
from test_chat import WRITE, chat, parts, run, workspace

ASK = {"permissions": {"default": "ask"}}


def asked(d):
    return lib.eventually(lambda: [
        a for a in d.call("GET", "/v1/approvals?limit=10")["items"]
        if a["state"] == "open"], 30)[0]


def states(home, agent="a"):
    return [p[1] for p in parts(home, agent, "tool")]


def test_a_cancelled_run_leaves_no_call_running(home):
    m = Mock(home, calls(("read_file", {"path": "x"}), ("write_file", WRITE),
                         ("append_file", WRITE)), text("next"))
    d = chat(home, m, config={"permissions": {"allow": ["read"],
                                              "default": "ask"}})
    ident = d.submit("a", session="s")
    asked(d)
    assert states(home) == ["error", "awaiting", "running"]
    d.cancel(ident)
    assert d.until(ident)["state"] == "cancelled"
    assert states(home) == ["error", "aborted", "error"], parts(home)
    assert run(d, "go on")["state"] == "succeeded"
    r = m.results()
    assert "not allowed" in r[1] and "not run" in r[2], r
    assert not any("it is unknown whether" in x for x in r), r
    assert not (workspace(home) / "f.txt").exists()
    finish(d)


def test_a_worker_that_dies_while_it_asks_asks_again(home):
    m = Mock(home, calls(("append_file", WRITE)), text("done"))
    d = chat(home, m, config=ASK)
    ident = d.submit("a", session="s", max_attempts=2)
    q = asked(d)
    os.kill(d.get(ident)["pid"], signal.SIGKILL)
    lib.eventually(lambda: d.get(ident)["attempt"] == 2, 30)
    d.call("POST", "/v1/approvals/%s" % q["id"], {"allow": True})
    assert d.until(ident)["state"] == "succeeded"
    assert (workspace(home) / "f.txt").read_text() == "made"
    assert "it is unknown whether" not in m.results()[0], m.results()
    assert states(home) == ["aborted"]
    finish(d)


def test_a_run_whose_worker_died_for_good_leaves_no_call_open(home):
    m = Mock(home, calls(("append_file", WRITE)), text("done"))
    d = chat(home, m, config=ASK)
    ident = d.submit("a", session="s", max_attempts=1)
    asked(d)
    os.kill(d.get(ident)["pid"], signal.SIGKILL)
    assert d.until(ident)["state"] == "failed"
    lib.eventually(lambda: states(home) == ["aborted"], 30)
    assert run(d, "go on")["state"] == "succeeded"
    assert "not allowed" in m.results()[0], m.results()
    finish(d)
