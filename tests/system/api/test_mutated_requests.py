"""Valid requests with large bodies, and every place in them changed: removed,
of another type, empty, huge, negative, with a NUL; and bodies that are changed
as text: duplicate members, deep nesting, invalid UTF-8, cut off. skepd answers each with
2xx or 4xx and survives, and a request that it refuses changes no row."""
import copy
import itertools
import json
import random
import sqlite3
import time

import channel_lib
from web_lib import Skepd, UnixConnection

VALUES = [None, "", "x", "\0", "a\nb", "\x1b[1m", "../..", "x" * 70_000, 0, -1,
          1.5, 2 ** 31, 2 ** 53 + 1, 2 ** 63, -2 ** 63 - 1, 1e308, True, False,
          [], [None], [[]], {}, {"a": None}, {"": 1}]
MISSING = object()

DEFINITION = {
    "driver": "exec", "workspace": "disk", "model": "m", "prompt": "p",
    "enabled": True, "sandbox": "full", "network": "none",
    "limits": {"memory": "64m", "pids": 10, "fds": 64},
    "paths": {"read": ["/etc/hostname"], "write": ["/var/tmp"]},
    "permissions": {"allow": ["read"], "deny": ["edit:x*"], "ask": ["exec"],
                    "default": "ask"},
    "bootstrap": {"files": {"a.txt": "text"}, "command": ["true"]},
    "artifacts": ["*.txt"],
    "config": {"command": ["true", "a"], "env": {"A": "b"}, "pass": ["TZ"],
               "stdin": "lines", "context": 5}}
CHAT = {
    "driver": "chat", "workspace": "disk", "model": "m",
    "config": {"endpoint": "http://127.0.0.1:9/v1", "api": "chat",
               "headers": {"X-A": "b"}, "params": {"temperature": 0.5},
               "price": {"input": 1.5, "output": 2}, "tools": ["read"],
               "mcp": [{"name": "m", "command": ["true"], "env": {"A": "b"}}]}}
ACP = {
    "driver": "acp", "workspace": "disk", "idle_ms": 1000,
    "config": {"command": ["true"], "env": {"A": "b"}, "options": {"o": "v"},
               "permissions": {"default": "deny", "allow": ["read"]}}}
MESSAGE = {
    "id": "m1", "sender": "ann", "conversation": "c", "kind": "direct",
    "title": "t", "text": "hi",
    "attachments": [{"name": "n", "mime": "text/plain", "base64": "aGk="}]}
ENVELOPE = {
    "id": "m2", "conversation": {"id": "c", "type": "direct"},
    "sender": {"id": "ann", "name": "Ann"}, "timestamp": 5,
    "content": [{"content_type": "text", "body": "hi"},
                {"content_type": "image", "body": "aGk=",
                 "metadata": {"mime": "image/png"}}],
    "metadata": {"a": {"b": [1, {"c": 2}]}}}


