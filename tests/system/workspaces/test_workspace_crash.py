"""Processes die while a run creates, uses or leaves its workspace. Afterwards
there is one namespace for each that should exist, and no other."""
import os
import signal

import lib
from lib import eventually
from skepd_lib import QUICK, Host, faults_bin
from workspace_lib import host, needs_fuse, read, run, shell_agent, spaces

RETRY = {"run": dict(QUICK["run"], attempts=3)}


def rows(home, agent="bot"):
    """Namespaces in the file, also hidden ones; nodes of any namespace."""
    q = home.query
    path = home.agent_db(agent)
    return (sorted(n for n, in q(path, "SELECT name FROM vfs_ns")),
            q(path, "SELECT count(*) FROM vfs_inode WHERE id >> 40 NOT IN"
              " (SELECT id FROM vfs_ns)")[0][0])


def check(home, h, names):
    assert spaces(home) == sorted(names), spaces(home)
    home.skep("state", "gc")
    assert rows(home) == (sorted(names), 0), rows(home)
    for name in names:
        home.skep("vfs", "fsck", "bot:" + name)
    h.check_books()


def at_fault(home, point, action, **more):
    """One run in a new workspace with a fault there, which may be tried again;
    its row."""
    h = Host(home, RETRY, faults_bin(action)).start()
    bot = shell_agent(h)
    run(h, bot, "echo one > f")
    assert h.down() == 0
    h.start("skep-worker/%s:%s" % (point, action))
    row = h.until(h.submit(bot, "cat f 2> /dev/null || true; echo two > g", **more))
    assert h.down() == 0
    h.start()
    return h, row


def each(home, point, names, **more):
    if not faults_bin():
        lib.skip("no build with fault points")
    needs_fuse()
    for action in ("kill", "error"):
        own = lib.Home(home.bin)
        try:
            h, row = at_fault(own, point, action, **more)
            assert row["state"] == "succeeded" or row["reason"] in (
                "mount_lost", "database", "workspace"), row
            assert h.down() == 0
            check(own, h, names(row))
        except AssertionError as e:
            raise AssertionError("%s:%s: %s" % (point, action, e)) from None
        finally:
            own.close()


def test_a_fork_is_made_once_whatever_dies_after_its_commit(home):
    each(home, "workspace_created", lambda row: ["main", "w"],
         fork_of="main", workspace="w")


def test_a_fresh_namespace_is_made_once_whatever_dies_after_its_commit(home):
    each(home, "workspace_created", lambda row: ["main", "w"],
         fresh=True, workspace="w")


def test_no_ephemeral_namespace_is_left_by_a_fault_when_it_is_made(home):
    each(home, "workspace_created", lambda row: ["main"], ephemeral=True)


def test_no_ephemeral_namespace_is_left_by_a_fault_when_it_ends(home):
    each(home, "workspace_leaving", lambda row: ["main"], ephemeral=True,
         fork_of="main")


def hold_ephemeral(h, bot):
    ident = h.submit(bot, "touch here; while :; do sleep 0.02; done",
                     ephemeral=True, fork_of="main")
    h.until(ident, "running")
    eventually(lambda: h.home.skep("vfs", "stat", "bot:" + ident, "here",
                                   code=None).code == 0, what="the run")
    return ident


def test_a_killed_worker_leaves_no_ephemeral_namespace(home):
    h = host(home)
    bot = shell_agent(h)
    run(h, bot, "echo one > f")
    ident = hold_ephemeral(h, bot)
    os.kill(h.get(ident)["pid"], signal.SIGKILL)
    assert h.until(ident)["state"] == "failed"
    assert h.down() == 0
    check(home, h, ["main"])


def test_a_cancelled_run_leaves_no_ephemeral_namespace(home):
    h = host(home)
    bot = shell_agent(h)
    run(h, bot, "echo one > f")
    ident = hold_ephemeral(h, bot)
    h.cancel(ident)
    assert h.until(ident)["state"] == "cancelled"
    assert h.down() == 0
    check(home, h, ["main"])


def test_nothing_is_left_when_worker_and_supervisor_die(home):
    h = host(home)
    bot = shell_agent(h)
    run(h, bot, "echo one > f")
    ident = hold_ephemeral(h, bot)
    pid = h.get(ident)["pid"]
    h.kill()
    os.kill(pid, signal.SIGKILL)
    h.start()
    assert h.until(ident)["state"] == "failed"
    assert read(home, "bot:main", "f") == "one\n"
    assert h.down() == 0
    check(home, h, ["main"])


def test_each_attempt_has_an_ephemeral_namespace_of_its_own(home):
    h = Host(home, RETRY).start()
    bot = shell_agent(h)
    run(h, bot, "echo one > f")
    ident = h.submit(bot, "test ! -e tried; touch tried; [ $SKEP_ATTEMPT = 2 ]"
                     " || exit 75", ephemeral=True, fork_of="main")
    row = h.until(ident)
    assert (row["state"], row["attempt"]) == ("succeeded", 2), row
    assert h.down() == 0
    check(home, h, ["main"])
