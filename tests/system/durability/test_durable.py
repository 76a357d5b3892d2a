"""Whatever is acknowledged is on the disk: for every command and route that
writes, each file that it wrote was synced before the reply, and so was each
name that it made."""
import json
import os
import pathlib
import re
import sqlite3

import lib
import skepd_lib
import trace_lib

ROOT = pathlib.Path(__file__).resolve().parents[3]

# Commands that do not change a database or file of the home themselves. The
# reason: R reads only, S asks the supervisor (the routes are below), O other.
NOT_HERE = {
    "R": "status ps invocation_ls top show logs diff events approval_ls"
         " approval_show agent_ls agent_show agent_explain agent_schema"
         " agent_diff credential_ls session_ls session_show"
         " session_tail session_search session_tree session_export"
         " vector_search vector_ls channel_ls channel_show channel_logs"
         " conversation_ls delivery_ls delivery_show delivery_stats inbound_ls"
         " inbound_show msg_ls room_ls artifact_ls artifact_show artifact_get"
         " artifact_path langgraph_ls state_ls state_stats backup_verify"
         " backup_ls import_plan namespace_ls vfs_ls vfs_tree vfs_cat vfs_get"
         " vfs_export vfs_stat vfs_du vfs_find vfs_grep vfs_search vfs_log"
         " vfs_watch snapshot_ls vfs_diff config_check config_show"
         " config_path config_schema completion help version"
         " diagnostic_export token_ls login_ls audit_ls sandbox_ls budget_ls"
         " log agent_held"
         " try_ls try_show try_diff try_report"
         " schedule_ls schedule_show schedule_next schedule_log",
    "S": "agent_confirm up down restart run cancel retry send note pause resume approval_allow"
         " approval_deny chat channel_test delivery_send delivery_retry"
         " delivery_discard delivery_resend inbound_retry inbound_discard"
         " msg_send msg_read msg_receive room_join room_leave channel_bind"
         " channel_unbind token_add token_rm ui login_end"
         " try_start try_pick try_drop try_resume try_extend"
         " schedule_add schedule_set schedule_pause schedule_resume"
         " schedule_fire schedule_rm",
    # an interactive program; its home is thrown away; fsync is what waits; needs
    # a run with a namespace, and writes as vfs_rollback does; does what agent_add,
    # credential_add and config_set do
    "O": "agent_test demo vfs_mount vfs_umount revert init",
}

JSONL = "\n".join(json.dumps(x) for x in (
    {"type": "message", "message": {"role": "user", "content": "one"}},
    {"type": "message", "message": {"role": "assistant", "content": "two"}}))

ALONE = ("backup_restore", "reset")  # refuse files that others have open


def commands():
    text = (ROOT / "cli" / "commands.def").read_text()
    return re.findall(r"^COMMAND\((\w+)\)", text, re.M)


