"""The supervisor and its runs: what they do when nothing goes wrong."""
import os
import pathlib
import re
import signal
import subprocess
import time

import lib
from skepd_lib import Host, QUICK, Refused, cgroups_of, finish, host


def notes(n, every=1):
    return [{"event": {"type": "note", "text": "n%d" % i}} for i in range(n)]


def test_a_run_goes_from_the_queue_to_its_end_with_a_row_a_move(home):
    h = host(home)
    h.script("a", *notes(3))
    run = h.submit("a")
    assert h.until(run)["state"] == "succeeded"
    assert h.transitions(run) == [("queued", "accepted"), ("starting", "claimed"),
                            ("running", "hello"), ("ending", "completed"),
                            ("succeeded", "completed")]
    assert h.notes("a", run) == ["n0", "n1", "n2"]
    finish(h)


def test_a_second_skepd_is_refused_and_the_first_goes_on(home):
    h = host(home)
    r = home.run(home.bin / "skepd", code=75)
    assert "running for this home" in r.err, r.err
    assert h.answers()
    finish(h)


def test_a_cancelled_run_ends_and_keeps_what_it_wrote(home):
    h = host(home)
    h.script("a", *notes(2), {"sleep_ms": 600000})
    run = h.submit("a")
    lib.eventually(lambda: h.notes("a", run) == ["n0", "n1"], 30, "two notes")
    assert h.cancel(run)["changed"]
    row = h.until(run)
    assert (row["state"], row["reason"]) == ("cancelled", "cancelled")
    assert not h.cancel(run)["changed"], "twice is harmless"
    assert h.notes("a", run) == ["n0", "n1"]
    finish(h)


def test_a_run_cancelled_in_the_queue_never_starts(home):
    h = host(home, max=1)
    h.script("a", {"sleep_ms": 60000})
    first, second = h.submit("a"), h.submit("a")
    h.until(first, "running")
    h.cancel(second)
    assert h.until(second)["state"] == "cancelled"
    assert [s for s, _ in h.transitions(second)] == ["queued", "cancelled"]
    h.cancel(first)
    h.until(first)
    finish(h)


# Ignores SIGTERM, leaves the session, forgets its environment, forks twice. The
# word in front tells the trees of tests apart.
STUBBORN = ("trap '' TERM; (setsid sh -c \"MARK=1; trap '' TERM; env -i sh -c "
            "'MARK=1; trap : TERM; while :; do sleep 1; done' & "
            "while :; do sleep 1; done\" &) ; "
            "MARK=1; while :; do sleep 1; done")


def children(mark):
    out = subprocess.run(["ps", "-eo", "pid,stat,args"], text=True,
                         stdout=subprocess.PIPE).stdout
    return [line for line in out.splitlines() if mark in line]


def stubborn_tree(home, how, **config):
    h = host(home, **config)
    mark = home.dir.name.replace("-", "_")
    h.shell("a", STUBBORN.replace("MARK", mark))
    run = h.submit("a")
    lib.eventually(lambda: len(children(mark + "=1")) >= 3, 30, "the tree")
    how(h, run)
    row = h.until(run)
    left = children(mark + "=1")
    assert not left, "processes live on: %s" % left
    finish(h)
    return row


def test_a_tree_that_ignores_everything_is_gone_before_cancelled(home):
    row = stubborn_tree(home, lambda h, run: h.cancel(run))
    assert row["state"] == "cancelled"


def test_the_same_without_cgroups(home):
    row = stubborn_tree(home, lambda h, run: h.cancel(run), cgroup="off")
    assert row["state"] == "cancelled"


def kill_worker(h, run):
    os.kill(h.until(run, "running")["pid"], signal.SIGKILL)


def test_a_killed_worker_leaves_no_child_behind(home):
    row = stubborn_tree(home, kill_worker)
    assert (row["state"], row["reason"]) == ("failed", "worker_died")


def test_a_killed_worker_leaves_no_child_behind_without_cgroups(home):
    row = stubborn_tree(home, kill_worker, cgroup="off")
    assert (row["state"], row["reason"]) == ("failed", "worker_died")


def test_a_worker_that_ignores_the_cancel_is_killed_after_its_grace(home):
    h = host(home)
    h.script("a", {"stall": "for ever"})
    run = h.submit("a", grace_ms=300)
    h.until(run, "running")
    time.sleep(0.2)
    began = time.monotonic()
    h.cancel(run)
    assert h.until(run)["state"] == "cancelled"
    assert time.monotonic() - began >= 0.3
    finish(h)


