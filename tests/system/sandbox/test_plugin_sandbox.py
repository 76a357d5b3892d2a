"""Plugins run in a sandbox: they read their own files, and neither the control
plane nor the credentials of others, and cannot reach other processes."""
import json
import os
import socket
import sys
import threading

import lib
from channel_lib import post
from plugin_lib import nobody_left, plugin, show, await_last_error, until
from skepd_lib import Refused, cgroups_of, host

# Registers, then answers each message with what its code returns.
PROBE = r'''
import json, os, signal, socket, sys
def put(**m):
    print(json.dumps(dict(m, jsonrpc="2.0")), flush=True)
def attempt(code, names):
    try:
        return eval(code, dict(globals(), **names))
    except Exception as e:
        return type(e).__name__
put(method="channel.register", params={"name": "probe"})
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "channel.configure":
        start = m["params"]
    if m.get("method") == "channel.send":
        result = attempt(m["params"]["content"][0]["body"], {"start": start,
                         "parts": m["params"]["content"]})
        put(id=m["id"], result={"id": json.dumps(result)[:127]})
    elif m.get("method") and "id" in m:
        put(id=m["id"], result={})
'''


def probe(h, **config):
    plugin(h, "p", sys.executable, "-c", PROBE, **dict({"paths": {}}, **config))
    return until(h, "p", "ready")


def ask(h, code, **body):
    """What a Python expression gives in the plugin."""
    ident = h.call("POST", "/v1/deliveries", {
        "channel": "p", "body": dict({"text": code}, **body)})["id"]
    lib.eventually(lambda: h.call("GET", "/v1/deliveries/" + ident)["state"] ==
                   "delivered", 30, "an answer to " + code)
    return json.loads(h.call("GET", "/v1/deliveries/" + ident)["remote_id"])


def read(path):
    return "len(open(%r, 'rb').read())" % str(path)


def test_a_plugin_reads_its_own_files_and_no_others(home):
    h = host(home)
    for name in ("mine", "other"):
        (home.path / "credentials" / name).write_text(name)
    beside, kept = home.dir / "beside", home.dir / "kept"
    for place in (beside, kept):
        place.mkdir()
        (place / "file").write_text("12345")
    probe(h, token_file="mine", paths={"write": [str(kept)]})
    # relative paths begin in the home of skep
    assert ask(h, "open('credentials/mine').read()") == "mine"
    assert ask(h, "os.environ['SKEP_HOME']") == str(home.path)
    assert ask(h, "open(start['config']['paths']['write'][0] + '/file').read()") == "12345"
    assert ask(h, "open(%r, 'w').write('new')" % str(kept / "file")) == 3
    assert (kept / "file").read_text() == "new"
    for path in (home.control, home.path / "credentials" / "other",
                 home.path / "skep.json", home.path / "logs" / "skepd.log",
                 beside / "file"):
        assert ask(h, read(path)) == "FileNotFoundError", path
    assert ask(h, "sorted(os.listdir('credentials'))") in (
        ["mine"], "PermissionError")
    for path in ("credentials/mine", "/etc/skep-test"):
        assert ask(h, "open(%r, 'a').write('x')" % path) in (
            "OSError", "PermissionError"), path
    private = "/tmp/%s.x" % home.dir.name
    assert ask(h, "open(%r, 'w').write('x')" % private) == 1
    assert not os.path.exists(private)
    h.down()
    nobody_left(home)


def test_a_plugin_reaches_neither_skepd_nor_its_socket(home):
    h = host(home)
    row = probe(h)
    assert ask(h, "os.kill(%d, 0)" % h.process.pid) == "ProcessLookupError"
    assert ask(h, "os.path.exists('/proc/%d')" % row["pid"]) is False
    assert ask(h, "socket.socket(socket.AF_UNIX).connect(%r)" %
               str(home.path / "run" / "skep.sock")) == "FileNotFoundError"
    assert ask(h, "os.getpid()") < 100
    h.down()


def serve():
    """A port, and the connections that came to it."""
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    s.listen()
    threading.Thread(target=lambda: s.accept()[0].close(), daemon=True).start()
    return s


def test_a_plugin_has_the_network_unless_its_settings_say_otherwise(home):
    h = host(home)
    server = serve()
    connect = "socket.create_connection(('127.0.0.1', %d), 10) and 1" % \
        server.getsockname()[1]
    probe(h)
    assert ask(h, connect) == 1
    probe(h, network="none")
    assert ask(h, connect) == "ConnectionRefusedError"
    server.close()
    h.down()


