"""The chat driver's tools do the same wherever the workspace is: in a directory,
on a mount, and in the agent's file without one."""
import json
import os
import re
import signal

import lib
from chat_mock import Mock, calls, chunk, text
from skepd_lib import Host, finish
from test_chat import chat, parts, run, workspace

STEPS = [
    ("write_file", {"path": "src/a.c", "content": "one\ntwo\nthree\n"}),
    ("append_file", {"path": "src/a.c", "content": "four\n"}),
    ("append_file", {"path": "fresh", "content": "new"}),
    ("read_file", {"path": "src/a.c"}),
    ("read_file", {"path": "/src/a.c"}),
    ("read_text_file", {"path": "src/a.c", "head": 2}),
    ("read_text_file", {"path": "src/../src/./a.c", "tail": 1}),
    ("read_file", {"path": "src/nope"}),
    ("read_file", {"path": "nope/nope"}),
    ("read_file", {"path": "src"}),
    ("read_file", {"path": "src/a.c/x"}),
    ("read_file", {"path": "../out"}),
    ("read_file", {"path": "src/../../out"}),
    ("read_file", {"path": "/etc/passwd"}),
    ("read_file", {}),
    ("write_file", {"path": "../out", "content": "x"}),
    ("write_file", {"path": "src", "content": "x"}),
    ("write_file", {"path": "src/", "content": "x"}),
    ("write_file", {"path": ".", "content": "x"}),
    ("write_file", {"path": "src/a.c/x", "content": "x"}),
    ("write_file", {"path": "n" * 256, "content": "x"}),
    ("edit_file", {"path": "src/a.c", "edits": [
        {"oldText": "two", "newText": "TWO"},
        {"oldText": "nope", "newText": "x"}]}),
    ("edit_file", {"path": "src/a.c", "dryRun": True, "edits": [
        {"oldText": "two", "newText": "TWO"}]}),
    ("edit_file", {"path": "src/a.c", "edits": [
        {"oldText": "two", "newText": "TWO"}]}),
    ("create_directory", {"path": "d/e/f"}),
    ("create_directory", {"path": "d/e/f/"}),
    ("create_directory", {"path": "fresh/sub"}),
    ("create_directory", {"path": "fresh"}),
    ("create_directory", {"path": "src/.."}),
    ("move_file", {"source": "nope", "destination": "made/on/the/way"}),
    ("move_file", {"source": "fresh", "destination": "d/moved/here"}),
    ("move_file", {"source": "src/a.c", "destination": "d/moved/here"}),
    ("move_file", {"source": "d", "destination": "d/e/inside"}),
    ("move_file", {"source": "src", "destination": "../out"}),
    ("list_directory", {"path": "."}),
    ("list_directory", {"path": "src/a.c"}),
    ("list_directory", {"path": "nope"}),
    ("directory_tree", {"path": ".", "excludePatterns": ["e"]}),
    ("directory_tree", {"path": "d"}),
    ("search_files", {"path": ".", "pattern": "*e*"}),
    ("search_files", {"path": "d", "pattern": "here"}),
    ("grep", {"pattern": "^t|new"}),
    ("grep", {"pattern": "("}),
    ("grep", {"pattern": "TWO", "path": "src", "include": "*.c"}),
    ("read_multiple_files", {"paths": ["src/a.c", "nope", "../out"]}),
    ("get_file_info", {"path": "src/a.c"}),
    ("get_file_info", {"path": "src"}),
    ("delete_file", {"path": "d"}),
    ("delete_file", {"path": "nope"}),
    ("delete_file", {"path": "d/moved/here"}),
    ("delete_file", {"path": "d/moved"}),
    ("list_allowed_directories", {}),
]
SNAPSHOTS = [
    ("snapshot", {"name": "s1"}),
    ("snapshot", {"name": "s1"}),
    ("snapshot", {"name": ""}),
    ("write_file", {"path": "later", "content": "x\n"}),
    ("append_file", {"path": "src/a.c", "content": "five\n"}),
    ("delete_file", {"path": "d/e/f"}),
    ("diff", {"from": "s1"}),
    ("diff", {"from": "none"}),
    ("diff", {}),
]


# A /dev with everything but fuse, made in $1.
NO_FUSE = """set -e; mkdir $1; mount -t tmpfs skep-test $1
for f in null zero full random urandom tty; do
touch $1/$f; mount --bind /dev/$f $1/$f; done
for f in pts shm; do mkdir $1/$f; mount --rbind /dev/$f $1/$f; done
mount --move $1 /dev; """


