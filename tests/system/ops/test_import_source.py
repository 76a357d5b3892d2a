"""skep import: sources that grow, change, are written meanwhile, are odd."""
import json
import os
import pathlib
import random
import shutil
import socket
import sqlite3
import subprocess
import threading

import lib
from skepd_lib import faults_bin, host
from test_backup import fill
from test_import import digest, events, foreign, items, taken
from test_ops_crash import armed, on_small_disk

QUICK = ("--yes", "--dangerously-skip-backup")


def apply(home, source, *more, code=0):
    return items(home, "apply", source, *QUICK, *more, code=code)


def messages(n, first=0):
    return [{"id": "i%d" % i, "role": "user", "content": "line %d" % i}
            for i in range(first, first + n)]


def add(path, text):
    with open(path, "a") as f:
        f.write(text)


def texts(home, target):
    return [json.loads(b).get("content") for _, b, _, _ in events(home, target)]


def exactly(root):
    """All that can be seen of files from outside, times of access included."""
    got = {}
    for p in [root] + sorted(root.rglob("*")):
        s = p.lstat()
        got[str(p)] = (s.st_mode, s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino,
                       s.st_atime_ns if p.is_file() else 0)
    return got


# -- what grows

def test_of_a_file_that_grew_only_what_is_new_comes(home):
    path = home.dir / "talk.jsonl"
    foreign.lines(path, messages(3))
    assert taken(apply(home, path), "imported") == {"imported/talk": 3}
    add(path, json.dumps(messages(1, 3)[0]) + "\n" + '{"id":"i4","role":"user","cont')
    plan = items(home, "plan", path)[0]
    assert (plan["state"], plan["records"], plan["added"]) == ("planned", 4, 1)
    got = apply(home, path, "--delete-source", code=1)[0]
    assert (got["state"], got["records"], got["added"]) == ("imported", 4, 1), got
    assert "incomplete" in got["warning"] and path.exists(), "it is being written"
    add(path, 'ent":"line 4"}\n')
    got = apply(home, path, "--delete-source")[0]
    assert (got["state"], got["added"], got["warning"]) == ("imported", 1, None), got
    assert texts(home, "imported/talk") == ["line %d" % i for i in range(5)]
    assert not path.exists()
    home.integrity()


def test_another_time_of_change_is_noted_and_nothing_else(home):
    path = home.dir / "talk.jsonl"
    foreign.lines(path, messages(3))
    apply(home, path)
    os.utime(path, ns=(1, 12345678901234567))
    assert apply(home, path)[0]["state"] == "done"
    assert home.query(home.control, "SELECT mtime_ns, records FROM import_item") == [
        (12345678901234567, 3)]
    assert len(events(home, "imported/talk")) == 3


def test_a_source_that_tells_another_story_adds_nothing(home):
    path = home.dir / "talk.jsonl"
    foreign.lines(path, messages(3))
    apply(home, path)
    foreign.lines(path, messages(2) + [{"id": "i2", "role": "user", "content": "edited"}] + messages(1, 3))
    got = apply(home, path, "--delete-source", code=1)[0]
    assert got["state"] == "failed" and "event 3 differs from the file" in got["warning"], got
    assert path.exists() and len(events(home, "imported/talk")) == 3
    row = home.query(home.control, "SELECT state, warning FROM import_item")[0]
    assert row[0] == "failed" and "differs from the file" in row[1]


def test_a_session_that_went_on_here_is_left_alone(home):
    path = home.dir / "talk.jsonl"
    foreign.lines(path, messages(3))
    apply(home, path)
    home.skep("session", "append", "talk", "from here", "--agent", "imported")
    (home.dir / "moved").mkdir()
    shutil.copy(path, home.dir / "moved")
    got = apply(home, home.dir / "moved")[0]
    assert (got["state"], got["added"]) == ("done", 0), "the same at another place"
    foreign.lines(path, messages(4))
    got = apply(home, path, code=1)[0]
    assert got["state"] == "failed" and "event 4" in got["warning"], got
    assert len(events(home, "imported/talk")) == 4
    home.skep("session", "append", "mine", "own words", "--agent", "imported")
    foreign.lines(home.dir / "mine.jsonl", messages(2))
    got = apply(home, home.dir / "mine.jsonl", code=1)[0]
    assert "already" in got["warning"] and texts(home, "imported/mine") != ["line 0"], got


