"""Runs that try to get out of their sandbox. Each way fails, the transcript says
so, and another run beside them does not notice."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile

import lib
from sandbox_lib import PEACE, at_peace, neighbour, run_output
from skepd_lib import Host, finish


def escape(home, text, seconds=lib.HANG, **more):
    """What a shell with this text says, and its run."""
    d = Host(home).start()
    peace = neighbour(d)
    d.shell("a", text, **more)
    run = d.submit("a")
    row = d.until(run, seconds=seconds)
    output = run_output(d, "a", run)
    home.events = d.events("a", run)
    at_peace(d, peace)
    finish(d)
    return output, row


def test_nothing_of_the_home_can_be_seen(home):
    output, _ = escape(home, "cd {0}; ls -d state run credentials skep.json; "
                     "ls agents; cat {0}/state/skep.sqlite; "
                     "cat {0}/agents/peace/agent.sqlite; "
                     "cat {0}/agents/a/agent.sqlite"
                     .format(home.path))
    assert "SQLite" not in output
    assert "\na" in "\n" + output and "peace\n" not in output, output
    assert output.count("No such file") >= 5, output


def test_a_directory_below_must_not_hold_the_home(home):
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        lib.skip("no /dev/fuse")
    os.symlink(home.dir, home.dir / "link")
    d = Host(home).start()
    for i, path in enumerate((home.dir, home.path, "/", home.dir / "link")):
        d.shell("a%d" % i, "find . -name skep.sqlite | head -n 1 | "
                "xargs strings | grep SQLite", path=str(path),
                workspace="vfs-scratch")
        run = d.submit("a%d" % i)
        row = d.until(run)
        assert "SQLite" not in run_output(d, "a%d" % i, run)
        assert (row["state"], row["reason"]) == ("failed", "workspace"), row
        assert "contains the home of skep" in row["detail"], row
    finish(d)


def servers(home):
    """Processes that serve a workspace of this home."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                words = f.read().decode(errors="replace").split("\0")
            if "--mount" in words and str(home.path) in " ".join(words):
                with open("/proc/%s/status" % pid) as f:
                    found[pid] = dict(line.rstrip("\n").split(":\t", 1)
                                      for line in f if ":\t" in line)
        except OSError:
            pass
    return found


def test_the_process_that_serves_a_workspace_is_confined(home):
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        lib.skip("no /dev/fuse")
    d = Host(home).start()
    d.shell("a", "echo x > f; while [ ! -e stop ]; do sleep 0.05; done; "
            "cat stop", workspace="vfs-only")
    run = d.submit("a")
    lib.eventually(lambda: home.agent_db("a").exists() and
                   home.query(home.agent_db("a"), "SELECT 1 FROM vfs_dentry"
                              " WHERE name = CAST('f' AS BLOB)"), 30)
    found = servers(home)
    assert sorted(s["Name"] for s in found.values()) == \
        ["skep-worker"], found
    for s in found.values():
        assert s["NoNewPrivs"] == "1", s
        if s["Name"] == "skep-worker":
            assert s["Seccomp"] == "2", s
            assert int(s["CapEff"], 16) & ~2 == 0, s["CapEff"]
            assert int(s["CapPrm"], 16) & ~2 == 0, s["CapPrm"]
    home.skep("vfs", "put", "a", "/stop", input="stopped")
    assert d.until(run)["state"] == "succeeded"
    assert run_output(d, "a", run) == "stopped"
    lib.eventually(lambda: not servers(home), 30, "their end")
    finish(d)


def test_the_ways_around_through_proc_are_closed(home):
    outside = os.getpid()
    output, _ = escape(home, "for p in 1 %d; do cat /proc/$p/environ; "
                     "ls /proc/$p/root/; ls /proc/$p/cwd/; cat /proc/$p/fd/4; "
                     "done; cat /proc/1/root%s/state/skep.sqlite"
                     % (outside, home.path))
    assert output.count("Permission denied") >= 4, output
    assert output.count("No such file") >= 5, output
    assert "SQLite" not in output and "SKEP_HOME" not in output


