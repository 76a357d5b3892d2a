"""skep backup: archives of everything, and the way back."""
import json
import os
import random
import shutil
import tarfile

import lib
from skepd_lib import Host, QUICK, host

ROUNDS = int(os.environ.get("SKEP_BACKUP_ROUNDS", "2"))
WRITERS = 32
OLD_RUN = "run_01hf7yat000000000000000001"  # of the fixtures


def append_message(home, agent, text):
    home.skep("session", "append", "s", "--agent", agent, "--role", "user", text)


def fill(home, *agents):
    """Agents with a session of a few events each."""
    for name in agents:
        home.skep("agent", "add", name, "--driver", "script")
        for text in ("one", "two"):
            append_message(home, name, text)
    return home


def create(home, name="b.tar", *more):
    path = home.dir / name
    home.skep("backup", "create", "-o", path, *more, seconds=600)  # it comes last
    return path


def at(home, path):
    """The same programs with another home."""
    other = lib.Home.__new__(lib.Home)
    other.bin, other.dir, other.path, other.undo = home.bin, home.dir, path, []
    other.env = dict(home.env, SKEP_HOME=str(path))
    return other


def rows(home, path):
    """All rows of our tables, to compare."""
    tables = [t for (t,) in home.query(
        path, "SELECT name FROM sqlite_master WHERE type = 'table'"
        " AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'search_text%'")]
    return {t: sorted(map(repr, home.query(path, "SELECT * FROM " + t)))
            for t in tables}


def test_a_backup_holds_everything_and_nothing_more(home):
    fill(home, "ann", "bob")
    (home.path / "skep.json").write_text("{}")
    (home.path / "credentials" / "key").write_text("secret")
    (home.path / "agents" / "ann" / "prompt.md").write_text("Be kind.")
    path = create(home)
    assert path.stat().st_mode & 0o777 == 0o600
    names = tarfile.open(path).getnames()
    assert names == ["state/skep.sqlite", "skep.json", "agents/ann/agent.sqlite",
                     "agents/bob/agent.sqlite", "agents/ann/prompt.md",
                     "manifest.json"], names
    assert b"secret" not in path.read_bytes()
    with tarfile.open(path) as tar:
        output = json.load(tar.extractfile("manifest.json"))
    assert output["program"] and output["home"] == str(home.path)
    for it in output["items"]:
        if it["role"] in ("control", "agent"):
            assert it["integrity"] == "ok" and it["pages"] * 4096 == it["bytes"]
            assert len(it["sha256"]) == 64 and it["schema_version"] > 0
            assert it["source_path"].startswith(str(home.path)), it
    row = home.skep("backup", "ls", "--json").lines[0]
    assert (row["state"], row["agents"], row["path"]) == ("done", 2, str(path))
    got = home.query(home.control, "SELECT act, subject FROM audit"
                     " WHERE act = 'backup.create'")
    assert got == [("backup.create", row["id"])]


def test_a_backup_comes_back_the_same(home):
    fill(home, "ann", "bob")
    before = rows(home, home.agent_db("ann"))
    for name, more in (("a.tar", ()), ("b.tar.zst", ("--zstd",))):
        path = create(home, name, *more)
        assert "complete" in home.skep("backup", "verify", path).out
        to = home.dir / ("new-" + name)
        home.skep("backup", "restore", path, "--to", to)
        new = at(home, to)
        after = rows(home, new.agent_db("ann"))
        after.pop("meta"), before.pop("meta", None)
        assert after == before
        assert new.skep("session", "ls", "--agent", "bob", "--json").lines[0]["key"] == "s"
        append_message(new, "bob", "three")
        new.integrity()
    if shutil.which("zstd"):
        home.run("zstd", "-tq", home.dir / "b.tar.zst")


def test_through_a_pipe(home):
    fill(home, "ann")
    raw = home.skep("backup", "create", "-o", "-").raw
    assert "complete" in home.skep("backup", "verify", "-", input=raw).out
    home.skep("backup", "restore", "-", "--to", home.dir / "new", input=raw)
    assert at(home, home.dir / "new").agent_db("ann").exists()
    assert home.skep("backup", "ls", "--json").lines[0]["path"] is None