def test_rows_that_are_only_in_the_log_come_too_and_grow(home):
    source = home.dir / "source"
    foreign.lion(source)
    db = sqlite3.connect(source / "state.db")
    db.execute("PRAGMA wal_autocheckpoint = 0")

    def tell(i, order):
        db.execute("INSERT INTO messages VALUES (?,1,'{}',?,NULL,'s',NULL,NULL,'user',2)",
                   ("n%d" % i, json.dumps({"text": "news %d" % i})))
        db.execute("UPDATE progressions SET collection = ? WHERE id = 'p2'",
                   (json.dumps(order),))
        db.commit()
    tell(1, ["m0", "m3", "n1"])
    assert (source / "state.db-wal").stat().st_size > 0
    before = exactly(source)
    assert taken(items(home, "plan", source), "planned")["imported/b2"] == 3
    assert taken(apply(home, source), "imported")["imported/b2"] == 3
    assert exactly(source) == before, "no file made, none changed, none seen as read"
    tell(2, ["m0", "m3", "n1", "n2"])
    got = {p["target"]: p for p in apply(home, source)}["imported/b2"]
    assert (got["state"], got["added"], got["records"]) == ("imported", 1, 4), got
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    assert not taken(apply(home, source), "imported"), "a checkpoint is no news"
    assert texts(home, "imported/b2")[-1] == {"text": "news 2"}


# -- reading only

def test_a_plan_touches_neither_home_nor_source(home):
    for kind in foreign.KINDS[:7]:
        kind(home.dir / "source" / kind.__name__)
    fill(home, "ann")
    before, there = exactly(home.path), exactly(home.dir / "source")
    items(home, "plan", home.dir / "source")
    assert exactly(home.path).keys() == before.keys(), "no log or lock is left"
    assert {k: v[:5] for k, v in exactly(home.path).items()} == {
        k: v[:5] for k, v in before.items()}
    assert exactly(home.dir / "source") == there
    empty = home.dir / "none"
    home.skep("import", "plan", home.dir / "source", env={"SKEP_HOME": str(empty)})
    assert not empty.exists(), "not even a home is made"


def test_a_source_on_a_medium_that_cannot_be_written(home):
    foreign.openclaw_databases(home.dir / "source")
    output = on_small_disk(home, "4m", """
        cp -r source $SMALL/source
        mount -o remount,ro $SMALL
        "$SKEP" import apply $SMALL/source --yes --json
    """)
    assert '"target":"work/agent:work:tg"' in output and '"state":"imported"' in output, output
    assert len(events(home, "work/agent:work:tg")) == 5


# -- others at work

class Writer(threading.Thread):
    """A program that goes on writing its file and its database."""

    def __init__(self, source):
        super().__init__()
        self.source, self.n, self.stop = source, 0, threading.Event()
        foreign.grida(source)

    def run(self):
        db = sqlite3.connect(self.source / "sessions.db", timeout=30)
        while not self.stop.wait(0.004):
            self.n += 1
            i = self.n
            add(self.source / "talk.jsonl", json.dumps(messages(1, i)[0]) + "\n")
            with db:
                db.execute("INSERT INTO chat_messages VALUES (?,'ses_a','user','{}',NULL,?,0)",
                           ("w%d" % i, 1757325700000 + i))
                db.execute("INSERT INTO chat_parts VALUES (?,?,'ses_a',0,'text',?,NULL,NULL,0,0)",
                           ("q%d" % i, "w%d" % i, json.dumps({"type": "text", "text": str(i)})))
            if i % 20 == 0:
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.close()


