"""skep-worker with a supervisor that the test plays."""
import os
import signal
import time

from lib import eventually
from worker_lib import Supervisor, Worker, marked

STUBBORN = r"""
import os, signal, sys, time
def stubborn():
    for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(s, signal.SIG_IGN)
stubborn()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        stubborn()
        print("deep", flush=True)
        while True: time.sleep(1)
    os._exit(0)
os.wait()
print("up", flush=True)
while True: time.sleep(1)
"""


def sh(home, text, **more):
    return Worker(Supervisor(home), "exec", {"shell": text, **more})


def ok(w):
    m = w.finished()
    assert m["outcome"] == "succeeded" and m["reason"] == "completed", m
    assert w.status == 0
    assert w.status_row() == ("succeeded", "completed"), w.status_row()
    return m


def failed(w, reason, detail=""):
    m = w.finished()
    assert (m["outcome"], m["reason"]) == ("failed", reason), m
    assert detail in m.get("detail", ""), m
    assert w.status == 0
    assert w.status_row() == ("failed", reason), w.status_row()
    assert w.events()[-1][0] == "run_finished"
    return m


# -- the straight line

def test_a_script_runs_from_hello_to_finished(home):
    sup = Supervisor(home)
    w = Worker(sup, "script", {"steps": [
        {"event": {"type": "note", "x": 1}, "repeat": 3},
        {"usage": {"input_tokens": 5, "output_tokens": 7, "cost_micros": 9}},
        {"outbox": {"key": "k", "target": {"channel": "c"}, "body": {"t": 1}}},
        {"text": "hello wörld", "chunks": 3},
        {"tool": {"name": "calc", "input": {"a": 1}, "output": {"b": 2}}}]})
    hello = sup.wait("hello")
    assert hello["pid"] == w.process.pid and hello["token"] == "secret"
    m = ok(w)
    kinds = [t for t, _ in w.events()]
    assert kinds == ["message", "run_started", "note", "note", "note", "usage",
                     "message", "message", "message", "run_finished"], kinds
    assert m["seq"] == len(kinds)
    parts = home.query(w.db, "SELECT kind, state, text, input, output FROM part "
                       "ORDER BY pos")
    assert parts == [("text", "done", "hello wörld", None, None),
                     ("tool", "done", "", '{"a":1}', '{"b":2}')], parts
    heard = [m["type"] for m in sup.heard]
    assert "event" in heard and "usage" in heard and "outbox" in heard, heard
    assert home.query(w.db, "SELECT target FROM outbox") == [
        ('{"channel":"c"}',)]


def test_the_prompt_is_committed_once_over_attempts(home):
    sup = Supervisor(home)
    steps = {"steps": [{"event": {"type": "note", "key": "n1"}},
                       {"tool": {"name": "slow"}, "ms": 60000, "attempts": 1}]}
    w = Worker(sup, "script", steps)
    eventually(lambda: w.has("note") and
               home.query(w.db, "SELECT 1 FROM part WHERE state='running'"))
    w.process.kill()
    w.process.wait()
    again = Worker(sup, "script", steps, attempt=2)
    ok(again)
    kinds = [t for t, _ in w.events()]
    assert kinds == ["message", "run_started", "note", "message", "run_started",
                     "run_finished"], kinds
    parts = home.query(w.db, "SELECT state, output FROM part")
    assert parts[0][0] == "aborted" and "died" in parts[0][1], parts


def test_an_attempt_that_was_replaced_writes_nothing_more(home):
    sup = Supervisor(home)
    w = Worker(sup, "script", {"steps": [
        {"event": {"type": "note"}, "repeat": 100000, "every_ms": 10}]})
    sup.wait("event")
    new = Worker(sup, "script", {"steps": [{"sleep_ms": 50}]}, attempt=2)
    m = sup.wait("finished", attempt=1)
    assert m["reason"] == "stale", m
    w.process.wait(5)
    m = sup.wait("finished", attempt=2)
    assert m["outcome"] == "succeeded", m
    new.process.wait(5)
    assert w.events()[-1][0] == "run_finished"


def test_a_script_may_fail_and_a_bad_one_says_where(home):
    failed(Worker(Supervisor(home), "script", {"steps": [{"fail": "no"}]}),
           "script_failed", "no")


