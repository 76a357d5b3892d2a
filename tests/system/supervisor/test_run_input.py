"""What a run is given: prompts are text of a limited size, and other bytes are
attached. Nothing is cut off silently."""
import base64
import http.client
import json
import os
import socket

import lib
from skepd_lib import Host, finish
from web_lib import Skepd, UnixConnection

MIB = 1 << 20
BYTES = bytes(range(256)) * 40 + b"\0\xff\0"


def reader(d, name="a"):
    """An agent that prints its prompt, and the bytes of what it names."""
    d.agent(name, "exec", {"stdin": "text", "command": ["/bin/sh", "-c", r"""
p=$(cat); printf '%s\n' "$p"
printf '%s\n' "$p" | sed -n 's/.*bytes): \(.*\)]$/\1/p' |
while read -r f; do sha256sum < "$f"; done"""]})


def output(home, run, agent="a"):
    rows = home.query(home.agent_db(agent), "SELECT json_extract(body, '$.text')"
                      " FROM event JOIN event_type t ON t.id = type"
                      " WHERE t.name = 'output' ORDER BY pos")
    return "\n".join(text or "" for text, in rows)


def digest(data):
    import hashlib
    return hashlib.sha256(data).hexdigest()


def test_a_prompt_that_is_no_text_is_refused_and_not_cut(home):
    d = Host(home).start()
    reader(d)
    for data, place in ((b"hello\0world", "byte 6"), (b"\0", "byte 1"),
                        (b"ab\xff", "byte 3"), (b"x" * 70_000 + b"\xc3",
                                                "byte 70001")):
        error = home.refused(65, "run", "a", "-", input=data)
        assert place in error and "--attach" in error, error
    for word in (b"\xff", b"a\xc3"):
        assert "UTF-8" in home.refused(64, "run", "a", word)
        for option in ("--session", "--key", "--tag", "--invocation"):
            error = home.refused(64, "run", "a", "x", option, word)
            assert "UTF-8" in error and option in error, error
    assert home.query(home.control, "SELECT count(*) FROM run") == [(0,)]
    finish(d)


def test_a_prompt_over_the_limit_is_refused_by_its_size(home):
    d = Host(home).start()
    reader(d)
    error = home.refused(65, "run", "a", "-", input=b"x" * (MIB + 1))
    assert "prompt" in error and str(MIB) in error, error
    home.skep("run", "a", "-", "--wait", input=b"y" * MIB)
    assert home.query(home.control, "SELECT length(prompt) FROM run_input") \
        == [(MIB,)]
    # the longest text in JSON: each of its bytes becomes six
    home.skep("run", "a", "-", "--wait", input=b"\x01" * MIB)
    finish(d)


def test_bytes_are_attached_and_reach_the_run(home):
    d = Host(home).start()
    reader(d)
    (home.dir / "one.bin").write_bytes(BYTES)
    (home.dir / "two.txt").write_text("plain")
    home.skep("run", "a", "look", "--attach", home.dir / "one.bin",
              "--attach", home.dir / "two.txt", "--attach", "-", "--wait",
              "--key", "k", input=b"\0in")
    answer = output(home, None)
    for name, data in (("one.bin", BYTES), ("two.txt", b"plain"),
                       ("stdin", b"\0in")):
        assert name in answer and digest(data) in answer, (name, answer)
    # the prompt is stored as it was given; the same key is the same run
    assert home.query(home.control, "SELECT prompt FROM run_input") \
        == [("look",)]
    home.skep("run", "a", "look", "--attach", home.dir / "one.bin",
              "--attach", home.dir / "two.txt", "--attach", "-",
              "--key", "k", input=b"\0in")
    assert home.query(home.control, "SELECT count(*) FROM run") == [(1,)]
    assert "another request" in home.refused(
        65, "run", "a", "look", "--attach", home.dir / "two.txt", "--key", "k")
    # a retry has them too
    run, = home.query(home.control, "SELECT id FROM run")[0]
    again = home.skep("retry", run, "--json").json["id"]
    assert d.until(again)["state"] == "succeeded"
    assert output(home, None).count(digest(BYTES)) == 2
    assert "once" in home.refused(64, "run", "a", "-", "--attach", "-",
                                  input=b"x")
    assert "no-such" in home.refused(66, "run", "a", "x", "--attach",
                                     "no-such")
    finish(d)


