"""The system's clock is set while runs wait."""
import channel_lib
import lib
import skepd_lib

DAY = 86400


class Clock:
    def __init__(self, home):
        so = home.bin / "tests" / "fake_clock.so"
        if not so.exists():
            lib.skip("no fake_clock.so in this build")
        self.file = home.dir / "clock"
        self.set(0)
        self.env = {"LD_PRELOAD": str(so), "FAKE_CLOCK": str(self.file)}

    def set(self, seconds):
        new = self.file.with_suffix(".new")
        new.write_text(str(seconds))
        new.rename(self.file)


def queued(home, clock):
    """One run at work, one behind it that may wait an hour, and one that is to
    begin in an hour."""
    host = skepd_lib.Host(home, env=clock.env).start()
    host.script("a", {"sleep_ms": 600000})
    host.script("b", {"event": {"type": "note"}})
    first = host.submit("a", session="s")
    host.until(first, "running")
    waits = host.submit("a", session="s", queue_timeout_ms=3600000)
    later = host.submit("b", delay_ms=3600000)
    return host, waits, later


def check(host, waits, later, steps):
    lib.eventually(lambda: host.log().count("clock was set") >= steps,
                   what="the step to be noticed")
    for run, column in ((waits, "expires_at"), (later, "due_at")):
        row = host.get(run)
        assert row["state"] == "queued", row


def test_a_queue_timeout_does_not_follow_the_clock(home):
    clock = Clock(home)
    host, waits, later = queued(home, clock)
    before = {r: (host.get(r)["expires_at"], host.get(r)["due_at"])
              for r in (waits, later)}
    for n, by in enumerate((DAY, -DAY, 0), 1):
        clock.set(by)
        check(host, waits, later, n)
        for run, (expires, due) in before.items():
            row = host.get(run)
            for was, now in ((expires, row["expires_at"]),
                             (due, row["due_at"])):
                if was:
                    assert abs(now - was - by * 1000) < 10000, (was, now, by)
    host.kill()


def test_a_clock_that_is_set_while_nobody_runs_moves_deadlines(home):
    clock = Clock(home)
    host, waits, later = queued(home, clock)
    host.kill()
    clock.set(DAY)
    host.start()
    check(host, waits, later, 1)
    host.kill()


def test_a_short_wait_ends_though_the_clock_goes_back(home):
    clock = Clock(home)
    host = skepd_lib.Host(home, env=clock.env).start()
    host.script("a", {"sleep_ms": 600000})
    host.script("b", {"event": {"type": "note"}})
    host.until(host.submit("a", session="s"), "running")
    waits = host.submit("a", session="s", queue_timeout_ms=3000)
    later = host.submit("b", delay_ms=3000)
    clock.set(-DAY)
    assert host.until(later)["state"] == "succeeded"
    assert host.until(waits)["reason"] == "queue_timeout"
    host.kill()


def attempted(host, n):
    lib.eventually(lambda: [d for d in channel_lib.deliveries(host)
                            if d["attempts"] >= n and d["state"] == "pending"],
                   what="a failed attempt")


def test_a_retry_and_a_hold_do_not_follow_the_clock(home):
    """Messages go out after what was left of their wait, though the clock goes
    back by a day meanwhile."""
    clock = Clock(home)
    host = skepd_lib.Host(home, env=clock.env).start()
    for name, refusal in (("retried", 500), ("held", (429, {"retry-after": "3"}))):
        r = channel_lib.receiver(home, lambda _, n, what=refusal:
                                 what if n == 1 else 200)
        channel_lib.webhook(host, name, r.url + "/x", backoff=3000,
                            backoff_max=3000)
        channel_lib.post(host, name, "hello")
        attempted(host, 1)
        clock.set(-DAY if name == "retried" else -2 * DAY)
        channel_lib.await_deliveries(host, 1, "delivered", channel=name)
    assert host.down() == 0
