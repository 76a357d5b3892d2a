"""Webhooks on their way: connections, proxies, names, and receivers that are
tired of waiting."""
import http.client
import http.server
import json
import os
import pathlib
import shutil
import socket
import subprocess
import threading
import time

import lib
from channel_lib import SECRET, post, receiver, await_deliveries, sign, webhook
from skepd_lib import QUICK, Host, host
from test_channel_tls import Authority, secure

HERE = pathlib.Path(__file__).resolve().parent.parent / "support"


def count_connections(r):
    """Gives the list of those that were opened, and of those that ended."""
    opened, ended = [], []
    handler = r.server.RequestHandlerClass
    setup, finish = handler.setup, handler.finish

    def on_setup(self):
        opened.append(self.client_address)
        setup(self)

    def on_finish(self):
        finish(self)
        ended.append(self.client_address)
    handler.setup, handler.finish = on_setup, on_finish
    return opened, ended


def test_a_connection_is_used_again(home):
    r = receiver(home)
    opened, _ = count_connections(r)
    h = host(home)
    webhook(h, "web", r.url + "/web", timeout=20000)
    webhook(h, "other", r.url + "/other", timeout=20000)
    for i in range(30):
        post(h, "web", "m%d" % i)
        await_deliveries(h, i + 1, "delivered")
    assert len(opened) == 1, opened
    post(h, "other", "x")  # the same receiver: the same connection
    await_deliveries(h, 31, "delivered")
    assert len(opened) == 1 and len(r.ids()) == 31
    for i in range(40):  # side by side: as many as there are conversations
        post(h, "web", "s%d" % i, "c%d" % (i % 4))
    await_deliveries(h, 71, "delivered")
    assert len(opened) <= 5, opened
    h.down()


def test_a_connection_that_was_closed_at_rest_costs_nothing(home):
    r = receiver(home)
    opened, ended = count_connections(r)
    r.server.RequestHandlerClass.timeout = 0.1  # seconds until it is tired
    h = host(home)
    webhook(h, "web", r.url, idempotent="no", timeout=20000)
    for i in range(8):
        post(h, "web", "m%d" % i)
        await_deliveries(h, i + 1, "delivered")
        lib.eventually(lambda: len(ended) == len(opened), 30, "the end of it")
    assert len(opened) == 8 and r.texts() == ["m%d" % i for i in range(8)]
    assert {d["attempts"] for d in await_deliveries(h, 8, "delivered")} == {1}
    h.down()


def test_connections_that_close_at_any_moment_lose_nothing(home):
    r = receiver(home, lambda path, n: 200)
    _, ended = count_connections(r)
    r.server.RequestHandlerClass.timeout = 0.02
    h = host(home)
    webhook(h, "web", r.url, attempts=50, timeout=20000)
    for i in range(60):  # some are just closed when the next message leaves
        post(h, "web", "m%d" % i)
        time.sleep(0.004 * (i % 10))
    rows = await_deliveries(h, 60, "delivered")
    # what came twice was unknown in between, and has the same key
    for d in rows:
        assert 1 <= r.ids().count(d["id"]) <= d["attempts"], d
    assert list(dict.fromkeys(r.texts())) == ["m%d" % i for i in range(60)]
    h.down()


class Proxy:
    """Forwards what comes to it; .asked is what that was."""

    def __init__(self, home):
        self.asked = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                outer.asked.append(self.path)
                body = self.rfile.read(int(self.headers["content-length"]))
                c = http.client.HTTPConnection(self.path.split("/")[2], timeout=30)
                c.request("POST", "/" + self.path.split("/", 3)[3], body, {
                    k: v for k, v in self.headers.items() if k.lower()[:5] != "proxy"})
                self.send_response(c.getresponse().status)
                self.send_header("content-length", "0")
                self.end_headers()

            def do_CONNECT(self):
                outer.asked.append(self.path)
                name, port = self.path.split(":")
                there = socket.create_connection((name, int(port)), timeout=lib.HANG)
                self.send_response(200)
                self.end_headers()
                pump = threading.Thread(target=outer.copy, daemon=True,
                                        args=(there, self.connection))
                pump.start()
                outer.copy(self.connection, there)
                self.close_connection = True

            def log_message(self, *args):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        home.undo.append(self.server.shutdown)

    @staticmethod
    def copy(here, there):
        try:
            while data := here.recv(65536):
                there.sendall(data)
            there.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def test_only_the_setting_says_that_there_is_a_proxy(home):
    trap, proxy, r = Proxy(home), Proxy(home), receiver(home)
    good = Authority(home, "good")
    safe = secure(home, "IP:127.0.0.1", good)
    env = {name: trap.url for word in ("http", "https", "all")
           for name in (word + "_proxy", word.upper() + "_PROXY")}
    h = Host(home, QUICK, env=dict(env, no_proxy="*")).start()
    webhook(h, "direct", r.url + "/direct", timeout=20000)
    webhook(h, "safe", safe.url + "/safe", ca_file=str(good.path), timeout=20000)
    webhook(h, "by", r.url + "/by", proxy=proxy.url, timeout=20000)
    webhook(h, "tunnel", safe.url + "/tunnel", proxy=proxy.url,
            ca_file=str(good.path), timeout=20000)
    for name in ("direct", "safe", "by", "tunnel", "tunnel"):
        post(h, name, name)
    rows = await_deliveries(h, 5, "delivered")
    assert {d["attempts"] for d in rows} == {1}
    assert trap.asked == []
    assert sorted(proxy.asked) == sorted([r.url + "/by",
                                          safe.url.split("//")[1]])
    assert len(r.ids()) == 2 and len(safe.ids()) == 3
    h.down()


