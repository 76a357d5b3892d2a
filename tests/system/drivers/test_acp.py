"""The acp driver against an agent that does what it is told."""
import base64
import json
import pathlib
import sys

import lib
from worker_lib import Supervisor, Worker, failed, ok, run_id

AGENT = lib.seen_in_a_sandbox(pathlib.Path(__file__).resolve().parents[1] / "support" / "acp_agent.py")


def acp(home, steps, sup=None, can="", n=1, env=None, config=None, start=None,
        **more):
    """A run with these steps, or with a text, as its prompt; `start` is added
    to its start message."""
    state = home.dir / "state"
    state.mkdir(exist_ok=True)
    steps = steps if isinstance(steps, str) else json.dumps(steps)
    config = dict({"command": [sys.executable, str(AGENT)],
                   "env": dict({"ACP_STATE": str(state), "ACP_CAN": can},
                               **(env or {}))}, **(config or {}))
    work = home.dir / "work"
    work.mkdir(exist_ok=True)
    more.setdefault("workspace", str(work))
    more.update(start or {})
    return Worker(sup or Supervisor(home), "acp", config, n=n, prompt=steps,
                  **more)


def heard(home):
    """What the agent heard: (method or None, message)."""
    lines = (home.dir / "state" / "heard").read_text().splitlines()
    return [(m.get("method"), m) for m in map(json.loads, lines)]


def methods(home):
    return [m for m, _ in heard(home) if m]


def texts(w, kind="text"):
    return [t for (t,) in w.home.query(
        w.db, "SELECT text FROM part WHERE kind = ? ORDER BY pos, idx", kind)]


def tools(w):
    return w.home.query(w.db, "SELECT name, state, call_id, input, output, "
                        "meta FROM part WHERE kind = 'tool' ORDER BY pos")


def test_a_prompt_is_a_turn_and_its_text_grows(home):
    w = acp(home, "hello")
    ok(w)
    assert texts(w) == ["turn 1, you said hello"], texts(w)
    assert methods(home) == ["initialize", "session/new", "session/prompt"]
    first = heard(home)[0][1]["params"]
    assert first["protocolVersion"] == 1, first
    assert heard(home)[1][1]["params"]["cwd"] == str(home.dir / "work")
    usage = w.home.query(w.db, "SELECT input, output FROM usage")
    assert usage == [(5, 2)], usage


def test_every_update_is_kept(home):
    call = {"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "look",
            "kind": "read", "status": "pending", "rawInput": {"path": "a"}}
    done = {"sessionUpdate": "tool_call_update", "toolCallId": "c1",
            "status": "completed", "rawOutput": {"n": 1}}
    late = {"sessionUpdate": "tool_call_update", "toolCallId": "c1",
            "title": "late"}
    lone = {"sessionUpdate": "tool_call_update", "toolCallId": "c2",
            "status": "failed"}
    plan = {"sessionUpdate": "tool_call", "toolCallId": "c3", "title": "p",
            "status": "pending", "content": [{"type": "diff", "path": "/x",
                                              "newText": "n"}]}
    name = {"sessionUpdate": "session_info_update", "title": "a title"}
    others = {"plan": "plan", "available_commands_update": "status",
              "current_mode_update": "status", "session_info_update": "status",
              "config_option_update": "status", "notice": "note",
              "never_heard_of": "raw"}
    think = {"sessionUpdate": "agent_thought_chunk",
             "content": {"type": "text", "text": "hm"}}
    money = [{"sessionUpdate": "usage_update", "used": 1, "size": 9,
              "cost": {"amount": n, "currency": "USD"}} for n in (0.25, 0.75)]
    w = acp(home, [{"update": think}, {"say": "a"}, {"update": call},
                   {"say": "b"}, {"update": done}, {"update": lone},
                   {"update": plan}, {"update": name}, {"raw": "not json"}, {"raw": '{"jsonrpc":"2.0"}'},
                   {"raw": '{"jsonrpc":"2.0","method":"x/y","params":{}}'},
                   {"call": "private/method", "params": {}}]
            + [{"update": {"sessionUpdate": k, "mark": k}} for k in others]
            + [{"update": m} for m in money] + [{"after": late}])
    ok(w)
    assert texts(w, "reasoning") == ["hm"]
    assert texts(w)[:2] == ["a", "b"], texts(w)
    assert '"code": -32601' in texts(w)[2], texts(w)
    assert [t[:3] for t in tools(w)] == [
        ("look", "done", "c1"), ("tool", "error", "c2"),
        ("p", "done", "c3")], tools(w)
    assert tools(w)[2][4] is None, "what it would do is no output"
    assert w.home.query(w.db, "SELECT title FROM session") == [("a title",)]
    assert json.loads(tools(w)[0][3]) == {"path": "a"}
    assert json.loads(tools(w)[0][4]) == {"raw": {"n": 1}}
    for kind, event in others.items():
        assert any(b.get("mark") == kind for _, b in w.events(event)), kind
    raw = [b for _, b in w.events("raw")]
    for one in (call, done, late, lone):
        assert one in raw, one
    assert [b["text"] for _, b in w.events("stderr")][0] == "not json"
    cost = w.home.query(w.db, "SELECT sum(cost_nano) FROM usage")
    assert cost == [(750000000,)], cost


