"""Which of the agent's sessions goes with ours, and what its turns cost."""
import json

import lib
from skepd_lib import finish, host
from test_acp import heard, methods
from test_acp_reuse import bye, go, keep, stored_texts, until_idle


def opened(home):
    """How the agent's sessions were opened: (method, session or None)."""
    return [(k, m["params"].get("sessionId")) for k, m in heard(home)
            if k in ("session/new", "session/load", "session/resume")]


def test_a_fork_has_a_session_of_the_agents_own(home):
    h = host(home)
    keep(home, h, idle_ms=0)
    go(h, "one")
    home.skep("session", "fork", "s", "t", "--agent", "a")
    go(h, "two", session="t")
    go(h, "three")
    go(h, "four", session="t")
    assert opened(home) == [("session/new", None), ("session/new", None),
                            ("session/load", "s-1"), ("session/load", "s-2")]
    assert stored_texts(home) == ["turn 1, you said one", "turn 2, you said three",
                          "turn 1, you said two", "turn 2, you said four"]
    assert h.down() == 0


def test_a_fork_leaves_what_is_kept_to_its_base(home):
    h = host(home)
    keep(home, h)
    go(h, "one")
    until_idle(h)
    home.skep("session", "fork", "s", "t", "--agent", "a")
    go(h, "two", session="t")
    go(h, "three")
    until_idle(h, 2)
    assert opened(home) == [("session/new", None), ("session/new", None)]
    assert methods(home).count("initialize") == 2
    assert stored_texts(home)[:2] == ["turn 1, you said one", "turn 2, you said three"]
    h.call("POST", "/v1/stop", {"intent": "down"})
    assert h.process.wait(lib.HANG) == 0


def test_a_session_that_was_rewound_begins_anew(home):
    h = host(home)
    keep(home, h, idle_ms=0)
    go(h, "one")
    h.call("POST", "/v1/sessions/a/s/rewind", {"seq": 1})
    go(h, "two")
    assert opened(home) == [("session/new", None), ("session/new", None)]
    assert stored_texts(home)[-1] == "turn 1, you said two", stored_texts(home)
    finish(h)


def money(total):
    return {"update": {"sessionUpdate": "usage_update", "used": 1, "size": 9,
                       "cost": {"amount": total, "currency": "USD"}}}


def costs(home, h, idle_ms):
    keep(home, h, idle_ms=idle_ms)
    rows = []
    for total in (0.25, 0.75, 1.0):
        run = go(h, json.dumps([money(total)]))
        lib.eventually(lambda run=run: h.get(run)["input_tokens"], what="sums")
        rows.append(h.get(run))
    assert [(r["input_tokens"], r["output_tokens"], r["cost_micros"])
            for r in rows] == [(5, 2, 250000), (5, 2, 500000), (5, 2, 250000)]
    total = home.query(home.agent_db("a"), "SELECT sum(input), sum(output), "
                       "sum(cost_nano) FROM usage")
    assert total == [(15, 6, 1000000000)], total


def test_each_run_pays_its_own_turns(home):
    """The agent counts the money of its session; a run has what was added."""
    h = host(home)
    costs(home, h, 0)
    finish(h)


def test_each_run_of_a_kept_agent_pays_its_own_turns(home):
    h = host(home)
    costs(home, h, 600000)
    until_idle(h)
    assert methods(home).count("initialize") == 1
    bye(h)
