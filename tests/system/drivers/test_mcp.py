"""skep-worker --mcp: the files of a workspace as tools of an agent."""
import json
import os
import re
import subprocess

import lib
from test_acp import acp, heard
from test_acp_files import need_mount, read, tool_results, write
from test_acp_permission import OPTIONS, approvals, hosted, one_open
from worker_lib import ok


class Server:
    def __init__(self, home, *more):
        self.root = home.dir / "ws"
        self.root.mkdir(exist_ok=True)
        self.p = home.start(home.bin / "skep-worker", "--mcp", self.root,
                            *more, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)
        self.n = 0

    def ask(self, method, **params):
        self.n += 1
        self.p.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.n,
                                       "method": method,
                                       "params": params}) + "\n")
        self.p.stdin.flush()
        got = json.loads(self.p.stdout.readline())
        assert got["id"] == self.n, got
        return got

    def call(self, tool, **args):
        return self.ask("tools/call", name=tool, arguments=args)["result"]

    def ok(self, tool, **args):
        got = self.call(tool, **args)
        assert not got["isError"], got
        return got["content"][0]["text"]

    def bad(self, tool, **args):
        got = self.call(tool, **args)
        assert got["isError"], got
        return got["content"][0]["text"]


def test_a_call_over_the_limit_is_refused_and_the_next_one_served(home):
    s = Server(home)
    got = s.ask("tools/call", name="write_file",
                arguments={"path": "big", "content": "x" * (17 << 20)})
    assert "longer than 16777216 bytes" in got["error"]["message"], got
    assert not (s.root / "big").exists()
    s.ok("write_file", path="small", content="x")
    assert (s.root / "small").read_text() == "x"


def test_a_client_learns_what_there_is(home):
    s = Server(home)
    hello = s.ask("initialize", protocolVersion="2024-11-05", capabilities={},
                  clientInfo={"name": "t", "version": "1"})["result"]
    assert hello["protocolVersion"] == "2024-11-05"
    assert "tools" in hello["capabilities"]
    s.p.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    assert s.ask("ping")["result"] == {}
    tools = {t["name"]: t for t in s.ask("tools/list")["result"]["tools"]}
    for name in ("read_text_file", "read_file", "write_file", "edit_file",
                 "list_directory", "directory_tree", "search_files",
                 "move_file", "get_file_info", "create_directory",
                 "list_allowed_directories", "read_multiple_files",
                 "delete_file", "append_file", "grep", "snapshot", "diff"):
        schema = tools[name]["inputSchema"]
        assert schema["type"] == "object" and tools[name]["description"]
        assert set(schema["required"]) <= set(schema["properties"])
    assert s.ask("resources/list")["error"]["code"] == -32601
    assert s.ask("tools/call", name="nope")["error"]["code"] == -32602
    s.p.stdin.close()
    assert s.p.wait(lib.HANG) == 0


def test_files_are_read_written_edited_and_moved(home):
    s = Server(home)
    s.ok("write_file", path="src/a.c", content="one\ntwo\nthree\n")
    s.ok("append_file", path="src/a.c", content="four\n")
    assert s.ok("read_file", path="src/a.c") == "one\ntwo\nthree\nfour\n"
    assert s.ok("read_text_file", path=str(s.root / "src/a.c"),
                head=2) == "one\ntwo\n"
    assert s.ok("read_text_file", path="src/a.c", tail=1) == "four\n"
    assert s.ok("read_text_file", path="src/a.c", head=0) == ""
    edit = dict(path="src/a.c", edits=[{"oldText": "two", "newText": "TWO"},
                                       {"oldText": "four\n", "newText": ""}])
    assert "+TWO" in s.ok("edit_file", dryRun=True, **edit)
    assert "two" in (s.root / "src/a.c").read_text()
    assert "-two" in s.ok("edit_file", **edit)
    assert (s.root / "src/a.c").read_text() == "one\nTWO\nthree\n"
    assert "does not occur" in s.bad("edit_file", **edit)
    assert "more than once" in s.bad("edit_file", path="src/a.c", edits=[
        {"oldText": "e", "newText": "x"}])
    s.ok("create_directory", path="b/c/d")
    s.ok("create_directory", path="b/c/d")
    s.ok("move_file", source="src/a.c", destination="b/new/a.c")
    s.ok("write_file", path="src/z", content="")
    s.bad("move_file", source="src/z", destination="b/new/a.c")
    assert s.ok("list_directory", path=".") == "[DIR] b\n[DIR] src"
    info = s.ok("get_file_info", path="b/new/a.c")
    assert "size: 14" in info and "isFile: true" in info, info
    many = s.ok("read_multiple_files", paths=["b/new/a.c", "nope"])
    assert "TWO" in many and "nope: error" in many, many
    s.bad("delete_file", path="b")
    s.ok("delete_file", path="b/new/a.c")
    s.ok("delete_file", path="b/new")
    assert str(s.root) in s.ok("list_allowed_directories")


