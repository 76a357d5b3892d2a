"""Runs that crash, over and over: skepd's descriptors and memory stay flat, and
each run costs the same number of rows. SKEP_SOAK_SECONDS makes it longer."""
import os
import pathlib
import time

from skepd_lib import Host, QUICK, finish

SECONDS = float(os.environ.get("SKEP_SOAK_SECONDS", "0"))
BATCH = 12  # runs of one round: three of each kind
ROUNDS = 6  # at least; the first two warm up


def descriptors(host):
    return len(os.listdir("/proc/%d/fd" % host.process.pid))


def memory(host):
    text = pathlib.Path("/proc/%d/smaps_rollup" % host.process.pid).read_text()
    return sum(int(line.split()[1]) for line in text.splitlines()
               if line.startswith(("Private_Dirty:", "Private_Clean:")))


def rows(home, table):
    return home.query(home.control, "SELECT count(*) FROM " + table)[0][0]


def tables(home):
    return [t for (t,) in home.query(
        home.control, "SELECT name FROM sqlite_schema WHERE type = 'table' AND "
        "name NOT LIKE 'sqlite_%' AND name NOT LIKE '%fts%'")]


def a_round(host, agents, n):
    ids = [host.submit(agents[i % len(agents)], session="s%d-%d" % (n, i),
                       max_attempts=2) for i in range(BATCH)]
    for run in ids:
        host.until(run, seconds=120)


def test_crashing_runs_cost_nothing_that_stays(home):
    host = Host(home, {"run": dict(QUICK["run"], backoff="10ms")}).start()
    agents = [host.script("dies", {"crash": "now"}),
              host.script("recovers", {"crash": "now", "attempts": 1},
                          {"event": {"type": "note", "text": "n"}}),
              host.shell("killed", "kill -9 $$"),
              host.shell("fine", "echo hi")]
    seen, began, n = [], time.monotonic(), 0
    while n < ROUNDS or time.monotonic() - began < SECONDS:
        a_round(host, agents, n)
        n += 1
        seen.append((descriptors(host), memory(host),
                     {t: rows(home, t) for t in tables(home)}))
    warm, last = seen[1], seen[-1]
    later = len(seen) - 2
    # a connection or two may be on its way at any one look
    assert min(s[0] for s in seen[-3:]) <= warm[0] + 4, [s[0] for s in seen]
    # nothing that grows by even 16 KiB a run
    grew = min(s[1] for s in seen[-3:]) - warm[1]
    assert grew < 4096 + later * BATCH, [s[1] for s in seen]
    for table, count in last[2].items():
        first, per_run = seen[2][2][table] - warm[2][table], count - warm[2][table]
        assert per_run <= 1.2 * first * later + BATCH, (
            table, first, per_run, later)
    finish(host)


test_crashing_runs_cost_nothing_that_stays.seconds = 240 + 2 * SECONDS
