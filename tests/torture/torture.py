#!/usr/bin/env python3
"""Kills every kind of process while clients of every kind write, and compares
what was acknowledged with what the files hold.

  tests/torture/torture.py [--bin DIR] [--minutes N] [--seed N] [--keep]

A run has rounds. In each, clients work for some seconds while workers, the
spawner, skepd, mounts, plugin shims and commands are killed with SIGKILL at random moments. At the
end of a round everything is stopped, in order or by SIGKILL of all processes
at once; then stock sqlite3 checks a copy of every database, as after a crash
of all processes, and each client compares its ledger. The same seed gives the
same choices, though not the same interleaving.
"""
import argparse
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT / "tests" / "system" / "support")]
import clients  # noqa: E402
import lib  # noqa: E402
from skepd_lib import Host, Refused  # noqa: E402

CONFIG = {"run": {"heartbeat": "300ms", "start_timeout": "2000ms", "grace": "300ms",
                  "backoff": "20ms", "max": 16, "per_agent": 8}}
ROUND = 12  # seconds
CALLERS = 6


class Torture:
    def __init__(self, home, seed):
        self.home, self.seed = home, seed
        self.host = Host(home, CONFIG)
        self.host.timeout = 20
        self.rng = random.Random(seed)
        self.lock = threading.Lock()
        self.starting = threading.Lock()
        self.commands = set()
        self.kills = {}
        self.refusals = {}
        self.findings = []
        self.stop = threading.Event()
        self.clients = [c(self, seed) for c in clients.ALL]

    # -- what clients use

    def command(self, args, input):
        """Runs skep; its standard output, or None if it failed."""
        if isinstance(input, str):
            input = input.encode()
        with open(self.home.dir / "commands.log", "ab") as log:
            p = subprocess.Popen([str(self.home.bin / "skep"), *args],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=log, env=self.home.env,
                                 cwd=self.home.dir)
        with self.lock:
            self.commands.add(p)
        try:
            out = p.communicate(input if input is not None else b"",
                                timeout=90)[0]
        except subprocess.TimeoutExpired:
            self.findings.append("hangs: skep %s" % " ".join(args))
            p.kill()
            p.communicate()
            return None
        finally:
            with self.lock:
                self.commands.discard(p)
        return out if p.returncode == 0 else None

    def note_refusal(self, method, path, why):
        key = "%s %s: %d" % (method, path.split("/")[2].split("?")[0],
                             why.status)
        with self.lock:
            self.refusals[key] = self.refusals.get(key, 0) + 1
        if why.status == 500:
            self.findings.append("internal error: %s %s: %s" %
                                 (method, path, why))

    # -- processes

    def count(self, what):
        self.kills[what] = self.kills.get(what, 0) + 1

    def ours(self, name):
        """Processes of the home with this name."""
        for pid in self.home._survivors():
            try:
                if pathlib.Path("/proc/%d/comm" % pid).read_text().strip() == \
                        name[:15]:
                    yield pid
            except OSError:
                pass

    def kill_one(self, name):
        pids = list(self.ours(name))
        if pids:
            try:
                os.kill(self.rng.choice(pids), signal.SIGKILL)
                self.count(name)
            except ProcessLookupError:
                pass

    def kill_command(self):
        with self.lock:
            running = list(self.commands)
        if running:
            self.rng.choice(running).kill()
            self.count("skep")

    def kill_mount(self):
        for client in self.clients:
            process = getattr(client, "process", None)
            if process and process.poll() is None:
                process.kill()
                self.count("skep vfs mount")

    def kill_skepd(self):
        self.host.kill()
        self.count("skepd")
        time.sleep(self.rng.random() * 0.3)
        self.start()

    def start(self):
        for _ in range(20):
            self.host.start(wait=False)
            try:
                lib.eventually(lambda: self.host.answers(2), 60, "skepd")
                return
            except AssertionError as why:
                self.findings.append("skepd does not start: %s" % why)
                self.host.kill()
        raise SystemExit("skepd does not start")

    def killer(self, end):
        while time.monotonic() < end:
            time.sleep(self.rng.random() * 0.4)
            what = self.rng.choices(
                [lambda: self.kill_one("skep-worker"), self.kill_command,
                 lambda: self.kill_one("skep-spawner"), self.kill_skepd,
                 self.kill_mount, lambda: self.kill_one("skep-plugin")],
                [10, 10, 1, 3, 2, 2])[0]
            what()
            died = self.host.process.poll()
            if died is not None:
                self.findings.append("skepd died with status %s: %s" %
                                     (died, self.host.log()[-1500:]))
                self.start()

    def kill_all(self):
        """At once, as far as signals are."""
        self.host.process.kill()
        for _ in range(50):
            pids = list(self.home._survivors())
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            if not pids:
                break
            time.sleep(0.02)
        self.host.process.wait()
        self.count("everything at once")

    # -- a round

    def caller(self, seed, end):
        rng = random.Random(seed)
        while time.monotonic() < end:
            # a client acts in one thread at a time
            client = rng.choices(self.clients,
                                 [c.weight for c in self.clients])[0]
            lock = client.__dict__.setdefault("busy", threading.Lock())
            if lock.acquire(blocking=False):
                try:
                    client.act()
                finally:
                    lock.release()
            else:
                time.sleep(0.01)

    def round(self, number):
        end = time.monotonic() + ROUND
        callers = [threading.Thread(target=self.caller,
                                    args=("%s %d %d" % (self.seed, number, i),
                                          end))
                   for i in range(CALLERS)]
        for t in callers:
            t.start()
        self.killer(end)
        if number % 2:
            self.kill_all()  # while the callers are still at work
        for t in callers:
            t.join()
        if self.host.process.poll() is None:
            status = self.host.down(120)
            if status:
                self.findings.append("skepd ended with status %s" % status)
        self.kill_all()
        self.check_files()
        for client in self.clients:
            client.verify()

    def check_files(self):
        """Stock sqlite3 on copies without the -shm file: what the next process
        finds after a crash of all."""
        for path in sorted(self.home.path.rglob("*.sqlite")):
            copy = self.home.dir / "copy.sqlite"
            for suffix in ("", "-wal"):
                source = pathlib.Path(str(path) + suffix)
                if source.exists():
                    shutil.copy(source, str(copy) + suffix)
            got = self.home.run("sqlite3", copy, "PRAGMA integrity_check;"
                                " PRAGMA foreign_key_check;", code=None,
                                seconds=300)
            if got.out != "ok\n" or got.code:
                self.findings.append("%s: %s%s" % (path.name, got.out[:500],
                                                   got.err[:500]))
            for suffix in ("", "-wal", "-shm"):
                pathlib.Path(str(copy) + suffix).unlink(missing_ok=True)

    def finish(self):
        """Lets all runs end, and compares once more."""
        self.start()
        lib.eventually(lambda: all(c.is_settled() for c in self.clients), 120,
                       "the rest of the messages")
        for key, in self.home.query(self.home.control, "SELECT id FROM run WHERE"
                                    " ended_at IS NULL"):
            try:
                self.host.cancel(key)
            except Refused:
                pass  # it has just ended
        lib.eventually(lambda: not self.home.query(
            self.home.control, "SELECT 1 FROM run WHERE ended_at IS NULL"
            " LIMIT 1"), 120, "the end of all runs")
        lib.eventually(lambda: not self.home.query(
            self.home.control, "SELECT 1 FROM delivery WHERE state IN"
            " ('pending','sending','unknown') LIMIT 1"), 120,
            "the end of all deliveries")
        if self.host.down(120):
            self.findings.append("skepd did not stop in order")
        self.check_files()
        for client in self.clients:
            client.verify()
            client.verify_end()
        try:
            self.host.check_books()
        except AssertionError as why:
            self.findings.append("books: %s" % why)

    def problems(self):
        return self.findings + [f for c in self.clients
                                for f in c.ledger.findings]

    def report(self, rounds, seconds):
        print("seed %s, %d rounds, %d s" % (self.seed, rounds, seconds))
        print("kills: " + ", ".join("%s %d" % k
                                    for k in sorted(self.kills.items())))
        print("refused: " + (", ".join("%s (%d)" % k for k in
                                       sorted(self.refusals.items())) or "-"))
        print("%-12s %9s %13s %9s" % ("ledger", "requests", "acknowledged",
                                      "findings"))
        for c in self.clients:
            if c.ledger.requests:
                print("%-12s %9d %13d %9d" % (c.ledger.name, c.ledger.requests,
                                              c.ledger.acknowledged,
                                              len(c.ledger.findings)))
        for finding in self.problems():
            print("FOUND " + finding)
        print("%d findings" % len(self.problems()), flush=True)


