"""kill -9 of a real process at each of its writes: a mount, and every command
that changes a workspace. strace kills it in front of the n-th system call of a
kind, for each n until there is none. Afterwards the tree is one that was there
at some moment, nothing is lost that was synced, fsck finds nothing, and no
mount is left.

A sample of the writes is taken; SKEP_TEST_BIG=1 takes each one.
"""
import ctypes
import io
import os
import re
import shutil
import subprocess
import tarfile

from lib import HANG, eventually, skip
from vfs_lib import agent, mount, mounted, tree

BIG = bool(os.environ.get("SKEP_TEST_BIG"))
WRITES = ("pwrite64", "ftruncate", "fdatasync", "fsync")
AT_FDCWD, EXCHANGE = -100, 2
PUNCH = 3  # FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE
libc = ctypes.CDLL(None, use_errno=True)


def needs_strace():
    if not shutil.which("strace"):
        skip("strace is not there")


def killed_at(call, nth, log="/dev/null"):
    """Words to put before a command, so that it is killed there."""
    return ("strace", "-o", log, "-e", "trace=%s" % call, "-e",
            "inject=%s:signal=KILL:when=%d" % (call, nth))


def counted(log, calls=WRITES):
    """How often a process that was not killed came to each call."""
    text = log.read_text(errors="replace")
    return {call: len(re.findall(r"^%s\(" % call, text, re.M))
            for call in calls}