def test_nothing_outside_can_be_written(home):
    inside = "echo in > here && mv here there && cat there; "
    output, _ = escape(home, inside + "echo x > /etc/skep-x; echo x > /usr/skep-x; "
                     "echo x > /var/tmp/skep-x; mkdir /skep-x; "
                     "echo x > /tmp/skep-escaped && echo private; "
                     "mknod disk b 8 0; ln -s /etc link; echo x > link/skep-x")
    assert output.startswith("in\n"), output
    assert "private" in output, output
    assert len(re.findall("Read-only|denied|not permitted", output)) >= 5, output
    for path in ("/etc/skep-x", "/usr/skep-x", "/var/tmp/skep-x", "/skep-x",
                 "/tmp/skep-escaped"):
        assert not os.path.exists(path), path
    assert not (home.path / "agents/a/workspace/disk").exists()


def test_nobody_else_can_be_signalled(home):
    if json.loads(probe(home))[0] < 6:
        lib.skip("the kernel's Landlock knows no signals")
    d = Host(home).start()
    peace = neighbour(d)
    other = d.get(peace)["pid"]
    d.shell("a", "kill -9 %d; kill -9 %d; kill -9 1; kill -9 -1; sleep 0.1; "
            "echo alive" % (other, d.process.pid))
    run = d.submit("a")
    row = d.until(run)
    output = run_output(d, "a", run)
    assert output.count("No such process") >= 2 and "alive" in output, (output, row)
    at_peace(d, peace)
    finish(d)


REACH_PIDS = r"""
import ctypes, os, sys
C = ctypes.CDLL(None, use_errno=True)
room = ctypes.create_string_buffer(64)
def call(name, nr, *args):
    ctypes.set_errno(0)
    rc = C.syscall(nr, *args)
    print(name, "done" if rc >= 0 else os.strerror(ctypes.get_errno()))
for pid in [0] + [int(p) for p in sys.argv[1:]]:
    who = "self" if pid == 0 else "other"
    call(who + " prlimit64", 302, pid, 7, None, room)
    call(who + " setpriority", 141, 0, pid, 19)
    call(who + " sched_setaffinity", 203, pid, 8, (3).to_bytes(8, "little"))
    call(who + " sched_setscheduler", 144, pid, 3, bytes(4))
    call(who + " ioprio_set", 251, 1, pid, 0x6000)
call("user setpriority", 141, 2, 0, 19)
print("seen", sum(name.isdigit() for name in os.listdir("/proc")))
"""


def reach_pids(d, *pids):
    d.agent("a", "exec", {"command": ["python3", "-c", REACH_PIDS,
                                      *map(str, pids)], "stdin": "none"})
    run = d.submit("a")
    assert d.until(run)["state"] == "succeeded", d.get(run)
    return run_output(d, "a", run).split("\n")


def test_no_other_process_can_be_changed(home):
    d = Host(home).start()
    peace = neighbour(d)
    output = reach_pids(d, d.process.pid, d.get(peace)["pid"])
    assert sum(line.startswith("self") and line.endswith("done")
               for line in output) == 5, output
    assert not [line for line in output if line.startswith("other") and
                "No such process" not in line], output
    assert output[-1] == "seen 2", output
    at_peace(d, peace)
    finish(d)


def test_pids_of_others_are_refused_without_a_namespace_of_pids(home):
    if home.run("unshare", "-Ur", "true", code=None).code:
        lib.skip("no user namespaces")
    d = Host(home)
    with open(home.dir / "skepd.log", "ab") as log:
        d.process = home.start(
            "unshare", "-Ur", "sh", "-c",
            "echo 0 > /proc/sys/user/max_pid_namespaces; exec " +
            str(home.bin / "skepd"), stderr=log)
    lib.eventually(d.answers, 60, "an answer of skepd")
    output = reach_pids(d, d.process.pid)
    assert sum(line.startswith("self") and line.endswith("done")
               for line in output) == 5, output
    assert sum(line.startswith(("other", "user")) and
               line.endswith("not permitted") for line in output) == 6, output
    lib.eventually(lambda: "no PID namespace" in d.log(), 30, "a log line")
    d.shell("b", "echo done", sandbox="required")
    row = d.until(d.submit("b"))
    assert (row["state"], row["reason"]) == ("failed", "sandbox"), row
    assert "PID namespace" in row["detail"], row
    finish(d)


