"""Runs that try over 200 ways out of their sandbox (tests/support/escape.def), as
root and as another user, in each level: every way ends as the table says."""
import ctypes
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile

import lib
from sandbox_lib import neighbour, at_peace, run_output
from skepd_lib import Host, finish

NOBODY = 65534
LEVELS = {
    "default": {},
    "network": {"network": "host"},
    "strict": {"sandbox": "required", "network": "none"},
    "off": {"sandbox": "off", "network": "host"},
}
PARTIAL = {"partial": {"sandbox": "partial"}}
SECRETS = ("notes.txt", ".ssh/id", ".gnupg/key", ".aws/credentials",
           ".docker/config.json", ".config/gh/hosts.yml", ".claude/login",
           ".npmrc", ".netrc", ".bash_history")
C = ctypes.CDLL(None, use_errno=True)


def listening(home, kind, where, mode=0o777):
    s = socket.socket(kind)
    s.bind(where)
    s.listen(64)
    home.undo.append(s.close)
    if isinstance(where, str) and not where.startswith("\0"):
        os.chmod(where, mode)
        home.undo.append(lambda: os.path.exists(where) and os.unlink(where))
    return s


def made(home, path, text="secret"):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    home.undo.append(lambda: path.exists() and path.unlink())
    return str(path)


def shared_memory(home, key):
    for get, ctl, args in ((C.shmget, lambda i: C.shmctl(i, 0, None), (4096,)),
                           (C.semget, lambda i: C.semctl(i, 0, 0), (1,))):
        got = get(key, *args, 0o1666)
        assert got >= 0
        home.undo.append(lambda got=got, ctl=ctl: ctl(got))


class Outside:
    """What there is to find outside, and a supervisor with a run beside."""

    def __init__(self, home, uid):
        self.home, self.uid, self.mark = home, uid, "skep-esc-%d" % os.getpid()
        self.under = [] if uid == 0 else [
            "setpriv", "--reuid", str(uid), "--regid", str(uid),
            "--clear-groups"]
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="skep-test-",
                                                 dir="/var/tmp"))
        home.undo.append(lambda: shutil.rmtree(self.dir, ignore_errors=True))
        os.chmod(self.dir, 0o755)
        self.person = self.dir / "person"
        home.dir, home.path = self.person, self.person / ".skep"
        self.bin = self.dir / "bin"
        self.bin.mkdir()
        for name in ("skep", "skepd", "skep-spawner", "skep-worker",
                     "escape"):
            shutil.copy(home.bin / name, self.bin)
        self.env = {"HOME": str(self.person), "SKEP_HOME": str(home.path),
                    "SKEP_PROBE_SECRET": "x"}
        self.fill()

    def fill(self):
        home, mark = self.home, self.mark
        for name in SECRETS:
            made(home, self.person / name)
        made(home, home.path / "credentials" / "key")
        os.chmod(home.path, 0o700)
        for name in (".ssh/control", ".gnupg/S.gpg-agent", "service.sock"):
            listening(home, socket.AF_UNIX, str(self.person / name))
        self.know = {
            "HOME_DIR": self.person, "SKEP": home.path,
            "HOST_FILE": made(home, self.dir / "host" / "file"),
            "NAMED_FILE": made(home, self.dir / "named" / "file"),
            "TMP_FILE": made(home, "/tmp/" + mark),
            "TMP_NEW": "/tmp/%s.new" % mark,  # made by a run without a sandbox
            "SHM_FILE": made(home, "/dev/shm/" + mark),
            "SHM": 0x5ce90000 + os.getpid() % 60000,
            "OTHER_SKEP": self.dir / "host" / "skep.sock",
            "TMP_SOCKET": "/tmp/%s.sock" % mark,
            "ABSTRACT": mark,
            "DISK": next((d for d in ("/dev/vda", "/dev/sda", "/dev/nvme0n1",
                                      "/dev/loop0") if os.path.exists(d)),
                         "/dev/none")}
        home.undo.append(lambda: pathlib.Path(
            self.know["TMP_NEW"]).unlink(missing_ok=True))
        for name in ("OTHER_SKEP", "TMP_SOCKET"):
            listening(home, socket.AF_UNIX, str(self.know[name]))
        listening(home, socket.AF_UNIX, "\0" + mark)
        for name in ("PORT", "HTTP_PORT"):
            s = listening(home, socket.AF_INET, ("127.0.0.1", 0))
            self.know[name] = s.getsockname()[1]
        shared_memory(home, self.know["SHM"])
        if self.uid == 0:
            self.know["OTHER_HOME_FILE"] = made(
                home, "/home/%s/.ssh/id" % mark)
            home.undo.append(lambda: shutil.rmtree("/home/" + mark))
            self.know["RUN_SOCKET"] = "/run/%s.sock" % mark
            listening(home, socket.AF_UNIX, self.know["RUN_SOCKET"])

    def start(self, around=()):
        d = Host(self.home, config={})
        subprocess.run(["chown", "-R", str(self.uid), self.person], check=True)
        p = self.home.start(*self.under, "sleep", "600", start_new_session=True)
        with open(self.home.dir / "skepd.log", "ab") as log:
            d.process = self.home.start(*self.under, *around,
                                        self.bin / "skepd",
                                        env=self.env, stderr=log)
        lib.eventually(d.answers, 60, "an answer of skepd")
        self.peace = neighbour(d, **(PARTIAL["partial"] if around else {}))
        made(self.home, self.home.path / "agents/peace/workspace/file")
        self.know.update(OTHER_PID=p.pid, SKEPD_PID=d.process.pid,
                         WORKER_PID=d.get(self.peace)["pid"])
        self.d = d
        return d

    def probe(self, level):
        limits = {"pids": 64, "file": "16M", "tmp": "8M"}
        if self.uid == 0 and "limits.memory" not in self.d.log():
            limits["memory"] = "200M"
        more = dict((LEVELS | PARTIAL)[level], limits=limits)
        if level == "strict":
            more["paths"] = {"read": [str(self.dir / "named"), str(self.bin)]}
        self.d.agent("a", "exec", {
            "command": [str(self.bin / "escape"), level], "stdin": "none",
            "env": {k: str(v) for k, v in self.know.items()}}, **more)
        run = self.d.submit("a", max_attempts=1)
        row = self.d.until(run, seconds=90)
        output = run_output(self.d, "a", run).split("\n")
        assert row["state"] == "succeeded", (row, output)
        return output