def test_a_killed_worker_is_tried_again(home):
    h = host(home)
    h.script("a", {"crash": "now", "attempts": 1}, *notes(1))
    run = h.submit("a", max_attempts=2)
    row = h.until(run)
    assert (row["state"], row["attempt"]) == ("succeeded", 2), h.transitions(run)
    assert ("queued", "worker_died") in h.transitions(run)
    assert h.notes("a", run) == ["n0"]
    finish(h)


def test_attempts_have_a_limit(home):
    h = host(home)
    h.script("a", {"crash": "always"})
    run = h.submit("a", max_attempts=3)
    row = h.until(run)
    assert (row["state"], row["attempt"]) == ("failed", 3)
    finish(h)


def spawner_of(h):
    out = subprocess.run(["pgrep", "-P", str(h.process.pid), "-f",
                          "skep-spawner"], text=True, stdout=subprocess.PIPE)
    return int(out.stdout.split()[0])


def test_a_run_whose_worker_never_came_costs_no_attempt(home):
    h = host(home, prefork=0)
    h.script("a", *notes(1))
    os.kill(spawner_of(h), signal.SIGSTOP)
    run = h.submit("a", max_attempts=1)
    h.until(run, "starting")
    h.kill()  # between the claim and the start
    h.start()
    row = h.until(run)
    assert (row["state"], row["attempt"]) == ("succeeded", 1), h.transitions(run)
    assert ("queued", "spawn_failed") in h.transitions(run), h.transitions(run)
    finish(h)


def test_what_a_killed_supervisor_left_of_its_runs_is_collected(home):
    h = host(home, prefork=0)
    h.script("a", {"sleep_ms": 1500})
    run = h.submit("a")
    pid = h.until(run, "running")["pid"]
    made = cgroups_of(run)
    if not made:
        lib.skip("no cgroup can be made here")
    h.kill()
    lib.eventually(lambda: h.is_zombie(pid), 30, "its end")
    foreign = os.path.join(os.path.dirname(made[0]), "skep-0-" + run[::-1])
    os.mkdir(foreign)
    home.undo.append(lambda: os.rmdir(foreign))
    # its row says that it is over, as if that had been the last act
    home.execute(home.control, "UPDATE run SET state = 'failed', queue_pos = NULL,"
                 " is_next = 0, pid = NULL, ended_at = 1 WHERE id = ?", run)
    h.start()
    lib.eventually(lambda: not cgroups_of(run), 10, "the gc")
    assert os.path.isdir(foreign), "another home's was taken"
    assert h.down() == 0


def test_a_silent_worker_is_given_up(home):
    h = host(home)
    h.script("a", {"sleep_ms": 60000})
    run = h.submit("a")
    pid = h.until(run, "running")["pid"]
    os.kill(pid, signal.SIGSTOP)
    row = h.until(run)
    assert (row["state"], row["reason"]) == ("failed", "worker_silent")
    finish(h)


def test_a_supervisor_that_stood_still_blames_no_worker(home):
    h = host(home, heartbeat="100ms")
    h.script("a", {"event": {"type": "note", "text": "t"}, "repeat": 30,
                   "every_ms": 100})
    runs = [h.submit("a") for _ in range(4)]
    for run in runs:
        h.until(run, "running")
    h.process.send_signal(signal.SIGSTOP)
    time.sleep(1.2)  # twice the silence that a worker may keep
    h.process.send_signal(signal.SIGCONT)
    for run in runs:
        row = h.until(run)
        assert (row["state"], row["attempt"]) == ("succeeded", 1), h.transitions(run)
    finish(h)


def test_a_message_reaches_a_running_run(home):
    h = host(home)
    h.script("a", {"await_message": True})
    run = h.submit("a")
    h.until(run, "running")
    home.skep("send", run, "hello there")
    assert h.until(run)["state"] == "succeeded"
    assert "hello there" in str(h.events("a", run))
    home.refused(65, "send", run, "too late")
    finish(h)


