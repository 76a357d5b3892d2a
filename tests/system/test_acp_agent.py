"""skep agent add --driver acp, its presets, and agent test."""
import json
import sys

from test_acp import AGENT

PRESETS = ("codex", "claude", "gemini", "opencode", "copilot", "qwen", "goose")


def add(home, name, *command, can="", **env):
    state = home.dir / "state"
    state.mkdir(exist_ok=True)
    env = dict(ACP_STATE=str(state), ACP_CAN=can, **env)
    return home.skep("agent", "add", name, "--driver", "acp", "--set",
                     "config=" + json.dumps({"env": env}), "--", *command)


def steps(home, name, code=0):
    r = home.skep("--json", "agent", "test", name, code=code)
    return [(s["step"], s["result"], s["detail"]) for s in r.lines], r.err


def test_a_preset_is_a_whole_definition_that_can_be_changed(home):
    for name in PRESETS:
        home.skep("agent", "add", name, "--preset", name)
        a = home.skep("--json", "agent", "show", name).json
        spec = a["spec"] if isinstance(a["spec"], dict) else json.loads(a["spec"])
        assert a["driver"] == "acp" and spec["preset"] == name, a
        assert spec["config"]["command"] and spec["config"]["pass"], a
        assert all(p.startswith(str(home.dir) + "/.")
                   for p in spec["paths"]["write"]), a
    home.skep("agent", "add", "mine", "--preset", "gemini", "--set",
              'config={"mode":"plan"}', "--", "other", "--acp")
    spec = json.loads(home.skep("--json", "agent", "show", "mine").out)["spec"]
    spec = spec if isinstance(spec, dict) else json.loads(spec)
    assert spec["config"]["command"] == ["other", "--acp"], spec
    assert spec["config"]["mode"] == "plan", spec
    home.refused(64, "agent", "add", "x", "--preset", "nobody")


def test_an_agent_that_works_is_told_so(home):
    add(home, "good", sys.executable, str(AGENT), can="load")
    got, _ = steps(home, "good")
    assert [s[:2] for s in got] == [("start", "ok"), ("initialize", "ok"),
                                    ("session/new", "ok")], got
    assert "fake 1, protocol 1" in got[1][2], got
    assert "initialize" in home.skep("agent", "test", "good").out


def test_what_is_missing_is_said_plainly(home):
    home.skep("agent", "add", "none", "--preset", "goose", "--",
              "no-such-program")
    got, err = steps(home, "none", code=69)
    assert got[-1][1] == "failed" and "no-such-program" in got[-1][2], got
    assert "goose configure" in err, err
    add(home, "login", sys.executable, str(AGENT), can="login")
    got, _ = steps(home, "login", code=69)
    assert got[-1][0] == "session/new" and "login" in got[-1][2], got
    assert "a key" in got[-1][2], got
    add(home, "new", sys.executable, str(AGENT), ACP_VERSION="7")
    got, _ = steps(home, "new", code=69)
    assert "version 7" in got[-1][2], got
    add(home, "dies", "sh", "-c", "echo needs node 99 >&2; exit 4")
    got, _ = steps(home, "dies", code=69)
    assert got[-1][0] == "initialize" and "code 4" in got[-1][2], got
    assert "needs node 99" in got[-1][2], got
    add(home, "mute", "sleep", "60")
    r = home.skep("--json", "agent", "test", "mute", "--timeout", "300ms",
                  code=69)
    assert "does not answer" in r.lines[-1]["detail"], r.out
    home.skep("agent", "add", "other", "--driver", "script")
    assert "acp only" in home.refused(69, "agent", "test", "other")