def wrong(output, skipped=()):
    bad = []
    for line in output:
        name, want, got = line.split(" ")[:3]
        if want != got and name not in skipped:
            bad.append(line)
    return bad


def escape(home, uid):
    if os.getuid() != 0:
        lib.skip("needs root, to be another user too")
    out = Outside(home, uid)
    d = out.start()
    gaps = [line for line in d.log().splitlines() if "sandboxes are incomplete" in line]
    if gaps and ("Landlock" in gaps[0] or "namespace" in gaps[0]):
        lib.skip("this machine lacks parts of the sandbox: %s" % gaps[0])
    skipped = set()
    if "limits.pids" in d.log() and uid == 0:
        skipped.add("limit_processes")
    if "limits.memory" in d.log():
        skipped.add("limit_memory")
    bad, tried = {}, 0
    for level in LEVELS:
        output = out.probe(level)
        tried += len(output)
        bad[level] = wrong(output, skipped)
    assert tried > 600, tried
    assert not any(bad.values()), bad
    at_peace(d, out.peace)
    finish(d)


def test_root_does_not_get_out(home):
    escape(home, 0)


def test_a_user_does_not_get_out(home):
    escape(home, NOBODY)


# skepd without the right to make namespaces: root as in a container, and a user
# on a machine where others than root may make none.
ALONE = {
    0: ("setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"),
    NOBODY: ("unshare", "-U", "--map-user=%d" % NOBODY,
             "--map-group=%d" % NOBODY, "--keep-caps", "sh", "-c",
             "echo 0 > /proc/sys/user/max_user_namespaces;"
             "exec setpriv --ambient-caps=-all --inh-caps=-all \"$@\"", "sh"),
}


def escape_partial(home, uid):
    if os.getuid() != 0:
        lib.skip("needs root, to be another user too")
    out = Outside(home, uid)
    d = out.start(ALONE[uid])
    lib.eventually(lambda: "no namespaces" in d.log(), 30, "a word in the log")
    d.shell("refused", "true")
    row = d.until(d.submit("refused"))
    assert (row["state"], row["reason"]) == ("failed", "sandbox"), row
    assert '"partial"' in row["detail"], row
    skipped = {"limit_processes", "limit_memory"}
    output = out.probe("partial")
    assert len(output) > 150, output
    assert not wrong(output, skipped), wrong(output, skipped)
    at_peace(d, out.peace)
    finish(d)


def test_root_without_namespaces_does_what_the_table_says(home):
    escape_partial(home, 0)


def test_a_user_without_namespaces_does_what_the_table_says(home):
    escape_partial(home, NOBODY)
