"""Webhooks by the specification (Standard Webhooks), with its own library as
the other side, and replays, rotation and whatever else comes in."""
import base64
import json
import pathlib
import re
import shutil
import subprocess
import time

import lib
from channel_lib import SECRET, echo, post, receiver, await_deliveries, sign, webhook
from npm_lib import packages
from skepd_lib import Connection, host

HERE = pathlib.Path(__file__).resolve().parent.parent / "support"
OTHER = base64.b64encode(b"o" * 24).decode()


class Peer:
    """The library of the specification."""

    def __init__(self, home):
        folder = packages("standardwebhooks")
        self.process = home.start("node", HERE / "webhook_peer.mjs", folder,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, **what):
        self.process.stdin.write(json.dumps(what).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def sign(self, ident, when, body, secret=SECRET):
        return self.ask(secret="whsec_" + secret, id=ident, when=when,
                        body=body.decode(), sign=True)["signature"]

    def verify(self, request, secret=SECRET):
        headers, body = request
        return self.ask(secret="whsec_" + secret, body=body.decode(),
                        headers={k.lower(): v for k, v in headers.items()})


def keep_requests(r):
    """Gives the list of what comes: headers and body as they are."""
    kept, take = [], r.take

    def more(h, body):
        kept.append((dict(h.headers), body))
        take(h, body)
    r.take = more
    return kept


def keys(home, *lines):
    """Replaced as a person would: another file, renamed."""
    path = home.path / "credentials" / "channel-web.secret"
    beside = path.with_suffix(".new")
    beside.write_text("".join(line + "\n" for line in lines))
    beside.rename(path)


def hear(home, **config):
    h = host(home)
    echo(h)
    webhook(h, "web", "", agent="echo", **config)
    return h


def body_of(text):
    return json.dumps({"sender": "ann", "text": text}).encode()


def come(home, headers, body, channel="web"):
    """A POST with these headers, a list of pairs; status and answer."""
    c = Connection(home.path / "run" / "skep.sock", 60)
    c.putrequest("POST", "/v1/channels/%s/in" % channel)
    for name, value in headers:
        c.putheader(name, value)
    c.putheader("content-length", str(len(body)))
    c.endheaders(body)
    r = c.getresponse()
    return r.status, json.loads(r.read())


def signed(ident, when, body, *signatures):
    return [("webhook-id", ident), ("webhook-timestamp", str(when)),
            ("webhook-signature", " ".join(signatures))]


def test_the_reference_library_verifies_what_we_send(home):
    peer, r = Peer(home), receiver(home)
    got = keep_requests(r)
    h = host(home)
    webhook(h, "web", r.url)
    post(h, "web", "grüße, 日本 \"'\\ \u2028 end")
    await_deliveries(h, 1, "delivered")
    assert peer.verify(got[0]) == {"good": True}
    headers, body = got[0]
    assert not peer.verify((headers, body + b" "))["good"]
    assert not peer.verify(got[0], OTHER)["good"]
    for name in ("webhook-id", "webhook-timestamp", "webhook-signature"):
        changed = {k: v + "0" if k.lower() == name else v for k, v in headers.items()}
        assert not peer.verify((changed, body))["good"], name
    # two keys at once: a receiver that knows one of them accepts it
    keys(home, "whsec_" + OTHER, "whsec_" + SECRET)
    lib.eventually(lambda: post(h, "web", "x") and await_deliveries(h, 1, "delivered") and
                   peer.verify(got[-1], OTHER)["good"], 30, "the new key")
    assert peer.verify(got[-1], SECRET)["good"]
    h.down()


def test_what_the_reference_library_signs_comes_in(home):
    peer = Peer(home)
    h = hear(home)
    now, body = int(time.time()), body_of("grüße")
    good = peer.sign("m1", now, body)
    assert good == sign(SECRET, "m1", now, body)
    status, first = come(home, signed("m1", now, body, good), body)
    assert status == 200 and first["changed"]
    # the same again within the window: the same answer, no second turn
    status, again = come(home, signed("m1", now, body, good), body)
    assert status == 200 and not again["changed"] and again["id"] == first["id"]
    # signed again, as a sender does when it retries
    later = peer.sign("m1", now + 1, body)
    status, again = come(home, signed("m1", now + 1, body, later), body)
    assert status == 200 and not again["changed"]
    assert come(home, signed("m2", now, body, peer.sign("m2", now, body, OTHER)),
                body)[0] == 401
    await_deliveries(h, 1, "pending")
    assert len(h.call("GET", "/v1/inbound")["items"]) == 1
    h.down()


def test_a_pair_of_keys_needs_no_common_secret(home):
    peer, r = Peer(home), receiver(home)
    got = keep_requests(r)
    pair = peer.ask(pair=True)
    h = hear(home)
    h.call("PUT", "/v1/channels/web", {"config": {"url": r.url}})

    def good():
        post(h, "web", "x")
        await_deliveries(h, 1, "delivered")
        headers, body = got[-1]
        kind, signature = headers["webhook-signature"].split(",", 1)
        text = "%s.%s.%s" % (headers["webhook-id"], headers["webhook-timestamp"],
                             body.decode())
        return kind == "v1a" and peer.ask(pair=True, text=text,
                                          signature=signature)["good"]
    keys(home, pair["secret"])
    lib.eventually(good, 30, "the new key")
    # the other way round only the public half is here, and nothing can be signed
    keys(home, pair["public"])
    now, body = int(time.time()), body_of("hi")
    text = "m.%d.%s" % (now, body.decode())
    signature = "v1a," + peer.ask(pair=True, text=text)["signature"]

    def comes():
        return come(home, signed("m", now, body, signature), body)[0] == 200
    lib.eventually(comes, 30, "the public key")
    assert come(home, signed("n", now, body, signature), body)[0] == 401

    def unsigned():
        ident = post(h, "web", "y", "c%f" % time.time())
        row = lib.eventually(lambda: (d := h.call("GET", "/v1/deliveries/" + ident))
                             ["attempts"] and d["state"] != "sending" and d, 30, "it")
        return "no secret to sign with" in (row["detail"] or "")
    lib.eventually(unsigned, 30, "a reason")
    h.down()


def test_whatever_is_not_as_the_specification_says_is_refused(home):
    h = hear(home)
    now, body = int(time.time()), body_of("hi")
    good = sign(SECRET, "m", now, body)
    right = signed("m", now, body, good)
    raw = good[3:]
    wrong = {
        "nothing": [], "no id": right[1:], "no time": right[::2],
        "no signature": right[:2],
        "id twice": right + right[:1], "time twice": right + right[1:2],
        "signature twice": right + right[2:],
        "no version": signed("m", now, body, raw),
        "unknown version": signed("m", now, body, "v2," + raw),
        "asymmetric": signed("m", now, body, "v1a," + raw),
        "upper case": signed("m", now, body, "V1," + raw),
        "no padding": signed("m", now, body, good.rstrip("=")),
        "cut": signed("m", now, body, good[:20]),
        "empty": signed("m", now, body, "v1,"),
        "other id": signed("n", now, body, good),
        "other time": signed("m", now + 1, body, good),
        "no number": signed("m", "now", body, sign(SECRET, "m", "now", body)),
        "milliseconds": signed("m", now * 1000, body,
                               sign(SECRET, "m", now * 1000, body)),
        "too late": signed("m", now - 400, body, sign(SECRET, "m", now - 400, body)),
        "too early": signed("m", now + 400, body, sign(SECRET, "m", now + 400, body)),
        "long id": signed("m" * 300, now, body, sign(SECRET, "m" * 300, now, body)),
    }
    for what, headers in wrong.items():
        assert come(home, headers, body)[0] == 401, what
    assert come(home, right, body + b" ")[0] == 401, "other body"
    assert h.call("GET", "/v1/inbound")["items"] == []
    # signed, but no message: it is told, and nothing is kept
    for bad in (b"", b"{}", b"[]", b"not JSON", b"\xff"):
        headers = signed("b", now, bad, sign(SECRET, "b", now, bad))
        assert come(home, headers, bad)[0] in (400, 422), bad
    assert h.call("GET", "/v1/inbound")["items"] == []
    # one good signature among others is enough, whatever the others are
    many = signed("m", now, body, "v2,x", "v1,AAAA", "v1a," + raw, "", good, "junk")
    assert come(home, many, body)[0] == 200
    # names of headers have no case; a large body is a body
    large = body_of("x" * 3000000)
    headers = [(k.upper(), v) for k, v in
               signed("l", now, large, sign(SECRET, "l", now, large))]
    assert come(home, headers, large)[0] == 200
    assert len(h.call("GET", "/v1/inbound")["items"]) == 2
    h.down()


def test_the_window_is_the_setting_both_ways(home):
    h = hear(home, tolerance="150s")
    for n, (off, status) in enumerate(((-200, 401), (-100, 200), (0, 200),
                                       (100, 200), (250, 401))):
        body, ident = body_of("m%d" % n), "m%d" % n
        when = int(time.time()) + off
        got = come(home, signed(ident, when, body, sign(SECRET, ident, when, body)),
                   body)
        assert got[0] == status, (off, got)
    h.down()


def test_a_secret_is_changed_while_messages_come(home):
    h = hear(home)
    n = [0]

    def arrives(secret):
        n[0] += 1
        ident, when, body = "r%d" % n[0], int(time.time()), body_of("x")
        return come(home, signed(ident, when, body,
                                 sign(secret, ident, when, body)), body)[0] == 200
    assert arrives(SECRET) and not arrives(OTHER)
    keys(home, "whsec_" + OTHER, "whsec_" + SECRET)
    lib.eventually(lambda: arrives(OTHER), 30, "the new secret")
    assert arrives(SECRET), "the old one is still good"
    # a slip of the pen stops nothing, and is told
    keys(home, "whsec_short")
    lib.eventually(lambda: arrives(OTHER) and "secret" in (h.call(
        "GET", "/v1/channels/web")["last_error"] or ""), 30, "the trouble")
    assert arrives(SECRET)
    keys(home, "whsec_" + OTHER)
    lib.eventually(lambda: not arrives(SECRET), 30, "the end of the old one")
    assert arrives(OTHER) and not h.call("GET", "/v1/channels/web")["last_error"]
    # written in place, at once again, same size: seen all the same
    path = home.path / "credentials" / "channel-web.secret"
    path.write_text("whsec_" + base64.b64encode(b"1" * 24).decode())
    path.write_text("whsec_" + base64.b64encode(b"2" * 24).decode())
    lib.eventually(lambda: arrives(base64.b64encode(b"2" * 24).decode()), 30,
                   "what was written last")
    h.down()


def test_a_channel_without_its_secret_says_what_to_do(home):
    h = host(home)
    h.call("PUT", "/v1/channels/web", {"kind": "webhook", "config": {}})
    output = h.call("GET", "/v1/channels/web")["last_error"]
    assert "channel-web.secret" in output and "skep channel enable web" in output, output
    body = body_of("x")
    assert come(home, signed("a", int(time.time()), body, "v1,AAAA"), body)[0] == 401
    keys_file = home.path / "credentials" / "channel-web.secret"
    keys_file.parent.mkdir(mode=0o700, exist_ok=True)
    keys_file.write_text("whsec_" + SECRET + "\r\n")
    home.skep("channel", "enable", "web")
    assert not h.call("GET", "/v1/channels/web")["last_error"]
    when = int(time.time())
    assert come(home, signed("a", when, body, sign(SECRET, "a", when, body)),
                body)[0] == 200
    h.down()


def test_only_a_friend_learns_that_a_channel_is_closed(home):
    h = hear(home, tolerance=100000)
    h.call("PUT", "/v1/channels/log", {"kind": "file"})
    body, now = body_of("x"), int(time.time())
    right = signed("a", now, body, sign(SECRET, "a", now, body))
    strange = [signed("a", now, body, "v1,AAAA"), signed("a", now - 200, body, "v1,AAAA"),
               signed("a", now - 9999, body, "v1,AAAA"), signed("a", "x", body, "v1,A"),
               right[:2], right[1:], []]

    def seen_by_strangers(name):
        return [come(home, headers, body, name) for headers in strange]
    nobody = seen_by_strangers("nobody")
    assert {status for status, _ in nobody} == {401}
    assert seen_by_strangers("web") == nobody == seen_by_strangers("log")
    h.call("POST", "/v1/channels/web/pause")  # takes in, and holds the answers
    assert come(home, right, body)[0] == 200
    h.call("POST", "/v1/channels/web/disable")
    assert seen_by_strangers("web") == nobody
    status, output = come(home, right, body)
    assert status == 503 and output["retry"] and "later" in output["detail"], output
    late = now - 101
    assert come(home, signed("b", late, body, sign(SECRET, "b", late, body)),
                body)[0] == 401
    assert come(home, right, body, "nobody") == nobody[0]
    c = Connection(home.path / "run" / "skep.sock", 60)
    c.request("POST", "/v1/channels/web/in", body, dict(right))
    assert int(c.getresponse().headers["retry-after"]) > 0
    h.call("POST", "/v1/channels/web/enable")
    assert come(home, right, body)[0] == 200
    (home.path / "credentials" / "channel-web.secret").unlink()
    h.call("POST", "/v1/channels/web/disable")
    assert seen_by_strangers("web") == nobody
    h.down()


def test_the_commands_of_the_document_send_a_message(home):
    for program in ("curl", "openssl"):
        if not shutil.which(program):
            lib.skip(program + " is not installed")
    text = (HERE.parents[2] / "docs" / "CHANNELS.md").read_text()
    [script] = [block for block in re.findall(r"```\n(.*?)```", text, re.S)
                if "openssl dgst" in block]
    h = host(home)
    echo(h)
    home.skep("channel", "add", "site", "webhook", "--set", "agent=echo")
    for n in (1, 2):
        got = json.loads(home.run("sh", "-eu", "-c", script).out)
        assert got["changed"] and got["note"] == "queued", got
        assert len(h.call("GET", "/v1/inbound")["items"]) == n
    h.down()


def test_what_a_channel_sends_another_takes_in(home):
    """Two channels of one home: what goes out of one comes in at the other."""
    r = receiver(home)
    kept = keep_requests(r)
    h = host(home)
    webhook(h, "web", r.url, agent="echo")
    echo(h)
    png = b"\x89PNG\r\n\x1a\n" + b"x" * 50
    h.call("POST", "/v1/deliveries", {
        "channel": "web", "conversation": "ann",
        "body": {"text": "hello", "attachments": [
            {"name": "p.png", "base64": base64.b64encode(png).decode()}]}})
    headers, body = lib.eventually(lambda: kept)[0]
    sent = json.loads(body)
    assert sent["type"] == "message" and sent["data"]["text"] == "hello", sent
    names = ("webhook-id", "webhook-timestamp", "webhook-signature")
    pairs = [(k, v) for k, v in headers.items() if k.lower() in names]
    status, answer = come(home, pairs, body)
    assert status == 200, (status, answer)
    [row] = home.query(home.control, "SELECT sender, external_id, body FROM"
                       " inbound")
    assert row[1] == sent["data"]["id"], row
    got = json.loads(row[2])
    assert got["text"] == "hello" and got["attachments"][0]["name"] == "p.png"
    h.down()
