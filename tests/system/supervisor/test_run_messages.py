"""Messages of other sessions reach the run of a session: those that wait when
it starts, and those that come while it runs."""
import json
import os
import signal

import lib
from chat_mock import Mock, text
from skepd_lib import Refused, finish, host
from test_acp_permission import hosted
from test_child_runs import boss, children, output


def unread(home, agent, session):
    return home.query(home.control, "SELECT m.body FROM message_to t JOIN"
                      " message m ON m.id = t.message WHERE t.agent = ? AND"
                      " t.session = ? AND t.read_at IS NULL ORDER BY m.id",
                      agent, session)


def steers(h, agent, run):
    return [b for _, k, b in h.events(agent, run) if k == "steer"]


def test_a_model_gets_messages_at_the_start_and_while_it_runs(home):
    h = host(home)
    go = []
    m = Mock(home, lambda body: (lib.eventually(lambda: go, 60, "go"),
                                 text("first"))[1], text("second"))
    h.agent("a", "chat", {"endpoint": m.url}, model="mock")
    home.skep("msg", "send", "a/s", "before one", "--from", "b/main")
    home.skep("msg", "send", "a/s", "before two")
    home.skep("msg", "send", "a/other", "not this")
    run = h.submit("a", "hello", session="s")
    lib.eventually(lambda: m.asked, 60, "a request")
    asked = [x["content"] for x in m.asked[0][2]["messages"]]
    assert [w for w in ("hello", "before one", "before two", "not this")
            if any(w in a for a in asked)] == [
                "hello", "before one", "before two"], asked
    home.skep("msg", "send", "a/s", "meanwhile")
    lib.eventually(lambda: not unread(home, "a", "s"), 60, "read")
    go.append(1)
    assert h.until(run)["state"] == "succeeded"
    assert "meanwhile" in json.dumps(m.asked[1][2]["messages"])
    got = steers(h, "a", run)
    assert [b["text"] for b in got] == ["before one", "before two",
                                        "meanwhile"], got
    assert got[0]["by"] == "b/main"
    assert unread(home, "a", "other") == [("not this",)]
    finish(h)


def test_a_message_is_in_the_transcript_once_when_the_worker_dies(home):
    h = host(home)
    hold = []
    m = Mock(home, lambda body: (lib.eventually(lambda: hold, 60, "go"),
                                 text("ok"))[1])
    h.agent("a", "chat", {"endpoint": m.url}, model="mock")
    home.skep("msg", "send", "a/s", "once")
    run = h.submit("a", "hello", session="s", max_attempts=3)
    lib.eventually(lambda: m.asked, 60, "a request")
    os.kill(h.row(run)["pid"], signal.SIGKILL)
    h.kill()
    h.start()
    lib.eventually(lambda: len(m.asked) == 2, 60, "another request")
    hold.append(1)
    assert h.until(run)["state"] == "succeeded"
    assert json.dumps(m.asked[1][2]["messages"]).count('"once"') == 1
    assert [b["text"] for b in steers(h, "a", run)] == ["once"]
    assert not unread(home, "a", "s")
    finish(h)


def test_a_run_that_ends_leaves_messages_to_the_next_one(home):
    h = host(home)
    h.agent("e", "exec", {"shell": "sleep 60", "stdin": "none"}, receive=True)
    run = h.submit("e", session="s")
    h.until(run, "running")
    home.skep("msg", "send", "e/s", "for the next")
    lib.eventually(lambda: home.query(
        home.control, "SELECT state FROM run_command WHERE verb = 'message'")
        == [("refused",)], 60, "a refusal")
    h.cancel(run)
    h.until(run)
    assert unread(home, "e", "s") == [("for the next",)]
    h.agent("e", "exec", {"shell": "head -n 2 | sed 's/^/got /'",
                          "stdin": "lines"}, receive=True)
    run = h.submit("e", session="s")
    assert h.until(run)["state"] == "succeeded"
    lines = [json.loads(line[4:]) for line in output(h, "e", run)]
    assert [line["type"] for line in lines] == ["prompt", "message"], lines
    assert lines[1]["text"] == "for the next"
    assert not unread(home, "e", "s")
    finish(h)


def test_a_definition_decides_whether_runs_receive(home):
    h = host(home)
    m = Mock(home, text("ok"))
    h.agent("a", "chat", {"endpoint": m.url}, model="mock", receive=False)
    h.shell("e", "true")
    for agent in "a", "e":
        home.skep("msg", "send", agent + "/s", "stays")
        assert h.until(h.submit(agent, session="s"))["state"] == "succeeded"
        assert unread(home, agent, "s") == [("stays",)]
    try:
        h.agent("a", "chat", {"endpoint": m.url}, receive=1)
        raise AssertionError("receive: 1 was accepted")
    except Refused as e:
        assert "receive is 1; it must be true or false" in str(e), e
    finish(h)


def test_an_acp_agent_gets_messages_as_turns(home):
    h = hosted(home)
    home.skep("msg", "send", "a/s", "before")
    run = h.submit("a", json.dumps([{"say": "x"}, {"wait": "go"}]), session="s")
    h.until(run, "running")
    home.skep("msg", "send", "a/s", "meanwhile")
    lib.eventually(lambda: not unread(home, "a", "s"), 60, "read")
    (home.dir / "state" / "go").touch()
    assert h.until(run)["state"] == "succeeded"
    said = "".join(t for (t,) in home.query(
        home.agent_db("a"), "SELECT text FROM part WHERE kind = 'text'"))
    assert "you said before" in said and "you said meanwhile" in said, said
    finish(h)


def test_a_command_receives_and_a_parent_sends(home):
    h = host(home)
    h.agent("kid", "exec", {"command": ["sh", "-es"], "stdin": "text"},
            children={"agents": []})
    boss(h)
    run = h.submit("boss", """
        a=$(skep-run start kid 'skep-run receive --timeout 60 > m; cat m
            id=$(sed "s/.*\\"id\\":\\"\\([^\\"]*\\).*/\\1/" m)
            skep-run receive --ack $id --timeout 0 || echo none $?')
        skep-run send $a 'good day' --key g
        skep-run send $a 'good day' --key g
        skep-run wait $a; skep-run result $a""")
    assert h.until(run)["state"] == "succeeded", output(h, "boss", run)
    kid = children(home)[0][0]
    said = output(h, "kid", kid)
    got = json.loads(said[0])
    assert (got["body"], got["sender"]) == ("good day", "boss/" + run), got
    assert said[1:] == ["none 75"], said
    assert not unread(home, "kid", kid)
    finish(h)
