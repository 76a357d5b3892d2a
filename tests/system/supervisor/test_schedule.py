"""Schedules: slots, policies, edits, the log."""
import json
import time

import lib
from skepd_lib import Refused, host

NOON = {"cron": "0 12 * * *", "agent": "bot", "prompt": "go"}
HOUR = 3600000


def start(home, shell="echo hi"):
    h = host(home)
    h.shell("bot", shell)
    return h


def put(h, name, **body):
    return h.call("PUT", "/v1/schedules/" + name, dict(NOON, **body))


def every(h, name, **body):
    body = dict({"agent": "bot", "prompt": "go", "every_ms": 1000}, **body)
    return h.call("PUT", "/v1/schedules/" + name, body)


def log(h, name):
    return h.call("GET", "/v1/schedules/%s/log" % name)["items"]


def refusal(h, method, path, body=None):
    try:
        h.call(method, path, body)
    except Refused as r:
        return r
    raise AssertionError("it was accepted")


def now_ms():
    return int(time.time() * 1000)


def move_slot(h, name, by_ms, count=1):
    """As if the slot had been due before: skepd was down at that time."""
    h.kill()
    slot = now_ms() - by_ms
    h.home.execute(h.home.control, "UPDATE schedule SET slot = ?, due_at = ?,"
                   " anchor_at = ? WHERE name = ?", slot, slot, slot, name)
    h.start()
    return slot


def test_a_schedule_fires_each_slot_once(home):
    h = start(home)
    row = every(h, "tick")
    assert row["state"] == "active" and row["slot"] > now_ms() - 1000, row
    rows = lib.eventually(lambda: len(log(h, "tick")) >= 3 and log(h, "tick"))
    fired = [r for r in rows if r["outcome"] == "fired"]
    assert fired, rows
    for r in fired:
        run = h.until(r["target"], "succeeded")
        assert run["tags"] == ["schedule:tick"], run
    slots = [r["slot"] for r in rows]
    assert slots == sorted(set(slots), reverse=True)
    assert all((s - row["slot"]) % 1000 == 0 for s in slots), slots
    h.call("POST", "/v1/schedules/tick/pause")
    n = len(log(h, "tick"))
    row = h.call("GET", "/v1/schedules/tick")
    assert row["state"] == "paused" and row["due_at"] is None, row
    time.sleep(2.2)
    assert len(log(h, "tick")) == n
    h.down()


def test_a_point_in_time_fires_once_and_ends(home):
    h = start(home)
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 2))
    put(h, "once", cron=None, at=at)
    row = lib.eventually(lambda: log(h, "once"))[0]
    assert row["outcome"] == "fired", row
    assert h.call("GET", "/v1/schedules/once")["state"] == "ended"
    h.until(row["target"], "succeeded")
    r = refusal(h, "PUT", "/v1/schedules/late", dict(
        agent="bot", prompt="x", at="2020-01-01T00:00Z"))
    assert r.status == 422 and "has passed" in str(r.body), r
    h.down()


def test_missed_slots(home):
    """Late by two hours: once, skip, within and outside of a window."""
    h = start(home)
    cases = {"a": ({"missed": "once"}, "fired"),
             "b": ({"missed": "skip"}, "missed"),
             "c": ({"missed": "window", "window_ms": 3 * HOUR}, "fired"),
             "d": ({"missed": "window", "window_ms": HOUR}, "missed")}
    for name, (body, _) in cases.items():
        every(h, name, every_ms=24 * HOUR, **body)
        move_slot(h, name, 2 * HOUR)
    for name, (_, outcome) in cases.items():
        rows = lib.eventually(lambda: log(h, name))
        assert [r["outcome"] for r in rows] == [outcome], (name, rows)
        assert "late" in rows[0]["reason"], rows
        row = h.call("GET", "/v1/schedules/" + name)
        assert row["slot"] - rows[0]["slot"] == 24 * HOUR, (row, rows)
    h.down()


def test_only_the_newest_of_many_missed_slots_fires(home):
    h = start(home)
    every(h, "many", every_ms=60000)
    first = move_slot(h, "many", 3 * HOUR + 30000)
    rows = lib.eventually(lambda: len(log(h, "many")) == 2 and log(h, "many"))
    assert rows[0]["outcome"] == "fired", rows
    assert rows[1]["outcome"] == "missed" and rows[1]["slot"] == first, rows
    assert rows[1]["slots"] == 180, rows
    assert rows[0]["slot"] == first + 180 * 60000, rows
    first = move_slot(h, "many", 100 * 24 * HOUR + 30000)  # more than are counted
    rows = lib.eventually(lambda: len(log(h, "many")) == 4 and log(h, "many"))
    assert rows[-1]["slot"] == first and rows[-1]["slots"] == 1000, rows
    h.down()


