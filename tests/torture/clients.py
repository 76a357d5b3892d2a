"""The callers of a torture run. Each has a ledger, acts through the command
line or over HTTP as a user would, and afterwards compares its ledger with what
the files hold. All of them share the files of two agents, because a commit can
also be lost through another process's write to the same file. Comparisons use stock SQLite where the tables are plain, and
`skep` itself where contents are stored in chunks.
"""
import hashlib
import http.client
import json
import os
import random
import sqlite3
import subprocess
import sys
import time

from ledger import Ledger
from skepd_lib import OVER, Refused

MAX_SIZE = 64 << 20
WORKSPACE = 200 << 20  # bytes in all files of a workspace
NOTES = 8
AGENTS = ("red", "blue")
MODES = ("full", "restart", "truncate")


def any_size(rng, most=MAX_SIZE):
    """0 to `most` bytes: every magnitude is equally likely, and the sizes
    around powers of two are tried often."""
    if rng.random() < 0.3:
        size = (1 << rng.randrange(0, most.bit_length())) + rng.randrange(-1, 2)
    else:
        size = int(2 ** rng.uniform(0, most.bit_length() - 1))
    return max(0, min(size, most))


def content(rng, size):
    """Half of it does not compress."""
    block = rng.randbytes(min(size, 1 << 16))
    data = (block + bytes(len(block))) * (size // (2 * len(block)) + 1) \
        if block else b""
    return data[:size]


def digest(data):
    return "%d %s" % (len(data), hashlib.sha256(data).hexdigest()[:16])


class Client:
    weight = 1

    def __init__(self, torture, seed):
        self.t, self.home, self.host = torture, torture.home, torture.host
        self.rng = random.Random("%s %s" % (seed, type(self).__name__))
        self.ledger = Ledger(type(self).__name__.lower())
        self.number = 0

    def next(self):
        self.number += 1
        return self.number

    def prepare(self):
        """Before the first round, while nothing is killed."""

    def verify(self):
        """While nothing runs."""

    def is_settled(self):
        """After the last round, while skepd runs: has everything happened?"""
        return True

    def verify_end(self):
        """After the last round, when all runs have ended."""

    # -- ways to ask; each returns an answer, or None if there was none

    def skep(self, *args, input=None):
        """Standard output of a command that exited with 0."""
        return self.t.command(args, input)

    def http(self, method, path, body=None):
        try:
            return self.host.call(method, path, body)
        except (OSError, http.client.HTTPException):
            return None
        except Refused as e:
            self.t.note_refusal(method, path, e)
            return None

    def rows(self, agent, sql, *params):
        path = self.home.agent_db(agent) if agent else self.home.control
        if not path.exists():
            return []
        db = sqlite3.connect("file:%s?mode=ro" % path, uri=True, timeout=30)
        try:
            return db.execute(sql, params).fetchall()
        finally:
            db.close()


NOTE_STEPS = [{"event": {"type": "note", "text": "n%d" % i}}
              for i in range(NOTES)]
CHATTY = [{"event": {"type": "note", "text": "c"}, "repeat": 300,
           "every_ms": 2, "batch": 4}]
SCRIPTS = {  # what a run of a shared agent does; its idempotency key begins so
    "quick": NOTE_STEPS,
    "slow": NOTE_STEPS + [{"sleep_ms": 700}],
    "crash": NOTE_STEPS[:3] + [{"crash": "now", "attempts": 1}] +
    NOTE_STEPS[3:],
    "chatty": CHATTY,
}
COMMANDS = {
    "shell": "echo a; (sleep 3 &) ; sleep 0.3; echo b",
    "stubborn": "trap '' TERM; echo here; sleep 2; echo gone",
    "large": "head -c $(cat) /dev/zero | tr '\\0' x",
}


class Runs(Client):
    weight = 4

    def prepare(self):
        for name in AGENTS:
            self.host.agent(name)
        for name, text in COMMANDS.items():
            self.host.agent(name, "exec", {"shell": text, "stdin": "text"})

    def act(self):
        r = self.rng
        kind = r.choice([*SCRIPTS, *COMMANDS])
        key = "%s.%d" % (kind, self.next())
        body = {"agent": kind, "prompt": str(any_size(r, 4 << 20)),
                "idem_key": key, "max_attempts": 5}
        if kind in SCRIPTS:
            body.update(agent=r.choice(AGENTS),
                        prompt=json.dumps(SCRIPTS[kind]))
        if r.random() < 0.3:
            body["session"] = "r%d" % r.randrange(3)
        entry = self.ledger.try_(key, body["agent"])
        run = self.http("POST", "/v1/runs", body)
        if run:
            self.ledger.acknowledge(entry)
            self.interfere("/v1/runs/%s/" % run["id"])

    def interfere(self, path):
        if self.rng.random() < 0.15:
            self.http("POST", path + "cancel", {})
        elif self.rng.random() < 0.1:
            self.http("POST", path + "pause", {})
            self.http("POST", path + "resume", {})

    def verify(self):
        stored = {}
        for key, agent in self.rows(None, "SELECT idem_key, agent FROM run"
                                    " WHERE idem_key NOT LIKE 'ask%'"):
            if key in stored:
                self.ledger.find(key, "two runs")
            stored[key] = agent
        for key in self.ledger.keys():
            self.ledger.find(key, stored.get(key))

    def verify_end(self):
        want = ["n%d" % i for i in range(NOTES)]
        for run, agent in self.rows(None, "SELECT id, agent FROM run WHERE"
                                    " state = 'succeeded' AND"
                                    " (idem_key LIKE 'quick%' OR"
                                    "  idem_key LIKE 'slow%')"):
            got = self.host.notes(agent, run)
            if got[-NOTES:] != want:
                self.ledger.findings.append("runs: %s of %s has notes %s" %
                                            (run, agent, got))
        left = self.rows(None, "SELECT id, state FROM run WHERE state NOT IN %s"
                         % (OVER,))
        if left:
            self.ledger.findings.append("runs: not over: %s" % left[:5])


class Events(Client):
    """`skep session append`, 1 byte to 16 MB, with a key."""
    weight = 4

    def act(self):
        size = any_size(self.rng, 16 << 20 if self.rng.random() < 0.1
                        else 1 << 16)
        text = self.rng.randbytes(size // 2 + 1).hex()
        agent = self.rng.choice(AGENTS)
        key = "%s/e%d" % (agent, self.next())
        entry = self.ledger.try_(key, digest(text.encode()))
        if self.skep("session", "append", "e%d" % self.rng.randrange(4),
                     "--agent", agent, "--key", key, "--body", "-",
                     input=json.dumps({"role": "user", "content": text})) \
                is not None:
            self.ledger.acknowledge(entry)

    def verify(self):
        stored = {}
        for agent in AGENTS:
            for key, body in self.rows(agent, "SELECT key, body FROM event"
                                       " WHERE key LIKE ? || '/e%'", agent):
                if key in stored:
                    self.ledger.find(key, "two events")
                stored[key] = digest(json.loads(body)["content"].encode())
        for key in self.ledger.keys():
            self.ledger.find(key, stored.get(key))


class Patches(Client):
    """PATCH of a session's title over HTTP."""
    weight = 3
    SESSIONS = 5

    def prepare(self):
        for i in range(self.SESSIONS):
            self.home.skep("session", "append", "p%d" % i, "x", "--agent",
                           "red")

    def act(self):
        key = "p%d" % self.rng.randrange(self.SESSIONS)
        title = "%d %s" % (self.next(), "x" * any_size(self.rng, 200))
        entry = self.ledger.try_(key, title)
        if self.http("PATCH", "/v1/sessions/red/" + key, {"title": title}):
            self.ledger.acknowledge(entry)

    def verify(self):
        stored = dict(self.rows("red", "SELECT key, title FROM session WHERE"
                                " key LIKE 'p%'"))
        for key in self.ledger.keys():
            self.ledger.find(key, stored.get(key))


class Puts(Client):
    """Files of a workspace: put and rm, 0 bytes to 64 MB."""
    weight = 3

    def prepare(self):
        self.sizes = {}

    def act(self):
        name = "f%d" % self.rng.randrange(24)
        if self.sizes.get(name) and self.rng.random() < 0.2 or \
                sum(self.sizes.values()) > WORKSPACE:
            name = max(self.sizes, key=self.sizes.get)
            entry = self.ledger.try_(name, None)
            if self.skep("vfs", "rm", "red:main", name) is not None:
                self.ledger.acknowledge(entry)
                self.sizes[name] = 0
            return
        data = content(self.rng, any_size(self.rng))
        entry = self.ledger.try_(name, digest(data))
        self.sizes[name] = len(data)
        if self.skep("vfs", "put", "red:main", name, "-",
                     input=data) is not None:
            self.ledger.acknowledge(entry)

    def verify(self):
        for name in self.ledger.keys():
            r = self.home.skep("vfs", "get", "red:main", name, "-",
                               code=None, seconds=300)
            self.ledger.find(name, digest(r.raw) if r.code == 0 else None)
        r = self.home.skep("vfs", "fsck", "red:main", code=None, seconds=300)
        if r.code != 0:
            self.ledger.findings.append("fsck: " + r.out + r.err)


class Imports(Client):
    """`skep session import` of up to 9,000 events: all of them or none."""

    def act(self):
        n = any_size(self.rng, 9000)
        key = "i%d" % self.next()
        lines = [{"record": "session", "version": 1, "key": key}]
        lines += [{"record": "event", "seq": i + 1, "type": "message",
                   "at": 1, "body": {"role": "user", "content": "%d" % i * 40}}
                  for i in range(n)]
        entry = self.ledger.try_(key, n)
        if self.skep("session", "import", "-", "--agent", "blue",
                     input="".join(json.dumps(x) + "\n" for x in lines)) \
                is not None:
            self.ledger.acknowledge(entry)

    def verify(self):
        stored = dict(self.rows(
            "blue", "SELECT s.key, (SELECT count(*) FROM event e WHERE"
            " e.pos >> 32 = s.id) FROM session s WHERE s.key LIKE 'i%' AND s.kind = 'import'"))
        for key in self.ledger.keys():
            self.ledger.find(key, stored.get(key))


class Approvals(Client):
    """Questions of runs, answered over HTTP."""

    STEPS = [{"ask": {"key": "q", "title": "may I?"}}] + NOTE_STEPS

    def act(self):
        self.http("POST", "/v1/runs", {
            "agent": "blue", "max_attempts": 5,
            "prompt": json.dumps(self.STEPS),
            "idem_key": "ask%d" % self.next()})
        answer = self.http("GET", "/v1/approvals?state=open&limit=10")
        for row in (answer or {"items": []})["items"]:
            allow = self.rng.random() < 0.7
            entry = self.ledger.try_(row["id"],
                                     "allowed" if allow else "denied")
            if self.http("POST", "/v1/approvals/" + row["id"],
                         {"allow": allow}):
                self.ledger.acknowledge(entry)

    def verify(self):
        stored = dict(self.rows(None, "SELECT id, state FROM approval"))
        for key in self.ledger.keys():
            got = stored.get(key)
            self.ledger.find(key, None if got in ("open", "withdrawn") and
                             None in self.ledger.allowed(key) else got)


class Deliveries(Client):
    """Messages on a webhook channel; the receiver must get each of them."""
    weight = 3

    def prepare(self):
        import channel_lib
        self.receiver = channel_lib.receiver(self.home)
        channel_lib.webhook(self.host, "hook", self.receiver.url + "/in")

    def act(self):
        key = "d%d" % self.next()
        text = key + " " + "y" * any_size(self.rng, 1 << 15)
        entry = self.ledger.try_(key, text)
        if self.http("POST", "/v1/deliveries", {
                "channel": "hook", "conversation": "c%d" % (self.number % 7),
                "key": key, "body": {"text": text}}):
            self.ledger.acknowledge(entry)

    def verify(self):
        stored = {}
        for body, in self.rows(None, "SELECT body FROM delivery WHERE"
                               " channel = 'hook'"):
            text = json.loads(body)["text"]
            key = text.split()[0]
            if key in stored:
                self.ledger.find(key, "two deliveries")
            stored[key] = text
        for key in self.ledger.keys():
            self.ledger.find(key, stored.get(key))

    def verify_end(self):
        ids = {}
        for _, ident, data in list(self.receiver.log):
            ids.setdefault(data["text"].split()[0], set()).add(ident)
        for key in self.ledger.keys():
            if self.ledger.allowed(key) != [None] and len(ids.get(key, ())) != 1:
                self.ledger.findings.append("deliveries: %s arrived under ids %s"
                                            % (key, ids.get(key)))


class Plugins(Client):
    """Messages that go out and come in through a plugin, which is killed as well:
    each goes out once, and each becomes one inbound message."""
    weight = 2

    def prepare(self):
        import plugin_lib
        self.outbox, self.inbox = (self.home.dir / n for n in ("out", "in"))
        self.inbox.touch()
        plugin_lib.plugin(self.host, "plug", sys.executable, "-SI",
                          plugin_lib.EXAMPLES / "mailbox.py", backoff=20,
                          attempts=1000, agent="red", outbox=str(self.outbox),
                          inbox=str(self.inbox))

    def act(self):
        key = "p%d" % self.next()
        if self.number % 3 == 0:
            with open(self.inbox, "a") as f:
                f.write(json.dumps({"id": key, "sender": "s", "text": "[]"}) + "\n")
            self.ledger.acknowledge(self.ledger.try_(key, "in"))
            return
        text = key + " " + "y" * any_size(self.rng, 1 << 12)
        entry = self.ledger.try_(key, text)
        if self.http("POST", "/v1/deliveries", {
                "channel": "plug", "conversation": "c%d" % (self.number % 7),
                "key": key, "body": {"text": text}}):
            self.ledger.acknowledge(entry)

    def is_settled(self):
        [(came,)] = self.rows(None, "SELECT count(*) FROM inbound WHERE"
                              " channel = 'plug'")
        return came >= len(self.inbox.read_text().splitlines())

    def verify_end(self):
        sent, came = {}, {}
        for line in self.outbox.read_text().splitlines():
            text = json.loads(line)["text"]
            sent.setdefault(text.split(" ")[0], []).append(text)
        for key, in self.rows(None, "SELECT external_id FROM inbound WHERE"
                              " channel = 'plug'"):
            came.setdefault(key, []).append("in")
        for key in self.ledger.keys():
            got = sent.get(key, []) + came.get(key, [])
            self.ledger.find(key, "twice: %s" % got if len(got) > 1 else
                             got[0] if got else None)


class Messages(Client):
    """Messages between sessions."""
    weight = 2

    def act(self):
        key = "m%d" % self.next()
        text = "z" * (1 + any_size(self.rng, 1 << 15))
        entry = self.ledger.try_(key, len(text))
        if self.skep("msg", "send", "blue/main", "-", "--key", key,
                     input=text) is not None:
            self.ledger.acknowledge(entry)
        if self.rng.random() < 0.2:
            self.http("POST", "/v1/messages/blue/main/receive", {})

    def verify(self):
        stored = {}
        for source, body in self.rows(None, "SELECT m.source_key, m.body FROM"
                                      " message m JOIN message_to t ON"
                                      " t.message = m.id"):
            key = source.rsplit("/", 1)[-1].rsplit(":", 1)[-1]
            if key in stored:
                self.ledger.find(key, "two messages")
            stored[key] = len(text_of(body))
        for key in self.ledger.keys():
            self.ledger.find(key, stored.get(key))


def text_of(body):
    try:
        value = json.loads(body)
    except ValueError:
        return body
    return value.get("text", body) if isinstance(value, dict) else body


class Artifacts(Client):
    """`skep artifact put`, 0 bytes to 64 MB."""

    def act(self):
        name = "a%d" % self.rng.randrange(6)
        data = content(self.rng, any_size(self.rng))
        entry = self.ledger.try_(name, digest(data))
        if self.skep("artifact", "put", "-", name, "--owner", "me", "--agent",
                     "red", input=data) is not None:
            self.ledger.acknowledge(entry)

    def verify(self):
        for name in self.ledger.keys():
            r = self.home.skep("artifact", "get", name, "--owner", "me",
                               "--agent", "red", code=None, seconds=300)
            self.ledger.find(name, digest(r.raw) if r.code == 0 else None)


class Mounts(Client):
    """Files written through a mount: fsync is the acknowledgement."""
    weight = 2

    def prepare(self):
        self.at = self.home.dir / "mnt"
        self.process = None
        self.possible = os.geteuid() == 0 and os.access("/dev/fuse", os.W_OK)
        self.home.skep("namespace", "create", "red:mounted")
        self.home.undo.append(self.unmount)

    def unmount(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        subprocess.run(["umount", "-l", self.at], stderr=subprocess.DEVNULL)

    def mount(self):
        self.unmount()
        self.at.mkdir(exist_ok=True)
        self.process = subprocess.Popen(
            [str(self.home.bin / "skep"), "vfs", "mount", "red:mounted",
             str(self.at)], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env=self.home.env)
        for _ in range(500):
            if self.process.poll() is not None:
                return False
            if os.path.ismount(self.at):
                return True
            time.sleep(0.02)
        return False

    def act(self):
        if not self.possible:
            return
        if not self.process or self.process.poll() is not None:
            if not self.mount():
                return
        name = "m%d" % self.rng.randrange(12)
        data = content(self.rng, any_size(self.rng, 4 << 20))
        entry = self.ledger.try_(name, digest(data))
        try:
            with open(self.at / ".new", "wb") as f:
                f.write(data)
                f.flush()
                os.fsync(f.fileno())
            os.rename(self.at / ".new", self.at / name)
            folder = os.open(self.at, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError:
            return
        if os.path.ismount(self.at) and self.process.poll() is None:
            self.ledger.acknowledge(entry)

    def verify(self):
        self.unmount()
        for name in self.ledger.keys():
            r = self.home.skep("vfs", "get", "red:mounted", name, "-",
                               code=None, seconds=300)
            self.ledger.find(name, digest(r.raw) if r.code == 0 else None)


class Deletes(Client):
    """Sessions and namespaces: made, forked, deleted."""
    weight = 2

    def act(self):
        n = self.next()
        if n % 2:
            where = ("--agent", "blue")
            key, made = "d%d" % n, ("session", "append", "d%d" % n, "x")
            copy = ("session", "fork", key, key + "f")
            gone = ("session", "rm", key)
        else:
            where = ()
            key, made = "n%d" % n, ("namespace", "create", "blue:n%d" % n)
            copy = ("vfs", "fork", "blue:" + key, key + "f")
            gone = ("namespace", "rm", "blue:" + key)
        entry = self.ledger.try_(key, "there")
        if self.skep(*made, *where) is None:
            return
        self.ledger.acknowledge(entry)
        self.skep(*copy, *where)
        entry = self.ledger.try_(key, None)
        if self.skep(*gone, *where) is not None:
            self.ledger.acknowledge(entry)

    def verify(self):
        there = {k for k, in self.rows("blue", "SELECT key FROM session WHERE"
                                       " status <> 'deleted' AND key IS NOT NULL"
                                       " UNION SELECT name FROM vfs_ns")}
        for key in self.ledger.keys():
            self.ledger.find(key, "there" if key in there else None)


class Upkeep(Client):
    """Checkpoints, vacuum and the periodic job beside everything else."""

    def act(self):
        r = self.rng
        self.skep(*r.choice([
            ("state", "checkpoint", "--mode", r.choice(MODES)),
            ("state", "maintain"),
            ("state", "vacuum"),
            ("snapshot", "create", "red:main", "t%d" % self.next()),
            ("snapshot", "rm", "red:main", "t%d" % r.randrange(
                1, self.number + 2)),
            ("vfs", "compact", "red:main"),
            ("session", "search", "x", "--agent", "blue")]))


ALL = [Runs, Events, Patches, Puts, Imports, Approvals, Deliveries, Plugins,
       Messages, Artifacts, Mounts, Deletes, Upkeep]
