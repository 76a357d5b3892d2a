"""What programs expect of a filesystem, on a mount as on the host's."""
import ctypes
import errno
import hashlib
import os
import random
import struct
import subprocess
import time

from lib import HANG, eventually, skip
from vfs_lib import agent, mount

libc = ctypes.CDLL(None, use_errno=True)
PUNCH, KEEP, ZERO = 2, 1, 16


def fails(code, f, *args):
    try:
        f(*args)
    except OSError as e:
        assert e.errno in code, e
        return
    raise AssertionError("it did not fail")


def over_quota(at, name, chunk):
    """Writes until it fails; whatever succeeded is there, and no more."""
    wrote = 0
    fd = os.open(at / name, os.O_CREAT | os.O_WRONLY, 0o600)
    try:
        for _ in range(1000):
            wrote += os.write(fd, b"x" * chunk)
        raise AssertionError("the quota did not hold")
    except OSError as e:
        assert e.errno in (errno.EDQUOT, errno.ENOSPC), e
    assert os.fstat(fd).st_size == wrote, (os.fstat(fd).st_size, wrote)
    os.close(fd)
    assert os.stat(at / name).st_size == wrote
    assert (at / name).read_bytes() == b"x" * wrote
    return wrote


def test_a_write_over_the_quota_fails_at_once_and_changes_no_size(home):
    agent(home)
    home.skep("namespace", "create", "a:main")
    home.skep("vfs", "quota", "a", "--bytes", "300k")
    at, p = mount(home)
    assert 200 << 10 <= over_quota(at, "a", 10000) <= 300 << 10
    over_quota(at, "b", 100)
    os.unlink(at / "a")
    fails((errno.EDQUOT, errno.ENOSPC), os.truncate, at / "b", 1 << 20)
    subprocess.run(["sh", "-c", "head -c 200000 /dev/zero > c"], cwd=at,
                   check=True)
    r = subprocess.run(["cp", "c", "d"], cwd=at, stderr=subprocess.PIPE)
    assert r.returncode == 1 and (b"quota" in r.stderr or
                                  b"No space" in r.stderr), r.stderr
    assert os.stat(at / "d").st_size < 200000
    home.skep("vfs", "umount", at)
    assert p.wait(HANG) == 0
    rows = {r["path"]: r["size"] for r in
            home.skep("vfs", "ls", "a", "--json").lines}
    assert rows["c"] == 200000 and rows["d"] < 200000, rows


def test_a_quota_that_comes_late_is_reported_as_full(home):
    agent(home)
    at, _ = mount(home)
    (at / "f").write_bytes(b"y" * 1000)
    with open(at / "g", "wb") as f:
        f.write(b"z" * 50000)
        f.flush()
        home.skep("vfs", "quota", "a", "--bytes", "100k")
        f.write(b"z" * 250000)  # the next flush has to obey it
        fails((errno.EDQUOT, errno.ENOSPC), lambda: (f.flush(), os.fsync(f)))
    fails((errno.EDQUOT, errno.ENOSPC), (at / "f").write_bytes, b"x" * 300000)
    for name in "fg":  # the kernel believed in more
        eventually(lambda: os.stat(at / name).st_size <= 100 << 10,
                   what="the size of " + name)
        read = (at / name).read_bytes()
        assert len(read) == os.stat(at / name).st_size
    used = home.skep("vfs", "quota", "a", "--json").json
    assert used["bytes"] <= 100 << 10, used
    os.unlink(at / "f")
    os.unlink(at / "g")
    (at / "f").write_bytes(b"x" * 90000)
    home.skep("vfs", "quota", "a", "--bytes", "1m")
    (at / "g").write_bytes(b"x" * 300000)
    assert os.stat(at / "g").st_size == 300000


def seek(fd, off, whence):
    try:
        return os.lseek(fd, off, whence)
    except OSError as e:
        return -e.errno


def extents(path):
    """Where data is, as the file tells."""
    found, at = [], 0
    fd = os.open(path, os.O_RDONLY)
    while True:
        data = seek(fd, at, os.SEEK_DATA)
        if data == -errno.ENXIO:
            break
        at = seek(fd, data, os.SEEK_HOLE)
        assert data >= 0 and at > data, (data, at)
        found.append((data, at))
    os.close(fd)
    return found


