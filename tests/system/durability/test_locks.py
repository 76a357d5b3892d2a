"""POSIX locks of skepd and of a worker on their databases: no route and no command
may cost them. (Closing any descriptor of a file drops all locks of the process.)"""
import os
import re
import sqlite3

import lib
import test_durable
from skepd_lib import Refused, host

# What a connection in WAL mode always has: the shared lock on the file, and the
# one on the -shm that marks it as used.
SHARED, IN_USE = "1073741826", "128"


def locks(pid):
    """{(inode, first byte)} of the locks that stay."""
    got = set()
    with open("/proc/locks") as f:
        for line in f:
            w = line.split()
            if "->" not in w and w[1] == "POSIX" and int(w[4]) == pid and \
                    w[6] in (SHARED, IN_USE):
                got.add((int(w[5].rsplit(":", 1)[1]), w[6]))
    return got


def inodes(path):
    return {os.stat(str(path) + end).st_ino for end in ("", "-shm")}


class Watch:
    """skepd, and a worker on the file of agent `a`."""

    def __init__(self, home):
        if not os.path.exists("/proc/locks"):
            lib.skip("no /proc/locks")
        self.home, self.h = home, host(home)
        for name in "ab":
            self.h.agent(name)
        home.skep("agent", "set", "a", "--default")
        self.run = self.h.submit("a", prompt='[{"sleep_ms": 600000}]',
                                 session="live")
        self.worker = self.h.until(self.run, "running")["pid"]
        control, agent = inodes(home.control), inodes(home.agent_db("a"))
        skepd = self.h.process.pid
        self.want = {skepd: {x for x in locks(skepd) if x[0] in control},
                     self.worker: {x for x in locks(self.worker)
                                   if x[0] in agent}}
        for pid, want in self.want.items():
            assert len(want) == 2, (pid, want)
        # skepd opens and closes agents' files: it has both locks or none
        self.pairs = [(skepd, agent)]

    def is_well(self):
        for pid, want in self.want.items():
            if not want <= locks(pid):
                return False
        return all(sum(i in files for i, _ in locks(pid)) in (0, 2)
                   for pid, files in self.pairs)

    def check(self, what):
        lib.eventually(self.is_well, 120, "all locks after " + what)

    def end(self):
        self.h.cancel(self.run)
        self.h.until(self.run, "cancelled")
        self.h.down()


def test_the_watch_notices_a_lost_lock(home):
    if not os.path.exists("/proc/locks"):
        lib.skip("no /proc/locks")
    path = home.dir / "t.sqlite"
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("CREATE TABLE t (x)")
    db.execute("SELECT * FROM t").fetchall()
    both = {(i, byte) for i, byte in locks(os.getpid()) if i in inodes(path)}
    assert len(both) == 2, both
    for name in (path, str(path) + "-shm"):
        open(name, "rb").close()
    assert not both & locks(os.getpid())
    db.close()


# --- routes ---------------------------------------------------------------

# Routes that are not asked: they end the supervisor, or need a signature.
ROUTES_LEFT_OUT = {"stop", "channel_in", "inbound_verb"}


class Routes:
    """Asks, and looks at the locks after each answer."""

    def __init__(self, watch):
        self.w, self.done, self.good = watch, set(), set()

    def __call__(self, method, path, body=None):
        name = test_durable.route_of(method, path)
        self.done.add(name)
        try:
            answer = self.w.h.call(method, path, body, seconds=5)
            self.good.add(name)
        except (ValueError, OSError) as e:  # a stream: no JSON, or no end
            answer = None
            if isinstance(e, ValueError):
                self.good.add(name)
        except Refused:
            answer = None
        self.w.check(method + " " + path)
        return answer

    def items(self, path):
        return (self("GET", path) or {}).get("items") or [{}]


