"""skep channel, as people use it: every verb, good and bad words, with and
without a supervisor."""
import json
import os
import sqlite3
import subprocess

import lib
from channel_lib import deliveries, receiver, await_deliveries, webhook
from plugin_lib import marked, nobody_left, paths, show, until
from skepd_lib import Refused, host

STUB = r'''
import json, sys
print(json.dumps({"jsonrpc": "2.0", "method": "channel.register",
                  "params": {"name": "stub"}}), flush=True)
for line in sys.stdin:
    m = json.loads(line)
    if m["method"] == "channel.configure":
        print("told", json.dumps(m["params"]["config"]), file=sys.stderr,
              flush=True)
    if m["method"] == "channel.stop":
        print("bye", file=sys.stderr, flush=True)
    if "id" in m:
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": {}}),
              flush=True)
'''


def stub(home):
    path = home.dir / "stub.py"
    path.write_text(STUB)
    return "python3", str(path)


def test_wrong_words_are_refused_with_what_to_do(home):
    home.skep("channel", "add", "there", "file")
    for h in (None, host(home)):
        def no(code, words, *args):
            error = home.refused(code, "channel", *args)
            assert words in error, error
        no(64, "not one of file|webhook|smtp|pull|plugin", "add", "x", "pigeon")
        no(64, "skep channel add x plugin -- COMMAND", "add", "x", "plugin")
        no(65, "only a plugin has a command", "add", "x", "file", "--", "cat")
        for name in ("", "a\nb", "a/b", "../x", "a?b", "a" * 65, ".x", "ä"):
            no(64, "channel", "add", name, "file")
        no(65, "its settings are agent, order", "add", "x", "file", "--set", "bogus=1")
        no(64, "is not a size", "add", "x", "file", "--set", "rotate=big")
        no(65, "rotate must be a number", "add", "x", "file", "--set", "rotate={}")
        no(65, "rotate must be between", "add", "x", "file", "--set", "rotate=1")
        no(65, "path must be a string", "add", "x", "file", "--set", "path=[]")
        no(64, "KEY=VALUE", "add", "x", "file", "--set", "rotate")
        no(65, "bytes", "add", "x", "plugin", "--set", "x=" + "y" * 70000,
           "--", "cat")
        no(65, "credentials/", "add", "x", "plugin", "--set", "bot_token=s",
           "--", "cat")
        no(65, "credentials/", "add", "x", "plugin", "--", "cat", "--token=s")
        no(65, "must not contain", "add", "x", "webhook", "--set",
           "url=http://u:p@localhost/")
        no(65, "https", "add", "x", "webhook", "--set", "url=x")
        no(65, "needs server and from", "add", "x", "smtp")
        no(65, "already", "add", "there", "file")
        no(64, "nothing to change", "set", "there")
        for verb in ("show", "rm", "enable", "disable", "logs", "test"):
            if verb != "test" or h:
                no(66, "no channel", verb, "nope")
        no(65, "only plugins have a log", "logs", "there")
        assert not list((home.path / "credentials").glob("*x*"))
        rows = home.skep("channel", "ls", "--json").lines
        assert [c["name"] for c in rows if c["name"] != "local"] == ["there"]
    assert "skep up" not in home.skep("channel", "test", "there").err
    h.down()
    assert "skep up" in home.refused(69, "channel", "test", "there")


def test_http_refuses_the_same(home):
    h = host(home)
    for body, words in ((
            {"kind": "pigeon"}, "must be file, webhook"),
            ({"kind": "plugin"}, "needs a command"),
            ({"kind": "plugin", "command": []}, "needs a command"),
            ({"kind": "plugin", "command": "cat"}, "must be an array"),
            ({"kind": "plugin", "command": [""]}, "array of strings"),
            ({"kind": "plugin", "command": ["cat", 7]}, "array of strings"),
            ({"kind": "plugin", "command": ["cat"], "config": []}, "object"),
            ({"kind": "file", "config": {"keep": "x"}}, "keep"),
            ({"kind": "file", "colour": "red"}, "colour")):
        try:
            h.call("PUT", "/v1/channels/x", body)
            raise AssertionError("taken: %s" % body)
        except Refused as e:
            assert e.status in (400, 422) and words in json.dumps(e.body), e
    h.down()