def test_a_stop_reason_becomes_a_reason_code(home):
    sup = Supervisor(home)
    for i, (stop, reason) in enumerate([
            ("max_tokens", "max_tokens"), ("max_turn_requests", "max_turns"),
            ("refusal", "refusal")]):
        w = acp(home, [{"stop": stop}], sup, n=i + 1)
        failed(w, reason, stop)


def test_a_later_run_goes_on_with_the_agents_own_session(home):
    sup = Supervisor(home)
    for n, can in enumerate(("", "load", "resume", "load resume")):
        ok(acp(home, "go on", sup, can=can, n=n + 1))
    assert [m for m in methods(home) if m.startswith("session/")] == [
        "session/new", "session/prompt", "session/load", "session/prompt",
        "session/resume", "session/prompt", "session/resume",
        "session/prompt"], methods(home)
    w = acp(home, "last", sup, can="resume", n=9)
    ok(w)
    assert texts(w)[-1] == "turn 5, you said last", texts(w)
    assert not any("replayed" in t for t in texts(w)), texts(w)
    (home.dir / "state" / "s-1").unlink()
    w = acp(home, "new", sup, can="load", n=10)
    ok(w)
    assert texts(w)[-1] == "turn 1, you said new", texts(w)
    assert any("starts a new one" in b["text"] for _, b in w.events("note"))


def test_cancel_reaches_the_turn_and_the_agent_answers(home):
    sup = Supervisor(home)
    w = acp(home, [{"say": "begun"}, {"sleep": 60}], sup, grace_ms=10000)
    lib.eventually(lambda: w.has("message", 2), what="a text")
    sup.command(w.run, type="cancel", id=1, reason="enough", grace_ms=10000)
    m = w.finished()
    assert m["outcome"] == "cancelled", m
    assert "session/cancel" in methods(home)
    assert texts(w) == ["begun"]


def test_a_message_is_the_next_turn(home):
    sup = Supervisor(home)
    w = acp(home, [{"say": "one"}, {"wait": "go"}], sup)
    sup.command(w.run, type="message", id=1, text="and more", by="me")
    lib.eventually(lambda: w.has("steer"), what="the message")
    (home.dir / "state" / "go").touch()
    ok(w)
    assert texts(w) == ["one", "turn 2, you said and more"], texts(w)


def test_an_agent_that_goes_away_fails_the_run_and_says_why(home):
    failed(acp(home, [{"exit": 3}]), "exit_code", "going away")


def test_an_agent_of_another_version_or_without_login_is_told(home):
    sup = Supervisor(home)
    failed(acp(home, "x", sup, env={"ACP_VERSION": "2"}), "agent_protocol",
           "version 2")
    failed(acp(home, "x", sup, can="login", n=2), "login", "a key")
    w = acp(home, "x", sup, can="login", n=3, config={"auth": "key"})
    ok(w)


