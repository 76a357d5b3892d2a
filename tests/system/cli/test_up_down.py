"""skep up, down and restart: what they say, and what they wait for."""
import subprocess

import lib
from skepd_lib import Host


def test_up_twice_is_no_error_and_json_is_an_object(home):
    home.path.mkdir(mode=0o755)
    home.path.chmod(0o755)
    first = home.skep("up", "--json")
    assert "(mode 0755); 'chmod 700 %s'" % home.path in first.err, first.err
    home.path.chmod(0o700)
    first = first.json
    assert (first["state"], first["changed"]) == ("running", True), first
    again = home.skep("up", "--json").json
    assert again == dict(first, changed=False), again
    assert "already running, process %d" % first["pid"] in home.skep("up").out
    after = home.skep("restart", "--json").json
    assert after["state"] == "running" and after["pid"] != first["pid"], after
    down = home.skep("down", "--json").json
    assert (down["state"], down["pid"]) == ("stopped", None), down


def start(home, verb):
    """The command, and a function that reads what it has said on stderr."""
    path = home.dir / (verb + ".err")
    with open(path, "wb") as err:
        p = home.start(home.bin / "skep", verb, stdout=subprocess.PIPE,
                       stderr=err, text=True)
    return p, path.read_text


def test_down_names_what_it_waits_for_and_up_waits_for_down(home):
    home.skep("up")
    h = Host(home)
    h.script("a", {"await_message": True})
    run = h.submit("a")
    h.until(run, "running")
    down, output = start(home, "down")
    lib.eventually(lambda: "waiting for 1 active run: %s (a)\n" % run in output()
                   and "'skep down --now' stops the run\n" in output(), 20,
                   "a word of down")
    up, output = start(home, "up")
    lib.eventually(lambda: "skepd is stopping; waiting for it\n" in output(), 20,
                   "a word of up")
    home.skep("send", run, "go on")
    assert down.communicate(timeout=lib.HANG)[0] == "skepd has stopped\n"
    assert "skepd is running" in up.communicate(timeout=lib.HANG)[0]
    assert up.returncode == 0
    assert h.get(run)["state"] == "succeeded"
    home.skep("down")
