"""Lists have the same words by command and by route: where a page begins, how
long it may be, and what is refused."""
import urllib.parse

import lib
from channel_lib import echo, receiver, send_inbound, await_deliveries, webhook
from skepd_lib import Refused, finish, host

# a list by command, by route, and what its `before` begins with
LISTS = (
    (("delivery", "ls"), "deliveries", "dlv_"),
    (("inbound", "ls"), "inbound", "inb_"),
    (("conversation", "ls"), "conversations", "cnv_"),
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
        send_inbound(h, "web", "x", "m%d" % i, sender="p%d" % i)
        h.call("POST", "/v1/messages", {"to": "echo/s", "text": "x"})
    await_deliveries(h, 5, "delivered")
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
        page = h.call("GET", "/v1/%s%slimit=%d%s" %
                      (path, "" if "?" in path else "?", limit, cursor and "&before=" + cursor))
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
            output = home.skep(*words, "--limit", "2", *before).out
            assert ("--before %s\n" % cursor in output) == bool(cursor), output
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
            error = refused(h, "%s?before=%s" % (path, wrong))
            assert error.startswith("before: "), error
            assert error in home.refused(64, *words, "--before", wrong), wrong
        for wrong in ("0", "-1", "2x", "", " 1"):
            error = refused(h, "%s?limit=%s" % (path, urllib.parse.quote(wrong) or "''"))
            assert error.startswith("limit: "), error
            error = home.refused(64, *words, "--limit", wrong)
            assert "--limit: " in error, error
        assert "the minimum is 1" in home.refused(64, *words, "--limit", "0")
        assert "between 1 and 1000" in refused(h, path + "?limit=1001")
    gone = "dlv_" + WRONG
    assert refused(h, "deliveries?before=" + gone) in \
        home.refused(66, "delivery", "ls", "--before", gone)
    h.down()


def test_every_limit_is_a_number_from_one_on(home):
    for words in (("events",), ("approval", "ls"), ("artifact", "ls"),
                  ("backup", "ls"), ("invocation", "ls"), ("session", "ls"),
                  ("session", "search", "x"), ("state", "ls"),
                  ("vfs", "search", "x", "y"), ("msg", "read", "a")):
        assert "the minimum is 1" in home.refused(64, *words, "--limit", "0"), words


def test_events_can_begin_now(home):
    h = host(home)
    h.call("PUT", "/v1/channels/before", {"kind": "file"})
    out = open(home.dir / "told", "w+")
    p = home.start(home.bin / "skep", "events", "--follow", "--new", "--json",
                   stdout=out)

    def are_listed():
        h.call("PUT", "/v1/channels/after", {"kind": "file"})
        return "after" in (home.dir / "told").read_text()
    lib.eventually(are_listed, 30, "what came")
    assert '"before"' not in (home.dir / "told").read_text()
    p.terminate()
    h.down()


def test_what_a_run_sent_is_shown_with_it(home):
    r = receiver(home, lambda path, n: 404 if path == "/no" else 200)
    h = host(home)
    for name in ("yes", "no"):
        webhook(h, name, r.url + "/" + name)
    line = '{"type": "note", "key": "k%d", "outbox": {"target": {"channel": "%s",' \
        ' "conversation": "c"}, "body": {"text": "t"}}}'
    h.shell("sender", "\n".join("echo '%s'" % (line % (i, "yes" if i % 2 else "no"))
                                for i in range(24)))
    echo(h)
    silent, run = h.submit("echo"), h.submit("sender", session="s1")
    other = h.submit("sender", session="s2")
    for x in (silent, run, other):
        h.until(x, "succeeded")
    await_deliveries(h, 24, "delivered")
    await_deliveries(h, 24, "dead")
    assert h.call("GET", "/v1/runs/" + silent)["deliveries"] == []
    rows = h.call("GET", "/v1/deliveries?limit=1000&run=" + run)["items"]
    assert len(rows) == 24 and {d["session"] for d in rows} == {"s1"}
    assert [d["seq"] for d in rows] == sorted((d["seq"] for d in rows), reverse=True)
    brief = [{k: d[k] for k in ("id", "channel", "state")} for d in rows[:20]]
    assert h.call("GET", "/v1/runs/" + run)["deliveries"] == brief
    assert home.skep("show", run, "--json").lines[0]["deliveries"] == brief
    output = home.skep("show", run).out
    for d in brief:
        assert "delivery %(id)s on %(channel)s: %(state)s\n" % d in output, output
    assert "skep delivery ls --run " + run in output
    assert "delivery dlv_" not in home.skep("show", silent).out
    # the same by command, with every other filter, page by page
    for words, query in (((), ""), (("--state", "dead"), "&state=dead"),
                         (("--channel", "yes", "--session", "s1"),
                          "&channel=yes&session=s1"),
                         (("--session", "s2"), "&session=s2"),
                         (("--agent", "echo"), "&agent=echo")):
        mine = h.call("GET", "/v1/deliveries?limit=1000&run=" + run + query)["items"]
        assert mine == home.skep("delivery", "ls", "--json", "--run", run,
                                 *words).lines, query
    pages = by_route(h, "deliveries?run=%s&" % run, 10)
    assert sum((ids for ids, _ in pages), []) == [d["id"] for d in rows]
    for query, n in (("agent=sender", 48), ("agent=echo", 0), ("agent=sender&session=s2", 24),
                     ("agent=sender&session=s1&state=dead", 12)):
        words = [w for pair in query.split("&") for w in
                 ("--" + pair.split("=")[0], pair.split("=")[1])]
        assert len(home.skep("delivery", "ls", "--json", *words).lines) == n
        assert len(h.call("GET", "/v1/deliveries?limit=1000&" + query)["items"]) == n
    nobody = "run_" + WRONG
    assert "no run" in refused(h, "deliveries?run=" + nobody)
    assert "no run" in home.refused(66, "delivery", "ls", "--run", nobody)
    h.down()
    assert home.skep("show", run, "--json").lines[0]["deliveries"] == brief


def test_a_filter_by_run_wants_the_id_of_a_run(home):
    h = host(home)
    for route in ("approvals", "deliveries"):
        for text in ("x", "run_", "run_x", "apr_" + "0" * 26, "run_" + "0" * 25):
            error = refused(h, "%s?run=%s" % (route, text))
            assert error.startswith("run must be") and "run_" in error, error
    finish(h)
