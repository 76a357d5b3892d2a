"""The dashboard from the side of HTTP: its files, logins, the shared stream, and
the routes that only it uses so far."""
import gzip
import http.client
import json
import os
import re
import socket
from urllib.parse import quote

import lib
import skepd_lib

CSRF = {"X-Skep-CSRF": "1"}


def start(home, **http_config):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    config = dict(skepd_lib.QUICK, http={"listen": "127.0.0.1:%d" % port,
                                         **http_config})
    h = skepd_lib.Host(home, config).start()
    h.port = port
    return h


def ask(h, method, path, body=None, headers=None):
    c = http.client.HTTPConnection("127.0.0.1", h.port, timeout=lib.HANG)
    try:
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        c.request(method, path, body, headers or {})
        r = c.getresponse()
        return r.status, dict(r.getheaders()), r.read()
    finally:
        c.close()


def sign_in(h, **want):
    code = h.call("POST", "/v1/logins/codes", want)
    status, headers, _ = ask(h, "POST", "/v1/logins", {"code": code["code"]})
    assert status == 201, status
    cookie = headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie, cookie
    return code, {"Cookie": cookie.split(";")[0]}


def test_a_code_signs_one_browser_in_once(home):
    h = start(home)
    code, cookie = sign_in(h, name="laptop")
    assert code["url"].endswith("/ui/#login=" + code["code"])
    assert ask(h, "POST", "/v1/logins", {"code": code["code"]})[0] == 401
    assert ask(h, "GET", "/v1/runs")[0] == 401
    assert ask(h, "GET", "/v1/runs", headers=cookie)[0] == 200
    me = json.loads(ask(h, "GET", "/v1/login", headers=cookie)[2])
    assert me["name"] == "laptop" and "admin" in me["scopes"], me
    h.kill()  # a login survives skepd
    h.start()
    assert ask(h, "GET", "/v1/runs", headers=cookie)[0] == 200
    assert code["code"] not in (home.dir / "skepd.log").read_text()
    home.skep("login", "end", me["id"])
    assert ask(h, "GET", "/v1/runs", headers=cookie)[0] == 401
    assert home.skep("login", "ls", "--json").lines == []
    h.down()


def test_a_change_with_a_cookie_needs_the_header(home):
    h = start(home)
    _, cookie = sign_in(h)
    body = {"driver": "script"}
    assert ask(h, "PUT", "/v1/agents/a", body, cookie)[0] == 403
    assert ask(h, "PUT", "/v1/agents/a", body, {**cookie, **CSRF})[0] == 200
    for bad in ({"Origin": "http://evil.example"}, {"Host": "evil.example"},
                {"Sec-Fetch-Site": "cross-site"}):
        assert ask(h, "PUT", "/v1/agents/b", body,
                   {**cookie, **CSRF, **bad})[0] == 403, bad
    # a cookie is no token, and a token is no cookie
    token = h.call("POST", "/v1/tokens", {"name": "t"})["token"]
    name, value = cookie["Cookie"].split("=")
    assert ask(h, "GET", "/v1/runs", headers={
        "Authorization": "Bearer " + value})[0] == 401
    assert ask(h, "GET", "/v1/runs", headers={
        "Cookie": "%s=%s" % (name, token)})[0] == 401
    h.down()


def test_a_login_has_its_scopes_and_ends_with_its_token(home):
    h = start(home)
    _, reader = sign_in(h, scopes=["read"])
    assert ask(h, "GET", "/v1/runs", headers=reader)[0] == 200
    assert ask(h, "POST", "/v1/runs", {"agent": "a"}, {**reader, **CSRF})[0] == 403
    token = h.call("POST", "/v1/tokens", {"name": "t", "scopes": ["read"]})
    status, headers, _ = ask(h, "POST", "/v1/logins", {"token": token["token"]})
    assert status == 201
    cookie = {"Cookie": headers["Set-Cookie"].split(";")[0]}
    assert ask(h, "GET", "/v1/runs", headers=cookie)[0] == 200
    home.skep("token", "rm", "t")
    assert ask(h, "GET", "/v1/runs", headers=cookie)[0] == 401
    assert ask(h, "DELETE", "/v1/login", headers={**reader, **CSRF})[0] == 200
    assert ask(h, "GET", "/v1/runs", headers=reader)[0] == 401
    for _ in range(300):  # the number of logins is limited
        h.call("POST", "/v1/logins/codes", {})
    assert len(h.call("GET", "/v1/logins")["items"]) == 256
    h.down()


