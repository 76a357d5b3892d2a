"""What the tests of runs in workspaces share: agents that do what their prompt
says, and the files of a namespace as the CLI shows them."""
import os

import chat_mock
from lib import skip
from skepd_lib import host




def needs_fuse():
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        skip("there is no /dev/fuse")


def shell_agent(h, name="bot", mode="vfs-only", **more):
    """Its prompt is a shell script."""
    needs_fuse()
    h.agent(name, "exec", {"command": ["sh", "-es"], "stdin": "text"},
            workspace=mode, **more)
    return name


def chat_agent(h, home, name="bot", mode="vfs-only", replies=(), **more):
    mock = chat_mock.Mock(home, *replies)
    h.agent(name, "chat", {"endpoint": mock.url, "permissions": {
        "default": "allow"}}, model="mock", workspace=mode, **more)
    return mock


def run(h, agent, script, **more):
    """A run that succeeds; its row."""
    got = h.until(h.submit(agent, script, **more))
    assert got["state"] == "succeeded", (got["reason"], got["detail"],
                                         h.events(agent, got["id"]))
    return got


def fails(h, agent, script, **more):
    """A run that fails because of its workspace; the reason."""
    got = h.until(h.submit(agent, script, **more))
    assert (got["state"], got["reason"]) == ("failed", "workspace"), got
    return got["detail"]


def spaces(home, agent="bot"):
    """The names of its namespaces, as the CLI lists them."""
    out = home.skep("namespace", "ls", agent, "--json")
    return sorted(row["name"] for row in out.lines)


def read(home, where, path):
    return home.skep("vfs", "cat", where, path).out


def files(home, where):
    """Paths of all files in a namespace."""
    out = home.skep("vfs", "find", where, "--type", "file", "--json")
    return sorted(row["path"] for row in out.lines)


__all__ = ["chat_agent", "fails", "files", "host", "needs_fuse",
           "read", "run", "shell_agent", "spaces"]
