"""An agent's process is kept for the next prompt of its session."""
import json
import os
import signal
import sys
import time

import lib
from skepd_lib import Host, host
from test_acp import AGENT, methods

LONG = 600000


def keep(home, h, name="a", idle_ms=LONG, can="load", env=None, config=None,
         **more):
    state = home.dir / "state"
    state.mkdir(exist_ok=True)
    more.setdefault("sandbox", "off")  # it keeps its books outside
    return h.agent(name, "acp", dict({
        "command": [sys.executable, str(AGENT)], "idle_ms": idle_ms,
        "env": dict({"ACP_STATE": str(state), "ACP_CAN": can}, **(env or {})),
    }, **(config or {})), **more)


def idle(h):
    return [x for x in h.call("GET", "/v1/active?memory=true")["items"]
            if x["state"] == "idle"]


def until_idle(h, n=1):
    lib.eventually(lambda: len(idle(h)) == n, what="%d idle workers" % n)
    return idle(h)


def go(h, prompt="hello", session="s", agent="a", state="succeeded"):
    run = h.submit(agent, prompt, session=session)
    row = h.until(run)
    assert row["state"] == state, row
    return run


def workers(h, agent="a"):
    """The process of each run, as its transcript says."""
    return [b["pid"] for _, kind, b in h.events(agent) if kind == "run_started"]


def stored_texts(home, agent="a"):
    return [t for (t,) in home.query(
        home.agent_db(agent), "SELECT text FROM part WHERE kind = 'text' "
        "ORDER BY pos, idx")]


def rows(home):
    return home.query(home.control, "SELECT run, idle_since FROM idle_worker")


def bye(h):
    """Down, with everything that was kept."""
    h.call("POST", "/v1/stop", {"intent": "down"})
    assert h.process.wait(lib.HANG) == 0
    assert not rows(h.home) and not h.home.query(
        h.home.control, "SELECT * FROM sandbox")
    h.check_books()


def alive(pid):
    return os.path.exists("/proc/%d" % pid) and not Host.is_zombie(pid)


def test_the_next_run_goes_on_in_the_same_process(home):
    h = host(home)
    keep(home, h)
    first = go(h, "one")
    (one,) = until_idle(h)
    assert one["id"] == first and one["agent"] == "a", one
    assert one["rss"] > 0 and one["processes"] == 2, one
    assert h.call("GET", "/v1/health")["idle"] == 1
    ps = home.skep("ps").out
    assert "idle" in ps and first in ps, ps
    assert home.skep("--json", "status").json["idle"] == 1
    second = go(h, "two")
    assert [i["id"] for i in until_idle(h)] == [second]
    go(h, "three")
    a, b, c = workers(h)
    assert a == b == c, workers(h)
    assert methods(home) == ["initialize", "session/new"] + [
        "session/prompt"] * 3, methods(home)
    assert stored_texts(home) == ["turn %d, you said %s" % (i + 1, w) for i, w in
                          enumerate(("one", "two", "three"))]
    assert h.transitions(second)[-1] == ("succeeded", "completed")
    until_idle(h)
    bye(h)


def test_runs_that_wait_in_line_follow_each_other_there(home):
    h = host(home)
    keep(home, h)
    runs = [h.submit("a", "p%d" % i, session="s") for i in range(6)]
    for run in runs:
        assert h.until(run)["state"] == "succeeded"
    assert len(set(workers(h))) == 1, workers(h)
    assert methods(home).count("initialize") == 1
    until_idle(h)
    bye(h)


def test_other_sessions_and_changed_definitions_start_anew(home):
    h = host(home)
    keep(home, h)
    go(h, session="s")
    go(h, session="t")
    assert len(until_idle(h, 2)) == 2
    pids = [x["pid"] for x in idle(h)]
    keep(home, h, env={"OTHER": "1"})
    until_idle(h, 0)
    lib.eventually(lambda: not any(map(alive, pids)), what="their end")
    go(h, session="s")
    assert len(set(workers(h))) == 3, workers(h)
    (one,) = until_idle(h)
    run = h.submit("a", "x", session="s",
                   options={"config": {"env": {"ACP_STATE": str(
                       home.dir / "state"), "ONCE": "1"}}})
    assert h.until(run)["state"] == "succeeded"
    assert len(set(workers(h))) == 4, "other settings, other process"
    assert not alive(one["pid"])
    until_idle(h)
    bye(h)


