"""The three modes of a workspace: one program, one result; and what a run that
lives in the agent's file leaves on the host: nothing."""
import os
import pathlib
import shutil
import signal
import time

import lib
import skepd_lib
from lib import skip
from worker_lib import Supervisor, Worker, ok

# Everything that a program does with files, and what it sees afterwards.
PROGRAM = r"""
set -eu
umask 022
mkdir -p src/deep/er empty
printf 'one\ntwo\n' > src/a.txt
printf 'more\n' >> src/a.txt
cp src/a.txt src/deep/b.txt
mv src/deep/b.txt src/deep/c.txt
ln src/a.txt hard
ln -s src/deep/c.txt soft
ln -s /nowhere dangling
chmod 4750 src/a.txt; chmod 1777 empty; chmod u-w hard; chmod u+w hard
touch -d '2001-02-03 04:05:06.789 UTC' src/deep/c.txt
mkfifo pipe
head -c 200000 /dev/zero > zeros
printf 'end' | dd of=sparse bs=1 seek=300000 conv=notrunc status=none
truncate -s 10 zeros
printf 'patch' | dd of=zeros bs=1 seek=3 conv=notrunc status=none
: > 'odd name
with a line'
: > "$(printf 'b\351te')"
mkdir gone; echo x > gone/f; rm -r gone
mv src/deep moved; mkdir src/deep
if mv -T moved src 2> /dev/null; then echo 'mv over a full directory'; fi
if rmdir src 2> /dev/null; then echo 'rmdir of a full directory'; fi
if ln hard soft 2> /dev/null; then echo 'ln over a link'; fi
exec 9> unlinked; rm unlinked; echo 'still there' >&9
cat /proc/self/fd/9
python3 - <<'END'
import mmap, os, fcntl
with open("mapped", "w+b") as f:
    f.truncate(5000)
    m = mmap.mmap(f.fileno(), 5000)
    m[4990:5000] = b"0123456789"
    m.flush()
    fcntl.flock(f, fcntl.LOCK_EX)
os.setxattr("mapped", "user.note", b"value")
print(os.getxattr("mapped", "user.note"), os.listxattr("mapped"))
os.replace("mapped", "final")
names = sorted(os.fsencode(n) for n in os.listdir("."))
print(names, os.stat("hard").st_nlink, os.path.samefile("hard", "src/a.txt"))
try:
    os.open("x" * 256, os.O_CREAT)
except OSError as e:
    print(e.errno)
END
LC_ALL=C find . -mindepth 1 \( -type f -o -type l \) -printf '%P %y %m %n %s %l\n' | cat -v | sort
LC_ALL=C find . -mindepth 1 -not \( -type f -o -type l \) -printf '%P %y %m\n' | cat -v | sort
find . -type f -exec cksum {} + | cat -v | LC_ALL=C sort
stat -c '%y' moved/c.txt
"""


def run(home, sup, n, mode, workspace, text, **more):
    w = Worker(sup, "exec", {"shell": text}, n=n, workspace_mode=mode,
               workspace=workspace, session=mode, **more)
    ok(w)
    return [b["text"] for _, b in w.events("output")]


def needs_fuse():
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        skip("there is no /dev/fuse")


def test_one_program_gives_one_result_in_all_modes(home):
    needs_fuse()
    output = {}
    for i, mode in enumerate(("disk", "vfs-scratch", "vfs-only")):
        home.path = home.dir / ("home-" + mode)  # an agent of its own
        below = home.dir / ("below-" + mode)
        below.mkdir()
        output[mode] = run(home, Supervisor(home), i + 1, mode,
                         None if mode == "vfs-only" else str(below), PROGRAM)
        assert bool(os.listdir(below)) == (mode == "disk"), mode
    assert len(output["disk"]) > 30 and "still there" in output["disk"]
    for mode in ("vfs-scratch", "vfs-only"):
        for a, b in zip(output["disk"], output[mode]):
            assert a == b, "%s: %r instead of %r" % (mode, b, a)
        assert output[mode] == output["disk"]


