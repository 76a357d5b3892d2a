"""skep init, credential and config set: the way from an empty home to an answer."""
import json
import os
import pty
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import lib


class Model(BaseHTTPRequestHandler):
    """A local server of models: its list, and one streamed answer."""
    seen = []

    def log_message(self, *args):
        pass

    def do_GET(self):
        self.reply("application/json", json.dumps(
            {"data": [{"id": "tiny-1"}, {"id": "tiny-2"}]}).encode())

    def do_POST(self):
        n = int(self.headers["Content-Length"])
        Model.seen.append((self.headers.get("Authorization"),
                           json.loads(self.rfile.read(n))))
        chunks = [{"choices": [{"delta": {"content": w}}]}
                  for w in ("Hello ", "from ", "tiny")]
        chunks.append({"choices": [{"delta": {}, "finish_reason": "stop"}]})
        body = "".join("data: %s\n\n" % json.dumps(c) for c in chunks)
        self.reply("text/event-stream", (body + "data: [DONE]\n\n").encode())

    def reply(self, kind, body):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def serve(home):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    home.undo.append(server.shutdown)
    return server.server_address[1]


def test_a_local_server_is_found_tested_and_answers(home):
    port = serve(home)
    work = home.dir / "work"
    work.mkdir()
    env = {"SKEP_INIT_PORTS": str(port)}
    r = home.skep("init", "--with", "local", "--path", ".", "--no-dashboard",
                  cwd=work, env=env)
    assert "agent helper: added" in r.out and "testing agent helper" in r.out
    steps = [line.strip() for line in r.out.splitlines()[-3:]]
    assert [s.split()[:2] for s in steps] == [
        ["skep", "up"], ["skep", "run"], ["skep", "chat"]], r.out
    shown = home.skep("agent", "show", "helper", "--json").json
    assert shown["model"] == "tiny-1" and shown["spec"]["path"] == str(work)
    home.skep("up")
    assert "Hello from tiny" in home.skep("run", "helper", "hi", "--wait").out
    home.skep("down")


def test_no_local_server_is_an_error_that_says_what_to_do(home):
    error = home.refused(66, "init", "--with", "local",
                         env={"SKEP_INIT_PORTS": "1"})
    assert "--endpoint URL" in error, error


def test_init_again_keeps_everything(home):
    port = serve(home)
    key = home.dir / "key"
    key.write_text("sekrit-55\n")
    args = ("--with", "endpoint", "--endpoint", "http://127.0.0.1:%d/v1" % port,
            "--model", "tiny-2", "--key-file", key, "--dashboard")
    first = home.skep("init", *args, "--json").lines[-1]
    assert first["tested"] and first["credential"] == "helper", first
    assert first["listen"].startswith("127.0.0.1:"), first
    assert [n.split()[1] for n in first["next"]] == ["up", "run", "ui"], first
    before = home.picture()
    stored = home.path / "credentials" / "helper"
    assert stored.read_text() == "sekrit-55\n"
    assert oct(stored.stat().st_mode & 0o777) == "0o600"
    key.write_text("another\n")
    again = home.skep("init", *args).out
    assert "exists and is kept" in again and "is kept" in again, again
    after = home.picture()
    for name in ("home/credentials/helper", "home/skep.json"):
        assert after[name] == before[name], name
    home.skep("up")
    home.skep("run", "helper", "hi", "--wait")
    home.skep("down")
    assert Model.seen[-1][0] == "Bearer sekrit-55", Model.seen[-1]


def test_a_missing_key_is_named(home):
    error = home.refused(64, "init", "--with", "openai", "--yes",
                         env={"OPENAI_API_KEY": ""})
    assert "empty" in error or "OPENAI_API_KEY" in error, error
    env = dict(home.env)
    env.pop("OPENAI_API_KEY", None)
    p = subprocess.run([home.bin / "skep", "init", "--with", "openai", "--yes"],
                       env=env, stdin=subprocess.DEVNULL, capture_output=True,
                       text=True, timeout=lib.HANG)
    assert p.returncode == 64 and "--key-env VARIABLE" in p.stderr, p
    assert home.skep("agent", "ls", "--json", code=None).out == ""


def test_a_failed_test_says_so_and_keeps_the_agent(home):
    r = home.skep("init", "--with", "endpoint", "--endpoint",
                  "http://127.0.0.1:1/v1", "--model", "m", "--no-dashboard",
                  code=1)
    assert "failed the test" in r.err, r.err
    assert home.skep("agent", "ls", "--quiet").out.split() == ["helper"]


