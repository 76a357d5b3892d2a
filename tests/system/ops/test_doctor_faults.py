"""Every finding of skep doctor, by a fault that is planted: it is found, its
severity decides the exit status, and --fix repairs it and nothing else."""
import hashlib
import os
import pathlib
import re
import shutil
import socket
import sqlite3
import subprocess
import time

import lib
from test_backup import create, fill
from test_ops_crash import on_small_disk

ROOT = pathlib.Path(__file__).resolve().parents[3]
EXIT = {"info": 0, "warning": 1, "error": 65}
MACHINE = {"no_fuse", "sandbox_gap", "no_cgroup", "disk_low", "orphan_mount",
           "sqlite_race"}


def look(home, *more, code=None, **how):
    """Findings by name, without what is the machine's own; and the exit status."""
    r = home.skep("doctor", "--json", *more, code=code, **how)
    return {f["finding"]: f for f in r.lines if f["finding"] not in MACHINE}, r.code


def planted(home, name, quiet=("backup_none",), fixed=True):
    """The fault is found alone, and judged; --fix makes it go, after a backup."""
    got, code = look(home)
    assert set(got) - set(quiet) == {name}, (name, got)
    f = got[name]
    assert f["what"] and f["why"] and f["fix"], f
    assert code == EXIT[f["severity"]], (name, code)
    if not fixed:
        assert not f["fixable"], f
        return f
    backups = len(list((home.path / "backups").glob("skep-*.tar")))
    got, code = look(home, "--fix")
    assert got[name]["fixed"] == "yes" and code == 0, got
    assert len(list((home.path / "backups").glob("skep-*.tar"))) == backups + 1
    left, code = look(home)
    assert name not in left and code == 0, left
    return f


def test_every_finding_is_planted_by_a_test(home):
    table = (ROOT / "ops/doctor/doctor.def").read_text()
    names = set(re.findall(r"^FINDING\((\w+)", table, re.M))
    here = pathlib.Path(__file__).resolve().parent.parent
    text = "".join(p.read_text() for p in here.glob("*/test_*.py"))
    missing = {n for n in names if not re.search(r'[("\' ]%s["\']' % n, text)}
    assert len(names) > 20 and not missing, missing


def test_a_key_that_nobody_reads(home):
    fill(home, "ann")
    (home.path / "skep.json").write_text('{"rnu": {}}')
    (home.path / "skep.json").chmod(0o600)
    assert "rnu" in planted(home, "config_key", fixed=False)["what"]


def test_a_sidecar_that_others_can_read(home):
    fill(home, "ann")
    db = sqlite3.connect(home.agent_db("ann"))
    db.execute("INSERT INTO meta VALUES ('x', 'y')")
    db.commit()
    wal = pathlib.Path(str(home.agent_db("ann")) + "-wal")
    wal.chmod(0o644)
    assert planted(home, "mode_loose")["subject"] == str(wal)
    assert wal.stat().st_mode & 0o777 == 0o600
    db.close()


def test_an_attachment_whose_bytes_changed(home):
    fill(home, "ann")
    for name, text in (("a", b"AAA"), ("b", b"BBB")):
        home.execute(home.control, "INSERT INTO media (id, sha256, mime, size, bytes,"
                     " created_at) VALUES (?, ?, 'text/plain', 3, ?, 1)", "med_" + name,
                     hashlib.sha256(text).hexdigest(), text)
    assert look(home)[1] == 0
    home.execute(home.control, "UPDATE media SET bytes = X'414142' WHERE id = 'med_a'")
    assert planted(home, "media_wrong", fixed=False)["subject"] == "med_a"
    assert "media_wrong" not in look(home, "--quick")[0]


def test_a_lease_whose_time_is_over(home):
    fill(home, "ann")
    now = int(time.time() * 1000)
    for name, ends in (("old", now - 3600000), ("young", now + 3600000)):
        home.execute(home.control, "INSERT INTO lease (name, holder, epoch, taken_at,"
                     " expires_at) VALUES (?, 'somebody', 1, 1, ?)", name, ends)
    assert planted(home, "stale_lease")["subject"] == "old"
    assert home.query(home.control, "SELECT name FROM lease") == [("young",)]


def test_messages_that_wait_for_a_person(home):
    fill(home, "ann")
    for i, state in enumerate(("dead", "unknown", "unknown", "pending", "delivered")):
        home.execute(home.control, "INSERT INTO delivery (id, channel, is_queued, is_next,"
                     " state, due_at, created_at, body) VALUES (?, 'c', ?, 0, ?, 1, 1,"
                     " '{}')", "dlv_%d" % i, state == "pending", state)
    found = planted(home, "messages_stuck", fixed=False)
    assert "1 dead and 2 unknown" in found["what"], found
    home.execute(home.control, "DELETE FROM delivery WHERE state IN ('dead','unknown')")
    assert "messages_stuck" not in look(home)[0]


