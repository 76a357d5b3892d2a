"""Channels: what goes out arrives, what comes in becomes a turn, and the rows
say what happened, whatever the other side does."""
import base64
import itertools
import json
import pathlib
import re
import time

import lib
from channel_lib import (SECRET, deliveries, echo, outbox_is_taken, post,
                         receiver, send_inbound, secret, await_deliveries, sign, webhook)
from skepd_lib import Host, QUICK, Refused, host


# -- the way out


def test_a_fresh_home_has_owner_default_agent_and_default_channel(home):
    h = host(home)
    assert home.query(home.control, "SELECT role FROM user") == [("owner",)]
    assert [a["is_default"] for a in h.call("GET", "/v1/agents")["items"]] == [True]
    [c] = h.call("GET", "/v1/channels")["items"]
    assert c["is_default"] and c["kind"] == "pull"
    h.down()


def test_an_outbox_row_is_delivered_once(home):
    r = receiver(home)
    h = host(home)
    webhook(h, "web", r.url)
    h.script("a", {"outbox": {"key": "k", "target": {"channel": "web",
                                                     "conversation": "bob"},
                              "body": {"text": "from a run"}}})
    h.until(h.submit("a"), "succeeded")
    [d] = await_deliveries(h, 1, "delivered")
    assert (d["agent"], d["remote_status"], d["attempts"]) == ("a", 200, 1)
    assert r.ids() == [d["id"]] and not r.bad
    assert r.log[0][2]["conversation"] == "bob"
    outbox_is_taken(h.home, "a")
    h.down()


def test_what_goes_to_a_channel_that_is_not_there_is_a_dead_letter(home):
    r = receiver(home)
    h = host(home)
    h.script("a", {"outbox": {"key": "k", "target": {"channel": "web"},
                              "body": {"text": "hello"}}})
    h.until(h.submit("a"), "succeeded")
    [d] = await_deliveries(h, 1, "dead")
    assert d["detail"] == "there is no channel web"
    webhook(h, "web", r.url)
    h.call("POST", "/v1/deliveries/%s/retry" % d["id"])
    await_deliveries(h, 1, "delivered")
    assert r.ids() == [d["id"]]
    h.down()


def test_temporary_errors_are_tried_again_with_the_same_key(home):
    r = receiver(home, lambda path, n: 503 if n < 3 else 200)
    h = host(home)
    webhook(h, "web", r.url)
    ident = post(h, "web", "hello")
    [d] = await_deliveries(h, 1, "delivered")
    assert d["attempts"] == 3 and r.ids() == [ident] * 3
    tries = h.call("GET", "/v1/deliveries/%s/attempts" % ident)["items"]
    assert [(t["n"], t["remote_status"], t["outcome"]) for t in tries] == [
        (1, 503, "pending"), (2, 503, "pending")]
    h.down()


def test_permanent_errors_end_at_once_and_attempts_are_bounded(home):
    r = receiver(home, lambda path, n: 422 if path == "/no" else 500)
    h = host(home)
    webhook(h, "no", r.url + "/no")
    webhook(h, "never", r.url + "/never", attempts=3)
    post(h, "no", "x")
    post(h, "never", "y")
    rows = {d["channel"]: d for d in await_deliveries(h, 2, "dead")}
    assert rows["no"]["attempts"] == 1 and rows["no"]["remote_status"] == 422
    assert "receiver says no" in rows["no"]["detail"]
    assert rows["never"]["attempts"] == 3
    # an operator may try again
    r.plan = lambda path, n: 200
    h.call("POST", "/v1/deliveries/%s/retry" % rows["no"]["id"])
    [d] = await_deliveries(h, 1, "delivered")
    assert d["id"] == rows["no"]["id"]
    h.call("POST", "/v1/deliveries/%s/discard" % rows["never"]["id"])
    made = h.call("POST", "/v1/deliveries/%s/resend" % d["id"])["id"]
    assert made != d["id"]
    await_deliveries(h, 2, "delivered")
    try:
        h.call("POST", "/v1/deliveries/%s/discard" % made)
        raise AssertionError("what was delivered cannot be discarded")
    except Refused as e:
        assert e.status == 409
    h.down()