def test_holes_are_found_and_take_no_room(home):
    agent(home)
    at, _ = mount(home)
    K = 65536
    fd = os.open(at / "f", os.O_CREAT | os.O_RDWR, 0o600)
    os.pwrite(fd, b"a" * 10, 3 * K)
    os.pwrite(fd, b"b" * K, 40 * K)
    os.ftruncate(fd, 100 * K)
    assert seek(fd, 0, os.SEEK_DATA) == 3 * K  # not written back yet
    assert extents(at / "f") == [(3 * K, 4 * K), (40 * K, 41 * K)]
    assert seek(fd, 0, os.SEEK_HOLE) == 0
    assert seek(fd, 100 * K, os.SEEK_DATA) == -errno.ENXIO
    assert seek(fd, 99 * K, os.SEEK_HOLE) == 99 * K
    os.fsync(fd)
    assert os.fstat(fd).st_blocks == 2 * K // 512, os.fstat(fd).st_blocks
    assert libc.fallocate(fd, PUNCH | KEEP, ctypes.c_long(40 * K),
                          ctypes.c_long(K)) == 0
    assert extents(at / "f") == [(3 * K, 4 * K)]
    assert os.fstat(fd).st_blocks == K // 512
    assert os.pread(fd, K, 40 * K) == b"\0" * K
    os.close(fd)
    (at / "small").write_bytes(b"x")
    assert os.stat(at / "small").st_blocks == 1
    (at / "large").write_bytes(b"x" * 1000000)
    assert os.stat(at / "large").st_blocks >= 1000000 // 512
    subprocess.run(["cp", "--sparse=auto", at / "f", at / "g"], check=True)
    assert (at / "f").read_bytes() == (at / "g").read_bytes()


def fallocate(fd, mode, off, n):
    if libc.fallocate(fd, mode, ctypes.c_long(off), ctypes.c_long(n)):
        return -ctypes.get_errno()
    return 0


def operate(rng, fds, others):
    """One random operation on both files; what they answer."""
    what, off = rng.randrange(9), rng.randrange(400000)
    n = rng.choice((1, 1000, 65536, rng.randrange(1, 200000)))
    if rng.random() < 0.4:
        off &= ~65535
    data = bytes([rng.randrange(256)]) * n
    if what == 0:
        return [os.pwrite(fd, data, off) for fd in fds]
    if what == 1:
        return [os.ftruncate(fd, off) for fd in fds]
    if what == 2:
        return [fallocate(fd, PUNCH | KEEP, off, n) for fd in fds]
    if what == 3:
        return [fallocate(fd, rng.choice((0, 0)), off, n) for fd in fds]
    if what == 4:
        return [fallocate(fd, KEEP, off, n) for fd in fds]
    if what == 5:
        to = rng.randrange(400000) & (~65535 if rng.random() < 0.5 else ~0)
        done = []
        for fd, other in zip(fds, others):
            left, total = n, 0
            while left:
                got = os.copy_file_range(fd, other, left, off + total,
                                         to + total)
                total, left = total + got, left - got
                if not got:
                    break
            done.append(total)
        return done
    if what == 6:
        return [os.pread(fd, n, off) for fd in fds]
    if what == 7:
        return [os.fsync(fd) for fd in fds]
    return [os.fstat(fd).st_size for fd in fds]


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def holes_are_zeros(path):
    content = path.read_bytes()
    known = bytearray(len(content))
    for a, b in extents(path):
        known[a:b] = content[a:b]
    assert bytes(known) == content, "data was taken for a hole"


def test_random_operations_are_as_on_the_host(home):
    agent(home)
    at, _ = mount(home)
    host = home.dir / "host"
    host.mkdir()
    rng = random.Random(6)
    flags = os.O_CREAT | os.O_RDWR
    fds = [os.open(d / "f", flags) for d in (at, host)]
    others = [os.open(d / "g", flags) for d in (at, host)]
    for i in range(600):
        if rng.random() < 0.3:
            fds, others = others, fds
        a, b = operate(rng, fds, others)
        assert a == b, i
    for name in ("f", "g"):
        assert digest(at / name) == digest(host / name), name
        holes_are_zeros(at / name)
    assert "no faults" in home.skep("vfs", "fsck", "a", "--deep").out


