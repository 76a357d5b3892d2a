"""Lists have the same words by command and by route: where a page begins, how
long it may be, and what is refused."""
import urllib.parse

import lib
from channel_lib import echo, receiver, say, settled, webhook
from skepd_lib import Refused, host

# a list by command, by route, and what its `before` begins with
LISTS = (
    (("delivery", "ls"), "deliveries", "dlv_"),
    (("inbound", "ls"), "inbound", "inb_"),
    (("channel", "talks"), "conversations", "cnv_"),
    (("msg", "ls", "echo"), "messages/echo", "msg_"),
    (("ps", "--all"), "runs", "run_"),
)
WRONG = "0" * 26  # an id without its kind


def fill(home):
    """A home whose lists have five rows each."""
    r = receiver(home)
    h = host(home)
    echo(h)
    webhook(h, "web", r.url, agent="echo")
    for i in range(5):
        say(h, "web", "x", "m%d" % i, sender="p%d" % i)
        h.call("POST", "/v1/messages", {"to": "echo/s", "text": "x"})
    settled(h, 5, "delivered")
    return h


def refused(h, path):
    try:
        h.call("GET", "/v1/" + path)
    except Refused as e:
        assert e.status in (400, 404), e
        return e.body["detail"]
    raise AssertionError("taken: " + path)


def by_route(h, path, limit):
    """The pages of a list, and the cursor behind each."""
    cursor, pages = "", []
    while cursor is not None:
        page = h.call("GET", "/v1/%s?limit=%d%s" %
                      (path, limit, cursor and "&before=" + cursor))
        cursor = page["next"]
        pages.append(([x["id"] for x in page["items"]], cursor))
    return pages


def test_pages_are_the_same_by_command_and_by_route(home):
    h = fill(home)
    for words, path, prefix in LISTS:
        pages = by_route(h, path, 2)
        assert [len(ids) for ids, _ in pages] == [2, 2, 1], (path, pages)
        before = []
        for ids, cursor in pages:
            list_ = home.skep(*words, "--limit", "2", "--json", *before).lines
            assert [x["id"] for x in list_] == ids, (words, before)
            said = home.skep(*words, "--limit", "2", *before).out
            assert ("--before %s\n" % cursor in said) == bool(cursor), said
            before = ["--before", cursor]
        # the id of a row will do, wherever it came from
        last = pages[0][0][-1]
        assert last.startswith(prefix)
        assert [x["id"] for x in h.call("GET", "/v1/%s?limit=2&before=%s" %
                                        (path, last))["items"]] == pages[1][0]
        assert [x["id"] for x in home.skep(*words, "--limit", "2", "--json",
                                           "--before", last).lines] == pages[1][0]
    h.down()


def test_wrong_pages_are_refused_in_the_same_words(home):
    h = fill(home)
    for words, path, prefix in LISTS:
        for wrong in ("7", "x", prefix, WRONG, prefix + "x", "5." + prefix, "x." +
                      prefix + WRONG):
            said = refused(h, "%s?before=%s" % (path, wrong))
            assert said.startswith("before: "), said
            assert said in home.refused(64, *words, "--before", wrong), wrong
        for wrong in ("0", "-1", "2x", "", " 1"):
            said = refused(h, "%s?limit=%s" % (path, urllib.parse.quote(wrong) or "''"))
            assert said.startswith("limit: "), said
            said = home.refused(64, *words, "--limit", wrong)
            assert "--limit: " in said, said
        assert "from 1 on" in home.refused(64, *words, "--limit", "0")
        assert "between 1 and 1000" in refused(h, path + "?limit=1001")
    gone = "dlv_" + WRONG
    assert refused(h, "deliveries?before=" + gone) in \
        home.refused(66, "delivery", "ls", "--before", gone)
    h.down()


def test_every_limit_is_a_number_from_one_on(home):
    for words in (("events",), ("approvals", "ls"), ("artifact", "ls"),
                  ("backup", "ls"), ("invocations",), ("session", "ls"),
                  ("session", "search", "x"), ("state", "ls"),
                  ("vfs", "search", "x", "y"), ("msg", "collect", "a")):
        assert "from 1 on" in home.refused(64, *words, "--limit", "0"), words


def test_events_can_begin_now(home):
    h = host(home)
    h.call("PUT", "/v1/channels/before", {"kind": "file"})
    out = open(home.dir / "told", "w+")
    p = home.start(home.bin / "skep", "events", "--follow", "--new", "--json",
                   stdout=out)

    def told():
        h.call("PUT", "/v1/channels/after", {"kind": "file"})
        return "after" in (home.dir / "told").read_text()
    lib.eventually(told, 30, "what came")
    assert '"before"' not in (home.dir / "told").read_text()
    p.terminate()
    h.down()
