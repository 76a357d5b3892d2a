"""Deliveries in unusual cases: leases, ages, order, and what no process
knows."""
import itertools
import json
import os
import threading
import time

import lib
from channel_lib import post, receiver, await_deliveries, webhook
from skepd_lib import Refused, host
from test_skepd_bad import fill_up, small_disk


def row(h, ident):
    return h.call("GET", "/v1/deliveries/" + ident)


def outcomes(h, ident):
    items = h.call("GET", "/v1/deliveries/%s/attempts" % ident)["items"]
    return [(a["outcome"], a["detail"]) for a in items]


def test_what_is_too_old_ends_wherever_it_waits(home):
    r = receiver(home, lambda path, n: (503, {"retry-after": "3600"}))
    h = host(home)
    webhook(h, "paused", r.url + "/p", age=300)
    h.call("POST", "/v1/channels/paused/pause")
    for i in range(4):  # one is first in its line, the others are behind it
        post(h, "paused", "p%d" % i)
    await_deliveries(h, 4, "dead", channel="paused")
    webhook(h, "held", r.url + "/h", age=2000)
    post(h, "held", "holds the channel", "a")
    await_deliveries(h, 1, "dead", channel="held")  # it would be too old by then
    for i in range(3):
        post(h, "held", "h%d" % i, "c%d" % i)
    rows = await_deliveries(h, 4, "dead", channel="held")
    assert {d["detail"] for d in rows} <= {"too old", "the receiver says no"}
    assert not r.ids("/p") and len(r.ids("/h")) == 1
    h.down()


def test_a_lease_that_ran_out_is_taken_over(home):
    r = receiver(home)
    h = host(home)
    webhook(h, "web", r.url)
    h.call("POST", "/v1/channels/web/pause")
    ident = post(h, "web", "forgotten")
    behind = post(h, "web", "behind it")
    # claimed by this skepd, and not in its memory
    home.execute(home.control, "UPDATE delivery SET state = 'sending', lease_until ="
                 " 1, attempts = 1, attempt_id = 'att_x', epoch = (SELECT epoch FROM"
                 " supervisor) WHERE id = ?", ident)
    h.call("POST", "/v1/channels/web/resume")
    await_deliveries(h, 2, "delivered")
    assert outcomes(h, ident) == [("unknown", "no answer came")]
    assert sorted(r.ids()) == sorted([ident, behind])
    h.down()


def test_an_answer_after_the_lease_still_counts(home):
    def plan(path, n):
        lib.eventually(lambda: ident and row(h, ident[0])["state"] == "unknown",
                       20, "it")
        return 200
    r = receiver(home, plan)
    h, ident = host(home), []
    webhook(h, "web", r.url, idempotent="no", timeout=25000)
    ident.append(post(h, "web", "slow"))
    lib.eventually(r.ids, 30, "the request")
    home.execute(home.control, "UPDATE delivery SET lease_until = 1 WHERE state ="
                 " 'sending'")
    [d] = await_deliveries(h, 1, "delivered")
    assert outcomes(h, ident[0]) == [("unknown", "no answer came")]
    assert d["remote_status"] == 200 and r.ids() == ident
    h.down()


def test_order_of_a_channel_holds_over_conversations(home):
    r = receiver(home, lambda path, n: 503 if n in (1, 4, 9) else 200)
    h = host(home)
    webhook(h, "web", r.url, order="channel")
    want = []
    for i in range(8):
        for c in "abc":
            want.append("%s%d" % (c, i))
            post(h, "web", want[-1], c)
    await_deliveries(h, 24, "delivered")
    # one that fails is tried again before the next one goes
    assert [t for t, _ in itertools.groupby(r.texts())] == want
    assert len(r.texts()) == 27, "three were tried twice"
    h.down()


def test_without_an_order_nothing_waits_for_another(home):
    r = receiver(home, lambda path, n: 503 if n == 1 else 200)
    h = host(home)
    webhook(h, "web", r.url, order="none", backoff=60000, backoff_max=60000)
    slow = post(h, "web", "slow")
    lib.eventually(lambda: outcomes(h, slow), 30, "its first attempt")
    quick = post(h, "web", "quick")  # of the same conversation
    await_deliveries(h, 1, "delivered")
    assert r.ids() == [slow, quick] and row(h, slow)["state"] == "pending"
    h.down()