def sample(n, most):
    """Which of 1..n are tried: all, or some from the first to the last."""
    if BIG or n <= most:
        return range(1, n + 1)
    return sorted({1 + i * (n - 1) // (most - 1) for i in range(most)})


# -- a mount

class Work:
    """What programs do, one request a step. A step of which the name begins
    with ! ends with an fsync: it and all before it must be kept."""

    def __init__(self, root):
        self.root = root

    def path(self, name):
        return os.path.join(self.root, name)

    def write(self, name, data, flags=0, off=0, sync=False):
        fd = os.open(self.path(name), os.O_WRONLY | flags)
        try:
            os.pwrite(fd, data, off)
            if sync:
                os.fsync(fd)
        finally:
            os.close(fd)

    def create(self, name):
        os.close(os.open(self.path(name), os.O_CREAT | os.O_EXCL, 0o640))

    def rename(self, a, b, flags=0):
        if libc.renameat2(AT_FDCWD, os.fsencode(self.path(a)), AT_FDCWD,
                          os.fsencode(self.path(b)), flags):
            raise OSError(ctypes.get_errno(), "renameat2")

    def punch(self, name, off, n):
        with open(self.path(name), "r+b") as f:
            if libc.fallocate(f.fileno(), PUNCH, ctypes.c_long(off),
                              ctypes.c_long(n)):
                raise OSError(ctypes.get_errno(), "fallocate")

    def unlink_open(self, name):
        with open(self.path(name), "r+b") as f:
            os.unlink(f.name)
            f.write(b"nobody sees this")

    def steps(self):
        p, piece = self.path, bytes(range(256)) * 512
        yield "mkdir", lambda: os.mkdir(p("d"))
        yield "mkdir", lambda: os.mkdir(p("d/e"))
        yield "create", lambda: self.create("d/one")
        yield "write", lambda: self.write("d/one", b"first")
        yield "!write", lambda: self.write("d/one", b"second", sync=True)
        yield "symlink", lambda: os.symlink("d/one", p("soft"))
        yield "link", lambda: os.link(p("d/one"), p("hard"))
        yield "mode", lambda: os.chmod(p("d/one"), 0o4711)
        yield "owner", lambda: os.chown(p("d/one"), 1, 2)
        yield "attribute", lambda: os.setxattr(p("d/one"), "user.a", b"v")
        yield "fifo", lambda: os.mkfifo(p("fifo"))
        yield "create", lambda: self.create("big")
        for i in range(24):
            sync = i % 8 == 7
            yield ("!" if sync else "") + "piece", lambda i=i, sync=sync: (
                self.write("big", piece, off=i * len(piece), sync=sync))
        yield "patch", lambda: self.write("big", b"patch", off=70000)
        yield "punch", lambda: self.punch("big", 100000, 300000)
        yield "cut", lambda: os.truncate(p("big"), 1500001)
        yield "grow", lambda: os.truncate(p("big"), 9000000)
        yield "!write", lambda: self.write("big", b"end", off=8999990,
                                           sync=True)
        yield "rename", lambda: self.rename("big", "d/e/big")
        yield "exchange", lambda: self.rename("d/e", "d/one", EXCHANGE)
        yield "back", lambda: self.rename("d/e", "d/one", EXCHANGE)
        for i in range(30):
            name = "f%d" % i
            yield "create", lambda name=name: self.create(name)
            yield "write", lambda name=name: self.write(name, b"x" * 2000)
        yield "create", lambda: self.create("new")
        yield "!write", lambda: self.write("new", piece, sync=True)
        yield "replace", lambda: self.rename("new", "hard")
        yield "unlink open", lambda: self.unlink_open("f3")
        yield "no attribute", lambda: os.removexattr(p("d/one"), "user.a")
        for i in range(4, 20):
            yield "unlink", lambda i=i: os.unlink(p("f%d" % i))
        yield "unlink", lambda: os.unlink(p("d/e/big"))
        yield "rmdir", lambda: os.rmdir(p("d/e"))
        yield "create", lambda: self.create("last")
        yield "!write", lambda: self.write("last", b"last", sync=True)

    def run(self):
        """Until the mount is dead: steps done, and how many must be kept."""
        done = synced = 0
        for name, step in self.steps():
            try:
                step()
            except OSError:
                break
            done += 1
            if name[0] == "!":
                synced = done
        return done, synced


def pictures(root):
    """The tree before the first step, after it, and so on."""
    root.mkdir()
    work, got = Work(root), [tree(root)]
    for _, step in work.steps():
        step()
        got.append(tree(root))
    return got


def steps_under(home, name, under):
    """Takes the steps on a mount of an agent of its own."""
    home.skep("agent", "add", name, "--driver", "script")
    at, p = mount(home, name, under=under)
    work = Work(at)
    got = work.run() if p.poll() is None else (0, 0)
    if mounted(at) and p.poll() is None:
        home.skep("vfs", "umount", at, code=None)
    p.wait(HANG)
    eventually(lambda: not mounted(at), what="the end of the mount")
    return got


def look(home, name, wanted, done, synced, what):
    out = home.dir / "out"
    if done == 0 and home.skep("vfs", "ls", name, code=None).code == 66:
        return  # it died before there was a namespace
    home.skep("vfs", "export", name, out)
    now = tree(out)
    shutil.rmtree(out)
    fits = [i for i in range(synced, min(done + 1, len(wanted) - 1) + 1)
            if wanted[i] == now]
    assert fits, "%s: after %d steps, %d synced: %s" % (
        what, done, synced, sorted(set(now.items()) ^
                                   set(wanted[done].items())))
    output = home.skep("vfs", "fsck", name, "--deep").out
    assert "no faults" in output, "%s: %s" % (what, output)


def test_a_mount_killed_at_any_write_loses_nothing_synced(home):
    needs_strace()
    wanted = pictures(home.dir / "real")
    log = home.dir / "log"
    done, synced = steps_under(home, "whole", (
        "strace", "-o", log, "-e", "trace=" + ",".join(WRITES)))
    assert done == synced == len(wanted) - 1, (done, synced)
    look(home, "whole", wanted, done, synced, "nobody killed it")
    calls = counted(log)
    assert calls["pwrite64"] > 60 and calls["fdatasync"] > 5, calls
    tried = died = 0
    for call in WRITES:
        for nth in sample(calls[call], 10):
            name = "n%d" % tried
            done, synced = steps_under(home, name, killed_at(call, nth))
            look(home, name, wanted, done, synced, "%s %d" % (call, nth))
            shutil.rmtree(home.path / "agents" / name, ignore_errors=done == 0)
            tried += 1
            died += done < len(wanted) - 1
    print("%s: %d of %d tries died on the way" % (calls, died, tried))
    assert died > tried // 2, (died, tried)


test_a_mount_killed_at_any_write_loses_nothing_synced.seconds = (
    3600 if BIG else 300)


# -- commands

def make_inputs(home):
    src = home.dir / "src"
    (src / "sub/empty").mkdir(parents=True)
    for i in range(40):
        (src / "sub" / ("f%d" % i)).write_bytes(b"%d " % i * i * 40)
    os.symlink("sub", src / "soft")
    os.link(src / "sub/f1", src / "hard")
    (home.dir / "large").write_bytes(bytes(range(256)) * 8000)
    with tarfile.open(home.dir / "t.tar", "w") as tar:
        tar.add(src, ".")
    base = home.dir / "base"
    shutil.copytree(src, base, symlinks=True)
    return src, base


COMMANDS = (
    ("vfs", "put", "a", "new", "large"),
    ("vfs", "put", "a", "sub/f3", "large"),
    ("vfs", "put", "a", "sub/f3", "large", "--append"),
    ("vfs", "mkdir", "a", "x/y/z", "--parents"),
    ("vfs", "mv", "a", "sub", "moved"),
    ("vfs", "mv", "a", "sub/f1", "sub/f39"),
    ("vfs", "cp", "a", "sub", "copy", "--recursive"),
    ("vfs", "rm", "a", "sub", "--recursive"),
    ("vfs", "ln", "a", "sub/f5", "linked"),
    ("vfs", "ln", "a", "sub/f5", "soft2", "--symbolic"),
    ("vfs", "edit", "a", "word", "once", "twice"),
    ("vfs", "import", "a", "src", "again"),
    ("vfs", "import", "a", "t.tar", "again"),
    ("vfs", "import", "a", "a.sqlar", "again"),
    ("vfs", "import", "a", "a.agentfs", "again"),
    ("snapshot", "create", "a", "second"),
    ("snapshot", "rm", "a", "first"),
    ("vfs", "rollback", "a", "first"),
    ("vfs", "fork", "a", "fork2"),
    ("vfs", "merge", "a:twin", "--strategy", "theirs"),
    ("vfs", "discard", "a:scratch"),
    ("namespace", "create", "a:fresh"),
    ("namespace", "rm", "a:twin"),
    ("vfs", "quota", "a", "--bytes", "1g"),
    ("vfs", "compact", "a"),
)


def make_state(home):
    """An agent in which each of the commands has something to do."""
    agent(home)
    src, base = make_inputs(home)
    home.skep("vfs", "import", "a", src)
    home.skep("vfs", "export", "a", "a.sqlar")
    home.skep("vfs", "export", "a", "a.agentfs")
    home.skep("vfs", "put", "a", "word", input="once upon a time")
    home.skep("snapshot", "create", "a", "first")
    home.skep("vfs", "put", "a", "sub/f20", "large")
    home.skep("vfs", "rm", "a", "sub/f21")
    home.skep("vfs", "fork", "a", "twin")
    home.skep("vfs", "put", "a:twin", "sub/f22", "large")
    home.skep("namespace", "create", "a:scratch", "--lower", base)
    home.skep("vfs", "put", "a:scratch", "sub/f23", "large")
    home.skep("vfs", "rm", "a:scratch", "sub/f24")


def members(tar):
    """What `tree` gives of a directory, of an archive."""
    with tarfile.open(fileobj=io.BytesIO(tar)) as t:
        return {m.name: (m.type, m.mode, m.uid, m.gid, m.linkname,
                         t.extractfile(m).read() if m.isreg() else None)
                for m in t}


def everything(home):
    """All that can be seen of all namespaces, as one value."""
    got = []
    for space in home.skep("namespace", "ls", "a", "--json").lines:
        where = "a:" + space["name"]
        got.append((space["name"],
                    members(home.skep("vfs", "export", where, "-").raw),
                    [s["name"] for s in home.skep(
                        "snapshot", "ls", where, "--json").lines],
                    home.skep("vfs", "quota", where, "--json").json))
    return got


def restore(home, kept):
    shutil.rmtree(home.path)
    shutil.copytree(kept, home.path)


def killed_at_writes(home, command, before, which):
    """Gives how often it was killed. `which`: of its writes, in a sample."""
    kept, log = home.dir / "kept", home.dir / "log"
    skep = (home.bin / "skep", *command)
    restore(home, kept)
    home.run("strace", "-o", log, "-e", "trace=" + ",".join(WRITES), *skep)
    after, calls, kills = everything(home), counted(log), 0
    assert after != before or command[1] == "compact", command
    points = [(call, nth) for call in WRITES
              for nth in range(1, calls[call] + 1)]
    for call, nth in points if BIG else [points[which % len(points)]]:
        restore(home, kept)
        r = home.run(*killed_at(call, nth), *skep, code=None)
        what = "%s, %s %d" % (" ".join(command), call, nth)
        kills += r.code != 0
        now = everything(home)
        assert now in (before, after), "%s: neither old nor new" % what
        assert r.code or now == after, "%s: it said done" % what
        output = home.skep("vfs", "fsck", "a", "--deep").out
        assert "no faults" in output, "%s: %s" % (what, output)
        if now == before:  # nothing is in the way of a second try
            home.run(*skep)
            assert everything(home) == after, what
    return kills


def test_a_command_killed_at_any_write_has_done_all_or_nothing(home):
    needs_strace()
    make_state(home)
    before = everything(home)
    shutil.copytree(home.path, home.dir / "kept")
    kills = 0
    for i, command in enumerate(COMMANDS):
        kills += killed_at_writes(home, command, before, i)
    print("killed %d times" % kills)
    assert kills >= len(COMMANDS)


test_a_command_killed_at_any_write_has_done_all_or_nothing.seconds = (
    3600 if BIG else 300)


# -- files on the host

HOST_CALLS = ("write", "fsync", "rename", "renameat", "renameat2", "unlinkat",
              "mkdirat", "linkat", "symlinkat", "fchmodat", "utimensat")
NONE = ("not there",)


def make_scratch(home):
    """A namespace with a change of each kind over home.dir / "base"."""
    agent(home)
    _, base = make_inputs(home)
    home.skep("namespace", "create", "a:w", "--lower", base)
    for name in ("sub/f1", "sub/f2", "new", "deep/er/new"):
        home.skep("vfs", "put", "a:w", name, "large", "--parents")
    for name in ("sub/f3", "sub/f4", "soft"):
        home.skep("vfs", "rm", "a:w", name)
    home.skep("vfs", "ln", "a:w", "sub/f5", "soft", "--symbolic")
    home.skep("vfs", "rm", "a:w", "sub/empty")
    home.skep("vfs", "put", "a:w", "sub/empty", input="a file now")
    return base


def check_host(before, now, after, what):
    """Files and links are old or new; what is made has a name of its own at
    first. A directory may lack its mode yet."""
    for path in before.keys() | after.keys() | now.keys():
        may = [t.get(path, NONE) for t in (before, after)]
        if any(m[0].startswith("0o40") for m in may):
            may.append(NONE)  # it became a file, or the other way
        elif b".skep-apply." in path:
            continue
        state = now.get(path, NONE)
        assert state in may or state[0].startswith("0o40"), (what, path, state)


def test_applying_that_is_killed_leaves_each_host_file_old_or_new(home):
    needs_strace()
    base = make_scratch(home)
    kept, old, log = home.dir / "kept", home.dir / "old", home.dir / "log"
    shutil.copytree(home.path, kept)
    before = tree(base)
    os.rename(base, old)
    # A copy of the directory counts as changed: its files have new ctimes.
    apply = (home.bin / "skep", "vfs", "apply", "a:w", "--strategy", "theirs")

    def again():
        shutil.rmtree(base, ignore_errors=True)
        subprocess.run(["cp", "-a", old, base], check=True)
        restore(home, kept)

    again()
    home.run("strace", "-o", log, "-e", "trace=" + ",".join(HOST_CALLS), *apply)
    after, calls = tree(base), counted(log, HOST_CALLS)
    assert before != after and calls["renameat"] + calls["renameat2"] > 2, calls
    for call in HOST_CALLS:
        for nth in sample(calls[call], 3):
            again()
            home.run(*killed_at(call, nth), *apply, code=None)
            check_host(before, tree(base), after, "%s %d" % (call, nth))
            home.run(*apply)
            assert tree(base) == after, "%s %d" % (call, nth)


test_applying_that_is_killed_leaves_each_host_file_old_or_new.seconds = (
    1800 if BIG else 300)
