"""Channels that are programs of others: the examples work, and whatever a
plugin does, it is replaced, there are never two, and others go on."""
import json
import os
import pathlib
import signal
import sys
import time

import lib
from channel_lib import deliveries, post, receiver, webhook
from plugin_lib import delivered, plugin, processes
from skepd_lib import Host, host

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "examples"


def echo(h):
    return h.agent("echo", "exec", {"shell": "cat", "stdin": "text"})


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()] \
        if path.exists() else []


# -- the examples


def test_the_python_example_brings_and_sends(home):
    h = host(home)
    echo(h)
    inbox, outbox = home.dir / "in", home.dir / "out"
    inbox.write_text('{"id":"1","from":"ann","text":"hello"}\n')
    plugin(h, "post", sys.executable, EXAMPLES / "mailbox.py", agent="echo",
           inbox=str(inbox), outbox=str(outbox))
    lib.eventually(lambda: lines(outbox), 20, "a reply")
    [m] = lines(outbox)
    assert (m["to"], m["text"]) == ("ann", "hello")
    # the cursor is kept: a new process brings nothing twice
    [pid] = processes(h, "post")
    os.kill(pid, signal.SIGKILL)
    with open(inbox, "a") as f:
        f.write('{"id":"2","from":"ann","text":"again"}\n')
    lib.eventually(lambda: len(lines(outbox)) == 2, 20, "the second reply")
    assert len(h.call("GET", "/v1/inbound")["items"]) == 2
    assert pid not in processes(h, "post")
    h.down()
    assert not [p for p in home._survivors() if not Host.is_zombie(p)]


def test_the_shell_example_brings_and_sends(home):
    h = host(home)
    echo(h)
    drop = home.dir / "drop"
    (drop / "in").mkdir(parents=True)
    (drop / "in" / "bob").write_text('say "hi"')
    plugin(h, "drop", "sh", EXAMPLES / "dropbox.sh", agent="echo", dir=str(drop))
    lib.eventually(lambda: list((drop / "out").glob("*")), 20, "a reply")
    [out] = (drop / "out").glob("*")
    envelope = json.loads(out.read_text())["params"]
    assert envelope["routing"]["recipient_id"] == "bob"
    assert envelope["content"][0]["body"] == 'say "hi"'
    lib.eventually(lambda: not list((drop / "in").glob("*")), 10, "a receipt")
    assert processes(h, "drop")
    h.call("POST", "/v1/channels/drop/disable")
    lib.eventually(lambda: not processes(h, "drop"), 10, "its end, with its tree")
    assert len(h.call("GET", "/v1/inbound")["items"]) == 1
    h.down()


def test_a_plugin_is_added_switched_and_removed_without_a_restart(home):
    h = host(home)
    out = home.dir / "out"
    plugin(h, "post", sys.executable, EXAMPLES / "mailbox.py", outbox=str(out))
    post(h, "post", "one")
    delivered(h, 1)
    h.call("POST", "/v1/channels/post/disable")
    lib.eventually(lambda: not processes(h, "post"), 10, "its end")
    home.skep("channel", "enable", "post")
    post(h, "post", "two")
    delivered(h, 2)
    assert len(processes(h, "post")) == 1
    home.skep("channel", "rm", "post")
    assert [m["text"] for m in lines(out)] == ["one", "two"]
    h.down()


def test_hiro_requests_are_answered(home):
    h = host(home)
    out = home.dir / "out"
    script = home.dir / "device.py"
    script.write_text(r'''
import json, sys
def put(**m): print(json.dumps(dict(m, jsonrpc="2.0")), flush=True)
def ask(n, method, params):
    put(method="channel.receive", params={"version": "0.1",
        "message_type": "request", "request_id": "r%d" % n,
        "routing": {"id": "q%d" % n, "channel": "devices", "direction": "inbound",
                    "sender_id": "phone", "metadata": {"channel_id": "7"}},
        "content": [{"content_type": "json", "body": json.dumps(
            {"method": method, "params": params})}]})
put(method="channel.register", params={"name": "devices", "version": "1"})
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "channel.configure":
        put(id=m["id"], result={"ok": True})
        put(method="channel.receive", params={"version": "9.9",
            "message_type": "message", "routing": {}, "content": []}, id=5)
        put(method="channel.receive", params={"id": "m1", "sender": "phone",
            "conversation": "7", "text": "hello"})
        ask(1, "channels.list", {})
        ask(2, "messages.history", {"channel_id": "7"})
        ask(3, "self.destruct", {})
    elif m.get("method") == "channel.send":
        open(sys.argv[1], "a").write(json.dumps(m["params"]) + "\n")
        put(id=m["id"], result={"ok": True, "id": "p-%d" % m["id"]})
    elif m.get("id") == 5:
        open(sys.argv[1], "a").write(json.dumps(m) + "\n")
''')
    echo(h)
    plugin(h, "devices", sys.executable, script, out, agent="echo")
    lib.eventually(lambda: len(lines(out)) >= 5, 20, "five answers")
    got = lines(out)
    refused = [m for m in got if "error" in m]
    assert "version" in refused[0]["error"]["message"], refused
    answers = {m["request_id"]: json.loads(m["content"][0]["body"])
               for m in got if m.get("message_type") == "response"}
    assert answers["r1"]["data"]["channels"][0]["id"] == "7"
    assert answers["r2"]["data"]["messages"][0]["body"] == "hello"
    assert answers["r3"]["error"]["code"] == "method_not_found"
    rows = deliveries(h, state="delivered")
    assert all(d["ref"].startswith("p-") for d in rows), rows
    h.down()


