"""The queue of skepd: limits, order, policies, keys, time-outs, delays."""
import time

from skepd_lib import Refused, finish, host


def test_the_host_limit_holds_and_the_queue_drains(home):
    h = host(home, max=3)
    h.script("a", {"sleep_ms": 150})
    runs = [h.submit("a") for _ in range(9)]
    most = 0
    while any(h.get(r)["state"] not in ("succeeded",) for r in runs):
        most = max(most, h.call("GET", "/v1/health")["active"])
    assert most <= 3, most
    finish(h)


def test_the_limit_of_an_agent_leaves_room_for_others(home):
    h = host(home)
    h.script("busy", {"sleep_ms": 60000}, limits={"runs": 1})
    h.script("other", {"sleep_ms": 10})
    runs = [h.submit("busy") for _ in range(3)]
    assert h.until(h.submit("other"))["state"] == "succeeded"
    for r, after in zip(runs, runs[1:] + [None]):
        h.until(r, "running")
        assert not after or h.get(after)["state"] == "queued"
        h.cancel(r)
        h.until(r)
    finish(h)


def test_messages_of_a_session_run_in_order_one_at_a_time(home):
    h = host(home)
    h.script("a", {"sleep_ms": 60})
    runs = [h.submit("a", "p%d" % i, session="s") for i in range(4)]
    for r in runs:
        assert h.until(r)["state"] == "succeeded"
    prompts = [b["text"] if "text" in b else str(b)
               for _, kind, b in h.events("a") if kind == "message"]
    assert len(prompts) == 4
    order = [r for r, in home.query(home.control, "SELECT run FROM"
             " run_transition WHERE to_state = 'starting' ORDER BY id")]
    assert order == runs
    finish(h)


def test_the_policy_of_a_busy_session_is_kept(home):
    h = host(home)
    h.script("a", {"sleep_ms": 60000})
    first = h.submit("a", session="s")
    h.until(first, "running")
    try:
        h.submit("a", session="s", policy="reject")
        raise AssertionError("it was taken")
    except Refused as e:
        assert e.status == 409 and "run_in_flight" in str(e)
    queued = h.submit("a", session="s")
    urgent = h.submit("a", session="s", policy="interrupt")
    assert h.until(first)["reason"] == "interrupted"
    h.until(urgent, "running")
    assert h.get(queued)["state"] == "queued"
    for r in (queued, urgent):
        h.cancel(r)
        h.until(r)
    finish(h)


def test_the_same_key_gives_the_same_run(home):
    h = host(home)
    h.script("a")
    one = h.submit("a", idem_key="k")
    assert h.submit("a", idem_key="k") == one
    try:
        h.submit("a", "other", idem_key="k")
        raise AssertionError("it was taken")
    except Refused as e:
        assert e.status == 409
    h.until(one)
    finish(h)


def test_a_cancel_reaches_the_children(home):
    h = host(home, depth_max=2)
    h.script("a", {"sleep_ms": 60000})
    top = h.submit("a")
    mid = h.submit("a", parent=top)
    low = h.submit("a", parent=mid)
    try:
        h.submit("a", parent=low)
        raise AssertionError("deeper than allowed")
    except Refused as e:
        assert e.status == 422
    for r in (top, mid, low):
        h.until(r, "running")
    h.cancel(top)
    assert h.until(top)["state"] == "cancelled"
    for r in (mid, low):
        row = h.until(r)
        assert (row["state"], row["reason"]) == ("cancelled", "parent_cancelled")
    finish(h)


def test_time_outs_of_queue_run_and_silence(home):
    h = host(home, max=1)
    h.script("a", {"sleep_ms": 60000})
    run = h.submit("a", run_timeout_ms=2000)
    waits = h.submit("a", queue_timeout_ms=100)
    assert h.until(waits)["reason"] == "queue_timeout"
    row = h.until(run)
    assert (row["state"], row["reason"]) == ("timed_out", "run_timeout")
    idle = h.submit("a", idle_timeout_ms=200)
    row = h.until(idle)
    assert (row["state"], row["reason"]) == ("timed_out", "idle_timeout")
    finish(h)


def test_a_delayed_run_starts_when_it_is_due(home):
    h = host(home)
    h.script("a")
    began = time.monotonic()
    run = h.submit("a", delay_ms=400)
    assert h.until(run)["state"] == "succeeded"
    assert time.monotonic() - began >= 0.4
    finish(h)
