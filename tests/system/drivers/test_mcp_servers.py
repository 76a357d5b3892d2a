"""The user's own MCP servers, as tools of the chat driver and told to agents."""
import json
import pathlib
import shutil
import sys

import lib
from chat_mock import Mock, calls, text
from skepd_lib import Refused, finish
from test_acp import acp, heard
from test_chat import chat, parts, run, workspace
from worker_lib import ok

SERVER = (pathlib.Path(__file__).resolve().parents[1] / "support" /
          "mcp_server.py").read_text()


def server(*args, **more):
    """As a program: the tests' directory is hidden in the sandbox."""
    return dict({"command": [sys.executable, "-c", SERVER, *args]}, **more)


def test_their_tools_are_offered_and_used(home):
    m = Mock(home, calls(("one__echo", {"text": "hi"}),
                         ("two__touch_file", {"path": "made"}),
                         ("two__fail", {}), ("exec", {"command": "echo x"}),
                         ("one__echo", {"text": "again"}),
                         ("three__echo", {})), text("done"))
    for agent, mode in (("a", None), ("v", "vfs-only")):
        m.asked, more = [], {"workspace": mode} if mode else {}
        d = chat(home, m, agent, config={"exec": True, "mcp_servers": {
            "one": server(env={"WORD": "set"}), "two": server("pages"),
            "bad": server("broken"), "none": {"command": ["/no/such"]}}},
            **more)
        row = run(d, agent=agent)
        assert row["state"] == "succeeded", row
        offered = {t["function"]["name"]: t["function"]
                   for t in m.asked[0][2]["tools"]}
        assert offered["one__echo"]["description"] == "Say it again."
        assert offered["two__touch_file"]["parameters"]["type"] == "object"
        assert {"two__fail", "read_file"} <= set(offered)
        assert not [n for n in offered if n.startswith(("bad", "none"))]
        r = m.results()
        assert r[0].startswith("hi /") and r[0].endswith(" set"), r
        assert json.loads(r[1]) == {"made": "made"}, r
        assert r[2] == "it does not work" and "x\n" in r[3], r
        assert r[4].startswith("again /"), r  # exec leaves the servers alone
        assert "unknown tool" in r[5], r
        if not mode:
            assert (workspace(home) / "made").exists()
        notes = [b["text"] for _, k, b in d.events(agent) if k == "note"]
        assert ["no such luck" in n for n in notes] == [True, False], notes
        assert parts(home, agent, "tool")[2][1] == "error"
    finish(d)


def test_long_results_and_errors_are_whole_or_say_what_is_missing(home):
    sizes = ((300, True), (5000, True), (5000, False), (2_400_000, False),
             (2_400_000, True))
    m = Mock(home, calls(*(("s__long", {"n": n, "fails": f})
                           for n, f in sizes)), text("done"))
    d = chat(home, m, config={"mcp_servers": {"s": server()}})
    assert run(d)["state"] == "succeeded"
    for (n, _), r in zip(sizes, m.results()):
        whole = "begin " + "\u00e4" * n + " end"
        assert r.startswith("begin \u00e4") and r.endswith("\u00e4 end"), r[:80]
        assert "\ufffd" not in r, "a character was cut"
        if n <= 5000:
            assert r == whole, len(r)
        else:
            assert "bytes left out" in r, r[:80]
    states = [p[1] for p in parts(home, "a", "tool")]
    assert states == ["error" if f else "done" for _, f in sizes], states
    finish(d)


def test_a_result_over_the_limit_fails_the_call_at_once(home):
    """An escaped letter has six bytes, a message at most 16 MiB."""
    m = Mock(home, calls(("s__long", {"n": 3_000_000, "fails": False}),
                         ("s__echo", {"text": "still here"})), text("done"))
    d = chat(home, m, config={"mcp_servers": {"s": server()}})
    assert run(d)["state"] == "succeeded"
    r = m.results()
    assert "the MCP server s: the message is longer than 16777216" in r[0], r[0][:200]
    assert r[1].startswith("still here"), r[1]
    assert [p[1] for p in parts(home, "a", "tool")] == ["error", "done"]
    finish(d)


