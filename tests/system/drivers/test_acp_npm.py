"""The acp driver against what others made: the protocol's schema and SDK, and a
whole agent, all from npm."""
import ctypes
import fcntl
import json
import os
import pathlib
import shutil
import socket
import struct

import lib
import openai_mock
from npm_lib import packages
from test_acp import acp, heard, texts, tools
from test_acp_files import call, need_mount, place, read, write
from test_acp_permission import ask
from worker_lib import Supervisor, Worker, ok, run_id

HERE = pathlib.Path(__file__).resolve().parent.parent / "support"
SCHEMA = "node_modules/@agentclientprotocol/sdk/schema/v1/schema.json"


def sdk():
    return packages("@agentclientprotocol/sdk@2", "ajv@8")


# -- the schema

def defs(schema):
    """(method, side): names of the definitions of its messages."""
    found = {}
    for name, d in schema["$defs"].items():
        if "x-method" in d:
            found.setdefault((d["x-method"], d["x-side"]), []).append(name)
    return found


def sent(home, schema):
    """Everything that the agent heard, with the definition that it must fit."""
    by = defs(schema)
    asked = dict(json.loads(line) for line in
                 (home.dir / "state" / "asked").read_text().splitlines())
    for method, m in heard(home):
        assert m["jsonrpc"] == "2.0" and set(m) <= {
            "jsonrpc", "id", "method", "params", "result", "error"}, m
        if method:
            end = "Request" if "id" in m else "Notification"
            names = by[method, "agent"]
            value = m["params"]
        elif "error" in m:
            yield "Error", m["error"]
            continue
        else:
            end, names = "Response", by[asked[m["id"]], "client"]
            value = m["result"]
        yield [n for n in names if n.endswith(end)][0], value


def test_all_that_is_sent_fits_the_published_schema(home):
    where = sdk()
    sup = Supervisor(home)
    d = place(home, "disk")
    everything = [
        ask("make"), write(d + "/a", "x"), read(d + "/a"), read("/etc/passwd"),
        call("terminal/create", command="sh", args=["-c", "exit 3"]),
        call("terminal/output", terminalId="$last"),
        call("terminal/wait_for_exit", terminalId="$last"),
        call("terminal/output", terminalId="$last"),
        call("terminal/kill", terminalId="$last"),
        call("terminal/release", terminalId="$last"),
        call("terminal/create", command="sleep", args=["60"]),
        call("terminal/kill", terminalId="$last"),
        call("terminal/wait_for_exit", terminalId="$last"),
        call("private/thing")]
    config = {"permissions": {"default": "allow"}, "auth": "key",
              "mode": "code", "options": {"model": "x", "fast": True}}
    ok(acp(home, everything, sup, can="login", config=config))
    for n, can in enumerate(("load", "resume")):
        ok(acp(home, "again", sup, can=can, n=n + 2))
    w = acp(home, [{"say": "x"}, {"sleep": 60}], sup, n=5, can="load",
            grace_ms=10000)
    lib.eventually(lambda: w.has("message", 2) and "x" in texts(w), 20, "text")
    sup.command(w.run, type="cancel", id=1, reason="x", grace_ms=10000)
    w.finished()
    schema = json.loads((where / SCHEMA).read_text())
    lines = list(sent(home, schema))
    assert {"InitializeRequest", "AuthenticateRequest", "NewSessionRequest",
            "LoadSessionRequest", "ResumeSessionRequest", "PromptRequest",
            "SetSessionModeRequest", "SetSessionConfigOptionRequest",
            "CancelNotification", "RequestPermissionResponse", "Error",
            "ReadTextFileResponse", "WriteTextFileResponse",
            "CreateTerminalResponse", "TerminalOutputResponse",
            "WaitForTerminalExitResponse", "KillTerminalResponse",
            "ReleaseTerminalResponse"} <= {d for d, _ in lines}, lines
    shutil.copy(HERE / "acp_validate.mjs", where)
    text = "".join(json.dumps({"def": d, "value": v}) + "\n"
                   for d, v in lines + [("InitializeRequest", {})])
    output = home.run("node", where / "acp_validate.mjs", where / SCHEMA,
                    input=text).out.splitlines()
    assert len(output) == 1 and output[0].startswith("InitializeRequest: {}"), output


# -- the SDK

