"""Mounts without any privilege: in a user and mount namespace of one's own.

What it takes is a /dev/fuse that everybody may open, as desktops have it. Where
the machine's own is for root alone, the test gives itself another one, seen by
no other user.
"""
import os
import shutil
import subprocess

from lib import skip
from worker_lib import Supervisor, Worker, ok

NOBODY = 65534

# As root: a /dev/fuse for everybody in a mount namespace of our own; then a
# user without rights goes on.
GIVE_UP_ROOT = r"""
set -eu
dir=$1; shift
mknod "$dir/fuse" c 10 229; chmod 666 "$dir/fuse"
mount --make-rprivate /
mount --bind "$dir/fuse" /dev/fuse
exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all \
    --bounding-set=-all --no-new-privs "$@"
"""


def unprivileged(home):
    """Words to put before a command, so that it runs without rights."""
    if os.geteuid() != 0:
        if not os.access("/dev/fuse", os.R_OK | os.W_OK):
            skip("/dev/fuse cannot be opened without root here")
        return ()
    for name in ("setpriv", "unshare", "mknod"):
        if not shutil.which(name):
            skip("%s is not there" % name)
    under = ("unshare", "-m", "sh", "-c", GIVE_UP_ROOT, "sh", str(home.dir))
    home.dir.chmod(0o755)
    p = subprocess.run([*under, "unshare", "-rm", "sh", "-c",
                        "exec 3<> /dev/fuse"], stderr=subprocess.PIPE)
    (home.dir / "fuse").unlink(missing_ok=True)
    if p.returncode:
        skip("no user namespace or no device here: %s" % p.stderr.decode())
    return under


def give_away(home):
    home.path.mkdir(exist_ok=True)
    if os.geteuid() != 0:
        return
    for path in [home.dir, *home.dir.rglob("*")]:
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


WORK = r"""
set -eu
skep vfs mount a mnt & server=$!
i=0; while ! grep -q " $PWD/mnt fuse" /proc/mounts; do
    i=$((i + 1)); [ $i -lt 500 ] || exit 7; sleep 0.02
done
mkdir mnt/d; echo inside > mnt/d/f; mv mnt/d/f mnt/d/g; chmod 600 mnt/d/g
cat mnt/d/g; stat -c '%a %u' mnt/d/g
skep vfs umount mnt
wait $server
"""


def test_a_user_without_rights_mounts_in_a_namespace_of_his_own(home):
    under = unprivileged(home)
    (home.dir / "mnt").mkdir()
    home.skep("agent", "add", "a", "--driver", "script")
    give_away(home)
    r = home.run(*under, "unshare", "-rm", "sh", "-c", WORK)
    assert "\ninside\n600 0\n" in r.out, r.out + r.err
    assert home.skep("vfs", "cat", "a", "d/g").out == "inside\n"
    assert "no faults" in home.skep("vfs", "fsck", "a").out


# As root: a /dev/fuse for everybody; an ordinary user goes on, who may execute
# fusermount3.
AS_USER = r"""
set -eu
dir=$1; shift
mknod "$dir/fuse" c 10 229; chmod 666 "$dir/fuse"
mount --make-rprivate /
mount --bind "$dir/fuse" /dev/fuse
exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all "$@"
"""

# A mount ends with umount, and when its process is killed.
BY_HELPER = r"""
set -eu
wait_for() { i=0; while ! "$@"; do i=$((i + 1)); [ $i -lt 1500 ] || exit 7
    sleep 0.02; done; }
is_mounted() { grep -q " $PWD/mnt fuse.skep" /proc/mounts; }
is_gone() { ! is_mounted; }
for end in umount kill; do
    skep vfs mount a mnt > out & server=$!
    wait_for is_mounted
    mkdir -p mnt/d; echo $end > mnt/d/f; sync mnt/d/f; cat mnt/d/f
    stat -c %u mnt/d/f
    if [ $end = umount ]; then skep vfs umount mnt; else kill -9 $server; fi
    wait $server || true
    wait_for is_gone
    skep vfs cat a d/f
done
"""


def test_an_ordinary_user_mounts_with_fusermount3(home):
    for name in ("fusermount3", "setpriv", "unshare", "mknod"):
        if not shutil.which(name):
            skip("%s is not there" % name)
    if os.geteuid() == 0:
        unprivileged(home)  # skips where there is no device
        under = ("unshare", "-m", "sh", "-c", AS_USER, "sh", str(home.dir))
    else:
        under = unprivileged(home)
    (home.dir / "mnt").mkdir()
    home.skep("agent", "add", "a", "--driver", "script")
    give_away(home)
    r = home.run(*under, "sh", "-c", BY_HELPER, cwd=home.dir)
    uid = os.geteuid() or NOBODY
    assert "umount\n%d\n" % uid in r.out, r.out + r.err
    assert r.out.endswith("kill\n%d\nkill\n" % uid), r.out + r.err
    assert "no faults" in home.skep("vfs", "fsck", "a").out


def test_without_a_namespace_the_mount_says_what_it_needs(home):
    under = unprivileged(home)
    (home.dir / "mnt").mkdir()
    home.skep("agent", "add", "a", "--driver", "script")
    give_away(home)
    r = home.run(*under, home.bin / "skep", "vfs", "mount", "a", "mnt",
                 code=None)
    assert r.code != 0 and "unshare -rm" in r.err, r.err
    assert "no_new_privs" in r.err or "not installed" in r.err, r.err
    assert r.err.count("\n") == 1, r.err


def test_a_run_without_rights_has_its_workspace_in_the_file(home):
    under = unprivileged(home)
    sup = Supervisor(home)
    home.agent_db("a").parent.mkdir(parents=True)
    give_away(home)
    os.chmod(sup.socket, 0o666)
    w = Worker(sup, "exec", {"shell": "id -u; echo x > f; cat f; pwd"},
               workspace_mode="vfs-only", workspace=None, under=under)
    ok(w)
    seen = [b["text"] for _, b in w.events("output")]
    assert seen == [str(os.geteuid() or NOBODY), "x", "/mnt/workspace"], seen


THREADS = r"""
import threading
threading.stack_size(65536)
stop, n = threading.Event(), 0
try:
    while n < 2200:
        threading.Thread(target=stop.wait).start()
        n += 1
except RuntimeError:
    pass
stop.set()
print(n)
"""


def test_a_run_without_rights_and_cgroup_has_so_many_processes(home):
    under = unprivileged(home)
    sup = Supervisor(home)
    home.agent_db("a").parent.mkdir(parents=True)
    give_away(home)
    os.chmod(sup.socket, 0o666)
    w = Worker(sup, "exec", {"command": ["python3", "-c", THREADS]},
               workspace_mode="vfs-only", workspace=None, under=under,
               sandbox={})
    ok(w)
    seen = [b["text"] for _, b in w.events("output")]
    assert 1900 < int(seen[0]) < 2048, seen
