"""skep doctor and skep reset: problems of a home, and starting again."""
import json
import os
import pty
import shutil
import socket
import sqlite3
import subprocess

import lib
from skepd_lib import host
from test_backup import fill

HINTS = {"no_fuse", "sandbox_gap", "no_cgroup", "backup_none", "old_home", "orphan_mount",
         "sqlite_race"}


def findings(home, *more, code=None):
    r = home.skep("doctor", "--json", *more, code=code)
    return {(f["finding"], os.path.basename(f["subject"])): f for f in r.lines
            if f["finding"] not in HINTS}, r


def expect(home, *names, code):
    got, r = findings(home, code=code)
    assert set(got) == set(names), (sorted(got), r.err)
    for f in got.values():
        assert f["what"] and f["why"] and f["fix"], f
    return got


def test_a_healthy_home_has_nothing_to_say(home):
    home.refused(66, "doctor")
    fill(home, "ann")
    before = home.picture()
    expect(home, code=0)
    assert home.picture() == before, "it reads only"
    assert "no errors" in home.skep("doctor").out


def test_a_new_home_in_use_has_nothing_to_say(home):
    h = host(home)
    h.agent("ann")
    expect(home, code=0)  # its schema may be in the log only, so far
    h.down()


def test_a_sqlite_with_the_wal_reset_bug_is_named(home):
    """Debian's python3 and skep use the same library."""
    fill(home, "ann")
    version = sqlite3.sqlite_version_info
    affected = (3, 7, 0) <= version < (3, 51, 3) and not (
        version[:2] in ((3, 44), (3, 50)) and version >= (*version[:2],
                                                         6 if version[1] == 44 else 7))
    got = [f for f in home.skep("doctor", "--json").lines
           if f["finding"] == "sqlite_race"]
    assert len(got) == affected, (version, got)
    for f in got:
        assert sqlite3.sqlite_version in f["what"] and "WAL-reset" in f["what"], f
        assert "3.51.3" in f["fix"] and f["why"] and f["severity"] == "info", f


def test_loose_rights_are_found_and_mended(home):
    fill(home, "ann")
    secret = home.path / "credentials" / "key"
    secret.write_text("x")
    secret.chmod(0o644)
    home.agent_db("ann").chmod(0o640)
    (home.path / "state").chmod(0o755)
    expect(home, ("mode_loose", "key"), ("mode_loose", "agent.sqlite"),
           ("mode_loose", "state"), code=1)
    got, _ = findings(home, "--fix", code=0)
    assert all(f["fixed"] == "yes" for f in got.values()), got
    assert secret.stat().st_mode & 0o777 == 0o600
    assert (home.path / "state").stat().st_mode & 0o777 == 0o700
    expect(home, code=0)
    kinds = [r["kind"] for r in home.skep("backup", "ls", "--json").lines]
    assert kinds == ["safety"], "a backup comes first"


def test_a_broken_configuration_is_no_obstacle(home):
    fill(home, "ann")
    (home.path / "skep.json").write_text('{"run": {"max": "many"}}')
    (home.path / "skep.json").chmod(0o600)
    got = expect(home, ("config_broken", "skep.json"), code=65)
    assert "max" in got["config_broken", "skep.json"]["what"]


def test_files_and_registry_are_compared(home):
    fill(home, "ann", "bob", "eve")
    os.rename(home.agent_db("ann"), home.dir / "away")
    shutil.copytree(home.agent_db("bob").parent, home.path / "agents" / "copy")
    home.execute(home.control, "DELETE FROM agent_database WHERE agent = 'eve'")
    got = expect(home, ("file_missing", "agent.sqlite"),
                 ("file_unknown", "agent.sqlite"), code=65)
    _, r = findings(home, "--fix", code=None)
    fixed = {f["subject"]: f["fixed"] for f in r.lines if f["finding"] == "file_unknown"}
    assert fixed[str(home.agent_db("eve"))] == "yes", fixed
    assert "bob" in fixed[str(home.path / "agents" / "copy" / "agent.sqlite")]
    assert home.skep("session", "ls", "--agent", "eve", "--json").lines
    assert got