def test_attachments_are_files_that_only_their_plugin_sees(home):
    h = host(home)
    probe(h)
    plugin(h, "q", sys.executable, "-c", PROBE, paths={})
    until(h, "q", "ready")
    big = [{"name": "a", "base64": "QUFB"}]
    assert ask(h, "open(parts[1]['metadata']['path']).read()",
               attachments=big) == "AAA"
    [mine] = (home.path / "run" / "media" / show(h, "p")["id"]).glob("*/*")
    other = post(h, "q", read(mine))
    lib.eventually(lambda: h.call("GET", "/v1/deliveries/" + other)["remote_id"],
                   30, "an answer")
    output = h.call("GET", "/v1/deliveries/" + other)["remote_id"]
    assert json.loads(output) == "FileNotFoundError", output
    h.down()


def test_a_program_in_the_home_can_be_started(home):
    h = host(home)
    (home.path / "plugins").mkdir()
    (home.path / "plugins" / "probe.py").write_text(PROBE)
    for word in ("plugins/probe.py", home.path / "plugins" / "probe.py"):
        plugin(h, "p", sys.executable, word, paths={})
        until(h, "p", "ready")
        assert ask(h, read(home.control)) == "FileNotFoundError"
    h.down()


def test_the_settings_of_a_sandbox_are_checked(home):
    h = host(home)
    for config, words in (({"sandbox": "yes"}, "off|on|partial|required"),
                          ({"network": "wifi"}, "network"),
                          ({"paths": {"reed": []}}, "paths.reed"),
                          ({"limits": {"disk": "1G"}}, "limits.disk"),
                          ({"limits": {"runs": 1}}, "limits.runs"),
                          ({"limits": {"memory": 1}}, "limits.memory")):
        try:
            plugin(h, "p", "true", **config)
            raise AssertionError("taken: %s" % config)
        except Refused as e:
            assert e.status in (400, 422) and words in json.dumps(e.body), e.body
    h.down()


def test_what_cannot_start_in_the_sandbox_says_so(home):
    h = host(home)
    script = home.dir / "hidden" / "run.sh"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    plugin(h, "p", "sh", "-c", "exec " + str(script), paths={})
    await_last_error(h, "p", "it ended with status 127")
    plugin(h, "q", "/no/such", paths={})
    await_last_error(h, "q", "No such file or directory in the sandbox")
    plugin(h, "r", "/no/such", sandbox="off")
    await_last_error(h, "r", "cannot start /no/such: No such file or directory")
    assert "sandbox" not in show(h, "r")["last_error"]
    h.down()


def test_limits_of_a_plugin_hold(home):
    h = host(home)
    row = probe(h, limits={"files": 20, "file": 4096})
    assert ask(h, "[open('/dev/null') for i in range(30)] and 1") == "OSError"
    if cgroups_of(row["id"]):
        probe(h, limits={"pids": 8})
        forks = "[os.fork() or os._exit(signal.pause() or 0) for i in range(9)]"
        assert ask(h, forks) == "BlockingIOError"
    h.down()
    nobody_left(home)


def test_no_process_of_a_plugin_outlives_its_shim(home):
    """Not even one without a parent, session or environment of it."""
    h = host(home, cgroup="off")
    escape = ("(lambda r, w: [os.fork() or [os.setsid(), os.fork() and os._exit(0),"
              " os.execve('/bin/sleep', ['sleep', '1000'], {})], os.wait(), 1][2])"
              "(0, 0)")
    row = probe(h)
    assert ask(h, escape) == 1
    shim = int(open("/proc/%d/stat" % row["pid"]).read().rsplit(")", 1)[1].split()[1])

    def below(parent):
        text = open("/proc/%d/task/%d/children" % (parent, parent)).read()
        return [int(p) for p in text.split()]
    init = [p for p in below(shim) if p != row["pid"]]
    escaped = lib.eventually(lambda: [p for i in init for p in below(i)], 30,
                             "the escaped process")
    os.kill(shim, 9)
    lib.eventually(lambda: not os.path.exists("/proc/%d" % escaped[0]), 30,
                   "its end")
    until(h, "p", "ready")
    h.down()
    nobody_left(home)