def test_a_paused_run_stands_still_until_it_is_resumed(home):
    h = host(home)
    h.script("a", {"event": {"type": "note", "text": "t"}, "repeat": 100,
                   "every_ms": 25})
    run = h.submit("a")
    lib.eventually(lambda: len(h.notes("a", run)) > 2, 30, "some notes")
    home.skep("pause", run)
    h.until(run, "paused")
    lib.eventually(lambda: home.query(
        home.control, "SELECT 1 FROM run_command WHERE verb = 'pause' AND"
        " done_at IS NOT NULL"), 30, "the pause")
    seen = len(h.notes("a", run))
    time.sleep(0.4)
    assert len(h.notes("a", run)) == seen < 100
    home.skep("resume", run)
    assert h.until(run)["state"] == "succeeded"
    assert len(h.notes("a", run)) == 100
    finish(h)


def approval(h, run):
    def find():
        items = h.call("GET", "/v1/approvals?state=open&run=" + run)["items"]
        return items and items[0]["id"]
    return lib.eventually(find, 30, "a question")


def test_an_answer_counts_once_and_survives_restarts_of_both(home):
    h = host(home)
    h.script("a", {"ask": {"key": "k", "title": "may I?"}}, *notes(1))
    run = h.submit("a", max_attempts=3)
    which = approval(h, run)
    h.kill()
    os.kill(h.row(run)["pid"], signal.SIGKILL)
    h.start()
    home.skep("approval", "allow", which)
    home.refused(65, "approval", "deny", which)
    row = h.until(run)
    assert row["state"] == "succeeded"
    assert h.notes("a", run) == ["n0"]
    assert home.query(home.control, "SELECT count(*), min(state) FROM approval"
                      ) == [(1, "allowed")]
    finish(h)


def test_a_question_that_nobody_answers_takes_its_fallback(home):
    h = host(home)
    h.script("a", {"ask": {"key": "k", "title": "?", "timeout_ms": 200,
                           "fallback": "deny"}})
    h.script("b", {"ask": {"key": "k", "title": "?", "timeout_ms": 200,
                           "fallback": "allow"}})
    one, two = h.submit("a"), h.submit("b")
    assert h.until(one)["reason"] == "denied"
    assert h.until(two)["state"] == "succeeded"
    finish(h)


def test_a_retry_is_a_new_run_with_the_same_input(home):
    h = host(home)
    h.script("a", {"fail": "no"})
    run = h.submit("a", "the prompt")
    assert h.until(run)["state"] == "failed"
    again = h.call("POST", "/v1/runs/%s/retry" % run)["id"]
    assert again != run and h.until(again)["retry_of"] == run
    finish(h)


def test_an_edited_prompt_is_seen_by_the_next_run(home):
    h = host(home)
    where = home.path / "agents" / "f"
    where.mkdir(parents=True)
    (where / "agent.json").write_text('{"driver": "script"}')
    one = h.until(h.submit("f"))
    (where / "prompt.md").write_text("be brief")
    two = h.until(h.submit("f"))
    assert two["agent_version"] == one["agent_version"] + 1
    (where / "agent.json").write_text("{ broken")
    try:
        h.submit("f")
        raise AssertionError("a broken definition was taken")
    except Refused as e:
        assert "agent.json" in str(e)
    finish(h)


def test_down_waits_for_runs_and_down_now_lets_them_run_again(home):
    h = host(home)
    h.script("a", {"sleep_ms": 1000})
    run = h.submit("a")
    h.until(run, "running")
    home.skep("down")
    assert h.row(run)["state"] == "succeeded"
    h.process.wait()
    h.start()
    h.script("a", {"sleep_ms": 60000, "attempts": 1}, *notes(1))
    run = h.submit("a")
    h.until(run, "running")
    home.skep("down", "--now")
    assert h.row(run)["state"] == "queued"
    h.process.wait()
    h.start()
    row = h.until(run)
    assert (row["state"], row["attempt"]) == ("succeeded", 2), h.transitions(run)
    finish(h)


def test_a_planned_restart_lets_runs_go_on(home):
    home.skep("up")
    h = Host(home)
    h.script("a", {"sleep_ms": 1500}, *notes(1))
    run = h.submit("a")
    pid = h.until(run, "running")["pid"]
    home.skep("restart")
    row = h.until(run)
    assert (row["state"], row["attempt"]) == ("succeeded", 1), h.transitions(run)
    assert pid and h.notes("a", run) == ["n0"]
    assert home.query(home.control, "SELECT count(*) FROM shutdown_intent") == [(0,)]
    home.skep("down")
    h.check_books()


def phase(home, run):
    return {r["id"]: r["phase"]
            for r in home.skep("ps", "--json").lines}.get(run)