def add_schedule(home, name, held=None):
    home.execute(home.control, "INSERT INTO schedule (name, cron, zone, missed, overlap,"
                 " action, agent, prompt, held, anchor_at, computed_at, submitted_by,"
                 " created_at, changed_at) VALUES (?, '@daily', 'UTC', 'once', 'skip',"
                 " 'run', 'ann', 'go', ?, 1, 1, 'x', 1, 1)", name, held)


def add_firing(home, name, slot, outcome, reason=None):
    home.execute(home.control, "INSERT INTO firing (schedule, slot, outcome, reason, at)"
                 " VALUES (?, ?, ?, ?, 1)", name, slot, outcome, reason)


def test_a_schedule_that_waits_for_a_confirmation(home):
    fill(home, "ann")
    add_schedule(home, "good")
    add_schedule(home, "bad", held="there is no time zone Mars/Base")
    found = planted(home, "schedule_held", fixed=False)
    assert found["subject"] == "bad" and "Mars/Base" in found["what"], found
    home.execute(home.control, "UPDATE schedule SET held = NULL")
    assert "schedule_held" not in look(home)[0]


def test_a_schedule_whose_newest_slot_failed(home):
    fill(home, "ann")
    for name in "good", "bad":
        add_schedule(home, name)
    add_firing(home, "good", 1, "failed", "an old reason")
    add_firing(home, "good", 2, "fired")
    add_firing(home, "bad", 1, "fired")
    add_firing(home, "bad", 2, "failed", "the agent is disabled")
    found = planted(home, "schedule_failed", fixed=False)
    assert found["subject"] == "bad" and "disabled" in found["what"], found
    add_firing(home, "bad", 3, "fired")
    assert "schedule_failed" not in look(home)[0]


def test_a_budget_of_something_that_does_not_exist(home):
    fill(home, "ann")
    for name, agent, channel in (("good", "ann", None), ("all", None, None),
                                 ("bad", "bob", None)):
        home.execute(home.control, "INSERT INTO budget (name, per, unit, period, hard,"
                     " at_hard, agent, channel, created_at, updated_at) VALUES"
                     " (?, 'session', 'runs', 'total', 5, 'end', ?, ?, 1, 1)",
                     name, agent, channel)
    for session in "s", "t":  # a budget with several counts is one finding
        home.execute(home.control, "INSERT INTO budget_use (budget, subject,"
                     " period_start, used, updated_at) VALUES ('bad', ?, 0, 1, 1)",
                     "bob/" + session)
    found = planted(home, "budget_idle", fixed=False)
    assert found["subject"] == "bad" and "agent bob" in found["what"], found
    rows = [f["subject"] for f in home.skep("doctor", "--json").lines]
    assert rows.count("bad") == 1, rows
    home.execute(home.control, "UPDATE budget SET agent = 'ann', channel = 'mail'"
                 " WHERE name = 'bad'")
    assert "channel mail" in planted(home, "budget_idle", fixed=False)["what"]
    home.execute(home.control, "UPDATE budget SET channel = NULL")
    assert "budget_idle" not in look(home)[0]


def test_a_supervisor_that_is_dead_and_its_socket(home):
    fill(home, "ann")
    home.execute(home.control, "INSERT OR REPLACE INTO supervisor (one, pid, start_ticks,"
                 " boot_id, program, epoch, since) VALUES (1, 999999, 1, 'x', 'skepd', 7,"
                 " 1)" if "one" in columns(home, "supervisor") else
                 "INSERT INTO supervisor (pid, start_ticks, boot_id, program, epoch,"
                 " since) VALUES (999999, 1, 'x', 'skepd', 7, 1)")
    planted(home, "stale_owner")
    s = socket.socket(socket.AF_UNIX)
    s.bind(str(home.path / "run" / "old.sock"))
    s.close()
    planted(home, "stale_socket")


def columns(home, table):
    return [r[1] for r in home.query(home.control, "PRAGMA table_info(%s)" % table)]


def test_a_mount_whose_server_was_killed(home):
    """In a mount namespace of its own: a doctor takes away any dead mount of
    skep's that it sees, those of other tests too."""
    fill(home, "ann")
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        lib.skip("no /dev/fuse")
    (home.dir / "mnt").mkdir()
    output = machine(home, """
        "$SKEP" vfs mount ann "$AT/mnt" >/dev/null & server=$!
        for i in $(seq 600); do grep -q " $AT/mnt " /proc/mounts && break; sleep 0.1; done
        # the guardian would take the mount away
        kill -9 $(cat /proc/$server/task/$server/children) $server
        wait $server
        grep -q " $AT/mnt " /proc/mounts || { echo "mount: gone"; exit 1; }
        "$SKEP" doctor --json; echo status $?
        "$SKEP" doctor --fix --json; echo status $?
        grep -q " $AT/mnt " /proc/mounts && echo still mounted
        true
    """)
    first, second, third = re.split(r"status \d+\n", output)
    assert re.findall(r"status (\d+)", output) == ["1", "0"], output
    assert '"orphan_mount"' in first and '"fixed":"yes"' in second, output
    assert "orphan_mount" not in third and "still" not in third, output


