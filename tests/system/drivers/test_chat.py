"""The chat driver against a server that plays what servers do."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading

import lib
from chat_mock import Mock, call, calls, chunk, text
from skepd_lib import Host, finish

KEY = "sk-test-7f3a9c51e2d84b06"
QUICK_CHAT = {"backoff_ms": 5, "first_byte_ms": 60000,
              "idle_timeout_ms": 60000}


def chat(home, mock, name="a", model="mock", config=None, **more):
    d = getattr(home, "host", None) or Host(home).start()
    home.host = d
    d.agent(name, "chat", dict(QUICK_CHAT, endpoint=mock.url, **(config or {})),
            model=model, **more)
    return d


def run(d, prompt="go", agent="a", **more):
    return d.until(d.submit(agent, prompt, session="s", **more))


def workspace(home, agent="a"):
    return home.path / "agents" / agent / "workspace"


def parts(home, agent="a", kind=None):
    rows = home.query(home.agent_db(agent), "SELECT kind, state, name, text,"
                      " input, output FROM part ORDER BY pos, idx")
    return [r for r in rows if kind in (None, r[0])]


def kinds(d, run_id, agent="a"):
    return [k for _, k, _ in d.events(agent, run_id)]


def test_an_answer_streams_into_the_transcript(home):
    m = Mock(home, text("hello there", usage=(1000, 200)))
    d = chat(home, m, prompt="Be brief.", config={
        "params": {"temperature": 0.5, "model": "other"},
        "price": {"input": 1, "output": 10}})
    row = run(d, "hi")
    assert (row["state"], row["reason"]) == ("succeeded", "completed"), row
    assert parts(home) == [("text", "done", None, "hello there", None, None)]
    path, headers, body = m.asked[0]
    assert path == "/v1/chat/completions" and body["model"] == "mock"
    assert body["stream"] and body["temperature"] == 0.5
    assert body["messages"] == [{"role": "system", "content": "Be brief."},
                                {"role": "user", "content": "hi"}]
    assert (row["input_tokens"], row["output_tokens"]) == (1000, 200), row
    assert row["cost_micros"] == 3000, row
    assert "Authorization" not in headers
    row = run(d, "again")
    assert m.messages()[1:] == [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "hello there"},
        {"role": "user", "content": "again"}], m.messages()
    finish(d)


WRITE = {"path": "f.txt", "content": "made"}
ARGS = json.dumps(WRITE)
VARIANTS = {
    "pieces": [
        chunk({"tool_calls": [{"index": 0, "id": "x", "type": "function",
               "function": {"name": "write_file", "arguments": ""}}]}),
        *[chunk({"tool_calls": [{"index": 0, "function": {"arguments": c}}]})
          for c in ARGS], chunk(finish="tool_calls")],
    "whole": [call("write_file", WRITE), chunk(finish="tool_calls")],
    "empty id and name later": [
        chunk({"tool_calls": [{"index": 0, "id": "x", "function": {
            "name": "write_file", "arguments": ARGS[:9]}}]}),
        chunk({"tool_calls": [{"index": 0, "id": "", "function": {
            "name": "", "arguments": ARGS[9:]}}]}), chunk(finish="tool_calls")],
    "no index": [
        chunk({"tool_calls": [{"id": "x", "function": {
            "name": "write_file", "arguments": ARGS[:9]}}]}),
        chunk({"tool_calls": [{"function": {"arguments": ARGS[9:]}}]}),
        chunk(finish="tool_calls")],
    "no id": [chunk({"tool_calls": [{"index": 0, "function": {
        "name": "write_file", "arguments": ARGS}}]}), chunk(finish="stop")],
    "an object": [chunk({"tool_calls": [{"index": 0, "id": "x", "function": {
        "name": "write_file", "arguments": WRITE}}]}),
        chunk(finish="tool_calls")],
    "twice encoded": [chunk({"tool_calls": [{"index": 0, "id": "x", "function": {
        "name": "write_file", "arguments": json.dumps(ARGS)}}]}),
        chunk(finish="tool_calls")],
    "old": [chunk({"function_call": {"name": "write_file", "arguments": ""}}),
            chunk({"function_call": {"arguments": ARGS[:5]}}),
            chunk({"function_call": {"arguments": ARGS[5:]}}),
            chunk(finish="function_call")],
    "finish says stop": [call("write_file", WRITE), chunk(finish="stop")],
    "text too": [chunk({"content": "I write."}), call("write_file", WRITE),
                 chunk(finish="tool_calls")],
}


def test_calls_are_understood_however_they_come(home):
    for i, (name, events) in enumerate(VARIANTS.items()):
        m = Mock(home, events + ["[DONE]"], text("done"))
        agent = "v%d" % i
        d = chat(home, m, agent)
        row = run(d, agent=agent)
        assert row["state"] == "succeeded", (name, row, d.log()[-500:])
        made = workspace(home, agent) / "f.txt"
        assert made.exists() and made.read_text() == "made", name
        asked = m.messages()[-2]["tool_calls"]
        assert len(asked) == 1, (name, asked)
        assert json.loads(asked[0]["function"]["arguments"]) == WRITE, name
        assert m.messages()[-1]["tool_call_id"] == asked[0]["id"] != "", name
    finish(d)


def test_several_calls_at_once_each_get_their_result(home):
    two = [chunk({"tool_calls": [
        {"index": i, "id": "i%d" % i, "function": {"name": "write_file",
                                                   "arguments": ""}}]})
           for i in (0, 1)]
    args = [json.dumps({"path": "f%d" % i, "content": "c%d" % i})
            for i in (0, 1)]
    for a, b in zip(args[0], args[1]):
        two += [chunk({"tool_calls": [{"index": 1, "function": {"arguments": b}}]}),
                chunk({"tool_calls": [{"index": 0, "function": {"arguments": a}}]})]
    same = [call("read_file", {"path": "f0"}, "j0", 0),
            call("read_file", {"path": "f1"}, "j1", 0), chunk(finish="stop")]
    m = Mock(home, two + [chunk(finish="tool_calls"), "[DONE]"],
             same + ["[DONE]"], calls(("no_such_tool", {}), ("read_file", {})),
             text("done"))
    d = chat(home, m)
    assert run(d)["state"] == "succeeded"
    assert m.results(2)[-2:] == ["c0", "c1"], m.results(2)
    assert "unknown tool" in m.results()[-2] and "path" in m.results()[-1]
    assert [p[1] for p in parts(home, kind="tool")] == \
        ["done"] * 4 + ["error"] * 2
    finish(d)


def test_a_server_that_fails_is_asked_again(home):
    slow_down = {"status": 429, "headers": {"retry-after-ms": "30"},
                 "body": {"error": {"message": "slow down", "code": "rate"}}}
    broken = {"status": 500, "body": b"<html>oops"}
    cut = {"events": text("half an answer")[:2], "cut": True}
    garbage = ["{not json", "[DONE]"]
    in_stream = [chunk({"content": "x"}), {"error": {"message": "overloaded"}}]
    nothing = ["[DONE]"]
    whole = {"body": {"model": "mock", "choices": [{"index": 0, "message": {
        "role": "assistant", "content": "whole"}, "finish_reason": "stop"}]}}
    m = Mock(home, slow_down, broken, cut, garbage, in_stream, nothing, whole)
    d = chat(home, m)
    row = run(d)
    assert row["state"] == "succeeded", row
    assert len(m.asked) == 7, len(m.asked)
    done = [p[3] for p in parts(home) if p[1] == "done"]
    assert done == ["whole"], parts(home)
    assert all(p[1] in ("done", "aborted") for p in parts(home))
    retries = [b for _, k, b in d.events("a") if k == "status" and "retry" in b]
    assert len(retries) == 6 and retries[0]["wait_ms"] >= 30, retries
    m = Mock(home, broken)
    chat(home, m, "b", config={"retries": 2})
    row = run(d, agent="b")
    assert (row["state"], row["reason"]) == ("failed", "server_failed"), row
    assert len(m.asked) == 3
    m = Mock(home, {"status": 400, "body": {"error": {"message": "no such model"}}})
    chat(home, m, "c")
    row = run(d, agent="c")
    assert row["reason"] == "agent_refused" and "no such model" in row["detail"]
    assert len(m.asked) == 1
    finish(d)


def test_silence_has_limits(home):
    late = {"hang": 3, "events": text("late")}
    stalls = {"events": text("half")[:2] + [3] + text("half")[2:]}
    m = Mock(home, late, stalls, text("in time"))
    d = chat(home, m, config={"first_byte_ms": 200, "idle_timeout_ms": 200})
    assert run(d)["state"] == "succeeded"
    why = [b["why"] for _, k, b in d.events("a") if k == "status"]
    assert ["did not answer" in why[0], "fell silent" in why[1]] == [True, True]
    finish(d)


def test_a_cancel_aborts_the_transfer_at_once(home):
    m = Mock(home, [chunk({"content": "begun"}), 600, chunk({"content": "x"})])
    d = chat(home, m, config={"idle_timeout_ms": 600000})
    ident = d.submit("a")
    lib.eventually(lambda: home.agent_db("a").exists() and parts(home), 30)
    d.cancel(ident)
    assert d.until(ident)["state"] == "cancelled"
    lib.eventually(lambda: m.gone, 60, "the server sees it")
    assert parts(home)[0][1] == "aborted"
    finish(d)


def test_what_does_not_fit_is_summed_up(home):
    full = {"status": 400, "body": {"error": {
        "message": "This model's maximum context length is 10 tokens",
        "code": "context_length_exceeded"}}}
    m = Mock(home, text("one"), full, text("SHORT"), text("two"))
    d = chat(home, m)
    run(d, "first question")
    row = run(d, "second question")
    assert row["state"] == "succeeded", row
    assert "compaction" in kinds(d, row["id"])
    output = json.dumps(m.messages())
    assert "SHORT" in output and "first question" not in output, output
    assert m.messages()[-1]["content"] == "second question"
    m.replies.append(full)
    row = run(d, "third")
    assert (row["state"], row["reason"]) == ("failed", "context_full"), row
    finish(d)


def test_the_key_is_used_and_kept_nowhere(home):
    home.skep("agent", "add", "x", "--driver", "script")
    (home.path / "credentials" / "mock").write_text(KEY + "\n")
    (home.path / "credentials" / "mock").chmod(0o600)
    wrong = {"status": 401, "body": {"error": {
        "message": "Incorrect API key provided: %s. Mind it." % KEY}}}
    m = Mock(home, text("ok"), wrong)
    d = chat(home, m, config={"key_file": "mock"})
    assert run(d)["state"] == "succeeded"
    assert m.asked[0][1]["Authorization"] == "Bearer " + KEY
    row = run(d)
    assert row["reason"] == "login" and "Incorrect" in row["detail"], row
    d.env["MOCK_KEY"] = KEY + "env"
    finish(d)
    for path in [p for p in home.dir.rglob("*") if p.is_file()]:
        if path.parent.name != "credentials":
            assert KEY.encode() not in path.read_bytes(), path
    d.start()
    d.agent("e", "chat", {"endpoint": m.url, "key_env": "MOCK_KEY"}, model="m")
    m.replies = [text("ok")]
    run(d, agent="e")
    assert m.asked[-1][1]["Authorization"] == "Bearer " + KEY + "env"
    (home.path / "credentials" / "mock").chmod(0o644)
    row = run(d)
    assert row["reason"] == "bad_config" and "chmod 600" in row["detail"], row
    finish(d)


def test_limits_end_a_run(home):
    m = Mock(home, calls(("list_directory", {"path": "."})))
    d = chat(home, m, config={"max_turns": 3})
    assert run(d)["reason"] == "max_turns" and len(m.asked) == 3
    chat(home, m, "b", config={"max_tokens": 25})
    assert run(d, agent="b")["reason"] == "max_tokens"
    chat(home, m, "c", config={"max_cost": 0.00002,
                               "price": {"input": 1, "output": 1}})
    assert run(d, agent="c")["reason"] == "max_cost"
    m = Mock(home, [chunk({"content": "cut"}), chunk(finish="length"), "[DONE]"])
    chat(home, m, "e")
    assert run(d, agent="e")["reason"] == "max_tokens"
    m = Mock(home, [chunk({"content": "no"}), chunk(finish="content_filter"),
                    "[DONE]"])
    chat(home, m, "f")
    assert run(d, agent="f")["reason"] == "refusal"
    finish(d)


def test_exec_is_offered_when_allowed_and_confined(home):
    m = Mock(home, calls(("exec", {"command": "echo out; echo err >&2; exit 3"}),
                         ("exec", {"command": "cat %s/state/skep.sqlite"
                                   % home.path}),
                         ("exec", {"command": "yes | head -c 300000"}),
                         ("exec", {"command": "sleep 30"}),
                         ("put_artifact", {"name": "n.md", "content": "kept"})),
             text("done"))
    d = chat(home, m, config={"exec": True, "tool_output": 2000,
                              "exec_timeout_ms": 500})
    assert run(d)["state"] == "succeeded"
    r = m.results()
    assert "out" in r[0] and "err" in r[0] and "[exit code 3]" in r[0]
    assert "No such file" in r[1] and "SQLite" not in r[1]
    assert len(r[2]) < 2200 and "left out" in r[2]
    assert "too long" in r[3]
    assert home.query(
        home.agent_db("a"), "SELECT name FROM artifact") == [("n.md",)]
    names = [t["function"]["name"] for t in m.asked[0][2]["tools"]]
    assert "exec" in names and "write_file" in names
    m = Mock(home, calls(("exec", {"command": "echo"})), text("done"))
    chat(home, m, "b", config={"tools": ["read_file"]})
    run(d, agent="b")
    assert [t["function"]["name"] for t in m.asked[0][2]["tools"]] == ["read_file"]
    assert "unknown tool" in m.results()[0]
    finish(d)


def test_rules_and_people_decide(home):
    m = Mock(home, calls(("write_file", WRITE), ("delete_file", {"path": "x"}),
                         ("read_file", {"path": "f.txt"})), text("done"))
    d = chat(home, m, config={"permissions": {
        "allow": ["edit"], "deny": ["delete"], "default": "ask"}})
    ident = d.submit("a")
    ask = lib.eventually(lambda: [
        a for a in d.call("GET", "/v1/approvals?limit=10")["items"]
        if a["state"] == "open"], 30)[0]
    assert "read_file" in ask["title"]
    d.call("POST", "/v1/approvals/%s" % ask["id"], {"allow": True})
    assert d.until(ident)["state"] == "succeeded"
    r = m.results()
    assert "not permitted" in r[1] and r[2] == "made", r
    finish(d)


def test_an_attempt_goes_on_where_the_last_one_died(home):
    hang = [chunk({"content": "half"}), 60]
    m = Mock(home, calls(("exec", {"command": "echo ran >> log; cat log"})),
             hang, text("done"))
    d = chat(home, m, config={"exec": True, "idle_timeout_ms": 60000})
    ident = d.submit("a", max_attempts=2)
    lib.eventually(lambda: len(m.asked) == 2 and any(
        p[3] == "half" for p in parts(home)), 30)
    os.kill(d.get(ident)["pid"], signal.SIGKILL)
    row = d.until(ident)
    assert (row["state"], row["attempt"]) == ("succeeded", 2), row
    assert (workspace(home) / "log").read_text() == "ran\n"
    assert m.messages(2) == m.messages(1)
    assert [p[1] for p in parts(home, kind="text")] == ["aborted", "done"]
    finish(d)


def test_a_tool_that_was_interrupted_is_not_run_twice(home):
    m = Mock(home, calls(("exec", {"command": "echo ran >> log; sleep 60"}),
                         ("write_file", WRITE)), text("done"))
    d = chat(home, m, config={"exec": True})
    ident = d.submit("a", max_attempts=2)
    lib.eventually((workspace(home) / "log").exists, 30)
    os.kill(d.get(ident)["pid"], signal.SIGKILL)
    row = d.until(ident)
    assert (row["state"], row["attempt"]) == ("succeeded", 2), row
    assert (workspace(home) / "log").read_text() == "ran\n"
    assert (workspace(home) / "f.txt").read_text() == "made"
    assert "it is unknown whether" in m.results()[0], m.results()
    finish(d)


def test_a_message_reaches_the_model_in_its_next_turn(home):
    message_meets_an_answer(home, [chunk({"content": "first"})], [])


def test_a_message_before_the_first_part_of_an_answer_reaches_the_model(home):
    """The request did not contain it, so the answer does not answer it."""
    message_meets_an_answer(home, [], [chunk({"content": "first"})])


def message_meets_an_answer(home, before, after):
    received = threading.Event()

    def first(_):
        yield from before
        received.wait(lib.HANG)
        yield from (*after, chunk(finish="stop"), "[DONE]")
    m = Mock(home, first, text("second"))
    d = chat(home, m)
    ident = d.submit("a")
    d.until(ident, "running")
    lib.eventually(lambda: m.asked, 30)
    d.call("POST", "/v1/runs/%s/messages" % ident, {"text": "and this"})
    lib.eventually(lambda: "and this" in str(d.events("a", ident)), 30)
    received.set()
    assert d.until(ident)["state"] == "succeeded"
    assert [x["content"] for x in m.messages(1)][-2:] == ["first", "and this"], \
        m.messages(1)
    finish(d)


def test_a_workspace_in_the_agents_file_works(home):
    if not os.path.exists("/dev/fuse"):
        lib.skip("no /dev/fuse")
    m = Mock(home, calls(("write_file", WRITE), ("snapshot", {"name": "s"}),
                         ("exec", {"command": "cat f.txt; pwd"})), text("done"))
    d = chat(home, m, workspace="vfs-only", config={"exec": True})
    row = run(d)
    assert row["state"] == "succeeded", row
    r = m.results()
    assert "Kept" in r[1] and r[2].startswith("made"), r
    assert not workspace(home).joinpath("f.txt").exists()
    finish(d)
    assert home.skep("vfs", "cat", "a", "/f.txt").out == "made"


def test_the_responses_api_is_spoken_where_set(home):
    item = {"type": "function_call", "id": "fc1", "call_id": "k1",
            "name": "write_file", "arguments": ""}
    first = [{"type": "response.created", "response": {"id": "r"}},
             {"type": "response.reasoning_summary_text.delta", "delta": "hm"},
             {"type": "response.output_item.added", "item": item},
             *[{"type": "response.function_call_arguments.delta", "delta": c}
               for c in ARGS],
             {"type": "response.output_item.done",
              "item": dict(item, arguments=ARGS)},
             {"type": "response.completed", "response": {
                 "model": "mock", "usage": {"input_tokens": 5, "output_tokens": 6}}}]
    second = [{"type": "response.output_text.delta", "delta": "do"},
              {"type": "response.output_text.delta", "delta": "ne"},
              {"type": "response.completed", "response": {
                  "model": "mock", "usage": {"input_tokens": 1,
                                             "output_tokens": 1}}}]
    m = Mock(home, first, second)
    d = chat(home, m, prompt="Be brief.", config={"api": "responses"})
    row = run(d)
    assert row["state"] == "succeeded", row
    assert m.asked[0][0] == "/v1/responses"
    assert m.asked[0][2]["instructions"] == "Be brief."
    assert m.asked[1][2]["input"][1:] == [
        {"type": "function_call", "call_id": "k1", "name": "write_file",
         "arguments": json.dumps(WRITE, separators=(",", ":"))},
        {"type": "function_call_output", "call_id": "k1",
         "output": m.asked[1][2]["input"][2]["output"]}]
    assert (workspace(home) / "f.txt").read_text() == "made"
    assert [p[0] for p in parts(home)] == ["reasoning", "tool", "text"]
    assert (row["input_tokens"], row["output_tokens"]) == (6, 7)
    finish(d)


def test_an_agent_is_made_from_the_command_line(home):
    (home.dir / "sys.md").write_text("Be kind.")
    m = Mock(home, text("hello"))
    home.skep("agent", "add", "c", "--driver", "chat", "--endpoint", m.url,
              "--model", "m1", "--prompt-file", home.dir / "sys.md")
    d = Host(home).start()
    assert run(d, agent="c")["state"] == "succeeded"
    body = m.asked[0][2]
    assert body["model"] == "m1" and body["messages"][0]["content"] == "Be kind."
    without = ("agent", "add", "e", "--driver", "chat", "--model", "m")
    assert "--endpoint URL" in home.refused(65, *without)
    home.skep(*without, "--force")
    row = run(d, agent="e")
    assert row["reason"] == "bad_config" and "endpoint" in row["detail"], row
    finish(d)


CLIENT = """
import OpenAI from "openai";
const c = new OpenAI({baseURL: process.argv[2], apiKey: "k", maxRetries: 0});
const s = await c.chat.completions.create({model: "mock", stream: true,
  messages: [{role: "user", content: "hi"}]});
