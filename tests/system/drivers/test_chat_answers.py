"""Answers of a model that are empty, damaged, refused, or carry reasoning."""
import json

from chat_mock import Mock, call, calls, chunk, text
from skepd_lib import finish
from test_chat import chat, parts, run


def notes(d, agent="a"):
    return [b["text"] for _, k, b in d.events(agent) if k == "note"]


def ended(finish="stop", usage=(10, 0)):
    return [chunk(finish=finish), chunk(usage=usage), "[DONE]"]


EMPTY = {
    "no tokens": ended(),
    "tokens": ended(usage=(10, 7)),
    "empty text": [chunk({"role": "assistant", "content": ""})] + ended(),
    "no usage": [chunk(finish="stop"), "[DONE]"],
    "tool_calls without calls": ended("tool_calls"),
    "whole": {"body": {"choices": [{"message": {
        "role": "assistant", "content": None}, "finish_reason": "stop"}]}},
}


def test_an_empty_answer_ends_the_turn(home):
    for i, (name, events) in enumerate(EMPTY.items()):
        for tool in (False, True):
            first = [calls(("list_directory", {"path": "."}))] if tool else []
            m = Mock(home, *first, events, text("too much"))
            agent = "e%d%d" % (i, tool)
            d = chat(home, m, agent)
            row = run(d, agent=agent)
            assert (row["state"], row["reason"]) == (
                "succeeded", "completed"), (name, row)
            assert len(m.asked) == 1 + tool, (name, tool, len(m.asked))
            assert parts(home, agent)[-1][:2] == ("text", "done"), name
            # the next turn goes on, and shows the model no empty message
            assert run(d, "next", agent=agent)["state"] == "succeeded"
            assert m.messages()[-1]["content"] == "next"
            assert all(x.get("content") or x.get("tool_calls")
                       for x in m.messages() if x["role"] == "assistant"), (
                m.messages())
    m = Mock(home, {"events": [{"type": "response.completed", "response": {
        "object": "response", "status": "completed", "output": [],
        "usage": {"input_tokens": 1, "output_tokens": 0}}}]}, text("no"))
    chat(home, m, "r", config={"api": "responses"})
    assert run(d, agent="r")["state"] == "succeeded"
    assert len(m.asked) == 1
    finish(d)


RAW = {
    "lone surrogate": rb'{"choices":[{"delta":{"content":"a\ud83db"}}]}',
    "low surrogate": rb'{"choices":[{"delta":{"content":"a\ude00b"}}]}',
    "nul": rb'{"choices":[{"delta":{"content":"a\u0000b"}}]}',
    "raw nul": b'{"choices":[{"delta":{"content":"a\0b"}}]}',
    "invalid utf-8": b'{"choices":[{"delta":{"content":"a\xffb"}}]}',
}
TAIL = b'\n\ndata: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n' \
    b'data: [DONE]\n\n'


def test_invalid_characters_do_not_fail_an_answer(home):
    for i, (name, line) in enumerate(RAW.items()):
        m = Mock(home, {"body": b"data: " + line + TAIL,
                        "type": "text/event-stream"})
        agent = "c%d" % i
        d = chat(home, m, agent)
        row = run(d, agent=agent)
        assert row["state"] == "succeeded", (name, row)
        assert len(m.asked) == 1, name
        assert parts(home, agent)[0][3] == "a\ufffdb", (name, parts(home, agent))
        assert ["U+FFFD" in n for n in notes(d, agent)] == [True], name
    # a pair is not damaged by that, nor is its text noted
    m = Mock(home, {"body": rb'data: {"choices":[{"delta":{"content":'
                    rb'"\ud83d\ude00\\u0000"}}]}' + TAIL})
    chat(home, m, "ok")
    assert run(d, agent="ok")["state"] == "succeeded"
    assert parts(home, "ok")[0][3] == "\U0001f600\\u0000"
    assert notes(d, "ok") == []
    finish(d)


