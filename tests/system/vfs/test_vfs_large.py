"""A file that is larger than any memory a mount may take.

SKEP_TEST_BIG=1 takes one of 4 GiB."""
import os
import sqlite3
import struct

import lib
from vfs_lib import agent, mount, mounted

BIG = bool(os.environ.get("SKEP_TEST_BIG"))
MIB = 1 << 20
SIZE = (4096 if BIG else 512) * MIB
MOST_KB = 64 << 10


def peak_kb(pid):
    """The most memory that it ever had, whatever for."""
    with open("/proc/%d/status" % pid) as f:
        for line in f:
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    raise AssertionError("no VmHWM")


def blocks(noise):
    """Mebibytes of which no two are equal and that cannot be compressed."""
    for i in range(SIZE // MIB):
        yield (i.to_bytes(8, "little") + noise[i * 61 % 997:])[:MIB]


def test_a_mount_stays_small_while_a_large_file_goes_through(home):
    at, p = mount(agent(home))
    noise = os.urandom(MIB + 1000)
    with open(at / "large", "wb") as f:
        for piece in blocks(noise):
            f.write(piece)
        f.flush()
        os.fsync(f.fileno())
        # what is read comes from the mount, not from the page cache
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    wrote_kb = peak_kb(p.pid)
    with open(at / "large", "rb") as f:
        for piece in blocks(noise):
            assert f.read(MIB) == piece
        assert f.read(1) == b""
    kb = peak_kb(p.pid)
    print("%d MiB: %d kB after writing, %d kB after reading" %
          (SIZE // MIB, wrote_kb, kb))
    assert kb < MOST_KB, "%d kB" % kb
    os.unlink(at / "large")
    home.skep("vfs", "umount", at)
    assert p.wait(lib.HANG) == 0 and not mounted(at)
    assert "no faults" in home.skep("vfs", "fsck", "a").out


test_a_mount_stays_small_while_a_large_file_goes_through.seconds = (
    1800 if BIG else 300)


def frames(shm):
    """How many frames the log has, and how many of them are in the file, as
    SQLite's index of the log says."""
    index = os.pread(shm.fileno(), 100, 0)
    return struct.unpack_from("=I", index, 16) + struct.unpack_from(
        "=I", index, 96)


def test_a_quiet_mount_copies_all_of_a_long_log(home):
    """Readers map the file, but not the log: one frame that is not copied makes
    them read all of the log."""
    at, p = mount(agent(home))
    path = home.path / "agents" / "a" / "agent.sqlite"
    reader = sqlite3.connect("file:%s?mode=ro" % path, uri=True,
                             isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM vfs_inode").fetchone()
    # closing it while the reader is open would release the reader's lock
    shm = open(str(path) + "-shm", "rb")
    (at / "large").write_bytes(os.urandom(8 * MIB))
    os.sync()
    lib.eventually(lambda: frames(shm)[0] > 2000, what="a long log")
    lib.eventually(lambda: frames(shm)[1] > 0, what="a checkpoint")
    log, copied = frames(shm)
    assert copied < log, "the reader did not keep it from being copied"
    reader.close()
    (at / "small").write_text("x")
    os.sync()
    lib.eventually(lambda: len(set(frames(shm))) == 1,
                   what="the rest of the log in the file")
    assert frames(shm)[0] > 2000
    shm.close()
    home.skep("vfs", "umount", at)
    assert p.wait(lib.HANG) == 0
