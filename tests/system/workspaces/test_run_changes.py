"""What a run or a turn changed, who changed a file, and the way back."""
import json
import os
import pathlib
import signal
import sys

import chat_mock
import lib
from skepd_lib import QUICK, Host
from workspace_lib import (chat_agent, files, host, needs_fuse, read, run,
                           shell_agent)

AGENT = str(lib.seen_in_a_sandbox(
    pathlib.Path(__file__).resolve().parents[1] / "support" / "acp_agent.py"))


def diff(home, ident, *more):
    return home.skep("diff", ident, *more).out.splitlines()


def log(home, where):
    return home.skep("vfs", "log", where, "--json").lines


def who(home, where, path, op):
    """Run, turn and tool of the last such change of a path."""
    got = [(c["run"], c["turn"], c["tool"]) for c in log(home, where)
           if c["path"] == path and c["op"] == op]
    assert got, log(home, where)
    return got[-1]


def test_a_run_shows_and_reverts_its_changes(home):
    h = host(home)
    bot = shell_agent(h)
    run(h, bot, "echo one > f; echo keep > k; mkdir d; echo x > d/x; ln f f2")
    row = run(h, bot, "echo two > f; rm k; rm -r d; echo new > n; chmod 700 .;"
              " mv n m")
    assert diff(home, row["id"]) == ["D d/x", "D d", "M f", "M f2", "D k",
                                     "A m"]
    patch = home.skep("diff", row["id"], "-p", "f").out
    assert "-one\n+two\n" in patch, patch
    assert diff(home, row["id"], "d") == ["D d/x", "D d"]
    assert [x["change"] for x in home.skep("diff", row["id"], "k",
                                           "--json").lines] == ["D"]
    # one path
    assert home.skep("revert", row["id"], "k").out == "A k\n1 change reverted\n"
    assert read(home, "bot:main", "k") == "keep\n"
    assert read(home, "bot:main", "f") == "two\n"
    # a path that was changed later
    later = run(h, bot, "echo three > f")
    out = home.refused(65, "revert", row["id"])
    assert "2 paths were changed after the run" in out, out
    assert files(home, "bot:main") == ["f", "f2", "k", "m"]
    assert home.skep("revert", row["id"], "-f").out.endswith("reverted\n")
    assert files(home, "bot:main") == ["d/x", "f", "f2", "k"]
    assert read(home, "bot:main", "f") == "one\n"
    st = home.skep("vfs", "stat", "bot:main", "f2", "--json").lines[0]
    assert st["links"] == 2, st
    home.skep("vfs", "fsck", "bot:main")
    # the revert can be seen, too
    assert diff(home, later["id"]) == ["M f", "M f2"]
    assert "turns 1 to 1, not 7" in home.refused(66, "diff", row["id"],
                                                 "--turn", "7")
    assert h.down() == 0


def test_changes_over_a_directory_are_shown_and_reverted(home):
    h = host(home)
    below = home.dir / "repo"
    (below / "sub" / "deep").mkdir(parents=True)
    (below / "sub" / "deep" / "f").write_text("host\n")
    (below / "top").write_text("top\n")
    bot = shell_agent(h, mode="vfs-scratch", path=str(below))
    first = run(h, bot, "echo new > top; rm -r sub/deep; echo a > a")
    assert diff(home, first["id"]) == ["A a", "D sub/deep/f", "D sub/deep",
                                       "M top"]
    (below / "later").write_text("later\n")
    home.skep("revert", first["id"])
    assert read(home, "bot:main", "sub/deep/f") == "host\n"
    assert read(home, "bot:main", "top") == "top\n"
    assert home.skep("vfs", "diff", "bot:main").out in ("", "D later\n")
    home.skep("vfs", "fsck", "bot:main")
    assert (below / "top").read_text() == "top\n"
    # a directory that no run has read is read when it is needed
    (below / "other").mkdir()
    second = run(h, bot, "true")
    assert diff(home, second["id"]) == []
    assert h.down() == 0


