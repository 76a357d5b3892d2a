"""skep-worker with a supervisor that the test plays."""
import base64
import os

from lib import HANG, eventually, skip
from worker_lib import Supervisor, Worker, failed, ok, sh


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
    seen = [m["type"] for m in sup.heard]
    assert "event" in seen and "usage" in seen and "outbox" in seen, seen
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
    w.process.wait(HANG)
    m = sup.wait("finished", attempt=2)
    assert m["outcome"] == "succeeded", m
    new.process.wait(HANG)
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
    failed(w, "command_not_found", "command no-such-command not found")


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
    failed(w, "command_not_found", "interpreter")


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


# -- a disk that is full

def small_disk(home):
    where = home.dir / "small"
    where.mkdir()
    r = home.run("mount", "-t", "tmpfs", "-o", "size=1m", "skep-test", where,
                 code=None)
    if r.code != 0:
        skip("this test needs to mount: " + r.err.strip())
    home.undo.append(lambda: home.run("umount", "-l", where, code=None))
    return where


def test_a_full_disk_ends_the_run_and_loses_nothing(home):
    sup = Supervisor(home)
    where = small_disk(home)
    db = str(where / "agent.sqlite")
    w = Worker(sup, "exec", {"shell": "while :; do echo %s; done" % ("x" * 500)},
               agent_db=db)
    m = w.finished()
    assert (m["outcome"], m["reason"]) == ("failed", "database"), m
    assert "full" in m["detail"], m
    w.db = db
    got = [b["text"] for _, b in w.events("output")]
    assert got and all(t == "x" * 500 for t in got)
    assert w.home.query(db, "PRAGMA integrity_check") == [("ok",)]
    assert w.events()[-1][0] in ("output", "run_finished"), w.events()[-1]