def test_a_plugin_follows_every_word_without_a_restart(home):
    h = host(home)
    python, path = stub(home)
    home.skep("channel", "add", "p", "plugin", "--set", "colour=red", "--",
              python, path)
    first = until(h, "p", "ready")
    assert first["pid"] and first["starts"] == 1
    assert marked(first["id"]) == [first["pid"]]
    # its settings change: it is ended, and started with what it is told now
    home.skep("channel", "set", "p", "--set", "colour=blue")
    lib.eventually(lambda: 'told {"colour": "blue"}' in home.skep(
        "channel", "logs", "p").out, 30, "the new settings")
    log = home.skep("channel", "logs", "p", "--limit", "100").out
    assert log.index("told {\"colour\": \"red\"}") < log.index("bye") < \
        log.index("told {\"colour\": \"blue\"}"), log
    second = until(h, "p", "ready")
    assert second["pid"] != first["pid"] and second["starts"] == 2
    home.skep("channel", "set", "p", "--unset", "colour", "--", python, path,
              "more")
    assert until(h, "p", "ready")["command"][-1] == "more"
    # the same words again change nothing: it goes on
    pid = until(h, "p", "ready")["pid"]
    home.skep("channel", "enable", "p")
    home.skep("channel", "pause", "p")
    home.skep("channel", "resume", "p")
    assert until(h, "p", "ready")["pid"] == pid
    assert home.skep("channel", "disable", "p", "--json").json["state"] is None
    lib.eventually(lambda: not marked(first["id"]), 30, "its end")
    home.skep("channel", "enable", "p")
    until(h, "p", "ready")
    assert home.skep("channel", "test", "p").code == 0
    home.skep("channel", "rm", "p")
    lib.eventually(lambda: not marked(first["id"]), 30, "its end")
    assert "no channel" in home.refused(66, "channel", "show", "p")
    h.down()
    nobody_left(home)


def test_a_test_says_why_it_waits(home):
    h = host(home)
    home.skep("channel", "add", "quick", "plugin", "--", "sh", "-c", "exit 3")
    home.skep("channel", "add", "none", "plugin", "--", "/no/such")
    home.skep("channel", "add", "text", "plugin", "--", "/etc/passwd")
    home.skep("channel", "add", "mute", "plugin", "--", "sleep", "1000")
    home.skep("channel", "add", "term", "pull")
    lib.eventually(lambda: show(h, "quick")["last_error"], 30, "its end")

    def output_of_test(name, *more):
        return home.refused(1, "channel", "test", name, "--timeout", "100ms", *more)
    assert "it ended with status 3" in output_of_test("quick")
    assert "/no/such: No such file" in output_of_test("none")
    assert "/etc/passwd: Permission denied" in output_of_test("text")
    assert "is starting" in output_of_test("mute") and "delivery discard" in output_of_test("mute")
    assert "no client has read it" in output_of_test("term", "--to", "me")
    home.refused(64, "channel", "test", "term")
    home.skep("channel", "pause", "mute")
    assert "is paused" in output_of_test("mute")
    home.skep("channel", "disable", "mute")
    assert "skep channel enable mute" in home.refused(65, "channel", "test",
                                                      "mute")
    assert "it ended with status 3" in home.skep("channel", "logs", "quick").out
    assert "cannot start /no/such" in home.skep("channel", "logs", "none").out
    h.down()
    nobody_left(home)


