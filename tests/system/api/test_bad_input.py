"""Whatever comes from outside: a clear error that names the thing, the right
exit status, and nothing changed."""
import contextlib
import os
import pathlib
import shutil
import sqlite3
import stat
import subprocess

import lib


def fresh(home):
    home.skep("agent", "add", "a", "--driver", "script")
    home.skep("session", "append", "s", "hello")


def unchanged(home, code, *args, **more):
    before = home.picture()
    error = home.refused(code, *args, **more)
    after = home.picture()
    changed = [k for k in set(before) | set(after)
               if before.get(k) != after.get(k)]
    assert not changed, changed
    return error


def test_keys_that_are_not_keys_are_refused(home):
    fresh(home)
    for key in ("", "a\nb", "a\x1b[31m", "a\x7f", "x" * 513, "y" * 100_000,
                b"\xff\xfe", b"a\xc3"):
        error = unchanged(home, 64, "session", "append", "--", key, "text")
        assert len(error) < 500 and "\x1b" not in error
    home.skep("session", "append", "--", "-x/../y 日本", "slashes are fine")


def test_a_key_of_ten_megabytes_is_refused_by_its_size(home):
    fresh(home)
    line = '{"record":"session","version":1,"key":"%s"}' % ("k" * 10_000_000)
    error = unchanged(home, 65, "session", "import", "-", input=line)
    assert "line 1" in error and len(error) < 600


def test_a_body_must_be_json_and_text_utf8(home):
    fresh(home)
    for body in ("{", "", "nope", '{"a":1} x', '"\xff"'.encode("latin-1"),
                 b'{"a":"\0"}'):
        unchanged(home, 65, "session", "append", "s", "--body", "-",
                  input=body)
    unchanged(home, 64, "session", "append", "s", b"\xff")
    unchanged(home, 64, "session", "append", "s")


def test_an_oversized_body_is_refused(home):
    fresh(home)
    big = '{"content":"%s"}' % ("x" * (17 << 20))
    unchanged(home, 65, "session", "append", "s", "--body", "-", input=big)


def test_a_nul_in_json_is_refused_and_not_cut_off(home):
    fresh(home)
    for line in ('{"record":"session","version":1,"key":"a\\u0000b"}',
                 '{"record":"session","version":1,"key":"a","x":"\\u0000"}'):
        error = unchanged(home, 65, "session", "import", "-", input=line)
        assert "NUL" in error
    unchanged(home, 65, "session", "append", "s", "--body",
              '{"content":"a\\u0000b"}')
    unchanged(home, 65, "agent", "set", "a", "--from", "-",
              input='{"x":"a\\u0000b"}')


def test_types_that_nobody_knows_are_kept(home):
    fresh(home)
    home.skep("session", "append", "s", "x", "--type", "from-the-future")
    last = home.skep("session", "show", "s", "--events", "--json").lines[-1]
    assert last["type"] == "from-the-future"


def test_a_file_that_is_no_database_is_named(home):
    fresh(home)
    for path, command in ((home.agent_db("a"), ("session", "ls")),
                          (home.control, ("agent", "ls"))):
        kept = path.read_bytes()
        path.write_bytes(b"this is not a database, but longer than a header "
                         b"of one hundred bytes, which is what is looked at..")
        error = unchanged(home, 65, *command)
        assert str(path) in error
        path.write_bytes(b"")
        error = unchanged(home, 65, *command)
        assert str(path) in error and "empty" in error
        path.write_bytes(kept)
        home.skep(*command)


def test_a_pipe_or_directory_in_place_of_a_database_is_named(home):
    """SQLite waits for ever on a pipe."""
    fresh(home)
    os.mkfifo(home.dir / "pipe")
    (home.dir / "directory").mkdir()
    kept = home.dir / "kept"
    for path in (home.agent_db("a"), home.control):
        path.rename(kept)
        for bad in ("pipe", "directory"):
            for suffix in ("", "-wal"):
                if suffix:
                    shutil.copy(kept, path)
                os.rename(home.dir / bad, str(path) + suffix)
                for command in (("session", "append", "s", "x"),
                                ("session", "ls"), ("agent", "set", "a",
                                                    "--model", "m")):
                    r = home.skep(*command, code=None, seconds=60)
                    assert r.code in (0, 65), (path, bad, suffix, r.err)
                    assert not r.code or str(path) + suffix in r.err, r.err
                os.rename(str(path) + suffix, home.dir / bad)
                path.unlink(missing_ok=True)
        kept.rename(path)
    home.skep("session", "ls")
    home.integrity()


