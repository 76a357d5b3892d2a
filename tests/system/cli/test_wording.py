"""Texts that misled people, as they are now."""
import json
import os
import subprocess

import lib
from skepd_lib import Host, finish
from terminal_lib import Terminal


def test_retry_says_which_run_is_new(home):
    h = Host(home).start()
    h.script("a", {"text": "x"})
    run = h.submit("a")
    h.until(run)
    out = home.skep("retry", run).out
    new = [x["id"] for x in home.skep("ps", "-A", "--json").lines][0]
    assert out == "started the new run %s, a retry of %s\n" % (new, run), out
    h.until(new)
    last = home.skep("retry", run, "--json").json
    assert last["retry_of"] == run
    h.until(last["id"])
    finish(h)


def test_a_cancel_that_worked_is_shown_as_applied(home):
    h = Host(home).start()
    h.script("a", {"sleep_ms": 600000})
    for session, state in (("s", "running"), ("s", "queued")):
        run = h.submit("a", session=session)
        if state == "running":
            h.until(run, "running")
    for run in home.skep("ps", "-q").out.split()[::-1]:
        assert home.skep("cancel", run, "--wait").out == run + ": cancelled\n"
        shown = home.skep("show", run)
        assert "late" not in shown.out and "expired" not in shown.out
        states = [x["state"] for x in home.skep("show", run, "--json").lines
                  if "verb" in x]
        assert set(states) <= {"applied"}, states
    finish(h)


def test_a_cancel_that_came_too_late_says_how_the_run_ended(home):
    h = Host(home).start()
    h.script("a", {"text": "x"})
    run = h.submit("a")
    h.until(run)
    assert home.skep("cancel", run, "--wait").out == \
        run + ": not cancelled, it had succeeded\n"
    finish(h)


def test_an_inbound_message_is_done_when_its_run_is(home):
    h = Host(home).start()
    h.script("a", {"sleep_ms": 300}, {"text": "x"})
    h.call("POST", "/v1/channels/local/messages",
           {"id": "m1", "sender": "ann", "conversation": "c", "text": "hello",
            "agent": "a"})

    def states():
        return [x["state"] for x in home.skep("inbound", "ls", "--json").lines]
    assert states() in (["queued"], ["done"])
    lib.eventually(lambda: states() == ["done"], what="the end of the run")
    assert home.skep("inbound", "ls", "--state", "done", "-q").out.count("inb_") == 1
    finish(h)


def test_a_home_of_another_user_is_not_a_missing_home(home):
    if os.getuid() != 0:
        lib.skip("only root can become another user")
    home.skep("agent", "add", "a", "--driver", "script")
    home.path.chmod(0o700)
    if subprocess.run(["setpriv", "--reuid=65534", "--clear-groups",
                       home.bin / "skep", "version"],
                      capture_output=True).returncode:
        lib.skip("another user cannot execute the programs of this build")
    for words in (("agent", "ls"), ("ps", "--all"), ("session", "ls")):
        r = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups",
                            home.bin / "skep", "--home", home.path, *words],
                           capture_output=True, text=True)
        assert r.returncode == 77 and "no permission" in r.stderr, r
        assert "there is no skep home" not in r.stderr


def test_plain_numbers_are_seconds(home):
    home.path.mkdir(mode=0o700)
    path = home.path / "skep.json"
    for value, shown in ((7, "7s"), (0.5, "500ms"), ("5m", "5m"), ("90", "90s"),
                         ("250ms", "250ms"), (120, "2m")):
        path.write_text(json.dumps({"run": {"heartbeat": value}}))
        settings = home.skep("config", "show", "--json").json
        assert settings["run"]["heartbeat"] == shown, (value, settings["run"])
    path.write_text('{"run": {"heartbeat": 5000}}')
    error = home.refused(78, "config", "check")
    assert "run.heartbeat is 5000s; it must be between 100ms and 10m" in error
    path.write_text('{"run": {"heartbeat": true}}')
    assert "a number of seconds, or a string such as \"30s\"" in \
        home.refused(78, "config", "check")
    # what is shown can be read again
    path.write_text("{}")
    shown = home.skep("config", "show", "--json").out
    path.write_text(shown)
    assert home.skep("config", "show", "--json").out == shown


