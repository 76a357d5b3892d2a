"""What each kind of answer means for a message: delivered, tried again, refused
for good, or unknown. docs/CHANNELS.md has the same table for people."""
import email.utils
import socket
import threading
import time

import lib
from channel_lib import post, receiver, await_deliveries, webhook
from skepd_lib import host
from test_plugins import plugin

REFUSED = (301, 302, 303, 307, 308, 400, 401, 403, 404, 405, 413, 422, 501, 505)
AGAIN = (408, 409, 423, 425, 429, 500, 502, 503, 504)
# It was sent, and these answers do not say whether it arrived.
SILENCE = {
    "close": "close",
    "stall": "stall",
    "nothing": b"",
    "garbage": b"\x00\xffno such protocol\r\n\r\n",
    "half": b"HTTP/1.1 2",
}
# A status was there: it counts, whatever became of the rest.
COUNTS = {
    "cut": b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf",
    "chunk": b"HTTP/1.1 204 No\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    "bare": b"HTTP/1.1 200 OK\r\n",
}


def row(h, ident):
    return h.call("GET", "/v1/deliveries/" + ident)


def attempts(h, ident):
    items = h.call("GET", "/v1/deliveries/%s/attempts" % ident)["items"]
    return [(a["outcome"], a["remote_status"]) for a in items]


def ended(h, ident, *states):
    def check():
        d = row(h, ident)
        return d["state"] in states and d
    return lib.eventually(check, 30, "%s: %s" % (ident, row(h, ident)))


def test_refusals_end_at_once_and_others_are_tried_again(home):
    def plan(path, n):
        status = int(path[1:])
        if status in REFUSED:
            return status, {"location": "http://127.0.0.1:1/other"}
        return status if n == 1 else 200
    r = receiver(home, plan)
    h = host(home)
    sent = {}
    for status in REFUSED + AGAIN:
        webhook(h, "s%d" % status, "%s/%d" % (r.url, status))
        sent[status] = post(h, "s%d" % status, "x")
    for status in REFUSED:
        d = ended(h, sent[status], "dead", "delivered", "unknown")
        assert (d["state"], d["attempts"], d["remote_status"]) == ("dead", 1, status), d
        assert r.ids("/%d" % status) == [sent[status]]
        if status in (301, 302, 303, 307, 308):
            assert "redirects are not followed" in d["detail"] and \
                "http://127.0.0.1:1/other" in d["detail"], d
    for status in AGAIN:
        d = ended(h, sent[status], "dead", "delivered", "unknown")
        assert (d["state"], d["attempts"], d["remote_status"]) == ("delivered", 2, 200), d
        assert attempts(h, sent[status]) == [("pending", status)]
        assert r.ids("/%d" % status) == [sent[status]] * 2, "with the same key"
    h.down()


def test_without_an_answer_only_an_idempotent_channel_sends_again(home):
    r = receiver(home, lambda path, n: SILENCE[path[2:]] if n == 1 else 200)
    h = host(home)
    once, key = {}, {}
    for what in SILENCE:
        webhook(h, "n" + what, "%s/n%s" % (r.url, what), idempotent="no",
                timeout=700)
        webhook(h, "y" + what, "%s/y%s" % (r.url, what), timeout=700)
        once[what], key[what] = post(h, "n" + what, "x"), post(h, "y" + what, "x")
    for what in SILENCE:
        d = ended(h, key[what], "delivered", "dead")
        assert (d["state"], d["attempts"]) == ("delivered", 2), (what, d)
        assert attempts(h, key[what]) == [("unknown", None)]
        assert r.ids("/y" + what) == [key[what]] * 2, "with the same key"
        d = ended(h, once[what], "unknown", "delivered", "dead")
        assert (d["state"], d["attempts"]) == ("unknown", 1), (what, d)
    behind = post(h, "nclose", "behind it")
    ended(h, behind, "delivered")  # it blocks no other message
    for what in SILENCE:
        assert r.ids("/n" + what)[0] == once[what] and row(
            h, once[what])["state"] == "unknown"
        h.call("POST", "/v1/deliveries/%s/retry" % once[what])
        ended(h, once[what], "delivered")
        assert r.ids("/n" + what).count(once[what]) == 2
    h.down()


