"""Tables: width, short ids, ages, states, -o, the pager."""
import csv
import io
import json
import re

import lib
from skepd_lib import Host, finish
from terminal_lib import Terminal, on_terminal, plain


def some_runs(home, n=3):
    h = Host(home).start()
    h.script("a", {"text": "x"})
    runs = [h.submit("a", name="run-%d" % i) for i in range(n)]
    for run in runs:
        h.until(run)
    return h, runs


def test_tables_fit_every_terminal(home):
    h, runs = some_runs(home)
    for columns in (20, 40, 60, 80, 200):
        for words in (("ps", "--all"), ("agent", "ls"), ("session", "ls"),
                      ("channel", "ls")):
            code, out = on_terminal(home, *words, columns=columns)
            widest = max(len(x) for x in plain(out).splitlines()
                         if not x.startswith("more:"))
            assert code == 0 and widest <= columns, (columns, words, out)
    out = on_terminal(home, "ps", "--all", columns=200)[1]
    first = plain(out).splitlines()[1].split()[0]
    assert runs[2].startswith("run_" + first) and len(first) == 12
    assert re.search(r"just now|\d+ s ago", out), out
    assert "\x1b[32m✓ succeeded\x1b[0m" in out, out
    plain_out = on_terminal(home, "ps", "--all", columns=200,
                            env={"NO_COLOR": "1"})[1]
    assert "✓ succeeded" in plain_out and "\x1b" not in plain_out
    assert home.skep("show", first, "--json").lines[0]["id"] == runs[2]
    finish(h)


def test_elsewhere_a_table_is_complete(home):
    h, runs = some_runs(home)
    out = home.skep("ps", "--all").out
    assert all(r in out for r in runs) and "✓" not in out and "ago" not in out
    assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", out)
    wide = on_terminal(home, "ps", "--all", "-o", "wide", columns=60)[1]
    assert all(r in wide for r in runs) and "ago" not in wide
    finish(h)


def test_o_selects_format_and_columns(home):
    h, runs = some_runs(home)
    newest = runs[::-1]

    def ps(o):
        return home.skep("ps", "--all", "-o", o).out
    assert ps("name").split() == newest == home.skep("ps", "-Aq").out.split()
    assert [x["id"] for x in json.loads(ps("json"))] == newest
    assert [json.loads(x)["id"] for x in ps("jsonl").splitlines()] == newest
    rows = list(csv.DictReader(io.StringIO(ps("csv"))))
    assert [x["id"] for x in rows] == newest
    assert rows[0]["created_at"].endswith("Z")
    assert ps("id,name").splitlines()[0].split() == ["ID", "NAME"]
    error = home.refused(64, "ps", "--all", "-o", "id,nope")
    assert "'nope'" in error and "wide, name, json" in error and "created_at" in error
    assert json.loads(home.skep("channel", "ls", "-o", "json").out)
    assert home.skep("session", "ls", "--agent", "a", "-o", "csv").out.startswith("key,")
    home.skep("agent", "add", "none", "--driver", "script")
    assert home.skep("session", "ls", "-a", "none", "-o", "json").out == "[]\n"
    finish(h)


def test_csv_quotes_what_needs_it(home):
    home.skep("agent", "add", "a", "--driver", "script", "--set",
              'model=he said "a,b"')
    out = home.skep("agent", "ls", "-o", "csv").out
    assert '"he said ""a,b"""' in out, out
    [row] = csv.DictReader(io.StringIO(out))
    assert row["model"] == 'he said "a,b"'


def test_a_long_table_uses_a_pager(home):
    h, runs = some_runs(home, 12)
    pager = home.dir / "pager"
    pager.write_text("#!/bin/sh\necho paged; exec cat\n")
    pager.chmod(0o755)

    def shown(lines, **env):
        t = Terminal(home, "ps", "--all", lines=lines, env=env)
        assert t.wait() == 0
        return t.all
    assert "paged" in shown(8, PAGER=str(pager))
    assert "paged" not in shown(40, PAGER=str(pager))
    assert "paged" not in shown(8, PAGER="cat")
    assert "paged" not in shown(8, PAGER=str(pager), SKEP_PAGER="")
    assert "paged" not in home.skep("ps", "--all", env={"PAGER": str(pager)}).out
    finish(h)


def test_ps_is_one_table(home):
    h = Host(home, {"run": {"max": 1, "heartbeat": "300ms"}}).start()
    h.script("a", {"sleep_ms": 600000})
    runs = [h.submit("a", session=str(i)) for i in range(4)]
    lib.eventually(lambda: h.get(runs[0])["state"] == "running", what="a run")

    def head(*args):
        return home.skep("ps", *args).out.splitlines()[0].split()

    assert head() == head("--all") == head("--state", "queued")
    assert sorted(home.skep("ps", "-q").out.split()) == sorted(runs)
    for n in (1, 2, 3):
        assert len(home.skep("ps", "-q", "--limit", str(n)).out.split()) == n
        assert len(home.skep("ps", "--json", "-n", str(n)).lines) == n
    error = home.refused(64, "ps", "--state", "sleeping")
    assert "queued" in error and "running" in error
    home.skep("cancel", "--all", "--yes", "--wait")
    finish(h)