def test_when_its_time_is_up_the_whole_tree_is_ended(home):
    h = host(home)
    keep(home, h, idle_ms=300)
    go(h)
    (pid,) = workers(h)
    lib.eventually(lambda: not alive(pid), what="the end")
    until_idle(h, 0)
    assert not rows(home)
    go(h, "again")
    assert len(set(workers(h))) == 2
    assert methods(home).count("session/load") == 1, "it goes on all the same"
    until_idle(h, 0)
    bye(h)


def test_cancel_in_a_kept_process_ends_it(home):
    h = host(home, grace="3000ms")
    keep(home, h)
    go(h)
    (one,) = until_idle(h)
    run = h.submit("a", json.dumps([{"say": "begun"}, {"sleep": 60}]),
                   session="s")
    lib.eventually(lambda: "begun" in stored_texts(home), what="the turn")
    h.cancel(run)
    assert h.until(run)["state"] == "cancelled"
    assert "session/cancel" in methods(home)
    assert not alive(one["pid"]) and not idle(h)
    assert len(set(workers(h))) == 1
    assert not rows(home)
    go(h, "after")
    assert stored_texts(home)[-1] == "turn 3, you said after", stored_texts(home)
    until_idle(h)
    bye(h)


def test_an_idle_worker_that_is_killed_is_missed_by_nobody(home):
    h = host(home)
    keep(home, h)
    go(h)
    (one,) = until_idle(h)
    agents = children(one["pid"])
    left = home.agent_db("a").parent / ("mcp-%d.sock" % one["pid"])
    assert left.exists()
    os.kill(one["pid"], signal.SIGKILL)
    until_idle(h, 0)
    lib.eventually(lambda: not any(map(alive, agents)), what="the agent's end")
    assert not rows(home)
    go(h, "two")
    assert not left.exists()
    (one,) = until_idle(h)
    os.kill(children(one["pid"])[0], signal.SIGKILL)  # the agent itself
    until_idle(h, 0)
    assert not alive(one["pid"])
    go(h, "three")
    assert stored_texts(home)[-1] == "turn 3, you said three", stored_texts(home)
    until_idle(h)
    bye(h)


def children(pid):
    path = "/proc/%d/task/%d/children" % (pid, pid)
    with open(path) as f:
        return [int(n) for n in f.read().split()]


def test_a_new_supervisor_finds_idle_workers_again(home):
    h = host(home)
    keep(home, h)
    go(h, "one")
    (one,) = until_idle(h)
    h.kill()
    h.start()
    (again,) = until_idle(h)
    assert again["pid"] == one["pid"]
    go(h, "two")
    assert h.down() == 0, h.log()[-6000:]  # a restart: workers live on
    h.start()
    until_idle(h)
    go(h, "three")
    assert set(workers(h)) == {one["pid"]}, workers(h)
    assert methods(home).count("initialize") == 1
    # one that exits unobserved
    (one,) = until_idle(h)
    h.kill()
    os.kill(one["pid"], signal.SIGKILL)
    h.start()
    until_idle(h, 0)
    assert not rows(home)
    go(h, "four")
    until_idle(h)
    bye(h)


def test_a_supervisor_that_dies_in_a_later_run_finds_it_in_its_tree(home):
    h = host(home)
    keep(home, h)
    go(h, "one")
    (one,) = until_idle(h)
    slow = json.dumps([{"say": "begun"}, {"wait": "go"}])
    run = h.submit("a", slow, session="s")
    lib.eventually(lambda: "begun" in stored_texts(home), what="the turn")
    h.kill()
    h.start()
    assert h.get(run)["state"] == "running"
    (home.dir / "state" / "go").touch()
    assert h.until(run)["state"] == "succeeded"
    (again,) = until_idle(h)
    assert again["pid"] == one["pid"] and again["id"] == run
    run = h.submit("a", json.dumps([{"sleep": 60}]), session="s")
    h.until(run, "running")
    os.kill(one["pid"], signal.SIGKILL)
    assert h.until(run)["state"] == "failed"
    assert not rows(home)
    bye(h)


def test_an_idle_worker_gives_its_place(home):
    h = host(home, max=2)
    keep(home, h)
    h.script("other", {"sleep_ms": 10})
    go(h, session="s")
    go(h, session="t")
    (old, new) = until_idle(h, 2)
    run = h.submit("other")
    assert h.until(run)["state"] == "succeeded"
    assert [x["pid"] for x in until_idle(h, 1)] == [new["pid"]], "the oldest"
    assert not alive(old["pid"])
    bye(h)


