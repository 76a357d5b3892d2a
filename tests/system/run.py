#!/usr/bin/env python3
"""Runs the system tests: real binaries, each test in a home of its own.

  tests/system/run.py [--bin DIR] [-k WORD] [--jobs N] [--more N] [--list]
                      [FILE...]

A test is a function `test_...` in a file `AREA/test_*.py` here; its name is a
sentence about behaviour, and it gets a lib.Home. It fails by any exception,
and is skipped by lib.skip("why"). Each runs in a process of its own, with a
time limit (a function's attribute `seconds`, at least 600), which only ends
what hangs. Nothing that a test started lives on after it.

Tests run beside each other, in any order and under any load. Those that
slow.txt names begin first. Most tests wait, so --more N starts up to N more
than --jobs while processors are idle. None is tried twice: a test that needs a
second try is a defect, of the test or the program.
"""
import argparse
import gc
import importlib.util
import os
import pathlib
import select
import signal
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# tests may use what is in support/, and one another
sys.path[:0] = [str(d) for d in sorted(HERE.iterdir()) if d.is_dir()]
import lib  # noqa: E402

PASSED, FAILED, SKIPPED = 0, 1, 77
LIMIT = 600  # seconds


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [(path.stem[len("test_"):], name, fn)
            for name, fn in vars(module).items()
            if name.startswith("test_") and callable(fn)]


def child(fn, bin_dir, log):
    """In the process of one test: exit status says how it went."""
    os.dup2(log, 1)
    os.dup2(log, 2)
    status = FAILED
    home = lib.Home(bin_dir)
    try:
        fn(home)
        status = PASSED
    except lib.Skip as why:
        print(why, flush=True)
        status = SKIPPED
    except BaseException:  # noqa: B902 - whatever it was, the test failed
        traceback.print_exc()
    finally:
        try:
            home.close()
        except Exception:  # noqa: BLE001
            traceback.print_exc()
            status = FAILED
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


class Running:
    def __init__(self, test, bin_dir):
        self.test = test
        self.area, self.name, fn = test
        self.log = tempfile.TemporaryFile()
        self.began = time.monotonic()
        self.limit = max(getattr(fn, "seconds", 0), LIMIT)
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            child(fn, bin_dir, self.log.fileno())
        self.fd = os.pidfd_open(self.pid)

    def poll(self):
        """None while it runs, else (status, seconds, text)."""
        took = time.monotonic() - self.began
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid == 0 and took > self.limit:
            # a polite word first: the test's clean-up kills what it started
            os.kill(self.pid, signal.SIGINT)
            time.sleep(2)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid == 0:
                os.kill(self.pid, signal.SIGKILL)
                pid, status = os.waitpid(self.pid, 0)
            status = FAILED << 8
        if pid == 0:
            return None
        os.close(self.fd)
        self.log.seek(0)
        text = self.log.read().decode("utf-8", "replace").strip()
        if took > self.limit:
            text += "\ntook longer than %d s" % self.limit
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else FAILED
        return code, took, text


def label(test):
    return "%s: %s" % (test[0], test[1][len("test_"):].replace("_", " "))


def report(word, test, took, text):
    print("%-8s %s (%.2f s)" % (word, label(test), took))
    if text:
        print("    " + text.replace("\n", "\n    "))
    sys.stdout.flush()


class Processors:
    """How idle they are, looked at ten times a second."""

    def __init__(self):
        self.last, self.at = self.read(), time.monotonic()

    @staticmethod
    def read():
        with open("/proc/stat") as f:
            times = [int(n) for n in f.readline().split()[1:9]]
        return times[3] + times[4], sum(times)  # idle and waiting for disks

    def have_room(self):
        """Whether more than an eighth of their time was idle lately; once for
        each look, so that a test which has just begun can be seen."""
        if time.monotonic() - self.at < 0.1:
            return False
        (idle, all_), before = self.read(), self.last
        self.last, self.at = (idle, all_), time.monotonic()
        return (idle - before[0]) * 8 > all_ - before[1]


def wait_for_end(running, seconds):
    """Until one of them has ended, or some seconds have passed."""
    ends = select.poll()
    for r in running:
        ends.register(r.fd, select.POLLIN)
    ends.poll(seconds * 1000)


def run(tests, bin_dir, jobs, more):
    """Yields (test, status, seconds, text) as the tests end."""
    waiting, running, cpu = list(tests), [], Processors()
    while waiting or running:
        while waiting and (len(running) < jobs or (
                len(running) < jobs + more and cpu.have_room())):
            running.append(Running(waiting.pop(0), bin_dir))
        for r in list(running):
            done = r.poll()
            if done:
                running.remove(r)
                status = done[0] if done[0] in (PASSED, SKIPPED) else FAILED
                yield r.test, status, done[1], done[2]
        wait_for_end(running, 0.1 if waiting else 1)


def longest_first(tests):
    """Those in slow.txt by their seconds, then the rest as it is."""
    with open(HERE / "slow.txt") as f:
        rows = [line.split() for line in f if not line.startswith("#")]
    seconds = {(area, name): float(s) for s, area, name in rows}
    return sorted(tests, key=lambda t: -seconds.get(t[:2], 0))


def run_all(tests, bin_dir, jobs, more):
    gc.collect()
    gc.freeze()  # else a collection in a test copies all pages of this process
    counts = {PASSED: 0, FAILED: 0, SKIPPED: 0}
    failed = []
    for test, status, took, text in run(longest_first(tests), bin_dir, jobs,
                                        more):
        counts[status] += 1
        if status == PASSED:
            report("ok", test, took, "")
        elif status == FAILED:
            report("FAILED", test, took, text)
            failed.append((label(test), text.rsplit("\n", 1)[-1].strip()))
        else:
            print("skipped: %s: %s" % (label(test), text), flush=True)
    for name, why in failed:
        print("failed: %s: %.200s" % (name, why))
    print("%d passed, %d failed, %d skipped" %
          (counts[PASSED], counts[FAILED], counts[SKIPPED]))
    return counts[FAILED]


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--bin", default=str(ROOT / "build" / "release"))
    ap.add_argument("-k", metavar="WORD", help="only tests with this in their name")
    ap.add_argument("--jobs", type=int, default=2)
    ap.add_argument("--more", type=int, default=0, metavar="N",
                    help="so many more while processors are idle")
    ap.add_argument("--list", action="store_true")
    ap.add_argument("files", nargs="*", metavar="FILE")
    args = ap.parse_args()
    paths = ([pathlib.Path(f) for f in args.files] or
             sorted(HERE.glob("*/test_*.py")))
    tests = [t for p in paths for t in load(p)
             if not args.k or args.k in t[1] or args.k in t[0]]
    if args.list:
        for area, name, _ in tests:
            print(area, name)
        return 0
    # A shell starts background jobs with both ignored, and so would tests.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    bin_dir = pathlib.Path(args.bin).resolve()
    if not (bin_dir / "skep").exists():
        print("there is no skep in %s: build first" % bin_dir)
        return 1
    return 1 if run_all(tests, bin_dir, args.jobs, args.more) else 0


if __name__ == "__main__":
    sys.exit(main())
