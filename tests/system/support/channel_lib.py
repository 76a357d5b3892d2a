"""A receiver of webhooks under test: it keeps a log, and does what it is told."""
import base64
import hashlib
import hmac
import http.server
import json
import socket
import threading
import time

import lib

SECRET = base64.b64encode(b"k" * 32).decode()


def sign(secret, ident, when, body):
    key = base64.b64decode(secret)
    text = ("%s.%s." % (ident, when)).encode() + body
    return "v1," + base64.b64encode(
        hmac.new(key, text, hashlib.sha256).digest()).decode()


class Receiver:
    """Every request is in .log as (path, webhook-id, message). .plan(path, n)
    gives what the n-th request to a path gets: a status, or (status, headers),
    or "stall", "close" (after the body was read, no answer), "late", or bytes:
    those are sent instead of an answer, and the connection is closed."""

    def __init__(self, plan=None):
        self.log, self.bad, self.plan = [], [], plan or (lambda path, n: 200)
        self.lock = threading.Lock()
        self.counts = {}
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                outer.take(self, body)

            def log_message(self, *args):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, request, client_address):
                pass  # the sender was killed

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_port
        self.stop = threading.Event()
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, h, body):
        ident, when = h.headers["webhook-id"], h.headers["webhook-timestamp"]
        good = sign(SECRET, ident, when, body)
        with self.lock:
            n = self.counts[h.path] = self.counts.get(h.path, 0) + 1
            if h.headers["webhook-signature"] != good:
                self.bad.append(ident)
            self.log.append((h.path, ident, json.loads(body)["data"]))
        what = self.plan(h.path, n)
        if what == "stall":
            self.stop.wait(30)
            what = "close"
        if what == "late":
            time.sleep(0.7)
            what = 200
        if isinstance(what, bytes):
            h.wfile.write(what)
            what = "close"
        if what == "close":
            h.close_connection = True
            h.connection.shutdown(socket.SHUT_RDWR)
            return
        status, headers = what if isinstance(what, tuple) else (what, {})
        answer = b"" if status < 300 else b"the receiver says no"
        try:
            h.send_response(status)
            h.send_header("content-length", str(len(answer)))
            for name, value in headers.items():
                h.send_header(name, value)
            h.end_headers()
            h.wfile.write(answer)
        except OSError:
            pass

    def ids(self, path=None):
        with self.lock:
            return [i for p, i, _ in self.log if path in (None, p)]

    def texts(self, path=None):
        with self.lock:
            return [m.get("text") for p, _, m in self.log if path in (None, p)]

    def close(self):
        self.stop.set()
        self.server.shutdown()
        self.server.server_close()


def receiver(home, plan=None):
    r = Receiver(plan)
    home.undo.append(r.close)
    return r


def secret(home, name):
    """The file that a webhook channel of this name reads."""
    folder = home.path / "credentials"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / ("channel-%s.secret" % name)).write_text("whsec_" + SECRET + "\n")


def webhook(host, name, url, **config):
    secret(host.home, name)
    quick = dict(url=url, backoff=50, backoff_max=200, timeout=1000)
    host.call("PUT", "/v1/channels/" + name,
              {"kind": "webhook", "config": dict(quick, **config)})


def post(host, channel, text, conversation="c"):
    return host.call("POST", "/v1/deliveries",
                     {"channel": channel, "conversation": conversation,
                      "body": {"text": text}})["id"]


def send_inbound(host, channel, text, ident=None, **more):
    return host.call("POST", "/v1/channels/%s/messages" % channel,
                     dict({"sender": "ann", "text": text, "id": ident}, **more))


def deliveries(host, **filters):
    query = "&".join("%s=%s" % f for f in filters.items())
    return host.call("GET", "/v1/deliveries?limit=1000&" + query)["items"]


def await_deliveries(host, n, *states, **filters):
    """Waits until n deliveries are in one of the states."""
    def check():
        rows = [d for d in deliveries(host, **filters) if d["state"] in states]
        return len(rows) >= n and rows
    return lib.eventually(check, 30, "%d %s" % (n, states))


def echo(host, name="echo"):
    return host.agent(name, "exec", {"shell": "cat", "stdin": "text"})


def outbox_is_taken(home, agent):
    """The agent's file is marked after the delivery is in the control plane."""
    lib.eventually(lambda: home.query(
        home.agent_db(agent),
        "SELECT count(*) FROM outbox WHERE taken_at IS NULL") == [(0,)],
        what="the mark on every row of the outbox")
