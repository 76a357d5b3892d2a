"""A model that does what the last message of the user says, on loopback, in the
way of OpenAI's chat completions (streamed).

    SAY text            answers "text (N)", N being the messages of the user
    WRITE path text     calls the tool `write`, then says what it gave
    RUN command         calls the tool `bash`
    SLOW                says a word every tenth of a second, for a minute
"""
import http.server
import json
import threading
import time


def chunk(delta, finish=None):
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1,
            "model": "mock", "choices": [{"index": 0, "delta": delta,
                                          "finish_reason": finish}]}


def text_of(message):
    content = message.get("content") or ""
    if isinstance(content, list):
        content = " ".join(p.get("text", "") for p in content)
    return content


def call(name, args):
    return [chunk({"role": "assistant", "tool_calls": [{
        "index": 0, "id": "call_%d" % time.monotonic_ns(), "type": "function",
        "function": {"name": name, "arguments": json.dumps(args)}}]}),
        chunk({}, "tool_calls")]


def text_chunks(text):
    half = len(text) // 2
    return [chunk({"role": "assistant", "content": text[:half]}),
            chunk({"content": text[half:]}), chunk({}, "stop")]


def reply(ask, place):
    """The chunks of an answer."""
    asked = [text_of(m) for m in ask["messages"] if m["role"] == "user"]
    last = ask["messages"][-1]
    if not ask.get("tools"):
        return text_chunks("a title")
    if last["role"] == "tool":
        return text_chunks("done: " + text_of(last)[:200])
    word, _, rest = asked[-1].strip().partition(" ")
    if word == "WRITE":
        path, _, text = rest.partition(" ")
        return call("write", {"filePath": place + "/" + path, "content": text})
    if word == "RUN":
        return call("bash", {"command": rest, "description": "run it"})
    if word == "SLOW":
        return (time.sleep(0.1) or chunk({"content": "word "})
                for _ in range(600))
    return text_chunks("%s (%d)" % (rest, len(asked)))


class Model(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, place):
        super().__init__(("127.0.0.1", 0), Handler)
        self.place = place
        self.asked = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return "http://127.0.0.1:%d/v1" % self.server_address[1]


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_POST(self):
        ask = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(ask)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        try:
            for c in reply(ask, self.server.place):
                self.wfile.write(b"data: %s\n\n" % json.dumps(c).encode())
                self.wfile.flush()
            last = dict(chunk({}), choices=[], usage={
                "prompt_tokens": 11, "completion_tokens": 3,
                "total_tokens": 14})
            self.wfile.write(b"data: %s\n\ndata: [DONE]\n\n"
                             % json.dumps(last).encode())
        except OSError:
            pass  # the client has gone, which it may
