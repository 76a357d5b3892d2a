"""Bodies of events: what is wrong is refused on every way in, and what is
stored already, by an older program or by hand, is read all the same."""
import json
import pathlib
import re
import sqlite3

import lib
from chat_mock import Mock, text
from skepd_lib import Host, finish
from test_chat import chat, run

ROOT = pathlib.Path(__file__).resolve().parents[3]
VALUES = {"STRING": "x", "NUMBER": 7, "BOOLEAN": True, "ARRAY": [1],
          "NONE": None, "OBJECT": {"a": 1}}
NO_OBJECTS = ("[1]", "[]", "1", '"x"', "null", "true")


def rules():
    """(type, member, allowed types) of the table."""
    table = (ROOT / "schema/agent/transcript/event_body.def").read_text()
    return [(t, m, set(w.strip() for w in words.split("|")))
            for t, m, words in re.findall(
                r"^BODY\((\w+),\s+(\w+),\s+([A-Z| ]+)\)", table, re.M)]


def wrong_bodies():
    """(type, member, body) with one member of each type it may not have."""
    for kind, member, allowed in rules():
        for word, value in VALUES.items():
            if word not in allowed:
                yield kind, member, json.dumps({member: value})


def types():
    table = (ROOT / "schema/agent/transcript/event_type.def").read_text()
    return dict((w, int(n)) for w, n in re.findall(
        r"^EVENT\((\w+),\s+(\d+)\)", table, re.M))


def import_lines(kind, body):
    return ('{"record":"session","version":1,"key":"i"}\n'
            '{"record":"event","seq":1,"type":"%s","body":%s}\n' % (kind, body))


def test_a_wrong_body_is_refused_by_its_member(home):
    home.skep("agent", "add", "a", "--driver", "script")
    home.skep("session", "append", "s", "hello")
    for body in NO_OBJECTS:
        error = home.refused(65, "session", "append", "s", "--body", body)
        assert "object" in error, error
    assert len(rules()) > 30
    for kind, member, body in list(wrong_bodies())[::12]:
        error = home.refused(65, "session", "append", "s", "--type", kind,
                            "--body", body)
        assert '"%s"' % member in error and kind in error, error
    for kind, member, body in list(wrong_bodies())[2::20]:
        error = home.refused(65, "session", "import", "-",
                            input=import_lines(kind, body))
        assert '"%s"' % member in error and "line 2" in error, error
    error = home.refused(65, "session", "import", "-",
                        input=import_lines("message", "[1]"))
    assert "object" in error and "line 2" in error, error
    assert len(home.skep("session", "show", "s", "--events",
                         "--json").lines) == 1
    for kind in types():
        home.skep("session", "append", "all", "--type", kind, "--body", "{}")
    assert home.query(home.agent_db("a"),
                      "SELECT count(*) FROM session WHERE key = 'i'") == [(0,)]


def test_lines_of_a_command_with_wrong_members_are_kept_raw(home):
    d = Host(home).start()
    lines = [dict(json.loads(body), type=kind)
             for kind, member, body in wrong_bodies() if kind in
             ("message", "usage", "error", "note", "tool_result")]
    lines += [{"type": "message", "role": "assistant", "content": "fine"}]
    d.script("a", *[{"event": line} for line in lines])
    assert d.until(d.submit("a"))["state"] == "succeeded"
    text_of = "".join("printf '%%s\\n' '%s'\n" % json.dumps(v) for v in lines)
    d.agent("b", "exec", {"command": ["/bin/sh", "-c", text_of],
                          "stdin": "none"})
    assert d.until(d.submit("b"))["state"] == "succeeded"
    for agent in ("a", "b"):
        rows = home.query(home.agent_db(agent), "SELECT body FROM event WHERE"
                          " type = %d ORDER BY pos" % types()["raw"])
        assert [json.loads(body) for body, in rows] == lines[:-1]
    finish(d)


# Valid JSON for SQLite, and nothing that a reader expects.
STORED = list(NO_OBJECTS) + [
    '{"role":1,"content":2}', '{"role":"user","content":[{"a":1}]}',
    '{"role":"assistant","content":{"x":[]}}', '{"text":false}',
    '{"role":"user","content":"a\\u0000b"}',
    '{"role":"assistant","content":"\\ud800"}', '{"role":{"a":{}}}',
    '  [ 1 ]', '{"role":"user","content":"\\u001b[31m\\u009b1m"}',
    "[" * 500 + "]" * 500, '{"a":1e400}', '{"role":"user","role":"assistant"}',
    '{"turn":"x","role":"assistant"}', '{"key":5,"state":"asked"}']


def store(home, agent, session):
    """Inserts each of them as an event of each type."""
    db = sqlite3.connect(home.agent_db(agent))
    number, = db.execute("SELECT id FROM session WHERE key = ?",
                         (session,)).fetchone()
    last, = db.execute("SELECT max(pos) FROM event WHERE pos >> 32 = ?",
                       (number,)).fetchone()
    for kind in types().values():
        for body in STORED:
            last += 1
            db.execute("INSERT INTO event (pos, type, at, body) VALUES"
                       " (?, ?, 1700000000000, ?)", (last, kind, body))
    db.commit()
    db.close()
    return last & 0xffffffff


