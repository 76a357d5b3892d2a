"""skep-worker: commands from its supervisor, and life without one."""
import os
import signal
import time

from lib import HANG, eventually
from worker_lib import (STUBBORN, Supervisor, Worker, failed, marked, ok)


# -- cancel, pause, steer, ask

def test_a_cancel_ends_a_sleeping_script_at_once(home):
    sup = Supervisor(home)
    w = Worker(sup, "script", {"steps": [{"sleep_ms": 3600000}]})
    sup.wait("ready")
    sup.wait("event")
    sup.command(w.run, type="cancel", id=1, reason="enough", grace_ms=3600000)
    m = w.finished()
    assert (m["outcome"], m["reason"], m["detail"]) == (
        "cancelled", "cancelled", "enough"), m
    assert w.events()[-1][0] == "cancelled"
    assert w.status_row() == ("cancelled", "cancelled")


def test_a_cancel_that_comes_too_late_changes_nothing(home):
    sup = Supervisor(home)
    w = Worker(sup, "script", {"steps": []})
    sup.command(w.run, type="cancel", id=1, reason="late", grace_ms=100)
    m = w.finished()
    assert m["outcome"] in ("succeeded", "cancelled"), m
    assert w.status_row()[0] == m["outcome"]


def test_a_polite_command_has_time_for_last_words(home):
    sup = Supervisor(home)
    w = Worker(sup, "exec", {"shell":
        "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done"})
    eventually(lambda: w.has("output"))
    sup.command(w.run, type="cancel", id=1, reason="x", grace_ms=5000)
    m = w.finished()
    assert m["outcome"] == "cancelled", m
    assert [b["text"] for _, b in w.events("output")] == ["up", "bye"]


def test_a_stubborn_tree_is_gone_before_cancelled_is_written(home):
    sup = Supervisor(home)
    word = "stubborn-%d" % os.getpid()
    w = Worker(sup, "exec", {"command": ["python3", "-c", STUBBORN, word]})
    eventually(lambda: w.has("output", 2))
    assert len(marked(word)) == 2, marked(word)
    began = time.monotonic()
    sup.command(w.run, type="cancel", id=1, reason="x", grace_ms=300)
    m = sup.wait("finished")
    left = marked(word)
    assert left == [], left
    assert m["outcome"] == "cancelled", m
    assert m["at"] - began >= 0.3, m["at"] - began
    w.process.wait(HANG)


def test_what_a_command_leaves_behind_is_ended_with_it(home):
    word = "left-%d" % os.getpid()
    w = Worker(Supervisor(home), "exec", {"command": [
        "python3", "-c", STUBBORN.replace('print("up", flush=True)', "os._exit(0)"),
        word]}, grace_ms=100)
    ok(w)
    assert marked(word) == [], marked(word)


def test_a_pause_stops_the_tree_and_resume_lets_it_go_on(home):
    sup = Supervisor(home)
    word = "paused-%d" % os.getpid()
    w = Worker(sup, "exec", {"command": [
        "python3", "-c", "import time\nfor i in range(40):\n"
        " print(i, flush=True); time.sleep(0.05)", word]})
    eventually(lambda: w.has("output"))
    sup.command(w.run, type="pause", id=1)
    sup.wait("applied", id=1)
    eventually(lambda: [s for _, s in marked(word)] == ["T"])
    sup.wait("heartbeat", phase="paused")
    before = len(w.events("output"))
    time.sleep(0.4)
    assert len(w.events("output")) <= before + 1
    sup.command(w.run, type="resume", id=2)
    sup.wait("applied", id=2)
    ok(w)
    assert len(w.events("output")) == 40


def test_a_paused_run_can_be_cancelled(home):
    sup = Supervisor(home)
    w = Worker(sup, "exec", {"shell": "sleep 600"})
    sup.wait("ready")
    sup.command(w.run, type="pause", id=1)
    sup.wait("applied", id=1)
    sup.command(w.run, type="cancel", id=2, reason="x", grace_ms=600000)
    m = w.finished()
    assert m["outcome"] == "cancelled", m


