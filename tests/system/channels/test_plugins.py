"""Channels that are programs of others: the examples work, and what goes between
them and skepd is as the document says."""
import json
import os
import pathlib
import signal
import subprocess
import sys

import lib
from channel_lib import deliveries, post
from plugin_lib import delivered, paths, plugin, processes
from skepd_lib import Host, host

ROOT = pathlib.Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "docs/examples"


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
    inbox.write_text('{"id":"1","sender":"ann","text":"hello"}\n')
    plugin(h, "post", sys.executable, EXAMPLES / "mailbox.py", agent="echo",
           inbox=str(inbox), outbox=str(outbox))
    lib.eventually(lambda: lines(outbox), 20, "a reply")
    [m] = lines(outbox)
    assert (m["to"], m["text"]) == ("ann", "hello")
    # the cursor is kept: a new process brings nothing twice
    [pid] = processes(h, "post")
    os.kill(pid, signal.SIGKILL)
    with open(inbox, "a") as f:
        f.write('{"id":"2","sender":"ann","text":"again"}\n')
    lib.eventually(lambda: len(lines(outbox)) == 2, 20, "the second reply")
    assert len(h.call("GET", "/v1/inbound")["items"]) == 2
    assert pid not in processes(h, "post")
    h.down()
    assert not [p for p in home._survivors() if not Host.is_zombie(p)]


def test_any_body_of_a_message_reaches_a_plugin(home):
    """Without "json" it is no response to a request, whatever it is called."""
    h = host(home)
    outbox = home.dir / "out"
    plugin(h, "post", sys.executable, EXAMPLES / "mailbox.py", agent="echo",
           outbox=str(outbox))
    bodies = [{"request_id": "x"}, {"request_id": "x", "text": "t"},
              {"request_id": "x", "json": None}, {"json": 1}, {"request_id": 5}]
    for body in bodies:
        h.call("POST", "/v1/deliveries", {"channel": "post", "body": body})
    delivered(h, len(bodies), channel="post")
    h.down()


def test_what_comes_while_skepd_goes_down_is_brought_again(home):
    h = host(home)
    echo(h)
    h.agent("slow", "exec", {"shell": "sleep 120"})
    inbox, outbox = home.dir / "in", home.dir / "out"
    plugin(h, "post", sys.executable, EXAMPLES / "mailbox.py", agent="echo",
           inbox=str(inbox), outbox=str(outbox))
    run = h.submit("slow")
    lib.eventually(lambda: h.get(run)["state"] == "running", 30, "a run")
    lib.eventually(inbox.exists, 30, "the plugin")
    down = subprocess.Popen([h.home.bin / "skep", "down"],
                            env=dict(os.environ, SKEP_HOME=str(home.path)))
    lib.eventually(lambda: home.skep("status", "--json").json["stopping"],
                   30, "the end in sight")
    with open(inbox, "a") as f:
        f.write('{"id":"1","sender":"ann","text":"hello"}\n')
    lib.eventually(lambda: "shutting down" in h.log(), 30, "a refusal")
    home.skep("cancel", run)
    h.process.wait(lib.HANG)
    assert down.wait(lib.HANG) == 0
    h.start()
    lib.eventually(lambda: lines(outbox), 30, "a reply")
    h.down()


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
            "conversation": "7", "text": "hello",
            "attachments": [{"name": "a", "base64": "QUFB"}]})
        ask(1, "channels.list", {})
        ask(2, "messages.history", {"channel_id": "7"})
        ask(3, "self.destruct", {})
        ask(4, "messages.history", {})
    elif m.get("method") == "channel.send":
        open(sys.argv[1], "a").write(json.dumps(m["params"]) + "\n")
        put(id=m["id"], result={"ok": True, "id": "p-%d" % m["id"]})
    elif m.get("id") == 5:
        open(sys.argv[1], "a").write(json.dumps(m) + "\n")
''')
    echo(h)
    plugin(h, "devices", sys.executable, script, out, agent="echo")
    lib.eventually(lambda: len(lines(out)) >= 6, 60, "six answers")
    got = lines(out)
    refused = [m for m in got if "error" in m]
    assert "version" in refused[0]["error"]["message"], refused
    answers = {m["request_id"]: json.loads(m["content"][0]["body"])
               for m in got if m.get("message_type") == "response"}
    assert answers["r1"]["data"]["channels"][0]["id"] == "7"
    [output] = answers["r2"]["data"]["messages"]
    assert (output["id"], output["role"], output["body"]) == ("m1", "user", "hello")
    assert output["attachments"][0]["size"] == 3, output
    assert answers["r4"]["error"]["code"] == "invalid_params"
    assert answers["r3"]["error"]["code"] == "method_not_found"
    rows = deliveries(h, state="delivered")
    assert all(d["remote_id"].startswith("p-") for d in rows), rows
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


TELEGRAPH = """
import json, sys
def put(**m):
    print(json.dumps(dict(m, jsonrpc="2.0")), flush=True)
put(method="channel.register", params={"name": "telegraph"})
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") in ("channel.event", "channel.send"):
        print(line.strip(), file=open(m_log, "a"), flush=True)
    if m.get("method") == "channel.configure":
        m_log = m["params"]["config"]["log"]
    if m.get("method") and "id" in m:
        put(id=m["id"], result={})
    if m.get("method") == "channel.configure":
        def bring(ident, kind, **more):
            put(method="channel.receive", params=dict({
                "version": "0.1", "message_type": kind, "routing": {
                    "id": ident, "channel": "x", "direction": "inbound",
                    "sender_id": "ann"}}, **more))
        for _ in range(2):
            bring("m1", "message", content=[{"content_type": "text", "body": "hi"}])
            for name in ("transcribed", "voiced"):
                bring("e-" + name, "event", content=[], event={
                    "type": "message." + name, "ref_id": "m1", "data": {"n": 1}})
"""


def test_a_receipt_comes_before_the_agent_is_done_and_events_are_noted(home):
    h = host(home)
    gate = home.path / "agents" / "wait" / "workspace" / "gate"
    h.agent("wait", "exec", {"stdin": "text", "shell":
            "while [ ! -e gate ]; do sleep 0.05; done; cat"})
    log = home.dir / "log"
    h.call("PUT", "/v1/channels/x", {
        "kind": "plugin", "config": {"log": str(log), "agent": "wait",
                                     "paths": paths(home)},
        "command": [sys.executable, "-c", TELEGRAPH]})

    def receipts():
        return lines(log) if log.exists() else []
    # each of the three twice, and each gets its receipt both times
    got = lib.eventually(lambda: len(receipts()) == 6 and receipts(), 60, "six receipts")
    assert [m["params"]["event"] for m in got] == ["message.received"] * 6
    refs = [m["params"]["data"]["ref_id"] for m in got]
    assert refs == ["m1", "e-transcribed", "e-voiced"] * 2, refs
    [run] = h.call("GET", "/v1/runs?agent=wait")["items"]
    assert run["state"] not in ("succeeded", "failed"), run
    rows = {m["external_id"]: m for m in h.call("GET", "/v1/inbound")["items"]}
    assert {k: m["state"] for k, m in rows.items()} == {
        "m1": "queued", "e-transcribed": "recorded", "e-voiced": "recorded"}
    assert rows["e-voiced"]["body"]["event"] == {
        "type": "message.voiced", "ref_id": "m1", "data": {"n": 1}}
    lib.eventually(gate.parent.exists, 30, "the workspace")
    gate.touch()
    lib.eventually(lambda: len(receipts()) == 7, 60, "the answer")
    assert receipts()[6]["method"] == "channel.send"
    h.down()
