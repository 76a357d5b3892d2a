"""A channel is switched, changed and removed while messages come and go:
nothing is lost, nothing stops, and nothing goes to another receiver."""
import json
import sys
import time

import lib
from channel_lib import post, receiver, send_inbound, await_deliveries, webhook
from plugin_lib import plugin, show, until
from skepd_lib import Host, Refused, host, in_one_turn


def test_what_was_claimed_as_its_channel_was_disabled_holds_nobody_up(home):
    r = receiver(home)
    h = host(home)
    webhook(h, "web", r.url, inflight=1)
    for i in range(5):
        output = in_one_turn(h, ("/v1/deliveries", {"channel": "web",
                                              "body": {"text": "m%d" % i}}),
                       ("/v1/channels/web/disable", {}))
        h.call("POST", "/v1/channels/web/enable", {})
        if output[0] >= 300:  # the switch was read first, and in a turn before
            post(h, "web", "m%d" % i)
    await_deliveries(h, 5, "delivered")
    assert sorted(r.texts()) == ["m%d" % i for i in range(5)]
    h.down()


BRINGS = r'''
import json, os, sys, time
place = sys.argv[1]
def put(**m): print(json.dumps(dict(m, jsonrpc="2.0")), flush=True)
put(method="channel.register", params={"name": "brings", "idempotent": True})
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "channel.send" and not os.path.exists(place + "/held"):
        open(place + "/held", "w").close()
        while not os.path.exists(place + "/go"):
            time.sleep(0.01)
        put(id="a", method="channel.receive",
            params={"id": "m1", "sender": "ann", "text": "hello"})
        held = m["id"]
    elif m.get("id") == "a":
        with open(place + "/answer.new", "w") as f:
            json.dump(m, f)
        os.rename(place + "/answer.new", place + "/answer")
        put(id=held, result={})
    elif "id" in m:
        put(id=m["id"], result={})
'''


def brought(home, h, name, verb, body):
    """What a plugin hears of a message that it brings as its channel goes."""
    place = home.dir / name
    place.mkdir()
    script = place / "brings.py"
    script.write_text(BRINGS)
    plugin(h, name, sys.executable, script, place)
    until(h, name, "ready")
    post(h, name, "x")
    lib.eventually((place / "held").exists, 30, "a message")
    h.call("PUT" if verb == "" else "POST", "/v1/channels/%s%s" % (name, verb),
           body)
    (place / "go").touch()
    lib.eventually((place / "answer").exists, 30, "an answer")
    return json.loads((place / "answer").read_text())


def test_what_a_plugin_brings_as_its_channel_goes_is_never_wrong(home):
    h = host(home)
    output = brought(home, h, "changed", "", {"config": {"colour": "red"}})
    assert output["result"]["ok"], output
    output = brought(home, h, "off", "/disable", {})
    assert output["error"]["code"] == -32603, output
    assert "disabled" in output["error"]["message"], output
    assert [m["channel"] for m in h.call("GET", "/v1/inbound")["items"]] == \
        ["changed"]
    await_deliveries(h, 2, "delivered")
    h.down()


def status(h, path, body):
    try:
        h.call("POST", path, body)
        return 200
    except Refused as e:
        return e.status


def test_a_channel_that_is_changed_takes_messages_meanwhile(home):
    r = receiver(home, lambda path, n: "late" if n == 1 else 200)
    h = host(home)
    webhook(h, "web", r.url, timeout=5000)
    post(h, "web", "first")
    lib.eventually(r.ids, 30, "the first")
    webhook(h, "web", r.url, timeout=6000)  # the first has no answer yet
    message = "/v1/channels/web/messages", {"sender": "ann", "text": "hi"}
    letter = "/v1/deliveries", {"channel": "web", "body": {"text": "second"}}
    assert (status(h, *message), status(h, *letter)) == (200, 200)
    lib.eventually(lambda: "second" in r.texts(), 30, "the second")
    h.call("POST", "/v1/channels/web/disable", {})
    assert status(h, *message) == 503, "to be brought again"
    assert status(h, *letter) == 409, "it must be enabled first"
    assert status(h, "/v1/channels/nope/messages", message[1]) == 404
    assert len(h.call("GET", "/v1/inbound")["items"]) == 1
    h.down()


