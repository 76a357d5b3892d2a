"""Power failures: what they may leave of the files of a home.

tests/support/record_calls.c records every change and sync that the processes of a
home make. A cut is a place on that tape. What a failure there leaves:

- Data of a file: all writes and truncations before its last fsync or fdatasync.
  Of the later ones any, sector by sector, in any combination; or none, or all.
- Names: creations, renames and removals in a directory before its last fsync. Of
  the later ones a prefix in their order, since file systems with a journal (ext4,
  xfs, btrfs) keep the order. Directories are independent of each other, and fsync
  of a file makes no name durable, though ext4 and xfs would do so for a new file.
- syncfs covers everything.

SQLite syncs the directory of a log with the first sync of each descriptor of it;
that is recorded as it happens and not assumed.
"""
import bisect
import mmap
import os
import pathlib
import random
import shutil
import sqlite3
import struct
import tempfile

import lib

HEADER = struct.Struct("<QQ")      # end, size
RECORD = struct.Struct("<IIQqQ")   # ready, kind, inode, at, n
(CREATE, MKDIR, REMOVE, RENAME, LINK, WRITE, TRUNCATE, SYNC, SYNC_ALL,
 NAMELESS) = range(1, 11)
EXCHANGE = 2
SECTOR = 512


class Tape:
    """Where the processes of a home record what they do."""

    def __init__(self, home, size=1 << 30):
        so = home.bin / "tests" / "record_calls.so"
        if not so.exists():
            lib.skip("no record_calls.so in this build")
        if "asan" in home.run("ldd", home.bin / "skepd").out:
            lib.skip("a sanitizer must be loaded first")
        at = "/dev/shm" if os.path.isdir("/dev/shm") else None
        fd, self.path = tempfile.mkstemp(prefix="skep-tape-", dir=at)
        home.undo.append(lambda: os.unlink(self.path))
        os.ftruncate(fd, size)
        self.map = mmap.mmap(fd, size)
        os.close(fd)
        self.map[:HEADER.size] = HEADER.pack(0, size)
        self.base = list(self._base(home.path))  # durable from the beginning
        home.env.update(RECORD_TAPE=self.path, RECORD_ROOT=str(home.path),
                        LD_PRELOAD=str(so))

    @staticmethod
    def _base(root):
        for path in sorted(root.rglob("*")):
            yield (str(path), path.stat().st_ino,
                   None if path.is_dir() else path.read_bytes())

    def end(self):
        return HEADER.unpack_from(self.map)[0]

    def records(self):
        """(place, kind, inode, at, bytes) of all."""
        at, end = 0, self.end()
        while at < end:
            ready, kind, inode, where, n = RECORD.unpack_from(
                self.map, HEADER.size + at)
            assert ready == 1, "a record that was not finished at %d" % at
            begin = HEADER.size + at + RECORD.size
            yield at, kind, inode, where, self.map[begin:begin + n]
            at += RECORD.size + (n + 7) // 8 * 8


class Node:
    """A file or directory with what was done to it."""

    def __init__(self, is_dir=False):
        self.is_dir = is_dir
        self.at, self.ops = [], []  # places, and what happened there
        self.synced = []            # (place of the sync, what it covers)
        self.names = {}             # of a directory, at the end of the tape
        self.base = {}              # and at the beginning
        self.image, self.applied = bytearray(), 0

    def add(self, place, *op):
        self.at.append(place)
        self.ops.append(op)

    def sure(self, cut):
        """How many operations are on the disk, and how many were made."""
        covers = max((c for place, c in self.synced if place < cut), default=0)
        return bisect.bisect_left(self.at, covers), bisect.bisect_left(self.at, cut)


