"""Messages that are over and old leave the control plane; nothing else does."""
import base64
import json

import lib
from channel_lib import deliveries, echo, post, receiver, send_inbound, await_deliveries, webhook
from skepd_lib import QUICK, Host, host

DAY = 86400000


def keep(home, **keys):
    return Host(home, dict(QUICK, channel=keys)).start()


def age(home, days):
    """Everything of the channels happened so long ago."""
    past = "%d * %d" % (days, DAY)
    home.execute(home.control, "UPDATE delivery SET created_at = created_at - %s,"
                 " done_at = coalesce(done_at, created_at) - %s" % (past, past))
    home.execute(home.control, "UPDATE inbound SET received_at = received_at - " + past)


def one(home, sql):
    [(n,)] = home.query(home.control, sql)
    return n


def states(home):
    return dict(home.query(home.control,
                           "SELECT state, count(*) FROM delivery GROUP BY 1"))


def every_state(home, h):
    """Two of each; those that are over are ten days old when skepd is down."""
    r = receiver(home, lambda path, n: {"/no": 404, "/mute": "close"}.get(path, 200))
    for name in ("yes", "no", "mute", "gone"):
        webhook(h, name, "%s/%s" % (r.url, name), idempotent="no")
    webhook(h, "later", r.url + "/later", age=0)
    h.call("POST", "/v1/channels/later/pause")
    for i in range(2):
        for name in ("yes", "no", "mute", "gone", "later"):
            post(h, name, "m%d" % i, "c%d" % i)
    for name, state in (("yes", "delivered"), ("no", "dead"), ("mute", "unknown"),
                        ("gone", "delivered"), ("later", "pending")):
        await_deliveries(h, 2, state, channel=name)
    for d in deliveries(h, channel="later")[-1:]:
        h.call("POST", "/v1/deliveries/%s/discard" % d["id"])
    return r


def test_what_is_over_and_old_goes_by_itself_and_nothing_else(home):
    h = host(home)
    every_state(home, h)
    assert h.down() == 0
    age(home, 10)
    h = keep(home, keep="7d")
    young = post(h, "yes", "young")
    want = {"delivered": 1, "dead": 2, "unknown": 2, "pending": 1}
    lib.eventually(lambda: states(home) == want, 30, "the walk: %s" % states(home))
    assert h.call("GET", "/v1/deliveries/" + young)["state"] == "delivered"
    assert one(home, "SELECT count(*) FROM delivery_attempt a WHERE NOT EXISTS"
               " (SELECT 1 FROM delivery WHERE seq = a.delivery)") == 0

    def audited():
        rows = home.query(home.control, "SELECT actor, detail FROM audit WHERE act ="
                          " 'message.prune'")
        return rows and [(a, json.loads(d)["deliveries"]) for a, d in rows]
    assert lib.eventually(audited, 30, "an audit row") == [("skepd", 5)]
    h.down()
    h = keep(home, keep="7d", keep_dead="7d")  # dead letters are asked for
    want["dead"] = 0
    lib.eventually(lambda: states(home).get("dead", 0) == 0, 30, "dead letters")
    assert states(home) == {"delivered": 1, "unknown": 2, "pending": 1}
    h.down()
    home.integrity()


def test_nothing_goes_that_is_younger_or_when_it_is_switched_off(home):
    h = host(home)
    every_state(home, h)
    assert h.down() == 0
    age(home, 10)
    before = states(home)
    for keys in ({"keep": 0, "keep_inbound": 0}, {"keep": "11d"}, {}):
        h = keep(home, **keys)
        post(h, "yes", "young")
        before["delivered"] += 1
        await_deliveries(h, before["delivered"], "delivered")
        home.skep("state", "prune", "--keep-days", "11", "--json")
        assert states(home) == before, keys
        assert h.down() == 0