def waiting(h, name, url, n):
    """A paused channel with so many that wait in one line, and in none."""
    webhook(h, name, url)
    h.call("POST", "/v1/channels/%s/pause" % name, {})
    for i in range(n):
        post(h, name, "a%d" % i, None if i % 2 else "ann")


def states(home):
    return dict(home.query(home.control, "SELECT state, count(*) FROM delivery"
                           " GROUP BY state"))


def test_another_channel_of_that_name_sends_nothing_of_the_first(home):
    old, new = receiver(home), receiver(home)
    h = host(home)
    waiting(h, "web", old.url, 400)
    home.skep("channel", "rm", "web")
    lib.eventually(lambda: status(h, "/v1/channels/web/pause", {}) == 404, 30,
                   "its end")
    webhook(h, "web", new.url)
    post(h, "web", "mine")
    await_deliveries(h, 1, "delivered")
    assert states(home) == {"dead": 400, "delivered": 1}
    output = home.query(home.control, "SELECT count(DISTINCT subject) FROM host_event"
                      " WHERE kind = 'delivery' AND body LIKE '%\"dead\"%'")
    assert output == [(400,)]
    h.down()
    # nor without a supervisor
    h.start()
    waiting(h, "web", new.url, 10)
    h.down()
    home.skep("channel", "rm", "web")
    assert states(home) == {"dead": 410, "delivered": 1}
    home.skep("channel", "add", "web", "webhook", "--set", "url=" + new.url)
    h.start()
    post(h, "web", "mine too")
    await_deliveries(h, 2, "delivered")
    assert new.texts() == ["mine", "mine too"] and not old.texts()
    h.down()


def test_what_nobody_knows_of_a_removed_channel_waits_for_a_person(home):
    old = receiver(home, lambda path, n: "close" if n == 1 else "stall")
    new = receiver(home)
    h = host(home)
    webhook(h, "web", old.url, idempotent="no", timeout=20000)
    post(h, "web", "lost", "ann")
    await_deliveries(h, 1, "unknown")
    post(h, "web", "on its way", "ann")
    post(h, "web", "behind it", "ann")
    lib.eventually(lambda: len(old.ids()) == 2, 30, "the second")
    home.skep("channel", "rm", "web")
    assert status(h, "/v1/channels/web/pause", {}) == 503, "it is being removed"
    rows = await_deliveries(h, 2, "unknown")
    lib.eventually(lambda: status(h, "/v1/channels/web/pause", {}) == 404, 30,
                   "its end")
    webhook(h, "web", new.url, idempotent="yes")
    post(h, "web", "mine", "bob")
    await_deliveries(h, 1, "delivered")
    assert new.texts() == ["mine"]
    assert states(home) == {"unknown": 2, "dead": 1, "delivered": 1}
    for row in rows:
        h.call("POST", "/v1/deliveries/%s/retry" % row["id"], {})
    await_deliveries(h, 3, "delivered")
    assert sorted(new.texts()) == ["lost", "mine", "on its way"]
    h.down()


def test_settings_count_for_what_comes_while_a_channel_is_off(home):
    h = host(home)
    webhook(h, "web", "http://127.0.0.1:9", age=3000, order="channel")
    h.call("POST", "/v1/channels/web/disable", {})
    h.script("a", *({"outbox": {"key": peer, "body": {"text": "x"}, "target": {
        "channel": "web", "conversation": peer}}} for peer in ("ann", "bob")))
    h.until(h.submit("a"), "succeeded")
    rows = await_deliveries(h, 2, "pending")
    assert [(d["expires_at"] or 0) - d["created_at"] for d in rows] == [3000, 3000]
    assert sorted(d["is_next"] for d in rows) == [False, True], "one after the other"
    dead = await_deliveries(h, 2, "dead")
    assert {d["detail"] for d in dead} == {"too old"}, dead
    h.down()


