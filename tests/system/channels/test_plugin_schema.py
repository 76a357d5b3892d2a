"""docs/channel-plugin.schema.json against what is really said, by a validator
that others made; and what is wrong, it refuses."""
import copy
import json
import os
import pathlib
import signal
import sys

import lib
from channel_lib import deliveries, post
from npm_lib import packages
from plugin_lib import delivered, marked, plugin, show, until
from skepd_lib import Refused, host

HERE = pathlib.Path(__file__).resolve().parent.parent / "support"
ROOT = HERE.parents[2]
SCHEMA = ROOT / "docs" / "channel-plugin.schema.json"

# (who speaks, method): the definition's name
NAMES = {
    ("from_plugin", "channel.register"): "register",
    ("from_plugin", "channel.receive"): "receive",
    ("from_plugin", "channel.event"): "event",
    ("from_plugin", "channel.status"): "report",
    ("to_plugin", "channel.configure"): "configure",
    ("to_plugin", "channel.send"): "send",
    ("to_plugin", "channel.event"): "tell",
    ("to_plugin", "channel.status"): "status",
    ("to_plugin", "channel.stop"): "stop",
}

TALKER = r'''
import json, sys
def put(**m): print(json.dumps(dict(m, jsonrpc="2.0")), flush=True)
put(id="r", method="channel.register", params={"name": "talker", "version": "1"})
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "channel.configure":
        put(id=m["id"], result=None)
        put(id=1, method="channel.status", params={"status": "error",
                                                   "detail": "all is well"})
        put(method="channel.event", id="e", params={"event": "weather"})
        put(id="m", method="channel.receive", params={
            "version": "0.1", "message_type": "message", "routing": {
                "id": "h1", "channel": "t", "direction": "inbound",
                "sender_id": "ann"},
            "content": [{"content_type": "text", "body": "hi"}]})
        put(id="w", method="channel.receive", params={"sender": "ann"})
    elif m.get("method") == "channel.send":
        put(id=m["id"], error={"code": 5, "message": "no", "data": {
            "permanent": True}})
    elif "method" in m and "id" in m:
        put(id=m["id"], result={})
'''


def check(home, pairs):
    """pairs of (definition, value): which of them do not fit."""
    where = packages("@agentclientprotocol/sdk@2", "ajv@8")
    (home.dir / "node_modules").symlink_to(where / "node_modules")
    script = home.dir / "validate.mjs"
    script.write_text((HERE / "acp_validate.mjs").read_text())
    output = home.run("node", script, SCHEMA, input="".join(
        json.dumps({"def": d, "value": v}) + "\n" for d, v in pairs)).out
    (home.dir / "node_modules").unlink()
    return output.splitlines()


def recorded(path):
    """(direction, definition, value) of every line, and of every result."""
    asked, found = {}, []
    for direction, m in map(json.loads, path.read_text().splitlines()):
        other = "to_plugin" if direction == "from_plugin" else "from_plugin"
        found.append((direction, direction, m))
        if "method" in m:
            name = NAMES[direction, m["method"]]
            asked[direction, m.get("id")] = name
            found.append((direction, name, m))
        elif "result" in m:
            name = asked[other, m["id"]] + "_result"
            found.append((direction, name, m["result"]))
        else:
            found.append((direction, "error", m))
    return found


