"""Limits of processes and memory: what a run that goes over them gets, and what
it says then."""
import os

import lib
from sandbox_lib import at_peace, neighbour, run_output
from skepd_lib import Host, QUICK, finish

FORKS = r"""
import os, time
n = 0
try:
    while n < 200:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        n += 1
except OSError as e:
    print("no more after", n, e)
print("forked", n)
"""


def test_forks_have_an_end(home):
    d = Host(home).start()
    peace = neighbour(d)
    d.agent("a", "exec", {"command": ["python3", "-c", FORKS], "stdin": "none"},
            limits={"pids": 40})
    run = d.submit("a")
    d.until(run)
    output = run_output(d, "a", run)
    if "limits.pids: no cgroup" in d.log() and os.getuid() == 0:
        lib.skip("no cgroup that counts processes")
    assert "no more after" in output and "forked 200" not in output, output
    at_peace(d, peace)
    finish(d)


THREADS = r"""
import threading
threading.stack_size(65536)
stop, n = threading.Event(), 0
try:
    while n < 2200:
        threading.Thread(target=stop.wait).start()
        n += 1
except RuntimeError as e:
    print("no more after", n, e)
print("made", n)
stop.set()
"""


def test_forks_have_an_end_that_nobody_asked_for(home):
    d = Host(home).start()
    code = {"command": ["python3", "-c", THREADS], "stdin": "none"}
    d.agent("a", "exec", code)
    d.agent("free", "exec", code, limits={"pids": 0})
    if "limits.pids: no cgroup" in d.log() and os.getuid() == 0:
        lib.skip("no cgroup that counts processes")
    output = {}
    for name in ("a", "free"):
        run = d.submit(name)
        assert d.until(run)["state"] == "succeeded"
        output[name] = run_output(d, name, run)
    assert "no more after 20" in output["a"], output
    assert output["free"] == "made 2200", output
    finish(d)


HOG = r"""
import os, time
open("ready", "w").close()
while not os.path.exists("go"):
    time.sleep(0.02)
for _ in range({forks}):
    os.fork()
kept = []
while len(kept) < {most}:
    kept.append(bytearray(b"x" * (1 << 20)))
time.sleep(60)
"""


def workspace(d, name):
    return d.home.path / "agents" / name / "workspace"


def hog(d, name, under=(), forks=0, most=1000):
    program = HOG.replace("{forks}", str(forks)).replace("{most}", str(most))
    d.agent(name, "exec", {"command": [*under, "python3", "-c", program],
                           "stdin": "none"},
            limits={"memory": "96M"}, paths={"read": []})
    if "limits.memory: no cgroup" in d.log():
        lib.skip("no cgroup that holds memory")
    run = d.submit(name, max_attempts=1)
    lib.eventually((workspace(d, name) / "ready").exists, 30)
    return run


def go(d, name):
    (workspace(d, name) / "go").touch()


def test_a_run_that_took_too_much_memory_says_so(home):
    d = Host(home).start()
    for name, under in (("a", ()), ("b", ("sh", "-c", '"$0" "$@"; exit $?'))):
        run = hog(d, name, under)
        go(d, name)
        row = d.until(run)
        assert (row["state"], row["reason"]) == ("failed", "memory"), row
        assert "limits.memory (96 MiB)" in row["detail"], row
        last = d.events(name, run)[-1][2]
        assert last["reason"] == "memory" and "limits" in last["detail"], last
        assert "limits.memory" in home.skep("show", run).out
    assert "memory" in home.skep("ps", "--all").out
    finish(d)


def test_a_worker_that_was_ended_for_memory_says_so(home):
    d = Host(home).start()
    # Eight processes that together take too much, none of which comes near the
    # score that the worker gets below.
    run = hog(d, "a", forks=3, most=24)
    with open("/proc/%d/oom_score_adj" % d.get(run)["pid"], "w") as f:
        f.write("1000")
    go(d, "a")
    row = d.until(run)
    assert (row["state"], row["reason"]) == ("failed", "worker_died"), row
    assert "memory limit (limits.memory)" in row["detail"], row
    finish(d)


def test_a_named_limit_that_cannot_be_enforced_is_an_error(home):
    d = Host(home, config=dict(QUICK, run=dict(
        QUICK.get("run", {}), cgroup="off"))).start()
    lib.eventually(lambda: "limits.memory: no cgroup" in d.log(), 30)
    d.shell("a", "echo done")
    run = d.submit("a")
    assert d.until(run)["state"] == "succeeded"
    assert not [b for _, kind, b in d.events("a", run) if kind == "status"]
    names = {"memory": "64M", "cpu": 50}
    if os.getuid() == 0:
        names["pids"] = 100
    for name, value in names.items():
        for mode in ("on", "required"):
            d.shell("b", "echo done", limits={name: value}, sandbox=mode)
            row = d.until(d.submit("b"))
            assert row["state"] == "failed" and \
                "limits.%s cannot be enforced" % name in row["detail"], row
    if home.run("unshare", "-m", "true", code=None).code == 0:
        seen = home.run("unshare", "-m", "sh", "-c", "mount -t tmpfs none "
                        "/sys/fs/cgroup; exec $0 doctor --json", home.bin /
                        "skep", code=None).out
        assert "limits.memory: no cgroup" in seen, seen
    finish(d)


LIMITS = r"""
import resource
print(resource.getrlimit(resource.RLIMIT_NOFILE)[1])
print(resource.getrlimit(resource.RLIMIT_CORE)[1])
print(open("/proc/self/oom_score_adj").read().strip())
"""


def test_memory_processes_and_descriptors_have_limits_by_default(home):
    d = Host(home).start()
    d.agent("b", "exec", {"command": ["python3", "-c", LIMITS],
                          "stdin": "none"})
    run = d.submit("b")
    assert d.until(run)["state"] == "succeeded"
    files, core, score = map(int, run_output(d, "b", run).split())
    assert files == 8192 and core == 0, (files, core)
    with open("/proc/%d/oom_score_adj" % d.process.pid) as f:
        own = int(f.read())
    assert own < score and score >= 300, (own, score)
    with open("/proc/%d/status" % d.process.pid) as f:
        rights = int(f.read().split("CapEff:")[1].split()[0], 16)
    assert own == (-500 if rights >> 24 & 1 else 0), own
    for name in ("memory", "pids"):
        if "limits.%s: no cgroup" % name in d.log():
            lib.skip("no cgroup that holds " + name)
    peace = neighbour(d)
    row = home.query(home.control, "SELECT limits FROM sandbox")[0][0]
    assert '"memory"' in row and '"pids":2048' in row, row
    at_peace(d, peace)
    finish(d)