def writers(home):
    """(name, arguments, standard input) of each command that writes, in an
    order in which each has something to do."""
    (home.dir / "tree").mkdir()
    for i in range(40):
        (home.dir / "tree" / ("f%d" % i)).write_bytes(os.urandom(50000))
    (home.dir / "low").mkdir()
    (home.dir / "low" / "x").write_text("below\n")
    (home.dir / "old.jsonl").write_text(JSONL)
    vector = json.dumps({"seq": 1, "vector": [1.0, 0.0]})
    backup = home.dir / "b.tar"
    return [
        ("agent_add", ["a", "--driver", "script"], None),
        ("agent_add", ["b", "--driver", "script"], None),
        ("agent_set", ["a", "--model", "m"], None),
        ("agent_revert", ["a", "--version", "1"], None),
        ("config_set", ["run.grace", "6s"], None),
        ("credential_add", ["k"], "sekrit"),
        ("credential_rm", ["k", "--yes"], None),
        ("session_append", ["s", "one"], None),
        ("session_append", ["s", "two"], None),
        ("session_append", ["s", "x" * 100000], None),
        ("session_title", ["s", "a title"], None),
        ("session_patch", ["s", '{"meta":{"k":1}}'], None),
        ("session_fork", ["s", "f"], None),
        ("session_fork", ["s", "c", "--copy"], None),
        ("session_rewind", ["s", "1"], None),
        ("session_restore", ["s"], None),
        ("session_archive", ["f"], None),
        ("session_unarchive", ["f"], None),
        ("session_import", ["-"], None),
        ("vector_put", ["s", "--model", "m"], vector),
        ("vector_rm", ["s", "1", "--model", "m"], None),
        ("session_rm", ["c"], None),
        ("artifact_put", ["-", "one", "--owner", "o"], "content"),
        ("artifact_put", [str(home.dir / "tree" / "f0"), "big", "--owner", "o"],
         None),
        ("artifact_rm", [], None),
        ("namespace_create", ["a:w"], None),
        ("vfs_put", ["a:w", "x"], "text\n"),
        ("vfs_put", ["a:w", "big", str(home.dir / "tree" / "f1")], None),
        ("vfs_import", ["a:w", str(home.dir / "tree"), "t"], None),
        ("vfs_mkdir", ["a:w", "d"], None),
        ("vfs_cp", ["a:w", "x", "y"], None),
        ("vfs_mv", ["a:w", "y", "z"], None),
        ("vfs_ln", ["a:w", "x", "l"], None),
        ("vfs_edit", ["a:w", "x", "text", "other"], None),
        ("vfs_quota", ["a:w", "--bytes", "100000000"], None),
        ("snapshot_create", ["a:w", "one"], None),
        ("snapshot_create", ["a:w", "two"], None),
        ("snapshot_rm", ["a:w", "two"], None),
        ("vfs_fork", ["a:w", "fork"], None),
        ("vfs_put", ["a:fork", "new"], "new\n"),
        ("vfs_merge", ["a:fork"], None),
        ("vfs_rm", ["a:w", "z"], None),
        ("vfs_rollback", ["a:w", "one"], None),
        ("vfs_compact", ["a:w"], None),
        ("vfs_fsck", ["a:w", "--repair"], None),
        ("namespace_create", ["a:over", "--lower", str(home.dir / "low")], None),
        ("vfs_put", ["a:over", "x"], "above\n"),
        ("vfs_discard", ["a:over"], None),
        ("vfs_put", ["a:over", "x"], "above\n"),
        ("vfs_apply", ["a:over"], None),
        ("namespace_rm", ["a:fork"], None),
        ("diagnostic_limit", ["10"], None),
        ("channel_add", ["ch", "pull"], None),
        ("channel_set", ["ch", "--set", "timeout=7000"], None),
        ("channel_disable", ["ch"], None),
        ("channel_enable", ["ch"], None),
        ("channel_pause", ["ch"], None),
        ("channel_resume", ["ch"], None),
        ("channel_rm", ["ch"], None),
        ("budget_add", ["b", "--runs", "1000"], None),
        ("budget_set", ["b", "--runs", "2000"], None),
        ("budget_rm", ["b"], None),
        ("import_apply", [str(home.dir / "old.jsonl"), "--yes", "--agent",
                          "a"], None),
        ("langgraph_rm", ["thread"], None),
        ("state_checkpoint", [], None),
        ("state_prune", ["--keep-n", "0"], None),
        ("state_redact", ["--keep-days", "0"], None),
        ("state_gc", [], None),
        ("state_maintain", [], None),
        ("state_vacuum", ["--incremental"], None),
        ("backup_create", ["-o", str(backup)], None),
        ("backup_restore", [str(backup)], None),
        ("agent_export", ["a", str(home.dir / "a.tar")], None),
        ("agent_import", [str(home.dir / "a.tar"), "--name", "c"], None),
        ("agent_clone", ["a", "d"], None),
        ("agent_rm", ["b"], None),
        ("doctor", ["--fix"], None),
        ("reset", ["sessions", "--yes"], None),
    ]


