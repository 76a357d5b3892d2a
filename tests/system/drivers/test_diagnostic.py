"""Debug records of runs: off, switched on for the host or for one agent."""
import json

from skepd_lib import QUICK, Host, finish, host

PRAGMAS = {"journal_mode": "wal", "synchronous": "normal",
           "busy_timeout": 30000, "foreign_keys": True, "secure_delete": False}
ODD = """echo '{"type": broken'; echo fine; echo '{"type":"note","text":"x"}'"""


def records(home, *args):
    rows = home.skep("diagnostic", "export", "--agent", "a", *args).lines
    return [(r["area"], json.loads(r["body"])) for r in rows]


def test_nobody_asked_so_a_run_leaves_no_record(home):
    h = host(home)
    h.shell("a", ODD)
    h.until(h.submit("a"))
    assert records(home) == []
    finish(h)


def test_with_diagnostics_on_a_run_tells_what_it_did(home):
    h = Host(home, dict(QUICK, agent={"diagnostics": True,
                                      "diagnostics_rows": 9})).start()
    h.agent("a", "exec", {"shell": ODD, "stdin": "none",
                          "env": {"MINE": "value"}})
    run = h.submit("a")
    h.until(run)
    got = records(home)
    assert [area for area, _ in got] == ["worker", "command", "line", "end"], got
    worker, command, line, end = [body for _, body in got]
    assert worker["pragmas"] == PRAGMAS and worker["driver"] == "exec"
    assert command["argv"][-1] == ODD and command["pid"] > 0
    assert "MINE" in command["environment"] and "value" not in str(command)
    assert line["line"] == '{"type": broken'
    assert (end["outcome"], end["reason"]) == ("succeeded", "completed")
    assert home.query(home.agent_db("a"), "SELECT DISTINCT subject FROM "
                      "diagnostic") == [(run,)]
    h.shell("a", "no-such-command-anywhere" + ODD)
    for _ in range(2):
        h.until(h.submit("a"))
    assert len(records(home)) == 9, "only so many are kept"
    assert len(records(home, "--area", "end")) in (2, 3)
    finish(h)


def test_an_agent_is_asked_for_records_alone(home):
    h = host(home)
    h.shell("a", "exit 3")
    h.shell("b", "exit 3")
    home.skep("diagnostic", "limit", "20", "--agent", "a")
    for agent in "a", "b":
        h.until(h.submit(agent, max_attempts=1))
    assert [area for area, _ in records(home)] == ["worker", "command", "end"]
    assert records(home)[-1][1]["reason"] == "exit_code"
    assert home.skep("diagnostic", "export", "--agent", "b").out == ""
    finish(h)