def test_a_message_that_comes_again_adds_nothing_as_long_as_its_row_is_kept(home):
    h = host(home)
    echo(h)
    h.call("PUT", "/v1/channels/t", {"kind": "pull", "config": {"agent": "echo"}})
    first = send_inbound(h, "t", "hello", "m1")
    lib.eventually(lambda: deliveries(h), 30, "its answer")
    assert h.down() == 0
    age(home, 40)
    h = keep(home, keep="7d")  # what came in: 90 days
    again = send_inbound(h, "t", "hello", "m1")
    assert again["id"] == first["id"]
    home.skep("state", "prune", "--keep-days", "1", "--keep-n", "0")
    assert one(home, "SELECT count(*) FROM inbound") == 1
    assert send_inbound(h, "t", "hello", "m1")["id"] == first["id"]
    h.down()
    h = keep(home, keep="7d", keep_inbound="30d")
    lib.eventually(lambda: one(home, "SELECT count(*) FROM inbound") == 0, 30, "the end")
    assert send_inbound(h, "t", "hello", "m1")["id"] != first["id"], "it is a new one now"
    h.down()


def test_a_message_whose_run_waits_stays(home):
    h = host(home)
    h.script("slow", {"sleep_ms": 60000})
    h.call("PUT", "/v1/channels/t", {"kind": "pull", "config": {"agent": "slow"}})
    send_inbound(h, "t", "one", "m1")
    run = lib.eventually(lambda: one(home, "SELECT max(run) FROM inbound"), 30, "a run")
    h.until(run, "running")
    age(home, 100)
    home.skep("state", "prune", "--keep-days", "1", "--keep-n", "0")
    assert one(home, "SELECT count(*) FROM inbound") == 1
    h.call("POST", "/v1/runs/%s/cancel" % run, {})
    h.until(run)
    home.skep("state", "prune", "--keep-days", "1", "--keep-n", "0")
    assert one(home, "SELECT count(*) FROM inbound") == 0
    h.down()


def test_messages_between_sessions_go_when_all_have_read_them(home):
    h = keep(home, keep=0)
    for name in ("ann", "bob"):
        h.script(name)
        home.skep("room", "join", "team", name + "/main")
    home.skep("msg", "send", "--room", "team", "to both")
    home.skep("msg", "send", "--room", "team", "one has not read it")
    home.skep("msg", "send", "ann/main", "read lately")
    assert len(home.skep("msg", "read", "ann/main", "--json").lines) == 3
    home.refused(64, "msg", "receive", "bob/main", "main")
    home.skep("msg", "receive", "bob/main")
    first = home.skep("msg", "receive", "bob/main", "--json").lines[0]["id"]
    home.skep("msg", "receive", "bob/main", "--ack", first)
    home.execute(home.control, "UPDATE message SET created_at = 1")
    home.execute(home.control, "UPDATE message_to SET read_at = 1 WHERE read_at > 0"
                 " AND message IN (SELECT id FROM message WHERE room IS NOT NULL)")
    got = home.skep("state", "prune", "--json").lines[-1]
    assert (got["database"], got["messages"]) == ("control", 1), got
    assert home.query(home.control, "SELECT body FROM message ORDER BY id") == [
        ("one has not read it",), ("read lately",)]
    assert one(home, "SELECT count(*) FROM message_to") == 3
    h.down()
    home.execute(home.control, "UPDATE message_to SET read_at = 1 WHERE read_at > 0")
    h = keep(home, keep="7d")  # it prunes soon after its start
    lib.eventually(lambda: one(home, "SELECT count(*) FROM message") == 1, 30, "skepd")
    assert home.skep("msg", "receive", "bob/main", "--json").lines[0]["body"] == \
        "one has not read it"
    h.down()


def attach(h, channel, *texts):
    return h.call("POST", "/v1/deliveries", {"channel": channel, "body": {
        "text": "x", "attachments": [
            {"name": "a", "base64": base64.b64encode(t.encode()).decode()}
            for t in texts]}})["id"]


