"""skep agent: definitions, versions, files, the default."""
import json
import socket

from skepd_lib import Host, Refused, finish, host


def test_the_first_agent_makes_the_home_and_is_the_default(home):
    row = home.skep("agent", "add", "ada", "--driver", "script", "--json").json
    assert row["is_default"] and row["version"] == 1
    home.skep("agent", "add", "bob", "--driver", "exec", "--", "true")
    assert [r["is_default"] for r in home.skep("agent", "ls", "--json").lines] \
        == [True, False]
    home.skep("agent", "set", "bob", "--default")
    assert [r["is_default"] for r in home.skep("agent", "ls", "--json").lines] \
        == [False, True]
    assert oct(home.path.stat().st_mode & 0o777) == "0o700"
    assert oct(home.control.stat().st_mode & 0o777) == "0o600"


def test_every_change_makes_a_version_and_an_equal_one_none(home):
    home.skep("agent", "add", "a", "--driver", "script")
    home.skep("agent", "set", "a", "--model", "m1")
    home.skep("agent", "set", "a", "--model", "m1")
    r = home.skep("agent", "set", "a", "--set", 'x-extra={"turns":3}', "--json")
    assert r.json["version"] == 3
    assert r.json["spec"] == {"x-extra": {"turns": 3}}
    versions = home.skep("agent", "show", "a", "--versions", "--json").lines
    assert [v["version"] for v in versions] == [3, 2, 1]
    assert versions[1]["definition"]["model"] == "m1"


def test_members_that_nobody_knows_survive_a_change(home):
    """Earlier versions stored any member."""
    stored = {"command": ["sh"], "mine": {"deep": [1, {"x": None}]},
              "config.exec": True}
    stored["config"] = {"command": ["sh"]}
    home.skep("agent", "add", "a", "--driver", "exec", "--", "sh")
    home.execute(home.control, "UPDATE agent SET spec = ?", json.dumps(stored))
    d = Host(home)
    for running in (False, True):
        if running:
            d.start()
        r = home.skep("agent", "set", "a", "--model", "m%d" % running,
                      "--json").json
        assert r["spec"] == stored
    finish(d)
    r = home.skep("agent", "set", "a", "--unset", "mine", "--unset",
                  "config.exec", "--json").json
    assert r["spec"] == {"command": ["sh"], "config": {"command": ["sh"]}}


def test_a_name_with_dots_sets_the_inner_member(home):
    def spec(verb, *args):
        return home.skep("agent", verb, "a", *args, "--json").json["spec"]

    url = {"endpoint": "http://localhost:1/v1"}
    assert spec("add", "--driver", "chat", "--model", "m", "--endpoint",
                url["endpoint"], "--set", "config.exec=true",
                "--set", "limits.memory=1G") == \
        {"config": dict(url, exec=True), "limits": {"memory": "1G"}}
    assert spec("set", "--set", "config.headers.X-A=b", "--set",
                r'config.headers.c\.d={"env":"V"}') == \
        {"config": dict(url, exec=True,
                        headers={"X-A": "b", "c.d": {"env": "V"}}),
         "limits": {"memory": "1G"}}
    assert spec("set", "--unset", "config.headers", "--endpoint",
                "http://localhost:2/v1") == \
        {"config": {"exec": True, "endpoint": "http://localhost:2/v1"},
         "limits": {"memory": "1G"}}
    for word in ("config.=1", "config..a=1", ".a=1", "."):
        home.refused(64, "agent", "set", "a", "--set", word)
    error = home.refused(65, "agent", "set", "a", "--set", "config.exec.a=1")
    assert "exec is not an object" in error, error


