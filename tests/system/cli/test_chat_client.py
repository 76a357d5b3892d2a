"""skep chat: on a terminal, in a pipe, two at once, with a supervisor that dies."""
import base64
import os
import pty
import subprocess
from urllib.parse import quote

import lib
from channel_lib import deliveries, echo, post
from skepd_lib import host


class Terminal:
    """skep chat on a terminal: type, and see what comes."""

    def __init__(self, home, *args):
        self.master, slave = pty.openpty()
        self.process = home.start(home.bin / "skep", "chat", *args, stdin=slave,
                                  stdout=slave, stderr=slave, env={"TERM": "dumb"},
                                  start_new_session=True,
                                  preexec_fn=lambda: os.close(os.open(
                                      os.ttyname(0), os.O_RDWR)))
        os.close(slave)
        os.set_blocking(self.master, False)
        home.undo.append(lambda: os.close(self.master))
        self.out = ""

    def see(self, text, seconds=lib.HANG):
        """Waits for it, and forgets what came before."""
        def check():
            try:
                self.out += os.read(self.master, 65536).decode("utf-8", "replace")
            except OSError:
                pass
            return text in self.out
        try:
            lib.eventually(check, seconds, repr(text))
        except AssertionError:
            raise AssertionError("%r instead of %r" % (self.out, text))
        self.out = self.out.split(text, 1)[1]

    def type(self, text):
        os.write(self.master, text.encode())

    def end(self):
        return self.process.wait(lib.HANG)


def runs(h, agent):
    return h.call("GET", "/v1/runs?limit=1000&agent=" + agent)["items"]


def test_a_chat_says_how_to_make_its_channel_again(home):
    h = host(home)
    echo(h)
    home.skep("channel", "rm", "local")
    error = home.refused(66, "chat", "echo", input="x\n")
    assert "skep channel add local pull" in error, error
    home.skep("channel", "add", "local", "stdio")  # as it is called elsewhere
    assert home.skep("chat", "echo", input="x\n").out == "x\n"
    h.down()


def test_chat_in_a_pipe(home):
    h = host(home)
    echo(h)
    h.agent("bad", "exec", {"shell": "exit 3", "stdin": "none"})
    h.agent("mute", "exec", {"shell": "true", "stdin": "none"})
    assert home.skep("chat", "echo", input="hello\n\nyou there\n").out == \
        "hello\nyou there\n"
    assert home.skep("chat", "echo", input="no line end").out == "no line end\n"
    assert home.skep("chat", "echo", input="").out == ""
    [m] = home.skep("chat", "echo", "--json", input="again\n").lines
    assert (m["text"], m["channel"]) == ("again", "local")
    assert "no model yet" in home.skep("chat", "main", input="hi\n").out
    assert "no answer" in home.skep("chat", "mute", input="x\n").out
    # one session for all lines of a person
    assert len(h.call("GET", "/v1/sessions/echo")["items"]) == 1
    assert {d["state"] for d in deliveries(h)} == {"delivered"}
    before = len(h.call("GET", "/v1/inbound")["items"])
    assert "code 3" in home.refused(1, "chat", "bad", input="x\nnever said\n")
    assert len(runs(h, "bad")) == 1
    h.call("PUT", "/v1/channels/f", {"kind": "file"})
    for code, args in ((66, ["nobody"]), (66, ["echo", "--channel", "nope"]),
                       (64, ["echo", "--channel", "f"]), (64, ["a\nb"]),
                       (64, ["echo", "--session", "a\nb"])):
        home.refused(code, "chat", *args, input="x\n")
    for text in (b"a\0b\n", b"a\xff\n"):
        assert "UTF-8" in home.refused(65, "chat", "echo", input=text)
    assert len(h.call("GET", "/v1/inbound")["items"]) == before + 1
    h.down()
    assert "skep up" in home.refused(69, "chat", "echo", input="x\n")


def test_what_is_there_is_given_to_who_does_not_wait(home):
    h = host(home)
    echo(h)
    home.skep("chat", "echo", input="x\n")
    [c] = h.call("GET", "/v1/conversations")["items"]
    path = "/v1/channels/local/next?wait=0&conversation=%s" % quote(c["peer"], "")
    assert h.call("GET", path) is None
    a, b = post(h, "local", "a", c["peer"]), post(h, "local", "b", c["peer"])
    assert h.call("GET", path)["text"] == "a"
    assert h.call("GET", path + "&ack=" + a)["text"] == "b"
    assert h.call("GET", path + "&ack=" + b) is None
    assert {d["state"] for d in deliveries(h)} == {"delivered"}
    h.down()