def seeds():
    """(method, path, body) of requests that are valid as they are."""
    yield "PUT", "/v1/agents/g", DEFINITION
    yield "PUT", "/v1/agents/g", CHAT
    yield "PUT", "/v1/agents/g", ACP
    yield "PUT", "/v1/channels/w", {
        "kind": "webhook", "enabled": True, "config": {
            "url": "http://127.0.0.1:9/x", "secret_file": "none",
            "timeout": 1000, "attempts": 2, "agent": "late"}}
    yield "PUT", "/v1/channels/f", {
        "kind": "file", "config": {"path": "/nowhere/x", "agent": "late"}}
    yield "PUT", "/v1/channels/m", {
        "kind": "smtp", "config": {"url": "smtp://127.0.0.1:9", "from": "a@b.c",
                                   "to": "d@e.f"}}
    yield "PUT", "/v1/channels/p", {
        "kind": "plugin", "enabled": False, "command": ["true", "x"],
        "config": {"agent": "late", "limits": {"memory": "64m"},
                   "paths": {"read": ["/etc"], "write": []},
                   "any": {"deep": [1, {"x": None}]}}}
    yield "PUT", "/v1/channels/q/bindings", {
        "peer": "p", "kind": "any", "agent": "late", "session": "s",
        "session_per": "conversation"}
    yield "POST", "/v1/channels/q/messages", MESSAGE
    yield "POST", "/v1/channels/q/messages", ENVELOPE
    yield "POST", "/v1/deliveries", {
        "channel": "q", "conversation": "c", "body": {
            "text": "x", "json": {"a": 1}, "request_id": "r",
            "attachments": [{"name": "n", "base64": "aGk="}]}, "key": "k"}
    yield "POST", "/v1/runs", {
        "agent": "late", "prompt": "x", "session": "s", "tags": ["a", "b"],
        "options": {"model": "m", "deep": [{"x": 1}]}, "priority": 1,
        "attachments": [{"name": "n", "mime": "text/plain", "base64": "aGk="}],
        "delay_ms": 10_000_000, "max_attempts": 2}
    yield "POST", "/v1/ai/late/chat", {
        "id": "chat", "trigger": "submit-message", "messageId": None,
        "messages": [
            {"id": "1", "role": "user", "parts": [{"type": "text", "text": "a"}]},
            {"id": "2", "role": "user", "metadata": {"skep": {"cursor": "1"}},
             "parts": [{"type": "text", "text": "x"},
                       {"type": "file", "mediaType": "text/plain",
                        "filename": "n", "url": "data:text/plain;base64,aGk="}]}]}
    yield "POST", "/v1/ai/late/chat", {
        "id": "chat", "messages": [
            {"id": "run_" + "0" * 26, "role": "assistant",
             "metadata": {"skep": {"cursor": "1"}}, "parts": [
                 {"type": "dynamic-tool", "state": "approval-responded",
                  "toolCallId": "c", "approval": {
                      "id": "k", "approved": True, "reason": "r"}}]}]}
    yield "POST", "/openai/v1/chat/completions", {
        "model": "nobody", "stream": True, "messages": [
            {"role": "system", "content": "s"}, {"role": "user", "content": [
                {"type": "text", "text": "x"},
                {"type": "image_url", "image_url": {
                    "url": "data:image/png;base64,aGk="}},
                {"type": "file", "file": {"filename": "n", "file_data":
                                          "data:text/plain;base64,aGk="}}]}]}
    yield "POST", "/openai/v1/responses", {
        "model": "late", "background": True, "stream": True,
        "conversation": {"id": "c"}, "reasoning": {"summary": "auto"},
        "instructions": "i", "input": [
            {"type": "message", "role": "user", "content": [
                {"type": "input_text", "text": "x"},
                {"type": "input_image", "image_url":
                 "data:image/png;base64,aGk="}]}]}
    yield "PATCH", "/v1/sessions/ada/s1", {
        "title": "t", "meta": {"a": {"b": [1, {"c": None}]}}, "kind": "chat"}
    yield "PUT", "/v1/sessions/ada/s3", {
        "title": "t", "meta": {"a": [1, {"c": None}]}, "kind": "chat"}
    yield "PUT", "/v1/sessions/ada/s1/vector", {
        "seq": 1, "model": "m", "vector": [0.5, 1]}
    yield "POST", "/v1/agents/ada/vectors/search", {
        "model": "m", "vector": [0.5, 1], "metric": "dot", "limit": 3}
    yield "POST", "/v1/messages", {
        "to": "ada/s1", "sender": "ada/s2", "text": "x"}
    yield "PUT", "/v1/budgets/b", {
        "unit": "money", "hard": 5, "soft": 3, "per": "session", "agent": "ada",
        "session": "s1", "period": "month", "at_hard": "end"}
    yield "POST", "/v1/logins", {"code": "c"}
    yield "POST", "/v1/logins/codes", {"name": "n", "scopes": ["read"],
                                       "lifetime_ms": 5}
    yield "POST", "/v1/tokens", {"name": "t", "scopes": ["read", "run"]}
    yield "POST", "/v1/experiments/exp_%s/pick" % ("0" * 26), {
        "trial": 1, "strategy": "ours", "ours": ["a"], "theirs": ["b"]}
    yield "POST", "/v1/experiments", {
        "agent": "late", "from": "main@s", "check": "true", "runs": 2, "seed": 3,
        "keep": True, "variants": [
            {"name": "v", "agent": "late", "prompt": "x",
             "config": {"a": {"b": [1, {"c": None}]}}},
            {"agent": "late", "prompt": "y"}]}
    yield "POST", "/v1/runs/run_%s/revert" % ("0" * 26), {
        "turn": 1, "paths": ["a", "b/c"], "force": True}
    yield "POST", "/v1/audit", {"act": "x", "subject": "y",
                                "detail": {"a": [1, {"b": 2}]}}


