"""Generated configurations and definitions: every setting with every kind of
wrong value. Nothing crashes, and an error names the setting."""
import json

import lib
from plugin_lib import paths
from web_lib import Skepd

VALUES = [None, "", "x", 7, -1, 1.5, 10 ** 30, True, [], [1], {}, {"a": 1},
          "x" * 70_000]


def kinds_of(schema):
    kinds = schema["type"]
    return kinds if isinstance(kinds, list) else [kinds]


def is_legal(schema, value):
    """Whether the schema allows it, as far as types and words go."""
    kinds = kinds_of(schema)
    if isinstance(value, bool):
        return "boolean" in kinds
    if isinstance(value, (int, float)):
        whole = "integer" in kinds and isinstance(value, int)
        return (whole or "number" in kinds) and \
            schema["minimum"] <= value <= schema["maximum"]
    if isinstance(value, str):
        return kinds == ["string"] and value in schema.get("enum", [value])
    return False


def test_every_setting_with_every_wrong_value(home):
    home.path.mkdir(mode=0o700)
    schema = home.skep("config", "schema", "--json").json
    n = 0
    for section, about in schema["properties"].items():
        for name, setting in about["properties"].items():
            value = VALUES[n % len(VALUES)]  # each kind many times in all
            n += 1
            (home.path / "skep.json").write_text(
                json.dumps({section: {name: value}}))
            r = home.skep("config", "check", code=None)
            what = (section, name, str(value)[:40], r.code, r.err[:300])
            assert r.code in (0, 78), what
            if not is_legal(setting, value) and value != "":
                assert r.code == 78 and name in r.err, what
        (home.path / "skep.json").write_text(json.dumps({section: 5}))
        assert section in home.refused(78, "config", "check")
    for text in ("", "[]", "5", "{", '{"run": {"nope": 1}}', '{"nope": {}}',
                 "\0", '{"run":{"max":1,"max":2}}'):
        (home.path / "skep.json").write_bytes(text.encode())
        r = home.skep("config", "check", code=None)
        assert r.code in (0, 78), (text, r.code, r.err)
    assert n > 30, n


TEXTS = [v for v in VALUES if isinstance(v, str)]

# What a definition's own members may be, of VALUES; anything else is refused
# by name.
LEGAL = {"sandbox": [], "network": [], "limits": [{}], "paths": [{}],
         "enabled": [True], "model": TEXTS, "prompt": TEXTS}

# Members of definitions, by driver (docs/DRIVERS.md, docs/SANDBOX.md).
COMMON = ["sandbox", "network", "limits", "paths", "path", "artifacts",
          "bootstrap", "config", "idle_ms", "enabled", "model", "prompt"]
CONFIG = {
    "exec": ["command", "shell", "env", "pass", "stdin", "context"],
    "chat": ["endpoint", "api", "key_file", "key_env", "headers", "params",
             "price", "tools", "mcp", "max_turns", "backoff_ms"],
    "acp": ["command", "env", "pass", "permission", "mode", "idle_ms", "mcp"],
    "script": ["anything"],
}
CRASHES = ("worker_lost", "worker_died", "signal", "internal", "stalled")


def test_every_member_of_a_definition_with_every_wrong_value(home):
    s = Skepd(home)
    pid = s.proc.pid
    taken, n = [], 0
    for driver, members in CONFIG.items():
        for name in COMMON + members:
            for value in VALUES:
                n += 1
                d = {"driver": driver, "workspace": "disk"}
                if name in members:
                    d["config"] = {name: value}
                else:
                    d[name] = value
                status, answer = s.ask("PUT", "/v1/agents/g", d)
                assert status == 200 or 400 <= status < 500, \
                    (driver, name, str(value)[:40], status, answer)
                if name in LEGAL and value is not None and \
                        (type(value), value) not in [(type(v), v)
                                                     for v in LEGAL[name]]:
                    assert status >= 400 and name in json.dumps(answer), \
                        (driver, name, str(value)[:40], status, answer)
                if status == 200 and n % 11 == 0:
                    taken.append((driver, name, value,
                                  s.post("/v1/runs", {
                                      "agent": "g", "prompt": "[]"},
                                      201)["id"]))
    for driver, name, value, run in taken:
        def over():
            row = s.get("/v1/runs/" + run)
            return row if row["ended_at"] else None
        row = lib.eventually(over, 60, run)
        assert row["reason"] not in CRASHES, \
            (driver, name, str(value)[:60], row["reason"], row["detail"])
    assert s.get("/v1/health")["pid"] == pid and len(taken) > 10, len(taken)
    s.stop()