def test_unknown_members_are_rejected(home):
    d = Host(home)
    home.skep("agent", "add", "a", "--driver", "exec", "--", "true")
    for running in (False, True):
        if running:
            d.start()
        for name, meant in (("netwrok", "'network'"), ("confg", "'config'"),
                            ("command", "'config.command'"),
                            ("memory", "'limits.memory'"),
                            ("zzzzzzz", "'x-'")):
            for verb, agent in (("add", "b"), ("set", "a")):
                error = home.refused(65, "agent", verb, agent, "--set",
                                    name + "=1", *(["--driver", "exec"]
                                                   if verb == "add" else []))
                assert "'%s'" % name in error and meant in error, error
            error = home.refused(65, "agent", "add", "b", "--from", "-", "--driver",
                                "exec", input=json.dumps({name: 1}))
            assert "'%s'" % name in error and meant in error, error
    try:
        d.agent("b", "exec", netwrok="none")
        assert False, "accepted"
    except Refused as e:
        assert e.status == 422 and "'network'" in str(e), e
    d.agent("b", "exec", **{"x-team": "red"})
    finish(d)


ODD = {"x-deep": {"unknown": [{"n": 9007199254740993}, 18446744073709551615]},
       "x-n": -9223372036854775808, "x-f": 0.1, "x-x": "9007199254740993"}


def odd(home, name):
    """The agent's spec as stored, every digit of it."""
    spec, = home.query(home.control, "SELECT spec FROM agent WHERE name = ?",
                       name)
    return json.loads(spec[0])


def change_an_odd_one(home, name):
    args = sum((["--set", "%s=%s" % (k, json.dumps(v))]
                for k, v in ODD.items()), [])
    home.skep("agent", "add", name, "--driver", "exec", *args, "--", "true")
    home.skep("agent", "set", name, "--set", "x-big=9007199254740995")
    home.skep("agent", "set", name, "--unset", "x-big", "--set", "x-more=true",
              "--", "true", "again")
    assert odd(home, name) == dict(
        ODD, **{"x-more": True, "config": {"command": ["true", "again"]}})
    return home.skep("agent", "show", name).out


def test_digits_of_large_numbers_survive_a_change(home):
    assert "18446744073709551615" in change_an_odd_one(home, "a")
    path = home.path / "agents" / "b" / "agent.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(dict(ODD, driver="script")))
    assert home.skep("agent", "show", "b", "--json").json["spec"] == ODD
    assert odd(home, "b") == ODD
    (home.dir / "d.json").write_text(json.dumps(ODD))
    home.skep("agent", "add", "c", "--driver", "script", "--from",
              home.dir / "d.json")
    assert odd(home, "c") == ODD


def test_digits_of_large_numbers_survive_the_supervisor(home):
    h = host(home)
    assert "9007199254740993" in change_an_odd_one(home, "a")
    assert h.call("GET", "/v1/agents/a")["spec"]["x-deep"] == ODD["x-deep"]
    home.skep("agent", "add", "s", "--driver", "script", "--set",
              "config=" + json.dumps({"steps": [
                  {"event": dict(ODD, type="note")}]}))
    h.until(h.submit("s", options={"config": {"big": 9007199254740993}}))
    body, = [b for _, kind, b in h.events("s") if kind == "note"]
    assert body == ODD
    finish(h)


def test_a_definition_in_files_is_seen_at_the_next_use(home):
    home.skep("agent", "add", "other", "--driver", "script")
    d = home.path / "agents" / "filed"
    d.mkdir()
    (d / "agent.json").write_text(
        '{"driver": "exec", "config": {"command": ["true"]}}')
    (d / "prompt.md").write_text("Be kind.\n")
    rows = {r["name"]: r for r in home.skep("agent", "ls", "--json").lines}
    assert rows["filed"]["source"] == "file"
    assert rows["filed"]["prompt"] == "Be kind.\n"
    (d / "prompt.md").write_text("Be brief.\n")
    r = home.skep("agent", "show", "filed", "--json").json
    assert r["prompt"] == "Be brief.\n" and r["version"] == 2
    assert home.skep("agent", "show", "filed", "--json").json["version"] == 2