def test_no_other_order_hides_an_answer(home):
    h = host(home)
    echo(h)
    for order in ("none", "channel"):
        for verb in (["set", "local"], ["add", "t", "pull"]):
            assert "conversation" in home.refused(
                65, "channel", *verb, "--set", "order=" + order)
    home.skep("channel", "set", "local", "--set", "order=conversation")
    assert home.skep("chat", "echo", input="x\n").out == "x\n"
    # from a time when it could be set: some wait in no line, some in one for all
    [c] = h.call("GET", "/v1/conversations")["items"]
    for text in "abcd":
        post(h, "local", text, c["peer"])
    h.down()
    for line, texts in ((None, "ab"), ("local", "cd")):
        for text in texts:
            home.execute(home.control,
                         "UPDATE delivery SET ordering_key = ?, is_next = ? WHERE "
                         "body ->> 'text' = ?", line, text in "abc", text)
    h.start()
    out = home.skep("chat", "echo", input="e\n").out
    assert out.split() == list("abcde"), out
    h.down()


def test_what_could_not_be_written_is_shown_the_next_time(home):
    h = host(home)
    echo(h)
    h.call("PUT", "/v1/channels/local", {"config": {"timeout": 300}})
    with open("/dev/full", "w") as full:
        p = subprocess.run([home.bin / "skep", "chat", "echo"], input=b"lost?\n",
                           stdout=full, stderr=subprocess.PIPE, env=home.env)
    assert p.returncode == 74 and b"No space left" in p.stderr, p
    # given out and never acknowledged: after `timeout` it waits again
    lib.eventually(lambda: deliveries(h, state="pending"), 30, "its return")
    t = Terminal(home, "echo")
    t.see("lost?\r\n> ")
    t.type("\x04")
    assert t.end() == 0
    h.down()


def test_chat_on_a_terminal(home):
    h = host(home)
    h.agent("who", "exec", {"stdin": "text", "shell":
            'read x; case "$x" in fail) exit 3;; wait) sleep 600;; esac; echo "$x!"'})
    t = Terminal(home, "who")
    t.see("> ")
    t.type("hello\n")
    t.see("hello!\r\n> ")
    t.type("fail\n")
    t.see("code 3")
    t.see("> ")  # it goes on
    t.type("wait\n")
    lib.eventually(lambda: [r for r in runs(h, "who") if r["state"] == "running"],
                   30, "the run")
    t.type("\x03")
    t.see("stopping the run")
    t.see("cancelled")
    t.see("> ")
    t.type("still here\n")
    t.see("still here!\r\n> ")
    t.type("\x04")
    assert t.end() == 0
    assert sorted(r["state"] for r in runs(h, "who")) == [
        "cancelled", "failed", "succeeded", "succeeded"]
    assert {d["state"] for d in deliveries(h)} == {"delivered"}
    t = Terminal(home, "who")
    t.see("> ")
    t.type("\x03")  # at the prompt it is the end
    assert t.end() == -2
    h.down()


def test_two_chats_in_one_session_get_their_own_answers(home):
    h = host(home)
    h.agent("slow", "exec", {"shell": "sleep 0.2; cat", "stdin": "text"})
    chats = [home.start(home.bin / "skep", "chat", "slow", stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE) for _ in range(3)]
    for i, p in enumerate(chats):
        p.stdin.write(b"".join(b"%d.%d\n" % (i, n) for n in range(4)))
        p.stdin.close()
    for i, p in enumerate(chats):
        output = p.stdout.read().split()
        assert p.wait(lib.HANG) == 0
        assert output == [b"%d.%d" % (i, n) for n in range(4)], output
    assert len(h.call("GET", "/v1/sessions/slow")["items"]) == 1
    # places are used again
    home.skep("chat", "slow", input="x\n")
    assert len(h.call("GET", "/v1/conversations")["items"]) <= 3
    h.down()


def test_a_supervisor_that_dies_is_waited_for(home):
    h = host(home)
    h.agent("slow", "exec", {"shell": "sleep 1; cat", "stdin": "text"})
    t = Terminal(home, "slow")
    t.see("> ")
    t.type("during\n")
    lib.eventually(lambda: runs(h, "slow"), 30, "the run")
    h.kill()
    t.see("supervisor is")  # away, or not running: the run continues later
    h.start()
    t.see("during\r\n> ")
    h.kill()
    t.type("before\n")
    t.see("away, waiting")
    h.start()
    t.see("before\r\n> ")
    t.type("\x04")
    assert t.end() == 0
    assert len(runs(h, "slow")) == 2  # said once each
    h.down()


def test_answers_with_attachments_say_so(home):
    h = host(home)
    echo(h)
    home.skep("chat", "echo", input="x\n")
    [c] = h.call("GET", "/v1/conversations")["items"]
    h.call("POST", "/v1/deliveries", {
        "channel": "local", "conversation": c["peer"], "body": {
            "text": "look", "attachments": [{
                "name": "n\x1b.txt",
                "base64": base64.b64encode(b"in a file").decode()}]}})
    out = home.skep("chat", "echo", input="and\n").out
    assert out.startswith("look\n[attachment n") and "9 bytes)]\n" in out, out
    assert out.endswith("and\n") and "\x1b" not in out
    h.down()