def test_a_log_is_had_by_http_as_by_command(home):
    h = host(home)
    script = home.dir / "talker.sh"
    script.write_text(r'''i=0; while [ $i -lt 300 ]; do i=$((i + 1))
        printf 'line %d "\303\244 \377\n' $i >&2; done; exec cat''')
    home.skep("channel", "add", "p", "plugin", "--", "/bin/sh", script)
    home.skep("channel", "add", "late", "plugin", "--disabled", "--", "/no/such")
    home.skep("channel", "add", "lines", "file")

    def log(query="", name="p"):
        got = h.call("GET", "/v1/channels/%s/log%s" % (name, query))
        assert got["next"] is None
        return got["items"]
    lib.eventually(lambda: any("line 300 " in x["line"] for x in log()), 30,
                   "its last line")
    (home.path / "logs" / "channel-p.log.1").write_text("older\n" * 2000)

    def same(n, query):
        output = home.skep("channel", "logs", "p", "--limit", str(n), "--json")
        return log(query) == [json.loads(x) for x in output.out.splitlines()]
    for n, query in ((100, ""), (7, "?limit=7"), (1, "?limit=1"),
                     (1000, "?limit=1000")):
        lib.eventually(lambda: same(n, query), 30, "the same %d lines" % n)
        assert len(log(query)) == n
    assert log("?limit=1000")[0] == {"line": "older"}, "over a rotation"
    assert any('"\u00e4' in x["line"] for x in log("?limit=1000"))
    assert log(name="late") == [], "it was never started"
    for status, path in ((400, "p/log?limit=0"), (400, "p/log?limit=1001"),
                         (404, "nobody/log"), (409, "lines/log")):
        try:
            h.call("GET", "/v1/channels/" + path)
            raise AssertionError(path)
        except Refused as why:
            assert why.status == status, why
    h.down()


def test_what_waits_for_a_removed_channel_is_a_dead_letter(home):
    h = host(home)
    home.skep("channel", "add", "p", "plugin", "--", "/no/such")
    home.skep("channel", "add", "other", "plugin", "--", "/no/such")
    for i in range(3):  # one behind the other, and one beside them
        h.call("POST", "/v1/deliveries", {"channel": "p", "conversation": "c",
                                          "body": {"text": "m%d" % i}})
    h.call("POST", "/v1/deliveries", {"channel": "p", "body": {"text": "x"}})
    h.call("POST", "/v1/deliveries", {"channel": "other", "body": {"text": "y"}})
    output = home.skep("channel", "rm", "p").out
    assert "dead letters" in output and "--channel p" in output, output
    dead = lib.eventually(lambda: len(deliveries(h, state="dead")) == 4 and
                          deliveries(h, state="dead"), 30, "four dead letters")
    assert {(d["channel"], d["detail"]) for d in dead} == {
        ("p", "the channel was removed")}
    assert [d["channel"] for d in deliveries(h, state="pending")] == ["other"]
    # without a channel a retry is in vain; with one it is not
    h.call("POST", "/v1/deliveries/%s/retry" % dead[0]["id"])
    lib.eventually(lambda: len(deliveries(h, state="dead")) == 4, 30, "again")
    home.skep("channel", "add", "p", "file")
    first = [d for d in dead if d["body"]["text"] == "m0"][0]
    h.call("POST", "/v1/deliveries/%s/retry" % first["id"])
    lib.eventually(lambda: deliveries(h, state="delivered"), 30, "its delivery")
    # … and to whom it was said, though the conversation went with the channel
    line = (home.path / "logs" / "channel-p.jsonl").read_text()
    assert json.loads(line)["conversation"] == "c", line
    # removed without a supervisor: the next one sees to it
    h.down()
    assert "dead letters" in home.skep("channel", "rm", "other").out
    h.start()
    lib.eventually(lambda: not deliveries(h, state="pending"), 30, "its end")
    h.down()