def test_a_stream_is_recognised_whatever_its_type(home):
    body = b"".join(b"data: %s\n\n" % (e if isinstance(e, str) else
                                       json.dumps(e)).encode()
                    for e in text("hello there"))
    whole = {"choices": [{"message": {"content": "hello there"},
                          "finish_reason": "stop"}]}
    for i, (kind, data) in enumerate([
            ("application/json", body), ("text/plain", b": hi\n\n" + body),
            ("application/octet-stream", b"\xef\xbb\xbf" + body), ("", body),
            ("text/event-stream", json.dumps(whole).encode()),
            ("text/html", b"\n " + json.dumps(whole).encode())]):
        m = Mock(home, {"body": data, "type": kind})
        agent = "t%d" % i
        d = chat(home, m, agent)
        row = run(d, agent=agent)
        assert row["state"] == "succeeded", (kind, row)
        assert len(m.asked) == 1, kind
        assert parts(home, agent)[-1][3] == "hello there", kind
    finish(d)


def response(*output, status="completed", **more):
    return {"type": "response." + status, "response": dict(
        {"object": "response", "status": status, "model": "mock",
         "output": list(output),
         "usage": {"input_tokens": 1, "output_tokens": 2}}, **more)}


def message(kind, words):
    name = "refusal" if kind == "refusal" else "text"
    return {"type": "message", "role": "assistant",
            "content": [{"type": kind, name: words}]}


REFUSALS = {
    "refusal": ("chat", [chunk({"refusal": "I "}), chunk({"refusal": "can't"}),
                         chunk(finish="stop"), "[DONE]"]),
    "filter": ("chat", [chunk({"content": "I can't"}),
                        chunk(finish="content_filter"), "[DONE]"]),
    "part": ("chat", [chunk({"content": [
        {"type": "refusal", "refusal": "I can't"}]}), chunk(finish="stop"),
        "[DONE]"]),
    "upper case": ("chat", [chunk({"content": "I can't"}),
                            chunk(finish="SAFETY"), "[DONE]"]),
    "responses stream": ("responses", [
        {"type": "response.refusal.delta", "delta": "I "},
        {"type": "response.refusal.delta", "delta": "can't"},
        response(message("refusal", "I can't"))]),
    "responses whole": ("responses", {"body": response(
        message("refusal", "I can't"))["response"]}),
    "responses filter": ("responses", [
        {"type": "response.output_text.delta", "delta": "I can't"},
        response(message("output_text", "I can't"), status="incomplete",
                 incomplete_details={"reason": "content_filter"})]),
}


def test_a_refusal_is_reported_as_one(home):
    for i, (name, (api, reply)) in enumerate(REFUSALS.items()):
        m = Mock(home, reply)
        agent = "r%d" % i
        d = chat(home, m, agent, config={"api": api})
        row = run(d, agent=agent)
        assert (row["state"], row["reason"]) == ("failed", "refusal"), (
            name, row)
        assert "I can't" in row["detail"], (name, row)
        assert len(m.asked) == 1, name
        assert parts(home, agent)[-1][3] == "I can't", (name, parts(home, agent))
    finish(d)


TOOL = call("list_directory", {"path": "."})
END = [chunk(finish="tool_calls"), "[DONE]"]


def thought(field, *pieces):
    return [chunk({field: p}) for p in pieces]


DETAILS = [{"type": "reasoning.text", "text": "ab", "index": 0,
            "format": "x", "signature": "sig"},
           {"type": "reasoning.encrypted", "data": "e1", "id": "1", "index": 1},
           {"type": "reasoning.encrypted", "data": "e2", "id": "2", "index": 2}]
