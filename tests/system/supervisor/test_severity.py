"""How runs are, and runs that belong together."""
import lib
import os
import signal

from skepd_lib import finish, host


def test_a_run_says_how_bad_it_is_wherever_it_is_shown(home):
    h = host(home, heartbeat="100ms")
    h.script("good", {"event": {"type": "note"}})
    h.script("bad", {"fail": "no"})
    h.script("asks", {"ask": {"key": "k", "title": "may I?"}})
    h.script("sleeps", {"sleep_ms": 60000})
    h.agent("lazy", "script", {"steps": []}, artifacts={"required": ["x.md"]})
    runs = {a: h.submit(a) for a in ("good", "bad", "asks", "sleeps", "lazy")}
    for agent in ("good", "bad", "lazy"):
        h.until(runs[agent])
    h.until(runs["sleeps"], "running")
    wanted = {"good": ("ok", "not_expected", "neutral"),
              "bad": ("ok", "not_expected", "critical"),
              "lazy": ("ok", "missing", "critical"),
              "asks": ("idle", "not_expected", "warning"),
              "sleeps": ("running", "not_expected", "info")}

    def seen(row):
        return tuple(row[k] for k in ("health", "artifacts_status", "severity"))
    for agent, want in wanted.items():
        lib.eventually(lambda: seen(h.get(runs[agent])) == want, 30,
                       "%s: %s" % (agent, seen(h.get(runs[agent]))))
    page = {r["agent"]: seen(r) for r in h.call("GET", "/v1/runs")["items"]}
    assert page == wanted, page
    live = {r["agent"]: r["severity"] for r in h.call("GET", "/v1/active")["items"]}
    assert live == {"asks": "warning", "sleeps": "info"}, live
    assert "critical" in home.skep("ps", "--all").out
    assert "warning" in home.skep("ps").out
    assert home.skep("show", runs["lazy"], "--json").lines[0]["severity"] == \
        "critical"
    # two that live have no severity; then one of them dies
    pids = {a: h.get(runs[a])["pid"] for a in ("asks", "sleeps")}
    h.kill()
    os.kill(pids["sleeps"], signal.SIGKILL)
    lib.eventually(lambda: h.is_zombie(pids["sleeps"]), 10, "its death")
    for agent, health in (("asks", "orphaned"), ("sleeps", "process_dead")):
        row = home.skep("show", runs[agent], "--json").lines[0]
        assert (row["health"], row["severity"]) == (health, "critical"), row
    h.start()
    for agent in ("asks", "sleeps"):
        h.cancel(runs[agent])
        h.until(runs[agent])
    finish(h)


def test_an_invocation_is_as_bad_as_its_worst_run(home):
    h = host(home)
    h.script("a", {"sleep_ms": 60000})
    h.script("b", {"event": {"type": "note"}})
    h.script("c", {"fail": "no"})
    first = home.skep("run", "a", "x", "--invocation", "job-1", "--session",
                      "s1", "-d", "--json").json["id"]
    h.until(first, "running")
    child = h.submit("b", parent=first, session="s2")
    h.until(child)
    other = h.submit("b", invocation="job-2")
    h.until(other)

    def groups():
        return {g["invocation"]: g
                for g in h.call("GET", "/v1/invocations")["items"]}
    got = groups()
    assert (got["job-1"]["runs"], got["job-1"]["sessions"],
            got["job-1"]["active"]) == (2, 2, 1), got
    assert (got["job-1"]["health"], got["job-1"]["severity"]) == (
        "running", "info"), got
    assert got["job-2"]["severity"] == "neutral", got
    assert got["job-1"]["ended_at"] is None and got["job-2"]["ended_at"]
    h.until(h.submit("c", invocation="job-1"))
    assert groups()["job-1"]["severity"] == "critical"
    assert groups()["job-1"]["health"] == "running"
    listed = home.skep("invocation", "ls", "--json").lines
    assert [(g["invocation"], g["severity"]) for g in listed] == [
        ("job-2", "neutral"), ("job-1", "critical")], listed
    of_one = home.skep("ps", "--all", "--invocation", "job-1",
                       "--json").lines
    assert {r["id"] for r in of_one} >= {first, child} and len(of_one) == 3
    ids = {r["id"] for r in h.call("GET", "/v1/runs?invocation=job-1")["items"]}
    assert ids == {r["id"] for r in of_one}
    again = h.call("POST", "/v1/runs/%s/retry" % other)["id"]
    assert h.until(again)["invocation"] == "job-2"
    h.cancel(first)
    h.until(first)
    home.refused(64, "run", "b", "x", "--invocation", "new\nline")
    finish(h)
