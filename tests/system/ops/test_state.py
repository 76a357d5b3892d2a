"""skep state: the databases as such, while they are in use or not."""
import json
import os
import shutil
import sqlite3
import time

import lib
from skepd_lib import host
from test_backup import at, fill, rows

DAY = 86400000


def age(home, agent, days, keys=None):
    """Makes sessions of an agent look as if they were last used days ago."""
    db = sqlite3.connect(home.agent_db(agent), timeout=30)
    with db:
        for (sid, key) in db.execute("SELECT id, key FROM session").fetchall():
            if keys and key not in keys:
                continue
            db.execute("UPDATE event SET at = at - ? WHERE pos >> 32 = ?",
                       (days * DAY, sid))
            db.execute("UPDATE session SET updated_at = updated_at - ? WHERE id = ?",
                       (days * DAY, sid))
    db.close()


def sessions(home, agent):
    return sorted(k for (k,) in home.query(
        home.agent_db(agent), "SELECT key FROM session WHERE key IS NOT NULL"))


def prune(home, *more):
    return home.skep("state", "prune", "--json", *more).lines


def without_times(lines):
    return [{k: v for k, v in r.items() if not k.startswith("longest")} for r in lines]


def much(home, agent, sessions=30, events=1000, files=300):
    """Old sessions with many events, large ones among them, and an old snapshot
    of a workspace in which much has changed since."""
    for i in range(sessions):
        home.skep("session", "append", "old%d" % i, "x", "--agent", agent)
    db = sqlite3.connect(home.agent_db(agent), timeout=30)
    with db:
        for (sid,) in db.execute("SELECT id FROM session WHERE key GLOB 'old*'"
                                 ).fetchall():
            db.executemany("INSERT INTO event (pos, type, at, body) VALUES (?, 2, 1, ?)",
                           [((sid << 32) + 2 + n, '"%s"' % ("x" * (60000 if n % 97 == 0
                                                                   else 300)))
                            for n in range(events)])
    db.close()
    tree = home.dir / "tree"
    tree.mkdir(exist_ok=True)
    for i in range(files):
        (tree / ("f%d" % i)).write_bytes(os.urandom(20000))
    home.skep("vfs", "import", agent, tree)
    home.skep("snapshot", "create", agent, "old")
    for i in range(files):
        (tree / ("f%d" % i)).write_bytes(os.urandom(20000))
    home.skep("vfs", "import", agent, tree)
    home.execute(home.agent_db(agent), "UPDATE vfs_snap SET made_at = 1000")
    age(home, agent, 60)


def test_a_long_dry_run_is_the_deed_too_and_no_batch_is_long(home):
    fill(home, "ann")
    much(home, "ann")
    before = rows(home, home.agent_db("ann"))
    dry = prune(home, "--keep-n", "0", "--dry-run")
    assert rows(home, home.agent_db("ann")) == before, "a dry run changes nothing"
    assert not list((home.path / "backups").glob(".work*"))
    deed = prune(home, "--keep-n", "0")
    assert without_times(dry) == without_times(deed), (dry, deed)
    assert deed[0]["events"] >= 30000 and deed[0]["snapshots"] == 1, deed
    assert deed[0]["freed_bytes"] > 20 << 20, deed
    # work that needs no more than so long, however busy the machine is
    assert 0 < deed[0]["longest_ms"] and deed[0]["longest_cpu_ms"] <= 50, deed
    print("longest hold of the write lock: %(longest_ms)d ms, %(longest_cpu_ms)d of"
          " them at work" % deed[0])
    home.skep("vfs", "fsck", "ann")
    home.integrity()


test_a_long_dry_run_is_the_deed_too_and_no_batch_is_long.seconds = 300


def many(home, agent, n, events=3):
    for i in range(n):
        for text in range(events):
            home.skep("session", "append", "s%02d" % i, "text %d" % text,
                      "--agent", agent)


