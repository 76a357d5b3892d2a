"""Presets with the agents from npm, against a model on loopback: each answers,
writes a file and runs a command in the default sandbox."""
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
    said = subprocess.run(["node", "--version"], capture_output=True, text=True)
    return int(re.match(r"v(\d+)", said.stdout).group(1))


def environment(home, where, **more):
    """Base URLs and a key are all that is not as the preset has it."""
    return dict({"HOME": str(home.dir), "PATH": "%s/node_modules/.bin:%s" % (
        where, os.environ["PATH"])}, **more)


def verify(home, preset, package, node, **env):
    if node_version() < node:
        lib.skip("%s needs node %d" % (preset, node))
    where = packages(package)
    model = provider_mock.Provider(home)
    env = environment(home, where, **{k: v.replace("$URL", model.url)
                                      for k, v in env.items()})
    home.skep("agent", "add", "a", "--preset", preset, env=env)
    spec = home.skep("--json", "agent", "show", "a", env=env).json["spec"]
    spec = spec if isinstance(spec, dict) else json.loads(spec)
    paths = dict(spec.get("paths", {}))
    paths["read"] = paths.get("read", []) + [str(where)]  # /tmp is hidden
    home.skep("agent", "set", "a", "--set", "paths=" + json.dumps(paths), env=env)
    r = home.skep("--json", "agent", "test", "a", env=env, code=None,
                  seconds=150)
    steps = [(s["step"], s["result"], s["detail"]) for s in r.lines]
    print(r.out, r.err, model.errors, [p for p, _ in model.asked])
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


def test_qwen(home):
    verify(home, "qwen", "@qwen-code/qwen-code", 22, OPENAI_API_KEY="k",
           OPENAI_BASE_URL="$URL/v1", OPENAI_MODEL="mock")


for test in (test_gemini, test_qwen):
    test.seconds = 300