def test_mode_and_options_are_set_before_the_prompt(home):
    w = acp(home, "x", config={"mode": "code", "options": {
        "model": "big", "fast": True}})
    ok(w)
    assert methods(home)[2:] == ["session/set_mode"] + [
        "session/set_config_option"] * 2 + ["session/prompt"]
    sent = [m["params"] for k, m in heard(home)
            if k == "session/set_config_option"]
    assert sent[0]["value"] == "big" and "type" not in sent[0], sent
    assert sent[1]["value"] is True and sent[1]["type"] == "boolean", sent


def test_a_worker_with_a_kept_agent_takes_the_next_run(home):
    sup = Supervisor(home)
    w = acp(home, "one", sup, config={"idle_ms": 60000})
    m = sup.wait("finished", run=w.run)
    assert (m["outcome"], m["idle_ms"]) == ("succeeded", 60000), m
    sup.wait("heartbeat", phase="idle")
    start = dict(w.start, run=run_id(2), token="other", prompt="two",
                 schema_version=1)
    sup.command(w.run, type="next", id=1, start=start)
    m = sup.wait("hello", run=run_id(2))
    assert m["token"] == "other" and m["pid"] == w.process.pid, m
    m = sup.wait("finished", run=run_id(2))
    assert m["outcome"] == "succeeded", m
    assert texts(w) == ["turn 1, you said one", "turn 2, you said two"]
    assert methods(home).count("initialize") == 1
    w.process.terminate()
    assert w.process.wait(lib.HANG) == 0


def test_a_kept_agent_goes_when_nobody_wants_it(home):
    sup = Supervisor(home)
    ok(acp(home, "one", sup, config={"idle_ms": 200}))
    w = acp(home, "two", sup, n=2, config={"idle_ms": 60000},
            on_supervisor_loss="stop")
    sup.wait("finished", run=w.run)
    sup.kill()
    assert w.process.wait(lib.HANG) == 0
    sup.start()
    w = acp(home, [{"after": {"sessionUpdate": "notice", "mark": "late"}}],
            sup, n=3, config={"idle_ms": 200})
    ok(w)
    assert any(b.get("mark") == "late" for _, b in w.events("note")), "its last words"


def attach(home, name, kind, data, where=None):
    d = where or home.path / "run" / "media" / "inb_1"
    d.mkdir(parents=True, exist_ok=True)
    (d / name).write_bytes(data)
    return "[attachment %s (%s, %d bytes): %s]" % (name, kind, len(data),
                                                   d / name)


def test_pictures_go_along_to_agents_that_take_them(home):
    sup = Supervisor(home)
    text = "look\n" + "\n".join([
        attach(home, "a.png", "image/png", b"\x89PNG\0"),
        attach(home, "b.wav", "audio/wav", b"RIFF"),
        attach(home, "c.txt", "text/plain", b"words"),
        attach(home, "d.png", "image/png", b"elsewhere", home.dir / "out"),
        "%s/run/media/inb_1/../../../skep.json" % home.path])
    box = {"sandbox": "on", "paths": {"write": [str(home.dir / "state")]}}
    for n, (can, kinds) in enumerate((
            ("", ["text"]), ("image", ["text", "image"]),
            ("image audio", ["text", "image", "audio"]))):
        ok(acp(home, text, sup, n=n + 1, can=can, start=dict(
            {"sandbox": box} if n == 2 else {}, home=str(home.path))))
        output = [m["params"]["prompt"] for k, m in heard(home)
                if k == "session/prompt"][-1]
        assert [b["type"] for b in output] == kinds, output
        assert output[0]["text"] == text, output
    assert output[1] == {"type": "image", "mimeType": "image/png",
                       "data": base64.b64encode(b"\x89PNG\0").decode()}, output
    assert base64.b64decode(output[2]["data"]) == b"RIFF"