def test_a_marker_of_a_large_directory_reads_nothing(home):
    h = host(home)
    below = home.dir / "repo"
    for i in range(20):
        (below / str(i) / "x").mkdir(parents=True)
    bot = shell_agent(h, mode="vfs-scratch", path=str(below))
    row = run(h, bot, "echo 1 > 3/x/new")
    assert diff(home, row["id"]) == ["A 3/x/new"]
    seen = home.query(home.agent_db(bot), "SELECT count(*) FROM vfs_inode"
                      " WHERE flags & 2")[0][0]
    assert seen == 19, seen
    home.skep("revert", row["id"])
    assert diff(home, row["id"]) == ["A 3/x/new"]
    assert home.skep("vfs", "ls", "bot:main", "3/x").out.count("\n") <= 1
    home.skep("vfs", "fsck", "bot:main")
    assert h.down() == 0


def test_a_host_directory_has_no_snapshots(home):
    h = host(home)
    bot = shell_agent(h, mode="disk", path=str(home.dir))
    row = run(h, bot, "true")
    out = home.refused(69, "diff", row["id"])
    assert "worked in a host directory" in out and "--over DIR" in out, out
    assert h.down() == 0


def test_each_turn_of_a_chat_is_a_marker(home):
    h = host(home)
    write = lambda path, text: chat_mock.calls(
        ("write_file", {"path": path, "content": text}))
    chat_agent(h, home, replies=[write("a", "one"), write("a", "two"),
                                 write("b", "three"), chat_mock.text("ok")])
    row = run(h, "bot", "work")
    assert diff(home, row["id"]) == ["A a", "A b"]
    assert diff(home, row["id"], "--turn", "1") == ["A a"]
    assert diff(home, row["id"], "--turn", "2") == ["M a"]
    assert diff(home, row["id"], "--turn", "3") == ["A b"]
    assert diff(home, row["id"], "--turn", "4") == []
    assert who(home, "bot:main", "b", "create") == (row["id"], 3, "write_file")
    home.skep("revert", row["id"], "--turn", "2")
    assert read(home, "bot:main", "a") == "one"
    # turns without a change have no snapshot of their own
    q = home.query(home.agent_db("bot"), "SELECT count(*), count(DISTINCT snap)"
                   " FROM marker")
    assert q == [(5, 4)], q
    assert h.down() == 0


def test_changes_have_the_run_that_made_them(home):
    h = host(home)
    bot = shell_agent(h)
    row = run(h, bot, "echo one > f")
    assert who(home, "bot:main", "f", "create") == (row["id"], 1, "exec")
    home.skep("vfs", "mkdir", "bot:main", "own")
    last = log(home, "bot:main")[-1]
    assert (last["run"], last["who"], last["path"]) == (None, "cli", "own")
    line = home.skep("vfs", "log", "bot:main").out.splitlines()[0]
    assert " %s/1/exec create f" % row["id"] in line, line
    assert h.down() == 0


def kept(home, markers):
    return Host(home, dict(QUICK, agent={"markers": markers})).start()


def test_markers_are_pruned(home):
    h = kept(home, 3)
    bot = shell_agent(h)
    rows = [run(h, bot, "echo %d > f" % i) for i in range(6)]
    home.skep("state", "maintain")
    q = home.query(home.agent_db(bot), "SELECT count(*) FROM vfs_snap")
    assert q == [(3,)], q
    assert diff(home, rows[-1]["id"]) == ["M f"]
    out = home.refused(66, "diff", rows[0]["id"])
    assert "pruned" in out, out
    home.skep("vfs", "fsck", "bot:main")
    assert h.down() == 0
    h = kept(home, 0)
    row = run(h, bot, "echo x > f")
    assert "has no marker" in home.refused(66, "diff", row["id"])
    assert h.down() == 0


