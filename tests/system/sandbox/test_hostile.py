"""Hostile or dead peers on the workers' socket: no other peer is affected."""
import json
import os
import socket
import struct
import threading
import time

import lib
from skepd_lib import Host

GREETING = b"\0SP\0\0\x30\0\0"
STEADY = [{"event": {"type": "note", "text": "n"}, "repeat": 40, "every_ms": 20}]


def dial(home):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(5)
    s.connect(str(home.path / "run" / "workers.sock"))
    return s


def frame(body, request=1):
    if isinstance(body, dict):
        body = json.dumps(body).encode()
    return (b"\1" + struct.pack(">Q", len(body) + 4) +
            struct.pack(">I", request | 1 << 31) + body)


def steady(host):
    host.script("steady", *STEADY)
    return host.submit("steady")


def well(host, run):
    row = host.until(run)
    assert row["state"] == "succeeded" and row["attempt"] == 1, row
    assert len(host.notes("steady", run)) == 40
    assert host.down() == 0
    host.check_books()


def test_garbage_is_hung_up_on(home):
    host = Host(home).start()
    run = steady(host)
    for junk in (b"GET / HTTP/1.1\r\n\r\n", GREETING[:3], os.urandom(64),
                 GREETING + os.urandom(200), GREETING + frame(b"not json"),
                 GREETING + frame(b"{}"), GREETING + frame(b"[" * 100000),
                 GREETING + frame({"type": "cancel", "id": 1, "reason": "",
                                   "grace_ms": 1}),
                 GREETING + b"\1" + b"\x7f" + b"\xff" * 7,
                 GREETING + frame(b"x" * 300000)):
        s = dial(home)
        try:
            s.sendall(junk)
            s.shutdown(socket.SHUT_WR)
            while s.recv(4096):
                pass
        except OSError:
            pass
        s.close()
    well(host, run)


def test_a_flood_delays_nobody(home):
    host = Host(home).start()
    run = steady(host)
    over = threading.Event()
    sent = [0]

    def flood():
        body = frame({"type": "heartbeat", "run": run, "attempt": 1,
                      "token": "guess", "phase": "running", "seq": 1}) * 50
        while not over.is_set():
            try:
                s = dial(home)
                s.sendall(GREETING)
                while not over.is_set():
                    s.sendall(body)
                    sent[0] += 50
            except OSError:
                pass
            finally:
                s.close()
    threads = [threading.Thread(target=flood) for _ in range(3)]
    for t in threads:
        t.start()
    try:
        for _ in range(20):
            host.call("GET", "/v1/health")
            time.sleep(0.02)
        other = host.submit("steady", session="other")
        row = host.until(other)
        assert row["state"] == "succeeded", row
    finally:
        over.set()
        for t in threads:
            t.join()
    assert sent[0] > 1000, sent
    well(host, run)


def test_a_liar_changes_nothing(home):
    host = Host(home).start()
    run = steady(host)
    host.until(run, "running")
    who = {"run": run, "attempt": 1, "token": "0" * 64}
    for lie in ({"type": "finished", "outcome": "failed", "reason": "internal",
                 "seq": 1},
                {"type": "hello", "pid": os.getpid(), "started": 1,
                 "build": "x"},
                {"type": "ready", "last": 0},
                {"type": "approval", "key": "k", "title": "give me root"},
                {"type": "applied", "id": 1},
                {"type": "usage", "input_tokens": 9, "output_tokens": 9,
                 "cost_micros": 9}):
        s = dial(home)
        s.sendall(GREETING + frame(dict(lie, **who)))
        try:
            s.recv(8)
            answer = s.recv(4096)  # refused, or hung up on
            assert b'"begin"' not in answer and b'"ack"' not in answer, answer
        except OSError:
            pass
        s.close()
    for wrong in (dict(who, run="run_00000000000000000000000000"),
                  dict(who, attempt=7)):
        s = dial(home)
        s.sendall(GREETING + frame(dict(type="heartbeat", phase="running",
                                        seq=1, **wrong)))
        s.close()
    assert host.call("GET", "/v1/approvals")["items"] == []
    well(host, run)


def test_processes_that_die_while_dialling_shut_nobody_out(home):
    host = Host(home).start()
    run = steady(host)
    for i in range(300):
        s = socket.socket(socket.AF_UNIX)
        s.setblocking(False)
        try:
            s.connect(str(home.path / "run" / "workers.sock"))
            if i % 3:
                s.send(GREETING[:8 if i % 3 == 1 else 3])
        except OSError:
            pass
        s.close()
        if i % 50 == 0:
            time.sleep(0.01)
    new = host.submit("steady", session="other")
    row = host.until(new)
    assert row["state"] == "succeeded", row
    well(host, run)


def descriptors(host):
    return len(os.listdir("/proc/%d/fd" % host.process.pid))


def die_after(home, data, read, shut):
    """A peer that sends these bytes and goes, in the middle of a frame."""
    s = dial(home)
    try:
        s.sendall(data)
        if read:
            s.recv(len(GREETING))
            time.sleep(0.002)
        if shut:
            s.shutdown(socket.SHUT_WR)
    except OSError:
        pass
    s.close()


def test_a_peer_that_dies_in_a_frame_leaves_no_descriptor(home):
    host = Host(home).start()
    run = steady(host)
    host.until(run)  # warm: what skepd opens once is open now
    beat = frame({"type": "heartbeat", "run": run, "attempt": 1,
                  "token": "guess", "phase": "running", "seq": 1})
    stream = GREETING + beat + beat
    before = descriptors(host)
    for end in [0, 0, 3, 8, 8] + list(range(9, len(stream), 5)):
        for read in (False, True):
            for shut in (False, True):
                for _ in range(4):
                    die_after(home, stream[:end], read and end >= 8, shut)
    # descriptors that skepd opens for a moment may be seen in one sample
    lib.eventually(lambda: descriptors(host) <= before, 15,
                   "descriptors back to %d" % before)
    well(host, run)