def unsynced(trace, is_reply, threads=None):
    """What was not on the disk at the first reply that came too early."""
    for thread, call, over in trace.read():
        if threads is None or thread in threads:
            trace.apply(call, over)
        if over is not True and is_reply(thread, call) and trace.dirty:
            return "%s\nbefore %s" % ("\n".join(trace.dirty.values()), call)
    return None


def open_readers(home):
    """Another process has each file open, so that the end of a command does
    not copy the log into the file and sync that."""
    readers = []
    for path in [*home.path.glob("state/skep.sqlite"),
                 *home.path.glob("agents/*/agent.sqlite")]:
        db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
        db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        readers.append(db)
    return readers


def prepare(home, name, args, text):
    """Arguments and input, with what no other command of the table makes."""
    if name == "artifact_rm":
        rows = home.query(home.agent_db("a"), "SELECT aid FROM artifact")
        args = [rows[0][0]]
    elif name == "session_import":
        text = home.skep("session", "export", "s", "-a", "a").raw
        text = text.replace(b'"key":"s"', b'"key":"imported"')
    elif name == "langgraph_rm":
        for table in re.findall(r"CREATE TABLE.*?;", (
                ROOT / "schema/langgraph/0001_tables.sql").read_text(), re.S):
            home.execute(home.agent_db("a"), table)
        home.execute(home.agent_db("a"), "INSERT INTO checkpoints (thread_id,"
                     " checkpoint_ns, checkpoint_id) VALUES (?, '', '1')",
                     args[0])
    return args, text


def test_every_command_that_writes_syncs_before_it_replies(home):
    steps = writers(home)
    known = set(sum((v.split() for v in NOT_HERE.values()), []))
    names = {s[0] for s in steps}
    assert set(commands()) == known | names, (set(commands()) ^ (known | names))
    idle, early = set(), []
    for i, (name, args, text) in enumerate(steps):
        args, text = prepare(home, name, args, text)
        out = home.dir / ("trace%d" % i)
        readers = [] if name in ALONE else open_readers(home)
        home.run(*trace_lib.command(out, home.bin / "skep", *name.split("_"),
                                    *args), input=text)
        for db in readers:
            db.close()
        t = trace_lib.Trace(out, home.dir)
        bad = unsynced(t, lambda _, call: call.startswith(
            ("write(1<", "exit_group(0")))
        if bad:
            early.append("%s: %s" % (name, bad))
        if not t.wrote:
            idle.add(name)
    assert not early, "\n".join(early)
    # found nothing; deletes a file and syncs its directory
    assert idle <= {"vfs_fsck", "state_maintain", "doctor", "credential_rm"}, idle


# --- routes ---------------------------------------------------------------

# Routes with another method than GET that change nothing on the disk.
NOT_WRITING = {"vector_search", "stop"}
# Signed by its sender; needs a message that was given up; needs a run with a
# namespace; need a TCP port. They are steps of the loop, or changes of a file,
# like the others.
NOT_ASKED = {"channel_in", "inbound_verb", "run_revert", "login_code",
             "login_open", "login_end", "login_leave"}
# Threads of skepd write to agent files while others are answered; and
# test_try_crash.py kills skepd after these answers.
THREADS = {"experiment_" + v for v in "start pick drop resume extend".split()}


def routes():
    text = (ROOT / "supervisor/api/routes.def").read_text()
    return re.findall(r'^ROUTE\((\w+), +(\w+), +"([^"]+)"', text, re.M)


def route_of(method, path):
    for name, its, pattern in routes():
        known = re.escape(pattern).replace(r"\{", "{").replace(r"\}", "}")
        if its == method and re.fullmatch(
                re.sub(r"\{\w+\}", "[^/]+", known), path.split("?")[0]):
            return name
    return None


def first_item(host, path):
    return lib.eventually(lambda: host.call("GET", path)["items"], 30,
                          path)[0]["id"]


def ask_sessions(call):
    call("PUT", "/v1/sessions/a/s", {"title": "t"})
    call("PATCH", "/v1/sessions/a/s", {"meta": {"k": 1}})
    call("PUT", "/v1/sessions/a/s/vector", {"seq": 1, "model": "m",
                                            "vector": [1, 0]})
    call("POST", "/v1/sessions/a/s/fork", {"key": "f"})
    call("POST", "/v1/sessions/a/s/rewind", {"seq": 1})
    call("POST", "/v1/sessions/a/s/restore", {})
    call("DELETE", "/v1/sessions/a/f")


