"""Outputs of 1 B to 64 MiB in the default sandbox, by every driver, in one piece
and in small ones; and the cost of long streams, in bytes written."""
import json
import os
import pathlib
import re
import signal
import sys

import lib
from chat_mock import Mock, calls, chunk
from skepd_lib import Refused, finish, host
from test_acp import AGENT
from test_chat import chat

MIB = 1 << 20
SIZES = (1, 64 * 1024 - 1, 64 * 1024, 64 * 1024 + 1, MIB, 16 * MIB, 64 * MIB)
LINE_MAX = 16 * MIB    # of an ACP message
ANSWER_MAX = 16 * MIB  # of an answer to the chat driver
TOOL_MAX = 64 << 10    # of a tool's result in chat
TERMINAL_MAX = 256 << 10
PIECE = 4000

STREAM = """
import json, sys
left, piece = %d, %d
while left:
    n = min(left, piece)
    sys.stdout.write('{"type":"delta","part":"p","text":"' + "x" * n + '"}\\n')
    left -= n
print(json.dumps({"type": "done", "part": "p"}))
"""


def submit(h, agent, size, prompt="go"):
    return h.until(h.submit(agent, prompt, session="s%d" % size), "succeeded",
                   "failed", seconds=200)


def parts(home, name, session=None):
    return home.query(
        home.agent_db(name), "SELECT p.state, length(p.text), trim(p.text, 'x')"
        " FROM part p JOIN session s ON s.id = p.pos >> 32 WHERE p.kind ="
        " 'text' AND (?1 IS NULL OR s.key = ?1) ORDER BY p.pos, p.idx", session)


def whole(home, name, size):
    assert parts(home, name, "s%d" % size) == [("done", size, "")], (name, size)


def spent(h):
    """Bytes written and CPU time of ended workers, with their commands."""
    children = pathlib.Path("/proc/{0}/task/{0}/children".format(h.process.pid))
    spawner, = [pid for pid in children.read_text().split() if pathlib.Path(
        "/proc", pid, "comm").read_text() == "skep-spawner\n"]
    io = pathlib.Path("/proc", spawner, "io").read_text()
    stat = pathlib.Path("/proc", spawner, "stat").read_text().rsplit(")", 1)[1]
    return (int(io.split("wchar: ")[1].split()[0]),
            sum(map(int, stat.split()[13:15])) / os.sysconf("SC_CLK_TCK"))


def cost(h, agent, size, prompt="go"):
    """Bytes that a run of the agent writes, and its CPU time."""
    before = spent(h)
    row = submit(h, agent, size, prompt)
    assert row["state"] == "succeeded", (agent, size, row)
    lib.eventually(lambda: spent(h)[0] > before[0] + size, what="its end")
    return tuple(b - a for a, b in zip(before, spent(h)))


def linear(costs):
    """Four times the output costs four times as much. A cost that is quadratic
    would grow sixteen times."""
    (written, cpu), (written4, cpu4) = costs[16 * MIB], costs[64 * MIB]
    assert written4 <= 5 * written, costs
    assert written4 <= 8 * 64 * MIB, costs
    assert cpu4 <= 8 * cpu, costs


def test_lines_of_a_command_of_every_size(home):
    """A run keeps 64 MiB of output; a note counts the rest."""
    h = host(home)
    for size in SIZES:
        name = h.shell("line%d" % size, "head -c %d /dev/zero | tr '\\0' x" % size)
        row = submit(h, name, size)
        assert row["state"] == "succeeded", (size, row)
        events = h.events(name)
        kept = sum(len(b["text"]) for _, kind, b in events if kind == "output")
        dropped = sum(b.get("dropped", 0) for _, kind, b in events
                      if kind == "note")
        assert kept + dropped == size, (size, kept, dropped)
        assert not dropped or size == 64 * MIB, (size, dropped)
    finish(h)