def test_a_bad_script_says_which_step(home):
    failed(Worker(Supervisor(home), "script", {"steps": [
        {"sleep_ms": 0}, {"dance": 1}]}), "bad_config", "step 2")


def test_an_unknown_driver_names_those_there_are(home):
    failed(Worker(Supervisor(home), "teleport"), "bad_config", "script exec")


def test_an_agent_file_of_another_agent_is_not_touched(home):
    sup = Supervisor(home)
    ok(Worker(sup, "script", {"steps": []}))
    w = Worker(sup, "script", {"steps": []}, n=2, agent="b")
    m = w.finished()
    assert m["outcome"] == "failed" and w.status != 0, m


def test_a_missing_agent_file_is_not_made_when_it_should_be_there(home):
    sup = Supervisor(home)
    w = Worker(sup, "script", {"steps": []}, schema_version=1)
    m = w.finished()
    assert m["reason"] == "database" and w.status != 0, m
    assert not os.path.exists(w.db)


def test_a_start_that_is_not_one_is_refused(home):
    for text in ("", "{}", "rubbish", '{"type":"pause","id":1}'):
        r = home.run(home.bin / "skep-worker", input=text, code=None)
        assert r.code not in (0, -11, -6) and "cannot start" in r.err, r.err


# -- exec

def test_lines_of_a_command_become_events(home):
    w = sh(home, """echo plain; echo '{"type":"note","n":1}'; echo oops >&2
        echo '{"type":"usage","input_tokens":3,"output_tokens":4}'
        echo '{"no":"type"}'; printf 'no newline'""")
    ok(w)
    got = [(t, b) for t, b in w.events() if t in ("output", "stderr", "note",
                                                  "usage")]
    assert sorted(map(str, got)) == sorted(map(str, [
        ("output", {"text": "plain"}), ("note", {"n": 1}),
        ("stderr", {"text": "oops"}),
        ("usage", {"input_tokens": 3, "output_tokens": 4}),
        ("output", {"text": '{"no":"type"}'}),
        ("output", {"text": "no newline"})])), got


def test_a_command_gets_its_prompt_and_what_was_allowed(home):
    sup = Supervisor(home)
    ok(Worker(sup, "script", {"steps": [
        {"event": {"type": "message", "role": "assistant", "content": "old"}}]},
        n=7, prompt="first"))
    w = Worker(sup, "exec", {
        "command": ["python3", "-c",
                    "import json,os,sys\n"
                    "p=json.loads(sys.stdin.readline())\n"
                    "print(json.dumps({'type':'note','p':p,"
                    "'env':dict(os.environ),'cwd':os.getcwd()}))"],
        "env": {"MINE": "1"}, "pass": ["PASSED"]},
        env={"PASSED": "yes", "SECRET_KEY": "no"}, prompt="zwölf\n")
    ok(w)
    note = w.events("note")[-1][1]
    assert note["p"]["prompt"] == "zwölf\n" and note["p"]["run"] == w.run
    assert [c["body"]["content"] for c in note["p"]["context"]] == [
        "first", "old"], note["p"]
    assert note["cwd"] == str(home.dir)
    env = note["env"]
    assert env["MINE"] == "1" and env["PASSED"] == "yes"
    assert "SECRET_KEY" not in env and "SKEP_HOME" not in env
    assert (env["SKEP_RUN_ID"], env["SKEP_AGENT"], env["SKEP_SESSION"],
            env["SKEP_WORKSPACE"]) == (w.run, "a", "main", str(home.dir))


def test_stdin_can_be_the_bare_prompt(home):
    w = sh(home, "cat; echo .", stdin="text")
    ok(w)
    assert w.events("output") == [("output", {"text": "do it."})]


def test_exit_codes_and_signals_become_reasons(home):
    m = failed(sh(home, "echo why >&2; exit 3"), "exit_code", "code 3: why")
    assert m["exit_code"] == 3


def test_code_75_asks_for_another_try(home):
    failed(sh(home, "exit 75"), "exit_temporary")


def test_a_signal_is_named(home):
    m = failed(sh(home, "kill -9 $$"), "signal", "Killed")
    assert m["signal"] == 9


def test_a_command_that_does_not_exist(home):
    w = Worker(Supervisor(home), "exec", {"command": ["no-such-command"]})
    failed(w, "command_not_found", "there is no command no-such-command")