def test_trees_are_shown_searched_and_grepped(home):
    s = Server(home)
    for name, text in (("a.c", "int main;\n"), ("d/b.c", "Main\nmain()\n"),
                       ("d/e/f.txt", "x\n"), ("d/bin", "main\0")):
        s.ok("write_file", path=name, content=text.replace("\0", ""))
    (s.root / "d" / "bin").write_bytes(b"main\0")
    tree = json.loads(s.ok("directory_tree", path=".",
                           excludePatterns=["a.c", "*.txt"]))
    assert tree == [{"name": "d", "type": "directory", "children": [
        {"name": "b.c", "type": "file"}, {"name": "bin", "type": "file"},
        {"name": "e", "type": "directory", "children": []}]}], tree
    assert s.ok("search_files", path=".", pattern="*.c") == "a.c\nd/b.c"
    assert s.ok("search_files", path="d", pattern="*.c") == "d/b.c"
    assert s.ok("search_files", path=".", pattern="zz") == "No matches found"
    assert s.ok("grep", pattern="^main|int") == "a.c:1:int main;\nd/b.c:2:main()"
    assert s.ok("grep", pattern="main", ignoreCase=True, include="b.*",
                path="d") == "d/b.c:1:Main\nd/b.c:2:main()"
    assert "pattern" in s.bad("grep", pattern="(")
    s.ok("write_file", path="long", content="#" + "\u00e4" * 900)
    found = s.ok("grep", pattern="#")  # of at most 400 bytes, and whole characters
    assert re.fullmatch("long:1:#\u00e4{197,198}\u2026", found), found


def test_nothing_outside_can_be_reached_and_bad_calls_are_told(home):
    (home.dir / "secret").write_text("s")
    s = Server(home)
    os.symlink("..", s.root / "up")
    os.symlink(home.dir / "secret", s.root / "link")
    for path in ("../secret", "up/secret", "link", "/etc/passwd",
                 str(home.dir / "secret"), "a/../../secret"):
        s.bad("read_file", path=path)
        s.bad("write_file", path=path, content="x")
        if path != "link":  # the link itself is ours to move and delete
            s.bad("move_file", source=path, destination="mine")
            s.bad("delete_file", path=path)
    assert (home.dir / "secret").read_text() == "s"
    assert "path" in s.bad("read_file")
    assert "content" in s.bad("write_file", path="a", content=5)
    assert "plain directory" in s.bad("snapshot", name="x")
    s.bad("read_file", path=".")
    s.bad("list_directory", path="nope")


def test_an_agent_uses_it_on_its_mount_with_snapshots(home):
    need_mount("vfs-only")
    w = acp(home, [
        {"tool": "write_file", "args": {"path": "a.txt", "content": "1\n"}},
        {"tool": "snapshot", "args": {"name": "before"}},
        {"tool": "write_file", "args": {"path": "a.txt", "content": "2\n"}},
        {"tool": "diff", "args": {"from": "before"}},
        {"tool": "read_file", "args": {"path": "/mnt/workspace/a.txt"}},
        {"tool": "list_allowed_directories"}], workspace_mode="vfs-only")
    ok(w)
    got = tool_results(w)
    assert not any(bad for bad, _ in got), got
    assert "-1" in got[3][1] and "+2" in got[3][1], got
    assert got[4][1] == "2\n" and "/mnt/workspace" in got[5][1], got


def test_an_agent_has_it_in_a_directory_unless_it_is_off(home):
    w = acp(home, [{"tool": "write_file", "args": {"path": "x",
                                                   "content": "y"}}])
    ok(w)
    assert (home.dir / "work" / "x").read_text() == "y"
    ok(acp(home, "x", w.sup, n=2, config={"mcp": False}))
    offers = [m["params"]["mcpServers"] for k, m in heard(home)
              if k == "session/new"]
    assert len(offers[0]) == 1 and offers[1] == [], offers


def test_it_works_in_a_sandbox_that_hides_the_agents_file(home):
    need_mount("vfs-only")
    d = hosted(home, workspace="vfs-only")
    run = d.submit("a", json.dumps([
        {"tool": "write_file", "args": {"path": "a", "content": "1\n"}},
        {"tool": "snapshot", "args": {"name": "s1"}},
        {"tool": "append_file", "args": {"path": "a", "content": "2\n"}},
        {"tool": "diff", "args": {"from": "s1"}},
        {"tool": "diff", "args": {"from": "none"}}]), session="s")
    assert d.until(run)["state"] == "succeeded", d.get(run)
    text = "".join(t for (t,) in home.query(
        home.agent_db("a"), "SELECT text FROM part WHERE kind = 'text'"))
    got = [json.loads(line) for line in text.splitlines()]
    assert [bad for bad, _ in got] == [False] * 4 + [True], got
    assert "\n+2\n" in got[3][1] and "\n+1\n" not in got[3][1], got
    assert "s1" in home.skep("snapshot", "ls", "a:").out


