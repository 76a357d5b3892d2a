"""skep vfs: workspaces in the agent's file, by command and as a mount."""
import filecmp
import io
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import time

from lib import HANG, eventually, skip
from vfs_lib import agent, mount, mounted


def same_tree(a, b):
    c = filecmp.dircmp(a, b, ignore=[])
    assert not (c.left_only or c.right_only or c.funny_files), c.report()
    for name in c.common:
        x, y = pathlib.Path(a, name), pathlib.Path(b, name)
        assert x.lstat().st_mode == y.lstat().st_mode, name
        if x.is_symlink():
            assert os.readlink(x) == os.readlink(y)
        elif x.is_dir():
            same_tree(x, y)
        elif x.is_file():
            assert x.read_bytes() == y.read_bytes(), name
            assert x.stat().st_mtime_ns == y.stat().st_mtime_ns, name


def make_tree(root):
    (root / "dir" / "deep").mkdir(parents=True)
    (root / "empty").mkdir(mode=0o700)
    (root / "dir" / "text").write_text("one\ntwo\n")
    (root / "dir" / "deep" / "ünïcode name").write_bytes(os.urandom(200000))
    (root / "link").symlink_to("dir/text")
    os.link(root / "dir" / "text", root / "hard")
    (root / "program").write_text("#!/bin/sh\n")
    (root / "program").chmod(0o755)
    os.mkfifo(root / "fifo")
    os.utime(root / "dir" / "text", ns=(1, 1234567890123456789))


def test_files_are_written_listed_read_moved_and_removed(home):
    agent(home)
    home.skep("vfs", "put", "a", "d/x", "--parents", input="hello")
    assert home.skep("vfs", "cat", "a", "d/x").out == "hello"
    home.skep("vfs", "mv", "a", "d/x", "d/y")
    rows = home.skep("vfs", "ls", "a", "d", "--json").lines
    assert [(r["path"], r["size"], r["type"]) for r in rows] == \
        [("y", 5, "file")]
    home.skep("vfs", "rm", "a", "d", "--recursive")
    assert home.skep("vfs", "ls", "a", "--json").lines == []
    home.integrity()


def test_no_path_leads_out_of_a_namespace(home):
    agent(home)
    home.skep("vfs", "ln", "a", "/etc", "abs", "--symbolic")
    home.skep("vfs", "ln", "a", "..", "up", "--symbolic")
    for path in ("../x", "up/x", "abs/passwd", "a/../../etc/passwd"):
        home.refused(66 if path.startswith("a/") else 77, "vfs", "cat", "a",
                     path)


def test_a_conditional_write_sees_the_change_of_another(home):
    agent(home)
    home.skep("vfs", "put", "a", "f", input="1")
    etag = home.skep("vfs", "stat", "a", "f", "--json").json["etag"]
    home.skep("vfs", "put", "a", "f", "--if-etag", etag, input="2")
    home.refused(65, "vfs", "put", "a", "f", "--if-etag", etag, input="3")
    assert home.skep("vfs", "cat", "a", "f").out == "2"


def test_a_tree_comes_out_as_it_went_in(home):
    agent(home)
    src = home.dir / "src"
    src.mkdir()
    make_tree(src)
    home.skep("vfs", "import", "a", src)
    home.skep("vfs", "export", "a", home.dir / "out")
    same_tree(src, home.dir / "out")
    tar = home.skep("vfs", "export", "a", "-").raw
    home.skep("vfs", "import", "a:b", "-", code=66, input=tar)
    home.skep("namespace", "create", "a:b")
    home.skep("vfs", "import", "a:b", "-", input=tar)
    home.skep("vfs", "export", "a:b", home.dir / "again")
    same_tree(src, home.dir / "again")
    assert home.skep("vfs", "diff", "a:b", "main").out == ""


def test_forks_snapshots_and_merges(home):
    agent(home)
    home.skep("vfs", "put", "a", "f", input="1\n2\n3\n")
    home.skep("snapshot", "create", "a", "s")
    home.skep("vfs", "fork", "a", ":twin")
    assert home.skep("vfs", "diff", ":twin", "a:main").out == ""
    assert "twin" in home.skep("namespace", "ls", "-q").out.split()
    home.skep("vfs", "put", "a:twin", "f", input="1\ntwo\n3\n")
    output = home.skep("vfs", "diff", "a:twin", "--patch").out
    assert "-2\n+two\n" in output
    home.skep("vfs", "put", "a", "f", input="parent\n")
    home.refused(65, "vfs", "merge", "a:twin")
    home.skep("vfs", "merge", "a:twin", "--strategy", "theirs")
    assert home.skep("vfs", "cat", "a", "f").out == "1\ntwo\n3\n"
    home.skep("vfs", "rollback", "a", "s")
    assert home.skep("vfs", "cat", "a", "f").out == "1\n2\n3\n"