def test_the_files_are_small_cached_and_strict(home):
    h = start(home)
    total = 0
    zipped = {"Accept-Encoding": "gzip"}
    status, headers, page = ask(h, "GET", "/ui/", headers=zipped)
    assert status == 200 and headers["Content-Encoding"] == "gzip"
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy, policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert ask(h, "GET", "/ui/", headers={
        **zipped, "If-None-Match": headers["ETag"]})[0] == 304
    names = os.listdir(skepd_lib.ROOT / "web")
    for name in names:
        status, headers, body = ask(h, "GET", "/ui/" + name, headers=zipped)
        if name.endswith((".js", ".css", ".html", ".svg")):
            assert status == 200, name
            assert gzip.decompress(body) == (
                skepd_lib.ROOT / "web" / name).read_bytes(), name
            total += len(body)
        else:
            assert status == 404, name
    assert total < 80000, total
    for bad in ("/ui/..%2fskep.json", "/ui/none.js", "/ui//", "/ui/a/b"):
        assert ask(h, "GET", bad, headers=zipped)[0] in (400, 401, 404), bad
    status, headers, _ = ask(h, "GET", "/ui")
    assert status == 308 and headers["Location"] == "ui/"
    assert b"<script>" not in gzip.decompress(page)
    for name in names:
        if name.endswith(".js"):
            text = (skepd_lib.ROOT / "web" / name).read_text()
            assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|"
                                 r"document\.write|eval\(|new Function", text), name
    h.down()


def test_without_a_port_there_is_no_dashboard(home):
    h = skepd_lib.Host(home).start()
    for path in ("/ui", "/ui/", "/ui/app.js"):
        try:
            h.call("GET", path)
            raise AssertionError("served: " + path)
        except skepd_lib.Refused as e:
            assert e.status == 404 and "http.listen" in e.body["detail"], e
    assert "http.listen" in home.refused(65, "ui")
    h.down()


def frames(response, until):
    """The events of a stream, until one satisfies `until`."""
    seen, lines = [], []
    while True:
        line = response.readline().decode().rstrip("\r\n")
        if line:
            lines.append(line)
            continue
        event = dict(part.split(": ", 1) for part in lines if ": " in part)
        lines = []
        if "data" in event:
            event["data"] = json.loads(event["data"])
            seen.append(event)
            if until(event):
                return seen


def stream(h, path, cookie):
    c = http.client.HTTPConnection("127.0.0.1", h.port, timeout=lib.HANG)
    c.request("GET", path, headers={**cookie, "Accept": "text/event-stream"})
    r = c.getresponse()
    assert r.status == 200, r.read()
    return c, r


def test_one_stream_has_the_host_log_and_runs_and_resumes(home):
    h = start(home)
    _, cookie = sign_in(h)
    h.script("a", {"event": {"type": "note", "text": "one"}},
             {"await_message": True}, {"event": {"type": "note", "text": "two"}})
    first, second = h.submit("a", session="x"), h.submit("a", session="y")
    for run in (first, second):
        h.until(run, "running")
    c, r = stream(h, "/v1/events?after=0&runs=%s;%s;run_none" % (first, second),
                  cookie)
    notes = {}

    def both(event):
        d = event["data"]
        if event["event"] == "event" and d["type"] == "note":
            notes[d["run"]] = event["id"]
        return len(notes) == 2

    seen = frames(r, both)
    kinds = {e["event"] for e in seen}
    assert {"run", "status", "event"} <= kinds, kinds
    host = [e for e in seen if e["event"] == "run"][-1]["id"]
    c.close()
    h.kill()
    h.start()
    for run in (first, second):
        h.call("POST", "/v1/runs/%s/messages" % run, {"text": "go"})
    c, r = stream(h, "/v1/events?after=%s&runs=%s@%s;%s@%s" % (
        host, first, notes[first], second, notes[second]), cookie)
    ends = set()

    def ended(event):
        if event["event"] == "end":
            ends.add(event["data"]["run"])
        return len(ends) == 2

    seen = frames(r, ended)
    texts = [e["data"]["body"].get("text") for e in seen
             if e["event"] == "event" and e["data"]["type"] == "note"]
    assert texts.count("two") == 2 and "one" not in texts, texts
    # the host log goes on after the runs have ended
    h.call("PUT", "/v1/agents/new", {"driver": "script"})
    frames(r, lambda e: e["event"] == "agent")
    c.close()
    h.down()


