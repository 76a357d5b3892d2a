"""Budgets: runs use no more than they may, whoever dies."""
import json
import os
import signal
import threading

import lib
from chat_mock import Mock, calls, text
from skepd_lib import Connection, Host, finish
from test_chat import chat

LOOP = calls(("list_dir", {"path": "."}))


def items(home, name=None):
    rows = home.skep("budget", "ls", *([name] if name else []), "--json").lines
    return {(r["name"], r["subject"]): r for r in rows}


def test_a_budget_is_added_changed_listed_and_deleted(home):
    home.skep("budget", "add", "daily", "--money", "2.50", "--soft", "2")
    row = items(home)["daily", ""]
    assert (row["hard"], row["soft"], row["unit"]) == (2500000, 2000000, "money")
    assert row["resets_at"] - row["period_start"] in (
        82800000, 86400000, 90000000), row
    assert "exists" in home.refused(65, "budget", "add", "daily", "--runs", "1")
    h = Host(home).start()
    home.skep("budget", "set", "daily", "--money", "4", "--soft", "none")
    row, = h.call("GET", "/v1/budgets")["items"]
    assert (row["hard"], row["soft"], row["used"]) == (4000000, None, 0), row
    for args, word in ((("--tokens", "1", "--runs", "2"), "one hard limit"),
                       ((), "needs a hard limit"),
                       (("--money", "much"), "dollars"),
                       (("--runs", "-1"), "runs"),
                       (("--runs", "1", "--per", "planet"), "planet"),
                       (("--runs", "5", "--soft", "6"), "soft"),
                       (("--runs", "5", "--per", "run"), "per run"),
                       (("--runs", "5", "--session", "s"), "agent")):
        r = home.skep("budget", "add", "x", *args, code=None)
        assert r.code in (64, 65) and word in r.err, (args, r.code, r.err)
    assert len(h.call("GET", "/v1/budgets")["items"]) == 1
    home.skep("budget", "rm", "daily")
    assert "daily" in home.refused(66, "budget", "rm", "daily")
    assert not h.call("GET", "/v1/budgets")["items"]
    acts = [r["act"] for r in home.skep("audit", "ls", "--act", "budget",
                                        "--json").lines]
    assert acts == ["budget.add", "budget.set", "budget.rm"], acts
    finish(h)


def test_a_run_ends_at_its_token_limit_with_the_reason_budget(home):
    m = Mock(home, LOOP)
    d = chat(home, m)
    home.skep("budget", "add", "each", "--per", "run", "--tokens", "35",
              "--period", "total", "--then", "end")
    row = d.until(d.submit("a"))
    assert (row["state"], row["reason"]) == ("failed", "budget"), row
    assert "each" in row["detail"], row
    assert len(m.asked) == 4, len(m.asked)  # 10 tokens each
    finish(d)


def test_prices_come_from_a_file_that_users_edit(home):
    m = Mock(home, text("hi", usage=(1000, 100)))
    d = chat(home, m, model="big-7")
    home.skep("budget", "add", "b", "--money", "1", "--per", "agent")
    prices = home.path / "prices.json"
    prices.write_text(json.dumps({"*": {"input": 1}, "big-*": {
        "input": 10, "output": 100}}))
    assert d.until(d.submit("a"))["cost_micros"] == 20000
    lib.eventually(lambda: items(home)["b", "a"]["used"] == 20000)
    prices.write_text(json.dumps({"big-7": {"input": 1, "output": 1}}))
    assert d.until(d.submit("a"))["cost_micros"] == 1100
    prices.write_text('{"big-7": {"inptu": 1}}')
    row = d.until(d.submit("a"))
    assert (row["state"], row["reason"]) == ("failed", "bad_config"), row
    assert "inptu" in row["detail"], row
    found = [f["finding"] for f in home.skep("doctor", "--json", code=None).lines]
    assert "prices_bad" in found, found
    finish(d)


def test_a_paused_run_continues_when_the_budget_is_raised(home):
    m = Mock(home, LOOP, LOOP, text("done"))
    d = chat(home, m)
    home.skep("budget", "add", "b", "--tokens", "15", "--period", "total")
    ident = d.submit("a")
    row = d.until(ident, "paused")
    assert row["reason"] == "budget" and len(m.asked) == 2, row
    waiting = d.submit("a", session="other")
    lib.eventually(lambda: d.get(waiting)["reason"] == "budget")
    assert d.get(waiting)["state"] == "queued"
    assert d.call("GET", "/v1/budgets")["items"][0]["remaining"] == 0
    found = [f["finding"] for f in home.skep("doctor", "--json", code=None).lines]
    assert "budget_exhausted" in found, found
    d.kill()  # the worker waits for the next one
    d.start()
    assert d.get(ident)["state"] == "paused"
    home.skep("budget", "set", "b", "--tokens", "1000000")
    assert d.until(ident)["state"] == "succeeded"
    assert d.until(waiting)["state"] == "succeeded"
    assert len(m.asked) == 4, len(m.asked)
    row = items(home)["b", ""]
    assert (row["used"], row["reserved"]) == (50, 0), row
    finish(d)


