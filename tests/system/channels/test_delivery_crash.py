"""skepd killed at every named point of a delivery and of an inbound message: the
receiver's log and the rows agree. None is lost, and none comes twice except
those that were `unknown` and sent again with the same key. The same when the
step fails there instead, and skepd goes on.

A worker killed at every named point of its own leaves an outbox whose rows are
sent once each, all of them and no others.

One test a point; the build with the points in it is $SKEP_FAULTS_BIN."""
import http.client
import itertools
import json
import sys
import time

import lib
from channel_lib import SECRET, outbox_is_taken, receiver, secret, sign
from plugin_lib import paths
from skepd_lib import Connection, Host, OVER, QUICK, Refused, faults_bin
from test_plugins import EXAMPLES, lines

POINTS = """outbox_read outbox_stored delivery_claimed delivery_sent
    delivery_answered outcomes_recording inbound_storing inbound_stored txn_before_commit
    txn_after_commit""".split()
# Where skepd can fail and live; at the others the commit is behind it.
ERROR_POINTS = """outbox_read outbox_stored outcomes_recording inbound_storing
    txn_before_commit txn_after_commit""".split()
WORKER_POINTS = """worker_before_open worker_started append_before_commit
    append_after_commit worker_before_end worker_ended""".split()
MESSAGES = 8


class Case:
    def __init__(self, home, action):
        self.home = home
        self.host = Host(home, QUICK, faults_bin(action))
        self.deaths, self.refused = 0, ""

    def ask(self, method, path, body=None):
        return self.insist(lambda: self.host.call(method, path, body, seconds=10))

    def bring(self, ident, message):
        """From outside, as a platform does: signed, and without a word of ours."""
        body, now = json.dumps(message).encode(), str(int(time.time()))

        def post():
            c = Connection(self.home.path / "run" / "skep.sock", 10)
            try:
                c.request("POST", "/v1/channels/web/in", body, {
                    "webhook-id": ident, "webhook-timestamp": now,
                    "webhook-signature": sign(SECRET, ident, now, body)})
                r = c.getresponse()
                text = r.read().decode()
            finally:
                c.close()
            if r.status >= 400:
                raise Refused(r.status, text)
            return json.loads(text)
        return self.insist(post)

    def insist(self, call):
        """Until it is answered: every request may be made twice."""
        end = time.monotonic() + 40
        while True:
            try:
                return call()
            except (OSError, http.client.HTTPException):
                self.restart_all()
            except Refused as e:
                if e.status < 500:
                    raise
                self.refused += str(e)
            if time.monotonic() > end:
                raise AssertionError("nobody answers: " + self.host.log()[-2000:])
            time.sleep(0.02)

    def restart_all(self):
        if self.host.process.poll() is not None:
            self.deaths += 1
            self.host.start()


def await_deliveries(case, n):
    def check():
        rows = case.ask("GET", "/v1/deliveries?limit=1000")["items"]
        done = [d for d in rows if d["state"] == "delivered"]
        return len(done) >= n and rows
    return lib.eventually(check, 60, "%d deliveries" % n)


def shaky(path, n):
    """A receiver that answers late, or takes the message and says nothing."""
    return {0: "late", 1: "close", 3: 503}.get(n % 5, 200)


def run_case(home, point, action, nth, plan):
    if not faults_bin():
        lib.skip("no build with fault points")
    r = receiver(home, plan)
    secret(home, "web")
    case = Case(home, action)
    case.host.start()
    case.ask("PUT", "/v1/channels/web", {"kind": "webhook", "config": {
        "url": r.url, "agent": "echo", "backoff": 50, "timeout": 3000}})
    out = home.dir / "out"
    case.ask("PUT", "/v1/channels/post", {
        "kind": "plugin", "config": {"outbox": str(out), "agent": "echo",
                                     "paths": paths(home)},
        "command": [sys.executable, str(EXAMPLES / "mailbox.py")]})
    case.ask("PUT", "/v1/agents/echo", {"driver": "exec", "config": {
        "shell": "cat", "stdin": "text"}})
    case.host.down()
    case.host.start("skepd/%s:%s:%d" % (point, action, nth), wait=False)
    for i in range(MESSAGES):
        message = {"sender": "ann%d" % (i % 3), "text": "t%d" % i}
        case.bring("m%d" % i, message)
        case.ask("POST", "/v1/channels/post/messages", dict(message, id="m%d" % i))
    rows = await_deliveries(case, 2 * MESSAGES)
    if action == "kill":
        assert case.deaths, "%s never fired" % point
    else:
        assert "fault injected at" in case.host.log() + case.refused, \
            "%s never fired" % point
    check(home, case, r, rows, out)


