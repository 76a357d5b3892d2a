"""A server of chat completions and responses that says what a test wants."""
import http.server
import json
import socket
import threading
import time


def chunk(delta=None, finish=None, usage=None, **more):
    """One object of a stream of chat completions."""
    c = {"id": "c1", "object": "chat.completion.chunk", "created": 1,
         "model": "mock", "choices": [
             {"index": 0, "delta": delta or {}, "finish_reason": finish}]}
    if usage:
        c["choices"], c["usage"] = [], {
            "prompt_tokens": usage[0], "completion_tokens": usage[1],
            "total_tokens": sum(usage)}
    c.update(more)
    return c


def text(words, usage=(10, 5)):
    """An answer that is a text, word by word."""
    deltas = [{"role": "assistant", "content": ""}]
    deltas += [{"content": w} for w in words.split(" ")]
    deltas[2:] = [{"content": " " + d["content"]} for d in deltas[2:]]
    return [chunk(d) for d in deltas] + [
        chunk(finish="stop"), chunk(usage=usage), "[DONE]"]


def call(name, args, ident="call_1", index=0):
    return chunk({"tool_calls": [{
        "index": index, "id": ident, "type": "function",
        "function": {"name": name, "arguments": json.dumps(args)}}]})


def calls(*which):
    """An answer that calls tools: (name, arguments)…"""
    return [call(n, a, "call_%d" % i, i) for i, (n, a) in enumerate(which)] + [
        chunk(finish="tool_calls"), chunk(usage=(7, 3)), "[DONE]"]


class Mock:
    """replies: what the n-th request gets, the last one again and again. Each is
    a list of objects to stream (numbers are pauses in seconds), or a dict with
    status, headers, body, type (of the body), events, cut (close without an end), hang (seconds
    before anything is said)."""

    def __init__(self, home, *replies):
        self.replies, self.asked, self.gone = list(replies), [], []
        self.lock = threading.Lock()
        mock = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                n = int(self.headers.get("Content-Length") or 0)
                mock.serve(self, json.loads(self.rfile.read(n)))

            def log_message(self, *args):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, request, address):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d/v1" % self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        home.undo.append(self.server.shutdown)

    def serve(self, h, body):
        with self.lock:
            n = len(self.asked)
            self.asked.append((h.path, dict(h.headers), body))
        reply = self.replies[min(n, len(self.replies) - 1)]
        if callable(reply):
            reply = reply(body)
        if not isinstance(reply, dict):  # a list, or one that is made meanwhile
            reply = {"events": reply}
        time.sleep(reply.get("hang", 0))
        try:
            self.answer(h, reply)
        except OSError:
            self.gone.append(time.monotonic())
            h.close_connection = True

    def answer(self, h, reply):
        if "events" not in reply:
            data = reply.get("body", {})
            data = data if isinstance(data, bytes) else json.dumps(data).encode()
            h.send_response(reply.get("status", 200))
            kind = reply.get("type", "application/json")
            if kind:
                h.send_header("Content-Type", kind)
            h.send_header("Content-Length", str(len(data)))
            for pair in reply.get("headers", {}).items():
                h.send_header(*pair)
            h.end_headers()
            h.wfile.write(data)
            return
        h.send_response(200)
        h.send_header("Content-Type", "text/event-stream; charset=utf-8")
        h.send_header("Transfer-Encoding", "chunked")
        h.end_headers()
        for event in reply["events"]:
            if isinstance(event, (int, float)):
                self.pause(h, event)
                continue
            data = event if isinstance(event, str) else json.dumps(event)
            piece = ("data: %s\n\n" % data).encode()
            h.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            h.wfile.flush()
        if reply.get("cut"):
            h.connection.shutdown(socket.SHUT_RDWR)
            return
        h.wfile.write(b"0\r\n\r\n")

    @staticmethod
    def pause(h, seconds):
        """Until then, or until the client is gone."""
        h.connection.settimeout(seconds)
        try:
            if h.connection.recv(1) == b"":
                raise ConnectionResetError
        except socket.timeout:
            h.connection.settimeout(None)

    def messages(self, n=-1):
        return self.asked[n][2].get("messages")

    def results(self, n=-1):
        return [m["content"] for m in self.messages(n) if m["role"] == "tool"]