def ask(h, ident, method, params, channel="web"):
    """A device's request."""
    h.call("POST", "/v1/channels/%s/messages" % channel, {
        "version": "0.1", "message_type": "request", "request_id": ident,
        "routing": {"id": ident, "channel": channel, "direction": "inbound",
                    "sender_id": "ann"},
        "content": [{"content_type": "json", "body": json.dumps(
            {"method": method, "params": params})}]})


def test_the_answer_to_a_request_is_like_every_message(home):
    r = receiver(home)
    h = host(home)
    webhook(h, "web", r.url, age=60000, order="none")
    ask(h, "q1", "channels.list", {})
    [d] = await_deliveries(h, 1, "delivered")
    assert d["expires_at"] and d["expires_at"] - d["created_at"] == 60000
    assert home.query(home.control, "SELECT ordering_key FROM delivery") == [(None,)]
    seen = [e["body"]["detail"] for e in h.call("GET", "/v1/events?limit=1000")["items"]
            if e["subject"] == d["id"]]
    assert seen[0] == "queued", seen
    h.down()


def test_the_reply_to_a_removed_channel_goes_to_nobody_else(home):
    old, new = receiver(home), receiver(home)
    h = host(home)
    h.shell("slow", "sleep 1.5; echo done")
    webhook(h, "web", old.url)
    send_inbound(h, "web", "hello", "m1", agent="slow")
    lib.eventually(lambda: h.call("GET", "/v1/runs?state=running")["items"], 30,
                   "its run")
    home.skep("channel", "rm", "web")
    webhook(h, "web", new.url)
    [d] = await_deliveries(h, 1, "dead", "delivered")
    assert d["state"] == "dead" and d["channel"] == "web", d
    assert "conversation was deleted" in d["detail"], d
    h.call("POST", "/v1/deliveries/%s/retry" % d["id"], {})
    [d] = await_deliveries(h, 1, "dead")
    assert d["attempts"] == 1 and "conversation was deleted" in d["detail"], d
    assert not old.ids() and not new.ids()
    h.down()


def conversations_with(h, peer):
    return [t for t in h.call("GET", "/v1/conversations")["items"]
            if t["peer"] == peer]


def test_what_is_posted_is_said_in_its_conversation(home):
    r = receiver(home)
    h = host(home)
    webhook(h, "web", r.url)
    post(h, "web", "one", "ann")
    [first] = conversations_with(h, "ann")
    post(h, "web", "other", "bob")
    post(h, "web", "two", "ann")
    [second] = conversations_with(h, "ann")
    assert (first["messages"], second["messages"]) == (1, 2)
    assert second["last_message_at"] > first["last_message_at"]
    h.down()


def test_what_arrived_is_sent_once_more_by_the_next_channel(home):
    old, new = receiver(home), receiver(home)
    h = host(home)
    webhook(h, "web", old.url)
    ident = post(h, "web", "hello", "ann")
    await_deliveries(h, 1, "delivered")
    home.skep("channel", "rm", "web")
    webhook(h, "web", new.url)
    h.call("POST", "/v1/channels/web/disable", {})  # it waits for its channel
    h.call("POST", "/v1/deliveries/%s/resend" % ident, {})
    h.call("POST", "/v1/channels/web/enable", {})
    await_deliveries(h, 2, "delivered")
    assert [m["conversation"] for _, _, m in new.log] == ["ann"]
    h.down()


def test_a_dead_letter_that_is_discarded_opens_no_conversation(home):
    h = host(home)
    waiting(h, "web", "http://127.0.0.1:9", 1)
    home.skep("channel", "rm", "web")
    [d] = await_deliveries(h, 1, "dead")
    webhook(h, "web", "http://127.0.0.1:9")
    h.call("POST", "/v1/deliveries/%s/discard" % d["id"], {})
    assert not conversations_with(h, "ann")
    h.down()


def answered(h, r, ident, params):
    """What a device hears when it asks for what was said."""
    ask(h, ident, "messages.history", params)
    await_deliveries(h, 1, "delivered", "dead")
    return lib.eventually(lambda: [m["json"] for _, _, m in r.log
                                   if m.get("request_id") == ident], 30, ident)[0]


