#!/usr/bin/env python3
"""The ten slowest tests in the logs of a check: tools/slowest.py DIR STEP..."""
import pathlib
import re
import sys

FORMS = (  # of ctest; of run.py and the fuzzers
    re.compile(r"Test +#\d+: (?P<name>\S+) .* (?P<took>[0-9.]+) sec$", re.M),
    re.compile(r"^(?:ok +|FAILED +)?(?P<name>\S.*?)(?:: ok)?"
               r" \((?P<took>[0-9.]+) s\)$", re.M))

took = []
for step in sys.argv[2:]:
    log = pathlib.Path(sys.argv[1], step + ".log")
    text = log.read_text(errors="replace") if log.exists() else ""
    took += [(float(m["took"]), step, m["name"])
             for form in FORMS for m in form.finditer(text)]
if len(took) > 10:
    print("slowest tests:")
    for seconds, step, name in sorted(took, reverse=True)[:10]:
        print("%7.2f s  %-10s %s" % (seconds, step, name))
