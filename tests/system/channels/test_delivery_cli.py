"""skep delivery, and what skep show says of a run that sent something."""
import lib
from channel_lib import deliveries, echo, post, receiver, send_inbound, await_deliveries, webhook
from skepd_lib import host


def shown_without_file(h, run, words):
    """By both, with the moves; `words` say why what it sent is not there."""
    home = h.home
    got = h.call("GET", "/v1/runs/" + run)
    lines = home.skep("show", run, "--json").lines
    for row in (got, lines[0]):
        assert row["id"] == run and row["state"] == "succeeded", row
        assert row["deliveries"] is None and words in row["deliveries_error"], row
    assert len(lines) > 3
    text = home.skep("show", run).out
    assert run in text and "running" in text and words in text, text


def test_a_run_is_shown_without_its_agents_file(home):
    r = receiver(home)
    h = host(home)
    echo(h)
    webhook(h, "web", r.url, agent="echo")
    send_inbound(h, "web", "hello")
    await_deliveries(h, 1, "delivered")
    [run] = [r["id"] for r in h.call("GET", "/v1/runs")["items"]]
    h.until(run)
    got = h.call("GET", "/v1/runs/" + run)
    assert len(got["deliveries"]) == 1 and got["deliveries_error"] is None
    h.down()
    path = home.agent_db("echo")
    for f in path.parent.glob("agent.sqlite*"):
        f.unlink()
    h.start()
    shown_without_file(h, run, "cannot be read: ")
    h.down()
    path.write_bytes(b"no database at all " * 500)
    h.start()
    shown_without_file(h, run, "agent.sqlite")
    h.down()


def states_of(home, ident):
    return home.skep("delivery", "show", ident, "--json").json["state"]


def test_verbs_by_command(home):
    repaired = []
    plans = {"/yes": 200, "/no": 400, "/mute": "close", "/slow": "stall"}
    r = receiver(home, lambda path, n: 200 if repaired else plans[path])
    h = host(home)
    sent = {}
    for name in ("yes", "no", "mute", "slow"):
        webhook(h, name, "%s/%s" % (r.url, name), idempotent="no", timeout=
                60000 if name == "slow" else 1000)
        sent[name] = home.skep("delivery", "send", name, "hello", "--to", "ann",
                               "--json").json["id"]
    yes, no, mute, slow = (sent[n] for n in ("yes", "no", "mute", "slow"))
    await_deliveries(h, 3, "delivered", "dead", "unknown")
    lib.eventually(lambda: r.ids("/slow"), 30, "the slow one")
    # show
    got = home.skep("delivery", "show", no, "--json").json
    assert got == h.call("GET", "/v1/deliveries/" + no)
    assert (got["state"], got["remote_status"], got["detail"]) == (
        "dead", 400, "the receiver says no"), got
    text = home.skep("delivery", "show", no).out
    assert no in text and "dead" in text and "the receiver says no" in text
    [tried] = home.skep("delivery", "show", no, "--attempts", "--json").lines
    assert (tried["n"], tried["outcome"], tried["remote_status"]) == (1, "dead", 400), tried
    assert home.skep("delivery", "show", yes, "--attempts", "--json").lines == []
    # what is no delivery
    nobody = "dlv_" + "0" * 26
    for verb in ("show", "retry", "discard", "resend"):
        assert "DELIVERY" in home.refused(64, "delivery", verb)
        assert nobody in home.refused(66, "delivery", verb, nobody)
        for bad in ("bad", "run_" + "0" * 26):
            assert bad in home.refused(66, "delivery", verb, bad)
    # what it may not do in this state, and what helps
    assert "skep delivery resend" in home.refused(65, "delivery", "retry", yes)
    for verb in ("retry", "discard"):
        assert "already been delivered" in home.refused(65, "delivery", verb, yes)
        assert "is sending; wait" in home.refused(65, "delivery", verb, slow)
    # what it may
    done = home.skep("delivery", "discard", no, "--json").json
    assert done == {"id": no, "changed": True, "note": "discarded"}, done
    assert "already" in home.refused(65, "delivery", "discard", no)
    assert "it was dead" in home.skep("delivery", "show", no, "--json").json["detail"]
    repaired.append(True)
    again = home.skep("delivery", "resend", yes, "--json").json
    assert again["id"] != yes and again["changed"], again
    assert home.skep("delivery", "show", again["id"], "--json").json[
        "resend_of"] == yes
    for ident in (no, mute):
        assert home.skep("delivery", "retry", ident).out == "queued delivery %s\n" % ident
    for ident in (no, mute, again["id"]):
        lib.eventually(lambda: states_of(home, ident) == "delivered", 30, ident)
    assert r.ids("/mute") == [mute] * 2 and r.ids("/no") == [no] * 2
    assert r.ids("/yes") == [yes, again["id"]]
    h.kill()
    assert states_of(home, yes) == "delivered"  # it is in the file
    for verb in ("retry", "discard", "resend", "send"):
        args = ["yes", "x"] if verb == "send" else [yes]
        assert "skep up" in home.refused(69, "delivery", verb, *args)


def test_attempts_of_two_lives_are_in_the_order_of_time(home):
    r = receiver(home, lambda path, n: 500)
    h = host(home)
    webhook(h, "web", r.url, attempts=2)
    ident = post(h, "web", "x")
    await_deliveries(h, 1, "dead")
    home.skep("delivery", "retry", ident)
    lib.eventually(lambda: states_of(home, ident) == "dead", 30, "its second end")
    lists = (home.skep("delivery", "show", ident, "--attempts", "--json").lines,
             h.call("GET", "/v1/deliveries/%s/attempts" % ident)["items"])
    for got in lists:
        assert [a["n"] for a in got] == [1, 2, 1, 2], got
    h.down()


def test_what_cannot_be_sent_says_why(home):
    r = receiver(home)
    h = host(home)
    webhook(h, "web", r.url)
    webhook(h, "other", r.url)
    send = ("delivery", "send", "web")
    assert "text" in home.refused(64, *send, "hello", "--set", "text=bye")
    file = home.dir / "file"
    file.write_bytes(b"x" * (7 << 20))
    assert "attachments" in home.refused(64, *send, "--attach", file, "--set",
                                         "attachments=[]")
    assert "http.body_max" in home.refused(65, *send, "--attach", file)
    assert deliveries(h) == []
    # a key is one for all channels
    home.skep(*send, "hello", "--key", "k")
    home.skep(*send, "hello", "--key", "k")
    assert "key" in home.refused(65, "delivery", "send", "other", "hello",
                                 "--key", "k")
    home.skep(*send, "--set", "text=only there")
    await_deliveries(h, 2, "delivered")
    assert sorted(r.texts()) == ["hello", "only there"]
    h.down()