def test_one_flipped_byte_anywhere_is_found(home):
    fill(home, "ann")
    for name, more in (("a.tar", ()), ("b.tar.zst", ("--zstd",))):
        path = create(home, name, *more)
        good = path.read_bytes()
        rnd = random.Random(7)
        n = len(good)
        places = {0, 156, 511, n - 1, n - 300, n - 511, n - 512, n - 513, n - 700}
        places |= {rnd.randrange(n) for _ in range(9)}
        bad = home.dir / "bad"
        for place in sorted(places):
            raw = bytearray(good)
            raw[place] ^= 1 << rnd.randrange(8)
            bad.write_bytes(raw)
            home.refused(65, "backup", "verify", bad)
        for cut in (0, 1, 100, 512, n // 2, n - 512, n - 1):
            bad.write_bytes(good[:cut])
            home.refused(65, "backup", "verify", bad)
        bad.write_bytes(good + b"\0")
        home.refused(65, "backup", "verify", bad)
        before = home.picture()
        home.refused(65, "backup", "restore", bad, "--to", home.dir / "new")
        assert home.picture() == before, "a bad archive changes nothing"


def test_an_old_home_stays_as_the_way_back(home):
    fill(home, "ann")
    (home.path / "credentials" / "key").write_text("secret")
    path = create(home)
    append_message(home, "ann", "three")
    got = home.skep("backup", "restore", path, "--json").json
    assert len(home.skep("session", "show", "s", "--agent", "ann", "--json").out)
    assert home.query(home.agent_db("ann"), "SELECT count(*) FROM event") == [(2,)]
    old = at(home, lib.pathlib.Path(got["before"]))
    assert home.query(old.agent_db("ann"), "SELECT count(*) FROM event") == [(3,)]
    assert (home.path / "credentials" / "key").read_text() == "secret"
    shutil.rmtree(home.path)
    os.rename(old.path, home.path)
    assert home.query(home.agent_db("ann"), "SELECT count(*) FROM event") == [(3,)]
    home.skep("session", "ls", "--agent", "ann")


def test_an_archive_is_never_written_over_a_file(home):
    fill(home, "ann")
    path = create(home)
    text = path.read_bytes()
    assert "already exists" in home.refused(65, "backup", "create", "-o", path)
    assert path.read_bytes() == text
    assert "no data" in home.refused(66, "backup", "create", "--agent", "zoe",
                                     "-o", home.dir / "z.tar")
    assert not (home.dir / "z.tar").exists()
    assert [r["state"] for r in home.skep("backup", "ls", "--json").lines] == \
        ["failed", "done"], "an existing file is no failed backup"
    assert not list(home.dir.glob(".skep-*")), "nothing is left lying about"


def test_a_damaged_agent_does_not_cost_the_others_their_backup(home):
    fill(home, "ann", "bob")
    raw = bytearray(home.agent_db("ann").read_bytes())
    raw[100:9000] = b"\0" * 8900
    home.agent_db("ann").write_bytes(raw)
    path = home.dir / "b.tar"
    assert "ann" in home.refused(65, "backup", "create", "-o", path)
    assert "agents/bob/agent.sqlite" in tarfile.open(path).getnames()
    assert home.skep("backup", "ls", "--json").lines[0]["state"] == "partial"
    home.skep("backup", "restore", path, "--to", home.dir / "new")
    new = at(home, home.dir / "new")
    assert new.agent_db("bob").exists() and not new.agent_db("ann").exists()


def test_workspaces_come_along_when_asked(home):
    fill(home, "ann")
    space = home.path / "agents" / "ann" / "workspace"
    (space / "deep" / "er").mkdir(parents=True)
    (space / "deep" / "er" / "run.sh").write_text("#!/bin/sh\n")
    (space / "deep" / "er" / "run.sh").chmod(0o755)
    (space / "link").symlink_to("deep/er")
    path = create(home, "b.tar", "--with-workspaces")
    home.skep("backup", "verify", path)
    home.skep("backup", "restore", path, "--to", home.dir / "new")
    new = home.dir / "new" / "agents" / "ann" / "workspace"
    assert (new / "link" / "run.sh").read_text() == "#!/bin/sh\n"
    assert (new / "deep" / "er" / "run.sh").stat().st_mode & 0o777 == 0o755
    assert os.readlink(new / "link") == "deep/er"


def test_a_home_in_use_is_not_restored_over(home):
    h = host(home)
    h.script("ann", {"event": {"type": "note", "text": "n"}})
    h.until(h.submit("ann"))
    path = create(home)
    assert "skep down" in home.refused(75, "backup", "restore", path)
    h.kill()
    home.skep("backup", "restore", path)
    h.start()
    h.until(h.submit("ann"), "succeeded")
    h.down()


def test_one_agent_comes_back_into_a_running_home(home):
    h = host(home)
    h.script("ann", {"event": {"type": "note", "text": "n"}})
    h.script("bob", {"event": {"type": "status"}, "repeat": 400, "every_ms": 50})
    h.until(h.submit("ann", session="s"))
    path = create(home)
    h.until(h.submit("ann", session="s"))
    busy = h.submit("bob")
    h.until(busy, "running")
    long = h.call("GET", "/v1/sessions/ann/s/events?limit=1")  # skepd has it open
    assert long["items"]
    before = len(h.events("ann"))
    epoch = home.query(home.control, "SELECT epoch FROM agent_database"
                       " WHERE agent = 'ann'")[0][0]
    home.skep("backup", "restore", path, "--agent", "ann", "--activate")
    assert len(h.events("ann")) == before // 2
    assert h.get(busy)["state"] == "running", "others go on"
    assert home.query(home.control, "SELECT epoch FROM agent_database"
                      " WHERE agent = 'ann'")[0][0] > epoch
    h.until(h.submit("ann", session="s"), "succeeded")
    h.cancel(busy)
    h.until(busy)
    assert h.down() == 0
    home.integrity()


def test_an_agent_that_a_running_home_does_not_know_comes_back(home):
    h = host(home)
    h.script("ann", {"event": {"type": "note", "text": "n"}})
    h.until(h.submit("ann", session="s"))
    (home.path / "agents" / "ann" / "prompt.md").write_text("Be kind.")
    before = len(h.events("ann"))
    path = create(home)
    assert h.down() == 0
    for name, running in (("lives", True), ("rests", False)):
        there = at(home, home.dir / name)
        other = Host(there, QUICK).start()
        other.script("bob", {"event": {"type": "status"}, "repeat": 400, "every_ms": 50})
        busy = other.submit("bob")
        other.until(busy, "running")
        if not running:
            other.cancel(busy)
            other.until(busy)
            other.down()
        there.skep("backup", "restore", path, "--agent", "ann", "--activate")
        assert there.skep("agent", "show", "ann", "--json").json["driver"] == "script"
        assert there.query(there.agent_db("ann"), "SELECT count(*) FROM event"
                           ) == [(before,)]
        assert (there.path / "agents/ann/prompt.md").read_text() == "Be kind."
        assert "not in" in there.refused(66, "backup", "restore", path, "--agent",
                                         "zoe", "--activate")
        if running:
            assert other.get(busy)["state"] == "running", "others go on"
            other.cancel(busy)
            other.until(busy)
        else:
            other.start()
        other.until(other.submit("ann", session="s"), "succeeded")
        assert other.down() == 0
        there.integrity()


def test_runs_of_the_moment_of_the_backup_are_settled(home):
    h = host(home)
    h.script("slow", {"event": {"type": "note", "text": "n"}},
             {"event": {"type": "status"}, "repeat": 400, "every_ms": 50})
    h.script("box", {"event": {"type": "note", "text": "n"}})
    over = h.submit("box")
    h.until(over)
    live = h.submit("slow", session="s")
    behind = h.submit("slow", session="s")
    h.until(live, "running")
    lib.eventually(lambda: h.notes("slow", live), 10, "the first note")
    path = create(home)
    got = home.skep("backup", "restore", path, "--to", home.dir / "new",
                    "--json").json
    assert (got["runs_queued"], got["runs_failed"]) == (1, 1), got
    new = at(home, home.dir / "new")
    state = dict(home.query(new.control, "SELECT id, state || ' ' || reason"
                            " FROM run"))
    assert state == {over: "succeeded completed", live: "failed restored",
                     behind: "queued accepted"}, state
    assert h.get(live)["state"] == "running", "the original goes on"
    other = Host(new, QUICK)
    other.start()
    other.until(behind, "running")
    other.cancel(behind)
    other.until(behind)
    assert h.get(live)["state"] == "running", "and its worker lives"
    assert other.down() == 0
    other.check_books()
    for run in (live, behind):
        h.cancel(run)
        h.until(run)
    assert h.down() == 0


def test_no_message_that_may_have_been_sent_is_sent_again(home):
    fill(home, "ann")
    home.execute(home.agent_db("ann"), "INSERT INTO outbox (pos, key, target, body,"
                 " created_at) SELECT min(pos), 'k1', '{}', '{}', 1 FROM event")
    for i, state in enumerate(("pending", "sending", "delivered")):
        home.execute(home.control, "INSERT INTO delivery (id, channel, state, source_key,"
                     " body, is_queued, is_next, due_at, created_at) VALUES (?, 'hook', ?,"
                     " ?, '{}', ?, 1, 1, 1)", "dlv_%d" % i, state, "s%d" % i,
                     state != "delivered")
    got = home.skep("backup", "restore", create(home), "--json").json
    assert got["messages_held"] == 3, got
    held = home.query(home.control, "SELECT detail FROM audit"
                      " WHERE act = 'restore.hold'")
    assert json.loads(held[0][0])["keys"] == ["k1"]
    assert home.query(home.control, "SELECT state FROM delivery ORDER BY seq") == \
        [("unknown",), ("unknown",), ("delivered",)]


def test_a_backup_of_a_released_version_is_restored(home):
    fill(home, "ann")
    fixtures = lib.pathlib.Path(__file__).resolve().parents[2] / "fixtures"
    tables = {home.control: "control-v1.sql", home.agent_db("ann"): "agent-v1.sql"}
    for path, name in tables.items():
        for old in path.parent.glob(path.name + "*"):
            old.unlink()
        db = lib.sqlite3.connect(path)
        db.executescript((fixtures / name).read_text())
        db.close()
    home.execute(home.control, "UPDATE agent_database SET agent = 'ann', path = ?",
                 str(home.agent_db("ann")))
    home.execute(home.control, "UPDATE agent SET name = 'ann'")
    home.execute(home.agent_db("ann"), "INSERT OR REPLACE INTO meta VALUES ('agent', 'ann')")
    path = create(home)
    with tarfile.open(path) as tar:
        items = json.load(tar.extractfile("manifest.json"))["items"]
    assert [i["schema_version"] for i in items if i["role"] == "agent"] == [1]
    home.skep("backup", "restore", path, "--to", home.dir / "new")
    new = at(home, home.dir / "new")
    assert home.query(new.agent_db("ann"), "SELECT body FROM event"
                      " WHERE key = 'k1'") == [('{"text":"hello"}',)]
    h = Host(new, QUICK).start()
    h.script("ann", {"event": {"type": "note", "text": "n"}})
    h.until(h.submit("ann"), "succeeded")
    h.call("POST", "/v1/runs/%s/note" % OLD_RUN, {"text": "restored"})
    assert h.get(OLD_RUN)["note"] == "restored"
    h.down()


def test_skepd_makes_backups_by_the_schedule_and_keeps_a_few(home):
    h = Host(home, dict(QUICK, backup={"every": "1000ms", "keep": 2})).start()
    h.script("ann", {"event": {"type": "note", "text": "n"}})
    h.until(h.submit("ann"))

    def three():
        rows = home.skep("backup", "ls", "--json").lines
        done = [r for r in rows if r["state"] == "done"]
        return len(done) >= 4 and done
    done = lib.eventually(three, 60, "a few backups")
    assert all(r["kind"] == "scheduled" for r in done)
    assert done[-1]["path"] is None, "the oldest is gone"
    assert h.down() == 0
    left = sorted((home.path / "backups").glob("skep-*.tar.zst"))
    assert 1 <= len(left) <= 3, left
    home.skep("backup", "verify", left[-1])


# --- under load


class Load:
    """Runs that write all the time, and what they were seen to have written."""

    def __init__(self, home):
        self.home = home
        self.h = host(home, max=WRITERS)
        self.agents = ["w%d" % i for i in range(8)]
        for name in self.agents:
            self.h.script(name, {"event": {"type": "note", "text": "x" * 200},
                                 "repeat": 100000, "every_ms": 10})
        self.runs = {}
        for i in range(WRITERS):
            agent = self.agents[i % len(self.agents)]
            self.runs[self.h.submit(agent, session="s%d" % i)] = agent
        for run in self.runs:
            self.h.until(run, "running")
        lib.eventually(lambda: len(self.seen(home)) == WRITERS, 60, "writing")

    def seen(self, home):
        """How many events each run has in the files of a home."""
        got = {}
        for name in self.agents:
            got.update(home.query(
                home.agent_db(name), "SELECT r.run_id, count(*) FROM event e"
                " JOIN run r ON r.id = e.run GROUP BY 1"))
        return got

    def round(self, number):
        before = self.seen(self.home)
        acked = dict(self.home.query(self.home.control,
                                     "SELECT id, last_seq FROM run"))
        path = create(self.home, "b%d.tar" % number)
        after = self.seen(self.home)
        self.home.skep("backup", "verify", path, seconds=600)
        to = self.home.dir / ("r%d" % number)
        self.home.skep("backup", "restore", path, "--to", to, seconds=600)
        new = at(self.home, to)
        new.integrity()
        got = self.seen(new)
        for run in self.runs:
            # a restore adds the end of a run that was in the middle
            assert before[run] <= got[run] - 1 <= after[run], \
                (before[run], got[run], after[run])
        kept = dict(self.home.query(new.control, "SELECT id, last_seq FROM run"))
        for run, agent in self.runs.items():
            assert kept[run] >= acked[run]
            last = self.home.query(
                new.agent_db(agent), "SELECT max(e.pos & 4294967295) FROM event e"
                " JOIN run r ON r.id = e.run WHERE r.run_id = ?", run)[0][0]
            assert kept[run] == last, (kept[run], last)
        shutil.rmtree(to)
        path.unlink()


def test_backups_under_load_hold_what_was_acknowledged(home):
    load = Load(home)
    for i in range(ROUNDS):
        load.round(i)
    for run in load.runs:
        load.h.cancel(run)
    for run in load.runs:
        load.h.until(run)
    assert load.h.down() == 0
    load.h.check_books()


test_backups_under_load_hold_what_was_acknowledged.seconds = 120 + 20 * ROUNDS