def test_the_log_of_a_run_is_what_the_command_prints(home):
    h = start(home)
    _, cookie = sign_in(h)
    h.script("a", {"event": {"type": "note", "text": "x" * 5000},
                   "repeat": 2500, "batch": 500},
             {"text": "some text " * 50, "chunks": 9},
             {"tool": {"name": "t", "input": {"a": 1}, "output": "o"}})
    run = h.submit("a")
    h.until(run)
    out, after, pages = b"", "", 0
    while after is not None:
        status, headers, body = ask(h, "GET", "/v1/runs/%s/log%s" % (
            run, "?after=" + after if after else ""), headers=cookie)
        assert status == 200
        out += body
        after = headers.get("Skep-Next")
        pages += 1
    assert pages > 2, pages
    assert headers["Content-Disposition"] == "attachment"
    assert out == home.skep("logs", run, "--json").raw
    h.down()


def test_files_of_a_workspace_are_read_changed_and_rolled_back(home):
    h = start(home)
    _, cookie = sign_in(h)
    h.call("PUT", "/v1/agents/a", {"driver": "script"})
    home.skep("namespace", "create", "a:w")
    base = "/v1/workspaces/a/w"
    both = {**cookie, **CSRF}
    hostile = "<img src=x onerror=alert(1)>.html"
    path = "d/" + hostile
    at = "/file?path=" + quote(path)
    data = os.urandom(70000)
    assert ask(h, "PUT", base + at, data, both)[0] == 200
    status, headers, got = ask(h, "GET", base + at, headers=cookie)
    assert status == 200 and got == data
    assert headers["Content-Type"] == "application/octet-stream"
    assert headers["Content-Disposition"] == "attachment"
    assert "sandbox" in headers["Content-Security-Policy"]
    items = json.loads(ask(h, "GET", base + "/files?path=d", headers=cookie)[2])
    assert [i["name"] for i in items["items"]] == [hostile]
    assert ask(h, "POST", base + "/snapshots", {"name": "s"}, both)[0] == 200
    assert ask(h, "PUT", base + at, b"text\n", both)[0] == 200
    changes = h.call("GET", base + "/diff?from=@s&patch=1")["items"]
    assert [c["path"] for c in changes] == [path] and changes[0]["text"]
    assert ask(h, "DELETE", base + "/file?path=d", headers=both)[0] == 200
    assert ask(h, "GET", base + at, headers=cookie)[0] == 404
    assert ask(h, "POST", base + "/rollback", {"name": "s"}, both)[0] == 200
    assert ask(h, "GET", base + at, headers=cookie)[2] == data
    usage = h.call("GET", base + "/usage")
    assert usage["files"] >= 2 and usage["bytes"] >= 70000, usage
    log = h.call("GET", base + "/changes")["items"]
    assert any(c["path"] == path for c in log), log
    home.skep("vfs", "fork", "a:w", "f")
    assert ask(h, "PUT", "/v1/workspaces/a/f/file?path=new", b"x", both)[0] == 200
    applied = json.loads(ask(h, "POST", "/v1/workspaces/a/f/apply", {}, both)[2])
    assert [c["path"] for c in applied["items"]] == ["new"], applied
    assert home.skep("vfs", "cat", "a:w", "new").raw == b"x"
    h.down()


def test_search_usage_versions_and_the_log_are_there(home):
    h = start(home)
    h.script("a", {"event": {"type": "note", "text": "a rare walrus"}},
             {"await_message": True})
    run = h.submit("a", session="s")
    h.until(run, "running")
    hits = lib.eventually(lambda: h.call(
        "GET", "/v1/search/a?text=walrus")["items"], what="a hit")
    assert hits[0]["session"] == "s" and "walrus" in hits[0]["snippet"]
    use = h.call("GET", "/v1/usage?runs=%s;run_none" % run)["items"]
    assert len(use) == 1 and use[0]["rss"] > 0 and use[0]["processes"] > 0, use
    h.call("PUT", "/v1/agents/a", {"driver": "script", "model": "other"})
    versions = h.call("GET", "/v1/agents/a/versions")["items"]
    assert [v["version"] for v in versions] == [2, 1], versions
    storage = h.call("GET", "/v1/agents/a/storage")
    assert storage["bytes"] > 0 and storage["backup_at"] is None
    home.skep("backup", "create", "-o", home.dir / "b.tar")
    assert h.call("GET", "/v1/agents/a/storage")["backup_at"]
    assert h.call("GET", "/v1/backups")["items"][0]["state"] == "done"
    h.down()