def talk(home):
    """Every method, both ways, with both examples and a third one."""
    h = host(home)
    h.agent("echo", "exec", {"shell": "cat", "stdin": "text"})
    tap, log = HERE / "plugin_tap.py", home.dir / "said"
    inbox, out, drop = home.dir / "in", home.dir / "out", home.dir / "drop"
    inbox.write_text('{"id":"1","sender":"ann","text":"hello"}\nnonsense\n'
                     '{"id":"1","sender":"ann","text":"hello"}\n')
    plugin(h, "post", sys.executable, tap, log, sys.executable,
           ROOT / "docs/examples/mailbox.py", agent="echo", inbox=str(inbox),
           outbox=str(out))
    delivered(h, 1, channel="post")
    until(h, "post", "ready")
    for pid in marked(show(h, "post")["id"]):
        os.kill(pid, signal.SIGSTOP)  # a message is under way when it is ended
    ident = post(h, "post", "two")
    lib.eventually(lambda: deliveries(h, state="unknown"), 30, "not known")
    (drop / "in").mkdir(parents=True)
    (drop / "in" / 'b"o\\b').write_text('a "b"\n\tc\\d\n')
    plugin(h, "drop", sys.executable, tap, log, "sh",
           ROOT / "docs/examples/dropbox.sh", agent="echo", dir=str(drop))
    delivered(h, 1, channel="drop")
    script = home.dir / "talker.py"
    script.write_text(TALKER)
    plugin(h, "talker", sys.executable, tap, log, sys.executable, script)
    # its error is replaced by that of the next dead delivery
    lib.eventually(lambda: "all is well" in h.log(), 30, "its report")
    post(h, "talker", "x")
    lib.eventually(lambda: deliveries(h, state="dead"), 30, "a refusal")
    delivered(h, 2, channel="post")  # asked for, and sent again
    assert ident in out.read_text()
    # a sign of life is asked for when nothing is said
    lib.eventually(lambda: '"channel.status", "params": {}}' in log.read_text(),
                   30, "a question")
    [reply] = (drop / "out").glob("*")
    output = json.loads(reply.read_text())["params"]
    assert output["routing"]["recipient_id"] == 'b"o\\b'
    assert output["content"][0]["body"].rstrip("\n") == 'a "b"\n\tc\\d'
    for name in ("post", "drop", "talker"):
        h.call("POST", "/v1/channels/%s/disable" % name)
        lib.eventually(lambda: not marked(show(h, name)["id"]), 30, "its end")
    assert h.down() == 0
    return recorded(log)


def test_all_that_is_said_fits_the_schema(home):
    output = talk(home)
    seen = {(direction, name) for direction, name, _ in output}
    for direction, method in NAMES:
        assert (direction, NAMES[direction, method]) in seen, method
    for direction, name in (
            ("from_plugin", "configure_result"), ("from_plugin", "send_result"),
            ("from_plugin", "status_result"), ("from_plugin", "error"),
            ("to_plugin", "register_result"), ("to_plugin", "receive_result"),
            ("to_plugin", "event_result"), ("to_plugin", "report_result"),
            ("to_plugin", "error")):
        assert (direction, name) in seen, name
    # two messages are wrong on purpose, and skepd refused them: as a line of a
    # plugin, and as what it is
    wrong = check(home, [(name, value) for _, name, value in output])
    assert len(wrong) == 4 and all("channel.receive" in w for w in wrong), wrong


def line(method, params, **more):
    return dict({"jsonrpc": "2.0", "method": method, "params": params}, **more)


def envelope(**more):
    return dict({
        "version": "0.1", "message_type": "message", "routing": {
            "id": "dlv_1", "channel": "c", "direction": "outbound",
            "sender_id": "a"},
        "content": [{"content_type": "text", "body": "x"}]}, **more)


def bent(value, path, new):
    """A copy with one member set, or removed (None)."""
    value = copy.deepcopy(value)
    at = value
    for name in path[:-1]:
        at = at[name]
    if new is None:
        del at[path[-1]]
    else:
        at[path[-1]] = new
    return value


EVENT = envelope(message_type="event", content=[],
                 event={"type": "message.voiced", "ref_id": None, "data": {}})
REQUEST = envelope(message_type="request", request_id="r", content=[
    {"content_type": "json", "body": '{"method":"channels.list"}'}])