def test_sources_that_are_written_meanwhile_come_whole_in_the_end(home):
    source = home.dir / "source"
    w = Writer(source)
    w.start()
    took = 0
    try:
        lib.eventually(lambda: w.n > 10)
        for _ in range(6):
            for p in apply(home, source, code=None):
                assert p["state"] not in ("failed", "unknown") or not p["target"].startswith(
                    "copilot") or "keeps changing" in p["warning"], p
                took += p["added"]
    finally:
        w.stop.set()
        w.join()
    assert took > 10, "some of it came while it was written"
    apply(home, source)
    assert texts(home, "imported/talk") == ["line %d" % i for i in range(1, w.n + 1)]
    ids = [e[3] for e in events(home, "copilot/ses_a")]
    assert ids[3:] == ["w%d" % i for i in range(1, w.n + 1)], "each once, in order"
    home.integrity()


def test_a_copy_is_of_one_moment(home):
    """The log goes into the file after that was copied and before the log is."""
    home.bin = armed(home).bin
    source, tmp = home.dir / "source", home.dir / "tmp"
    tmp.mkdir()
    foreign.grida(source)
    db = sqlite3.connect(source / "sessions.db")
    db.execute("INSERT INTO chat_messages VALUES ('late','ses_a','user','{}',NULL,"
               "1757325700000,0)")
    db.commit()
    p = home.start(home.bin / "skep", "import", "apply", source, *QUICK, env={
        "SKEP_FAULT": "import_copy:stall2000", "TMPDIR": str(tmp)},
        stdout=subprocess.DEVNULL)
    lib.eventually(lambda: list(tmp.rglob("source.sqlite")) and
                   list(tmp.rglob("source.sqlite"))[0].stat().st_size ==
                   (source / "sessions.db").stat().st_size)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert p.wait(lib.HANG) == 0
    db.close()
    assert [e[3] for e in events(home, "copilot/ses_a")][-1] == "late"


def test_an_import_beside_a_worker_that_writes_loses_nothing_of_either(home):
    home.skep("agent", "add", "imported", "--driver", "exec", "--set", 'config={"shell":'
              '"for i in $(seq 300); do echo out $i; sleep 0.005; done","stdin":"text"}')
    h = host(home)
    run = home.skep("run", "imported", "go", "--session", "live", "-d", "--json").json["id"]

    def outputs():
        return home.query(home.agent_db("imported"), "SELECT count(*) FROM event e JOIN"
                          " event_type t ON t.id = e.type WHERE t.name = 'output'")[0][0]
    lib.eventually(lambda: home.agent_db("imported").exists() and outputs() > 5)
    for i in range(8):
        foreign.lines(home.dir / "s" / ("t%d.jsonl" % i), messages(400))
        apply(home, home.dir / "s")

    def state():
        return home.query(home.control, "SELECT state FROM run WHERE id = ?", run)[0][0]
    busy = state()
    assert lib.eventually(lambda: state() in ("succeeded", "failed") and state()) == "succeeded"
    output = "\n".join(json.loads(b).get("text", "") for t, b, _, _ in
                     events(home, "imported/live") if t == "output")
    assert [x for x in output.split("\n") if x] == ["out %d" % i for i in range(1, 301)], busy
    for i in range(8):
        assert len(events(home, "imported/t%d" % i)) == 400
    h.down()
    home.integrity()


# -- what is odd

