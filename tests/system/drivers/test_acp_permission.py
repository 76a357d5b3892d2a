"""What an ACP agent may do: rules, questions to people, answers that are used
once, whichever process dies in between."""
import json
import os
import signal
import sys

import lib
from skepd_lib import Host, QUICK, faults_bin
from test_acp import AGENT, acp, heard, methods, texts
from worker_lib import Supervisor, ok

OPTIONS = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"},
           {"optionId": "always", "name": "Always", "kind": "allow_always"},
           {"optionId": "no", "name": "No", "kind": "reject_once"}]


def ask(command="make", call="c1"):
    return {"call": "session/request_permission", "params": {
        "toolCall": {"toolCallId": call, "title": "run " + command,
                     "kind": "execute", "rawInput": {"command": command}},
        "options": OPTIONS}}


def hosted(home, can="load", host=None, rules=None, **more):
    d = host or Host(home).start()
    state = home.dir / "state"
    state.mkdir(exist_ok=True)
    config = {"command": [sys.executable, str(AGENT)],
              "env": {"ACP_STATE": str(state), "ACP_CAN": can}}
    if rules:
        config["permissions"] = rules
    d.agent("a", "acp", config,
            paths={"write": [str(state)]}, **more)
    return d


def approvals(d, **want):
    items = d.call("GET", "/v1/approvals?limit=100")["items"]
    return [a for a in items if all(a[k] == v for k, v in want.items())]


def one_open(d):
    return lib.eventually(lambda: approvals(d, state="open"), 20,
                          "a question")[0]


def outcomes(home):
    return [m["result"]["outcome"] for k, m in heard(home)
            if not k and "outcome" in (m.get("result") or {})]


def test_rules_answer_without_a_person(home):
    w = acp(home, [ask("git log"), ask("git push"), ask("ls")], config={
        "permissions": {"allow": ["execute:git *"],
                        "deny": ["execute:*push*"], "default": "deny"}})
    ok(w)
    assert outcomes(home) == [
        {"outcome": "selected", "optionId": o} for o in ("yes", "no", "no")]
    ruled = [(b["decision"], b["rule"]) for _, b in w.events("approval")]
    assert ruled == [("allow", "execute:git *"), ("deny", "execute:*push*"),
                     ("deny", "the default")], ruled


def test_rules_apply_to_commands_of_any_length(home):
    """A command over 64 KiB was judged by the title that the agent gave it."""
    long = {"call": "session/request_permission", "params": {
        "toolCall": {"toolCallId": "c", "title": "ls", "kind": "execute",
                     "rawInput": {"command": ["git", "x" * 70_000, "push"]}},
        "options": OPTIONS}}
    own = {"call": "terminal/create", "params": {
        "command": "touch", "args": ["made", "x" * 70_000, "push"]}}
    w = acp(home, [long, own], config={"permissions": {
        "allow": ["execute:ls", "execute:touch"], "deny": ["execute:*push"]}})
    ok(w)
    assert outcomes(home) == [{"outcome": "selected", "optionId": "no"}]
    refused = [m["error"]["message"] for k, m in heard(home)
               if not k and "error" in m]
    assert len(refused) == 1 and "execute:*push" in refused[0], refused


def test_a_question_says_that_its_input_is_not_shown(home):
    d = hosted(home, rules={"default": "ask"})
    run = d.submit("a", json.dumps([ask("x" * 70_000), {
        "call": "terminal/create", "params": {
            "command": "true", "args": ["y" * 70_000]}}]))
    for _ in range(2):
        q = one_open(d)
        detail = json.loads(q["detail"]) if isinstance(q["detail"], str) \
            else q["detail"]
        assert detail["truncated"] is True and "input" not in detail, detail
        assert len(q["title"]) <= 1000 and q["title"].endswith("\u2026")
        d.call("POST", "/v1/approvals/" + q["id"], {"allow": False})
    d.until(run)
    assert d.down() == 0


def test_a_person_chooses_an_option_and_always_is_for_the_session(home):
    d = hosted(home)
    run = d.submit("a", json.dumps([ask()]), session="s")
    a = one_open(d)
    assert a["title"] == "run make", a
    detail = json.loads(a["detail"]) if isinstance(a["detail"], str) \
        else a["detail"]
    assert [o["optionId"] for o in detail["options"]] == [
        "yes", "always", "no"], a
    home.refused(65, "approval", "allow", a["id"], "--choice", "nope")
    home.refused(65, "approval", "allow", a["id"], "--choice", "no")
    home.skep("approval", "allow", a["id"], "--choice", "always")
    assert d.until(run)["state"] == "succeeded"
    assert outcomes(home)[-1]["optionId"] == "always"
    assert approvals(d)[0]["choice"] == "always", approvals(d)
    run = d.submit("a", json.dumps([ask(call="c9")]), session="s")
    assert d.until(run)["state"] == "succeeded"
    assert outcomes(home)[-1]["optionId"] == "yes"
    home.skep("session", "fork", "s", "other", "--agent", "a")
    run = d.submit("a", json.dumps([ask()]), session="other")
    home.skep("approval", "deny", one_open(d)["id"])
    assert d.until(run)["state"] == "succeeded"
    assert outcomes(home)[-1]["optionId"] == "no"
    assert len(approvals(d)) == 2, "one in each session, one by the grant"