ENVELOPES = [
    envelope(), EVENT, REQUEST, dict(REQUEST, message_type="response"),
    envelope(message_type="stream", content=[]),
    envelope(content=[{"content_type": "audio", "body": "UklGRg==", "metadata": {
        "mime_type": "audio/m4a", "duration_ms": 5}}]),
    envelope(event=None, request_id=None),
    bent(envelope(), ("routing", "recipient_id"), "phone"),
    bent(EVENT, ("event", "type"), "message.received"),
    bent(EVENT, ("event", "type"), "message.transcribed"),
]
BAD_ENVELOPES = [
    envelope(version="9.9"), bent(envelope(), ("version",), None),
    envelope(message_type="shout"), envelope(content=[]),
    bent(envelope(), ("content",), None), bent(envelope(), ("routing",), None),
    envelope(event={"type": "message.voiced"}),
    bent(EVENT, ("event",), None), bent(EVENT, ("event", "type"), "door.opened"),
    dict(EVENT, content=[{"content_type": "text", "body": "x"}]),
    bent(REQUEST, ("request_id",), None), dict(REQUEST, request_id=7),
    dict(REQUEST, content=[{"content_type": "text", "body": "x"}]),
    bent(envelope(), ("routing", "direction"), "sideways"),
    bent(envelope(), ("routing", "sender_id"), ""),
    bent(envelope(), ("routing", "id"), None),
    bent(envelope(), ("content", 0, "content_type"), "smell"),
    bent(envelope(), ("content", 0, "body"), 7),
]
GOOD = [("from_plugin", v) for v in (
    line("channel.register", {"name": "x"}), line("channel.register", {
        "name": "x", "idempotent": True, "resolves": False}, id=1),
    line("channel.receive", {"sender": "a", "text": "x"}),
    line("channel.receive", {"conversation": "a", "attachments": [
        {"base64": ""}]}, id="z"),
    line("channel.event", {"event": "cursor", "data": {}}),
    line("channel.status", {"status": "ok"}),
    {"jsonrpc": "2.0", "id": 1, "result": None},
    {"jsonrpc": "2.0", "id": "1", "error": {"code": 1, "message": "x"}})]
BAD = [("from_plugin", v) for v in (
    {}, [], 7, line("channel.shout", {}), line("channel.register", {}),
    line("channel.register", {"name": 7}), line("channel.register", {
        "name": "x", "resolves": "yes"}), line("channel.register", []),
    {"jsonrpc": "2.0", "method": "channel.register"},
    dict(line("channel.register", {"name": "x"}), jsonrpc="1.0"),
    line("channel.register", {"name": "x"}, id={}),
    line("channel.register", {"name": "x"}, result={}),
    line("channel.receive", {"text": "x"}), line("channel.receive", {"sender": "a"}),
    line("channel.receive", {"sender": "a" * 513, "text": "x"}),
    line("channel.receive", {"sender": "a", "text": "x", "kind": "crowd"}),
    line("channel.event", {}), line("channel.event", {"event": "cursor"}),
    line("channel.status", {}), line("channel.status", {"status": "fine"}),
    line("channel.stop", {}), line("channel.send", envelope(), id=1),
    {"jsonrpc": "2.0", "id": 1}, {"jsonrpc": "2.0", "result": {}},
    {"jsonrpc": "2.0", "id": 1, "result": {}, "error": {"code": 1, "message": ""}},
    {"jsonrpc": "2.0", "id": 1, "result": []},
    {"jsonrpc": "2.0", "id": 1, "error": {"code": "x", "message": "y"}},
    {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "y", "data": {
        "permanent": "yes"}}})]
BAD += [("to_plugin", v) for v in (
    line("channel.configure", {"name": "x", "config": {}}, id=1),
    line("channel.send", envelope()), line("channel.stop", {}, id=1),
    line("channel.status", {"delivery": 7}, id=1),
    line("channel.event", {"event": "message.received", "data": {}}),
    line("channel.register", {"name": "x"}))]
BAD += [("status_result", {"delivery": "perhaps"}), ("send_result", {"id": 7}),
        ("receive_result", {"ok": True})]


def test_the_schema_refuses_what_is_wrong(home):
    good = GOOD + [("envelope", e) for e in ENVELOPES]
    assert check(home, good) == []
    bad = BAD + [("envelope", e) for e in BAD_ENVELOPES]
    refused = check(home, bad)
    assert len(refused) == len(bad), refused


def test_skepd_takes_and_refuses_the_same_envelopes(home):
    h = host(home)
    h.call("PUT", "/v1/channels/t", {"kind": "pull"})
    for i, e in enumerate(ENVELOPES):
        e = bent(e, ("routing", "id"), "m%d" % i)
        assert h.call("POST", "/v1/channels/t/messages", e)["changed"], e
    for e in BAD_ENVELOPES:
        try:
            h.call("POST", "/v1/channels/t/messages", e)
            raise AssertionError("taken: %s" % e)
        except Refused as r:
            assert r.status == 422, (r, e)
    h.down()