def test_logs_are_followed_over_a_rotation_until_nobody_reads(home):
    h = host(home)
    script = home.dir / "loud.py"
    script.write_text("import sys\nfor n in range(3):\n"
                      "    for i in range(40000):\n"
                      "        print('line %06d ' % (n * 40000 + i) + 'x' * 40,"
                      " file=sys.stderr)\n" + STUB)
    home.skep("channel", "add", "p", "plugin", "--disabled", "--", "python3",
              str(script))
    assert "has not been started" in home.skep("channel", "logs", "p").out
    with open(home.dir / "seen", "wb") as out:
        follower = home.start(home.bin / "skep", "channel", "logs", "p",
                              "--follow", stdout=out)
        home.skep("channel", "enable", "p")
        until(h, "p", "ready", 60)
        seen = home.dir / "seen"
        lib.eventually(lambda: "line 119999" in seen.read_text(), 60, "all")
        follower.kill()
        follower.wait()
    lines = [x for x in seen.read_text().splitlines() if x.startswith("line")]
    assert lines == ["line %06d " % i + "x" * 40 for i in range(120000)]
    log = home.path / "logs" / "channel-p.log"
    assert log.stat().st_size <= 4 << 20
    assert (home.path / "logs" / "channel-p.log.1").stat().st_size <= 4 << 20
    last = home.skep("channel", "logs", "p", "--limit", "3", "--json").lines
    assert len(last) == 3 and list(last[0]) == ["line"]
    # no reader is left: it ends, although nothing is written
    p = home.start(home.bin / "skep", "channel", "logs", "p", "--follow",
                   stdout=subprocess.PIPE)
    p.stdout.readline()
    p.stdout.close()
    p.wait(lib.HANG)
    h.down()


test_logs_are_followed_over_a_rotation_until_nobody_reads.seconds = 240


def test_a_closed_pipe_and_a_home_that_cannot_be_written(home):
    h = host(home)
    home.skep("channel", "add", "f", "file")
    for verb in ("ls", "show"):
        r = home.run("bash", "-c", "'%s' channel %s %s | true; echo ${PIPESTATUS[0]}"
                     % (home.bin / "skep", verb, "" if verb == "ls" else "f"))
        assert r.out.strip() in ("0", "141") and not r.err, (r.out, r.err)
    h.down()
    as_nobody = []
    if os.getuid() == 0:  # who may write anywhere
        home.run("chown", "-R", "65534:65534", home.dir)
        as_nobody = ["setpriv", "--reuid=65534", "--regid=65534",
                     "--clear-groups"]
    for p in (home.path, home.control.parent):
        p.chmod(0o500)
    for p in home.control.parent.iterdir():
        p.chmod(0o400)
    r = home.run(*as_nobody, home.bin / "skep", "channel", "add", "g", "file",
                 code=None)
    assert r.code in (73, 74, 77) and r.err.count("\n") == 1, (r.code, r.err)
    home.path.chmod(0o700)
    home.control.parent.chmod(0o700)
    assert home.query(home.control, "SELECT name FROM channel ORDER BY 1") == \
        [("f",), ("local",)]


SLOW = r'''
import json, sys, time
def put(**m): print(json.dumps(dict(m, jsonrpc="2.0")), flush=True)
put(method="channel.register", params={"name": "slow", "resolves": True})
for line in sys.stdin:
    m = json.loads(line)
    if m["method"] == "channel.send":
        open(sys.argv[1], "a").write(m["params"]["routing"]["id"] + "\n")
        if len(open(sys.argv[1]).readlines()) == 1: continue  # it never answers
    if "id" in m: put(id=m["id"], result={"delivery": "delivered"})
'''