def test_an_agent_made_with_the_sdk_works(home):
    where = sdk()
    shutil.copy(HERE / "acp_sdk_agent.mjs", where)
    work = home.dir / "work"
    work.mkdir()
    sup = Supervisor(home)
    w = Worker(sup, "acp", {"command": ["node",
                                        str(where / "acp_sdk_agent.mjs")]},
               prompt="do it", workspace=str(work))
    question = sup.wait("approval", 60)
    sup.command(w.run, type="answer", id=1, key=question["key"],
                decision="allow", choice="go")
    ok(w)
    assert "asked: do it" in texts(w)[0], texts(w)
    assert json.loads(texts(w)[-1]) == ["made\n", 0, "made\n"], texts(w)
    assert [t[:2] for t in tools(w)] == [("write a file", "done")], tools(w)
    assert (work / "made.txt").read_text() == "made\n"


class Example:
    """Runs of the example agent that came with the SDK up to version 1: a turn
    of five steps, a second each, with one question."""

    def __init__(self, home):
        where = packages("@agentclientprotocol/sdk@1", "zod@4")
        example = where / ("node_modules/@agentclientprotocol/sdk/dist/"
                           "examples/agent.js")
        assert example.exists(), "the package no longer has the example"
        (home.dir / "work").mkdir()
        self.home, self.sup, self.n = home, Supervisor(home), 0
        self.command = ["node", str(example)]

    def run(self, prompt="change the configuration", **config):
        self.n += 1
        return Worker(self.sup, "acp", dict(config, command=self.command),
                      n=self.n, prompt=prompt, grace_ms=10000,
                      workspace=str(self.home.dir / "work"))

    def answer(self, w, choice):
        q = self.sup.wait("approval", 60, run=w.run)
        assert q["title"] == "Modifying critical configuration file", q
        assert [(o["optionId"], o["kind"]) for o in q["detail"]["options"]] == [
            ("allow", "allow_once"), ("reject", "reject_once")], q
        self.sup.command(w.run, type="answer", id=1, key=q["key"], choice=choice,
                         decision="allow" if choice == "allow" else "deny")


def test_the_sdks_example_agent_asks_and_is_answered(home):
    agent = Example(home)
    w = agent.run()
    agent.answer(w, "allow")
    ok(w)
    assert "let me start by reading" in texts(w)[0].lower(), texts(w)
    assert "successfully updated" in texts(w)[-1], texts(w)
    assert [t[:3] for t in tools(w)] == [
        ("Reading project files", "done", "call_1"),
        ("Modifying critical configuration file", "done", "call_2")], tools(w)
    assert json.loads(tools(w)[1][4]) == {"raw": {
        "success": True, "message": "Configuration updated"}}, tools(w)
    assert json.loads(tools(w)[1][3])["path"] == "/home/user/project/config.json"
    w = agent.run("again")
    agent.answer(w, "reject")
    ok(w)
    assert "skip the configuration update" in texts(w)[-1], texts(w)


def test_the_sdks_example_agent_is_cancelled_and_ruled(home):
    agent = Example(home)
    w = agent.run()
    lib.eventually(lambda: w.has("message", 2), 60, "its first words")
    agent.sup.command(w.run, type="cancel", id=1, reason="x", grace_ms=10000)
    m = agent.sup.wait("finished", 60, run=w.run)
    assert m["outcome"] == "cancelled", m
    w = agent.run(permissions={"deny": ["edit:*config.json"]}, idle_ms=60000)
    m = agent.sup.wait("finished", 60, run=w.run)
    assert (m["outcome"], m["idle_ms"]) == ("succeeded", 60000), m
    assert "skip the configuration update" in texts(w)[-1], texts(w)
    # it cannot load sessions: only the process that was kept remembers
    agent.n += 1
    start = dict(w.start, run=run_id(agent.n), token="t", prompt="go on")
    agent.sup.command(w.run, type="next", id=1, start=start)
    m = agent.sup.wait("finished", 60, run=run_id(agent.n))
    assert m["outcome"] == "succeeded", m
    assert len(w.events("run_finished")) == 2
    w.process.terminate()
    assert w.process.wait(lib.HANG) == 0


# -- a whole agent

def alone():
    """From now on there is no network but loopback, where that can be had."""
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() != 0 or libc.unshare(0x40000000):  # CLONE_NEWNET
        return
    with socket.socket() as s:  # lo is down in a new one: up, by SIOCSIFFLAGS
        fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"lo", 0x1 | 0x40))