def torture(home, seed, minutes):
    t = Torture(home, seed)
    began = time.monotonic()
    t.start()
    for c in t.clients:
        c.prepare()
    rounds = 0
    while rounds < 2 or time.monotonic() - began < minutes * 60 - ROUND:
        rounds += 1
        if t.host.process.poll() is not None:
            t.start()
        t.round(rounds)
        print("round %d: %d acknowledged, %d findings" % (
            rounds, sum(c.ledger.acknowledged for c in t.clients),
            len(t.problems())), flush=True)
    t.finish()
    t.report(rounds, time.monotonic() - began)
    return t


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--bin", default=str(ROOT / "build" / "release"))
    ap.add_argument("--minutes", type=float, default=20)
    ap.add_argument("--seed", type=int, default=None)
    ap.add_argument("--keep", action="store_true",
                    help="keep the home when there are findings")
    args = ap.parse_args()
    home = lib.Home(pathlib.Path(args.bin).resolve())
    seed = args.seed if args.seed is not None else random.randrange(1 << 30)
    print("seed %d, home %s" % (seed, home.path), flush=True)
    bad = True
    try:
        bad = bool(torture(home, seed, args.minutes).problems())
    finally:
        if bad and args.keep:
            print("kept: %s" % home.dir)
            # not a mount whose server may be dead
            shutil.copytree(home.dir, str(home.dir) + ".kept", symlinks=True,
                            ignore=shutil.ignore_patterns("*.sock", "mnt"))
        home.close()
    print("%d passed, %d failed, 0 skipped" % (not bad, bad))
    return bad


if __name__ == "__main__":
    sys.exit(main())