def test_damage_is_found(home):
    fill(home, "ann", "bob")
    for i in range(300):
        home.execute(home.agent_db("ann"), "INSERT INTO event (pos, type, at, body)"
                     " VALUES (?, 2, 1, ?)", (9 << 32) + i, '"%s"' % ("x" * 500))
    home.skep("state", "checkpoint")
    raw = bytearray(home.agent_db("ann").read_bytes())
    for page in range(len(raw) // 4096 - 6, len(raw) // 4096 - 2):
        raw[page * 4096:page * 4096 + 2000] = os.urandom(2000)
    home.agent_db("ann").write_bytes(raw)
    home.agent_db("bob").write_bytes(b"no database at all, of any kind" * 10)
    got, r = findings(home, code=65)
    assert ("damaged", "agent.sqlite") in got and ("unreadable", "agent.sqlite") in got
    assert not {f for f in findings(home, "--quick")[0] if f[0] == "damaged"}


def test_what_dead_processes_left_is_found_and_removed(home):
    fill(home, "ann")
    h = host(home)
    h.kill()
    (home.path / "backups" / ".work-x").mkdir()
    (home.path / "backups" / ".work-x" / ".skep-work").touch()
    s = socket.socket(socket.AF_UNIX)
    s.bind(str(home.path / "run" / "old.sock"))
    s.close()
    got, _ = findings(home, code=None)
    assert {("stale_owner", "skep.sqlite"), ("leftover", ".work-x"),
            ("stale_socket", "old.sock")} <= set(got), got
    findings(home, "--fix", code=None)
    left, _ = findings(home, code=None)
    assert not {k[0] for k in left} & {"stale_owner", "leftover", "stale_socket"}, left
    assert not (home.path / "run" / "old.sock").exists()


def test_a_process_of_a_run_that_is_over_is_found_and_ended(home):
    h = host(home)
    h.script("ann", {"event": {"type": "note", "text": "n"}})
    run = h.submit("ann")
    h.until(run)
    lost = home.start("sleep", "1000", env={"SKEP_RUN_ID": run})
    got, _ = findings(home, code=1)
    assert ("orphan_process", str(lost.pid)) in got
    findings(home, "--fix", code=0)
    assert lost.wait(lib.HANG) == -9
    h.down()


def test_newer_and_older_schemas_are_told_apart(home):
    fill(home, "ann", "bob")
    home.execute(home.agent_db("ann"), "PRAGMA user_version = 999")
    expect(home, ("schema_newer", "agent.sqlite"), code=65)


# --- reset


def test_reset_removes_what_was_asked_and_nothing_else(home):
    fill(home, "ann", "bob")
    (home.path / "skep.json").write_text("{}")
    (home.path / "credentials" / "key").write_text("x")
    assert "--yes" in home.refused(64, "reset", "agent", "ann")
    home.refused(64, "reset")
    home.refused(64, "reset", "agent", "--yes")
    keep = home.agent_db("bob").read_bytes()
    home.skep("reset", "agent", "ann", "--yes")
    assert not list(home.agent_db("ann").parent.glob("agent.sqlite*"))
    assert home.agent_db("bob").read_bytes() == keep
    assert home.skep("agent", "show", "ann", "--json").json["name"] == "ann"
    home.skep("reset", "sessions", "--yes")
    assert not home.agent_db("bob").exists() and home.control.exists()
    home.skep("session", "append", "new", "x", "--agent", "bob")
    home.skep("reset", "config", "--yes")
    assert not (home.path / "skep.json").exists() and home.agent_db("bob").exists()
    home.skep("reset", "all", "--yes")
    assert not list(home.path.rglob("*.sqlite*"))
    assert (home.path / "credentials" / "key").exists()


def test_who_removed_everything_is_still_known(home):
    log = home.path / "logs" / "audit.log"
    for n in (1, 2):
        fill(home, "ann")
        home.execute(home.control, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
                     "SELECT i + 1 FROM n WHERE i < 1200) INSERT INTO audit "
                     "(at, actor, act, subject) SELECT i, 'me', 'many', i FROM n")
        home.skep("reset", "agent", "ann", "--yes")
        home.skep("reset", "all", "--yes")
        rows = [json.loads(line) for line in log.read_text().splitlines()]
        acts = [r["act"] for r in rows]
        assert acts.count("reset.all") == acts.count("reset.agent") == n, acts
        assert acts.count("many") == 1200 * n
        last = rows[-1]
        assert last["act"] == "reset.all" and last["actor"].startswith("cli:"), last
    assert log.stat().st_mode & 0o777 == 0o600
    assert not list(home.path.rglob("*.sqlite*"))
    fill(home, "ann")
    seen = home.skep("doctor", "--json", code=None).out
    assert "audit.log" not in seen, seen


def test_reset_is_refused_while_in_use(home):
    h = host(home)
    h.script("ann", {"event": {"type": "note", "text": "n"}})
    h.until(h.submit("ann"))
    for scope in (["config"], ["sessions"], ["agent", "ann"], ["all"]):
        home.refused(75, "reset", *scope, "--yes")
    h.down()
    db = sqlite3.connect(home.agent_db("ann"))
    db.execute("SELECT count(*) FROM event").fetchall()
    home.refused(75, "reset", "all", "--yes")
    db.close()
    assert home.agent_db("ann").exists() and home.control.exists()
    home.skep("reset", "all", "--yes")


# --- many agents

MANY = int(os.environ.get("SKEP_MANY_AGENTS", "40"))


def many_agents(home, n):
    """n agents, made by copying the first one's rows and file."""
    fill(home, "a0")
    home.skep("state", "checkpoint")
    db = sqlite3.connect(home.control)
    for i in range(1, n):
        name = "a%d" % i
        path = home.agent_db(name)
        path.parent.mkdir(mode=0o700)
        shutil.copyfile(home.agent_db("a0"), path)
        path.chmod(0o600)
        file = sqlite3.connect(path)
        file.execute("PRAGMA synchronous = OFF")
        file.execute("UPDATE meta SET value = ? WHERE key = 'agent'", (name,))
        file.commit()
        file.close()
        for table, key, more in (("agent", "name", {"is_default": 0}),
                                 ("agent_database", "agent", {"path": str(path)})):
            row = db.execute("SELECT * FROM %s WHERE %s = 'a0'" % (table, key))
            values = dict(zip([c[0] for c in row.description], row.fetchone()),
                          **{key: name}, **more)
            db.execute("INSERT INTO %s (%s) VALUES (%s)" % (
                table, ",".join(values), ",".join("?" * len(values))),
                list(values.values()))
    db.commit()
    db.close()


def measured(home, *args):
    """Runs skep with a terminal as its stderr: (status, peak memory in MB, what
    the terminal saw)."""
    ours, theirs = pty.openpty()
    p = subprocess.Popen([home.bin / "skep", *map(str, args)], env=home.env,
                         stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    seen = b""
    while True:
        try:
            got = os.read(ours, 65536)
        except OSError:
            break
        if not got:
            break
        seen += got
    os.close(ours)
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    return p.returncode, usage.ru_maxrss / 1024, seen


def test_many_agents_need_little_memory_and_show_progress(home):
    many_agents(home, MANY)
    archive = home.dir / "b.tar.zst"
    for args, word in ((("doctor",), b"looking"),
                       (("backup", "create", "--zstd", "-o", archive), b"backing up"),
                       (("backup", "verify", archive), b"verifying"),
                       (("backup", "restore", archive, "--to", home.dir / "new"),
                        b"unpacking")):
        status, megabytes, seen = measured(home, *args)
        assert status == 0 and word in seen, (args, status, seen[-300:])
        assert megabytes < 200, (args, megabytes)
    assert len(list((home.dir / "new" / "agents").iterdir())) == MANY


test_many_agents_need_little_memory_and_show_progress.seconds = 120 + MANY // 10