STATE = {
    "reasoning_content": (thought("reasoning_content", "a", "b"),
                          {"reasoning_content": "ab"}),
    "empty": ([chunk({"reasoning_content": ""})], {"reasoning_content": ""}),
    "reasoning": (thought("reasoning", "a", "b"), {"reasoning": "ab"}),
    "reasoning_text": (thought("reasoning_text", "ab"),
                       {"reasoning_text": "ab"}),
    "details": ([
        chunk({"reasoning": "a", "reasoning_details": [
            {"type": "reasoning.text", "text": "a", "index": 0,
             "format": "x"}]}),
        chunk({"reasoning": "b", "reasoning_details": [
            {"type": "reasoning.text", "text": "b", "index": 0,
             "format": None}]}),
        chunk({"reasoning_details": [
            {"type": "reasoning.text", "signature": "sig", "index": 0}]}),
        chunk({"reasoning_details": DETAILS[1:]})],
        {"reasoning_details": DETAILS}),
    "blocks": ([chunk({"reasoning_content": "ab", "thinking_blocks": [
        {"type": "thinking", "thinking": "ab", "signature": "s"}]})],
        {"thinking_blocks": [{"type": "thinking", "thinking": "ab",
                              "signature": "s"}]}),
    "parts": ([chunk({"content": [{"type": "thinking", "thinking": [
        {"type": "text", "text": "ab"}]}]})],
        {"content": [{"type": "thinking",
                      "thinking": [{"type": "text", "text": "ab"}]},
                     {"type": "text", "text": ""}]}),
    "tag": ([chunk({"content": "\n<thi"}), chunk({"content": "nk>a"}),
             chunk({"content": "b</think"}), chunk({"content": ">\n"})],
            {"content": "<think>ab</think>\n"}),
    "google": ([], {}),
}


def test_reasoning_goes_back_as_the_provider_needs_it(home):
    sign = {"google": {"thought_signature": "abc=="}}
    for i, (name, (pieces, want)) in enumerate(STATE.items()):
        one = json.loads(json.dumps(TOOL))
        if name == "google":
            one["choices"][0]["delta"]["tool_calls"][0]["extra_content"] = sign
        m = Mock(home, pieces + [one] + END,
                 pieces + [chunk({"content": "done"}), chunk(finish="stop"),
                           "[DONE]"], text("more"))
        agent = "s%d" % i
        d = chat(home, m, agent)
        row = run(d, agent=agent)
        assert row["state"] == "succeeded", (name, row)
        thoughts = [p for p in parts(home, agent) if p[0] == "reasoning"]
        if pieces and name != "empty":
            assert [p[3] for p in thoughts] == ["ab"] * 2, (name, thoughts)
        assert [p[3] for p in parts(home, agent, "text")] == ["done"], name
        back = m.messages(1)[-2]
        assert {k: back.get(k) for k in want} == want, (name, back)
        if name == "google":
            assert back["tool_calls"][0]["extra_content"] == sign, back
        # it stays with the turn, since it had tools
        assert run(d, "more", agent=agent)["state"] == "succeeded"
        assert {k: m.messages(2)[1].get(k) for k in want} == want, name
        # but it is not given to another model
        d.agent(agent, "chat", {"endpoint": m.url}, model="other")
        assert run(d, "other", agent=agent)["state"] == "succeeded"
        assert "ab" not in json.dumps(m.messages()), (name, m.messages())
        assert "extra_content" not in json.dumps(m.messages()), name
    finish(d)


def test_reasoning_without_tools_is_not_sent_again(home):
    m = Mock(home, thought("reasoning_content", "hm") + text("one"),
             text("two"))
    d = chat(home, m)
    assert run(d)["state"] == "succeeded"
    assert run(d, "next")["state"] == "succeeded"
    assert m.messages()[1] == {"role": "assistant", "content": "one"}
    finish(d)


def test_text_that_only_mentions_a_tag_stays_text(home):
    for i, words in enumerate(["<thinkable>", "<think", "say <think>x</think>",
                               " <b>", "<", "  "]):
        m = Mock(home, [chunk({"content": c}) for c in words] +
                 [chunk(finish="stop"), "[DONE]"])
        agent = "m%d" % i
        d = chat(home, m, agent)
        assert run(d, agent=agent)["state"] == "succeeded"
        assert parts(home, agent) == [("text", "done", None, words, None,
                                       None)], parts(home, agent)
    finish(d)


def streamed(words, size):
    return [chunk({"content": words[i:i + size]})
            for i in range(0, len(words), size)] + [
        chunk(finish="stop"), "[DONE]"]


def stored_parts(home, agent):
    return [p[:2] + p[3:4] for p in parts(home, agent)]


