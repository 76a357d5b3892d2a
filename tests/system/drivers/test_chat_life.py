"""The chat driver when things end, begin again, or get too long."""
import email.utils
import json
import os
import re
import signal
import time

import lib
from chat_mock import Mock, calls, chunk, text
from skepd_lib import Host, finish
from test_chat import KEY, chat, kinds, parts, run, workspace


def busy(**headers):
    return {"status": 429, "headers": headers,
            "body": {"error": {"message": "slow down"}}}


def waits(d, run_id):
    return [b["wait_ms"] for _, k, b in d.events("a", run_id)
            if k == "status" and "retry" in b]


def test_a_server_says_how_long_to_wait(home):
    def dated(_):
        return busy(**{"Retry-After": email.utils.formatdate(
            time.time() + 3, usegmt=True)})

    m = Mock(home, busy(**{"Retry-After": "1"}), dated,
             busy(**{"Retry-After": "0.2"}),
             busy(**{"Retry-After": "nan", "retry-after-ms": "20"}),
             busy(**{"Retry-After": "soon"}), busy(**{"Retry-After": "-5"}),
             text("at last"))
    d = chat(home, m, config={"retries": 8})
    row = run(d)
    assert row["state"] == "succeeded", row
    w = waits(d, row["id"])
    assert 1000 <= w[0] < 1250, w      # seconds, and a little chance
    assert 1000 <= w[1] < 3250, w      # a date
    assert 200 <= w[2] < 450 and 20 <= w[3] < 270, w
    assert all(n < 200 for n in w[4:]), w  # our own time, not theirs
    finish(d)


def test_an_endless_wait_is_cut(home):
    m = Mock(home, busy(**{"Retry-After": "1e300"}))
    d = chat(home, m)
    ident = d.submit("a")
    lib.eventually(lambda: home.agent_db("a").exists() and waits(d, ident), 30)
    assert waits(d, ident)[0] <= 300250, waits(d, ident)
    d.cancel(ident)
    assert d.until(ident)["state"] == "cancelled"
    finish(d)


def test_a_supervisor_that_dies_in_the_middle_of_a_stream_is_not_missed(home):
    go = home.dir / "go"

    def slowly(_):
        yield chunk({"content": "before "})
        lib.eventually(go.exists, 60)
        yield chunk({"content": "after"})
        yield chunk(finish="stop")
        yield "[DONE]"

    m = Mock(home, slowly)
    d = chat(home, m, config={"idle_timeout_ms": 60000})
    ident = d.submit("a")
    lib.eventually(lambda: home.agent_db("a").exists() and any(
        p[3] == "before " for p in parts(home)), 30)
    pid = d.get(ident)["pid"]
    d.kill()
    d.start()
    assert d.get(ident)["pid"] == pid, d.get(ident)
    go.touch()
    row = d.until(ident)
    assert (row["state"], row["attempt"]) == ("succeeded", 1), row
    assert len(m.asked) == 1
    assert [p[3] for p in parts(home)] == ["before after"]
    finish(d)


def test_after_a_crash_only_what_has_no_result_is_done(home):
    m = Mock(home, calls(
        ("append_file", {"path": "one", "content": "1\n"}),
        ("write_file", {"path": "two", "content": "2"}),
        ("exec", {"command": "echo x >> three; sleep 60"}),
        ("append_file", {"path": "four", "content": "4"}),
        ("write_file", {"path": "five", "content": "5"}),
        ("read_file", {"path": "one"})), text("done"))
    d = chat(home, m, config={"exec": True})
    ident = d.submit("a", max_attempts=2)
    three = workspace(home) / "three"
    lib.eventually(three.exists, 30)
    states = [p[1] for p in parts(home, kind="tool")]
    assert states[:2] == ["done"] * 2, states
    (workspace(home) / "two").write_text("not again")
    os.kill(d.get(ident)["pid"], signal.SIGKILL)
    row = d.until(ident)
    assert (row["state"], row["attempt"]) == ("succeeded", 2), row
    r = m.results()
    assert (workspace(home) / "one").read_text() == "1\n", "done, not again"
    assert (workspace(home) / "two").read_text() == "not again"
    assert three.read_text() == "x\n", "nobody knows, so not again"
    assert not (workspace(home) / "four").exists(), "not again by its class"
    assert (workspace(home) / "five").read_text() == "5", "again by its class"
    assert ["it is unknown whether" in x for x in r] == \
        [False, False, True, True, False, False], r
    assert r[5] == "1\n", r
    again = [k for k in kinds(d, ident) if k == "tool_result"]
    assert len(again) == 4, again
    finish(d)