def test_attachments_go_with_the_last_message(home):
    r = receiver(home)
    h = keep(home, keep=0, media_total=16)
    webhook(h, "web", r.url)
    attach(h, "web", "alone", "shared")
    await_deliveries(h, 1, "delivered")
    age(home, 40)
    attach(h, "web", "shared", "young")
    await_deliveries(h, 2, "delivered")
    got = home.skep("state", "prune", "--json").lines[-1]
    assert (got["database"], got["deliveries"], got["attachments"]) == (
        "control", 1, 1), got
    sizes = home.query(home.control, "SELECT size FROM media ORDER BY 1")
    assert sizes == [(5,), (6,)], sizes
    assert one(home, "SELECT count(*) FROM media_use") == 2
    attach(h, "web", "fits")  # 5 of 16 bytes were given back
    h.down()


def test_a_dry_run_says_what_the_deed_does_with_and_without_skepd(home):
    h = keep(home, keep=0)
    every_state(home, h)
    age(home, 40)
    before = states(home)
    figures = lambda rows: {k: rows[-1][k] for k in ("deliveries", "inbound",
                                                     "attachments")}
    prune = lambda *more: figures(home.skep("state", "prune", "--json", *more).lines)
    dry = prune("--dry-run")
    assert dry["deliveries"] == 5 and states(home) == before, (dry, before, states(home))
    assert prune() == dry  # by skepd
    assert states(home) == {"dead": 2, "unknown": 2, "pending": 1}
    assert h.down() == 0
    dry = prune("--dead", "--dry-run")
    assert dry["deliveries"] == 2 and states(home)["dead"] == 2
    assert prune("--dead") == dry  # by the command itself
    assert states(home) == {"unknown": 2, "pending": 1}
    assert home.query(home.control, "SELECT count(*) FROM audit WHERE act ="
                      " 'state.prune'") == [(2,)]


def old_ones(home, h, r):
    """20,000 that are 40 days old, each hundredth dead, behind one that seems
    young; how many of them are left."""
    webhook(h, "web", r.url)
    post(h, "web", "pattern")
    await_deliveries(h, 1, "delivered")
    assert h.down() == 0
    home.execute(home.control, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT"
                 " i + 1 FROM n WHERE i < 20000) INSERT INTO delivery (id, channel,"
                 " conversation, ordering_key, is_queued, is_next, state, source_key,"
                 " attempts, due_at, created_at, done_at, body) SELECT 'dlv_old' || i, channel,"
                 " conversation, ordering_key, 0, 0, iif(i % 100 = 0, 'dead', 'delivered'),"
                 " 'old/' || i, 1, due_at, created_at - 40 * 86400000,"
                 " done_at - 40 * 86400000, body FROM delivery, n")
    return lambda: one(home, "SELECT count(*) FROM delivery WHERE id LIKE 'dlv_old%'")


def test_a_live_queue_goes_on_beside_a_long_walk(home):
    """New ones are sent meanwhile, and each of them comes once."""
    r = receiver(home)
    left = old_ones(home, host(home), r)
    h = Host(home).start()
    sent, seen = [], set()
    while left() > 200:
        seen.add(left())
        sent.append(post(h, "web", "x", "c%d" % (len(sent) % 5)))
        assert len(sent) < 100000
    assert len(seen) > 5, "little by little"
    lib.eventually(lambda: not deliveries(h, state="pending") and
                   not deliveries(h, state="sending"), 60, "all of them")
    assert left() == 200, "the dead stay"
    assert sorted(r.ids()[1:]) == sorted(sent)
    h.down()
    home.integrity()


def test_a_walk_that_is_killed_is_finished_by_the_next_skepd(home):
    r = receiver(home)
    left = old_ones(home, host(home), r)
    h = Host(home).start()
    lib.eventually(lambda: left() < 18000, 30, "the walk")
    h.kill()
    rest = left()
    assert 200 <= rest < 18000
    h.start()
    lib.eventually(lambda: left() == 200, 60, "its end")
    assert len(r.ids()) == 1, "nothing was sent again"
    h.down()
    home.integrity()