def test_prune_takes_the_old_and_keeps_the_new(home):
    fill(home, "ann")
    many(home, "ann", 6)
    age(home, "ann", 40, {"s00", "s01", "s02"})
    first = rows(home, home.agent_db("ann"))
    dry = prune(home, "--keep-n", "1", "--dry-run")
    assert rows(home, home.agent_db("ann")) == first, "a dry run changes nothing"
    deed = prune(home, "--keep-n", "1")
    assert without_times(dry) == without_times(deed), (dry, deed)
    assert deed[0]["sessions"] == 3 and deed[0]["events"] == 9
    assert sessions(home, "ann") == ["s", "s03", "s04", "s05"]
    left = home.query(home.agent_db("ann"), "SELECT count(*) FROM event")
    assert left == [(2 + 9,)], "no event is left without its session"
    assert prune(home, "--keep-n", "1")[0]["sessions"] == 0
    got = home.query(home.control, "SELECT detail FROM audit WHERE act = 'state.prune'")
    assert json.loads(got[0][0])["sessions"] == 3
    home.integrity()


def test_prune_keeps_the_newest_whatever_their_age(home):
    fill(home, "ann")
    many(home, "ann", 5, 1)
    age(home, "ann", 100)
    prune(home, "--keep-n", "2")
    assert sessions(home, "ann") == ["s03", "s04"]
    prune(home, "--keep-n", "100", "--keep-days", "0")
    assert sessions(home, "ann") == ["s03", "s04"]


def test_forks_keep_what_they_stand_on(home):
    fill(home, "ann")
    home.skep("session", "fork", "s", "f", "--at", "1", "--agent", "ann")
    home.skep("session", "append", "f", "mine", "--agent", "ann")
    age(home, "ann", 50, {"s"})
    prune(home, "--keep-n", "0")
    assert sessions(home, "ann") == ["f"]
    assert "one" in home.skep("session", "export", "f", "--agent", "ann").out
    assert home.query(home.agent_db("ann"), "SELECT count(*) FROM event") == [(2,)]
    age(home, "ann", 50)
    prune(home, "--keep-n", "0")
    assert home.query(home.agent_db("ann"), "SELECT count(*) FROM event") == [(0,)]
    assert home.query(home.agent_db("ann"), "SELECT count(*) FROM session") == [(0,)]


def test_what_runs_made_and_snapshots_go_and_the_file_shrinks(home):
    fill(home, "ann")
    h = host(home)
    h.shell("ann", "echo hello")
    run = h.submit("ann", session="r")
    h.until(run, "succeeded")
    h.down()
    (home.dir / "big").write_bytes(os.urandom(3 << 20))
    home.execute(home.agent_db("ann"), "INSERT INTO artifact_content (id, state, size,"
                 " touched_at) VALUES (99, 'ready', 3, 1)")
    home.execute(home.agent_db("ann"), "INSERT INTO artifact_chunk VALUES (?, ?)",
                 99 << 20, os.urandom(3 << 20))
    home.execute(home.agent_db("ann"), "INSERT INTO artifact (aid, class, owner, kind,"
                 " name, content, created_at, updated_at) VALUES ('art_x', 'run', ?,"
                 " '', 'x', 99, 1, 1)", run)
    home.skep("vfs", "put", "ann", "/big", home.dir / "big")
    home.skep("snapshot", "create", "ann", "old")
    home.execute(home.agent_db("ann"), "UPDATE vfs_snap SET made_at = 1000")
    age(home, "ann", 60, {"r"})
    before = home.agent_db("ann").stat().st_size
    got = prune(home, "--keep-n", "1")[0]
    assert got["artifacts"] >= 1 and got["snapshots"] == 1, got
    home.skep("state", "checkpoint")
    after = home.agent_db("ann").stat().st_size
    assert got["freed_bytes"] > 2 << 20 and after < before - (2 << 20), (before, after)
    home.integrity()


def test_prune_beside_running_runs(home):
    h = host(home)
    h.script("ann", {"event": {"type": "note", "text": "n"}},
             {"event": {"type": "status"}, "repeat": 500, "every_ms": 20})
    h.script("quick", {"event": {"type": "note", "text": "n"}})
    live = h.submit("ann", session="live")
    waits = h.submit("ann", session="live")
    h.until(live, "running")
    done = [h.submit("quick") for _ in range(5)]
    for run in done:
        h.until(run)
    for i in range(20):
        home.skep("session", "append", "old%d" % i, "x", "--agent", "ann")
    age(home, "ann", 90)
    got = prune(home, "--keep-n", "0", "--keep-days", "0")
    assert "live" in sessions(home, "ann"), "what runs is never taken"
    assert got[0]["sessions"] >= 20 and got[0]["longest_cpu_ms"] <= 50, got
    assert [r for r in got if r["database"] == "control"][0]["runs"] == 5
    assert h.get(live)["state"] == "running" and h.get(waits)["state"] == "queued"
    for run in (waits, live):
        h.cancel(run)
        h.until(run)
    assert h.down() == 0
    home.integrity()


