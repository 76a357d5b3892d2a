"""What the tests of workspaces share: an agent, and its mount."""
import hashlib
import os
import stat
import subprocess

from lib import eventually, skip


def agent(home):
    home.skep("agent", "add", "a", "--driver", "script")
    return home


def mounted(path):
    with open("/proc/self/mountinfo") as f:
        return any(line.split()[4] == str(path) for line in f)


def mount(home, where="a", *options, under=()):
    """Mounts and waits for it; `under` are words before the command. One that
    dies before is given as it is."""
    if os.geteuid() != 0 or not os.access("/dev/fuse", os.R_OK | os.W_OK):
        skip("a mount needs root and /dev/fuse")
    at = home.dir / "mnt"
    at.mkdir(exist_ok=True)
    p = home.start(*under, home.bin / "skep", "vfs", "mount", where, at,
                   *options,
                   stdout=subprocess.DEVNULL)
    home.undo.append(lambda: subprocess.run(["umount", "-l", at],
                                            stderr=subprocess.DEVNULL))
    eventually(lambda: mounted(at) or p.poll() is not None, what="the mount")
    assert under or mounted(at), "the mount did not come up"
    return at, p


def content(path, st):
    if stat.S_ISLNK(st.st_mode):
        return os.readlink(path)
    if stat.S_ISREG(st.st_mode):
        with open(path, "rb") as f:
            return hashlib.sha256(f.read()).hexdigest()
    return None


def tree(root):
    """All that a directory has below it, as a dictionary: what each name is,
    its owner, links, attributes and contents. No times."""
    found = {}
    for at, dirs, files in os.walk(os.fsencode(root)):
        for name in dirs + files:
            path = os.path.join(at, name)
            st = os.lstat(path)
            link = stat.S_ISLNK(st.st_mode)
            found[os.path.relpath(path, os.fsencode(root))] = (
                oct(st.st_mode), st.st_uid, st.st_gid,
                0 if stat.S_ISDIR(st.st_mode) else st.st_nlink,
                () if link else tuple((n, os.getxattr(path, n)) for n in
                                      sorted(os.listxattr(path))),
                content(path, st))
    return found
