"""skep chat and skep top as a person uses them, with line editing and ncurses."""
import lib
from skepd_lib import Host, finish
from terminal_lib import Screen, Terminal, plain


def test_chat_streams_folds_asks_and_obeys(home):
    h = Host(home).start()
    h.agent("talk", "script", {"steps": [
        {"text": "thinking about it", "chunks": 4, "every_ms": 20},
        {"tool": {"name": "grep", "input": {"pattern": "owl"},
                  "output": {"text": "3 matches"}}},
        {"ask": {"key": "k", "title": "write the file?"}},
        {"text": "done"}]})
    t = Terminal(home, "chat", "talk")
    t.until("/help lists the commands")
    t.until("> ")
    t.say("hello\r")
    t.until("thinking about it")
    t.until("● grep owl → 3 matches")
    t.until("write the file?")
    t.until("[w]hy: ")
    t.say("y\r")
    t.until("done")
    t.until("> ")
    assert plain(t.all).count("thinking about it") == 1, "printed once"
    assert plain(t.all).count("done") == 1
    t.say("/help\r")
    for word in ("/cancel", "/retry", "/fork", "/files", "/diff", "/model"):
        t.until(word)
    t.until("> ")
    t.say("/model\r")
    t.until("agent talk uses model")
    t.say("/nonsense\r")
    t.until("unknown command '/nonsense'")
    t.until("> ")
    t.say("/retry\r")
    t.until("write the file?")
    t.until("[w]hy: ")
    t.say("a\r")
    t.until("done")
    t.until("> ")
    t.say("/fork other\r")
    t.until("forked session")
    t.until("> ")
    t.say("/session\r")
    t.until("session other of agent talk")
    t.say("\x1b[A")  # the line before
    t.until("/session")
    t.say("\x15\x04")
    assert t.wait() == 0, t.all
    history = (home.path / "state" / "chat_history")
    assert "hello" in history.read_text() and history.stat().st_mode & 0o77 == 0
    finish(h)


def test_ctrl_c_interrupts_the_turn_and_the_chat_goes_on(home):
    h = Host(home).start()
    h.script("slow", {"text": "begun"}, {"sleep_ms": 600000})
    t = Terminal(home, "chat", "slow", "--session", "mine")
    t.until("session mine of agent slow")
    t.until("> ")
    t.say("go\r")
    t.until("begun")
    t.say("\x03")
    t.until("cancelled")
    t.until("> ")
    t.say("/quit\r")
    assert t.wait() == 0
    assert home.skep("session", "show", "mine", "--events").out.count("go\n") == 1
    finish(h)


def test_top_sorts_filters_and_acts(home):
    h = Host(home).start()
    h.script("owl", {"sleep_ms": 600000})
    h.script("bat", {"sleep_ms": 600000})
    runs = [h.submit(a, session=str(i)) for i, a in
            enumerate(("owl", "bat", "owl"))]
    for run in runs:
        h.until(run, "running")
    t = Screen(home, "top", "--interval", "100ms", columns=70, lines=12)
    t.until("3 runs", "AGENT", "owl", "bat", "● running")
    t.keys("/", "bat", "Enter")
    t.until("1 run ", "filter: bat")
    assert "owl" not in t.text()
    t.keys("c")
    t.until("cancel run %s? [y/N]" % runs[1])
    t.keys("y", "Enter")
    lib.eventually(lambda: h.row(runs[1])["state"] == "cancelled", what="cancel")
    t.keys("Escape")
    t.until("2 runs")
    t.keys("p")  # the selected one: the newest
    lib.eventually(lambda: h.row(runs[2])["state"] == "paused", what="pause")
    t.until("‖ paused")
    t.keys("Down", "u")
    t.resize(30, 6)
    lib.eventually(lambda: max(map(len, t.text().splitlines())) <= 30 and
                   runs[2][4:16] in t.text(), what="the small table")
    t.resize(100, 12)
    t.until("CREATED▾")
    t.keys("<")
    t.until("STATE▾")
    t.keys("r")
    t.until("STATE▴")
    t.keys("h")
    t.until("reverse", "filter")
    t.keys("q")
    lib.eventually(t.ended, what="the end")
    home.skep("cancel", "--all", "--yes", "--wait")
    finish(h)


def test_top_without_a_terminal_is_a_table(home):
    h = Host(home).start()
    h.script("owl", {"sleep_ms": 600000})
    run = h.submit("owl")
    h.until(run, "running")
    assert run in home.skep("top").out
    home.skep("cancel", run, "--wait")
    finish(h)
