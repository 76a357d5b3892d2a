"""Runs that start child runs: with the helper, as tools of a model and as MCP
tools of an agent. A run reaches only its own children."""
import json
import os
import pathlib
import signal

import lib
from chat_mock import Mock, calls, text
from skepd_lib import Host, QUICK, faults_bin, finish, host
from test_acp_permission import hosted
from workspace_lib import needs_fuse, read


def boss(h, name="boss", agents=("kid",), **limits):
    """Its prompt is a shell script."""
    more = limits.pop("more", {})
    return h.agent(name, "exec", {"command": ["sh", "-es"], "stdin": "text"},
                   children=dict(agents=list(agents), **limits), **more)


def output(h, agent, run):
    return [b["text"] for _, k, b in h.events(agent, run)
            if k in ("output", "stderr")]


def works(h, script, agent="boss", **more):
    got = h.until(h.submit(agent, script, **more))
    said = output(h, agent, got["id"])
    assert got["state"] == "succeeded", (got["reason"], got["detail"], said)
    return said


def children(home, of=None):
    return home.query(home.control, "SELECT id, agent, state, parent, depth"
                      " FROM run WHERE parent IS NOT NULL"
                      " AND ? IN (parent, '') ORDER BY id", of or "")


def test_a_command_starts_waits_and_gets_the_answer(home):
    h = host(home)
    h.shell("kid", "echo I am $SKEP_AGENT; sleep 0.2; exit 0")
    h.shell("bad", "exit 3")
    boss(h, agents=["kid", "bad"])
    run = h.submit("boss", """
        a=$(skep-run start kid 'do this')
        b=$(skep-run start bad 'do that')
        skep-run wait $a $b && exit 1 || echo status $?
        skep-run result $a
        skep-run list
        skep-run wait $a --json
        skep-run wait $a; echo status $?""")
    assert h.until(run)["state"] == "succeeded", output(h, "boss", run)
    said = output(h, "boss", run)
    rows = children(home)
    assert [(r[1], r[2], r[3], r[4]) for r in rows] == [
        ("kid", "succeeded", run, 1), ("bad", "failed", run, 1)]
    a, b = rows[0][0], rows[1][0]
    assert said[:6] == [a + " succeeded kid", b + " failed bad", "status 1",
                        "I am kid", a + " succeeded kid", b + " failed bad"]
    got = json.loads(said[6])
    assert got["complete"] and got["runs"][0]["answer"] == "I am kid"
    assert said[-1] == "status 0", said
    assert h.get(a)["submitted_by"] == "run " + run
    finish(h)


def test_a_run_reaches_only_its_own_children(home):
    h = host(home)
    h.shell("kid", "sleep 60")
    boss(h)
    other = h.submit("kid")
    h.until(other, "running")
    said = works(h, """
        for verb in wait cancel result; do
            skep-run $verb %s 2>&1 && exit 1 || echo $?
        done
        skep-run send %s hello 2>&1 && exit 1 || echo $?
        skep-run start boss again 2>&1 && exit 1 || echo $?
        skep-run start kid x --fork-of secret:main 2>&1 && exit 1 || echo $?
        skep-run start kid x --fresh --workspace ../x 2>&1 && exit 1 || echo $?
        SKEP_RUN_TOKEN=wrong skep-run list 2>&1 && exit 1 || echo $?
        ls $(dirname $SKEP_RUN_SOCKET) | grep -v run- ; true
    """ % (other, other))
    assert said[0:8:2] == ["skep-run: this run has no child run '%s'" % other
                           ] * 4, said
    assert said[1:8:2] == ["66"] * 4, said
    assert "may not start runs of boss" in said[8] and said[9] == "77"
    assert "may not use files of agent secret" in said[10], said
    assert "workspace" in said[12] and said[13] == "64", said
    assert said[14:] == ["skep-run: this is not the token of the run", "77",
                         "workspace"], said  # no file of the agent but this
    assert h.get(other)["state"] == "running"
    assert not children(home)
    h.cancel(other)
    h.until(other)
    finish(h)


