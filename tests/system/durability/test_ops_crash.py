"""Operators' commands that are killed, fail or run out of disk in the middle:
what was there is there, and the same command again does it."""
import shutil
import subprocess

import lib
from skepd_lib import fault_points, faults_bin
from test_backup import at, create, fill, rows, append_message
from test_state import age

TRIED = set()


def armed(home):
    if not faults_bin():
        lib.skip("no build with fault points")
    home.bin = faults_bin("kill")
    return home


def with_fault(home, point, how, *args):
    """Runs skep so that it dies or fails at the point, and must have reached
    it."""
    TRIED.add(point)
    r = home.run(faults_bin(how) / "skep", *args, code=None,
                 env={"SKEP_FAULT": "%s:%s" % (point, how)})
    if how.startswith("kill"):
        assert r.code == -9, (point, r.code, r.err)
    else:
        assert r.code == 74 and "fault injected" in r.err, (point, r.code, r.err)


def litter(home):
    """What a command left beside its work."""
    return [p for d in (home.dir, home.path / "backups") for p in d.glob(".skep*")
            ] + list((home.path / "backups").glob(".work*"))


def try_points(home, prefix, check):
    for point in fault_points():
        if point.startswith(prefix):
            for how in ("error", "kill"):
                check(point, how)


def test_a_backup_that_dies_leaves_nothing_that_looks_like_one(home):
    fill(armed(home), "ann", "bob")

    def check(point, how):
        path = home.dir / ("%s-%s.tar" % (point, how))
        with_fault(home, point, how, "backup", "create", "-o", path)
        assert not path.exists(), point
        if how == "error":
            assert not litter(home), (point, litter(home))
        state = home.skep("backup", "ls", "--json").lines[0]
        assert state["state"] == "failed", (point, state)
        create(home, path.name)
        home.skep("backup", "verify", path)
        assert not litter(home), (point, litter(home))
    try_points(home, "backup_", check)


def test_a_restore_that_dies_leaves_the_old_home_or_the_new(home):
    fill(armed(home), "ann", "bob")
    path = create(home)
    old = rows(home, home.agent_db("ann"))["event"]
    append_message(home, "ann", "three")
    new = rows(home, home.agent_db("ann"))["event"]
    assert len(new) == len(old) + 1

    def check(point, how):
        if point == "restore_activate":
            return
        with_fault(home, point, how, "backup", "restore", path)
        got = rows(home, home.agent_db("ann"))["event"]
        # at the last point the restored home is in place already
        assert got == (old if point == "restore_swapped" else new), point
        before = [p for p in home.dir.iterdir() if p.name.startswith(
            (".skep-restore", "home.before"))]
        if point == "restore_swapped":
            kept = at(home, before[0])
            assert rows(home, kept.agent_db("ann"))["event"] == new, before
        home.skep("session", "ls", "--agent", "ann")
        home.integrity()
        home.skep("backup", "restore", path)
        assert rows(home, home.agent_db("ann"))["event"] == old
        last = sorted(home.dir.glob("home.before-*"))[-1]
        if point != "restore_swapped":
            assert rows(home, at(home, last).agent_db("ann"))["event"] == new
        append_message(home, "ann", "three")
        for p in home.dir.glob("home.before-*"):
            shutil.rmtree(p)
        for p in home.dir.glob(".skep-restore*"):
            shutil.rmtree(p)
        # the same rows again, so that the next point can compare
        new[:] = rows(home, home.agent_db("ann"))["event"]
    try_points(home, "restore_", check)


def test_one_agent_restored_by_halves_is_the_old_or_the_new(home):
    fill(armed(home), "ann", "bob")
    path = create(home)
    append_message(home, "ann", "three")
    for how in ("error", "kill"):
        with_fault(home, "restore_activate", how, "backup", "restore", path,
                   "--agent", "ann", "--activate")
        assert home.query(home.agent_db("ann"), "SELECT count(*) FROM event") == [(3,)]
        home.skep("session", "ls", "--agent", "ann")
    home.skep("backup", "restore", path, "--agent", "ann", "--activate")
    assert home.query(home.agent_db("ann"), "SELECT count(*) FROM event") == [(2,)]
    append_message(home, "ann", "again")
    home.integrity()


