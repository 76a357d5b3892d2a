"""A model on loopback behind four APIs: chat completions, Responses, Gemini and
Anthropic's messages. It
does what `skep agent test` asks for (a file, then a command), with whatever tools
the agent offers; to anything else it says "the model answers"."""
import http.server
import json
import re
import sys
import threading
import time

WRITERS = ("write_file", "write", "Write", "create_file")
SHELLS = ("run_shell_command", "bash", "Bash", "exec_command", "shell_command",
          "shell")
SAID = "the model answers"


TASK = re.compile(r"file (\S+) with the content (\S+)\..*`(.*)`", re.S)


def arguments(properties, path, text, command):
    """What a tool takes of these, by the names that agents have for them."""
    known = {"file_path": path, "filePath": path, "path": path, "content": text,
             "command": command, "cmd": command, "is_background": False,
             "description": "as asked"}
    if properties.get("command", {}).get("type") == "array":
        known["command"] = ["bash", "-c", command]
    return {k: v for k, v in known.items() if k in properties}


def decide(ask, asked, done, tools):
    """(tool, arguments), or None to say something. `done` counts the results
    since the request; tools are {name: schema}. Some tools want whole paths, and
    agents tell where they work."""
    where = re.search(r"(?<!\w)/tmp/skep-try-\w+",
                      json.dumps(ask).replace("\\n", " "))
    m = TASK.search(asked)
    writer = [t for t in WRITERS if t in tools]
    shell = [t for t in SHELLS if t in tools]
    if not m or done > 1 or not shell:
        return None
    path, text, command = m.groups()
    path = where.group(0) + "/" + path if where else path
    name = writer[0] if done == 0 and writer else shell[0]
    if done == 0:
        command = "echo %s > %s" % (text, path)
    return name, arguments(tools[name].get("properties", {}), path, text + "\n",
                           command)


def words(content):
    if isinstance(content, list):
        return " ".join(p.get("text") or "" for p in content)
    return content or ""