def test_cancel_of_a_run_that_is_over_ends_what_it_kept(home):
    h = host(home)
    keep(home, h)
    run = go(h)
    (one,) = until_idle(h)
    r = h.cancel(run)
    assert not r["changed"] and "idle agent" in r["note"], r
    until_idle(h, 0)
    assert not alive(one["pid"]) and h.get(run)["state"] == "succeeded"
    bye(h)


def test_no_more_are_kept_than_wanted(home):
    h = host(home, idle_max=1)
    keep(home, h)
    go(h, session="s")
    go(h, session="t")
    lib.eventually(lambda: [x["session"] for x in idle(h)] == ["t"],
                   what="the newest alone")
    bye(h)
    h = host(home, idle_max=0)
    go(h, session="s")
    assert not idle(h)
    assert not rows(home)
    bye(h)


def test_an_agent_that_is_removed_takes_its_idle_workers_along(home):
    h = host(home)
    keep(home, h)
    go(h)
    (one,) = until_idle(h)
    h.call("DELETE", "/v1/agents/a")
    assert not idle(h) and not alive(one["pid"])
    bye(h)


def test_a_session_that_was_rewound_begins_a_new_one_of_the_agents(home):
    h = host(home)
    keep(home, h)
    go(h, "one")
    until_idle(h)
    h.call("POST", "/v1/sessions/a/s/rewind", {"seq": 1})
    go(h, "two")
    assert len(set(workers(h))) == 1, "in the same process"
    assert methods(home).count("session/new") == 2, methods(home)
    assert methods(home).count("initialize") == 1
    assert stored_texts(home)[-1] == "turn 1, you said two", stored_texts(home)
    until_idle(h)
    bye(h)


def test_what_a_turn_left_running_does_not_stay(home):
    h = host(home)
    keep(home, h)
    go(h, json.dumps([
        {"call": "terminal/create", "params": {"command": "sh", "args": [
            "-c", "setsid sleep 987 & sleep 986"]}}]))
    until_idle(h)
    found = home.run("sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '",
                     code=None).out
    assert "sleep 987" not in found and "sleep 986" not in found
    assert idle(h)[0]["processes"] == 2, idle(h)
    bye(h)


def test_in_a_mount_and_a_sandbox_too(home):
    if not os.path.exists("/dev/fuse"):
        lib.skip("there is no /dev/fuse")
    h = host(home)
    state = home.dir / "state"
    keep(home, h, sandbox="on", workspace="vfs-only",
         paths={"write": [str(state)]})
    steps = [{"call": "fs/write_text_file", "params": {
        "path": "/mnt/workspace/a.txt", "content": "kept\n"}}]
    run = h.submit("a", json.dumps(steps), session="s")
    row = h.until(run)
    if row["reason"] in ("workspace", "sandbox"):
        lib.skip("no workspace of this kind here: %s" % row["detail"])
    assert row["state"] == "succeeded", row
    until_idle(h)
    assert home.skep("vfs", "cat", "a", "/a.txt").out == "kept\n"
    steps = [{"call": "fs/read_text_file", "params": {
        "path": "/mnt/workspace/a.txt"}}]
    go(h, json.dumps(steps))
    assert "kept" in stored_texts(home)[-1], stored_texts(home)
    assert len(set(workers(h))) == 1
    assert home.query(home.control, "SELECT count(*) FROM sandbox") == [(1,)]
    until_idle(h)
    bye(h)



def test_whoever_dies_between_two_runs_costs_time_only(home):
    """Supervisor or worker, at moments that differ from round to round."""
    h = host(home)
    keep(home, h)
    runs = []
    for i in range(14):
        runs.append(h.submit("a", "p%d" % i, session="s", max_attempts=9))
        time.sleep(0.013 * (i * 7 % 11))
        if i % 2:
            h.kill()
            h.start()
        else:
            for pid in set(workers(h)):
                if alive(pid):
                    os.kill(pid, signal.SIGKILL)
    for run in runs:
        assert h.until(run)["state"] == "succeeded"
    h.call("POST", "/v1/stop", {"intent": "down"})
    assert h.process.wait(lib.HANG) == 0
    assert not rows(home)
    h.check_books()