def test_ps_tells_an_adopted_run_from_one_that_starts(home):
    h = host(home)
    h.script("a", {"sleep_ms": 60000})
    run = h.submit("a")
    pid = h.until(run, "running")["pid"]
    title = pathlib.Path("/proc/%d/cmdline" % pid).read_bytes()
    assert title.rstrip(b"\0") == b"skep-worker " + run.encode(), title
    os.kill(pid, signal.SIGSTOP)  # nothing is heard of it
    h.kill()
    h.start()
    assert phase(home, run) == "adopted"
    os.kill(pid, signal.SIGCONT)
    lib.eventually(lambda: phase(home, run) == "running", what="its hello")
    h.cancel(run)
    h.until(run, "cancelled")
    finish(h)


def worked(pid):
    """Seconds for which its threads had a processor."""
    return sum(int(path.read_text().split()[0]) for path in
               pathlib.Path("/proc/%d/task" % pid).glob("*/schedstat")) / 1e9


def test_ready_does_not_depend_on_the_number_of_agents(home):
    h = host(home)
    h.down()
    rows = ("INSERT INTO agent (name, driver, version, digest, source,"
            " created_at, updated_at) WITH RECURSIVE n(i) AS (SELECT 1 UNION"
            " ALL SELECT i + 1 FROM n WHERE i < 10000) SELECT 'agent' || i,"
            " 'script', 1, 'd', 'command', 0, 0 FROM n")
    home.execute(home.control, rows)
    took = []
    while len(took) < 20 and (not took or min(took) > 0.05):
        h.start(wait=False)
        while not (home.path / "run" / "skep.sock").exists():
            time.sleep(0.001)
        took.append(worked(h.process.pid))
        lib.eventually(h.answers, 30, "an answer")
        h.down()
    assert min(took) <= 0.05, took


def test_after_a_restart_of_the_machine_active_runs_are_settled_once(home):
    h = host(home)
    h.script("a", {"sleep_ms": 60000, "attempts": 1}, *notes(1))
    once = h.submit("a")
    again = h.submit("a", max_attempts=2)
    pids = [h.until(r, "running")["pid"] for r in (once, again)]
    h.kill()
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    # another boot, and a pid that another process has now
    home.execute(home.control, "UPDATE run SET boot_id = 'another boot', pid = ?"
                 " WHERE pid IS NOT NULL", os.getpid())
    h.start()
    row = h.until(once)
    assert (row["state"], row["reason"]) == ("failed", "host_restarted")
    row = h.until(again)
    assert (row["state"], row["attempt"]) == ("succeeded", 2)
    finish(h)


def test_a_pid_that_was_used_again_is_left_alone(home):
    h = host(home)
    h.script("a", {"sleep_ms": 60000})
    run = h.submit("a")
    pid = h.until(run, "running")["pid"]
    h.kill()
    os.kill(pid, signal.SIGKILL)
    innocent = home.start("sleep", "60")
    home.execute(home.control, "UPDATE run SET pid = ? WHERE id = ?",
                 innocent.pid, run)
    h.start()
    assert h.until(run)["state"] == "failed"
    assert innocent.poll() is None, "it was killed"
    innocent.kill()
    innocent.wait()
    finish(h)


def test_the_supervisor_stays_small(home):
    """Memory of its own: the pages of programs and libraries are shared."""
    h = host(home, per_agent=100)
    h.script("a", {"sleep_ms": 60000})
    runs = [h.submit("a") for _ in range(50)]
    for run in runs:
        h.until(run, "running")

    def kb():
        with open("/proc/%d/status" % h.process.pid) as f:
            return next(int(line.split()[1]) for line in f
                        if line.startswith("RssAnon"))
    print(kb(), "KB")
    lib.eventually(lambda: kb() < 5000, 30, "a small supervisor")
    for run in runs:
        h.cancel(run)
    for run in runs:
        h.until(run)
    finish(h)


def test_a_system_prompt_is_in_the_session_once(home):
    h = host(home)

    def systems():
        return [b["content"] for _, kind, b in h.events("a") if kind == "system"]

    def run(**more):
        return h.until(h.submit("a", session="s", **more))["state"]
    h.script("a", *notes(1), prompt="be kind")
    assert run() == run() == "succeeded"
    assert systems() == ["be kind"]
    assert h.events("a")[0][1] == "system", "before what is said under it"
    h.script("a", *notes(1), prompt="be brief")
    run()
    run()
    assert systems() == ["be kind", "be brief"]
    (seq, digest), = home.query(home.agent_db("a"), "SELECT system_seq, "
                                "system_digest FROM session WHERE key = 's'")
    assert [k for s, k, _ in h.events("a") if s == seq] == ["system"]
    assert len(digest) == 64
    finish(h)