def test_everything_is_listed_whatever_it_is(home):
    source = home.dir / "source"
    foreign.lines(source / "good.jsonl", messages(2))
    (source / "notes.txt").write_text("x")
    (source / "notes.txt-wal").write_text("the log of nothing")
    (source / "empty").write_text("")
    (source / "a\nb.jsonl").write_text(json.dumps(messages(1)[0]) + "\n")
    with open(os.fsencode(source) + b"/\xff\xfe.jsonl", "w") as f:
        f.write(json.dumps(messages(1)[0]) + "\n")
    (source / "loop").symlink_to(source)
    (source / "lost").symlink_to("/nowhere")
    os.mkfifo(source / "pipe")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(source / "sock"))
    foreign.database(source / "odd.db", 'CREATE TABLE chat_sessions (id TEXT);'
                     'CREATE TABLE chat_messages (id TEXT, session_id TEXT);'
                     'CREATE TABLE "it\'s a ""table""" (x); CREATE TABLE sqlitelike (x);'
                     "CREATE VIRTUAL TABLE words USING fts5(t)",
                     [('"it\'s a ""table"""', (1,)), ("sqlitelike", (1,)), ("words", ("hi",))])
    (source / "broken.db").write_bytes(b"SQLite format 3\0" + b"\x5a" * 5000)
    got = items(home, "plan", source)
    named = {p["path"].split("#")[0].rsplit("/", 1)[1]: p for p in got}
    for name in ("notes.txt", "notes.txt-wal", "empty", "loop", "lost", "pipe", "sock",
                 "broken.db"):
        assert named[name]["state"] == "unknown" and named[name]["warning"], name
    assert named["a\nb.jsonl"]["state"] == "planned" and named["��.jsonl"]
    parts = {p["path"].split("#")[1] for p in got if "#" in p["path"]}
    assert parts == {'it\'s a "table"', "sqlitelike", "words"}, parts
    got = apply(home, source)
    assert taken(got, "imported") == {"imported/good": 2, "imported/a_b": 1, "imported/__": 1}
    assert home.skep("import", "plan", source).code == 0, "as a table too"


def test_lines_in_are_lines_out_or_are_counted(home):
    path = home.dir / "odd.jsonl"
    good = [json.dumps(x).encode() for x in (
        {"role": "user", "content": "one", "unknown": {"field": 9007199254740993}},
        {"id": "same", "role": "user", "content": "a"},
        {"id": "same", "role": "user", "content": "b"},
        {"id": "x" * 600, "role": "user", "content": "long id"},
        {"id": "new\nline", "role": "user", "content": "odd id"},
        {"id": 7, "role": "user", "content": "number"},
        {"nothing": "known"}, {"role": "user", "content": "x" * (3 << 20)})]
    bad = [b"{broken", b"[1,2]", b'"text"', b'{"a":"\xff"}', b'{"a":"b\0c"}', b"{} {}",
           b'{"n":01}']
    rows = good[:4] + bad + good[4:]
    path.write_bytes(b"\n\n".join(rows) + b"\r\n")
    got = apply(home, path, code=1)[0]
    assert got["records"] == len(good), got
    assert got["warning"].startswith("%d lines could not be read" % len(bad)), got
    kept = events(home, "imported/odd")
    assert len(kept) == len(good)
    assert b"9007199254740993" in kept[0][1].encode(), "numbers stay what they are"
    assert json.loads(kept[0][1])["imported"]["unknown"]
    assert [k[3] for k in kept[1:6]] == ["same", "same", None, None, "7"]
    assert json.loads(kept[3][1])["imported"]["id"] == "x" * 600


def test_a_line_that_no_event_holds_fails_its_file_alone(home):
    source = home.dir / "source"
    foreign.lines(source / "good.jsonl", messages(2))
    foreign.lines(source / "huge.jsonl", messages(2) + [{"role": "user", "content": "x" * (17 << 20)}])
    got = {p["path"].rsplit("/", 1)[1]: p for p in apply(home, source, "--delete-source", code=1)}
    assert got["huge.jsonl"]["state"] == "failed" and "16777216" in got["huge.jsonl"]["warning"]
    assert (source / "huge.jsonl").exists() and not (source / "good.jsonl").exists()
    assert home.query(home.agent_db("imported"), "SELECT key FROM session") == [("good",)]