def on_small_disk(home, size, text, code=0):
    """Runs a shell script with $SMALL, a disk of that size."""
    small = home.dir / "small"
    small.mkdir(exist_ok=True)
    script = ("mount -t tmpfs -o size=%s,mode=0700 none $SMALL && { %s\n}" %
              (size, text))
    env = dict(home.env, SMALL=str(small), SKEP=str(home.bin / "skep"))
    p = subprocess.run(["unshare", "--map-root-user", "--mount", "sh", "-ec", script],
                       env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       timeout=500, cwd=home.dir)
    output = p.stdout.decode()
    if "unshare:" in output or "mount:" in output:
        lib.skip("no mounts here: " + output.strip())
    assert p.returncode == code, (p.returncode, output)
    return output


def test_a_full_disk_fails_a_backup_and_leaves_no_half(home):
    fill(home, "ann", "bob")
    output = on_small_disk(home, "500k", """
        "$SKEP" backup create -o $SMALL/b.tar && exit 9
        test $? = 74
        ls -A $SMALL
    """)
    assert "b.tar" not in output.split("\n", 1)[1], output
    assert "space" in output or "full" in output, output


def test_a_full_disk_fails_a_restore_and_leaves_the_target_alone(home):
    fill(home, "ann", "bob")
    create(home)
    output = on_small_disk(home, "600k", """
        "$SKEP" backup restore b.tar --to $SMALL/new && exit 9
        test $? = 74
        ls -A $SMALL
    """)
    assert "new" not in output.split("\n", 1)[1].split(), output


def test_a_full_disk_stops_a_backup_of_a_home_on_it(home):
    fill(home, "ann", "bob")
    output = on_small_disk(home, "4000k", """
        cp -r "$SKEP_HOME" $SMALL/home
        export SKEP_HOME=$SMALL/home
        "$SKEP" agent set ann --file $SMALL/home/agents/ann/agent.sqlite
        "$SKEP" agent set bob --file $SMALL/home/agents/bob/agent.sqlite
        head -c 2700k /dev/zero >$SMALL/filler || true
        "$SKEP" backup create && exit 9
        rm $SMALL/filler
        "$SKEP" backup create >/dev/null
        ls -A $SMALL/home/backups
        "$SKEP" session append s --agent ann more
    """)
    assert ".work" not in output and ".part" not in output, output


def old_sessions(home, n=6):
    for i in range(n):
        home.skep("session", "append", "old%d" % i, "text", "--agent", "ann")
    (home.dir / "file").write_bytes(b"x" * 100000)
    home.skep("vfs", "put", "ann", "/file", home.dir / "file")
    home.skep("snapshot", "create", "ann", "old")
    (home.dir / "file").write_bytes(b"y" * 100000)
    home.skep("vfs", "put", "ann", "/file", home.dir / "file")
    home.execute(home.agent_db("ann"), "UPDATE vfs_snap SET made_at = 1000")
    age(home, "ann", 50, {"old%d" % i for i in range(n)})


def test_a_prune_that_dies_is_finished_by_the_next(home):
    fill(armed(home), "ann", "bob")

    def check(point, how):
        old_sessions(home)
        with_fault(home, point, how, "state", "prune", "--keep-n", "0")
        home.integrity()
        home.skep("session", "ls", "--agent", "ann")
        home.skep("vfs", "fsck", "ann")
        home.skep("state", "prune", "--keep-n", "0")
        home.skep("vfs", "fsck", "ann")
        assert home.query(home.agent_db("ann"), "SELECT count(*) FROM vfs_snap") == [(0,)]
        assert home.query(home.agent_db("ann"), "SELECT count(*) FROM vfs_undo_inode"
                          ) == [(0,)]
        assert home.query(home.agent_db("ann"), "SELECT count(*) FROM session") == [(1,)]
        assert home.query(home.agent_db("ann"), "SELECT count(*) FROM event") == [(2,)]
        home.integrity()
    try_points(home, "prune_", check)