def test_attachments_over_http_are_checked(home):
    s = Skepd(home)
    s.agent()
    good = {"name": "a.bin", "base64": base64.b64encode(BYTES).decode()}
    cases = [([5], "objects"), ([{}], "base64 or media"), ("x", "array"),
             ([dict(good, name=5)], "strings"), ([dict(good, base64="%%")],
                                                 "a.bin"),
             ([{"media": "med_none"}], "no attachment"),
             ([good] * 65, "at most 64"), ({"a": 1}, "array"),
             ([dict(good, base64="A" * (24 << 20))], "")]
    for value, words in cases:
        status, answer = s.ask("POST", "/v1/runs", {
            "agent": "ada", "prompt": "[]", "attachments": value})
        assert 400 <= status < 500 and words in json.dumps(answer), \
            (str(value)[:80], status, answer)
        status, answer = s.ask("POST", "/v1/runs", {
            "agent": "ada", "prompt": "[]", "options": {"attachments": value}})
        assert status == 201 or 400 <= status < 500, (str(value)[:80], answer)
    row = s.post("/v1/runs", {"agent": "ada", "prompt": "[]",
                              "attachments": [good]}, 201)
    s.wait(row["id"], "failed")  # the lines that name it are no script
    assert (row["id"],) in s.home.query(s.home.control,
                                        "SELECT owner FROM media_use")
    s.stop()


def memory_peak(pid):
    with open("/proc/%d/status" % pid) as f:
        return next(int(line.split()[1]) for line in f
                    if line.startswith("VmHWM"))


def send_slowly(s, head, pieces):
    """Sends until the server answers; the status, and how much was sent."""
    c = socket.socket(socket.AF_UNIX)
    c.settimeout(30)
    c.connect(str(s.socket))
    c.sendall(head)
    sent = 0
    try:
        for piece in pieces:
            c.sendall(piece)
            sent += len(piece)
    except OSError:
        pass  # it has said no and hung up
    try:
        status = int(c.recv(65536).split()[1])
    except OSError:
        status = None
    c.close()
    return status, sent


def test_a_huge_prompt_costs_no_memory(home):
    s = Skepd(home, {"http": {"body_max": 1 << 30}})
    s.agent()
    before = memory_peak(s.proc.pid)
    head = (b"POST /v1/runs HTTP/1.1\r\nHost: x\r\n"
            b"Content-Type: application/json\r\n")
    piece = b'{"agent":"ada","prompt":"' + b"x" * (1 << 20)
    size = 100 << 20
    c = UnixConnection(s.socket)  # refused before a byte of the body is sent
    c.putrequest("POST", "/v1/runs")
    c.putheader("Content-Length", str(size))
    c.endheaders()
    r = c.getresponse()
    answer = json.loads(r.read())
    assert r.status == 413 and "is limited to" in answer["detail"], answer
    c.close()
    status, _ = send_slowly(s, head + b"Content-Length: %d\r\n\r\n" % size,
                            [piece] + [b"x" * (1 << 20)] * 99)
    assert status in (413, None), status
    chunks = (b"%x\r\n" % len(piece) + piece + b"\r\n" for _ in range(100))
    status, _ = send_slowly(s, head + b"Transfer-Encoding: chunked\r\n\r\n",
                            chunks)
    assert status in (413, None), status
    assert s.get("/v1/health")["pid"] == s.proc.pid
    grown = memory_peak(s.proc.pid) - before
    assert grown < 160_000, "%d kB more" % grown
    assert home.query(home.control, "SELECT count(*) FROM run") == [(0,)]
    status, answer = s.ask("POST", "/v1/runs", {
        "agent": "ada", "prompt": "x" * (MIB + 1)})
    assert status == 413 and "prompt" in answer["detail"], answer
    s.stop()


def test_a_long_reason_ends_in_a_mark(home):
    s = Skepd(home)
    s.agent()
    row = s.wait(s.run({"fail": "x" * 1000}), "failed")
    assert "xx…" in json.dumps(row, ensure_ascii=False), row
    s.stop()