def plain(words):
    """Without times, a directory's own size, and the workspace's name."""
    if "isDirectory: true" in words:
        words = re.sub(r"size: \d+", "size: ANY", words)
    words = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME", words)
    return re.sub(r"(?<![\w.])/[\w/.-]*workspace", "WORKSPACE", words)


def answers(home, d, name, steps, **more):
    """What the model is told when it uses these tools, one after the other."""
    m = Mock(home, *[calls(s) for s in steps], text("done"))
    chat(home, m, name, config=more.pop("config", None), **more)
    row = run(d, agent=name)
    assert row["state"] == "succeeded", row
    got = m.results()
    states = [p[1] for p in parts(home, name, "tool")]
    assert len(got) == len(steps) == len(states)
    return [(s[0], json.dumps(s[1]), state, plain(words))
            for s, state, words in zip(steps, states, got)]


def hidden_fuse(home):
    """A supervisor for whose runs there is no /dev/fuse."""
    if home.run("unshare", "-m", "true", code=None).code:
        lib.skip("no mount namespace without a user namespace")
    d = Host(home)
    with open(home.dir / "skepd.log", "ab") as log:
        d.process = home.start(
            "unshare", "-m", "sh", "-c", NO_FUSE + "exec " +
            str(home.bin / "skepd"), "sh", home.dir / "dev", stderr=log)
    lib.eventually(d.answers, 60, "an answer of skepd")
    home.host = d
    return d


def has_mount(home, d):
    servers = [p for p in os.listdir("/proc") if p.isdigit()]
    for p in servers:
        try:
            with open("/proc/%s/cmdline" % p, "rb") as f:
                if str(home.path).encode() in (c := f.read()) and \
                        b"--mount" in c:
                    return True
        except OSError:
            pass
    return False


def test_tools_do_the_same_in_every_workspace(home):
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        lib.skip("no /dev/fuse")
    d = home.host = Host(home).start()
    want = answers(home, d, "disk", STEPS)
    exec_on = {"exec": True}
    (home.dir / "base").mkdir()
    base = str(home.dir / "base")
    for name, more in (("file", {}), ("mount", {"config": exec_on})):
        got = answers(home, d, name, STEPS + SNAPSHOTS, workspace="vfs-only",
                      **more)
        for a, b in zip(want, got):
            assert a == b, (name, a, b)
        if name == "file":
            only = got
        assert got == only, [x for x in zip(only, got) if x[0] != x[1]]
        home.skep("vfs", "fsck", name)
    for name, more in (("below", {}), ("below-mount", {"config": exec_on})):
        got = answers(home, d, name, STEPS + SNAPSHOTS, workspace="vfs-scratch",
                      path=base, **more)
        for a, b in zip(only[:-1], got):
            assert a == b, (name, a, b)
        assert "+one" in got[-1][3], got[-1]
    assert not os.listdir(base)
    finish(d)


def test_tools_need_no_mount(home):
    d = hidden_fuse(home)
    (home.dir / "base").mkdir()
    (home.dir / "base" / "old").write_text("from below\n")
    base = str(home.dir / "base")
    got = answers(home, d, "a", STEPS + SNAPSHOTS, workspace="vfs-only")
    assert sum(state == "done" for _, _, state, _ in got) > 25, got
    got = answers(home, d, "b", [
        ("read_file", {"path": "old"}),
        ("append_file", {"path": "old", "content": "and above\n"}),
        ("diff", {}),
        ("exec", {"command": "cat old"})], workspace="vfs-scratch",
        path=base, config={"exec": True},
        artifacts={"required": ["old"]}, bootstrap={"files": {"hello": "h"}})
    assert [g[2] for g in got] == ["done"] * 3 + ["error"], got
    assert got[0][3] == "from below\n" and "+and above" in got[2][3], got
    assert "cannot be mounted" in got[3][3] and "/dev/fuse" in got[3][3], got
    seen = [b for _, k, b in d.events("b") if k == "status"]
    assert any("/dev/fuse" in b.get("lacks", "") for b in seen), seen
    assert (home.dir / "base" / "old").read_text() == "from below\n"
    row = d.get(d.submit("b", "go", session="t"))
    d.until(row["id"])
    finish(d)
    assert home.skep("vfs", "cat", "b", "/old").out == "from below\nand above\n"
    assert home.skep("vfs", "cat", "b", "/hello").out == "h"
    kept = home.query(home.agent_db("b"), "SELECT name, size FROM artifact"
                      " JOIN artifact_content c ON c.id = artifact.content")
    assert kept and set(kept) == {("old", 21)}, kept
    for name in "ab":
        home.skep("vfs", "fsck", name)