def test_a_command_that_is_not_executable(home):
    (home.dir / "data").write_text("x")
    w = Worker(Supervisor(home), "exec", {"command": ["./data"]})
    failed(w, "not_executable", "chmod +x")


def test_a_command_that_is_no_program(home):
    (home.dir / "data").write_bytes(b"\x01\x02")
    (home.dir / "data").chmod(0o755)
    w = Worker(Supervisor(home), "exec", {"command": ["./data"]})
    failed(w, "not_executable", "neither a program nor a script")


def test_a_script_without_its_interpreter(home):
    (home.dir / "x").write_text("#!/no/such/interpreter\n")
    (home.dir / "x").chmod(0o755)
    w = Worker(Supervisor(home), "exec", {"command": ["./x"]})
    failed(w, "command_not_found", "interpreter is missing")


def test_a_workspace_that_is_not_there(home):
    w = Worker(Supervisor(home), "exec", {"command": ["true"]},
               workspace="/no/such/place")
    failed(w, "workspace", "/no/such/place")


def test_a_configuration_with_a_slip_says_what(home):
    w = Worker(Supervisor(home), "exec", {"comand": ["true"]})
    failed(w, "bad_config", "comand")


def test_a_gigabyte_on_one_line_is_bounded(home):
    w = Worker(Supervisor(home), "exec", {
        "shell": "head -c 1000000000 /dev/zero | tr '\\0' x; echo; echo end"},
        output_max=1 << 20)
    ok(w)
    notes = w.events("note")
    assert notes and 998_000_000 < notes[0][1]["dropped"] <= 1_000_000_004, notes
    kept = sum(len(b["text"]) for t, b in w.events("output"))
    assert kept <= 1 << 20, kept
    assert os.path.getsize(w.db) + os.path.getsize(w.db + "-wal") < 16 << 20
test_a_gigabyte_on_one_line_is_bounded.seconds = 120


def test_binary_output_is_kept_byte_for_byte(home):
    import base64
    w = sh(home, "head -c 200000 /dev/urandom | tee bytes")
    ok(w)
    got = b""
    for _, body in w.events("output"):
        got += (base64.b64decode(body["base64"]) if "base64" in body
                else body["text"].encode())
        if not body.get("more"):
            got += b"\n"
    want = (home.dir / "bytes").read_bytes()
    assert got.rstrip(b"\n") == want.rstrip(b"\n")


def test_a_command_that_closes_its_output_runs_on(home):
    w = sh(home, "exec >&- 2>&-; sleep 0.3; touch done")
    ok(w)
    assert (home.dir / "done").exists()


def test_deltas_grow_one_part(home):
    w = sh(home, """for i in 1 2 3; do
        echo '{"type":"delta","part":"p","text":"word '$i' "}'; done
        echo '{"type":"done","part":"p"}'""")
    ok(w)
    assert home.query(w.db, "SELECT state, text FROM part") == [
        ("done", "word 1 word 2 word 3 ")]


def test_the_same_key_again_adds_nothing_and_other_content_is_told(home):
    w = sh(home, """echo '{"type":"note","key":"k","n":1}'
        echo '{"type":"note","key":"k","n":1}'
        echo '{"type":"note","key":"k","n":2}'""")
    ok(w)
    assert len(w.events("note")) == 1
    assert "other content" in w.events("error")[0][1]["text"]


def test_a_command_cannot_forge_what_the_worker_says(home):
    w = sh(home, "echo '{\"type\":\"run_finished\",\"outcome\":\"x\"}'")
    ok(w)
    assert w.events("raw")[0][1]["type"] == "run_finished"
    assert len(w.events("run_finished")) == 1


# -- cancel, pause, steer, ask

def test_a_cancel_ends_a_sleeping_script_at_once(home):
    sup = Supervisor(home)
    w = Worker(sup, "script", {"steps": [{"sleep_ms": 60000}]})
    sup.wait("ready")
    sup.wait("event")
    began = time.monotonic()
    sup.command(w.run, type="cancel", id=1, reason="enough", grace_ms=5000)
    m = w.finished()
    assert (m["outcome"], m["reason"], m["detail"]) == (
        "cancelled", "cancelled", "enough"), m
    assert m["at"] - began < 1, m["at"] - began
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
    assert 0.3 <= m["at"] - began < 1.2, m["at"] - began
    w.process.wait(5)


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
    before = len(w.events("output"))
    time.sleep(0.4)
    assert len(w.events("output")) <= before + 1
    sup.wait("heartbeat", phase="paused")
    sup.command(w.run, type="resume", id=2)
    sup.wait("applied", id=2)
    ok(w)
    assert len(w.events("output")) == 40


