"""What the system tests share: a home of their own, and the programs in it."""
import atexit
import hashlib
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time


class Skip(Exception):
    pass


def skip(why):
    raise Skip(why)


class Result:
    def __init__(self, code, out, err):
        self.code, self.raw, self.err = code, out, err
        self.out = out.decode("utf-8", "replace")

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def lines(self):
        """The JSON objects of a list, one a line."""
        return [json.loads(line) for line in self.out.splitlines()]


HANG = 240  # seconds after which a program hangs, under any load


def eventually(check, seconds=60, what="it"):
    """Waits until check() is true, and returns what it returned. It looks less
    often as time goes by: many tests wait beside each other. The machine may be
    so loaded that everything takes many times as long."""
    seconds = max(seconds, HANG)
    end = time.monotonic() + seconds
    pause = 0.01
    while time.monotonic() < end:
        got = check()
        if got:
            return got
        time.sleep(pause)
        pause = min(pause * 1.3, 0.1)
    raise AssertionError("%s did not happen in %g s" % (what, seconds))


def seen_in_a_sandbox(path):
    """The file, or a copy of it: a run has a /tmp of its own and sees no home
    directories, and the whole tree may lie there."""
    path = pathlib.Path(path).resolve()
    if path.parts[1] not in ("tmp", "home", "root"):
        return path
    there = tempfile.mkdtemp(prefix="skep-test-", dir="/var/tmp")
    atexit.register(shutil.rmtree, there, ignore_errors=True)
    os.chmod(there, 0o755)
    return pathlib.Path(shutil.copy(path, there))


class Home:
    """A temporary directory with $SKEP_HOME in it, and a way to call skep."""

    def __init__(self, bin_dir):
        self.bin = pathlib.Path(bin_dir)
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="skep-test-"))
        self.path = self.dir / "home"
        self.env = dict(os.environ, SKEP_HOME=str(self.path),
                        HOME=str(self.dir), LC_ALL="C.UTF-8",
                        PATH="%s:%s" % (bin_dir, os.environ["PATH"]))
        self.undo = []  # called at the end, last first

    # -- programs

    def env_for(self, argv, more=None):
        """The environment of a program. LeakSanitizer needs ptrace for itself,
        so it is off in programs that strace traces."""
        env = dict(self.env, **(more or {}))
        if any("strace" in os.fsdecode(a) for a in argv):
            options = env.get("ASAN_OPTIONS")
            env["ASAN_OPTIONS"] = (options + ":" if options else "") + \
                "detect_leaks=0"
        return env

    def run(self, *argv, input=None, code=0, env=None, cwd=None, seconds=HANG):
        """Runs a program to its end; its exit status must be `code` (None:
        any)."""
        if isinstance(input, str):
            input = input.encode()
        p = subprocess.run([os.fsencode(a) if isinstance(a, (str, pathlib.Path))
                            else a for a in argv],
                           input=input, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, timeout=seconds,
                           env=self.env_for(argv, env),
                           cwd=cwd or self.dir,
                           stdin=subprocess.DEVNULL if input is None else None)
        r = Result(p.returncode, p.stdout, p.stderr.decode("utf-8", "replace"))
        if code is not None and r.code != code:
            raise AssertionError("%s: exit status %d instead of %d\n%s%s" %
                                 (" ".join(map(str, argv)), r.code, code,
                                  r.out, r.err))
        return r

    def skep(self, *args, **more):
        return self.run(self.bin / "skep", *args, **more)

    def refused(self, code, *args, **more):
        """skep must fail with this exit status; gives what it said."""
        r = self.skep(*args, code=code, **more)
        assert r.err.startswith("skep: ") or '"code"' in r.err, r.err
        assert r.err.count("\n") == 1, "one line, once: " + r.err
        return r.err

    def start(self, *argv, env=None, **more):
        """Starts a program that goes on; it is killed at the end."""
        p = subprocess.Popen([os.fspath(a) for a in argv],
                             env=self.env_for(argv, env), **more)
        self.undo.append(lambda: self._stop(p))
        return p

    @staticmethod
    def _stop(p):
        if p.poll() is None:
            p.kill()
        p.wait()

    # -- databases

    @property
    def control(self):
        return self.path / "state" / "skep.sqlite"

    def agent_db(self, agent):
        return self.path / "agents" / agent / "agent.sqlite"

    def query(self, path, sql, *params):
        db = sqlite3.connect("file:%s?mode=ro" % path, uri=True, timeout=30)
        try:
            return db.execute(sql, params).fetchall()
        finally:
            db.close()

    def execute(self, path, sql, *params):
        db = sqlite3.connect(path, timeout=30)
        try:
            with db:
                db.execute(sql, params)
        finally:
            db.close()

    def integrity(self):
        """Every database of the home is whole."""
        for path in self.path.rglob("*.sqlite"):
            got = self.query(path, "PRAGMA integrity_check")
            assert got == [("ok",)], "%s: %s" % (path, got)

    def picture(self):
        """Names, modes and contents of all files, of databases their rows: to
        prove that nothing has changed."""
        return {str(p.relative_to(self.dir)): (p.stat().st_mode, self._what(p))
                for p in sorted(self.dir.rglob("*"))
                if not p.name.endswith(("-shm", "-wal")) and not p.is_socket()}

    @staticmethod
    def _what(path):
        if not path.is_file():
            return None
        if path.suffix == ".sqlite":
            db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
            try:
                return ([db.execute("PRAGMA " + p).fetchone() for p in
                         ("user_version", "application_id")] +
                        list(db.iterdump()))
            except sqlite3.DatabaseError:
                pass  # damaged on purpose: byte by byte
            finally:
                db.close()
        return path.read_bytes()

    # -- the end

    def _survivors(self):
        """Processes with this very home in their environment: ours."""
        mark = b"SKEP_HOME=" + os.fsencode(self.path) + b"\0"
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) == os.getpid():
                continue
            try:
                with open("/proc/%s/environ" % entry, "rb") as f:
                    if mark in f.read() + b"\0":
                        yield int(entry)
            except OSError:
                pass

    def _remove_cgroups(self):
        """Those of runs whose supervisor was killed; skepd names them after
        its home."""
        name = "skep-%s-*" % hashlib.sha256(
            os.fsencode(self.path)).hexdigest()[:8]
        with open("/proc/self/mounts") as f:
            mounts = [line.split()[1] for line in f
                      if line.split()[2] in ("cgroup", "cgroup2")]
        with open("/proc/self/cgroup") as f:
            own = {line.strip().split(":", 2)[2] for line in f}
        left = [p for m in mounts for o in own
                for p in pathlib.Path(m + o).glob(name)]
        for _ in range(20):  # processes that were killed are still ending
            for path in left:
                try:
                    path.rmdir()
                except OSError:
                    pass
            left = [p for p in left if p.exists()]
            if not left:
                break
            time.sleep(0.05)

    def close(self):
        while self.undo:
            self.undo.pop()()
        for pid in list(self._survivors()):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self._remove_cgroups()
        shutil.rmtree(self.dir, ignore_errors=True)