def test_copies_within_a_mount_are_by_reference(home):
    agent(home)
    at, p = mount(home)
    (at / "f").write_bytes(os.urandom(20 << 20))
    fd, to = os.open(at / "f", os.O_RDONLY), os.open(
        at / "g", os.O_CREAT | os.O_RDWR)
    os.fsync(fd)

    def stored():
        return home.query(home.agent_db("a"), "SELECT sum(length(data)) "
                          "FROM vfs_blob")[0][0]
    before, done = stored(), 0
    while done < 20 << 20:
        done += os.copy_file_range(fd, to, (20 << 20) - done)
    os.fsync(to)
    assert stored() == before
    assert digest(at / "f") == digest(at / "g")
    os.pwrite(to, b"changed", 100)
    assert digest(at / "f") != digest(at / "g")
    os.close(fd)
    os.close(to)
    home.skep("vfs", "umount", at)
    assert p.wait(HANG) == 0
    assert "no faults" in home.skep("vfs", "fsck", "a", "--deep").out


def test_a_file_without_a_name_can_be_given_one(home):
    agent(home)
    at, p = mount(home)
    (at / "d").mkdir()
    for name in (None, "d/named"):
        fd = os.open(at / "d", os.O_TMPFILE | os.O_RDWR, 0o640)
        os.write(fd, b"hidden")
        assert os.fstat(fd).st_nlink == 0 and os.listdir(at / "d") == []
        assert os.pread(fd, 10, 0) == b"hidden"
        if name:
            assert libc.linkat(-100, b"/proc/self/fd/%d" % fd, -100,
                               os.fsencode(at / name), 0x400) == 0
            assert os.fstat(fd).st_nlink == 1
        os.close(fd)
    assert (at / "d/named").read_bytes() == b"hidden"
    assert os.stat(at / "d/named").st_mode & 0o777 == 0o640
    # the kernel still knows the node, so the server holds it
    assert "no faults" in home.skep("vfs", "fsck", "a", "--deep").out
    home.skep("vfs", "umount", at)
    assert p.wait(HANG) == 0
    assert home.skep("vfs", "cat", "a", "d/named").out == "hidden"
    assert "no faults" in home.skep("vfs", "fsck", "a", "--deep").out
    assert home.query(home.agent_db("a"), "SELECT count(*) FROM vfs_inode") == \
        [(3,)]


def btime(path):
    room = ctypes.create_string_buffer(256)
    assert libc.statx(-100, os.fsencode(path), 0, 0xfff, room) == 0
    mask, = struct.unpack_from("=I", room, 0)
    sec, nsec = struct.unpack_from("=qI", room, 80)
    return sec * 10 ** 9 + nsec if mask & 0x800 else None


def test_the_time_of_birth_stays(home):
    agent(home)
    at, _ = mount(home)
    (at / "f").write_text("1")
    born = btime(at / "f")
    assert born and abs(born - time.time_ns()) < 600 * 10 ** 9, born
    os.utime(at / "f", ns=(1, 1))
    (at / "f").write_text("22")
    os.rename(at / "f", at / "g")
    assert btime(at / "g") == born
    assert os.stat(at / "g").st_size == 2


def read_uncached(path):
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.read(fd, 10)
    os.close(fd)


def test_the_time_of_access_follows_relatime(home):
    agent(home)
    at, p = mount(home)
    f = at / "f"
    f.write_text("x")
    long_ago = 10 ** 18
    os.utime(f, ns=(long_ago, long_ago))
    before = os.stat(f)
    assert before.st_atime_ns == long_ago
    read_uncached(f)  # older than the last change
    first = os.stat(f)
    assert first.st_atime_ns > long_ago
    assert (first.st_mtime_ns, first.st_ctime_ns) == \
        (before.st_mtime_ns, before.st_ctime_ns)
    read_uncached(f)  # recent
    assert os.stat(f).st_atime_ns == first.st_atime_ns
    f.write_text("changed")
    assert os.stat(f).st_atime_ns == first.st_atime_ns
    read_uncached(f)
    last = os.stat(f).st_atime_ns
    assert last > first.st_atime_ns
    home.skep("vfs", "umount", at)
    assert p.wait(HANG) == 0
    at, _ = mount(home)
    assert os.stat(f).st_atime_ns == last