# An ACP agent whose messages are generated: argv[1] is what is wrong.
ACP = r"""
import copy, json, sys
VALUES = [None, 5, -1, 1.5, True, "", "x", [], [1], {}, {"a": 1}, "y" * 70000]

def places(v, path=()):
    if isinstance(v, dict):
        for k in v:
            yield path + (k,)
            yield from places(v[k], path + (k,))
    if isinstance(v, list):
        for i in range(len(v)):
            yield path + (i,)
            yield from places(v[i], path + (i,))

def mutants(v):
    for path in places(v):
        for value in VALUES + ["missing"]:
            m = copy.deepcopy(v)
            at = m
            for k in path[:-1]:
                at = at[k]
            if value == "missing":
                if isinstance(at, dict):
                    del at[path[-1]]
            else:
                at[path[-1]] = value
            yield m

def say(v):
    sys.stdout.write(json.dumps(dict(v, jsonrpc="2.0")) + "\n")
    sys.stdout.flush()

SID = "s1"
text = {"type": "text", "text": "hello"}
UPDATES = [
    {"sessionUpdate": "agent_message_chunk", "content": text},
    {"sessionUpdate": "agent_thought_chunk", "content": text},
    {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "t",
     "kind": "edit", "status": "pending", "rawInput": {"a": 1},
     "locations": [{"path": "/x", "line": 1}],
     "content": [{"type": "content", "content": text},
                 {"type": "diff", "path": "/x", "oldText": "a",
                  "newText": "b"}]},
    {"sessionUpdate": "tool_call_update", "toolCallId": "c",
     "status": "completed", "content": [{"type": "content", "content": text}],
     "rawOutput": {"b": 1}},
    {"sessionUpdate": "plan", "entries": [
        {"content": "p", "priority": "high", "status": "pending"}]},
    {"sessionUpdate": "available_commands_update", "availableCommands": [
        {"name": "n", "description": "d", "input": {"hint": "h"}}]},
    {"sessionUpdate": "current_mode_update", "currentModeId": "m"},
    {"sessionUpdate": "usage_update", "used": 1, "size": 2,
     "cost": {"amount": 1.5, "currency": "USD"}},
]
REQUESTS = [
    ("fs/read_text_file", {"sessionId": SID, "path": "/etc/hostname",
                           "line": 1, "limit": 1}),
    ("fs/write_text_file", {"sessionId": SID, "path": "/x", "content": "y"}),
    ("terminal/create", {"sessionId": SID, "command": "/bin/true",
                         "args": ["a"], "cwd": "/", "outputByteLimit": 10,
                         "env": [{"name": "A", "value": "b"}]}),
    ("terminal/output", {"sessionId": SID, "terminalId": "t"}),
    ("terminal/wait_for_exit", {"sessionId": SID, "terminalId": "t"}),
    ("terminal/kill", {"sessionId": SID, "terminalId": "t"}),
    ("terminal/release", {"sessionId": SID, "terminalId": "t"}),
]
PERMISSION = {"sessionId": SID, "toolCall": {
    "toolCallId": "c", "title": "t", "kind": "edit", "status": "pending",
    "rawInput": {"a": 1}, "locations": [{"path": "/x", "line": 1}],
    "content": [{"type": "content", "content": text}]},
    "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"},
                {"optionId": "no", "name": "No", "kind": "reject_once"}]}
ANSWERS = {
    "initialize": {"protocolVersion": 1, "agentCapabilities": {
        "loadSession": True, "promptCapabilities": {"image": True}},
        "authMethods": [{"id": "a", "name": "n"}]},
    "session/new": {"sessionId": SID, "modes": {
        "currentModeId": "m", "availableModes": [{"id": "m", "name": "n"}]}},
    "session/prompt": {"stopReason": "end_turn", "usage": {
        "inputTokens": 1, "outputTokens": 2}},
}
which, n = sys.argv[1], int(sys.argv[2])
if which == "count":
    print(json.dumps({k: len(list(places(v))) for k, v in ANSWERS.items()}))
    sys.exit()
next_id = 1000
for line in sys.stdin:
    q = json.loads(line)
    method = q.get("method")
    if "id" not in q or method is None:
        continue
    if method == "session/prompt" and which == "updates":
        for u in UPDATES:
            for m in mutants({"sessionId": SID, "update": u}):
                say({"method": "session/update", "params": m})
    if method == "session/prompt" and which == "requests":
        for name, params in REQUESTS:
            for m in mutants(params):
                next_id += 1
                say({"id": next_id, "method": name, "params": m})
        for m in mutants(PERMISSION):
            next_id += 1
            say({"id": next_id, "method": "session/request_permission",
                 "params": m})
        for bad in ({"id": None, "method": 5}, {"method": []}, {"id": {}},
                    {"id": 9, "result": 1, "error": 2}, {"id": "x"},
                    {"id": 9e300, "method": "x"}, {"method": "session/update"}):
            say(bad)
    result = ANSWERS.get(method, {})
    if which == method:
        # each member missing, and every third wrong in one of the other ways
        all_of, ways = list(mutants(result)), len(VALUES) + 1
        count = len(all_of) // ways
        at = n * ways + ways - 1 if n < count else \
            3 * (n - count) * ways + n % (ways - 1)
        result = all_of[at]
    say({"id": q["id"], "result": result})
"""