def test_a_status_is_an_answer_whatever_follows(home):
    r = receiver(home, lambda path, n: COUNTS[path[1:]])
    h = host(home)
    for what in COUNTS:
        webhook(h, what, "%s/%s" % (r.url, what), idempotent="no")
        d = ended(h, post(h, what, "x"), "unknown", "delivered", "dead")
        assert (d["state"], d["attempts"]) == ("delivered", 1), (what, d)
    h.down()


class Endless:
    """Answers each request with a status and a body that never ends."""

    def __init__(self, home, status):
        self.status = status
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.socket.getsockname()[1]
        home.undo.append(self.socket.close)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        try:
            while True:
                c = self.socket.accept()[0]
                threading.Thread(target=self.answer, args=(c,), daemon=True).start()
        except OSError:
            pass

    def answer(self, c):
        with c:
            c.recv(65536)
            c.sendall(b"HTTP/1.1 %d Yes\r\ntransfer-encoding: chunked\r\n\r\n" %
                      self.status)
            try:
                while True:
                    c.sendall(b"400\r\n" + b"x" * 1024 + b"\r\n")
                    time.sleep(0.001)
            except OSError:
                pass


def test_an_answer_without_end_is_not_read_for_ever(home):
    h = host(home)
    for status, state in ((200, "delivered"), (400, "dead")):
        webhook(h, "w%d" % status, Endless(home, status).url, timeout=600000)
        d = ended(h, post(h, "w%d" % status, "x"), "delivered", "dead", "unknown")
        assert (d["state"], d["remote_status"], d["attempts"]) == (state, status, 1), d
    h.down()


def test_words_that_are_no_text_are_kept_as_text(home):
    words = b"ab\xff\xfe\x1b[1m \xe2\x82\xac"
    r = receiver(home, lambda path, n: b"HTTP/1.1 400 No\r\ncontent-length: "
                 b"%d\r\n\r\n%s" % (len(words), words))
    h = host(home)
    webhook(h, "web", r.url)
    ident = post(h, "web", "x")
    d = ended(h, ident, "dead")
    assert d["detail"] == "ab?? [1m \u20ac", d
    [seen] = [e["body"]["detail"] for e in
              h.call("GET", "/v1/events?limit=1000")["items"]
              if e["subject"] == ident and e["body"]["state"] == "dead"]
    assert seen == d["detail"]
    h.down()


class Deaf:
    """Accepts and hangs up, or never answers the connection at all."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.socket.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        try:
            while True:
                self.socket.accept()[0].close()
        except OSError:
            pass


def test_who_hangs_up_before_the_body_leaves_it_unknown(home):
    deaf = Deaf()
    home.undo.append(deaf.socket.close)
    h = host(home)
    webhook(h, "deaf", deaf.url, idempotent="no")
    ident = post(h, "deaf", "x")
    # a closed connection is seen before or after the request was written
    d = ended(h, ident, "unknown")
    assert d["attempts"] >= 1
    # no server at all: it has certainly not arrived, so it is retried
    closed = socket.create_server(("127.0.0.1", 0))
    port = closed.getsockname()[1]
    closed.close()
    webhook(h, "nobody", "http://127.0.0.1:%d" % port, idempotent="no", attempts=3)
    d = ended(h, post(h, "nobody", "x"), "dead", "unknown")
    assert (d["state"], d["attempts"]) == ("dead", 3), d
    h.down()


def test_a_receiver_that_never_answers_is_not_stormed(home):
    """As often as `attempts` says, with waits; then it is a person's."""
    mute = [True]
    r = receiver(home, lambda path, n: "close" if mute[0] else 200)
    h = host(home)
    webhook(h, "web", r.url, attempts=4)
    ident = post(h, "web", "x")
    lib.eventually(lambda: row(h, ident)["attempts"] == 4 and
                   row(h, ident)["state"] == "unknown", 30, "the last attempt")
    other = post(h, "web", "y", "d")
    lib.eventually(lambda: row(h, other)["attempts"] == 4 and
                   row(h, other)["state"] == "unknown", 30, "another's")
    assert r.ids() == [ident] * 4 + [other] * 4
    h.down()
    h.start()  # nor by the next skepd
    mute[0] = False
    ended(h, post(h, "web", "z"), "delivered")
    assert row(h, ident)["state"] == "unknown" and r.ids().count(ident) == 4
    h.call("POST", "/v1/deliveries/%s/retry" % ident)
    assert ended(h, ident, "delivered")["attempts"] == 1
    h.down()