def test_a_null_in_the_rows_disables_nothing(home):
    fill(home, "ann")
    home.execute(home.agent_db("ann"), "UPDATE session SET title = NULL, model = NULL")
    home.execute(home.agent_db("ann"), "INSERT INTO session (sid, key, created_at,"
                 " updated_at) VALUES ('ses_empty', 'empty', 1, 1)")
    age(home, "ann", 50, {"s"})
    prune(home, "--keep-n", "0")
    assert sessions(home, "ann") == []


def test_old_content_can_be_emptied(home):
    fill(home, "ann")
    home.skep("session", "append", "new", "stay", "--agent", "ann")
    age(home, "ann", 50, {"s"})
    home.refused(64, "state", "redact")
    dry = home.skep("state", "redact", "--keep-days", "30", "--dry-run",
                    "--json").lines[0]["events"]
    before = home.query(home.agent_db("ann"), "SELECT pos, type, at FROM event")
    assert home.skep("state", "redact", "--keep-days", "30",
                     "--json").lines[0]["events"] == dry == 2
    assert home.query(home.agent_db("ann"), "SELECT pos, type, at FROM event") == before
    raw = home.query(home.agent_db("ann"), "SELECT group_concat(body) FROM event")[0][0]
    assert "stay" in raw and "one" not in raw, raw


def test_checkpoint_empties_the_log_or_says_busy(home):
    fill(home, "ann")
    wal = home.path / "agents" / "ann" / "agent.sqlite-wal"
    reader = sqlite3.connect(home.agent_db("ann"))
    reader.execute("SELECT count(*) FROM event").fetchall()
    home.skep("session", "append", "s", "three", "--agent", "ann")
    assert wal.stat().st_size > 0
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM event").fetchall()
    home.skep("session", "append", "s", "four", "--agent", "ann")
    got = home.skep("state", "checkpoint", "--agent", "ann", "--json").lines[0]
    assert got["busy"] and got["log_frames"] > 0, got
    stats = home.skep("state", "stats", "--agent", "ann", "--json").lines[-1]
    if os.path.exists("/proc/locks"):
        (one,) = stats["readers"]
        assert one["pid"] == os.getpid() and one["pinned_frames"] > 0, one
        home.skep("session", "append", "s", "five", "--agent", "ann")
        (two,) = home.skep("state", "stats", "--agent", "ann",
                           "--json").lines[-1]["readers"]
        assert two["pinned_frames"] > one["pinned_frames"], (one, two)
        assert one["age_ms"] < two["age_ms"] < two["process_ms"], (one, two)
    reader.rollback()
    got = home.skep("state", "checkpoint", "--agent", "ann", "--json").lines[0]
    assert not got["busy"] and wal.stat().st_size == 0, got
    reader.close()


def test_every_mode_of_a_checkpoint_says_what_it_did(home):
    fill(home, "ann")
    # another process has the file open: the last one to close would empty the log
    reader = sqlite3.connect(home.agent_db("ann"))
    reader.execute("SELECT count(*) FROM event").fetchall()

    def one(mode):
        return home.skep("state", "checkpoint", "--agent", "ann", "--mode", mode,
                         "--json").lines[0]
    for mode in ("full", "restart", "truncate"):
        reader.rollback()
        home.skep("session", "append", "s", mode, "--agent", "ann")
        got = one(mode)
        assert not got["busy"] and got["log_frames"] == got["checkpointed"], (mode, got)
        assert (got["log_frames"] == 0) == (mode == "truncate"), (mode, got)
        home.skep("session", "append", "s", mode, "--agent", "ann")
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM event").fetchall()
        home.skep("session", "append", "s", "behind", "--agent", "ann")
        got = one(mode)
        assert got["busy"], (mode, got)
        assert 0 < got["checkpointed"] < got["log_frames"], (mode, got)
    reader.close()