def test_retry_after_holds_the_whole_channel(home):
    came = []

    def plan(path, n):
        came.append(time.monotonic())
        return (429, {"Retry-After": "1"}) if n == 1 else 200
    r = receiver(home, plan)
    h = host(home)
    webhook(h, "web", r.url, inflight=1)
    post(h, "web", "a", "one")
    post(h, "web", "b", "two")
    await_deliveries(h, 2, "delivered")
    assert len(r.ids()) == 3
    # not only the one that was refused waits: the other conversation too
    assert came[1] - came[0] >= 0.95, came
    h.down()


def test_a_receiver_that_stalls_closes_or_is_late_gets_the_same_key(home):
    plans = {"/stall": "stall", "/close": "close", "/late": "late"}
    r = receiver(home, lambda path, n: plans[path] if n == 1 else 200)
    h = host(home)
    for path in plans:
        webhook(h, path[1:], r.url + path,
                timeout=5000 if path == "/late" else 400)
        post(h, path[1:], path)
    rows = {d["channel"]: d for d in await_deliveries(h, 3, "delivered")}
    assert rows["late"]["attempts"] == 1 and len(r.ids("/late")) == 1
    for name in ("stall", "close"):
        tries = h.call("GET", "/v1/deliveries/%s/attempts"
                       % rows[name]["id"])["items"]
        assert [t["outcome"] for t in tries] == ["unknown"], tries
        assert r.ids("/" + name) == [rows[name]["id"]] * 2
    h.down()


def test_a_channel_that_is_not_idempotent_shows_what_nobody_knows(home):
    r = receiver(home, lambda path, n: "close" if n == 1 else 200)
    h = host(home)
    webhook(h, "web", r.url, idempotent="no")
    ident = post(h, "web", "once only")
    post(h, "web", "next")
    [d] = await_deliveries(h, 1, "unknown")
    assert d["id"] == ident
    await_deliveries(h, 1, "delivered")  # it blocks no other message
    assert r.ids().count(ident) == 1
    h.kill()
    h.start()
    [d] = await_deliveries(h, 1, "unknown")
    h.call("POST", "/v1/deliveries/%s/retry" % ident)
    await_deliveries(h, 2, "delivered")
    h.down()


def test_conversations_go_out_in_order_and_side_by_side(home):
    r = receiver(home, lambda path, n: 503 if n in (1, 4, 9) else 200)
    h = host(home)
    webhook(h, "web", r.url)
    for i in range(12):
        for c in "abc":
            post(h, "web", "%s%d" % (c, i), c)
    await_deliveries(h, 36, "delivered")
    for c in "abc":
        # one that fails is tried again before the next one goes
        got = [t for t, _ in itertools.groupby(t for t in r.texts() if t[0] == c)]
        assert got == ["%s%d" % (c, i) for i in range(12)], got
    h.down()


def test_a_dead_receiver_delays_no_other_channel(home):
    r = receiver(home, lambda path, n: "stall" if path == "/dead" else 200)
    h = host(home)
    webhook(h, "dead", r.url + "/dead", timeout=600000)
    webhook(h, "nowhere", "http://127.0.0.1:9/")
    webhook(h, "live", r.url + "/live")
    for i in range(100):
        post(h, "dead", "x", "c%d" % i)
        post(h, "nowhere", "x", "c%d" % i)
    for i in range(20):
        post(h, "live", "x", "c%d" % i)
    await_deliveries(h, 20, "delivered", channel="live")
    h.down()


def test_pause_age_and_rate(home):
    r = receiver(home)
    h = host(home)
    webhook(h, "web", r.url, rate=4)
    webhook(h, "old", r.url + "/old", age=100)
    h.call("POST", "/v1/channels/web/pause")
    h.call("POST", "/v1/channels/old/pause")
    for i in range(8):
        post(h, "web", "w%d" % i, "c%d" % i)
    post(h, "old", "too late")
    time.sleep(0.3)
    assert r.ids() == []
    began = time.monotonic()
    h.call("POST", "/v1/channels/web/resume")
    h.call("POST", "/v1/channels/old/resume")
    await_deliveries(h, 8, "delivered")
    assert time.monotonic() - began >= 0.7  # four at once, then four a second
    [d] = await_deliveries(h, 1, "dead")
    assert d["detail"] == "too old" and r.ids("/old") == []
    h.down()


