"""Workspaces over a host directory: attributes, and a host that changes."""
import os
import shutil
import struct
import subprocess
import tarfile

from lib import HANG, skip
from skepd_lib import Host, finish
from vfs_lib import agent, mount

ACL = "system.posix_acl_access"


def acl(*entries):
    """The bytes of an ACL: (tag, permissions, id) each."""
    none = 0xffffffff
    return struct.pack("<I", 2) + b"".join(
        struct.pack("<HHI", tag, perm, none if who is None else who)
        for tag, perm, who in entries)


# user::rw- user:1234:r-- group::r-- mask::r-- other::---
SHARED = acl((1, 6, None), (2, 4, 1234), (4, 4, None), (16, 4, None),
             (32, 0, None))


def attributes(path):
    return {n: os.getxattr(path, n) for n in os.listxattr(path)
            if n.startswith(("user.", "system.posix_acl"))}


def scratch(home):
    agent(home)
    base = home.dir / "base"
    (base / "d").mkdir(parents=True)
    for name in ("f", "g", "d/h", "d/i"):
        (base / name).write_text(name)
    try:
        os.setxattr(base / "f", "user.note", b"host")
        os.setxattr(base / "f", ACL, SHARED)
    except OSError:
        skip("the host has no attributes")
    home.skep("namespace", "create", "a:w", "--lower", base)
    return base


def diff(home, where, *words):
    return home.skep("vfs", "diff", where, *words).out.splitlines()


def set_in(home, where, path, name, value):
    """Sets an attribute through an export, a change and an import."""
    out = home.dir / "out"
    shutil.rmtree(out, ignore_errors=True)
    home.skep("vfs", "export", where, out)
    os.setxattr(out / path, name, value)
    home.skep("vfs", "import", where, out / os.path.dirname(path),
              os.path.dirname(path))


def test_apply_keeps_attributes_of_the_host_and_of_the_namespace(home):
    base = scratch(home)
    home.skep("vfs", "put", "a:w", "f", "--append", input=" changed")
    set_in(home, "a:w", "d/h", "user.new", b"ours")
    assert "M f" in diff(home, "a:w") and "m d/h" in diff(home, "a:w"), \
        diff(home, "a:w")
    home.skep("vfs", "apply", "a:w")
    assert (base / "f").read_text() == "f changed"
    assert attributes(base / "f") == {"user.note": b"host", ACL: SHARED}
    assert attributes(base / "d/h") == {"user.new": b"ours"}
    assert diff(home, "a:w") == []


def test_a_mode_that_only_the_namespace_changed_is_applied(home):
    base = scratch(home)
    os.chmod(base / "g", 0o600)
    home.skep("vfs", "ls", "a:w")
    set_in(home, "a:w", "d/h", "user.x", b"1")
    os.chmod(base / "g", 0o640)  # the host's doing stays
    home.skep("vfs", "apply", "a:w")
    assert os.stat(base / "g").st_mode & 0o777 == 0o640
    assert attributes(base / "d/h") == {"user.x": b"1"}


def test_attributes_that_both_sides_changed_are_a_conflict(home):
    base = scratch(home)
    at, p = mount(home, "a:w")
    assert os.getxattr(at / "f", "user.note") == b"host"
    os.setxattr(at / "d/h", "user.x", b"ours")
    home.skep("vfs", "umount", at)
    assert p.wait(HANG) == 0
    os.setxattr(base / "d/h", "user.x", b"host")
    r = home.skep("vfs", "apply", "a:w", code=65)
    assert "m d/h  (conflict)" in r.out, r.out
    assert attributes(base / "d/h") == {"user.x": b"host"}
    home.skep("vfs", "apply", "a:w", "--strategy", "theirs")
    assert attributes(base / "d/h") == {"user.x": b"ours"}


def test_a_link_or_a_copy_of_the_host_tree_is_no_conflict(home):
    base = scratch(home)
    (base / "big").write_bytes(os.urandom(300000))
    old = (base / "big").read_bytes()
    at, p = mount(home, "a:w")
    for name in ("f", "d/h"):
        with open(at / name, "a") as f:
            f.write(" ours")
    os.chmod(at / "g", 0o700)
    with open(at / "big", "r+b") as f:  # most of it still is the host's
        f.write(b"ours")
    home.skep("vfs", "umount", at)
    assert p.wait(HANG) == 0
    for name in ("f", "g"):
        os.link(base / name, home.dir / ("link_" + name))
    copy = home.dir / "copy"
    subprocess.run(["cp", "-a", base, copy], check=True)
    for name in ("d/h", "big"):
        os.rename(copy / name, base / name)
    home.skep("vfs", "apply", "a:w")
    assert (base / "f").read_text() == "f ours"
    assert (base / "d/h").read_text() == "d/h ours"
    assert os.stat(base / "g").st_mode & 0o777 == 0o700
    assert (base / "big").read_bytes() == b"ours" + old[4:]


