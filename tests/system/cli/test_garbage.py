"""Every command with garbage in every argument and option: newlines, escape
sequences, bytes that are not UTF-8, 120,000 characters, numbers out of range. A
command succeeds or exits with a status of the table and one clear line."""
import pathlib
import re
import subprocess

import lib
from web_lib import Skepd

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "golden"
GARBAGE = ["a\nb", "\x1b[1mx", b"\xff\xfe", b"a\xc3", "x" * 120_000, "", "-",
           "../no/..", "%s%n%d", "-1", "9" * 30, "1e999", ".", "/dev/null/x",
           "{\"a\":", "[1]", "\u202ex\u009b31m", "a b", "--", "a:b:c@d", ":",
           "a/b/c/d", "*", "$(id)"]
# These work until they are ended, or start such a program.
ENDLESS = {"up", "restart", "demo", "top", "chat", "vfs mount", "vfs watch"}


def statuses():
    text = (GOLDEN / "texts.txt").read_text().split("\n\n")[0]
    known = {int(line.split()[2]) for line in text.splitlines()[1:]}
    return known - {70}  # an internal error


def commands():
    """(words, names of arguments, options with a value) by the help texts."""
    for text in (GOLDEN / "help.txt").read_text().split("\n==== skep ")[1:]:
        usage = re.search(r"^usage: skep (.*?)(?:\n\S|\n\n)", text, re.S | re.M)
        words = text.split(" --help\n")[0].split()
        if " ".join(words) in ENDLESS or "VERB" in usage.group(1):
            continue
        rest = " ".join(usage.group(1).split()[len(words):])
        args = [w for w in re.findall(r"\[?[A-Z]+(?:\.\.\.)?\]?", rest)
                if "OPTION" not in w]
        yield words, args, re.findall(r"^  (?:-\w, )?(--[\w-]+) \S", text,
                                      re.M)


def cases():
    n = 0
    for words, args, options in commands():
        least = ["x"] * len([a for a in args if a[0] != "["])
        for i in range(len(args)):
            for g in GARBAGE:
                yield words + ["x"] * i + [g] + least[i + 1:]
        for option in options:
            if option == "--home":
                continue
            for _ in range(3):  # every kind of garbage many times in all
                n += 1
                yield words + [option, GARBAGE[n % len(GARBAGE)]] + least
        yield words + ["--no-such-option"] + least
        yield words + ["-\u00e4"] + least
        yield words + ["--json=x"] + least
        yield words + ["y" * 100_000] * 9


def check(home, args, known):
    p = subprocess.run([home.bin / "skep", *args], stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       env=home.env, cwd=home.dir / "in", timeout=lib.HANG)
    err = p.stderr.decode()  # must be UTF-8
    what = ([str(a)[:80] for a in args], p.returncode, err[:2000])
    assert p.returncode in known, what
    assert not re.search("[\0-\x09\x0b-\x1f\x7f-\x9f\u202e]", err), what
    assert len(err) < 8000, what
    if p.returncode not in (0, 1):
        # one for each object of a command that takes several
        assert 1 <= len([s for s in err.splitlines()
                         if s.startswith("skep: ")]) <= 9, what
    return p.returncode


def attack(home, every, offset):
    (home.dir / "in").mkdir()
    home.skep("agent", "add", "x", "--driver", "script")
    home.skep("session", "append", "x", "hello", "--agent", "x")
    known, ends = statuses(), {}
    for n, args in enumerate(cases()):
        if n % every == offset:
            code = check(home, args, known)
            ends[code] = ends.get(code, 0) + 1
    assert sum(ends.values()) > 3000 / every and len(ends) > 4, ends
    home.integrity()


def test_commands_with_garbage(home):
    attack(home, 8, 0)


def test_commands_with_garbage_beside_a_supervisor(home):
    s = Skepd(home)
    attack(home, 8, 5)
    s.stop()


def test_commands_without_standard_streams(home):
    """Closed, or a full disk: no crash, and no output into a file that a
    command opened in their place."""
    home.skep("agent", "add", "x", "--driver", "script")
    home.skep("session", "append", "x", "hello", "--agent", "x")
    known, hows = statuses(), ("<&-", ">&-", "2>&-", "<&- >&- 2>&-", ">/dev/full",
                               ">/dev/full 2>/dev/full")
    for n, (words, args, _) in enumerate(commands()):
        if words[0] in ("reset", "down"):
            continue
        line = words + ["x"] * len([a for a in args if a[0] != "["])
        for how in (hows[n % 6], hows[(n + 3) % 6]):
            r = home.run("sh", "-c", "exec \"$@\" " + how, "sh",
                         home.bin / "skep", *line, code=None)
            assert r.code in known, (line, how, r.code, r.err)
    home.integrity()