def on_terminal(home, answers, *args, env=None):
    """Runs skep on a terminal and answers its questions; what it printed."""
    main, sub = pty.openpty()
    p = subprocess.Popen([home.bin / "skep", *args], stdin=sub, stdout=sub,
                         stderr=sub, env=dict(home.env, **(env or {})),
                         cwd=home.dir, close_fds=True, start_new_session=True)
    os.close(sub)
    said = b""
    todo = list(answers)

    def read():
        try:
            return os.read(main, 4096)
        except OSError:
            return b""
    while True:
        got = read()
        if not got:
            break
        said += got
        if todo and todo[0][0] in said[-400:]:
            os.write(main, todo.pop(0)[1] + b"\n")
    os.close(main)
    return p.wait(lib.HANG), said.decode(), todo


def test_on_a_terminal_it_asks_and_hides_the_key(home):
    port = serve(home)
    code, said, left = on_terminal(home, (
        (b"home, the directory", b""), (b"number [1]:", b""),
        (b"name of the agent [helper]:", b"tiny"),
        (b"directory in which", b"-"), (b"dashboard in the browser", b"no")),
        "init", env={"SKEP_INIT_PORTS": str(port)})
    assert code == 0 and not left, said
    assert "home, the directory" in said or home.path.exists()
    assert "agent tiny: added" in said, said
    code, said, left = on_terminal(
        home, ((b"secret (hidden):", b"sekrit-66"),), "credential", "add", "k")
    assert code == 0 and not left and "sekrit-66" not in said, said
    assert (home.path / "credentials" / "k").read_text() == "sekrit-66\n"


def test_credentials_are_added_listed_and_deleted(home):
    home.skep("credential", "add", "a", input="one\n")
    home.skep("credential", "add", "b", "--key-env", "KEY", env={"KEY": "two"})
    rows = home.skep("credential", "ls", "--json").lines
    assert [(r["name"], r["mode"]) for r in rows] == [("a", "0600"), ("b", "0600")]
    assert "one" not in home.skep("credential", "ls").out
    assert "unchanged" in home.skep("credential", "add", "a", input="one").out
    error = home.refused(65, "credential", "add", "a", input="three")
    assert "--replace" in error, error
    home.skep("credential", "add", "a", "--replace", input="three")
    assert (home.path / "credentials" / "a").read_text() == "three\n"
    home.skep("credential", "rm", "a", "--yes")
    assert [r["name"] for r in home.skep("credential", "ls", "--json").lines] == ["b"]
    assert "no credential 'a'" in home.refused(66, "credential", "rm", "a", "--yes")
    home.refused(64, "credential", "add", "../x", input="y")
    assert "empty" in home.refused(64, "credential", "add", "c", input="\n")


def test_config_set_checks_shows_and_replaces_atomically(home):
    file = home.path / "skep.json"
    said = home.skep("config", "set", "run.grace", "10s").out
    assert '+    "grace": "10s"' in said, said
    file.write_text('{"$schema": "s", "run": {"grace": "10s", "max": 7}}')
    home.skep("config", "set", "log.level", "debug")
    home.skep("config", "set", "run.max", "9")
    assert json.loads(file.read_text()) == {
        "$schema": "s", "run": {"grace": "10s", "max": 9}, "log": {"level": "debug"}}
    assert oct(file.stat().st_mode & 0o777) == "0o600"
    before = file.read_bytes()
    for key, value, code, why in (
            ("run.mx", "1", 64, "did you mean 'run.max'?"),
            ("run", "1", 64, "has no key"),
            ("run.max", "0", 78, "between 1 and 30000"),
            ("run.max", "many", 78, "whole number"),
            ("log.level", "loud", 78, "debug|info|warn|error"),
            ("http.listen", "nowhere", 78, "HOST:PORT"),
            ("backup.zstd", "maybe", 78, "true or false")):
        error = home.refused(code, "config", "set", key, value)
        assert why in error, error
        assert file.read_bytes() == before, key
    assert "unchanged" in home.skep("config", "set", "run.max", "9").out
    r = home.skep("config", "set", "backup.zstd", "false", "--json").json
    assert r["changed"] and '"zstd": false' in r["diff"]
    home.skep("config", "set", "http.listen", "")
    file.write_text("{ broken")
    assert "line 1" in home.refused(78, "config", "set", "run.max", "9")
    assert file.read_text() == "{ broken"
