"""Cgroups of a home whose processes were all killed."""
import hashlib
import os
import signal
import subprocess

import lib
from skepd_lib import host


def find(name):
    out = subprocess.run(["find", "/sys/fs/cgroup", "-maxdepth", "6", "-name",
                          name], text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL)
    return out.stdout.split()


def of_home(home):
    return find("skep-%s-*" % hashlib.sha256(
        os.fsencode(home.path)).hexdigest()[:8])


def killed(home):
    """A supervisor that was, and the run that it had."""
    h = host(home)
    h.script("a", {"sleep_ms": 60000})
    run = h.submit("a")
    pid = h.until(run, "running")["pid"]
    h.kill()
    os.kill(pid, signal.SIGKILL)
    for other in home._survivors():
        os.kill(other, signal.SIGKILL)
    lib.eventually(lambda: not list(home._survivors()), 30, "their end")
    if not of_home(home):
        lib.skip("no cgroup can be made here")
    return h


def names(paths):
    return {os.path.basename(p).split("-")[-1] for p in paths}


def test_none_stays_after_the_next_start(home):
    """Also one of which only the limits in the first version are left."""
    h = killed(home)
    ids = names(of_home(home))
    for path in of_home(home):
        if os.path.exists(path + "/cgroup.controllers"):
            os.rmdir(path)
    h.start()
    lib.eventually(lambda: not any(find("*" + i) for i in ids), 10,
                   "the gc")
    h.call("POST", "/v1/stop", {"intent": "down-now"})
    assert h.process.wait(lib.HANG) == 0
    lib.eventually(lambda: not of_home(home), 10, "the last")


def test_doctor_removes_them_and_no_others(home):
    killed(home)
    left = of_home(home)
    foreign = left[0].replace("skep-", "skep-0")
    os.mkdir(foreign)
    home.undo.append(lambda: os.rmdir(foreign))
    found = [f["subject"] for f in home.skep(
        "doctor", "--json", "--quick", code=None).lines
        if f["finding"] == "stale_cgroup"]
    assert sorted(found) == sorted(left), (found, left)
    home.skep("doctor", "--fix", "--quick", "--dangerously-skip-backup",
              "--no-import", code=None)
    assert not of_home(home) and os.path.isdir(foreign)
