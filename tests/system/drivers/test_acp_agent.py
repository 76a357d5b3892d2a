"""skep agent add --driver acp, its presets, and agent test."""
import json
import pathlib
import sys

from test_acp import AGENT

PRESETS = ("codex", "claude", "gemini", "opencode", "copilot", "qwen", "goose",
           "kilo")


def add(home, name, *command, can="", more=None, **env):
    state = home.dir / "state"
    state.mkdir(exist_ok=True)
    env = dict(ACP_STATE=str(state), ACP_CAN=can, **env)
    more = {"paths": {"write": [str(state)]}} if more is None else more
    return home.skep("agent", "add", name, "--driver", "acp", "--set",
                     "config=" + json.dumps({"env": env}),
                     *(a for k, v in more.items() for a in
                       ("--set", "%s=%s" % (k, v if isinstance(v, str) else
                                            json.dumps(v)))),
                     "--", *command)


def steps(home, name, code=0):
    r = home.skep("--json", "agent", "test", name, code=code)
    return [(s["step"], s["result"], s["detail"]) for s in r.lines], r.err


def test_a_preset_is_a_whole_definition_that_can_be_changed(home):
    for name in PRESETS:
        home.skep("agent", "add", name, "--preset", name, "--force")
        a = home.skep("--json", "agent", "show", name).json
        spec = a["spec"] if isinstance(a["spec"], dict) else json.loads(a["spec"])
        assert a["driver"] == "acp" and spec["preset"] == name, a
        assert spec["config"]["command"] and spec["config"]["pass"], a
        assert spec["config"]["idle_ms"] > 0, a
        assert all(p.startswith(str(home.dir) + "/.")
                   for p in spec["paths"]["write"]), a
        for p in map(pathlib.Path, spec["paths"]["write"]):
            assert p.stat().st_mode & 0o077 == 0, "made, for its owner: %s" % p
            assert p.is_dir() or p.read_text() == "{}\n", p
    home.skep("agent", "add", "mine", "--preset", "gemini", "--set",
              'config={"mode":"plan"}', "--force", "--", "other", "--acp")
    spec = json.loads(home.skep("--json", "agent", "show", "mine").out)["spec"]
    spec = spec if isinstance(spec, dict) else json.loads(spec)
    assert spec["config"]["command"] == ["other", "--acp"], spec
    assert spec["config"]["mode"] == "plan", spec
    home.refused(64, "agent", "add", "x", "--preset", "nobody")


def test_an_agent_that_works_is_told_so(home):
    add(home, "good", sys.executable, str(AGENT), can="load")
    got, _ = steps(home, "good")
    assert [s[:2] for s in got] == [
        ("sandbox", "ok"), ("start", "ok"), ("initialize", "ok"),
        ("session/new", "ok"), ("prompt", "ok"), ("file", "ok"),
        ("command", "ok")], got
    assert "fake 1, protocol 1" in got[2][2], got
    assert "initialize" in home.skep("agent", "test", "good").out


def test_an_agent_that_only_answers_does_not_pass(home):
    for can, bad in (("idle", {"file", "command"}), ("no-file", {"file"}),
                     ("no-command", {"command"}), ("mute", {"prompt"}),
                     ("refuse", {"prompt"})):
        add(home, can, sys.executable, str(AGENT), can=can)
        got, err = steps(home, can, code=1)
        assert {s[0] for s in got if s[1] == "failed"} == bad, got
        assert "failed the test" in err, err
        # the model is not asked, so nothing is claimed of its work
        r = home.skep("--json", "agent", "test", can, "--no-prompt")
        assert [s["step"] for s in r.lines][-1] == "session/new", r.out


def test_what_an_agent_said_last_is_shown_if_it_does_not_end(home):
    """codex tells so that it cannot reach its provider, and tries again."""
    add(home, "a", sys.executable, str(AGENT), can="hang")
    for limit in ("700ms", "5s", "40s"):  # as long as it takes to get there
        r = home.skep("--json", "agent", "test", "a", "--timeout", limit,
                      code=1, seconds=90)
        prompt = [s for s in r.lines if s["step"] == "prompt"]
        if prompt and "last words" in prompt[0]["detail"]:
            break
    [prompt] = prompt
    assert prompt["result"] == "failed", r.out
    assert prompt["detail"] == (
        "it does not answer; its last words: Reconnecting... 1/5"), prompt


def test_a_key_in_the_environment_is_a_login(home):
    """codex is given OPENAI_API_KEY and wants to be told to use it."""
    state = home.dir / "state"
    state.mkdir()
    home.skep("agent", "add", "a", "--driver", "acp", "--set", "config=" +
              json.dumps({"env": {"ACP_STATE": str(state), "ACP_CAN": "login"},
                          "pass": ["X_API_KEY"]}), "--set",
              "paths=" + json.dumps({"write": [str(state)]}),
              "--", sys.executable, str(AGENT))
    got, _ = steps(home, "a", code=1)
    assert ("session/new", "failed") in [g[:2] for g in got], got
    home.env["X_API_KEY"] = "k"
    got, _ = steps(home, "a")
    assert ("authenticate", "ok", "api-key") in got, got
    assert (state / "login").read_text() == "api-key"


