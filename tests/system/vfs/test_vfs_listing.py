"""Directory listings on a mount: every name once, whatever happens meanwhile."""
import ctypes
import os
import random
import struct

from vfs_lib import agent, mount

libc = ctypes.CDLL(None, use_errno=True)
SYS_getdents64 = 217 if os.uname().machine == "x86_64" else 61


class Listing:
    """An open directory that is read in small steps: (name, offset) each."""

    def __init__(self, path):
        self.fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        self.room = ctypes.create_string_buffer(1024)

    def step(self):
        n = libc.syscall(SYS_getdents64, self.fd, self.room, len(self.room))
        assert n >= 0, os.strerror(ctypes.get_errno())
        raw, at, found = self.room.raw[:n], 0, []
        while at < n:
            _, off, size, _ = struct.unpack_from("=QqHB", raw, at)
            name = os.fsdecode(raw[at + 19:at + size].split(b"\0", 1)[0])
            found.append((name, off))
            at += size
        return found

    def rest(self):
        names = []
        while True:
            some = self.step()
            if not some:
                return names
            names += [name for name, _ in some]

    def seek(self, off):
        os.lseek(self.fd, off, os.SEEK_SET)

    def forget(self):
        """The kernel drops the pages of the listing that it has cached."""
        os.posix_fadvise(self.fd, 0, 0, os.POSIX_FADV_DONTNEED)

    def close(self):
        os.close(self.fd)


def files(where, count):
    where.mkdir()
    names = ["file-%05d" % i for i in range(count)]
    for name in names:
        (where / name).touch()
    return [".", ".."] + names


def whole(at):
    listing = Listing(at)
    names = listing.rest()
    listing.close()
    return names


def once(found, expected):
    assert len(found) == len(set(found)), "a name was listed twice"
    assert sorted(found) == sorted(expected), (len(found), len(expected))


def lose_the_cache_midway(at, names):
    once(whole(at), names)  # cached now
    listing = Listing(at)
    found = [name for name, _ in listing.step()]
    for i in range(5):
        listing.forget()
        found += [name for name, _ in listing.step()]
    once(found + listing.rest(), names)
    listing.close()


def test_a_listing_goes_on_after_the_kernel_dropped_its_cache(home):
    agent(home)
    names = files(home.dir / "src", 1500)
    home.skep("vfs", "import", "a", home.dir / "src", "d")
    at, _ = mount(home)
    lose_the_cache_midway(at / "d", names)


def test_a_merged_directory_is_listed_the_same_way(home):
    agent(home)
    names = files(home.dir / "base", 1200)
    home.skep("namespace", "create", "a:w", "--lower", home.dir / "base")
    at, _ = mount(home, "a:w")
    for i in range(0, 1200, 3):
        os.unlink(at / ("file-%05d" % i))
        names.remove("file-%05d" % i)
    for i in range(300):
        (at / ("new-%d" % i)).touch()
        names.append("new-%d" % i)
    lose_the_cache_midway(at, names)


def test_the_listing_of_a_snapshot_goes_on_too(home):
    agent(home)
    names = files(home.dir / "src", 800)
    home.skep("vfs", "import", "a", home.dir / "src", "d")
    home.skep("snapshot", "create", "a", "s")
    home.skep("vfs", "rm", "a", "d", "--recursive")
    at, _ = mount(home, "a:main@s")
    lose_the_cache_midway(at / "d", names)


def test_a_listing_goes_on_while_another_process_writes(home):
    agent(home)
    names = files(home.dir / "src", 1500)
    home.skep("vfs", "import", "a", home.dir / "src", "d")
    at, _ = mount(home)
    once(whole(at / "d"), names)
    listing = Listing(at / "d")
    found = [name for name, _ in listing.step()]
    for i in range(8):
        home.skep("vfs", "put", "a", "d/other-%d" % i, input="x")
        found += [name for name, _ in listing.step()]
        os.stat(at / "d" / ("other-%d" % i))
    found = [n for n in found + listing.rest() if not n.startswith("other")]
    once(found, names)
    listing.close()


def test_a_tree_is_removed_while_the_cache_is_dropped(home):
    agent(home)
    files(home.dir / "src", 1500)
    home.skep("vfs", "import", "a", home.dir / "src", "d")
    at, _ = mount(home)
    whole(at / "d")
    listing = Listing(at / "d")
    left = True
    while left:
        left = [n for n, _ in listing.step()]
        listing.forget()
        for name in left:
            if name not in (".", ".."):
                os.unlink(at / "d" / name)
    listing.close()
    os.rmdir(at / "d")


class Reader:
    """A pass over a directory: what must be listed exactly once is what was
    there all the time."""

    def __init__(self, at, present):
        self.listing = Listing(at)
        self.begin(present)

    def begin(self, present):
        self.listing.seek(0)
        self.steady = set(present)
        self.gone = set()
        self.seen = {}
        self.offsets = [0]

    def step(self, present):
        some = self.listing.step()
        for name, off in some:
            self.seen[name] = self.seen.get(name, 0) + 1
            self.offsets.append(off)
        if some:
            return
        for name in self.steady:
            assert self.seen.get(name) == 1, (name, self.seen.get(name))
        for name, times in self.seen.items():
            assert times == 1 or name in self.gone, (name, times)
        self.begin(present)


def change_something(rng, at, present, readers):
    if rng.random() < 0.5 or len(present) < 200:
        name = "n%d" % rng.randrange(10 ** 6)
        (at / name).touch()
        present.add(name)
    elif rng.random() < 0.5:
        name = rng.choice(sorted(present))
        os.unlink(at / name)
        present.discard(name)
    else:
        old = rng.choice(sorted(present))
        name = "r%d" % rng.randrange(10 ** 6)
        os.rename(at / old, at / name)
        present.discard(old)
        present.add(name)
        for r in readers:
            r.steady.discard(old)
            r.gone.add(old)
    for r in readers:
        r.steady &= present
        r.gone.add(name)


def random_walk(rng, at, steps):
    present = {"file-%05d" % i for i in range(300)}
    readers = [Reader(at, present) for _ in range(4)]
    for _ in range(steps):
        r = rng.choice(readers)
        what = rng.random()
        if what < 0.25:
            change_something(rng, at, present, readers)
        elif what < 0.45:
            r.listing.forget()
        elif what < 0.5:  # the same offset in a handle of its own
            other = Listing(at)
            other.seek(r.offsets[-1])
            r.listing.close()
            r.listing = other
        else:
            r.step(present)
    for r in readers:
        r.listing.close()
    assert set(os.listdir(at)) == present


def test_random_changes_lose_and_repeat_no_other_name(home):
    agent(home)
    files(home.dir / "src", 300)
    home.skep("vfs", "import", "a", home.dir / "src", "d")
    at, _ = mount(home)
    random_walk(random.Random(14), at / "d", 1500)


def test_hard_links_of_one_file_are_all_listed(home):
    agent(home)
    at, _ = mount(home)
    (at / "d").mkdir()
    (at / "d" / "0").write_text("x")
    for i in range(1, 1500):
        os.link(at / "d" / "0", at / "d" / str(i))
    lose_the_cache_midway(at / "d", [".", ".."] + [str(i) for i in range(1500)])
