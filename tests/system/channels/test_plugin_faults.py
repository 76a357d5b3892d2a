"""Whatever a plugin does, it is replaced in the end, its tree ends with it,
there are never two, skepd stays small, and others do not notice."""
import json
import os
import pathlib
import signal
import sys
import time

import lib
from channel_lib import deliveries, post
from plugin_lib import (SCRIPT, Bad, delivered, marked, nobody_left, plugin,
                        processes, show, await_last_error, until, shim)
from skepd_lib import Refused, host

def replaced(home, mode, words, good_first=True, **config):
    """It is found out, replaced once it is good, and its message arrives."""
    b = Bad(home, mode, **config)
    lib.eventually(lambda: b.notes("starts"), 30, "its start")
    await_last_error(b.h, "bad", words, 60)
    b.as_usual()
    b.be_good()
    delivered(b.h, 1, channel="bad")
    row = until(b.h, "bad", "ready")
    assert row["starts"] == len(b.starts()) > 1
    assert processes(b.h, "bad") == [row["pid"]], "one, without what was left"
    assert set(b.notes("sent")) == {b.message}
    b.ends_well()


# -- it ends


def test_one_that_exits_is_started_later_and_later(home):
    b = Bad(home, "exit")
    lib.eventually(lambda: len(b.starts()) >= 5, 60, "five starts")
    at = b.starts()
    gaps = [x - y for x, y in zip(at[1:], at)]
    assert all(g > 0.25 * 2 ** i for i, g in enumerate(gaps)), gaps
    assert len(set("%.3f" % g for g in gaps)) == len(gaps)
    await_last_error(b.h, "bad", "it ended with status 3")
    b.as_usual()
    b.be_good()
    delivered(b.h, 1, channel="bad")
    b.ends_well()


def test_a_good_life_makes_up_for_failures(home):
    b = Bad(home, "exit", timeout=500)
    lib.eventually(lambda: len(b.starts()) >= 5, 60, "five starts")
    b.be_good()
    delivered(b.h, 1, channel="bad")
    time.sleep(2.3)  # four times its timeout
    n, began = len(b.starts()), time.monotonic()
    os.kill(show(b.h, "bad")["pid"], signal.SIGKILL)
    await_last_error(b.h, "bad", "it died by signal 9 (Killed)")
    lib.eventually(lambda: len(b.starts()) > n, 60, "a start")
    # the sixth wait would be 8 s at least
    assert b.starts()[-1] - began < 6, b.starts()[-1] - began
    b.ends_well()


def test_one_that_dies_in_the_middle(home):
    replaced(home, "die", "it ended with status 3")


def test_one_that_is_killed(home):
    replaced(home, "kill", "it died by signal 9")


def test_one_that_dies_with_half_a_line(home):
    replaced(home, "half line", "it ended with status 0")


# -- it hangs


def test_one_that_never_registers(home):
    replaced(home, "mute", "it did not register within 10 s")


def test_one_that_registers_with_wrong_words(home):
    b = Bad(home, "wrong register", message=False)
    await_last_error(b.h, "bad", "channel.register needs")
    await_last_error(b.h, "bad", "it did not register within 10 s")
    b.ends_well()


def test_one_that_does_not_take_its_configuration(home):
    replaced(home, "no configure", "channel.configure within 10 s")


def test_one_that_refuses_its_configuration(home):
    replaced(home, "refuse configure",
             "it refuses its configuration: what is 'colour'?")


def test_one_that_hangs_over_a_message(home):
    replaced(home, "hang", "it does not answer")


def test_one_that_gives_no_sign_of_life(home):
    b = Bad(home, "no status", message=False)
    await_last_error(b.h, "bad", "it does not answer")
    b.as_usual()
    b.ends_well()


def test_one_that_does_not_read_what_it_is_sent(home):
    b = Bad(home, "no reading", message=False, inflight=1000, order="none",
            timeout=6000)
    until(b.h, "bad", "ready")
    for i in range(40):  # one after the other, well before it is replaced
        post(b.h, "bad", "y" * 400000, "c%d" % i)
    waiting = [d for d in deliveries(b.h, channel="bad") if d["attempts"] == 0]
    assert len(waiting) > 10, "it is not sent more than it reads"
    await_last_error(b.h, "bad", "it does not answer", 60)
    b.as_usual()
    b.be_good()
    delivered(b.h, 40, channel="bad")
    b.ends_well()


