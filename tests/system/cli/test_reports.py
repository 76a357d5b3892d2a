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
        said = last(home.skep("agent", "set", "a", *words))
        after = home.skep("agent", "show", "a", "--json").json["version"]
        assert said.startswith(verb + " agent a:"), (words, said)
        assert (after > before) == (verb == "changed"), (words, before, after)
    assert last(home.skep("agent", "set", "b", "--default")).startswith("changed")


def test_a_retry_names_the_new_run(home):
    d = host(home)
    d.shell("a", "exit 0")
    old = d.submit("a")
    d.until(old)
    said = home.skep("retry", old).out
    new = said.split(":")[0]
    assert said == "%s: retry of %s\n" % (new, old), said
    assert new != old and d.until(new)["state"] == "succeeded"
    third = home.skep("retry", old, "--json").json["id"]
    assert third not in (old, new)
    d.until(third)
    finish(d)


def test_a_new_channel_is_reported_in_one_line(home):
    assert home.skep("channel", "add", "log", "file").out == \
        "added channel log: kind file\n"
    said = home.skep("channel", "add", "off", "file", "--disabled").out
    assert said == "added channel off: kind file, disabled\n", said
    said = home.skep("channel", "set", "log", "--set", "attempts=3").out
    assert said == "changed channel log: kind file\n", said
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
        said = home.skep(*words, input="abc").out
        assert said == says + "\n", (words, said)


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
            said = home.refused(64, "run", "a", "x", "--%s=%d%s" % (option, n, unit))
            assert "--" + option in said, said
    assert d.call("GET", "/v1/runs")["items"] == []
    home.skep("run", "a", "x", "--attempts=100", "--priority=-100", "--wait")
    finish(d)
