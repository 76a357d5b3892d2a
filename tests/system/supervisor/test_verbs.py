"""A request that is refused changes nothing, and does not undo what other requests
of the same turn of the loop have changed."""
import base64
import time

import lib
from channel_lib import post, receiver, await_deliveries, webhook
from skepd_lib import host, in_one_turn

PICTURE = {"name": "a.png", "type": "image/png",
           "base64": base64.b64encode(b"\x89PNG" + bytes(5000)).decode()}


def rows(h, table):
    return h.home.query(h.home.path / "state" / "skep.sqlite", "SELECT * FROM " + table)


def message(text, peer, key=None, **body):
    return "/v1/deliveries", {"channel": "web", "conversation": peer, "key": key,
                              "body": dict(body, text=text)}


def test_a_message_whose_key_is_taken_leaves_no_trace(home):
    h = host(home)
    webhook(h, "web", "http://127.0.0.1:9")
    h.call("POST", "/v1/channels/web/pause", {})
    assert in_one_turn(h, message("first", "ann", key="k")) == [200]
    before = {t: rows(h, t) for t in ("conversation", "delivery", "media")}
    status = in_one_turn(
        h, message("before", "ann"),
        message("other", "eve", key="k", attachments=[PICTURE]),
        message("after", "ann"))
    assert status == [200, 409, 200], status
    assert len(rows(h, "delivery")) == len(before["delivery"]) + 2
    assert [c for c in rows(h, "conversation") if "eve" in c] == []
    assert rows(h, "media") == before["media"]
    h.down()


def test_a_delivery_that_cannot_be_retried_keeps_its_address(home):
    r = receiver(home)
    h = host(home)
    webhook(h, "web", r.url)
    ident = post(h, "web", "hello", "ann")
    await_deliveries(h, 1, "delivered")
    home.skep("channel", "rm", "web")
    webhook(h, "web", r.url)
    before = rows(h, "conversation"), rows(h, "delivery")
    status = in_one_turn(h, ("/v1/deliveries/%s/retry" % ident, {}))
    assert status == [409]
    assert (rows(h, "conversation"), rows(h, "delivery")) == before
    h.down()


def test_a_failed_statement_undoes_its_own_request_only(home):
    h = host(home)
    webhook(h, "web", "http://127.0.0.1:9")
    h.call("POST", "/v1/channels/web/pause", {})
    h.down()
    home.execute(home.path / "state" / "skep.sqlite",
                 "CREATE TRIGGER poison BEFORE INSERT ON delivery "
                 "WHEN NEW.body LIKE '%poison%' "
                 "BEGIN SELECT RAISE(ABORT, 'poisoned'); END")
    h.start()
    status = in_one_turn(h, message("one", "ann"), message("poison", "eve"),
                         message("two", "bob"))
    assert status == [200, 409, 200], status
    assert len(rows(h, "delivery")) == 2
    assert [c for c in rows(h, "conversation") if "eve" in c] == []
    h.down()


POISON = ("CREATE TRIGGER poison BEFORE INSERT ON host_event "
          "WHEN NEW.body LIKE '%\"{state}\"%' AND "
          "EXISTS (SELECT 1 FROM delivery WHERE body LIKE '%poison%' AND "
          "NEW.{column} LIKE '%' || id || '%') "
          "BEGIN SELECT RAISE(ABORT, 'poisoned'); END")


def poisoned(home, state, column):
    """Three messages on `web` and one on `other`; a message that contains `poison`
    cannot get this state: the last of its writes fails."""
    r = receiver(home)
    h = host(home)
    for name in ("web", "other"):
        webhook(h, name, r.url)
        h.call("POST", "/v1/channels/%s/pause" % name, {})
    bad = post(h, "web", "poison", "eve")
    good = [post(h, "web", "x", "ann"), post(h, "web", "y", "bob"),
            post(h, "other", "z", "ann")]
    h.down()
    home.execute(home.control, POISON.format(state=state, column=column))
    h.start()
    for name in ("web", "other"):
        h.call("POST", "/v1/channels/%s/resume" % name, {})
    return r, h, bad, good


