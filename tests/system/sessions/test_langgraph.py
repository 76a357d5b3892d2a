"""LangGraph's checkpointer from npm on a live agent file, beside a writer."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading

from lib import skip

ROOT = pathlib.Path(__file__).resolve().parents[3]
PACKAGES = ["@langchain/langgraph-checkpoint-sqlite@1",
            "@langchain/langgraph-checkpoint@1", "@langchain/core@1"]

# Two threads of checkpoints, each put and read back at once; says what it saw.
SAVER = """
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
const [path, count] = [process.argv[2], Number(process.argv[3])];
const saver = SqliteSaver.fromConnString(path);
saver.db.pragma("busy_timeout = 30000");
for (let i = 0; i < count; i++) {
  const thread = "thread-" + i % 2;
  const checkpoint = { ...emptyCheckpoint(), id: uuid6(i),
    channel_values: { messages: ["step " + i] } };
  const config = await saver.put(
    { configurable: { thread_id: thread, checkpoint_ns: "" } },
    checkpoint, { source: "loop", step: i, parents: {} });
  await saver.putWrites(config, [["messages", "write " + i]], "task-" + i);
  const tuple = await saver.getTuple(
    { configurable: { thread_id: thread, checkpoint_ns: "" } });
  if (tuple.checkpoint.channel_values.messages[0] !== "step " + i ||
      tuple.pendingWrites[0][2] !== "write " + i)
    throw new Error("read back: " + JSON.stringify(tuple));
}
let listed = 0;
for await (const _ of saver.list({ configurable: { thread_id: "thread-0" } }))
  listed++;
console.log(JSON.stringify({ listed }));
"""


def call(*argv, cwd, seconds, env=None):
    return subprocess.run(argv, cwd=cwd, timeout=seconds, env=env,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)


def build_binding(place):
    """better-sqlite3's native part: fetched ready-made where that works,
    otherwise compiled."""
    package = place / "node_modules" / "better-sqlite3"
    ready = call("node", "../prebuild-install/bin.js", cwd=package, seconds=30)
    if ready.returncode == 0:
        return
    gyp = pathlib.Path(shutil.which("npm")).resolve().parent.parent / \
        "node_modules" / "node-gyp" / "bin" / "node-gyp.js"
    if not gyp.exists():
        skip("better-sqlite3 has no binary here, and npm no node-gyp")
    more = ["--nodedir=/usr"] if os.path.isdir("/usr/include/node") else []
    # unoptimised: that takes a third of the time
    made = call("node", str(gyp), "rebuild", "--debug", *more, cwd=package,
                seconds=500)
    if made.returncode != 0:
        skip("better-sqlite3 cannot be built here: " + made.stdout[-200:])


def saver_place():
    """A directory with the packages, made once for a working tree."""
    place = ROOT / "build" / "cache" / "langgraph"
    if (place / "saver.mjs").exists():
        return place
    if not shutil.which("npm") or not shutil.which("node"):
        skip("npm is not installed")
    place.parent.mkdir(parents=True, exist_ok=True)
    temp = pathlib.Path(tempfile.mkdtemp(dir=place.parent))
    try:
        (temp / "package.json").write_text("{}")
        got = call("npm", "install", "--ignore-scripts", "--no-audit",
                   "--no-fund", *PACKAGES, cwd=temp, seconds=200)
        if got.returncode != 0:
            skip("npm cannot fetch the packages: " + got.stdout[-200:])
        build_binding(temp)
        (temp / "saver.mjs").write_text("")
        shutil.rmtree(place, ignore_errors=True)
        temp.rename(place)
    finally:
        shutil.rmtree(temp, ignore_errors=True)
    return place


class Writer(threading.Thread):
    """Appends to a session until it is told to stop."""

    def __init__(self, home):
        super().__init__()
        self.home, self.count, self.failed = home, 0, None
        self.enough = threading.Event()

    def run(self):
        while not self.enough.is_set() and not self.failed:
            r = self.home.skep("session", "append", "chat",
                               "message %d" % self.count, code=None)
            self.failed = r.err if r.code else None
            self.count += 1


def test_langgraph_saves_to_the_file_that_we_write_to(home):
    place = saver_place()
    home.skep("agent", "add", "ada", "--driver", "script")
    home.skep("session", "append", "chat", "hello")
    (place / "saver.mjs").write_text(SAVER)
    writer = Writer(home)
    writer.start()
    try:
        got = home.run("node", place / "saver.mjs", home.agent_db("ada"),
                       "200", cwd=place, seconds=90).json
    finally:
        writer.enough.set()
        writer.join()
    assert got == {"listed": 100}, got
    assert not writer.failed, writer.failed
    assert writer.count > 1, "the writer did not get in"
    events = home.query(home.agent_db("ada"), "SELECT count(*) FROM event")
    assert events == [(writer.count + 1,)], events

    stats = [s for s in home.skep("state", "stats", "--json").lines
             if s["database"] == "agent"][0]["langgraph"]
    assert stats["threads"] == 2 and stats["checkpoints"] == 200, stats
    assert stats["writes"] == 200, stats
    home.skep("langgraph", "rm", "thread-0", "--keep", "1")
    home.skep("langgraph", "rm", "thread-1")
    rows = home.skep("langgraph", "ls", "--json").lines
    assert [(r["thread"], r["checkpoints"], r["writes"]) for r in rows] == \
        [("thread-0", 1, 1)], rows
    home.integrity()


test_langgraph_saves_to_the_file_that_we_write_to.seconds = 800


def test_a_file_without_checkpoints_has_none(home):
    home.skep("agent", "add", "ada", "--driver", "script")
    assert home.skep("langgraph", "ls", "--json").lines == []
    home.skep("session", "append", "chat", "hello")
    assert home.skep("langgraph", "ls", "--json").lines == []
    home.skep("langgraph", "rm", "nobody")
