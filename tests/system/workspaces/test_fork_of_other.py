"""A run works in a fork of another agent's namespace, which is only read."""
import os

import chat_mock
import lib
from skepd_lib import Host, faults_bin
from workspace_lib import (chat_agent, fails, files, host, needs_fuse, read, run,
                           shell_agent, spaces)


def fill(home, where):
    """A tree with a large, a sparse and an empty file, links and attributes."""
    tree = home.dir / "tree"
    (tree / "d" / "e").mkdir(parents=True)
    (tree / "d" / "big").write_bytes(os.urandom(300_000))
    (tree / "empty").touch()
    (tree / "tool").write_text("#!/bin/sh\n")
    (tree / "tool").chmod(0o755)
    os.link(tree / "tool", tree / "d" / "tool2")
    (tree / "soft").symlink_to("d/big")
    with open(tree / "sparse", "wb") as f:
        f.truncate(5 << 20)
        f.seek(3 << 20)
        f.write(b"end")
    try:
        os.setxattr(tree / "tool", "user.note", b"kept")
    except OSError:
        pass # the file system of the test has no attributes
    home.skep("vfs", "import", where, str(tree))
    return tree


def picture(top):
    """What stat and read say about every path below a directory."""
    out = {}
    for at, dirs, names in os.walk(top):
        for name in sorted(dirs + names):
            p = os.path.join(at, name)
            st = os.lstat(p)
            link = os.readlink(p) if os.path.islink(p) else None
            data = open(p, "rb").read() if os.path.isfile(p) and not link else None
            try:
                attrs = {a: os.getxattr(p, a, follow_symlinks=False)
                         for a in os.listxattr(p, follow_symlinks=False)
                         if a.startswith("user.")}
            except OSError:
                attrs = {}
            out[os.path.relpath(p, top)] = (
                st.st_mode, st.st_nlink if data is not None else 0, link, data, attrs)
    return out


def exported(home, where, name):
    home.skep("vfs", "export", where, str(home.dir / name))
    return picture(home.dir / name)


def contents(home, agent):
    return home.query(home.agent_db(agent), "SELECT count(*) FROM vfs_blob")[0][0]


def test_a_fork_in_another_agent_has_every_property(home):
    for name in ("src", "dst"):
        home.skep("agent", "add", name, "--driver", "exec", "--workspace",
                  "vfs-only", "--set", 'config={"command":["true"]}')
    tree = fill(home, "src:main")
    assert exported(home, "src:main", "a") == picture(tree)
    out = home.skep("vfs", "fork", "src:main", "dst:copy")
    assert out.out == "forked src:main as dst:copy\n"
    assert exported(home, "dst:copy", "b") == picture(tree)
    assert home.skep("vfs", "du", "dst:copy").out.split()[0] == home.skep(
        "vfs", "du", "src:main").out.split()[0]
    once = contents(home, "dst")
    home.skep("snapshot", "create", "src:main", "s")
    home.skep("vfs", "rm", "src:main", "tool")
    home.skep("vfs", "fork", "src:main@s", "dst:again")
    assert exported(home, "dst:again", "c") == picture(tree)
    assert contents(home, "dst") == once
    home.skep("vfs", "fsck", "dst:copy")
    # the origin of the fork is its base
    home.skep("vfs", "rm", "dst:copy", "empty")
    assert home.skep("vfs", "diff", "dst:copy").out == "D empty\n"
    assert "already exists" in home.refused(65, "vfs", "fork", "src:main",
                                            "dst:copy")
    assert "'none'" in home.refused(66, "vfs", "fork", "src:main", "none:x")


def test_runs_work_in_forks_of_another_agent(home):
    h = host(home)
    src = shell_agent(h, "src")
    bot = shell_agent(h)
    run(h, src, "mkdir d; echo one > d/f; head -c 200000 /dev/urandom > big")
    home.skep("snapshot", "create", "src:main", "clean")
    run(h, src, "echo later > d/f")
    row = run(h, bot, "test $(cat d/f) = later; echo mine > d/f",
              fork_of="src:main", workspace="w")
    assert row["works_in"] == "w"
    run(h, bot, "test $(cat d/f) = one", fork_of="src:main@clean",
        ephemeral=True)
    assert read(home, "src:main", "d/f") == "later\n"
    assert read(home, "bot:w", "d/f") == "mine\n"
    assert home.skep("vfs", "diff", "bot:w").out == "M d/f\n"
    assert spaces(home) == ["w"]
    assert "src has no namespace or snapshot main@gone" in fails(
        h, bot, "true", fork_of="src:main@gone")
    chat_agent(h, home, "talk", replies=[chat_mock.text("hi")])
    assert run(h, "talk", "hello", fork_of="src:main", workspace="c")
    assert files(home, "talk:c") == ["big", "d/f"]
    assert h.down() == 0


def test_a_fork_over_a_directory_shows_it_in_the_other_agent(home):
    h = host(home)
    below = home.dir / "repo"
    (below / "sub").mkdir(parents=True)
    (below / "sub" / "f").write_text("host\n")
    (below / "top").write_text("top\n")
    src = shell_agent(h, "src", "vfs-scratch", path=str(below))
    bot = shell_agent(h)
    run(h, src, "echo changed > top; rm -f nothing")
    run(h, bot, "test $(cat top) = changed; test $(cat sub/f) = host;"
        " echo new > sub/g", fork_of="src:main", workspace="w")
    assert files(home, "bot:w") == ["sub/f", "sub/g", "top"]
    assert (below / "top").read_text() == "top\n"
    assert h.down() == 0


def interrupted(home, point, action):
    h = Host(home, {}, faults_bin(action)).start()
    src = shell_agent(h, "src")
    bot = shell_agent(h)
    run(h, bot, "true")
    run(h, src, "mkdir d; for i in $(seq 1500); do echo $i > d/$i; done")
    assert h.down() == 0
    h.start("skep-worker/%s:%s" % (point, action))
    row = h.until(h.submit(bot, "echo two > g", fork_of="src:main",
                           workspace="w"))
    assert (row["state"], spaces(home)) == ("failed", ["main"]), row
    assert h.down() == 0
    h.start()
    home.skep("state", "gc")
    q = home.query(home.agent_db(bot), "SELECT (SELECT count(*) FROM vfs_ns),"
                   " (SELECT count(*) FROM vfs_inode),"
                   " (SELECT count(*) FROM vfs_blob)")
    assert q == [(1, 1, 0)], q
    run(h, bot, "test $(ls d | wc -l) = 1500", fork_of="src:main",
        workspace="w")
    home.skep("vfs", "fsck", "bot:w")
    assert h.down() == 0


def test_an_interrupted_fork_leaves_nothing(home):
    if not faults_bin():
        lib.skip("no build with fault points")
    needs_fuse()
    for point in ("fork_batch", "fork_copied"):
        for action in ("kill", "error"):
            own = lib.Home(home.bin)
            try:
                interrupted(own, point, action)
            except AssertionError as e:
                raise AssertionError("%s:%s: %s" % (point, action, e)) from None
            finally:
                own.close()
