"""Event streams with several subscribers: shared, lagging, catching up."""
import threading
import time

import web_lib

SLOW = [{"event": {"type": "note", "n": 1}}, {"sleep_ms": 60000}]


def wakeups(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as f:
        return sum(int(line.split()[1]) for line in f if "ctxt" in line)


def collect(d, path, after, last, out):
    """Reads the host log until event `last`."""
    for event, cursor, data in d.follow(path, after):
        out.append((event, cursor, data))
        if cursor and int(cursor) >= last():
            return


def test_subscribers_of_the_host_log_get_the_rows_after_their_cursors(home):
    d = web_lib.Skepd(home)
    d.agent()
    for i in range(150):  # more than a page
        d.agent("agent%d" % i)
    middle = d.get("/v1/events?limit=120")["items"][-1]["seq"]
    end = [1 << 60]
    starts = [None, "0", str(middle), str(middle + 1), "0"]
    got = [[] for _ in starts]
    threads = [threading.Thread(target=collect, args=(
        d, "/v1/events", after, lambda: end[0], out))
        for after, out in zip(starts, got)]
    for t in threads:
        t.start()
    for i in range(5):
        d.agent("late%d" % i)
        time.sleep(0.05)
    run = d.run({"text": "x"})
    d.wait(run)
    d.agent("last")
    rows, after = [], 0
    while True:
        page = d.get("/v1/events?limit=100&after=%d" % after)
        rows += page["items"]
        if page["next"] is None:
            break
        after = int(page["next"])
    end[0] = rows[-1]["seq"]
    d.agent("really-last")  # wakes the readers
    for t in threads:
        t.join()
    for after, out in zip(starts, got):
        if after is None:
            assert out[0][0] == "ready", out[0]
            after = out.pop(0)[1]
        want = [r for r in rows if r["seq"] > int(after)]
        seen = [data for _, cursor, data in out if int(cursor) <= end[0]]
        assert seen == want, (after, len(seen), len(want))
        assert [int(cursor) for _, cursor, _ in out] == [
            data["seq"] for _, _, data in out]
    d.stop()


def test_a_subscriber_that_caught_up_costs_nothing(home):
    d = web_lib.Skepd(home)
    d.agent()
    run = d.run(*SLOW, session="s")
    path = "/v1/runs/%s/events" % run
    first = d.follow(path)
    for event, _, data in first:
        if event == "event" and data["type"] == "note":
            break
    # a row that the stream of the run leaves out
    home.skep("session", "append", "s", "aside", "-a", "ada")
    time.sleep(0.5)
    second = d.follow(path)
    for event, _, data in second:
        if event == "event" and data["type"] == "note":
            break
    time.sleep(0.5)
    before = wakeups(d.proc.pid)
    time.sleep(1)
    assert wakeups(d.proc.pid) - before < 300
    first.close()
    second.close()
    d.post("/v1/runs/%s/cancel" % run)
    d.wait(run, "cancelled")
    d.stop()
