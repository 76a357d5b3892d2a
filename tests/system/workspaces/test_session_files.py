"""A session and its workspace move to the same point of time."""
import lib
from skepd_lib import Host, faults_bin
from workspace_lib import (files, host, needs_fuse, read, run,
                           shell_agent, spaces)


def session(home, *words, code=0):
    return home.skep("session", *words, "-a", "bot", code=code)


def last_seq(home, key="s"):
    """The last event that the session shows."""
    row = session(home, "show", key, "--json").lines[0]
    return row["last_seq"] if row["leaf"] is None else row["leaf"]


def three_runs(home, h, **more):
    """Runs of session s: their scripts, and the last event after each."""
    bot = shell_agent(h, **more)
    ends = []
    for script in ("echo one > f; mkdir d; echo x > d/x; ln f hard",
                   "echo two > f; rm -r d; echo new > n",
                   "echo three > f; mv n m"):
        run(h, bot, script, session="s")
        ends.append(last_seq(home))
    return ends


FIRST = ["d/x", "f", "hard"]
SECOND = ["f", "hard", "n"]
THIRD = ["f", "hard", "m"]


def test_a_session_goes_back_with_its_files_and_returns(home):
    h = host(home)
    ends = three_runs(home, h)
    session(home, "rewind", "s", "--to", str(ends[0]), "--files")
    assert last_seq(home) == ends[0]
    assert files(home, "bot:main") == FIRST
    assert read(home, "bot:main", "hard") == "one\n"
    home.skep("vfs", "fsck", "bot:main")
    session(home, "restore", "s")
    assert (files(home, "bot:main"), last_seq(home)) == (THIRD, ends[2])
    assert read(home, "bot:main", "hard") == "three\n"
    # in the middle of a turn: before it
    session(home, "rewind", "s", "--to", str(ends[1] + 1), "--files")
    assert files(home, "bot:main") == SECOND
    # the session continues there
    run(h, "bot", "test $(cat f) = two; echo four > f", session="s")
    out = home.refused(65, "session", "restore", "s", "-a", "bot")
    assert "changed after the rewind; --force" in out, out
    assert read(home, "bot:main", "f") == "four\n"
    session(home, "restore", "s", "--force")
    assert files(home, "bot:main") == THIRD
    home.skep("vfs", "fsck", "bot:main")
    assert h.down() == 0


def test_changes_of_a_user_are_not_undone_silently(home):
    h = host(home)
    ends = three_runs(home, h)
    home.skep("vfs", "put", "bot", "mine", input="mine\n")
    home.skep("vfs", "put", "bot", "f", input="edited\n")
    out = home.refused(65, "session", "rewind", "s", "--to", str(ends[0]), "--files",
                       "-a", "bot")
    assert "2 files in" in out and "not by a run" in out and "--force" in out, out
    assert (files(home, "bot:main"), last_seq(home)) == (THIRD + ["mine"], ends[2])
    session(home, "rewind", "s", "--to", str(ends[0]), "--files", "--force")
    assert files(home, "bot:main") == FIRST
    session(home, "restore", "s")
    assert (files(home, "bot:main"), last_seq(home)) == (THIRD + ["mine"], ends[2])
    assert read(home, "bot:main", "f") == "edited\n"
    # and the way back is no change of a user: a run's changes can be undone again
    home.skep("vfs", "rm", "bot", "mine")
    run(h, "bot", "echo five > f", session="s")
    end = last_seq(home)
    run(h, "bot", "echo six > f", session="s")
    session(home, "rewind", "s", "--to", str(end), "--files")
    session(home, "restore", "s")
    session(home, "rewind", "s", "--to", str(end), "--files")
    assert read(home, "bot:main", "f") == "five\n"
    assert h.down() == 0


def test_after_an_apply_the_reason_is_named(home):
    below = home.dir / "repo"
    below.mkdir()
    h = host(home)
    ends = three_runs(home, h, mode="vfs-scratch", path=str(below))
    home.skep("vfs", "apply", "bot")
    one = h.call("GET", "/v1/runs?agent=bot")["items"][0]["id"]
    assert "skep vfs apply" in home.refused(66, "diff", one)
    assert "skep vfs" in home.refused(66, "session", "rewind", "s", str(ends[0]),
                                      "--files", "-a", "bot")
    assert h.down() == 0


def test_a_session_over_a_directory_goes_back(home):
    below = home.dir / "repo"
    (below / "host").mkdir(parents=True)
    (below / "host" / "h").write_text("host\n")
    h = host(home)
    ends = three_runs(home, h, mode="vfs-scratch", path=str(below))
    run(h, "bot", "rm -r host", session="s")
    session(home, "rewind", "s", str(ends[0]), "--files")
    assert files(home, "bot:main") == FIRST + ["host/h"]
    assert read(home, "bot:main", "host/h") == "host\n"
    session(home, "restore", "s")
    assert files(home, "bot:main") == THIRD
    home.skep("vfs", "fsck", "bot:main")
    assert h.down() == 0


