"""Generated requests: every declared input of every route with every kind of
wrong value. skepd must survive each, and the answer must name the input."""
import json
import re
import urllib.parse

import lib
from web_lib import Skepd

# Values of each JSON type; a member's own type is left out of the wrong ones.
VALUES = {"string": "x", "integer": 7, "number": 1.5, "boolean": True,
          "array": [1], "object": {"a": 1}}
HUGE_TEXT = "x" * 1_000_000  # the whole body is too large for most routes
HUGE_NUMBER = 10 ** 30

# Required by the handler beside the table, or needed to reach the handler.
VALID = {"name": "ada", "agent": "ada", "key": "s1", "session": "s1",
         "room": "r1"}


def types_of(schema):
    kinds = schema.get("type")
    return [] if kinds is None else \
        kinds if isinstance(kinds, list) else [kinds]


def valid(schema, name):
    """A legal value of a schema."""
    kinds = types_of(schema)
    if "enum" in schema:
        return schema["enum"][0]
    if not kinds:
        return {"text": "x"}
    if kinds[0] == "string":
        return VALID.get(name, "x")
    if kinds[0] == "integer":
        return max(1, schema.get("minimum", 1))
    if kinds[0] == "array":
        item = schema.get("items", {})
        return [item["enum"][0]] if "enum" in item else []
    return {"boolean": True, "object": {}}[kinds[0]]


def wrong_values(schema):
    """Values that the schema does not allow, each with its description."""
    kinds = types_of(schema)
    if "null" not in kinds and kinds:
        yield "null", None
    for kind, value in VALUES.items():
        if kinds and kind not in kinds:
            yield kind, value
    if "enum" in schema:
        yield "no word", "no-such-word"
        yield "empty word", ""
    if "string" in kinds and schema.get("minLength", 0) > 0:
        yield "empty", ""
    if schema.get("maxLength", 1 << 40) < 2_000_000:
        yield "long", "x" * (schema["maxLength"] + 1)
    if schema.get("maxLength", 1 << 40) < len(HUGE_TEXT):
        yield "huge", HUGE_TEXT
    if "integer" in kinds:
        yield "huge", HUGE_NUMBER
        yield "below", schema["minimum"] - 1
        yield "fraction", 1.5
    if "array" in kinds and schema.get("maxItems", 1 << 40) < 2000:
        yield "huge", ["read"] * 2000
    if "enum" in schema.get("items", {}):
        yield "no item", ["no-such-word"]


def wrong_words(schema):
    """The same for a parameter of an address, which is always text."""
    if "enum" in schema:
        yield "no-such-word"
        yield ""
    elif schema["type"] == "integer":
        for text in ("x", "", "1.5", "1e3", " 1", "0x10", str(HUGE_NUMBER),
                     str(schema["minimum"] - 1)):
            yield text
    elif schema["type"] == "boolean":
        yield from ("maybe", "TRUE", "2", "null")
    elif schema["type"] == "string":
        if schema["minLength"] > 0:
            yield ""
        if schema["maxLength"] < 9000:
            yield "x" * (schema["maxLength"] + 1)
        if "pattern" in schema:
            yield from ("a/b", "..", "ä", "a b")


class Route:
    def __init__(self, path, method, spec):
        self.path, self.method, self.name = path, method, spec["operationId"]
        self.params = spec["parameters"]
        content = spec.get("requestBody", {}).get("content", {})
        self.body = content.get("application/json", {}).get("schema")

    def params_in(self, place):
        return [p for p in self.params if p["in"] == place]

    def url(self, path=None, query=None):
        values = {p["name"]: valid(p["schema"], p["name"])
                  for p in self.params_in("path")}
        values.update(path or {})
        text = re.sub(r"\{(\w+)\}", lambda m: urllib.parse.quote(
            str(values[m.group(1)]), safe=""), self.path)
        ask = {p["name"]: valid(p["schema"], p["name"])
               for p in self.params_in("query") if p["required"]}
        ask.update(query or {})
        return text + ("?" + urllib.parse.urlencode(ask) if ask else "")

    def members(self):
        """A body with every required member."""
        return {name: valid(self.body["properties"][name], name)
                for name in self.body["required"]}


def routes_of(s):
    document = s.get("/openapi.json")
    for path, methods in document["paths"].items():
        for method, spec in methods.items():
            yield Route(path, method.upper(), spec)


class Attack:
    def __init__(self, home):
        self.s = Skepd(home)
        self.pid = self.s.proc.pid
        self.s.agent()
        self.sent = 0

    def send(self, route, url, body=None, headers=None):
        status, answer = self.s.ask(route.method, url, body, headers)
        self.sent += 1
        assert self.s.proc.poll() is None, (route.method, url, body)
        return status, json.dumps(answer, ensure_ascii=False)

    def refused(self, route, name, url, body=None):
        status, output = self.send(route, url, body)
        what = (route.method, url[:200], str(body)[:300], status, output[:600])
        assert 400 <= status < 500, what
        assert status == 404 or name in output or (
            status == 413 and "body" in output), what

    def finish(self):
        assert self.s.get("/v1/health")["pid"] == self.pid
        # a refused request must not undo those that came with it
        assert "commit failed" not in self.s.log()
        self.s.stop()