def test_a_scratch_namespace_leaves_its_host_alone_until_applied(home):
    agent(home)
    base = home.dir / "base"
    base.mkdir()
    make_tree(base)
    before = home.dir / "before"
    subprocess.run(["cp", "-a", base, before], check=True)
    home.skep("namespace", "create", "a:w", "--lower", base)
    assert home.skep("vfs", "cat", "a:w", "dir/text").out == "one\ntwo\n"
    home.skep("vfs", "edit", "a:w", "dir/text", "two", "three")
    home.skep("vfs", "rm", "a:w", "program")
    same_tree(base, before)
    lines = home.skep("vfs", "diff", "a:w").out.splitlines()
    assert lines == ["M dir/text", "D program"]
    home.skep("vfs", "apply", "a:w")
    assert (base / "dir" / "text").read_text() == "one\nthree\n"
    assert not (base / "program").exists()


def test_a_file_is_listed_and_a_snapshot_needs_no_sign(home):
    agent(home)
    home.skep("vfs", "put", "a", "d/f", "--parents", input="x")
    row, = home.skep("vfs", "ls", "a", "d/f", "--json").lines
    assert (row["path"], row["size"]) == ("d/f", 1), row
    home.skep("snapshot", "create", "a", "s")
    home.skep("vfs", "put", "a", "d/f", input="xy")
    for word in ("s", "@s", "main@s"):
        assert home.skep("vfs", "diff", "a", word).out == "M d/f\n", word
    assert "no namespace 'other'" in home.refused(66, "vfs", "diff", "a", "other")


def test_fsck_finds_and_repairs_a_planted_fault(home):
    agent(home)
    home.skep("vfs", "put", "a", "d/f", "--parents", input="x")
    assert home.skep("vfs", "fsck", "a", "--json").lines == [
        {"found": 0, "repaired": 0}]
    assert "no faults" in home.skep("vfs", "fsck", "a", "--deep").out
    home.execute(home.agent_db("a"), "DELETE FROM vfs_dentry WHERE name=x'66'")
    home.skep("vfs", "fsck", "a", code=65)
    home.skep("vfs", "fsck", "a", "--repair")
    assert "no faults" in home.skep("vfs", "fsck", "a").out


def test_a_namespace_touches_nothing_but_the_agents_file(home):
    agent(home)
    if not shutil.which("strace"):
        skip("strace is not there")
    log = home.dir / "log"
    home.run("strace", "-f", "-e", "trace=openat,open,creat,rename,renameat2,"
             "mkdir,mkdirat,unlink,symlink,link", "-o", log,
             home.bin / "skep", "vfs", "put", "a", "x", input="y")
    wrote = re.compile(r'(O_WRONLY|O_RDWR|O_CREAT|creat\(|rename|mkdir|link\()')
    for line in log.read_text().splitlines():
        if wrote.search(line) and "= -1" not in line:
            path = re.search(r'"([^"]*)"', line).group(1)
            assert path.startswith((str(home.path), "/dev/", "/proc/")), line


def test_programs_work_on_the_mount_and_others_see_it(home):
    agent(home)
    at, p = mount(home)
    make_tree(at)
    run = lambda *c: subprocess.run(c, cwd=at, check=True,
                                    stdout=subprocess.PIPE).stdout.decode()
    run("git", "init", "-q", "repo")
    repo = at / "repo"
    for i in range(200):
        (repo / ("f%d" % i)).write_text(str(i) * 100)
    git = ("git", "-C", str(repo), "-c", "user.name=t", "-c",
           "user.email=t@t")
    run(*git, "add", ".")
    run(*git, "commit", "-qm", "all")
    run(*git, "gc", "-q")
    run(*git, "fsck", "--strict")
    assert run(*git, "status", "--short") == ""
    home.skep("vfs", "put", "a", "dir/text", input="from outside")
    eventually(lambda: (at / "dir" / "text").read_text() == "from outside",
               what="the change of another process")
    (at / "log").write_text("one\n")
    with open(at / "log") as f:
        assert f.read() == "one\n"
        home.skep("vfs", "put", "a", "log", "--append", input="two\n")
        eventually(lambda: f.read() == "two\n",
                   what="growth of a file that is open")
    (at / "inside").write_text("from inside")
    eventually(lambda: home.skep("vfs", "cat", "a", "inside", code=None).out
               == "from inside", what="the change on the mount")
    home.skep("vfs", "umount", at)
    assert p.wait(HANG) == 0 and not mounted(at)
    assert "no faults" in home.skep("vfs", "fsck", "a", "--deep").out