def test_a_source_that_cannot_be_moved_stays_and_is_told(home):
    source = home.dir / "source"
    foreign.lines(source / "good.jsonl", messages(2))
    foreign.lines(home.dir / "old" / "good.jsonl", messages(1))
    got = apply(home, source, "--archive", home.dir / "old", code=1)
    assert [p["state"] for p in got] == ["imported", "failed"], got
    assert "kept" in got[1]["warning"] and (source / "good.jsonl").exists()
    assert len(events(home, "imported/good")) == 2
    row = home.query(home.control, "SELECT state, warnings FROM import_run")
    assert row == [("partial", 1)]


def test_damaged_sources_never_stop_an_import(home):
    """Bytes of good sources are changed at random: every file is listed, what
    is taken can be read, and nothing crashes."""
    home.bin = pathlib.Path(faults_bin() or home.bin)
    dice = random.Random(8)
    for n in range(8):
        source = home.dir / ("s%d" % n)
        for kind in foreign.KINDS[:6]:
            kind(source / kind.__name__)
        for p in sorted(source.rglob("*")):
            if not p.is_file() or p.name.endswith(("-wal", "-shm")):
                continue
            data = bytearray(p.read_bytes())
            for _ in range(dice.randint(1, 6)):
                if data:
                    at = dice.randrange(100 if p.suffix in (".db", ".sqlite") and n % 2
                                        else 0, max(101, len(data)))
                    if at < len(data):
                        data[at] = dice.randrange(256)
            p.write_bytes(data[:dice.randrange(len(data) + 1)] if dice.random() < 0.1 else data)
        there = digest(source)
        r = home.skep("import", "apply", source, *QUICK, "--agent", "a%d" % n, "--json",
                      code=None, seconds=300)
        assert r.code in (0, 1, 65), (n, r.code, r.err)
        assert digest(source) == there
        named = {p["path"].split("#")[0] for p in r.lines}
        for p in source.rglob("*"):
            if p.is_file() and not p.name.endswith(("-wal", "-shm", "prompt.md",
                                                    "backstory.md")):
                assert str(p) in named, (n, p)
    home.integrity()


# -- no room

def test_a_full_disk_stops_an_import_and_the_next_finishes_it(home):
    """Whatever it was doing when the disk was full: what is there is whole, the
    sources stay, and the same command finishes with nothing doubled."""
    source = home.dir / "source"
    for i in range(6):
        foreign.lines(source / ("t%d.jsonl" % i), [
            {"role": "user", "content": ("%d " % j) * 200} for j in range(300)])
    there = digest(source)
    stopped = 0
    for size in ("700k", "900k", "1200k", "1600k", "2400k", "3600k"):
        output = on_small_disk(home, size, """
            export SKEP_HOME=$SMALL/home TMPDIR=/tmp
            code=0
            "$SKEP" import apply source --yes --delete-source --dangerously-skip-backup \\
                --json >$HOME/said 2>&1 || code=$?
            echo "first $code"
            mount -o remount,size=64m $SMALL
            test $code = 0 ||
                "$SKEP" import apply source --yes --dangerously-skip-backup >$HOME/again
            "$SKEP" state stats >/dev/null
            rm -rf $HOME/kept; cp -r $SMALL/home $HOME/kept
        """)
        code = int(output.split("first ")[1].split()[0])
        assert code in (0, 1, 74), output
        stopped += code != 0
        kept = home.dir / "kept"
        db = sqlite3.connect(kept / "agents" / "imported" / "agent.sqlite")
        got = dict(db.execute("SELECT s.key, count(*) FROM event e JOIN session s ON"
                              " s.id = e.pos >> 32 GROUP BY 1"))
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        db.close()
        assert got == {"t%d" % i: 300 for i in range(6)}, (size, got)
        if code == 0:
            assert not list(source.iterdir())
            break
        text = (home.dir / "said").read_text()
        assert "space" in text or "full" in text, text
        # what was taken whole before may be gone, as it was asked for
        for p in source.iterdir():
            assert p.stat().st_size > 0
        for i in range(6):
            foreign.lines(source / ("t%d.jsonl" % i), [
                {"role": "user", "content": ("%d " % j) * 200} for j in range(300)])
        assert digest(source) == there
    assert stopped >= 2, "some disks were too small"