def test_a_file_has_each_message_once_and_is_rotated(home):
    h = host(home)
    path = home.dir / "out.txt"
    h.call("PUT", "/v1/channels/f", {"kind": "file", "config": {
        "path": str(path), "rotate": 2048, "keep": 50}})
    for i in range(40):
        post(h, "f", "m%d" % i, "c%d" % (i % 4))
    await_deliveries(h, 40, "delivered")
    lines = [json.loads(line) for p in home.dir.glob("out.txt*")
             for line in p.read_text().splitlines()]
    assert sorted(m["text"] for m in lines) == sorted("m%d" % i for i in range(40))
    assert len(list(home.dir.glob("out.txt*"))) > 2
    h.down()


# -- the way in


def test_a_message_becomes_a_turn_and_the_reply_goes_back(home):
    r = receiver(home)
    h = host(home)
    echo(h)
    webhook(h, "web", r.url, agent="echo")
    got = send_inbound(h, "web", "hello", "m1")
    assert got["changed"] and got["note"] == "queued"
    assert not send_inbound(h, "web", "hello", "m1")["changed"]  # a replay adds no turn
    [d] = await_deliveries(h, 1, "delivered")
    assert (d["body"]["text"], d["reply_to"]) == ("hello", "m1")
    assert r.log[0][2]["conversation"] == "ann"
    row = h.call("GET", "/v1/inbound/" + got["id"])
    h.until(row["run"], "succeeded")
    assert len(h.call("GET", "/v1/runs?agent=echo")["items"]) == 1
    # the session's last route takes what has no target
    h.script("echo", {"outbox": {"key": "later", "target": {},
                                 "body": {"text": "by the way"}}})
    h.until(h.submit("echo", session=d["session"]), "succeeded")
    await_deliveries(h, 2, "delivered")
    assert r.log[1][2]["conversation"] == "ann"
    h.down()


def test_messages_queue_behind_a_busy_session(home):
    r = receiver(home)
    h = host(home)
    # a message that overtakes would be first: the earlier one, the slower it is
    h.agent("slow", "exec", {"stdin": "text", "shell":
            "read x; case $x in m0) sleep 1;; m1) sleep 0.5;; esac; echo $x"})
    webhook(h, "web", r.url, agent="slow")
    for i in range(5):
        send_inbound(h, "web", "m%d" % i, "id%d" % i)
    runs = h.call("GET", "/v1/runs?agent=slow")["items"]
    assert sum(x["state"] == "queued" for x in runs) >= 3, runs
    await_deliveries(h, 5, "delivered")
    assert r.texts() == ["m%d" % i for i in range(5)]
    assert len(h.call("GET", "/v1/sessions/slow")["items"]) == 1
    h.down()


def test_bindings_decide_and_groups_may_have_threads(home):
    r = receiver(home)
    h = host(home)
    for name in ("one", "two"):
        h.agent(name, "exec", {"shell": "echo I am %s" % name, "stdin": "none"})
    webhook(h, "web", r.url, agent="one")
    h.call("PUT", "/v1/channels/web/bindings",
           {"kind": "group", "agent": "two", "session_per": "sender"})
    send_inbound(h, "web", "x", "1")
    for who in ("ann", "bob"):
        send_inbound(h, "web", "x", "g" + who, sender=who, conversation="room",
            kind="group")
    await_deliveries(h, 3, "delivered")
    rows = h.call("GET", "/v1/conversations")["items"]
    assert [c["last_message_at"] for c in rows] == sorted(
        (c["last_message_at"] for c in rows), reverse=True)
    assert {(c["peer"], c["thread"], c["agent"]) for c in rows} == {
        ("ann", "", "one"), ("room", "ann", "two"), ("room", "bob", "two")}
    assert sorted(r.texts()) == ["I am one", "I am two", "I am two"]
    h.down()


