"""MCP servers over streamable HTTP as tools of the chat driver: a server made
with the official SDK, and its failures."""
import json
import pathlib
import shutil

import lib
from chat_mock import Mock, calls, text
from npm_lib import packages
from skepd_lib import Host, Refused, finish
from test_chat import chat, parts, run

SERVER = pathlib.Path(__file__).resolve().parents[1] / "support" / "mcp_http_server.mjs"
KEY = "s3cret-of-the-server"


class Server:
    """A process; `asked` are its requests so far."""

    def __init__(self, home, form="sse", port=0):
        where = packages("@modelcontextprotocol/sdk@1", "zod@3")
        shutil.copy(SERVER, where)
        self.log = home.dir / ("mcp-%s-%d" % (form, port))
        with open(self.log, "wb") as out:
            self.process = home.start("node", where / SERVER.name, str(port), form,
                                      stdout=out)
        lib.eventually(lambda: self.log.read_text(), what="the port")
        self.port = json.loads(self.log.read_text().splitlines()[0])
        self.url = "http://127.0.0.1:%d/mcp" % self.port
        home.servers = getattr(home, "servers", []) + [self.process]

    @property
    def asked(self):
        return [json.loads(line) for line in
                self.log.read_text().splitlines()[1:]]


def over(home, host):
    """The servers are no processes of skep's."""
    for p in getattr(home, "servers", []):
        p.kill()
        p.wait()
    finish(host)


def secret(home):
    d = home.path / "credentials"
    d.mkdir(mode=0o700, parents=True, exist_ok=True)
    (d / "mcp").write_text(KEY + "\n")
    (d / "mcp").chmod(0o600)
    return {"X-Key": {"file": "mcp"}}


def begin(home, *tool_calls, **servers):
    home.path.mkdir(mode=0o700, exist_ok=True)
    headers = secret(home)
    m = Mock(home, calls(*tool_calls), text("done"))
    d = chat(home, m, config={"mcp_timeout_ms": 5000, "mcp_servers": {
        name: {"url": s.url, "headers": headers}
        for name, s in servers.items()}})
    return d, m


def test_answers_as_json_and_as_a_stream(home):
    servers = {form: Server(home, form) for form in ("json", "sse")}
    d, m = begin(home, *[c for n in servers for c in (
        (n + "__echo", {"text": "hi"}), (n + "__slow", {"ms": 300}),
        (n + "__long", {"bytes": 200000}), (n + "__fail", {}))], **servers)
    row = run(d)
    assert row["state"] == "succeeded", row
    offered = {t["function"]["name"] for t in m.asked[0][2]["tools"]}
    assert {"json__echo", "sse__die"} <= offered, offered
    r = m.results()
    for i in (0, 4):
        assert r[i:i + 2] == ["you said hi", "at last"], r[i:i + 2]
        assert r[i + 2].startswith("é" * 10000), r[i + 2][:50]
        assert r[i + 3] == "it does not work", r[i + 3]
    for s in servers.values():
        first, second, *rest = s.asked
        assert (first["method"], first.get("id")) == ("initialize", None), first
        assert second["method"] == "notifications/initialized", second
        assert len({a["id"] for a in [second] + rest}) == 1 and second["id"]
        assert {a["version"] for a in rest} == {"2025-06-18"}, rest
        assert {a["key"] for a in s.asked} == {KEY}
        lib.eventually(lambda s=s: s.asked[-1]["http"] == "DELETE",
                       what="the end of the session")
    over(home, d)


def test_refusals_and_cut_answers_are_errors_for_the_model(home):
    d, m = begin(home, ("s__echo", {"text": "500"}), ("s__echo", {"text": "cut"}),
                 ("s__slow", {"ms": 20000}), ("s__echo", {"text": "still there"}),
                 s=Server(home))
    assert run(d)["state"] == "succeeded"
    r = m.results()
    assert "responded with status 500: a bad day" in r[0] and KEY not in r[0], r
    assert "the MCP server s" in r[1], r
    assert "in time" in r[2], r
    assert r[3] == "you said still there", r
    over(home, d)


def test_a_server_that_dies_and_comes_back(home):
    s = Server(home)
    replies = [calls(("s__echo", {"text": "1"}), ("s__die", {}),
                     ("s__echo", {"text": "2"})),
               calls(("s__echo", {"text": "3"})), text("done")]

    def back(body):
        Server(home, port=s.port)
        return {"events": replies[1]}

    d, m = begin(home, s=s)
    m.replies = [replies[0], back, replies[2]]
    assert run(d)["state"] == "succeeded"
    r = m.results()
    assert r[0] == "you said 1" and r[3] == "you said 3", r
    assert "the MCP server s" in r[1] and "the MCP server s" in r[2], r
    over(home, d)


def test_a_server_that_refuses_or_is_not_there_is_a_note(home):
    s = Server(home)
    m = Mock(home, text("done"))
    home.path.mkdir(mode=0o700, exist_ok=True)
    (home.path / "credentials").mkdir(mode=0o700)
    (home.path / "credentials" / "bad").write_text("wr0ng-key-of-mine\n")
    (home.path / "credentials" / "bad").chmod(0o600)
    d = chat(home, m, config={"mcp_servers": {
        "locked": {"type": "http", "url": s.url,
                   "headers": {"X-Key": {"file": "bad"}}},
        "gone": {"url": "http://127.0.0.1:1/mcp"}}})
    assert run(d)["state"] == "succeeded"
    notes = [b["text"] for _, k, b in d.events("a") if k == "note"]
    assert "locked is not available" in notes[0] and "401" in notes[0], notes
    assert "wr0ng" not in notes[0] and "no key but *" in notes[0], notes
    assert "gone is not available" in notes[1] and "connect" in notes[1], notes
    over(home, d)


def test_a_cancel_ends_a_call(home):
    d, _ = begin(home, ("s__slow", {"ms": 600000}), s=Server(home))
    ident = d.submit("a")
    lib.eventually(lambda: home.agent_db("a").exists() and
                   parts(home, "a", "tool"), 30)
    d.cancel(ident)
    assert d.until(ident)["state"] == "cancelled"
    assert parts(home, "a", "tool")[0][1] == "aborted"
    over(home, d)


def test_the_former_transport_is_named(home):
    m = Mock(home, text("done"))
    home.host = Host(home).start()
    try:
        chat(home, m, config={"mcp_servers": {
            "s": {"url": "http://x", "type": "sse"}}})
        raise AssertionError("the transport sse was accepted")
    except Refused as e:
        why = e.body["detail"]
        assert e.status == 422 and "mcp_servers.s.type" in why, e
        assert "streamable HTTP" in why and "npx mcp-remote URL" in why, e
    for server, why in (({"url": "http://x", "type": "stdio"}, "type must be"),
                        ({"command": ["x"], "type": "http"}, "type must be")):
        d = chat(home, m, config={"mcp_servers": {"s": server}})
        row = run(d)
        assert row["reason"] == "bad_config" and why in row["detail"], row
    over(home, d)
