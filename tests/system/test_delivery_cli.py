"""skep delivery, and what skep show says of a run that sent something."""
from channel_lib import echo, receiver, say, settled, webhook
from skepd_lib import host


def shown_without_file(h, run, words):
    """By both, with the moves; `words` say why what it sent is not there."""
    home = h.home
    got = h.call("GET", "/v1/runs/" + run)
    lines = home.skep("show", run, "--json").lines
    for row in (got, lines[0]):
        assert row["id"] == run and row["state"] == "succeeded", row
        assert row["deliveries"] is None and words in row["deliveries_note"], row
    assert len(lines) > 3
    text = home.skep("show", run).out
    assert run in text and "running" in text and words in text, text


def test_a_run_is_shown_without_its_agents_file(home):
    r = receiver(home)
    h = host(home)
    echo(h)
    webhook(h, "web", r.url, agent="echo")
    say(h, "web", "hello")
    settled(h, 1, "delivered")
    [run] = [r["id"] for r in h.call("GET", "/v1/runs")["items"]]
    h.until(run)
    got = h.call("GET", "/v1/runs/" + run)
    assert len(got["deliveries"]) == 1 and got["deliveries_note"] is None
    h.down()
    path = home.agent_db("echo")
    for f in path.parent.glob("agent.sqlite*"):
        f.unlink()
    h.start()
    shown_without_file(h, run, "cannot be read: ")
    h.down()
    path.write_bytes(b"no database at all " * 500)
    h.start()
    shown_without_file(h, run, "agent.sqlite")
    h.down()
