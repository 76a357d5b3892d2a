"""Clients on TCP cannot take the connections that the operator needs."""
import socket

import lib
from web_lib import Skepd

CONNECTIONS = 64


def start(home, **http):
    free = socket.socket()
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
    free.close()
    d = Skepd(home, {"http": dict(listen="127.0.0.1:%d" % port,
                                  connections=CONNECTIONS, **http)})
    return d, port


def is_closed(s):
    s.settimeout(0)
    try:
        return s.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def fill(port, data, n=2 * CONNECTIONS):
    """Connections that say this and then nothing."""
    socks = []
    for _ in range(n):
        s = socket.create_connection(("127.0.0.1", port), 10)
        try:
            s.sendall(data)
        except OSError:
            pass
        socks.append(s)
    return socks


HEAD = b"POST /v1/channels/x/in HTTP/1.1\r\nHost: localhost\r\n"


def test_silent_clients_on_tcp_do_not_lock_the_operator_out(home):
    d, port = start(home, login_timeout="60s")
    socks = fill(port, b"")
    assert home.skep("status", "--json").lines[0]["pid"] == d.proc.pid
    lib.eventually(lambda: any(is_closed(s) for s in socks), 30, "a refusal")
    assert sum(not is_closed(s) for s in socks) <= CONNECTIONS, "too many"
    home.skep("agent", "add", "a", "--driver", "script")
    d.stop()


def test_clients_without_a_token_are_cut_in_time(home):
    d, port = start(home, login_timeout="500ms", request_timeout="10m")
    for data in (b"", b"GET /v1/heal", b"GET /v1/health HTTP/1.1\r\nHost: a",
                 HEAD + b"Content-Length: 100\r\n\r\nhalf",
                 HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab"):
        socks = fill(port, data, 20)
        lib.eventually(lambda: all(read_out(s) for s in socks), 60,
                       "the end of clients that sent %r" % data)
    made = d.post("/v1/tokens", {"name": "eye", "scopes": ["read"]}, 201)
    s = socket.create_connection(("127.0.0.1", port), 30)
    ask = (b"GET /v1/runs HTTP/1.1\r\nHost: localhost\r\n"
           b"Authorization: Bearer " + made["token"].encode() + b"\r\n\r\n")
    s.sendall(ask)
    assert s.recv(4096).startswith(b"HTTP/1.1 200")
    others = fill(port, b"", 5)  # cut, while the one with a token stays
    lib.eventually(lambda: all(is_closed(o) for o in others), 60, "their end")
    s.setblocking(True)
    s.settimeout(30)
    s.sendall(ask)
    assert s.recv(4096).startswith(b"HTTP/1.1 200")
    d.stop()


def read_out(s):
    """Whether the connection has ended, after any answer."""
    s.settimeout(0)
    try:
        while s.recv(4096):
            pass
        return True
    except BlockingIOError:
        return False
    except OSError:
        return True
