"""What the tests of workspaces share: an agent, and its mount."""
import os
import subprocess

from lib import eventually, skip


def agent(home):
    home.skep("agent", "add", "a", "--driver", "script")
    return home


def mounted(path):
    with open("/proc/self/mountinfo") as f:
        return any(line.split()[4] == str(path) for line in f)


def mount(home, where="a", *options):
    if os.geteuid() != 0 or not os.access("/dev/fuse", os.R_OK | os.W_OK):
        skip("a mount needs root and /dev/fuse")
    at = home.dir / "mnt"
    at.mkdir(exist_ok=True)
    p = home.start(home.bin / "skep", "vfs", "mount", where, at, *options,
                   stdout=subprocess.DEVNULL)
    home.undo.append(lambda: subprocess.run(["umount", "-l", at],
                                            stderr=subprocess.DEVNULL))
    eventually(lambda: mounted(at), what="the mount")
    return at, p
