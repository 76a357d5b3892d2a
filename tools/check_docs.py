#!/usr/bin/env python3
"""Fails if a document names a file that does not exist, or docs/ARCHITECTURE.md
a function that its file does not define.

A row of a table with a path and names such as `run_fence()` states that the file
defines these functions. In other text some file must define them. Text is at
most 100 columns wide, except in tables and examples.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOPS = "bench|cli|docs|ipc|lib|ops|schema|supervisor|tests|tools|vfs|worker"
PATH = re.compile(r"^(?:%s)/[a-zA-Z0-9_./-]+\.(?:c|h|def|sql|py|sh|txt|md|cmake)$" % TOPS)
PLACEHOLDER = re.compile(r"(^|[/_])[A-Z]{2,}([/_.]|$)")

files = set(subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT,
                           check=True, stdout=subprocess.PIPE, text=True)
            .stdout.split("\n"))
sources = {}
problems = []


def defines(path, name):
    """Whether the C file has a definition of the function."""
    if path not in sources:
        sources[path] = (ROOT / path).read_text()
    return re.search(r"^[a-z][^;={}\n]*\b%s\([^;{]*\)\n\{" % name, sources[path],
                     re.M) is not None


def check_functions(where, line, names):
    paths = [p for p in re.findall(r"`([^`]+\.c)`", line) if p in files]
    if not paths or not line.startswith("|"):
        paths = [p for p in files if p.endswith(".c")]
    for name in names:
        if not any(defines(p, name) for p in paths if (ROOT / p).exists()):
            problems.append("%s: %s() is not defined in %s" % (
                where, name, paths[0] if len(paths) == 1 else "any C file"))


def check(doc):
    example = False
    for n, line in enumerate((ROOT / doc).read_text().split("\n"), 1):
        where = "%s:%d" % (doc, n)
        if line.startswith("```"):
            example = not example
        elif not example and not line.startswith("|") and len(line) > 100:
            problems.append(where + ": is wider than 100 columns")
        if example:
            continue
        for name in re.findall(r"`([^`]+)`", line):
            if PATH.match(name) and not PLACEHOLDER.search(name.replace("README.md", "")) \
                    and not (ROOT / name).exists():
                problems.append("%s: %s does not exist" % (where, name))
        if doc == "docs/ARCHITECTURE.md":
            check_functions(where, line, re.findall(r"`(\w+)\(\)`", line))


for document in ["README.md", *sorted(
        f for f in files if f.startswith("docs/") and f.endswith(".md"))]:
    if (ROOT / document).exists():
        check(document)
if problems:
    print("\n".join(problems))
sys.exit(1 if problems else 0)