class Provider(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, home):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked = []
        self.errors = []
        threading.Thread(target=self.serve_forever, daemon=True).start()
        home.undo.append(self.shutdown)

    def handle_error(self, request, address):
        self.errors.append(repr(sys.exc_info()[1]))

    @property
    def url(self):
        return "http://127.0.0.1:%d" % self.server_address[1]


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_GET(self):
        if self.headers.get("Upgrade"):  # codex asks by POST then
            self.answer({}, 426)
            return
        self.answer({"object": "list", "data": [], "models": []})

    def answer(self, value, status=200):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def stream(self, events, named=False):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for ev in events:
            name = b"event: %s\n" % ev["type"].encode() if named else b""
            self.wfile.write(name + b"data: %s\n\n" % json.dumps(ev).encode())
            self.wfile.flush()

    def do_POST(self):
        ask = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, ask))
        path = self.path.partition("?")[0]
        if path.endswith("/chat/completions"):
            self.completions(ask)
        elif path.endswith("/responses"):
            self.stream(responses(ask), True)
        elif path.endswith("/messages"):
            self.messages(ask)
        elif path.endswith(":streamGenerateContent"):
            self.stream([gemini(ask)])
        elif path.endswith(":generateContent"):
            self.answer(gemini(ask))
        else:
            self.answer({"totalTokens": 1, "input_tokens": 1})

    def messages(self, ask):
        block, usage = anthropic(ask), {"input_tokens": 1, "output_tokens": 1}
        call = block["type"] == "tool_use"
        end = "tool_use" if call else "end_turn"
        base = {"id": "msg_1", "type": "message", "role": "assistant",
                "model": ask["model"], "stop_sequence": None, "usage": usage}
        if not ask.get("stream"):
            self.answer(dict(base, content=[block], stop_reason=end))
            return
        self.stream([
            {"type": "message_start", "message": dict(
                base, content=[], stop_reason=None)},
            {"type": "content_block_start", "index": 0, "content_block":
             dict(block, input={}) if call else dict(block, text="")},
            {"type": "content_block_delta", "index": 0, "delta": {
                "type": "input_json_delta",
                "partial_json": json.dumps(block["input"])} if call else {
                "type": "text_delta", "text": block["text"]}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {
                "stop_reason": end, "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"}], True)

    def completions(self, ask):
        output = ask["messages"]
        first = [i for i, m in enumerate(output) if m["role"] == "user" and
                 TASK.search(words(m["content"]))] or [len(output)]
        done = sum(m["role"] == "tool" for m in output[first[-1]:])
        asked = "\n".join(words(m["content"]) for m in output
                          if m["role"] == "user")
        tools = {t["function"]["name"]: t["function"].get("parameters") or {}
                 for t in ask.get("tools") or []}
        what = decide(ask, asked, done, tools)
        delta = {"role": "assistant", "content": SAID} if not what else {
            "role": "assistant", "tool_calls": [{
                "index": 0, "id": "call_%d" % done, "type": "function",
                "function": {"name": what[0],
                             "arguments": json.dumps(what[1])}}]}
        end = "tool_calls" if what else "stop"
        base = {"id": "c", "object": "chat.completion.chunk", "created": 1,
                "model": "mock"}
        if not ask.get("stream"):
            self.answer(dict(base, object="chat.completion", choices=[
                {"index": 0, "message": delta, "finish_reason": end}]))
            return
        self.stream([
            dict(base, choices=[{"index": 0, "delta": delta,
                                 "finish_reason": None}]),
            dict(base, choices=[{"index": 0, "delta": {}, "finish_reason": end}],
                 usage={"prompt_tokens": 1, "completion_tokens": 1,
                        "total_tokens": 2})])
        self.wfile.write(b"data: [DONE]\n\n")


def responses(ask):
    items = ask["input"]
    asked = "\n".join(words(m.get("content")) for m in items
                      if m.get("role") == "user")
    done = sum(m.get("type", "").endswith("call_output") for m in items)
    tools = {t.get("name"): t.get("parameters") or {}
             for t in ask.get("tools") or []}
    what = decide(ask, asked, done, tools)
    item = {"type": "message", "role": "assistant", "id": "m%d" % done,
            "content": [{"type": "output_text", "text": SAID}]}
    if what:
        item = {"type": "function_call", "id": "f%d" % done,
                "call_id": "call_%d" % done, "name": what[0],
                "arguments": json.dumps(what[1])}
    return [{"type": "response.created", "response": {"id": "r%d" % done}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {
                "id": "r%d" % done, "usage": {
                    "input_tokens": 1, "output_tokens": 1, "total_tokens": 2,
                    "input_tokens_details": None,
                    "output_tokens_details": None}}}]


def anthropic(ask):
    """The block of content that answers."""
    seen = [b for m in ask["messages"] if m["role"] == "user"
            for b in (m["content"] if isinstance(m["content"], list) else
                      [{"type": "text", "text": m["content"]}])]
    asked = "\n".join(b.get("text") or "" for b in seen)
    done = sum(b["type"] == "tool_result" for b in seen)
    tools = {t["name"]: t.get("input_schema") or {}
             for t in ask.get("tools") or []}
    what = decide(ask, asked, done, tools)
    return {"type": "tool_use", "id": "toolu_%d" % done, "name": what[0],
            "input": what[1]} if what else {"type": "text", "text": SAID}


def gemini(ask):
    seen = [p for c in ask["contents"] for p in c.get("parts", [])]
    asked = "\n".join(p.get("text") or "" for p in seen)
    done = sum("functionResponse" in p for p in seen)
    tools = {f["name"]: f.get("parametersJsonSchema") or f.get("parameters") or
             {} for t in ask.get("tools") or []
             for f in t.get("functionDeclarations") or []}
    what = decide(ask, asked, done, tools)
    part = {"functionCall": {"name": what[0], "args": what[1]}} if what else {
        "text": SAID}
    if (ask.get("generationConfig") or {}).get("responseMimeType") == \
            "application/json":
        part = {"text": json.dumps({"reasoning": "x", "next_speaker": "user",
                                    "model_choice": "flash",
                                    "complexity_reasoning": "x",
                                    "complexity_score": 1})}
    return {"candidates": [{"index": 0, "finishReason": "STOP", "content": {
        "role": "model", "parts": [part]}}], "responseId": "r%d" %
        time.monotonic_ns(), "modelVersion": "mock", "usageMetadata": {
            "promptTokenCount": 1, "candidatesTokenCount": 1,
            "totalTokenCount": 2}}
