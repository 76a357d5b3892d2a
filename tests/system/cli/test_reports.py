"""What commands report after a change: one sentence that names the object and is
true; and numbers out of range, which are errors of the command line."""
import lib
from skepd_lib import finish, host


def last(r):
    return r.out.splitlines()[-1]


def test_agent_set_reports_only_what_has_changed(home):
    home.skep("agent", "add", "a", "--driver", "exec", "--model", "m", "--", "cat")
    home.skep("agent", "add", "b", "--driver", "exec", "--", "cat")
    for words, verb in ((("--model", "m"), "unchanged"), (("--model", "n"), "changed"),
                        (("--model", "n"), "unchanged"), (("--enable",), "unchanged"),
                        (("--disable",), "changed"), (("--disable",), "unchanged"),
                        (("--default",), "unchanged"), (("--", "cat"), "unchanged"),
                        (("--set", "limits.memory=1G"), "changed"),
                        (("--set", "limits.memory=1G"), "unchanged")):
        before = home.skep("agent", "show", "a", "--json").json["version"]
        output = last(home.skep("agent", "set", "a", *words))
        after = home.skep("agent", "show", "a", "--json").json["version"]
        assert output.startswith(verb + " agent a:"), (words, output)
        assert (after > before) == (verb == "changed"), (words, before, after)
    assert last(home.skep("agent", "set", "b", "--default")).startswith("changed")


def test_a_change_of_a_session_is_one_sentence(home):
    """With --json it is the row, so that scripts need no second command."""
    home.skep("agent", "add", "a", "--driver", "exec", "--", "true")
    for args, said in ((("append", "s", "one"), "appended to session s as event 1"),
                       (("append", "s", "two"), "appended to session s as event 2"),
                       (("fork", "s", "t", "--at", "1"),
                        "forked session s as t after event 1"),
                       (("fork", "s", "u"), "forked session s as u after event 2"),
                       (("title", "s", "x"), "set the title of session s"),
                       (("title", "s"), "removed the title of session s"),
                       (("archive", "s"), "archived session s"),
                       (("unarchive", "s"), "unarchived session s"),
                       (("rewind", "s", "1"), "rewound session s to event 1; "
                        "'skep session restore' undoes this"),
                       (("restore", "s"), "undid the last rewind of session s"),
                       (("rm", "u", "--yes"), "removed session u")):
        assert home.skep("session", *args).out == said + "\n", args
    assert home.skep("session", "title", "s", "y", "--json").json["title"] == "y"
    assert home.skep("session", "search", "nothing").err == "no matches\n"
    assert home.skep("session", "append", "s", "z", "--key", "k").out.endswith("3\n")
    assert home.skep("session", "append", "s", "z", "--key", "k").out == \
        "session s already has event 3 with this key\n"


def test_a_missing_word_is_named(home):
    for args, words in (((), "the command is missing"),
                        (("agent",), "agent has the verbs add, ls"),
                        (("run", "a"), "PROMPT is missing; usage: skep run AGENT PROMPT"),
                        (("vfs", "cp", "a", "x"), "TO is missing"),
                        (("vfs", "cat", "a"), "PATH is missing"),
                        (("reset", "agent"), "AGENT is missing"),
                        (("run", "a", "x", "--timeout", "soon"),
                         "'soon' is not a time; write a number with a unit")):
        assert words in home.refused(64, *args), args


def test_a_retry_names_the_new_run(home):
    d = host(home)
    d.shell("a", "exit 0")
    old = d.submit("a")
    d.until(old)
    new = home.skep("retry", old, "-q").out.strip()
    assert new != old and d.until(new)["state"] == "succeeded"
    third = home.skep("retry", old, "--json").json["id"]
    assert third not in (old, new)
    d.until(third)
    finish(d)


def test_a_new_channel_is_reported_in_one_line(home):
    assert home.skep("channel", "add", "log", "file").out == \
        "added channel log: kind file\n"
    output = home.skep("channel", "add", "off", "file", "--disabled").out
    assert output == "added channel off: kind file, disabled\n", output
    output = home.skep("channel", "set", "log", "--set", "attempts=3").out
    assert output == "changed channel log: kind file\n", output
    row = home.skep("channel", "add", "more", "file", "--json").json
    assert (row["name"], row["kind"]) == ("more", "file"), row


def test_commands_on_files_name_the_file_and_the_namespace(home):
    home.skep("agent", "add", "a", "--driver", "exec", "--", "cat")
    (home.dir / "below").mkdir()
    for words, says in (
            (("vfs", "put", "a", "in.txt"), "wrote in.txt to a:main"),
            (("vfs", "mkdir", "a", "d"), "created directory d in a:main"),
            (("vfs", "cp", "a", "in.txt", "x"), "copied in.txt to x in a:main"),
            (("vfs", "mv", "a", "x", "d"), "moved x to d/x in a:main"),
            (("vfs", "ln", "a", "in.txt", "l"), "linked l to in.txt in a:main"),
            (("vfs", "edit", "a", "in.txt", "b", "c"), "edited in.txt in a:main"),
            (("vfs", "get", "a", "in.txt"), "copied in.txt from a:main to in.txt"),
            (("snapshot", "create", "a", "s"), "created snapshot s of a:main"),
            (("vfs", "rollback", "a", "s"), "rolled a:main back to snapshot s"),
            (("vfs", "fork", "a", "f"), "forked a:main as a:f"),
            (("vfs", "discard", "a:f"), "discarded all changes of a:f"),
            (("vfs", "rm", "a", "l"), "removed l from a:main"),
            (("namespace", "rm", "a:f"), "removed namespace a:f"),
            (("snapshot", "rm", "a", "s"), "removed snapshot s of a:main"),
            (("namespace", "create", "a:n"), "created namespace a:n"),
            (("namespace", "create", "a:o", "--lower", home.dir / "below"),
             "created namespace a:o over %s" % (home.dir / "below"))):
        output = home.skep(*words, input="abc").out
        assert output == says + "\n", (words, output)


def test_a_number_out_of_range_is_an_error_of_the_command_line(home):
    """The ranges are those of the document of the API."""
    d = host(home)
    d.shell("a", "cat")
    doc = d.call("GET", "/openapi.json")
    body = doc["paths"]["/v1/runs"]["post"]["requestBody"]["content"][
        "application/json"]["schema"]
    while "$ref" in body:
        body = doc["components"]["schemas"][body["$ref"].rsplit("/", 1)[1]]
    options = {"priority": "priority", "max_attempts": "attempts",
               "delay_ms": "delay", "run_timeout_ms": "timeout",
               "idle_timeout_ms": "idle-timeout", "grace_ms": "grace",
               "queue_timeout_ms": "queue-timeout"}
    for member, option in options.items():
        shape = body["properties"][member]
        unit = "ms" if member.endswith("_ms") else ""
        for n in (shape["minimum"] - 1, shape["maximum"] + 1):
            error = home.refused(64, "run", "a", "x", "--%s=%d%s" % (option, n, unit))
            assert "--" + option in error, error
    assert d.call("GET", "/v1/runs")["items"] == []
    home.skep("run", "a", "x", "--attempts=100", "--priority=-100", "--wait")
    finish(d)