def test_a_batch_that_is_too_much_at_once_is_sent_bit_by_bit(home):
    b = Bad(home, "slow", message=False, inflight=64, order="none",
            timeout=60000)
    until(b.h, "bad", "ready")
    b.h.call("POST", "/v1/channels/bad/pause")
    for i in range(40):
        post(b.h, "bad", "y" * 2000000, "c%d" % i)
    b.h.call("POST", "/v1/channels/bad/resume")
    lib.eventually(lambda: home.query(
        home.control, "SELECT count(*) FROM delivery WHERE channel = 'bad' AND"
        " state = 'delivered'") == [(40,)], 60, "all of them")
    assert len(b.starts()) == 1 and not show(b.h, "bad")["last_error"]
    b.ends_well()


for t in (test_one_that_never_registers, test_one_that_registers_with_wrong_words,
          test_one_that_does_not_take_its_configuration,
          test_one_that_refuses_its_configuration):
    t.seconds = 180


# -- its processes


def test_one_that_leaves_a_stubborn_daemon(home):
    replaced(home, "daemon", "it ended with status 1")


def test_one_that_ignores_every_word(home):
    replaced(home, "stubborn", "it does not answer")


def test_one_that_forks_and_forks(home):
    b = Bad(home, "storm")
    lib.eventually(lambda: len(b.notes("storms")) > 3, 30, "a storm")
    b.as_usual()
    await_last_error(b.h, "bad", "it does not answer")
    lib.eventually(lambda: len(b.starts()) > 1, 30, "the next start")
    b.be_good()
    b.as_usual()
    b.ends_well()


def test_no_two_over_the_death_of_skepd(home):
    b = Bad(home, "stubborn")
    lib.eventually(lambda: b.notes("sent"), 30, "its message")
    old = marked(b.channel)
    assert len(old) == 2, "it, and a daemon"
    os.kill(shim(b.channel), signal.SIGSTOP)  # who would end them
    b.h.kill()
    assert set(marked(b.channel)) == set(old), "they do not listen"
    row = home.skep("channel", "show", "bad", "--json").json
    assert (row["state"], row["pid"], row["starts"]) == (None, None, 1), row
    b.be_good()
    b.h.start()
    delivered(b.h, 1, channel="bad")
    assert not set(marked(b.channel)) & set(old)
    b.ends_well()


def test_what_a_removed_channel_left_is_ended_by_the_next_skepd(home):
    b = Bad(home, "stubborn")
    lib.eventually(lambda: b.notes("sent"), 30, "its message")
    os.kill(shim(b.channel), signal.SIGSTOP)  # who would end them
    b.h.call("DELETE", "/v1/channels/bad")
    b.h.kill()
    assert marked(b.channel)
    b.h.start()
    lib.eventually(lambda: not marked(b.channel), 30, "their end")
    assert b.h.call("GET", "/v1/channels")["items"]
    b.ends_well()


def test_one_that_is_removed_and_added_again_waits_for_its_former_self(home):
    b = Bad(home, "stubborn")
    lib.eventually(lambda: b.notes("sent"), 30, "its message")
    b.h.call("DELETE", "/v1/channels/bad")
    b.be_good()

    def added():  # once its message is given up and its row gone
        try:
            plugin(b.h, "bad", sys.executable, SCRIPT, "stubborn", b.place)
        except Refused as e:
            assert e.status == 503 and e.body["retry"], e
            return False
        return True
    lib.eventually(added, 30, "another of its name")
    until(b.h, "bad", "ready")
    assert not marked(b.channel)
    b.ends_well()


def test_one_that_is_told_to_stop_has_time_to_tidy_up(home):
    b = Bad(home, "stop", message=False)
    until(b.h, "bad", "ready")
    b.h.call("POST", "/v1/channels/bad/disable")
    lib.eventually(lambda: b.notes("tidied"), 30, "it to tidy up")
    assert "tidying up" in home.skep("channel", "logs", "bad").out
    lib.eventually(lambda: not marked(b.channel), 30, "its end")
    b.ends_well()


