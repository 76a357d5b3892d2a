"""Deliveries whose rows cannot be changed: each is reported and tried again after
a growing delay, delays no other, and goes on once its row can be changed."""
import re

import lib
from channel_lib import deliveries, post, receiver, await_deliveries, webhook
from skepd_lib import host

NEVER = "http://127.0.0.1:9"


def poison(home, to, when="1"):
    """A row that contains `poison` cannot get the state `to`."""
    home.execute(home.control,
                 "CREATE TRIGGER poison BEFORE UPDATE ON delivery "
                 "WHEN NEW.state = '%s' AND OLD.body LIKE '%%poison%%' AND %s "
                 "BEGIN SELECT RAISE(ABORT, 'poisoned'); END" % (to, when))


def cure(home):
    home.execute(home.control, "DROP TRIGGER poison")


def reports(h, ident):
    """The delays that were announced for a delivery that cannot be changed."""
    return [int(re.search(r"retry_ms=(\d+)", line)[1])
            for line in h.log().splitlines()
            if "cannot be changed" in line and ident in line]


def orphans(home, n_bad, n_good):
    """Deliveries of a channel that has no row."""
    h = host(home)
    webhook(h, "web", NEVER)
    h.call("POST", "/v1/channels/web/pause", {})
    bad = [post(h, "web", "poison", "e%d" % i) for i in range(n_bad)]
    good = [post(h, "web", "x", "a%d" % i) for i in range(n_good)]
    h.down()
    home.execute(home.control, "DELETE FROM channel")
    poison(home, "dead")
    return h.start(), bad, good


def test_an_orphan_that_cannot_be_changed_is_tried_less_and_less(home):
    h, [bad], good = orphans(home, 1, 3)
    dead = await_deliveries(h, 3, "dead")
    assert {d["id"] for d in dead} == set(good)
    lib.eventually(lambda: len(reports(h, bad)) >= 2, what="two reports")
    delays = reports(h, bad)
    assert delays == [1000 << i for i in range(len(delays))], delays
    assert h.call("GET", "/v1/deliveries/" + bad)["state"] == "pending"
    cure(home)
    await_deliveries(h, 4, "dead")
    assert h.down() == 0


def test_many_that_cannot_be_changed_delay_no_other(home):
    h, bad, good = orphans(home, 250, 250)
    dead = await_deliveries(h, 250, "dead")
    assert {d["id"] for d in dead} == set(good)
    cure(home)
    await_deliveries(h, 500, "dead")
    assert h.down() == 0


def test_more_lost_ones_than_one_transaction_holds_do_not_hang_skepd(home):
    """skepd died while they were in flight, and their rows cannot be changed."""
    r = receiver(home)
    h = host(home)
    webhook(h, "web", NEVER)
    webhook(h, "other", r.url)
    h.call("POST", "/v1/channels/web/pause", {})
    bad = [post(h, "web", "poison", "e%d" % i) for i in range(520)]
    h.down()
    home.execute(home.control,
                 "UPDATE delivery SET state = 'sending', lease_until = 1, epoch = 0,"
                 " attempts = 1, sent_at = 1")
    poison(home, "unknown")
    h.start()
    post(h, "other", "x")
    await_deliveries(h, 1, "delivered")
    cure(home)
    lib.eventually(lambda: not deliveries(h, state="sending"), what="their change")
    assert len(bad) == len(deliveries(h, channel="web"))
    assert h.down() == 0


def test_an_unknown_one_is_resolved_when_its_row_can_be_changed(home):
    r = receiver(home)
    h = host(home)
    webhook(h, "web", NEVER)
    h.call("POST", "/v1/channels/web/pause", {})
    bad = post(h, "web", "poison", "eve")
    good = post(h, "web", "x", "ann")
    h.down()
    home.execute(home.control,
                 "UPDATE delivery SET state = 'unknown', attempts = 1, sent_at = 1")
    poison(home, "pending")
    h.start()
    webhook(h, "web", r.url)
    h.call("POST", "/v1/channels/web/resume", {})
    await_deliveries(h, 1, "delivered")
    assert r.ids() == [good]
    lib.eventually(lambda: "cannot resolve an unknown delivery" in h.log() and
                   bad in h.log(), what="a report")
    cure(home)
    await_deliveries(h, 2, "delivered")
    assert sorted(r.ids()) == sorted([good, bad])
    assert h.down() == 0


def test_an_outcome_that_could_not_be_stored_is_stored_at_the_end(home):
    """Its row can be changed only when the channel is closed."""
    r = receiver(home)
    h = host(home)
    webhook(h, "web", r.url)
    poison(home, "delivered",
           "EXISTS (SELECT 1 FROM channel WHERE state IS NOT NULL)")
    bad = post(h, "web", "poison", "eve")
    lib.eventually(lambda: "cannot record the outcome of a delivery" in h.log(),
                   what="a report")
    assert h.down() == 0
    rows = home.query(home.control, "SELECT id, state FROM delivery")
    assert rows == [(bad, "delivered")], rows
    assert r.ids() == [bad]
