"""Namespaces before the first run of their agent: what creates them, and with
which lower directory and quota."""
import hashlib
import os
import re

import lib
from skepd_lib import finish, host

# Every command on a namespace that adds no file to it.
READS = (
    ("vfs", "ls", "AGENT"), ("vfs", "tree", "AGENT"), ("vfs", "cat", "AGENT", "f"),
    ("vfs", "get", "AGENT", "f"), ("vfs", "export", "AGENT", "out"),
    ("vfs", "stat", "AGENT", "f"), ("vfs", "du", "AGENT"), ("vfs", "find", "AGENT"),
    ("vfs", "grep", "AGENT", "x"), ("vfs", "search", "AGENT", "x"),
    ("vfs", "log", "AGENT"), ("vfs", "watch", "AGENT"), ("vfs", "diff", "AGENT"),
    ("vfs", "quota", "AGENT"), ("vfs", "quota", "AGENT", "--bytes", "1k"),
    ("vfs", "rm", "AGENT", "f"), ("vfs", "cp", "AGENT", "f", "g"),
    ("vfs", "mv", "AGENT", "f", "g"), ("vfs", "edit", "AGENT", "f", "a", "b"),
    ("vfs", "rollback", "AGENT", "s"), ("vfs", "fork", "AGENT", "g"),
    ("vfs", "merge", "AGENT"), ("vfs", "apply", "AGENT"), ("vfs", "discard", "AGENT"),
    ("snapshot", "create", "AGENT", "s"), ("snapshot", "rm", "AGENT", "s"),
    ("snapshot", "ls", "AGENT"),
)
OTHERS = {"put", "mkdir", "import", "ln", "mount", "umount", "fsck", "compact"}


def agent(home, name, mode, **more):
    words = [w for k, v in more.items() for w in ("--set", "%s=%s" % (k, v))]
    home.skep("agent", "add", name, "--driver", "exec", "--set", "config=" +
              '{"shell":"ls; cat in.txt","stdin":"none"}', "--workspace", mode, *words)


def content(home):
    """Of every file in the home, but for logs and what SQLite keeps in memory."""
    return {p: hashlib.sha256(p.read_bytes()).hexdigest()
            for p in home.path.rglob("*")
            if p.is_file() and not p.name.endswith(("-shm", "-wal"))}


def namespaces(home, name):
    return [n["name"] for n in home.skep("namespace", "ls", name, "--json").lines]


def test_commands_that_add_nothing_create_nothing(home):
    verbs = re.findall(r"^  ([a-z]+)  ", home.skep("vfs", "--help").out, re.M)
    assert {words[1] for words in READS if words[0] == "vfs"} | OTHERS == set(verbs)
    for mode in ("disk", "vfs-scratch", "vfs-only"):
        name = "a-" + mode
        agent(home, name, mode)
        before = content(home)
        for words in READS:
            error = home.refused(66, *(name if w == "AGENT" else w for w in words))
            assert "no namespace 'main' yet" in error, error
            assert ("first run" in error) == (mode != "disk"), error
        for verb in ("fsck", "compact"):
            home.refused(66, "vfs", verb, name)
        home.refused(66, "namespace", "rm", name + ":main")
        assert namespaces(home, name) == []
        assert content(home) == before, (mode, set(content(home)) - set(before))
        assert not (home.path / "agents" / name).exists()


def test_a_file_that_is_put_first_is_in_the_workspace_of_the_first_run(home):
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        lib.skip("no /dev/fuse")
    (home.dir / "below").mkdir()
    (home.dir / "below" / "of-the-host").touch()
    agent(home, "only", "vfs-only", limits='{"disk":"1M"}')
    agent(home, "scratch", "vfs-scratch", path=home.dir / "below")
    agent(home, "own", "vfs-scratch")
    for name in ("only", "scratch", "own"):
        home.skep("vfs", "put", name, "in.txt", input="hello")
    quota = home.skep("vfs", "quota", "only", "--json").json
    assert quota["max_bytes"] == 1 << 20, quota
    home.refused(74, "vfs", "put", "only", "big", input=b"x" * (1 << 20))
    assert not (home.dir / "below" / "in.txt").exists()
    d = host(home)
    for name in ("only", "scratch", "own"):
        output = home.skep("run", name, "x", "--wait").out
        assert output.endswith("hello\n") or output.endswith("hello"), (name, output)
        assert ("of-the-host" in output) == (name == "scratch"), output
    finish(d)


def test_main_is_created_by_command_as_a_run_would(home):
    agent(home, "only", "vfs-only", limits='{"disk":"1M"}')
    home.skep("namespace", "create", "only:main")
    assert home.skep("vfs", "quota", "only", "--json").json["max_bytes"] == 1 << 20
    assert "already exists" in home.refused(65, "namespace", "create", "only:main")
    agent(home, "scratch", "vfs-scratch", path=home.dir)
    error = home.refused(64, "vfs", "put", "scratch", "f", input="x")
    assert "contains the home of skep" in error, error
    assert namespaces(home, "scratch") == []


def test_a_namespace_cannot_show_the_home(home):
    agent(home, "a", "disk")
    own = home.path / "agents" / "a" / "workspace"
    own.mkdir(parents=True)
    os.symlink(home.dir, home.dir / "link")
    for bad in ("/", home.dir, home.dir / "link", home.path, home.path / "state",
                home.path / "agents", home.path / "agents" / "a", own / ".."):
        error = home.refused(64, "namespace", "create", "a:w", "--lower", bad)
        assert "home of skep" in error, error
    assert namespaces(home, "a") == []
    other = home.dir / "homework"  # begins as the home does
    other.mkdir()
    home.skep("namespace", "create", "a:w", "--lower", own)
    home.skep("namespace", "create", "a:v", "--lower", other)


def test_a_run_keeps_the_directory_that_somebody_chose(home):
    (home.dir / "below").mkdir()
    (home.dir / "below" / "in.txt").write_text("hello")
    agent(home, "a", "vfs-only")
    home.skep("namespace", "create", "a:main", "--lower", home.dir / "below")
    d = host(home)
    row = d.until(d.submit("a"))
    assert (row["state"], row["reason"]) == ("failed", "workspace"), row
    assert str(home.dir / "below") in row["detail"], row
    assert "vfs-scratch" in row["detail"], row
    assert home.skep("vfs", "cat", "a", "in.txt").out == "hello"
    finish(d)
