"""Streams of a server that breaks the rules: each ends in an answer or in a
reason, after a bounded number of requests, and the session goes on."""
import json
import socket
import threading

from chat_mock import Mock, call, chunk, text
from skepd_lib import finish
from test_chat import chat, parts, run

DONE = [chunk(finish="stop"), "[DONE]"]
CALLS = [chunk(finish="tool_calls"), "[DONE]"]
READ = json.dumps({"path": "."})


def tool(**more):
    return chunk({"tool_calls": [more]})


def item(kind, **more):
    return {"type": "response.output_item." + kind, "item": dict(
        {"type": "function_call", "name": "list_directory"}, **more)}


def piece(delta, **more):
    return dict({"type": "response.function_call_arguments.delta",
                 "delta": delta}, **more)


def completed(*output):
    return {"type": "response.completed", "response": {
        "object": "response", "status": "completed", "output": list(output),
        "usage": {"input_tokens": 1, "output_tokens": 2}}}


# name: (reply, calls that are run, with the arguments {"path": "."})
CALL_SHAPES = {
    "no id": ([tool(index=0, function={"name": "list_directory",
                                       "arguments": READ})] + CALLS, 1),
    "no id and no index": ([
        tool(function={"name": "list_directory", "arguments": READ[:4]}),
        tool(function={"arguments": READ[4:]}),
        tool(function={"name": "list_directory", "arguments": READ})] + CALLS,
        2),
    "null members": ([
        tool(index=0, id=None, type=None, function={
            "name": "list_directory", "arguments": None}),
        tool(index=0, id=None, function={"name": None, "arguments": READ})] +
        CALLS, 1),
    "empty ids": ([tool(index=0, id="", function={
        "name": "list_directory", "arguments": READ}),
        tool(index=1, id="", function={
            "name": "list_directory", "arguments": READ})] + CALLS, 2),
    "interleaved": ([
        tool(index=0, id="a", function={"name": "list_directory",
                                        "arguments": ""}),
        tool(index=1, id="b", function={"name": "list_directory",
                                        "arguments": ""}),
        tool(index=0, function={"arguments": READ[:3]}),
        tool(index=1, function={"arguments": READ[:5]}),
        tool(index=0, function={"arguments": READ[3:]}),
        tool(index=1, function={"arguments": READ[5:]})] + CALLS, 2),
    "finish is stop": ([call("list_directory", {"path": "."})] + DONE, 1),
}
RESPONSE_SHAPES = {
    "interleaved": ([
        item("added", id="f0", call_id="c0", arguments=""),
        item("added", id="f1", call_id="c1", arguments=""),
        piece(READ[:3], item_id="f0", output_index=0),
        piece(READ[:5], item_id="f1", output_index=1),
        piece(READ[3:], item_id="f0", output_index=0),
        piece(READ[5:], item_id="f1", output_index=1),
        item("done", id="f0", call_id="c0", arguments=READ),
        item("done", id="f1", call_id="c1", arguments=READ),
        completed()], 2),
    "no call id": ([
        item("added", id="f0", arguments=""), piece(READ, item_id="f0"),
        item("done", id="f0", arguments=READ), completed()], 1),
    "no id at all": ([
        item("added", arguments=""), piece(READ),
        item("done", arguments=READ), completed()], 1),
    "only at the end": ([completed({
        "type": "function_call", "call_id": "c0", "name": "list_directory",
        "arguments": READ})], 1),
}


def shapes(home, table, api, last):
    for i, (name, (reply, n)) in enumerate(table.items()):
        m = Mock(home, reply, last)
        agent = "%s%d" % (api, i)
        d = chat(home, m, agent, config={"api": api})
        row = run(d, agent=agent)
        assert row["state"] == "succeeded", (name, row)
        tools = [p[1:3] + p[4:5] for p in parts(home, agent, "tool")]
        assert tools == [("done", "list_directory", '{"path":"."}')] * n, (
            name, tools)
        ids = [p[0] for p in home.query(
            home.agent_db(agent),
            "SELECT call_id FROM part WHERE kind = 'tool'")]
        assert len(set(ids)) == n and all(ids), (name, ids)
        assert len(m.asked) == 2, (name, len(m.asked))
    return d


def test_calls_have_every_shape(home):
    shapes(home, CALL_SHAPES, "chat", text("end"))
    finish(shapes(home, RESPONSE_SHAPES, "responses", [completed(
        {"type": "message", "role": "assistant",
         "content": [{"type": "output_text", "text": "end"}]})]))


def raw(body, kind="text/event-stream", **more):
    return dict({"body": body, "type": kind}, **more)


def lines(*data):
    return b"".join(b"data: %s\n\n" % d for d in data)


