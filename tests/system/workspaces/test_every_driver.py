"""Every driver works in every kind of workspace, whatever the mode of its agent
is."""
import json
import pathlib
import sys

import chat_mock
import lib
from workspace_lib import chat_agent, files, host, needs_fuse, read, run, spaces

AGENT = str(lib.seen_in_a_sandbox(
    pathlib.Path(__file__).resolve().parents[1] / "support" / "acp_agent.py"))
MODES = ("disk", "vfs-scratch", "vfs-only")


def chat(home, h, mode, **more):
    """Writes `mark` with a tool of the chat driver."""
    reply = lambda: [chat_mock.calls(("write_file", {"path": "mark",
                                                     "content": "chat"})),
                     chat_mock.text("done")]
    chat_agent(h, home, mode=mode, replies=reply() * 12, **more)
    return lambda **how: run(h, "bot", "work", **how)


def acp(tool):
    """Writes `mark` with a request of the agent, or a tool of the MCP server."""
    def agent(home, h, mode, **more):
        state = home.dir / "acp"
        state.mkdir()
        h.agent("bot", "acp", {"command": [sys.executable, AGENT],
                               "env": {"ACP_STATE": str(state)},
                               "permissions": {"default": "allow"}},
                workspace=mode, sandbox="off", **more)

        def go(**how):
            if tool:
                step = {"tool": "write_file", "args": {"path": "mark",
                                                       "content": "mcp"}}
            else:
                step = {"call": "fs/write_text_file", "params": {
                    "path": "/mnt/workspace/mark", "content": "acp"}}
            return run(h, "bot", json.dumps([step]), **how)
        return go
    return agent


def default_of_agent(home, name, go):
    """The definition names it."""
    home.skep("agent", "set", "bot", "--set", "namespace=" + name)
    home.skep("vfs", "rm", "bot:" + name, "mark")
    assert go()["works_in"] == name
    assert "mark" in files(home, "bot:" + name)


def every_kind(home, mode, make, word):
    h = host(home)
    below = home.dir / "repo"
    below.mkdir()
    (below / "host").write_text("host")
    go = make(home, h, mode, path=str(below))
    home.skep("namespace", "create", "bot:one")
    home.skep("vfs", "put", "bot:one", "old", input="old")
    home.skep("snapshot", "create", "bot:one", "s")
    home.skep("vfs", "put", "bot:one", "later", input="x")
    assert go(workspace="one")["works_in"] == "one"
    assert files(home, "bot:one") == ["later", "mark", "old"]
    go(fork_of="one", workspace="head")
    assert files(home, "bot:head") == ["later", "mark", "old"]
    go(fork_of="one@s", workspace="past")
    assert files(home, "bot:past") == ["mark", "old"]
    row = go(fresh=True)
    assert files(home, "bot:" + row["id"]) == ["mark"]
    go(over=str(below), workspace="over", session="kept")
    assert files(home, "bot:over") == ["host", "mark"]
    before = spaces(home)
    go(fork_of="over", ephemeral=True)
    assert spaces(home) == before
    # the session keeps what its first run named
    home.skep("vfs", "rm", "bot:over", "mark")
    assert go(session="kept")["works_in"] == "over"
    assert files(home, "bot:over") == ["host", "mark"]
    assert read(home, "bot:over", "mark") == word
    assert sorted(p.name for p in below.iterdir()) == ["host"]
    if mode != "disk":
        default_of_agent(home, "past" if mode == "vfs-only" else "over", go)
    assert h.down() == 0


def in_modes(home, make, word, modes=MODES):
    for mode in modes:
        own = lib.Home(home.bin)
        try:
            every_kind(own, mode, make, word)
        except AssertionError as e:
            raise AssertionError("%s: %s" % (mode, e)) from None
        finally:
            own.close()


def test_chat_works_in_every_workspace(home):
    in_modes(home, chat, "chat")


def test_acp_works_in_every_workspace(home):
    needs_fuse()
    in_modes(home, acp(False), "acp", ("disk", "vfs-only"))


def test_mcp_tools_work_in_every_workspace(home):
    needs_fuse()
    in_modes(home, acp(True), "mcp", ("disk", "vfs-scratch"))
