"""skep migrate: state of other programs becomes ours."""
import hashlib
import json
import os
import pathlib
import sys

import lib
from skepd_lib import host
from test_backup import fill
from test_ops_crash import armed, try_points, with_fault

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "fixtures"))
import foreign  # noqa: E402


def digest(root):
    """Of all files below, names and bytes."""
    h = hashlib.sha256()
    for p in sorted(root.rglob("*")):
        h.update(str(p).encode())
        if p.is_file():
            h.update(p.read_bytes())
    return h.hexdigest()


def pieces(home, *args, code=0):
    return home.skep("migrate", *args, "--json", code=code).lines


def taken(got, state):
    return {p["target"]: p["records"] for p in got if p["state"] == state}


def events(home, target):
    agent, key = target.split("/", 1)
    return home.query(home.agent_db(agent), "SELECT t.name, e.body, coalesce(j.parent,"
                      " (e.pos & 4294967295) - 1), o.event_id FROM event e"
                      " JOIN session s ON s.id = e.pos >> 32"
                      " JOIN event_type t ON t.id = e.type"
                      " LEFT JOIN event_jump j ON j.pos = e.pos"
                      " LEFT JOIN event_odd o ON o.pos = e.pos"
                      " WHERE s.key = ? ORDER BY e.pos", key)


def make_test(kind):
    def test(home):
        source = home.dir / "source"
        source.mkdir()
        want = kind(source)
        want.pop("imported/main/main", None)
        fill(home, "ann")
        before, there = home.picture(), digest(source)
        plan = pieces(home, "plan", source)
        assert taken(plan, "planned") == want, plan
        assert home.picture() == before and digest(source) == there, "a plan reads only"
        for p in plan:
            assert p["sha256"] and p["bytes"] >= 0 and p["path"], p
        named = {p["path"].split("#")[0] for p in plan}
        for p in source.rglob("*"):
            if p.is_file() and not p.name.endswith(("-wal", "-shm", "sessions.json")):
                assert str(p) in named, "%s is not mentioned" % p
        home.refused(64, "migrate", "apply", source)
        assert home.picture() == before
        got = pieces(home, "apply", source, "--yes")
        assert taken(got, "imported") == want, got
        assert digest(source) == there, "the source is kept"
        for target, count in want.items():
            assert len(events(home, target)) == count
        again = pieces(home, "apply", source, "--yes")
        assert set(taken(again, "done")) == set(want) and not taken(again, "imported")
        for target, count in want.items():
            assert len(events(home, target)) == count, "once"
        runs = home.query(home.control, "SELECT state, imported, skipped, backup_path"
                          " FROM migration_run ORDER BY id")
        assert [r[:3] for r in runs] == [("done", len(want), 0), ("done", 0, len(want))]
        assert os.path.exists(runs[0][3])
        home.integrity()
    return test


for _kind in foreign.KINDS:
    globals()["test_%s_come_in_once" % _kind.__name__] = make_test(_kind)


def test_trees_of_messages_keep_their_shape(home):
    source = home.dir / "source"
    foreign.openclaw_files(source)
    pieces(home, "apply", source, "--yes")
    got = events(home, "main/agent:main:main")
    assert [(g[0], g[2], g[3]) for g in got] == [
        ("message", 0, "m1"), ("message", 1, "m2"), ("message", 1, "m3"), ("raw", 3, "m4")]
    assert json.loads(got[1][1])["content"][0]["text"] == "first answer"
    title = home.query(home.agent_db("main"), "SELECT title, kind, source FROM session"
                       " WHERE key = 'agent:main:main'")
    assert title == [("Main talk", "import", "openclaw")]


def test_an_agentfs_file_becomes_a_workspace(home):
    fill(home, "ann")
    (home.dir / "tree" / "sub").mkdir(parents=True)
    (home.dir / "tree" / "sub" / "a.txt").write_text("hello")
    home.skep("vfs", "new", "ann:t")
    home.skep("vfs", "import", "ann:t", home.dir / "tree")
    r = home.skep("vfs", "export", "ann:t", home.dir / "box.db", "--format", "agentfs",
                  code=None)
    if r.code:
        lib.skip("no export to AgentFS: " + r.err)
    got = pieces(home, "apply", home.dir / "box.db", "--yes", "--agent", "ann")
    assert [(p["importer"], p["target"], p["state"]) for p in got] == \
        [("agentfs", "ann:box", "imported")], got
    assert home.skep("vfs", "cat", "ann:box", "/sub/a.txt").out == "hello"
    assert pieces(home, "apply", home.dir / "box.db", "--yes", "--agent",
                  "ann")[0]["state"] == "done"


def test_what_is_broken_is_kept_and_told(home):
    source = home.dir / "source"
    foreign.jsonl(source)
    with open(source / "notes.jsonl", "a") as f:
        f.write("{broken\n")
    foreign.lines(source / "good.jsonl", [{"role": "user", "content": "x"}])
    got = pieces(home, "apply", source, "--yes", "--delete-source", code=1)
    bad = [p for p in got if p["warning"]]
    assert len(bad) == 1 and "line 4" in bad[0]["warning"], got
    assert (source / "notes.jsonl").exists(), "not taken whole: kept"
    assert not (source / "good.jsonl").exists(), "taken, and asked to be removed"
    gone = home.query(home.control, "SELECT path, removed FROM migration_source"
                      " WHERE removed IS NOT NULL")
    assert gone == [(str(source / "good.jsonl"), "deleted")]


def test_sources_can_be_moved_away(home):
    source = home.dir / "source"
    foreign.grida(source)
    pieces(home, "apply", source, "--yes", "--archive", home.dir / "old")
    assert (home.dir / "old" / "sessions.db").exists()
    assert not (source / "sessions.db").exists()
    assert (source / "workspaces.json").exists(), "nobody took it"


def test_a_supervisor_must_not_run(home):
    source = home.dir / "source"
    foreign.jsonl(source)
    h = host(home)
    assert "skep down" in home.refused(75, "migrate", "apply", source, "--yes",
                                       "--dangerously-skip-backup")
    h.down()


def test_nothing_known_is_said_so(home):
    (home.dir / "x").write_text("nothing")
    r = home.skep("migrate", "plan", home.dir / "x", code=65)
    assert "known" in r.err
    home.refused(66, "migrate", "plan", home.dir / "nowhere")


def test_a_migration_that_dies_is_finished_by_the_next_and_doubles_nothing(home):
    fill(armed(home), "ann")

    def check(point, how):
        source = home.dir / (point + how)
        want = foreign.lion(source)
        want.pop("imported/main/main", None)
        more = ("--delete-source",) if point == "migration_remove" else ()
        agent = "a-%s-%s" % (point, how)
        args = ("migrate", "apply", source, "--yes", "--agent", agent,
                "--dangerously-skip-backup") + more
        if how == "error" and point == "migration_piece":
            home.skep(*args, code=1, env={"SKEP_FAULT": "%s:error" % point})
        else:
            with_fault(home, point, how, *args)
        home.skep(*args, code=None)
        for target, count in want.items():
            target = target.replace("imported/", agent + "/")
            assert len(events(home, target)) == count, (point, how, target)
        assert home.query(home.agent_db(agent), "SELECT count(*) FROM session") == \
            [(len(want),)]
        home.integrity()
    try_points(home, "migration_", check)
