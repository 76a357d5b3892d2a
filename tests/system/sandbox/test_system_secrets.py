"""Secrets of the system (lib/sandbox/secrets.def), which root could read."""
import os
import re

import lib
from skepd_lib import ROOT, Host, finish


def secrets():
    text = (ROOT / "lib/sandbox/secrets.def").read_text()
    return [p for p in re.findall(r'^SECRET\("(.*)"\)', text, re.M)
            if p.startswith(("/etc/", "/var/"))]


def test_secrets_of_the_system_cannot_be_read_by_root(home):
    """All of secrets.def exist here: /etc and /var have an upper layer."""
    if os.geteuid():
        lib.skip("only root can read them outside of a sandbox")
    names = secrets()
    assert {"/etc/shadow", "/etc/ssh/ssh_host_ed25519_key",
            "/var/backups"} <= set(names), names
    layers = ""
    for top in ("etc", "var"):
        for kind in ("upper", "work"):
            (home.dir / kind / top).mkdir(parents=True)
        layers += "mount -t overlay o -o lowerdir=/%s,upperdir=%s,workdir=%s" \
            " /%s || exit 69; " % (top, home.dir / "upper" / top,
                                   home.dir / "work" / top, top)
    make = "".join(
        '[ -d "%s" ] && echo a-secret > "%s/leak" || { mkdir -p "%s";'
        ' echo a-secret > "%s"; }; ' % (n, n, os.path.dirname(n), n)
        for n in names)
    with open(home.dir / "skepd.log", "wb") as log:
        p = home.start("unshare", "-m", "sh", "-c", layers + make +
                       "exec skepd", stderr=log)
    d = Host(home)
    d.process = p
    lib.eventually(lambda: p.poll() is not None or d.answers(), what="skepd")
    if p.poll() == 69:
        lib.skip("no overlay")
    read = "for f in %s; do cat $f $f/leak; done; echo over" % " ".join(names)
    for name, more in (("on", {}), ("off", {"sandbox": "off"})):
        d.shell(name, read, **more)
        run = d.submit(name)
        assert d.until(run)["state"] == "succeeded"
        out = [b["text"] for _, kind, b in d.events(name, run)
               if kind == "output"]
        assert out[-1] == "over", out
        assert out.count("a-secret") == (len(names) if name == "off" else 0), \
            (name, out)
    finish(d)
