"""Ids that people type: beginnings, names, agents, "last"; several objects."""
import lib
from skepd_lib import Host, finish


def three_runs(home):
    h = Host(home).start()
    h.script("a", {"text": "from a"})
    h.script("b", {"text": "from b"})
    runs = [h.submit("a"), h.submit("b", name="nightly"), h.submit("a")]
    for run in runs:
        h.until(run)
    return h, runs


def test_a_run_has_many_names(home):
    h, runs = three_runs(home)

    def is_run(word):
        return [x["id"] for x in home.skep("show", word, "--json").lines
                if "agent_version" in x]
    for word, run in ((runs[0], runs[0]), (runs[1][:-4], runs[1]),
                      (runs[2][4:-2], runs[2]), ("last", runs[2]),
                      ("-1", runs[2]), ("-2", runs[1]), ("-3", runs[0]),
                      ("nightly", runs[1]), ("a", runs[2]), ("b", runs[1])):
        assert is_run(word) == [run], word
    assert home.skep("logs", "a", "--raw").out == "from a\n"
    error = home.refused(64, "show", "run_0")
    assert "ambiguous" in error and all(r in error for r in runs), error
    error = home.refused(66, "show", "nobody")
    assert "there is no run 'nobody'" in error and "skep ps --all" in error
    assert "no run '-4'" in home.refused(66, "logs", "-4")
    finish(h)


def test_a_name_that_an_agent_has_too_is_ambiguous(home):
    h, runs = three_runs(home)
    other = h.submit("b", name="a")
    h.until(other)
    error = home.refused(64, "logs", "a")
    assert other in error and runs[2] in error, error
    for name in ("last", "run_x"):
        error = home.refused(65, "run", "a", "x", "--name", name)
        assert "cannot be named '%s'" % name in error, error
    finish(h)


def test_the_newest_run_of_a_name_counts(home):
    h, runs = three_runs(home)
    again = home.skep("retry", "nightly", "-q").out.strip()
    h.until(again)
    assert home.skep("show", "nightly", "--json").lines[0]["id"] == again
    assert home.skep("show", "nightly", "--json").lines[0]["retry_of"] == runs[1]
    finish(h)


def test_commands_take_several_runs_and_selections(home):
    h = Host(home).start()
    h.script("s", {"sleep_ms": 600000})
    h.script("q", {"text": "done"})
    sleeping = [h.submit("s", session="s%d" % i, tags=["t%d" % (i % 2)])
                for i in range(4)]
    over = h.submit("q")
    h.until(over)
    for run in sleeping:
        h.until(run, "running")
    home.skep("pause", sleeping[0], sleeping[1])
    for run in sleeping[:2]:
        h.until(run, "paused")
    home.skep("resume", "--agent", "s")
    for run in sleeping[:2]:
        h.until(run, "running")
    home.skep("note", "--tag", "t1", "seen")
    assert [h.get(r)["note"] for r in sleeping] == [None, "seen", None, "seen"]
    assert home.skep("ps", "-q", "--tag", "t1").out.split() == \
        [sleeping[1], sleeping[3]]
    ids = home.skep("ps", "-q", "--tag", "t1").out.split()
    out = home.skep("cancel", *ids, "--wait").out
    assert out == "".join("%s: cancelled\n" % r for r in ids), out
    assert "no run matches" in home.refused(66, "cancel", "--state", "running",
                                            "--older", "1h")
    home.skep("cancel", "--agent", "s", "--state", "running", "--wait")
    for run in sleeping:
        assert h.row(run)["state"] == "cancelled"
    assert "not both" in home.refused(64, "show", over, "--agent", "q")
    assert "name a run, or select" in home.refused(64, "pause")
    finish(h)


def test_one_wrong_word_changes_nothing(home):
    h = Host(home).start()
    h.script("s", {"sleep_ms": 600000})
    run = h.submit("s")
    h.until(run, "running")
    home.refused(66, "cancel", run, "nobody")
    assert h.row(run)["state"] == "running"
    home.skep("cancel", run, "--wait")
    finish(h)


def test_other_ids_may_be_short_and_several(home):
    h = Host(home).start()
    h.script("s", {"ask": {"key": "k", "title": "may I?"}}, {"text": "thanks"})
    runs = [h.submit("s", session=str(i)) for i in range(2)]

    def asked():
        return home.skep("approval", "ls", "-q").out.split()
    lib.eventually(lambda: len(asked()) == 2, what="two questions")
    newest, first = asked()
    assert home.skep("approval", "show", "last", "--json").json["id"] == newest
    home.skep("approval", "allow", newest[4:-1], first[:-1])
    for run in runs:
        h.until(run)
        assert h.row(run)["state"] == "succeeded"
    finish(h)