def test_upkeep_does_not_keep_a_run_waiting(home):
    """What has expired goes, and free space is given back, beside a run that
    writes; no lock is held for long."""
    h = host(home)
    h.script("ann", {"event": {"type": "note", "text": "n"}, "repeat": 20000,
                     "every_ms": 1})
    run = h.submit("ann")
    h.until(run, "running")
    db = sqlite3.connect(home.agent_db("ann"), timeout=30)
    db.executemany("INSERT INTO cache (scope, key, value, created_at, expires_at)"
                   " VALUES ('a', ?, zeroblob(2000), 1, 2)",
                   [("k%d" % i,) for i in range(5000)])
    db.execute("CREATE TABLE big AS SELECT zeroblob(20000000) AS b")
    db.execute("DROP TABLE big")
    db.commit()
    db.close()
    seen = len(h.notes("ann", run))
    freed = 0
    while freed < 5000:
        got = home.skep("state", "maintain", "--json").json
        assert got["freed"] <= 2000, "batches are bounded"
        assert got["longest_cpu_ms"] <= 50, got
        freed += got["freed"]
    assert home.query(home.agent_db("ann"), "SELECT count(*) FROM cache") == [(0,)]
    assert home.query(home.agent_db("ann"), "PRAGMA freelist_count")[0][0] < 1000
    lib.eventually(lambda: len(h.notes("ann", run)) > seen, 30, "the run to go on")
    plan = " ".join(r[3] for r in home.query(
        home.agent_db("ann"), "EXPLAIN QUERY PLAN DELETE FROM cache WHERE id IN"
        " (SELECT id FROM cache WHERE expires_at IS NOT NULL AND expires_at <= 5"
        " LIMIT 10)"))
    assert "INDEX" in plan, plan
    h.cancel(run)
    h.until(run)
    assert h.down() == 0
    home.integrity()


def test_vacuum_is_refused_while_a_run_would_wait(home):
    h = host(home)
    h.script("ann", {"event": {"type": "status"}, "repeat": 500, "every_ms": 20})
    run = h.submit("ann")
    h.until(run, "running")
    assert run in home.refused(75, "state", "vacuum", "--agent", "ann")
    home.skep("state", "vacuum", "--agent", "ann", "--incremental")
    h.cancel(run)
    h.until(run)
    home.skep("state", "vacuum", "--agent", "ann")
    h.down()
    home.skep("state", "vacuum")
    acts = home.query(home.control, "SELECT count(*) FROM audit WHERE act = 'state.vacuum'")
    assert acts == [(3,)]


def test_the_control_plane_is_given_back_while_skepd_runs(home):
    h = host(home)
    h.script("ann", {"event": {"type": "note", "text": "n"}})
    h.down()
    home.execute(home.control, "CREATE TABLE big AS SELECT randomblob(3000000) AS b")
    home.execute(home.control, "DROP TABLE big")
    h.start()
    r = home.skep("state", "vacuum")
    assert "skep down" in r.out + r.err, (r.out, r.err)
    assert home.query(home.control, "PRAGMA freelist_count") == [(0,)]
    h.until(h.submit("ann"), "succeeded")
    got = [r for r in home.skep("state", "vacuum", "--incremental", "--json").lines
           if r["database"] == "control"]
    assert got and got[0]["after"] <= got[0]["before"], got
    assert h.down() == 0
    home.integrity()


def test_every_act_of_an_operator_is_in_the_audit_table(home):
    fill(home, "ann", "bob")
    (home.path / "skep.json").write_text("{}")
    (home.path / "skep.json").chmod(0o600)
    archive = home.dir / "b.tar"
    acts = [("state.checkpoint", "state", "checkpoint"),
            ("state.vacuum", "state", "vacuum"),
            ("state.prune", "state", "prune"),
            ("state.redact", "state", "redact", "--keep-days", "1"),
            ("state.gc", "state", "gc"),
            ("backup.create", "backup", "create", "-o", archive),
            ("agent.restore", "backup", "restore", archive, "--agent", "ann",
             "--activate"),
            ("doctor.fix", "doctor", "--fix"),
            ("reset.agent", "reset", "agent", "bob", "--yes"),
            ("reset.config", "reset", "config", "--yes"),
            ("backup.restore", "backup", "restore", archive),
            ("reset.sessions", "reset", "sessions", "--yes")]

    def count(act):
        return home.query(home.control, "SELECT count(*) FROM audit WHERE act = ?"
                          " AND actor <> ''", act)[0][0]
    h = host(home)
    for supervised in (True, False):
        if not supervised:
            assert h.down() == 0
        for act, *args in acts:
            refused = supervised and (args[0] == "reset" or act == "backup.restore")
            archive.unlink() if act == "backup.create" and archive.exists() else None
            if act == "doctor.fix":
                (home.path / "state").chmod(0o755)
            before = count(act)
            home.skep(*args, code=75 if refused else 0)
            # a restored home has the rows of its backup, and the one of its return
            assert count(act) > before or refused, (act, supervised)
    detail = home.query(home.control, "SELECT detail FROM audit"
                        " WHERE act = 'backup.restore'")[0][0]
    assert json.loads(detail)["from"] == str(home.path)