def test_a_file_of_another_agent(home):
    fill(home, "ann", "bob")
    shutil.copyfile(home.agent_db("bob"), home.agent_db("ann"))
    got, code = look(home)
    assert code == 65 and "bob" in got["file_foreign"]["what"], got


def test_a_schema_of_an_older_skep(home):
    fill(home, "ann")
    path = home.agent_db("ann")
    version = home.query(path, "PRAGMA user_version")[0][0]
    path.unlink()
    db = sqlite3.connect(path)  # version 0: a file before its first migration
    db.execute("PRAGMA application_id = %d" % 0x736b6131)
    db.close()
    path.chmod(0o600)
    got, code = look(home)
    assert set(got) - {"backup_none"} == {"schema_older"} and code == 0, got
    got, code = look(home, "--fix")
    assert got["schema_older"]["fixed"] == "yes" and code == 0, got
    assert home.query(path, "PRAGMA user_version")[0][0] == version


def test_a_log_that_a_reader_holds_back(home):
    fill(home, "ann")
    reader = sqlite3.connect(home.agent_db("ann"))
    writer = sqlite3.connect(home.agent_db("ann"))
    writer.execute("PRAGMA wal_autocheckpoint=0")
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM event").fetchall()
    writer.execute("CREATE TABLE big (b)")
    for _ in range(36):
        writer.execute("INSERT INTO big VALUES (zeroblob(2000000))")
        writer.commit()
    got, code = look(home)
    assert set(got) - {"backup_none"} == {"log_large", "reader_long"}, got
    assert code == 1 and str(os.getpid()) in got["reader_long"]["what"], got
    got, code = look(home, "--fix", "--dangerously-skip-backup")
    assert code == 1 and "in use" in got["log_large"]["fixed"], got
    reader.rollback()
    got, code = look(home, "--fix", "--dangerously-skip-backup")
    assert code == 0 and got["log_large"]["fixed"] == "yes", got
    assert os.path.getsize(str(home.agent_db("ann")) + "-wal") == 0
    reader.close(), writer.close()


def test_a_clock_that_stands_back(home):
    fill(home, "ann")
    home.execute(home.control, "INSERT INTO audit (at, actor, act) VALUES (?, 'x', 'y')",
                 int(time.time() * 1000) + 86400000)
    planted(home, "clock_wrong", fixed=False)


def test_backups_that_failed_or_never_were(home):
    fill(home, "ann")
    planted(home, "backup_none", quiet=(), fixed=False)
    home.skep("backup", "create", "-o", home.dir / "no" / "such" / "place.tar", code=None)
    planted(home, "backup_failed", quiet=(), fixed=False)
    create(home)
    assert not look(home)[0]


def test_a_home_that_a_restore_kept(home):
    fill(home, "ann")
    home.skep("backup", "restore", create(home))
    planted(home, "old_home", fixed=False)


def test_leftovers_of_commands_that_were_killed(home):
    fill(home, "ann")
    (home.path / "backups" / ".work-x").mkdir(mode=0o700)
    (home.path / "backups" / ".work-x" / ".skep-work").touch(mode=0o600)
    planted(home, "leftover")
    (home.path / "backups" / ".skep-b.tar.part").write_text("half")
    (home.path / "backups" / ".skep-b.tar.part").chmod(0o600)
    planted(home, "leftover")


def test_a_home_without_state(home):
    fill(home, "ann")
    home.skep("reset", "all", "--yes")
    planted(home, "control_missing", fixed=False)


def test_a_control_plane_that_was_deleted(home):
    fill(home, "ann")
    for p in (home.path / "state").glob("skep.sqlite*"):
        p.unlink()
    planted(home, "control_lost", fixed=False)


def test_disks_that_are_nearly_full(home):
    fill(home, "ann")
    output = on_small_disk(home, "120m", """
        cp -r "$SKEP_HOME" $SMALL/home
        export SKEP_HOME=$SMALL/home
        "$SKEP" agent set ann --file $SMALL/home/agents/ann/agent.sqlite >/dev/null
        "$SKEP" doctor --json || test $? = 1
        head -c 115m /dev/zero >$SMALL/filler
        "$SKEP" doctor --json || test $? = 65
    """)
    first, second = output.split('"disk_full"')
    assert '"disk_low"' in first and '"disk_low"' not in second, output


