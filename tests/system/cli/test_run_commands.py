"""The commands on runs: answers, cancels, lists."""
import lib
from skepd_lib import Host, finish


def test_wait_prints_the_answer_and_nothing_else(home):
    """The last message, or what the command of the last attempt printed."""
    h = Host(home).start()
    h.script("m", {"text": "not this"}, {"tool": {"name": "t"}},
             {"text": "the answer"})
    h.agent("e", "exec", {"stdin": "text", "shell":
                          'echo "$SKEP_ATTEMPT: $(cat)"; echo two; '
                          '[ "$SKEP_ATTEMPT" = 2 ] || exit 75'})
    h.script("n", {"event": {"type": "note"}})
    assert home.skep("run", "m", "x", "--wait").out == "the answer\n"
    output = home.skep("run", "e", "hello", "--wait", "--attempts", "2")
    assert output.out == "2: hello\ntwo\n", output.out
    assert output.err == "", output.err
    none = home.skep("run", "n", "x", "--wait")
    assert none.out == "" and "succeeded without an answer" in none.err
    assert home.skep("run", "m", "x", "-w", "--json").json["state"] == "succeeded"
    finish(h)


def test_cancel_takes_several_runs_and_prints_how_they_ended(home):
    h = Host(home).start()
    h.script("a", {"sleep_ms": 60000})
    h.script("b", {"event": {"type": "note"}})
    runs = [h.submit("a", session=s) for s in ("s1", "s2")]
    over = h.submit("b")
    h.until(over)
    h.until(runs[0], "running")
    assert "nonsense" in home.refused(66, "cancel", runs[0], "nonsense")
    assert h.get(runs[0])["state"] == "running"
    output = home.skep("cancel", *runs, over, "--wait").out
    assert output == "".join("%s: %s\n" % x for x in (
        (runs[0], "cancelled"), (runs[1], "cancelled"),
        (over, "not cancelled, it had succeeded")))
    shown = home.skep("show", runs[0], "--json").lines
    assert [c["state"] for c in shown if "verb" in c] == ["applied"], shown
    assert [p["prompt"] for p in shown if "prompt" in p] == ["go"], shown
    assert "prompt:\ngo\n" in home.skep("show", runs[0]).out
    assert "run_01m7hacksgm7kbnv5fgxnqmyhd" in home.refused(
        66, "cancel", "run_01m7hacksgm7kbnv5fgxnqmyhd", over)
    finish(h)


def test_ps_lists_what_has_not_ended(home):
    h = Host(home).start()
    h.script("a", {"sleep_ms": 60000})
    h.script("b", {"event": {"type": "note"}})
    over = h.submit("b", tags=["t 1"])
    h.until(over)
    active, queued = [h.submit("a", session="s", tags=["t 1"], invocation="i")
                      for _ in range(2)]
    h.until(active, "running")

    def ps(*args):
        return home.skep("ps", "-q", *args).out.split()
    assert ps() == [active, queued]
    assert ps("--tag", "t 1") == ps("--agent", "a") == ps() == \
        ps("--invocation", "i")
    assert ps("--tag", "t 2") == ps("--agent", "b") == []
    assert ps("--all", "--tag", "t 1") == [queued, active, over]
    assert ps("--state", "succeeded") == [over]
    rows = {r["id"]: r["state"] for r in home.skep("ps", "--json").lines}
    assert rows == {active: "running", queued: "queued"}
    assert home.skep("top").out.count("run_") == 1
    error = home.refused(66, "ps", "--agent", "aa")
    assert "there is no agent 'aa'; did you mean 'a'?" in error, error
    home.skep("agent", "rm", "b")
    assert ps("--all", "--agent", "b") == [over]
    home.skep("cancel", active, queued, "--wait")
    finish(h)


def test_the_number_of_events_survives_a_restart(home):
    """After a crash the worker says it as soon as it is connected again, not
    with its next heartbeat; after an orderly stop the row has it."""
    h = Host(home, config={"run": {"heartbeat": "600000ms"}}).start()
    h.script("a", {"event": {"type": "note"}, "repeat": 20},
             {"sleep_ms": 60000})
    run = h.submit("a")

    def events():
        return [x["events"] for x in h.call("GET", "/v1/active")["items"]]
    lib.eventually(lambda: events() == [22], what="all events")
    h.kill()
    assert h.row(run)["last_seq"] < 22
    h.start()
    lib.eventually(lambda: events() == [22], 20, "all events again")
    assert h.down() == 0
    assert h.row(run)["last_seq"] == 22
    h.start()
    assert events() == [22]
    h.cancel(run)
    h.until(run)
    finish(h)