def test_room_is_made_before_the_server_refuses(home):
    def judge(body):
        size = len(json.dumps(body))
        if size > 24000:  # it would have to refuse
            return {"status": 400, "body": {"error": {
                "message": "too many tokens", "code": "context_length_exceeded"}}}
        if "Summarize this" in body["messages"][-1]["content"]:
            return text("IN SHORT", usage=(size // 4, 5))
        return text("an answer", usage=(size // 4, 5))

    m = Mock(home, judge)
    d = chat(home, m, config={"context": 6000})
    for i in range(6):
        row = run(d, "question %d " % i + "w" * 4000)
        assert row["state"] == "succeeded", row
    assert all(len(json.dumps(b)) <= 24000 for _, _, b in m.asked)
    compacted = home.query(home.agent_db("a"),
                           "SELECT tokens_before FROM compaction")
    assert compacted and all(n > 4000 for (n,) in compacted), compacted
    output = json.dumps(m.messages())
    assert "IN SHORT" in output and "question 0" not in output and \
        "question 5" in output, output[:2000]
    finish(d)


def test_a_summary_names_what_was_left_out(home):
    """More messages than fit into the request for a summary, all with characters
    of two bytes; and a summary that is longer than we keep."""
    asked = []

    def judge(body):
        last = body["messages"][-1]["content"]
        if "Summarize this" in last:
            asked.append(last)
            return text("s" + "\u00e4" * 20_000, usage=(10, 5))
        if len(json.dumps(body, ensure_ascii=False).encode()) > 100_000:
            return {"status": 400, "body": {"error": {
                "message": "too many", "code": "context_length_exceeded"}}}
        return text("answer", usage=(10, 5))

    m = Mock(home, judge)
    d = chat(home, m, config={"context": 8000})
    for i in range(20):
        row = run(d, "question %d " % i + "\u00e4" * 1000)
        assert row["state"] == "succeeded", row
    assert asked and len(asked[-1].encode()) <= 16_000, len(asked[-1])
    for words in asked:
        assert "\ufffd" not in words, "a character was cut"
    assert any(re.search("question [0-9]+ \u00e4+\u2026\n", w) for w in asked)
    assert any(re.search(r"\n\([0-9]+ messages omitted\)\n", w) for w in asked)
    for stored, in home.query(home.agent_db("a"),
                              "SELECT summary FROM compaction"):
        assert stored.endswith("\u00e4\u2026") and "\ufffd" not in stored
        assert len(stored.encode()) <= 32768
    finish(d)


def test_a_guess_that_is_wrong_stops_nobody(home):
    m = Mock(home, text("fine"))
    d = chat(home, m, config={"context": 10})
    row = run(d, "hello")
    assert row["state"] == "succeeded", row
    assert len(m.asked) == 1
    finish(d)


LOOK = ("env; cat /proc/self/environ; cat /proc/$PPID/environ; "
        "cat /proc/[0-9]*/environ; grep -r %s /proc/$PPID/ 2>/dev/null; "
        "cat /proc/$PPID/mem | head -c 10; true" % KEY[:12])


def test_no_command_and_no_core_has_the_key(home):
    m = Mock(home, calls(("exec", {"command": LOOK})), [20], text("done"))
    d = home.host = Host(home, env={"MOCK_KEY": KEY}).start()
    chat(home, m, config={"exec": True, "key_env": "MOCK_KEY",
                          "idle_timeout_ms": 60000})
    ident = d.submit("a", max_attempts=1)
    lib.eventually(lambda: len(m.asked) == 2, 60)
    assert m.asked[1][1]["Authorization"] == "Bearer " + KEY
    assert KEY not in json.dumps(m.asked[1][2]), "a command has seen it"
    assert "PATH=" in m.results()[0], m.results()
    pid = d.get(ident)["pid"]
    with open("/proc/%d/limits" % pid) as f:
        core = [line for line in f if "core file" in line][0].split()
    assert core[4:6] == ["1", "1"], core
    os.kill(pid, signal.SIGABRT)
    assert d.until(ident)["state"] == "failed"
    finish(d)
    for path in [p for p in home.dir.rglob("*") if p.is_file()]:
        assert "core" not in path.name, path
        assert KEY.encode() not in path.read_bytes(), path


def test_a_cancel_is_seen_by_the_server_at_once(home):
    m = Mock(home, [chunk({"content": "begun"}), 3600, chunk({"content": "x"})])
    d = chat(home, m, config={"idle_timeout_ms": 3600000})
    for n in range(2):  # the server would speak again after an hour
        ident = d.submit("a")
        lib.eventually(lambda: len(parts(home)) > n)
        d.cancel(ident)
        lib.eventually(lambda: len(m.gone) > n, what="the end of the transfer")
        assert d.until(ident)["state"] == "cancelled"
    finish(d)


def test_a_hanging_model_is_replaced_by_the_next_one(home):
    def reply(body):
        if body["model"] == "slow":
            return {"hang": 3600}
        if body["model"] == "broken":
            return {"status": 500, "body": {"error": {"message": "oops"}}}
        return text("from " + body["model"], usage=(1000, 0))

    m = Mock(home, reply)
    (home.path / "prices.json").parent.mkdir(mode=0o700, exist_ok=True)
    (home.path / "prices.json").write_text(json.dumps({"good": {"input": 7}}))
    d = chat(home, m, model="slow", config={
        "fallback": ["broken", "good", "never"], "first_byte_ms": 300,
        "retries": 1})
    row = run(d)
    assert row["state"] == "succeeded", row
    assert [b["model"] for _, _, b in m.asked] == [
        "slow", "broken", "broken", "good"]
    assert [p[3] for p in parts(home)] == ["from good"]
    assert row["cost_micros"] == 7000, row
    steps = [(b["from"], b["fallback"]) for _, k, b in d.events("a", row["id"])
             if k == "status" and "fallback" in b]
    assert steps == [("slow", "broken"), ("broken", "good")], steps
    finish(d)


def test_a_run_without_a_further_model_fails(home):
    m = Mock(home, {"hang": 3600})
    d = chat(home, m, config={"fallback": ["other"], "first_byte_ms": 200,
                              "retries": 0})
    row = run(d)
    assert (row["state"], row["reason"]) == ("failed", "server_failed"), row
    assert [b["model"] for _, _, b in m.asked] == ["mock", "other"]
    finish(d)