def test_the_codex_preset_starts_commands_without_its_own_sandbox(home):
    for name, env, want in (("c1", {}, "agent-full-access"),
                            ("c2", {"INITIAL_AGENT_MODE": "read-only"},
                             "read-only")):
        home.skep("agent", "add", name, "--preset", "codex", "--force",
                  "--set", "config=" + json.dumps({"env": dict(env, OTHER="x")}))
        spec = home.skep("--json", "agent", "show", name).json["spec"]
        spec = spec if isinstance(spec, dict) else json.loads(spec)
        assert spec["config"]["env"] == {"INITIAL_AGENT_MODE": want,
                                         "OTHER": "x"}, spec


def test_what_is_missing_is_said_plainly(home):
    missing = ("agent", "add", "none", "--preset", "goose")
    why = home.refused(66, *missing, "--", "no-such-program")
    assert "'no-such-program' in PATH" in why and "--force" in why, why
    home.skep(*missing, "--force", "--", "no-such-program")
    got, err = steps(home, "none", code=1)
    assert got[-1][1] == "failed" and "no-such-program" in got[-1][2], got
    assert "goose configure" in err, err
    add(home, "login", sys.executable, str(AGENT), can="login")
    got, _ = steps(home, "login", code=1)
    assert got[-1][0] == "session/new" and "login" in got[-1][2], got
    assert "a key" in got[-1][2], got
    add(home, "new", sys.executable, str(AGENT), ACP_VERSION="7")
    got, _ = steps(home, "new", code=1)
    assert "version 7" in got[-1][2], got
    add(home, "dies", "sh", "-c", "echo needs node 99 >&2; exit 4")
    got, _ = steps(home, "dies", code=1)
    assert got[-1][0] == "initialize" and "code 4" in got[-1][2], got
    assert "needs node 99" in got[-1][2], got
    # at once, also if what it started still holds its output
    add(home, "orphan", "sh", "-c", "sleep 4322 & echo no luck >&2; exit 5")
    got, _ = steps(home, "orphan", code=1)
    assert "code 5" in got[-1][2] and "no luck" in got[-1][2], got
    add(home, "mute", "sleep", "60")
    r = home.skep("--json", "agent", "test", "mute", "--timeout", "300ms",
                  code=1)
    assert "does not answer" in r.lines[-1]["detail"], r.out
    home.skep("agent", "add", "other", "--driver", "script")


def test_private_certificates_can_be_read_in_the_trial(home):
    ca = home.dir / "private-ca.pem"
    ca.write_text("a certificate")
    home.env["NODE_EXTRA_CA_CERTS"] = str(ca)
    add(home, "a", "sh", "-c", "cat $NODE_EXTRA_CA_CERTS >&2; exit 4")
    got, _ = steps(home, "a", code=1)
    assert got[-1][2].endswith(": a certificate"), got


def test_it_is_tried_in_the_sandbox_that_runs_have(home):
    add(home, "in", sys.executable, str(AGENT), more={})
    got, _ = steps(home, "in", code=1)
    assert got[0][:2] == ("sandbox", "ok"), got
    assert got[-1][:2] == ("initialize", "failed"), "it keeps books: %s" % got
    add(home, "out", sys.executable, str(AGENT), more={"sandbox": "off"})
    got, _ = steps(home, "out")
    assert got[0] == ("sandbox", "ok", "off"), got
    # what it starts does not outlive the trial
    add(home, "leaves", "sh", "-c", "setsid sleep 4321 & exec %s %s" % (
        sys.executable, AGENT))
    steps(home, "leaves")
    found = home.run("sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '",
                     code=None).out
    assert "sleep 4321" not in found


def test_a_node_that_is_too_old_or_missing_is_named(home):
    programs = home.dir / "programs"
    programs.mkdir()
    add = ("agent", "add", "g", "--preset", "gemini", "--set", "config=" +
           json.dumps({"env": {"PATH": str(programs)}}),
           "--set", "paths=" + json.dumps({"write": [str(home.dir)]}))
    assert "the PATH of config.env" in home.refused(66, *add)
    (programs / "gemini").write_text("#!/bin/sh\nexit 3\n")
    (programs / "gemini").chmod(0o755)
    home.skep(*add)
    for version, good in (("v18.20.0", False), ("v20.1.0", True),
                          ("nonsense", False)):
        (programs / "node").write_text("#!/bin/sh\necho %s\n" % version)
        (programs / "node").chmod(0o755)
        got, _ = steps(home, "g", code=1)
        assert got[-2][:2] == ("initialize", "failed"), got
        assert got[-1][:2] == ("node", "ok" if good else "failed"), got
        assert version in got[-1][2] and (good or "20 or newer" in got[-1][2])
    (programs / "node").unlink()
    got, _ = steps(home, "g", code=1)
    assert "20 or newer is needed" in got[-1][2], got
