#!/usr/bin/env python3
"""Counts single tests in a JUnit file of ctest: the cmocka tests that a program
printed, or the program itself where it printed none."""
import re
import sys
import xml.etree.ElementTree as ElementTree

totals = {"passed": 0, "failed": 0, "skipped": 0}
for case in ElementTree.parse(sys.argv[1]).getroot().iter("testcase"):
    text = "".join(case.itertext())
    passed = len(re.findall(r"^\[       OK \]", text, re.M))
    # a skipped test is named twice: when it runs, and at the end
    skipped = len(set(re.findall(r"^\[  SKIPPED \] (\w+)$", text, re.M)))
    ran = len(re.findall(r"^\[ RUN      \]", text, re.M))
    failed = ran - passed - skipped
    if ran == 0:
        passed = 1 if case.get("status") == "run" else 0
        failed = 1 if case.get("status") == "fail" else 0
        skipped = 1 - passed - failed
    elif case.get("status") == "fail" and failed == 0:
        failed = 1
    totals["passed"] += passed
    totals["failed"] += failed
    totals["skipped"] += skipped
print(", ".join(f"{n} {what}" for what, n in totals.items()))
