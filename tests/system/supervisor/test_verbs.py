"""A request that is refused changes nothing, and does not undo what other requests
of the same turn of the loop have changed."""
import base64

from channel_lib import post, receiver, settled, webhook
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
    settled(h, 1, "delivered")
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
