"""skepd and its HTTP interface, for tests."""
import http.client
import json
import socket

import lib


def free_port():
    """A TCP port of the loopback interface that no program uses."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=lib.HANG):
        super().__init__("localhost", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Events:
    """An event stream: iterates over (event, id, data), until its end or the
    connection's."""

    def __init__(self, connection, response):
        self.connection, self.response = connection, response

    def __iter__(self):
        event, last, data = "message", None, []
        while True:
            line = self.response.readline()
            if not line:
                return
            line = line.decode().rstrip("\n")
            if line == "":
                if data:
                    text = "\n".join(data)
                    yield event, last, (json.loads(text) if text[0] in "[{"
                                        and text != "[DONE]" else text)
                event, data = "message", []
            elif line.startswith("data: "):
                data.append(line[6:])
            elif line.startswith("event: "):
                event = line[7:]
            elif line.startswith("id: "):
                last = line[4:]

    def close(self):
        self.connection.close()
        self.response.close()


class Skepd:
    def __init__(self, home, config=None, env=None):
        self.home = home
        self.env = env
        home.path.mkdir(mode=0o700, exist_ok=True)
        if config:
            (home.path / "skep.json").write_text(json.dumps(config))
        self.socket = home.path / "run" / "skep.sock"
        self.start()

    def start(self):
        self.proc = self.home.start(self.home.bin / "skepd", "--log",
                                    self.home.dir / "skepd.log", env=self.env)
        lib.eventually(self.is_up, what="skepd")

    def is_up(self):
        assert self.proc.poll() is None, self.log()
        try:
            return self.get("/v1/health")["pid"] == self.proc.pid
        except OSError:
            return False

    def log(self):
        return (self.home.dir / "skepd.log").read_text()

    def kill(self):
        self.proc.kill()
        self.proc.wait()

    def stop(self):
        self.proc.terminate()
        assert self.proc.wait(lib.HANG) == 0, self.log()

    # -- requests

    def ask(self, method, path, body=None, headers=None):
        """Status and JSON (or text) of the answer."""
        c = UnixConnection(self.socket)
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
        c.request(method, path, body=body, headers=headers or {})
        r = c.getresponse()
        data = r.read()
        kind = r.headers.get("Content-Type", "")
        c.close()
        return r.status, json.loads(data) if "json" in kind else data.decode()

    def get(self, path):
        status, answer = self.ask("GET", path)
        assert status == 200, (path, status, answer)
        return answer

    def post(self, path, body=None, status=200):
        got, answer = self.ask("POST", path, body if body is not None else {})
        assert got == status, (path, got, answer)
        return answer

    def follow(self, path, after=None):
        c = UnixConnection(self.socket)
        headers = {"Accept": "text/event-stream"}
        if after:
            headers["Last-Event-ID"] = after
        c.request("GET", path, headers=headers)
        r = c.getresponse()
        assert r.status == 200, (r.status, r.read())
        return Events(c, r)

    # -- agents and runs

    def agent(self, name="ada", **definition):
        definition.setdefault("driver", "script")
        status, row = self.ask("PUT", "/v1/agents/" + name, definition)
        assert status == 200, row
        return row

    def run(self, *steps, agent="ada", **more):
        body = dict(more, agent=agent, prompt=json.dumps(steps))
        return self.post("/v1/runs", body, 201)["id"]

    def wait(self, run, state="succeeded", seconds=lib.HANG):
        def over():
            row = self.get("/v1/runs/" + run)
            return row if row["ended_at"] else None
        row = lib.eventually(over, seconds, what="the end of " + run)
        assert row["state"] == state, row
        return row


class Reader:
    """Puts together what a follower is told; fails on loss and doubles."""

    def __init__(self):
        self.events, self.parts, self.last = [], {}, None
        self.status, self.over = [], False

    def take(self, event, cursor, data):
        if event == "event":
            if self.events:
                assert data["seq"] > self.events[-1]["seq"], data
            self.events.append(data)
        elif event == "part":
            part = self.parts.setdefault((data["seq"], data["idx"]),
                                         {"text": "", "rev": 0})
            assert data["at"] == len(part["text"]), (data, part)
            assert data["rev"] > part["rev"], (data, part)
            part["text"] += data["text"]
            part["state"], part["rev"] = data["state"], data["rev"]
        elif event == "status":
            self.status.append(data)
        elif event == "end":
            self.over = True
        self.last = cursor or self.last

    def read(self, stream, at_most=None):
        """Until the end, or so many frames."""
        for event, cursor, data in stream:
            self.take(event, cursor, data)
            at_most = at_most - 1 if at_most else at_most
            if at_most == 0:
                break
        return self

    def texts(self):
        return {k: (p["text"], p["state"]) for k, p in self.parts.items()}
