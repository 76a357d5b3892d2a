"""A home that cannot be written: reading works, and changes say which directory
is not writable."""
import json
import os

import lib
from test_bad_input import mount

READS = (["status"], ["ps", "--all"], ["session", "ls", "--agent", "a"],
         ["session", "show", "s", "--agent", "a", "--events"],
         ["session", "export", "s", "--agent", "a"],
         ["agent", "ls"], ["agent", "show", "a"], ["doctor"],
         ["vfs", "ls", "a"], ["vfs", "cat", "a", "f"], ["vfs", "stat", "a", "f"],
         ["vfs", "tree", "a"], ["vfs", "find", "a"], ["vfs", "du", "a"],
         ["vfs", "grep", "a", "text"], ["state", "stats"], ["state", "ls"],
         ["config", "show"], ["artifact", "ls", "--agent", "a"],
         ["msg", "ls", "a"], ["channel", "ls"], ["backup", "ls"])
WRITES = (["session", "append", "s", "x", "--agent", "a"],
          ["agent", "add", "b", "--driver", "script"],
          ["agent", "set", "a", "--model", "m"], ["agent", "rm", "a"],
          ["vfs", "put", "a", "g"], ["vfs", "rm", "a", "f"],
          ["vfs", "mkdir", "a", "d"], ["session", "title", "s", "t", "--agent", "a"],
          ["backup", "create"], ["state", "vacuum"], ["up"])


def filled(home):
    home.skep("agent", "add", "a", "--driver", "exec", "--", "echo", "hi")
    home.skep("session", "append", "s", "hello", "--agent", "a")
    home.skep("vfs", "put", "a", "f", input="text\n")


def check_reads(home, run):
    for args in READS:
        r = run(*args)
        if args[0] == "status":
            assert r.code == 74 and "not writable" in r.err, (args, r.err)
            assert str(home.path) in r.err, (args, r.err)
        elif args[0] != "doctor":
            assert r.code == 0, (args, r.code, r.err)
    found = [json.loads(x)["finding"]
             for x in run("doctor", "--json").out.splitlines()]
    assert "read_only" in found, found
    assert "hello" in run("session", "show", "s", "--agent", "a",
                          "--events").out
    assert run("vfs", "cat", "a", "f").out == "text\n"
    place = home.dir / "place"
    place.mkdir(exist_ok=True)
    place.chmod(0o777)
    out = place / "out"
    r = run("vfs", "export", "a", out)
    assert r.code == 0 and (out / "f").read_text() == "text\n", r.err


def check_writes(home, run):
    for args in WRITES:
        r = run(*args)
        assert r.code == 74, (args, r.code, r.out, r.err)
        assert "not writable" in r.err and str(home.path) in r.err, (args, r.err)


def run_plainly(home):
    return lambda *args: home.skep(*args, code=None, input="")


def test_a_read_only_mount(home):
    mount(home, "-t", "tmpfs", "-o", "size=16m,mode=700", "tmpfs")
    filled(home)
    home.run("mount", "-o", "remount,ro", home.path)
    check_reads(home, run_plainly(home))
    check_writes(home, run_plainly(home))
    home.run("mount", "-o", "remount,rw", home.path)
    filled_again = home.skep("session", "show", "s", "--agent", "a", "--events",
                             "--json")
    assert len(filled_again.lines) == 1
    home.integrity()


def in_namespace(home):
    """Commands in a mount namespace whose home is mounted read-only."""
    script = ('mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && '
              'exec "$@"')

    def run(*args):
        return home.run("unshare", "--mount", "sh", "-c", script, home.path,
                        home.bin / "skep", *args, code=None, input="")
    if os.geteuid() != 0 or run("version").code:
        lib.skip("no mount namespace")
    return run


def test_a_read_only_bind_mount_of_a_home(home):
    filled(home)
    check_reads(home, in_namespace(home))
    check_writes(home, in_namespace(home))
    home.integrity()


def test_a_read_only_bind_mount_of_a_home_in_use(home):
    filled(home)
    home.skep("up")
    home.undo.append(lambda: home.skep("down", "--now", code=None))
    home.skep("run", "a", "x", "--wait")
    run = in_namespace(home)
    for args in READS:
        if args[0] != "doctor":
            r = run(*args)
            assert r.code == 0, (args, r.code, r.err)
    [row] = home.skep("ps", "--all", "--json").lines
    assert row["id"] in run("ps", "--all").out
    home.skep("down")


def test_a_home_of_a_user_without_permission_to_write(home):
    if os.geteuid() != 0:
        lib.skip("becoming another user needs root")
    filled(home)
    os.chmod(home.dir, 0o755)
    for top, dirs, files in os.walk(home.path):
        os.chmod(top, 0o555)
        for f in files:
            os.chmod(os.path.join(top, f), 0o444)

    def run(*args):
        return home.run("setpriv", "--reuid", "65534", "--regid", "65534",
                        "--clear-groups", home.bin / "skep", *args, code=None,
                        input="")
    try:
        if run("version").code:
            lib.skip("setpriv cannot start skep")
        check_reads(home, run)
        check_writes(home, run)
    finally:
        for top, dirs, files in os.walk(home.path):
            os.chmod(top, 0o700)
            for f in files:
                os.chmod(os.path.join(top, f), 0o600)
    home.integrity()