def test_wrong_members_of_a_body_are_refused_by_name(home):
    a = Attack(home)
    for route in routes_of(a.s):
        if not route.body:
            continue
        for name, schema in route.body["properties"].items():
            body = route.members()
            for what, value in wrong_values(schema):
                a.refused(route, name, route.url(), dict(body, **{name: value}))
            if name in body:
                del body[name]
                a.refused(route, name, route.url(), body)
        if not route.body["additionalProperties"]:
            a.refused(route, "no_such_member", route.url(),
                      dict(route.members(), no_such_member=1))
    assert a.sent > 600, a.sent
    a.finish()


def test_wrong_parameters_of_a_query_are_refused_by_name(home):
    a = Attack(home)
    status, output = a.s.ask("PUT", "/v1/channels/ada", {"kind": "pull"})
    assert status == 200, output
    for route in routes_of(a.s):
        for p in route.params_in("query"):
            for text in wrong_words(p["schema"]):
                a.refused(route, p["name"], route.url(None, {p["name"]: text}))
            if p["required"]:
                status, output = a.send(route, route.url().partition("?")[0])
                assert status in (400, 422) and p["name"] in output, output
        a.refused(route, "no_such_parameter",
                  route.url(None, {"no_such_parameter": "1"}))
    assert a.sent > 200, a.sent
    a.finish()


def test_wrong_parameters_of_a_path_are_refused(home):
    a = Attack(home)
    for route in routes_of(a.s):
        for p in route.params_in("path"):
            for text in wrong_words(p["schema"]):
                if text:
                    a.refused(route, p["name"], route.url({p["name"]: text}))
            for raw in ("%00", "%ff", "%0a", "%", "%1b[1m"):
                url = route.url({p["name"]: "@@@"}).replace("%40%40%40", raw)
                a.refused(route, "URL", url)
    assert a.sent > 400, a.sent
    a.finish()


# What a route does with valid input is its own test's business; here, that no
# combination ends skepd. These would end or replace it on purpose.
ENDING = {"stop"}


def test_optional_members_may_be_null_or_empty(home):
    """Null, empty and huge values that the schema allows: 2xx or 4xx."""
    a = Attack(home)
    for route in routes_of(a.s):
        if not route.body or route.name in ENDING:
            continue
        for name, schema in route.body["properties"].items():
            kinds = types_of(schema)
            values = []
            if "null" in kinds or not kinds:
                values.append(None)
            if "string" in kinds and not schema.get("minLength"):
                values += ["", "x" * min(schema.get("maxLength", 100_000),
                                         1_000_000)]
            if "integer" in kinds:
                values += [schema["minimum"], schema["maximum"]]
            if not kinds:
                values += list(VALUES.values())
            for value in values:
                status, output = a.send(route, route.url(),
                                      dict(route.members(), **{name: value}))
                assert 200 <= status < 300 or 400 <= status < 500, \
                    (route.name, name, str(value)[:100], status, output[:600])
    a.finish()


def test_texts_that_name_nothing_of_the_kind_are_refused(home):
    """Texts of the right form: paths that exist, names and ids that do not."""
    a = Attack(home)
    for route in routes_of(a.s):
        if not route.body or route.name in ENDING:
            continue
        for name, schema in route.body["properties"].items():
            if "string" not in types_of(schema) or "enum" in schema:
                continue
            for text in ("/", "/dev/null", "/etc/passwd", "nobody",
                         "run_" + "0" * 26, "imp_" + "0" * 26):
                status, output = a.send(route, route.url(),
                                      dict(route.members(), **{name: text}))
                assert status < 500, (route.name, name, text, status, output)
    assert a.sent > 200, a.sent
    a.finish()


def test_bodies_that_are_no_objects_are_refused(home):
    a = Attack(home)
    for route in routes_of(a.s):
        if route.method == "GET" or route.name in ENDING:
            continue
        for text in (b"[]", b"null", b"1", b'"x"', b"{", b"{} x", b"\xff",
                     b"\0", b'{"a":"\\u0000"}', b"[" * 100_000,
                     b'{"a":' * 2000):
            status, output = a.send(route, route.url(), text)
            assert 400 <= status < 500, (route.name, text[:40], status, output)
    a.finish()


def test_a_missing_prompt_agent_or_peer_does_not_end_skepd(home):
    """The requests that did."""
    a = Attack(home)
    for body in ({}, {"agent": "ada"}, {"prompt": "x"},
                 {"agent": None, "prompt": "x"},
                 {"agent": "ada", "prompt": None}):
        status, answer = a.s.ask("POST", "/v1/runs", body)
        assert status == 422, (body, status, answer)
        assert "agent" in answer["detail"] or "prompt" in answer["detail"]
    for body in ({"agent": None}, {"agent": "ada", "peer": None}, {}):
        status, answer = a.s.ask("PUT", "/v1/channels/x/bindings", body)
        assert status == 422, (body, status, answer)
    a.finish()


def test_every_body_in_the_document_has_its_rules(home):
    s = Skepd(home)
    submit = s.get("/openapi.json")["paths"]["/v1/runs"]["post"]
    schema = submit["requestBody"]["content"]["application/json"]["schema"]
    assert set(schema["required"]) == {"agent", "prompt"}, schema["required"]
    members = schema["properties"]
    assert members["policy"]["enum"] == ["queue", "reject", "interrupt"]
    assert members["prompt"]["maxLength"] == 1 << 20
    assert members["priority"]["minimum"] == -100
    assert schema["additionalProperties"] is False
    s.stop()