def test_a_closing_tag_alone_makes_what_is_before_it_reasoning(home):
    m = Mock(home, streamed("a < b\n</think>\n\nThe answer: </b>", 3),
             text("more"))
    d = chat(home, m, "t")
    assert run(d, agent="t")["state"] == "succeeded"
    assert stored_parts(home, "t") == [("reasoning", "done", "a < b\n"),
                               ("text", "done", "The answer: </b>")]
    assert run(d, "next", agent="t")["state"] == "succeeded"
    assert m.messages()[1] == {"role": "assistant",
                               "content": "The answer: </b>"}
    # with a call the reasoning goes back, between both tags
    m = Mock(home, [chunk({"content": "hm</think>"}), TOOL] + END, text("ok"))
    d = chat(home, m, "c")
    assert run(d, agent="c")["state"] == "succeeded"
    assert m.messages()[1]["content"] == "<think>hm</think>\n", m.messages()
    # nothing but reasoning, and reasoning in a member as well
    words = "only this</think>"
    m = Mock(home, [{"type": "response.output_text.delta", "delta": words[:12]},
                    {"type": "response.output_text.delta", "delta": words[12:]},
                    response(message("output_text", words))])
    d = chat(home, m, "o", config={"api": "responses"})
    assert run(d, agent="o")["state"] == "succeeded"
    assert stored_parts(home, "o") == [("reasoning", "done", "only this"),
                               ("text", "done", "")], stored_parts(home, "o")
    m = Mock(home, thought("reasoning_content", "first") +
             streamed("second</think>third", 4))
    d = chat(home, m, "b")
    assert run(d, agent="b")["state"] == "succeeded"
    assert stored_parts(home, "b") == [
        ("reasoning", "done", "first"), ("reasoning", "done", "second"),
        ("text", "done", "third")], stored_parts(home, "b")
    m = Mock(home, thought("reasoning_content", "first") + [
        chunk({"content": "second</think>"}), TOOL] + END, text("ok"))
    d = chat(home, m, "k")
    assert run(d, agent="k")["state"] == "succeeded"
    assert m.messages()[1]["reasoning_content"] == "first", m.messages()
    finish(d)


def test_reasoning_items_of_the_responses_api_go_back_in_place(home):
    def think(n):
        return {"type": "reasoning", "id": "rs_%d" % n, "summary": [],
                "encrypted_content": "blob%d" % n}

    def use(n):
        return {"type": "function_call", "id": "fc_%d" % n,
                "call_id": "call_%d" % n, "name": "list_directory",
                "arguments": '{"path":"."}'}

    output = [think(0), use(0), think(1), use(1)]
    streamed = []
    for item in output:
        streamed += [{"type": "response.output_item.added", "item": item},
                     {"type": "response.output_item.done", "item": item}]
    done = [response(message("output_text", "done"))]
    for agent, first in (("s", streamed + [response(*output)]),
                         ("n", streamed + [response()]),
                         ("w", {"body": response(*output)["response"]}),
                         ("e", [response(*output)])):
        m = Mock(home, first, done)
        d = chat(home, m, agent, config={"api": "responses"})
        row = run(d, agent=agent)
        assert row["state"] == "succeeded", (agent, row)
        assert m.asked[0][2]["include"] == ["reasoning.encrypted_content"]
        back = m.asked[1][2]["input"][1:]
        assert [(x["type"], x.get("id"), x.get("encrypted_content"))
                for x in back] == [
            ("reasoning", "rs_0", "blob0"), ("function_call", None, None),
            ("function_call_output", None, None),
            ("reasoning", "rs_1", "blob1"), ("function_call", None, None),
            ("function_call_output", None, None)], (agent, back)
    finish(d)


def test_a_model_without_encrypted_reasoning_is_asked_without(home):
    no = {"status": 400, "body": {"error": {
        "message": "Encrypted content is not supported with this model."}}}
    m = Mock(home, no, [response(message("output_text", "done"))])
    d = chat(home, m, config={"api": "responses"})
    row = run(d)
    assert row["state"] == "succeeded", row
    assert "include" in m.asked[0][2] and "include" not in m.asked[1][2]
    finish(d)