def test_a_fork_of_a_session_has_the_files_of_that_point(home):
    h = host(home)
    ends = three_runs(home, h)
    session(home, "fork", "s", "try", "--at", str(ends[0]), "--files")
    assert files(home, "bot:try") == FIRST
    row = run(h, "bot", "test $(cat f) = one; echo tried > f", session="try")
    assert row["works_in"] == "try"
    assert read(home, "bot:main", "f") == "three\n"
    # of the fork again, at a point of its origin
    session(home, "fork", "try", "again", "--at", str(ends[0]), "--files",
            "--workspace", "third")
    assert files(home, "bot:third") == FIRST
    assert "already exists" in home.refused(
        65, "session", "fork", "s", "more", "--files", "--workspace", "third",
        "-a", "bot")
    assert "more" not in session(home, "ls").out
    assert spaces(home) == ["main", "third", "try"]
    assert h.down() == 0


def test_other_sessions_are_not_undone_by_accident(home):
    h = host(home)
    ends = three_runs(home, h)
    other = run(h, "bot", "echo other > o", session="t")
    out = home.refused(65, "session", "rewind", "s", str(ends[0]), "--files",
                       "-a", "bot")
    assert other["id"] in out and "--force" in out, out
    assert files(home, "bot:main") == THIRD + ["o"]
    assert last_seq(home) == ends[2]
    session(home, "rewind", "s", str(ends[0]), "--files", "--force")
    assert files(home, "bot:main") == FIRST
    session(home, "restore", "s")
    assert files(home, "bot:main") == THIRD + ["o"]
    assert h.down() == 0


def test_a_host_directory_cannot_go_back(home):
    h = host(home)
    (home.dir / "ws").mkdir()
    ends = three_runs(home, h, mode="disk", path=str(home.dir / "ws"))
    out = home.refused(69, "session", "rewind", "s", str(ends[0]), "--files",
                       "-a", "bot")
    assert "worked in a host directory" in out and "vfs-scratch" in out, out
    assert last_seq(home) == ends[2]
    out = home.refused(69, "session", "fork", "s", "t", "--files", "-a", "bot")
    assert "worked in a host directory" in out
    session(home, "rewind", "s", str(ends[0]))
    session(home, "restore", "s")
    assert h.down() == 0


def test_the_same_over_http(home):
    h = host(home)
    ends = three_runs(home, h)
    row = run(h, "bot", "echo five > f", session="s")
    got = h.call("GET", "/v1/runs/%s/diff?patch=true" % row["id"])["items"]
    assert [(c["change"], c["path"]) for c in got] == [("M", "f"), ("M", "hard")]
    assert "-three\n+five\n" in got[0]["text"]
    got = h.call("POST", "/v1/runs/%s/revert" % row["id"], {"paths": ["f"]})
    assert [c["path"] for c in got["items"]] == ["f"]
    assert read(home, "bot:main", "f") == "three\n"
    h.call("POST", "/v1/sessions/bot/s/rewind", {"seq": ends[0], "files": True})
    assert files(home, "bot:main") == FIRST
    h.call("POST", "/v1/sessions/bot/s/restore", {})
    assert files(home, "bot:main") == THIRD
    got = h.call("POST", "/v1/sessions/bot/s/fork",
                 {"key": "k", "at": ends[1], "files": True})
    assert got["workspace"] == "k" and files(home, "bot:k") == SECOND
    assert h.down() == 0


def at_fault(home, point, action):
    """Kills the command at a point; afterwards both moved or neither did."""
    h = Host(home, {}, faults_bin(action)).start()
    ends = three_runs(home, h)
    assert h.down() == 0
    plan = {"SKEP_FAULT": "skep/%s:%s" % (point, action)}
    moved = point == "rewind_committed"

    def both(words, state, before):
        home.skep("session", *words, "-a", "bot", env=plan, code=None)
        now = (files(home, "bot:main"), last_seq(home))
        assert now == (state if moved else before), (words, now)
        home.skep("vfs", "fsck", "bot:main")
        if not moved:
            home.skep("session", *words, "-a", "bot")
            assert (files(home, "bot:main"), last_seq(home)) == state

    both(["rewind", "s", str(ends[0]), "--files"], (FIRST, ends[0]),
         (THIRD, ends[2]))
    both(["restore", "s"], (THIRD, ends[2]), (FIRST, ends[0]))
    home.skep("session", "fork", "s", "x", "--files", "-a", "bot", env=plan,
              code=None)
    assert spaces(home) == (["main", "x"] if moved else ["main"])
    assert ("x" in session(home, "ls").out.split()) == moved


def test_a_killed_command_moves_both_or_neither(home):
    if not faults_bin():
        lib.skip("no build with fault points")
    needs_fuse()
    for point in ("rewind_transcript", "rewind_files", "rewind_committed"):
        for action in ("kill", "error"):
            own = lib.Home(faults_bin(action))
            try:
                at_fault(own, point, action)
            except AssertionError as e:
                raise AssertionError("%s:%s: %s" % (point, action, e)) from None
            finally:
                own.close()
