"""Cancelling many runs: by agent, session, tag, or all of them."""
from skepd_lib import Refused, host

OPEN = ("queued", "starting", "running", "paused", "stopping", "ending")


def refusal(h, body):
    try:
        h.call("POST", "/v1/runs/cancel", body)
    except Refused as r:
        return r.status
    return None


def states(h, runs):
    return [h.get(run)["state"] for run in runs]


def fill(h, agent, session, count, **more):
    """An active run and, behind it in the session, queued ones."""
    return [h.submit(agent, session=session, **more) for _ in range(count)]


def test_all_runs_of_an_agent_end_and_none_starts(home):
    h = host(home)
    h.script("ada", {"await_message": True})
    h.script("bob", {"await_message": True})
    mine = fill(h, "ada", "s", 5) + fill(h, "ada", "t", 5)
    other = fill(h, "bob", "s", 2)
    for run in (mine[0], mine[5], other[0]):
        h.until(run, "running")
    output = home.skep("cancel", "--agent", "ada", "--wait")
    assert "10 runs are being cancelled" in output.out + output.err, (output.out, output.err)
    assert states(h, mine) == ["cancelled"] * 10
    # A queued run that was cancelled never had an attempt.
    assert [h.get(run)["attempt"] for run in mine] == [1, 0, 0, 0, 0] * 2
    assert states(h, other) == ["running", "queued"]
    assert "no run matches" in home.skep("cancel", "--agent", "ada").out
    home.skep("cancel", "--all")
    h.down()


def test_a_session_and_a_tag_select_their_runs(home):
    h = host(home)
    h.script("ada", {"await_message": True})
    one, two = fill(h, "ada", "s", 3), fill(h, "ada", "t", 3, tags=["x", "y"])
    home.skep("agent", "set", "ada", "--default")
    assert "3 runs" in home.skep("cancel", "--session", "s").out
    for run in one:
        h.until(run, "cancelled")
    h.until(two[0], "running")
    assert states(h, two[1:]) == ["queued"] * 2
    assert "no run matches" in home.skep("cancel", "--tag", "z").out
    home.skep("cancel", "--tag", "y", "--reason", "enough")
    for run in two:
        h.until(run, "cancelled")
        assert h.get(run)["detail"] == "enough"
    h.down()


def test_all_means_every_agent_and_survives_a_kill(home):
    h = host(home)
    runs = []
    for agent in ("ada", "bob", "eve"):
        h.script(agent, {"await_message": True})
        runs += fill(h, agent, "s", 20)
        h.until(runs[-20], "running")
    home.skep("cancel", "--all")
    h.kill()
    h.start()
    for run in runs:
        h.until(run, "cancelled")
    assert not [r for r in h.call("GET", "/v1/runs?limit=1000")["items"]
                if r["state"] in OPEN]
    h.down()
    home.integrity()


def test_child_runs_of_other_agents_end_too(home):
    h = host(home)
    h.script("ada", {"await_message": True})
    h.script("bob", {"await_message": True})
    parent = h.submit("ada")
    h.until(parent, "running")
    child = h.submit("bob", parent=parent)
    h.until(child, "running")
    free = h.submit("bob", session="other")
    h.until(free, "running")
    home.skep("cancel", "--agent", "ada")
    h.until(parent, "cancelled")
    h.until(child, "cancelled")
    assert h.get(child)["reason"] == "parent_cancelled"
    assert h.get(free)["state"] == "running"
    home.skep("cancel", "--all")
    h.down()


def test_an_unclear_selection_changes_nothing(home):
    h = host(home)
    h.script("ada", {"await_message": True})
    run = h.submit("ada")
    h.until(run, "running")
    for body in ({}, {"all": False}, {"all": True, "agent": "ada"},
                 {"all": True, "tag": "x"}, {"session": "main"}):
        assert refusal(h, body) == 422, body
    assert refusal(h, {"agent": "nobody"}) == 404
    assert "name a run" in home.refused(64, "cancel")
    assert "not both" in home.refused(64, "cancel", run, "--all")
    assert "cannot be combined" in home.refused(64, "cancel", "--all", "--tag", "x")
    home.refused(66, "cancel", "--agent", "nobody")
    assert h.get(run)["state"] == "running"
    home.skep("cancel", "--all")
    h.down()