def set_attribute(path, name):
    try:
        os.setxattr(path, name, b"x")
        return 0
    except OSError as e:
        return e.errno


def test_what_is_not_supported_says_so(home):
    agent(home)
    at, _ = mount(home)
    fd = os.open(at / "f", os.O_CREAT | os.O_RDWR)
    os.write(fd, b"x" * 200000)
    for mode in (8, 32):  # collapse, insert
        assert fallocate(fd, mode, 65536, 65536) == -errno.EOPNOTSUPP
    host = home.dir / "host"
    host.write_text("")
    for name in ("bad", ".", "user", "user.", "USER.a", "trusted.", "system.foo",
                 "security.", "user.ok", "trusted.ok", "security.ok"):
        seen = [set_attribute(f, name) for f in (at / "f", host)]
        assert seen[0] == seen[1] or seen[1] == errno.EPERM, (name, seen)
    os.close(fd)


def acl(*entries):
    """The bytes of an ACL: (tag, permissions, id) each."""
    return struct.pack("<I", 2) + b"".join(
        struct.pack("<HHI", *entry) for entry in entries)


def permissions(d):
    """Of all files, the ACL included."""
    found = {}
    for name in sorted(os.listdir(d)):
        found[name] = (oct(os.stat(d / name).st_mode), {
            n: os.getxattr(d / name, n) for n in os.listxattr(d / name)})
    return found


def copy_and_share(d):
    """Copies with the mode, and sets ACLs and modes in turn."""
    anyone = 0xffffffff
    for name, mode in ("a", 0o644), ("b", 0o750):
        (d / name).write_text(name)
        os.chmod(d / name, mode)
        subprocess.run(["cp", "-p", name, name + ".copy"], cwd=d, check=True)
    shared = acl((1, 6, anyone), (2, 7, 1234), (4, 5, anyone),
                 (16, 7, anyone), (32, 0, anyone))
    for name in "c", "d", "e":
        (d / name).write_text(name)
        os.setxattr(d / name, "system.posix_acl_access", shared)
    os.chmod(d / "d", 0o604)
    os.setxattr(d / "e", "system.posix_acl_access",
                acl((1, 7, anyone), (4, 1, anyone), (32, 4, anyone)))
    subprocess.run(["cp", "-p", "d", "d.copy"], cwd=d, check=True)


def test_acls_and_modes_are_as_on_the_host(home):
    agent(home)
    at, _ = mount(home)
    host = home.dir / "host"
    host.mkdir()
    try:
        copy_and_share(host)
    except OSError:
        skip("the host has no ACLs")
    copy_and_share(at)
    assert permissions(at) == permissions(host)


def is_readable_by_others(at, path):
    """Whether another user may read it. The fd leads past the test's home."""
    at = os.open(at, os.O_RDONLY)
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            os.close(os.open(path, os.O_RDONLY, dir_fd=at))
            os._exit(0)
        finally:
            os._exit(1)
    os.close(at)
    return os.waitpid(pid, 0)[1] == 0


def test_an_acl_counts_at_once(home):
    """The kernel has the mode in its cache."""
    if os.geteuid() != 0:
        skip("needs another user")
    agent(home)
    at, _ = mount(home)
    anyone = 0xffffffff
    os.chmod(at, 0o755)
    (at / "d").mkdir(mode=0o755)
    (at / "d/f").write_text("x")
    assert is_readable_by_others(at, "d/f")
    os.setxattr(at / "d", "system.posix_acl_access",
                acl((1, 7, anyone), (4, 0, anyone), (32, 0, anyone)))
    assert not is_readable_by_others(at, "d/f")
