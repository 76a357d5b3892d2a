"""Commands in a home with a long history: lists cost no more, and a home of an
earlier version is updated, with a message if that takes long.
SKEP_TEST_BIG=1 takes 500,000 runs and 1,000,000 events."""
import os
import pathlib
import shutil
import sqlite3

import growth_lib as growth
from skepd_lib import Host, QUICK
from test_growth import cpu_seconds

BIG = bool(os.environ.get("SKEP_TEST_BIG"))
RUNS = 500000 if BIG else 20000
SCHEMA = pathlib.Path(__file__).resolve().parents[3] / "schema"
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


def old_file(path, kind, version):
    """An empty database of an earlier version."""
    path = pathlib.Path(path)
    for suffix in ("", "-wal", "-shm"):
        pathlib.Path(str(path) + suffix).unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    db = sqlite3.connect(path)
    db.execute("PRAGMA application_id = %d" % {"control": 0x736b6331,
                                               "agent": 0x736b6131}[kind])
    db.execute("PRAGMA journal_mode = WAL")
    for script in sorted((SCHEMA / kind / "migrations").glob("[0-9]*.sql"))[:version]:
        db.executescript(script.read_text())
    db.execute("PRAGMA user_version = %d" % version)
    db.commit()
    db.close()
    path.chmod(0o600)


def test_a_home_of_an_earlier_version_is_updated(home):
    home.path.mkdir(mode=0o700)
    old_file(home.control, "control", 11)
    growth.fill_control(home, RUNS, RUNS // 5)
    up = home.skep("up", seconds=600)
    print(up.err)
    if BIG:
        assert "updating the schema" in up.err, up.err
    runs = home.skep("ps", "--tag", "rare", "--json").lines
    assert [r["id"] for r in runs] == ["run_%026d" % 10], runs
    home.skep("down", seconds=60)
    home.skep("agent", "add", "agent1", "--driver", "script")
    home.skep("namespace", "create", "agent1:x")
    path = home.agent_db(growth.AGENT)
    old_file(path, "agent", 5)
    growth.fill_agent(home, RUNS // 10, 2 * RUNS)
    first = home.skep("session", "ls", "--agent", "agent1", "--json", seconds=600)
    print(first.err)
    assert first.lines and first.lines[0]["key"], first.lines[:1]
    assert home.query(path, "PRAGMA user_version")[0][0] > 5


for test in (test_lists_cost_no_more_with_a_long_history,
             test_a_home_of_an_earlier_version_is_updated):
    test.seconds = 1500 if BIG else 180
