"""Generated messages and frames on the workers' socket of a live skepd: every
member of every message missing, null, of each wrong type, empty, huge and with
an invalid word, from a process that has the token of a run; and broken frames.
skepd answers or closes the connection, its log names the member, and it keeps
its descriptors and its runs."""
import hashlib
import json
import os
import pathlib
import random
import re
import signal
import socket
import struct
import time

import lib
from skepd_lib import Host

DEF = pathlib.Path(__file__).resolve().parents[3] / "ipc" / "message.def"
GREETING = b"\0SP\0\0\x30\0\0"
HUGE = "x" * 300_000
NUMBERS = {"MSG_NUMBER": 2 ** 53 - 1, "MSG_PAST": 2 ** 31 - 1}


def messages():
    """{name: (side, [(type, name, needed, max, words)])} of message.def."""
    text = re.sub(r"/\*.*?\*/", "", DEF.read_text(), flags=re.S)
    text = text.replace("\\\n", " ")
    fields = {}
    for line in text.splitlines():
        m = re.match(r"#define MSG_(\w+)\(F, S\)(.*)", line)
        if m:
            rows = re.findall(r'F\(S, (\w+),\s*(\w+),\s*(\w+),\s*(\w+),\s*"(.*?)"\)',
                              m.group(2))
            fields[m.group(1)] = (fields["WHO"] if "MSG_WHO(" in m.group(2)
                                  else []) + rows
    found = {name: (side, fields[of]) for name, of, side in
             re.findall(r"M\((\w+),\s*(\w+),\s*(SIDE_\w+),", text)}
    assert len(found) >= 20 and len(found["hello"][1]) == 6, found
    return found


def valid(kind, words):
    if kind in ("i64", "opt"):
        return 1
    return {} if kind == "json" else words.split("|")[0] or "x"


def wrong(kind, most, words):
    """Values that the table does not allow. json is any value, small enough."""
    if kind == "json":
        return [{"a": HUGE}] if most < len(HUGE) else []
    if kind in ("i64", "opt"):
        return ["x", "", -1, 1.5, most + 1, 1e300, True, [], {}]
    values = [5, 1.5, True, [], {"a": 1}, "x\0y"]
    return values + (["nope", ""] if words else []) + \
        (["x" * (most + 1)] if most < 300_000 else [])


def mutants(name, rows, who):
    """(member, whether it must be refused, message)"""
    good = {r[1]: valid(r[0], r[4]) for r in rows}
    good.update({k: v for k, v in who.items() if k in good}, type=name)
    for kind, member, need, most, words in rows:
        most = NUMBERS.get(most) or int(most)
        for value in wrong(kind, most, words):
            yield member, True, dict(good, **{member: value})
        yield member, need == "NEED", dict(good, **{member: None})
        yield member, need == "NEED", {k: v for k, v in good.items()
                                       if k != member}


def frame(payload, request=1):
    return b"\1" + struct.pack(">QI", len(payload) + 4, request | 1 << 31) + payload


class Link:
    def __init__(self, path, greeting=GREETING):
        self.s = socket.socket(socket.AF_UNIX)
        self.s.settimeout(30)
        self.s.connect(str(path))
        self.s.sendall(greeting)

    def send(self, *pieces):
        try:
            for p in pieces:
                self.s.sendall(p)
        except OSError:
            pass  # it was closed already

    def answer(self):
        """The payload of the next frame; None when the connection ends."""
        got = b""
        try:
            while len(got) < 8 + 9 or \
                    len(got) < 8 + 9 + struct.unpack(">Q", got[9:17])[0]:
                more = self.s.recv(65536)
                if not more:
                    return None
                got += more
        except ConnectionResetError:
            return None
        return json.loads(got[8 + 13:])

    def close(self):
        self.s.close()


def descriptors(d):
    return len(os.listdir("/proc/%d/fd" % d.process.pid))


def steady_descriptors(d):
    """Descriptors once preforked workers are there: the same in a row."""
    seen = []

    def same():
        seen.append(descriptors(d))
        time.sleep(0.2)
        return seen[-5:] == [seen[-1]] * 5
    lib.eventually(same, 60, "a steady number of descriptors")
    return seen[-1]


