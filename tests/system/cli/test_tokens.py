"""Tokens, the audit log and the list of sandboxes, by command."""
import http.client
import json
import subprocess

import lib
import web_lib
from skepd_lib import Host, finish


def status_of(port, secret, method="GET", path="/v1/agents"):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=lib.HANG)
    c.request(method, path, headers={"Authorization": "Bearer " + secret})
    return c.getresponse().status


def test_a_token_is_created_listed_and_revoked(home):
    port = web_lib.free_port()
    d = web_lib.Skepd(home, {"http": {"listen": "127.0.0.1:%d" % port}})
    secret = home.skep("token", "add", "ci", "--scope", "read").out.strip()
    assert status_of(port, secret) == 200
    assert status_of(port, secret, "POST", "/v1/stop") == 403
    row, = home.skep("token", "ls", "--json").lines
    assert row["name"] == "ci" and row["scopes"] == ["read"], row
    assert "hash" not in row and row["expires_at"] is None, row
    both = home.skep("token", "add", "b", "--scope", "read", "--scope", "admin",
                     "--expires", "90d", "--json").json
    b, = [t for t in home.skep("token", "ls", "--json").lines
          if t["name"] == "b"]
    assert b["scopes"] == ["read", "admin"], b
    assert b["expires_at"] - b["created_at"] == 90 * 86400 * 1000, b
    assert status_of(port, both["token"], path="/v1/audit") == 200
    assert "ci" in home.refused(65, "token", "add", "ci")
    assert "--scope" in home.refused(64, "token", "add", "x", "--scope", "root")
    assert "revoked token ci" in home.skep("token", "rm", "ci").out
    assert status_of(port, secret) == 401
    assert "ci" in home.refused(66, "token", "rm", "ci")
    d.stop()


def test_an_expired_token_is_rejected(home):
    port = web_lib.free_port()
    d = web_lib.Skepd(home, {"http": {"listen": "127.0.0.1:%d" % port}})
    secret = home.skep("token", "add", "short", "--expires", "1ms").out.strip()
    lib.eventually(lambda: status_of(port, secret) == 401)
    long = home.skep("token", "add", "long", "--expires", "1d").out.strip()
    assert status_of(port, long) == 200
    d.stop()


def test_the_audit_log_says_who_did_what(home):
    h = Host(home).start()
    h.script("a", {"event": {"type": "note"}})
    home.skep("token", "add", "t")
    rows = home.skep("audit", "ls", "--json").lines
    stored = home.query(home.control, "SELECT id, actor, act, subject FROM audit"
                        " ORDER BY id")
    assert [(r["id"], r["actor"], r["act"], r["subject"]) for r in rows] == stored
    acts = [r["act"] for r in home.skep("audit", "ls", "--act", "agent",
                                        "--json").lines]
    assert acts and all(a.startswith("agent.") for a in acts), acts
    one, = home.skep("audit", "ls", "--subject", "t", "--json").lines
    assert one["act"] == "token.add" and one["actor"] != "skepd", one
    newest, = home.skep("audit", "ls", "-n", "1", "--json").lines
    assert newest["id"] == rows[-1]["id"]
    said = home.skep("audit", "ls", "--actor", "nobody-here")
    assert said.out == "" and "no such entries" in said.err
    page = h.call("GET", "/v1/audit?limit=1")
    assert page["items"][0]["id"] == rows[-1]["id"]
    older = h.call("GET", "/v1/audit?limit=1000&before=%s" % page["next"])
    assert [r["id"] for r in older["items"]] == [r["id"] for r in rows[-2::-1]]
    finish(h)


def test_the_audit_log_is_followed(home):
    h = Host(home).start()
    p = home.start("skep", "audit", "ls", "-f", "-n", "1", "--json",
                   stdout=subprocess.PIPE)
    assert json.loads(p.stdout.readline())["act"]
    home.skep("token", "add", "later")
    while json.loads(p.stdout.readline())["subject"] != "later":
        pass
    p.kill()
    p.wait()
    finish(h)


def test_sandboxes_of_active_runs_are_listed(home):
    h = Host(home).start()
    h.shell("a", "sleep 600", limits={"memory": "64M"})
    assert "no sandboxes" in home.skep("sandbox", "ls").err
    run = h.submit("a")
    h.until(run, "running")
    box, = home.skep("sandbox", "ls", "--json").lines
    assert box["run"] == run and box["agent"] == "a" and box["mode"] == "on", box
    assert h.call("GET", "/v1/sandboxes")["items"][0]["run"] == run
    assert home.skep("sandbox", "ls", "-q").out == run + "\n"
    assert home.skep("sandbox", "ls", "-a", "b", "--json").out == ""
    h.cancel(run)
    h.until(run)
    lib.eventually(lambda: home.skep("sandbox", "ls", "-q").out == "")
    finish(h)