def places(v, path=()):
    if path:
        yield path
    for k in v if isinstance(v, dict) else \
            range(len(v)) if isinstance(v, list) else ():
        yield from places(v[k], path + (k,))


def changed(body, path, value):
    body = copy.deepcopy(body)
    at = body
    for k in path[:-1]:
        at = at[k]
    if value is MISSING:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return body


def texts(body, rnd):
    """The body as bytes, changed in ways that no JSON value is."""
    whole = json.dumps(body).encode()
    for depth in (10, 900, 100_000):
        deep = b"[" * depth + b"]" * depth
        yield whole[:-1] + b', "x-deep": ' + deep + b"}"
        yield whole[:-1] + b', "meta": ' + deep + b"}"
        yield b'{"a":' * depth + b"1" + b"}" * depth
    for name in body:
        yield whole[:-1] + (', "%s": null}' % name).encode()
        yield whole[:-1] + (', "%s": "\\u0000"}' % name).encode()
        yield whole[:-1] + (', "%s": 1e999}' % name).encode()
        yield whole[:-1] + (', "%s": "\\ud800"}' % name).encode()
        yield whole[:-1] + (', "%s": "' % name).encode() + b'\xff\xc0\x80"}'
        yield whole[:-1] + (', "%s": "' % name).encode() + b'\0"}'
    for _ in range(25):
        at = rnd.randrange(len(whole))
        yield whole[:at]
        yield whole[:at] + bytes([rnd.randrange(256)]) + whole[at + 1:]
    yield b"\xef\xbb\xbf" + whole
    yield whole + b"\0"
    yield whole + whole


class Attack:
    def __init__(self, home):
        self.home = home
        self.s = Skepd(home, {"run": {"prefork": 0, "max": 1,
                                      "heartbeat": "60000ms"}})
        self.pid = self.s.proc.pid
        self.s.agent()
        self.s.agent("late")  # its runs stay in the queue
        self.s.wait(self.s.run({"event": {"type": "note"}}, session="s1"))
        self.s.run({"sleep_ms": 6_000_000})
        for name in "qwfm":
            self.s.ask("PUT", "/v1/channels/" + name, {"kind": "pull"})
        self.sent = self.refused = 0
        self.db = None

    def rows(self):
        """All of the control plane but the log of events and the row of skepd."""
        if not self.db:
            self.db = sqlite3.connect("file:%s?mode=ro" % self.home.control, uri=True,
                                      timeout=30)
            self.tables = [name for name, in self.db.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE"
                " 'sqlite_%' AND name NOT IN ('supervisor', 'host_event')")]
        return {name: self.db.execute("SELECT * FROM \"%s\"" % name).fetchall()
                for name in self.tables}

    def ask(self, method, path, body, headers):
        """Like Skepd.ask, but does not wait for the end of a stream."""
        c = UnixConnection(self.s.socket)
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        c.request(method, path, body, headers(body) if headers else {})
        r = c.getresponse()
        streams = "event-stream" in r.headers.get("Content-Type", "")
        data = b"{}" if streams or r.status == 204 else r.read()
        c.close()
        r.close()
        return r.status, json.loads(data)

    def send(self, method, path, body, headers=None):
        status, answer = self.ask(method, path, body, headers)
        self.sent += 1
        what = (method, path, str(body)[:600], status, str(answer)[:600])
        assert self.s.proc.poll() is None, what
        assert 200 <= status < 300 or 400 <= status < 500, what
        if status >= 400:
            self.refused += 1
            assert answer.get("detail") or answer["error"]["message"], what
        return status, what

    def try_one(self, method, path, body):
        """Of every 16th request that is refused: no row has changed. Something else
        may change rows at the same time, but not five times in a row."""
        looks = self.sent % 16 == 0
        for _ in range(5):
            before = self.rows() if looks else None
            status, what = self.send(method, path, body)
            after = self.rows() if looks and status >= 400 else before
            if after == before:
                return
        assert False, what + tuple(
            (name, set(before[name]) ^ set(after[name])) for name in before
            if before[name] != after[name])

    def finish(self, at_least):
        assert self.sent > at_least and self.refused > at_least / 4, \
            (self.sent, self.refused)
        assert self.s.get("/v1/health")["pid"] == self.pid
        log = self.s.log()
        for word in ("commit failed", "Assertion", "Sanitizer"):
            assert word not in log, log[-3000:]
        if self.db:
            self.db.close()
        self.s.kill()
        self.home.integrity()