NET = """
#define _GNU_SOURCE
#include <dlfcn.h>
int statfs(const char *path, long *out)
{
	int (*real)(const char *, long *) = dlsym(RTLD_NEXT, "statfs");
	int rc = real(path, out);

	out[0] = 0x6969; /* f_type: NFS */
	return rc;
}
int statfs64(const char *path, long *out)
{
	return statfs(path, out);
}
"""


def test_a_home_on_a_network_filesystem(home):
    fill(home, "ann")
    if not shutil.which("cc"):
        lib.skip("no compiler for the shim")
    (home.dir / "net.c").write_text(NET)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", home.dir / "net.so",
                    home.dir / "net.c"], check=True)
    got, code = look(home, env={"LD_PRELOAD": str(home.dir / "net.so")})
    assert code == 65 and "nfs" in got["network_fs"]["what"], got


def machine(home, script, under=""):
    """What is said of a machine that a script has made poorer first."""
    p = subprocess.run(["unshare", "--map-root-user", "--mount", "sh", "-c",
                        '%s\n%s "$SKEP" doctor --json' % (script, under)],
                       env=dict(home.env, SKEP=str(home.bin / "skep"),
                                AT=str(home.dir)),
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100)
    output = p.stdout.decode()
    if re.search("(unshare|mount|echo|setpriv|sh): ", output):
        lib.skip("this machine cannot be made poorer: " + output.strip())
    return output


def test_what_the_machine_lacks(home):
    fill(home, "ann")
    output = machine(home, "mount -t tmpfs none /dev || exit 1\n: >/dev/null")
    assert '"no_fuse"' in output, output
    output = machine(home, "echo 0 >/proc/sys/user/max_user_namespaces || exit 1\n"
                   "mount -t tmpfs -o ro none /sys/fs/cgroup || exit 1",
                   under="setpriv --bounding-set=-all --inh-caps=-all")
    assert '"sandbox_gap"' in output and '"no_cgroup"' in output, output


# Into a cgroup of its own, wherever the second version is mounted.
APART = """
at=$(while read -r _ path type _; do
	[ $type != cgroup2 ] || { echo $path; break; }
done </proc/self/mounts)/skep-test-$$
mkdir $at || exit 1
sh -c 'echo 0 >'$at'/cgroup.procs && exec "$0" doctor --json' "$SKEP"
rmdir $at
exit
"""


def test_cgroups_are_found_where_they_are_mounted(home):
    fill(home, "ann")
    output = machine(home, APART)
    assert '"backup_none"' in output and '"no_cgroup"' not in output, output
    if os.geteuid() != 0:
        lib.skip("only root takes mounts away")
    output = home.run("unshare", "-m", "sh", "-c", "awk '$3 == \"cgroup2\" "
                    "{ print $2 }' /proc/mounts | xargs -r -n 1 umount -l && "
                    "exec $0 doctor --json", home.bin / "skep", code=None).out
    assert '"no_cgroup"' in output and "not mounted" in output, output


def test_a_fix_does_what_it_says_and_nothing_else(home):
    """Two faults, of which one is for a person: that one stays as it is."""
    fill(home, "ann", "bob")
    home.execute(home.agent_db("ann"), "PRAGMA user_version = 999")
    (home.path / "state").chmod(0o755)
    before = {p: p.read_bytes() for p in home.path.rglob("agent.sqlite")}
    got, code = look(home, "--fix", "--dangerously-skip-backup")
    assert code == 65 and got["mode_loose"]["fixed"] == "yes", got
    assert got["schema_newer"]["fixed"] is None and not got["schema_newer"]["fixable"]
    assert {p: p.read_bytes() for p in before} == before
    assert not list((home.path / "backups").glob("*.tar"))


def test_a_large_file_is_looked_at_table_by_table(home):
    """With progress: that of one database shows too."""
    from test_doctor import measured
    fill(home, "ann")
    db = sqlite3.connect(home.agent_db("ann"))
    db.execute("CREATE TABLE big (id INTEGER PRIMARY KEY, t)")
    db.executemany("INSERT INTO big (t) VALUES (?)", [("x" * 500,)] * 40000)
    db.commit()
    db.close()
    status, megabytes, _ = measured(home, "doctor")
    assert status == 0 and megabytes < 200
    db = sqlite3.connect(home.agent_db("ann"))
    db.execute("PRAGMA foreign_keys = OFF")
    db.execute("CREATE TABLE child (p REFERENCES big (id))")
    db.execute("INSERT INTO child VALUES (999999)")
    db.commit()
    db.close()
    got, code = look(home)
    assert code == 65 and "child" in got["damaged"]["what"], got


def test_a_table_that_is_missing_is_reported(home):
    fill(home, "ann")
    home.execute(home.agent_db("ann"), "DROP TABLE cache")
    got, code = look(home)
    assert code == 65 and "no such table: cache" in got["damaged"]["what"], got
