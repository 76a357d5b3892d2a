"""Presets with the agents from npm, against a model on loopback: each answers,
writes a file and runs a command in the default sandbox. SKEP_TEST_AGENTS=1 tests
them all; they are some hundred megabytes each."""
import json
import os
import re
import shutil
import subprocess

import lib
import provider_mock
from npm_lib import packages
from skepd_lib import Host


def node_version():
    if not shutil.which("node"):
        lib.skip("node is needed")
    output = subprocess.run(["node", "--version"], capture_output=True, text=True)
    return int(re.match(r"v(\d+)", output.stdout).group(1))


def directories(package, node):
    """Where the agent's programs are, and a node that is new enough for it."""
    if node <= node_version():
        where = packages(package)
        return [where / "node_modules/.bin"], where
    new = packages("node@%d" % node)
    where = packages(package, path=new / "node_modules/node/bin")
    return [new / "node_modules/node/bin", where / "node_modules/.bin"], where


def all_agents():
    if not os.environ.get("SKEP_TEST_AGENTS"):
        lib.skip("SKEP_TEST_AGENTS=1 tests this agent")


def verify(home, preset, package, node=0, command=(), **env):
    """Base URLs, a key and a model are all that is not as the preset has it."""
    found, where = directories(package, node)
    model = provider_mock.Provider(home)
    env = {k: v.replace("$URL", model.url) for k, v in env.items()}
    env.update(HOME=str(home.dir),
               PATH=":".join([*map(str, found), os.environ["PATH"]]))
    home.skep("agent", "add", "a", "--preset", preset,
              *(["--", *command] if command else []), env=env)
    spec = home.skep("--json", "agent", "show", "a", env=env).json["spec"]
    spec = spec if isinstance(spec, dict) else json.loads(spec)
    paths = dict(spec.get("paths", {}))  # /tmp is hidden
    paths["read"] = paths.get("read", []) + [str(d) for d in (where, *found)]
    home.skep("agent", "set", "a", "--set", "paths=" + json.dumps(paths), env=env)
    r = home.skep("--json", "agent", "test", "a", env=env, code=None,
                  seconds=200)
    steps = [(s["step"], s["result"], s["detail"]) for s in r.lines]
    print(r.out, r.err, model.errors[:5], [p for p, _ in model.asked[:20]])
    assert r.code == 0, (preset, steps)
    d = Host(home, env=env).start()
    row = d.until(d.submit("a", "hello", session="s"), seconds=100)
    assert row["state"] == "succeeded", row
    text = home.query(home.agent_db("a"),
                      "SELECT text FROM parts WHERE kind = 'text'")
    assert provider_mock.SAID in "".join(t for (t,) in text), text
    d.down()  # with the agent that it keeps for the next prompt


def test_gemini(home):
    verify(home, "gemini", "@google/gemini-cli", 20, GEMINI_API_KEY="k",
           GOOGLE_GEMINI_BASE_URL="$URL")


def test_codex(home):
    all_agents()
    (home.dir / ".codex").mkdir()
    (home.dir / ".codex/config.toml").write_text('model = "mock"\n')
    verify(home, "codex", "@agentclientprotocol/codex-acp", 20,
           ["codex-acp"], OPENAI_API_KEY="k", OPENAI_BASE_URL="$URL/v1")


def test_claude(home):
    all_agents()
    verify(home, "claude", "@agentclientprotocol/claude-agent-acp", 22,
           ["claude-agent-acp"], ANTHROPIC_API_KEY="k", ANTHROPIC_BASE_URL="$URL")


def test_qwen(home):
    all_agents()
    verify(home, "qwen", "@qwen-code/qwen-code", 22, OPENAI_API_KEY="k",
           OPENAI_BASE_URL="$URL/v1", OPENAI_MODEL="mock")


def test_goose(home):
    all_agents()
    verify(home, "goose", "@aaif/goose", OPENAI_API_KEY="k",
           OPENAI_BASE_URL="$URL/v1", GOOSE_PROVIDER="openai",
           GOOSE_MODEL="mock")


def test_copilot(home):
    all_agents()
    verify(home, "copilot", "@github/copilot", COPILOT_MODEL="mock",
           COPILOT_PROVIDER_BASE_URL="$URL/v1", COPILOT_PROVIDER_API_KEY="k",
           COPILOT_OFFLINE="true")


CONFIG = json.dumps({
    "model": "mock/mock", "small_model": "mock/mock", "autoupdate": False,
    "share": "disabled", "provider": {"mock": {
        "npm": "@ai-sdk/openai-compatible", "name": "Mock",
        "options": {"baseURL": "$URL/v1", "apiKey": "none"},
        "models": {"mock": {"name": "Mock", "tool_call": True, "limit": {
            "context": 100000, "output": 4000}}}}}})


def test_opencode(home):
    all_agents()
    verify(home, "opencode", "opencode-ai", OPENCODE_CONFIG_CONTENT=CONFIG)


def test_kilo(home):
    """The newest version whose program for this machine was published."""
    all_agents()
    verify(home, "kilo", "@kilocode/cli@7.7.7", KILO_CONFIG_CONTENT=CONFIG)


for test in [t for n, t in list(globals().items()) if n.startswith("test_")]:
    test.seconds = 400