def test_acp_messages_with_every_wrong_value(home):
    s = Skepd(home)
    script = home.path / "agent.py"
    script.write_text(ACP)
    runs = []
    counts = json.loads(home.run("python3", script, "count", "0").out)
    cases = [("updates", 0), ("requests", 0), ("requests", 1)] + [
        (method, n) for method, places in counts.items()
        for n in range(places + (places + 2) // 3)]
    for i, (which, n) in enumerate(cases):
        s.agent("h%d" % i, driver="acp", paths={"read": [str(script)]}, config={
            "command": ["python3", str(script), which, str(n)],
            "permissions": {"default": "allow" if (which, n) ==
                            ("requests", 1) else "deny"}})
        runs.append((which, n, s.post("/v1/runs", {
            "agent": "h%d" % i, "prompt": "x", "run_timeout_ms": 60000},
            201)["id"]))
    for which, n, run in runs:
        def over():
            row = s.get("/v1/runs/" + run)
            return row if row["ended_at"] else None
        row = lib.eventually(over, 90, run)
        assert row["reason"] not in CRASHES, (which, n, row)
        if which in ("updates", "requests"):
            assert row["state"] == "succeeded", (which, row)
    s.stop()


# A plugin that registers, and then sends lines with every wrong member.
PLUGIN = ACP.split("SID = ")[0] + r"""
sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method":
    "channel.register", "params": {"name": "p", "version": "1"}}) + "\n")
sys.stdout.flush()
CALLS = [("channel.receive", {
             "id": "m1", "sender": "ann", "conversation": "c", "text": "hi",
             "kind": "direct", "title": "t",
             "attachments": [{"name": "n", "base64": "aGk="}]}),
         ("channel.event", {"event": "cursor", "data": {"a": 1}}),
         ("channel.status", {"status": "ok", "detail": "fine"})]
which, next_id = int(sys.argv[1]), 1000
wrong_answers = [m for m in mutants({"result": {"ok": True, "id": "x"}})] + [
    {"error": m} for m in mutants({"code": -32000, "message": "m", "data": {
        "retry": True, "code": "x"}})] + [{}, {"result": 1, "error": 2}]
sent = 0
for line in sys.stdin:
    q = json.loads(line)
    if "method" not in q:
        continue
    if q["method"] == "channel.send" and which == 3:
        say(dict(wrong_answers[sent % len(wrong_answers)], id=q["id"]))
        sent += 1
        continue
    say({"id": q["id"], "result": {"ok": True}} if "id" in q else {"id": 0})
    if q["method"] == "channel.configure":
        # at most as many bad ones as skepd puts up with
        name, params = CALLS[which % len(CALLS)]
        for m in list(mutants(params))[:90]:
            next_id += 1
            say({"id": next_id, "method": name, "params": m})
"""


def test_plugin_lines_with_every_wrong_value(home):
    s = Skepd(home)
    pid = s.proc.pid
    s.agent()
    script = home.path / "plugin.py"
    script.write_text(PLUGIN)
    for i in range(4):
        status, answer = s.ask("PUT", "/v1/channels/p%d" % i, {
            "kind": "plugin", "command": ["python3", str(script), str(i)],
            "config": {"backoff": 50, "agent": "ada"}})
        assert status == 200, answer
    log = lambda i: s.ask("GET", "/v1/channels/p%d/log" % i)[1]
    lib.eventually(lambda: all(log(i)["items"] for i in range(4)), 30,
                   "the plugins")
    for i in range(40):  # each answer of the fourth is wrong in its own way
        s.post("/v1/deliveries", {"channel": "p3", "conversation": "c%d" % i,
                                  "body": {"text": "x"}})
    tried = lambda: [d for d in s.get("/v1/deliveries?channel=p3&limit=100")[
        "items"] if d["attempts"]]
    lib.eventually(lambda: len(tried()) > 20, 60, "wrong answers")
    lib.eventually(lambda: s.get("/v1/inbound?limit=1000")["items"], 30,
                   "a message of a plugin")
    assert s.get("/v1/health")["pid"] == pid
    s.stop()


# A plugin whose answers are wrong, each in its own way: argv is what it answers
# wrongly, the number of the wrong answer, and a file that the first life leaves.
ANSWERING = ACP.split("SID = ")[0] + r"""
import os
WRONG = [{"result": v} for v in VALUES] + [{"error": v} for v in VALUES] + [
    {"error": m} for m in mutants({"code": -1, "message": "m", "data": {}})] + [
    {}, {"result": {}, "error": {}}]
STATUS = WRONG + [{"result": m} for m in mutants({"delivery": "missing"})]
which, n, mark = sys.argv[1], int(sys.argv[2]), sys.argv[3]
first, asked = not os.path.exists(mark), 0
open(mark, "w").close()
say({"id": 1, "method": "channel.register",
     "params": {"name": "p", "version": "1", "resolves": which == "status"}})
for line in sys.stdin:
    q = json.loads(line)
    good, wrong = {"id": q.get("id"), "result": {"ok": True}}, {}
    if "method" not in q:
        continue
    if q["method"] == "channel.configure":
        if first and which == "configure":
            wrong = dict(WRONG[n % len(WRONG)], id=q["id"])
            say(wrong)
        # a line that is no answer at all is followed by one
        if not wrong or not isinstance(wrong.get("error") or {}, dict):
            say(good)
        for m in STATUS if which == "status" else []:
            say(dict(m, id=0))  # as answers to a ping
    elif q["method"] == "channel.status" and "delivery" in q["params"]:
        say(dict(STATUS[asked % len(STATUS)], id=q["id"]))
        asked += 1
    elif q["method"] == "channel.send":
        if q["params"]["content"][0]["body"] != "lost":
            say(good)
    elif "id" in q:
        say(good)
"""


def answering(s, home, name, which, n, **config):
    status, answer = s.ask("PUT", "/v1/channels/" + name, {
        "kind": "plugin", "config": dict(
            {"backoff": 50, "paths": paths(home)}, **config),
        "command": ["python3", "-SI", str(home.path / "answering.py"), which,
                    str(n), str(home.dir / name)]})
    assert status == 200, answer


def test_plugins_that_answer_skepd_with_every_wrong_value(home):
    """A wrong answer to channel.configure is taken or ends the plugin, one to
    channel.status leaves the outcome open. The next good one counts."""
    s = Skepd(home)
    pid = s.proc.pid
    (home.path / "answering.py").write_text(ANSWERING)
    for n in range(0, 65, 5):  # every kind, of 65 in all
        answering(s, home, "c%d" % n, "configure", n + n // 5 % 5)
        s.post("/v1/deliveries", {"channel": "c%d" % n, "conversation": "c",
                                  "body": {"text": "x"}})
    answering(s, home, "s", "status", 0, timeout=300, attempts=1)
    for i in range(80):
        s.post("/v1/deliveries", {"channel": "s", "conversation": "c%d" % i,
                                  "body": {"text": "lost" if i else "x"}})
    states = lambda channel: [d["state"] for d in s.get(
        "/v1/deliveries?limit=200&channel=" + channel)["items"]]
    for n in range(0, 65, 5):
        lib.eventually(lambda: states("c%d" % n) == ["delivered"], 30,
                       "a message through c%d" % n)
    lib.eventually(lambda: {"pending", "sending"}.isdisjoint(states("s")), 60,
                   "an outcome of each")
    assert states("s").count("delivered") == 1, states("s")
    assert s.get("/v1/health")["pid"] == pid
    s.stop()
