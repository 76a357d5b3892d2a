"""The way in, step by step: who answers, what comes twice, what is refused, and
what a user can do about a message without an agent."""
import concurrent.futures
import json
import time

import lib
from channel_lib import (SECRET, deliveries, echo, receiver, send_inbound, secret,
                         await_deliveries, sign, webhook)
from skepd_lib import Connection, Refused, host


def refused(status, call, *args, **more):
    try:
        call(*args, **more)
    except Refused as e:
        assert e.status in (status, 400), e
        return e.body["detail"]
    raise AssertionError("taken: %s %s" % (args, more))


def inbound(h, **filters):
    query = "&".join("%s=%s" % f for f in filters.items())
    return h.call("GET", "/v1/inbound?limit=1000&" + query)["items"]


def run_of(h, got):
    return h.call("GET", "/v1/inbound/" + got["id"])["run"]


def talks(h):
    return h.call("GET", "/v1/conversations?limit=1000")["items"]


def pages(home, *command):
    """All rows of a list, two at a time."""
    rows, more = [], home.skep(*command, "--json", "--limit", "2").lines
    while more:
        rows += more
        more = home.skep(*command, "--json", "--limit", "2", "--before",
                         rows[-1]["id"]).lines
    return rows


def whoami(h, *names):
    for name in names:
        h.agent(name, "exec", {"shell": "echo I am %s" % name, "stdin": "none"})


# -- the same again


def test_a_message_that_comes_many_times_at_once_is_one_turn(home):
    r = receiver(home)
    h = host(home)
    echo(h)
    webhook(h, "web", r.url, agent="echo")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda i: send_inbound(h, "web", "hello", "m%d" % (i % 4)),
                            range(32)))
    assert sum(g["changed"] for g in got) == 4
    assert len({g["id"] for g in got}) == 4
    await_deliveries(h, 4, "delivered")
    h.kill()
    h.start()
    for i in range(4):
        again = send_inbound(h, "web", "hello", "m%d" % i)
        assert not again["changed"] and again["id"] in {g["id"] for g in got}
    assert len(inbound(h)) == len(deliveries(h)) == 4
    assert len(h.call("GET", "/v1/runs?agent=echo")["items"]) == 4
    # another channel's ids are its own
    h.call("PUT", "/v1/channels/f", {"kind": "file", "config": {"agent": "echo"}})
    assert send_inbound(h, "f", "hello", "m0")["changed"]
    h.down()


def test_what_was_acknowledged_survives_a_kill_at_once(home):
    r = receiver(home)
    h = host(home)
    echo(h)
    webhook(h, "web", r.url, agent="echo")
    for i in range(6):
        send_inbound(h, "web", "t%d" % i, "m%d" % i)
        h.kill()
        h.start()
    await_deliveries(h, 6, "delivered")
    assert sorted(set(r.texts())) == ["t%d" % i for i in range(6)]
    assert len(inbound(h, state="done")) == 6
    assert len(h.call("GET", "/v1/runs?agent=echo")["items"]) == 6
    h.down()


# -- who answers


def test_threads_of_senders_are_sessions_of_their_own(home):
    h = host(home)
    echo(h)
    h.call("PUT", "/v1/channels/t", {"kind": "pull", "config": {"agent": "echo"}})
    h.call("PUT", "/v1/channels/t/bindings",
           {"kind": "group", "agent": "echo", "session_per": "sender"})
    for i, (who, kind, where) in enumerate([
            ("ann", "group", "room"), ("bob", "group", "room"),
            ("ann", "group", "room"), ("ann", "direct", "ann")]):
        send_inbound(h, "t", "x", "m%d" % i, sender=who, kind=kind, conversation=where)
    await_deliveries(h, 4, "pending")
    assert {(c["thread"], c["session"], c["messages"]) for c in talks(h)} == {
        ("ann", "t/room/ann", 4), ("bob", "t/room/bob", 2), ("", "t/ann", 2)}
    # a group's prompts say who speaks
    assert sorted(d["body"]["text"] for d in deliveries(h)) == [
        "ann: x", "ann: x", "bob: x", "x"]
    h.down()


def test_nobody_answers_until_somebody_is_bound(home):
    h = host(home)
    whoami(h, "one", "two")
    h.call("PUT", "/v1/channels/t", {"kind": "pull"})
    h.call("DELETE", "/v1/agents/main")
    for name in h.call("GET", "/v1/agents")["items"]:
        assert not name["is_default"], name
    first = send_inbound(h, "t", "hello", "m1")
    assert first["note"] == "dead"
    [row] = inbound(h, state="dead")
    assert row["reason"] == "notfound" and "no default agent" in row["detail"]
    h.call("PUT", "/v1/channels/t/bindings", {"agent": "two"})
    # both the old message and the next one find the current binding
    assert send_inbound(h, "t", "again", "m2")["note"] == "queued"
    assert h.call("POST", "/v1/inbound/%s/retry" % first["id"])["changed"]
    await_deliveries(h, 2, "pending")
    assert {(c["agent"], c["session"]) for c in talks(h)} == {("two", "t/ann")}
    h.down()