def test_a_script_pauses_between_its_steps(home):
    sup = Supervisor(home)
    w = Worker(sup, "script", {"steps": [
        {"event": {"type": "note"}, "repeat": 100, "every_ms": 20}]})
    sup.wait("ready")
    sup.command(w.run, type="pause", id=1)
    sup.wait("applied", id=1)
    before = len(w.events("note"))
    time.sleep(0.3)
    assert len(w.events("note")) == before < 100
    sup.command(w.run, type="resume", id=2)
    ok(w)
    assert len(w.events("note")) == 100


def test_a_message_reaches_the_command_and_the_transcript_once(home):
    sup = Supervisor(home)
    w = Worker(sup, "exec", {"command": [
        "python3", "-c", "import sys,json\nsys.stdin.readline()\n"
        "m=json.loads(sys.stdin.readline())\nprint('got', m['text'])"]})
    sup.wait("ready")
    sup.command(w.run, type="message", id=5, text="look left", by="me")
    applied = sup.wait("applied")
    assert applied["id"] == 5 and "refusal" not in applied
    ok(w)
    assert w.events("steer") == [("steer", {"text": "look left", "by": "me"})]
    assert w.events("output")[-1][1]["text"] == "got look left"


def test_messages_of_every_length_are_kept_as_they_are(home):
    sup = Supervisor(home)
    w = Worker(sup, "exec", {"command": [
        "python3", "-c", "import sys\nfor i in range(301):\n"
        "    sys.stdin.readline()"]})
    sup.wait("ready")
    texts = ["x" * n for n in range(1, 301)]
    for i, text in enumerate(texts):
        sup.command(w.run, type="message", id=i + 1, text=text)
        sup.wait("applied", id=i + 1)
    ok(w)
    assert [b["text"] for _, b in w.events("steer")] == texts


def test_a_command_that_reads_nothing_refuses_messages(home):
    sup = Supervisor(home)
    w = Worker(sup, "exec", {"shell": "sleep 1", "stdin": "none"})
    sup.wait("ready")
    sup.command(w.run, type="message", id=5, text="hello?")
    assert "does not read" in sup.wait("applied")["refusal"]
    ok(w)
    assert w.events("steer") == []


def test_an_answer_lets_a_script_go_on(home):
    sup = Supervisor(home)
    w = Worker(sup, "script", {"steps": [
        {"ask": {"key": "k1", "title": "may I?", "detail": {"path": "/x"}}},
        {"event": {"type": "note"}}]})
    q = sup.wait("approval")
    assert (q["key"], q["title"], q["detail"]) == ("k1", "may I?",
                                                   {"path": "/x"})
    sup.wait("heartbeat", phase="waiting")
    sup.command(w.run, type="answer", id=1, key="k1", decision="allow", by="me")
    ok(w)
    assert [b["state"] for _, b in w.events("approval")] == ["asked", "answered"]
    assert len(w.events("note")) == 1


def test_a_denial_ends_a_script(home):
    sup = Supervisor(home)
    w = Worker(sup, "script", {"steps": [{"ask": {"key": "k", "title": "t"}}]})
    sup.wait("approval")
    sup.command(w.run, type="answer", id=1, key="k", decision="deny")
    failed(w, "denied")


def test_a_question_is_asked_again_by_the_next_attempt_and_answered_once(home):
    sup = Supervisor(home)
    steps = {"steps": [{"ask": {"key": "k", "title": "t"}}]}
    w = Worker(sup, "script", steps)
    sup.wait("approval")
    w.process.kill()
    w.process.wait()
    again = Worker(sup, "script", steps, attempt=2)
    sup.wait("approval", attempt=2)
    sup.command(w.run, type="answer", id=1, key="k", decision="allow")
    ok(again)
    assert [b["state"] for _, b in w.events("approval")] == ["asked", "answered"]


def test_a_command_may_ask_too(home):
    sup = Supervisor(home)
    w = Worker(sup, "exec", {"command": [
        "python3", "-c", "import sys,json\nsys.stdin.readline()\n"
        "print(json.dumps({'type':'approval','key':'q','title':'sure?'}),"
        "flush=True)\nprint(json.loads(sys.stdin.readline())['decision'])"]})
    sup.wait("approval", key="q")
    sup.command(w.run, type="answer", id=1, key="q", decision="deny")
    ok(w)
    assert w.events("output")[-1][1]["text"] == "deny"


def test_time_limits_end_a_run(home):
    w = Worker(Supervisor(home), "exec", {"shell": "sleep 600"},
               run_timeout_ms=300)
    m = w.finished()
    assert (m["outcome"], m["reason"]) == ("timed_out", "run_timeout"), m


