"""Commands in a home with a long history: lists cost no more.
SKEP_TEST_BIG=1 takes 500,000 runs and 1,000,000 events."""
import os
import pathlib
import shutil

import growth_lib as growth
from skepd_lib import Host, QUICK
from test_growth import cpu_seconds

BIG = bool(os.environ.get("SKEP_TEST_BIG"))
RUNS = 500000 if BIG else 20000
LISTS = (("ps",), ("ps", "--state", "failed"), ("session", "ls", "--agent", "agent1"),
         ("agent", "ls"), ("status",), ("approval", "ls"), ("delivery", "ls"),
         ("inbound", "ls"), ("invocation", "ls"))


def costs(home, files, runs):
    """CPU ms of each list, by command and by the supervisor's loop."""
    for to, copy in files.items():
        for suffix in ("-wal", "-shm"):
            pathlib.Path(str(to) + suffix).unlink(missing_ok=True)
        shutil.copy(copy, to)
    growth.fill_control(home, runs, runs // 5)
    growth.fill_agent(home, runs // 10, 2 * runs)
    h = Host(home, QUICK).start()
    spent = {}
    for words in LISTS:
        loop = growth.loop_ns(h.process.pid)
        least = min(cpu_seconds(home, *words) for _ in range(5)) * 1000
        loop = (growth.loop_ns(h.process.pid) - loop) / 5e6
        spent[" ".join(words)] = least, loop
    h.down()
    return spent


def test_lists_cost_no_more_with_a_long_history(home):
    h = Host(home, QUICK).start()
    for i in range(growth.AGENTS):
        h.shell("agent%d" % i, "true")
    h.call("POST", "/v1/agents/agent1/file", {})
    h.down()
    files = {}
    for path in (home.control, home.agent_db(growth.AGENT)):
        home.query(path, "PRAGMA wal_checkpoint(TRUNCATE)")
        files[path] = home.dir / (pathlib.Path(path).name + ".copy")
        shutil.copy(path, files[path])
    few, many = costs(home, files, RUNS // 20), costs(home, files, RUNS)
    for words in few:
        print("%-32s command %5.1f → %5.1f ms, loop %5.1f → %5.1f ms" %
              (words, few[words][0], many[words][0], few[words][1], many[words][1]))
    for words in few:
        for a, b in zip(few[words], many[words]):
            assert b < 2 * a + 5, (words, few[words], many[words])


test_lists_cost_no_more_with_a_long_history.seconds = 1500 if BIG else 180