def test_a_host_file_with_its_old_time_and_other_content_is_a_conflict(home):
    base = scratch(home)
    home.skep("vfs", "put", "a:w", "g", "--append", input=" ours")
    home.skep("vfs", "put", "a:w", "d/i", "--append", input=" ours")
    for name, text in (("g", "x"), ("d/i", "d/x")):
        st = os.stat(base / name)
        (base / name).write_text(text)
        os.utime(base / name, ns=(st.st_atime_ns, st.st_mtime_ns))
    r = home.skep("vfs", "apply", "a:w", code=65)
    assert "M g  (conflict)" in r.out and "M d/i  (conflict)" in r.out, r.out
    assert (base / "g").read_text() == "x"


def test_merge_brings_attributes_and_acls_home(home):
    agent(home)
    src = home.dir / "src"
    (src / "d").mkdir(parents=True)
    for name in ("a", "b", "c", "d/x"):
        (src / name).write_text(name)
    os.setxattr(src / "c", "user.old", b"1")
    home.skep("vfs", "import", "a", src)
    home.skep("vfs", "fork", "a", "twin")
    os.setxattr(src / "a", "user.k", b"v")
    os.setxattr(src / "b", ACL, SHARED)
    os.setxattr(src / "d", "user.dir", b"yes")
    os.removexattr(src / "c", "user.old")
    (src / "n").write_text("new")
    os.setxattr(src / "n", "user.n", b"n")
    home.skep("vfs", "rm", "a:twin", "c")
    home.skep("vfs", "import", "a:twin", src)
    changed = diff(home, "a:twin")
    assert "m a" in changed and "A n" in changed and "m d" in changed, changed
    home.skep("vfs", "merge", "a:twin")
    home.skep("vfs", "export", "a", home.dir / "out")
    for name in ("a", "b", "c", "d", "d/x", "n"):
        assert attributes(home.dir / "out" / name) == attributes(src / name), \
            name
    assert diff(home, "a:twin") == []
    home.skep("vfs", "cp", "a", "n", "n2")
    home.skep("vfs", "export", "a", home.dir / "out2")
    assert attributes(home.dir / "out2" / "n2") == {"user.n": b"n"}


def test_a_host_directory_that_is_removed_unseen_is_left_removed(home):
    base = scratch(home)
    home.skep("vfs", "ls", "a:w")
    shutil.rmtree(base / "d")
    for words in (("find", "a:w"), ("du", "a:w"), ("grep", "a:w", "f"),
                  ("tree", "a:w"), ("fork", "a:w", "twin"),
                  ("export", "a:w", home.dir / "out"),
                  ("export", "a:w", home.dir / "out.tar")):
        home.skep("vfs", *words)
    assert diff(home, "a:w") == ["U d"], diff(home, "a:w")
    assert "removed from the host" in home.skep("vfs", "diff", "a:w",
                                                "--patch").out
    home.skep("vfs", "apply", "a:w")
    assert not (base / "d").exists()
    assert diff(home, "a:w") == []


def test_a_removed_host_directory_with_our_changes_is_a_conflict(home):
    base = scratch(home)
    home.skep("vfs", "find", "a:w")
    home.skep("vfs", "put", "a:w", "d/h", input="ours")
    home.skep("vfs", "put", "a:w", "d/new", input="new")
    shutil.rmtree(base / "d")
    assert diff(home, "a:w") == ["U d", "U d/h", "U d/i", "A d/new"]
    r = home.skep("vfs", "apply", "a:w", code=65)
    for line in ("U d  (conflict)", "U d/h  (conflict)",
                 "A d/new  (conflict)"):
        assert line in r.out, r.out
    assert not (base / "d").exists(), "it came back without a word"
    home.skep("vfs", "apply", "a:w", "--strategy", "theirs")
    assert sorted(os.listdir(base / "d")) == ["h", "new"]
    assert (base / "d/h").read_text() == "ours"
    shutil.rmtree(base / "d")
    home.skep("vfs", "discard", "a:w")
    assert diff(home, "a:w") == []


