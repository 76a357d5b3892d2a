"""http/ over real sockets: what clients see, and that nothing is left behind.
The server is tests/support/http_test_server.c."""
import functools
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

import lib

TOKEN = "secret"
T = unittest.TestCase()
T.maxDiff = None


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=30)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Server:
    """One http_test_server in a directory of its own."""

    def __init__(self, home):
        self.home = home
        self.bin = home.bin
        self.dir = tempfile.mkdtemp(dir=home.dir)
        self.path = os.path.join(self.dir, "s.sock")
        self.start()

    def start(self):
        self.proc = subprocess.Popen(
            [self.bin / "http_test_server", self.path,
             "127.0.0.1:0", TOKEN],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.port = int(self.proc.stdout.readline().split()[1])

    def stop(self):
        """Ends it; a leak or a fault makes it say something and fail."""
        self.proc.send_signal(signal.SIGTERM)
        _, err = self.proc.communicate(timeout=lib.HANG)
        shutil.rmtree(self.dir)
        return self.proc.returncode, err

    def fds(self):
        return len(os.listdir(f"/proc/{self.proc.pid}/fd"))

    def cpu(self):
        with open(f"/proc/{self.proc.pid}/stat") as f:
            parts = f.read().rsplit(")", 1)[1].split()
        return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")

    def ask(self, method, path, body=None, headers=None):
        c = UnixConnection(self.path)
        c.request(method, path, body=body, headers=headers or {})
        r = c.getresponse()
        data = r.read()
        c.close()
        return r.status, data

    def metric(self, name):
        for line in self.ask("GET", "/metrics")[1].decode().splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        return 0.0

    def raw(self):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(30)
        s.connect(self.path)
        return s

    def stream(self, path, after=None):
        s = self.raw()
        resume = f"Last-Event-ID: {after}\r\n" if after else ""
        s.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n{resume}\r\n".encode())
        return s


def until(check, seconds=lib.HANG):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if check():
            return True
        time.sleep(0.02)
    return False


def numbers(data):
    """The ids of the whole events in a piece of a stream."""
    whole = data.rsplit(b"\n\n", 1)[0] if b"\n\n" in data else b""
    return [int(line[4:]) for line in whole.splitlines()
            if line.startswith(b"id: ")]


def served(test):
    """The test gets a server; a leak or a fault makes that say something."""
    @functools.wraps(test)
    def run(home):
        srv = Server(home)
        test(srv)
        code, err = srv.stop()
        bad = [line for line in err.splitlines() if "level=warn" not in line]
        T.assertEqual((code, bad), (0, []))
    return run


def curl(*args):
    return subprocess.run(
        ["curl", "-sS", "--max-time", "10", *args],
        capture_output=True, text=True)


@served
def test_curl_speaks_with_it_on_both_sockets(srv):
    unix = curl("--unix-socket", srv.path, "http://x/v1/hello")
    T.assertEqual(json.loads(unix.stdout)["hello"],
                     f"uid:{os.getuid()}")
    url = f"http://127.0.0.1:{srv.port}/v1/hello"
    tcp = curl("-H", f"Authorization: Bearer {TOKEN}", url)
    T.assertEqual(json.loads(tcp.stdout)["hello"], "tester")


@served
def test_the_socket_file_is_for_its_owner_only_and_goes_away(srv):
    T.assertEqual(os.stat(srv.path).st_mode & 0o777, 0o600)
    other = Server(srv.home)
    path = other.path
    other.proc.send_signal(signal.SIGTERM)
    other.proc.communicate(timeout=120)
    T.assertFalse(os.path.exists(path))
    shutil.rmtree(other.dir)


@served
def test_no_credential_is_refused_everywhere_on_tcp(srv):
    base = f"http://127.0.0.1:{srv.port}"
    doc = json.loads(curl(f"{base}/openapi.json").stdout)
    for path, methods in doc["paths"].items():
        for method, op in methods.items():
            if not op["security"]:
                continue
            for extra in ([], ["-H", "Authorization: Bearer wrong"]):
                r = curl("-X", method.upper(), "-o", "/dev/null",
                              "-w", "%{http_code}", *extra, base + path)
                T.assertEqual(r.stdout, "401", (method, path))


@served
def test_a_browser_elsewhere_is_kept_out(srv):
    base = f"http://127.0.0.1:{srv.port}/v1/hello"
    auth = ["-H", f"Authorization: Bearer {TOKEN}", "-o", "/dev/null",
            "-w", "%{http_code}"]
    T.assertEqual(curl(*auth, "-H", "Host: evil.example",
                               base).stdout, "403")
    T.assertEqual(curl(*auth, "-H", "Origin: http://evil.example",
                               base).stdout, "403")


@served
def test_errors_are_problem_documents(srv):
    status, body = srv.ask("POST", "/v1/json", body="{nonsense")
    problem = json.loads(body)
    T.assertEqual((status, problem["status"], problem["code"]),
                     (422, 422, "INVALID"))
    T.assertIn("line 1", problem["detail"])


@served
def test_bodies_arrive_whole_and_large_ones_are_refused(srv):
    blob = os.urandom(1 << 20)
    T.assertEqual(srv.ask("POST", "/v1/echo", body=blob),
                     (200, blob))
    chunks = iter([blob[:100], blob[100:5000], blob[5000:]])
    T.assertEqual(srv.ask("POST", "/v1/echo", body=chunks),
                     (200, blob))
    # curl sends Expect: 100-continue for this one
    f = os.path.join(srv.dir, "big")
    with open(f, "wb") as out:
        out.write(b"x" * ((1 << 20) + 1))
    r = curl("--unix-socket", srv.path, "--data-binary",
                  "@" + f, "-w", "%{http_code}", "-o", "/dev/null",
                  "http://x/v1/echo")
    T.assertEqual(r.stdout, "413")


@served
def test_a_late_answer_and_a_client_that_did_not_wait(srv):
    T.assertEqual(srv.ask("GET", "/v1/later?ms=50"),
                     (200, b'{"late":true}'))
    for _ in range(50):
        s = srv.raw()
        s.sendall(b"GET /v1/later?ms=100 HTTP/1.1\r\nHost: x\r\n\r\n")
        s.close()
    time.sleep(0.3)
    T.assertEqual(srv.ask("GET", "/v1/hello")[0], 200)


@served
def test_a_follower_that_talks_or_half_closes_does_not_spin_the_loop(srv):
    s = srv.stream("/v1/numbers?count=100000&ms=100")
    s.recv(100)
    s.sendall(b"more")
    waits = srv.stream("/v1/later?ms=1500")
    waits.sendall(b"more")
    before = srv.cpu()
    time.sleep(1)
    T.assertLess(srv.cpu() - before, 0.3)
    s.shutdown(socket.SHUT_WR)
    T.assertTrue(until(
        lambda: srv.metric("skep_http_streams") == 0))
    s.close()
    waits.close()


@served
def test_a_stream_resumes_where_it_was_left(srv):
    s = srv.stream("/v1/numbers?count=50&ms=2")
    data = b""
    while len(numbers(data)) < 20:
        data += s.recv(4096)
    s.close()
    seen = numbers(data)
    s = srv.stream("/v1/numbers?count=50&ms=2", after=seen[-1])
    data = b""
    while b"0\r\n\r\n" not in data:
        data += s.recv(4096)
    s.close()
    T.assertEqual(seen + numbers(data), list(range(1, 51)))


@served
def test_silent_streams_have_a_heartbeat(srv):
    s = srv.stream("/v1/numbers?count=1&ms=60000")
    data = b""
    while data.count(b": beat\n\n") < 2:
        data += s.recv(4096)
    s.close()


@served
def test_a_slow_reader_is_dropped_resumes_and_delays_nobody(srv):
    slow = srv.stream(
        "/v1/numbers?count=1000000&ms=2&pad=4000&burst=4&push=1")
    quick = srv.stream("/v1/numbers?count=300&ms=2")
    data = b""
    while b"0\r\n\r\n" not in data:
        data += quick.recv(65536)
    quick.close()
    times = [json.loads(line[6:])["at"] / 1e9
             for line in data.splitlines() if line.startswith(b"data: ")]
    gaps = [b - a for a, b in zip(times, times[1:])]
    T.assertLess(max(gaps), 1.5)
    T.assertTrue(until(lambda: srv.metric(
        "skep_http_streams_dropped_total") == 1))
    data = b""
    try:
        while piece := slow.recv(65536):
            data += piece
    except ConnectionResetError:
        pass
    slow.close()
    last = numbers(data)[-1]
    again = srv.stream(f"/v1/numbers?count={last + 5}&ms=1", after=last)
    data = b""
    while b"0\r\n\r\n" not in data:
        data += again.recv(4096)
    again.close()
    T.assertEqual(numbers(data), list(range(last + 1, last + 6)))


@served
def test_a_reader_that_stalls_is_dropped_though_rows_wait_for_it(srv):
    s = srv.stream(
        "/v1/numbers?count=1000000&ms=0&pad=4000&burst=1000000")
    T.assertTrue(until(lambda: srv.metric(
        "skep_http_streams_dropped_total") == 1))
    s.close()


@served
def test_a_producer_that_waits_for_room_loses_nothing(srv):
    s = srv.stream("/v1/numbers?count=5000&ms=0&pad=1000&burst=5000")
    data = b""
    while b"0\r\n\r\n" not in data[-16:]:
        data += s.recv(1 << 20)
    s.close()
    T.assertEqual(numbers(data), list(range(1, 5001)))
    T.assertEqual(
        srv.metric("skep_http_streams_dropped_total"), 0)


@served
def test_what_the_socket_does_not_take_at_once_follows(srv):
    s = srv.stream("/v1/numbers?count=1&ms=1&pad=900000&share=1")
    data = b""
    while b"0\r\n\r\n" not in data[-16:]:
        data += s.recv(1 << 20)
    s.close()
    T.assertEqual((numbers(data), data.count(b" ") > 900000), ([1], True))


@served
def test_a_client_can_read_to_the_end_of_the_last_answer(srv):
    s = srv.raw()
    s.sendall(b"GET /v1/hello HTTP/1.1\r\nHost: x\r\n"
              b"Connection: close\r\n\r\n")
    data = b""
    while piece := s.recv(1 << 16):
        data += piece
    T.assertIn(b'"hello"', data)
    s.sendall(b"the server still reads")  # a closed socket gives EPIPE
    s.close()


@served
def test_a_thousand_readers_come_and_go_and_nothing_is_left(srv):
    srv.ask("GET", "/v1/hello")
    T.assertTrue(until(
        lambda: srv.metric("skep_http_connections") == 1))
    before = srv.fds()
    for i in range(1000):
        s = srv.stream("/v1/numbers?count=1000&ms=1&burst=3")
        if i % 3:
            s.recv(200)
        s.close()
    T.assertTrue(until(
        lambda: srv.metric("skep_http_connections") == 1))
    T.assertEqual(srv.metric("skep_http_streams"), 0)
    T.assertTrue(until(lambda: srv.fds() <= before))


@served
def test_many_at_once(srv):
    failed = []

    def worker():
        try:
            c = UnixConnection(srv.path)
            for _ in range(50):
                c.request("GET", "/v1/params/a/b?q=x")
                r = c.getresponse()
                if r.status != 200 or json.loads(r.read())["q"] != "x":
                    failed.append(r.status)
            c.close()
        except OSError as e:
            failed.append(e)

    threads = [threading.Thread(target=worker) for _ in range(20)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    T.assertEqual(failed, [])


def probe(srv, *args):
    r = subprocess.run(
        [srv.bin / "http_client_probe", srv.path, *args],
        capture_output=True, text=True,
        timeout=lib.HANG)
    T.assertEqual(r.stderr, "")
    return r.returncode, r.stdout.strip()


@served
def test_our_client_calls_and_gets_the_servers_errors(srv):
    T.assertEqual(probe(srv, "call", "GET", "/v1/params/a%2Fb/c"),
                     (0, '200 {"a":"a/b","b":"c","q":null}'))
    T.assertEqual(probe(srv, "call", "POST", "/v1/json", "{}"),
                     (0, "204"))
    code, text = probe(srv, "call", "GET", "/nope")
    T.assertEqual((code, text.split(":")[0]), (66, "NOTFOUND"))
    code, text = probe(srv, "call", "POST", "/v1/json", "[]")
    T.assertEqual((code, text.split(":")[0]), (65, "INVALID"))


@served
def test_our_client_says_when_nobody_is_there(srv):
    r = subprocess.run(
        [srv.bin / "http_client_probe", "/tmp/no/such.sock",
         "call", "GET", "/"], capture_output=True, text=True,
        timeout=lib.HANG)
    T.assertEqual(r.returncode, 69)
    T.assertIn('"skep up" starts it', r.stdout)


@served
def test_our_client_follows_to_the_end_or_stops(srv):
    every = "\n".join(str(i) for i in range(1, 31))
    T.assertEqual(probe(srv, "follow", "/v1/numbers?count=30&ms=1"),
                     (0, every + "\nended"))
    T.assertEqual(
        probe(srv, "follow", "/v1/numbers?count=30&ms=1", "28", "29"),
        (0, "29\nstopped"))
    code, text = probe(srv, "follow", "/v1/nope")
    T.assertEqual((code, text.split(":")[0]), (66, "NOTFOUND"))


@served
def test_our_client_resumes_over_a_servers_death(srv):
    p = subprocess.Popen(
        [srv.bin / "http_client_probe", srv.path, "follow",
         "/v1/numbers?count=300&ms=3"], stdout=subprocess.PIPE, text=True)
    seen = []
    while len(seen) < 50:
        seen.append(p.stdout.readline().strip())
    srv.proc.kill()
    srv.proc.communicate()
    time.sleep(0.2)
    srv.start()
    rest, _ = p.communicate(timeout=lib.HANG)
    T.assertEqual(seen + rest.split(),
                     [str(i) for i in range(1, 301)] + ["ended"])


@served
def test_garbage_is_answered_or_hung_up_on(srv):
    for junk in (b"\x00\x01\x02\r\n\r\n", b"\r\n" * 10 + b"x\r\n\r\n",
                 b"GET / HTTP/9.9\r\n\r\n", b"A" * 100000,
                 b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"):
        s = srv.raw()
        s.sendall(junk)
        data = b""
        try:
            while piece := s.recv(65536):
                data += piece
        except ConnectionResetError:
            pass
        s.close()
        T.assertRegex(data, rb"^HTTP/1\.1 (400|431|501) ")


@served
def test_requests_that_never_end_are_cut(srv):
    s = srv.raw()
    s.sendall(b"GET /v1/hello HTTP/1.1\r\nHo")
    T.assertEqual(s.recv(100), b"")
    s.close()


@served
def test_what_cannot_be_listened_on_is_said_clearly(srv):
    def start(path, tcp="127.0.0.1:0"):
        return subprocess.run(
            [srv.bin / "http_test_server", path, tcp],
            capture_output=True, text=True, timeout=120)

    fresh = os.path.join(srv.dir, "t.sock")
    r = start(srv.path)
    T.assertIn("another server is listening on", r.stderr)
    T.assertEqual(srv.ask("GET", "/v1/hello")[0], 200)
    r = start("/tmp/" + "x" * 200)
    T.assertIn("choose a shorter home", r.stderr)
    T.assertEqual(r.returncode, 64)
    r = start(fresh, f"127.0.0.1:{srv.port}")
    T.assertIn("Address already in use", r.stderr)
    T.assertFalse(os.path.exists(fresh))
    r = start(fresh, "nonsense")
    T.assertIn("is not HOST:PORT", r.stderr)


@served
def test_a_dead_servers_socket_is_replaced(srv):
    one = Server(srv.home)
    one.proc.kill()
    one.proc.communicate()
    T.assertTrue(os.path.exists(one.path))
    two = subprocess.Popen(
        [srv.bin / "http_test_server", one.path],
        stdout=subprocess.PIPE, text=True)
    T.assertEqual(two.stdout.readline(), "ready 0\n")
    two.send_signal(signal.SIGTERM)
    two.communicate(timeout=120)
    shutil.rmtree(one.dir)
