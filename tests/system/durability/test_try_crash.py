"""skepd dies, or a step fails, at each step of an experiment: the next skepd
continues it, and each change is merged once."""
import http.client
import time

import lib
from skepd_lib import Host, QUICK, Refused, faults_bin, fault_points

# The n-th commits of skepd are those of the start, of runs and of steps.
ACTIONS = (("kill", "error", "kill:2"),
           ("kill:2", "kill:4", "kill:6", "kill:9", "kill:12", "kill:16", "kill:21"))
SHELL = "echo $SKEP_SEED > answer; echo x >> log"


class Case:
    def __init__(self, home, fault):
        self.home = home
        self.h = Host(home, QUICK, faults_bin(fault))

    def call(self, *args):
        """Asks until somebody answers; a dead skepd is started without the
        fault."""
        end = time.monotonic() + lib.HANG
        while True:
            try:
                return self.h.call(*args)
            except (OSError, http.client.HTTPException):
                if self.h.process.poll() is not None:
                    self.h.start()
            except Refused as r:
                if r.status < 500:
                    raise
            assert time.monotonic() < end, self.h.log()[-3000:]
            time.sleep(0.05)

    def begin(self, body):
        """A request that was not answered may have been accepted."""
        while True:
            items = self.call("GET", "/v1/experiments")["items"]
            if items:
                return items[0]["id"]
            try:
                return self.h.call("POST", "/v1/experiments", body)["id"]
            except (OSError, http.client.HTTPException):
                continue
            except Refused as r:
                assert r.status >= 500, r

    def row(self, exp):
        return self.call("GET", "/v1/experiments/" + exp)

    def wait(self, exp, *states):
        def check():
            row = self.row(exp)
            return row if row["state"] in states else None
        return lib.eventually(check, lib.HANG, "%s of %s" % (states, exp))


def run_case(home, fault):
    c = Case(home, fault)
    c.h.start()
    c.h.shell("bot", SHELL, workspace="vfs-only")
    home.skep("vfs", "put", "bot", "log", input="start\n")
    c.h.kill()
    c.h.start(fault, wait=False)
    exp = c.begin({
        "agent": "bot", "runs": 2, "check": "grep x log",
        "variants": [{"agent": "bot", "prompt": "go"}]})
    row = c.wait(exp, "done", "failed")
    if row["state"] == "failed":
        assert "fault injected" in row["detail"], row
        return finish(c)
    rows = c.call("GET", "/v1/experiments/%s/trials" % exp)["items"]
    assert [t["outcome"] for t in rows] == ["succeeded"] * 2, rows
    assert [t["check_exit"] for t in rows] == [0, 0], rows
    pick(c, exp)
    assert home.skep("vfs", "cat", "bot", "log").out == "start\nx\n"
    assert home.skep("vfs", "cat", "bot", "answer").out == "2\n"
    assert [r["name"] for r in home.skep("namespace", "ls", "bot", "--json").lines
            ] == ["main"]
    assert home.skep("snapshot", "ls", "bot", "--json").lines == []
    return finish(c)


def pick(c, exp):
    """An injected error is reported; then it is picked once more."""
    for _ in range(2):
        try:
            c.call("POST", "/v1/experiments/%s/pick" % exp, {"trial": 2})
        except Refused as r:  # it was accepted before skepd died
            assert r.status == 409, r
        row = c.wait(exp, "picked", "done")
        if row["state"] == "picked":
            return
        assert "fault injected" in row["detail"], row
    raise AssertionError(row)


def finish(c):
    c.call("GET", "/v1/health")
    assert c.h.down() == 0
    c.h.start()
    assert c.h.down() == 0
    c.home.integrity()


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
    if _point.startswith(("experiment_", "txn_")):
        globals()["test_an_experiment_survives_a_fault_at_" + _point] = make(_point)