class Second:
    """h2_receiver.mjs; .log is what it got."""

    def __init__(self, home, authority):
        if not shutil.which("node"):
            lib.skip("node is needed")
        authority.context("IP:127.0.0.1")
        stem = home.dir / (authority.name + "-server")
        p = home.start("node", HERE / "h2_receiver.mjs", stem.with_suffix(".pem"),
                       stem.with_suffix(".key"), stdout=subprocess.PIPE)
        self.url = "https://127.0.0.1:%d" % int(p.stdout.readline())
        self.log = []
        threading.Thread(target=self.read, args=(p.stdout,), daemon=True).start()

    def read(self, lines):
        for line in lines:
            self.log.append(json.loads(line))

    def ids(self, path):
        return [m["id"] for m in self.log if m["path"] == path]


def test_a_receiver_may_speak_http_2(home):
    good = Authority(home, "good")
    r = Second(home, good)
    h = host(home)
    for name in ("many", "refuse", "goaway"):
        webhook(h, name, r.url + "/" + name, inflight=8,
                ca_file=str(good.path), timeout=20000)
    for i in range(40):
        post(h, "many", "m%d" % i, "c%d" % (i % 8))
    await_deliveries(h, 40, "delivered", channel="many")
    assert sorted(set(r.ids("/many"))) == sorted(r.ids("/many"))
    assert len(r.ids("/many")) == 40
    assert r.log[-1]["connections"] < 40, "connections are used again"
    for m in r.log:
        assert m["signature"] == sign(SECRET, m["id"], m["timestamp"],
                                      m["body"].encode())
    # a stream that was refused, a connection that ended: told, and sent again
    for name in ("refuse", "goaway"):
        ident = post(h, name, "x")
        [d] = await_deliveries(h, 1, "delivered", channel=name)
        assert d["attempts"] == 2, d
        assert r.ids("/" + name) == [ident] * (1 if name == "refuse" else 2)
    h.down()


def test_a_receiver_may_be_at_an_address_of_version_6(home):
    class Six(http.server.ThreadingHTTPServer):
        address_family = socket.AF_INET6
        daemon_threads = True
    r = receiver(home)
    try:
        six = Six(("::1", 0), r.server.RequestHandlerClass)
    except OSError as e:
        lib.skip("no IPv6 on loopback: %s" % e)
    threading.Thread(target=six.serve_forever, daemon=True).start()
    home.undo.append(six.shutdown)
    h = host(home)
    webhook(h, "web", "http://[::1]:%d/six" % six.server_port, timeout=20000)
    post(h, "web", "x")
    await_deliveries(h, 1, "delivered")
    assert len(r.ids("/six")) == 1 and not r.bad
    h.down()


def test_failures_say_what_they_are(home):
    redirect = (307, {"Location": "http://127.0.0.1:9/elsewhere"})
    r = receiver(home, lambda path, n: redirect if path == "/moved" else 404)
    h = host(home)
    for name, url in (("name", "http://no-such-name.invalid/"),
                      ("port", "http://127.0.0.1:9/"),
                      ("moved", r.url + "/moved"), ("tls", r.url.replace("p:", "ps:"))):
        webhook(h, name, url, attempts=2, timeout=20000)
        post(h, name, "x")
    rows = {d["channel"]: d for d in await_deliveries(h, 4, "dead")}
    assert "no-such-name.invalid" in rows["name"]["detail"], rows["name"]
    assert "port 9" in rows["port"]["detail"], rows["port"]
    assert "elsewhere" in rows["moved"]["detail"], rows["moved"]
    assert "SSL" in rows["tls"]["detail"] or "TLS" in rows["tls"]["detail"]
    assert {n: d["attempts"] for n, d in rows.items()} == {
        "name": 2, "port": 2, "moved": 1, "tls": 2}
    assert len(r.ids()) == 1, "redirects are not followed"
    h.down()


