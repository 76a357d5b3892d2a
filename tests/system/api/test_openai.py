"""The endpoint for OpenAI clients, with two versions of the npm package
`openai` and with plain requests."""
import json
import os
import pathlib
import shutil
import subprocess

import lib
import npm_lib
import web_lib
from chat_mock import Mock, text

HERE = pathlib.Path(__file__).resolve().parent.parent / "support"
VERSIONS = ("openai6", "openai7")
SCRIPT = [{"text": "the quick brown fox jumps", "chunks": 5, "every_ms": 20},
          {"tool": {"name": "ls", "input": {"p": "/"}, "output": {"n": 1}}},
          {"usage": {"input_tokens": 11, "output_tokens": 7}}]
SAID = "the quick brown fox jumps"


class Client:
    def __init__(self, home, version, d, scopes=("read", "run")):
        where = npm_lib.packages("openai6@npm:openai@6",
                                 "openai7@npm:openai@7")
        client = where / "openai_client.mjs"
        mine = where / ("openai_client.%d" % os.getpid())
        shutil.copy(HERE / client.name, mine)
        mine.replace(client)  # another test may read it
        token = d.post("/v1/tokens", {"name": version, "scopes": list(scopes)},
                       201)["token"]
        self.proc = home.start(
            "node", client, version, "http://127.0.0.1:%d/openai/v1" % d.port,
            token, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def begin(self, call, **more):
        self.proc.stdin.write(json.dumps(dict(more, call=call)) + "\n")
        self.proc.stdin.flush()

    def end(self):
        return json.loads(self.proc.stdout.readline())

    def ask(self, call, **more):
        self.begin(call, **more)
        answer = self.end()
        assert "ok" in answer, answer
        return answer["ok"]

    def refused(self, call, **more):
        self.begin(call, **more)
        return self.end()["error"]


def skepd(home, **agents):
    port = web_lib.free_port()
    d = web_lib.Skepd(home, {"http": {"listen": "127.0.0.1:%d" % port}})
    d.port = port
    for name, steps in agents.items():
        d.agent(name, config={"steps": steps})
    return d


def user(words):
    return {"role": "user", "content": words}


def each_version(home, fn, **agents):
    d = skepd(home, **agents)
    for version in VERSIONS:
        fn(d, Client(home, version, d))


def test_models_are_agents(home):
    def check(d, c):
        assert {"ada", "bob"} <= set(c.ask("models")), c.ask("models")
        assert c.ask("model", id="ada")["owned_by"] == "skep"
        no = c.refused("model", id="eve")
        assert no["status"] == 404 and "eve" in no["message"], no
    each_version(home, check, ada=SCRIPT, bob=SCRIPT)


def test_a_chat_completion_is_a_run(home):
    def check(d, c):
        got = c.ask("chat", body={"model": "ada", "messages": [user("hi")]})
        assert got["choices"][0]["message"]["content"] == SAID, got
        assert got["choices"][0]["finish_reason"] == "stop"
        assert got["usage"] == {"prompt_tokens": 11, "completion_tokens": 7,
                                "total_tokens": 18}
        run = got["id"].removeprefix("chatcmpl-")
        assert d.get("/v1/runs/" + run)["state"] == "succeeded"
    each_version(home, check, ada=SCRIPT)


def test_chunks_are_the_same_text(home):
    def check(d, c):
        body = {"model": "ada", "messages": [user("hi")], "stream": True,
                "stream_options": {"include_usage": True}}
        got = c.ask("chat", body=body)
        texts = [x["choices"][0]["delta"].get("content", "")
                 for x in got if x["choices"]]
        assert "".join(texts) == SAID and len([t for t in texts if t]) > 1
        assert got[0]["choices"][0]["delta"]["role"] == "assistant"
        assert got[-2]["choices"][0]["finish_reason"] == "stop"
        assert got[-1]["usage"]["total_tokens"] == 18 and not got[-1]["choices"]
        assert not any("reasoning_content" in json.dumps(x) for x in got)
        whole = c.ask("assemble", body=dict(body, include_reasoning=True))
        assert whole["choices"][0]["message"]["content"] == SAID
        more = c.ask("chat", body=dict(body, include_reasoning=True))
        assert "Using ls" in "".join(
            x["choices"][0]["delta"].get("reasoning_content", "")
            for x in more if x["choices"])
    each_version(home, check, ada=SCRIPT)


def prompt_of(d, run):
    row = d.get("/v1/runs/" + run)
    events = d.get("/v1/sessions/%s/%s/events" % (row["agent"],
                                                  row["session"]))["items"]
    return [e["body"]["content"] for e in events
            if e["type"] == "message" and e["body"].get("role") == "user"]


def test_the_history_of_a_client_is_in_the_prompt(home):
    d = skepd(home, ada=SCRIPT)
    c = Client(home, VERSIONS[0], d)
    talk = [{"role": "system", "content": "be brief"}, user("one"),
            {"role": "assistant", "content": "two"}, user("three")]
    got = c.ask("chat", body={"model": "ada", "messages": talk})
    prompt, = prompt_of(d, got["id"].removeprefix("chatcmpl-"))
    assert prompt == ("[instructions]\nbe brief\n\n[conversation so far]\n"
                      "user: one\n\nassistant: two\n\n[message]\nthree"), prompt
    # a session has the history itself
    for n in (1, 2):
        got = c.ask("chat", body={"model": "ada", "messages": talk},
                    headers={"X-Skep-Session": "mine"})
    prompts = prompt_of(d, got["id"].removeprefix("chatcmpl-"))
    assert prompts[-1] == "three" and len(prompts) == 2, prompts


def test_the_same_key_is_the_same_run(home):
    d = skepd(home, ada=SCRIPT)
    c = Client(home, VERSIONS[1], d)
    body = {"model": "ada", "messages": [user("hi")]}
    key = {"Idempotency-Key": "k1"}
    a, b = (c.ask("chat", body=body, headers=key) for _ in range(2))
    assert a["id"] == b["id"]
    body["messages"] = [user("other")]
    assert c.refused("chat", body=body, headers=key)["status"] == 409


def test_a_failed_run_is_an_error_that_is_not_retried(home):
    def check(d, c):
        body = {"model": "bad", "messages": [user("hi")]}
        no = c.refused("chat", body=body)
        assert no["status"] == 422 and no["type"] == "run_failed", no
        no = c.refused("chat", body=dict(body, stream=True))
        assert no["api"] and no["type"] == "run_failed", no
        got = c.ask("response", body={"model": "bad", "input": "hi"})
        assert got["status"] == "failed" and got["error"]["message"], got
    each_version(home, check, bad=[{"text": "x"}, {"fail": "broken"}])


def test_bad_requests_have_errors_of_openai(home):
    d = skepd(home, ada=SCRIPT)
    c = Client(home, VERSIONS[1], d)
    hi = [user("hi")]
    for body, status, word in (
            ({"model": "eve", "messages": hi}, 404, "eve"),
            ({"model": "ada"}, 400, "messages"),
            ({"messages": hi}, 400, "model"),
            ({"model": "ada", "messages": []}, 400, "last message"),
            ({"model": "ada", "messages": hi, "n": 2}, 400, "\"n\""),
            ({"model": "ada", "messages": hi, "tool_choice": "required"}, 400,
             "tool_choice"),
            ({"model": "ada", "messages": [{"role": "tool", "content": "x"}]},
             400, "role"),
            ({"model": "ada", "messages": [user([{"type": "audio"}])]}, 400,
             "audio")):
        no = c.refused("chat", body=body)
        assert no["status"] in (status, 422) and word in no["message"], no
        assert no["type"] == "invalid_request_error" and no["code"], no
    assert not d.get("/v1/runs")["items"]
    status, got = d.ask("GET", "/openai/v1/nothing")
    assert status == 404, got
    assert got["error"]["type"] == "invalid_request_error", got
    reader = Client(home, VERSIONS[0], d, scopes=["read"])
    no = reader.refused("chat", body={"model": "ada", "messages": hi})
    assert no["status"] == 403 and no["type"] == "permission_error", no


def test_a_client_that_leaves_does_not_stop_the_run(home):
    d = skepd(home, ada=[{"text": "a b c d e f g h", "chunks": 8,
                          "every_ms": 50}])
    c = Client(home, VERSIONS[0], d)
    c.ask("leave", body={"model": "ada", "messages": [user("x")],
                         "stream": True})
    run, = d.get("/v1/runs")["items"]
    d.wait(run["id"])
    assert d.get("/v1/runs/" + run["id"])["state"] == "succeeded"


def test_responses_continue_a_session(home):
    def check(d, c):
        a = c.ask("response", body={"model": "ada", "input": "one"})
        assert a["output_text"] == SAID and a["status"] == "completed", a
        assert a["usage"]["total_tokens"] == 18
        b = c.ask("response", body={"model": "ada", "input": [user("two")],
                                    "previous_response_id": a["id"]})
        assert b["conversation"] == a["conversation"] and b["id"] != a["id"]
        named = c.ask("response", body={
            "model": "ada", "input": "three", "instructions": "be brief",
            "conversation": "talk", "reasoning": {"summary": "auto"}})
        assert named["conversation"]["id"] == "talk"
        kinds = [i["type"] for i in named["output"]]
        assert sorted(kinds) == ["message", "reasoning"], named
        again = c.ask("retrieve", id=named["id"])
        assert again["output"] == named["output"]
        no = c.refused("retrieve", id="resp_nothing")
        assert no["status"] == 404, no
        no = c.refused("response", body={
            "model": "bob", "input": "x", "previous_response_id": a["id"]})
        assert no["status"] in (400, 422) and "ada" in no["message"], no
    each_version(home, check, ada=SCRIPT, bob=SCRIPT)


def test_events_of_a_response(home):
    def check(d, c):
        body = {"model": "ada", "input": "hi", "stream": True}
        got = c.ask("response", body=body)
        assert [e["sequence_number"] for e in got] == list(range(len(got)))
        types = [e["type"] for e in got]
        assert types[:4] == ["response.created", "response.in_progress",
                             "response.output_item.added",
                             "response.content_part.added"], types
        assert types[-4:] == ["response.output_text.done",
                              "response.content_part.done",
                              "response.output_item.done",
                              "response.completed"], types
        assert "".join(e["delta"] for e in got if e["type"] ==
                       "response.output_text.delta") == SAID
        whole = c.ask("assembleResponse", body=dict(
            body, reasoning={"summary": "auto"}))
        assert whole["output_text"] == SAID, whole
        replay = c.ask("replay", id=whole["id"])
        assert (replay[-1]["type"], types[-1]) == ("response.completed",) * 2
        assert replay[-1]["response"]["id"] == whole["id"]
        assert "".join(e["delta"] for e in replay if e["type"] ==
                       "response.output_text.delta") == SAID
    each_version(home, check, ada=SCRIPT)


def reached(c, ident, status):
    got = c.ask("retrieve", id=ident)
    return got if got["status"] == status else None


def test_a_response_in_the_background_is_polled_and_cancelled(home):
    def check(d, c):
        got = c.ask("response", body={"model": "ada", "input": "hi",
                                      "background": True})
        assert got["status"] in ("queued", "in_progress"), got
        ident = got["id"]
        got = lib.eventually(lambda: reached(c, ident, "completed"))
        assert got["output_text"] == SAID
        slow = c.ask("response", body={"model": "slow", "input": "hi",
                                       "background": True})
        c.ask("cancel", id=slow["id"])
        lib.eventually(lambda: reached(c, slow["id"], "cancelled"))
    each_version(home, check, ada=SCRIPT, slow=[{"sleep_ms": 600000}])


def test_pictures_reach_the_model(home):
    m = Mock(home, text("a picture"))
    d = skepd(home)
    d.agent("eye", driver="chat", model="mock", config={"endpoint": m.url})
    c = Client(home, VERSIONS[1], d)
    got = c.ask("chat", body={"model": "eye", "messages": [user([
        {"type": "text", "text": "what is this"},
        {"type": "image_url", "image_url": {
            "url": "data:image/png;base64,iVBORw0KGgo="}}])]})
    assert got["choices"][0]["message"]["content"] == "a picture"
    assert "iVBORw0KGgo=" in json.dumps(m.asked[-1])
