"""Mounts beside each other: their ends, and who may have a namespace."""
import ctypes
import fcntl
import os
import signal
import subprocess

from lib import HANG, eventually, skip
from sandbox_lib import run_output
from skepd_lib import Host, finish
from vfs_lib import agent, mount, mounted


def copy_of_mounts(home):
    """A process with a private copy of all mounts, as a container has it."""
    p = home.start("unshare", "-m", "--propagation", "private", "sleep", "600")
    eventually(lambda: os.readlink("/proc/%d/ns/mnt" % p.pid)
               != os.readlink("/proc/self/ns/mnt"), what="the namespace")
    return p


def test_a_mount_that_ends_late_leaves_its_successor_alone(home):
    agent(home)
    home.skep("namespace", "create", "a:b")
    at, first = mount(home)
    (at / "f").write_text("first")
    copy = copy_of_mounts(home)
    subprocess.run(["umount", at], check=True)
    assert not mounted(at) and first.poll() is None
    _, second = mount(home, "a:b")
    (at / "f").write_text("second")
    copy.kill()
    copy.wait()
    assert first.wait(HANG) == 0
    assert mounted(at) and second.poll() is None
    (at / "g").write_text("after")
    home.skep("vfs", "umount", at)
    assert second.wait(HANG) == 0
    assert os.listdir(at) == [], "a write went to the host directory"
    assert home.skep("vfs", "cat", "a:b", "g").out == "after"
    assert home.skep("vfs", "cat", "a", "f").out == "first"


