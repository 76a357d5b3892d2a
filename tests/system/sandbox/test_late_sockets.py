"""Sockets that are bound after a run has started, where its sandbox does not cover
them: those of another home grant nothing, and a strict sandbox has none."""
import ast
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile

import lib
from sandbox_lib import run_output
from skepd_lib import Host, finish

TRY = """
import os, socket, sys, time
other, plain = sys.argv[1:]
while not os.path.exists("now"):
    time.sleep(0.05)
def ask(path, text):
    s = socket.socket(socket.AF_UNIX)
    try:
        s.connect(path)
    except OSError as e:
        return type(e).__name__
    s.sendall(text.encode())
    return text and s.recv(400).decode().split("\\r\\n")[0]
head = "%s HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"
def gone(path):  # the process that connected no longer exists
    s = socket.socket(socket.AF_UNIX)
    pid = os.fork()
    if pid == 0:
        s.connect(path)
        os._exit(0)
    os.waitpid(pid, 0)
    try:
        s.sendall((head % "GET /v1/agents").encode())
    except OSError as e:
        return type(e).__name__
    return s.recv(400).decode().split("\\r\\n")[0]
print([ask(other, head % "GET /v1/agents"), gone(other) if ask(
    other, "") != "FileNotFoundError" else "", ask(plain, "")])
"""


def outside(home):
    """A directory that every run can read."""
    d = pathlib.Path(tempfile.mkdtemp(prefix="skep-test-", dir="/var/tmp"))
    home.undo.append(lambda: shutil.rmtree(d, ignore_errors=True))
    d.chmod(0o755)
    return d


def bound(home, path):
    s = socket.socket(socket.AF_UNIX)
    s.bind(str(path))
    s.listen(8)
    home.undo.append(s.close)


def other_home(home, path):
    path.mkdir(mode=0o700)
    d = home.start(home.bin / "skepd", env={"SKEP_HOME": str(path)},
                   stderr=open(home.dir / "other.log", "wb"))
    return d, path / "run" / "skep.sock"


def what_a_run_reaches(home, h, name, **definition):
    d = outside(home)
    other, plain = d / "other", d / "plain"
    (d / "try").mkdir()
    (d / "try" / "try.py").write_text(TRY)
    h.agent(name, "exec", {"command": [
        "python3", "-SI", str(d / "try" / "try.py"),
        str(other / "run" / "skep.sock"), str(plain)]}, **dict(
            definition, **({"paths": {"read": [str(d / "try")]}}
                           if definition.pop("strict", 0) else {})))
    run = h.submit(name)
    h.until(run, "running")
    work = home.path / "agents" / name / "workspace"
    lib.eventually(work.exists, what="the workspace")
    process, sock = other_home(home, other)
    lib.eventually(sock.exists, what="the other skepd")
    bound(home, plain)
    home.skep("agent", "ls", env={"SKEP_HOME": str(other)})
    (work / "now").touch()
    row = h.until(run)
    assert row["state"] == "succeeded", (row, h.events(name, run))
    out = [b["text"] for _, kind, b in h.events(name, run) if kind == "output"]
    process.terminate()
    process.wait(lib.HANG)
    return ast.literal_eval(out[0])


def test_another_home_that_starts_later_grants_nothing_to_a_run(home):
    h = Host(home).start()
    agents, gone, plain = what_a_run_reaches(home, h, "default")
    assert " 401 " in agents, agents
    assert " 401 " in gone or gone == "BrokenPipeError", gone
    finish(h)


def test_a_strict_sandbox_has_no_sockets_of_later(home):
    h = Host(home).start()
    output = what_a_run_reaches(home, h, "strict", strict=True,
                              sandbox="required")
    assert output == ["FileNotFoundError", "", "FileNotFoundError"], output
    finish(h)


def test_a_token_is_good_for_the_socket_in_a_container(home):
    if os.geteuid():
        lib.skip("a PID namespace without a user namespace needs root")
    h = Host(home).start()
    made = h.call("POST", "/v1/tokens", {"name": "t", "scopes": ["read"]})
    sock = home.path / "run" / "skep.sock"
    ask = ("import http.client, socket, sys\n"
           "c = http.client.HTTPConnection('x')\n"
           "c.sock = socket.socket(socket.AF_UNIX)\n"
           "c.sock.connect(sys.argv[1])\n"
           "c.request('GET', '/v1/agents', headers={'Authorization':"
           " 'Bearer ' + sys.argv[2]} if sys.argv[2] else {})\n"
           "print(c.getresponse().status)\n")
    for token, status in (("", "401"), (made["token"], "200"),
                          ("wrong", "401")):
        out = home.run("unshare", "--pid", "--fork", "python3", "-c", ask, sock,
                       token).out
        assert out.strip() == status, (token, out)
    finish(h)


REAL_VAR_RUN = """
mount --make-rprivate / && mount -t tmpfs skep /var &&
mkdir -p /var/run /var/tmp && exec python3 -c "$1"
"""
BIND = """
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind("/var/run/s.sock")
s.listen()
print("bound", flush=True)
sys.stdin.read()
"""
CONNECT = """
import socket
for path in ("/var/run/s.sock", "/var/run/../run/s.sock"):
    try:
        socket.socket(socket.AF_UNIX).connect(path)
        print("connected")
    except OSError as e:
        print("no", e)
"""


def test_a_var_run_that_is_a_directory_has_no_sockets(home):
    if os.getuid() != 0:
        lib.skip("needs root, for mounts of its own")
    with subprocess.Popen(["unshare", "-m", "sh", "-c", REAL_VAR_RUN, "sh", BIND],
                          stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as service:
        assert service.stdout.readline() == b"bound\n"
        d = Host(home)
        with open(home.dir / "skepd.log", "ab") as log:
            d.process = home.start("nsenter", "-m", "-t", str(service.pid),
                                   home.bin / "skepd", stderr=log)
        lib.eventually(d.answers, 60, "an answer of skepd")
        d.agent("a", "exec", {"command": ["python3", "-c", CONNECT],
                              "stdin": "none"})
        run = d.submit("a")
        d.until(run)
        output = run_output(d, "a", run)
        finish(d)
        service.stdin.close()
    assert len(output.split("\n")) == 2 and "connected" not in output, output