def test_a_damaged_page_is_reported_as_damage(home):
    fresh(home)
    for i in range(40):
        home.skep("session", "append", "s", "x" * 3000)
    home.execute(home.agent_db("a"), "PRAGMA wal_checkpoint(TRUNCATE)")
    size = home.agent_db("a").stat().st_size
    with open(home.agent_db("a"), "r+b") as f:
        f.seek(size // 2)
        f.write(os.urandom(size // 2 - 4096))
    error = home.refused(65, "session", "show", "s", "--events", "--json")
    assert str(home.agent_db("a")) in error


def test_a_newer_schema_is_refused_untouched(home):
    fresh(home)
    for path, command in ((home.agent_db("a"), ("session", "ls")),
                          (home.control, ("agent", "ls"))):
        db = sqlite3.connect(path)
        version = db.execute("PRAGMA user_version").fetchone()[0]
        db.execute("PRAGMA user_version = %d" % (version + 1))
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.close()
        error = unchanged(home, 78, *command)
        assert str(path) in error and "version %d" % (version + 1) in error
        home.execute(path, "PRAGMA user_version = %d" % version)
        home.skep(*command)


def test_the_file_of_another_program_is_refused(home):
    fresh(home)
    path = home.agent_db("a")
    path.unlink()
    db = sqlite3.connect(path)
    db.execute("PRAGMA application_id = 7")
    db.execute("CREATE TABLE t (x)")
    db.commit()
    db.close()
    assert "not a agent file" in unchanged(home, 65, "session", "ls").replace(
        "an agent", "a agent")


def test_a_home_that_is_not_there_is_named(home):
    error = unchanged(home, 66, "agent", "ls")
    assert str(home.path) in error
    unchanged(home, 66, "session", "ls", "--agent", "a")
    unchanged(home, 66, "state", "stats")


def test_a_home_that_is_a_file_is_named(home):
    home.path.write_text("hello")
    error = home.refused(None, "agent", "add", "a", "--driver", "script")
    assert str(home.path) in error
    assert home.path.read_text() == "hello"


def test_a_missing_agent_directory_is_named(home):
    fresh(home)
    shutil.rmtree(home.agent_db("a").parent)
    error = home.refused(66, "session", "append", "s", "x")
    assert str(home.agent_db("a")) in error and "--file" in error
    assert not home.agent_db("a").exists()


def test_a_moved_file_can_be_told(home):
    fresh(home)
    to = home.dir / "elsewhere"
    shutil.move(home.agent_db("a").parent, to)
    home.refused(66, "session", "ls")
    home.skep("agent", "set", "a", "--file", to / "agent.sqlite")
    assert home.skep("session", "ls", "--json").json["key"] == "s"
    home.skep("agent", "add", "b", "--driver", "script")
    error = home.refused(65, "agent", "set", "b", "--file", to / "agent.sqlite")
    assert "'a'" in error


def mount(home, *args):
    """A small filesystem at the home's place, for the time of the test."""
    if os.geteuid() != 0:
        lib.skip("mounting needs root")
    home.path.mkdir(mode=0o700, exist_ok=True)
    r = home.run("mount", *args, home.path, code=None)
    if r.code:
        lib.skip("mount is not allowed here: " + r.err.strip())
    home.undo.append(lambda: subprocess.run(["umount", "-l", home.path]))


SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/vfs.h>
int statfs64(const char *path, struct statfs64 *b) {
	int (*real)(const char *, struct statfs64 *) = dlsym(RTLD_NEXT, "statfs64");
	int rc = real(path, b);
	b->f_type = 0x6969;
	return rc;
}
"""


def test_a_network_filesystem_is_refused(home):
    (home.dir / "shim.c").write_text(SHIM)
    r = home.run("cc", "-shared", "-fPIC", "-o", home.dir / "shim.so",
                 home.dir / "shim.c", "-ldl", code=None)
    if r.code:
        lib.skip("cc is not there")
    env = {"LD_PRELOAD": str(home.dir / "shim.so")}
    for args in (["agent", "add", "a", "--driver", "script"], ["up"]):
        error = home.refused(69, *args, env=env)
        assert "network file system (nfs)" in error, error
        assert str(home.control) in error
    assert not home.control.exists()


def test_a_full_disk_loses_nothing_that_was_acknowledged(home):
    mount(home, "-t", "tmpfs", "-o", "size=3m,mode=700", "tmpfs")
    fresh(home)
    error, acknowledged = "", 1
    for _ in range(200):
        r = home.skep("session", "append", "s", "x" * 60_000, code=None)
        if r.code:
            error = r.err
            break
        acknowledged += 1
    assert r.code == 74 and "full" in error, error
    big = home.dir / "big"
    big.write_bytes(b"z" * 3_000_000)
    assert home.skep("artifact", "put", big, "--owner", "o",
                     code=None).code == 74
    with open(home.path / "fill", "wb", 0) as f:
        with contextlib.suppress(OSError):
            while f.write(b"z" * 4096):
                pass
    error = home.refused(74, "agent", "set", "a", "--model", "m")
    assert "disk is full" in error and str(home.path) in error, error
    home.skep("session", "show", "s")
    home.run("mount", "-o", "remount,size=16m", home.path)
    events = home.skep("session", "show", "s", "--events", "--json").lines
    assert [e["seq"] for e in events] == list(range(1, acknowledged + 1))
    assert home.skep("artifact", "ls", "--json").lines == []
    home.skep("session", "append", "s", "there is room again")
    home.integrity()


def test_a_home_that_could_not_be_made_whole_is_made_later(home):
    mount(home, "-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs")
    assert "full" in home.refused(74, "agent", "add", "a", "--driver", "script")
    assert "full (0 bytes" in home.refused(74, "up")
    home.run("mount", "-o", "remount,size=16m", home.path)
    fresh(home)
    home.skep("up")
    home.skep("down")
    home.integrity()


def test_output_goes_to_a_device_and_does_not_replace_it(home):
    fresh(home)
    home.skep("session", "append", "s", "hello")
    home.skep("artifact", "put", "-", "n", "--owner", "o", input="bytes")
    home.skep("vfs", "put", "a", "f", input="text")
    gets = (["session", "export", "s", "--output"],
            ["artifact", "get", "n", "--owner", "o", "--output"],
            ["vfs", "get", "a", "f"])
    full, pipe = home.dir / "full", home.dir / "pipe"
    if os.geteuid() == 0:
        os.mknod(full, 0o600 | stat.S_IFCHR, os.makedev(1, 7))
    else:
        full = pathlib.Path("/dev/full")
    os.mkfifo(pipe)
    for args in gets:
        assert str(full) in home.refused(74, *args, full)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        home.skep(*args, pipe)
        assert os.read(reader, 100), args
        os.close(reader)
        assert str(home.dir / "no") in home.refused(66, *args,
                                                    home.dir / "no" / "x")
    assert stat.S_ISCHR(full.stat().st_mode)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_output_that_cannot_be_written_is_an_error(home):
    fresh(home)
    with open("/dev/full", "wb") as full:
        p = subprocess.run([home.bin / "skep", "session", "ls"], env=home.env,
                           stdout=full, stderr=subprocess.PIPE)
    assert p.returncode == 74 and b"skep: " in p.stderr
    p = subprocess.Popen([home.bin / "skep", "session", "show", "s",
                          "--events"], env=home.env, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    p.stdout.close()
    assert p.wait() in (0, 74)


def test_terminal_sequences_in_data_never_come_out(home):
    fresh(home)
    nasty = "a\x1b]0;title\x07b\x9bc\u202ed"
    home.skep("session", "append", "s", nasty)
    home.skep("session", "title", "s", nasty)
    home.skep("session", "search", "a")
    for args in (("session", "show", "s", "--events"), ("session", "ls"),
                 ("session", "tail", "s"), ("session", "search", "a"),
                 ("session", "show", "s")):
        out = home.skep(*args).out
        for bad in ("\x1b", "\x07", "\x9b", "\u202e"):
            assert bad not in out, (args, out)


def test_wrong_words_get_a_hint(home):
    assert "'session'" in home.refused(64, "sesion", "ls")
    assert "'session ls'" in home.refused(64, "session", "list")
    assert "--title" in home.refused(64, "session", "fork", "a", "b",
                                     "--titel", "x")
    error = home.refused(64, "session", "nope", "--json")
    assert '"code":"USAGE"' in error and '"exit":64' in error