def test_a_file_says_what_became_of_an_unknown_line(home):
    path = home.dir / "out.txt"
    h = host(home)
    h.call("PUT", "/v1/channels/f", {"kind": "file", "config": {
        "path": str(path)}})
    came, cut, lost = [post(h, "f", t, t) for t in ("came", "cut", "lost")]
    await_deliveries(h, 3, "delivered")
    h.kill()
    # as if skepd had died before it heard of them, and the disk had half of it
    home.execute(home.control, "UPDATE delivery SET state = 'sending', is_queued = 1,"
                 " epoch = 0, done_at = NULL, lease_until = 1")
    lines = {json.loads(line)["id"]: line for line in path.read_text().splitlines()}
    path.write_text(lines[came] + "\n" + lines[cut][:-5])
    h.start()
    await_deliveries(h, 3, "delivered")
    got = path.read_text().splitlines()
    ids = [json.loads(g)["id"] for g in got if g.endswith("}")]
    assert sorted(ids) == sorted([came, cut, lost]) and len(got) == 3
    assert [row(h, i)["attempts"] for i in (came, cut, lost)] == [1, 2, 2]
    h.down()


def test_what_a_restore_brings_is_held_for_a_person(home):
    r = receiver(home)
    h = host(home)
    webhook(h, "web", r.url)
    h.call("POST", "/v1/channels/web/pause")
    one, two = post(h, "web", "one"), post(h, "web", "two")
    assert h.down() == 0
    backup = home.skep("backup", "create", "--json").json["path"]
    assert home.skep("backup", "restore", backup, "--json").json["messages_held"] == 2
    h = host(home)
    h.call("POST", "/v1/channels/web/resume")
    three = post(h, "web", "three")
    await_deliveries(h, 1, "delivered")  # behind it skepd has looked at unknown ones
    time.sleep(1)
    assert r.ids() == [three]
    assert [(row(h, i)["state"], row(h, i)["needs_review"]) for i in (one, two)] == \
        [("unknown", True)] * 2
    h.call("POST", "/v1/deliveries/%s/discard" % two)
    h.call("POST", "/v1/deliveries/%s/retry" % one)
    await_deliveries(h, 2, "delivered")
    assert r.ids() == [three, one] and not row(h, one)["needs_review"]
    h.down()


def test_an_outbox_that_could_not_be_read_is_looked_at_again(home):
    r = receiver(home)
    h = host(home)
    webhook(h, "web", r.url)
    h.script("a", {"outbox": {"key": "k", "target": {"channel": "web"},
                              "body": {"text": "t"}}})
    h.until(h.submit("a"))
    await_deliveries(h, 1, "delivered")
    assert h.down() == 0
    # as if skepd had died before it took it, and the file cannot be read now
    path = home.agent_db("a")
    home.execute(path, "UPDATE outbox SET taken_at = NULL")
    home.execute(home.control, "DELETE FROM delivery")
    good = path.read_bytes()
    path.write_bytes(b"x" * 4096)
    h.start()
    lib.eventually(lambda: "cannot read the outbox of an agent" in h.log(), 30, "a failure")
    path.write_bytes(good)  # and skepd gets no hint
    await_deliveries(h, 1, "delivered")
    assert len(r.ids()) == 2
    h.down()


def test_answers_are_waited_for_before_skepd_goes(home):
    r = receiver(home, lambda path, n: "late")
    h = host(home)
    webhook(h, "web", r.url)
    for i in range(5):
        post(h, "web", "m%d" % i, "c%d" % i)
    lib.eventually(lambda: len(r.ids()) == 5, 30, "requests")
    assert h.down() == 0
    rows = home.query(home.control, "SELECT id, state, attempts FROM delivery")
    assert sorted(rows) == sorted((i, "delivered", 1) for i in r.ids())


def test_nothing_is_sent_twice_in_secret_on_a_kept_connection(home):
    r = receiver(home, lambda path, n: "close" if n == 2 else 200)
    h = host(home)
    webhook(h, "once", r.url + "/once", idempotent="no", inflight=1)
    webhook(h, "key", r.url + "/key", inflight=1)
    for name in ("once", "key"):
        post(h, name, "opens the connection")
        await_deliveries(h, 1, "delivered", channel=name)
    once, key = post(h, "once", "x"), post(h, "key", "x")
    await_deliveries(h, 1, "unknown", channel="once")
    await_deliveries(h, 2, "delivered", channel="key")
    assert r.ids("/once").count(once) == 1
    assert r.ids("/key").count(key) == 2
    assert [o for o, _ in outcomes(h, key)] == ["unknown"]
    h.down()