def test_skepd_maintains_its_files_by_itself(home):
    h = host(home)
    h.down()
    config = json.loads((home.path / "skep.json").read_text())
    config["state"] = {"maintain": "500ms"}
    (home.path / "skep.json").write_text(json.dumps(config))
    fill(home, "ann")
    home.execute(home.agent_db("ann"), "INSERT INTO cache (scope, key, value, created_at,"
                 " expires_at) VALUES ('a', 'b', x'00', 1, 2)")
    h.start()
    lib.eventually(lambda: home.query(home.agent_db("ann"),
                                      "SELECT count(*) FROM cache") == [(0,)],
                   30, "a gc")
    lib.eventually(lambda: home.query(home.control, "SELECT count(*) FROM audit"
                                      " WHERE act = 'state.maintain'") != [(0,)],
                   30, "a line about it")
    assert h.down() == 0


def test_sessions_of_all_agents_are_listed(home):
    fill(home, "ann", "bob")
    time.sleep(0.01)
    home.skep("session", "append", "last", "x", "--agent", "ann")
    got = [(r["agent"], r["key"]) for r in home.skep("state", "ls", "--json").lines]
    assert got[0] == ("ann", "last") and len(got) == 3
    home.skep("session", "archive", "last", "--agent", "ann")
    got = [r["key"] for r in home.skep("state", "ls", "--status", "archived",
                                       "--json").lines]
    assert got == ["last"]


def check_copies_are_independent(home, copies):
    """Each home has two events; a third one in one home is in no other."""
    for i, (one, agent) in enumerate((c, a) for c in copies for a in ("ann", "new")):
        one.skep("session", "append", "s%d" % i, "x", "-a", agent)
        assert sessions(one, agent).count("s%d" % i) == 1, (one.path, agent)
    for n, one in enumerate(copies):
        for agent in ("ann", "new"):
            own = {"s%d" % (2 * n), "s%d" % (2 * n + 1)}
            assert {s for s in sessions(one, agent) if s[0] == "s" and s[1:].isdigit()} \
                <= own, (one.path, agent)
        assert one.skep("doctor").code == 0


def test_a_copy_of_a_home_uses_its_own_files(home):
    home.skep("agent", "add", "ann", "--driver", "script")
    home.skep("session", "append", "first", "x", "-a", "ann")
    home.skep("agent", "export", "ann", home.dir / "ann.tar")
    home.skep("agent", "import", home.dir / "ann.tar", "--name", "new")
    stored = sorted(p for p, in home.query(home.control, "SELECT path FROM agent_database"))
    assert stored == ["agents/ann/agent.sqlite", "agents/new/agent.sqlite"]
    shutil.copytree(home.path, home.dir / "copy")
    check_copies_are_independent(home, [home, at(home, home.dir / "copy")])


def test_a_copy_of_a_linked_or_restored_home_uses_its_own_files(home):
    real = home.dir / "real"
    real.mkdir()
    (home.dir / "link").symlink_to(real)
    linked = at(home, home.dir / "link" / "home")
    for agent in ("ann", "new"):
        linked.skep("agent", "add", agent, "--driver", "script")
        linked.skep("session", "append", "first", "x", "-a", agent)
    linked.skep("backup", "create", "-o", home.dir / "b.tar")
    linked.skep("backup", "restore", home.dir / "b.tar", "--to", home.dir / "restored")
    shutil.copytree(linked.path, home.dir / "copy")
    shutil.copytree(home.dir / "restored", home.dir / "copy2")
    check_copies_are_independent(home, [linked] + [
        at(home, home.dir / n) for n in ("copy", "restored", "copy2")])
