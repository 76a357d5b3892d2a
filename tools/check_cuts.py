#!/usr/bin/env python3
"""Fails if a file prints text into a fixed buffer, without a look at the result,
or with a precision such as %.300s, in more places than tools/cuts.txt lists. Such
a text is cut without a trace. Text for people is printed with text_printf, text_fit
(lib/base/text.h) or buf_add_fit (lib/base/buf.h), which end a cut text in an ellipsis;
names and ids are checked or sized from the input. The places that are listed print names of
a known size, or paths below one.
   tools/check_cuts.py [--write]"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "tools" / "cuts.txt"
CALL = re.compile(r"\bv?snprintf\(")
PRECISION = re.compile(r"%\.(\d+)s")
SHORT = 40  # digests and dates
LOOKED_AT = re.compile(r"(if \(|>=|= ?|\(size_t\)|return|&&|\|\||\()\s*$")


def arguments(text, at):
    """From behind the bracket to its end, strings included."""
    depth, quoted, i = 1, False, at
    while depth and i < len(text):
        c = text[i]
        if c == '"' and text[i - 1] != "\\":
            quoted = not quoted
        elif not quoted:
            depth += (c == "(") - (c == ")")
        i += 1
    return text[at:i]


def count(path):
    text = path.read_text()
    return sum(1 for m in CALL.finditer(text)
               if (m.group().startswith("v") or re.search(
                   r"%[-.*0-9]*s", arguments(text, m.end())))
               and not LOOKED_AT.search(text[max(0, m.start() - 40):m.start()])
               ) + sum(1 for m in PRECISION.finditer(text)
                       if int(m.group(1)) >= SHORT)


def main():
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard",
                          "*.c"], cwd=ROOT, text=True, check=True,
                         stdout=subprocess.PIPE).stdout
    found = {f: count(ROOT / f) for f in sorted(out.split())
             if not f.startswith(("tests/", "bench/", "tools/"))
             and (ROOT / f).exists()}
    if "--write" in sys.argv:
        LIST.write_text("# Unchecked prints of text into fixed buffers, by file "
                        "(tools/check_cuts.py).\n" + "".join(
                            "%s %d\n" % f for f in found.items() if f[1]))
        return 0
    listed = dict(line.split() for line in LIST.read_text().splitlines()
                  if not line.startswith("#"))
    bad = 0
    for f, n in found.items():
        if n > int(listed.get(f, 0)):
            print("%s: %d unchecked prints into fixed buffers, tools/cuts.txt "
                  "has %s: use text_printf, text_fit or buf_add_fit, or check the result" %
                  (f, n, listed.get(f, "none")))
            bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main())