CONNECT = r"""
import socket
for name in ("skep.sock", "workers.sock"):
    s = socket.socket(socket.AF_UNIX)
    try:
        s.connect("%s/run/" + name)
        print("connected")
    except OSError as e:
        print("refused", e)
"""


def test_the_sockets_of_the_supervisor_are_out_of_reach(home):
    output, _ = escape(home, "python3 -c '%s'; skep ps --home %s"
                     % (CONNECT.replace("'", '"') % home.path, home.path))
    assert output.count("refused") == 2 and "connected" not in output, output


def test_services_of_a_person_are_out_of_reach(home):
    place = "/run/user/skep-test-%d" % os.getpid()
    try:
        os.makedirs(place)
    except OSError:
        lib.skip("/run/user cannot be written")
    home.undo.append(lambda: shutil.rmtree(place))
    s = socket.socket(socket.AF_UNIX)
    s.bind(place + "/s")
    output, _ = escape(home, "ls /run/user; cd %s && echo there" % place)
    s.close()
    assert "skep-test" not in output.split("cd:")[0], output
    assert "there" not in output, output


def test_the_machine_cannot_be_changed(home):
    output, _ = escape(home, "mount -t tmpfs x /mnt; unshare -Ur true; "
                     "unshare -m true; umount /tmp; "
                     "grep -E 'NoNewPrivs|Seccomp:' /proc/self/status")
    assert "NoNewPrivs:\t1" in output and "Seccomp:\t2" in output, output
    assert output.lower().count("permi") >= 3, output


def test_no_process_outlives_its_run(home):
    mark = "86399.%d" % (os.getpid() % 1000)
    output, row = escape(home, "setsid sh -c 'trap \"\" TERM HUP; (sleep %s &) ; "
                       "sleep %s' >/dev/null 2>&1 & sleep 0.1; echo left"
                       % (mark, mark))
    assert row["state"] == "succeeded" and output == "left", (row, output)
    strays = [b for _, kind, b in home.events if "left" in b]
    assert strays and "sleep" in strays[0]["left"], home.events
    assert "left" in strays[0]["text"], strays
    ps = subprocess.run(["pgrep", "-f", "sleep " + mark], stdout=subprocess.PIPE)
    assert not ps.stdout, ps.stdout


def test_one_file_and_tmp_have_a_size(home):
    output, row = escape(home, "head -c 3000000 /dev/zero > big; echo is $?; "
                       "ls -l big; head -c 9000000 /dev/zero > /tmp/big; "
                       "echo tmp $?", limits={"file": "1M", "tmp": "4M"})
    assert (home.path / "agents/a/workspace/big").stat().st_size <= 1 << 20
    assert "is 0" not in output and "tmp 0" not in output, output


def small_disk(home):
    """A supervisor beside a disk of 300 MiB that nothing else uses, and how much
    of it is in use."""
    disk = home.dir / "disk"
    disk.mkdir()
    if home.run("unshare", "-m", "mount", "-t", "tmpfs", "none", disk,
                code=None).code:
        lib.skip("private mounts are not possible")
    d = Host(home)
    with open(home.dir / "skepd.log", "ab") as log:
        d.process = home.start(
            "unshare", "-m", "sh", "-c", "mount -t tmpfs -o size=300M,mode=777 "
            "skep-test $1 && mkdir $1/a $1/b && exec $2", "sh", disk,
            home.bin / "skepd", stderr=log)
    lib.eventually(d.answers, 60, "an answer of skepd")

    def used():
        v = os.statvfs("/proc/%d/root%s" % (d.process.pid, disk))
        return (v.f_blocks - v.f_bfree) * v.f_frsize >> 20
    return d, disk, used