def test_a_receiver_that_is_gone_pauses_its_channel(home):
    r = receiver(home, lambda path, n: 410 if path == "/old" else 200)
    h = host(home)
    webhook(h, "web", r.url + "/old", inflight=1, timeout=20000)
    want = [post(h, "web", "m%d" % i, "c%d" % i) for i in range(4)]
    shown = lib.eventually(lambda: (c := h.call("GET", "/v1/channels/web"))
                           ["is_paused"] and c, 30, "the pause")
    assert "skep channel resume" in shown["last_error"], shown
    seen = [e["body"] for e in h.call("GET", "/v1/events?limit=1000")["items"]
            if e["kind"] == "channel" and e["body"]["what"] == "pause"]
    assert [t["detail"] for t in seen] == [shown["last_error"]], seen
    webhook(h, "web", r.url + "/new", inflight=1, timeout=20000)  # it is paused all the same
    home.skep("channel", "resume", "web")
    await_deliveries(h, 4, "delivered")
    assert sorted(r.ids("/new")) == sorted(want) and len(r.ids("/old")) == 1
    h.down()


def test_a_channel_that_only_hears_says_so(home):
    h = host(home)
    webhook(h, "in", "")
    home.skep("channel", "set", "in", "--unset", "url")
    error = home.refused(1, "channel", "test", "in", "--timeout", "100ms")
    assert "has no url" in error and "skep channel set in" in error, error
    h.down()


def silent_name_server(home):
    """Programs in the directory it gives ask a name server that never answers."""
    if os.geteuid() != 0:
        lib.skip("only root can have a name server of its own")
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    address = "127.%d.%d.%d" % tuple(os.urandom(3))
    try:
        s.bind((address, 53))
    except OSError as e:
        lib.skip("no name server on loopback: %s" % e)
    home.undo.append(s.close)
    (home.dir / "resolv.conf").write_text(
        "nameserver %s\noptions timeout:30 attempts:5\n" % address)
    (home.dir / "nsswitch.conf").write_text("hosts: files dns\n")
    folder = home.dir / "bin"
    folder.mkdir()
    script = folder / "skepd"
    script.write_text("""#!/bin/sh
exec unshare --mount --propagation private sh -c '
mount --bind %s/resolv.conf /etc/resolv.conf || exit 99
mount --bind %s/nsswitch.conf /etc/nsswitch.conf || exit 99
exec "$0" "$@"' %s/skepd "$@"
""" % (home.dir, home.dir, home.bin))
    script.chmod(0o755)
    if home.run("unshare", "--mount", "true", code=None).code:
        lib.skip("namespaces are not allowed here")
    return folder, s


def test_a_name_server_that_hangs_holds_nobody_else(home):
    folder, server = silent_name_server(home)
    r = receiver(home)
    h = Host(home, bin_dir=folder).start()
    webhook(h, "hangs", "http://a-name.example/", timeout=3600000)
    webhook(h, "short", "http://b-name.example/", timeout=300, attempts=3)
    webhook(h, "live", r.url, timeout=20000)
    h.call("PUT", "/v1/channels/mail", {"kind": "smtp", "config": {
        "server": "smtp://c-name.example:25", "from": "a@example.org",
        "timeout": 3600000}})
    post(h, "hangs", "x")
    post(h, "short", "x")
    post(h, "mail", "x", "ann@example.org")
    asked = set()
    while len(asked) < 3:  # all of them wait for it
        server.settimeout(30)
        asked.add(server.recv(512)[12:19])
    [d] = await_deliveries(h, 1, "dead", channel="short")  # whose time is over is let go
    assert d["attempts"] == 3 and "Resolving timed out" in d["detail"], d
    for i in range(5):
        post(h, "live", "m%d" % i)
    await_deliveries(h, 5, "delivered", channel="live")
    assert r.texts() == ["m%d" % i for i in range(5)]
    # removed: its Retry-After does not apply
    h.call("DELETE", "/v1/channels/mail")
    post(h, "live", "after")
    await_deliveries(h, 6, "delivered", channel="live")
    home.skep("down")
    assert h.process.wait(lib.HANG) == 0
