"""The unit file under a real systemd: a user manager of its own, in a mount
namespace where /run says that systemd is at work."""
import errno
import os
import pathlib
import shutil
import signal

import lib
from skepd_lib import Connection

SYSTEMD = pathlib.Path("/usr/lib/systemd/systemd")
# $1: a name for its cgroups, so that it moves no other processes.
MANAGER = """
mount -t tmpfs -o mode=755 skep-test /run && mkdir -p /run/systemd/system || exit 1
for at in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/systemd; do
	[ -e $at/cgroup.procs ] || continue
	mkdir $at/$1 && echo $$ >$at/$1/cgroup.procs || exit 1
done
exec /usr/lib/systemd/systemd --user --log-target=console
"""


class Manager:
    def __init__(self, home):
        if os.geteuid() != 0:
            lib.skip("needs root for a mount namespace of its own")
        if not SYSTEMD.exists() or not shutil.which("systemctl"):
            lib.skip("no systemd on this machine")
        self.home, self.group = home, "skep-" + home.dir.name
        self.run_dir = home.dir / "xdg"
        self.run_dir.mkdir(mode=0o700)
        home.env.update(XDG_RUNTIME_DIR=str(self.run_dir),
                        XDG_CONFIG_HOME=str(home.dir / "config"))
        home.env.pop("DBUS_SESSION_BUS_ADDRESS", None)
        self.install()
        home.undo.append(self.forget)
        self.log = home.dir / "systemd.log"
        with open(self.log, "wb") as log:
            self.process = home.start(
                "unshare", "-m", "--propagation", "private", "sh", "-c",
                MANAGER, "sh", self.group, stdout=log, stderr=log)
        lib.eventually(self.stands, 30, "a user manager")

    def install(self):
        """What `cmake --install` puts there, but a watchdog that a test can
        wait for."""
        units = self.home.dir / "config" / "systemd" / "user"
        (units / "skepd.service.d").mkdir(parents=True)
        # one at a time: it writes its list of files into the build
        self.home.run("flock", self.home.bin / "install.lock", "cmake",
                      "--install", self.home.bin, "--prefix",
                      self.home.dir / "prefix")
        self.bin = self.home.dir / "prefix" / "bin"
        shutil.copy(self.home.dir / "prefix/lib/systemd/user/skepd.service",
                    units)
        (units / "skepd.service.d" / "quick.conf").write_text(
            "[Service]\nWatchdogSec=4\nEnvironment=SKEP_HOME=%s\n"
            "Environment=PATH=%s\n" % (self.home.path, self.home.env["PATH"]))

    def stands(self):
        if self.process.poll() is not None:
            lib.skip("no user manager can be had: " +
                     self.log.read_text(errors="replace")[-300:].strip())
        return (self.run_dir / "systemd" / "private").exists()

    def ctl(self, *args, code=0):
        return self.home.run("systemctl", "--user", "--no-pager", *args,
                             code=code).out.strip()

    def show(self, what):
        return self.ctl("show", "-p", what, "--value", "skepd")

    def pid(self):
        return int(self.show("MainPID"))

    def ready(self, restarts):
        return (self.show("NRestarts"), self.show("ActiveState")) == (
            str(restarts), "active")

    def forget(self):
        """Its cgroups with whatever lives in them, inner ones first."""
        for at in ("", "unified", "systemd"):
            top = pathlib.Path("/sys/fs/cgroup", at, self.group)
            for path in sorted(top.rglob("*"), reverse=True) + [top]:
                if path.is_dir():
                    lib.eventually(lambda p=path: gone(p), 30, "an empty cgroup")


def gone(group):
    try:
        for pid in (group / "cgroup.procs").read_text().split():
            os.kill(int(pid), signal.SIGKILL)
        group.rmdir()
    except (FileNotFoundError, ProcessLookupError):
        pass
    except OSError as e:
        if e.errno != errno.EBUSY:  # the last one is on its way
            raise
    return not group.exists()


def show(home, run):
    return home.skep("show", run, "--json").lines[0]


def test_the_unit_is_started_watched_and_restarted(home):
    m = Manager(home)
    m.ctl("start", "skepd")
    # systemd waited for READY=1, so there is an answer at once.
    Connection(home.path / "run" / "skep.sock", 10).request("GET", "/v1/health")
    first = m.pid()
    assert os.readlink("/proc/%d/exe" % first) == str(m.bin / "skepd")

    home.skep("agent", "add", "long", "--driver", "exec", "--", "sleep", "300")
    run = home.skep("run", "long", "x", "-d").out.strip()

    def tree():
        row = show(home, run)
        return row["state"] == "running" and row["pid"]
    worker = lib.eventually(tree, what="a worker")

    m.ctl("restart", "skepd")  # planned
    second = m.pid()
    os.kill(second, signal.SIGKILL)
    lib.eventually(lambda: m.ready(1), 60, "a start after a kill")
    third = m.pid()
    os.kill(third, signal.SIGSTOP)  # what a loop that hangs looks like
    lib.eventually(lambda: m.ready(2), 60, "a start after the watchdog")
    assert len({first, second, third, m.pid()}) == 4

    # The same worker has lived through all of it.
    assert tree() == worker
    assert show(home, run)["attempt"] == 1

    m.ctl("stop", "skepd")  # a stop is a planned restart without the start
    os.kill(worker, 0)
    m.ctl("start", "skepd")
    home.skep("cancel", run)
    lib.eventually(lambda: show(home, run)["state"] ==
                   "cancelled", 60, "the end of the run")
    m.ctl("stop", "skepd")
    assert m.show("Result") == "success"


def test_what_cannot_start_is_not_tried_for_ever(home):
    m = Manager(home)
    home.path.mkdir(mode=0o700, exist_ok=True)
    (home.path / "skep.json").write_text("{")
    (home.path / "skep.json").chmod(0o600)
    m.ctl("start", "skepd", code=1)
    assert m.show("ExecMainStatus") == "78"
    assert (m.show("ActiveState"), m.show("NRestarts")) == ("failed", "0")