def read_everything(ask, run):
    """Every route that reads, with ids of what is there."""
    ids = {"run": run, "name": "a", "agent": "a", "key": "s", "session": "s",
           "room": "r", "id": "none", "model": "a", "namespace": "w",
           "file": "app.js"}
    lists = {"deliveries": "delivery", "approvals": "approval",
             "inbound": "inbound"}
    for name in lists:
        ids[name] = ask.items("/v1/" + name)[0].get("id", "none")
    for name, method, path in test_durable.routes():
        if method != "GET":
            continue
        part = path.split("/")[2] if path.startswith("/v1/") else ""
        one = {"runs": run, "channels": "c"}.get(part) or ids.get(part, "none")
        url = re.sub(r"\{(\w+)\}", lambda m: one if m.group(1) in ("id", "name")
                     and part != "agents" else ids[m.group(1)], path)
        ask("GET", url + {"channel_next": "?wait=0"}.get(name, ""))


def test_no_route_costs_a_lock(home):
    w = Watch(home)
    ask = Routes(w)
    (home.dir / "old.jsonl").write_text(test_durable.JSONL)
    for name in "ab":
        w.h.until(w.h.submit(name, prompt="[]", session="s"))
    test_durable.ask_sessions(ask)
    test_durable.ask_runs(w.h, ask)
    ask("PUT", "/v1/channels/c", {"kind": "pull"})
    ask("POST", "/v1/channels/c/messages", {"sender": "p", "text": "hi"})
    ask("POST", "/v1/deliveries", {"channel": "c", "conversation": "p",
                                   "body": {"text": "out"}})
    ask("PUT", "/v1/agents/b", {"driver": "script"})
    ask("POST", "/v1/runs", {"agent": "b", "prompt": "[]"})
    ask("POST", "/v1/agents/a/vectors/search", {"model": "m", "vector": [1, 0]})
    read_everything(ask, w.run)
    test_durable.ask_channels(w.h, ask)
    test_durable.ask_rest(home, ask)
    for name, method, path in test_durable.routes():
        if name not in ask.done | ROUTES_LEFT_OUT and method != "GET":
            ask(method, re.sub(r"\{\w+\}", "none", path), {})
    every = {name for name, _, _ in test_durable.routes()}
    assert every - ask.done == ROUTES_LEFT_OUT, every - ask.done
    print("%d routes, %d of them with success; refused: %s" % (
        len(ask.done), len(ask.good), " ".join(sorted(ask.done - ask.good))))
    assert len(ask.good) >= 68, len(ask.good)
    w.end()


# --- commands -------------------------------------------------------------

# Commands that are not run: they end or replace the supervisor, need a terminal
# or a mount, or refuse files that are open.
COMMANDS_LEFT_OUT = set("up down restart demo agent_test top chat vfs_mount"
                        " vfs_umount backup_restore reset".split())


def readers(home, run):
    """(name, arguments) of the commands that do not write themselves."""
    (aid,), = home.query(home.agent_db("a"), "SELECT aid FROM artifact LIMIT 1")
    lines = """status;ps --all;invocation_ls;show {run};logs {run};events
        approval_ls;approval_show none;approval_allow none;approval_deny none
        agent_ls;agent_show a;agent_explain;agent_schema;agent_diff a
        credential_ls;init --with none --no-dashboard;session_ls;session_show s;session_tail s
        session_search one;session_tree s;session_export s
        vector_search [1,0] --model m;vector_ls;channel_ls;channel_show c
        channel_logs c;conversation_ls;channel_test c;channel_bind c a --peer p
        channel_unbind c --peer p;delivery_ls;delivery_stats
        delivery_send c hello --to p
        delivery_show {delivery};delivery_discard {delivery}
        delivery_retry {delivery};delivery_resend {delivery}
        inbound_ls;inbound_show none;inbound_retry none;inbound_discard none
        msg_send a/s hello;msg_ls a;room_ls;room_join r a/s;room_leave r a/s
        msg_read a/s;msg_receive a/s --timeout 1ms
        artifact_ls;artifact_show {aid};artifact_get {aid};artifact_path {aid}
        langgraph_ls;state_ls;state_stats;backup_verify {dir}/b.tar;backup_ls
        import_plan {dir}/old.jsonl;namespace_ls a;vfs_ls a:w;vfs_tree a:w
        vfs_cat a:w x;vfs_get a:w x;vfs_export a:w {dir}/out;vfs_stat a:w x
        vfs_du a:w;vfs_find a:w;vfs_grep a:w text;vfs_search a:w text
        vfs_log a:w;vfs_watch a:w --timeout 1ms;snapshot_ls a:w
        vfs_diff a:w one
        config_check;config_show;config_path;config_schema;completion bash;help
        version;diagnostic_export;run a [];pause {run};resume {run}
        token_add t;token_ls;token_rm t;ui;login_ls;login_end lgn_x
        audit_ls;sandbox_ls;budget_ls;log;agent_held a;agent_confirm a
        send {run} hello;note {run} hello;retry {old};cancel {old}
        diff {old};revert {old}
        try_ls;try_show;try_diff none 1;try_report -o -;try_start a go -d;try_pick none 1
        try_drop none --yes;try_resume none;try_extend none
        schedule_add s --every 1h --agent a --prompt [];schedule_ls;schedule_show s
        schedule_set s --jitter 1m;schedule_next s;schedule_log s;schedule_pause s
        schedule_resume s;schedule_fire s;schedule_rm s --yes"""
    rows = home.query(home.control, "SELECT id FROM delivery LIMIT 1")
    words = {"run": run, "aid": aid, "dir": home.dir,
             "old": home.query(home.control, "SELECT id FROM run WHERE state ="
                               " 'succeeded'")[0][0],
             "delivery": rows[0][0] if rows else "none"}
    for line in re.split(r"[;\n]", lines):
        name, *args = line.split()
        yield name, [a.format(**words) if "{" in a else a for a in args]


