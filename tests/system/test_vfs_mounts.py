"""Mounts beside each other: their ends, and who may have a namespace."""
import os
import subprocess

from lib import eventually, skip
from sandbox_lib import said
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
    home.skep("vfs", "new", "a:b")
    at, first = mount(home)
    (at / "f").write_text("first")
    copy = copy_of_mounts(home)
    subprocess.run(["umount", at], check=True)
    assert not mounted(at) and first.poll() is None
    _, second = mount(home, "a:b")
    (at / "f").write_text("second")
    copy.kill()
    copy.wait()
    assert first.wait(20) == 0
    assert mounted(at) and second.poll() is None
    (at / "g").write_text("after")
    home.skep("vfs", "umount", at)
    assert second.wait(20) == 0
    assert os.listdir(at) == [], "a write went to the host directory"
    assert home.skep("vfs", "cat", "a:b", "g").out == "after"
    assert home.skep("vfs", "cat", "a", "f").out == "first"


def test_an_unmount_reaches_the_copies_in_sandboxes(home):
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
    d.shell("b", "echo up; sleep 600")
    run = d.submit("b")
    eventually(lambda: "up" in said(d, "b", run), what="the run")
    subprocess.run(["umount", where], check=True)
    assert server.wait(20) == 0, "a sandbox still holds the mount"
    assert d.get(run)["state"] == "running"
    d.cancel(run)
    d.until(run)
    finish(d)