# -- plugins that behave badly

BAD = r'''
import json, os, sys, time
mode, mark = sys.argv[1], sys.argv[2]
def put(**m): print(json.dumps(dict(m, jsonrpc="2.0")), flush=True)
with open(mark, "a") as f: f.write("%d\n" % os.getpid())
starts = len(open(mark).readlines())
if mode == "mute": time.sleep(1000)
put(method="channel.register", params={"name": "bad", "idempotent": True})
for line in sys.stdin:
    m = json.loads(line)
    if m["method"] != "channel.send" or starts > 1:
        if m["method"] == "channel.send":
            open(mark + ".sent", "a").write(m["params"]["routing"]["id"] + "\n")
        if "id" in m: put(id=m["id"], result={"ok": True})
        continue
    if mode == "die": os._exit(3)
    if mode == "hang":
        while True: time.sleep(1000)
    if mode == "garbage":
        for i in range(500): print("\x01{nonsense", flush=True)
    if mode == "flood":
        while True: put(method="channel.event", params={"event": "x" * 1000})
    if mode == "long":
        while True: sys.stdout.write("x" * 65536)
    if mode == "fork":
        for i in range(5):
            if os.fork() == 0:
                os.setsid()
                time.sleep(1000)
        os._exit(1)
    if mode == "refuse":
        put(id=m["id"], error={"code": 7, "message": "no such user",
                               "data": {"permanent": True}})
'''


def bad(home, mode):
    """A bad plugin and a good channel beside it: both deliver in the end."""
    r = receiver(home)
    h = host(home)
    script, mark = home.dir / "bad.py", home.dir / "mark"
    script.write_text(BAD)
    webhook(h, "good", r.url)
    plugin(h, "bad", sys.executable, script, mode, mark, timeout=600)
    ident = post(h, "bad", "x")
    for i in range(10):
        post(h, "good", "g%d" % i, "c%d" % i)
    delivered(h, 10, channel="good")
    return h, ident, mark


def recovers(home, mode):
    h, ident, mark = bad(home, mode)
    delivered(h, 1, channel="bad")
    sent = pathlib.Path(str(mark) + ".sent").read_text().split()
    assert sent == [ident], sent
    assert len(processes(h, "bad")) == 1, "never two"
    assert h.call("GET", "/v1/channels/bad")["trouble"]
    h.down()
    assert not [p for p in home._survivors() if not Host.is_zombie(p)]


def test_a_plugin_that_dies_is_started_again(home):
    recovers(home, "die")


def test_a_plugin_that_hangs_is_replaced(home):
    recovers(home, "hang")


def test_a_plugin_that_talks_garbage_is_replaced(home):
    recovers(home, "garbage")


def test_a_plugin_that_leaves_children_leaves_none(home):
    recovers(home, "fork")


def test_a_plugin_that_floods_hurts_nobody(home):
    h, ident, mark = bad(home, "flood")
    began = time.monotonic()
    for i in range(20):
        h.call("GET", "/v1/health")
    assert time.monotonic() - began < 5
    h.call("DELETE", "/v1/channels/bad")
    h.down()
    assert not [p for p in home._survivors() if not Host.is_zombie(p)]


def test_a_plugin_that_is_mute_or_missing_is_trouble_only(home):
    h = host(home)
    plugin(h, "none", "/no/such/program")
    lib.eventually(lambda: "cannot start" in (h.call(
        "GET", "/v1/channels/none")["trouble"] or ""), 10, "trouble")
    h.call("GET", "/v1/health")
    h.down()


def test_a_plugin_that_never_registers_is_ended_and_said(home):
    h = host(home)
    marks = home.dir / "starts"
    plugin(h, "mute", "/bin/sh", "-c", "echo x >>'%s'; sleep 1000 & exec sleep 1000"
           % marks)
    lib.eventually(lambda: marks.exists(), 30, "its start")
    [pid] = [p for p in lib.eventually(lambda: processes(h, "mute"), 30, "it")][:1]
    trouble = lib.eventually(lambda: h.call(
        "GET", "/v1/channels/mute")["trouble"], 40, "trouble")
    assert "regist" in trouble, trouble
    lib.eventually(lambda: len(marks.read_text().split()) > 1, 40, "a new start")
    assert pid not in processes(h, "mute"), "the first one is gone"
    h.call("DELETE", "/v1/channels/mute")
    h.down()
    assert not [p for p in home._survivors() if not Host.is_zombie(p)]


test_a_plugin_that_never_registers_is_ended_and_said.seconds = 150


def test_a_permanent_refusal_of_a_plugin_ends_it(home):
    h, ident, mark = bad(home, "refuse")
    [d] = lib.eventually(lambda: deliveries(h, state="dead"), 10, "its death")
    assert (d["code"], d["detail"], d["attempts"]) == (7, "no such user", 1)
    h.down()


def test_the_plugin_of_a_killed_supervisor_is_gone_before_the_next_one(home):
    h = host(home)
    out = home.dir / "out"
    plugin(h, "post", sys.executable, EXAMPLES / "mailbox.py", outbox=str(out))
    post(h, "post", "one")
    delivered(h, 1)
    [pid] = processes(h, "post")
    os.kill(pid, signal.SIGSTOP)  # it will not see the end of its input
    h.kill()
    h.start()
    post(h, "post", "two")
    delivered(h, 2)
    assert pid not in processes(h, "post") and len(processes(h, "post")) == 1
    h.down()