def test_a_vacuum_that_dies_loses_nothing(home):
    fill(armed(home), "ann")
    before = rows(home, home.agent_db("ann"))

    def check(point, how):
        home.execute(home.agent_db("ann"), "CREATE TABLE big AS SELECT"
                     " randomblob(3000000) AS b")
        home.execute(home.agent_db("ann"), "DROP TABLE big")
        for nth in ("", ":2"):
            with_fault(home, point, how + nth, "state", "vacuum", "--incremental",
                       "--agent", "ann")
            assert rows(home, home.agent_db("ann")) == before
        home.integrity()
        home.skep("state", "vacuum", "--incremental", "--agent", "ann")
        assert home.query(home.agent_db("ann"), "PRAGMA freelist_count") == [(0,)]
    try_points(home, "vacuum_", check)


def test_a_full_disk_stops_a_prune_and_a_vacuum_without_loss(home):
    fill(home, "ann")
    old_sessions(home)
    output = on_small_disk(home, "2600k", """
        cp -r "$SKEP_HOME" $SMALL/home
        export SKEP_HOME=$SMALL/home
        "$SKEP" agent set ann --file $SMALL/home/agents/ann/agent.sqlite >/dev/null
        head -c 3000k /dev/zero >$SMALL/filler 2>/dev/null || true
        "$SKEP" state prune --keep-n 0 && exit 9
        "$SKEP" state vacuum --agent ann && exit 8
        rm $SMALL/filler
        "$SKEP" state prune --keep-n 0 --json
        "$SKEP" session ls --agent ann --json
    """)
    assert '"key":"s"' in output and '"old' not in output, output


def test_a_disk_that_becomes_full_anywhere_in_the_middle(home):
    """Each command with so much room, then with a little more, until it succeeds:
    what fails, fails because of the disk, and loses nothing; and then it is done."""
    fill(home, "ann", "bob")
    old_sessions(home, 12)
    create(home)
    output = on_small_disk(home, "16m", """
        cp -r "$SKEP_HOME" $SMALL/home
        export SKEP_HOME=$SMALL/home
        for agent in ann bob; do
            "$SKEP" agent set $agent --file $SMALL/home/agents/$agent/agent.sqlite >/dev/null
        done
        cp -r $SMALL/home good
        try() { # NAME COMMAND...: with more and more room
            name=$1; shift
            failed=0
            for room in 0 16 64 128 256 512 1024 2048 4096; do
                rm -rf $SMALL/*
                cp -r good $SMALL/home
                free=$(df -k --output=avail $SMALL | tail -1)
                test $free -gt $room || break
                head -c $((free - room))k /dev/zero >$SMALL/filler
                "$@" >out 2>&1 && code=0 || code=$?
                rm -f $SMALL/filler
                "$SKEP" session show s --agent ann --json >/dev/null || exit 7
                "$SKEP" doctor --json >doctor 2>&1 || test $? -lt 65 || { cat doctor; exit 8; }
                test $code = 0 && break
                test $code = 74 || { echo "$name: status $code with $room kB"; cat out; exit 9; }
                failed=$((failed + 1))
                "$@" >out 2>&1 || { echo "$name: not after $room kB"; cat out; exit 6; }
            done
            echo "$name failed $failed times, last status $code"
        }
        try prune "$SKEP" state prune --keep-n 0
        try vacuum "$SKEP" state vacuum
        try batches "$SKEP" state vacuum --incremental
        try null "$SKEP" state redact --keep-days 1
        try backup "$SKEP" backup create -o $SMALL/b.tar
        try restore "$SKEP" backup restore b.tar --to $SMALL/new
        try over "$SKEP" backup restore b.tar
        try activate "$SKEP" backup restore b.tar --agent ann --activate
    """)
    for name in ("prune", "vacuum", "null", "backup", "restore", "over", "activate"):
        line = [x for x in output.splitlines() if x.startswith(name + " failed")]
        assert line and " 0 times" not in line[0] and "status 0" in line[0], (name, output)


test_a_disk_that_becomes_full_anywhere_in_the_middle.seconds = 600
