#!/usr/bin/env python3
"""clang-tidy over the C files of a build, as many at a time as there are cores.

    tools/tidy.py BUILD CACHE [FILE...]

A file that passed is not looked at again until it, a file that it includes, its
compiler options, .clang-tidy or clang-tidy itself has changed. Names in the
cache are relative to the tree, so clones may share one."""
import concurrent.futures
import functools
import hashlib
import json
import os
import shlex
import subprocess
import sys

TOP = os.getcwd() + os.sep
KEEP = 8  # passed states of a file that are remembered


def entries(build, only):
    """(file, directory, compiler command) of every file of ours in the build."""
    seen = set()
    for c in json.load(open(os.path.join(build, "compile_commands.json"))):
        path = os.path.realpath(os.path.join(c["directory"], c["file"]))
        name = path.removeprefix(TOP)
        ours = path.startswith(TOP) and not name.startswith("build" + os.sep)
        if not ours or name in seen or (only and name not in only):
            continue
        seen.add(name)
        args = [a for a in shlex.split(c["command"]) if a != "-c"]
        if "ccache" in args[0]:
            args = args[1:]
        del args[args.index("-o"):args.index("-o") + 2]
        yield name, c["directory"], args


@functools.lru_cache(maxsize=None)
def hash_of(path):
    try:
        with open(path, "rb") as f:
            return hashlib.sha256(f.read()).hexdigest()
    except OSError:
        return None


@functools.lru_cache(maxsize=None)
def rules():
    version = subprocess.run(["clang-tidy", "--version"], capture_output=True)
    return hash_of(".clang-tidy") + version.stdout.decode()


def included(directory, command):
    """The files that the compiler reads, with what is in them."""
    made = subprocess.run(command + ["-M", "-MT", "x"], cwd=directory,
                          capture_output=True, text=True, check=True).stdout
    paths = made.partition(":")[2].replace("\\\n", " ").split()
    whole = [os.path.normpath(os.path.join(directory, p)) for p in paths]
    return {p.removeprefix(TOP): hash_of(p) for p in whole}


class Passed:
    """The states in which one file passed, each by what was included."""

    def __init__(self, cache, entry):
        name, self.directory, self.command = entry
        what = [name, rules()] + [a.replace(TOP, "") for a in self.command]
        self.path = os.path.join(cache, hashlib.sha256(
            "\n".join(what).encode()).hexdigest())
        try:
            with open(self.path) as f:
                self.states = json.load(f)
        except (OSError, ValueError):
            self.states = []

    def is_known(self):
        return any(all(hash_of(p) == h for p, h in state.items())
                   for state in self.states)

    def add(self):
        self.states.insert(0, included(self.directory, self.command))
        new = "%s.%d" % (self.path, os.getpid())
        with open(new, "w") as f:
            json.dump(self.states[:KEEP], f)
        os.replace(new, self.path)


def check(build, cache, entry):
    passed = Passed(cache, entry)
    if passed.is_known():
        return True, ""
    ran = subprocess.run(["clang-tidy", "--quiet", "-p", build, entry[0]],
                         capture_output=True, text=True)
    if ran.returncode == 0:
        passed.add()
        return True, ""
    return False, ran.stdout + ran.stderr


def main():
    build, cache, only = sys.argv[1], sys.argv[2], set(sys.argv[3:])
    os.makedirs(cache, exist_ok=True)
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(check, build, cache, e)
                for e in entries(build, only)]
        for job in concurrent.futures.as_completed(jobs):
            good, text = job.result()
            bad += not good
            print(text, end="")
    print(f"{len(jobs)} files, {bad} with findings")
    return 1 if bad else 0


sys.exit(main())