def test_without_children_in_the_definition_there_is_no_way(home):
    h = host(home)
    h.shell("kid", "true")
    h.agent("plain", "exec", {"command": ["sh", "-es"], "stdin": "text"})
    # The helper may be on the PATH of a host where skep is installed.
    said = works(h, "echo ${SKEP_RUN_SOCKET-no} ${SKEP_RUN_TOKEN-no};"
                 " %s/skep-run start kid x 2>&1 || true" % home.bin, "plain")
    assert said[0] == "no no", said
    assert all("SKEP_RUN_SOCKET is not set" in line or "not found" in line
               for line in said[1:]), said
    assert len(said) == 2 and not children(home), said
    finish(h)


def test_limits_of_depth_width_and_budget(home):
    h = host(home)
    h.shell("kid", "sleep 60")
    h.script("dear", {"usage": {"input_tokens": 90, "output_tokens": 20,
                                "cost_micros": 1500000}})
    boss(h, agents=["kid", "boss"], max_concurrent=2, max_total=3, more={
        "workspace": "disk"})
    said = works(h, """
        a=$(skep-run start kid 1); b=$(skep-run start kid 2)
        skep-run start kid 3 2>&1 || echo $?
        skep-run start kid 1 --key again 2>&1 || echo $?
        skep-run cancel $a >&2; skep-run wait $a >&2 || true
        c=$(skep-run start kid 1 --key again)
        test $c = $(skep-run start kid 1 --key again)
        skep-run start kid 1 --key again --session other 2>&1 || echo $?
        skep-run cancel $b >&2; skep-run wait $b >&2 || true
        skep-run start kid 4 2>&1 || echo $?
        skep-run cancel $c >&2; skep-run wait $c >&2 || true""")
    said = [s for s in said if s.startswith("skep-run:") or s.isdigit()]
    assert "max_concurrent" in said[0] and said[1] == "75", said
    assert "max_concurrent" in said[2], said
    assert "was used for another request" in said[4], said
    assert "max_total" in said[6] and said[7] == "75", said
    assert len(children(home)) == 3
    boss(h, "deep", agents=["deep"], max_depth=1, more={
        "namespace": {"fresh": True}, "workspace": "vfs-only"})
    boss(h, "paid", agents=["dear"], max_cost=1.0)
    boss(h, "counted", agents=["dear"], max_tokens=100)
    needs_fuse()
    said = works(h, "a=$(skep-run start deep 'skep-run start deep true 2>&1"
                 " || true'); skep-run wait $a >&2; skep-run result $a", "deep")
    assert "max_depth allows child runs up to depth 1" in said[-1], said
    for agent, word in ("paid", "max_cost"), ("counted", "max_tokens"):
        said = works(h, "a=$(skep-run start dear x); skep-run wait $a >&2;"
                     " skep-run start dear x 2>&1 || echo $?", agent)
        assert word in said[-2] and said[-1] == "75", said
    for bad in ({"agents": "kid"}, {"max_total": -1}, {"max_cost": "1"},
                {"width": 1}, True):
        try:
            h.agent("x", "exec", {"shell": "true"}, children=bad)
        except Exception as e:  # noqa
            assert "children" in str(e), e
        else:
            raise AssertionError(bad)
    finish(h)


def tagged(run):
    """Processes of a run, by their environment."""
    found = []
    for p in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if b"SKEP_RUN_ID=" + run.encode() in (p / "environ").read_bytes():
                found.append(int(p.name))
        except OSError:
            pass
    return found


def test_cancelling_a_parent_ends_its_children(home):
    h = host(home)
    h.shell("kid", "trap '' TERM; setsid sleep 300 & sleep 300")
    boss(h, "mid", max_depth=2)
    boss(h, agents=["mid", "kid"], max_depth=2)
    run = h.submit("boss", "skep-run start kid x; skep-run start mid 'a=$("
                   "skep-run start kid y); skep-run wait $a'; sleep 300")
    lib.eventually(lambda: len(children(home)) == 3 and all(
        h.get(r[0])["state"] == "running" for r in children(home)), 60,
        "three children")
    ids = [r[0] for r in children(home)]
    lib.eventually(lambda: all(tagged(i) for i in ids), 30, "processes")
    h.cancel(run)
    for i in [run] + ids:
        assert h.until(i)["state"] == "cancelled"
        assert tagged(i) == [], i
    assert {h.get(i)["reason"] for i in ids} == {"parent_cancelled"}
    finish(h)


