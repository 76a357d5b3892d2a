"""Real work on the mount: what people do with a directory all day.

SKEP_TEST_BIG=1 makes it more: larger repositories.
"""
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys

from lib import HANG, skip
from vfs_lib import agent, mount, mounted

BIG = bool(os.environ.get("SKEP_TEST_BIG"))
ROOT = pathlib.Path(__file__).resolve().parents[3]


def run(*argv, cwd, **more):
    p = subprocess.run([str(a) for a in argv], cwd=cwd, text=True,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       **more)
    assert p.returncode == 0, "%s:\n%s" % (argv, p.stdout[-3000:])
    return p.stdout


def needs(*programs):
    for name in programs:
        if not shutil.which(name):
            skip("%s is not there" % name)


def done(home, at, p):
    """The mount ends well, and the file is sound."""
    home.skep("vfs", "umount", at)
    assert p.wait(HANG) == 0 and not mounted(at)
    assert "no faults" in home.skep("vfs", "fsck", "a", "--deep").out


def test_git_clones_commits_collects_and_checks(home):
    needs("git")
    at, p = mount(agent(home))
    source = home.dir / "source"
    git = ("git", "-c", "user.name=t", "-c", "user.email=t@t", "-c",
           "gc.auto=0", "-c", "init.defaultBranch=main", "-c",
           "core.fsync=none")
    run(*git, "init", "-q", source, cwd=home.dir)
    files = 10000 if BIG else 2000
    for i in range(files):
        path = source / ("d%d/e%d" % (i % 40, i % 7)) / ("f%d.txt" % i)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("line %d\n" % i * (i % 50 + 1))
    run(*git, "add", ".", cwd=source)
    run(*git, "commit", "-qm", "all", cwd=source)
    run(*git, "clone", "-q", "--no-hardlinks", source, "clone", cwd=at)
    clone = at / "clone"
    assert run(*git, "status", "--short", cwd=clone) == ""
    run(*git, "checkout", "-qb", "work", cwd=clone)
    run(*git, "mv", "d0", "moved", cwd=clone)
    run(*git, "rm", "-rq", "d1", cwd=clone)
    (clone / "new").write_text("new\n")
    run(*git, "add", ".", cwd=clone)
    run(*git, "commit", "-qm", "changed", cwd=clone)
    run(*git, "checkout", "-q", "main", cwd=clone)
    run(*git, "merge", "-q", "--no-ff", "-m", "merge", "work", cwd=clone)
    run(*git, "gc", "-q", "--prune=now", cwd=clone)
    run(*git, "fsck", "--strict", "--no-progress", cwd=clone)
    assert run(*git, "status", "--short", cwd=clone) == ""
    assert len(run(*git, "ls-files", cwd=clone).split()) == (
        files - len(range(1, files, 40)) + 1)
    done(home, at, p)


CMAKE = """
cmake_minimum_required(VERSION 3.20)
project(base C)
find_package(PkgConfig REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson)
file(GLOB SOURCES lib/base/*.c)
add_library(base STATIC ${SOURCES})
target_include_directories(base PUBLIC .)
target_compile_definitions(base PUBLIC _GNU_SOURCE SKEP_VERSION="test")
target_link_libraries(base PUBLIC PkgConfig::CJSON OpenSSL::Crypto m)
add_executable(hello hello.c)
target_link_libraries(hello base)
"""
HELLO = """
#include "lib/base/hash.h"
#include <stdio.h>
int main(void)
{
	char hex[HASH_HEX];
	hash_of("abc", 3, hex);
	puts(hex);
}
"""


def test_a_project_in_c_is_built_and_runs(home):
    needs("cmake", "make", "cc")
    at, p = mount(agent(home))
    shutil.copytree(ROOT / "lib/base", at / "src/lib/base")
    # generated in a build: no fault points
    (at / "src/lib/base/fault_switch.h").write_text("")
    (at / "src/CMakeLists.txt").write_text(CMAKE)
    (at / "src/hello.c").write_text(HELLO)
    run("cmake", "-G", "Unix Makefiles", "-S", "src", "-B", "build", cwd=at)
    run("make", "-j2", "-C", "build", cwd=at)
    assert run("build/hello", cwd=at).startswith("ba7816bf")
    (at / "src/hello.c").write_text(HELLO.replace('"abc", 3', '"", 0'))
    output = run("make", "-j2", "-C", "build", cwd=at)
    assert "base.dir" not in output  # times are right: only what has changed
    assert run("build/hello", cwd=at).startswith("e3b0c442")
    done(home, at, p)


def package(where, name, needs=""):
    where.mkdir(parents=True)
    (where / "package.json").write_text(
        '{"name": "%s", "version": "1.0.0", "main": "index.js", "bin": '
        '{"%s": "run.js"}, "dependencies": {%s}}' % (name, name, needs))
    (where / "index.js").write_text("module.exports = '%s';\n" % name)
    (where / "run.js").write_text("#!/usr/bin/env node\n"
                                  "console.log(require('./index.js'))\n")