def test_what_a_file_says_cannot_be_set_by_command(home):
    home.skep("agent", "add", "a", "--driver", "script")
    d = home.path / "agents" / "a"
    d.mkdir()
    (d / "prompt.md").write_text("from the file")
    home.skep("agent", "set", "a", "--model", "m")
    error = home.refused(65, "agent", "set", "a", "--prompt", "mine")
    assert str(d) in error
    r = home.skep("agent", "show", "a", "--json").json
    assert (r["prompt"], r["model"]) == ("from the file", "m")


def test_a_broken_definition_file_is_named_and_the_others_are_listed(home):
    home.skep("agent", "add", "good", "--driver", "script")
    d = home.path / "agents" / "bad"
    d.mkdir()
    (d / "agent.json").write_text('{"driver": "magic"}')
    r = home.skep("agent", "ls", "--json")
    assert [x["name"] for x in r.lines] == ["good"]
    assert "agents/bad/agent.json" in r.err and "script|exec|acp|chat" in r.err
    assert "agents/bad/agent.json" in home.refused(65, "agent", "show", "bad")


def test_an_unknown_member_in_a_file_is_refused_as_everywhere(home):
    """By commands, runs and doctor, with the nearest name; the last good
    definition stays. A member that is stored already is left alone."""
    h = Host(home).start()
    d = home.path / "agents" / "f"
    d.mkdir()
    good = {"driver": "script", "config": {"steps": [{"event": {
        "type": "note"}}]}, "x-mine": 1}
    (d / "agent.json").write_text(json.dumps(good))
    assert h.until(h.submit("f"))["state"] == "succeeded"
    (d / "agent.json").write_text(json.dumps(dict(good, netwrok="none")))
    words = "agents/f/agent.json: line 1: unknown member 'netwrok'; did you " \
        "mean 'network'?"
    assert words in home.refused(65, "run", "f", "x")
    finish(h)
    assert words in home.refused(65, "agent", "show", "f")
    assert words in home.skep("agent", "ls").err
    found, = [f for f in home.skep("doctor", "--json", "--quick", code=65).lines
              if f["finding"] == "definition_bad"]
    assert words in found["what"], found
    rows = home.skep("agent", "ls", "--json").lines
    assert [r["version"] for r in rows if r["name"] == "f"] == [1], rows
    home.execute(home.control, "UPDATE agent SET spec = json_set(spec, "
                 "'$.netwrok', 'none') WHERE name = 'f'")
    shown = home.skep("agent", "show", "f", "--json").json
    assert shown["spec"]["netwrok"] == "none", shown


def test_a_setting_that_the_driver_lacks_is_refused(home):
    """When the definition is stored, not by its first run."""
    words = "config: unknown setting 'shel' of driver exec; did you mean 'shell'?"
    bad = {"shel": "true"}
    assert words in home.refused(65, "agent", "add", "a", "--driver", "exec",
                                 "--set", "config.shel=true")
    assert "'a'" in home.refused(66, "agent", "show", "a")
    home.skep("agent", "add", "b", "--driver", "exec", "--", "true")
    assert words in home.refused(65, "agent", "set", "b", "--set",
                                 "config.shel=true")
    assert "unknown setting 'command' of driver chat" in home.refused(
        65, "agent", "set", "b", "--driver", "chat")
    h = Host(home).start()
    try:
        h.agent("a", "exec", bad)
        assert False, "accepted"
    except Refused as e:
        assert e.status == 422 and words in str(e), e
    assert words in home.refused(65, "agent", "add", "a", "--driver", "exec",
                                 "--set", "config.shel=true")
    error = home.refused(66, "run", "bb", "x")
    assert "there is no agent 'bb'; did you mean 'b'?" in error, error
    assert "did you mean exec?" in home.refused(64, "agent", "add", "a",
                                                "--driver", "exce")
    finish(h)