def test_all_states_are_counted_by_command_and_route(home):
    r = receiver(home, lambda path, n: 200 if path == "/ok" else 400)
    h = host(home)
    webhook(h, "ok", r.url + "/ok")
    webhook(h, "bad", r.url + "/bad")
    webhook(h, "later", r.url + "/later")
    h.call("POST", "/v1/channels/later/pause")
    for channel, n, state in (("ok", 3, "delivered"), ("bad", 2, "dead"),
                              ("later", 1, "pending")):
        for i in range(n):
            post(h, channel, "m%d" % i)
        await_deliveries(h, n, state, channel=channel)
    output = h.call("GET", "/v1/delivery-stats")["items"]
    assert {(t["channel"], t["state"], t["n"]) for t in output} == {
        ("ok", "delivered", 3), ("bad", "dead", 2), ("later", "pending", 1)}
    assert home.skep("delivery", "stats", "--json").lines == output
    last = {c["name"]: c["last_error"]
            for c in home.skep("channel", "ls", "--json").lines}
    assert last["bad"].startswith("delivery dlv_") and last["ok"] is None, last
    assert " is dead: the receiver says no" in last["bad"], last
    h.down()


def test_a_full_disk_loses_no_answer_and_sends_nothing_twice(home):
    """Answers come while nothing can be written: they are kept, and skepd goes
    on serving."""
    mount, go = small_disk(home), threading.Event()
    home.undo.append(go.set)

    def plan(path, n):
        go.wait(60)
        return 200
    r = receiver(home, plan)
    h = host(home)
    webhook(h, "web", r.url, idempotent="no", timeout=50000, inflight=4)
    sent = [post(h, "web", "m%d" % i, "c%d" % i) for i in range(8)]
    lib.eventually(lambda: len(r.ids()) == 4, 30, "requests")
    fill_up(mount)

    def refuses():  # what is free inside the log is used up
        try:
            sent.append(post(h, "web", "x" * 20000, "d"))
        except Refused as e:
            return e.status in (500, 507)
    lib.eventually(refuses, 30, "a refusal")
    failures = lambda: h.log().count("commit failed")
    before = failures()
    go.set()
    lib.eventually(lambda: failures() > before + 1, 30, "answers that cannot be kept")
    assert h.answers(10), "it serves others meanwhile"
    assert failures() < before + 50, "and does not try all the time"
    os.unlink(mount / "fill")
    await_deliveries(h, len(sent), "delivered")
    assert sorted(r.ids()) == sorted(sent)
    assert all(outcomes(h, i) == [] for i in sent)
    h.down()


def test_every_change_is_told_to_followers_and_by_command(home):
    r = receiver(home, lambda path, n: {"/no": 404, "/mute": "close"}.get(path, 200))
    h = host(home)
    for name in ("yes", "no", "mute"):
        webhook(h, name, r.url + "/" + name, idempotent="no")
    out = open(home.dir / "told", "w+")
    follower = home.start(home.bin / "skep", "events", "--follow", "--json",
                          "--after", "0", stdout=out)
    sent = {name: post(h, name, "x") for name in ("yes", "no", "mute")}
    for name, state in (("yes", "delivered"), ("no", "dead"), ("mute", "unknown")):
        await_deliveries(h, 1, state, channel=name)
    again = h.call("POST", "/v1/deliveries/%s/resend" % sent["yes"])["id"]
    await_deliveries(h, 2, "delivered", channel="yes")
    h.call("POST", "/v1/deliveries/%s/discard" % sent["no"])
    h.call("POST", "/v1/deliveries/%s/retry" % sent["mute"])
    await_deliveries(h, 1, "unknown", channel="mute")
    want = {sent["yes"]: ["pending", "sending", "delivered"],
            again: ["pending", "sending", "delivered"],
            sent["no"]: ["pending", "sending", "dead", "discarded"],
            sent["mute"]: ["pending", "sending", "unknown"] * 2}

    def states_of(events):
        got = {i: [] for i in want}
        for e in events:
            for i in e["body"].get("ids", [e["subject"]]):
                if i in got:
                    got[i].append(e["body"]["state"])
        return got
    page = lambda: h.call("GET", "/v1/events?limit=1000")["items"]
    lib.eventually(lambda: states_of(page()) == want, 30, "events")

    def followed():
        text = (home.dir / "told").read_text()
        return states_of(json.loads(x) for x in text.splitlines()) == want
    lib.eventually(followed, 30, "the follower")
    follower.terminate()
    resent = [e for e in page() if e["subject"] == again][0]
    assert sent["yes"] in resent["body"]["detail"]
    only = home.skep("events", "--kind", "delivery", "--subject", again).out
    assert only.count("\n") == 2 and only.count(again) == 2, only
    h.down()


