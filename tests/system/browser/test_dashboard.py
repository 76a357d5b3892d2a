"""The dashboard in a real Chromium, against a real skepd with real runs. The
scripts are in tests/browser."""
import json
import pathlib
import shutil
import socket
import sqlite3
import subprocess
from urllib.parse import quote

import channel_lib
import lib
import npm_lib
import skepd_lib

SCRIPTS = skepd_lib.ROOT / "tests" / "browser"
MARKER = "«mark»"
HOSTILE = (MARKER + "<script>hit()</script><img src=x onerror=hit()>"
           "<svg onload=hit()>[x](javascript:hit())<iframe srcdoc='<script>"
           "parent.hit()</script>'></iframe>")


def start(home, **more):
    chromium = shutil.which("chromium")
    if not chromium:
        lib.skip("chromium is needed")
    packages = npm_lib.packages("playwright-core")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    config = dict(skepd_lib.QUICK, http={"listen": "127.0.0.1:%d" % port, **more})
    h = skepd_lib.Host(home, config).start()
    h.port, h.packages, h.chromium = port, str(packages), chromium
    return h


def command(h, script, **args):
    args.setdefault("url", h.call("POST", "/v1/logins/codes", {})["url"])
    return ["node", str(SCRIPTS / script), json.dumps(dict(
        args, packages=h.packages, chromium=h.chromium,
        origin="http://127.0.0.1:%d/" % h.port))]


def browse(h, script, **args):
    r = subprocess.run(command(h, script, **args), stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, timeout=2 * lib.HANG)
    assert r.returncode == 0, r.stdout.decode("utf-8", "replace")
    return r.stdout.decode()


def open_approval(h, title):
    return lib.eventually(lambda: [
        a["id"] for a in h.call("GET", "/v1/approvals?state=open")["items"]
        if a["title"] == title], what=title)[0]


def test_every_page_and_its_buttons_work(home):
    h = start(home)
    token = h.call("POST", "/v1/tokens", {"name": "eye"})["token"]
    h.script("asks", {"ask": {"key": "k", "title": "May I?"}})
    h.script("again", {"ask": {"key": "k", "title": "And this?"}})
    h.script("other", {"ask": {"key": "k", "title": "Elsewhere?"}})
    h.script("waits", {"sleep_ms": 900000})
    h.script("long", {"event": {"type": "note", "text": "begun"}},
             {"await_message": True}, {"sleep_ms": 900000})
    h.agent("ada")
    run = h.submit("ada", json.dumps([
        {"text": "first words, then a needle in the hay"},
        {"tool": {"name": "look", "input": {"a": 1},
                  "output": "the tool said this"}},
        {"usage": {"model": "m", "input_tokens": 5, "output_tokens": 7,
                   "cost_micros": 1200}}]), session="talk")
    h.until(run)
    for agent in ("asks", "again", "other"):
        h.submit(agent)
    for i in range(2):
        h.submit("waits", session="s%d" % i, tags=["bulk"])
    long = h.submit("long")
    home.skep("namespace", "create", "ada:w")
    home.skep("vfs", "put", "ada:w", "hello.txt", input="hello from a file\n")
    home.skep("snapshot", "create", "ada:w", "one")
    channel_lib.webhook(h, "hook", "http://127.0.0.1:9/none", attempts=1)
    h.call("PUT", "/v1/channels/hook/bindings", {"agent": "ada"})
    h.call("POST", "/v1/channels/hook/messages", {
        "conversation": "c", "text": "[]", "id": "1"})
    dead = h.call("POST", "/v1/deliveries", {"channel": "hook", "conversation": "c",
                                             "body": {"text": "never"}})["id"]
    for title in ("May I?", "And this?"):
        open_approval(h, title)
    lib.eventually(lambda: h.call("GET", "/v1/deliveries/" + dead)["state"]
                   in ("dead", "unknown"), what="a dead delivery")
    log = home.dir / "log.jsonl"
    out = browse(h, "pages.mjs", run=run, long=long, agent="ada", session="talk",
                 token=token, log=str(log), elsewhere=open_approval(h, "Elsewhere?"))
    assert "all pages" in out, out
    assert log.read_bytes() == home.skep("logs", run, "--json").raw
    notes = [a["note"] for a in h.call("GET", "/v1/approvals?state=allowed")["items"]]
    assert "be careful" in notes, notes
    h.down()