FIN = b'{"choices":[{"delta":{},"finish_reason":"stop"}]}'
# name: reply; a run must end, and no request be repeated more often than set
BROKEN = {
    "nothing": raw(b""),
    "only done": raw(lines(b"[DONE]")),
    "not JSON": raw(lines(b"{", b"[DONE]")),
    "HTML": raw(b"<html>sorry</html>", "text/html"),
    "a number": raw(b"17", "application/json"),
    "null": raw(b"null", "application/json"),
    "an array": raw(b"[[[[]]]]", "application/json"),
    "deep": raw(b'{"choices":' + b"[" * 5000 + b"]" * 5000 + b"}",
                "application/json"),
    "choices of the wrong type": raw(lines(b'{"choices":{"a":1}}', FIN)),
    "delta of the wrong type": raw(lines(b'{"choices":[{"delta":[1]}]}', FIN)),
    "content of the wrong type": raw(lines(
        b'{"choices":[{"delta":{"content":[1,null,[],{"text":7}]}}]}', FIN)),
    "calls of the wrong type": raw(lines(
        b'{"choices":[{"delta":{"tool_calls":[1,null,[],{},"x",{"function":7},'
        b'{"index":-5,"id":7,"function":{"name":7,"arguments":[1]}},'
        b'{"index":1e300}]}}]}', FIN)),
    "reasoning of the wrong type": raw(lines(
        b'{"choices":[{"delta":{"reasoning_details":[1,null,"x",[["a"],2],'
        b'{"text":7},{"type":[],"text":"t"}],"thinking_blocks":[[1]],'
        b'"reasoning_content":[1],"reasoning":{"text":"x"},'
        b'"content":[{"type":"thinking","thinking":[1,[],{"text":[]}]}],'
        b'"extra_content":[1]}}]}', FIN)),
    "usage of the wrong type": raw(lines(
        b'{"choices":[],"usage":{"prompt_tokens":"x","completion_tokens":-1e99,'
        b'"cost":"free","prompt_tokens_details":7}}', FIN)),
    "error of the wrong type": raw(lines(b'{"error":[1,2]}')),
    "finish of the wrong type": raw(lines(
        b'{"choices":[{"delta":{"content":"x"},"finish_reason":7}]}',
        b"[DONE]")),
    "a long name": raw(lines(json.dumps(tool(index=0, id="x", function={
        "name": "n" * 5000, "arguments": "{}"})).encode(), FIN)),
    "many calls": raw(lines(json.dumps(chunk({"tool_calls": [
        {"index": i, "id": "c%d" % i, "function": {
            "name": "list_directory", "arguments": READ}}
        for i in range(200)]})).encode(), FIN)),
    "a long answer": {"events": [chunk({"content": "x" * (9 << 20)})] * 2 +
                      DONE},
    "cut in a line": raw(b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n'
                         b'data: {"cho'),
    "cut": {"events": [chunk({"content": "half"})], "cut": True},
    "typed without a response": raw(lines(
        b'{"type":"response.completed","response":[1]}',
        b'{"type":"response.output_item.done","item":7}',
        b'{"type":".delta","delta":{}}',
        b'{"type":"response.completed","response":{"object":"response",'
        b'"output":[7,null,[],{"type":"reasoning","summary":7},'
        b'{"type":"message","content":{}},{"type":"function_call"}]}}')),
}


# Another request would be paid for, too.
TOO_BIG = {"a long name", "many calls", "a long answer"}


def test_broken_streams_end_in_a_reason(home):
    for i, (name, reply) in enumerate(BROKEN.items()):
        for api in ("chat", "responses"):
            m = Mock(home, reply, reply, reply, text("too many"))
            agent = "%s%d" % (api[0], i)
            d = chat(home, m, agent, config={"api": api, "retries": 2})
            row = run(d, agent=agent)
            assert row["state"] in ("succeeded", "failed"), (name, row)
            assert row["reason"] in ("completed", "server_failed"), (name, row)
            assert row["state"] == "succeeded" or row["detail"], (name, row)
            assert len(m.asked) <= (1 if name in TOO_BIG else 3), (
                name, len(m.asked))
            states = {p[1] for p in parts(home, agent)}
            assert states <= {"done", "error", "aborted"}, (name, states)
            shown = home.skep("session", "export", "s", "--agent", agent)
            assert shown.lines, name
    finish(d)


class Slow:
    """A server that sends its answer byte by byte."""

    def __init__(self, home, body):
        self.server = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d/v1" % self.server.getsockname()[1]
        self.body = body
        home.undo.append(self.server.close)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                c, _ = self.server.accept()
            except OSError:
                return
            c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while b"\r\n\r\n" not in c.recv(65536):
                pass
            for byte in b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + self.body:
                c.send(bytes([byte]))
            c.close()


def test_characters_may_be_split_anywhere(home):
    words = "\u00e4\u20ac\U0001f600 \u200d\ufeff"
    body = lines(json.dumps(chunk({"content": words}),
                            ensure_ascii=False).encode(), FIN, b"[DONE]")
    m = Slow(home, body.replace(b"\n", b"\r\n"))
    d = chat(home, m)
    assert run(d)["state"] == "succeeded"
    assert [p[3] for p in parts(home)] == [words], parts(home)
    finish(d)
