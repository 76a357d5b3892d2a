"""Preforked workers, which wait for a run. Taken or not, killed or left behind by
whichever process made them: nothing is run twice, and nothing is left."""
import os
import pathlib
import signal
import subprocess
import time

import lib
from sandbox_lib import run_output
from skepd_lib import Host, QUICK, faults_bin, finish, host


def marker(pid):
    try:
        env = pathlib.Path("/proc/%d/environ" % pid).read_bytes()
    except OSError:
        return ""
    for word in env.split(b"\0"):
        if word.startswith(b"SKEP_RUN_ID="):
            return word[12:].decode(errors="replace")
    return ""


def workers(h):
    """{pid: marker} of what lives and was forked in this home."""
    return {p: marker(p) for p in h.home._survivors() if not h.is_zombie(p) and
            pathlib.Path("/proc/%d/comm" % p).read_text() == "skep-worker\n"}


def preforked(h):
    return sorted(p for p, m in workers(h).items() if m.startswith("pre_"))


def await_preforked(h, n=2, but=()):
    def look():
        got = preforked(h)
        return h.call("GET", "/v1/health")["preforked"] == n and \
            len(got) == n and not set(got) & set(but) and got
    return lib.eventually(look, 30, "%d preforked workers" % n)


def cgroups():
    out = subprocess.run(["find", "/sys/fs/cgroup", "-maxdepth", "6", "-name",
                          "skep-*-pre_*"], text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL)
    return set(out.stdout.split())


def spawner(h):
    out = subprocess.run(["pgrep", "-P", str(h.process.pid), "skep-spawner"],
                         text=True, stdout=subprocess.PIPE)
    return int(out.stdout.split()[0])


def notes(n):
    return [{"event": {"type": "note", "text": "n%d" % i}} for i in range(n)]


def check(h, run, n=3):
    row = h.until(run)
    assert row["state"] == "succeeded", (row, h.transitions(run))
    assert h.notes("a", run) == ["n%d" % i for i in range(n)]
    return row


def test_a_run_takes_a_preforked_worker_and_another_is_made(home):
    h = host(home)
    h.script("a", *notes(3), {"sleep_ms": 60000})
    waiting = await_preforked(h)
    run = h.submit("a")
    row = h.until(run, "running")
    assert row["pid"] in waiting, (row, waiting)
    assert marker(row["pid"]) == run
    await_preforked(h, but=[row["pid"]])
    h.cancel(run)
    assert h.until(run)["state"] == "cancelled"
    finish(h)


def prepared(pid):
    """The process that will be init of the sandbox of the run of a preforked worker."""
    out = subprocess.run(["pgrep", "-P", str(pid), "skep-init"], text=True,
                         stdout=subprocess.PIPE)
    return [int(p) for p in out.stdout.split()]


def test_a_preforked_worker_prepares_the_sandbox_of_its_run(home):
    """A command lives in the PID namespace that its preforked worker had made, and with
    none of the descriptors of that worker in init; a run without commands, and one in
    the host's network, leave nothing of it."""
    h = host(home)
    h.script("a", *notes(3))
    h.shell("b", "readlink /proc/self/ns/pid; ls -l /proc/1/fd | wc -l")
    h.shell("c", "echo here; cat /proc/net/dev", network="host")
    spaces = {}
    for pid in await_preforked(h):
        (init,) = lib.eventually(lambda: prepared(pid), 30, "a prepared init")
        spaces[pid] = os.readlink("/proc/%d/ns/pid_for_children" % init)
    row = h.until(h.submit("b"))
    assert row["state"] == "succeeded", row
    output = run_output(h, "b", row["id"])
    assert output.split()[0] in spaces.values(), (output, spaces)
    for agent in "ac":
        await_preforked(h)
        row = h.until(h.submit(agent))
        assert row["state"] == "succeeded", row
    finish(h)


def test_none_are_made_if_none_are_wanted(home):
    h = host(home, prefork=0)
    h.script("a", *notes(3))
    check(h, h.submit("a"))
    assert not preforked(h)
    finish(h)


def test_a_preforked_worker_that_dies_is_replaced(home):
    h = host(home)
    h.script("a", *notes(3))
    dead = await_preforked(h)
    for pid in dead:
        os.kill(pid, signal.SIGKILL)
    check(h, h.submit("a"))
    await_preforked(h, but=dead)
    check(h, h.submit("a"))
    finish(h)