def npm_env(home):
    return dict(os.environ, HOME=str(home.dir), npm_config_update_notifier="no",
                npm_config_audit="no", npm_config_fund="no",
                npm_config_cache=str(home.dir / "cache"))


def test_npm_installs_packages_that_work(home):
    needs("npm", "node", "tar")
    at, p = mount(agent(home))
    app, packs = at / "app", home.dir / "packs"
    for i in range(20):
        package(packs / ("p%d" % i) / "package", "p%d" % i)
        run("tar", "czf", packs / ("p%d.tgz" % i), "package",
            cwd=packs / ("p%d" % i))
    package(app, "app", ", ".join(
        '"p%d": "file:%s/p%d.tgz"' % (i, packs, i) for i in range(20)))
    run("npm", "install", "--offline", cwd=app, env=npm_env(home))
    assert run("node_modules/.bin/p7", cwd=app) == "p7\n"
    assert os.path.islink(app / "node_modules/.bin/p7")
    done(home, at, p)


SERVE = """
const app = require('express')();
app.get('/', (ask, answer) => answer.send('served'));
const server = app.listen(0, '127.0.0.1', async () => {
  const got = await fetch(`http://127.0.0.1:${server.address().port}/`);
  console.log(await got.text());
  server.close();
});
"""


def test_npm_installs_a_tree_of_real_packages(home):
    """From the registry, with the cache of npm on the mount, too."""
    needs("npm", "node")
    at, p = mount(agent(home))
    (at / "app").mkdir()
    env = dict(npm_env(home), npm_config_cache=str(at / "cache"))
    try:
        ping = subprocess.run(["npm", "view", "express", "version"],
                              env=dict(env, npm_config_cache=str(home.dir)),
                              capture_output=True, timeout=30)
    except subprocess.TimeoutExpired:
        skip("the registry of npm does not answer")
    if ping.returncode:
        skip("the registry of npm cannot be reached")
    run("npm", "install", "--prefix", at / "app", "express", cwd=at / "app",
        env=env)
    assert len(os.listdir(at / "app/node_modules")) > 30
    assert run("node", "-e", SERVE, cwd=at / "app") == "served\n"
    run("npm", "ls", "--all", cwd=at / "app", env=env)
    done(home, at, p)


WRITER = """
import sqlite3, sys
db = sqlite3.connect("db", timeout=60, isolation_level=None)
for i in range(int(sys.argv[2])):
    db.execute("INSERT INTO t VALUES (?, ?, randomblob(300))",
               (sys.argv[1], i))
    print(i, flush=True)
"""


def test_sqlite_in_wal_mode_takes_two_writers_and_a_kill(home):
    at, p = mount(agent(home))
    db = sqlite3.connect(at / "db")
    assert db.execute("PRAGMA journal_mode=WAL").fetchone() == ("wal",)
    db.execute("CREATE TABLE t (who, n, data)")
    db.commit()
    writers = [home.start(sys.executable, "-c", WRITER, who, n, cwd=at,
                          stdout=subprocess.PIPE)
               for who, n in (("a", "300"), ("b", "300"), ("doomed", "99999"))]
    seen = 0
    while seen < 100:
        seen = int(writers[2].stdout.readline())
    writers[2].send_signal(signal.SIGKILL)
    for w in writers[:2]:
        w.stdout.read()
        assert w.wait(HANG) == 0
    counts = dict(db.execute("SELECT who, count(*) FROM t GROUP BY who"))
    assert counts["a"] == counts["b"] == 300 and counts["doomed"] > 100
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()
    done(home, at, p)


APPENDER = """
import os, sys
fd = os.open("log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
for i in range(500):
    os.write(fd, b"%s %04d\\n" % (sys.argv[1].encode(), i))
    own = "%s-%d" % (sys.argv[1], i)
    with open(own + ".tmp", "w") as f:
        f.write(own)
    os.rename(own + ".tmp", own)
"""


def test_two_writers_on_the_mount_and_one_beside_it_lose_nothing(home):
    at, p = mount(agent(home))
    writers = [home.start(sys.executable, "-c", APPENDER, who, cwd=at)
               for who in ("one", "two")]
    for i in range(15):
        home.skep("vfs", "put", "a", "beside/%d" % i, "--parents",
                  input="from beside")
    for w in writers:
        assert w.wait(HANG) == 0
    lines = (at / "log").read_text().splitlines()
    assert len(lines) == 1000 and len(set(lines)) == 1000
    names = set(os.listdir(at))
    for who in ("one", "two"):
        assert {"%s-%d" % (who, i) for i in range(500)} <= names
    assert (at / "one-499").read_text() == "one-499"
    assert len(home.skep("vfs", "ls", "a", "beside").out.splitlines()) >= 15
    done(home, at, p)