def test_silence_ends_a_run_when_it_is_limited(home):
    w = Worker(Supervisor(home), "exec",
               {"shell": "for i in 1 2 3 4 5; do echo $i; sleep 0.1; done; "
                "sleep 60"}, idle_timeout_ms=2000)
    m = w.finished()
    assert (m["outcome"], m["reason"]) == ("timed_out", "idle_timeout"), m
    assert len(w.events("output")) == 5


def test_sigterm_stops_a_worker_in_order(home):
    sup = Supervisor(home)
    w = Worker(sup, "script", {"steps": [{"sleep_ms": 60000}]})
    sup.wait("ready")
    w.process.send_signal(signal.SIGTERM)
    m = w.finished()
    assert (m["outcome"], m["reason"]) == ("aborted", "stopped"), m
    assert w.status_row() == ("aborted", "stopped")


# -- the supervisor's absence

def test_a_run_survives_its_supervisor(home):
    sup = Supervisor(home)
    w = Worker(sup, "script", {"steps": [
        {"event": {"type": "note"}, "repeat": 150, "every_ms": 20}]})
    sup.wait("ready")
    sup.kill()
    time.sleep(0.3)
    sup.start()
    sup.wait("hello")
    ok(w)
    assert len(w.events("note")) == 150


def test_a_run_ends_well_without_any_supervisor(home):
    sup = Supervisor(home)
    w = Worker(sup, "script", {"steps": [{"sleep_ms": 300}]})
    sup.wait("ready")
    sup.kill()
    assert w.process.wait(HANG) == 0
    assert w.status_row() == ("succeeded", "completed")


def test_a_run_that_must_not_outlive_its_supervisor_stops(home):
    sup = Supervisor(home)
    w = Worker(sup, "exec", {"shell": "sleep 60"}, on_supervisor_loss="stop")
    sup.wait("ready")
    sup.kill()
    assert w.process.wait(HANG) == 0
    assert w.status_row() == ("aborted", "supervisor_lost")


def test_a_refused_worker_leaves_the_transcript_alone(home):
    sup = Supervisor(home)
    sup.send_line("refuse")
    w = Worker(sup, "script", {"steps": [{"sleep_ms": 60000}]})
    w.process.wait(HANG)
    assert w.events()[-1][0] == "run_started"
    assert w.status_row()[0] == "running"


def test_a_silent_supervisor_stops_nobody(home):
    sup = Supervisor(home)
    sup.send_line("silent")
    w = Worker(sup, "script", {"steps": [{"event": {"type": "note"}}]})
    assert w.process.wait(HANG) == 0
    assert w.status_row() == ("succeeded", "completed")


# -- dying at the worst moment

def test_death_at_each_point_is_mended_by_the_next_attempt(home):
    sup = Supervisor(home)
    probe = home.run(home.bin / "skep-worker", "--version")
    assert probe.out.startswith("skep-worker")
    points = ["worker_before_open", "worker_started", "append_before_commit",
              "append_after_commit", "worker_before_end", "worker_ended"]
    for i, point in enumerate(points):
        for how in ("kill", "error"):
            n = 100 + 2 * i + (how == "kill")
            steps = {"steps": [{"event": {"type": "note", "key": "n%d" % n}}]}
            w = Worker(sup, "script", steps, n=n, session="s%d" % n,
                       env={"SKEP_FAULT": "%s:%s" % (point, how)})
            status = w.process.wait(HANG)
            assert how == "error" or status in (-9, 0), (point, status)
            rows = (home.query(w.db, "SELECT status FROM run WHERE run_id=?",
                               w.run) if os.path.exists(w.db) else [])
            if not rows or rows[0][0] == "running":
                again = Worker(sup, "script", steps, n=n, session="s%d" % n,
                               attempt=2)
                assert again.process.wait(HANG) == 0, (point, how)
                assert w.status_row()[0] == "succeeded", (point, how)
            notes = home.query(w.db, "SELECT count(*) FROM event WHERE key=?",
                               "exec:%s:n%d" % (w.run, n))
            assert notes[0][0] <= 1, (point, how, notes)
test_death_at_each_point_is_mended_by_the_next_attempt.seconds = 120