FILL = {
    "files": "i=0; while :; do i=$((i+1)); head -c 2000000 /dev/zero > f$i; "
             "sleep 0.02; done",
    "unseen": "exec 3> f; rm f; while :; do head -c 2000000 /dev/zero >&3; "
              "sleep 0.02; done",
    "deaf": "trap '' TERM; while :; do head -c 2000000 /dev/zero >> f; "
            "sleep 0.02; done",
}


def test_the_disk_cannot_be_filled(home):
    d, disk, used = small_disk(home)
    peace = neighbour(d)
    for name, text in FILL.items():
        d.shell(name, text, path=str(disk / "a"), limits={"disk": "24M"})
        before = used()
        run = d.submit(name)
        row = d.until(run, seconds=90)
        assert (row["state"], row["reason"]) == ("failed", "disk"), (name, row)
        assert "limits.disk" in row["detail"], row
        assert used() - before < 150, (name, before, used())
        last = d.events(name, run)[-1]
        assert last[1] == "run_finished" and last[2]["reason"] == "disk", last
    at_peace(d, peace)
    finish(d)


def test_a_disk_that_is_nearly_full_stops_who_fills_it(home):
    d, disk, used = small_disk(home)
    peace = neighbour(d)
    d.shell("quiet", PEACE, path=str(disk / "b"))
    quiet = d.submit("quiet")
    d.until(quiet, "running")
    d.shell("a", FILL["files"], path=str(disk / "a"))
    row = d.until(d.submit("a"), seconds=90)
    assert (row["state"], row["reason"]) == ("failed", "disk"), row
    assert used() < 300, used()
    with open("/proc/%d/root%s/b/stop" % (d.process.pid, disk), "w"):
        pass
    assert d.until(quiet)["state"] == "succeeded"
    at_peace(d, peace)
    finish(d)


def test_old_files_that_are_touched_are_not_written(home):
    d, disk, _ = small_disk(home)
    place = "/proc/%d/root%s/a/" % (d.process.pid, disk)
    for i in range(40):
        with open(place + "old%d" % i, "wb") as f:
            f.write(b"x" * 1000000)
    d.shell("a", "i=0; while [ $i -lt 20 ]; do chmod 600 old*; touch old*; "
            "head -c 1000000 /dev/zero > new; i=$((i+1)); sleep 0.05; done; "
            "echo still here", path=str(disk / "a"), limits={"disk": "8M"})
    run = d.submit("a")
    assert d.until(run)["state"] == "succeeded"
    assert run_output(d, "a", run) == "still here"
    finish(d)


def test_a_workspace_in_the_file_has_a_size(home):
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        lib.skip("no /dev/fuse")
    d = Host(home).start()
    peace = neighbour(d)
    d.shell("a", "head -c 30000000 /dev/urandom > big; echo is $?; sync; "
            "rm big; echo after > small; cat small", workspace="vfs-only",
            limits={"disk": "16M"})
    run = d.submit("a")
    d.until(run)
    output = run_output(d, "a", run)
    assert "is 0" not in output and "after" in output, output
    d.shell("b", "i=0; while :; do i=$((i+1)); head -c 4000000 /dev/urandom > f;"
            " setfattr -n user.skep.snapshot -v s$i . || python3 -c "
            "'import os; os.setxattr(\".\", \"user.skep.snapshot\", "
            "b\"s'$i'\")'; sleep 0.02; done", workspace="vfs-only",
            limits={"disk": "16M"})
    row = d.until(d.submit("b"), seconds=90)
    assert (row["state"], row["reason"]) == ("failed", "disk"), row
    at_peace(d, peace)
    finish(d)


REACH = r"""
import socket, sys
def reach(port):
    try:
        socket.create_connection(("127.0.0.1", port), 2).close()
        return "yes"
    except OSError as e:
        return "no"
own = socket.socket()
own.bind(("127.0.0.1", 0))
own.listen()
print("own", reach(own.getsockname()[1]))
print("host", reach(int(sys.argv[1])))
print("names", " ".join(sorted(n for _, n in socket.if_nameindex())))
"""