def overlap(h, policy):
    """Two slots, of which the first is still active."""
    put(h, policy, overlap=policy, paused=True)
    h.call("POST", "/v1/schedules/%s/fire" % policy)
    first = log(h, policy)[0]
    h.until(first["target"], "running")
    h.call("POST", "/v1/schedules/%s/fire" % policy)
    return first["target"]


def test_overlap(home):
    h = start(home, "sleep 600")
    run = overlap(h, "skip")
    row = log(h, "skip")[0]
    assert row["outcome"] == "skipped" and run in row["reason"], row
    overlap(h, "allow")
    rows = log(h, "allow")
    assert [r["outcome"] for r in rows] == ["fired"] * 2, rows
    run = overlap(h, "cancel")
    assert h.until(run)["state"] == "cancelled"
    rows = log(h, "cancel")
    assert rows[0]["outcome"] == "fired" and rows[0]["target"] != run, rows
    lib.eventually(lambda: log(h, "cancel")[1]["state"] == "cancelled")
    run = overlap(h, "queue")
    assert log(h, "queue")[0]["outcome"] == "waiting"
    h.call("POST", "/v1/schedules/queue/resume")
    h.call("POST", "/v1/schedules/queue/fire")
    h.kill()
    h.start()
    h.cancel(run)
    rows = lib.eventually(lambda: log(h, "queue")[1]["target"] and log(h, "queue"))
    assert [r["outcome"] for r in rows] == ["waiting", "fired", "fired"], rows
    h.call("POST", "/v1/runs/cancel", {"all": True})
    lib.eventually(lambda: log(h, "queue")[0]["target"])
    h.call("POST", "/v1/runs/cancel", {"all": True})
    h.down()


def test_an_edit_keeps_the_log_and_repeats_no_slot(home):
    h = start(home)
    old = put(h, "job", zone="Europe/Berlin")
    h.call("POST", "/v1/schedules/job/fire")
    h.until(log(h, "job")[0]["target"])
    assert put(h, "job", zone="Europe/Berlin")["changed_at"] == old["changed_at"]
    new = put(h, "job", zone="Europe/Berlin", prompt="other")
    assert new["slot"] == old["slot"] and new["fired"] == 1, new
    new = put(h, "job", cron="0 13 * * *", zone="Europe/Berlin")
    assert new["slot"] != old["slot"] and len(log(h, "job")) == 1, new
    # the next slot is in the log already
    home.execute(home.control, "INSERT INTO firing (schedule, slot, outcome, at)"
                 " VALUES ('job', ?, 'skipped', 0)", old["slot"])
    assert put(h, "job", zone="Europe/Berlin")["slot"] > old["slot"]
    h.call("DELETE", "/v1/schedules/job")
    assert refusal(h, "GET", "/v1/schedules/job/log").status == 404
    assert home.query(home.control, "SELECT count(*) FROM firing") == [(0,)]
    h.down()


def test_a_clock_that_was_set_back_does_not_stop_a_schedule(home):
    """The rows were written by a clock that was a year ahead."""
    h = start(home)
    row = put(h, "job")
    h.kill()
    year = 365 * 24 * HOUR
    home.execute(home.control, "UPDATE schedule SET slot = slot + ?1, due_at ="
                 " due_at + ?1, computed_at = computed_at + ?1", year)
    h.start()
    lib.eventually(lambda: h.call("GET", "/v1/schedules/job")["slot"] == row["slot"])
    h.down()


def test_a_slot_that_cannot_start_is_logged(home):
    h = start(home)
    put(h, "job")
    h.shell("bot", "true", enabled=False)
    assert h.call("POST", "/v1/schedules/job/fire")["note"] == "not fired"
    row = log(h, "job")[0]
    assert row["outcome"] == "failed" and "disabled" in row["reason"], row
    h.down()


def test_bad_schedules_are_rejected_and_change_nothing(home):
    h = start(home)
    bad = [
        ({"cron": "* * * *"}, "4 fields"), ({"cron": "61 * * * *"}, "minute"),
        ({"cron": "0 24 * * *"}, "hour"), ({"cron": "0 0 31 2 *"}, "never fire"),
        ({"cron": "5-1 * * * *"}, "backwards"), ({"cron": "@often"}, "@often"),
        ({"cron": "*/0 * * * *"}, "step"), ({"zone": "Mars/Base"}, "Mars/Base"),
        ({"zone": "../etc/passwd"}, "time zone"), ({"every_ms": 5}, "give one of"),
        ({"cron": None, "every_ms": 5}, "second"), ({"at": "soon"}, "not a time"),
        ({"start": "2030-02-31"}, "not a time"),
        ({"start": "2030-01-02", "end": "2030-01-01"}, "before the start"),
        ({"missed": "window"}, "window"), ({"window_ms": 5}, "window"),
        ({"missed": "often"}, "often"), ({"overlap": "often"}, "often"),
        ({"agent": "nobody"}, "nobody"), ({"prompt": None}, "prompt"),
        ({"agent": None}, "agent"), ({"jitter_ms": 10 ** 11}, "one day"),
        ({"cron": None, "at": "2026-03-29T02:30", "zone": "Europe/Berlin"},
         "does not exist"),
    ]
    for body, word in bad:
        r = refusal(h, "PUT", "/v1/schedules/bad", dict(NOON, **body))
        assert 400 <= r.status <= 501 and word in json.dumps(r.body), (body, r)
    for verb in ("pause", "resume", "fire"):
        assert refusal(h, "POST", "/v1/schedules/none/" + verb).status == 404
    assert h.call("GET", "/v1/schedules")["items"] == []
    assert home.query(home.control, "SELECT count(*) FROM audit WHERE act LIKE"
                      " 'schedule.%'") == [(0,)]
    h.down()


