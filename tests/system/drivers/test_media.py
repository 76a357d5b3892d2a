"""Attachments: rows by hash, files on demand for as long as they are needed,
limits, and the way through an agent and out on every kind of channel."""
import base64
import hashlib
import json
import os
import sys

import lib
from channel_lib import deliveries, echo, receiver, send_inbound, await_deliveries, webhook
from plugin_lib import paths
from skepd_lib import Host, QUICK, Refused, host
from test_plugins import EXAMPLES, lines
from test_skepd_bad import fill_up, small_disk

PNG = b"\x89PNG\r\n\x1a\n" + b"x" * 100


def b64(data):
    return base64.b64encode(data).decode()


def media(home):
    return home.query(home.control, "SELECT sha256, mime, size FROM media")


def files(home):
    return sorted(p for p in (home.path / "run" / "media").rglob("*") if p.is_file())


def refused(status, h, *args, **more):
    try:
        send_inbound(h, *args, **more)
    except Refused as e:
        assert e.status == status, e
        return e.body["detail"]
    raise AssertionError("taken")


def test_an_attachment_comes_in_and_goes_out_on_every_kind(home):
    r = receiver(home)
    h = host(home)
    webhook(h, "web", r.url, agent="copy")
    h.call("PUT", "/v1/channels/log", {"kind": "file", "config": {
        "path": str(home.dir / "log")}})
    h.call("PUT", "/v1/channels/post", {
        "kind": "plugin", "config": {"outbox": str(home.dir / "out"),
                                     "paths": paths(home)},
        "command": [sys.executable, str(EXAMPLES / "mailbox.py")]})
    code = """
import base64, json, re, sys
prompt = json.loads(sys.stdin.readline())["prompt"]
path = re.search(r": (/.*)\\]$", prompt).group(1)
data = base64.b64encode(open(path, "rb").read()).decode()
for i, to in enumerate(({}, {"channel": "log", "conversation": "c"},
                        {"channel": "post", "conversation": "c"})):
    print(json.dumps({"type": "note", "key": "k%d" % i, "outbox": {
        "target": to, "body": {"text": path, "attachments": [
            {"name": "back.png", "base64": data}]}}}))
"""
    h.agent("copy", "exec", {"command": [sys.executable, "-c", code]})
    send_inbound(h, "web", "see", "m1", attachments=[
        {"name": "my cat]\n'.png", "type": "text/html", "base64": b64(PNG)}])
    rows = {d["channel"]: d for d in await_deliveries(h, 3, "delivered")}
    sha = hashlib.sha256(PNG).hexdigest()
    assert media(home) == [(sha, "image/png", len(PNG))]  # once, for four users
    assert home.query(home.control, "SELECT count(*) FROM media_use") == [(4,)]
    for d in rows.values():
        [a] = d["body"]["attachments"]
        assert (a["sha256"], a["type"], a["name"]) == (sha, "image/png", "back.png")
    [a] = r.log[0][2]["attachments"]
    assert base64.b64decode(a["base64"]) == PNG and a["type"] == "image/png"
    [line] = [json.loads(x) for x in (home.dir / "log").read_text().splitlines()]
    assert line["attachments"][0]["sha256"] == sha
    [m] = lines(home.dir / "out")
    assert m["text"].endswith(b64(PNG)) or PNG.decode("latin1") in m["text"]
    # the name as it was is kept; the file's name is harmless
    assert home.query(home.control, "SELECT name FROM media_use WHERE owner"
                      " LIKE 'inb%'") == [("my cat]\n'.png",)]
    assert r.log[0][2]["text"].endswith("/my_cat___.png")
    h.down()


def test_a_run_with_an_attachment_is_as_confined_as_any(home):
    """Its file is shown inside what is covered twice: the home, below /tmp."""
    h = host(home)
    (home.dir / "secret").write_text("not for runs")
    h.agent("look", "exec", {"stdin": "text", "shell":
            r"""cat %s/secret; sed -n 's/.*: \(.*\)\]$/\1/p' | xargs -r cat"""
            % home.dir})
    h.call("PUT", "/v1/channels/t", {"kind": "pull", "config": {"agent": "look"}})
    output = {}
    for name, more in (("without", []), ("with", [
            {"name": "a b", "base64": b64(b"in a file")}])):
        got = send_inbound(h, "t", "x", name, attachments=more)
        run = h.call("GET", "/v1/inbound/" + got["id"])["run"]
        h.until(run, "succeeded")
        output[name] = h.events("look", run)
    lacks = {n: [b for _, kind, b in e if kind == "status"] for n, e in output.items()}
    assert lacks["with"] == lacks["without"], lacks
    texts = [b.get("text") for _, kind, b in output["with"] if kind == "output"]
    assert "".join(texts) == "in a file", texts
    h.down()