def test_the_network_is_what_was_asked_for(home):
    host = socket.socket()
    host.bind(("127.0.0.1", 0))
    host.listen(16)
    names = " ".join(sorted(n for _, n in socket.if_nameindex()))
    want = {"host": ["own yes", "host yes", "names " + names],
            "loopback": ["own yes", "host no", "names lo"],
            "none": ["own yes", "host no", "names lo"]}
    d = Host(home).start()
    spaces = ["disk"]
    if os.access("/dev/fuse", os.R_OK | os.W_OK):
        spaces.append("vfs-only")
    for word, output in want.items():
        for space in spaces:
            agent = word + "-" + space
            d.agent(agent, "exec", {"command": [
                "python3", "-c", REACH, str(host.getsockname()[1])],
                "stdin": "none"}, network=word, workspace=space)
            run = d.submit(agent)
            assert d.until(run)["state"] == "succeeded"
            got = run_output(d, agent, run).split("\n")
            extra = [n for n in got[2].split()[2:] if n in "tunl0 sit0 gre0"]
            assert got[:2] == output[:2], (agent, got)
            assert word == "host" or not set(got[2].split()[1:]) - \
                {"lo"} - set(extra), (agent, got)
            if word == "host":
                assert got == output, got
    host.close()
    finish(d)


def test_paths_are_granted_and_withheld(home):
    (home.dir / "data").mkdir()
    (home.dir / "data" / "in").write_text("given")
    (home.dir / "out").mkdir()
    output, _ = escape(home, "cat {0}/data/in; echo x > {0}/out/made; "
                     "echo x > {0}/data/bad".format(home.dir),
                     paths={"read": [str(home.dir / "data")],
                            "write": [str(home.dir / "out")]})
    assert "given" in output and "Read-only" in output, output
    assert (home.dir / "out" / "made").exists()
    assert not (home.dir / "data" / "bad").exists()


def test_a_home_that_is_named_is_read_as_a_whole_without_its_keys(home):
    person = pathlib.Path(tempfile.mkdtemp(prefix="skep-test-", dir="/var/tmp"))
    home.undo.append(lambda: shutil.rmtree(person))
    (person / ".ssh").mkdir()
    (person / ".ssh" / "id").write_text("the secret")
    for i in range(700):
        (person / ("f%d" % i)).write_text("given")
    for kind in ("read", "write"):
        d = Host(home, env={"HOME": str(person)}).start()
        d.shell("a", "cd %s; cat f* | wc -c; cat .ssh/id" % person,
                paths={kind: [str(person)]})
        run = d.submit("a")
        d.until(run)
        output = run_output(d, "a", run)
        assert "3500" in output and "secret" not in output, (kind, output)
        finish(d)


@contextlib.contextmanager
def place(parent):
    """A new directory that users may enter, with a file in it."""
    try:
        where = pathlib.Path(tempfile.mkdtemp(prefix="skep-test-", dir=parent))
    except OSError as why:
        lib.skip("no directory in %s: %s" % (parent, why))
    try:
        where.chmod(0o755)
        (where / "ca.pem").write_text("given")
        (where / "other").write_text("not given")
        yield where
    finally:
        shutil.rmtree(where)


def test_the_whole_host_can_be_made_writable(home):
    """Also then, what is covered stays so, except for paths that are shown: here a
    file of certificates."""
    for parent in ("/run", "/tmp", "/var/tmp"):
        with place(parent) as shown, place("/var/tmp") as free:
            d = Host(home, env={"SSL_CERT_FILE": str(shown / "ca.pem")}).start()
            d.shell("a", "exec 2>&1; cat {0}/ca.pem {0}/other; echo x > {1}/made; "
                    "chmod 600 /sys/kernel/mm; ls {2}".format(
                        shown, free, home.path), paths={"write": ["/"]})
            run = d.submit("a")
            d.until(run)
            output = run_output(d, "a", run)
            finish(d)
            assert (free / "made").exists(), output
        assert output.startswith("given"), output
        assert ("not given" in output) == (parent == "/var/tmp"), output
        assert "skep.json" not in output, output
        assert "Read-only" in output or os.geteuid() != 0, output