def test_an_agent_that_was_removed_is_followed_by_who_is_bound(home):
    h = host(home)
    whoami(h, "one", "two")
    h.call("PUT", "/v1/channels/t", {"kind": "pull", "config": {"agent": "one"}})
    h.until(run_of(h, send_inbound(h, "t", "x", "m1")), "succeeded")
    await_deliveries(h, 1, "pending")
    h.call("DELETE", "/v1/agents/one")
    dead = send_inbound(h, "t", "x", "m2")
    assert dead["note"] == "dead" and "no agent 'one'" in inbound(h)[0]["detail"]
    # the default agent does not inherit what was another's
    h.call("PUT", "/v1/channels/t", {"config": {}})
    assert not h.call("POST", "/v1/inbound/%s/retry" % dead["id"])["changed"]
    h.call("PUT", "/v1/channels/t/bindings", {"agent": "two"})
    assert h.call("POST", "/v1/inbound/%s/retry" % dead["id"])["changed"]
    await_deliveries(h, 2, "pending")
    assert [(c["agent"], c["session"]) for c in talks(h)] == [("two", "t/ann")]
    h.down()


def test_nobody_is_bound_to_an_agent_that_is_not_there(home):
    h = host(home)
    h.call("PUT", "/v1/channels/t", {"kind": "pull", "config": {}})
    home.refused(66, "channel", "bind", "t", "nobody", "--peer", "ann")
    assert h.call("GET", "/v1/channels/t/bindings")["items"] == []
    h.down()


def test_binding_a_peer_binds_its_threads_too(home):
    h = host(home)
    whoami(h, "one", "two")
    h.call("PUT", "/v1/channels/t", {"kind": "pull", "config": {"agent": "one"}})
    bind = {"peer": "room", "agent": "one", "session_per": "sender"}
    h.call("PUT", "/v1/channels/t/bindings", bind)
    for who in ("ann", "bob"):
        send_inbound(h, "t", "x", who, sender=who, kind="group", conversation="room")
    send_inbound(h, "t", "x", "direct", sender="room")
    h.call("PUT", "/v1/channels/t/bindings", dict(bind, agent="two"))
    assert {c["thread"]: c["agent"] for c in talks(h)} == {
        "ann": "two", "bob": "two", "room": "two"}
    h.down()


def test_whoever_may_start_runs_says_who_answers_and_nobody_else(home):
    secret(home, "web")
    h = host(home)
    whoami(h, "one", "two")
    h.call("PUT", "/v1/channels/web", {"kind": "webhook",
                                       "config": {"agent": "one"}})
    send_inbound(h, "web", "x", "m1")
    send_inbound(h, "web", "x", "m2", agent="two")
    send_inbound(h, "web", "x", "m3", session="mine")
    assert [(c["agent"], c["session"]) for c in talks(h)] == [("two", "mine")]
    body = json.dumps({"sender": "ann", "text": "x", "agent": "one"}).encode()
    when = str(int(time.time()))
    c = Connection(home.path / "run" / "skep.sock", 30)
    c.request("POST", "/v1/channels/web/in", body, {
        "webhook-id": "w", "webhook-timestamp": when,
        "webhook-signature": sign(SECRET, "w", when, body)})
    answer = c.getresponse()
    assert answer.status == 422 and b"skep channel bind" in answer.read()
    h.down()


# -- lists, routes


def test_conversations_are_listed_by_activity_page_by_page(home):
    h = host(home)
    echo(h)
    h.call("PUT", "/v1/channels/t", {"kind": "pull", "config": {"agent": "echo"}})
    for i in range(7):
        send_inbound(h, "t", "x", "m%d" % i, sender="p%d" % i)
    await_deliveries(h, 7, "pending")
    send_inbound(h, "t", "again", "last", sender="p3")
    await_deliveries(h, 8, "pending")
    assert talks(h)[0]["peer"] == "p3"
    h.down()
    # as lively as the next one: no page may lose any of them
    home.execute(home.control, "UPDATE conversation SET last_message_at = 5"
                 " WHERE peer <> 'p3'")
    h.start()
    seen, cursor = [], ""
    while cursor is not None:
        page = h.call("GET", "/v1/conversations?limit=2" +
                      (cursor and "&before=" + cursor))
        seen += [c["peer"] for c in page["items"]]
        cursor = page["next"]
    assert seen == ["p3", "p6", "p5", "p4", "p2", "p1", "p0"], seen
    assert seen == [c["peer"] for c in home.skep("conversation", "ls", "--json").lines]
    refused(422, h.call, "GET", "/v1/conversations?before=x.y")
    paged = pages(home, "conversation", "ls")
    assert [c["peer"] for c in paged] == seen
    home.refused(66, "conversation", "ls", "--before", "cnv_" + "0" * 26)
    home.refused(66, "conversation", "ls", "--channel", "nope")
    assert pages(home, "inbound", "ls") == home.skep(
        "inbound", "ls", "--json").lines
    h.down()