def test_a_user_allows_more_than_the_soft_limit_once_for_all_runs(home):
    m = Mock(home, text("one"))
    d = chat(home, m)
    home.skep("budget", "add", "b", "--runs", "10", "--soft", "1", "--per",
              "agent")
    assert d.until(d.submit("a"))["state"] == "succeeded"
    runs = [d.submit("a", session="s%d" % i) for i in range(3)]
    opened = lib.eventually(lambda: [
        a for a in [home.skep("approval", "ls", "--json").lines] if len(a) == 3])[0]
    assert {a["run"] for a in opened} == set(runs), opened
    assert len(m.asked) == 1
    d.kill()
    d.start()
    home.skep("approval", "allow", opened[0]["id"])
    assert {d.until(r)["state"] for r in runs} == {"succeeded"}
    assert d.until(d.submit("a"))["state"] == "succeeded"
    assert not home.skep("approval", "ls", "--json").lines
    home.skep("budget", "set", "b", "--period", "month")  # counts begin again
    assert d.until(d.submit("a"))["state"] == "succeeded"
    ident = d.submit("a")
    opened, = lib.eventually(lambda: home.skep("approval", "ls", "--json").lines)
    home.skep("approval", "deny", opened["id"])
    row = d.until(ident)
    assert (row["state"], row["reason"]) == ("failed", "budget"), row
    finish(d)


def test_parallel_runs_exceed_a_limit_by_one_call_each_at_most(home):
    used = (40, 10)
    m = Mock(home, [0.05] + calls(("list_dir", {"path": "."}))[:-2] +
             [text("", usage=used)[-2], "[DONE]"])
    d = chat(home, m)
    home.skep("budget", "add", "b", "--tokens", "600", "--then", "end")
    runs = [d.submit("a", session="s%d" % i) for i in range(8)]
    states = [d.until(r) for r in runs]
    assert {r["reason"] for r in states} == {"budget"}, states
    row = items(home)["b", ""]
    assert 600 <= row["used"] <= 600 + 8 * sum(used), row
    assert row["used"] == 50 * len(m.asked) and row["reserved"] == 0, row
    finish(d)


def test_a_worker_that_dies_in_a_call_is_charged_for_it(home):
    hang = threading.Event()

    def slow(_):
        hang.wait(lib.HANG)
        yield from text("late")

    m = Mock(home, slow)
    home.undo.append(hang.set)
    d = chat(home, m, config={"max_output_tokens": 500})
    home.skep("budget", "add", "b", "--tokens", "100000")
    ident = d.submit("a")
    lib.eventually(lambda: m.asked)
    held = items(home)["b", ""]["reserved"]
    assert held > 500, held
    os.kill(d.get(ident)["pid"], signal.SIGKILL)
    assert d.until(ident)["state"] == "failed"
    row = items(home)["b", ""]
    assert (row["used"], row["reserved"]) == (held, 0), row
    hang.set()
    finish(d)


def test_the_time_of_runs_is_limited(home):
    h = Host(home).start()
    h.shell("a", "sleep 600")
    home.skep("budget", "add", "t", "--time", "1s", "--then", "end", "--per",
              "session", "--agent", "a", "--session", "s")
    other = h.submit("a", session="free")
    row = h.until(h.submit("a", session="s"))
    assert (row["state"], row["reason"]) == ("cancelled", "budget"), row
    assert items(home)["t", "a/s"]["used"] >= 1000
    assert h.get(other)["state"] == "running"
    h.cancel(other)
    h.until(other)
    finish(h)


def test_runs_are_counted_and_rejected(home):
    h = Host(home).start()
    h.script("a", {"event": {"type": "note"}})
    h.script("b", {"event": {"type": "note"}})
    home.skep("budget", "add", "n", "--runs", "2", "--then", "end", "--agent",
              "a", "--period", "month")
    states = [h.until(h.submit("a"))["reason"] for _ in range(3)]
    assert states == ["completed", "completed", "budget"], states
    assert h.until(h.submit("b"))["state"] == "succeeded"
    c = Connection(home.path / "run" / "skep.sock", lib.HANG)
    c.request("GET", "/metrics")
    text = c.getresponse().read().decode()
    c.close()
    assert 'skep_budget_used_ratio{budget="n"} 1' in text, text
    finish(h)
