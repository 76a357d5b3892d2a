"""Outputs of all sizes in the default sandbox, by the drivers that need no model."""
from skepd_lib import Refused, host

SIZES = (1, 65535, 65536, 65537, 1 << 20, 64 << 20)

# A message that grows by lines of at most 32 KiB.
STREAM = """
import json, sys
left = %d
while left:
    n = min(left, 32000)
    print(json.dumps({"type": "delta", "part": "p", "text": "x" * n}))
    left -= n
print(json.dumps({"type": "done", "part": "p"}))
"""


def finish(h, name, run, size):
    row = h.until(run, "succeeded", "failed", seconds=200)
    assert row["state"] == "succeeded", (name, size, row)


def parts(home, name):
    return home.query(home.agent_db(name), "SELECT state, length(text) FROM part")


def test_lines_of_every_size_are_kept_or_counted(home):
    """A run keeps 64 MiB of output; a note counts the rest."""
    h = host(home)
    for size in SIZES:
        name = h.shell("line%d" % size, "head -c %d /dev/zero | tr '\\0' x" % size)
        finish(h, name, h.submit(name), size)
        events = h.events(name)
        kept = sum(len(b["text"]) for _, kind, b in events if kind == "output")
        dropped = sum(b.get("dropped", 0) for _, kind, b in events
                      if kind == "note")
        assert kept + dropped == size, (size, kept, dropped)
        assert not dropped or size == 64 << 20, (size, dropped)
    h.down()


def test_streams_of_every_size_are_kept_or_counted(home):
    """What SQLite may have to undo of a long row must not need a temporary file."""
    h = host(home)
    for size in SIZES[:-1]:
        name = h.agent("stream%d" % size, "exec",
                       {"command": ["python3", "-c", STREAM % size],
                        "stdin": "none"})
        finish(h, name, h.submit(name), size)
        assert parts(home, name) == [("done", size)], size
    h.down()


def test_texts_of_a_script_of_every_size(home):
    h = host(home)
    for size in SIZES:
        steps = [{"text": "x" * size, "chunks": 8}]
        try:
            name = h.agent("script%d" % size, "script", {"steps": steps})
        except Refused as e:
            assert e.status == 413 and size >= 1 << 20, (size, e.status)
            continue
        finish(h, name, h.submit(name), size)
        assert parts(home, name) == [("done", size)], size
    h.down()


for test in (test_lines_of_every_size_are_kept_or_counted,
             test_streams_of_every_size_are_kept_or_counted):
    test.seconds = 240
