"""One agent as one unit: exported, imported here or in another home, and
cloned. What can be compared is compared with other programs."""
import sqlite3
import subprocess

import lib
from skepd_lib import Host, QUICK, Refused, fault_points, faults_bin, finish, \
    host

SCRIPT = [{"event": {"type": "note", "text": "n"}}, {"text": "hello there"}]


def fill(h, home, name="bot"):
    """An agent with versions, sessions, files in both kinds of workspaces, a
    snapshot, an artifact and a binding."""
    h.script(name, *SCRIPT)
    h.script(name, *SCRIPT, model="m1")
    h.call("PUT", "/v1/agents/" + name, {
        "driver": "script", "config": {"steps": SCRIPT}, "model": "m2",
        "x-service": {"headers": {"A": {"file": "service-key"}},
                      "key_file": "openai", "key_env": "MY_KEY",
                      "pass": ["GIT_X"]}})
    for session in "one", "two":
        assert h.until(h.submit(name, session=session))["state"] == "succeeded"
    space = home.path / "agents" / name / "workspace"
    space.mkdir(exist_ok=True)
    (space / "dir").mkdir()
    (space / "dir" / "script.sh").write_text("#!/bin/sh\necho hi\n")
    (space / "dir" / "script.sh").chmod(0o755)
    (space / "link").symlink_to("dir/script.sh")
    source = home.dir / "source"
    source.mkdir()
    (source / "a.txt").write_text("first\n")
    home.skep("namespace", "create", name + ":work")
    home.skep("vfs", "put", name + ":work", "a.txt", source / "a.txt")
    home.skep("snapshot", "create", name + ":work", "clean")
    (source / "a.txt").write_text("second\n")
    home.skep("vfs", "put", name + ":work", "a.txt", source / "a.txt")


def dump(path):
    """The content, by stock SQLite, without what identifies the owner. A compact
    copy has its tables in another order."""
    db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    lines = [line for line in db.iterdump()
             if "'agent'," not in line and "'epoch'," not in line]
    db.close()
    return sorted(lines)


def owner(path):
    db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    got = dict(db.execute("SELECT key, value FROM meta WHERE key IN"
                          " ('agent','epoch')").fetchall())
    db.close()
    return got["agent"], int(got["epoch"])