def test_streams_of_a_command_of_every_size(home):
    h = host(home)
    costs = {}
    for size in SIZES:
        name = h.agent("stream%d" % size, "exec", {
            "command": ["python3", "-c", STREAM % (size, PIECE)],
            "stdin": "none"})
        costs[size] = cost(h, name, size)
        if size < 64 * MIB:
            whole(home, name, size)
            continue
        # The lines are longer than their text: the last ones are over the limit.
        (state, length, rest), = parts(home, name)
        note, = [b for _, kind, b in h.events(name) if kind == "note"]
        lines, odd = divmod(note["dropped"], PIECE + len(
            '{"type":"delta","part":"p","text":""}'))
        assert odd == 0 and length + lines * PIECE == size, (length, note)
        assert (state, rest) == ("done", "")
    linear(costs)
    finish(h)


def test_a_stream_is_read_while_it_grows_and_after_a_kill(home):
    h = host(home)
    name = h.agent("a", "exec", {"command": [
        "python3", "-uc", (STREAM % (MIB, PIECE)).rsplit("print", 1)[0] +
        "import time; time.sleep(600)"], "stdin": "none"})
    run = h.submit(name, session="s")
    length = ("SELECT state, length(text), trim(text, 'x') FROM %s"
              " WHERE kind = 'text'")
    lib.eventually(lambda: home.path.joinpath("agents", name).exists() and
                   home.query(home.agent_db(name), length % "parts") ==
                   [("streaming", MIB, "")], what="the whole stream")
    shown = home.skep("session", "export", "s", "--agent", name).out
    assert shown.count("x") >= MIB, len(shown)
    os.kill(h.get(run)["pid"], signal.SIGKILL)
    row = h.until(run, "succeeded", "failed")
    assert row["state"] == "failed", row
    for table in ("part", "parts"):
        assert home.query(home.agent_db(name), length % table) == [
            ("aborted", MIB, "")], table
    assert home.query(home.agent_db(name),
                      "SELECT count(*) FROM part_chunk") == [(0,)]
    finish(h)


