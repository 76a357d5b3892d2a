"""A channel is switched, changed and removed while messages come and go:
nothing is lost, nothing stands still, and nothing goes to somebody else."""
import json
import signal

from channel_lib import post, receiver, settled, webhook
from skepd_lib import Connection, host


def at_once(h, *asks):
    """Requests that skepd reads in one turn of its loop; their statuses."""
    calls = []
    for _ in asks:
        c = Connection(h.home.path / "run" / "skep.sock", 60)
        c.request("GET", "/v1/health")
        c.getresponse().read()
        calls.append(c)
    h.process.send_signal(signal.SIGSTOP)
    try:
        for c, (path, body) in zip(calls, asks):
            c.request("POST", path, json.dumps(body),
                      {"Content-Type": "application/json"})
    finally:
        h.process.send_signal(signal.SIGCONT)
    answers = [c.getresponse() for c in calls]
    for c, r in zip(calls, answers):
        r.read()
        c.close()
    return [r.status for r in answers]


def test_what_was_claimed_as_its_channel_was_disabled_holds_nobody_up(home):
    r = receiver(home)
    h = host(home)
    webhook(h, "web", r.url, inflight=1)
    for i in range(5):
        said = at_once(h, ("/v1/deliveries", {"channel": "web",
                                              "body": {"text": "m%d" % i}}),
                       ("/v1/channels/web/disable", {}))
        h.call("POST", "/v1/channels/web/enable", {})
        if said[0] >= 300:  # the switch was read first, and in a turn before
            post(h, "web", "m%d" % i)
    settled(h, 5, "delivered")
    assert sorted(r.texts()) == ["m%d" % i for i in range(5)]
    h.down()
