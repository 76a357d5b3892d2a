"""skepd dies at each point of the firing of a slot: each slot fires at most once,
and none is lost."""
import lib
from skepd_lib import Host, QUICK, faults_bin, fault_points

ACTIONS = (("kill", "error", "kill:3"),
           ("kill:2", "kill:3", "kill:4", "kill:5", "kill:7", "kill:9", "kill:12"))
SLOTS = 3


def run_case(home, fault):
    h = Host(home, QUICK, faults_bin(fault))
    h.start()
    h.shell("bot", 'echo "$SKEP_RUN" >> "%s"' % (home.dir / "ran"),
            workspace="disk", sandbox="off")
    h.call("PUT", "/v1/schedules/tick", {
        "agent": "bot", "prompt": "go", "every_ms": 1000, "overlap": "allow",
        "session": "one"})
    h.kill()
    h.start(fault, wait=False)

    def enough():
        if h.process.poll() is not None:
            h.start()
        rows = home.query(home.control, "SELECT slot, outcome, target FROM firing"
                          " WHERE outcome IN ('fired', 'failed')")
        return len(rows) >= SLOTS and rows

    lib.eventually(enough, lib.HANG, "%d slots" % SLOTS)
    if h.process.poll() is not None:
        h.start()
    h.call("POST", "/v1/schedules/tick/pause")
    rows = home.query(home.control, "SELECT slot, outcome, reason, target, slots"
                      " FROM firing ORDER BY slot")
    fired = [r for r in rows if r[1] == "fired"]
    for r in rows:
        assert r[1] in ("fired", "missed") or "fault injected" in r[2], rows
    targets = [r[3] for r in fired]
    assert len(set(targets)) == len(targets), rows
    runs = home.query(home.control, "SELECT id FROM run")
    assert sorted(r[0] for r in runs) == sorted(targets), (runs, rows)
    for run in targets:
        h.until(run, "succeeded")
    count = home.query(home.control, "SELECT fired FROM schedule")[0][0]
    assert count == len(fired), (count, rows)
    # every slot of the time is in the log
    covered = sum(r[4] if r[1] == "missed" else 1 for r in rows)
    assert rows[-1][0] - rows[0][0] == (covered - 1) * 1000, rows
    assert h.down() == 0
    home.integrity()


def make(point):
    def test(home):
        if not faults_bin():
            lib.skip("no build with fault points")
        for how in ACTIONS[point.startswith("txn_")]:
            own = lib.Home(home.bin)
            try:
                run_case(own, "skepd/%s:%s" % (point, how))
            except Exception as e:
                raise AssertionError("%s:%s: %s" % (point, how, e)) from None
            finally:
                own.close()
    test.seconds = 300
    return test


for _point in fault_points():
    if _point.startswith(("schedule_", "txn_")):
        globals()["test_slots_survive_a_fault_at_" + _point] = make(_point)
