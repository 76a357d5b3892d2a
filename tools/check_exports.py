#!/usr/bin/env python3
"""Fails if a header declares a function, or a .sql file a query, without a user.

- No product file uses the function, not even its own. Delete it.
- Only its own file uses the function, and no test does. Make it static.
- No product file uses the query. Delete it.

A function that its own file uses and a test calls may stay: it is exported to be
tested. tests/ is not part of the product, bench/ is."""
import pathlib
import re
import subprocess
import sys

COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
BLOCK = re.compile(r"\{[^{}]*\}")
DECLARED = re.compile(r"\b([a-z]\w*)\s*\(")
WORD = re.compile(r"\b[A-Za-z_]\w*\b")
QUERY = re.compile(r"^-- query (\w+)", re.M)
PASTED = re.compile(r"\bQ_(\w*)##")


def functions(text):
    """Names of the functions that a header declares and does not define."""
    text = DIRECTIVE.sub("", COMMENT.sub("", text))
    while BLOCK.search(text):
        text = BLOCK.sub(";", text)
    for part in text.split(";"):
        part = re.sub(r"__attribute__\s*\(\(.*?\)\)(?!\))", "", part, flags=re.S)
        found = DECLARED.search(part)
        if found and "typedef" not in part and "static" not in part \
                and "(*" not in part[:found.end() + 2] and "=" not in part:
            yield found.group(1)


def uses(name, text):
    """How often a file names a function, but for declaring and defining it."""
    all_of = len(re.findall(r"\b%s\b" % name, text))
    own = len(re.findall(
        r"^(?!static\b)[a-z][\w ]*[ *\n]%s\([^;{}=]*?\)[^;{}()]*[;{]" % name,
        text, re.M))
    return all_of - own


def check_functions(text, users):
    for p in text:
        if not p.endswith(".h") or p.startswith("tests/"):
            continue
        for name in functions(text[p]):
            used = [u for u in users[name] if u != p and uses(name, text[u])]
            product = [u for u in used if not u.startswith("tests/")]
            if uses(name, text[p]):  # by a macro
                continue
            if not product:
                yield "%s: the product does not use %s" % (p, name)
            elif used == product and len(used) == 1 and \
                    re.search(r"^[a-z][^;{}=]*\b%s\([^;{}]*\)\s*\{" % name,
                              text[used[0]], re.M):
                yield "%s: only %s uses %s: make it static" % (p, used[0], name)


def check_queries(text, users):
    def is_used(word):
        return [u for u in users.get(word, ()) if not u.startswith("tests/")]

    prefixes = {m for t in text.values() for m in PASTED.findall(t)}
    for p in tracked("*.sql"):
        for name in QUERY.findall(pathlib.Path(p).read_text()):
            name = name.upper()
            if not is_used("Q_" + name) and not [
                    x for x in prefixes
                    if name.startswith(x) and is_used(name[len(x):])]:
                yield "%s: the product does not use %s" % (p, name.lower())


def tracked(*patterns):
    files = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", *patterns],
        check=True, capture_output=True, text=True).stdout.split()
    return [p for p in files if pathlib.Path(p).exists()]


def main():
    text = {p: COMMENT.sub("", pathlib.Path(p).read_text())
            for p in tracked("*.c", "*.h", "*.def")}
    users = {}
    for p, t in text.items():
        for word in set(WORD.findall(t)):
            users.setdefault(word, []).append(p)
    found = [*check_functions(text, users), *check_queries(text, users)]
    print("\n".join(found), end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