def test_a_bootstrap_command_without_a_mount_is_refused_plainly(home):
    d = hidden_fuse(home)
    m = Mock(home, text("done"))
    chat(home, m, workspace="vfs-only", bootstrap={"shell": "touch %s/out"
                                                   % home.dir})
    row = run(d)
    assert (row["state"], row["reason"]) == ("failed", "workspace"), row
    assert "cannot be mounted" in row["detail"], row
    assert not (home.dir / "out").exists()
    finish(d)


def test_the_worker_of_such_tools_is_confined(home):
    d = home.host = Host(home).start()
    m = Mock(home, [20], text("done"))
    chat(home, m, workspace="vfs-only")
    ident = d.submit("a")
    lib.eventually(lambda: m.asked, 30)
    pid = d.get(ident)["pid"]
    with open("/proc/%d/status" % pid) as f:
        status = f.read()
    assert "NoNewPrivs:\t1" in status and "Seccomp:\t2" in status, status
    assert not has_mount(home, d)
    d.cancel(ident)
    d.until(ident)
    finish(d)


def test_a_killed_worker_leaves_whole_calls(home):
    def next_file(body):
        n = sum(m["role"] == "tool" for m in body["messages"])
        return text("done") if n == 60 else calls(
            ("write_file", {"path": "f%d" % n, "content": "x" * 9000}))

    m = Mock(home, next_file)
    d = home.host = Host(home).start()
    chat(home, m, workspace="vfs-only", config={"max_turns": 1000})
    ident = d.submit("a", max_attempts=2)
    lib.eventually(lambda: len(m.asked) > 20, 60)
    os.kill(d.get(ident)["pid"], signal.SIGKILL)
    row = d.until(ident, seconds=120)
    assert (row["state"], row["attempt"]) == ("succeeded", 2), row
    finish(d)
    sizes = home.query(home.agent_db("a"), "SELECT size FROM vfs_inode"
                       " WHERE mode & 61440 = 32768")
    assert sizes == [(9000,)] * 60, sizes
    home.skep("vfs", "fsck", "a")
    assert not workspace(home).exists() or not list(workspace(home).iterdir())


def test_a_command_that_took_too_much_memory_is_told_to_the_model(home):
    d = home.host = Host(home).start()
    if "limits.memory: no cgroup" in d.log():
        lib.skip("no cgroup that holds memory")
    got = answers(home, d, "a", [
        ("exec", {"command": "python3 -c 'x = bytearray(1 << 28)'; true"}),
        ("exec", {"command": "echo small"})],
        limits={"memory": "96M"}, config={"exec": True})
    assert "more memory than it may" in got[0][3], got
    assert "memory" not in got[1][3], got
    finish(d)


BROKEN = ["{", "[1]", '"text"', "5", '{"path":"a\\u0000"}', '{"path":"\\ud800"}',
          '{"path":1}{}', "not JSON"]


def test_arguments_always_go_back_as_an_object(home):
    """Servers that parse them reject every later request otherwise."""
    def call(i, args):
        return {"index": i, "id": "c%d" % i, "type": "function",
                "function": {"name": "read_file", "arguments": args}}

    def item(i, args):
        return {"type": "function_call", "call_id": "c%d" % i,
                "name": "read_file", "arguments": args}

    done = [{"type": "response.completed", "response": {
        "status": "completed", "output": [{"type": "message", "content": [
            {"type": "output_text", "text": "ok"}]}]}}]
    m = Mock(home, [chunk({"tool_calls": [call(i, a) for i, a in
                                          enumerate(BROKEN)]}), chunk(
        finish="tool_calls")], text("ok"), [{
            "type": "response.completed", "response": {
                "status": "completed", "output": [
                    item(i, a) for i, a in enumerate(BROKEN)]}}], done)
    d = chat(home, m)
    run(d)
    sent = [c["function"]["arguments"] for c in m.messages()[1]["tool_calls"]]
    chat(home, m, "r", config={"api": "responses"})
    assert d.until(d.submit("r"))["state"] == "succeeded"
    again = [i["arguments"] for i in m.asked[-1][2]["input"]
             if i.get("type") == "function_call"]
    for all_of in (sent, again):
        assert len(all_of) == len(BROKEN), all_of
        for broken, args in zip(BROKEN, all_of):
            value = json.loads(args)
            assert isinstance(value, dict) and \
                value.get("arguments", broken) == broken, (broken, args)
    finish(d)
