"""Messages between sessions: sent once, received until they are acknowledged,
collected once, unread member by member; whichever process is killed."""
import concurrent.futures
import subprocess
import time

import lib
from channel_lib import deliveries, echo
from skepd_lib import host


def crew(home, *names):
    h = host(home)
    for name in names:
        echo(h, name)
    return h


def unread(h, room):
    return {(m["agent"], m["session"]): m["unread"]
            for m in h.call("GET", "/v1/rooms?room=" + room)["items"]}


def box(h, who):
    return h.call("GET", "/v1/messages/%s?limit=1000" % who)["items"]


def test_sessions_send_each_other_messages(home):
    h = crew(home, "b", "c")
    h.script("a", {"outbox": {"key": "k", "target": {"agent": "b", "session": "s"},
                              "body": {"text": "from a"}}})
    h.until(h.submit("a", session="mine"), "succeeded")
    got = lib.eventually(lambda: h.call(
        "POST", "/v1/messages/b/s/read")["items"], 30, "a message")
    assert [(m["sender"], m["body"]) for m in got] == [("a/mine", "from a")]
    assert h.call("POST", "/v1/messages/b/s/read")["items"] == []
    for who in "abc":
        h.call("PUT", "/v1/rooms/all/%s/main" % who)
    h.call("POST", "/v1/messages", {"room": "all", "sender": "a/main",
                                    "text": "hello all"})
    want = {("a", "main"): 0, ("b", "main"): 1, ("c", "main"): 1}
    assert unread(h, "all") == want
    h.kill()
    h.start()
    assert unread(h, "all") == want
    assert len(h.call("POST", "/v1/messages/c/main/read")["items"]) == 1
    assert unread(h, "all") == dict(want, **{}) | {("c", "main"): 0}
    h.down()


def test_a_message_is_received_until_it_is_acknowledged(home):
    h = crew(home, "b", "c")
    for text in ("one", "two"):
        h.call("POST", "/v1/messages", {"to": "b/s", "text": text})
    first = home.skep("msg", "receive", "b/s", "--json").json["id"]
    h.kill()  # its reader may have died: it is available again
    h.start()
    again = home.skep("msg", "receive", "b/s", "--json").json
    assert (again["id"], again["body"]) == (first, "one")
    second = home.skep("msg", "receive", "b/s", "--ack", first, "--json").json
    assert second["body"] == "two"
    assert home.skep("msg", "receive", "b/s", "--ack", second["id"],
                     "--json").out.strip() == ""
    home.refused(66, "msg", "receive", "b/s", "--ack", "msg_nobody")
    home.refused(66, "msg", "receive", "c/s", "--ack", first)
    h.down()


def test_each_member_gets_each_message_once_however_many_collect(home):
    h = crew(home, "a", "b")
    for who in "ab":
        h.call("PUT", "/v1/rooms/r/%s/main" % who)
    sent = 40

    def send(i):
        return h.call("POST", "/v1/messages", {"room": "r", "text": "t%d" % i,
                                               "key": "k%d" % i})

    def collect(who):
        return [(who, m["body"]) for m in h.call(
            "POST", "/v1/messages/%s/main/read?limit=3" % who)["items"]]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        # each is sent twice, and there are four collectors of each member
        made = [pool.submit(send, i % sent) for i in range(2 * sent)]
        got = [pool.submit(collect, "ab"[i % 2]) for i in range(80)]
        assert sum(f.result()["changed"] for f in made) == sent
        seen = [x for f in got for x in f.result()]
    for who in "ab":
        more = collect(who)
        while more:
            seen += more
            more = collect(who)
    assert sorted(seen) == sorted((w, "t%d" % i) for w in "ab" for i in range(sent))
    assert unread(h, "r") == {("a", "main"): 0, ("b", "main"): 0}
    h.down()