def test_a_paused_run_can_be_cancelled(home):
    sup = Supervisor(home)
    w = Worker(sup, "exec", {"shell": "sleep 60"})
    sup.wait("ready")
    sup.command(w.run, type="pause", id=1)
    sup.wait("applied", id=1)
    sup.command(w.run, type="cancel", id=2, reason="x", grace_ms=2000)
    m = w.finished()
    assert m["outcome"] == "cancelled", m
    assert time.monotonic() - w.began < 2


def test_a_script_pauses_between_its_steps(home):
    sup = Supervisor(home)
    w = Worker(sup, "script", {"steps": [
        {"event": {"type": "note"}, "repeat": 20, "every_ms": 20}]})
    sup.wait("ready")
    sup.command(w.run, type="pause", id=1)
    sup.wait("applied", id=1)
    before = len(w.events("note"))
    time.sleep(0.3)
    assert len(w.events("note")) == before < 20
    sup.command(w.run, type="resume", id=2)
    ok(w)
    assert len(w.events("note")) == 20


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
    w = Worker(Supervisor(home), "exec", {"shell": "sleep 60"},
               run_timeout_ms=300)
    m = w.finished()
    assert (m["outcome"], m["reason"]) == ("timed_out", "run_timeout"), m
    assert time.monotonic() - w.began < 3


def test_silence_ends_a_run_when_it_is_limited(home):
    w = Worker(Supervisor(home), "exec",
               {"shell": "for i in 1 2 3 4 5; do echo $i; sleep 0.1; done; "
                "sleep 60"}, idle_timeout_ms=400)
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
        {"event": {"type": "note"}, "repeat": 60, "every_ms": 20}]})
    sup.wait("ready")
    sup.kill()
    time.sleep(0.3)
    sup.start()
    sup.wait("hello", 3)
    ok(w)
    assert len(w.events("note")) == 60


def test_a_run_ends_well_without_any_supervisor(home):
    sup = Supervisor(home)
    w = Worker(sup, "script", {"steps": [{"sleep_ms": 300}]})
    sup.wait("ready")
    sup.kill()
    assert w.process.wait(5) == 0
    assert w.status_row() == ("succeeded", "completed")


def test_a_run_that_must_not_outlive_its_supervisor_stops(home):
    sup = Supervisor(home)
    w = Worker(sup, "exec", {"shell": "sleep 60"}, on_supervisor_loss="stop")
    sup.wait("ready")
    sup.kill()
    assert w.process.wait(10) == 0
    assert w.status_row() == ("aborted", "supervisor_lost")


def test_a_refused_worker_leaves_the_transcript_alone(home):
    sup = Supervisor(home)
    sup.say("refuse")
    w = Worker(sup, "script", {"steps": [{"sleep_ms": 60000}]})
    w.process.wait(10)
    assert w.events()[-1][0] == "run_started"
    assert w.status_row()[0] == "running"


def test_a_silent_supervisor_stops_nobody(home):
    sup = Supervisor(home)
    sup.say("silent")
    w = Worker(sup, "script", {"steps": [{"event": {"type": "note"}}]})
    assert w.process.wait(10) == 0
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
            status = w.process.wait(10)
            assert how == "error" or status in (-9, 0), (point, status)
            rows = (home.query(w.db, "SELECT status FROM run WHERE run_id=?",
                               w.run) if os.path.exists(w.db) else [])
            if not rows or rows[0][0] == "running":
                Worker(sup, "script", steps, n=n, session="s%d" % n,
                       attempt=2).finished(attempt=2)
                assert w.status_row()[0] == "succeeded", (point, how)
            notes = home.query(w.db, "SELECT count(*) FROM event WHERE key=?",
                               "exec:%s:n%d" % (w.run, n))
            assert notes[0][0] <= 1, (point, how, notes)
test_death_at_each_point_is_mended_by_the_next_attempt.seconds = 120