def test_flags_and_settings_agree(home):
    h = Host(home).start()
    h.script("a", {"sleep_ms": 600000})
    run = home.skep("run", "a", "x", "-d", "--timeout", "600", "--grace", "2s",
                    "--json").json["id"]
    row = h.get(run)
    assert (row["run_timeout_ms"], row["grace_ms"]) == (600000, 2000)
    home.skep("cancel", run, "--wait")
    finish(h)


def test_help_schema_and_errors_agree_on_ranges(home):
    schema = home.skep("config", "schema", "--json").json["properties"]
    path = home.path / "skep.json"
    path.parent.mkdir(exist_ok=True, mode=0o700)
    for section, about in schema.items():
        for name, setting in about["properties"].items():
            if "minimum" not in setting:
                continue
            for value, good in ((setting["minimum"], True),
                                (setting["maximum"], True),
                                (setting["minimum"] - 1, False),
                                (setting["maximum"] + 1, False)):
                path.write_text(json.dumps({section: {name: value}}))
                r = home.skep("config", "check", code=None)
                assert (r.code == 0) == good, (section, name, value, r.err)


def test_append_reads_standard_input(home):
    home.skep("agent", "add", "a", "--driver", "script")
    home.skep("session", "append", "s", "-", input="from a pipe\n")
    [event] = home.skep("session", "show", "s", "--events", "--json").lines
    assert event["body"]["content"] == "from a pipe\n"


def test_sessions_of_all_agents(home):
    for agent in ("a", "b"):
        home.skep("agent", "add", agent, "--driver", "script")
        home.skep("session", "append", "both", "hello from " + agent, "-a", agent)
    home.skep("session", "append", "only", "an owl", "-a", "b")
    rows = home.skep("session", "ls", "--json").lines
    assert sorted((r["agent"], r["key"]) for r in rows) == [
        ("a", "both"), ("b", "both"), ("b", "only")]
    hits = home.skep("session", "search", "hello", "--json").lines
    assert sorted(x["agent"] for x in hits) == ["a", "b"]
    assert "an owl" in home.skep("session", "show", "only", "--events").out
    error = home.refused(64, "session", "show", "both")
    assert "a, b" in error and "--agent" in error, error
    assert "hello from b" in home.skep("session", "show", "both", "-a", "b",
                                       "--events").out
    assert [r["key"] for r in home.skep("session", "ls", "-a", "a",
                                        "--json").lines] == ["both"]
    home.refused(66, "session", "ls", "-a", "nobody")


def test_deleting_asks_and_names_the_object(home):
    home.skep("agent", "add", "a", "--driver", "script")
    home.skep("session", "append", "s", "x")
    home.skep("namespace", "create", "a:w")
    home.skep("artifact", "put", "-", "note", "--owner", "o", input="x")
    for words, what in ((("session", "rm", "s"), "session 's' of agent 'a'"),
                        (("namespace", "rm", "a:w"), "namespace a:w"),
                        (("artifact", "rm", "note", "--owner", "o"), "artifact art_"),
                        (("channel", "rm", "local"), "channel 'local'"),
                        (("state", "prune", "--keep-days", "0"),
                         "sessions, runs and messages older than 0 days"),
                        (("agent", "rm", "a"), "the definition of agent 'a'")):
        t = Terminal(home, *words)
        t.until("delete " + what)
        t.until("[y/N] ")
        t.say("n\r")
        t.until("nothing was deleted")
        assert t.wait() == 75, words
    for words in (("session", "rm", "s"), ("namespace", "rm", "a:w"),
                  ("artifact", "rm", "note", "--owner", "o"), ("agent", "rm", "a")):
        t = Terminal(home, *words, "--yes")
        assert t.wait() == 0, (words, t.all)


def test_a_backup_states_what_it_leaves_out(home):
    home.skep("agent", "add", "a", "--driver", "script")
    r = home.skep("backup", "create")
    assert "not included: workspace directories on disk (--with-workspaces " \
        "includes them), credentials" in r.err, r.err
    r = home.skep("backup", "create", "--with-workspaces")
    assert "workspace" not in r.err and "credentials" in r.err, r.err
    [one, two] = home.skep("backup", "ls", "--json").lines
    for word in (one["id"], one["id"][4:-2], os.path.basename(two["path"]),
                 two["path"]):
        assert "complete:" in home.skep("backup", "verify", word).out
    home.refused(66, "backup", "verify", "nothing")