def check(home, case, r, rows, out):
    inbound = case.ask("GET", "/v1/inbound?limit=1000")["items"]
    runs = case.ask("GET", "/v1/runs?limit=1000")["items"]
    assert len(inbound) == len(runs) == len(rows) == 2 * MESSAGES, (
        len(inbound), len(runs), len(rows))
    assert all(d["state"] == "delivered" for d in rows)
    web = [d for d in rows if d["channel"] == "web"]
    log = r.ids()
    assert set(log) == {d["id"] for d in web}
    assert sorted(d["body"]["text"] for d in web) == sorted(
        "t%d" % i for i in range(MESSAGES))
    for d in web:
        tries = case.ask("GET", "/v1/deliveries/%s/attempts" % d["id"])["items"]
        again = sum(t["outcome"] == "unknown" or t["remote_status"] == 503 for t in tries)
        assert 1 <= log.count(d["id"]) <= 1 + again, (d, log.count(d["id"]))
    for who in {d["conversation"] for d in web}:
        mine = [d["id"] for d in sorted(web, key=lambda d: d["seq"])
                if d["conversation"] == who]
        came = [i for i, _ in itertools.groupby(i for i in log if i in mine)]
        assert came == mine, "each after the one before it"
    # a plugin that can say what arrived gets nothing twice at all
    assert sorted(m["text"] for m in lines(out)) == sorted(
        "t%d" % i for i in range(MESSAGES))
    case.host.down()
    case.home.integrity()


def make(point, action, cases):
    def test(home):
        for nth, plan in cases:
            other = lib.Home(home.bin)
            try:
                run_case(other, point, action, nth, plan)
            finally:
                other.close()
    test.seconds = 240
    return test


# -- workers


def over(h, runs):
    def check():
        rows = [h.get(r) for r in runs]
        return all(r["state"] in OVER for r in rows) and rows
    return lib.eventually(check, 60, "the end of %s" % runs)


def worker_case(home, point, nth):
    if not faults_bin():
        lib.skip("no build with fault points")
    r = receiver(home)
    h = Host(home, QUICK, faults_bin("kill"))
    h.start("skep-worker/%s:kill:%d" % (point, nth))
    secret(home, "web")
    h.call("PUT", "/v1/channels/web", {"kind": "webhook", "config": {"url": r.url}})
    h.script("a", *[{"outbox": {"key": k, "target": {"channel": "web"},
                                "body": {"text": k}}} for k in ("one", "two")])
    runs = [h.submit("a", session="s%d" % i) for i in range(3)]
    first = over(h, runs)
    assert point == "worker_ended" or any(
        x["attempt"] > 1 or x["state"] != "succeeded" for x in first), "no death"
    h.down()
    h.start()  # without the fault, what failed is done again
    again = [h.call("POST", "/v1/runs/%s/retry" % x["id"])["id"]
             for x in first if x["state"] != "succeeded"]
    if again:
        over(h, again)
    box = home.query(home.agent_db("a"), "SELECT key FROM outbox")
    assert len(box) >= 6, box

    def delivered():
        rows = h.call("GET", "/v1/deliveries?limit=1000&state=delivered")["items"]
        return len(rows) == len(box) and rows
    rows = lib.eventually(delivered, 30, "%d deliveries" % len(box))
    assert sorted(d["id"] for d in rows) == sorted(r.ids())
    assert len({d["source_key"] for d in rows}) == len(box)
    outbox_is_taken(home, "a")
    h.down()
    h.check_books()


def make_worker(point):
    def test(home):
        for nth in (1, 3) if point.startswith("append") else (1,):
            other = lib.Home(home.bin)
            try:
                worker_case(other, point, nth)
            finally:
                other.close()
    test.seconds = 240
    return test


for _point in POINTS:
    globals()["test_killed_at_" + _point] = make(
        _point, "kill", [(1, None), (3, shaky)])
for _point in ERROR_POINTS:
    globals()["test_failed_at_" + _point] = make(_point, "error", [
        (n, shaky) for n in ((2, 5, 9, 14) if _point == "txn_before_commit" else (2,))])
for _point in WORKER_POINTS:
    globals()["test_a_worker_killed_at_" + _point] = make_worker(_point)