FORGETFUL = """
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "channel.configure":
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": {}}), flush=True)
    elif m.get("method") == "channel.send":
        with open(sys.argv[1], "a") as f:
            f.write(m["params"]["routing"]["id"] + "\\n")
    elif m.get("method") == "channel.status":
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"],
                          "result": {"delivery": "missing"}}), flush=True)
"""


def test_one_that_never_comes_is_tried_as_often_as_it_may(home):
    """The plugin takes it, does not answer, and says later that it never came."""
    script, seen = home.dir / "forgetful.py", home.dir / "seen"
    script.write_text(FORGETFUL.replace(
        "for line", 'print(json.dumps({"jsonrpc": "2.0", "id": 1, "method":'
        ' "channel.register", "params": {"name": "f", "version": "1",'
        ' "resolves": True}}), flush=True)\nfor line', 1))
    h = host(home)
    plugin(h, "f", "python3", script, seen, attempts=3, timeout=300)
    d = ended(h, post(h, "f", "x"), "dead")
    assert d["attempts"] == 3 and seen.read_text().split() == [d["id"]] * 3, d
    assert [o for o, _ in attempts(h, d["id"])] == ["unknown"] * 3
    h.down()


def waits(home, h, status, after):
    """A channel whose first answer says how long to wait; seconds until the
    next request came, of any conversation."""
    when = []

    def plan(path, n):
        when.append(time.monotonic())
        return (status, {"retry-after": after()}) if n == 1 else 200
    r = receiver(home, plan)
    name = "w%d" % len(home.undo)
    webhook(h, name, r.url)
    first = post(h, name, "x", "a")
    lib.eventually(lambda: attempts(h, first), 30, "an answer")
    post(h, name, "y", "b")
    await_deliveries(h, 2, "delivered", channel=name)
    assert len(when) == 3
    return when[1] - when[0]


def test_a_receiver_says_when_to_come_again(home):
    h = host(home)
    assert waits(home, h, 429, lambda: "2") >= 1.9
    assert waits(home, h, 503, lambda: "2") >= 1.9
    # a date has whole seconds: at least two of these three
    assert waits(home, h, 503, lambda: email.utils.formatdate(
        time.time() + 3, usegmt=True)) >= 1.5
    # what is no time, or over, changes nothing: it comes after its own wait
    assert waits(home, h, 429, lambda: "soon") < 0.9
    assert waits(home, h, 429, lambda: "Mon, 01 Jan 2001 00:00:00 GMT") < 0.9
    h.down()


def test_a_receiver_cannot_hold_a_channel_for_years(home):
    r = receiver(home, lambda path, n: (503, {"retry-after": "999999999"}))
    h = host(home)
    webhook(h, "web", r.url, age=0)
    ident = post(h, "web", "x")
    lib.eventually(lambda: attempts(h, ident), 30, "an answer")
    wait = row(h, ident)["due_at"] - time.time() * 1000
    assert 86000e3 < wait < 86500e3, wait
    h.down()