def test_an_answer_after_a_restart_of_the_supervisor_continues(home):
    d = hosted(home)
    run = d.submit("a", json.dumps([ask(), {"say": "done"}]))
    a = one_open(d)
    d.kill()
    d.start()
    d.until(run, "running")
    d.call("POST", "/v1/approvals/" + a["id"], {"allow": True})
    assert d.until(run)["state"] == "succeeded"
    assert len(outcomes(home)) == 1 and len(approvals(d)) == 1


def test_an_answer_for_a_dead_worker_is_used_once(home):
    """Attempt 1 dies with the question open; it is answered before attempt 2
    asks the same. That answer serves once: the same again is a new question."""
    d = hosted(home)
    run = d.submit("a", json.dumps([ask(), {"say": "one"}, ask(call="c2"),
                                    {"say": "two"}]), max_attempts=3)
    first = one_open(d)
    d.kill()
    pid = home.query(home.control, "SELECT pid FROM run WHERE id = ?",
                     run)[0][0]
    socket = home.agent_db("a").parent / ("mcp-%d.sock" % pid)
    assert socket.exists()
    os.kill(pid, signal.SIGKILL)
    d.start()
    d.call("POST", "/v1/approvals/" + first["id"], {"allow": True})
    lib.eventually(lambda: not socket.exists(), 20, "the socket's removal")
    second = lib.eventually(lambda: approvals(d, state="open"), 20,
                            "the second question")[0]
    assert second["key"] != first["key"]
    d.call("POST", "/v1/approvals/" + second["id"], {"allow": False})
    assert d.until(run)["state"] == "succeeded"
    assert [o["optionId"] for o in outcomes(home)] == ["yes", "no"]
    assert d.get(run)["attempt"] == 2
    parts = home.query(home.agent_db("a"), "SELECT state FROM part WHERE "
                       "kind = 'tool' ORDER BY pos")
    assert parts == [("aborted",), ("done",), ("done",)], parts


def used(home):
    return [json.loads(b)["key"] for (b,) in home.query(
        home.agent_db("a"), "SELECT body FROM event WHERE body LIKE "
        "'%\"state\":\"used\"%'")]


def die_at(home, n):
    """The worker dies after its n-th commit. Gives whether the agent never heard
    an answer that had been marked as used."""
    d = hosted(home, host=Host(home, QUICK, faults_bin("kill")).start(
        "skep-worker/append_after_commit:kill:%d" % n))
    run = d.submit("a", json.dumps([ask(), {"say": "done"}]), max_attempts=9)

    def answer():
        for a in approvals(d, state="open"):
            d.call("POST", "/v1/approvals/" + a["id"], {"allow": True})
        row = d.get(run)
        return row["state"] in ("succeeded", "failed") or row["attempt"] > 1
    lib.eventually(answer, 60, "the second attempt, or the end")
    d.kill()
    lost = len(outcomes(home)) < len(used(home))
    d.start()
    lib.eventually(lambda: answer() and d.get(run)["state"] == "succeeded", 60,
                   "the end")
    assert len(set(used(home))) == len(used(home)), used(home)
    assert len(outcomes(home)) <= len(used(home)), "an answer was given twice"
    answered = approvals(d, state="answered") or approvals(d)
    assert len(used(home)) <= len(answered), (used(home), answered)
    assert outcomes(home)[-1]["optionId"] == "yes"
    d.down()
    return lost


def test_a_worker_that_dies_with_an_answer_in_its_hand_gives_it_never_twice(home):
    if not faults_bin():
        lib.skip("no build with fault points")
    lost = 0
    for n in range(3, 12):
        own = lib.Home(home.bin)
        try:
            lost += die_at(own, n)
        finally:
            own.close()
    assert lost, "no death was between the commit and the answer"


test_a_worker_that_dies_with_an_answer_in_its_hand_gives_it_never_twice.seconds = 400


def test_a_cancel_answers_what_is_open(home):
    d = hosted(home)
    run = d.submit("a", json.dumps([ask(), {"sleep": 30}]))
    one_open(d)
    d.cancel(run)
    assert d.until(run)["state"] == "cancelled"
    assert outcomes(home) == [{"outcome": "cancelled"}], outcomes(home)
    assert "session/cancel" in methods(home)
    assert approvals(d)[0]["state"] == "withdrawn"


def test_a_question_that_nobody_answers_is_denied_in_time(home):
    d = hosted(home)
    d.agent("a", "acp", dict(command=[sys.executable, str(AGENT)],
                             env={"ACP_STATE": str(home.dir / "state")},
                             ask_timeout_ms=300),
            paths={"write": [str(home.dir / "state")]})
    run = d.submit("a", json.dumps([ask()]))
    assert d.until(run)["state"] == "succeeded"
    assert outcomes(home) == [{"outcome": "selected", "optionId": "no"}]


def test_a_bad_request_is_refused_and_the_turn_goes_on(home):
    w = acp(home, [{"call": "session/request_permission", "params": {}},
                   {"say": "on"}], Supervisor(home))
    ok(w)
    assert '"code": -32602' in texts(w)[0] and texts(w)[0].endswith("on")
