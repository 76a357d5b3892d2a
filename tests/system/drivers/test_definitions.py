"""What an agent's definition may contain: one table, checked when it is stored."""
import json
import os
import pathlib
import re
import shutil
import tempfile

from skepd_lib import Host, finish

ROOT = pathlib.Path(__file__).resolve().parents[3]


def rows(home, *args):
    return home.skep("agent", "explain", "--recursive", *args, "--json").lines


def schema(home):
    return json.loads(home.skep("agent", "schema").out)


def leaf(doc, path):
    """The part of the JSON schema for a path."""
    for name in path.split("."):
        doc = doc["additionalProperties"] if name == "*" else \
            doc["properties"][name]
    return doc


def test_explain_schema_and_document_have_the_same_members(home):
    text = (ROOT / "docs" / "DEFINITION.md").read_text()
    documented = set(re.findall(r"^\| `([^`]+)` \|", text, re.M))
    doc = schema(home)
    assert {r["member"] for r in rows(home)} == documented
    for r in rows(home):
        part = leaf(doc, r["member"])
        assert part["description"], r
        if r["value"].startswith("one of "):
            assert part["enum"] == r["value"][len("one of "):].split("|"), r
    drivers = doc["properties"]["driver"]["enum"]
    for driver in drivers:
        assert all(driver in (r["drivers"] or driver).split()
                   for r in rows(home, "--driver", driver))


def test_explain_describes_one_member_and_suggests_another(home):
    one = home.skep("agent", "explain", "config.stdin").out
    assert "one of lines|once|text|none" in one and "exec" in one, one
    inner = home.skep("agent", "explain", "limits").out
    assert "limits.memory" in inner and "limits.tmp" in inner, inner
    server = home.skep("agent", "explain", "config.mcp_servers.git.url",
                       "--driver", "chat", "--json").json
    assert server["member"] == "config.mcp_servers.*.url"
    error = home.refused(66, "agent", "explain", "config.stdn")
    assert "did you mean 'config.stdin'?" in error, error


def test_an_error_has_the_line_and_what_is_valid(home):
    cases = (
        ('{\n"driver": "exec",\n"config": {\n"shell": "x",\n"stdn": 1}}', 5,
         "did you mean 'stdin'?"),
        ('{"driver": "exec", "config": {"shell": "x"},\n\n"limits": {"ram": 1}}', 3,
         "its members are runs, memory"),
        ('{"driver": "exec",\n"config": {"shell": "x"},\n"sandbox": "maybe"}', 3,
         "one of off|on|partial|required"),
        ('{"driver": "exec",\n"config": {"shell": "x",\n"env": {"A": 1}}}', 3,
         "an object whose values are strings"),
        ('{"driver": "chat", "model": "m",\n"config": {"endpoint": "http://h",\n'
         '"permissions": {\n"defualt": "ask"}}}', 4, "did you mean 'default'?"),
        ('{"driver": "exec",\n"paths": {"read": ["a"]},\n"config": {"shell": "x"}}', 2,
         "a list of absolute paths"))
    for text, line, why in cases:
        file = home.dir / "agent.json"
        file.write_text(text)
        error = home.refused(65, "agent", "add", "a", "--from", file)
        assert "%s: line %d: " % (file, line) in error and why in error, error
    (home.dir / "agent.json").write_text('{"driver": "exec",\n "config": {')
    error = home.refused(65, "agent", "add", "a", "--from", home.dir / "agent.json")
    assert "line 2" in error, error
    assert home.skep("agent", "ls", "--json", code=None).out == ""


def test_a_program_or_a_path_must_exist_unless_forced(home):
    for args, why in ((("--", "no-such-program-here"), "in PATH"),
                      (("--", "/no/such/program"), "not an executable file"),
                      (("--path", home.dir / "nowhere", "--", "true"),
                       "no directory"),
                      (("--set", "path=%s/nowhere" % home.dir, "--", "true"),
                       "no directory"),
                      (("--path", home.dir, "--", "./tool"), "not an executable")):
        error = home.refused(66, "agent", "add", "a", "--driver", "exec", *args)
        assert why in error and "--force" in error, error
        home.skep("agent", "add", "a", "--driver", "exec", "--force", *args)
        home.skep("agent", "rm", "a")
    file = home.dir / "file"
    file.write_text("")
    assert "not a directory" in home.refused(
        65, "agent", "add", "a", "--driver", "exec", "--path", file, "--", "true")


def test_a_relative_command_works_where_the_agent_was_made(home):
    there = tempfile.mkdtemp(prefix="skep-test-", dir="/var/tmp")
    home.undo.append(lambda: shutil.rmtree(there))
    os.chmod(there, 0o755)
    project = pathlib.Path(there) / "project"
    project.mkdir()
    tool = project / "tool.sh"
    tool.write_text("#!/bin/sh\nread x\necho \"$(basename $PWD) $x\"\n")
    os.chmod(tool, 0o755)
    common = ("--driver", "exec", "--set", "config.stdin=text")
    home.skep("agent", "add", "abs", *common, "--", "./tool.sh",
              cwd=project)
    home.skep("agent", "add", "arg", *common, "--", "sh", "tool.sh", cwd=project)
    home.skep("agent", "add", "here", *common, "--path", ".", "--", "./tool.sh",
              cwd=project)
    shown = {n: home.skep("agent", "show", n, "--json").json["spec"]
             for n in ("abs", "arg", "here")}
    assert shown["abs"]["config"]["command"] == [str(tool)]
    assert shown["arg"]["config"]["command"] == ["sh", str(tool)]
    assert shown["here"]["config"]["command"] == ["./tool.sh"]
    assert shown["here"]["path"] == str(project)
    d = Host(home).start()
    for name, where in (("abs", "workspace"), ("arg", "workspace"),
                        ("here", "project")):
        out = home.skep("run", name, "hello", "--wait").out
        assert out.strip() == where + " hello", (name, out)
    finish(d)


def test_versions_are_shown_compared_and_restored(home):
    for supervised in (False, True):
        d = Host(home)
        if supervised:
            d.start()
        name = "b" if supervised else "a"
        home.skep("agent", "add", name, "--driver", "exec", "--", "true")
        home.skep("agent", "set", name, "--set", "config.stdin=text")
        home.skep("agent", "set", name, "--set", "limits.memory=1G")
        one = home.skep("agent", "show", name, "--version", "1", "--json").json
        assert one["definition"]["config"] == {"command": ["true"]}
        said = home.skep("agent", "diff", name).out
        assert '+    "memory": "1G"' in said and "stdin" not in \
            [line for line in said.splitlines() if line[:1] in "+-"], said
        said = home.skep("agent", "diff", name, "--version", "1", "--to", "2",
                         "--json").json
        assert '+    "stdin": "text"' in said["diff"] and said["to"] == 2
        done = home.skep("agent", "revert", name, "--version", "1").out
        assert "version 1 again, as version 4" in done, done
        now = home.skep("agent", "show", name, "--json").json
        assert now["version"] == 4 and now["digest"] == one["digest"]
        assert "no version 9" in home.refused(66, "agent", "revert", name,
                                              "--version", "9")
        assert "--version N" in home.refused(64, "agent", "revert", name)
        if supervised:
            finish(d)