def test_what_is_under_way_when_its_channel_goes_may_be_answered(home):
    h = host(home)
    script = home.dir / "late.py"
    script.write_text(SLOW.replace("continue  # it never answers",
                                   "time.sleep(0.3)"))
    for i, verb in enumerate(("disable", "set", "rm")):
        sent = home.dir / ("sent%d" % i)
        name = "p%d" % i
        home.skep("channel", "add", name, "plugin", "--set",
                  "paths=" + json.dumps(paths(home)), "--", "python3",
                  str(script), str(sent))
        until(h, name, "ready")
        ident = h.call("POST", "/v1/deliveries", {"channel": name, "body": {
            "text": "x"}})["id"]
        lib.eventually(lambda: sent.exists() and sent.read_text(), 30, "it")
        more = ["--set", "colour=red"] if verb == "set" else []
        home.skep("channel", verb, name, *more)
        row = lib.eventually(lambda: [
            d for d in deliveries(h, channel=name)
            if d["state"] not in ("pending", "sending")], 30, "its end")[0]
        assert (row["id"], row["state"], row["attempts"]) == (
            ident, "delivered", 1), row
    lib.eventually(lambda: show(h, "p1")["starts"] == 2, 30, "a new start")
    assert until(h, "p1", "ready")["config"] == {
        "colour": "red", "paths": paths(home)}
    lib.eventually(lambda: show(h, "p0")["state"] is None, 30, "its end")
    assert "is disabled" in home.refused(65, "channel", "test", "p0")
    h.down()
    nobody_left(home)


def test_what_is_under_way_when_its_channel_goes_is_unknown(home):
    h = host(home)
    script, sent = home.dir / "slow.py", home.dir / "sent"
    script.write_text(SLOW)
    home.skep("channel", "add", "p", "plugin", "--set", "timeout=30s", "--set",
              "paths=" + json.dumps(paths(home)), "--", "python3", str(script),
              str(sent))

    def one(state):
        [d] = lib.eventually(lambda: deliveries(h, state=state), 30, state)
        return d
    h.call("POST", "/v1/deliveries", {"channel": "p", "body": {"text": "x"}})
    lib.eventually(lambda: sent.exists() and sent.read_text(), 30, "a message")
    home.skep("channel", "disable", "p")
    assert one("unknown")["detail"] == "the channel was closed"
    home.skep("channel", "enable", "p")  # it is asked what became of it
    assert one("delivered")["attempts"] == 1
    assert len(sent.read_text().split()) == 1
    sent.unlink()
    h.call("POST", "/v1/deliveries", {"channel": "p", "body": {"text": "y"}})
    lib.eventually(lambda: sent.exists() and sent.read_text(), 30, "a message")
    home.skep("channel", "rm", "p")
    assert one("unknown")["detail"] == "the channel was closed"
    h.down()
    nobody_left(home)


def test_a_message_is_sent_by_command(home):
    r = receiver(home)
    h = host(home)
    webhook(h, "web", r.url)
    picture = home.dir / "a b.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(200000))
    (home.dir / "empty").write_bytes(b"")

    def send(*args, **more):
        return home.skep("delivery", "send", "web", *args, "--json", **more).json
    made = [send("hello", "--to", "ann", "--key", "k1") for _ in range(2)]
    assert [m["changed"] for m in made] == [True, False]
    assert made[0]["id"] == made[1]["id"]
    lines = ".\n\u00e9 \u201cx\u201d\n" * 1000
    send("-", "--set", "subject=s", "--set", "n=7", input=lines)
    send("--attach", picture, "--attach", home.dir / "empty")
    await_deliveries(h, 3, "delivered")
    one, two, three = [m for _, _, m in sorted(r.log, key=lambda x: x[1])]
    assert (one["text"], one["id"]) == ("hello", made[0]["id"])
    assert (two["text"], two["subject"], two["n"]) == (lines, "s", 7)
    assert [(a["name"], a["size"]) for a in three["attachments"]] == \
        [("a b.png", 200008), ("empty", 0)], three
    assert three["attachments"][0]["type"] == "image/png" and "text" not in three
    assert home.skep("delivery", "send", "web", "x").out.endswith(" on channel web\n")
    for code, words, args in (
            (64, "give TEXT", ("web",)), (66, "no channel", ("nope", "x")),
            (66, "nothere", ("web", "x", "--attach", "nothere")),
            (65, "another message", ("web", "other", "--to", "ann", "--key", "k1")),
            (64, "--set", ("web", "--set", "x")), (65, "UTF-8", ("web", "-")),
            (64, "needs a conversation", ("local", "x"))):
        error = home.refused(code, "delivery", "send", *args, input=b"\xff")
        assert words in error, error
    h.down()
    assert "skep up" in home.refused(69, "delivery", "send", "web", "x")


