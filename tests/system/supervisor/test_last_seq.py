"""run.last_seq is the run's last event, whichever process wrote it."""
import os
import signal

import lib
import skepd_lib


def check(host, run, agent):
    row = host.until(run)
    events = host.events(agent, run)
    assert events[-1][1] == "run_finished", events
    assert row["last_seq"] == events[-1][0], (row["last_seq"], events[-1])
    return row


def test_the_end_that_skepd_writes_counts(home):
    host = skepd_lib.Host(home).start()
    host.script("a", {"event": {"type": "note"}, "repeat": 20},
                {"crash": "now"})
    for attempts in (1, 2):
        run = host.submit("a", max_attempts=attempts)
        assert check(host, run, "a")["state"] == "failed"
    assert host.down() == 0


def test_the_end_that_is_found_in_the_file_counts(home):
    bin_dir = skepd_lib.faults_bin("kill")
    if not bin_dir:
        lib.skip("no build with fault points")
    host = skepd_lib.Host(home, bin_dir=bin_dir).start(
        fault="skep-worker/worker_ended:kill")
    host.script("a", {"event": {"type": "note"}, "repeat": 20})
    row = check(host, host.submit("a"), "a")
    assert (row["state"], row["attempt"]) == ("succeeded", 1), row
    host.kill()


def test_an_end_that_a_heartbeat_told_counts(home):
    """The worker dies between its last heartbeat and the report of its end."""
    bin_dir = skepd_lib.faults_bin("kill")
    if not bin_dir:
        lib.skip("no build with fault points")
    host = skepd_lib.Host(home, bin_dir=bin_dir,
                          config={"run": {"heartbeat": "100ms"}})
    host.start(fault="skep-worker/worker_ended:stall")
    host.script("a", {"event": {"type": "note"}, "repeat": 20})
    run = host.submit("a")

    def is_reported():
        items = host.call("GET", "/v1/active")["items"]
        events = host.events("a", run)
        return items and events and events[-1][1] == "run_finished" and \
            items[0]["events"] == events[-1][0]
    lib.eventually(is_reported, what="a heartbeat with the last event")
    os.kill(host.row(run)["pid"], signal.SIGKILL)
    assert check(host, run, "a")["state"] == "succeeded"
    host.kill()
