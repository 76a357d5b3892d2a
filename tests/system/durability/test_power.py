"""Power failures of a whole home: skepd, its workers and commands run while every
change of a file is recorded (power_lib.py); after a cut anywhere the files are
whole and have everything that was acknowledged before it.

SKEP_POWER_CUTS sets the number of cuts of each test (100), SKEP_POWER_SEED the
first seed."""
import hashlib
import json
import os
import random
import threading

import lib
import power_lib
import skepd_lib
from chat_mock import Mock, calls, text

CUTS = int(os.environ.get("SKEP_POWER_CUTS", 100))
SEED = int(os.environ.get("SKEP_POWER_SEED", 1))
SIZES = (0, 1, 300, 4000, 5000, 70000, 300000)
TALK = json.dumps([{"text": "x" * 2000, "chunks": 5},
                   {"event": {"type": "note"}, "repeat": 20}])


class Work:
    """Verbs of all kinds; each adds what it was promised to the ledger."""

    def __init__(self, home, host, ledger, rng):
        self.home, self.host, self.ledger, self.rng = home, host, ledger, rng
        self.count = 0
        self.mock = Mock(home)
        host.agent("chats", "chat", {"endpoint": self.mock.url, "exec": True},
                   model="mock")

    def next(self):
        self.count += 1
        return self.count

    def control(self, sql, *params, row=(1,)):
        self.ledger.add(self.home.control, sql, *params, row=row)

    def agent(self, sql, *params, row=(1,)):
        self.ledger.add(self.home.agent_db("a"), sql, *params, row=row)

    def bytes(self):
        return self.rng.randbytes(self.rng.choice(SIZES))

    # -- an agent's file, by commands

    def append(self):
        word = "append %d " % self.next()
        self.home.skep("session", "append", "s", word + "x" * self.rng.choice(
            SIZES[:-1]), "--agent", "a")
        self.agent("SELECT count(*) > 0 FROM event WHERE body LIKE ?",
                   "%" + word + "%")

    def put_file(self):
        name, data = "f%d" % self.next(), self.bytes()
        self.home.skep("vfs", "put", "a:w", name, input=data)
        self.agent("SELECT count(*), max(size) FROM vfs_inode WHERE name = ?"
                   " AND EXISTS (SELECT 1 FROM vfs_dentry d WHERE d.name ="
                   " vfs_inode.name)", name.encode(), row=(1, len(data)))

    def put_artifact(self):
        name, data = "f%d" % self.next(), self.bytes()
        self.home.skep("artifact", "put", "-", name, "--owner", "o", "--agent",
                       "a", input=data)
        self.agent("SELECT c.state, c.size, c.sha256 FROM artifact a JOIN"
                   " artifact_content c ON c.id = a.content WHERE a.name = ?",
                   name, row=("ready", len(data),
                              hashlib.sha256(data).hexdigest()))

    def import_session(self):
        key = "i%d" % self.next()
        text = self.home.skep("session", "export", "s", "--agent", "a").raw
        self.home.skep("session", "import", "-", "--agent", "a",
                       input=text.replace(b'"key":"s"',
                                          b'"key":"%s"' % key.encode()))
        self.agent("SELECT count(*) FROM session WHERE key = ?", key)

    # -- by requests

    def patch(self):
        n = self.next()
        self.host.call("PATCH", "/v1/sessions/a/s", {"meta": {"k%d" % n: n}})
        self.agent("SELECT json_extract(meta, '$.k%d') FROM session"
                   " WHERE key = 's'" % n, row=(n,))

    def fork(self):
        key = "f%d" % self.next()
        self.host.call("POST", "/v1/sessions/a/s/fork", {"key": key})
        self.agent("SELECT count(*) FROM session WHERE key = ?", key)

    def message(self):
        words = "message %d." % self.next()
        self.host.call("POST", "/v1/messages",
                       {"to": "a/s", "sender": "b/s", "text": words})
        self.control("SELECT count(*) FROM message WHERE body LIKE ?",
                     "%" + words + "%")

    def deliver(self):
        d = self.host.call("POST", "/v1/deliveries", {
            "channel": "c", "conversation": "p",
            "body": {"text": "out %d" % self.next()}})["id"]
        self.control("SELECT count(*) FROM delivery WHERE id = ?", d)
        if self.rng.random() < 0.5:
            self.host.call("POST", "/v1/deliveries/%s/discard" % d, {})
            self.control("SELECT state FROM delivery WHERE id = ?", d,
                         row=("discarded",))

    def inbound(self):
        words = "in %d." % self.next()
        self.host.call("POST", "/v1/channels/c/messages", {
            "sender": "p", "conversation": "p", "text": words})
        self.control("SELECT count(*) FROM inbound WHERE body LIKE ?",
                     "%" + words + "%")

    # -- runs

    def submit(self, agent, **more):
        run = self.host.submit(agent, **more)
        self.control("SELECT count(*) FROM run WHERE id = ?", run)
        return run

    def finish(self):
        """Enqueued, claimed and finished; its events are in the file first."""
        run = self.submit("a", session="r", prompt=TALK)
        row = self.host.until(run, "succeeded")
        self.control("SELECT state, last_seq FROM run WHERE id = ?", run,
                     row=("succeeded", row["last_seq"]))
        self.agent("SELECT count(*) FROM event e JOIN session s ON s.id = e.pos"
                   " >> 32 WHERE s.key = 'r' AND e.pos & 4294967295 = ?",
                   row["last_seq"])

    def claim_and_cancel(self):
        run = self.submit("long")
        self.host.until(run, "running")
        self.control("SELECT state <> 'queued' AND attempt = 1 FROM run"
                     " WHERE id = ?", run)
        self.host.cancel(run)
        self.control("SELECT count(*) FROM run WHERE id = ? AND (pending_state ="
                     " 'cancelled' OR state = 'cancelled' OR EXISTS (SELECT 1"
                     " FROM run_command c WHERE c.run = run.id AND verb ="
                     " 'cancel'))", run)
        self.host.until(run, "cancelled")
        self.control("SELECT state FROM run WHERE id = ?", run,
                     row=("cancelled",))

    def applied(self, run, verb):
        """skepd was told that the worker has done it: it is not done again."""
        lib.eventually(lambda: self.home.query(
            self.home.control, "SELECT 1 FROM run_command WHERE run = ? AND"
            " verb = ? AND state = 'applied'", run, verb), 30, verb)

    def has_event(self, agent, key):
        self.ledger.add(self.home.agent_db(agent),
                        "SELECT count(*) FROM event WHERE key = ?", key)

    def approve(self):
        run = self.submit("asks")
        question = lib.eventually(lambda: self.host.call(
            "GET", "/v1/approvals?state=open&run=" + run)["items"], 30,
            "a question")[0]["id"]
        self.control("SELECT count(*) FROM approval WHERE id = ?", question)
        self.has_event("asks", "question:%s:k" % run)
        self.host.call("POST", "/v1/approvals/" + question, {"allow": True})
        self.control("SELECT state FROM approval WHERE id = ?", question,
                     row=("allowed",))
        self.applied(run, "answer")
        self.has_event("asks", "answer:%s:k" % run)
        self.host.cancel(run)
        self.host.until(run)

    def steer(self):
        run = self.submit("long")
        self.host.until(run, "running")
        words = "steer %d." % self.next()
        self.host.call("POST", "/v1/runs/%s/messages" % run, {"text": words})
        self.control("SELECT count(*) FROM run_command WHERE run = ? AND"
                     " verb = 'message'", run)
        self.applied(run, "message")
        self.ledger.add(self.home.agent_db("long"), "SELECT count(*) > 0 FROM"
                        " event WHERE body LIKE ?", "%" + words + "%")
        self.host.cancel(run)
        self.host.until(run)

    def use_tool(self):
        """A call that must not be made twice is in the transcript before it is
        made."""
        name = "made%d" % self.next()
        self.mock.replies[:] = [
            calls(("exec", {"command": "touch %s; sleep 0.2" % name})),
            text("done")]
        self.mock.asked.clear()
        run = self.submit("chats")
        lib.eventually((self.home.path / "agents/chats/workspace" / name).exists,
                       30, "the effect of a tool")
        self.ledger.add(self.home.agent_db("chats"), "SELECT count(*) FROM part"
                        " WHERE kind = 'tool' AND input LIKE ?",
                        "%" + name + ";%")
        self.host.until(run, "succeeded")

    # -- batches: requests that come at once share a sync

    def batch(self):
        verbs = [self.rng.choice((self.patch, self.message, self.deliver,
                                  self.fork)) for _ in range(8)]
        failed = []

        def call(verb):
            try:
                verb()
            except Exception as e:  # pylint: disable=broad-except
                failed.append(e)

        threads = [threading.Thread(target=call, args=(v,)) for v in verbs]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        if failed:
            raise failed[0]

    VERBS = (append, put_file, put_artifact, import_session, patch, fork,
             message, deliver, inbound, finish, claim_and_cancel, approve, steer,
             use_tool, batch)


