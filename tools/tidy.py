#!/usr/bin/env python3
"""clang-tidy over the C files of a build, as many at a time as there are cores.

    tools/tidy.py BUILD CACHE [FILE...]

A file that passed is not looked at again until it, a file of ours that it
includes, its compiler options, .clang-tidy, clang-tidy itself or a package with
headers has changed. Names in the cache are relative to the tree, so clones may
share one."""
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

TOP = os.getcwd() + os.sep
BATCH = 12  # files of one process: it takes as long to start as to look at one
KEEP = 30 * 86400  # seconds after which what was not needed is forgotten
INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)


def entries(build, only):
    """(file, compiler command) of every file of ours in the build."""
    seen = set()
    for c in json.load(open(os.path.join(build, "compile_commands.json"))):
        path = os.path.realpath(os.path.join(c["directory"], c["file"]))
        name = path.removeprefix(TOP)
        ours = path.startswith(TOP) and not name.startswith("build" + os.sep)
        if not ours or name in seen or (only and name not in only):
            continue
        seen.add(name)
        yield name, c["command"].replace(TOP, "")


@functools.lru_cache(maxsize=None)
def read(path):
    """The hash of a file and what it includes by quotes, or None."""
    try:
        with open(path, "rb") as f:
            text = f.read()
    except OSError:
        return None
    return (hashlib.sha256(text).hexdigest(),
            [i.decode() for i in INCLUDE.findall(text)])


@functools.lru_cache(maxsize=None)
def rules():
    run = functools.partial(subprocess.check_output, text=True)
    return [read(".clang-tidy")[0], run(["clang-tidy", "--version"]),
            run(["dpkg-query", "-W", "*-dev"])]


def state(build, entry):
    """What clang-tidy would look at, as a name in the cache."""
    name, command = entry
    args = shlex.split(command)
    todo = [name] + [args[i + 1] for i, a in enumerate(args) if a == "-include"]
    files = {}
    while todo:
        path = todo.pop()
        if path in files or not read(path):
            continue
        files[path], includes = read(path)
        for i in includes:  # wherever it may be; what is not there counts, too
            todo += [os.path.join(d, i) for d in (
                os.path.dirname(path), "", os.path.join(build, "generated"))]
    what = rules() + [command] + ["%s %s" % f for f in sorted(files.items())]
    return hashlib.sha256("\n".join(what).encode()).hexdigest()


def tidy(build, names):
    ran = subprocess.run(["clang-tidy", "--quiet", "-p", build] + names,
                         capture_output=True, text=True)
    return ran.returncode == 0, ran.stdout + ran.stderr


def check(build, cache, batch):
    """[(good, text)] of the batch, {file: its state}."""
    good, _ = tidy(build, list(batch))
    results = [(True, "")] * len(batch) if good else [
        tidy(build, [name]) for name in batch]
    for (good, _), passed in zip(results, batch.values()):
        if good:
            (cache / passed).touch()
    return results


def forget(cache):
    for path in cache.iterdir():
        if path.stat().st_mtime < time.time() - KEEP:
            path.unlink(missing_ok=True)


def main():
    build, cache, only = sys.argv[1], pathlib.Path(sys.argv[2]), set(sys.argv[3:])
    cache.mkdir(parents=True, exist_ok=True)
    states = {e[0]: state(build, e) for e in entries(build, only)}
    new = {}
    for name, s in states.items():
        if (cache / s).exists():
            (cache / s).touch()
        else:
            new[name] = s
    names = list(new)
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(check, build, cache, {
            name: new[name] for name in names[i:i + BATCH]})
                for i in range(0, len(names), BATCH)]
        for job in concurrent.futures.as_completed(jobs):
            for good, text in job.result():
                bad += not good
                print(text, end="")
    forget(cache)
    print(f"{len(states)} files, {bad} with findings")
    return 1 if bad else 0


sys.exit(main())