def test_what_nobody_can_answer_is_dead_with_its_reason(home):
    r = receiver(home)
    h = host(home)
    webhook(h, "web", r.url, agent="nobody")
    got = send_inbound(h, "web", "hello", "m1")
    row = h.call("GET", "/v1/inbound/" + got["id"])
    assert (row["state"], row["reason"]) == ("dead", "notfound")
    assert "nobody" in row["detail"]
    assert not send_inbound(h, "web", "hello", "m1")["changed"]
    echo(h, "nobody")
    assert h.call("POST", "/v1/inbound/%s/retry" % got["id"])["changed"]
    await_deliveries(h, 1, "delivered")
    h.down()


def test_a_signed_post_comes_in_and_a_wrong_one_does_not(home):
    secret(home, "web")
    h = host(home)
    echo(h)
    h.call("PUT", "/v1/channels/web", {"kind": "webhook",
                                       "config": {"agent": "echo"}})

    def send(ident="w1", when=None, key=SECRET, body=None, sig=None):
        body = body or json.dumps({"sender": "ann", "text": "hi"}).encode()
        when = str(int(time.time()) if when is None else when)
        from skepd_lib import Connection
        c = Connection(home.path / "run" / "skep.sock", 10)
        c.request("POST", "/v1/channels/web/in", body, {
            "webhook-id": ident, "webhook-timestamp": when,
            "webhook-signature": sig or sign(key, ident, when, body)})
        r = c.getresponse()
        return r.status, json.loads(r.read())

    status, got = send()
    assert status == 200 and got["changed"], got
    status, again = send()
    assert status == 200 and not again["changed"] and again["id"] == got["id"]
    now = int(time.time())
    for wrong in (dict(key="QUFB" * 8), dict(when=now - 3600),
                  dict(when=now + 3600), dict(sig="v1,AAAA"),
                  dict(when="yesterday")):
        assert send("w2", **wrong)[0] == 401, wrong
    assert send("w3", body=b"[1]")[0] == 422
    assert send("w4", body=b'{"sender":"a\\u0000b","text":"x"}')[0] == 422
    assert len(h.call("GET", "/v1/inbound")["items"]) == 1
    h.down()


def test_attachments_travel_both_ways(home):
    r = receiver(home)
    h = host(home)
    h.agent("look", "exec", {"stdin": "text", "shell":
            r"""sed -n 's/.*: \(.*\)\]$/\1/p' | xargs cat"""})
    webhook(h, "web", r.url, agent="look", media_max=1000)
    send_inbound(h, "web", "see this", "m1", attachments=[
        {"name": "a.txt", "type": "text/plain", "base64": "aW4gYSBmaWxl"}])
    await_deliveries(h, 1, "delivered")
    assert r.texts() == ["in a file"]
    [(sha, size)] = home.query(home.control, "SELECT sha256, size FROM media")
    assert size == 9
    h.call("POST", "/v1/deliveries", {
        "channel": "web", "conversation": "ann", "body": {
            "text": "back", "attachments": [{"name": "b", "base64": "aW4gYSBmaWxl"}]}})
    await_deliveries(h, 2, "delivered")
    [a] = r.log[1][2]["attachments"]
    assert (a["sha256"], a["base64"]) == (sha, "aW4gYSBmaWxl")
    try:
        send_inbound(h, "web", "x", "m2", attachments=[{"name": "c", "base64": "QUFB" * 400}])
        raise AssertionError("too large")
    except Refused as e:
        assert e.status == 413
    h.down()


# -- other kinds, and what people see


def test_what_was_not_shown_is_shown_the_next_time(home):
    h = host(home)
    echo(h)
    h.call("PUT", "/v1/channels/local", {"config": {"timeout": 300}})
    send_inbound(h, "local", "one", conversation="c", agent="echo", session="s")

    def next_one(**query):
        return h.call("GET", "/v1/channels/local/next?conversation=c&" +
                      "&".join("%s=%s" % q for q in query.items()))
    first = next_one(wait=10000)
    again = next_one(wait=10000)  # it was never acknowledged
    assert first["id"] == again["id"] and first["text"] == "one"
    next_one(wait=0, ack=again["id"])
    await_deliveries(h, 1, "delivered")
    assert next_one(wait=100) is None
    h.down()