def test_one_whose_skepd_is_killed_has_time_to_tidy_up(home):
    b = Bad(home, "stop", message=False)
    until(b.h, "bad", "ready")
    b.h.kill()
    lib.eventually(lambda: b.notes("end of input"), 30, "it to tidy up")
    lib.eventually(lambda: not marked(b.channel), 30, "its end")
    nobody_left(home)


def test_one_that_does_not_stop_is_killed_with_its_tree(home):
    b = Bad(home, "stubborn", message=False)
    until(b.h, "bad", "ready")
    assert len(marked(b.channel)) == 2
    b.h.call("POST", "/v1/channels/bad/disable")
    b.as_usual()
    lib.eventually(lambda: not marked(b.channel), 30, "their end")
    b.ends_well()


# -- its pipes


def test_one_that_closes_its_output(home):
    replaced(home, "close output", "it closed its output")


def test_one_that_closes_its_input(home):
    b = Bad(home, "close input")
    delivered(b.h, 1, channel="bad")
    post(b.h, "bad", "y")
    await_last_error(b.h, "bad", "it closed its input")
    b.as_usual()
    b.be_good()
    delivered(b.h, 2, channel="bad")
    b.ends_well()


def test_one_that_closes_both(home):
    replaced(home, "close both", "it closed its output")


def flood(home, mode, most, **config):
    """While it floods others go on, and skepd does not grow."""
    b = Bad(home, mode, **config)
    lib.eventually(lambda: b.notes("sent"), 30, "its message")
    before = b.memory()
    for _ in range(8):
        b.as_usual()
        assert b.memory() - before < most, (before, b.memory())
    return b


def test_one_that_floods_its_output(home):
    began = time.monotonic()
    b = flood(home, "flood", 24 << 20)
    log = (home.dir / "skepd.log").read_text()
    minutes = 1 + int((time.monotonic() - began) / 60 + 1)  # begun ones count
    assert 0 < log.count("plugin event") <= 30 * minutes, "30 lines a minute"
    b.h.call("DELETE", "/v1/channels/bad")
    b.ends_well()


def test_one_that_floods_with_long_lines(home):
    b = flood(home, "flood of bytes", 48 << 20)
    b.h.call("DELETE", "/v1/channels/bad")
    b.ends_well()


def test_one_that_floods_its_log(home):
    b = flood(home, "flood of stderr", 24 << 20, timeout=60000)
    lib.eventually(lambda: (home.path / "logs" / "channel-bad.log.1").exists(),
                   60, "a rotation")
    files = list((home.path / "logs").glob("channel-bad.log*"))
    assert len(files) == 2 and all(f.stat().st_size <= 4 << 20 for f in files)
    b.h.call("DELETE", "/v1/channels/bad")
    b.ends_well()


def test_one_whose_line_does_not_end(home):
    b = Bad(home, "long line")
    before = b.memory()
    most = [before]

    def found_out():
        most.append(b.memory())
        return "a line is longer than" in (show(b.h, "bad")["last_error"] or "")
    lib.eventually(found_out, 60, "trouble")
    assert max(most) - before < 80 << 20, max(most) - before
    lib.eventually(lambda: b.memory() - before < 24 << 20, 30,
                   "the memory to be given back")
    b.as_usual()
    b.be_good()
    delivered(b.h, 1, channel="bad")
    b.ends_well()


def test_one_whose_line_is_full_of_values(home):
    b = Bad(home, "values", timeout=20000)
    before = b.memory()
    await_last_error(b.h, "bad", "more than 100000 values", 60)
    assert b.memory() - before < 96 << 20
    delivered(b.h, 1, channel="bad")  # one bad line is forgiven
    assert len(b.starts()) == 1
    b.ends_well()


def test_one_that_talks_nonsense(home):
    replaced(home, "nonsense", "it talks nonsense")


# -- its answers


def test_an_answer_after_its_time_is_void(home):
    b = Bad(home, "late once", idempotent="no", timeout=300)
    [d] = lib.eventually(lambda: deliveries(b.h, state="unknown"), 30, "unknown")
    assert d["detail"] == "the plugin did not answer in time", d
    b.as_usual()
    [d] = deliveries(b.h, channel="bad")
    assert (d["state"], d["remote_id"], d["attempts"]) == ("unknown", None, 1), d
    assert b.notes("sent") == [b.message]
    b.ends_well()