def user_messages(got):
    return [m for m in got["data"]["messages"] if m["role"] == "user"]


def test_a_history_is_cut_to_what_fits_and_begins_where_it_is_told(home):
    r = receiver(home)
    h = host(home)
    webhook(h, "web", r.url)
    for i in range(16):
        send_inbound(h, "web", "m%d " % i + '"' * 250000, "m%d" % i, conversation="7")
    for ident in ("q1", "q1"):  # the same again has the same answer
        got = answered(h, r, ident, {"channel_id": 7})
    assert got["data"]["truncated"] and 3 < len(user_messages(got)) < 16, len(user_messages(got))
    assert [m["id"] for m in user_messages(got)[:2]] == ["m15", "m14"]
    since = user_messages(got)[2]["ts"]
    got = answered(h, r, "q2", {"channel_id": "7", "after": since})
    assert [m["id"] for m in user_messages(got)] == ["m14", "m15"], since
    got = answered(h, r, "q3", {"channel_id": 7, "after": "tomorrow"})
    assert got["error"]["code"] == "invalid_params", got
    got = answered(h, r, "q4", {"channel_id": 7.5})
    assert "whole number" in got["error"]["message"], got
    h.down()


CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *t)
{
	static int (*real)(clockid_t, struct timespec *);
	int rc;

	if (!real)
		real = dlsym(RTLD_NEXT, "clock_gettime");
	rc = real(id, t);
	if (id == CLOCK_REALTIME && access("%s", F_OK) == 0)
		t->tv_sec -= 3600;
	return rc;
}
"""


def test_a_rate_begins_full_and_lives_through_a_clock_set_back(home):
    back, shim = home.dir / "back", home.dir / "clock.c"
    shim.write_text(CLOCK.replace("%s", str(back)))
    if home.run("cc", "-shared", "-fPIC", "-o", home.dir / "clock.so", shim,
                "-ldl", code=None).code:
        lib.skip("cc is not there")
    r = receiver(home)
    h = Host(home, env={"LD_PRELOAD": str(home.dir / "clock.so")}).start()
    webhook(h, "web", r.url, rate=1)
    began = time.monotonic()
    post(h, "web", "at once", "ann")
    await_deliveries(h, 1, "delivered")
    back.touch()
    post(h, "web", "an hour before", "bob")
    await_deliveries(h, 2, "delivered")
    assert time.monotonic() - began >= 0.8, "one a second"
    h.down()


def held_until(h):
    return show(h, "web")["held_until"]


def test_a_hold_is_told_outlives_skepd_and_is_ended_by_resume(home):
    r = receiver(home, lambda path, n: (429, {"Retry-After": "3600"})
                 if n == 1 else 200)
    h = host(home)
    webhook(h, "web", r.url)
    post(h, "web", "first")
    lib.eventually(lambda: held_until(h), 30, "a hold")
    assert "asked for a pause" in show(h, "web")["last_error"]
    h.kill()
    h.start()
    post(h, "web", "second", "bob")
    error = home.refused(1, "channel", "test", "web", "--timeout", "300ms")
    assert "asked to wait until 20" in error and "channel resume web" in error, error
    [s] = home.skep("delivery", "stats", "--json").lines
    assert s["due_at"] == held_until(h) > s["oldest_at"] + 3000000, s
    assert "skep channel resume" in s["note"], s
    assert len(r.ids()) == 1, "it is left alone"
    home.skep("channel", "resume", "web")
    await_deliveries(h, 3, "delivered")
    assert held_until(h) is None
    h.down()


def test_the_trouble_of_a_hold_ends_with_it(home):
    r = receiver(home, lambda path, n: (503, {"Retry-After": "1"})
                 if n == 1 else 200)
    h = host(home)
    webhook(h, "web", r.url)
    post(h, "web", "first")
    lib.eventually(lambda: show(h, "web")["last_error"], 30, "trouble")
    await_deliveries(h, 1, "delivered")
    assert show(h, "web")["last_error"] is None and held_until(h) is None
    h.down()
