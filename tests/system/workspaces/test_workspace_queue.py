"""Runs of one agent in one workspace take turns, in different ones they do not."""
import time

from lib import eventually
from workspace_lib import (fails, host, needs_fuse, read, run,
                           shell_agent, spaces)

# Each run holds its workspace until the test releases it.
HOLD = "touch here; while [ ! -e go ]; do sleep 0.02; done"


def hold(h, bot, space=None, **more):
    """A run that has begun to work, and goes on when release is called."""
    if space:
        more["workspace"] = space
    ident = h.submit(bot, HOLD, **more)
    h.until(ident, "running")
    # the worker may find that its session names another workspace
    eventually(lambda: is_working(h.home, "bot:%s" % h.get(ident)["works_in"]),
               what="the run")
    return ident


def release(home, where):
    home.skep("vfs", "put", where, "go", input="x")


def is_working(home, where):
    return home.skep("vfs", "stat", where, "here", code=None).code == 0


def test_runs_in_different_workspaces_run_at_once(home):
    """Even with one agent, and in workspaces that are mounted."""
    h = host(home)
    bot = shell_agent(h)
    names = ["a", "b", "c"]
    for name in names:
        home.skep("namespace", "create", "bot:" + name)
    held = [hold(h, bot, name) for name in names] + [hold(h, bot)]
    held += [hold(h, bot, fork_of="main"), hold(h, bot, fresh=True)]
    for ident in held:
        row = h.get(ident)
        assert row["state"] == "running", row
    for ident in held:
        release(home, "bot:" + h.get(ident)["works_in"])
    for ident in held:
        assert h.until(ident)["state"] == "succeeded"
    h.down()


def test_the_second_run_in_a_workspace_waits_and_the_others_do_not(home):
    h = host(home)
    bot = shell_agent(h)
    first = hold(h, bot)
    second = h.submit(bot, "test -e here; echo second > f")
    third = h.submit(bot, "test -e f; echo third > g")
    other = run(h, bot, "echo other > f", fresh=True, workspace="other")
    assert other["state"] == "succeeded"
    for ident in (second, third):
        row = h.get(ident)
        assert (row["state"], row["works_in"]) == ("queued", "main"), row
    assert h.row(second)["attempt"] == 0
    release(home, "bot:main")
    for ident in (first, second, third):
        assert h.until(ident)["state"] == "succeeded", h.events(bot, ident)
    assert read(home, "bot:main", "g") == "third\n"
    h.down()


def test_a_waiting_run_survives_the_supervisor(home):
    h = host(home)
    bot = shell_agent(h)
    first = hold(h, bot)
    second = h.submit(bot, "test -e here; echo second > f")
    eventually(lambda: h.get(second)["works_in"] == "main", what="the queue")
    h.kill()
    h.start()
    h.until(first, "running")
    time.sleep(0.2)
    assert h.get(second)["state"] == "queued"
    release(home, "bot:main")
    for ident in (first, second):
        assert h.until(ident)["state"] == "succeeded"
    # skepd dies while no run uses the workspace
    third = hold(h, bot, fresh=True, workspace="w")
    fourth = h.submit(bot, "echo fourth > f", workspace="w")
    eventually(lambda: h.get(fourth)["works_in"] == "w", what="the queue")
    h.kill()
    release(home, "bot:w")
    eventually(lambda: h.home.query(
        home.agent_db(bot), "SELECT status FROM run WHERE run_id = ?",
        third) == [("succeeded",)], what="the end of the run")
    h.start()
    for ident in (third, fourth):
        assert h.until(ident)["state"] == "succeeded"
    h.down()
    h.check_books()


def test_a_waiting_run_can_be_cancelled_and_those_behind_it_go_on(home):
    h = host(home)
    bot = shell_agent(h)
    first = hold(h, bot)
    second, third = (h.submit(bot, "echo x") for _ in range(2))
    eventually(lambda: h.get(third)["works_in"] == "main", what="the queue")
    h.cancel(second)
    assert h.until(second)["state"] == "cancelled"
    assert h.get(third)["state"] == "queued"
    h.cancel(first)
    assert h.until(first)["state"] == "cancelled"
    assert h.until(third)["state"] == "succeeded"
    h.down()


def test_a_failed_or_killed_run_leaves_its_workspace(home):
    h = host(home)
    bot = shell_agent(h)
    first = hold(h, bot)
    second = h.submit(bot, "echo x")
    eventually(lambda: h.get(second)["works_in"] == "main", what="the queue")
    pid = h.get(first)["pid"]
    home.run("kill", "-9", str(pid))
    assert h.until(first)["state"] == "failed"
    assert h.until(second)["state"] == "succeeded"
    h.down()
    h.check_books()