# A world of its own in which everything but the home can only be read. Device
# nodes work there, and mounts that the run makes for itself are its own.
READ_ONLY = r"""
set -eu
home=$1; shift
mount --make-rprivate /
mount --bind "$home" "$home"
cut -d' ' -f2 /proc/self/mounts | sort -u | while read -r m; do
    [ "$m" = "$home" ] || mount -o remount,bind,ro "$m" 2> /dev/null || :
done
if touch "$home/../can-be-written" 2> /dev/null; then exit 99; fi
touch "$home/can-be-written" && rm "$home/can-be-written"
exec strace -f -Z -o "$home/failures" "$@"
"""


def test_a_run_in_the_agents_file_writes_nothing_else(home):
    needs_fuse()
    if os.geteuid() != 0 or not shutil.which("strace"):
        skip("this needs root and strace")
    output = run(home, Supervisor(home), 1, "vfs-only", None, PROGRAM,
               under=("unshare", "-m", "sh", "-c", READ_ONLY, "sh",
                      str(home.path)))
    assert "still there" in output
    failures = (home.path / "failures").read_text(errors="replace")
    assert "ENOENT" in failures  # strace has seen the run
    tried = [line for line in failures.splitlines() if "EROFS" in line
             and "/proc/self/oom_score_adj" not in line]
    assert not tried, tried
    left = {p.name for p in home.path.rglob("*") if not p.is_dir()}
    assert left <= {"failures", "w.sock", "agent.sqlite", "agent.sqlite-wal",
                    "agent.sqlite-shm"}, left


def test_a_run_that_writes_to_the_host_is_noticed(home):
    """The test above can fail."""
    needs_fuse()
    if os.geteuid() != 0 or not shutil.which("strace"):
        skip("this needs root and strace")
    run(home, Supervisor(home), 1, "vfs-only", None,
        "touch /tmp/skep-elsewhere || true",
        under=("unshare", "-m", "sh", "-c", READ_ONLY, "sh", str(home.path)))
    assert "EROFS" in (home.path / "failures").read_text(errors="replace")


