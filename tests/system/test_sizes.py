"""Outputs of all sizes in the default sandbox: up to 1 MiB, and with SKEP_TEST_BIG=1
up to 64 MiB, which takes a minute and a half."""
import json
import os
import sys

import lib
from chat_mock import Mock, chunk
from skepd_lib import Host, finish
from test_acp import AGENT
from test_chat import chat

LONG = bool(os.environ.get("SKEP_TEST_BIG"))
SIZES = [1, 8 << 10, (64 << 10) - 1, (64 << 10) + 1, 1 << 20]
CEILING = 16 << 20  # of an answer to the chat driver
OVER = 64 << 20
PIECE = 1 << 18


def pieces(n):
    return ["x" * min(PIECE, n - at) for at in range(0, n, PIECE)]


def kept(home, agent):
    return [n for (n,) in home.query(
        home.agent_db(agent), "SELECT length(text) FROM part WHERE kind ="
        " 'text' AND state = 'done' ORDER BY pos, idx")]


def test_chat_takes_answers_of_all_sizes(home):
    sizes = SIZES + ([CEILING - 1] if LONG else [])
    m = Mock(home, *[[chunk({"content": p}) for p in pieces(n)] +
                     [chunk(finish="stop"), "[DONE]"] for n in sizes])
    for mode in ("disk", "vfs-only"):
        m.asked = []
        d = chat(home, m, mode, workspace=mode)
        for i, n in enumerate(sizes):
            row = d.until(d.submit(mode, "go", session="s%d" % i))
            assert row["state"] == "succeeded", (mode, n, row)
        assert kept(home, mode) == sizes
    finish(d)


def test_chat_rejects_an_answer_over_its_ceiling(home):
    if not LONG:
        lib.skip("SKEP_TEST_BIG=1 runs it")
    m = Mock(home, [chunk({"content": p}) for p in pieces(OVER)])
    d = chat(home, m, config={"retries": 0})
    row = d.until(d.submit("a", "go", session="s"))
    assert row["state"] == "failed" and "over" in row["detail"], row
    finish(d)


def test_acp_takes_answers_of_all_sizes(home):
    state = home.dir / "state"
    state.mkdir()
    d = Host(home).start()
    d.agent("a", "acp", {"command": [sys.executable, str(AGENT)], "env": {
        "ACP_STATE": str(state)}}, paths={"write": [str(state)]})
    sizes = SIZES + ([CEILING, OVER] if LONG else [])
    for i, n in enumerate(sizes):
        steps = json.dumps([{"many": n, "piece": PIECE}])
        row = d.until(d.submit("a", steps, session="s%d" % i), seconds=120)
        assert row["state"] == "succeeded", (n, row)
    assert kept(home, "a") == sizes
    finish(d)