def test_the_host_may_win_and_what_is_gone_is_left_out(home):
    base = scratch(home)
    home.skep("vfs", "find", "a:w")
    home.skep("vfs", "put", "a:w", "d/new", input="new")
    shutil.rmtree(base / "d")
    error = home.refused(65, "vfs", "export", "a:w", home.dir / "out")
    assert "2 files were left out" in error, error
    assert sorted(os.listdir(home.dir / "out/d")) == ["new"]
    home.refused(65, "vfs", "export", "a:w", home.dir / "out.tar")
    with tarfile.open(home.dir / "out.tar") as tar:
        assert "d/new" in tar.getnames() and "d/h" not in tar.getnames()
    home.skep("vfs", "grep", "a:w", "new")
    home.skep("vfs", "apply", "a:w", "--strategy", "ours")
    assert not (base / "d").exists() and diff(home, "a:w") == []
    home.skep("vfs", "put", "a:w", "d/x", "--parents", input="x")
    home.skep("vfs", "rm", "a:w", "d", "--recursive")


def test_what_is_ours_is_found_when_the_base_is_gone(home):
    base = scratch(home)
    home.skep("vfs", "find", "a:w")
    home.skep("vfs", "put", "a:w", "d/new", input="new")
    shutil.rmtree(base)
    assert "d/new" in home.skep("vfs", "grep", "a:w", "new").out
    error = home.refused(65, "vfs", "export", "a:w", home.dir / "out")
    assert "files were left out" in error, error
    assert (home.dir / "out/d/new").read_text() == "new"


def test_a_base_that_is_gone_is_shown_and_can_be_discarded(home):
    base = scratch(home)
    home.skep("vfs", "put", "a:w", "f", input="ours")
    os.rename(base, home.dir / "elsewhere")
    assert diff(home, "a:w")[0] == "U d"
    home.skep("vfs", "apply", "a:w", code=65)
    assert not base.exists()
    home.skep("vfs", "apply", "a:w", "--strategy", "theirs", code=66)
    os.rename(home.dir / "elsewhere", base)
    home.skep("vfs", "apply", "a:w", "--strategy", "theirs")
    assert (base / "f").read_text() == "ours"


def test_a_scratch_workspace_starts_after_a_discard(home):
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        skip("there is no /dev/fuse")
    old, new, link = (home.dir / n for n in ("old", "new", "link"))
    for base in (old, new):
        base.mkdir()
        (base / "name").write_text(base.name + "\n")
    link.symlink_to(old)
    d = Host(home)
    d.start()

    def outcome(path):
        d.shell("a", "cat name; echo x > changed", workspace="vfs-scratch",
                path=str(path))
        row = d.until(d.submit("a"))
        return row["state"]
    assert outcome(old) == "succeeded"
    assert outcome(link) == "succeeded"  # the same directory
    assert outcome(new) == "failed"
    home.skep("vfs", "discard", "a")
    assert outcome(new) == "succeeded"
    assert not (old / "changed").exists() and not (new / "changed").exists()
    assert outcome(old) == "failed"
    home.skep("vfs", "apply", "a")
    assert outcome(old) == "succeeded" and (new / "changed").exists()
    finish(d)


def tree(path):
    return {str(p.relative_to(path)): p.read_text() if p.is_file() else None
            for p in path.rglob("*")}


def test_an_import_joins_directories_of_the_host(home):
    agent(home)
    base, new = home.dir / "base", home.dir / "new"
    for path in (base / "d/e", new / "d/e"):
        path.mkdir(parents=True)
        (path / path.parts[-3]).write_text("only here")
        (path.parent / "both").write_text(path.parts[-3])
    home.run("tar", "-C", new, "-cf", home.dir / "new.tar", ".")
    home.run("tar", "-C", new, "-cf", home.dir / "files.tar", "d/e/new",
             "d/both")
    want = home.dir / "want"
    shutil.copytree(base, want)
    shutil.copytree(new, want, dirs_exist_ok=True)
    for n, source in enumerate(("new", "new.tar", "files.tar")):
        where = "a:n%d" % n
        home.skep("namespace", "create", where, "--lower", base)
        home.skep("vfs", "import", where, home.dir / source)
        out = home.dir / ("out%d" % n)
        home.skep("vfs", "export", where, out)
        assert tree(out) == tree(want), (source, tree(out))


def test_a_file_that_the_host_adds_later_is_no_deletion(home):
    base = scratch(home)
    home.skep("vfs", "tree", "a:w")  # every directory is read
    before = diff(home, "a:w")
    (base / "later").write_text("x")
    (base / "d" / "later").write_text("x")
    (base / "dir").mkdir()
    (base / "dir" / "in").write_text("x")
    assert diff(home, "a:w") == before
    assert "later" not in home.skep("vfs", "diff", "a:w", "--patch").out
    name = sorted(p.name for p in base.iterdir() if p.is_file() and p.name != "later")[0]
    home.skep("vfs", "rm", "a:w", name)
    assert diff(home, "a:w") == sorted(before + ["D " + name])
    home.skep("vfs", "apply", "a:w")
    assert (base / "later").exists() and (base / "dir" / "in").exists()
    assert not (base / name).exists()