def test_events_and_requests_are_nothing_that_was_said(home):
    h = host(home)
    echo(h)
    h.call("PUT", "/v1/channels/t", {"kind": "pull", "config": {"agent": "echo"}})
    send_inbound(h, "t", "x", "m1", sender="ann")
    send_inbound(h, "t", "x", "m2", sender="bob")
    await_deliveries(h, 2, "pending")
    before = talks(h)
    for kind, more in (
            ("event", {"content": [], "event": {"type": "message.transcribed",
                                                "ref_id": "m1", "data": {}}}),
            ("request", {"request_id": "r1", "content": [
                {"content_type": "json",
                 "body": json.dumps({"method": "channels.list"})}]})):
        got = h.call("POST", "/v1/channels/t/messages", dict({
            "version": "0.1", "message_type": kind, "routing": {
                "id": kind, "channel": "t", "direction": "inbound",
                "sender_id": "ann"}}, **more))
        assert got["note"] == "recorded", got
    assert talks(h) == before
    assert len(h.call("GET", "/v1/runs")["items"]) == 2
    h.down()


def test_the_last_route_is_used_when_a_session_moved(home):
    h = host(home)
    echo(h)
    for name in ("one", "two"):
        h.call("PUT", "/v1/channels/" + name, {"kind": "file", "config": {
            "path": str(home.dir / name)}})
    for i, name in enumerate(("one", "two", "one")):
        send_inbound(h, name, "t%d" % i, "m%d" % i, agent="echo", session="s")
        await_deliveries(h, i + 1, "delivered")
    h.kill()
    h.start()
    send_inbound(h, "two", "moved", "m9", agent="echo", session="s")
    await_deliveries(h, 4, "delivered")
    h.script("echo", {"outbox": {"key": "k", "target": {},
                                 "body": {"text": "by the way"}}})
    h.until(h.submit("echo", session="s"), "succeeded")
    await_deliveries(h, 5, "delivered")

    def texts(name):
        return [json.loads(line)["text"]
                for line in (home.dir / name).read_text().splitlines()]
    assert texts("one") == ["t0", "t2"]  # each reply on its own route
    assert texts("two") == ["t1", "moved", "by the way"]
    h.down()


# -- what is refused, and dead letters


def test_members_of_the_wrong_kind_are_refused_by_name(home):
    h = host(home)
    echo(h)
    h.call("PUT", "/v1/channels/t", {"kind": "pull", "config": {"agent": "echo"}})
    good = {"sender": "ann", "text": "x", "id": "m"}
    for name in ("id", "sender", "conversation", "kind", "title", "text",
                 "agent", "session"):
        for bad in (5, ["x"], {"a": 1}, True):
            error = refused(422, h.call, "POST", "/v1/channels/t/messages",
                           dict(good, **{name: bad}))
            assert name in error, error
    for bad in ({"text": ""}, {"text": None}, {"text": "", "attachments": []},
                {"sender": ""}, {"sender": "a\nb"}, {"id": ""},
                {"id": "x" * 600}, {"kind": "crowd"}, {"conversation": ""},
                {"attachments": "x"}, {"attachments": [{}]},
                {"attachments": [{"base64": "!"}]}):
        refused(422, h.call, "POST", "/v1/channels/t/messages",
                dict(good, **bad))
    assert inbound(h) == [] and talks(h) == []
    h.down()


def test_dead_letters_are_listed_retried_and_discarded(home):
    h = host(home)
    echo(h)
    h.call("PUT", "/v1/channels/t", {"kind": "pull", "config": {"agent": "echo"}})
    big = send_inbound(h, "t", "x" * (1 << 20) + "x", "big")["id"]
    h.call("PUT", "/v1/agents/echo", {"driver": "exec", "enabled": False,
                                      "config": {"shell": "cat", "stdin": "text"}})
    off = send_inbound(h, "t", "hello", "off")["id"]
    rows = {m["id"]: m for m in home.skep("inbound", "ls", "--state", "dead",
                                          "--json").lines}
    assert rows[big]["reason"] == "toobig" and rows[off]["reason"] == "conflict"
    assert "disabled" in rows[off]["detail"]
    # a retry that does not help says so, and fails
    assert "disabled" in home.refused(1, "inbound", "retry", off)
    h.call("POST", "/v1/channels/t/disable")
    assert "skep channel enable t" in home.refused(65, "inbound", "retry", off)
    h.call("POST", "/v1/channels/t/enable")
    echo(h)
    assert home.skep("inbound", "retry", off, "--json").json["changed"]
    await_deliveries(h, 1, "pending")
    # how it goes with it is one look away
    assert "reply: pending" in home.skep("inbound", "show", off).out
    lib.eventually(lambda: "run: succeeded" in home.skep(
        "inbound", "show", off).out, 30, "the run's end")
    home.skep("inbound", "discard", big)
    home.refused(65, "inbound", "discard", big)
    assert inbound(h, state="dead") == []
    seen = [(e["subject"], e["body"]["state"]) for e in
            h.call("GET", "/v1/events?limit=1000")["items"]
            if e["kind"] == "inbound"]
    assert seen == [(big, "dead"), (off, "dead"), (off, "dead"),
                    (off, "queued"), (big, "discarded")], seen
    h.down()