def test_the_commands(home):
    h = start(home)
    out = home.skep("schedule", "add", "report", "--cron", "0 9 * * 1-5", "--zone",
                    "Europe/Berlin", "--agent", "bot", "--prompt", "go").out
    assert "added schedule report" in out, out
    again = home.skep("schedule", "add", "report", "--cron", "@daily", "--agent",
                      "bot", "--prompt", "go", code=None)
    assert again.code and "exists" in again.err, again.err
    home.skep("schedule", "set", "report", "--jitter", "30s", "--overlap", "allow",
              "--window", "2h", "--end", "2040-01-01")
    row = home.skep("schedule", "show", "report", "--json").lines[0]
    assert (row["jitter_ms"], row["overlap"], row["missed"], row["window_ms"]) == (
        30000, "allow", "window", 7200000), row
    assert row["cron"] == "0 9 * * 1-5" and row["zone"] == "Europe/Berlin", row
    assert row["ends_at"] and row["slot"] <= row["due_at"] <= row["slot"] + 30000
    slots = home.skep("schedule", "next", "report", "--count", "7", "--json").lines
    assert len(slots) == 7 and all(" 09:00:00 +" in s["local"] for s in slots)
    assert slots == h.call("GET", "/v1/schedules/report/next?limit=7")["items"] or [
        s["slot"] for s in slots] == [s["slot"] for s in h.call(
            "GET", "/v1/schedules/report/next?limit=7")["items"]]
    home.skep("schedule", "set", "report", "--end", "")
    assert home.skep("schedule", "show", "report", "--json").lines[0]["ends_at"] is None
    assert "fired schedule report" in home.skep("schedule", "fire", "report").out
    assert home.skep("schedule", "log", "report", "--json").lines[0]["outcome"] == "fired"
    home.skep("schedule", "pause", "report")
    assert "paused" in home.skep("schedule", "ls").out
    home.skep("schedule", "resume", "report")
    home.skep("schedule", "rm", "report", "--yes")
    assert home.skep("schedule", "ls", "--json").lines == []
    h.down()


def test_ten_thousand_schedules_cost_nothing_while_none_is_due(home):
    h = start(home)
    put(h, "first", cron="0 0 1 1 *")
    h.down()
    home.execute(home.control, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT"
                 " i + 1 FROM n WHERE i < 10000) INSERT INTO schedule (name, cron,"
                 " zone, missed, overlap, action, agent, prompt, anchor_at, slot,"
                 " due_at, computed_at, submitted_by, created_at, changed_at)"
                 " SELECT 's' || i, cron, zone, missed, overlap, action, agent,"
                 " prompt, anchor_at, slot, due_at, computed_at, submitted_by,"
                 " created_at, changed_at FROM schedule, n")
    h.start()
    plans = [
        ("SELECT * FROM schedule INDEXED BY schedule_due WHERE due_at IS NOT NULL"
         " AND due_at <= 5 ORDER BY due_at LIMIT 100"),
        ("SELECT due_at FROM schedule INDEXED BY schedule_due WHERE due_at IS NOT"
         " NULL ORDER BY due_at LIMIT 1")]
    for sql in plans:
        plan = home.query(home.control, "EXPLAIN QUERY PLAN " + sql)
        assert "TEMP B-TREE" not in str(plan), plan
    with open("/proc/%d/stat" % h.process.pid) as f:
        before = f.read().rsplit(")", 1)[1].split()[11:13]
    time.sleep(3)
    with open("/proc/%d/stat" % h.process.pid) as f:
        after = f.read().rsplit(")", 1)[1].split()[11:13]
    ticks = sum(map(int, after)) - sum(map(int, before))
    assert ticks <= 20, ticks  # of 10 ms; the loop alone needs one or two
    home.execute(home.control, "UPDATE schedule SET slot = 1000, due_at = 1000,"
                 " missed = 'skip', ends_at = 2000 WHERE name = 's77'")
    h.kill()
    h.start()
    lib.eventually(lambda: log(h, "s77"))
    h.down()