def test_verbs_say_what_helps_and_lists_have_pages(home):
    r = receiver(home)
    h = host(home)
    webhook(h, "web", r.url)
    sent = [post(h, "web", "m%d" % i) for i in range(7)]
    await_deliveries(h, 7, "delivered")
    assert "resend" in home.refused(65, "delivery", "retry", sent[0])
    pages, before = [], []
    for _ in range(4):
        got = home.skep("delivery", "ls", "--limit", "3", "--json", *before).lines
        pages.append([d["id"] for d in got])
        before = ["--before", got[-1]["id"]] if got else before
    assert [len(p) for p in pages] == [3, 3, 1, 0]
    assert sum(pages, []) == sent[::-1]
    assert "--before " + pages[0][-1] in home.skep("delivery", "ls", "--limit", "3").out
    for path in ("deliveries?state=gone", "inbound?state=gone"):
        try:
            h.call("GET", "/v1/" + path)
            raise AssertionError("taken: " + path)
        except Refused as e:
            assert e.status == 400 and "gone" in e.body["detail"], e
    h.call("POST", "/v1/channels/web/pause")
    post(h, "web", "later")
    [row] = [x for x in home.skep("delivery", "stats", "--json").lines
             if x["state"] == "pending"]
    assert "paused" in row["note"] and row["due_at"] and row["n"] == 1, row
    assert home.skep("delivery", "stats", "--json").lines == \
        h.call("GET", "/v1/delivery-stats")["items"]
    h.down()


def test_a_message_sent_once_more_has_its_attachments(home):
    r = receiver(home)
    h = host(home)
    webhook(h, "web", r.url)
    first = h.call("POST", "/v1/deliveries", {"channel": "web", "body": {
        "text": "x", "attachments": [{"name": "a", "base64": "QUFB"}]}})["id"]
    await_deliveries(h, 1, "delivered")
    h.call("POST", "/v1/deliveries/%s/resend" % first)
    await_deliveries(h, 2, "delivered")
    one, two = [m["attachments"] for _, _, m in r.log]
    assert one == two and one[0]["base64"] == "QUFB", (one, two)
    h.down()


def test_a_message_that_is_posted_again_with_its_key_is_one(home):
    r = receiver(home)
    h = host(home)
    webhook(h, "web", r.url)
    letter = {"channel": "web", "conversation": "c", "key": "k 1", "body": {
        "text": "x", "attachments": [{"name": "a", "base64": "QUFB"}]}}
    made = [h.call("POST", "/v1/deliveries", letter) for _ in range(3)]
    assert [m["changed"] for m in made] == [True, False, False]
    assert len({m["id"] for m in made}) == 1
    h.kill()
    h.start()
    assert h.call("POST", "/v1/deliveries", letter)["id"] == made[0]["id"]
    for wrong in ({"body": {"text": "y"}}, {"conversation": "d"}, {"key": "a\nb"}):
        try:
            h.call("POST", "/v1/deliveries", dict(letter, **wrong))
            raise AssertionError(wrong)
        except Refused as e:
            assert e.status in (400, 409), e
    await_deliveries(h, 1, "delivered")
    assert len(set(r.ids())) == 1
    h.down()


def test_it_is_in_the_row_before_it_leaves(home):
    seen = []

    def plan(path, n):  # as soon as the request is there
        seen.append(home.query(
            home.control, "SELECT state, attempt_id, attempts, lease_until, epoch"
            " FROM delivery WHERE channel = ?", path[1:])[0] + (time.time() * 1000,))
        return 503 if n < 3 else 200
    r = receiver(home, plan)
    h = host(home)
    [(epoch,)] = home.query(home.control, "SELECT epoch FROM supervisor")
    for name in ("a", "b", "c"):
        webhook(h, name, r.url + "/" + name)
        post(h, name, "x")
    await_deliveries(h, 3, "delivered")
    assert len(seen) == 9 and len({s[1] for s in seen}) == 9, seen
    assert sorted(s[2] for s in seen) == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    for state, attempt, _, lease, by, now in seen:
        assert state == "sending" and attempt.startswith("att_"), seen
        assert by == epoch and 1000 < lease - now < 12000, seen
    h.down()


def test_those_that_fail_together_do_not_come_back_together(home):
    came = {}

    def plan(path, n):
        came.setdefault(n > 12, []).append(time.monotonic())
        return 500 if n <= 12 else 200
    r = receiver(home, plan)
    h = host(home)
    webhook(h, "web", r.url, order="none", backoff=2000, backoff_max=2000)
    h.call("POST", "/v1/channels/web/pause")
    for i in range(12):
        post(h, "web", "m%d" % i)
    h.call("POST", "/v1/channels/web/resume")
    await_deliveries(h, 12, "delivered")
    first, again = came[False], came[True]
    assert min(again) - max(first) > 0.9, came
    assert max(again) - min(again) > 0.2, "all at once: %s" % came
    h.down()