def test_no_state_is_kept_in_loose_files(home):
    h = host(home)
    h.shell("a", "echo hi > file; echo done")
    h.until(h.submit("a", session="s"))
    home.skep("session", "fork", "s", "f", "--agent", "a")
    home.skep("session", "rewind", "s", "1", "--agent", "a")
    home.skep("session", "search", "hi", "--agent", "a")
    home.skep("artifact", "put", "-", "n", "--owner", "o", "--agent", "a",
              input="x")
    home.skep("vfs", "put", "a", "f", input="text")
    home.skep("snapshot", "create", "a", "one")
    finish(h)
    kinds = re.compile(r"skep\.json|(state/skep|agents/[a-z]+/agent)\.sqlite"
                       r"(\.turn|-wal|-shm)?|agents/a/workspace/file|state/reserve|"
                       r"(logs|run|credentials|backups)/.*")
    for path in home.path.rglob("*"):
        name = str(path.relative_to(home.path))
        assert path.is_dir() or kinds.fullmatch(name), name


def test_the_service_manager_hears_ready_watchdog_and_stopping(home):
    import socket
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    where = str(home.dir / "notify")
    s.bind(where)
    s.settimeout(30)
    h = Host(home, QUICK, env={"NOTIFY_SOCKET": where}).start()
    assert s.recv(100) == b"READY=1"
    assert s.recv(100) == b"WATCHDOG=1"
    assert h.down() == 0
    words = [b"WATCHDOG=1"]
    while words[-1] == b"WATCHDOG=1":
        words.append(s.recv(100))
    assert words[-1] == b"STOPPING=1"


def test_commands_show_what_runs_and_what_ran(home):
    home.skep("up")
    h = Host(home)
    h.script("a", *notes(2), {"sleep_ms": 60000})
    run = home.skep("run", "a", "do it", "--tag", "t1", "-d", "--json").json["id"]
    h.until(run, "running")
    lib.eventually(lambda: h.notes("a", run) == ["n0", "n1"], 10, "two notes")
    live = home.skep("ps", "--json").lines
    assert [r["id"] for r in live] == [run] and live[0]["rss"] > 0, live
    assert run in home.skep("ps").out and run in home.skep("top").out
    assert home.skep("status", "--json").json["active"] == 1
    assert [r["id"] for r in home.skep("ps", "--tag", "t1", "--json").lines] == [run]
    assert "n1" in home.skep("logs", run, "-v").out
    home.skep("cancel", run, "--reason", "enough", "--wait")
    shown = home.skep("show", run, "--json").lines
    assert shown[0]["state"] == "cancelled"
    assert [m["to_state"] for m in shown if "to_state" in m][-1] == "cancelled"
    assert [c["verb"] for c in shown if "verb" in c] == ["cancel"]
    h.script("f", {"fail": "no"})
    home.refused(1, "run", "f", "x", "--wait")
    h.script("g", *notes(1))
    r = home.skep("run", "g", "-", "--follow", input="from stdin")
    assert "from stdin" in r.out and "n0" in r.out
    home.refused(66, "show", "run_01m7hacksgm7kbnv5fgxnqmyhd")
    home.refused(66, "cancel", "nonsense")
    home.skep("down")
    home.refused(69, "status")
    home.refused(69, "run", "a", "x")
    assert run in home.skep("ps", "--all").out
    h.check_books()


def test_the_registry_knows_the_size_of_a_file_while_skepd_runs(home):
    h = Host(home).start()
    h.script("a", {"event": {"type": "note", "body": {"text": "x" * 100000}}},
             {"event": {"type": "note", "body": {"text": "y" * 100000}}})
    def row():
        return home.query(home.control, "SELECT bytes + wal_bytes, last_seen_at"
                          " FROM agent_database WHERE agent = 'a'")[0]
    h.until(h.submit("a"))
    before = row()
    for _ in range(3):
        h.until(h.submit("a"))
    after = row()
    assert after[0] > before[0] and after[1] > before[1], (before, after)
    finish(h)