def test_of_two_answers_the_first_counts(home):
    b = Bad(home, "twice")
    delivered(b.h, 1, channel="bad")
    post(b.h, "bad", "y")
    delivered(b.h, 2, channel="bad")
    assert {(d["remote_id"], d["attempts"]) for d in deliveries(
        b.h, channel="bad")} == {("first", 1)}
    assert len(b.starts()) == 1
    b.ends_well()


def test_a_permanent_refusal_ends_a_message(home):
    b = Bad(home, "refuse")
    [d] = lib.eventually(lambda: deliveries(b.h, state="dead"), 30, "its death")
    assert (d["remote_status"], d["detail"], d["attempts"]) == (7, "no such user", 1)
    b.ends_well()


def test_a_wish_to_wait_is_kept(home):
    b = Bad(home, "hold", timeout=5000)
    lib.eventually(lambda: b.notes("sent"), 30, "an attempt")
    began = time.monotonic()
    delivered(b.h, 1, channel="bad")
    assert time.monotonic() - began > 0.4 and len(b.notes("sent")) == 2
    b.ends_well()


def test_odd_answers_hurt_nobody(home):
    b = Bad(home, "odd results")
    delivered(b.h, 1, channel="bad")
    [d] = deliveries(b.h, channel="bad")
    assert d["remote_id"] is None
    b.ends_well()


def test_odd_errors_hurt_nobody(home):
    b = Bad(home, "odd errors")
    lib.eventually(lambda: b.notes("sent"), 30, "an attempt")
    row = lib.eventually(lambda: [d for d in deliveries(b.h, channel="bad")
                                  if d["state"] == "pending"], 30, "its wait")
    assert len(row) == 1
    held = home.query(home.control, "SELECT due_at - created_at FROM delivery"
                      " WHERE channel = 'bad'")[0][0]
    assert held <= 86400000 + 60000, "a day at most"
    b.ends_well()


def test_a_long_word_is_cut_between_characters(home):
    b = Bad(home, "long words")
    [d] = lib.eventually(lambda: deliveries(b.h, state="dead"), 30, "its death")
    euros = d["detail"].rstrip("\u2026")
    assert set(euros) == {"\u20ac"} and len(euros) > 50
    assert d["detail"] == euros + "\u2026"  # and says that it was cut
    for (body,) in home.query(home.control, "SELECT CAST(body AS BLOB) FROM"
                              " host_event WHERE kind = 'delivery'"):
        json.loads(body.decode("utf-8"))
    b.ends_well()


# -- what it asks