def record(home, host, ledger, seed):
    host.start()
    host.agent("a")
    host.script("long", {"await_message": True}, {"sleep_ms": 60000})
    host.script("asks", {"ask": {"key": "k", "title": "may I?"}},
                {"sleep_ms": 60000})
    host.call("PUT", "/v1/channels/c", {"kind": "pull"})
    host.call("PUT", "/v1/channels/c/bindings", {"peer": "p", "agent": "a"})
    home.skep("session", "append", "s", "first", "--agent", "a")
    home.skep("namespace", "create", "a:w")
    if seed % 3:  # a worker has the file open: no command copies the log
        host.until(host.submit("a", prompt='[{"await_message": true}]',
                               session="open"), "running")
    rng = random.Random(seed)
    work = Work(home, host, ledger, rng)
    verbs = list(Work.VERBS) * 2
    rng.shuffle(verbs)
    for verb in verbs:
        verb(work)
        if rng.random() < 0.1:
            home.skep("state", "checkpoint")
    assert host.down() == 0
    return len(verbs)


def cut_everywhere(home, seed):
    host = skepd_lib.Host(home)
    tape = power_lib.Tape(home)
    ledger = power_lib.Ledger(tape, home.path)
    verbs = record(home, host, ledger, seed)
    power_lib.check_complete(tape, home.path, ledger)
    n = power_lib.check_cuts(tape, home.path, ledger, CUTS, seed)
    print("seed %d: %d verbs, %d facts, %d bytes recorded, %d cuts" % (
        seed, verbs, len(ledger.facts), tape.end(), n))


def test_what_was_acknowledged_survives_a_power_failure(home):
    cut_everywhere(home, SEED)


def test_the_same_with_other_numbers(home):
    cut_everywhere(home, SEED + 1)


def test_the_same_with_yet_other_numbers(home):
    cut_everywhere(home, SEED + 2)