def test_permissions_hold_for_their_tools(home):
    m = Mock(home, calls(("s__echo", {"text": "x"}),
                         ("s__touch_file", {"path": "made"})), text("done"))
    d = chat(home, m, config={"mcp_servers": {"s": server()}, "permissions": {
        "allow": ["read"], "deny": ["other:s__touch*"]}})
    assert run(d)["state"] == "succeeded"
    r = m.results()
    assert r[0].startswith("x ") and "not permitted" in r[1], r
    assert not (workspace(home) / "made").exists()
    m = Mock(home, text("done"))
    d = chat(home, m, "t", config={"mcp_servers": {"s": server()},
                                   "tools": ["read_file", "s__echo"]})
    assert run(d, agent="t")["state"] == "succeeded"
    names = [t["function"]["name"] for t in m.asked[0][2]["tools"]]
    assert names == ["read_file", "s__echo"], names
    finish(d)


def test_a_server_that_hangs_or_dies_is_an_error_for_the_model(home):
    m = Mock(home, calls(("s__die", {}), ("s__echo", {}), ("t__hang", {}),
                         ("t__echo", {})), text("done"))
    d = chat(home, m, config={"mcp_timeout_ms": 700, "mcp_servers": {
        "s": server(), "t": server()}})
    assert run(d)["state"] == "succeeded"
    r = m.results()
    assert "has exited" in r[0] and "has exited" in r[1], r
    assert "in time" in r[2] and "has exited" in r[3], r
    finish(d)


def test_a_cancel_ends_a_call_and_its_server(home):
    m = Mock(home, calls(("s__hang", {})), text("done"))
    d = chat(home, m, config={"mcp_servers": {"s": server()}})
    ident = d.submit("a")
    lib.eventually(lambda: home.agent_db("a").exists() and
                   parts(home, "a", "tool"), 30)
    d.cancel(ident)
    assert d.until(ident)["state"] == "cancelled"
    assert parts(home, "a", "tool")[0][1] == "aborted"
    finish(d)


def test_wrong_settings_are_named(home):
    m = Mock(home, text("done"))
    for servers, why in (({"a b": {}}, "a name must"),
                         ({"s": {"command": []}}, "command")):
        d = chat(home, m, config={"mcp_servers": servers})
        row = run(d)
        assert row["reason"] == "bad_config" and why in row["detail"], row
    secret = {"url": "http://x", "headers": {"Authorization": "Bearer x"}}
    for servers, why in (([], "must be an object"), ({"s": secret}, "secret"),
                         ({"s": {"url": "ftp://x"}}, "mcp_servers.s.url"),
                         ({"s": {"command": ["x"], "what": 1}}, "'what'")):
        try:  # it does not even get into the definition
            chat(home, m, config={"mcp_servers": servers})
            raise AssertionError("it was stored")
        except Refused as e:
            assert e.status == 422 and why in e.body["detail"], e
    finish(d)


def test_an_agent_is_told_of_them(home):
    servers = {"one": {"command": ["sh", "-c", "x"], "env": {"A": "b=c"}},
               "web": {"url": "https://host/mcp", "headers": {"X-A": "b"}}}
    w = acp(home, "x", config={"mcp_servers": servers, "mcp": False})
    ok(w)
    ok(acp(home, "x", w.sup, n=2, can="http", config={
        "mcp_servers": servers, "mcp": False}, session="other"))
    seen = [m["params"]["mcpServers"] for k, m in heard(home)
            if k == "session/new"]
    one = {"name": "one", "command": shutil.which("sh"), "args": ["-c", "x"],
           "env": [{"name": "A", "value": "b=c"}]}
    web = {"type": "http", "name": "web", "url": "https://host/mcp",
           "headers": [{"name": "X-A", "value": "b"}]}
    assert seen == [[one], [one, web]], seen
    notes = [json.loads(b)["text"] for (b,) in w.home.query(
        w.db, "SELECT body FROM events WHERE type = 'note'")]
    assert ["no web" in n for n in notes] == [True], notes