def test_texts_of_a_script_of_every_size(home):
    """In one piece a definition of at most 1 MiB has it, in pieces of 4 KiB any."""
    h = host(home)
    costs = {}
    for size in SIZES:
        try:
            name = h.script("whole%d" % size, {"text": "x" * size})
            assert submit(h, name, size)["state"] == "succeeded", size
            whole(home, name, size)
        except Refused as e:
            assert e.status == 413 and size >= MIB, (size, e.status)
        rest = [{"text": "x" * (size % 4096)}] if size % 4096 else []
        name = h.script("pieces%d" % size, {"text": "x" * 4096, "chunks": 4,
                                            "repeat": size // 4096}, *rest)
        costs[size] = cost(h, name, size)
        assert sum(n for _, n, _ in parts(home, name)) == size, size
    linear(costs)
    finish(h)


def test_messages_of_an_acp_agent_of_every_size(home):
    """A message has at most 16 MiB. A longer one is kept as output, with an error."""
    state = home.dir / "state"
    state.mkdir()
    h = host(home)
    costs = {}
    for name in ("whole", "pieces"):
        h.agent(name, "acp", {"command": [sys.executable, str(AGENT)], "env": {
            "ACP_STATE": str(state)}}, paths={"write": [str(state)]})
    for size in SIZES:
        steps = json.dumps([{"many": size, "piece": size}])
        row = submit(h, "whole", size, steps)
        assert row["state"] == "succeeded", row
        if size < LINE_MAX:
            whole(home, "whole", size)
        else:
            events = h.events("whole", row["id"])
            kept = "".join(b["text"] for _, kind, b in events if kind == "stderr")
            error, = [b["text"] for _, kind, b in events if kind == "error"]
            dropped = sum(b.get("dropped", 0) for _, kind, b in events
                          if kind == "note")
            assert kept.count("x") + dropped >= size, (size, len(kept), dropped)
            assert "over the limit of %d" % LINE_MAX in error, error
        steps = json.dumps([{"many": size, "piece": PIECE}])
        costs[size] = cost(h, "pieces", size, steps)
        whole(home, "pieces", size)
    linear(costs)
    finish(h)


def answer(size, piece):
    if size:
        yield from (chunk({"content": "x" * min(piece, size - at)})
                    for at in range(0, size, piece))
    yield chunk(finish="stop")
    yield "[DONE]"


def test_answers_to_chat_of_every_size(home):
    """An answer has at most 16 MiB; a longer one fails the run and says so."""
    m = Mock(home, lambda body: {"events": answer(*map(int, body["messages"][-1][
        "content"].split()))})
    h = chat(home, m, config={"retries": 0, "idle_timeout_ms": lib.HANG * 1000})
    for size in SIZES:
        for piece in (size, PIECE):
            session = "s%d-%d" % (size, piece)
            row = h.until(h.submit("a", "%d %d" % (size, piece), session=session),
                          "succeeded", "failed", seconds=200)
            if size <= ANSWER_MAX:
                assert row["state"] == "succeeded", (size, piece, row)
                assert parts(home, "a", session) == [("done", size, "")], size
            else:
                assert row["state"] == "failed" and " bytes" in row["detail"], row
                assert all(s != "streaming" for s, _, _ in parts(home, "a", session))
    finish(h)


def test_outputs_of_commands_of_chat_of_every_size(home):
    """The model gets the beginning and the end, 64 KiB together."""
    def reply(body):
        last = body["messages"][-1]
        if last["role"] == "tool":
            return {"events": answer(1, 1)}
        return calls(("exec", {"command": "head -c %s /dev/zero | tr '\\0' x"
                               % last["content"]}))
    m = Mock(home, reply)
    h = chat(home, m, config={"exec": True})
    for size in SIZES:
        row = submit(h, "a", size, str(size))
        assert row["state"] == "succeeded", (size, row)
        result = m.results()[-1]
        left_out = re.search(r"(\d+) bytes left out", result)
        assert left_out or size <= TOOL_MAX, (size, result[:99])
        assert result.count("x") + int(left_out.group(1) if left_out else 0) \
            >= size, (size, result[-200:])
        assert result.startswith("x") and len(result) <= TOOL_MAX, len(result)
        assert result.endswith("x\n[exit code 0]"), (size, result[-99:])
    finish(h)


def test_outputs_of_terminals_of_every_size(home):
    """The part of the tool has the last 256 KiB."""
    state = home.dir / "state"
    state.mkdir()
    h = host(home)
    h.agent("a", "acp", {"command": [sys.executable, str(AGENT)], "env": {
        "ACP_STATE": str(state)}}, paths={"write": [str(state)]})
    for size in SIZES:
        row = submit(h, "a", size, json.dumps([
            {"call": "terminal/create", "params": {
                "command": "sh", "args": [
                    "-c", "head -c %d /dev/zero | tr '\\0' x" % size]}},
            {"update": {"sessionUpdate": "tool_call", "toolCallId": "c",
                        "title": "sh", "kind": "execute",
                        "status": "in_progress", "content": [
                            {"type": "terminal", "terminalId": "term-1"}]}},
            {"call": "terminal/wait_for_exit", "params": {
                "terminalId": "$last"}},
            {"update": {"sessionUpdate": "tool_call_update",
                        "toolCallId": "c", "status": "completed"}}]))
        assert row["state"] == "succeeded", (size, row)
        (output,), = home.query(
            home.agent_db("a"), "SELECT p.output FROM part p JOIN session s ON"
            " s.id = p.pos >> 32 WHERE p.kind = 'tool' AND s.key = ?",
            "s%d" % size)
        [shown] = json.loads(output)["terminals"]
        assert shown["output"] == "x" * min(size, TERMINAL_MAX), (
            size, len(shown["output"]))
    finish(h)


for test in [t for n, t in list(globals().items()) if n.startswith("test_")]:
    test.seconds = 240