def test_no_command_costs_a_lock(home):
    w = Watch(home)
    w.h.until(w.h.submit("b", prompt="[]", session="s"))
    done, good = set(), set()

    def run(name, args, text=None):
        args, text = test_durable.prepare(home, name, args, text)
        r = home.skep(*name.split("_"), *args, input=text, code=None)
        done.add(name)
        if r.code == 0:
            good.add(name)
        w.check("skep %s %s" % (name, " ".join(map(str, args))))

    last = ("channel_rm", "agent_rm", "vfs_rollback", "session_rm")
    steps = [s for s in test_durable.writers(home)
             if s[0] not in COMMANDS_LEFT_OUT]
    for step in [s for s in steps if s[0] not in last]:
        run(*step)
    w.h.call("POST", "/v1/deliveries", {"channel": "ch", "conversation": "p",
                                        "body": {"text": "out"}})
    for name, args in readers(home, w.run):
        run(name, ["ch" if a == "c" else a for a in args])
    for step in [s for s in steps if s[0] in last]:
        run(*step)
    every = set(test_durable.commands())
    assert every - done == COMMANDS_LEFT_OUT, every - done ^ COMMANDS_LEFT_OUT
    print("%d commands, %d of them with success; refused: %s" % (
        len(done), len(good), " ".join(sorted(done - good))))
    assert len(good) >= 118, len(good)
    w.end()


def test_a_command_does_not_read_the_database_that_it_has_open(home):
    home.skep("agent", "add", "ann", "--driver", "script")
    home.skep("session", "append", "s", "hello", "--agent", "ann")
    home.skep("namespace", "create", "ann:w")
    other = home.dir / "other"
    other.write_text(test_durable.JSONL)
    own = home.agent_db("ann")
    for words in (["artifact", "put", "@", "x", "--owner", "o", "--agent", "ann"],
                  ["vfs", "put", "ann:w", "x", "@"],
                  ["vfs", "import", "ann:w", "@", "x"],
                  ["session", "import", "@", "--agent", "ann"]):
        for path in (own, str(own) + "-shm"):
            r = home.skep(*[path if w == "@" else w for w in words], code=None)
            assert r.code != 0 and ("busy" in r.err or "in use" in r.err), \
                (words, r.code, r.err)
    assert home.query(own, "SELECT count(*) FROM artifact") == [(0,)]
    home.skep("artifact", "put", other, "x", "--owner", "o", "--agent", "ann")


for test in (test_no_route_costs_a_lock, test_no_command_costs_a_lock):
    test.seconds = 120
