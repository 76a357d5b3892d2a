#!/usr/bin/env python3
"""Finds JSON that is written by hand in C strings instead of by the writer in
lib/json/json_write.h.

A string that is a complete JSON text without conversions of printf is data, not
writing, and is allowed; it must be valid. The places in tools/json.txt are
allowed for the reasons stated there."""
import json
import os
import re
import subprocess
import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

# comments, character constants, strings, and what may join two strings
TOKEN = re.compile(r'/\*.*?\*/|\'(?:[^\'\\\n]|\\.)+\'|"(?:[^"\\\n]|\\.)*"'
                   r'|\w+|[^\s\\]', re.S)
MACRO = re.compile(r"[A-Z_][A-Z0-9_]*|PRI\w+")
# a member at the start of the string, or one whose value is a conversion; other
# text that contains a member is a sentence about JSON
WRITING = re.compile(r'\s*(%[sc])*[{}\[\],]+\s*"[^"]*":|"[^"\s]*":(?! )'
                     r'|.*"[^"\s]*":"?%', re.S)
HINT = re.compile(r'\\":|:\\"|"[\[{},]+\\"')
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "f": "\f"}


def strings(text):
    """Yields (line, text) of adjacent strings, with macros in between as X."""
    parts, start, macro = [], 0, False
    for m in TOKEN.finditer(text):
        token = m.group()
        if token.startswith('"'):
            if not parts:
                start = m.start()
            if macro:
                parts.append("X")
            macro = False
            parts.append(re.sub(r"\\(.)", lambda e: ESCAPES.get(e[1], e[1]),
                                token[1:-1]))
        elif token.startswith("/*"):
            continue
        elif parts and MACRO.fullmatch(token):
            macro = True
        elif parts:
            yield text.count("\n", 0, start) + 1, "".join(parts)
            parts, macro = [], False


def is_constant(text):
    if "%" in text:
        return False
    try:
        json.loads(text)
        return True
    except ValueError:
        return False


def read_allowed():
    allowed = {}
    for line in open("tools/json.txt", encoding="utf-8"):
        if line.strip() and not line.startswith("#"):
            path, _, reason = line.strip().partition(" ")
            assert reason, f"tools/json.txt: {path} has no reason"
            allowed[path] = 0
    return allowed


def main():
    allowed, bad = read_allowed(), 0
    files = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "*.c", "*.h", "*.def"],
        capture_output=True, text=True, check=True).stdout.split()
    for path in files:
        if path.startswith(("tests/", "tools/", "lib/json/")):
            continue
        text = open(path, encoding="utf-8").read()
        if not HINT.search(text):
            continue
        for line, string in strings(text):
            if not WRITING.match(string) or is_constant(string):
                continue
            if path in allowed:
                allowed[path] += 1
            else:
                print(f"{path}:{line}: JSON in a string; use "
                      "lib/json/json_write.h, or say in tools/json.txt why not")
                bad = 1
    for path, n in allowed.items():
        if n == 0:
            print(f"tools/json.txt: {path} contains no JSON in strings")
            bad = 1
    return bad


sys.exit(main())