def test_a_value_that_the_driver_cannot_use_is_refused(home):
    """The error names the member, the value and what is valid."""
    bad = {
        "exec": (("stdin=tape", '"tape"; it must be one of lines|once|text|none'),
                 ("shell=5", "config.shell is 5; it must be a string"),
                 ("context=1001", "1001; it must be a whole number from 0 to 1000"),
                 ("context=1.5", "1.5; it must be a whole number"),
                 ("command=ls", 'config.command is "ls"; it must be a list of strings'),
                 ("env=[]", "config.env is a list; it must be an object whose values are "
                  "strings"),
                 ("pass=[1]", "config.pass must be a list of strings")),
        "acp": (("mcp=yes", '"yes"; it must be true or false'),
                ("idle_ms=-1", "-1; it must be a whole number from 0 to 86400000"),
                ("options=[]", "a list; it must be an object")),
        "chat": (("endpoint=host", '"host"; it must be a URL'),
                 ("api=soap", "it must be one of chat|responses"),
                 ("max_cost=-1", "it must be a number, at least 0"),
                 ("tool_output=1", "it must be a whole number, at least 1024")),
        "script": (("steps={}", "an object; it must be a list"),)}
    home.skep("agent", "add", "ok", "--driver", "exec", "--", "true")
    before = home.skep("agent", "show", "ok", "--json").json
    for driver, rows in bad.items():
        for pair, why in rows:
            said = home.refused(65, "agent", "add", "x", "--driver", driver,
                                "--set", "config." + pair)
            assert why in said and pair.split("=")[0] in said, (pair, said)
    home.refused(65, "agent", "set", "ok", "--set", "config.stdin=tape")
    assert home.skep("agent", "show", "ok", "--json").json == before
    assert home.skep("agent", "ls", "--quiet").out.split() == ["ok"]
    for driver, given, hint in (
            ("exec", (), "a command after --"), ("acp", (), "--preset"),
            ("chat", (), "--endpoint URL"),
            ("chat", ("--endpoint", "http://h/v1"), "--model MODEL")):
        said = home.refused(65, "agent", "add", "y", "--driver", driver, *given)
        assert "agent 'y': the driver %s needs" % driver in said, said
        assert hint in said, said


def test_every_driver_has_a_test(home):
    def check(code, driver, config, **more):
        text = json.dumps(dict(more, driver=driver, config=config))
        home.skep("agent", "add", "t", "--force", "--from", "-", input=text)
        r = home.skep("agent", "test", "t", "--json", code=code)
        home.skep("agent", "rm", "t")
        return {s["step"]: (s["result"], s["detail"]) for s in r.lines}
    assert check(0, "exec", {"command": ["sleep", "1"]})["command"][0] == "ok"
    gone = check(1, "exec", {"command": ["no-such-program"]})
    assert gone["sandbox"][0] == "ok", gone
    assert gone["command"] == \
        ("failed", "no-such-program is not on the PATH in the sandbox"), gone
    marker = home.dir / "ran"
    assert check(0, "exec", {"shell": "touch %s" % marker})["command"][0] == "ok"
    assert not marker.exists()
    assert check(1, "exec", {"shell": "if true"})["command"][0] == "failed"
    assert check(0, "script", {"steps": [{"sleep_ms": 1}]}) == {
        "steps": ("ok", "1")}
    bad = check(1, "script", {"steps": [{"sleep_ms": 1}, {"slep_ms": 1}]})
    assert "step 2" in bad["steps"][1], bad
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = "http://127.0.0.1:%d/v1" % server.getsockname()[1]
        output = check(0, "chat", {"endpoint": url}, model="m")
        assert output["endpoint"] == (
            "ok", "connected to %s/chat/completions" % url), output
    output = check(1, "chat", {"endpoint": url}, model="m")
    assert output["settings"] == ("ok", "m") and \
        output["endpoint"][0] == "failed", output
    output = check(1, "chat", {"endpoint": url})
    assert "no model is set" in output["settings"][1], output


def test_a_secret_in_a_definition_is_refused(home):
    home.skep("agent", "add", "a", "--driver", "chat", "--endpoint",
              "http://localhost:1/v1", "--model", "m")
    before = home.skep("agent", "show", "a").out
    error = home.refused(65, "agent", "set", "a", "--set",
                        'config.endpoint={"api_key":"sk-123"}')
    assert "credentials/" in error and "sk-123" not in error
    assert home.skep("agent", "show", "a").out == before