def test_what_was_sent_survives_and_a_key_sends_once(home):
    h = crew(home, "b")
    ids = []
    for i in range(5):
        for _ in range(2):
            ids.append(home.skep("msg", "send", "b/s", "t%d" % i, "--key",
                                 "k%d" % i, "--json").json["id"])
            h.kill()
            h.start()
    assert len(set(ids)) == 5
    assert [m["body"] for m in box(h, "b")] == ["t%d" % i for i in range(4, -1, -1)]
    rows = home.skep("msg", "ls", "b", "--json").lines
    assert home.skep("msg", "ls", "b", "--before", rows[2]["id"],
                     "--json").lines == rows[3:]
    # the same key is no other message, nor the same one to another session
    echo(h, "c")
    h.call("PUT", "/v1/rooms/r/c/main")
    for bad in (["b/s", "other"], ["b/t", "t0"], ["c/s", "t0"], ["r", "t0", "--room"]):
        assert "k0" in home.refused(65, "msg", "send", *bad, "--key", "k0")
    h.down()


def test_a_receiver_may_wait(home):
    h = crew(home, "b")
    began = time.monotonic()
    assert "no message" in home.refused(75, "msg", "receive", "b", "--timeout", "300ms")
    assert time.monotonic() - began >= 0.3

    def wait():
        return home.start(home.bin / "skep", "msg", "receive", "b", "--timeout", "60s",
                          "--json", stdout=subprocess.PIPE)
    one, gone = wait(), wait()
    lib.eventually(lambda: "receive" in (home.dir / "skepd.log").read_text() or
                   time.monotonic() - began > 2, 30, "both to wait")
    gone.kill()  # a receiver that dies takes nothing along
    gone.wait()
    home.skep("msg", "send", "b", "wake up")
    assert b"wake up" in one.communicate(timeout=lib.HANG)[0]
    ident = home.skep("msg", "receive", "b", "--json").json["id"]
    assert box(h, "b")[0]["read_at"] is None
    # over a restart too, and what an agent says wakes them as well
    two = home.start(home.bin / "skep", "msg", "receive", "b", "--timeout", "60s",
                     "--ack", ident, "--json", stdout=subprocess.PIPE)
    lib.eventually(lambda: box(h, "b")[0]["read_at"], 30, "the ack")
    h.kill()
    h.start()
    h.script("a", {"outbox": {"key": "k", "target": {"agent": "b"},
                              "body": {"text": "from a run"}}})
    h.until(h.submit("a"), "succeeded")
    assert b"from a run" in two.communicate(timeout=lib.HANG)[0]
    three = wait()
    assert h.down() == 0  # waiting readers do not delay it
    three.kill()


def test_what_cannot_be_sent_is_said_or_seen(home):
    h = crew(home, "b")
    assert "no agent 'nobody'" in home.refused(66, "msg", "send", "nobody", "x")
    assert "no agent 'nobody'" in home.refused(66, "room", "join", "r", "nobody")
    assert "has no members" in home.refused(66, "msg", "send", "r", "x", "--room")
    for text in (b"a\0b", b"a\xff", b"", b"x" * 262145):
        home.refused(65, "msg", "send", "b", "-", input=text)
    assert box(h, "b") == []
    home.skep("msg", "send", "b", "-", input="x" * 262144)
    assert home.skep("room", "join", "r", "b").out == "added b/main to room r\n"
    assert "already in room r" in home.skep("room", "join", "r", "b").out
    assert "removed b/main" in home.skep("room", "leave", "r", "b").out
    assert not home.skep("room", "leave", "r", "b", "--json").json["changed"]
    # an agent's own mistakes are dead letters, each of them
    bad = [({"agent": "nobody"}, "hello"), ({"room": "empty"}, "hello"),
           ({"agent": "b"}, ""), ({"agent": "b"}, "x" * 262145)]
    h.script("a", *[{"outbox": {"key": "k%d" % i, "target": to,
                                "body": {"text": text}}}
                    for i, (to, text) in enumerate(bad)])
    h.until(h.submit("a"), "succeeded")
    rows = lib.eventually(lambda: len(deliveries(h)) == 4 and deliveries(h), 30,
                          "four dead letters")
    assert {d["state"] for d in rows} == {"dead"}
    assert "no agent 'nobody'" in rows[-1]["detail"], rows[-1]
    assert "has no members" in rows[-2]["detail"], rows[-2]
    assert {d["channel"] for d in rows} == {"none"}
    assert len(box(h, "b")) == 1
    h.down()