def same_files(a, b):
    p = subprocess.run(["diff", "-r", "--no-dereference", a, b], text=True,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert p.returncode == 0, p.stdout


def versions(home, name):
    return home.query(home.control, "SELECT version, definition, digest,"
                      " created_at FROM agent_version WHERE agent = ?"
                      " ORDER BY version", name)


def tree(home, where, to):
    home.skep("vfs", "export", where, to)
    return to


def second(home):
    return lib.Home(home.bin)


def test_an_exported_agent_is_the_same_in_another_home(home):
    h = host(home)
    fill(h, home)
    out = home.dir / "bot.tar"
    said = home.skep("agent", "export", "bot", out).out
    assert "3 versions" in said, said
    there = second(home)
    try:
        got = there.skep("agent", "import", out).out
        assert "imported agent bot" in got, got
        assert "credential file openai: missing" in got, got
        assert "credential file service-key: missing" in got, got
        assert "variable MY_KEY" in got and "variable GIT_X" in got, got
        assert versions(home, "bot") == versions(there, "bot")
        a, b = home.agent_db("bot"), there.agent_db("bot")
        assert dump(a) == dump(b)
        assert owner(b) == ("bot", owner(a)[1] + 1)
        same_files(a.parent / "workspace", b.parent / "workspace")
        assert (b.parent / "workspace/dir/script.sh").stat().st_mode & 0o777 \
            == 0o755
        for where in "bot:work", "bot:work@clean":
            n = where.replace(":", "-")
            same_files(tree(home, where, home.dir / n),
                       tree(there, where, there.dir / n))
        assert sorted(p.name for p in b.parent.iterdir()
                      if "sqlite" not in p.name) == ["workspace"]
        h2 = host(there)
        row = h2.call("GET", "/v1/agents/bot")
        assert (row["version"], row["model"]) == (3, "m2")
        assert h2.until(h2.submit("bot", session="one"))["state"] == "succeeded"
        assert h2.down() == 0
        # and back, under another name
        there.skep("agent", "export", "bot", there.dir / "b.tar.zst", "--zstd")
        home.skep("agent", "import", there.dir / "b.tar.zst", "--name", "back")
        assert dump(home.agent_db("back")) == dump(there.agent_db("bot"))
    finally:
        there.close()
    assert h.down() == 0


def test_a_clone_has_its_own_identity(home):
    for supervised in True, False:
        own = second(home)
        try:
            h = host(own)
            fill(h, own)
            if not supervised:
                assert h.down() == 0
            own.skep("agent", "clone", "bot", "twin")
            assert dump(own.agent_db("bot")) == dump(own.agent_db("twin"))
            assert owner(own.agent_db("twin"))[0] == "twin"
            assert versions(own, "bot") == versions(own, "twin")
            if not supervised:
                h.start()
            # each goes its own way
            assert h.until(h.submit("twin", session="one"))["state"] == \
                "succeeded"
            assert dump(own.agent_db("bot")) != dump(own.agent_db("twin"))
            defaults = own.query(own.control, "SELECT name FROM agent WHERE"
                                 " is_default = 1")
            assert ("twin",) not in defaults
            own.refused(65, "agent", "clone", "bot", "twin")
            own.refused(66, "agent", "clone", "nobody", "x")
            assert h.down() == 0
        finally:
            own.close()


def test_an_export_is_consistent_while_a_run_writes(home):
    h = host(home)
    h.script("bot", {"event": {"type": "note", "text": "n"}, "repeat": 60000,
                     "every_ms": 1})
    run = h.submit("bot", session="s")
    h.until(run, "running")
    lib.eventually(lambda: len(h.events("bot", run)) > 50, 60, "events")
    home.skep("agent", "clone", "bot", "copy")
    assert h.get(run)["state"] == "running"
    rows = home.query(home.agent_db("copy"), "SELECT status, reason FROM run")
    assert rows == [("failed", "restored")], rows
    (bad,) = home.query(home.agent_db("copy"), "PRAGMA integrity_check")
    assert bad == ("ok",)
    h.cancel(run)
    h.until(run)
    assert h.down() == 0


def test_bindings_are_held(home):
    h = host(home)
    h.script("bot", *SCRIPT)
    home.skep("channel", "add", "box", "file")
    home.skep("channel", "bind", "box", "bot", "--peer", "ann",
              "--session", "s1")
    got = home.skep("agent", "clone", "bot", "twin")
    assert "1 binding is held" in got.out and "skep agent confirm twin" in got.out
    bound = "SELECT agent, peer, session FROM binding"
    assert home.query(home.control, bound) == [("bot", "ann", "s1")]
    row, = home.skep("agent", "held", "twin", "--json").lines
    assert (row["agent"], row["number"], row["kind"]) == ("twin", 1, "binding"), row
    assert (row["body"]["channel"], row["body"]["peer"]) == ("box", "ann"), row
    assert h.call("GET", "/v1/agents/twin/held")["items"] == [row]
    home.skep("agent", "clone", "bot", "third")  # a second copy holds its own
    assert len(home.skep("agent", "held", "--json").lines) == 2
    home.refused(66, "agent", "confirm", "twin", "9")
    # it survives a restart, and takes effect when it is confirmed
    h.kill()
    h.start()
    assert "1 confirmed" in home.skep("agent", "confirm", "twin", "1").out
    assert home.query(home.control, bound) == [("twin", "ann", "s1")]
    home.refused(66, "agent", "confirm", "twin")
    assert "1 discarded" in home.skep("agent", "confirm", "third", "--discard").out
    assert home.query(home.control, bound) == [("twin", "ann", "s1")]
    # a channel that does not exist here: nothing changes
    home.skep("agent", "clone", "twin", "last")
    home.skep("channel", "rm", "box")
    home.refused(66, "agent", "confirm", "last")
    assert len(home.skep("agent", "held", "last", "--json").lines) == 1
    home.skep("agent", "rm", "last", "--yes")
    assert home.skep("agent", "held", "--json").lines == []
    finish(h)


def state(home):
    """Rows and files that an import may change."""
    rows = home.query(home.control, "SELECT (SELECT count(*) FROM agent),"
                      " (SELECT count(*) FROM agent_version),"
                      " (SELECT count(*) FROM agent_database)")
    return rows, sorted(str(p.relative_to(home.path)) for p in
                        (home.path / "agents").glob("*/*")
                        if "-wal" not in p.name and "-shm" not in p.name)


def test_bad_archives_change_nothing(home):
    h = host(home)
    fill(h, home)
    out = home.dir / "bot.tar"
    home.skep("agent", "export", "bot", out)
    before = state(home)
    data = out.read_bytes()
    bad = home.dir / "bad.tar"
    for n, text in ((len(data) // 2, None), (0, None), (len(data) - 5, None)):
        bad.write_bytes(data[:n])
        home.refused(65, "agent", "import", bad, "--name", "x")
    broken = bytearray(data)
    at = data.index(b"SQLite format 3") + 5000
    broken[at] ^= 0xff
    bad.write_bytes(broken)
    assert "damaged" in home.refused(65, "agent", "import", bad, "--name", "x")
    bad.write_text("this is no archive")
    home.refused(65, "agent", "import", bad, "--name", "x")
    home.refused(66, "agent", "import", home.dir / "missing", "--name", "x")
    assert "there is an agent 'bot'" in home.refused(65, "agent", "import", out)
    home.refused(64, "agent", "import", out, "--name", "../x")
    (home.path / "agents" / "taken").mkdir()
    assert "already exists" in home.refused(65, "agent", "import", out,
                                            "--name", "taken")
    (home.path / "agents" / "taken").rmdir()
    whole = home.dir / "whole.tar"
    home.skep("backup", "create", "-o", whole)
    assert "not an exported agent" in home.refused(65, "agent", "import", whole,
                                                   "--name", "x")
    there = second(home)
    try:
        assert "skep agent import" in there.refused(65, "backup", "restore", out)
    finally:
        there.close()
    assert "already exists" in home.refused(65, "agent", "export", "bot", out)
    home.refused(66, "agent", "export", "nobody", home.dir / "n.tar")
    for path in ("/etc", str(home.path / "backups" / ".work-x" / ".." / ".."),
                 str(home.path / "backups" / ".work-none")):
        try:
            h.call("POST", "/v1/agents/bot/import", {"path": path})
            raise AssertionError(path)
        except Refused:
            pass
    assert state(home) == before
    assert not list((home.path / "backups").glob(".work*"))
    finish(h)


def test_an_agent_of_a_newer_skep_is_rejected(home):
    h = host(home)
    fill(h, home)
    finish(h)
    there = second(home)
    try:
        db = sqlite3.connect(home.agent_db("bot"))
        db.execute("PRAGMA user_version = 9999")
        db.commit()
        db.close()
        home.skep("agent", "export", "bot", home.dir / "new.tar")
        assert "newer" in there.refused(78, "agent", "import",
                                        home.dir / "new.tar")
        assert not list((there.path / "agents").glob("*"))
    finally:
        there.close()


def kill_at(home, supervised, point):
    there = faults_bin("kill")
    own = lib.Home(there)
    try:
        h = Host(own, QUICK, bin_dir=there).start()
        fill(h, own)
        out = own.dir / "bot.tar"
        own.skep("agent", "export", "bot", out)
        before, want = state(own), dump(own.agent_db("bot"))
        if supervised:
            h.kill()
            h.start(fault="skepd/%s:kill" % point)
        else:
            finish(h)
        args = ["agent", "export", "bot", own.dir / "again.tar"] \
            if point.startswith("export") else \
            ["agent", "import", out, "--name", "new"]
        own.skep(*args, code=None, env={"SKEP_FAULT": point + ":kill"})
        if supervised and h.process.poll() is not None:
            h.start()
        assert not (own.dir / "again.tar").exists()
        names = own.query(own.control, "SELECT name FROM agent ORDER BY 1")
        if ("new",) not in names:    # nothing of it is there
            assert state(own)[0] == before[0], point
            own.skep(*args)
        if not point.startswith("export"):
            assert dump(own.agent_db("new")) == want, point
            assert owner(own.agent_db("new"))[0] == "new"
        if not supervised or h.process.poll() is not None:
            h.start()
        assert h.until(h.submit("bot"))["state"] == "succeeded"
        own.skep("agent", "clone", "bot", "last")  # and it is cleaned up
        left = list((own.path / "backups").glob(".work*"))
        assert not left, (point, left)
        assert h.down() == 0
    finally:
        own.close()


def test_a_kill_leaves_all_or_nothing(home):
    if not faults_bin("kill"):
        lib.skip("there is no build with fault points")
    points = [p for p in fault_points() if p.startswith(("export_", "agent_"))]
    assert len(points) == 4
    for point in points:
        for supervised in False, True:
            kill_at(home, supervised, point)