class OpenCode:
    """Runs of OpenCode with a model of our own."""

    def __init__(self, home, mode):
        need_mount(mode)
        where = packages("opencode-ai@1")
        found = sorted(where.glob("node_modules/opencode-linux-*/bin/opencode"))
        if not found:
            lib.skip("there is no OpenCode for this machine")
        alone()
        self.home, self.mode, self.n = home, mode, 0
        self.sup = Supervisor(home)
        (home.dir / "work").mkdir()
        self.model = openai_mock.Model(place(home, mode))
        config = {
            "model": "mock/mock", "small_model": "mock/mock",
            "autoupdate": False, "share": "disabled",
            "permission": {"edit": "ask", "bash": "ask"},
            "provider": {"mock": {
                "npm": "@ai-sdk/openai-compatible", "name": "Mock",
                "options": {"baseURL": self.model.url, "apiKey": "none"},
                "models": {"mock": {"name": "Mock", "tool_call": True,
                                    "limit": {"context": 100000,
                                              "output": 4000}}}}}}
        temporary = home.dir / "tmp"  # it unpacks libraries and leaves them
        temporary.mkdir()
        self.config = {"command": [str(found[0]), "acp"], "env": {
            "HOME": str(home.dir), "TMPDIR": str(temporary),
            "OPENCODE_CONFIG_CONTENT":
            json.dumps(config), "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}}

    def run(self, prompt):
        self.n += 1
        self.command = 0
        return Worker(self.sup, "acp", self.config, n=self.n, prompt=prompt,
                      workspace=str(self.home.dir / "work"), grace_ms=10000,
                      workspace_mode=self.mode)

    def tell(self, w, **command):
        self.command += 1
        self.sup.command(w.run, id=self.command, **command)

    def allow(self, w):
        """The next question is answered with yes."""
        question = self.sup.wait("approval", 100, run=w.run)
        kinds = {o["kind"] for o in question["detail"]["options"]}
        assert {"allow_once", "reject_once"} <= kinds, question
        self.tell(w, type="answer", key=question["key"], decision="allow")

    def over(self, w, outcome="succeeded"):
        m = self.sup.wait("finished", 100, run=w.run)
        assert m["outcome"] == outcome, m
        assert w.process.wait(lib.HANG) == 0


def edit(home, mode, *more):
    """A file is made, after a question; then further turns."""
    agent = OpenCode(home, mode)
    w = agent.run("WRITE made.txt by the model")
    for text in more:
        agent.tell(w, type="message", text=text)
    for _ in range(1 + len(more)):
        agent.allow(w)
    agent.over(w)
    assert {t[1] for t in tools(w)} == {"done"}, tools(w)
    assert "done:" in texts(w)[-1], texts(w)
    made = home.dir / "work" / "made.txt"
    assert made.exists() == (mode == "disk"), "the host's directory"
    return agent, w


def test_opencode_edits_and_goes_on_later_in_a_directory(home):
    agent, _ = edit(home, "disk")
    w = agent.run("SAY again")
    agent.over(w)
    assert texts(w)[-1] == "again (2)", "it remembers: %s" % texts(w)
    usage = home.query(w.db, "SELECT sum(input), sum(output) FROM usage")
    assert usage[0][0] > 0 and usage[0][1] > 0, usage


def test_opencode_edits_in_a_scratch_workspace_and_is_cancelled(home):
    agent = OpenCode(home, "vfs-scratch")
    w = agent.run("WRITE made.txt by the model")
    agent.tell(w, type="message", text="SLOW")
    agent.allow(w)
    lib.eventually(lambda: w.has("message", 3) and any(
        "word word" in t for t in texts(w)), 100, "words")
    agent.tell(w, type="cancel", reason="x", grace_ms=20000)
    agent.over(w, "cancelled")
    assert tools(w)[0][1] == "done", tools(w)
    assert not (home.dir / "work" / "made.txt").exists(), "the host's directory"


def test_opencode_edits_and_runs_commands_in_a_workspace_in_the_file(home):
    _, w = edit(home, "vfs-only", "RUN cat made.txt; pwd")
    out = json.dumps(tools(w)[-1])
    assert "by the model" in out and "/mnt/workspace" in out, out