def test_a_preforked_worker_that_dies_with_a_run_costs_no_attempt(home):
    h = host(home, prefork=1)
    h.script("a", *notes(3))
    (pid,) = await_preforked(h, 1)
    os.kill(pid, signal.SIGSTOP)
    run = h.submit("a", max_attempts=1)
    assert h.until(run, "starting")["pid"] == pid
    os.kill(pid, signal.SIGKILL)
    row = check(h, run)
    assert row["attempt"] == 1
    assert ("queued", "spawn_failed") in h.transitions(run), h.transitions(run)
    finish(h)


def test_a_run_that_was_given_to_a_preforked_worker_survives_the_supervisor(home):
    h = host(home, prefork=1, start_timeout="60000ms")
    h.script("a", *notes(3))
    (pid,) = await_preforked(h, 1)
    os.kill(pid, signal.SIGSTOP)
    run = h.submit("a", max_attempts=1)
    h.kill()          # the row is committed, and has the process
    assert h.row(run)["pid"] == pid
    h.start()
    os.kill(pid, signal.SIGCONT)
    row = check(h, run)
    assert row["attempt"] == 1
    assert h.transitions(run)[-1][0] == "succeeded"
    finish(h)


def test_preforked_workers_end_with_the_spawner(home):
    h = host(home)
    h.script("a", *notes(3))
    before = await_preforked(h)
    os.kill(spawner(h), signal.SIGKILL)
    lib.eventually(lambda: not set(before) & set(preforked(h)), 30, "their end")
    check(h, h.submit("a"))
    await_preforked(h, but=before)
    finish(h)


def test_preforked_workers_end_with_the_supervisor(home):
    h = host(home)
    h.script("a", *notes(3), {"sleep_ms": 2000})
    run = h.submit("a", max_attempts=1)
    h.until(run, "running")
    before = await_preforked(h)
    ids = {marker(p) for p in before}
    h.kill()
    lib.eventually(lambda: not preforked(h), 30, "their end")
    h.start()
    assert check(h, run)["attempt"] == 1
    await_preforked(h, but=before)
    lib.eventually(lambda: not [c for c in cgroups() if c[-30:] in ids], 30,
                   "the gc of their cgroups")
    finish(h)


def test_nothing_is_left_after_an_orderly_end(home):
    h = host(home)
    h.script("a", *notes(3))
    ids = {marker(p) for p in await_preforked(h)}
    check(h, h.submit("a"))
    ids |= {marker(p) for p in await_preforked(h)}
    finish(h)
    assert not workers(h)
    assert not [c for c in cgroups() if c[-30:] in ids]


def test_what_does_not_fit_into_a_pipe_starts_all_the_same(home):
    h = host(home)
    h.script("a", *notes(3))
    waiting = await_preforked(h)
    run = h.submit("a", prompt="x" * 200000)
    row = check(h, run)
    assert sorted(preforked(h)) == sorted(waiting)
    assert row["attempt"] == 1
    finish(h)


def test_limits_are_kept_though_preforked_workers_have_none(home):
    h = host(home)
    h.agent("a", config={"steps": notes(3) + [{"sleep_ms": 60000}]},
            limits={"memory": "512MiB"})
    waiting = await_preforked(h)
    run = h.submit("a")
    pid = h.until(run, "running")["pid"]
    groups = pathlib.Path("/proc/%d/cgroup" % pid).read_text()
    if "skep-" not in groups:
        lib.skip("no cgroup can be made here")
    assert pid not in waiting
    h.cancel(run)
    h.until(run)
    finish(h)


def test_stubborn_children_of_a_preforked_worker_are_gone_with_the_run(home):
    for cgroup in ("auto", "off"):
        h = host(home, cgroup=cgroup)
        h.shell("t", "(setsid sh -c 'trap \"\" TERM; sleep 1000 & sleep 1000'"
                " &) ; echo here; sleep 1000")
        waiting = await_preforked(h)
        run = h.submit("t", grace_ms=200)
        pid = h.until(run, "running")["pid"]
        assert pid in waiting
        lib.eventually(lambda: any(k == "output" for _, k, _ in
                                   h.events("t", run)), 30, "its output")
        os.kill(pid, signal.SIGKILL)
        row = h.until(run)
        assert row["state"] == "failed", row
        finish(h)


def test_a_spawner_that_dies_of_preforked_workers_does_not_keep_us_busy(home):
    if not faults_bin():
        lib.skip("no build with fault points")
    h = Host(home, QUICK, faults_bin("kill")).start("skep-spawner/"
                                              "spawner_before_fork:kill")
    time.sleep(1.5)
    lost = h.log().count("spawner ended")
    assert 1 <= lost <= 8, lost
    h.kill()
    h.start()
    h.script("a", *notes(3))
    check(h, h.submit("a"))
    finish(h)
