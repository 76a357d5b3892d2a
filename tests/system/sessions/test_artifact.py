"""Artifacts through the CLI: large, interrupted, several at once."""
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading

from lib import eventually


def agent(home):
    home.skep("agent", "add", "ada", "--driver", "script")


def large(home, megabytes):
    """A file of noise, and its SHA-256."""
    path, digest = home.dir / "large", hashlib.sha256()
    with open(path, "wb") as f:
        for _ in range(megabytes):
            piece = os.urandom(1 << 20)
            digest.update(piece)
            f.write(piece)
    return path, digest.hexdigest()


def measured(home, *args):
    """The result of a command and its peak of memory in KiB. A small process
    measures it: the memory of a parent that forks counts as its child's."""
    code = ("import resource, subprocess, sys; "
            "subprocess.run(sys.argv[1:], check=True); "
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    *lines, peak = home.run(sys.executable, "-c", code, home.bin / "skep",
                            *args).out.splitlines()
    return json.loads(lines[0]) if lines else None, int(peak)


def test_a_hundred_megabytes_come_back_by_hash_in_little_memory(home):
    agent(home)
    path, digest = large(home, 100)
    row, put = measured(home, "artifact", "put", path, "out/large.bin", "--run",
                        "run_1", "--json")
    assert row["size"] == 100 << 20 and row["sha256"] == digest
    _, get = measured(home, "artifact", "get", row["aid"], "--output",
                      home.dir / "back", "--json")
    back = hashlib.sha256((home.dir / "back").read_bytes()).hexdigest()
    assert back == digest
    assert max(put, get) < 40 << 10, (put, get)


def test_any_bytes_go_through_stdin_and_stdout(home):
    agent(home)
    odd = bytes(range(256)) * 3 + b"\0\0\n"
    row = home.skep("artifact", "put", "-", "odd", "--owner", "me", "--kind",
                    "k", "--mime", "x/y", "--json", input=odd).json
    assert home.skep("artifact", "get", row["aid"]).raw == odd
    assert home.skep("artifact", "get", "odd", "--owner", "me", "--kind",
                     "k").raw == odd
    again = home.skep("artifact", "put", "-", "odd", "--owner", "me", "--kind",
                      "k", "--json", input=b"").json
    assert again["aid"] == row["aid"] and again["size"] == 0
    assert [r["aid"] for r in home.skep("artifact", "ls", "--owner", "me",
                                        "--json").lines] == [row["aid"]]
    home.skep("artifact", "rm", row["aid"])
    home.refused(66, "artifact", "get", row["aid"])
    assert home.query(home.agent_db("ada"),
                      "SELECT count(*) FROM artifact_chunk") == [(0,)]


def test_a_path_is_made_on_demand_and_collected(home):
    agent(home)
    home.skep("artifact", "put", "-", "notes/a.txt", "--run", "r",
              input=b"one")
    key = ("notes/a.txt", "--run", "r")
    path = home.skep("artifact", "path", *key, "--json").json["path"]
    assert path.startswith(str(home.path / "run" / "media")), path
    with open(path, "rb") as f:
        assert f.read() == b"one"
    assert home.skep("artifact", "path", *key).out.strip() == path
    home.skep("artifact", "put", "-", *key, input=b"two")
    newer = home.skep("artifact", "path", *key).out.strip()
    with open(newer, "rb") as f:
        assert f.read() == b"two"
    db = home.agent_db("ada")
    chunks = "SELECT count(*) FROM artifact_chunk"
    home.skep("state", "gc")
    assert os.path.exists(path) and home.query(db, chunks) == [(2,)]
    freed = home.skep("state", "gc", "--older-than", "0s", "--json").json
    assert freed == {"agent": "ada", "chunks": 1, "cached": 0}, freed
    assert not os.path.exists(path) and not os.path.exists(newer)
    assert home.query(db, chunks) == [(1,)]
    assert home.skep("artifact", "get", *key).raw == b"two"


def test_a_killed_put_leaves_the_old_bytes(home):
    agent(home)
    home.skep("artifact", "put", "-", "a", "--run", "r", input=b"old")
    p = home.start(home.bin / "skep", "artifact", "put", "-", "a", "--run",
                   "r", stdin=subprocess.PIPE)
    p.stdin.write(b"x" * (1 << 20))
    p.stdin.flush()
    db = home.agent_db("ada")
    eventually(lambda: home.query(db, "SELECT count(*) FROM artifact_chunk")
               [0][0] > 10, what="the upload")
    p.send_signal(signal.SIGKILL)
    p.wait()
    assert home.skep("artifact", "get", "a", "--run", "r").raw == b"old"
    home.skep("artifact", "put", "-", "a", "--run", "r", input=b"new")
    assert home.skep("artifact", "get", "a", "--run", "r").raw == b"new"
    home.integrity()


def test_several_write_and_search_at_once(home):
    agent(home)
    home.skep("session", "append", "chat", "start")
    failed = []

    def work(i):
        for k in range(5):
            for argv in (("artifact", "put", "-", "%d/%d" % (i, k), "--run",
                          "r"),
                         ("session", "append", "chat", "word%d" % i),
                         ("session", "search", "word%d" % i, "--json")):
                r = home.skep(*argv, code=None, input=b"y" * 200000
                              if argv[0] == "artifact" else None)
                if r.code != 0:
                    failed.append(r.err)
            if len(r.lines) != k + 1:
                failed.append("%d: %d hits" % (k, len(r.lines)))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed, failed
    rows = home.skep("artifact", "ls", "--run", "r", "--json").lines
    assert len(rows) == 20 and all(r["size"] == 200000 for r in rows)
    home.integrity()


def test_a_search_says_what_is_wrong_with_it(home):
    agent(home)
    home.skep("session", "append", "chat", "a quick fox")
    hit = home.skep("session", "search", "fo*", "--json").json
    assert hit["seq"] == 1 and "[fox]" in hit["snippet"], hit
    assert "invalid search expression 'fox AND'" in home.refused(
        64, "session", "search", "--advanced", "fox AND")
    assert "no word" in home.refused(64, "session", "search", "?!")
    home.skep("session", "rewind", "chat", "0")
    assert home.skep("session", "search", "fox", "--json").lines == []
    assert len(home.skep("session", "search", "fox", "--hidden",
                         "--json").lines) == 1


def test_diagnostics_are_off_bounded_and_exportable(home):
    agent(home)
    home.skep("session", "append", "chat", "hello")
    assert home.skep("diagnostic", "export").out == ""
    home.skep("diagnostic", "limit", "2")
    for i in range(2):
        home.execute(home.agent_db("ada"), "INSERT INTO diagnostic (at, area, "
                     "is_cut, body) VALUES (1, 'tts', 0, 'take %d')" % i)
    rows = home.skep("diagnostic", "export", "--area", "tts").lines
    assert [r["body"] for r in rows] == ["take 0", "take 1"], rows
    home.skep("diagnostic", "limit", "1")
    assert len(home.skep("diagnostic", "export").lines) == 1
    home.refused(64, "diagnostic", "limit", "-1")
    home.skep("diagnostic", "limit", "0")
    assert home.skep("diagnostic", "export").out == ""