def test_changes_of_an_acp_agent_have_their_tool(home):
    h = host(home)
    needs_fuse()
    state = home.dir / "acp"
    state.mkdir()
    h.agent("bot", "acp", {"command": [sys.executable, AGENT],
                           "env": {"ACP_STATE": str(state)},
                           "permissions": {"default": "allow"}},
            workspace="vfs-only", sandbox="off")  # it keeps its books outside
    w = "/mnt/workspace/"
    row = run(h, "bot", json.dumps([
        {"call": "fs/write_text_file", "params": {"path": w + "a",
                                                  "content": "one"}},
        {"tool": "write_file", "args": {"path": "b", "content": "two"}}]))
    assert diff(home, row["id"]) == ["A a", "A b"]
    assert diff(home, row["id"], "--turn", "1") == ["A a", "A b"]
    assert who(home, "bot:main", "a", "create") == (row["id"], 1,
                                                    "fs/write_text_file")
    assert who(home, "bot:main", "b", "create") == (row["id"], 1, "write_file")
    home.skep("revert", row["id"], "b")
    assert files(home, "bot:main") == ["a"]
    assert h.down() == 0


def test_a_marker_does_not_keep_an_unused_namespace(home):
    """The lower directory of the agent may still change."""
    h = host(home)
    for name in ("one", "two"):
        (home.dir / name).mkdir()
        (home.dir / name / name).write_text(name)
    bot = shell_agent(h, mode="vfs-scratch", path=str(home.dir / "one"))
    run(h, bot, "true")
    home.skep("agent", "set", "bot", "--set", "path=" + str(home.dir / "two"))
    run(h, bot, "test $(cat two) = two")
    assert files(home, "bot:main") == ["two"]
    assert h.down() == 0


def test_an_agent_that_is_kept_works_for_the_next_run(home):
    """Changes through its mount are those of the run that uses it, and a revert
    between two runs is seen there."""
    h = host(home)
    needs_fuse()
    state = home.dir / "acp"
    state.mkdir()
    h.agent("bot", "acp", {"command": [sys.executable, AGENT], "idle_ms": 600000,
                           "env": {"ACP_STATE": str(state)}},
            workspace="vfs-only", sandbox="off")
    write = lambda path, text: json.dumps([
        {"call": "fs/write_text_file",
         "params": {"path": "/mnt/workspace/" + path, "content": text}}])
    one = run(h, "bot", write("a", "one"), session="s")
    two = run(h, "bot", write("a", "two"), session="s")
    assert who(home, "bot:main", "a", "create")[0] == one["id"]
    assert who(home, "bot:main", "a", "write")[0] == two["id"]
    assert diff(home, two["id"]) == ["M a"]
    home.skep("revert", two["id"])
    got = run(h, "bot", json.dumps([{"call": "fs/read_text_file", "params": {
        "path": "/mnt/workspace/a"}}]), session="s")
    said = home.query(home.agent_db("bot"), "SELECT text FROM part WHERE kind ="
                      " 'text' ORDER BY pos DESC LIMIT 1")
    assert json.loads(said[0][0]) == {"content": "one"}, said
    assert diff(home, got["id"]) == []
    assert h.down() == 0


def test_a_run_whose_worker_died_shows_its_changes(home):
    h = host(home)
    bot = shell_agent(h)
    ident = h.submit(bot, "echo one > f; sync f; touch done;"
                     " while :; do sleep 0.02; done")
    h.until(ident, "running")
    lib.eventually(lambda: home.skep("vfs", "stat", "bot:main", "done",
                                     code=None).code == 0, what="the file")
    assert diff(home, ident) == ["A done", "A f"]
    os.kill(h.get(ident)["pid"], signal.SIGKILL)
    assert h.until(ident)["state"] == "failed"
    assert diff(home, ident) == ["A done", "A f"]
    run(h, bot, "echo later > g")
    assert diff(home, ident) == ["A done", "A f"]
    home.skep("revert", ident)
    assert files(home, "bot:main") == ["g"]
    assert h.down() == 0
