"""skep import: state of other programs becomes ours."""
import hashlib
import json
import os
import pathlib
import subprocess
import sys

import lib
from skepd_lib import host
from test_backup import fill
from test_ops_crash import TRIED, armed, try_points, with_fault

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
import foreign  # noqa: E402


def digest(root):
    """Of all files below, names and bytes."""
    h = hashlib.sha256()
    for p in sorted(root.rglob("*")):
        h.update(str(p).encode())
        if p.is_file():
            h.update(p.read_bytes())
    return h.hexdigest()


def items(home, *args, code=0):
    return home.skep("import", *args, "--json", code=code).lines


def taken(got, state):
    return {p["target"]: p["records"] for p in got if p["state"] == state}


def events(home, target):
    agent, key = target.split("/", 1)
    return home.query(home.agent_db(agent), "SELECT t.name, e.body, coalesce(j.parent,"
                      " (e.pos & 4294967295) - 1), o.event_id FROM event e"
                      " JOIN session s ON s.id = e.pos >> 32"
                      " JOIN event_type t ON t.id = e.type"
                      " LEFT JOIN event_parent j ON j.pos = e.pos"
                      " LEFT JOIN event_extra o ON o.pos = e.pos"
                      " WHERE s.key = ? ORDER BY e.pos", key)


def sessions(want):
    """Those of the targets that are sessions."""
    return {t: n for t, n in want.items()
            if "/" in t and " " not in t and not t.startswith("credentials/")}


def make_test(kind):
    def test(home):
        source = home.dir / "source"
        source.mkdir()
        want = kind(source)
        fill(home, "ann")
        before, there = home.picture(), digest(source)
        plan = items(home, "plan", source)
        assert taken(plan, "planned") == want, plan
        assert home.picture() == before and digest(source) == there, "a plan reads only"
        for p in plan:
            assert p["sha256"] and p["bytes"] >= 0 and p["path"], p
        named = {p["path"].split("#")[0] for p in plan}
        for p in source.rglob("*"):
            if p.is_file() and not p.name.endswith(("-wal", "-shm", "prompt.md",
                                                    "backstory.md")):
                assert str(p) in named, "%s is not mentioned" % p
        home.refused(64, "import", "apply", source)
        assert home.picture() == before
        got = items(home, "apply", source, "--yes")
        assert taken(got, "imported") == want, got
        assert digest(source) == there, "the source is kept"
        for target, count in sessions(want).items():
            assert len(events(home, target)) == count
        again = items(home, "apply", source, "--yes")
        assert set(taken(again, "done")) == set(want) and not taken(again, "imported")
        for target, count in sessions(want).items():
            assert len(events(home, target)) == count, "once"
        runs = home.query(home.control, "SELECT state, imported, skipped, backup_path"
                          " FROM import_run ORDER BY id")
        assert [r[:3] for r in runs] == [("done", len(want), 0), ("done", 0, len(want))]
        assert os.path.exists(runs[0][3])
        home.integrity()
    return test


for _kind in foreign.KINDS:
    globals()["test_%s_come_in_once" % _kind.__name__] = make_test(_kind)


def test_trees_of_messages_keep_their_shape(home):
    source = home.dir / "source"
    foreign.openclaw_files(source)
    items(home, "apply", source, "--yes")
    got = events(home, "main/agent:main:main")
    assert [(g[0], g[2], g[3]) for g in got] == [
        ("raw", 0, "s-1"), ("message", 0, "m1"), ("message", 2, "m2"), ("message", 2, "m3"),
        ("raw", 4, "m4")]
    assert json.loads(got[2][1])["content"][0]["text"] == "first answer"
    row = home.query(home.agent_db("main"), "SELECT title, kind, source, meta FROM session"
                     " WHERE key = 'agent:main:main'")[0]
    assert row[:3] == ("Main talk", "import", "openclaw")
    used = home.query(home.agent_db("main"), "SELECT model, input, output, cached, cost_nano"
                      " FROM usage ORDER BY pos LIMIT 1")
    assert used == [("m", 7, 3, 2, 125000)]
    assert json.loads(row[3])["import"]["row"]["lastChannel"] == "telegram", "nothing is lost"