def tool(name, path, **args):
    return {"tool": name, "args": dict(path=path, **args)}


def test_rules_hold_for_its_tools_and_for_files_of_the_client(home):
    work = home.dir / "work"
    steps = [tool("write_file", "a", content="x"), tool("read_file", "b"),
             tool("delete_file", "b"), write(str(work / "c"), "x"),
             read(str(work / "b"))]
    w = None
    for n, rules in enumerate(({"deny": ["*"]}, {"default": "deny"},
                               {"deny": ["edit", "delete", "read"],
                                "allow": ["*"]})):
        work.mkdir(exist_ok=True)
        (work / "b").write_text("kept")
        w = acp(home, steps, w and w.sup, n=n + 1,
                config={"permissions": rules})
        ok(w)
        got = tool_results(w)[-5:]
        assert [bad for bad, _ in got[:3]] == [True] * 3, (rules, got)
        assert all("den" in text for _, text in got[:3]), (rules, got)
        assert all("den" in g["message"] for g in got[3:]), (rules, got)
        assert sorted(os.listdir(work)) == ["b"], (rules, os.listdir(work))
        ruled = [b["decision"] for _, b in w.events("approval")][-5:]
        assert ruled == ["deny"] * 5, ruled


def test_a_rule_that_allows_lets_its_tools_work(home):
    w = acp(home, [tool("write_file", "src/a", content="x"),
                   tool("read_file", "src/a"),
                   tool("write_file", "a", content="x")],
            config={"permissions": {"allow": ["read", "edit:src/*"],
                                    "default": "deny"}})
    ok(w)
    assert [bad for bad, _ in tool_results(w)] == [False, False, True], tool_results(w)


def ruled_agent(home, **rules):
    return hosted(home, rules=rules)


def answers(home):
    text = "".join(t for (t,) in home.query(
        home.agent_db("a"), "SELECT text FROM part WHERE kind = 'text'"))
    return [json.loads(line) for line in text.splitlines()]


def test_ask_asks_a_person_before_a_tool_runs(home):
    d = ruled_agent(home, ask=["edit"], allow=["read"])
    work = home.path / "agents" / "a" / "workspace"
    run = d.submit("a", json.dumps([
        tool("write_file", "a", content="1"),
        tool("write_file", "b", content="1"),
        tool("write_file", "a", content="2"),
        tool("read_file", "a"), write(str(work / "c"), "x"),
        write(str(work / "d"), "x")]))
    for verb, more in (("allow", ("--choice", "always")), ("deny", ()),
                       ("allow", ()), ("deny", ())):
        a = one_open(d)
        assert d.get(run)["state"] in ("waiting", "running"), d.get(run)
        path = a["title"].split()[-1]
        assert not (work / path).exists(), a
        home.skep("approval", verb, a["id"], *more)
    assert d.until(run)["state"] == "succeeded", d.get(run)
    got = answers(home)
    assert [bad for bad, _ in got[:4]] == [False, True, False, False], got
    assert got[3][1] == "2" and got[4] == {} and "message" in got[5], got
    assert sorted(os.listdir(work)) == ["a", "c"]
    assert len(approvals(d)) == 4, approvals(d)


def test_a_call_that_was_permitted_is_not_asked_for_again(home):
    d = ruled_agent(home, ask=["edit"])
    work = home.path / "agents" / "a" / "workspace"
    run = d.submit("a", json.dumps([
        {"call": "session/request_permission", "params": {
            "toolCall": {"toolCallId": "c1", "title": "Write a",
                         "kind": "edit", "rawInput": {"path": "a"}},
            "options": OPTIONS}},
        write(str(work / "a"), "x"), tool("write_file", "a", content="y")]))
    home.skep("approval", "allow", one_open(d)["id"])
    assert d.until(run)["state"] == "succeeded", d.get(run)
    assert (work / "a").read_text() == "y"
    assert len(approvals(d)) == 1, approvals(d)


def test_a_tool_over_the_quota_says_so(home):
    need_mount("vfs-only")
    d = hosted(home, workspace="vfs-only")
    home.skep("vfs", "put", "a", "first", input="x")
    home.skep("vfs", "quota", "a", "--bytes", "100000")
    run = d.submit("a", json.dumps([
        tool("write_file", "small", content="x"),
        tool("write_file", "large", content="x" * 200000),
        write("/mnt/workspace/more", "x" * 200000),
        tool("read_file", "small")]))
    assert d.until(run)["state"] == "succeeded", d.get(run)
    got = answers(home)
    assert [got[i][0] for i in (0, 1, 3)] == [False, True, False], got
    for why in (got[1][1], got[2]["message"]):
        assert any(word in why.lower() for word in ("quota", "no space")), why