def test_priority_decides_who_is_next_in_a_workspace(home):
    h = host(home)
    bot = shell_agent(h)
    first = hold(h, bot)
    low = h.submit(bot, "echo low >> order")
    high = h.submit(bot, "echo high >> order", priority=5)
    eventually(lambda: h.get(high)["works_in"] and h.get(low)["works_in"],
               what="the queue")
    release(home, "bot:main")
    for ident in (first, low, high):
        assert h.until(ident)["state"] == "succeeded"
    assert read(home, "bot:main", "order") == "high\nlow\n"
    h.down()


def test_many_runs_in_few_workspaces_all_end_and_never_meet(home):
    """The oracle is the file system: a directory can be made once."""
    h = host(home)
    bot = shell_agent(h)
    for name in "abc":
        home.skep("namespace", "create", "bot:" + name)
    runs = [h.submit(bot, "mkdir busy; sleep 0.01; rmdir busy; echo x >> n",
                     workspace="abc"[i % 3]) for i in range(30)]
    for ident in runs:
        row = h.until(ident)
        assert row["state"] == "succeeded", (row, h.events(bot, ident))
    for name in "abc":
        assert read(home, "bot:" + name, "n") == "x\n" * 10
    assert home.query(home.control, "SELECT count(*) FROM run WHERE is_blocked"
                      ) == [(0,)]
    h.down()
    h.check_books()


def test_a_session_names_the_workspace_of_its_runs(home):
    h = host(home)
    bot = shell_agent(h)
    run(h, bot, "echo one > f", session="s")
    for name in ("x", "y"):
        home.skep("vfs", "fork", "bot:main", name)
    home.skep("session", "patch", "-a", bot, "s", '{"workspace":"x"}')
    row = run(h, bot, "echo in x > f", session="s")
    assert (row["works_in"], row["attempt"]) == ("x", 1), row
    # once found, it is known
    before = len(h.transitions(row["id"]))
    row = run(h, bot, "cat f", session="s")
    assert row["works_in"] == "x" and len(h.transitions(row["id"])) < before
    # the run comes first, then the session, then the definition
    assert run(h, bot, "true", session="s", workspace="y")["works_in"] == "y"
    assert run(h, bot, "true", session="s")["works_in"] == "x"
    home.skep("session", "patch", "-a", bot, "s", '{"workspace":null}')
    assert run(h, bot, "true", session="s")["works_in"] == "main"
    h.agent(bot, "exec", {"command": ["sh", "-es"], "stdin": "text"},
            workspace="vfs-only", namespace="y")
    assert run(h, bot, "true", session="s")["works_in"] == "y"
    assert run(h, bot, "true")["works_in"] == "y"
    assert read(home, "bot:x", "f") == "in x\n"
    h.down()
    h.check_books()


def test_runs_of_sessions_that_name_one_workspace_take_turns(home):
    h = host(home)
    bot = shell_agent(h)
    run(h, bot, "true", session="s")
    run(h, bot, "true", session="t")
    home.skep("vfs", "fork", "bot:main", "w")
    for session in "st":
        home.skep("session", "patch", "-a", bot, session, '{"workspace":"w"}')
    first = hold(h, bot, session="s")
    assert h.get(first)["works_in"] == "w"
    second = h.submit(bot, "test -e here", session="t")
    eventually(lambda: h.get(second)["works_in"] == "w", what="the queue")
    time.sleep(0.1)
    assert h.get(second)["state"] == "queued"
    release(home, "bot:w")
    assert h.until(first)["state"] == "succeeded"
    assert h.until(second)["state"] == "succeeded"
    h.down()


def test_a_definition_gives_each_run_a_fork(home):
    h = host(home)
    needs_fuse()
    bot = shell_agent(h)
    run(h, bot, "echo one > f")
    home.skep("snapshot", "create", "bot:main", "clean")
    h.agent(bot, "exec", {"command": ["sh", "-es"], "stdin": "text"},
            workspace="vfs-only", namespace={"fork_of": "main@clean"})
    first = run(h, bot, "echo changed > f", session="s")
    assert first["works_in"] == first["id"]
    # its session goes on there, another run has its own
    assert run(h, bot, "test $(cat f) = changed",
               session="s")["works_in"] == first["id"]
    assert run(h, bot, "test $(cat f) = one")["works_in"] != first["id"]
    assert len(spaces(home)) == 3
    assert "rejected" not in fails(h, bot, "true", fork_of="main@nothing")
    h.down()