def test_what_belongs_together_comes_out_in_its_order(home):
    source = home.dir / "source"
    run = sorted(t for t in foreign.lion(source / "lion") if t.endswith("br-1"))[0]
    foreign.grida(source / "grida")
    foreign.hiro(source / "hiro")
    foreign.hiro_characters(source / "people")
    items(home, "apply", source, "--yes", "--dangerously-skip-backup")

    def text(target):
        return [json.loads(b)["content"] for _, b, _, _ in events(home, target)]
    assert text("imported/b1") == [{"text": "message %d" % i} for i in (2, 0, 1)]
    assert text(run) == [{"text": "go"}, {"text": "gone"}]
    assert text("copilot/ses_a") == [
        [{"type": "text", "text": "draw a dog"}], [{"type": "text", "text": "draw a cat"}],
        [{"type": "text", "text": "a cat"}, {"type": "tool-draw", "state": "output-available"}]]
    assert [e[2] for e in events(home, "copilot/ses_a")] == [0, 0, 2], "a rewind hid the first"
    about = home.query(home.agent_db("copilot"), "SELECT model, meta FROM session")[0]
    assert about[0] == "large" and json.loads(about[1])["import"]["row"]["cost_usd"] == 0.25
    assert home.query(home.agent_db("kind"), "SELECT title FROM session") == [("Home",)]
    assert [json.loads(b)["role"] for _, b, _, _ in events(home, "hiro/7")] == [
        "user", "assistant"]
    agents = {a["name"]: a for a in home.skep("agent", "ls", "--json").lines}
    assert agents["kind"]["prompt"] == "Be kind" and agents["kind"]["model"] == "gpt"
    assert agents["hiro"]["prompt"] == "You are Hiro.\n\nBorn in a box."
    got = home.query(home.agent_db("kind"), "SELECT checkpoint_id, hex(checkpoint)"
                     " FROM checkpoints ORDER BY 1")
    assert got == [("k-1", "81"), ("k-2", "82")]
    keys = sorted(p.name for p in (home.path / "credentials").iterdir())
    assert keys == ["grida-auth.json", "hiro-master-key.pem"]
    for p in (home.path / "credentials").iterdir():
        assert p.stat().st_mode & 0o777 == 0o600
    for db in home.path.rglob("*.sqlite"):
        assert b"BEGIN PRIVATE KEY" not in db.read_bytes(), "secrets stay files"


def test_files_and_artifacts_of_an_openclaw_agent_are_there(home):
    source = home.dir / "source"
    foreign.openclaw_databases(source)
    got = items(home, "apply", source, "--yes", "--dangerously-skip-backup")
    assert home.skep("vfs", "cat", "work:scratch", "/docs/a.txt").out == "hello"
    rows = home.query(home.agent_db("work"), "SELECT owner, kind, name FROM artifact")
    assert rows == [("openclaw", "tool", "r1/a1")]
    why = {p["path"].split("#")[-1]: p["warning"] for p in got if p["state"] == "unknown"}
    assert "schedules" in why["cron_jobs"] and "runs" in why["task_runs"], why
    assert set(why) == {"cron_jobs", "task_runs", "kv", "plugin_state_entries",
                        "cache_entries"}, why


def test_an_agentfs_file_becomes_a_workspace(home):
    fill(home, "ann")
    (home.dir / "tree" / "sub").mkdir(parents=True)
    (home.dir / "tree" / "sub" / "a.txt").write_text("hello")
    home.skep("namespace", "create", "ann:t")
    home.skep("vfs", "import", "ann:t", home.dir / "tree")
    r = home.skep("vfs", "export", "ann:t", home.dir / "box.db", "--format", "agentfs",
                  code=None)
    if r.code:
        lib.skip("no export to AgentFS: " + r.err)
    got = items(home, "plan", home.dir / "box.db", "--agent", "ann")
    assert [p["records"] for p in got] == [2], got
    got = items(home, "apply", home.dir / "box.db", "--yes", "--agent", "ann")
    assert [(p["importer"], p["target"], p["state"], p["records"])
            for p in got] == [("agentfs", "ann:box", "imported", 2)], got
    assert home.skep("vfs", "cat", "ann:box", "/sub/a.txt").out == "hello"
    assert items(home, "apply", home.dir / "box.db", "--yes", "--agent",
                  "ann")[0]["state"] == "done"


