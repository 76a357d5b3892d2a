"""The end of a run: what is in rows, what only in memory, and that none of it
depends on who lives on."""
import lib
from skepd_lib import Host, QUICK, faults_bin

# no sign of life is expected, and looked for, while a test lasts
CALM = {"run": dict(QUICK["run"], heartbeat="60000ms")}


def starts(h, agent, run):
    return sum(kind == "run_started" for _, kind, _ in h.events(agent, run))


def test_an_end_that_only_memory_had_is_found_in_the_file(home):
    """skepd keeps a worker's last word until the worker is gone: the end is one
    commit. It dies right before that."""
    h = Host(home, bin_dir=faults_bin("kill"))
    h.start(fault="skepd/end_before_verification:kill")
    h.shell("a", "echo done")
    run = h.submit("a", max_attempts=3)
    h.process.wait(lib.HANG)
    assert h.row(run)["state"] in ("starting", "running"), h.row(run)
    h.start()
    row = h.until(run)
    assert row["state"] == "succeeded" and row["attempt"] == 1, row
    assert starts(h, "a", run) == 1
    assert h.down() == 0
    h.check_books()


def test_a_worker_that_has_ended_and_does_not_leave_is_shown(home):
    h = Host(home, CALM, faults_bin("kill"))
    h.start(fault="skep-worker/worker_exiting:stall500")
    h.shell("a", "true")
    run = h.submit("a")
    row = h.until(run, "ending", "succeeded")
    assert row["state"] == "ending", row
    assert h.until(run)["state"] == "succeeded"
    assert [to for to, _ in h.transitions(run)][-2:] == ["ending", "succeeded"]


def test_a_cancel_after_the_last_word_changes_nothing(home):
    h = Host(home, bin_dir=faults_bin("kill"))
    h.start(fault="skep-worker/worker_exiting:stall500")
    h.shell("a", "true")
    run = h.submit("a")
    lib.eventually(lambda: any(kind == "run_finished" for _, kind, _ in
                               h.events("a", run)), 60, "its end")
    h.cancel(run)
    assert h.until(run)["state"] == "succeeded"
    assert h.down() == 0
    h.check_books()


def test_a_slow_disk_leaves_a_cancelled_worker_time_for_its_end(home):
    """The command ignores SIGTERM, so the worker needs all of the grace time, and
    its disk takes longer than SIGKILL would follow."""
    h = Host(home, CALM, faults_bin("kill"))
    h.start(fault="skep-worker/worker_before_end:stall1000")
    h.shell("a", "trap '' TERM; echo up; while :; do sleep 0.1; done")
    run = h.submit("a", grace_ms=1000)
    lib.eventually(lambda: len(h.events("a", run)) > 1, 60, "its output")
    h.cancel(run)
    assert h.until(run)["state"] == "cancelled"
    assert h.events("a", run)[-1][1] == "cancelled", h.events("a", run)
    assert h.down() == 0
    h.check_books()
