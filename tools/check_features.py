#!/usr/bin/env python3
"""Checks docs/FEATURES.md: every row has its number once, and every test that it
names exists."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROWS = 137
DEFINED = re.compile(r"^(?:def (test_\w+)\(|static void (\w+)\(void \*\*state\))", re.M)


def existing():
    names = set()
    for folder in "unit", "fault", "system":
        for path in (ROOT / "tests" / folder).rglob("*.*"):
            if path.suffix in (".c", ".py"):
                for a, b in DEFINED.findall(path.read_text()):
                    names.add(a or b)
    return names


def problems():
    known, seen = existing(), []
    for line in (ROOT / "docs/FEATURES.md").read_text().splitlines():
        row = re.match(r"\| (\d+) \|[^|]*\|([^|]*)\|$", line)
        if not row:
            continue
        seen.append(int(row[1]))
        tests = re.findall(r"`(\w+)`", row[2])
        if not tests and "not built" not in row[2]:
            yield "row %s names no test" % row[1]
        for name in tests:
            if name not in known:
                yield "row %s: there is no test %s" % (row[1], name)
    if seen != list(range(1, ROWS + 1)):
        yield "the rows are not 1 to %d" % ROWS


found = ["docs/FEATURES.md: " + p for p in problems()]
print("\n".join(found), end="\n" if found else "")
sys.exit(bool(found))