class History:
    def __init__(self, tape, root):
        self.root, self.top = Node(True), str(root)
        self.inodes = {os.stat(root).st_ino: self.root}
        self.nodes = [self.root]
        self.places = []
        for path, inode, data in tape.base:
            node = self._new(inode, data is None)
            node.image = bytearray(data or b"")
            parent, name = self._find(path)
            parent.base[name] = parent.names[name] = node
        for place, kind, inode, at, data in tape.records():
            self.places.append(place)
            self._play(place, kind, inode, at, data)

    def _new(self, inode, is_dir=False):
        self.inodes[inode] = node = Node(is_dir)
        self.nodes.append(node)
        return node

    def _find(self, path):
        """The directory and the name in it."""
        words = os.path.relpath(path, self.top).split("/")
        node = self.root
        for word in words[:-1]:
            node = node.names[word]
        return node, words[-1]

    def _set(self, place, path, node):
        parent, name = self._find(path)
        old = parent.names.pop(name, None)
        if node:
            parent.names[name] = node
        parent.add(place, name, node)
        return old

    def _play(self, place, kind, inode, at, data):
        names = data.decode().split("\0")[:-1] if kind <= LINK else None
        if kind == CREATE or kind == MKDIR:
            parent, name = self._find(names[0])
            known = parent.names.get(name)
            if not known or known is not self.inodes.get(inode):
                self._set(place, names[0], self._new(inode, kind == MKDIR))
        elif kind == NAMELESS:
            self._new(inode)
        elif kind == LINK:
            self._set(place, names[0], self.inodes[inode])
        elif kind == REMOVE:
            self._set(place, names[0], None)
        elif kind == RENAME:
            node = self._set(place, names[0], None)
            old = self._set(place, names[1], node)
            if inode == EXCHANGE:
                self._set(place, names[0], old)
        elif kind == SYNC_ALL:
            for node in self.nodes:
                node.synced.append((place, at))
        elif inode in self.inodes:
            node = self.inodes[inode]
            if kind == SYNC:
                node.synced.append((place, at))
            else:
                node.add(place, at, data if kind == WRITE else None)

    # -- a cut

    def leave(self, path, cut, chance):
        """Makes what a failure at `cut` leaves below `path`. chance None: all of
        it. Cuts must not decrease."""
        self._leave_dir(pathlib.Path(path), self.root, cut, chance, set())

    @staticmethod
    def _names(node, cut, chance):
        sure, made = node.sure(cut)
        if chance:
            made = chance.choice((sure, made, chance.randint(sure, made)))
            # a rename has two operations at one place
            while sure < made < len(node.at) and node.at[made] == node.at[made - 1]:
                made += 1
        names = dict(node.base)
        for name, target in node.ops[:made]:
            names.pop(name, None)
            if target:
                names[name] = target
        return names

    def _leave_dir(self, path, node, cut, chance, seen):
        path.mkdir(mode=0o700, exist_ok=True)
        seen.add(id(node))
        for name, target in self._names(node, cut, chance).items():
            if target.is_dir and id(target) not in seen:
                self._leave_dir(path / name, target, cut, chance, seen)
            elif not target.is_dir:
                with open(path / name, "wb") as f:
                    f.write(self._data(target, cut, chance))

    @staticmethod
    def _data(node, cut, chance):
        sure, made = node.sure(cut)
        for at, data in node.ops[node.applied:sure]:
            change(node.image, at, data)
        node.applied = max(node.applied, sure)
        image = bytearray(node.image)
        part = chance.choice((0, 0.5, 1)) if chance else 1
        for at, data in node.ops[sure:made]:
            tear(image, at, data, part, chance)
        return image


def change(image, at, data):
    if data is None:  # a truncation
        del image[at:]
        image.extend(bytes(at - len(image)))
        return
    if len(image) < at:
        image.extend(bytes(at - len(image)))
    image[at:at + len(data)] = data


def tear(image, at, data, part, chance):
    if part == 1:
        change(image, at, data)
    elif part == 0:
        return
    elif data is None:
        if chance.random() < part:
            change(image, at, None)
    else:
        end = at + len(data)
        while at < end:
            stop = min((at // SECTOR + 1) * SECTOR, end)
            if chance.random() < part:
                change(image, at, data[len(data) - (end - at):
                                       len(data) - (end - stop)])
            at = stop


class Ledger:
    """What was acknowledged, and when."""

    def __init__(self, tape, root):
        self.tape, self.root = tape, pathlib.Path(root)
        self.facts = []  # (place, file, SQL, parameters, row)

    def add(self, path, sql, *params, row=(1,)):
        """True from now on."""
        self.facts.append((self.tape.end(), str(
            pathlib.Path(path).relative_to(self.root)), sql, params, row))

    def check(self, at, cut):
        """Every database below `at` is whole and has what was acknowledged
        before the cut; stock SQLite reads it."""
        due = {}
        for place, name, *fact in self.facts:
            if place <= cut:
                due.setdefault(name, []).append(fact)
        for name in due:
            assert (at / name).exists(), "cut at %d: %s is lost" % (cut, name)
        for path in at.rglob("*.sqlite"):
            self._check_file(path, due.get(str(path.relative_to(at)), ()), cut)

    @staticmethod
    def _check_file(path, facts, cut):
        db = sqlite3.connect(path)
        try:
            got = db.execute("PRAGMA integrity_check").fetchall()
            assert got == [("ok",)], "cut at %d: %s: %s" % (cut, path, got)
            for sql, params, row in facts:
                got = db.execute(sql, params).fetchone()
                assert got == row, "cut at %d: %s: lost: %s %s: %s" % (
                    cut, path, sql, params, got)
        except sqlite3.Error as e:
            raise AssertionError("cut at %d: %s: %s" % (cut, path, e)) from e
        finally:
            db.close()


def scratch():
    at = "/dev/shm" if os.path.isdir("/dev/shm") else None
    return pathlib.Path(tempfile.mkdtemp(prefix="skep-cut-", dir=at))


def check_complete(tape, root, ledger):
    """The tape has everything: without a failure it gives the same files. All
    facts are true in them."""
    at = scratch()
    try:
        History(tape, root).leave(at, tape.end(), None)
        for path in pathlib.Path(root).rglob("*.sqlite*"):
            if not path.name.endswith("-shm"):
                same = at / path.relative_to(root)
                assert same.exists() and same.read_bytes() == path.read_bytes(), \
                    "%s was not recorded" % path
        ledger.check(at, tape.end())
    finally:
        shutil.rmtree(at)


def check_cuts(tape, root, ledger, count, seed):
    """`count` cuts all over the tape; how many of them."""
    history, rng = History(tape, root), random.Random(seed)
    acks = [place for place, *_ in ledger.facts]  # where a loss shows best
    cuts = sorted(rng.choices(history.places, k=count - count // 2) +
                  rng.choices(acks, k=count // 2))
    for i, cut in enumerate(cuts):
        at = scratch()
        try:
            history.leave(at, cut, random.Random(seed * 1000 + i))
            ledger.check(at, cut)
        finally:
            shutil.rmtree(at)
    return len(cuts)