def ask_runs(host, call):
    host.script("long", {"await_message": True}, {"sleep_ms": 60000})
    host.script("asks", {"ask": {"key": "k", "title": "may I?"}})
    run = host.submit("long")
    host.until(run, "running")
    for verb in ("pause", "resume"):
        call("POST", "/v1/runs/%s/%s" % (run, verb), {})
    call("POST", "/v1/runs/%s/messages" % run, {"text": "hello"})
    call("POST", "/v1/runs/%s/note" % run, {"text": "hello"})
    call("POST", "/v1/runs/%s/cancel" % run, {"reason": "enough"})
    host.until(run)
    call("POST", "/v1/runs/%s/cancel" % call(
        "POST", "/v1/runs/%s/retry" % run, {})["id"], {})
    host.submit("long", tags=["many"])
    call("POST", "/v1/runs/cancel", {"tag": "many"})
    run = host.submit("asks")
    call("POST", "/v1/approvals/" + first_item(
        host, "/v1/approvals?state=open&run=" + run), {"allow": True})
    host.until(run)


def ask_channels(host, call):
    call("PUT", "/v1/channels/c", {"kind": "pull"})
    call("POST", "/v1/channels/c/pause", {})
    call("POST", "/v1/channels/c/resume", {})
    call("PUT", "/v1/channels/c/bindings", {"peer": "p", "agent": "a"})
    call("POST", "/v1/channels/c/messages", {
        "sender": "p", "conversation": "p", "text": "hi"})
    call("POST", "/v1/deliveries", {"channel": "c", "conversation": "p",
                                    "body": {"text": "out"}})
    call("POST", "/v1/deliveries/%s/discard" % first_item(
        host, "/v1/deliveries?channel=c"), {})
    call("DELETE", "/v1/channels/c/bindings", {"peer": "p"})
    call("POST", "/v1/messages", {"to": "a/s", "sender": "b/s", "text": "x"})
    call("POST", "/v1/messages/a/s/read", {})
    call("POST", "/v1/messages/a/s/receive?wait=1", {})
    call("PUT", "/v1/rooms/r/a/s", {})
    call("DELETE", "/v1/rooms/r/a/s")
    call("DELETE", "/v1/channels/c")


def ask_workspaces(home, call):
    home.skep("namespace", "create", "a:w")
    call("PUT", "/v1/workspaces/a/w/file?path=x", {"bytes": "any"})
    call("POST", "/v1/workspaces/a/w/snapshots", {"name": "one"})
    call("DELETE", "/v1/workspaces/a/w/file?path=x")
    call("POST", "/v1/workspaces/a/w/rollback", {"name": "one"})
    home.skep("vfs", "fork", "a:w", "f")
    call("PUT", "/v1/workspaces/a/f/file?path=y", {"bytes": "any"})
    call("POST", "/v1/workspaces/a/f/apply", {})
    call("POST", "/v1/workspaces/a/f/discard", {})