def dead_mount(at):
    """A FUSE mount of another program on a directory, whose server is gone."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = os.open("/dev/fuse", os.O_RDWR)
    options = "fd=%d,rootmode=40000,user_id=0,group_id=0" % fd
    assert libc.mount(b"theirs", bytes(at), b"fuse.theirs", 0,
                      options.encode()) == 0, os.strerror(ctypes.get_errno())
    os.close(fd)


def test_the_guardian_leaves_a_dead_mount_of_others_alone(home):
    """Unmounting it would show the directory below to programs that write there."""
    agent(home)
    at, first = mount(home)
    copy = copy_of_mounts(home)
    subprocess.run(["umount", at], check=True)
    dead_mount(at)
    copy.kill()
    copy.wait()
    assert first.wait(HANG) == 0
    assert mounted(at)
    subprocess.run(["umount", at], check=True)


def test_an_unmount_reaches_the_copies_in_sandboxes(home):
    """Of the command, and of the process that serves its workspace."""
    if os.geteuid() != 0:
        skip("a shared mount needs root")
    agent(home)
    at = home.dir / "mnt"
    at.mkdir()
    shared = home.dir / "shared"
    shared.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "none", shared], check=True)
    home.undo.append(lambda: subprocess.run(["umount", "-l", shared]))
    subprocess.run(["mount", "--make-shared", shared], check=True)
    where = shared / "m"
    where.mkdir()
    server = home.start(home.bin / "skep", "vfs", "mount", "a", where,
                        stdout=subprocess.DEVNULL)
    eventually(lambda: mounted(where), what="the mount")
    d = Host(home)
    d.start()
    d.shell("b", "echo up; sleep 600", workspace="vfs-only")
    run = d.submit("b")
    eventually(lambda: "up" in run_output(d, "b", run), what="the run")
    subprocess.run(["umount", where], check=True)
    assert server.wait(HANG) == 0, "a sandbox still holds the mount"
    assert d.get(run)["state"] == "running"
    d.cancel(run)
    d.until(run)
    finish(d)


def server(at):
    """The process that serves a mount; None while nothing is mounted."""
    with open("/proc/self/mountinfo") as f:
        for line in f:
            if line.split()[4] == str(at):
                return int(line.split(" - ")[1].split()[1].split(":")[2])


def second(home, where="a"):
    """A mount of the same namespace on another directory."""
    at = home.dir / "mnt2"
    at.mkdir(exist_ok=True)
    p = home.start(home.bin / "skep", "vfs", "mount", where, at,
                   stdout=subprocess.DEVNULL)
    home.undo.append(lambda: subprocess.run(["umount", "-l", at],
                                            stderr=subprocess.DEVNULL))
    eventually(lambda: mounted(at), what="the second mount")
    return at, p


def test_a_file_made_by_another_process_is_opened(home):
    agent(home)
    at, _ = mount(home)
    for i in range(5):
        name = "f%d" % i
        assert not (at / name).exists()
        home.skep("vfs", "put", "a", name, input="theirs")
        with open(at / name, "a") as f:  # O_CREAT
            f.write(" and ours")
        assert (at / name).read_text() == "theirs and ours"
        assert not (at / ("x" + name)).exists()
        home.skep("vfs", "put", "a", "x" + name, input="theirs")
        try:
            open(at / ("x" + name), "x")
            raise AssertionError("O_EXCL made a file that was there")
        except FileExistsError:
            pass


def test_two_mounts_of_a_namespace_are_one(home):
    agent(home)
    a, first = mount(home)
    b, other = second(home)
    for i in range(200):
        assert not (a / str(i)).exists()
        (b / str(i)).write_text("x")
        os.close(os.open(a / str(i), os.O_CREAT | os.O_WRONLY, 0o600))
    with open(a / "0") as f:
        os.unlink(b / "0")
        assert f.read() == "x"
    writer = "for i in $(seq 200); do echo $0 >> log; done"
    both = [subprocess.Popen(["sh", "-c", writer, where.name], cwd=where)
            for where in (a, b)]
    assert [p.wait(HANG) for p in both] == [0, 0]
    assert sorted((a / "log").read_text().split()) == \
        [a.name] * 200 + [b.name] * 200
    with open(a / "log") as x, open(b / "log") as y:
        fcntl.flock(x, fcntl.LOCK_EX)
        try:
            fcntl.flock(y, fcntl.LOCK_EX | fcntl.LOCK_NB)
            raise AssertionError("two holders of one lock")
        except BlockingIOError:
            pass
    home.skep("vfs", "umount", a)
    (b / "after").write_text("still served")
    home.skep("vfs", "umount", b)
    assert first.wait(HANG) == 0 and other.wait(HANG) == 0
    assert home.skep("vfs", "cat", "a", "after").out == "still served"
    assert "no faults" in home.skep("vfs", "fsck", "a", "--deep").out


def test_a_mount_outlives_the_one_that_it_shares(home):
    agent(home)
    a, first = mount(home)
    (a / "f").write_text("kept")
    b, other = second(home)
    first.kill()
    first.wait()
    eventually(lambda: server(b) == other.pid, what="a server of its own")
    assert (b / "f").read_text() == "kept"
    (b / "g").write_text("more")
    home.skep("vfs", "umount", b)
    assert other.wait(HANG) == 0
    assert home.skep("vfs", "cat", "a", "g").out == "more"


def test_a_mount_that_cannot_be_shared_is_refused_by_name(home):
    agent(home)
    home.skep("namespace", "create", "a:main")
    holder = home.start("sleep", "600")
    with open("/proc/%d/stat" % holder.pid) as f:
        start = f.read().rsplit(")", 1)[1].split()[19]
    home.execute(home.agent_db("a"), "INSERT INTO vfs_open_process (pid, ns, start) "
                 "SELECT ?, id, ? FROM vfs_ns", holder.pid, int(start))
    at = home.dir / "mnt"
    at.mkdir()
    error = home.refused(75, "vfs", "mount", "a", at)
    assert "sleep (process %d)" % holder.pid in error, error
    assert not mounted(at)


def test_the_mounts_of_a_run_and_of_a_person_are_one(home):
    if os.geteuid() != 0 or not os.access("/dev/fuse", os.R_OK | os.W_OK):
        skip("a mount needs root and /dev/fuse")
    d = Host(home)
    d.start()
    wait = "while [ ! -e %s ]; do sleep 0.02; done; "
    d.shell("a", "echo run > made; " + wait % "go" + "cat go; "
            "echo line >> log", workspace="vfs-only")
    run = d.submit("a")  # the run is first
    d.until(run, "running")
    eventually(lambda: d.home.skep("vfs", "cat", "a", "made", code=None).out,
               what="the run's file")
    at, p = mount(home)
    assert (at / "made").read_text() == "run\n"
    with open(at / "log", "a") as f:
        f.write("ours\n")
    # complete before it appears: the run's end interrupts open files of ours
    (at / "going").write_text("gone\n")
    (at / "going").rename(at / "go")
    assert d.until(run)["state"] == "succeeded"
    assert run_output(d, "a", run) == "gone"
    eventually(lambda: server(at) == p.pid, what="a server of its own")
    assert (at / "log").read_text() == "ours\nline\n"
    run = d.submit("a")  # the person is first
    assert d.until(run)["state"] == "succeeded"
    assert (at / "log").read_text() == "ours\nline\nline\n"
    home.skep("vfs", "umount", at)
    assert p.wait(HANG) == 0
    finish(d)


def test_runs_on_one_mount_take_turns(home):
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        skip("there is no /dev/fuse")
    d = Host(home)
    d.start()
    d.shell("a", "[ ! -e busy ] || echo crowded; touch busy; sleep 0.3; "
            "rm busy", workspace="vfs-only")
    runs = [d.submit("a", session=str(i)) for i in range(3)]
    for run in runs:
        assert d.until(run)["state"] == "succeeded"
        assert "crowded" not in run_output(d, "a", run)
    finish(d)


def attached_run(home):
    """A person's mount, and a run that has its workspace from it."""
    if os.geteuid() != 0 or not os.access("/dev/fuse", os.R_OK | os.W_OK):
        skip("a mount needs root and /dev/fuse")
    d = Host(home)
    d.start()
    d.shell("a", "echo up > up; while [ ! -e go ]; do sleep 0.02; done; "
            "cat go; echo more > more", workspace="vfs-only")
    at, p = mount(home)
    run = d.submit("a")
    eventually(lambda: (at / "up").exists(), what="the run")
    return d, at, p, run


def test_a_run_keeps_its_workspace_when_a_person_stops_the_mount(home):
    d, at, p, run = attached_run(home)
    p.send_signal(signal.SIGTERM)
    eventually(lambda: not mounted(at), what="the unmount")
    assert p.poll() is None, "the run has lost its workspace"
    home.skep("vfs", "put", "a", "go", input="gone\n")
    assert d.until(run)["state"] == "succeeded"
    assert run_output(d, "a", run) == "gone"
    assert p.wait(HANG) == 0, "it serves on without a run"
    assert home.skep("vfs", "cat", "a", "more").out == "more\n"
    finish(d)


def test_a_second_signal_stops_a_mount_that_a_run_uses(home):
    d, at, p, run = attached_run(home)
    p.send_signal(signal.SIGINT)
    eventually(lambda: not mounted(at), what="the unmount")
    assert p.poll() is None
    p.send_signal(signal.SIGINT)
    assert p.wait(HANG) == 0
    d.cancel(run)
    d.until(run)
    finish(d)


def test_an_unmount_leaves_a_run_its_workspace(home):
    d, at, p, run = attached_run(home)
    home.skep("vfs", "umount", at)
    assert not mounted(at)
    home.skep("vfs", "put", "a", "go", input="gone\n")
    assert d.until(run)["state"] == "succeeded"
    assert run_output(d, "a", run) == "gone"
    assert p.wait(HANG) == 0
    finish(d)