def test_what_is_broken_is_kept_and_told(home):
    source = home.dir / "source"
    foreign.jsonl(source)
    with open(source / "notes.jsonl", "a") as f:
        f.write("{broken\n")
    foreign.lines(source / "good.jsonl", [{"role": "user", "content": "x"}])
    got = items(home, "apply", source, "--yes", "--delete-source", code=1)
    bad = [p for p in got if p["warning"]]
    assert len(bad) == 1 and "line 4" in bad[0]["warning"], got
    again = items(home, "apply", source, "--yes", "--delete-source", code=1)
    assert [p["state"] for p in again] == ["done"] and again[0]["warning"], again
    assert (source / "notes.jsonl").exists(), "not taken whole: kept"
    assert not (source / "good.jsonl").exists(), "taken, and asked to be removed"
    gone = home.query(home.control, "SELECT path, removed FROM import_item"
                      " WHERE removed IS NOT NULL")
    assert gone == [(str(source / "good.jsonl"), "deleted")]


def test_sources_can_be_moved_away(home):
    source = home.dir / "source"
    foreign.grida(source)
    items(home, "apply", source, "--yes", "--archive", home.dir / "old")
    assert (home.dir / "old" / "sessions.db").exists()
    assert not (source / "sessions.db").exists()
    assert (source / "workspaces.json").exists(), "nobody took it"


def test_a_supervisor_may_run(home):
    """skepd writes the control plane, the agents' files take the rest."""
    source = home.dir / "source"
    want = foreign.hiro(source)
    h = host(home)
    got = items(home, "apply", source, "--yes", "--archive", home.dir / "old")
    assert taken(got, "imported") == want, got
    for target, count in sessions(want).items():
        assert len(events(home, target)) == count
    assert home.query(home.control, "SELECT state, imported FROM import_run") == [
        ("done", len(want))]
    gone = home.query(home.control, "SELECT count(*) FROM import_item"
                      " WHERE removed IS NOT NULL")[0][0]
    assert gone == 2, "the conversation and the key"
    mtime = home.query(home.control, "SELECT mtime_ns FROM import_item WHERE path = ?",
                       str(source / "conversations" / "c-1.jsonl"))[0][0]
    assert mtime == (home.dir / "old" / "conversations" / "c-1.jsonl").stat().st_mtime_ns
    again = items(home, "apply", source, "--yes")
    assert not taken(again, "imported"), again
    assert home.skep("agent", "show", "kind", "--json").json["prompt"] == "Be kind"
    h.down()
    home.integrity()


def found(home, *more, code=0):
    got = home.skep("doctor", "--json", *more, code=code).lines
    return {f["subject"]: f for f in got if f["finding"] == "importable_state"}


def test_the_doctor_finds_state_of_others_and_imports_it(home):
    """One implementation: what doctor --fix does is what import apply does."""
    claw, flock = home.dir / ".openclaw", home.dir / "w" / "hiro"
    want = {str(claw): foreign.openclaw_files(claw), str(flock): foreign.hiro(flock)}
    (home.dir / ".clawdbot").symlink_to(claw)
    foreign.write(home.dir / ".local" / "share" / "hiro" / "registry.json", json.dumps(
        {"default": "a", "workspaces": {"a": {"name": "A", "path": str(flock)}}}))
    fill(home, "ann")
    before, there = home.picture(), digest(claw)
    got = found(home)
    assert set(got) == set(want), got
    for path, f in got.items():
        assert "%d items" % len(want[path]) in f["what"] and f["fixable"] and f["why"], f
    assert home.picture() == before, "it reads only"
    assert found(home, "--quick").keys() == want.keys()
    assert not found(home, "--no-import")
    got = found(home, "--fix")
    assert all(f["fixed"] == "yes" for f in got.values()), got
    for part in want.values():
        for target, count in sessions(part).items():
            assert len(events(home, target)) == count
    assert digest(claw) == there, "the source stays"
    runs = home.query(home.control, "SELECT state, source, backup_path FROM import_run"
                      " ORDER BY id")
    assert {r[1] for r in runs} == set(want) and all(r[0] == "done" for r in runs), runs
    assert os.path.exists(runs[0][2]), "a backup comes first"
    home.skep("backup", "verify", runs[0][2])
    assert not found(home), "nothing is left to do"
    again = items(home, "apply", claw, "--yes", "--dangerously-skip-backup")
    assert not taken(again, "imported"), again