def test_stored_bodies_of_any_form_are_read(home):
    m = Mock(home, text("fine"))
    d = chat(home, m)
    assert run(d)["state"] == "succeeded"
    last = store(home, "a", "s")
    shown = home.skep("session", "show", "s", "--events", "--json",
                      "--agent", "a").lines
    assert [e["seq"] for e in shown] == list(range(1, last + 1))
    assert all(isinstance(e["body"], dict) for e in shown)
    assert [e["body"] for e in shown if e["body"] == {"invalid": [1]}]
    for args in (("show", "s"), ("show", "s", "--events"), ("tail", "s"),
                 ("tail", "s", "--json"), ("export", "s"),
                 ("search", "fine"), ("tree", "s"), ("ls",),
                 ("fork", "s", "f", "--copy"), ("show", "f", "--events")):
        r = home.skep("session", *args, "--agent", "a")
        assert "\x1b[31m" not in r.out and "\u009b" not in r.out, args
    # every later run of the session works, and the model sees what can be read
    assert run(d, "and now?")["state"] == "succeeded"
    assert {"role": "user", "content": "and now?"} in m.messages()
    page = d.call("GET", "/v1/sessions/a/s/events?limit=1000")
    assert all(isinstance(e["body"], dict) for e in page["items"])
    d.call("GET", "/v1/sessions/a/s/messages")
    d.down()


def test_a_session_that_was_broken_by_an_array_works_again(home):
    """The body that ended `session show` and every later chat run."""
    m = Mock(home, text("fine"))
    d = chat(home, m)
    assert run(d)["state"] == "succeeded"
    db = sqlite3.connect(home.agent_db("a"))
    db.execute("INSERT INTO event (pos, type, at, body) SELECT max(pos) + 1,"
               " 2, 1700000000000, '[1]' FROM event")
    db.commit()
    db.close()
    home.skep("session", "show", "s", "--events", "--agent", "a")
    home.skep("session", "tail", "s", "--agent", "a")
    assert run(d, "again")["state"] == "succeeded"
    finish(d)


# (stored by another program, what readers get)
STORED_PARTS = [
    ("{broken", "{broken"), ("", ""), ("plain words", "plain words"),
    ("NaN", "NaN"), ("{} {}", "{} {}"), ("[1,]", "[1,]"), ("'a'", "'a'"),
    ('{"a":\n  [1,\r\n2]}', {"a": [1, 2]}), ('"a\nb"', "a\nb"),
    ('{"a":"\\u0000"}', {"a": "\ufffd"}), ("01", "01"),
    ("[" * 5000, "[" * 5000), (b'{"a":"\xff"}', {"a": "\ufffd"}),
    (b"\xff{", "\ufffd{")]


def store_parts(home):
    """The first part of the session gets a neighbour for each of them."""
    db = sqlite3.connect(home.agent_db("a"))
    pos, = db.execute("SELECT min(pos) FROM part").fetchone()
    for i, (text_of, _) in enumerate(STORED_PARTS):
        for kind in ("tool", "data"):
            idx = 100 + 2 * i + (kind == "data")
            # CAST: the bytes may be no UTF-8
            db.execute("INSERT INTO part (pos, idx, kind, state, call_id, name,"
                       " created_at, updated_at, input) VALUES (?, ?, ?,"
                       " 'done', ?, 'x', 1, 1, CAST(? AS TEXT))",
                       (pos, idx, kind, "c%d" % idx, text_of))
    db.execute("UPDATE part SET output = input WHERE idx >= 100")
    db.commit()
    db.close()


def check_parts(parts):
    got = [(p["input"], p["output"]) for p in parts if p["idx"] >= 100]
    assert got == [(v, v) for _, v in STORED_PARTS for _ in (1, 2)], got


def parts_of(rows):
    return [p for row in rows for p in row.get("parts", [])]


def test_stored_parts_without_json_are_read(home):
    """part.input and part.output have no CHECK: anything may be there."""
    d = Host(home).start()
    d.script("a", {"tool": {"name": "x", "input": {}, "output": {}}})
    run_id = d.submit("a", session="s")
    assert d.until(run_id)["state"] == "succeeded"
    store_parts(home)
    check_parts(parts_of(d.call("GET", "/v1/sessions/a/s/events?limit=1000")
                         ["items"]))
    tail = home.skep("session", "tail", "s", "--json", "--agent", "a").lines
    check_parts(parts_of(tail) or [e["part"] for e in tail if "part" in e])
    check_parts(parts_of(home.skep("session", "show", "s", "--events", "--json",
                                   "--agent", "a").lines))
    d.call("GET", "/v1/sessions/a/s/messages")
    out = home.skep("session", "export", "s", "--agent", "a").out
    home.skep("agent", "add", "b", "--driver", "script")
    home.skep("session", "import", "-", "--agent", "b", input=out)
    rows = home.query(home.agent_db("b"), "SELECT input, output FROM part"
                      " WHERE call_id LIKE 'c%' ORDER BY idx")
    want = [v for _, v in STORED_PARTS for _ in (1, 2)]
    assert [(json.loads(i), json.loads(o)) for i, o in rows] == \
        [(v, v) for v in want]
    for args in (("show", "s"), ("tail", "s"), ("search", "broken"),
                 ("fork", "s", "f", "--copy")):
        home.skep("session", *args, "--agent", "a")
    d.down()