def test_files_are_there_when_the_run_begins_and_until_it_ends(home):
    h = Host(home, dict(QUICK, channel={"media_age": "1s"})).start()
    gate = home.path / "agents" / "wait" / "workspace" / "gate"
    h.agent("wait", "exec", {"stdin": "text", "shell":
            r"""p=$(sed -n 's/.*: \(.*\)\]$/\1/p'); while [ ! -e gate ];"""
            r""" do sleep 0.05; done; cat $p"""})
    h.call("PUT", "/v1/channels/t", {"kind": "pull", "config": {"agent": "wait"}})
    for i in range(2):  # the second one waits in line for the first
        send_inbound(h, "t", "see", "m%d" % i, attachments=[
            {"name": "a", "base64": b64(b"text %d" % i)}])
    one, two = sorted(h.call("GET", "/v1/inbound")["items"],
                      key=lambda m: m["external_id"])
    first, second = one["run"], two["run"]
    h.until(first, "running")
    # nothing needs the second file yet: gc removes it, the first one stays
    lib.eventually(lambda: [p.parent.name for p in files(home)] == [one["id"]],
                   30, "the gc")
    h.kill()
    h.start()
    gate.touch()
    h.until(first, "succeeded")
    h.until(second, "succeeded")
    output = await_deliveries(h, 2, "pending")
    assert sorted(d["body"]["text"] for d in output) == ["text 0", "text 1"]
    lib.eventually(lambda: not files(home), 30, "the last gc")
    h.down()


def test_what_a_crash_left_is_collected(home):
    h = Host(home, dict(QUICK, channel={"media_age": "1s"})).start()
    echo(h)
    h.call("PUT", "/v1/channels/t", {"kind": "pull", "config": {"agent": "echo"}})
    send_inbound(h, "t", "x", "m1", attachments=[{"name": "a", "base64": "QUFB"}])
    [path] = files(home)
    h.kill()
    (path.parent / ".new-half").write_bytes(b"x")  # killed while writing one
    other = home.path / "run" / "media" / "mine"
    other.mkdir()
    (other / "kept").write_bytes(b"x")  # not ours
    h.start()
    lib.eventually(lambda: files(home) == [other / "kept"], 30, "the gc")
    assert not path.parent.exists()
    h.down()


def test_limits_of_one_of_a_message_and_of_the_home(home):
    h = Host(home, dict(QUICK, channel={"media_total": 5000})).start()
    echo(h)
    for name in ("t", "u"):
        h.call("PUT", "/v1/channels/" + name, {"kind": "pull", "config": {
            "agent": "echo", "media_max": 1000, "media_sum": 2500}})

    def some(*sizes, fill=b"x"):
        return [{"name": "a%d" % i, "base64": b64(fill * (n // len(fill)))}
                for i, n in enumerate(sizes)]
    refused(413, h, "t", "x", "one", attachments=some(1001))
    assert "media_sum" in refused(413, h, "t", "x", "all",
                                  attachments=some(900, 901, 902))
    assert media(home) == []  # refused as a whole
    send_inbound(h, "t", "x", "m1", attachments=some(1000, 999, 400))
    send_inbound(h, "u", "x", "m2", attachments=some(1000, 999, 400))  # the same: no more
    assert sorted(size for _, _, size in media(home)) == [400, 999, 1000]
    send_inbound(h, "t", "x", "m3", attachments=some(1000, 1000, fill=b"y")[:1] +
        some(1000, fill=b"z"))
    error = refused(507, h, "t", "x", "m4", attachments=some(800, fill=b"w"))
    assert "channel.media_total" in error and "skep channel rm" in error
    send_inbound(h, "t", "x", "m5")  # a message without any comes in
    h.kill()
    h.start()
    refused(507, h, "t", "x", "m6", attachments=some(800, fill=b"w"))
    h.call("DELETE", "/v1/channels/t")
    lib.eventually(lambda: len(media(home)) == 3, 30, "the end of two")
    send_inbound(h, "u", "x", "m7", attachments=some(800, fill=b"w"))
    h.down()


def test_only_runs_with_attachments_are_told_of_them(home):
    h = host(home)
    echo(h)
    h.call("PUT", "/v1/channels/t", {"kind": "pull", "config": {"agent": "echo"}})
    send_inbound(h, "t", "x", "m1")
    send_inbound(h, "t", "x", "m2", attachments=[{"name": "a", "base64": "QUFB"}])
    await_deliveries(h, 2, "pending")
    seen = [json.loads(o) for o, in home.query(
        home.control, "SELECT options FROM run_input ORDER BY run")]
    # others may be given to a worker that waits (docs/ARCHITECTURE.md)
    assert ["media" in o for o in seen] == [False, True], seen
    assert all(o["reply"]["channel"] == "t" for o in seen)
    assert len(deliveries(h)) == 2
    h.down()


def test_what_was_rolled_back_takes_no_room_of_the_quota(home):
    mount = small_disk(home)
    h = Host(home, dict(QUICK, channel={"media_total": 400000})).start()
    h.call("PUT", "/v1/channels/t", {"kind": "pull"})

    def bring(i):
        try:
            send_inbound(h, "t", "x", "m%d" % i, attachments=[
                {"name": "a", "base64": b64(b"%06d" % i * 15000)}])
        except Refused as e:
            return e.status
    fill_up(mount)
    seen = [bring(i) for i in range(12)]
    assert set(seen) <= {None, 500, 507} and seen[-1], seen
    os.unlink(mount / "fill")
    taken = lib.eventually(lambda: bring(99) is None, 10, "room for one more")
    assert taken and len(media(home)) == 1 + seen.count(None)
    h.down()
