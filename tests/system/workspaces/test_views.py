"""The views for people: stock sqlite3 reads them while everything runs, and they
say what the commands say."""
import json
import subprocess

import chat_mock
import lib
from skepd_lib import host
from workspace_lib import chat_agent, run, shell_agent

AGENT_VIEWS = ("sessions", "runs", "events", "messages", "parts", "tool_calls", "costs",
               "namespaces", "files", "file_changes", "file_versions", "snapshots")
CONTROL_VIEWS = ("runs", "costs", "approvals", "deliveries", "messages", "trials")


def rows(home, path, sql):
    out = home.run("sqlite3", "-readonly", "-json", path, sql).out
    return json.loads(out or "[]")


def test_they_agree_with_the_commands(home):
    h = host(home)
    shell_agent(h, "sh")
    run(h, "sh", "mkdir -p a/b; echo 1 > a/b/f; ln -s f a/b/l; echo x > gone", session="s")
    home.skep("snapshot", "create", "sh", "then")
    two = run(h, "sh", "rm gone; mv a/b a/c; echo 22 > a/c/f; chmod 600 a/c/f", session="s")
    home.skep("vfs", "put", "sh", "own", input="own")
    home.skep("vfs", "fork", "sh:main", "sh:twin")
    db = home.agent_db("sh")
    found = home.skep("vfs", "find", "sh", "--json").lines
    seen = rows(home, db, "SELECT path, type, size FROM files WHERE namespace = 'main'"
                " ORDER BY path")
    assert [(f["path"], f["size"]) for f in seen if f["type"] == "file"] == [
        (f["path"], f["size"]) for f in found if f["type"] == "file"], (seen, found)
    assert [f["path"] for f in seen] == sorted(f["path"] for f in found if f["path"])
    log = home.skep("vfs", "log", "sh", "--json").lines
    changes = rows(home, db, "SELECT * FROM file_changes WHERE namespace = 'main'"
                   " ORDER BY seq")
    assert len(changes) == len(log) > 8
    assert [(c["seq"], c["run"], c["turn"], c["tool"]) for c in changes] == [
        (c["seq"], c["run"], c["turn"], c["tool"]) for c in log], (changes, log)
    assert [c["program"] is None for c in changes] == [
        c["run"] is not None for c in changes], changes
    assert ("a/b/f", "create") in [(c["path"], c["change"]) for c in changes] or \
        ("a/c/f", "create") in [(c["path"], c["change"]) for c in changes], changes
    kept = rows(home, db, "SELECT path, run, turn, size, is_current FROM file_versions"
                " WHERE path LIKE '%/f' OR path = 'gone' ORDER BY is_current, path")
    assert {(v["path"], v["size"], v["is_current"]) for v in kept} >= {
        ("a/c/f", 3, 1), ("gone", 2, 0)}, kept
    assert {(v["run"], v["turn"]) for v in kept if not v["is_current"]} == {
        (two["id"], 0)}, kept
    assert rows(home, db, "SELECT namespace, snapshot FROM snapshots") == [
        {"namespace": "main", "snapshot": "then"}]
    assert [r["run"] for r in rows(home, db, "SELECT run FROM runs")] == [
        r["run"] for r in reversed(rows(home, home.control, "SELECT run FROM runs"
                                        " WHERE agent = 'sh' ORDER BY run DESC"))]
    h.down()


def test_messages_tools_and_costs_of_a_model(home):
    h = host(home)
    chat_agent(h, home, "ch", replies=[
        chat_mock.calls(("write_file", {"path": "d/x", "content": "hello"})),
        chat_mock.text("all done")])
    one = run(h, "ch", "do it", session="s")
    db = home.agent_db("ch")
    said = rows(home, db, "SELECT role, text FROM messages WHERE session = 's' AND text <> ''")
    assert said == [{"role": "user", "text": "do it"},
                    {"role": "assistant", "text": "all done"}], said
    tool, = rows(home, db, "SELECT run, tool, state, input, output FROM tool_calls")
    assert (tool["run"], tool["tool"], tool["state"]) == (one["id"], "write_file", "done")
    assert json.loads(tool["input"]) == {"path": "d/x", "content": "hello"}
    cost, = rows(home, db, "SELECT run, sum(input_tokens) AS i, sum(output_tokens) AS o"
                 " FROM costs GROUP BY run")
    assert cost == {"run": one["id"], "i": one["input_tokens"], "o": one["output_tokens"]}
    all_, = rows(home, home.control, "SELECT runs, input_tokens, output_tokens FROM costs")
    assert all_ == {"runs": 1, "input_tokens": cost["i"], "output_tokens": cost["o"]}
    h.down()


def test_they_can_be_read_while_everything_runs(home):
    """And no writer waits for the reader: the run ends while a reader is open."""
    h = host(home)
    shell_agent(h, "sh")
    run(h, "sh", "echo > first")
    busy = h.submit("sh", "for i in $(seq 200); do echo $i > f$i; echo line $i; done;"
                    " while ! test -e stop; do sleep 0.05; done")
    h.until(busy, "running")
    reader = subprocess.Popen(["sqlite3", "-readonly", home.agent_db("sh")],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    home.undo.append(reader.kill)
    reader.stdin.write("BEGIN; SELECT count(*) FROM files;\n")
    reader.stdin.flush()
    assert int(reader.stdout.readline()) >= 1
    for view in AGENT_VIEWS:
        rows(home, home.agent_db("sh"), "SELECT * FROM " + view)
    for view in CONTROL_VIEWS:
        rows(home, home.control, "SELECT * FROM " + view)
    lib.eventually(lambda: rows(home, home.agent_db("sh"), "SELECT 1 FROM messages WHERE"
                                " text LIKE '%line 200%'"), what="the output")
    home.skep("vfs", "put", "sh", "stop", input="")
    assert h.until(busy)["state"] == "succeeded"
    reader.stdin.write("SELECT count(*) FROM runs; COMMIT;\n")
    reader.stdin.close()
    assert reader.wait(lib.HANG) == 0
    h.down()
    home.integrity()