def test_a_run_waits_while_skepd_restarts(home):
    h = host(home)
    go = home.dir / "go"
    h.shell("kid", "while ! test -e %s; do sleep 0.05; done; echo done" % go,
            sandbox="off")
    boss(h)
    run = h.submit("boss", "a=$(skep-run start kid x); echo $a;"
                   " skep-run wait $a; skep-run result $a")
    lib.eventually(lambda: len(children(home)) == 1 and children(home)[0][2] ==
                   "running", 60, "a child")
    h.kill()
    go.touch()
    h.start()
    assert h.until(run)["state"] == "succeeded", output(h, "boss", run)
    assert output(h, "boss", run)[-1] == "done"
    assert len(children(home)) == 1
    finish(h)


def test_a_child_is_started_once_in_all_attempts(home):
    h = host(home)
    h.shell("kid", "sleep 1; echo done")
    boss(h)
    run = h.submit("boss", "a=$(skep-run start kid x --key one);"
                   " skep-run wait $a; skep-run result $a", max_attempts=3)
    lib.eventually(lambda: children(home), 60, "a child")
    os.kill(h.row(run)["pid"], signal.SIGKILL)
    got = h.until(run)
    assert (got["state"], got["attempt"]) == ("succeeded", 2), got
    assert len(children(home)) == 1
    assert output(h, "boss", run)[-1] == "done"
    finish(h)


def killed_at(home, point):
    """The boss asks when the point is armed; one child answers it."""
    there = faults_bin("kill")
    if not there:
        lib.skip("there is no build with fault points")
    h = Host(home, QUICK, bin_dir=there).start()
    h.shell("kid", "echo done")
    boss(h)
    gate = home.path / "agents/boss/workspace/gate"
    run = h.submit("boss", "while ! test -e gate; do sleep 0.05; done;"
                   " a=$(skep-run start kid x --key k); skep-run wait $a;"
                   " skep-run result $a", max_attempts=5)
    return h, gate, run


def one_child_answers(home, h, run):
    assert h.until(run)["state"] == "succeeded", output(h, "boss", run)
    assert len(children(home, run)) == 1, children(home, run)
    assert output(h, "boss", run)[-1] == "done"
    finish(h)


def test_skepd_dies_while_a_child_is_started(home):
    """Before or after the commit; the worker asks the next skepd."""
    for point in "child_starting", "child_started":
        own = lib.Home(home.bin)
        try:
            h, gate, run = killed_at(own, point)
            h.until(run, "running")
            h.kill()
            h.start(fault="skepd/%s:kill" % point)
            lib.eventually(gate.parent.exists, 60, "the workspace")
            gate.touch()
            assert h.process.wait(60) == -9, point
            h.start()
            one_child_answers(own, h, run)
        finally:
            own.close()


def test_the_worker_dies_while_it_asks(home):
    h, gate, run = killed_at(home, "child_asked")
    h.until(run, "running")
    h.cancel(run)
    h.until(run)
    h.kill()
    # the first request of the next worker; its second attempt is not armed
    h.start(fault="skep-worker/child_asked:kill")
    gate.touch()
    run = h.submit("boss", "a=$(skep-run start kid x --key k);"
                   " skep-run wait $a; skep-run result $a", max_attempts=1)
    got = h.until(run)
    assert (got["state"], got["reason"]) == ("failed", "worker_died"), got
    h.kill()
    h.start()
    lib.eventually(lambda: all(r[2] == "succeeded"
                               for r in children(home, run)), 60, "no orphan")
    assert len(children(home, run)) <= 1
    again = h.call("POST", "/v1/runs/%s/retry" % run, {})["id"]
    one_child_answers(home, h, again)