def many_rows(home, channel, n):
    """A channel with so many rows that wait, and that came in."""
    db = sqlite3.connect(home.control)
    with db:
        db.executemany(
            "INSERT INTO conversation (id, channel, peer, thread, kind, agent,"
            " session, last_message_at, created_at) VALUES (?, ?, ?, '', 'direct',"
            " 'main', 's', 1, 1)",
            (("cnv_%026d" % i, channel, "p%d" % i) for i in range(10)))
        db.executemany(
            "INSERT INTO delivery (id, channel, conversation, ordering_key, is_queued, is_next,"
            " state, due_at, created_at, body)"
            " VALUES (?1, ?2, ?3, ?3, ?4 <> 'delivered', ?5, ?4, 1, 1, '{}')",
            (("dlv_%026d" % i, channel, "cnv_%026d" % (i % 10),
              "delivered" if i % 5 == 4 else "pending", i < 10) for i in range(n)))
        db.execute("INSERT INTO inbound (id, channel, external_id, conversation,"
                   " sender, kind, body, state, received_at) SELECT 'inb_' ||"
                   " substr(id, 5), channel, id, conversation, 'x', 'message', '{}',"
                   " 'recorded', 1 FROM delivery")
    db.close()


def test_a_channel_with_very_many_rows_is_removed_bit_by_bit(home):
    h = host(home)
    h.call("PUT", "/v1/channels/big", {"kind": "file"})
    h.call("POST", "/v1/channels/big/pause")
    h.down()
    many_rows(home, "big", 50000)
    h.start()
    output = home.skep("channel", "rm", "big").out
    h.kill()
    assert "big is being removed" in output and "dead letters" in output, output
    row = home.skep("channel", "show", "big", "--json").json
    assert row["state"] == "deleting" and not row["is_enabled"], row
    for args in (("channel", "enable", "big"), ("channel", "add", "big", "file")):
        assert "is being removed" in home.refused(75, *args), args
    h.start()  # goes on where the other was killed
    for method, path, body in (
            ("PUT", "/v1/channels/big", {"kind": "file"}),
            ("PUT", "/v1/channels/big/bindings", {"agent": "main"}),
            ("POST", "/v1/channels/big/resume", {}),
            ("POST", "/v1/deliveries", {"channel": "big", "body": {}})):
        try:
            h.call(method, path, body)
            raise AssertionError("taken: " + path)
        except Refused as e:
            assert e.status == 503 and e.body["retry"], e
    count = lambda sql: home.query(home.control, "SELECT count(*) FROM " + sql)[0][0]
    answered = []  # others are served while the dead letters are made

    def is_gone():
        answered.append(h.call("GET", "/v1/health"))
        return not count("channel WHERE name = 'big'")
    lib.eventually(is_gone, 100, "the end")
    assert len(answered) > 2, answered
    assert not count("delivery WHERE state = 'pending'")
    assert not count("conversation") and not count("inbound")
    assert count("delivery WHERE conversation LIKE '{\"peer\":\"p%'") == 50000
    seen = [json.loads(body)["what"] for body, in home.query(
        home.control, "SELECT body FROM host_event WHERE subject = 'big' AND"
        " kind = 'channel' ORDER BY seq")]
    assert seen[-2:] == ["deleting", "deleted"], seen
    h.call("PUT", "/v1/channels/big", {"kind": "file"})
    h.down()


def test_without_a_supervisor_a_channel_is_removed_at_once(home):
    home.skep("channel", "add", "big", "file")
    many_rows(home, "big", 5000)
    assert "removed channel big" in home.skep("channel", "rm", "big").out
    home.refused(66, "channel", "show", "big")
    assert home.query(home.control, "SELECT count(*) FROM delivery WHERE conversation"
                      " LIKE '{%'") == [(5000,)]
    home.skep("channel", "add", "big", "file")
