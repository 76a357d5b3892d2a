"""A plugin that behaves badly: bad_plugin.py MODE DIR. In DIR it keeps a line
for each start and each message, holds a lock that no other process may have, and is
bad until there is a file `good`."""
import fcntl
import json
import os
import pathlib
import signal
import sys
import time

mode, place = sys.argv[1], pathlib.Path(sys.argv[2])


def note(name, text):
    with open(place / name, "a") as f:
        f.write(text + "\n")


def put(**m):
    sys.stdout.write(json.dumps(dict(m, jsonrpc="2.0")) + "\n")
    sys.stdout.flush()


def raw(data):
    os.write(1, data)


def sleep_on():
    while True:
        time.sleep(1000)


def stubborn():
    for s in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE):
        signal.signal(s, signal.SIG_IGN)


def daemon():
    """A grandchild in a session of its own, which has no parent."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            stubborn()
            sleep_on()
        os._exit(0)
    os.wait()


def escape(*command):
    """A grandchild with nothing that tells whose it is: neither parent nor
    session nor environment, and no file but the lock. It does not listen."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            stubborn()
            null = os.open(os.devnull, os.O_RDWR)
            for fd in range(3):
                os.dup2(null, fd)
            note("escaped", "%d" % os.getpid())
            os.execve(command[0], command, {})
        os._exit(0)
    os.wait()


# Every few milliseconds it is another process, each with a line of its own.
RUNNER = """
import os, sys, time
log = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
while True:
    os.write(log, b"%d\\n" % os.getpid())
    if os.fork():
        os._exit(0)
"""


def storm():
    """Sixty at a time, which end at once, until we are ended: with a limit."""
    stubborn()
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for _ in range(60):
            if os.fork() == 0:
                time.sleep(0.02)
                os._exit(0)
        note("storms", "60")
        for _ in range(60):
            os.wait()

lock = open(place / "lock", "w")
os.set_inheritable(lock.fileno(), True)
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    note("two", "%d" % os.getpid())
note("starts", "%f %d" % (time.monotonic(), os.getpid()))
good = (place / "good").exists()
if mode == "stubborn" and not good:
    stubborn()
    daemon()
if mode.startswith("escape") and not good:
    escape("/bin/sleep", "1000")
if mode == "run away" and not good:
    escape(sys.executable, "-c", RUNNER, str(place / "runs"))
if not good:
    if mode == "exit":
        sys.exit(3)
    if mode == "mute":
        sleep_on()
    if mode == "wrong register":
        put(id=1, method="channel.register", params={"name": 7})
        sleep_on()
put(method="channel.register", params={
    "name": "bad", "idempotent": "once" not in mode})


def misbehave(m):
    """What it does instead of an answer to channel.send."""
    if mode in ("die", "escape and die"):
        os._exit(3)
    if mode == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if mode in ("hang", "stubborn"):
        sleep_on()
    if mode == "storm":
        storm()
    if mode == "nonsense":
        for i in range(500):
            raw(b"\x01{nonsense\n")
    if mode == "flood":
        while True:
            put(method="channel.event", params={"event": "x" * 1000})
    if mode == "flood of bytes":
        while True:
            raw(b'{"jsonrpc":"2.0","id":77,"result":{"t":"' +
                b"x" * (1 << 20) + b'"}}\n')
    if mode == "flood of stderr":
        put(id=m["id"], result={})
        while True:
            os.write(2, b"y" * 65536 + b"\n")
    if mode == "long line":
        for i in range(1600):
            raw(b"x" * 65536)
        sleep_on()
    if mode == "values":
        raw(b'{"jsonrpc":"2.0","id":9,"result":[' + b"0," * (15 << 20) + b"0]}\n")
        put(id=m["id"], result={})
    if mode == "half line":
        raw(b'{"jsonrpc":"2.0","id":%d,"resu' % m["id"])
        os._exit(0)
    if mode == "daemon":
        daemon()
        os._exit(1)
    if mode == "close output":
        os.close(1)
        sleep_on()
    if mode == "close input":
        os.close(0)
        put(id=m["id"], result={})
        sleep_on()
    if mode == "close both":
        os.close(0)
        os.close(1)
        sleep_on()
    if mode == "no reading":
        put(id=m["id"], result={})
        sleep_on()
    if mode == "slow":
        (place / "good").touch()
        time.sleep(3)
        put(id=m["id"], result={})
    if mode.startswith("late"):
        time.sleep(0.8)
        put(id=m["id"], result={"id": "late"})
    if mode == "twice":
        put(id=m["id"], result={"id": "first"})
        put(id=m["id"], result={"id": "second"})
        put(id=m["id"], error={"code": 1, "message": "third"})
    if mode == "refuse":
        put(id=m["id"], error={"code": 7, "message": "no such user",
                               "data": {"permanent": True}})
    if mode == "hold":
        put(id=m["id"], error={"code": 8, "message": "slow down", "data": {
            "retry_after_ms": 600}})
        (place / "good").touch()
    if mode == "odd results":
        put(id=str(m["id"]), result={"id": 7, "ok": "yes"})
    if mode == "odd errors":
        put(id=m["id"], error={"code": "x", "message": ["y"], "data": {
            "permanent": "z", "retry_after_ms": 10 ** 15}})
        (place / "good").touch()
    if mode == "long words":
        put(id=m["id"], error={"code": 1, "message": "\u20ac" * 1000,
                               "data": {"permanent": True}})


for line in sys.stdin:
    m = json.loads(line)
    method = m.get("method")
    if method == "channel.send":
        note("sent", m["params"]["routing"]["id"])
        if not good and not (place / "good").exists():
            misbehave(m)
            continue
    if not good and method == "channel.configure":
        if mode == "no configure":
            continue
        if mode == "refuse configure":
            put(id=m["id"], error={"code": 1, "message": "what is 'colour'?"})
            continue
    if not good and method == "channel.status" and mode == "no status":
        continue
    if method == "channel.stop" and mode == "stop":
        note("stopped", "%f" % time.monotonic())
        sys.stderr.write("tidying up\n")
        time.sleep(0.3)
        note("tidied", "%f" % time.monotonic())
    if method and "id" in m:
        put(id=m["id"], result={"ok": True})
if mode == "stop":
    time.sleep(0.3)
    note("end of input", "%f" % time.monotonic())