def mount_servers(home):
    """Processes that serve mounts of this home's runs."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            args = pathlib.Path("/proc", entry, "cmdline").read_bytes()
        except OSError:
            continue
        if b"\0--mount\0" in args and os.fsencode(home.path) in args:
            found.append(int(entry))
    return found


def kill_mount(home, h, run):
    """While the command works there."""
    lib.eventually(lambda: [k for _, k, _ in h.events("a", run)
                            if k == "output"], 60, "its output")
    os.kill(min(mount_servers(home)), signal.SIGKILL)


def parent_of(pid):
    stat = pathlib.Path("/proc/%d/stat" % pid).read_text()
    return int(stat[stat.rindex(")") + 2:].split()[1])


def is_running(word):
    """Is there a process with this in its command line?"""
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if os.fsencode(word) in path.read_bytes():
                return True
        except OSError:
            pass
    return False


def kill_early(home, word):
    """Between mount and command: the worker is stopped meanwhile. Returns
    whether the mount was there and no command (which has the word) was."""
    pid = lib.eventually(lambda: mount_servers(home), 60, "a mount server")[0]
    worker = parent_of(pid)
    os.kill(worker, signal.SIGSTOP)
    try:
        lib.eventually(lambda: len(os.listdir("/proc/%d/task" % pid)) > 1, 60,
                       "the server's threads")
        time.sleep(0.2)  # it says that it is ready right after their start
        alone = not is_running(word)
        os.kill(pid, signal.SIGKILL)
        time.sleep(0.3)  # time for the clean-up after the server
    finally:
        os.kill(worker, signal.SIGCONT)
    return alone


def test_a_mount_that_dies_before_the_command_fails_the_attempt(home):
    """The command would work in the empty directory below the mount, forever."""
    needs_fuse()
    h = skepd_lib.host(home)
    word = "command-of-" + home.dir.name
    h.shell("a", ": %s; echo x >> log; [ $SKEP_ATTEMPT = 1 ] || exit 0; "
            "while cat log; do sleep 0.1; done >/dev/null 2>&1" % word,
            workspace="vfs-only")
    early = 0
    for _ in range(4):
        run = h.submit("a", max_attempts=2)
        early += kill_early(home, word)
        row = h.until(run)
        assert (row["state"], row["attempt"]) == ("succeeded", 2), h.transitions(run)
        assert ("queued", "mount_lost") in h.transitions(run), h.transitions(run)
    assert early, "no mount was killed before its command"
    skepd_lib.finish(h)


def test_a_command_without_its_mount_is_ended_at_once(home):
    needs_fuse()
    h = skepd_lib.host(home)
    h.shell("a", "[ $SKEP_ATTEMPT = 1 ] || exit 0; echo up; exec sleep 1000",
            workspace="vfs-only")
    run = h.submit("a", max_attempts=2)
    kill_mount(home, h, run)
    row = h.until(run)
    assert (row["state"], row["attempt"]) == ("succeeded", 2), h.transitions(run)
    assert ("queued", "mount_lost") in h.transitions(run), h.transitions(run)
    skepd_lib.finish(h)


def test_a_run_on_a_stopped_mount_can_be_cancelled(home):
    needs_fuse()
    h = skepd_lib.host(home)
    h.shell("a", "echo up; while ls; do sleep 0.01; done >/dev/null 2>&1",
            workspace="vfs-only")
    run = h.submit("a", max_attempts=2)
    lib.eventually(lambda: [k for _, k, _ in h.events("a", run)
                            if k == "output"], 60, "its output")
    server = min(mount_servers(home))
    os.kill(server, signal.SIGSTOP)
    h.cancel(run)
    assert h.until(run)["state"] == "cancelled", h.transitions(run)
    lib.eventually(lambda: not mount_servers(home), 60, "the server's end")
    skepd_lib.finish(h)


def test_a_killed_mount_that_is_not_reaped_is_replaced(home):
    """A run shares the mount of a command; then that is killed, and stays a
    zombie: the next attempt serves the namespace itself."""
    needs_fuse()
    if os.geteuid() != 0:
        skip("this needs root")
    h = skepd_lib.host(home)
    h.shell("a", "echo up; [ $SKEP_ATTEMPT = 1 ] || exit 0; exec sleep 1000",
            workspace="vfs-only")
    h.until(h.submit("a", max_attempts=1), "running")
    os.makedirs(home.dir / "at")
    h.cancel(h.call("GET", "/v1/runs")["items"][0]["id"])
    lib.eventually(lambda: not mount_servers(home), 60, "the server's end")
    p = home.start(home.bin / "skep", "vfs", "mount", "a", home.dir / "at")
    lib.eventually(lambda: os.path.ismount(home.dir / "at"), 60, "the mount")
    run = h.submit("a", max_attempts=2)
    lib.eventually(lambda: [k for _, k, _ in h.events("a", run)
                            if k == "output"], 60, "its output")
    os.kill(p.pid, signal.SIGKILL)  # and no wait
    row = h.until(run)
    assert (row["state"], row["attempt"]) == ("succeeded", 2), h.transitions(run)
    p.wait()
    skepd_lib.finish(h)


def test_a_killed_mount_fails_the_attempt_and_not_the_run(home):
    needs_fuse()
    h = skepd_lib.host(home)
    for end in (0, 3):  # the first attempt notices the end, or does not care
        h.shell("a", "echo x >> log; [ $SKEP_ATTEMPT = 1 ] || exit 0; echo up; "
                "while cat log; do sleep 0.1; done >/dev/null 2>&1; exit %d"
                % end, workspace="vfs-only")
        run = h.submit("a", max_attempts=2)
        kill_mount(home, h, run)
        row = h.until(run)
        assert (row["state"], row["attempt"]) == ("succeeded", 2), h.transitions(run)
        assert ("queued", "mount_lost") in h.transitions(run), h.transitions(run)
    run = h.submit("a", max_attempts=1)
    kill_mount(home, h, run)
    row = h.until(run)
    assert (row["state"], row["reason"]) == ("failed", "mount_lost"), row
    skepd_lib.finish(h)
