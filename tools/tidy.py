#!/usr/bin/env python3
"""clang-tidy over the C files of a build, as many at a time as there are cores.

    tools/tidy.py BUILD CACHE [FILE...]

A file that passed is not looked at again until what the compiler sees of it,
comments included, or .clang-tidy has changed."""
import concurrent.futures
import hashlib
import json
import os
import shlex
import subprocess
import sys


def entries(build, only):
    """(file, preprocessor command) of every file of ours in the build."""
    top = os.getcwd() + os.sep
    seen = set()
    for c in json.load(open(os.path.join(build, "compile_commands.json"))):
        path = os.path.realpath(os.path.join(c["directory"], c["file"]))
        name = path.removeprefix(top)
        ours = path.startswith(top) and not name.startswith("build" + os.sep)
        if not ours or name in seen or (only and name not in only):
            continue
        seen.add(name)
        args = [a for a in shlex.split(c["command"]) if a != "-c"]
        if "ccache" in args[0]:
            args = args[1:]
        del args[args.index("-o"):args.index("-o") + 2]
        yield name, c["directory"], args + ["-E", "-C"]


def key_of(directory, command):
    seen = subprocess.run(command, cwd=directory, capture_output=True)
    rules = open(".clang-tidy", "rb").read()
    return hashlib.sha256(rules + seen.stdout + seen.stderr).hexdigest()


def check(build, cache, entry):
    name, directory, command = entry
    done = os.path.join(cache, key_of(directory, command))
    if os.path.exists(done):
        return True, ""
    ran = subprocess.run(["clang-tidy", "--quiet", "-p", build, name],
                         capture_output=True, text=True)
    if ran.returncode == 0:
        open(done, "w").close()
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