def test_a_prompt_shows_attachments_and_nothing_else(home):
    d = Host(home).start()
    media = home.path / "run" / "media"
    (media / "f1").write_text("for you")
    (media / "f2").write_text("for others")
    d.shell("a", "cd {0}; cat run/media/f1; cat run/media/f2; ls run/media; "
            "ls run; ls".format(home.path))
    for prompt in ("{0}/f1", "see [{0}/f1] {0}/ {0}/.. {0}/../skep.sock "
                   "{0}/f1/../f2 '{0}/none'"):
        run = d.submit("a", prompt.format(media))
        d.until(run)
        output = run_output(d, "a", run)
        assert "for you" in output and "for others" not in output, output
        assert "skep.sock" not in output and "f2\n" not in output, output
    finish(d)


def test_off_is_off(home):
    output, _ = escape(home, "ls %s; grep Seccomp: /proc/self/status" % home.path,
                     sandbox="off")
    assert "agents" in output and "Seccomp:\t0" in output, output


def probe(home):
    """Landlock's version, asked as the kernel wants it."""
    code = ("import ctypes; v = ctypes.CDLL(None).syscall(444, None, 0, 1);"
            "print([max(v, 0)])")
    return home.run("python3", "-c", code).out


def test_a_machine_without_namespaces_says_so_or_refuses(home):
    if home.run("unshare", "-Ur", "true", code=None).code:
        lib.skip("no user namespaces")
    d = Host(home)
    with open(home.dir / "skepd.log", "ab") as log:
        d.process = home.start(
            "unshare", "-Ur", "sh", "-c",
            "echo 0 > /proc/sys/user/max_mnt_namespaces; exec " +
            str(home.bin / "skepd"), stderr=log)
    lib.eventually(d.answers, 60, "an answer of skepd")
    d.shell("a", "echo done; cat %s/state/skep.sqlite" % home.path,
            sandbox="partial")
    run = d.submit("a")
    assert d.until(run)["state"] == "failed", d.get(run)
    gaps = [b for _, kind, b in d.events("a", run) if kind == "status"]
    assert gaps and "no namespaces" in gaps[0]["lacks"], gaps
    assert "done\n" in run_output(d, "a", run) and "denied" in run_output(d, "a", run)
    lib.eventually(lambda: "no namespaces" in d.log(), 30, "a word in the log")
    for mode in ("on", "required"):
        d.shell("b", "echo done", sandbox=mode)
        row = d.until(d.submit("b"))
        assert (row["state"], row["reason"]) == ("failed", "sandbox"), row
        assert "namespaces" in row["detail"], row
    finish(d)


def test_a_definition_that_is_wrong_is_refused(home):
    for pair, word in (("sandbox=maybe", "off|on|partial|required"),
                       ("network=lan", "host|loopback|none"),
                       ('limits={"memory":"much"}', "limits.memory"),
                       ('paths={"read":["x"]}', "paths.read")):
        assert word in home.refused(65, "agent", "add", "a", "--driver", "exec",
                                    "--set", pair, "--", "true")
    home.skep("agent", "add", "a", "--driver", "exec", "--set",
              "sandbox=required", "--set", "network=none", "--", "true")
    shown = home.skep("agent", "show", "a", "--json").out
    assert "required" in shown and "none" in shown


def test_the_registry_has_a_row_while_a_sandbox_is_there(home):
    d = Host(home).start()
    peace = neighbour(d)
    rows = home.query(home.control, "SELECT run, agent, mode, network, pid"
                      " FROM sandbox")
    assert rows == [(peace, "peace", "on", "none", d.get(peace)["pid"])], rows
    at_peace(d, peace)
    assert not home.query(home.control, "SELECT * FROM sandbox")
    finish(d)