def ask_rest(home, call):
    """Also what only commands ask for."""
    ask_workspaces(home, call)
    call("PUT", "/v1/budgets/b", {"unit": "runs", "hard": 1000000})
    call("DELETE", "/v1/budgets/b")
    call("POST", "/v1/tokens", {"name": "t", "scopes": ["read"]})
    call("PUT", "/v1/schedules/s", {"cron": "@yearly", "agent": "a",
                                    "prompt": "[]"})
    call("POST", "/v1/schedules/s/fire")
    call("DELETE", "/v1/schedules/s")
    call("DELETE", "/v1/tokens/t")
    call("POST", "/v1/audit", {"act": "x", "subject": "y"})
    call("POST", "/v1/agents/b/file", {})
    call("POST", "/v1/ai/a/chat", {"id": "c", "messages": [
        {"id": "1", "role": "user", "parts": [{"type": "text",
                                               "text": "[]"}]}]})
    body = {"model": "a", "messages": [{"role": "user", "content": "[]"}]}
    call("POST", "/openai/v1/chat/completions", body)
    got = call("POST", "/openai/v1/responses", {
        "model": "a", "input": "[]", "background": True})
    call("POST", "/openai/v1/responses/%s/cancel" % got["id"])
    backup = home.dir / "b.tar"
    home.skep("backup", "create", "-o", backup)
    lib.eventually(lambda: home.skep(
        "backup", "restore", backup, "--agent", "b", "--activate",
        code=None).code == 0, what="the file of b closed")
    home.skep("agent", "clone", "b", "e")
    home.execute(home.control, "INSERT INTO held VALUES ('e', 1, 'binding', '{}', 0)")
    home.skep("agent", "confirm", "e", "--discard")
    home.skep("import", "apply", home.dir / "old.jsonl", "--yes", "--agent",
              "b", "--delete-source")
    home.skep("state", "prune", "--keep-n", "0")
    home.skep("state", "vacuum", "--incremental")
    old = home.agent_db("b")
    new = home.dir / "elsewhere.sqlite"
    old.rename(new)
    call("POST", "/v1/agents/b/move", {"path": str(new)})
    call("DELETE", "/v1/agents/b")


def test_every_route_that_writes_syncs_before_it_replies(home):
    host = skepd_lib.Host(home)
    out = home.dir / "trace"
    with open(home.dir / "skepd.log", "ab") as log:
        host.process = home.start(*trace_lib.command(
            out, home.bin / "skepd"), stderr=log)
    lib.eventually(host.answers, 60, "an answer of skepd")
    done = set()

    def call(method, path, body=None):
        done.add(route_of(method, path))
        if path.startswith("/v1/ai/"):
            return home.run("curl", "-sS", "--unix-socket",
                            home.path / "run" / "skep.sock", "-d",
                            json.dumps(body), "http://skep" + path)
        return host.call(method, path, body)

    (home.dir / "old.jsonl").write_text(JSONL)
    for name in "ab":
        call("PUT", "/v1/agents/" + name, {"driver": "script"})
        host.until(call("POST", "/v1/runs", {
            "agent": name, "session": "s", "prompt": "[]"})["id"])
    readers = open_readers(home)
    ask_sessions(call)
    ask_runs(host, call)
    ask_channels(host, call)
    for db in readers:
        db.close()
    ask_rest(home, call)
    threads = {int(t) for t in os.listdir("/proc/%d/task" % host.process.pid)}
    for line in (home.dir / "skepd.log").read_text().splitlines():
        m = re.search(r"msg=http.* method=(\w+) .*path=(\S+)", line)
        done.add(m and route_of(m.group(1), m.group(2)))
    changing = {n for n, m, _ in routes() if m != "GET"}
    assert changing - done == NOT_WRITING | NOT_ASKED | THREADS, (
        changing - done)
    assert host.down() == 0
    t = trace_lib.Trace(out, home.dir)
    bad = unsynced(t, lambda thread, call: thread in threads and
                   '"HTTP/1.1 2' in call, threads)
    assert not bad, bad
    assert str(home.control) + "-wal" in t.wrote
    assert str(home.agent_db("a")) + "-wal" in t.wrote


def test_calls_that_strace_splits_are_read_as_one(home):
    """As it does when another thread makes a call meanwhile."""
    (home.dir / "trace").write_text(
        '7 mkdir("{0}/there", 0700 <unfinished ...>\n'
        '8 mkdir("{0}/new/a", 0700 <unfinished ...>\n'
        '7 <... mkdir resumed>) = -1 EEXIST (File exists)\n'
        '8 <... mkdir resumed>) = 0\n'.format(home.dir))
    t = trace_lib.Trace(home.dir / "trace", home.dir)
    for _, call, over in t.read():
        t.apply(call, over)
    assert list(t.dirty) == ["%s/new/" % home.dir], t.dirty