def held_run(home, d):
    """A run whose worker is stopped, and whose token is ours."""
    d.shell("held", "sleep 1000")
    run = d.submit("held", max_attempts=1)
    row = d.until(run, "running")
    lib.eventually(lambda: d.events("held", run), 30, "its first event")
    os.kill(row["pid"], signal.SIGSTOP)
    d.kill()
    home.execute(home.control, "UPDATE run SET token_hash = ? WHERE id = ?",
                 hashlib.sha256(b"ours").hexdigest(), run)
    d.start()
    return {"run": run, "attempt": 1, "token": "ours"}, row["pid"]


def test_every_message_with_every_wrong_member(home):
    d = Host(home, config={"run": {"heartbeat": "60000ms"}}).start()
    d.shell("beside", "while [ ! -e stop ]; do sleep 0.05; done")
    beside = d.submit("beside")
    d.until(beside, "running")
    who, pid = held_run(home, d)
    at, table = home.path / "run" / "workers.sock", messages()
    before, n, refused = steady_descriptors(d), 0, set()
    for name, (side, rows) in sorted(table.items(),
                                     key=lambda t: t[0] == "finished"):
        for member, must, m in mutants(name, rows, who):
            link = Link(at)
            link.send(frame(json.dumps(m).encode()))
            if must or side == "SIDE_SUPERVISOR":
                got = link.answer()
                assert got is None, (name, member, str(m)[:300], got)
            if must and side == "SIDE_WORKER":
                refused.add((name, member))
            link.close()
            n += 1
    assert n > 700, n
    log = d.log()
    for name, member in refused:
        assert re.search(r"dropped.*\b%s\b" % member, log), (name, member)
    assert d.get(beside)["state"] == "running" and d.process.poll() is None
    lib.eventually(lambda: descriptors(d) <= before + 2, 40, "flat descriptors")
    (home.path / "agents/beside/workspace/stop").touch()
    assert d.until(beside)["state"] == "succeeded"
    os.kill(pid, signal.SIGKILL)
    d.until(who["run"])
    assert d.down() == 0


def broken_frames():
    rnd = random.Random(14)
    whole = frame(json.dumps({"type": "hello", "run": "r"}).encode())
    for i in range(len(GREETING)):  # another protocol or version, or cut off
        yield GREETING[:i] + b"\xff" + GREETING[i + 1:] + whole
        yield GREETING[:i]
    for i in range(1, len(whole)):
        yield GREETING + whole[:i]
    for length in (0, 1, 3, 2 ** 31, 2 ** 32, 2 ** 63, 2 ** 64 - 1):
        yield GREETING + b"\1" + struct.pack(">QI", length, 1 << 31) + b"{}"
    for kind in range(0, 256, 7):
        if kind != 1:
            yield GREETING + bytes([kind]) + whole[1:]
    yield GREETING + b"\1" + struct.pack(">QI", 6, 1) + b"{}"  # forwarded
    for text in (b"", b"{", b"[]", b"null", b"5", b'"x"', b"{}", b"\0" * 40,
                 b"[" * 100_000, b'{"a":' * 100_000, b"\xff\xfe",
                 b'{"type":5}', b'{"type":null}', b'{"type":"nope"}',
                 b'{"type":"hello","type":"ready"}', b'{"type":"hello"}x'):
        yield GREETING + frame(text)
        yield GREETING + frame(text) * 3
    for _ in range(200):
        yield GREETING + rnd.randbytes(rnd.randrange(1, 400))
        yield rnd.randbytes(rnd.randrange(1, 400))


def test_broken_frames_and_greetings(home):
    d = Host(home, config={}).start()
    d.until(d.submit(d.script("a")))
    before, links = steady_descriptors(d), []
    for n, path in enumerate(("workers.sock", "skep.sock")):
        for piece in broken_frames():
            link = Link(home.path / "run" / path, greeting=b"")
            link.send(piece)
            links.append(link)
            if len(links) > 60:
                links.pop(0).close()
    assert d.answers()
    for link in links:
        link.close()
    assert d.process.poll() is None
    lib.eventually(lambda: descriptors(d) <= before + 2, 60, "flat descriptors")
    assert d.until(d.submit("a"))["state"] == "succeeded"
    assert d.down() == 0