def cure(home, h, r, bad, n):
    """Without the trigger it continues, and was sent once."""
    home.execute(home.control, "DROP TRIGGER poison")
    await_deliveries(h, n, "delivered")
    assert r.ids().count(bad) == 1, r.ids()
    seen = home.query(home.control, "SELECT body FROM host_event WHERE kind = "
                      "'delivery' AND subject = ? AND body LIKE '%delivered%'", bad)
    assert len(seen) == 1, seen
    h.down()


def test_an_outcome_that_cannot_be_stored_delays_no_other(home):
    r, h, bad, good = poisoned(home, "delivered", "subject")
    await_deliveries(h, 3, "delivered")
    lib.eventually(lambda: bad in r.ids() and "cannot record the outcome of a delivery" in
                   h.log(), 30, "its outcome")
    row = h.call("GET", "/v1/deliveries/" + bad)
    assert row["state"] == "sending", "nothing of it is stored: %s" % row
    assert in_one_turn(h, message("more", "ann")) == [200]
    await_deliveries(h, 4, "delivered")
    cure(home, h, r, bad, 5)


def test_a_claim_that_fails_delays_no_other_channel(home):
    r, h, bad, good = poisoned(home, "sending", "body")
    lib.eventually(lambda: good[2] in r.ids(), 30, "the other channel's message")
    lib.eventually(lambda: "cannot claim deliveries" in h.log(), 30, "a line")
    assert h.call("GET", "/v1/deliveries/" + bad)["state"] == "pending"
    assert bad not in r.ids(), "it is not sent without a stored claim"
    cure(home, h, r, bad, 4)


def asks(h, key, timeout_ms=None):
    """A run that waits for the answer to this question."""
    step = {"ask": {"key": key, "title": key, "timeout_ms": timeout_ms}}
    run = h.submit(h.script("ask-" + key, step))
    lib.eventually(lambda: [q for q in h.call("GET", "/v1/approvals")["items"]
                            if q["run"] == run], what="the question")
    return run


def test_an_approval_that_cannot_expire_delays_no_other(home):
    h = host(home)
    home.execute(home.control,
                 "CREATE TRIGGER poison BEFORE UPDATE ON approval "
                 "WHEN OLD.key = 'poison' BEGIN SELECT RAISE(ABORT, 'poisoned'); END")
    bad, good = asks(h, "poison", 300), asks(h, "k", 600)
    assert h.until(good)["reason"] == "denied"
    began = time.monotonic()
    seen = h.log().count("cannot expire approvals")
    assert seen > 0
    lib.eventually(lambda: h.log().count("cannot expire approvals") > seen + 1,
                   what="two more tries")
    tries = h.log().count("cannot expire approvals") - seen
    assert tries <= time.monotonic() - began + 2, tries
    home.execute(home.control, "DROP TRIGGER poison")
    assert h.until(bad)["reason"] == "denied"
    h.down()


def test_one_rejected_answer_of_a_request_rejects_all(home):
    """The second answer is to a question that the first one has answered."""
    h = host(home)
    run = asks(h, "k")
    answer = {"type": "dynamic-tool", "state": "approval-responded",
              "approval": {"id": "k", "approved": True}}
    chat = {"id": h.get(run)["session"], "messages": [
        {"role": "assistant", "id": run, "parts": [answer, answer]}]}
    before = rows(h, "approval"), rows(h, "run_command"), rows(h, "host_event")
    path = "/v1/ai/ask-k/chat"
    assert in_one_turn(h, (path, chat)) == [409]
    assert (rows(h, "approval"), rows(h, "run_command"), rows(h, "host_event")) == before
    chat["messages"][0]["metadata"] = {"skep": {"cursor": "not one"}}
    chat["messages"][0]["parts"] = [answer]
    assert in_one_turn(h, (path, chat)) == [400]
    assert (rows(h, "approval"), rows(h, "run_command"), rows(h, "host_event")) == before
    h.call("POST", "/v1/approvals/" + h.call("GET", "/v1/approvals")["items"][0]["id"],
           {"allow": True})
    assert h.until(run)["state"] == "succeeded"
    h.down()
