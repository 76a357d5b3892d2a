"""skep-worker: commands on a mount of the agent's file."""
import os
import time

from lib import eventually, skip
from worker_lib import STUBBORN, Supervisor, Worker, failed, marked, ok


def mounts():
    with open("/proc/self/mountinfo") as f:
        return [line for line in f if " /mnt/workspace " in line]


def needs_fuse():
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        skip("there is no /dev/fuse")


def test_a_workspace_in_the_file_is_there_for_the_next_run(home):
    needs_fuse()
    sup = Supervisor(home)
    before = mounts()
    w = Worker(sup, "exec", {"shell": "mkdir d && echo inside > d/f && pwd"},
               workspace_mode="vfs-only", workspace=None)
    ok(w)
    assert w.events("output")[-1][1]["text"] == "/mnt/workspace"
    again = Worker(sup, "exec", {"shell": "cat d/f; grep -c fuse /proc/mounts"},
                   n=2, workspace_mode="vfs-only", workspace=None)
    ok(again)
    assert "inside" in [b["text"] for _, b in w.events("output")]
    assert mounts() == before, "the host saw the mount"
    assert marked(w.db) == [], marked(w.db)


def test_a_scratch_workspace_leaves_the_host_as_it_is(home):
    needs_fuse()
    base = home.dir / "base"
    base.mkdir()
    (base / "old").write_text("host\n")
    w = Worker(Supervisor(home), "exec",
               {"shell": "cat old; echo changed > old; echo new > new; ls"},
               workspace_mode="vfs-scratch", workspace=str(base))
    ok(w)
    assert [b["text"] for _, b in w.events("output")] == ["host", "new", "old"]
    assert (base / "old").read_text() == "host\n"
    assert sorted(os.listdir(base)) == ["old"]


def test_a_run_on_a_mount_can_be_cancelled_and_keeps_what_it_wrote(home):
    needs_fuse()
    sup = Supervisor(home)
    word = "mounted-%d" % os.getpid()
    more = dict(workspace_mode="vfs-only", workspace=None)
    w = Worker(sup, "exec", {"command": [
        "python3", "-c", "open('kept','w').write('x')\n" + STUBBORN, word]},
        **more)
    eventually(lambda: w.has("output", 2))
    sup.command(w.run, type="cancel", id=1, reason="x", grace_ms=200)
    m = w.finished()
    assert m["outcome"] == "cancelled", m
    assert marked(word) == [] and marked(w.db) == []
    again = Worker(sup, "exec", {"command": ["cat", "kept"]}, n=2, **more)
    ok(again)
    assert again.events("output")[-1][1]["text"] == "x"


def test_a_paused_run_on_a_mount_goes_on(home):
    needs_fuse()
    sup = Supervisor(home)
    w = Worker(sup, "exec", {"shell":
        "for i in 1 2 3 4 5 6 7 8 9 10; do echo $i >> f; sleep 0.05; done; "
        "wc -l < f"}, workspace_mode="vfs-only", workspace=None)
    sup.wait("ready")
    eventually(lambda: w.has("run_started"))
    sup.command(w.run, type="pause", id=1)
    sup.wait("applied", id=1)
    time.sleep(0.2)
    sup.command(w.run, type="resume", id=2)
    ok(w)
    assert w.events("output")[-1][1]["text"] == "10"


def test_a_killed_worker_leaves_no_mount_and_no_process(home):
    needs_fuse()
    sup = Supervisor(home)
    before = mounts()
    w = Worker(sup, "exec", {"shell": "echo up; sleep 60"},
               workspace_mode="vfs-only", workspace=None)
    eventually(lambda: w.has("output"))
    w.process.kill()
    w.process.wait()
    eventually(lambda: marked(w.db) == [], what="the end of the mount")
    assert mounts() == before


def test_a_scratch_workspace_needs_a_directory_below(home):
    failed(Worker(Supervisor(home), "exec", {"command": ["true"]},
                  workspace_mode="vfs-scratch", workspace=None), "workspace",
           "needs a lower directory")


# A world of its own whose /dev has what every program needs, and no more.
NO_FUSE = r"""
set -eu
mount --make-rprivate /
mount -t tmpfs none /dev
mknod -m 666 /dev/null c 1 3; mknod -m 666 /dev/urandom c 1 9
exec "$@"
"""


def test_without_fuse_a_run_says_so_at_once_and_others_work(home):
    if os.geteuid() != 0:
        skip("hiding /dev/fuse needs root")
    sup = Supervisor(home)
    below = home.dir / "below"
    below.mkdir()
    under = ("unshare", "-m", "sh", "-c", NO_FUSE, "sh")
    n = 0
    for mode, path in (("vfs-only", None), ("vfs-scratch", str(below))):
        more = dict(workspace_mode=mode, workspace=path, under=under)
        for driver, config in (("exec", {"shell": "echo ran > ran"}),
                               ("acp", {"command": ["touch", "ran"]})):
            n += 1
            w = Worker(sup, driver, config, n=n, **more)
            failed(w, "workspace", "/dev/fuse")
        n += 1
        ok(Worker(sup, "script", {"steps": []}, n=n, **more))
    ok(Worker(sup, "exec", {"shell": "echo here"}, n=n + 1, under=under))
    assert not os.listdir(below) and not (home.dir / "ran").exists()


def test_what_a_run_must_leave_behind_is_taken_from_the_mount(home):
    needs_fuse()
    w = Worker(Supervisor(home), "exec", {"shell": "echo text > report.md"},
               workspace_mode="vfs-only", workspace=None,
               artifacts={"required": ["report.md"]})
    ok(w)
    assert home.query(w.db, "SELECT count(*) FROM artifact") == [(1,)]


def test_a_file_that_must_be_left_behind_and_is_not_fails_the_run(home):
    needs_fuse()
    w = Worker(Supervisor(home), "exec", {"shell": "true"},
               workspace_mode="vfs-only", workspace=None,
               artifacts={"required": ["report.md"]})
    failed(w, "artifact_missing", "report.md")