def test_the_live_stream_tells_of_channels_deliveries_and_messages(home):
    r = receiver(home, lambda path, n: 503 if n == 1 else 200)
    h = host(home)
    echo(h)
    webhook(h, "web", r.url, agent="echo")
    send_inbound(h, "web", "hello", "m1")
    await_deliveries(h, 1, "delivered")
    events = h.call("GET", "/v1/events?limit=1000")["items"]
    states = [e["body"]["state"] for e in events
              if e["kind"] in ("delivery", "deliveries")]
    assert states == ["pending", "sending", "pending", "sending",
                      "delivered"], states
    assert [e["body"]["state"] for e in events
            if e["kind"] == "inbound"] == ["queued"]
    assert any(e["kind"] == "channel" and e["subject"] == "web" for e in events)
    h.down()


def test_files_of_attachments_are_collected(home):
    h = Host(home, dict(QUICK, channel={"media_age": "1s"})).start()
    echo(h)
    h.call("PUT", "/v1/channels/f", {"kind": "file", "config": {"agent": "echo"}})
    send_inbound(h, "f", "x", "m1", attachments=[{"name": "a", "base64": "QUFB"}])
    folder = home.path / "run" / "media"
    assert [p.read_bytes() for p in folder.rglob("a")] == [b"AAA"]
    lib.eventually(lambda: not list(folder.rglob("*")), 20, "the gc")
    assert home.query(home.control, "SELECT size FROM media") == [(3,)]
    h.down()


def test_an_attachment_goes_with_the_last_message_that_has_it(home):
    h = host(home)
    echo(h)
    for name in ("x", "y"):
        h.call("PUT", "/v1/channels/" + name, {"kind": "pull", "config": {
            "agent": "echo"}})
        for text in (b"shared", name.encode()):
            send_inbound(h, name, "look", "%s%s" % (name, text), attachments=[{
                "name": "a", "type": "text/plain",
                "base64": base64.b64encode(text).decode()}])

    def sizes():
        return sorted(n for n, in home.query(home.control, "SELECT size FROM media"))
    assert sizes() == [1, 1, 6]
    h.call("DELETE", "/v1/channels/x")
    lib.eventually(lambda: sizes() == [1, 6], 30, "the end of one")
    h.call("DELETE", "/v1/channels/y")
    lib.eventually(lambda: sizes() == [], 30, "the end of all")
    assert home.query(home.control, "SELECT count(*) FROM media_use") == [(0,)]
    h.down()


def test_no_secret_is_in_any_database(home):
    r = receiver(home)
    h = host(home)
    webhook(h, "web", r.url)
    post(h, "web", "x")
    await_deliveries(h, 1, "delivered")
    for bad in ({"secret": "whsec_x"}, {"password": "x"}, {"own": {"token": "x"}}):
        try:
            h.call("PUT", "/v1/channels/p", {"kind": "plugin", "command": ["x"],
                                             "config": bad})
            raise AssertionError("taken: %s" % bad)
        except Refused as e:
            assert "looks like a secret" in str(e.body)
    h.down()
    for path in home.path.rglob("*"):
        if path.is_file() and "credentials" not in path.parts:
            assert SECRET.encode() not in path.read_bytes(), path


def test_the_document_names_every_setting(home):
    root = pathlib.Path(__file__).resolve().parents[3]
    table = (root / "docs" / "CHANNELS.md").read_text()
    names = re.findall(r"^SETTING\((\w+),",
                       (root / "schema/control/channel/channel_setting.def").read_text(), re.M)
    assert len(names) > 20
    for name in names:
        assert "| `%s` |" % name in table, name
    schema = json.loads((root / "docs" / "channel-plugin.schema.json").read_text())
    for method in re.findall(r'"(channel\.\w+)"',
                             (root / "supervisor/channel/plugin/rpc.c").read_text()):
        assert any(d.get("properties", {}).get("method") == {"const": method}
                   for d in schema["$defs"].values()), method
    for path in (root / "docs/examples").glob("*.*"):
        if path.suffix != ".md":
            assert len(path.read_text().splitlines()) < 60, path