def is_deep(schema):
    """Whether a value has places of its own."""
    kinds = schema.get("type", ["object"])
    return {"object", "array"} & {kinds} if isinstance(kinds, str) else \
        {"object", "array"} & set(kinds)


def test_every_body_with_lists_or_objects_is_mutated(home):
    s = Skepd(home)
    sent = [(method, path.split("/")) for method, path, _ in seeds()]
    for path, methods in s.get("/openapi.json")["paths"].items():
        for method, spec in methods.items():
            body = spec.get("requestBody", {}).get("content", {}).get(
                "application/json", {}).get("schema", {})
            deep = [n for n, m in body.get("properties", {}).items() if is_deep(m)]
            parts = path.split("/")
            assert not deep or any(
                m == method.upper() and len(p) == len(parts) and all(
                    a == b or a[:1] == "{" for a, b in zip(parts, p))
                for m, p in sent), (method, path, deep)
    s.stop()


def test_every_place_of_a_body_with_every_wrong_value(home):
    a = Attack(home)
    for method, path, body in seeds():
        for i, place in enumerate(places(body)):
            for j, value in enumerate(VALUES + [MISSING]):
                if (i + j) % 2:  # each value at every second place
                    continue
                a.try_one(method, path, changed(body, place, value))
    a.finish(1500)


def test_bodies_that_are_changed_as_text(home):
    a = Attack(home)
    rnd = random.Random(2)
    for method, path, body in seeds():
        for text in texts(body, rnd):
            a.try_one(method, path, text)
    a.finish(1000)


def test_signed_messages_from_outside_with_every_wrong_value(home):
    """The only route without a token: bodies with a valid signature, and headers
    that are wrong."""
    a = Attack(home)
    channel_lib.secret(home, "in")
    status, answer = a.s.ask("PUT", "/v1/channels/in", {
        "kind": "webhook", "config": {"agent": "late"}})
    assert status == 200, answer
    path, numbers = "/v1/channels/in/in", itertools.count()

    def headers(body):
        ident, now = "m%d" % next(numbers), str(int(time.time()))
        return {"webhook-id": ident, "webhook-timestamp": now,
                "webhook-signature": channel_lib.sign(channel_lib.SECRET, ident,
                                                      now, body)}
    taken = 0
    for body in (MESSAGE, ENVELOPE):
        for place in places(body):
            for value in VALUES + [MISSING]:
                taken += a.send("POST", path, changed(body, place, value),
                                headers)[0] < 300
        for text in texts(body, random.Random(3)):
            a.send("POST", path, text, headers)
    assert taken > 50, taken
    for header in ("webhook-id", "webhook-timestamp", "webhook-signature"):
        for value in ("", "x", "-1", "9" * 40, "v1," * 3000, "v1,=", "\x01",
                      "\xff", "v1a,AA==", ".", "a.b"):
            status, what = a.send("POST", path, MESSAGE, lambda body: dict(
                headers(body), **{header: value}))
            assert status >= 400 or header == "webhook-id", what
    a.finish(500)
