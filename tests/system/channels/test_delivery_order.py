"""The order of a conversation, whatever happens to one of its messages: an answer
that is lost, a supervisor that dies, a person who decides."""
import fcntl
import itertools
import json
import threading
import time

import lib
from channel_lib import deliveries, post, receiver, await_deliveries, webhook
from skepd_lib import host


def order(r, path=None):
    """What came, without the repetitions of one that was tried again."""
    return [t for t, _ in itertools.groupby(r.texts(path))]


def states(h):
    return {d["body"]["text"]: d["state"] for d in deliveries(h)}


def test_an_answer_that_is_lost_lets_nobody_overtake(home):
    r = receiver(home, lambda path, n: "close" if n in (1, 4) else 200)
    h = host(home)
    webhook(h, "web", r.url, backoff=300)
    for i in range(4):
        post(h, "web", "m%d" % i)
    await_deliveries(h, 4, "delivered")
    assert r.texts() == ["m0", "m0", "m1", "m2", "m2", "m3"], r.texts()
    h.down()


def test_a_death_of_skepd_lets_nobody_overtake(home):
    answer = threading.Event()
    home.undo.append(answer.set)

    def plan(path, n):
        answer.wait(20)
        return 200
    r = receiver(home, plan)
    h = host(home)
    webhook(h, "web", r.url, timeout=20000, backoff=300)
    for i in range(4):
        for c in "ab":
            post(h, "web", "%s%d" % (c, i), c)
    lib.eventually(lambda: len(r.ids()) == 2, 30, "the first of each")
    h.kill()
    answer.set()
    h.start()
    await_deliveries(h, 8, "delivered")
    for c in "ab":
        got = [t for t in r.texts() if t[0] == c]
        assert got == [c + t for t in "00123"], got
    h.down()


def test_what_only_a_person_knows_holds_nobody_up(home):
    r = receiver(home, lambda path, n: "close" if n == 1 else 200)
    h = host(home)
    webhook(h, "web", r.url, idempotent="no")
    for i in range(3):
        post(h, "web", "m%d" % i)
    await_deliveries(h, 2, "delivered")
    assert states(h) == {"m0": "unknown", "m1": "delivered", "m2": "delivered"}
    assert r.texts() == ["m0", "m1", "m2"]
    h.down()


def test_one_that_was_tried_to_the_last_holds_nobody_up(home):
    r = receiver(home, lambda path, n: "close" if n <= 2 else 200)
    h = host(home)
    webhook(h, "web", r.url, attempts=2)
    for i in range(3):
        post(h, "web", "m%d" % i)
    await_deliveries(h, 2, "delivered")
    assert states(h) == {"m0": "unknown", "m1": "delivered", "m2": "delivered"}
    assert r.texts() == ["m0", "m0", "m1", "m2"]
    h.down()


def test_a_person_sends_nothing_beside_what_is_under_way(home):
    answer, under_way, most = threading.Event(), [], []
    home.undo.append(answer.set)

    def plan(path, n):
        if n == 1:
            return 400
        under_way.append(n)
        most.append(len(under_way))
        answer.wait(20)
        time.sleep(0.05)
        under_way.remove(n)
        return 200
    r = receiver(home, plan)
    h = host(home)
    webhook(h, "web", r.url, timeout=20000)
    dead = post(h, "web", "dead")
    await_deliveries(h, 1, "dead")
    post(h, "web", "under way")
    waits = post(h, "web", "waits")
    last = post(h, "web", "last")
    lib.eventually(lambda: under_way, 30, "the second message")
    h.call("POST", "/v1/deliveries/%s/retry" % dead)
    h.call("POST", "/v1/deliveries/%s/discard" % waits)
    time.sleep(0.5)
    assert r.texts() == ["dead", "under way"], "it goes when its turn comes"
    answer.set()
    await_deliveries(h, 3, "delivered")
    # the older one first, and one after the other
    assert r.texts() == ["dead", "under way", "dead", "last"], r.texts()
    assert max(most) == 1 and last, most
    h.down()


def test_a_file_that_cannot_say_now_is_asked_again(home):
    path = home.dir / "out.txt"
    h = host(home)
    h.call("PUT", "/v1/channels/f", {"kind": "file", "config": {
        "path": str(path), "backoff": 200, "backoff_max": 500}})
    came, lost = post(h, "f", "came", "a"), post(h, "f", "lost", "b")
    await_deliveries(h, 2, "delivered")
    h.kill()
    home.execute(home.control, "UPDATE delivery SET state = 'sending', is_queued = 1,"
                 " is_next = 1, epoch = 0, done_at = NULL, lease_until = 1")
    lines = [line for line in path.read_text().splitlines()
             if json.loads(line)["id"] == came]
    path.write_text(lines[0] + "\n")
    with open(path, "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        h.start()
        await_deliveries(h, 2, "unknown")
        time.sleep(3)  # it was asked, and could not say
        assert len(await_deliveries(h, 2, "unknown")) == 2
    await_deliveries(h, 2, "delivered")
    got = [json.loads(line)["id"] for line in path.read_text().splitlines()]
    assert got == [came, lost], got
    h.down()


def test_a_receiver_that_is_gone_costs_no_attempt(home):
    r = receiver(home, lambda path, n: 410 if path == "/old" else 200)
    h = host(home)
    webhook(h, "web", r.url + "/old", attempts=1)
    ident = post(h, "web", "x")
    lib.eventually(lambda: h.call("GET", "/v1/channels/web")["is_paused"], 30,
                   "a pause")
    assert [d["id"] for d in await_deliveries(h, 1, "pending")] == [ident]
    webhook(h, "web", r.url + "/new", attempts=1)
    h.call("POST", "/v1/channels/web/resume")
    await_deliveries(h, 1, "delivered")
    assert r.ids("/new") == [ident]
    h.down()