ODD = [
    "nonsense", "[]", "{}", "7", "null", '"text"', "{", "\x00", "\x00" * 100,
    '{"jsonrpc":"2.0"}', '{"jsonrpc":"1.0","method":"channel.event"}',
    '{"jsonrpc":"2.0","method":7}', '{"jsonrpc":"2.0","method":"m","params":[]}',
    '{"jsonrpc":"2.0","method":"m","id":{}}', "\udcff\udcfe", '"\udcff"',
    '{"jsonrpc":"2.0","id":1,"error":"no"}', "[" * 100000, '{"a":' * 50000,
    '{"jsonrpc":"2.0","id":"%s","result":{}}' % ("9" * 500),
    '{"jsonrpc":"2.0","method":"m","params":{"t":"\\u0000"}}',
]
ASKED = [
    ("channel.nothing", {}, -32601), ("", {}, -32601),
    ("channel.register", {"name": "again"}, -32602),
    ("channel.event", {}, -32602), ("channel.event", {"event": 7}, -32602),
    ("channel.event", {"event": "x", "data": 7}, -32602),
    ("channel.event", {"event": "cursor", "data": {"x": "y" * 70000}}, -32602),
    ("channel.status", {}, -32602), ("channel.status", {"status": 7}, -32602),
    ("channel.status", {"status": "fine"}, -32602),
    ("channel.receive", {}, -32602), ("channel.receive", {"text": "x"}, -32602),
    ("channel.receive", {"sender": 7, "text": "x"}, -32602),
    ("channel.receive", {"sender": "a", "text": 7}, -32602),
    ("channel.receive", {"sender": "a" * 600, "text": "x"}, -32602),
    ("channel.receive", {"sender": "a\nb", "text": "x"}, -32602),
    ("channel.receive", {"version": "9.9", "message_type": "message",
                         "routing": {}, "content": []}, -32602),
    ("channel.event", {"event": "fine"}, None),
    ("channel.event", {"event": "cursor", "data": {"at": 1}}, None),
    ("channel.status", {"status": "ok"}, None),
]
ODD_PLUGIN = r'''
import json, sys
odd, asked = json.load(open(sys.argv[1]))
def put(**m):
    sys.stdout.write(json.dumps(dict(m, jsonrpc="2.0")) + "\n")
    sys.stdout.flush()
out = sys.stdout.buffer
put(id="r", method="channel.register", params={"name": "odd"})
for line in sys.stdin:
    m = json.loads(line)
    with open(sys.argv[2], "a") as f: f.write(line)
    if m.get("method") == "channel.configure":
        for text in odd:
            out.write(text.encode("utf-8", "surrogateescape") + b"\n")
        for n in (0, 1, 5, 77, 2 ** 53, -1, 1.5, "x"):  # answers to no request
            put(id=n, result={"ok": True, "delivery": "delivered"})
        for i, (method, params, code) in enumerate(asked):
            put(id="q%d" % i, method=method, params=params)
            put(method=method, params=params)  # the same as a notice
        put(id=m["id"], result={})
        put(id=m["id"], result={})
        put(id=m["id"], error={"code": 1, "message": "too late"})
    elif "id" in m and m.get("method"):
        put(id=m["id"], result={})
'''


def test_odd_lines_are_answered_or_left_alone(home):
    h = host(home)
    script, output = home.dir / "odd.py", home.dir / "said"
    script.write_text(ODD_PLUGIN)
    (home.dir / "odd.json").write_text(json.dumps([ODD, ASKED]))
    plugin(h, "odd", sys.executable, script, home.dir / "odd.json", output)
    until(h, "odd", "ready")
    post(h, "odd", "x")
    delivered(h, 1)
    answers = {}
    for line in output.read_text().splitlines():
        m = json.loads(line)
        if "method" not in m:
            answers[m["id"]] = m
    assert answers["r"]["result"] == {"ok": True}
    for i, (method, params, code) in enumerate(ASKED):
        got = answers["q%d" % i]
        assert got.get("error", {}).get("code") == code, (method, params, got)
    row = show(h, "odd")
    assert row["starts"] == 1 and row["cursor"] == {"at": 1}, row
    assert h.call("GET", "/v1/inbound")["items"] == []
    h.down()
    nobody_left(home)


def test_many_cursors_cost_no_memory(home):
    h = host(home)
    script = home.dir / "cursors.py"
    script.write_text(r'''
import json, sys
def put(**m):
    sys.stdout.write(json.dumps(dict(m, jsonrpc="2.0")) + "\n")
put(method="channel.register", params={"name": "cursors"})
sys.stdout.flush()
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "channel.configure":
        print(json.dumps(m["params"]["cursor"])[:80], file=sys.stderr, flush=True)
        for i in range(3000):
            put(method="channel.event", params={"event": "cursor", "data": {
                "at": i, "more": "x" * 20000}})
    if "id" in m:
        put(id=m["id"], result={})
    sys.stdout.flush()
''')

    def memory():
        text = pathlib.Path("/proc/%d/status" % h.process.pid).read_text()
        return int(text.split("VmRSS:")[1].split()[0]) * 1024
    before = memory()
    plugin(h, "p", sys.executable, script, timeout=20000)
    until(h, "p", "ready", 60)
    lib.eventually(lambda: (show(h, "p")["cursor"] or {}).get("at") == 2999, 60,
                   "the last cursor")
    assert memory() - before < 30 << 20, memory() - before  # 60 MB were said
    os.kill(show(h, "p")["pid"], signal.SIGKILL)
    lib.eventually(lambda: '{"at": 2999' in home.skep("channel", "logs", "p").out,
                   30, "the cursor at its next start")
    h.down()