def test_a_child_works_in_a_fork_of_its_parent(home):
    needs_fuse()
    h = host(home)
    boss(h, agents=["boss", "kid"], more={"workspace": "vfs-only"})
    h.agent("kid", "exec", {"command": ["sh", "-es"], "stdin": "text"},
            workspace="vfs-only")
    said = works(h, """
        echo mine > f
        skep-run start boss true 2>&1 || echo $?
        a=$(skep-run start boss 'cat f; echo child > f' --fork)
        b=$(skep-run start kid 'cat f; echo kid > g' --fork --workspace w)
        skep-run wait $a $b >&2
        skep-run result $a $b
        cat f; ls""")
    said = [s for s in said if "succeeded" not in s]
    assert "would wait for the workspace of this run" in said[0]
    assert said[1:] == ["65", "mine", "mine", "mine", "f"], said
    a = children(home)[0][0]
    assert read(home, "boss:" + a, "f") == "child\n"
    assert read(home, "kid:w", "g") == "kid\n"
    assert read(home, "boss:main", "f") == "mine\n"
    finish(h)


def test_the_model_has_tools_for_child_runs(home):
    h = host(home)
    h.shell("kid", "echo forty-two")
    m = Mock(home, calls(("start_run", {"agent": "kid", "prompt": "x"}),
                         ("start_run", {"agent": "nobody", "prompt": "x"})),
             calls(("list_runs", {})),
             lambda body: calls(("wait_runs", {"runs": [
                 json.loads(body["messages"][-1]["content"])["runs"][0]["run"]
             ]})), text("it is 42"))
    h.agent("a", "chat", {"endpoint": m.url}, model="mock",
            children={"agents": ["kid"]})
    got = h.until(h.submit("a", "go"))
    assert got["state"] == "succeeded", (got, m.asked[-1][2]["messages"])
    names = {t["function"]["name"] for t in m.asked[0][2]["tools"]}
    assert {"start_run", "wait_runs", "list_runs", "send_to_run", "cancel_run",
            "receive_message"} <= names
    results = [x["content"] for x in m.asked[-1][2]["messages"]
               if x["role"] == "tool"]
    assert json.loads(results[0])["is_new"] is True
    assert "may not start runs of nobody" in results[1]
    assert json.loads(results[-1])["runs"][0]["answer"] == "forty-two"
    h.agent("b", "chat", {"endpoint": m.url}, model="mock")
    m.asked.clear()
    m.replies[:] = [text("hi")]
    h.until(h.submit("b", "go"))
    assert "start_run" not in json.dumps(m.asked[0][2]["tools"])
    finish(h)


def test_a_model_starts_a_child_once_when_its_worker_dies(home):
    h = host(home)
    h.shell("kid", "sleep 1; echo forty-two")
    m = Mock(home, calls(("start_run", {"agent": "kid", "prompt": "x"})),
             lambda body: calls(("wait_runs", {"runs": [
                 json.loads(body["messages"][-1]["content"])["run"]]})),
             text("it is 42"))
    h.agent("a", "chat", {"endpoint": m.url}, model="mock",
            children={"agents": ["kid"]})
    run = h.submit("a", "go", max_attempts=3)
    lib.eventually(lambda: len(m.asked) >= 2, 60, "a second request")
    os.kill(h.row(run)["pid"], signal.SIGKILL)
    got = h.until(run)
    assert (got["state"], got["attempt"]) == ("succeeded", 2), got
    (child,) = children(home)
    assert h.until(child[0])["state"] == "succeeded"
    finish(h)


def test_an_acp_agent_has_tools_for_child_runs(home):
    h = hosted(home, children={"agents": ["kid"]})
    h.shell("kid", "echo forty-two")
    steps = [{"tool": "start_run", "args": {"agent": "kid", "prompt": "x"}},
             {"tool": "list_runs"},
             {"tool": "start_run", "args": {"agent": "a", "prompt": "x"}}]
    run = h.submit("a", json.dumps(steps))
    assert h.until(run)["state"] == "succeeded"
    child = children(home)[0][0]
    said = "".join(t for (t,) in home.query(
        home.agent_db("a"), "SELECT text FROM part WHERE kind = 'text'"))
    lines = [json.loads(line) for line in said.splitlines()]
    assert lines[0][0] is False and json.loads(lines[0][1])["run"] == child
    assert json.loads(lines[1][1])["runs"][0]["run"] == child
    assert lines[2][0] is True and "may not start runs of a" in lines[2][1]
    assert h.until(child)["state"] == "succeeded"
    finish(h)
