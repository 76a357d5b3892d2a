"""Packages from npm, for tests of what others made."""
import fcntl
import os
import pathlib
import shutil
import subprocess
import tempfile

import lib


def install(where, names, path):
    """npm chooses versions that its node can run: that of `path`, or the one
    of this machine."""
    env = dict(os.environ)
    if path:
        env["PATH"] = "%s:%s" % (path, env["PATH"])
    try:
        return subprocess.run(["npm", "install", "--prefix", where,
                               "--no-audit", "--no-fund", *names], env=env,
                              capture_output=True, timeout=80).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def packages(*names, path=None):
    """A directory with these packages, installed once; skips if it cannot be."""
    if not shutil.which("node") or not shutil.which("npm"):
        lib.skip("node and npm are needed")
    word = names[0].strip("@").replace("/", "-")
    d = pathlib.Path(tempfile.gettempdir()) / ("skep-%s-%d" % (word,
                                                               os.getuid()))
    d.mkdir(mode=0o700, exist_ok=True)
    with open(d / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run side by side
        if not (d / "installed").exists():
            if not install(d, names, path):
                lib.skip("%s cannot be installed" % " ".join(names))
            (d / "installed").touch()
    return d