def test_a_killed_mount_leaves_no_mount_and_loses_nothing_synced(home):
    agent(home)
    for round in range(5):
        at, p = mount(home)
        with open(at / ("synced%d" % round), "w") as f:
            f.write("kept")
            f.flush()
            os.fsync(f.fileno())
        for i in range(50 * round):
            (at / ("f%d" % i)).write_text("x" * 1000)
        p.kill()
        p.wait()
        eventually(lambda: not mounted(at), what="the end of the mount")
        assert home.skep("vfs", "cat", "a", "synced%d" % round).out == "kept"
        assert "no faults" in home.skep("vfs", "fsck", "a", "--deep").out


def test_a_full_quota_is_told_to_programs(home):
    agent(home)
    home.skep("namespace", "create", "a:main")
    home.skep("vfs", "quota", "a", "--bytes", "100k")
    at, p = mount(home)
    try:
        with open(at / "big", "wb") as f:
            f.write(b"x" * 300000)
            f.flush()
            os.fsync(f.fileno())
        raise AssertionError("300 kB went into 100 kB")
    except OSError as e:
        assert e.errno in (28, 122), e


def test_words_are_found_in_files_that_change(home):
    home.skep("agent", "add", "a", "--driver", "script")

    def found(*words):
        return [r["path"] for r in
                home.skep("vfs", "search", "a", *words, "--json").lines]
    home.skep("vfs", "put", "a", "docs/x.md", "--parents",
              input="The quick brown fox\n")
    home.skep("vfs", "put", "a", "y", input="a quick note\n")
    home.skep("vfs", "put", "a", "bin", input="quick\0\1")
    assert sorted(found("quick")) == ["docs/x.md", "y"]
    assert "The [quick] brown fox\n" in home.skep(
        "vfs", "search", "a", "quick", "--under", "docs").out
    home.skep("snapshot", "create", "a", "s")
    home.skep("vfs", "put", "a", "y", input="slow\n")
    home.skep("vfs", "mv", "a", "docs", "papers")
    assert found("quick") == ["papers/x.md"]
    home.skep("vfs", "rm", "a", "papers", "--recursive")
    assert found("quick") == [] and found("slow") == ["y"]
    home.skep("vfs", "rollback", "a", "s")
    assert sorted(found("quick")) == ["docs/x.md", "y"]
    assert found("quick", "--rebuild", "--limit", "1", "--skip", "1") != []
    assert "grep" in home.refused(69, "vfs", "search", "a:main@s", "quick")
    home.refused(64, "vfs", "search", "a", "AND", "--advanced")
    home.refused(64, "vfs", "search", "a", "")


def hostile_tar(*items):
    """A tar of (name, target or None): a link, or a file."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, target in items:
            info = tarfile.TarInfo(name)
            if target is None:
                info.size = 3
                tar.addfile(info, io.BytesIO(b"bad"))
            else:
                info.type, info.linkname = tarfile.SYMTYPE, target
                tar.addfile(info)
    return out.getvalue()


def test_an_archive_stays_where_it_is_put(home):
    agent(home)
    home.skep("vfs", "mkdir", "a", "in")
    for items in ([("../out", None)], [("new/../../out", None)],
                  [("up", ".."), ("up/out", None)],
                  [("..", "elsewhere")],
                  [("d/x", None), ("d", ".."), ("d/out", None)]):
        r = home.skep("vfs", "import", "a", "-", "in", code=None,
                      input=hostile_tar(*items))
        assert r.code in (65, 77), (items, r.code, r.err)
        names = home.skep("vfs", "ls", "a", "--json").lines
        assert [n["path"] for n in names] == ["in"], (items, names)
        home.skep("vfs", "fsck", "a")