def test_the_shared_stream_continues_after_skepd_was_killed(home):
    h = start(home)
    h.script("a", {"event": {"type": "note", "text": "before the restart"}},
             {"await_message": True},
             {"event": {"type": "note", "text": "after the restart"}})
    run = h.submit("a")
    h.until(run, "running")
    p = home.start(*command(h, "resume.mjs", run=run), stdin=subprocess.PIPE,
                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    line = p.stdout.readline()
    assert line == b"ready\n", line + p.stdout.read()
    h.kill()
    h.start()
    out = p.communicate(b"go\n", timeout=2 * lib.HANG)[0]
    assert p.returncode == 0 and b"resumed" in out, out.decode()
    h.down()


def test_half_a_million_events_and_large_outputs_do_not_freeze_it(home):
    events = 500000
    h = start(home)
    h.script("huge", {"event": {"type": "note", "text": "event number {n}"},
                      "repeat": 1})
    h.agent("out")
    huge = h.submit("huge")
    h.until(huge)
    fill_transcript(home, "huge", events)
    output = h.submit("out", json.dumps([{"tool": {
        "name": "cat", "input": {}, "output": "x" * 100 + "\n"}}]))
    h.until(output)
    grow_output(home, "out", 10 << 20)
    out = browse(h, "long.mjs", huge=huge, output=output, events=events)
    times = json.loads(out.splitlines()[-1])
    print(times)
    h.down()


def writable(path):
    db = sqlite3.connect(path, timeout=lib.HANG)
    db.isolation_level = None
    return db


def fill_transcript(home, agent, events):
    """Events of the run, as its worker would have written them."""
    db = writable(home.agent_db(agent))
    columns = [c[1] for c in db.execute("PRAGMA table_info(event)")]
    pos, = db.execute("SELECT max(pos) FROM event WHERE body LIKE '%event number%'"
                      ).fetchone()
    names = ", ".join(columns)
    values = ", ".join({"pos": "?1 + n", "body": "'{\"text\":\"event number ' || n ||"
                        " '\"}'"}.get(c, c) for c in columns)
    db.execute("BEGIN IMMEDIATE")
    db.execute("DELETE FROM event WHERE pos > ?", (pos,))
    db.execute("WITH RECURSIVE k(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM k"
               " WHERE n < ?2) INSERT INTO event (%s) SELECT %s FROM event, k"
               " WHERE pos = ?1" % (names, values), (pos, events - (pos & 0xffffffff)))
    db.execute("COMMIT")
    db.close()
    db = writable(home.control)
    db.execute("UPDATE run SET last_seq = ? WHERE agent = ?", (events, agent))
    db.close()


def grow_output(home, agent, size):
    db = writable(home.agent_db(agent))
    db.execute("UPDATE part SET output = json_quote(?) WHERE output IS NOT NULL",
               ("0123456789abcdef\n" * (size // 17),))
    db.close()


def test_hostile_text_stays_text_everywhere(home):
    h = start(home)
    h.agent("ada", prompt=HOSTILE)
    run = h.submit("ada", json.dumps([
        {"event": {"type": "message", "role": "assistant", "text": HOSTILE}},
        {"event": {"type": "message", "role": HOSTILE, "text": HOSTILE}},
        {"event": {"type": "note", "text": HOSTILE}},
        {"event": {"type": "error", "text": HOSTILE}},
        {"event": {"type": "stderr", "text": HOSTILE}},
        {"event": {"type": "output", "text": HOSTILE}},
        {"event": {"type": "plan", "entries": [HOSTILE]}},
        {"text": HOSTILE, "chunks": 2},
        {"tool": {"name": HOSTILE, "input": {HOSTILE: HOSTILE}, "output": HOSTILE}},
        {"usage": {"model": HOSTILE, "input_tokens": 1, "output_tokens": 1}},
        {"ask": {"key": HOSTILE[:60], "title": HOSTILE}}]),
        session=HOSTILE[:100], tags=[HOSTILE[:100]])
    approval = open_approval(h, HOSTILE)
    h.call("POST", "/v1/runs/%s/note" % run, {"text": HOSTILE})
    home.skep("namespace", "create", "ada:w")
    name = (MARKER + "<img src=x onerror=hit()>.html")
    home.skep("vfs", "put", "ada:w", name, input=HOSTILE)
    channel_lib.webhook(h, "hook", "http://127.0.0.1:9/none", attempts=1)
    h.call("PUT", "/v1/channels/hook/bindings", {"agent": "ada"})
    h.call("POST", "/v1/channels/hook/messages", {
        "conversation": HOSTILE[:100], "sender": HOSTILE[:100], "text": HOSTILE,
        "title": HOSTILE, "id": HOSTILE[:90]})
    d = h.call("POST", "/v1/deliveries", {"channel": "hook", "conversation":
                                          HOSTILE[:100], "body": {"text": HOSTILE}})
    home.skep("audit", "ls")
    session = "#/sessions/ada/" + quote(HOSTILE[:100], safe="")
    file = quote(name, safe="")
    out = browse(h, "hostile.mjs", marker=MARKER, pages=[
        "#/now", "#/run/" + run, "#/run/%s/timeline" % run, "#/run/%s/cost" % run,
        "#/run/%s/details" % run, "#/approvals", "#/approvals/" + approval,
        "#/sessions/ada", session, "#/sessions/ada?view=tree",
        "#/workspaces/ada/w", "#/workspaces/ada/w/files?file=1&path=" + file,
        "#/workspaces/ada/w/history", "#/channels/deliveries",
        "#/channels/deliveries/" + d["id"], "#/channels/inbound",
        "#/channels/conversations", "#/agents/ada"])
    assert "only text" in out, out
    h.down()


def test_it_works_behind_nginx_with_a_path_prefix(home):
    nginx = shutil.which("nginx") or "/usr/sbin/nginx"
    if not pathlib.Path(nginx).exists():
        lib.skip("nginx is needed")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    public = "http://127.0.0.1:%d/tools/skep" % port
    h = start(home, url=public)
    text = (skepd_lib.ROOT / "docs" / "DASHBOARD.md").read_text()
    location = text.split("```nginx\n")[1].split("```")[0]
    assert "location /skep/" in location and "127.0.0.1:7411" in location
    location = location.replace("/skep/", "/tools/skep/").replace(
        "127.0.0.1:7411", "127.0.0.1:%d" % h.port)
    conf = home.dir / "nginx.conf"
    conf.write_text("""daemon off; pid {d}/nginx.pid; error_log stderr;
events {{ }}
http {{ access_log off; client_body_temp_path {d}/b; proxy_temp_path {d}/p;
fastcgi_temp_path {d}/f; uwsgi_temp_path {d}/u; scgi_temp_path {d}/s;
server {{ listen 127.0.0.1:{port}; {location} }} }}
""".format(d=home.dir, port=port, location=location))
    proxy = home.start(nginx, "-e", "stderr", "-c", str(conf))
    lib.eventually(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0,
                   what="nginx")
    h.script("a", {"event": {"type": "note", "text": "before the restart"}},
             {"await_message": True},
             {"event": {"type": "note", "text": "after the restart"}})
    run = h.submit("a")
    h.until(run, "running")
    url = h.call("POST", "/v1/logins/codes", {})["url"]
    assert url.startswith(public + "/ui/#login="), url
    p = home.start(*command(h, "resume.mjs", run=run, url=url),
                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                   stderr=subprocess.STDOUT)
    line = p.stdout.readline()
    assert line == b"ready\n", line + p.stdout.read()
    h.kill()
    h.start()
    out = p.communicate(b"go\n", timeout=2 * lib.HANG)[0]
    assert p.returncode == 0 and b"resumed" in out, out.decode()
    proxy.terminate()
    proxy.wait()
    h.down()