let text = "", calls = [];
for await (const e of s) {
  text += e.choices[0]?.delta?.content ?? "";
  for (const t of e.choices[0]?.delta?.tool_calls ?? []) {
    calls[t.index] ??= {name: "", args: ""};
    calls[t.index].name += t.function?.name ?? "";
    calls[t.index].args += t.function?.arguments ?? "";
  }
}
console.log(JSON.stringify({text, calls}));
"""


def test_the_stock_client_understands_the_same_server(home):
    d = pathlib.Path(tempfile.gettempdir()) / ("skep-openai-%d" % os.getuid())
    if not shutil.which("npm"):
        lib.skip("no npm")
    d.mkdir(exist_ok=True)
    if not (d / "node_modules" / "openai").exists():
        (d / "package.json").write_text('{"type":"module"}')
        got = subprocess.run(["npm", "install", "--silent", "--no-audit",
                              "--no-fund", "openai@4"], cwd=d, timeout=120,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if got.returncode:
            lib.skip("npm cannot install openai")
    (d / "client.mjs").write_text(CLIENT)
    m = Mock(home, text("hello there"), VARIANTS["pieces"] + ["[DONE]"])
    seen = [json.loads(home.run("node", d / "client.mjs", m.url).out)
            for _ in range(2)]
    assert seen[0]["text"] == "hello there"
    assert seen[1]["calls"] == [{"name": "write_file", "args": ARGS}], seen