LEAKS = ({"config": {"env": {"OPENAI_API_KEY": "sekrit-77"}}},
         {"config": {"command": ["x", "--token=sekrit-77"]}},
         {"config": {"endpoint": "https://u:sekrit-77@example.org/v1"}},
         {"config": {"headers": {"Authorization": "Bearer sekrit-77"}}},
         {"prompt": "the key is sk-sekrit-77-0123456789abcdef"})


def test_a_secret_is_refused_on_every_way_into_a_definition(home):
    home.skep("agent", "add", "a", "--driver", "exec", "--", "true")
    for i, leak in enumerate(LEAKS):
        d = home.path / "agents" / ("f%d" % i)
        d.mkdir()
        (d / "agent.json").write_text(json.dumps(dict(leak, driver="exec")))
        error = home.skep("agent", "ls").err
        assert "f%d/agent.json" % i in error and "sekrit-77" not in error, error
        (d / "agent.json").unlink()
    home.skep("up")
    for leak in LEAKS:
        error = home.refused(65, "agent", "set", "a", "--from", "-",
                            input=json.dumps(leak))
        assert "credentials/" in error and "sekrit-77" not in error, error
        assert "environment" in error, error  # the other right way
    home.skep("down")
    for path in home.path.rglob("*"):
        if path.is_file():
            assert b"sekrit-77" not in path.read_bytes(), path


def test_removing_keeps_versions_and_purging_removes_files(home):
    home.skep("agent", "add", "a", "--driver", "script")
    home.skep("agent", "rm", "a")
    assert "'a'" in home.refused(66, "agent", "show", "a")
    versions = home.skep("agent", "show", "a", "--versions", "--json").lines
    assert len(versions) == 1
    d = home.path / "agents" / "b"
    d.mkdir()
    (d / "agent.json").write_text('{"driver": "script"}')
    home.skep("agent", "ls")
    assert "agent.json" in home.refused(65, "agent", "rm", "b")
    home.skep("agent", "rm", "b", "--purge")
    assert not d.exists() and home.skep("agent", "ls", "--json").lines == []


def test_every_admin_act_has_an_audit_row(home):
    home.skep("agent", "add", "a", "--driver", "script")
    home.skep("agent", "add", "b", "--driver", "script")
    home.skep("agent", "set", "a", "--model", "m")
    home.skep("agent", "set", "b", "--default")
    home.skep("agent", "rm", "b", "--purge")
    rows = home.query(home.control, "SELECT actor, act, subject FROM audit")
    assert [r[1:] for r in rows] == [
        ("agent.add", "a"), ("agent.add", "b"), ("agent.set", "a"),
        ("agent.default", "b"), ("agent.rm", "b"), ("agent.purge", "b")]
    assert all(r[0].startswith("cli:") for r in rows)


def test_names_that_are_not_names_change_nothing(home):
    bad = ["a/b", "..", "a\nb", "", "-a", "ä", "x" * 65, "x" * 10_000_000,
           b"\xff\xfe"]
    for name in bad:
        if isinstance(name, str) and len(name) > 100_000:
            continue  # over the kernel's limit for one argument
        error = home.refused(64, "agent", "add", "--driver", "script", "--", name)
        assert "\n" not in error[:-1] and len(error) < 500
    assert not home.path.exists()


def test_an_unknown_agent_is_named(home):
    home.skep("agent", "add", "a", "--driver", "script")
    assert "'zed'" in home.refused(66, "agent", "show", "zed")
    assert "'zed'" in home.refused(66, "agent", "set", "zed", "--model", "m")
    assert "'zed'" in home.refused(66, "agent", "rm", "zed")
    home.refused(65, "agent", "add", "a", "--driver", "script")


def test_a_definition_over_the_limit_is_refused(home):
    big = json.dumps({"driver": "script", "x": "y" * (5 << 20)})
    home.refused(65, "agent", "add", "a", "--from", "-", input=big)
    assert home.skep("agent", "ls", "--json").lines == []