def test_the_doctor_imports_into_a_running_and_into_an_empty_home(home):
    want = foreign.lion(home.dir / ".lionagi")
    home.path.mkdir(mode=0o700)
    got = found(home, "--fix")
    assert [f["fixed"] for f in got.values()] == ["yes"], got
    for target, count in sessions(want).items():
        assert len(events(home, target)) == count
    h = host(home)
    foreign.grida(home.dir / ".grida" / "agent")
    got = found(home, "--fix")
    assert [f["fixed"] for f in got.values()] == ["yes"], got
    assert len(events(home, "copilot/ses_a")) == 3
    h.down()


def test_nothing_known_is_said_so(home):
    (home.dir / "x").write_text("nothing")
    r = home.skep("import", "plan", home.dir / "x", code=65)
    assert "recognizes" in r.err
    home.refused(66, "import", "plan", home.dir / "nowhere")


def test_an_import_that_dies_is_finished_by_the_next_and_doubles_nothing(home):
    fill(armed(home), "ann")

    def check(point, how):
        source = home.dir / (point + how)
        want = foreign.lion(source)
        more = ("--delete-source",) if point.startswith("import_remove") else ()
        agent = "a-%s-%s" % (point, how)
        args = ("import", "apply", source, "--yes", "--agent", agent,
                "--dangerously-skip-backup") + more
        if how == "error" and point in ("import_item", "import_remove",
                                        "import_copy"):
            TRIED.add(point)
            r = home.skep(*args, code=1, env={"SKEP_FAULT": "%s:error" % point})
            assert "fault injected" in r.out, r.out
        else:
            with_fault(home, point, how, *args)
        home.skep(*args, code=None)
        check_home(home, agent, want, point)
        if not more:
            states = home.query(home.control, "SELECT state FROM import_run WHERE source = ?",
                                str(source))
            assert ("running",) not in states, "one that was killed is known to be"
    try_points(home, "import_", check)


def check_home(home, agent, want, what):
    """Everything is there, once."""
    want = {t.replace("imported/", agent + "/"): n for t, n in sessions(want).items()}
    for target, count in want.items():
        assert len(events(home, target)) == count, (what, target)
    assert home.query(home.agent_db(agent), "SELECT count(*) FROM session") == [(len(want),)]
    home.integrity()


def test_an_import_that_dies_at_any_item_is_finished_by_the_next(home):
    """The n-th time that a point is passed, until it is passed no more."""
    fill(armed(home), "ann")
    for point, least in (("import_item", 6), ("append_before_commit", 10)):
        for n in range(1, 60):
            agent = "a%d-%d" % (least, n)
            source = home.dir / agent
            want = foreign.lion(source)
            args = ("import", "apply", source, "--yes", "--agent", agent,
                    "--dangerously-skip-backup")
            r = home.skep(*args, env={"SKEP_FAULT": "%s:kill:%d" % (point, n)}, code=None)
            if r.code == 0:
                break
            assert r.code == -9, (n, r.code, r.err)
            home.skep(*args)
            check_home(home, agent, want, n)
        assert n > least, "every item, and every event, was one"


def test_two_imports_at_once_double_nothing(home):
    source = home.dir / "source"
    want = foreign.lion(source)
    fill(home, "ann")
    both = [home.start(home.bin / "skep", "import", "apply", source, "--yes",
                       "--dangerously-skip-backup", stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL) for _ in range(3)]
    for p in both:
        p.wait(lib.HANG)
    home.skep("import", "apply", source, "--yes", "--dangerously-skip-backup")
    check_home(home, "imported", want, "at once")
